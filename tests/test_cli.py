"""The command line: what it prints, what it refuses and how."""

from __future__ import annotations

import subprocess
import sys

import pytest
from conftest import ROOT

from steinsdr.__main__ import main

TINY = ["--only", "method=SIR|TRE-sup,law=ar1,n=50,rep=0-1", "--quiet", "--no-cache"]


@pytest.fixture
def folder(tmp_path):
    return ["--results", str(tmp_path)]


def test_run_replay_status_and_ledger(folder, tmp_path, capsys):
    assert main(["run", "table1", *TINY, *folder]) == 0
    assert "4 cells, 0 were there, 4 added, 0 of them failed" in capsys.readouterr().out
    assert main(["run", "table1", *TINY, *folder]) == 0
    assert "4 cells, 4 were there, 0 added" in capsys.readouterr().out

    key = ["--law", "ar1", "--n", "50", "--method", "TRE-sup", "--rep", "1"]
    assert main(["replay", "table1", *key, *folder]) == 0
    assert capsys.readouterr().out.startswith("table1 ar1 50 TRE-sup 1: same")
    path = tmp_path / "table1.csv"
    path.write_text(path.read_text().replace("TRE-sup,1,1.", "TRE-sup,1,2."))
    assert main(["replay", "table1", *key, *folder]) == 1
    assert "NOT the same" in capsys.readouterr().out

    assert main(["check", "table1", *folder]) == 0
    assert "nothing replayed" in capsys.readouterr().out
    assert main(["status", *folder]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[:4] for line in lines if line[:1] == ["SIR"]] == [
        ["SIR", "2", "1598", "0"],
        ["SIR", "0", "1200", "0"],
        ["SIR", "0", "600", "0"],
    ]
    assert main(["ledger", "--paper", str(ROOT / "book" / "paper"), *folder]) == 0
    assert "460 cells" in capsys.readouterr().out
    assert (tmp_path / "ledger.csv").read_text().count("\n") == 461


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "table9"], "one of 'table1', 'table2', 'table3', 'theory'; got 'table9'"),
        (["run", "table1", "--profile", "big"], "'smoke', 'laptop', 'paper'"),
        (["run", "table1", "--only", "method=SIRR"], "method must be one of 'SIR', 'csOPG'"),
        (["run", "table1", "--only", "SIR"], "only must look like"),
        (["run", "table1", "--jobs", "0"], "jobs must be an integer at least 1"),
        (["run", "table1", "--only", "rep=9-3"], "rep must be a range that ascends; got '9-3'"),
        (["run", "theory", "--only", "study=split-q,size=100"], "(split-q: 4, 8, 16, 32, 64); got"),
        (["check", "table1"], "has no rows of table1"),
        (["ledger", "--paper", "nowhere"], "--paper: no folder 'nowhere' here"),
        (["replay", "table1", "--law", "ar1"], "table1 needs n, method, rep"),
        (["replay", "table2", "--law", "ar1", "--n", "5"], "table2 needs r, method, rep"),
    ],
)
def test_wrong_requests_are_one_clear_line(arguments, words, folder, capsys):
    assert main([*arguments, *folder]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("command", [["status"], ["ledger"], ["check", "table1"]])
@pytest.mark.parametrize("kind", ["nothing", "a file"])
def test_a_wrong_folder_is_one_clear_line(command, kind, tmp_path, capsys):
    path = tmp_path / "results"
    if kind == "a file":
        path.touch()
    assert main([*command, "--results", str(path)]) == 2
    error = capsys.readouterr().err
    assert f"--results: no folder {str(path)!r} here" in error
    assert error.count("\n") == 1
    assert path.exists() == (kind == "a file")


def test_a_file_in_the_place_of_the_results_stops_a_run(tmp_path, capsys):
    (tmp_path / "results").touch()
    assert main(["run", "table1", *TINY, "--results", str(tmp_path / "results")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("trouble", [MemoryError, OSError("a worker died")])
def test_trouble_of_the_machine_is_not_taken_for_another_number(
    trouble, folder, capsys, monkeypatch
):
    def fails(*_, **__):
        raise trouble

    monkeypatch.setattr("steinsdr.paper.run.run", fails)
    assert main(["run", "table1", *TINY, *folder]) == 2, "1 means that a replay differs"
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("arguments", [["dance"], [], ["run", "table1", "--jobs", "two"]])
def test_wrong_syntax_is_one_clear_line(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_module_runs_as_a_program_without_heavy_imports():
    code = (
        "import sys; sys.argv = ['steinsdr', '--help']; import runpy\n"
        "try: runpy.run_module('steinsdr', run_name='__main__', alter_sys=True)\n"
        "except SystemExit as stop: assert stop.code == 0\n"
        "assert not {'torch', 'distributed', 'matplotlib'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    for command in ("run", "replay", "check", "status", "ledger"):
        assert command in done.stdout
