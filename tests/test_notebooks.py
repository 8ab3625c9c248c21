"""The contract of the notebooks: executed, thin, parameterized, checked (see CONTRIBUTING.md)."""

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest
import yaml
from conftest import PROJECT, ROOT
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from packaging.requirements import Requirement

from steinsdr.__main__ import main
from steinsdr.paper.notebook import REPOSITORY, SETUP, glue, insert_setup

NOTEBOOKS = sorted(ROOT.glob("notebooks/*.ipynb"))
MAX_CELLS, MAX_LINES = 25, 180
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
    setup = [(cell.source == SETUP, "remove-cell" in tags(cell)) for cell in code[:1]]
    if setup != [(True, True)] or sum("steinsdr-book" in cell.source for cell in code) != 1:
        yield "its first code cell is not the setup: steinsdr notebooks --setup-only"
    own = code[1:]  # the setup is the same everywhere and does not count
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


@pytest.fixture
def good():
    parameters = new_code_cell("n: int = 300  # sample size\nlaw: str = 'a'  # law of x")
    parameters.metadata.tags = ["parameters"]
    check = new_code_cell("# NBVAL_CHECK_OUTPUT\n%precision 3\ndef f():\n    pass\nprint(n)")
    check.outputs = [new_output("stream", text="300\n")]
    setup = new_code_cell(SETUP, metadata={"tags": ["remove-cell"]})
    for count, cell in enumerate([setup, parameters, check], start=1):
        cell.execution_count = count
    return new_notebook(cells=[new_markdown_cell("# Title"), setup, parameters, check])


def test_contract_is_kept_by_a_good_notebook_and_broken_by_a_bad_one(good):
    assert list(contract_violations(good)) == []
    title, setup, parameters, check = good.cells
    title.source += " $\\bs(x)$, with $\\boldsymbol{x} \\in \\mathbb{R}^p$"
    setup.source += " "
    parameters.source = "n = 300  # sample size\nm: int = 3"
    parameters.metadata.tags = ["parameters"]
    check.source = "import pytest, torchvision\nclass C:\n    pass\n" + "".join(
        f"def f{k}():\n{'    pass' + chr(10):s}" for k in range(3)
    )
    check.source += "def long():\n" + "    pass\n" * MAX_LINES
    check.outputs = [new_output("error", ename="ValueError", evalue="", traceback=[])]
    good.cells += [new_code_cell("n") for _ in range(MAX_CELLS)]
    assert list(contract_violations(good)) == [
        "its first code cell is not the setup: steinsdr notebooks --setup-only",
        "it was not executed from top to bottom in a fresh kernel",
        "it stores an error",
        "it has 27 code cells, more than 25",
        "it has 217 lines of code, more than 180",
        "it defines 4 functions, more than 3",
        "long has more than 12 lines: it belongs in the package",
        "it defines the class C, which belongs in the package",
        "it imports pytest, which steinsdr[paper] does not bring",
        "it imports torchvision, which steinsdr[paper] does not bring",
        "not `name: type = value  # meaning`: 'n = 300  # sample size'",
        "not `name: type = value  # meaning`: 'm: int = 3'",
        "\\bs is known to the book alone: Jupyter and Colab show it as it is",
        "no cell has its output checked",
    ]


# The tool that writes the setup cell and executes.


def test_setup_is_inserted_once_and_the_rest_stays(good, tmp_path):
    path = tmp_path / "notebook.ipynb"
    expected = [cell.source for cell in good.cells]
    del good.cells[1]
    good.cells[2].outputs = [new_output("execute_result", data={}, execution_count=2)]
    good.cells[1].execution_count, good.cells[2].execution_count = 1, 2
    nbformat.write(good, path)
    assert insert_setup(path)
    after = nbformat.read(path, as_version=4)
    assert list(contract_violations(after)) == []
    assert [cell.source for cell in after.cells] == expected
    assert after.cells[3].outputs[0].execution_count == 3
    text = path.read_text()
    assert not insert_setup(path)
    assert path.read_text() == text


@pytest.mark.parametrize("counts", [(None, None), (2, 1), (1, None), (0, 1)])
def test_setup_does_not_hide_a_wrong_order(good, tmp_path, counts):
    path = tmp_path / "notebook.ipynb"
    del good.cells[1]
    for cell, count in zip(good.cells[1:], counts, strict=True):
        cell.execution_count = count
    nbformat.write(good, path)
    insert_setup(path)
    (violation,) = contract_violations(nbformat.read(path, as_version=4))
    assert "not executed" in violation


def test_old_setup_is_refreshed_and_notebooks_are_executed_in_place(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = Path("notebooks", "a.ipynb")
    path.parent.mkdir()
    old = new_code_cell("# old", id="setup", execution_count=1)
    nbformat.write(new_notebook(cells=[old, new_code_cell("print(1 + 1)")]), path)
    assert main(["notebooks", "--setup-only"]) == 0
    assert capsys.readouterr().out == f"{path} (setup cell written)\n"
    assert main(["notebooks", "--only", "a"]) == 0
    assert capsys.readouterr().out == f"{path}\n"
    setup, cell = nbformat.read(path, as_version=4).cells
    assert (setup.source, setup.execution_count) == (SETUP, 1)
    assert (cell.execution_count, cell.outputs[0].text) == (2, "2\n")


# The setup cell at work.


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
    with monkeypatch.context() as patch:
        patch.setattr(importlib.util, "find_spec", lambda name: None)
        exec(SETUP, {})
    assert commands == [
        ["git", "clone", "--depth", "1", REPOSITORY, "steinsdr-book"],
        [sys.executable, "-m", "pip", "install", "-q", "./steinsdr-book[paper]"],
    ]
    assert Path.cwd() == tmp_path / "steinsdr-book" / "notebooks"
    monkeypatch.chdir(tmp_path)
    exec(SETUP, {})
    assert len(commands) == 2, "installed, the kernel restarted"
    assert Path.cwd() == tmp_path / "steinsdr-book" / "notebooks"


def test_clone_does_not_pass_for_the_package(tmp_path):
    """Python takes any folder for a package without code; -S leaves out what is installed."""
    code = "import importlib.util as u; print(u.find_spec('steinsdr') is None)"
    program = [sys.executable, "-S", "-E", "-c", code]
    for folder, missing in (("steinsdr-book", True), ("steinsdr", False)):
        (tmp_path / folder).mkdir()
        done = subprocess.run(program, capture_output=True, text=True, cwd=tmp_path, check=True)
        assert done.stdout.strip() == str(missing)


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
