"""Tables and figures of the book's pages, on planted cells and on the stored results."""

from __future__ import annotations

import json
import re
from collections import Counter

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from conftest import ROOT

from steinsdr.paper import pages
from steinsdr.paper.claims import CLAIM_COLUMNS, QUESTIONS
from steinsdr.paper.ledger import LEDGER_COLUMNS, load_paper
from steinsdr.simulation import LAWS

PAPER, RESULTS = ROOT / "book" / "paper", ROOT / "book" / "results"


def soup(html):
    return BeautifulSoup(html, "html.parser")


# The ledger.


@pytest.fixture
def cells():
    """Three tables, one of which the package does not know, with every verdict."""
    rows = [
        ("table1", "ar1 n=50", "SIR", 2.0, 0.1, 2.01, 0.1, 100, 0.7, "agrees"),
        ("table1", "ar1 n=50", "MLP", 2.0, 0.1, np.nan, np.nan, 0, np.nan, "missing"),
        ("table2", "ar1 r=1", "SIR", 9.0, 0.0, 8.0, 0.0, 100, -np.inf, "differs"),
        ("table9", "a<b & c", "MLP", 1.0, 0.1, 1.5, 0.1, 100, 35.4, "differs"),
    ]
    return pd.DataFrame(rows, columns=list(LEDGER_COLUMNS))


def test_html_has_every_cell_once_with_its_anchor_and_the_choices(cells):
    page = soup(pages.ledger_html(cells))
    titles = [summary.get_text() for summary in page.select("summary")]
    assert titles[0] == "Table 1: 2 cells, 1 agrees, 1 missing"
    assert len(titles) == 3
    rows = page.select("tbody tr")
    assert Counter(row["data-verdict"] for row in rows) == Counter(cells["verdict"])
    assert [row["id"] for row in rows][:2] == ["table1-ar1-n-50-SIR", "table1-ar1-n-50-MLP"]
    assert [row.td.get_text() for row in rows] == list(cells["cell"])
    assert len({len(row.select("td")) for row in rows} | {len(page.select("thead")[0]("th"))}) == 1
    shown = [entry.get_text() for entry in rows[1].select("td")]
    assert shown[3] == shown[5] == ""  # nothing computed, nothing shown
    assert rows[2].select("td")[5].get_text() == "−∞"
    assert [option.get_text() for option in page.select("[name=verdict] option")] == [
        *("all", *pages.MARKS)
    ]


def test_entries_have_the_rows_behind_the_stored_ledger(ledger):
    entries = pages.ledger_entries(ledger, pd.read_csv(RESULTS / "differences.csv"))
    found = [entry for part in entries.values() for entry in part]
    assert len({entry["id"] for entry in found}) == len(found) == len(ledger.cells)
    for entry, mean in zip(found, ledger.cells["mean"], strict=True):
        values = [value for value in entry["values"] if value is not None]
        assert np.mean(values) == pytest.approx(mean, abs=1e-4)
    assert found[0]["command"].startswith("steinsdr replay table1 --law ")


def test_folded_table_escapes_and_names(cells):
    page = soup(pages.frame_html(cells.tail(1), "x < y"))
    assert page.summary.get_text() == "x < y (1)"
    heads = [head.get_text() for head in page.select("th")]
    assert heads[:4] == ["table", "cell", "method", "paper mean"]
    assert [entry.get_text() for entry in page.select("td")][:2] == ["Table\u00a09", "a<b & c"]


def test_differences_share_their_note(cells):
    differing = cells[cells["verdict"] == "differs"]
    twice = pd.concat([differing, differing.assign(cell="other")]).assign(note="")
    twice.loc[twice["table"] == "table9", "note"] = "x < y. Rest"
    page = soup(pages.differences_html(twice))
    titles = [summary.get_text() for summary in page.select("summary")]
    assert len(page.select("li")) == len(twice)
    assert titles == [
        "Table 2, SIR (2). Ours 11% smaller, z −∞. The cause is not known.",
        "Table 9, MLP (2). Ours 50% larger, z 35.4. x < y.",
    ]
    assert page.select("details")[1].p.get_text() == "Rest."
    assert pages.differences_html(twice.head(0)) == "<p>None.</p>"


def entries(html, source="ours"):
    """Entries of a printed table by method."""
    page = soup(html)
    names = [row.th.get_text() for row in page.select("tr.ours")]
    rows = [row("td")[1:] for row in page.select(f"tr.{source}")]
    return dict(zip(names, rows, strict=True))


def test_printed_tables_mark_agreement():
    """The paper's figures as ours, some of them on few repetitions, one not computed."""
    whole = pd.concat(
        load_paper(table, PAPER).assign(table=table, verdict="agrees", reps=100)
        for table in ("table1", "table3")
    )
    whole = whole.assign(paper_mean=whole["mean"], paper_sd=whole["sd"]).reset_index(drop=True)
    few = (whole["method"] == "NN-full") & whole["n"].isin([50, 100])
    whole.loc[few, "reps"] = 3
    whole.loc[(whole["method"] == "SIR") & (whole["n"] == 50), "verdict"] = "missing"
    whole["cell"] = whole["law"] + " n=" + whole["n"].astype("Int64").astype(str)
    whole["cell"] = whole["cell"].fillna("train_ratio=0.8")
    html = pages.printed_html(whole, "table1", law="ar1")
    table1, paper = entries(html), entries(html, "paper")
    assert len(table1) == 10
    assert {len(row) for row in [*table1.values(), *paper.values()]} == {5}
    assert table1["TRE-sup"][0].get_text() == "1.834 (0.079) ✓"
    assert paper["TRE-sup"][0].get_text() == "1.834 (0.079)"
    target = table1["TRE-sup"][0].a["href"]
    assert target == "../book/ledger.html#" + pages.entry_id("table1", "ar1 n=50", "TRE-sup")
    few = [entry.get_text().endswith("(✓)") for entry in table1["NN-full"]]
    assert few == [True, True, False, False, False]
    assert table1["SIR"][0].get_text() == "– ·"
    assert (table1["TRE-sup"][-1].string, table1["NN-full"][-1].string) == ("100", "3–100")
    bold = whole.query("table == 'table1' and law == 'ar1'")["bold"].sum()
    assert len(soup(html).select("tr.paper b")) == bold > 0
    html = pages.printed_html(whole, "table3", train_ratio=0.8)
    heads = [head.get_text() for head in soup(html).select("thead th") if head.get_text()]
    parts = [*["rank", "MSE", "MSE at 10"] * 3, "partitions"]
    assert heads == ["method", "γ = 0.1", "γ = 0.3", "γ = 0.5", *parts]
    assert entries(html)["MLP"][0].get_text() == "12.0 ✓"
    assert "train ratio 0.8" in soup(html).caption.get_text()
    assert {len(row) for row in entries(html).values()} == {10}
    with pytest.raises(ValueError, match="law is 'normal'; expected one of"):
        pages.printed_html(whole, "table1", law="normal")
    tabs = soup(pages.printed_tabs(whole, "table1"))
    labels, choices = tabs.select("input + label"), tabs.select("input")
    names = [label.get_text() for label in labels]
    assert names == [LAWS[law].label for law in ("isotropic", "ar1", "lognormal", "exp_ar1")]
    assert [label["for"] for label in labels] == [choice["id"] for choice in choices]
    for name, part in zip(names, tabs.select("input + label + div table"), strict=True):
        assert name in part.caption.get_text()
    assert len(tabs.select("input[checked]")) == 1


# The claims.


def test_claims_are_escaped_colored_and_linked():
    row = ("a<b", "lemma", "Section 9", r"s & \(u < v\)", "notebooks/10_x#cell-y")
    answers = ("in part", "no", "yes", "not applicable")
    basis = "proved here: book/method#proof-z; measured"
    frame = pd.DataFrame([(*row, *answers, basis, "1 < 2", "")], columns=CLAIM_COLUMNS)
    page = pages.claims_html(frame, "lemma")
    assert '<a href="../notebooks/10_x.html#cell-y">10_x</a>' in page
    assert '<a href="../book/method.html#proof-z">The method</a>' in page
    assert "1 &lt; 2" in page
    assert r's &amp; <span class="math notranslate nohighlight">\(u &lt; v\)</span>' in page
    (shown,) = soup(page).select("details.claim")
    assert shown["id"] == pages.claim_id("a<b")
    assert [shown[f"data-{question}"] for question in QUESTIONS] == list(answers)
    assert [one["class"][1] for one in shown.select("b")] == [
        answer.replace(" ", "-") for answer in answers[:3]
    ], "a question that does not apply has no answer"
    assert "survives" not in page
    with pytest.raises(ValueError, match=r"kinds has \['lemmas'\]; the table has \['lemma'\]"):
        pages.claims_html(frame, "lemmas")


def test_page_shows_every_claim_with_name_and_chapter():
    table = pd.read_csv(RESULTS / "claims.csv")
    page = (ROOT / "book" / "claims.md").read_text()
    calls = re.findall(r"claims_html\(table, (.*?)\)", page)
    html = "".join(pages.claims_html(table, *re.findall(r"\w+", call)) for call in calls)
    rows = soup(html).select("details.claim")
    assert len({row["id"] for row in rows}) == len(rows) == len(table)
    assert all(row.summary.b for row in rows), "a verdict without opening anything"
    names = [row.strong.get_text() for row in rows]
    assert names[:2] == ["Lemma 1.", "Lemma 2."]
    assert not any(set(name) & set(":/_") for name in names)
    assumptions = [name for name in names if name.startswith("Assumption")]
    assert assumptions == [f"Assumption {k}." for k in range(1, 5)]
    links = {link["href"].partition("#")[0]: link.get_text() for link in soup(html).select("a")}
    assert links["../notebooks/17_appendix.html"] == json.loads(
        (ROOT / "notebooks" / "17_appendix.ipynb").read_text()
    )["cells"][0]["source"][0].strip("# \n")


def test_choices_of_the_errata_are_its_parts():
    text = (ROOT / "book" / "errata.md").read_text()
    choices = soup(re.findall(r"```{raw} html\n(.*?)```", text, flags=re.S)[0])
    heads = re.findall(r"^## (.*)$", text, flags=re.M)
    parts = [head.lower().replace(" ", "-") for head in heads]
    assert [option["value"] for option in choices.select("option")] == ["", *parts[:3]]
    entries = re.findall(r"{dropdown} .*\n:class-container: fold\n:name: (\S+)\n", text)
    assert len({*entries}) == text.count("{dropdown} **") > 50


# Readings of the network's standardization.


def test_every_reading_is_that_of_its_own_rows(ledger):
    found = pages.readings_table(ledger)
    assert set(found["reading"]) == set(pages.READINGS)
    rows = pd.read_csv(RESULTS / "table1.csv")
    own = rows.groupby(["law", "n", "method"])["distance"].agg(["mean", "std", "count"])
    names = found["method"] + found["reading"].map(pages.READINGS)
    stored = own.loc[list(zip(found["law"], found["n"], names, strict=True))]
    np.testing.assert_allclose(found["mean"], stored["mean"])
    np.testing.assert_allclose(found["sd"], stored["std"])
    assert found["reps"].tolist() == stored["count"].tolist()
    fig = pages.plot_readings(found, ("lognormal", "exp_ar1"))
    assert [len(ax.collections[0].get_offsets()) for ax in fig.axes] == [4] * 6
    plt.close(fig)
