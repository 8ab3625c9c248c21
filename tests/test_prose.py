"""No result is typed by hand, and the project speaks of itself alone.

A decimal number or a percentage in the text is glued, or it is a setting or a quoted value that
prose_constants.csv declares: one row per file and value, with the reason. What stands in code or
math is not looked at, nor are numbers in words.
"""

import csv
import json
from collections import Counter

import pytest
from conftest import ROOT
from prose import everything_said, forbidden, markdown_of, numbers

PAGES = [
    ROOT / "README.md",
    *sorted(ROOT.glob("book/*.md")),
    *sorted(ROOT.glob("notebooks/*.ipynb")),
]
SOURCES = [*sorted(ROOT.glob("steinsdr/**/*.py")), *sorted(ROOT.glob("book/**/*.py"))]
OTHERS = [
    *(ROOT / name for name in (".ci/run", "CITATION.cff", "CONTRIBUTING.md", "Makefile")),
    *(ROOT / name for name in ("_config.yml", "_toc.yml", "environment.yml", "pyproject.toml")),
    *(path for kind in ("csv", "json") for path in sorted(ROOT.glob(f"book/*/*.{kind}"))),
    *sorted(ROOT.glob("notebooks/parameters/*.yml")),
]
CONSTANTS = ROOT / "tests" / "prose_constants.csv"


def name(path):
    return path.relative_to(ROOT).as_posix()


def declared():
    with CONSTANTS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def undeclared(found, constants, where):
    """Numbers of a file that no row allows there, with the words around them."""
    allowed = {row["value"] for row in constants if row["where"] == where}
    return [f"{value}: {words}" for value, words in found if value not in allowed]


def idle(constants, found):
    """Rows that are repeated, give no reason, or allow a number that is not there."""
    keys = [(row["where"], row["value"]) for row in constants]
    present = {(where, value) for where, values in found.items() for value, _ in values}
    yield from (key for key, count in Counter(keys).items() if count > 1)
    yield from (key for key in keys if key not in present)
    yield from (key for key, row in zip(keys, constants, strict=True) if not row["why"].strip())


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_numbers_are_glued_or_declared(path):
    assert undeclared(numbers(markdown_of(path)), declared(), name(path)) == []


def test_declared_constants_are_in_use():
    assert list(idle(declared(), {name(p): list(numbers(markdown_of(p))) for p in PAGES})) == []


@pytest.mark.parametrize("path", [*PAGES, *OTHERS, *SOURCES], ids=name)
def test_project_speaks_of_itself_alone(path):
    assert list(forbidden(everything_said(path))) == []


# Planted defects.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The error is 0.83 here.", ["0.83"]),
        ("It holds in 12.5% and in 90 percent, **95 %** of the cases.", ["12.5", "90", "95"]),
        ("| a | b |\n| --- | --- |\n| SIR | 1.83 |", ["1.83"]),
        ("Term\n: Defined with 0.25 in it.", ["0.25"]),
        ("```{figure} a.png\n:alt: a 0.1 line\n:name: fig-0.2\n\nCaption 0.3\n```", ["0.1", "0.3"]),
        (":::{prf:lemma} Title 0.4\n:label: lem\n\nBody 0.5 and $0.6$.\n:::", ["0.4", "0.5"]),
        ("> a quote 0.7\n\n- a list [0.8](https://example.org/0.9)", ["0.7", "0.8"]),
        ("at (0.5, -0.7) and ~0.3;", ["0.5", "0.7", "0.3"]),
        ("Version 1.2.3 has it.", ["1.2.3"]),
        ("`0.1` $0.2$ {glue:text}`x:.3f` {ref}`0.4`", []),
        ("$$\n0.1\n$$ (eq-a)\n\n\\begin{align}0.2\\end{align}", []),
        ("```python\nx = 0.1\n```\n\n```{code-cell} ipython3\n:tags: [x]\n\ny = 0.2\n```", []),
        ("---\nversion: 0.1\n---\n\n<!-- 0.2 -->\n\n% 0.3 is a comment\n\n(label-0.4)=", []),
        ("See Section 4.2, Table 3.1 and Lemma B.1; 300 of 500 in the year 2020.", []),
    ],
)
def test_planted_numbers_are_found(text, expected):
    assert [value for value, _ in numbers(text)] == expected


def test_captions_descriptions_and_outputs_of_notebooks_are_read(tmp_path):
    figure = {"figure": {"caption": "A share of 0.25."}, "image": {"alt": "A line at 0.5."}}
    code = {
        "cell_type": "code",
        "source": ["x = 0.1  # TO", "DO"],
        "metadata": {"mystnb": figure},
        "outputs": [{"text": ["in /tmp/x"]}, {"data": {"text/plain": ["issue #12"]}}],
    }
    text = {"cell_type": "markdown", "source": ["About ", "0.75."], "metadata": {}}
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps({"cells": [text, code]}))
    assert [value for value, _ in numbers(markdown_of(path))] == ["0.75", "0.25", "0.5"]
    found = [sentence.split(":")[0] for sentence in forbidden(everything_said(path))]
    assert found == ["an issue's number", "a path of one machine", "unfinished work"]


def test_declaration_holds_for_its_file_and_must_be_used():
    row = {"value": "0.90", "where": "a.md", "why": "a setting"}
    found = [("0.90", "the 0.90 quantile"), ("0.83", "a distance of 0.83")]
    assert undeclared(found, [row], "a.md") == ["0.83: a distance of 0.83"]
    assert len(undeclared(found, [row], "b.md")) == 2
    assert list(idle([row], {"a.md": found})) == []
    assert list(idle([row], {"b.md": found})) == [("a.md", "0.90")]
    assert list(idle([row, row], {"a.md": found})) == [("a.md", "0.90")]
    assert list(idle([row | {"why": " "}], {"a.md": found})) == [("a.md", "0.90")]


@pytest.mark.parametrize(
    "text",
    [
        "in an earlier session",
        "the Assistant wrote",
        "fixes #42",
        "see /work/main/x.csv",
        "open /tmp/x",
        "(/home/me)",
        "TODO: more",
        "pip install --index-url X",
    ],
)
def test_planted_talk_is_found(text):
    assert len(list(forbidden(text))) == 1


@pytest.mark.parametrize(
    "text",
    ["color #1f77b4", "a page.html#3", "obsession", "../work/x", "https://a.org/tmp"],
)
def test_harmless_talk_passes(text):
    assert list(forbidden(text)) == []


def test_comments_and_docstrings_are_read(tmp_path):
    path = tmp_path / "a.py"
    path.write_text('"""In /tmp."""\nx = "/tmp/a"  # TODO\n"""Of #1."""\n')
    assert len(list(forbidden(everything_said(path)))) == 3
