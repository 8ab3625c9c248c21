"""The written pages: their code runs, their numbers are computed, their names exist."""

from __future__ import annotations

import ast
import importlib
import os
import re
import runpy

import matplotlib.pyplot as plt
import pytest
import yaml
from check_html import toc_pages
from conftest import ROOT
from matplotlib.testing.compare import compare_images

import steinsdr
import steinsdr.paper.notebook
from steinsdr import SteinSDR
from steinsdr.__main__ import main
from steinsdr.paper.methods import METHODS, PAPER_METHODS
from steinsdr.rank import AdaptiveRank
from steinsdr.simulation import LAWS, simulate

BOOK = ROOT / "book"
PAGES = {path.stem: path.read_text() for path in sorted(BOOK.glob("*.md"))}
CELL = re.compile(
    r"^```\{code-cell\}[^\n]*\n(?:---\n.*?\n---\n|(?::[^\n]*\n)*)(.*?)^```$", re.M | re.S
)
COMPUTED = [name for name, text in PAGES.items() if CELL.search(text)]
FIGURES = sorted((BOOK / "figures").glob("*.py"))


def code(page):
    return CELL.findall(PAGES[page])


def section(page, label):
    """The text between a label and the next heading but its own."""
    return re.split(r"^##? ", PAGES[page].split(f"({label})=")[1], flags=re.M)[1]


# Computed pages.


def test_code_cells_are_found():
    assert {"claims", "ledger", "method"} <= set(COMPUTED)
    assert len(code("method")) == PAGES["method"].count("{code-cell}")


@pytest.mark.parametrize("page", COMPUTED)
def test_code_runs_and_glues_what_the_text_uses(page, monkeypatch):
    glued = {}
    monkeypatch.setattr(steinsdr.paper.notebook, "glue", glued.__setitem__)
    monkeypatch.chdir(BOOK)
    scope = {"__name__": "page"}
    for cell in code(page):
        exec(compile(cell, f"{page}.md", "exec"), scope)
    plt.close("all")
    used = re.findall(r"\{glue:text\}`(\w+)(?::[^`]*)?`", PAGES[page])
    assert set(used) == set(glued)


@pytest.mark.parametrize("page", COMPUTED)
def test_code_is_thin(page):
    tree = ast.parse("\n".join(code(page)))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    assert not [node.name for node in ast.walk(tree) if isinstance(node, kinds)]


# Names.


def resolve(name):
    """Import the longest module in a dotted name and look up the rest."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(name)


def test_names_in_roles_exist():
    fitted = SteinSDR(random_state=0).fit(*_small())
    for page, text in PAGES.items():
        for role, target in re.findall(r"\{py:(\w+)\}`(?:[^`<]*<)?([\w.]+)>?`", text):
            if role == "attr":
                owner, _, attribute = target.rpartition(".")
                known = fitted if owner == "steinsdr.SteinSDR" else resolve(owner)
                fields = getattr(known, "__dataclass_fields__", {})
                assert hasattr(known, attribute) or attribute in fields, (page, target)
            else:
                assert resolve(target) is not None, (page, target)


def _small():
    data = simulate("isotropic", n=100, p=10)
    return data.X, data.Y


def test_notation_lists_the_methods():
    rows = re.findall(r"^\| `([\w-]+)` \|", section("notation", "notation-methods"), flags=re.M)
    assert len(rows) == len(set(rows))
    assert set(PAPER_METHODS) | {"ridge", "true-score"} == set(rows) <= set(METHODS)


def test_notation_lists_the_laws():
    text = section("notation", "notation-laws")
    rows = dict(re.findall(r"^\| `(\w+)` \| \([a-d]\),? ([^|]+) \|", text, flags=re.M))
    assert set(rows) == set(LAWS)
    assert all(rows[name] in LAWS[name].label for name in rows)


def test_notation_names_parameters_that_exist():
    text = section("notation", "notation-moment")
    row = re.compile(r"\| ([^|]*) of \{py:class\}`AdaptiveRank ")
    named = {name for cell in row.findall(text) for name in re.findall(r"`(\w+)`", cell)}
    assert len(named) >= 6
    assert named <= set(AdaptiveRank().get_params())


# Structure.


def contents():
    return list(toc_pages(yaml.safe_load((ROOT / "_toc.yml").read_text())))


def test_every_written_page_is_in_the_contents():
    assert {f"book/{name}" for name in PAGES} <= set(contents())


def test_start_page_leads_to_every_chapter():
    targets = re.findall(r"\{doc\}`(?:[^`<]*<)?([^`>]+)>?`", PAGES["intro"])
    linked = {os.path.normpath(os.path.join("/book", target)).lstrip("/") for target in targets}
    assert set(contents()) - {"book/intro"} <= linked


def test_changelog_begins_with_the_version():
    versions = re.findall(r"^## (\S+)", PAGES["changelog"], flags=re.M)
    assert versions[0] == steinsdr.__version__


def test_tests_that_the_book_names_exist():
    named = re.findall(r"`((?:test|check)_\w+\.py)`", PAGES["how_made"])
    assert len(named) > 10
    assert [name for name in named if not (ROOT / "tests" / name).is_file()] == []


# README and CONTRIBUTING.


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_links_lead_to_files(name):
    targets = re.findall(r"\]\(([^)#:]+)\)", (ROOT / name).read_text())
    assert [target for target in targets if not (ROOT / target).exists()] == []


@pytest.mark.parametrize("page", ["README.md", "book/running.md"])
def test_commands_exist(page, capsys):
    text = (ROOT / page).read_text()
    commands = set(re.findall(r"python -m steinsdr (\w+)", text))
    assert commands
    for command in sorted(commands):
        with pytest.raises(SystemExit) as end:
            main([command, "--help"])
        assert end.value.code == 0, command
        capsys.readouterr()
    targets = set(re.findall(r"^(\w+):.*## ", (ROOT / "Makefile").read_text(), flags=re.M))
    assert set(re.findall(r"\bmake ([a-z]+)\b", re.sub(r"`make`", "", text))) <= targets


def test_readme_example_runs(capsys):
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.S)
    scope = {}
    exec(example, scope)
    assert scope["Z"].shape == (300, 3)
    assert float(capsys.readouterr().out.splitlines()[-1]) < 1.5  # chance is above 2


# Figures.


def test_every_picture_is_drawn_by_a_script_or_by_the_package():
    pictures = {path.stem for path in BOOK.glob("figures/*.png")}
    scripts = {path.stem for path in FIGURES}
    assert scripts <= pictures
    source = "".join(path.read_text() for path in sorted(ROOT.glob("steinsdr/**/*.py")))
    assert [name for name in sorted(pictures - scripts) if f'"{name}.png"' not in source] == []


@pytest.mark.slow
@pytest.mark.parametrize("script", FIGURES, ids=lambda path: path.stem)
def test_script_draws_its_picture(script, tmp_path):
    drawn = tmp_path / f"{script.stem}.png"
    with plt.rc_context():
        figure = runpy.run_path(str(script))["draw"]()
        figure.savefig(drawn, dpi=120)
        plt.close(figure)
    # A root mean squared difference of 5 in 255: letters may be smoothed otherwise elsewhere, a
    # moved curve shows.
    problem = compare_images(str(script.with_suffix(".png")), str(drawn), tol=5)
    assert problem is None, f"{problem}\nDraw it anew: python book/figures/{script.name}"
