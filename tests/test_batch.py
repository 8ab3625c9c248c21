"""A batch of notebooks: parameters are checked first, failures are reported and stop no other."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
from conftest import ROOT
from nbformat.v4 import new_code_cell, new_notebook

from steinsdr.__main__ import main
from steinsdr.paper.notebook import fits, notebook_parameters, read_profile

PARAMETERS = 'n: int = 3  # size\nlabels: list[str] = ["a"]  # names\nlam: float = 0.5  # weight'
OUT = Path("_build", "batch", "tiny")


def write_notebook(stem: str, *sources: str) -> None:
    cells = [new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]})]
    cells += [new_code_cell(source) for source in sources]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.write(notebook, f"notebooks/{stem}.ipynb")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Two notebooks, of which one fails, and a profile that leaves one of them out."""
    monkeypatch.chdir(tmp_path)
    Path("notebooks", "parameters").mkdir(parents=True)
    write_notebook("bad", "total = n", "assert total > 5", "print('never')")
    write_notebook("good", "import os  # ../book/results", "print(n, labels, lam, os.getcwd())")
    profile("good: {n: 7, lam: 1}\n")
    return tmp_path


def profile(text: str) -> None:
    Path("notebooks", "parameters", "tiny.yml").write_text(text)


def batch(*arguments: str) -> int:
    return main(["notebooks", "--profile", "tiny", *arguments])


def summary() -> dict[str, dict[str, str]]:
    with open(OUT / "summary.csv", newline="") as file:
        return {row.pop("notebook"): row for row in csv.DictReader(file)}


def last_output(stem: str) -> str:
    return nbformat.read(OUT / f"{stem}.ipynb", as_version=4).cells[-1].outputs[0].text


def test_failure_is_reported_and_the_rest_runs(folder, capsys):
    assert batch("--jobs", "2") == 1
    rows = summary()
    error = "In [3] at `assert total > 5`: AssertionError"
    assert (rows["bad"]["status"], rows["bad"]["error"]) == ("failed", error)
    assert (rows["good"]["status"], rows["good"]["error"]) == ("ok", "")
    assert float(rows["good"]["seconds"]) > 0
    assert f"bad failed: {error}\n2 notebooks, 1 failed" in capsys.readouterr().out
    # The copy has the given parameters, the defaults of the others, and ran beside the notebook.
    assert last_output("good") == f"7 ['a'] 1 {folder}/notebooks\n"
    assert nbformat.read("notebooks/good.ipynb", as_version=4).cells[-1].outputs == []


@pytest.mark.slow
def test_notebooks_run_side_by_side():
    """Each waits for a file that the other writes."""
    wait = (
        "import os, pathlib, time\n"
        "pathlib.Path({!r}).touch()\n"
        "while not pathlib.Path({!r}).exists():\n"
        "    time.sleep(0.05)\n"
        "print(os.environ['OMP_NUM_THREADS'])"
    )
    write_notebook("left", wait.format("l", "r"))
    write_notebook("right", wait.format("r", "l"))
    assert batch("--only", "left", "right", "--jobs", "2") == 0
    assert list(summary()) == ["left", "right"]
    assert last_output("left") == "1\n"


@pytest.mark.slow
def test_resume_keeps_what_is_good(folder, monkeypatch):
    package = folder / "package" / "code.py"
    rows = folder / "book" / "results" / "rows.csv"
    for path in (package, rows):
        path.parent.mkdir(parents=True)
        path.touch()
    monkeypatch.setattr("steinsdr.paper.notebook._PACKAGE", package.parent)

    def status(*arguments: str) -> str:
        batch("--only", "good", *arguments)
        return summary()["good"]["status"]

    assert status("--resume") == "ok", "nothing was there"
    assert status("--resume") == "kept"
    assert batch("--only", "bad", "--resume") == 1
    assert batch("--only", "bad", "--resume") == 1, "a failed copy is not kept"

    def anew(*_) -> dict[str, str]:
        return {"status": "anew", "seconds": "", "error": ""}

    monkeypatch.setattr("joblib.externals.loky.ProcessPoolExecutor", InProcess)
    monkeypatch.setattr("joblib.externals.loky.as_completed", list)
    monkeypatch.setattr("steinsdr.paper.notebook._execute_copy", anew)
    assert status() == "anew"
    for source in (folder / "notebooks" / "good.ipynb", package, rows):
        before = source.stat().st_mtime
        os.utime(source, (before + 3600, before + 3600))
        assert status("--resume") == "anew", source
        os.utime(source, (before, before))
        assert status("--resume") == "kept"
    profile("good: {n: 8, lam: 1}\n")
    assert status("--resume") == "anew", "other parameters"
    profile("good: {n: 7, lam: 1}\n")
    (OUT / "good.ipynb").write_text("{torn")
    assert status("--resume") == "anew"


class InProcess:
    """Stands in for a pool of processes."""

    def __init__(self, **_):
        pass

    def submit(self, function, *arguments):
        self.exception = lambda: None
        self.result = lambda: function(*arguments)
        return self

    def shutdown(self, **_):
        pass


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_interrupt_leaves_what_is_finished(folder):
    write_notebook("a_quick", "print(1)")
    write_notebook(
        "b_slow",
        "import os, pathlib, time",
        "pathlib.Path('pid').write_text(str(os.getpid()))\ntime.sleep(600)",
    )
    program = [sys.executable, "-m", "steinsdr", "notebooks", "--profile", "tiny"]
    process = subprocess.Popen(
        [*program, "--only", "a_quick", "b_slow"],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    pid = folder / "notebooks" / "pid"
    while not (pid.exists() and pid.read_text()):
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    process.communicate()
    assert [row["status"] for row in summary().values()] == ["ok", "not run"]
    for _ in range(100):  # the kernel is gone too
        try:
            os.kill(int(pid.read_text()), 0)
        except ProcessLookupError:
            break
        time.sleep(0.1)
    else:
        pytest.fail("the kernel survived")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("goood: {n: 1}", "a notebook must be one of bad, good; got 'goood' (did you mean good?)"),
        ("good: {m: 1}", "a parameter of good must be one of n, labels, lam; got 'm'"),
        ("good: {label: [a]}", "got 'label' (did you mean labels?)"),
        ("good: {n: 1.5}", "good: n must be int; got 1.5"),
        ("good: {n: true}", "good: n must be int; got True"),
        ("good: {labels: [1]}", "good: labels must be list[str]; got [1]"),
        ("good: {lam: 1e-4}", "good: lam must be float; got '1e-4'"),  # a text in YAML: 1.0e-4
        ("good: 3", "good must map parameters to values; got 3"),
        ("[good]", "must map notebooks to parameters; got ['good']"),
        ("good: {m: 1, n: x}\nugly: {}", "tiny.yml: a notebook must be one of bad, good; got"),
    ],
)
def test_wrong_parameters_are_refused_before_anything_runs(text, words, capsys):
    profile(text)
    assert batch() == 2
    assert words in capsys.readouterr().err
    assert not OUT.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--profile", "tinny"], "profile must be one of tiny; got 'tinny' (did you mean tiny?)"),
        (["--only", "god"], "only must be one of bad, good; got 'god' (did you mean good?)"),
    ],
)
def test_wrong_requests_are_one_clear_line(arguments, words, capsys):
    assert batch(*arguments) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


def test_folder_without_notebooks_is_refused(folder, capsys):
    for path in folder.glob("notebooks/*.ipynb"):
        path.unlink()
    assert main(["notebooks"]) == 2
    assert "found none in notebooks" in capsys.readouterr().err


def test_types():
    for value, annotation, expected in [
        ([1, 2.5], "list[float]", True),
        ([[1], [2]], "list[list[int]]", True),
        ("x", "int | None", False),
        (None, "int | None", True),
        (False, "bool", True),
        (0, "bool", False),
    ]:
        assert fits(value, annotation) is expected, (value, annotation)
    with pytest.raises(ValueError, match=r"cannot be checked: tuple\[int\]"):
        fits(1, "tuple[int]")


# The files of the repository.


@pytest.mark.parametrize("name", ["smoke", "laptop", "paper"])
def test_stored_profiles_fit_the_notebooks(name):
    parameters = read_profile(ROOT / "notebooks", name)
    assert set(parameters) == {path.stem for path in ROOT.glob("notebooks/*.ipynb")}
    assert any(parameters.values()) == (name != "laptop")


@pytest.mark.parametrize("path", sorted(ROOT.glob("notebooks/*.ipynb")), ids=lambda path: path.stem)
def test_every_parameter_has_a_type_that_can_be_checked(path):
    for annotation in notebook_parameters(path).values():
        assert fits(object(), annotation) is False
