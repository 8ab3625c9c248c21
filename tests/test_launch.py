"""Run anywhere: one public address, launch links, and notebooks that start on Binder and Colab."""

from __future__ import annotations

import ast
import copy
import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import nbformat
import numpy as np
import pytest
import yaml
from conftest import ROOT
from packaging.requirements import Requirement

from steinsdr.paper.notebook import REPOSITORY, SETUP, glue

CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text())
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text())
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

sys.path.insert(0, str(ROOT / "book" / "_ext"))
from launch_buttons import keep_on_notebooks  # noqa: E402

MODULES = {"scikit-learn": "sklearn"}  # import names that are not the package's


def address_problems(project, citation, config):
    """Places that state another address than the package does, or none."""
    stated = {
        "pyproject.toml": project.get("urls", {}).get("Repository"),
        "CITATION.cff": citation.get("repository-code"),
        "_config.yml": config.get("repository", {}).get("url"),
    }
    return [place for place, address in stated.items() if address != REPOSITORY]


def test_there_is_one_address():
    assert address_problems(PROJECT, CITATION, CONFIG) == []


@pytest.mark.parametrize("place", [0, 1, 2])
def test_planted_address_is_found(place):
    files = copy.deepcopy([PROJECT, CITATION, CONFIG])
    files[place].update(
        {"urls": {"Repository": "x"}, "repository-code": "x", "repository": {"url": "x"}}
    )
    assert len(address_problems(*files)) == 1


def test_no_file_states_another_address():
    patterns = ("*.*", "book/*.md", "notebooks/*.ipynb", "steinsdr/**/*.py")
    paths = [path for pattern in patterns for path in ROOT.glob(pattern) if path.is_file()]
    stated = {
        a for path in paths for a in re.findall(r"https?://[\w./-]*steinsdr", path.read_text())
    }
    assert stated == {REPOSITORY}


def test_launch_buttons_lead_to_the_notebooks():
    assert CONFIG["repository"]["branch"] == "main"
    # The book's root is the repository's: a page's name is the path of its file.
    assert CONFIG["repository"]["path_to_book"] == ""
    assert CONFIG["launch_buttons"]["binderhub_url"] == "https://mybinder.org"
    assert CONFIG["launch_buttons"]["colab_url"] == "https://colab.research.google.com"
    # Thebe would load its script from elsewhere.
    assert not CONFIG["launch_buttons"].get("thebe")


def test_written_pages_have_no_launch_buttons():
    buttons = [{"label": "launch-buttons"}, {"label": "source-buttons"}]
    for suffix, expected in ((".ipynb", buttons), (".md", buttons[1:]), (None, buttons[1:])):
        context = {"page_source_suffix": suffix, "header_buttons": list(buttons)}
        keep_on_notebooks(None, "page", "page.html", context, None)
        assert context["header_buttons"] == expected
    assert "steinsdr._launch_buttons" in CONFIG["sphinx"]["config"]["extensions"]


def test_binder_takes_the_environment():
    """Repo2docker ignores a root environment.yml beside any of these."""
    assert (ROOT / "environment.yml").is_file()
    assert [name for name in ("binder", ".binder", "Dockerfile") if (ROOT / name).exists()] == []


# The setup cell of the notebooks.


@pytest.fixture
def commands(monkeypatch, tmp_path):
    """Run in an empty folder; a list of the commands that the cell runs, of which git works."""
    ran = []

    def fake_run(command, *, check):
        ran.append(command)
        if command[0] == "git":
            Path(command[-1], "notebooks").mkdir(parents=True)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(subprocess, "run", fake_run)
    return ran


def test_setup_does_nothing_where_the_package_is(commands, tmp_path):
    exec(SETUP, {})
    assert commands == []
    assert Path.cwd() == tmp_path


def test_setup_fetches_and_installs_what_is_missing(commands, monkeypatch, tmp_path):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    exec(SETUP, {})
    assert [command[:2] for command in commands] == [["git", "clone"], [sys.executable, "-m"]]
    assert commands[0][-2:] == [REPOSITORY, "steinsdr-book"]
    assert commands[1][2:] == ["pip", "install", "-q", "./steinsdr-book"]
    assert Path.cwd() == tmp_path / "steinsdr-book" / "notebooks"


def test_setup_goes_on_where_it_stopped(commands, monkeypatch, tmp_path):
    (tmp_path / "steinsdr-book" / "notebooks").mkdir(parents=True)
    with monkeypatch.context() as patch:
        patch.setattr(importlib.util, "find_spec", lambda name: None)
        exec(SETUP, {})
    assert [command[0] for command in commands] == [sys.executable]  # fetched, not installed
    monkeypatch.chdir(tmp_path)
    exec(SETUP, {})
    assert len(commands) == 1  # installed, the kernel restarted
    assert Path.cwd() == tmp_path / "steinsdr-book" / "notebooks"


@pytest.mark.parametrize(("folder", "missing"), [("steinsdr-book", True), ("steinsdr", False)])
def test_clone_does_not_pass_for_the_package(folder, missing, tmp_path):
    """Python takes any folder for a package without code; -S leaves out what is installed."""
    (tmp_path / folder).mkdir()
    code = "import importlib.util as u; print(u.find_spec('steinsdr') is None)"
    program = [sys.executable, "-S", "-E", "-c", code]
    done = subprocess.run(program, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout.strip() == str(missing)


def foreign_imports(source, dependencies):
    """Modules that code imports and that neither a kernel nor the run-time dependencies bring."""
    nodes = list(ast.walk(ast.parse(re.sub(r"(?m)^\s*[%!].*$", "", source))))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom)]
    known = {"steinsdr", "IPython", *sys.stdlib_module_names}  # a notebook's kernel is IPython
    known |= {MODULES.get(Requirement(line).name, Requirement(line).name) for line in dependencies}
    return {name.partition(".")[0] for name in names} - known


@pytest.mark.parametrize("path", sorted(ROOT.glob("notebooks/*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_need_the_package_only(path):
    """The extras of the book and the tests are not there on Colab."""
    code = [c.source for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]
    assert foreign_imports("\n".join(code), PROJECT["dependencies"]) == set()


def test_planted_import_is_found():
    source = "%pip list\nimport os, yaml\nfrom sklearn.base import clone\nfrom myst_nb import glue"
    assert foreign_imports(source, ["scikit-learn>=1.6"]) == {"yaml", "myst_nb"}


def test_glue_does_nothing_without_the_book(monkeypatch):
    monkeypatch.setitem(sys.modules, "myst_nb", None)  # what Python does if it is not installed
    glue("name", np.float64(0.5))


def test_glue_hands_over_plain_numbers(monkeypatch):
    import myst_nb

    handed = []
    monkeypatch.setattr(myst_nb, "glue", lambda *args, **kwargs: handed.append((*args, kwargs)))
    glue("name", np.float64(0.5))
    assert handed == [("name", 0.5, {"display": False})]
    assert type(handed[0][1]) is float
