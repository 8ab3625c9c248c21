"""No result is typed by hand, and the project speaks of itself alone.

A decimal number or a percentage in the text is glued, or it is a setting or a quoted value that
prose_constants.csv declares: one row per file and value, with the reason. What stands in code or
math is not looked at, nor are numbers in words.
"""

import csv
import json
import re
import subprocess

from conftest import ROOT

PAGES = [
    ROOT / "README.md",
    *sorted(ROOT.glob("book/*.md")),
    *sorted(ROOT.glob("notebooks/*.ipynb")),
]
TRACKED = subprocess.run(
    ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True
).stdout.split()
NO_TEXT = (".png", ".npz", "tex-svg-full.js")

# A directive whose content is text: without this its closing fence would open a block of code.
_CODE = "code-cell|code-block|math|eval-rst|bibliography"
TEXT = re.compile(
    rf"^(?P<fence>```+)\{{(?!(?:{_CODE})\}})[\w:-]+\}}(?P<text>.*?)^(?P=fence)[ \t]*$", re.M | re.S
)
# What is not prose, in this order; a directive's name goes, its title, captions and text stay.
NOT_PROSE = re.compile(
    r"""\A---\n.*?\n---\n  # front matter
    |^(?P<fence>```+)(?:\{(?:code-cell|code-block|math|eval-rst|bibliography)\}|(?!\{)).*?^(?P=fence)\s*$
    |^(?:```+|:::+)(?:\{[\w:-]+\})?|^:(?!alt:)[\w-]+:.*?$  # directives, options
    |<!--.*?-->|^%.*?$|^\([\w.-]+\)=$|(?<=\])\([^)]*\)  # comments, labels, links
    |\$\$.*?\$\$|\\begin\{(\w+\*?)\}.*?\\end\{\2\}|\$[^$]+\$|(?:\{[\w:]+\})?(`+).+?\3
    |\b(?:Section|Table|Figure|Lemma|Theorem|Algorithm|Appendix)\s[A-Z\d.]*\d\b""",
    re.M | re.S | re.X,
)
# A decimal number, or any number in percent.
NUMBER = re.compile(
    r"(?<![\w.])\d+(?:\.\d+)+(?![\w.]*\d)|(?<![\w.])\d+(?=\W{0,2}\s?%|\s+percent\b)"
)

FORBIDDEN = {
    "talk of how the text came about": re.compile(r"\b(?:sessions?|assistants?|chatbots?)\b", re.I),
    "an issue's number": re.compile(r"(?<![\w&/(])#\d{1,5}\b(?!;)"),  # or a color
    "a path of one machine": re.compile(r"(?<![\w.:/])/(?:work|tmp|home|root)\b"),
    "a package registry": re.compile(r"--(?:extra-)?index-url|--find-links|--registry|/simple\b"),
    "unfinished work": re.compile(r"\b(?:TODO|FIXME|XXX)\b"),
}


def numbers(markdown):
    """Typed numbers of a Markdown text."""
    while (inside := TEXT.sub(r"\g<text>", markdown)) != markdown:
        markdown = inside
    return NUMBER.findall(NOT_PROSE.sub(" \N{WHITE SQUARE} ", markdown))


def markdown_of(path):
    """Markdown of a page or of a notebook, with the captions and descriptions of its figures."""
    if path.suffix != ".ipynb":
        return path.read_text(encoding="utf-8")
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        myst = cell["metadata"].get("mystnb", {})
        parts.append("".join(cell["source"]) if cell["cell_type"] == "markdown" else "")
        parts.append(myst.get("figure", {}).get("caption", ""))
        parts.append(myst.get("image", {}).get("alt", ""))
    return "\n\n".join(parts)


def everything_said(path):
    """All text of a file, of notebooks without pictures."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    notebook = json.loads(text)
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop("image/png", None)
    return json.dumps(notebook["cells"], ensure_ascii=False)


def forbidden(text):
    """What the project must not say, with the words around it."""
    for what, pattern in FORBIDDEN.items():
        for match in pattern.finditer(text):
            yield f"{what}: {text[max(0, match.start() - 40) : match.end() + 30]!r}"


def test_numbers_are_glued_or_declared():
    with open(ROOT / "tests" / "prose_constants.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    declared = [(row["where"], row["value"]) for row in rows]
    assert all(row["why"].strip() for row in rows)
    assert len(declared) == len(set(declared))
    typed = {
        (str(path.relative_to(ROOT)), number)
        for path in PAGES
        for number in numbers(markdown_of(path))
    }
    assert sorted(typed - set(declared)) == [], "typed, not declared"
    assert sorted(set(declared) - typed) == [], "declared, not there"


def test_project_speaks_of_itself_alone():
    files = [name for name in TRACKED if not name.endswith(NO_TEXT)]
    files = [name for name in files if not name.startswith("tests/")]  # they name what they seek
    assert len(files) > 100
    assert [(n, w) for n in files for w in forbidden(everything_said(ROOT / n))] == []


# One clean and one broken page.


CLEAN = r"""---
version: 0.1
---

(label-0.4)=
# See Section 4.2, Lemma B.1: 300 of 500 in the year 2020

`0.1` $0.2$ {glue:text}`x:.3f` [here](https://example.org/0.9) <!-- 0.5 -->

\begin{align}0.2\end{align}

```{code-cell} ipython3
y = 0.2
```

color: #222; #999999, page.html#3, an obsession, ../work/x, https://a.org/tmp
"""
BROKEN = """The error is 0.83, in 12.5% and 90 percent, **95 %** of the cases. Version 1.2.3.

```{figure} a.png
:alt: a 0.1 line
:name: fig-0.2

Caption 0.3, in /tmp of an earlier session, TODO: issue #12
```
"""


def test_typed_numbers_and_what_must_not_be_said_are_found():
    assert (numbers(CLEAN), list(forbidden(CLEAN))) == ([], [])
    assert numbers(BROKEN) == ["0.83", "12.5", "90", "95", "1.2.3", "0.1", "0.3"]
    assert len(list(forbidden(BROKEN))) == 4
