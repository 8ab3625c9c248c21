"""Check the built book in a browser: python tests/check_browser.py _build/html.

What a file holds is not yet what a reader sees: here every page is opened in a headless Chromium,
without a network, in the views below. browser/probes.js says what is looked at inside a page; to
look at something else, write a probe there and name it in a view. Pictures of the pages are kept.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from browser.devtools import Browser, BrowserError, find_chromium

PROBES = (Path(__file__).parent / "browser" / "probes.js").read_text(encoding="utf-8")

REDIRECTION = re.compile(r"http-equiv=.?refresh", re.IGNORECASE)

# So many sentences about one thing on one page; the rest is counted.
SHOWN = 5

# So many browsers share the pages.
BROWSERS = 2


@dataclass(frozen=True)
class View:
    """A window, and what to look at in it."""

    device: str
    scheme: str
    width: int
    height: int
    probes: tuple[str, ...]

    def apply(self, browser: Browser) -> None:
        browser.resize(self.width, self.height, mobile=self.device == "phone")
        browser.prefer(self.scheme)


VIEWS = (
    View("desktop", "light", 1280, 900, ("theme", "math", "rawTex", "overflow", "contrast")),
    View("desktop", "dark", 1280, 900, ("theme", "images", "contrast")),
    View("phone", "dark", 390, 844, ("math", "images", "overflow")),
    View("phone", "light", 390, 844, ()),
)


def site_pages(root: Path) -> list[Path]:
    """Pages of the site without templates and redirections."""
    paths = set(root.rglob("*.html")) - set(root.glob("_static/**/*.html"))
    return sorted(p for p in paths if not REDIRECTION.search(p.read_text(encoding="utf-8")))


def event_problems(events: list[tuple[str, dict[str, Any]]]) -> Iterator[str]:
    """Scripts that failed, errors they reported, and files that did not come."""
    urls: dict[str, str] = {}
    for method, event in events:
        match method:
            case "Runtime.exceptionThrown":
                details = event["exceptionDetails"]
                description = details.get("exception", {}).get("description", details["text"])
                yield f"a script failed: {description.splitlines()[0]}"
            case "Runtime.consoleAPICalled" if event["type"] in ("error", "assert"):
                words = (str(a.get("value", a.get("description", ""))) for a in event["args"])
                yield f"an error in the console: {' '.join(words)}"
            case "Log.entryAdded" if event["entry"]["level"] == "error":
                # Files that did not come are told below, with their address.
                if event["entry"]["source"] != "network":
                    yield f"an error in the console: {event['entry']['text']}"
            case "Network.requestWillBeSent":
                urls[event["requestId"]] = event["request"]["url"]
            case "Network.loadingFailed" if not event.get("canceled"):
                yield f"{urls.get(event['requestId'], 'a file')}: {event['errorText']}"


def page_problems(browser: Browser, url: str, picture: Path | None) -> Iterator[str]:
    """What is wrong with one page, view by view; with a path, pictures of it are kept there."""
    for view in VIEWS:
        if not view.probes and picture is None:
            continue
        view.apply(browser)
        if view is VIEWS[0]:
            browser.open(url)
            browser.run(f"{PROBES}; undefined")
        browser.run("settled()")
        for probe in view.probes:
            found = browser.run(f"look({probe!r})")
            rest = [f"and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
            for sentence in found[:SHOWN] + rest:
                yield f"{view.width} px, {view.scheme}: {sentence}"
        if picture is not None:
            ending = f"-{view.device}-{view.scheme}.jpg"
            browser.screenshot(picture.with_name(picture.name + ending))
    yield from event_problems(browser.events)


def problems(root: Path, chromium: str, pictures: Path | None = None) -> list[str]:
    """Everything wrong with the pages below a folder, a line each.

    Parameters
    ----------
    root : Path
        Folder of the built book.
    chromium : str
        Path of the browser.
    pictures : Path or None
        Folder for pictures of the pages.

    Raises
    ------
    ValueError
        If there are no pages.
    """
    root = root.resolve()
    pages = site_pages(root)
    if not pages:
        raise ValueError(f"root must be the folder of a built book, but {root} has no pages")
    todo = iter(pages)
    found: dict[Path, list[str]] = {}

    def look() -> None:
        with Browser(chromium) as browser:
            for page in todo:  # the browsers share one iterator
                name = page.relative_to(root)
                picture = pictures and pictures / name.with_suffix("")
                if name.parts[0] == "_modules":  # pages of source: many, and all alike
                    picture = None
                try:
                    found[page] = list(page_problems(browser, page.as_uri(), picture))
                except BrowserError as error:
                    raise BrowserError(f"{name}: {error}") from error

    with ThreadPoolExecutor(BROWSERS) as pool:
        for worker in [pool.submit(look) for _ in range(min(BROWSERS, len(pages)))]:
            worker.result()
    return [f"{page.relative_to(root)}: {s}" for page in pages for s in found[page]]


def main(arguments: list[str]) -> int:
    """Print the problems of a built book; the exit code says whether there are any."""
    parser = argparse.ArgumentParser(description="Check the built book in headless Chromium.")
    parser.add_argument("folder", type=Path, help="the built book, such as _build/html")
    parser.add_argument("--screenshots", type=Path, help="folder for pictures of the pages")
    parser.add_argument("--require", action="store_true", help="fail if there is no Chromium")
    options = parser.parse_args(arguments)

    chromium = find_chromium()
    if chromium is None:
        print(
            "No Chromium here: formulas, widths and pictures of the pages were NOT CHECKED in a "
            "browser.\nInstall it (on Debian: apt-get install chromium) or name it in CHROMIUM."
        )
        return 1 if options.require else 0
    found = problems(options.folder, chromium, options.screenshots)
    for problem in found:
        print(problem)
    print(f"{len(site_pages(options.folder))} pages seen in Chromium, {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
