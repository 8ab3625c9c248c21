"""The contract of the notebooks: executed, thin, parameterized, checked (see CONTRIBUTING.md)."""

import ast
import copy
import re

import nbformat
import pytest
import yaml
from conftest import ROOT
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from steinsdr.paper.notebook import SETUP, insert_setup, main

FOLDER = ROOT / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
MAX_CELLS, MAX_LINES = 25, 150
BOOK = yaml.safe_load((ROOT / "_config.yml").read_text())["sphinx"]["config"]
MACROS = "|".join(BOOK["mathjax3_config"]["tex"]["macros"])
MACRO = re.compile(rf"\\(?:{MACROS})(?![A-Za-z])")
PARAMETER = re.compile(r"[a-z]\w*: [\w\[\], |]+ = .+  # \S.*")


def tags(cell):
    return cell.metadata.get("tags", [])


def definitions(source):
    """Names of functions and classes that a cell defines; IPython magics are left out."""
    python = "\n".join("pass" if re.match(r"\s*[%!]", s) else s for s in source.splitlines())
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [node.name for node in ast.walk(ast.parse(python)) if isinstance(node, kinds)]


def contract_violations(notebook):
    """Sentences, one for each way in which a notebook breaks the contract."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    setup = [(cell.source == SETUP, "remove-cell" in tags(cell)) for cell in code[:1]]
    if setup != [(True, True)] or sum("steinsdr-book" in cell.source for cell in code) != 1:
        yield "its first code cell is not the setup: python -m steinsdr.paper.notebook --setup-only"
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
    for name in (name for cell in code for name in definitions(cell.source)):
        yield f"it defines {name}: logic belongs in the package"
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


def test_there_are_notebooks():
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_keeps_the_contract(path):
    assert list(contract_violations(nbformat.read(path, as_version=4))) == []


# Planted violations: a good notebook, then one defect at a time.


@pytest.fixture
def good():
    parameters = new_code_cell("n: int = 300  # sample size\nlaw: str = 'a'  # law of x")
    parameters.metadata.tags = ["parameters"]
    check = new_code_cell("# NBVAL_CHECK_OUTPUT\n%precision 3\nprint(n)")
    check.outputs = [new_output("stream", text="300\n")]
    setup = new_code_cell(SETUP, metadata={"tags": ["remove-cell"]})
    for count, cell in enumerate([setup, parameters, check], start=1):
        cell.execution_count = count
    return new_notebook(cells=[new_markdown_cell("# Title"), setup, parameters, check])


def test_good_notebook_has_no_violations(good):
    assert list(contract_violations(good)) == []
    tagged = copy.deepcopy(good)
    tagged.cells[3].source = "print(n)"
    tagged.cells[3].metadata.tags = ["nbval-check-output"]
    assert list(contract_violations(tagged)) == []


def not_executed(cells):
    cells[2].execution_count = None


def executed_out_of_order(cells):
    cells[2].execution_count, cells[3].execution_count = 3, 2


def error_stored(cells):
    cells[3].outputs = [new_output("error", ename="ValueError", evalue="", traceback=[])]


def too_many_cells(cells):
    cells += [new_code_cell("n", execution_count=count) for count in range(4, MAX_CELLS + 3)]


def too_many_lines(cells):
    cells[3].source += "\nprint(n)" * MAX_LINES


def function_defined(cells):
    cells[3].source += "\nif n:\n    def helper():\n        pass"


def class_defined(cells):
    cells[3].source += "\nclass Helper:\n    pass"


def parameters_untagged(cells):
    cells[2].metadata.tags = []


def parameters_twice(cells):
    cells[3].metadata.tags = ["parameters"]
    cells[3].source = "m: int = 3  # NBVAL_CHECK_OUTPUT"


def parameter_without_type(cells):
    cells[2].source = "n = 300  # sample size"


def parameter_without_meaning(cells):
    cells[2].source = "n: int = 300"


def output_unchecked(cells):
    cells[3].source = "print(n)"


def macro_of_the_book(cells):
    cells[0].source += "\n\nThe score $\\bs(x)$, with $\\boldsymbol{x} \\in \\mathbb{R}^p$."


def setup_missing(cells):
    del cells[1]
    cells[1].execution_count, cells[2].execution_count = 1, 2


def setup_changed(cells):
    cells[1].source += "  "


def setup_shown(cells):
    cells[1].metadata.tags = []


def setup_twice(cells):
    cells.append(new_code_cell(SETUP, execution_count=4))


@pytest.mark.parametrize(
    "plant",
    [
        setup_missing,
        setup_changed,
        setup_shown,
        setup_twice,
        not_executed,
        executed_out_of_order,
        error_stored,
        too_many_cells,
        too_many_lines,
        function_defined,
        class_defined,
        parameters_untagged,
        parameters_twice,
        parameter_without_type,
        parameter_without_meaning,
        output_unchecked,
        macro_of_the_book,
    ],
)
def test_planted_violation_is_found(good, plant):
    plant(good.cells)
    assert len(list(contract_violations(good))) == 1


# The tool that writes the setup cell.


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


def test_old_setup_is_refreshed(good, tmp_path, capsys):
    path = tmp_path / "notebook.ipynb"
    nbformat.write(good, path)
    good.cells[1] = new_code_cell("# old", id="setup", execution_count=1)
    nbformat.write(good, path)
    assert main(["--setup-only", str(path)]) == 0
    assert capsys.readouterr().out == f"{path} (setup cell written)\n"
    assert list(contract_violations(nbformat.read(path, as_version=4))) == []


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


def test_execution_from_the_command_line(tmp_path):
    path = tmp_path / "notebook.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("print(1 + 1)")]), path)
    assert main([str(path)]) == 0
    setup, cell = nbformat.read(path, as_version=4).cells
    assert setup.source == SETUP
    assert (cell.execution_count, cell.outputs[0].text) == (2, "2\n")
