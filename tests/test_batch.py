"""The batch: parameters are checked before anything runs, failures are reported and do not stop."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
from conftest import ROOT
from nbformat.v4 import new_code_cell, new_notebook

from steinsdr.__main__ import main
from steinsdr.paper.batch import fits, kept, notebook_parameters, plan, read_profile

PARAMETERS = 'n: int = 3  # size\nlabels: list[str] = ["a"]  # names\nlam: float = 0.5  # weight'


def write_notebook(folder: Path, stem: str, *sources: str) -> None:
    cells = [new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]})]
    cells += [new_code_cell(source) for source in sources]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.write(notebook, folder / f"{stem}.ipynb")


@pytest.fixture
def folder(tmp_path):
    """Two notebooks, of which one fails, and a profile that leaves one of them out."""
    folder = tmp_path / "notebooks"
    (folder / "parameters").mkdir(parents=True)
    write_notebook(folder, "bad", "total = n", "assert total > 5", "print('never')")
    write_notebook(
        folder, "good", "import os  # ../book/results", "print(n, labels, lam, os.getcwd())"
    )
    profile(folder, "good: {n: 7, lam: 1}\n")
    return folder


def profile(folder: Path, text: str) -> None:
    (folder / "parameters" / "tiny.yml").write_text(text)


def book(folder: Path, *arguments: str) -> int:
    out = str(folder.parent / "out")
    program = ["book", "--notebooks", str(folder), "--profile", "tiny", "--out", out, "--quiet"]
    return main([*program, *arguments])


def summary(folder: Path) -> list[dict[str, str]]:
    with open(folder.parent / "out" / "tiny" / "summary.csv", newline="") as file:
        return list(csv.DictReader(file))


def copy_of(folder: Path, stem: str) -> Path:
    return folder.parent / "out" / "tiny" / f"{stem}.ipynb"


def tasks(folder: Path):
    return plan(folder, "tiny", folder.parent / "out")


def test_failure_is_reported_and_the_rest_runs(folder, capsys):
    assert book(folder, "--jobs", "2") == 1
    bad, good = summary(folder)
    error = "In [3] at `assert total > 5`: AssertionError"
    assert bad.items() >= {"notebook": "bad", "status": "failed", "cells": "3"}.items()
    assert bad["error"] == error
    assert (good["notebook"], good["profile"], good["status"]) == ("good", "tiny", "ok")
    assert good["error"] == ""
    assert float(good["seconds"]) > 0
    table = (folder.parent / "out" / "tiny" / "summary.md").read_text()
    assert error in table
    assert table in capsys.readouterr().out
    # The copy has the given parameters, the defaults of the others, and ran beside the notebook.
    cells = nbformat.read(copy_of(folder, "good"), as_version=4).cells
    assert cells[-1].outputs[0].text == f"7 ['a'] 1 {folder}\n"
    assert nbformat.read(folder / "good.ipynb", as_version=4).cells[-1].outputs == []
    later = time.time() + 3600
    os.utime(copy_of(folder, "bad"), (later, later))
    assert [kept(task) for task in tasks(folder) if task.notebook.stem == "bad"] == [None]


@pytest.mark.slow
def test_notebooks_run_side_by_side(folder):
    """Each waits for a file that the other writes."""
    wait = (
        "import os, pathlib, time\n"
        "pathlib.Path({!r}).touch()\n"
        "while not pathlib.Path({!r}).exists():\n"
        "    time.sleep(0.05)\n"
        "print(os.environ['OMP_NUM_THREADS'])"
    )
    write_notebook(folder, "left", wait.format("l", "r"))
    write_notebook(folder, "right", wait.format("r", "l"))
    assert book(folder, "--only", "left", "right", "--jobs", "2") == 0
    assert [row["notebook"] for row in summary(folder)] == ["left", "right"]
    assert not copy_of(folder, "bad").exists()
    cells = nbformat.read(copy_of(folder, "left"), as_version=4).cells
    assert cells[-1].outputs[0].text == "1\n"


def test_resume_keeps_what_is_good(folder, tmp_path, monkeypatch):
    package = tmp_path / "package" / "code.py"
    package.parent.mkdir()
    package.touch()
    monkeypatch.setattr("steinsdr.paper.batch.PACKAGE", package.parent)
    assert book(folder, "--only", "good") == 0
    assert book(folder, "--only", "good", "--resume") == 0
    (row,) = summary(folder)
    assert row["status"] == "kept"
    assert float(row["seconds"]) > 0

    (task,) = (task for task in tasks(folder) if task.notebook.stem == "good")
    assert kept(task) is not None
    assert kept(replace(task, parameters={"n": 8})) is None
    rows = folder.parent / "book" / "results" / "rows.csv"
    rows.parent.mkdir(parents=True)
    rows.touch()
    os.utime(rows, (package.stat().st_mtime, package.stat().st_mtime))
    for source in (task.notebook, package, rows):
        before = source.stat().st_mtime
        os.utime(source, (before + 3600, before + 3600))
        assert kept(task) is None
        os.utime(source, (before, before))
    assert kept(task) is not None
    task.copy.write_text("{torn")
    assert kept(task) is None


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_interrupt_leaves_what_is_finished(folder):
    write_notebook(folder, "a_quick", "print(1)")
    write_notebook(
        folder,
        "b_slow",
        "import os, pathlib, time",
        "pathlib.Path('pid').write_text(str(os.getpid()))\ntime.sleep(600)",
    )
    program = [sys.executable, "-m", "steinsdr", "book", "--notebooks", str(folder), "--quiet"]
    program += ["--profile", "tiny", "--out", str(folder.parent / "out")]
    program += ["--only", "a_quick", "b_slow"]
    process = subprocess.Popen(program, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    pid = folder / "pid"
    while not (pid.exists() and pid.read_text()):
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    process.communicate()
    assert [row["status"] for row in summary(folder)] == ["ok", "not run"]
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
    ],
)
def test_wrong_parameters_are_refused_before_anything_runs(folder, text, words, capsys):
    profile(folder, text)
    assert book(folder) == 2
    assert words in capsys.readouterr().err
    assert not (folder.parent / "out").exists()


def test_all_problems_are_named_at_once(folder, capsys):
    profile(folder, "good: {m: 1, n: x}\nugly: {}\n")
    assert book(folder) == 2
    assert capsys.readouterr().err.count("tiny.yml: ") == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--profile", "tinny"], "profile must be one of tiny; got 'tinny' (did you mean tiny?)"),
        (["--only", "god"], "only must be one of bad, good; got 'god' (did you mean good?)"),
        (["--jobs", "0"], "jobs must be an integer at least 1"),
        (["--notebooks", "no-such-folder"], "found none in no-such-folder"),
    ],
)
def test_wrong_requests_are_one_clear_line(folder, arguments, words, capsys):
    assert book(folder, *arguments) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


def test_papermill_is_asked_for(folder, monkeypatch, capsys):
    monkeypatch.setattr("steinsdr.paper.batch.find_spec", lambda name: None)
    assert book(folder) == 2
    assert "pip install 'steinsdr[book]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "annotation", "expected"),
    [
        ({"a": 1}, "dict[str, int]", True),
        ({"a": "b"}, "dict[str, int]", False),
        ([1, 2.5], "list[float]", True),
        ([[1], [2]], "list[list[int]]", True),
        ("x", "int | None", False),
        (None, "int | None", True),
        (False, "bool", True),
        (0, "bool", False),
    ],
)
def test_types(value, annotation, expected):
    assert fits(value, annotation) is expected


def test_types_that_cannot_be_checked_are_refused():
    with pytest.raises(ValueError, match=r"cannot be checked: np\.ndarray"):
        fits(1, "np.ndarray")


# The files of the repository.


PROFILES = sorted(path.stem for path in (ROOT / "notebooks" / "parameters").glob("*.yml"))


def test_profiles_are_there():
    assert {"smoke", "laptop", "paper"} <= set(PROFILES)


@pytest.mark.parametrize("name", PROFILES)
def test_stored_profiles_fit_the_notebooks(name):
    parameters = read_profile(ROOT / "notebooks", name)
    assert set(parameters) == {path.stem for path in ROOT.glob("notebooks/*.ipynb")}
    assert any(parameters.values()) == (name != "laptop")


@pytest.mark.parametrize("path", sorted(ROOT.glob("notebooks/*.ipynb")), ids=lambda path: path.stem)
def test_every_parameter_has_a_type_that_can_be_checked(path):
    for annotation in notebook_parameters(path).values():
        fits(None, annotation)
