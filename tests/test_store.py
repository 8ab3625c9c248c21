"""Rows survive whatever happens to the process or the file, and damage is noticed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from toy_experiment import TOY1, TOY2

from steinsdr.paper import provenance as manifest_module
from steinsdr.paper.experiment import Row
from steinsdr.paper.provenance import Manifest, check_code, record_rows
from steinsdr.paper.run import run
from steinsdr.paper.store import Store, atomic_write, locked

A = Row(("isotropic", 30, "SIR", 0), (0.1 + 0.2,), "ok", 0.5)
B = Row(("isotropic", 40, "SIR", 0), (1e-17,), "ok", 0.25)
C = Row(("lognormal", 30, "SIR", 0), (), 'failed: ValueError: a, "b"', 0.0)


@pytest.fixture
def store(tmp_path):
    store = Store(TOY1, tmp_path)
    store.append([A, B, C])
    return store


def reopened(store):
    other = Store(store.experiment, store.path.parent)
    other.append()
    return other


def test_rows_come_back_to_the_last_bit_and_ranks_as_integers(store, tmp_path, capsys):
    assert list(reopened(store).rows.values()) == [A, B, C]
    assert store.path.read_text().splitlines()[0] == "law,n,method,rep,distance,status,seconds"
    row = Row(("isotropic", 1, "SIR", 7), (4, 3), "ok", 0.0)
    Store(TOY2, tmp_path).append([row])
    assert (tmp_path / "toy2.csv").read_text().splitlines() == [
        "law,r,method,rep,rank,error,status,seconds",
        "isotropic,1,SIR,7,4,3,ok,0.000",
    ]
    assert list(Store(TOY2, tmp_path).read().values()) == [row]
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("cut", range(1, 30))
def test_torn_last_line_is_cut_and_said(store, capsys, cut):
    content = store.path.read_bytes()
    store.path.write_bytes(content[:-cut])
    assert list(Store(TOY1, store.path.parent).read().values()) == [A, B]
    assert store.path.read_bytes() == content[:-cut], "reading changes nothing"
    # An open store notices what another writer has left, and a torn header is written again.
    assert list((reopened(store) if cut % 2 else store).append([C])) == [C]
    assert store.path.read_bytes() == content
    assert capsys.readouterr().out.count("the last line is torn") == 2
    store.path.write_bytes(content[:cut])
    assert reopened(store).rows == {}
    assert store.path.read_bytes() == content[: content.find(b"\n") + 1]


def test_repeated_row_and_wrong_columns_are_refused(store):
    content = store.path.read_bytes()
    store.path.write_bytes(content + content.splitlines(keepends=True)[1])
    with pytest.raises(ValueError, match=r"line 5: not a row .isotropic 30 SIR 0 is there twice"):
        reopened(store)
    store.path.write_bytes(content.replace(b"distance", b"error"))
    with pytest.raises(ValueError, match="expected law,n,method,rep,distance,status,seconds"):
        reopened(store)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("isotropic,30,SIR", "shorter"),
        ("isotropic,77,SIR,5,1.0,ok,0.1", "n must be one of '30', '40'; got '77'"),
        ("isotropic,30,SIR,-5,1.0,ok,0.1", "rep must be a number; got '-5'"),
        ("isotropic,30,SIR,007,1.0,ok,0.100", "expected 'isotropic,30,SIR,7,1.0,ok,0.100'"),
        ("isotropic,30,SIR,5,,ok,0.1", "could not convert string to float"),
        ("isotropic,30,SIR,5,nan,ok,0.1", "distance is nan; expected a number from 0 to 2.45"),
        ("isotropic,30,SIR,5,-1.0,ok,0.1", "distance is -1.0; expected a number from 0 to 2.45"),
        ("isotropic,30,SIR,5,1e9,ok,0.1", "expected a number from 0 to 2.45"),
        ("isotropic,30,SIR,5,1.0,ok,inf", "seconds is inf; expected a number from 0"),
        ("isotropic,30,SIR,5,1.0,OK,0.1", "status: 'OK'; expected 'ok' or 'failed: '"),
        ("isotropic,30,SIR,5,1.0,failed: no,0.100", "expected 'isotropic,30,SIR,5,,failed: no,"),
        ("isotropic,30,S\xcfR,5,1.0,ok,0.1", "method must be one of"),
        ("isotropic,30,S\rR,5,1.0,ok,0.1", "new-line character"),
    ],
)
def test_damaged_line_is_named(store, line, why):
    with open(store.path, "ab") as file:
        file.write(f"{line}\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"toy1\.csv, line 5: not a row") as caught:
        reopened(store)
    assert why in str(caught.value)


def test_what_could_not_be_read_is_not_written(store):
    content = store.path.read_bytes()
    bad = Row(("isotropic", 30, "SIR", 5), (float("nan"),), "ok", 0.0)
    with pytest.raises(ValueError, match="isotropic 30 SIR 5: distance is nan"):
        store.append([bad])
    assert store.path.read_bytes() == content
    assert bad.cell not in store.rows


def test_two_writers_see_each_other(store):
    other = reopened(store)
    later = A._replace(cell=("isotropic", 30, "SIR", 1))
    last = A._replace(cell=("isotropic", 30, "SIR", 2))
    assert other.append([later]) == [later]
    assert store.append([later, last]) == [last], "what the other has stored is not stored twice"
    retried = C._replace(values=(1.5,), status="ok")
    other.append([retried], retried=True)  # as many lines as before, and a shorter one
    new = Row(("isotropic", 30, "SIR", 5), (0.5,), "ok", 0.0)
    assert store.append([new, C]) == [new], "a rewritten file is read again"
    assert list(store.rows.values()) == [A, B, later, last, retried, new]
    assert reopened(store).rows == store.rows


def test_a_failed_row_is_swapped_only_for_its_retried_outcome(store):
    better = [A._replace(values=(0.7,)), C._replace(values=(1.5,), status="ok")]
    assert store.append(better) == []
    assert store.append(better, retried=True) == better[1:], "A did not fail"
    assert list(store.rows.values()) == [A, B, better[1]]
    assert list(reopened(store).rows.values()) == [A, B, better[1]]
    again = C._replace(cell=A.cell, status="failed: later")
    assert store.append([again], retried=True) == [], "a result is not swapped for a failure"


FULL_DISK = """
import resource, signal, sys
from toy_experiment import TOY1
from steinsdr.paper.run import run
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # writing fails instead
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
try:
    run(TOY1, TOY1.cells("paper", {"method": ["SIR"]}), sys.argv[1], progress=False)
except OSError as error:
    sys.exit(f"OSError: {error}")
"""


def test_a_full_disk_stops_the_run_and_the_next_one_goes_on(tmp_path):
    pytest.importorskip("resource")
    path = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    # A manifest takes about 1500 bytes, 48 rows take more than 2000.
    command = [sys.executable, "-c", FULL_DISK, str(tmp_path), "2000"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 1, done.stderr
    assert "OSError: [Errno 27] File too large" in done.stderr
    cells = TOY1.cells("paper", {"method": ["SIR"]})
    kept = len(Store(TOY1, tmp_path).read())
    assert 20 < kept < len(cells)
    assert not list(tmp_path.glob(".*.tmp"))
    outcome = run(TOY1, cells, tmp_path, progress=False)
    assert (outcome.before, outcome.added) == (kept, len(cells) - kept)
    assert Manifest(TOY1, tmp_path).load()["rows"] == {"SIR": len(cells)}


def test_manifest_notices_code_settings_and_design(tmp_path):
    manifest = Manifest(TOY1, tmp_path)
    assert manifest.changed(["SIR"]) == {"SIR": ["record"]}
    manifest.record(["SIR", "TRE-sup"])
    manifest.summarize({A.cell: A, C.cell: C})
    content = manifest.load()
    assert manifest.changed(["SIR", "TRE-sup"]) == {}
    assert (content["rows"], content["failed"], content["seconds"]) == ({"SIR": 2}, 1, 0.5)
    assert {"seeds", "versions", "machine", "design"} <= content.keys()

    content["methods"]["SIR"] |= {"code": "old", "found_equal": [{"code": "older"}]}
    content["methods"]["TRE-sup"]["settings"]["lam"] = 1.0
    manifest.path.write_text(json.dumps(content))
    assert manifest.changed(["SIR", "TRE-sup"]) == {"SIR": ["code"], "TRE-sup": ["settings"]}
    manifest.record(["SIR"], replayed=3)
    assert manifest.changed(["SIR"]) == {}
    equal = [{"code": "older"}, {"code": "old", "rows_replayed": 3}]
    assert manifest.load()["methods"]["SIR"]["found_equal"] == equal
    manifest.path.write_text(json.dumps(content))
    manifest.record(["SIR"])  # no rows are left to replay: nothing is known of the old code
    assert "found_equal" not in manifest.load()["methods"]["SIR"]

    content = manifest.load() | {"design": {"p": 7}}
    manifest.path.write_text(json.dumps(content))
    assert manifest.changed(["SIR"]) == {"SIR": ["design"]}
    manifest.record(["SIR"], replayed=3)
    assert manifest.changed(["SIR"]) == {"SIR": ["design"]}, "others were not replayed"
    manifest.summarize({A.cell: A})
    assert manifest.changed(["SIR"]) == {}


def test_altered_removed_and_further_rows_are_named(store, capsys):
    manifest = Manifest(TOY1, store.path.parent)
    manifest.record(["SIR"])
    manifest.summarize(store.rows)
    assert manifest.compare(store.read()) == ({}, {})
    content = store.path.read_text()
    for old, new in ((",30,SIR,0,0.3", ",30,SIR,0,0.2"), (",0.500\n", ",0.501\n")):
        store.path.write_text(content.replace(old, new, 1))
        altered, further = manifest.compare(store.read())
        assert (list(altered), further) == (["SIR"], {}), new
        with pytest.raises(ValueError, match=r"toy1\.csv are not those .* SIR \(not the 3 rows"):
            check_code(TOY1, store.path.parent)
    lines = content.splitlines(keepends=True)
    store.path.write_text("".join(lines[:-1]))
    assert manifest.compare(store.read())[0] == {"SIR": "2 rows; 3 are recorded"}
    store.path.write_text(content)
    store.append([C._replace(values=(1.5,), status="ok"), A._replace(cell=(*A.cell[:3], 9))])
    assert manifest.compare(store.rows) == ({}, {"SIR": 1}), "as a killed run leaves them"
    store.append([C._replace(values=(1.5,), status="ok")], retried=True)
    assert manifest.compare(store.rows)[0] == {}, "a retried failure is no alteration"
    store.path.write_text(content.replace("0.3", "0.2", 1))
    record_rows(TOY1, store.path.parent)
    assert capsys.readouterr().out == (
        "toy1: ALTERED rows are now recorded: SIR (not the 3 rows that a run has written).\n"
    )
    assert manifest.compare(store.read()) == ({}, {})


def test_links_are_not_followed(tmp_path, monkeypatch):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    monkeypatch.setattr("secrets.token_hex", lambda n: "00")
    for name in (".a.csv.lock", ".a.csv.00.tmp"):
        (tmp_path / name).symlink_to(victim)
    with pytest.raises(OSError, match=r"lock"), locked(tmp_path / "a.csv"):
        pass
    with pytest.raises(OSError, match=r"tmp"):
        atomic_write(tmp_path / "a.csv", b"new")
    assert victim.read_text() == "precious"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "Expecting"),
        ("[]", "'list' object has no attribute"),
        ('{"methods": 3}', "methods must be a dict"),
        ('{"methods": {"SIR": 3}}', "'int' object is not subscriptable"),
        ('{"methods": {"SIR": {}}}', "'code'"),
        ('{"environments": {}}', "environments must be a list"),
    ],
)
def test_broken_manifest_is_named(tmp_path, text, what):
    (tmp_path / "toy1.manifest.json").write_text(text)
    with pytest.raises(ValueError, match=rf"toy1\.manifest\.json is no manifest \({what}"):
        Manifest(TOY1, tmp_path).load()


def test_all_surroundings_of_the_rows_are_kept(tmp_path, monkeypatch):
    manifest = Manifest(TOY1, tmp_path)
    assert not manifest.made_here(), "nothing is known"
    manifest.record(["SIR"])
    manifest.summarize({A.cell: A})
    assert manifest.made_here()
    first = {key: manifest.load()[key] for key in ("versions", "machine")}
    manifest.record(["SIR"])
    assert manifest.load()["environments"] == [first]

    monkeypatch.setattr(manifest_module, "_processor", lambda: "another")
    manifest.record(["SIR"], replayed=3)
    assert manifest.load()["environments"] == [first], "a replay makes no rows"
    assert not manifest.made_here()
    manifest.record(["SIR"])
    content = manifest.load()
    second = {**first, "machine": {**first["machine"], "processor": "another"}}
    assert content["environments"] == [first, second]
    assert content["machine"]["processor"] == "another"
    assert not manifest.made_here(), "some rows come from elsewhere"
