"""The ledger's page and the tables of what was computed, on planted cells."""

from __future__ import annotations

import json
from collections import Counter

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from conftest import ROOT

from steinsdr.moments import cross_moment
from steinsdr.paper import pages
from steinsdr.paper.figures_method import plane_example, plot_steps
from steinsdr.paper.ledger import COLUMNS
from steinsdr.paper.registry import EXPERIMENTS


@pytest.fixture
def cells():
    """Three tables, one of which the package does not know, with every verdict."""
    rows = [
        ("table1", "ar1 n=50", "SIR", 2.0, 0.1, 2.01, 0.1, 100, 0.7, "agrees"),
        ("table1", "ar1 n=50", "MLP", 2.0, 0.1, np.nan, np.nan, 0, np.nan, "missing"),
        ("table2", "ar1 r=1", "SIR", 9.0, 0.0, 8.0, 0.0, 100, -np.inf, "differs"),
        ("table9", "a<b & c", "MLP", 1.0, 0.1, 1.5, 0.1, 100, 35.4, "differs"),
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def test_counts_add_up(cells):
    counts = pages.verdict_counts(cells)
    assert list(counts.index) == ["SIR", "MLP", "all"]
    assert list(counts.columns.levels[0]) == ["Table 1", "Table 2", "Table 9"]
    assert counts.loc["all"].sum() == len(cells)
    assert counts.loc["MLP", ("Table 1", "missing")] == 1
    assert counts.loc["SIR", ("Table 9", "differs")] == 0


def test_html_has_every_cell_once(cells):
    page = BeautifulSoup(pages.ledger_html(cells), "html.parser")
    titles = [summary.get_text() for summary in page.select("summary")]
    assert titles[0] == "Table 1: 2 cells, 1 agrees, 1 missing"
    assert len(titles) == 3
    rows = page.select("tbody tr")
    assert Counter(row["class"][0] for row in rows) == Counter(cells["verdict"])
    assert [row.td.get_text() for row in rows] == list(cells["cell"])
    assert len({len(row.select("td")) for row in rows} | {len(page.select("thead")[0]("th"))}) == 1
    shown = [entry.get_text() for entry in rows[1].select("td")]
    assert shown[3] == shown[5] == ""  # nothing computed, nothing shown
    assert rows[2].select("td")[5].get_text() == "−∞"


def test_choices_are_those_of_the_style_sheet(cells):
    page = BeautifulSoup(pages.ledger_html(cells), "html.parser")
    values = [choice["value"] for choice in page.select("input")]
    assert values == ["all", *pages.VERDICTS]
    style = (ROOT / "book" / "_static" / "custom.css").read_text()
    for verdict in pages.VERDICTS:
        assert f'.ledger:has(input[value="{verdict}"]:checked) tbody tr:not(.{verdict})' in style


def test_folded_table_escapes_and_names(cells):
    page = BeautifulSoup(pages.folded_html(cells.tail(1), "x < y"), "html.parser")
    assert page.summary.get_text() == "x < y (1)"
    heads = [head.get_text() for head in page.select("th")]
    assert heads[:4] == ["table", "cell", "method", "paper mean"]
    assert [entry.get_text() for entry in page.select("td")][:2] == ["Table\u00a09", "a<b & c"]


def test_differences_share_their_note(cells):
    differing = cells[cells["verdict"] == "differs"]
    twice = pd.concat([differing, differing.assign(cell="other")]).assign(note="")
    twice.loc[twice["table"] == "table9", "note"] = "x < y"
    page = BeautifulSoup(pages.differences_html(twice), "html.parser")
    assert [term.get_text() for term in page.select("dt")] == ["Table 2, SIR", "Table 9, MLP"]
    assert len(page.select("li")) == len(twice)
    texts = [entry.get_text() for entry in page.select("dd")]
    assert texts[0].startswith("cause not known")
    assert texts[1].startswith("x < y")
    assert pages.differences_html(twice.head(0)) == "<p>None.</p>"


def test_figure_shows_every_computed_cell(cells):
    ax = pages.plot_z(cells, limit=8.0)
    inside, outside = [], []
    for points in ax.collections:
        offsets = np.asarray(points.get_offsets())
        (outside if points.get_sizes()[0] == 60 else inside).extend(offsets[:, 0])
    assert inside == [0.7]
    assert sorted(outside) == [-8.0, 8.0]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["SIR", "MLP"]
    plt.close(ax.figure)


def manifest(rows, **changes):
    content = {
        "rows": rows,
        "failed": 1,
        "seconds": 7200.0,
        "machine": {"processor": "P", "cores": 2},
        "versions": {"python": "3", "numpy": "2", "torch": "1"},
    }
    return json.dumps(content | changes)


def test_rows_against_the_wanted(tmp_path):
    (tmp_path / "table1.manifest.json").write_text(manifest({"SIR": 7, "csOPG-raw": 2}))
    (tmp_path / "table9.manifest.json").write_text(manifest({"SIR": 3}))
    rows = pages.rows_table(tmp_path)
    wanted = len(EXPERIMENTS["table1"].cells("paper", {"method": ["SIR"]}))
    assert rows.loc["SIR"].tolist() == [f"7 of {wanted}", "3"]
    assert rows.loc["csOPG-raw"].tolist() == ["2", ""]
    assert rows.loc["TRE-sup", "Table 1"].startswith("0 of ")
    computing = pages.computing_table(tmp_path)
    assert computing["rows"].tolist() == [9, 3]
    assert computing["hours on one core"].tolist() == [2.0, 2.0]


def test_manifest_without_totals_is_left_out(tmp_path):
    (tmp_path / "table1.manifest.json").write_text(manifest({"SIR": 7}))
    (tmp_path / "table2.manifest.json").write_text('{"methods": {}}')
    assert list(pages.load_manifests(tmp_path)) == ["table1"]
    (tmp_path / "table1.manifest.json").unlink()
    with pytest.raises(ValueError, match=r"has 1 file\(s\).*none with totals"):
        pages.load_manifests(tmp_path)


# The picture of the method.


@pytest.mark.parametrize("seed", range(5))
def test_picture_shows_what_the_method_finds(seed):
    example = plane_example(seed=seed)
    assert example.direction @ example.b > np.cos(np.radians(10))
    np.testing.assert_allclose(example.moment, cross_moment(example.scores, example.Y))
    # Every arrow of the third panel lies along the true direction, one of them backwards.
    cosines = example.b @ (example.moment / np.linalg.norm(example.moment, axis=0))
    assert (np.abs(cosines) > 0.9).all()
    assert np.sign(cosines).tolist() == [1, -1, 1]


def test_picture_has_four_steps():
    figure = plot_steps()
    titles = [ax.get_title() for ax in figure.axes]
    assert [title[:2] for title in titles] == ["1.", "2.", "3.", "4."]
    plt.close(figure)
