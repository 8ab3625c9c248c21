"""Check the built book: python tests/check_html.py _build/html.

A build that ends well can still hold a missing page, raw TeX, an unresolved reference or a picture
from elsewhere. Each check below takes the site and a page and yields what is wrong; to look at
something else, write a function and add it to PAGE_CHECKS or SITE_CHECKS.
"""

import copy
import re
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml
from bs4 import BeautifulSoup

TOC = Path(__file__).parent.parent / "_toc.yml"

# What must not be left in the text a reader sees.
SOURCE_SYNTAX = re.compile(r"\$|```|:::|\{(?:glue|prf|cite|ref|numref|eq|doc|term)[:}]")
NUMPY_SCALAR = re.compile(r"\bnp\.(?:float|int|str|bool)\w*\(")
IMPORTS = re.compile(r"^(?:from|import) steinsdr\b", re.MULTILINE)
NOT_PROSE = "script, style, code, pre, .math, .cell_input"
LOADS = (
    "script[src], img[src], iframe[src], source[src], video[src], audio[src], embed[src], "
    "link[rel=stylesheet], link[rel=preload], link[rel=icon], link[rel=preconnect]"
)


class Site:
    """A folder of HTML pages, each parsed once."""

    def __init__(self, root: Path, toc: Path = TOC):
        self.root = root.resolve()
        self.toc = toc

    @cached_property
    def pages(self) -> dict[Path, BeautifulSoup]:
        # The theme keeps templates, which are no pages, in _static.
        paths = sorted(set(self.root.rglob("*.html")) - set(self.root.glob("_static/**/*.html")))
        return {p: BeautifulSoup(p.read_text(encoding="utf-8"), "html.parser") for p in paths}

    @cached_property
    def anchors(self) -> dict[Path, set[str]]:
        return {
            path: {str(element["id"]) for element in page.select("[id]")}
            | {str(element["name"]) for element in page.select("a[name]")}
            for path, page in self.pages.items()
        }

    def target(self, page: Path, url: str) -> tuple[Path, str] | None:
        """File and anchor that a link leads to; None when it leaves the site."""
        parts = urlsplit(url)
        if parts.scheme or parts.netloc:
            return None
        return (page.parent / unquote(parts.path)).resolve() if parts.path else page, parts.fragment


def toc_pages(entry: dict) -> Iterator[str]:
    """Names of all pages in a parsed _toc.yml, in reading order."""
    for key in ("root", "file"):
        if key in entry:
            yield entry[key].removesuffix(".md").removesuffix(".ipynb")
    for key in ("parts", "chapters", "sections"):
        for child in entry.get(key, []):
            yield from toc_pages(child)


def check_toc(site: Site) -> Iterator[str]:
    """Every page of the table of contents was built."""
    for name in ["index", *toc_pages(yaml.safe_load(site.toc.read_text()))]:
        if not (site.root / f"{name}.html").is_file():
            yield f"{name}.html is missing"


def check_stylesheets(site: Site) -> Iterator[str]:
    """No style sheet loads a font, a picture or another style sheet from elsewhere."""
    foreign = re.compile(r"(?:@import|url\()\s*[\"']?((?:https?:)?//[^\"')\s]+)")
    for path in sorted(site.root.rglob("*.css")):
        for url in foreign.findall(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(site.root)}: loads {url}"


def check_text(site: Site, path: Path) -> Iterator[str]:
    """No source syntax is left in the prose, and no NumPy scalar shows its type."""
    body = copy.copy(site.pages[path].body)
    if body is None:
        return
    outputs = " ".join(element.get_text() for element in body.select(".cell_output"))
    for element in body.select(NOT_PROSE):
        element.extract()
    prose = body.get_text(" ")
    for pattern, text in [
        (SOURCE_SYNTAX, prose),
        (NUMPY_SCALAR, prose),
        (NUMPY_SCALAR, outputs),
    ]:
        for match in pattern.finditer(text):
            around = text[max(0, match.start() - 30) : match.end() + 30]
            yield f"{match[0]!r} in the text: {' '.join(around.split())}"


def check_references(site: Site, path: Path) -> Iterator[str]:
    """References, citations and glued values were resolved.

    Types of other packages have no page here, and stay plain text.
    """
    page = site.pages[path]
    for element in page.select(".problematic, .system-message"):
        yield f"an error message in the page: {element.get_text(' ', strip=True)[:80]}"
    for element in page.select(".xref"):
        foreign = "py" in element["class"] and not element.get_text().startswith("steinsdr")
        link = element if element.name == "a" else element.find_parent("a")
        if (link is None or not link.get("href")) and not foreign:
            yield f"an unresolved reference: {element.get_text()}"


def check_loads(site: Site, path: Path) -> Iterator[str]:
    """Scripts, styles and pictures are files of the site."""
    for element in site.pages[path].select(LOADS):
        url = str(element.get("src") or element.get("href"))
        if url.startswith("data:"):
            continue
        target = site.target(path, url)
        if target is None:
            yield f"loads {url}"
        elif not (target[0].is_file() and target[0].stat().st_size > 0):
            yield f"{url} is missing or empty"


def check_figures(site: Site, path: Path) -> Iterator[str]:
    """Figures have captions, pictures have descriptions, and what a notebook draws is a figure.

    Where a notebook gives no description, Sphinx puts the name of the file there.
    """
    page = site.pages[path]
    for figure in page.select("figure"):
        caption = figure.find("figcaption")
        if caption is None or not caption.get_text(strip=True):
            yield f"a figure without a caption: {figure.get('id', figure.get_text(strip=True))}"
    for image in page.select("article img, .cell_output img"):
        source, words = str(image["src"]), str(image.get("alt", "")).strip()
        if not words or Path(words).name == Path(source).name:
            yield f"a picture without a description: {source}"
    for image in page.select(".cell_output img"):
        if image.find_parent("figure") is None:
            yield f"a picture outside of a figure: {image['src']}"


def check_links(site: Site, path: Path) -> Iterator[str]:
    """Links and redirections within the site lead to a file, and to an anchor that is there."""
    page = site.pages[path]
    # Ways back from a listing of code are viewcode's own; it names re-exports by their package.
    urls = {str(element["href"]) for element in page.select("a[href]:not(.viewcode-back)")}
    for element in page.select("meta[http-equiv=refresh i]"):
        urls.add(str(element["content"]).partition("url=")[2])
    for url in sorted(urls):
        target = site.target(path, url)
        if target is None or url == "#":
            continue
        file, anchor = target
        if not file.is_file():
            yield f"a broken link: {url}"
        elif anchor and file in site.anchors and unquote(anchor) not in site.anchors[file]:
            yield f"a link to a missing anchor: {url}"


def check_code(site: Site, path: Path) -> Iterator[str]:
    """Names of the package in code lead to where they are explained."""
    for code in site.pages[path].select(".cell_input pre"):
        if IMPORTS.search(code.get_text()) and not code.select("a.sphinx-codeautolink-a"):
            yield f"code without a link to the API: {code.get_text()[:60]!r}"


SITE_CHECKS = [check_toc, check_stylesheets]
PAGE_CHECKS = [check_text, check_references, check_loads, check_figures, check_links, check_code]


def problems(site: Site) -> Iterator[str]:
    """Everything wrong with the site, a line each."""
    for check in SITE_CHECKS:
        yield from check(site)
    for path in site.pages:
        for page_check in PAGE_CHECKS:
            for problem in page_check(site, path):
                yield f"{path.relative_to(site.root)}: {problem}"


def main(arguments: list[str], toc: Path = TOC) -> int:
    """Print the problems of a built book; the exit code says whether there are any."""
    site = Site(Path(arguments[0]), toc)
    found = list(problems(site))
    for problem in found:
        print(problem)
    print(f"{len(site.pages)} pages checked, {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
