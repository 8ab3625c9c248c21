"""The claims table: complete, well-formed, and what the functions compute."""

import re

import pandas as pd
import pytest
import yaml
from conftest import ROOT

from steinsdr.theory import claims

CSV = ROOT / "book" / "results" / "claims.csv"
PAPER = ROOT.parent / "shared" / "paper" / "paper.tex"


@pytest.fixture(scope="module")
def table():
    return pd.read_csv(CSV)


def labels():
    return {label for group in claims.PAPER_LABELS.values() for label in group}


def test_columns_and_verdicts(table):
    assert list(table.columns) == claims.COLUMNS
    assert set(table.verdict) <= set(claims.VERDICTS)
    assert not table.isna().any(axis=None)
    assert table.label.is_unique


def test_every_label_of_the_paper_is_judged(table):
    assert labels() <= set(table.label)


def test_pages_exist(table):
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    pages = {chapter["file"] for part in toc["parts"] for chapter in part["chapters"]}
    assert set(table["where"]) <= pages


def test_evidence_has_a_number(table):
    assert table.evidence.str.contains(r"\d").all()


@pytest.mark.skipif(not PAPER.is_file(), reason="the paper's source is not part of the repository")
def test_labels_are_those_of_the_paper():
    kinds = "lemma|theorem|corollary|remark|algorithm|assumption|table"
    found = set()
    for body in re.findall(rf"\\begin{{(?:{kinds})}}.*?\\end", PAPER.read_text(), flags=re.S):
        found |= set(
            re.findall(r"\\label{((?:lem|thm|the|cor|rem|rm|alg|ass|assum|tab|tb):[^}]*)}", body)
        )
    assert found <= labels()


def test_registration_refuses_doubles_and_bad_verdicts(monkeypatch):
    monkeypatch.setattr(claims, "CLAIMS", {})
    judge = claims.claim("x", "lemma", "book/api", "says so")(lambda: claims.decide(True, "1 of 1"))
    assert judge().verdict == "holds"
    with pytest.raises(ValueError, match="already"):
        claims.claim("x", "lemma", "book/api", "says so")(judge)
    with pytest.raises(ValueError, match="verdict"):
        claims.Judgement("not yet", "0")
    with pytest.raises(ValueError, match="evidence"):
        claims.Judgement("holds", " ")


def test_html_escapes_and_links():
    row = ("a<b", "lemma", "s & t", "notebooks/10_x", "holds", "1 < 2")
    page = claims.claims_html(pd.DataFrame([row], columns=claims.COLUMNS))
    assert '<a href="../notebooks/10_x.html">10_x</a>' in page
    assert "a&lt;b" in page
    assert "1 &lt; 2" in page
    assert "s &amp; t" in page


@pytest.mark.slow
def test_stored_verdicts_are_recomputed(table):
    fresh = claims.claims_table().set_index("label")
    stored = table.set_index("label")
    common = fresh.index.intersection(stored.index)
    assert len(common) == len(fresh)
    assert (fresh.verdict[common] == stored.verdict[common]).all()
