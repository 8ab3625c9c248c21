"""The notebooks: their contract (see CONTRIBUTING.md), their execution, batches of them."""

import ast
import csv
import importlib.util
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest
import yaml
from bs4 import BeautifulSoup
from conftest import PROJECT, ROOT
from nbformat.v4 import new_code_cell, new_notebook
from packaging.requirements import Requirement

from steinsdr.__main__ import main
from steinsdr.paper.notebook import (
    _still_good,
    captioned,
    fits,
    glue,
    notebook_parameters,
    read_profile,
    setup_source,
)

NOTEBOOKS = sorted(ROOT.glob("notebooks/*.ipynb"))
MAX_CELLS, MAX_LINES = 25, 150
MAX_FUNCTIONS, MAX_FUNCTION_LINES = 3, 12
BOOK = yaml.safe_load((ROOT / "_config.yml").read_text())["sphinx"]["config"]
MACROS = "|".join(BOOK["mathjax3_config"]["tex"]["macros"])
MACRO = re.compile(rf"\\(?:{MACROS})(?![A-Za-z])")
PARAMETER = re.compile(r"[a-z]\w*: [\w\[\], |]+ = .+  # \S.*")

# What a notebook may import: the extra that its setup cell installs on Colab, and its kernel.
EXTRAS = PROJECT["optional-dependencies"]
BROUGHT = [*PROJECT["dependencies"], *EXTRAS["nn"], *EXTRAS["report"], *EXTRAS["paper"]]
KNOWN = {"steinsdr", "IPython", "sklearn", *sys.stdlib_module_names}
KNOWN |= {Requirement(line).name for line in BROUGHT}


def tags(cell):
    return cell.metadata.get("tags", [])


def code_problems(trees):
    """Sentences about what a notebook's code defines and imports."""
    nodes = [node for tree in trees for node in ast.walk(tree)]
    functions = [n for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    if len(functions) > MAX_FUNCTIONS:
        yield f"it defines {len(functions)} functions, more than {MAX_FUNCTIONS}"
    for node in functions:
        if node.end_lineno - node.lineno >= MAX_FUNCTION_LINES:
            yield f"{node.name} has more than {MAX_FUNCTION_LINES} lines: it belongs in the package"
    for node in (node for node in nodes if isinstance(node, ast.ClassDef)):
        yield f"it defines the class {node.name}, which belongs in the package"
    imports = [alias.name for n in nodes if isinstance(n, ast.Import) for alias in n.names]
    imports += [node.module for node in nodes if isinstance(node, ast.ImportFrom)]
    for name in sorted({name.partition(".")[0] for name in imports} - KNOWN):
        yield f"it imports {name}, which steinsdr[paper] does not bring"


def contract_violations(notebook):
    """Sentences, one for each way in which a notebook breaks the contract."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    setup = setup_source(ROOT / "notebooks")
    if [c.source for c in code if c.get("id") == "setup"] != ([setup] if setup else []):
        yield "its setup is not that of the project's address: make notebooks"
    own = [cell for cell in code if cell.get("id") != "setup"]  # the same everywhere
    lines = sum(bool(line.strip()) for cell in own for line in cell.source.splitlines())
    if [cell.execution_count for cell in code] != list(range(1, len(code) + 1)):
        yield "it was not executed from top to bottom in a fresh kernel"
    if any(output.output_type == "error" for cell in code for output in cell.outputs):
        yield "it stores an error"
    if len(own) > MAX_CELLS:
        yield f"it has {len(own)} code cells, more than {MAX_CELLS}"
    if lines > MAX_LINES:
        yield f"it has {lines} lines of code, more than {MAX_LINES}"
    yield from code_problems(
        ast.parse(re.sub(r"(?m)^(\s*)[%!].*$", r"\1pass", cell.source)) for cell in code
    )
    parameters = [cell for cell in code if "parameters" in tags(cell)]
    if len(parameters) != 1:
        yield f"{len(parameters)} cells are tagged parameters, not one"
    for line in (line for cell in parameters for line in cell.source.splitlines()):
        if not PARAMETER.fullmatch(line):
            yield f"not `name: type = value  # meaning`: {line!r}"
    for macro in (m for c in notebook.cells if c not in code for m in MACRO.findall(c.source)):
        yield f"{macro} is known to the book alone: Jupyter and Colab show it as it is"
    if not any("NBVAL_CHECK_OUTPUT" in c.source or "nbval-check-output" in tags(c) for c in code):
        yield "no cell has its output checked"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_keeps_the_contract(path):
    assert list(contract_violations(nbformat.read(path, as_version=4))) == []
    for annotation in notebook_parameters(path).values():
        assert fits(object(), annotation) is False, "a type that can be checked"


@pytest.mark.parametrize("name", ["smoke", "laptop", "paper"])
def test_stored_profiles_fit_the_notebooks(name):
    parameters = read_profile(ROOT / "notebooks", name)
    assert set(parameters) == {path.stem for path in NOTEBOOKS}
    assert any(parameters.values()) == (name != "laptop")


# Execution, in place and in batches.


OUT = Path("_build", "batch", "tiny")
ADDRESS = "https://example.org/steinsdr"


def write_notebook(stem, *sources):
    text = "n: int = 3  # size\nlabels: list[str] = ['a']  # names\nlam: float = 0.5  # weight"
    cells = [new_code_cell(text, metadata={"tags": ["parameters"]})]
    cells += [new_code_cell(source) for source in sources]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.write(notebook, f"notebooks/{stem}.ipynb")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two notebooks, of which one fails, and a profile that leaves one of them out."""
    monkeypatch.chdir(tmp_path)
    Path("notebooks", "parameters").mkdir(parents=True)
    Path("book", "results").mkdir(parents=True)
    write_notebook("bad", "total = n", "assert total > 5", "print('never')")
    write_notebook("good", "import os  # ../book/results", "print(n, labels, lam, os.getcwd())")
    profile("good: {n: 7, lam: 1}")
    return tmp_path


def profile(text):
    Path("notebooks", "parameters", "tiny.yml").write_text(text)


def batch(*arguments):
    return main(["notebooks", "--profile", "tiny", *arguments])


def summary():
    with open(OUT / "summary.csv", newline="") as file:
        return {row.pop("notebook"): row for row in csv.DictReader(file)}


def test_execution_in_place_renews_the_setup_and_stores_no_times(folder):
    path = Path("notebooks", "good.ipynb")
    before = nbformat.read(path, as_version=4)
    before.cells.insert(0, new_code_cell("# old", id="setup", execution_count=1))
    nbformat.write(before, path)
    assert main(["notebooks", "--only", "good"]) == 0
    assert [c.execution_count for c in nbformat.read(path, as_version=4).cells] == [1, 2, 3]
    Path("_config.yml").write_text(f"repository: {{url: {ADDRESS}}}")
    assert main(["notebooks", "--only", "good"]) == 0
    setup, *_, last = cells = nbformat.read(path, as_version=4).cells
    assert (setup.source, setup.metadata.tags) == (setup_source(path.parent), ["remove-cell"])
    assert [cell.execution_count for cell in cells] == [1, 2, 3, 4]
    assert not any("execution" in cell.metadata for cell in cells)
    assert last.outputs[0].text == f"3 ['a'] 0.5 {folder}/notebooks\n"


def test_failure_in_a_batch_is_reported_and_the_rest_runs(folder, capsys):
    assert batch("--jobs", "2") == 1
    rows = summary()
    assert (rows["bad"]["status"], rows["good"]["status"]) == ("failed", "ok")
    assert rows["bad"]["error"].startswith("In [3]: AssertionError")
    assert "2 notebooks, 1 failed" in capsys.readouterr().out
    # The copy has the given parameters, the defaults of the others, and ran beside the notebook.
    copy = nbformat.read(OUT / "good.ipynb", as_version=4)
    assert copy.cells[-1].outputs[0].text == f"7 ['a'] 1 {folder}/notebooks\n"
    assert nbformat.read("notebooks/good.ipynb", as_version=4).cells[-1].outputs == []


def test_death_of_a_notebooks_process_is_one_line(folder, capsys):
    write_notebook("bad", "import os", "os.kill(os.getppid(), 9)")
    assert batch("--only", "bad") == 2
    assert summary()["bad"]["status"] == "not run"
    assert "a process died (out of memory?); the same command with" in capsys.readouterr().err


@pytest.mark.slow
def test_resume_keeps_what_is_good(folder, monkeypatch):
    package = folder / "package" / "code.py"
    rows = folder / "book" / "results" / "rows.csv"
    for path in (package, rows):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    monkeypatch.setattr("steinsdr.paper.notebook._PACKAGE", package.parent)
    copy, notebook = (OUT / "good.ipynb").resolve(), folder / "notebooks" / "good.ipynb"
    parameters = {"n": 7, "lam": 1}
    assert not _still_good(notebook, copy, parameters), "nothing was there"
    assert batch("--resume") == 1
    assert batch("--resume") == 1
    assert {stem: row["status"] for stem, row in summary().items()} == {
        "bad": "failed",  # a failed copy is not kept
        "good": "kept",
    }
    for source in (notebook, package, rows):
        before = source.stat().st_mtime
        os.utime(source, (before + 3600, before + 3600))
        assert not _still_good(notebook, copy, parameters), source
        os.utime(source, (before, before))
    assert _still_good(notebook, copy, parameters)
    assert not _still_good(notebook, copy, parameters | {"n": 8}), "other parameters"
    copy.write_text("{torn")
    assert not _still_good(notebook, copy, parameters)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_interrupt_leaves_what_is_finished_and_no_kernel(folder):
    psutil = pytest.importorskip("psutil")
    write_notebook("a_quick", "print(1)")
    slow = "pathlib.Path('pid').write_text(str(os.getpid()))\ntime.sleep(600)"
    write_notebook("b_slow", "import os, pathlib, time", slow)
    program = [sys.executable, "-m", "steinsdr", "notebooks", "--profile", "tiny"]
    process = subprocess.Popen(
        [*program, "--only", "a_quick", "b_slow"],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    pid = folder / "notebooks" / "pid"
    while not (pid.exists() and pid.read_text()):
        assert process.poll() is None
        time.sleep(0.1)
    kernel = psutil.Process(int(pid.read_text()))
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    assert [row["status"] for row in summary().values()] == ["ok", "not run"]
    assert psutil.wait_procs([kernel], timeout=10)[1] == [], "the kernel survived"


@pytest.mark.parametrize(
    ("text", "arguments", "words"),
    [
        ("goood: {n: 1}", [], "a notebook must be one of 'bad', 'good'; got 'goood'"),
        ("good: {m: 1}", [], "good: a parameter must be one of 'n', 'labels', 'lam'; got 'm'"),
        ("good: {n: 1.5}", [], "good: n must be int; got 1.5"),
        ("good: {n: true}", [], "good: n must be int; got True"),
        ("good: {labels: [1]}", [], "good: labels must be list[str]; got [1]"),
        ("good: {lam: 1e-4}", [], "good: lam must be float; got '1e-4'"),  # in YAML: 1.0e-4
        ("good: 3", [], "must map notebooks to parameters and values; got {'good': 3}"),
        ("[good]", [], "must map notebooks to parameters and values; got ['good']"),
        ("", ["--profile", "tinny"], "profile must be one of 'tiny'; got 'tinny'"),
        ("", ["--only", "god"], "only must be one of 'bad', 'good'; got 'god'"),
    ],
)
def test_wrong_batches_are_refused_before_anything_runs(text, arguments, words, folder, capsys):
    profile(text)
    assert batch(*arguments) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
    assert not (OUT / "summary.csv").exists()


# The setup cell at work.


def test_setup_fetches_and_installs_what_is_missing_and_else_does_nothing(monkeypatch, tmp_path):
    ran = []

    def fake_run(command, *, check):
        ran.append(command)
        if command[0] == "git":
            Path(command[-1], "notebooks").mkdir(parents=True)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(subprocess, "run", fake_run)
    Path("_config.yml").write_text(f"repository: {{url: {ADDRESS}}}")
    setup = setup_source(tmp_path / "notebooks")
    exec(setup, {})
    assert (ran, Path.cwd()) == ([], tmp_path), "the package is here"
    with monkeypatch.context() as patch:
        patch.setattr(importlib.util, "find_spec", lambda name: None)
        exec(setup, {})
    assert ran == [
        ["git", "clone", "--depth", "1", ADDRESS, "steinsdr-book"],
        [sys.executable, "-m", "pip", "install", "-q", "./steinsdr-book[paper]"],
    ]
    assert Path.cwd() == tmp_path / "steinsdr-book" / "notebooks"
    monkeypatch.chdir(tmp_path)
    exec(setup, {})
    assert len(ran) == 2, "installed, the kernel restarted"
    assert Path.cwd() == tmp_path / "steinsdr-book" / "notebooks"


# Numbers for the prose.


def test_glue_hands_over_plain_numbers(monkeypatch):
    import myst_nb

    handed = []
    monkeypatch.setattr(myst_nb, "glue", lambda *args, **kwargs: handed.append((*args, kwargs)))
    glue("name", np.float64(0.5))
    assert handed == [("name", 0.5, {"display": False})]
    assert type(handed[0][1]) is float
    monkeypatch.setitem(sys.modules, "myst_nb", None)  # what Python does if it is not installed
    glue("name", 0.5)
    assert len(handed) == 1


def test_caption_stands_above_a_table_with_one_line_of_heads(monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda data, raw: shown.append(data))
    index = pd.MultiIndex.from_tuples([("a", 1), ("a", 2)], names=["law", "n"])
    captioned(pd.DataFrame({"error": [0.5, 0.25]}, index=index), "Errors < 1")
    table = BeautifulSoup(shown[0]["text/html"], "html.parser").table
    assert table.caption.get_text() == "Errors < 1"
    heads = [[cell.get_text() for cell in row("th")] for row in table.thead("tr")]
    assert heads == [["law", "n", "error"]]
    assert table.tbody.th["rowspan"] == "2"
    assert shown[0]["text/plain"].startswith("Errors < 1")
