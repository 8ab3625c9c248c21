"""The written pages: their code runs, their numbers are computed, every name has its page."""

from __future__ import annotations

import ast
import importlib
import os
import pkgutil
import re
import runpy
from textwrap import dedent
from types import SimpleNamespace

import matplotlib.pyplot as plt
import pytest
import yaml
from check_html import toc_pages
from conftest import ROOT
from matplotlib.testing.compare import compare_images

import steinsdr
import steinsdr.paper.notebook
from steinsdr.paper.experiment import find_experiment
from steinsdr.paper.store import Store

BOOK = ROOT / "book"
PAGES = {path.stem: path.read_text() for path in sorted(BOOK.glob("*.md"))}
CELL = re.compile(
    r"^```\{code-cell\}[^\n]*\n(?:---\n.*?\n---\n|(?::[^\n]*\n)*)(.*?)^```$", re.M | re.S
)
COMPUTED = [name for name, text in PAGES.items() if "{code-cell}" in text]
FIGURES = sorted((BOOK / "figures").glob("*.py"))
MODULES = [
    module.name
    for module in pkgutil.walk_packages(steinsdr.__path__, "steinsdr.")
    if not any(part.startswith("_") for part in module.name.split("."))
]


def code(page):
    return CELL.findall(PAGES[page])


# Computed pages.


@pytest.mark.parametrize("page", COMPUTED)
def test_code_runs_and_glues_what_the_text_uses(page, monkeypatch):
    glued = {}
    monkeypatch.setattr(steinsdr.paper.notebook, "glue", glued.__setitem__)
    monkeypatch.chdir(BOOK)
    cells = code(page)
    assert len(cells) == PAGES[page].count("{code-cell}")
    scope = {"__name__": "page"}
    for cell in cells:
        exec(compile(cell, f"{page}.md", "exec"), scope)
    plt.close("all")
    used = re.findall(r"\{glue:text\}`(\w+)(?::[^`]*)?`", PAGES[page])
    assert set(used) == set(glued)
    defined = [n for n in ast.walk(ast.parse("\n".join(cells))) if isinstance(n, ast.FunctionDef)]
    assert len(defined) <= 3


def test_lines_on_the_page_on_running_give_the_row_that_its_command_replays(capsys):
    example = re.search(r"```python\n(   from steinsdr.*?)```", PAGES["running"], flags=re.S)[1]
    exec(dedent(example), {})
    experiment = find_experiment("table1")
    cell = experiment.cell(law="ar1", n=300, method="TRE-sup", rep=17)
    assert "replay table1 --law ar1 --n 300 --method TRE-sup --rep 17" in PAGES["running"]
    stored = Store(experiment, BOOK / "results").read()[cell].values[0]
    assert float(capsys.readouterr().out) == pytest.approx(stored, abs=experiment.precision)


# The API page.


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


def test_api_page_has_a_dozen_names_with_examples_and_internals_every_module():
    names = re.findall(r"^\.\. auto(?:class|function):: (\S+)$", PAGES["api"], flags=re.M)
    assert 10 <= len(names) <= 14
    assert [name for name in names if ">>>" not in resolve(name).__doc__] == []
    assert {*steinsdr.__all__} - {"__version__"} <= {name.rpartition(".")[2] for name in names}
    modules = re.findall(r"^\.\. automodule:: (\S+)$", PAGES["internals"], flags=re.M)
    by_class = {"steinsdr.estimator", "steinsdr.regressor"}
    assert sorted(modules) == sorted({*MODULES} - by_class)
    left_out = re.findall(r"^   :exclude-members: (.*)$", PAGES["internals"], flags=re.M)
    elsewhere = {name.rpartition(".")[2] for name in names if name.count(".") > 1}
    assert elsewhere <= set(", ".join(left_out).split(", ")), "described twice"


def test_purposes_of_modules_are_the_first_sentences_of_their_docstrings():
    folds = re.findall(r"^:::\{dropdown\} \*\*`(.+?)`\*\* (.+)$", PAGES["internals"], flags=re.M)
    assert len(folds) == PAGES["internals"].count(":::{dropdown}")
    for module, purpose in folds:
        first = importlib.import_module(module).__doc__.partition("\n")[0]
        assert purpose == re.sub(r":math:`(.*?)`", r"$\1$", first).replace("``", "`"), module


# Structure.


def test_contents_hold_every_written_page_and_the_start_page_leads_to_every_chapter():
    contents = set(toc_pages(yaml.safe_load((ROOT / "_toc.yml").read_text())))
    included = {"decision"}  # a part of other pages
    assert {f"book/{name}" for name in PAGES} - {f"book/{name}" for name in included} <= contents
    targets = re.findall(r"\{doc\}`(?:[^`<]*<)?([^`>]+)>?`", PAGES["intro"])
    linked = {os.path.normpath(os.path.join("/book", target)).lstrip("/") for target in targets}
    assert contents - {"book/intro"} <= linked


def test_files_that_pages_name_exist():
    named = re.findall(r"`((?:test|check)_\w+\.py)`", PAGES["how_made"])
    assert len(named) > 10
    assert [name for name in named if not (ROOT / "tests" / name).is_file()] == []
    for name in ("README.md", "CONTRIBUTING.md"):
        targets = re.findall(r"\]\(([^)#:]+)\)", (ROOT / name).read_text())
        assert [target for target in targets if not (ROOT / target).exists()] == []


def test_buttons_need_an_address_and_lead_to_notebooks_alone(monkeypatch):
    config = yaml.safe_load((ROOT / "_config.yml").read_text())
    # The book's root is the repository's: a page's name is the path of its file.
    assert (config["repository"]["branch"], config["repository"]["path_to_book"]) == ("main", "")
    assert not config["launch_buttons"].get("thebe"), "its script is elsewhere"
    assert "buttons" in config["sphinx"]["config"]["extensions"]
    monkeypatch.syspath_prepend(str(BOOK / "_ext"))
    extension = importlib.import_module("buttons")
    for url in ("", "https://example.org/steinsdr"):
        options = {"repository_url": url, "use_repository_button": True, "launch_buttons": {"a": 1}}
        extension.only_with_an_address(None, SimpleNamespace(html_theme_options=options))
        assert options["use_repository_button"] is bool(url)
        assert options["launch_buttons"] == ({"a": 1} if url else {})
    buttons = [{"label": "launch-buttons"}, {"label": "source-buttons"}]
    for suffix, expected in ((".ipynb", buttons), (".md", buttons[1:]), (None, buttons[1:])):
        context = {"page_source_suffix": suffix, "header_buttons": list(buttons)}
        extension.keep_on_notebooks(None, "page", "page.html", context, None)
        assert context["header_buttons"] == expected


# Figures.


def test_every_picture_is_drawn_by_a_script_or_by_the_package():
    pictures = {path.stem for path in BOOK.glob("figures/*.png")}
    scripts = {path.stem for path in FIGURES}
    assert scripts <= pictures
    source = "".join(path.read_text() for path in sorted(ROOT.glob("steinsdr/**/*.py")))
    for name in pictures - scripts:  # the chapter on Patch-seq data puts its own name before
        assert f'"{name.removeprefix("patchseq_")}"' in source, name


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
