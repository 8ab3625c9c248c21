"""The claims table: complete, well-formed, and what the functions compute."""

import re

import nbformat
import pandas as pd
import pytest
import yaml
from check_html import toc_pages
from conftest import ROOT
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from steinsdr.paper import claims, claims_page

CSV = ROOT / "book" / "results" / "claims.csv"
PAPER = ROOT.parent / "shared" / "paper" / "paper.tex"

NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?")


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


# The page.


@pytest.mark.skipif(not PAPER.is_file(), reason="the paper's source is not part of the repository")
def test_names_count_in_order_of_print():
    source = PAPER.read_text()
    for kind in ("lemma", "theorem", "corollary", "remark", "algorithm", "assumption", "table"):
        bodies = re.findall(rf"\\begin{{{kind}}}(.*?)\\end{{{kind}}}", source, flags=re.S)
        for number, body in enumerate(bodies, start=1):
            for label in re.findall(r"\\label{((?!eq:)[^}]*)}", body):
                name = claims_page.paper_name(label).partition(",")[0]
                appendix = kind == "table" and number > 3
                assert name == ("Table in the appendix" if appendix else f"{kind.title()} {number}")


def test_every_claim_has_a_readable_name(table):
    names = table.label.map(claims_page.paper_name)
    assert not names.str.contains(r"[:/_]").any()


def test_groups_and_page_cover_all_claims(table):
    kinds = [kind for group in claims_page.GROUPS.values() for kind in group]
    assert sorted(set(kinds)) == sorted(kinds)
    assert set(table.kind) <= set(kinds)
    shown = re.findall(r'claims_html\(table, "(\w+)"\)', (ROOT / "book" / "claims.md").read_text())
    assert shown == list(claims_page.GROUPS)
    rows = sum(claims_page.claims_html(table, group).count("<tr>") for group in shown)
    assert rows == len(table)


def test_counts_are_those_of_the_table(table):
    counts = claims_page.verdict_counts(table)
    assert counts.loc["all", "all"] == len(table)
    assert counts.loc["lemmas", "all"] == (table.kind == "lemma").sum()
    by_verdict = table.verdict.value_counts()
    assert counts.loc["all"].drop("all").to_dict() == by_verdict.to_dict()


def test_formulas_are_closed_and_know_no_macro_of_the_book(table):
    macros = yaml.safe_load((ROOT / "_config.yml").read_text())["sphinx"]["config"]
    names = "|".join(macros["mathjax3_config"]["tex"]["macros"])
    for text in [*table.statement, *table.evidence]:
        outside = re.sub(r"\\\(.*?\\\)", "", text)
        assert "\\" not in outside
        assert "^" not in outside
        assert not re.search(rf"\\(?:{names})(?![A-Za-z])", text)
        for formula in re.findall(r"\\\((.*?)\\\)", text):
            assert formula.count("{") == formula.count("}")


def test_links_have_the_titles_of_chapters(table):
    page = claims_page.claims_html(table)
    for where in table["where"].unique():
        name = where.partition("#")[0]
        notebook = nbformat.read(ROOT / f"{name}.ipynb", as_version=4)
        title = notebook.cells[0].source.splitlines()[0].removeprefix("# ")
        assert f'<a href="../{name}.html#{where.partition("#")[2]}">{title}</a>' in page


def test_html_escapes_and_links():
    row = ("a<b", "lemma", r"s & \(u < v\)", "notebooks/10_x#cell-y", "holds", "1 < 2")
    frame = pd.DataFrame([row], columns=claims.COLUMNS)
    page = claims_page.claims_html(frame)
    assert '<a href="../notebooks/10_x.html#cell-y">10_x</a>' in page
    assert "a&lt;b" in page.lower()
    assert "1 &lt; 2" in page
    assert r's &amp; <span class="math notranslate nohighlight">\(u &lt; v\)</span>' in page
    assert claims_page.claims_html(frame, "lemmas") == page
    assert "10_x" not in claims_page.claims_html(frame, "tables")
    with pytest.raises(ValueError, match="group"):
        claims_page.claims_html(frame, "lemma")


@pytest.mark.slow
def test_stored_verdicts_are_recomputed(table):
    fresh = claims.claims_table().set_index("label")
    stored = table.set_index("label")
    common = fresh.index.intersection(stored.index)
    assert len(common) == len(fresh)
    for column in ("statement", "where", "verdict"):
        pd.testing.assert_series_equal(fresh.loc[common, column], stored.loc[common, column])
    for label in common:
        (words, numbers), (stored_words, stored_numbers) = (
            (NUMBER.sub("", text), [float(number) for number in NUMBER.findall(text)])
            for text in (fresh.evidence[label], stored.evidence[label])
        )
        assert words == stored_words, label
        # Another machine may round a printed digit the other way.
        assert numbers == pytest.approx(stored_numbers, rel=0.05, abs=0.02), label
