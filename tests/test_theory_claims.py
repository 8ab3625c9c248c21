"""The claims table: complete, well-formed, and what the functions compute."""

import re

import nbformat
import pandas as pd
import pytest
import yaml
from check_html import toc_pages
from conftest import ROOT
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

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


# Every claim leads to the cell that tests it.


def cell_anchors(notebook):
    """Anchors of code cells that a page shows.

    They are names of figures, and targets on the last line of the Markdown before a code cell.
    """
    found, above = set(), ""
    for cell in notebook.cells:
        if cell.cell_type == "code" and "remove-cell" not in cell.metadata.get("tags", []):
            found.add(cell.metadata.get("mystnb", {}).get("figure", {}).get("name"))
            found.update(re.findall(r"^\(([\w-]+)\)=\s*\Z", above, flags=re.M))
        above = cell.source if cell.cell_type == "markdown" else ""
    return found - {None}


def stray(table, pages, anchors):
    """Labels of claims that lead to no cell; ``anchors`` gives those of a page."""
    for claim in table.itertuples():
        page, _, anchor = claim.where.partition("#")
        if page not in pages or anchor not in anchors(page):
            yield claim.label


@pytest.fixture(scope="module")
def pages():
    return list(toc_pages(yaml.safe_load((ROOT / "_toc.yml").read_text())))


@pytest.fixture(scope="module")
def anchors(table):
    names = {where.partition("#")[0] for where in table["where"]}
    return {
        name: cell_anchors(nbformat.read(ROOT / f"{name}.ipynb", as_version=4)) for name in names
    }


def test_every_claim_leads_to_a_cell(table, pages, anchors):
    assert list(stray(table, pages, anchors.__getitem__)) == []


def test_removed_anchor_and_removed_page_are_found(table, pages, anchors):
    first = table.iloc[0]
    page, _, anchor = first["where"].partition("#")
    without = {**anchors, page: anchors[page] - {anchor}}
    assert first["label"] in list(stray(table, pages, without.__getitem__))
    others = [name for name in pages if name != page]
    assert first["label"] in list(stray(table, others, anchors.__getitem__))
    unanchored = table.assign(where=table["where"].str.partition("#")[0])
    assert list(stray(unanchored, pages, anchors.__getitem__)) == list(table.label)


def test_anchors_in_the_source_are_those_of_cells():
    figure = {"mystnb": {"figure": {"name": "fig-a"}}}
    cells = [
        new_markdown_cell("(section)=\n## Title\n\nText.\n\n(cell-a)="),
        new_code_cell("a"),
        new_code_cell("b", metadata=figure),
        new_markdown_cell("(cell-b)=\n\nText."),
        new_code_cell("c"),
        new_markdown_cell("(cell-c)="),
        new_markdown_cell("Text."),
        new_code_cell("d"),
        new_markdown_cell("(cell-d)="),
        new_code_cell("e", metadata={"tags": ["remove-cell"]}),
    ]
    assert cell_anchors(new_notebook(cells=cells)) == {"cell-a", "fig-a"}


def test_no_anchor_is_idle_or_used_twice(table, anchors):
    targets = [name for found in anchors.values() for name in found if name.startswith("cell-")]
    assert len(targets) == len(set(targets))
    assert set(targets) <= set(table["where"].str.partition("#")[2])


def test_stored_table_has_the_registered_claims(table):
    columns = ["label", "kind", "statement", "where"]
    registered = [tuple(getattr(one, name) for name in columns) for one in claims.all_claims()]
    assert [tuple(row) for row in table[columns].to_numpy()] == registered


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
    judge = claims.claim("x", "lemma", "a#b", "says so")(lambda: claims.decide(True, "1 of 1"))
    assert judge().verdict == "holds"
    with pytest.raises(ValueError, match="already"):
        claims.claim("x", "lemma", "a#b", "says so")(judge)
    for where in ("a", "a#", "#b"):
        with pytest.raises(ValueError, match="page#anchor"):
            claims.claim("y", "lemma", where, "says so")(judge)
    with pytest.raises(ValueError, match="verdict"):
        claims.Judgement("not yet", "0")
    with pytest.raises(ValueError, match="evidence"):
        claims.Judgement("holds", " ")


def test_html_escapes_and_links():
    row = ("a<b", "lemma", "s & t", "notebooks/10_x#cell-y", "holds", "1 < 2")
    page = claims.claims_html(pd.DataFrame([row], columns=claims.COLUMNS))
    assert '<a href="../notebooks/10_x.html#cell-y">10_x</a>' in page
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
