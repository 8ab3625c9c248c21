"""Claims of Section 4: verdicts on planted tables, and figures of the tables."""

from __future__ import annotations

from dataclasses import replace

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from conftest import ROOT

from steinsdr import plotting_tables
from steinsdr.claims_simulation import CLAIMS, judge, judge_all
from steinsdr.ledger import Ledger


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    """The paper's table with the paper's own means as ours."""
    ledger = Ledger.build(tmp_path_factory.mktemp("empty"), ROOT / "book" / "paper")
    frame = ledger.cells.copy()
    return frame.assign(
        mean=frame["paper_mean"], sd=frame["paper_sd"], reps=100, z=0.0, verdict="agrees"
    )


def claim(label):
    return next(c for c in CLAIMS if c.label == label)


def test_labels_are_unique_and_every_claim_can_be_judged(cells):
    table = judge_all(cells)
    assert table["label"].is_unique
    assert set(table["paper"]) <= {"holds", "holds in part", "does not hold"}
    assert (table["paper"] == table["ours"]).all()  # ours are the paper's here
    assert (table["paper_count"] == table["our_count"]).all()


def test_counts_by_hand(cells):
    assert judge(claim("rank-sir-maximum"), cells, "mean") == ("holds", "6 of 6")
    assert judge(claim("core-tre-lowest"), cells, "mean") == ("holds", "16 of 16")
    assert judge(claim("framework-beats-baselines"), cells, "mean") == ("does not hold", "0 of 16")


@pytest.mark.parametrize(
    ("label", "methods", "factor"),
    [
        ("core-tre-lowest", ["SIR"], 0.01),
        ("sup-beats-full-light", ["TRE-full"], 0.01),
        ("full-beats-sup-heavy", ["TRE-sup"], 0.01),
        ("split-below-full", ["TRE-split"], 0.01),
        ("nn-unlabeled-essential", ["NN-sup"], 0.01),
        ("rank-sir-maximum", ["SIR"], 0.5),
        ("rank-nn-heavy-three", ["NN-sup", "NN-full", "NN-split"], 100.0),
        ("rank-mave-heavy", ["csOPG", "KSIR"], -1.0),
    ],
)
def test_a_planted_change_overturns_the_verdict(cells, label, methods, factor):
    changed = cells.copy()
    hit = changed["method"].isin(methods)
    changed.loc[hit, "mean"] = changed.loc[hit, "mean"] * factor
    assert judge(claim(label), cells, "mean")[0] == "holds"
    assert judge(claim(label), changed, "mean")[0] == "does not hold"


def test_all_and_most_are_told_apart(cells):
    weak = replace(claim("sir-best-baseline"), every=True)
    assert judge(weak, cells, "mean")[0] == "does not hold"
    assert judge(claim("sir-best-baseline"), cells, "mean")[0] == "holds in part"


def test_missing_cells_give_no_verdict(cells):
    holes = cells.assign(mean=cells["mean"].where(cells["method"] != "SIR"))
    verdict, evidence = judge(claim("core-tre-lowest"), holes, "mean")
    assert (verdict, evidence) == ("missing", "16 of 16 cells incomplete")


def test_printed_table_marks_agreement(cells):
    frame = plotting_tables.printed_table(cells, "table1", "ar1")
    assert frame.shape == (10, 4)
    entry = frame.loc["TRE-sup", "n = 50"].replace("\u00a0", " ")
    assert entry == "1.834 (0.079) | 1.834 (0.079) ✓"
    with pytest.raises(ValueError, match="law is 'normal'"):
        plotting_tables.printed_table(cells, "table1", "normal")


@pytest.mark.parametrize("table", ["table1", "table2"])
def test_figures_show_every_law_and_method(cells, table):
    fig = plotting_tables.plot_table(cells, table)
    assert len(fig.axes) == 4
    assert all(len(ax.get_lines()) == 10 for ax in fig.axes)
    own, paper = fig.axes[0].get_lines()[0], fig.axes[0].collections[1]
    np.testing.assert_allclose(own.get_ydata(), paper.get_offsets()[:, 1])
    some = plotting_tables.plot_table(cells, table, ["SIR"])
    assert all(len(ax.get_lines()) == 1 for ax in some.axes)
    with pytest.raises(ValueError, match="methods has"):
        plotting_tables.plot_table(cells, table, ["PCA"])
    plt.close("all")


def test_agreement_outlines_what_differs(cells):
    some = cells.copy()
    some.loc[some.index[0], "verdict"] = "differs"
    some.loc[some.index[1], "verdict"] = "missing"
    ax = plotting_tables.plot_agreement(some, "table1")
    boxes = [patch for patch in ax.patches if isinstance(patch, plt.Rectangle)]
    assert len(boxes) == 2
    assert [bool(box.get_hatch()) for box in boxes] == [False, True]
    plt.close("all")


def test_cells_come_from_the_papers_files(cells):
    assert isinstance(cells, pd.DataFrame)
    assert cells.groupby("table").size().to_dict() == {"table1": 160, "table2": 120, "table3": 180}
