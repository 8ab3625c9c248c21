"""The command line: what it prints, what it refuses and how."""

from __future__ import annotations

import re

import pytest
from conftest import ROOT

from steinsdr.__main__ import _parser, main
from steinsdr.paper.commands import _KEYS
from steinsdr.paper.experiment import EXPERIMENTS, find_experiment

TINY = ["--only", "method=SIR|TRE-sup,law=ar1,n=50,rep=0-1", "--quiet"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("steinsdr.paper.commands._CACHE", str(tmp_path / "scores"))
    return ["--results", str(tmp_path)]


def test_run_replay_status_and_ledger(folder, tmp_path, capsys):
    assert main(["run", "table1", *TINY, *folder]) == 0
    assert "4 cells, 0 were there, 4 added, 0 of them failed" in capsys.readouterr().out
    assert main(["run", "table1", *TINY, *folder]) == 0
    assert "4 cells, 4 were there, 0 added" in capsys.readouterr().out

    key = ["--law", "ar1", "--n", "50", "--method", "TRE-sup", "--rep", "1"]
    assert main(["replay", "table1", *key, *folder]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("table1 ar1 50 TRE-sup 1: same")
    path = tmp_path / "table1.csv"
    path.write_text(path.read_text().replace("TRE-sup,1,1.", "TRE-sup,1,0."))
    assert main(["replay", "table1", *key, *folder]) == 1
    assert "NOT the same" in capsys.readouterr().out

    assert main(["check", "table1", *folder]) == 2
    assert "TRE-sup (not the 2 rows that a run has written)" in capsys.readouterr().err
    assert main(["status", *folder]) == 1
    assert "ROWS ALTERED" in capsys.readouterr().out
    assert main(["check", "table1", "--sample", "9", *folder]) == 1
    found = capsys.readouterr().out
    assert (found.count(": same"), found.count("NOT the same")) == (3, 1)
    path.write_text(path.read_text().replace("TRE-sup,1,0.", "TRE-sup,1,1."))
    assert main(["check", *folder]) == 0
    assert "rows as recorded; no code or setting" in capsys.readouterr().out
    assert main(["status", *folder]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[:4] for line in lines if line[:1] == ["SIR"]] == [
        ["SIR", "2", "1598", "0"],
        ["SIR", "0", "1200", "0"],
        ["SIR", "0", "600", "0"],
    ]
    assert main(["ledger", *folder]) == 0
    assert "written to" in capsys.readouterr().out
    assert (tmp_path / "ledger.csv").read_text().count("\n") == 461


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["dance"], "invalid choice: 'dance'"),
        ([], "the following arguments are required: command"),
        (["fit", "data.csv"], "the following arguments are required: --response"),
        (["run", "table1", "--jobs", "two"], "--jobs: must be a whole number at least 1; got"),
        (["run", "table9"], "experiment must be one of 'table1', 'table2', 'table3', 'theory'"),
        (["run", "table1", "--profile", "big"], "'smoke', 'laptop', 'paper'"),
        (["run", "table1", "--only", "SIR"], "only must look like"),
        (["run", "table1", "--only", "n=60"], "n must be one of '50', '100'"),
        (["run", "table1", "--only", "colour=red"], "a filter's name must be one of 'law', 'n',"),
        (["run", "table1", "--only", "rep=3-"], "rep must be a number such as 3 or a range 10-19"),
        (["run", "table1", "--only", "rep=9-3"], "or a range 10-19; got '9-3'"),
        (["run", "theory", "--only", "study=split-q,size=100"], "{'split-q': (4, 8, 16, 32, 64)}"),
        (["run", "table1", "--results", "Makefile"], "Makefile"),
        (["check", "table1"], "has no rows of table1"),
        (["ledger"], "has no rows of the paper's tables"),
        (["status", "--results", "nowhere"], "--results: there is no folder nowhere"),
        (["patchseq", "--partitions", "0"], "--partitions: must be a whole number at least 1"),
        (["replay", "table1", "--law", "ar1"], "table1 needs law, n, method, rep; got law"),
    ],
)
def test_wrong_requests_are_one_clear_line(arguments, words, folder, capsys):
    named = arguments[1:2] in (["table1"], ["table2"], ["theory"]) or arguments == ["ledger"]
    known = named and "--results" not in arguments
    try:
        code = main([*arguments, *folder] if known else arguments)
    except SystemExit as stop:  # the parser's own
        code = stop.code
    assert code == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    "command",
    [
        *(["run", "table1"], ["replay", "table1"], ["check", "table1"], ["status"]),
        *(["ledger"], ["claims"], ["patchseq"], ["notebooks"]),
    ],
)
def test_outside_a_checkout_the_missing_folder_is_named(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(command) == 2
    error = capsys.readouterr().err
    assert f"no folder 'book/results' in {tmp_path}: this command works in a checkout" in error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("trouble", "code", "words"),
    [
        (MemoryError(), 2, "out of memory."),
        (OSError("a worker died"), 2, "a worker died"),
        (KeyboardInterrupt(), 130, "interrupted."),
        (
            ModuleNotFoundError("No module named 'distributed'", name="distributed.x"),
            2,
            "this command needs distributed; in a copy of the repository: pip install '.[cluster]'",
        ),
    ],
)
def test_trouble_has_an_exit_code_of_its_own(trouble, code, words, folder, capsys, monkeypatch):
    def fails(*_, **__):
        raise trouble

    monkeypatch.setattr("steinsdr.paper.run.run", fails)
    assert main(["run", "table1", *TINY, *folder]) == code, "1 means that a replay differs"
    assert capsys.readouterr().err == f"steinsdr: {words}\n"


def commands(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    return re.findall(r"^ {4}(\w+)\b", capsys.readouterr().out, flags=re.M)


def test_every_command_shows_an_example_that_is_understood(capsys):
    keys = {key for name in EXPERIMENTS for key in find_experiment(name).keys}
    assert keys == set(_KEYS), "every row can be replayed"
    names = commands(capsys)
    assert names == [
        *["fit", "run", "replay", "check", "status"],
        *["ledger", "claims", "notebooks", "patchseq"],
    ]
    for name in names:
        with pytest.raises(SystemExit) as stop:
            main([name, "--help"])
        assert stop.value.code == 0
        example = re.search(r"Example: steinsdr ([^\n]+(?:\n[^\n]+)*)", capsys.readouterr().out)
        assert _parser().parse_args(example[1].split()).command.__name__ == f"_{name}"


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "book/running.md"])
def test_pages_name_commands_and_targets_that_exist(page, capsys):
    text = (ROOT / page).read_text()
    named = set(re.findall(r"(?:^|`)steinsdr ([a-z]\w*)", text, flags=re.M))
    assert named
    assert named <= set(commands(capsys))
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^(\w+):.*## ", makefile, flags=re.M))
    assert set(re.findall(r"(?:^|`)make ([a-z]+)", text, flags=re.M)) <= targets
    called = re.findall(r"\$\(BIN\)/steinsdr (\w+)", makefile)
    assert len(called) >= 5
    assert set(called) <= set(commands(capsys))
