"""Rows survive whatever happens to the process or the file, and damage is noticed."""

from __future__ import annotations

import json

import pytest
from toy_experiment import TOY1, TOY2

from steinsdr.experiments.cells import Cell, Row
from steinsdr.experiments.manifest import Manifest
from steinsdr.experiments.store import Store

A = Row(Cell("isotropic", 30, 3, "SIR", 0), (0.1 + 0.2,), "ok", 0.5)
B = Row(Cell("isotropic", 40, 3, "SIR", 0), (1e-17,), "ok", 0.25)
C = Row(Cell("lognormal", 30, 3, "SIR", 0), (), 'failed: ValueError: a, "b"', 0.0)


@pytest.fixture
def said():
    return []


@pytest.fixture
def store(tmp_path, said):
    store = Store(TOY1, tmp_path, said.append)
    store.open()
    store.append([A, B, C])
    return store


def reopened(store, said):
    other = Store(store.experiment, store.path.parent, said.append)
    other.open()
    return other


def test_rows_come_back_to_the_last_bit(store, said):
    assert list(reopened(store, said).rows.values()) == [A, B, C]
    assert store.path.read_text().splitlines()[0] == "law,n,method,rep,distance,status,seconds"
    assert said == []


def test_ranks_come_back_as_integers(tmp_path):
    store = Store(TOY2, tmp_path)
    store.open()
    row = Row(Cell("isotropic", 40, 1, "SIR", 7), (4, 3), "ok", 0.0)
    store.append([row])
    assert store.path.read_text().splitlines() == [
        "law,r,method,rep,rank,error,status,seconds",
        "isotropic,1,SIR,7,4,3,ok,0.000",
    ]
    assert list(Store(TOY2, tmp_path).read().values()) == [row]


@pytest.mark.parametrize("cut", range(1, 30))
def test_torn_last_line_is_cut_and_said(store, said, cut):
    content = store.path.read_bytes()
    whole = content.rstrip(b"\n").rfind(b"\n") + 1
    store.path.write_bytes(content[:-cut])
    assert len(content) - cut > whole
    reader = Store(TOY1, store.path.parent, said.append)
    assert list(reader.read().values()) == [A, B]
    assert store.path.read_bytes() == content[:-cut], "reading changes nothing"
    assert list(reopened(store, said).rows.values()) == [A, B]
    assert store.path.read_bytes() == content[:whole]
    assert len(said) == 2
    assert all("torn" in sentence for sentence in said)


def test_torn_header_is_written_again(store, said):
    store.path.write_bytes(b"law,n,met")
    assert reopened(store, said).rows == {}
    assert "torn" in said[0]
    assert store.path.read_text() == "law,n,method,rep,distance,status,seconds\n"


def test_repeated_row_is_dropped_and_said(store, said):
    content = store.path.read_bytes()
    store.path.write_bytes(content + content.splitlines(keepends=True)[1])
    assert list(reopened(store, said).rows.values()) == [A, B, C]
    assert store.path.read_bytes() == content
    assert "line 5: repeats isotropic 30 SIR 0" in said[0]


def test_rows_that_disagree_are_refused(store, said):
    with open(store.path, "a") as file:
        file.write("isotropic,30,SIR,0,0.4,ok,0.1\n")
    with pytest.raises(ValueError, match=r"line 5: isotropic 30 SIR 0 is there twice"):
        reopened(store, said)


@pytest.mark.parametrize(
    "line", ["isotropic,30,SIR", "isotropic,x,SIR,5,1.0,ok,0.1", "isotropic,30,SIR,5,,ok,0.1"]
)
def test_damaged_line_is_named(store, said, line):
    with open(store.path, "a") as file:
        file.write(f"{line}\n")
    with pytest.raises(ValueError, match="line 5: not a row"):
        reopened(store, said)


def test_other_columns_are_refused(tmp_path):
    (tmp_path / "toy1.csv").write_text("law,n,method,rep,error,status,seconds\n")
    with pytest.raises(ValueError, match="expected law,n,method,rep,distance,status,seconds"):
        Store(TOY1, tmp_path).open()


def test_two_writers_see_each_other(store, said):
    other = reopened(store, said)
    later = A._replace(cell=A.cell._replace(rep=1))
    last = A._replace(cell=A.cell._replace(rep=2))
    assert other.append([later]) == [later]
    assert store.append([later, last]) == [last], "what the other has stored is not stored twice"
    other.drop([A.cell])
    assert store.append([A, later]) == [A], "a rewritten file is read again"
    assert set(Store(TOY1, store.path.parent).read().values()) == {A, B, C, later, last}


def test_torn_line_of_another_writer_is_cut_before_appending(store, said):
    with open(store.path, "ab") as file:
        file.write(b"isotropic,30,SI")
    other = Row(Cell("isotropic", 30, 3, "SIR", 5), (0.5,), "ok", 0.0)
    assert store.append([other]) == [other]
    assert "torn" in said[0]
    assert list(reopened(store, said).rows.values()) == [A, B, C, other]


def test_rewritten_file_is_noticed_whatever_its_lines(store, said):
    other = reopened(store, said)
    other.drop([C.cell])
    retried = C._replace(values=(1.5,), status="ok")
    other.append([retried])  # as many lines as before, and a shorter one
    new = Row(Cell("isotropic", 30, 3, "SIR", 5), (0.5,), "ok", 0.0)
    assert store.append([new, C]) == [new]
    assert list(store.rows.values()) == [A, B, retried, new]
    assert list(reopened(store, said).rows.values()) == [A, B, retried, new]


def test_dropped_rows_are_missing_again(store, said):
    assert store.drop([C.cell, A.cell._replace(rep=9)]) == 1
    assert C.cell not in store
    assert list(reopened(store, said).rows.values()) == [A, B]


def test_manifest_notices_code_settings_and_design(tmp_path):
    manifest = Manifest(TOY1, tmp_path)
    assert manifest.changed(["SIR"]) == {}, "nothing recorded, nothing changed"
    manifest.record(["SIR", "TRE-sup"])
    manifest.summarize({0: A, 1: C})
    content = manifest.load()
    assert manifest.changed(["SIR", "TRE-sup"]) == {}
    assert (content["rows"], content["failed"], content["seconds"]) == ({"SIR": 2}, 1, 0.5)
    assert {"seeds", "versions", "machine", "design"} <= content.keys()

    content["methods"]["SIR"]["code"] = "old"
    content["methods"]["TRE-sup"]["settings"]["lam"] = 1.0
    manifest.path.write_text(json.dumps(content))
    assert manifest.changed(["SIR", "TRE-sup"]) == {"SIR": ["code"], "TRE-sup": ["settings"]}
    manifest.record(["SIR"], replayed={"SIR": 3})
    assert manifest.changed(["SIR"]) == {}
    assert manifest.load()["methods"]["SIR"]["found_equal"] == [{"code": "old", "rows_replayed": 3}]

    content = manifest.load() | {"design": {"p": 7}}
    manifest.path.write_text(json.dumps(content))
    assert manifest.changed(["SIR"]) == {"SIR": ["design"]}
    manifest.record(["SIR"], replayed={"SIR": 3})
    assert manifest.changed(["SIR"]) == {}
    assert manifest.changed(["TRE-sup"]) == {"TRE-sup": ["design", "settings"]}, "not replayed"


def test_code_whose_rows_are_gone_is_not_taken_for_equal(tmp_path):
    manifest = Manifest(TOY1, tmp_path)
    manifest.record(["SIR"])
    content = manifest.load()
    content["methods"]["SIR"] |= {"code": "old", "found_equal": [{"code": "older"}]}
    manifest.path.write_text(json.dumps(content))
    manifest.record(["SIR"])  # no rows are left to replay
    entry = manifest.load()["methods"]["SIR"]
    assert entry["code"] != "old"
    assert "found_equal" not in entry


def test_broken_manifest_is_named(tmp_path):
    (tmp_path / "toy1.manifest.json").write_text("{")
    with pytest.raises(ValueError, match=r"toy1\.manifest\.json is not JSON"):
        Manifest(TOY1, tmp_path).load()
