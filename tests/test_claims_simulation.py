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

from steinsdr.paper import figures_tables
from steinsdr.paper.claims_simulation import CLAIMS
from steinsdr.paper.ledger import Ledger
from steinsdr.paper.pages import entries_html, repetition_counts
from steinsdr.paper.sentences import CORE, NN, TRE, beats_baselines, judge, judge_all
from steinsdr.plotting import METHOD_STYLES


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
    table = judge_all(cells, CLAIMS)
    assert table["label"].is_unique
    assert set(table["paper"]) <= {"holds", "holds in part", "does not hold"}
    assert (table["paper"] == table["ours"]).all()  # ours are the paper's here
    assert (table["paper_count"] == table["our_count"]).all()


def test_counts_by_hand(cells):
    assert judge(claim("rank-sir-maximum"), cells, "mean") == ("holds", "6 of 6")
    assert judge(claim("core-tre-lowest"), cells, "mean") == ("holds", "16 of 16")
    assert judge(claim("framework-beats-baselines"), cells, "mean") == ("does not hold", "0 of 16")
    # From the printed table: NN-sup at r = 1 and 3, twice, and at r = 5, twice, errs by more.
    assert judge(claim("rank-stable-light"), cells, "mean") == ("holds in part", "30 of 36")
    assert judge(claim("sup-as-full-heavy"), cells, "mean") == ("holds", "4 of 4")
    assert judge(claim("rank-tre-beats-nn"), cells, "mean") == ("holds", "10 of 10")
    assert judge(claim("rank-mlp-fails"), cells, "mean") == ("holds", "6 of 6")
    assert judge(claim("rank-heavy-robust"), cells, "mean") == ("holds", "25 of 36")


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
        ("sup-as-full-heavy", ["TRE-sup"], 2.0),
        ("nn-split-as-full", ["NN-split"], 1.5),
        ("rank-tre-steadier", ["TRE-sup", "TRE-full", "TRE-split"], 100.0),
        ("rank-tre-beats-nn", ["TRE-sup", "TRE-full", "TRE-split"], 100.0),
        ("rank-mlp-fails", ["MLP"], 0.5),
        ("sup-beats-both-light", ["TRE-split"], 0.01),
        ("split-as-full", ["TRE-split"], 1.5),
        ("sup-default", ["TRE-sup"], 2.0),
        ("nn-split-slight", ["NN-split"], 1.5),
        ("nn-sup-poor", ["NN-sup"], 0.01),
        ("rank-mave-degrades", ["csOPG", "KSIR"], -1.0),
        ("rank-framework-best", [*TRE, *NN], 100.0),
        ("rank-mave-competitive", ["csOPG", "KSIR"], 100.0),
    ],
)
def test_a_planted_change_overturns_the_verdict(cells, label, methods, factor):
    changed = cells.copy()
    hit = changed["method"].isin(methods)
    for value in ("mean", "sd"):
        changed.loc[hit, value] = changed.loc[hit, value] * factor
    assert judge(claim(label), cells, "mean")[0] == "holds"
    assert judge(claim(label), changed, "mean")[0] == "does not hold"


@pytest.mark.parametrize(
    ("label", "methods", "factor"),
    [
        ("rank-stable-light", [*TRE, *NN], 100.0),
        ("rank-unlabeled-lowest", ["TRE-sup", "NN-sup"], -1.0),
        ("rank-unlabeled-steadiest", ["TRE-sup", "NN-sup"], -1.0),
        ("abstract-distance", CORE, 100.0),
        ("abstract-rank", CORE, 100.0),
        ("framework-substantially", [*TRE, *NN], 100.0),
        ("core-tre-below-split", ["TRE-sup", "TRE-full"], 100.0),
    ],
)
def test_a_planted_change_moves_the_count_both_ways(cells, label, methods, factor):
    """These hold in some of the paper's cells; planted ones decide nearly all of them."""
    worse, better = cells.copy(), cells.copy()
    hit = cells["method"].isin(methods)
    for value in ("mean", "sd"):
        worse.loc[hit, value] = cells.loc[hit, value] * factor - 0.1 * np.sign(-factor)
        better.loc[hit, value] = 0.0 if factor > 0 else 100.0
        better.loc[~hit, value] = better.loc[~hit, value] + 0.1
    low, high = (judge(claim(label), frame, "mean")[0] for frame in (worse, better))
    assert low == "does not hold"
    assert high == "holds"


@pytest.mark.parametrize(
    ("label", "method", "size"),
    [
        ("split-gap-persists", "TRE-split", 500),  # the gap closes
        ("nn-split-catches-up", "NN-split", 50),  # and this one was never open
        ("full-advantage-diminishes", "TRE-full", 500),  # and this one grows
    ],
)
def test_a_planted_trend_overturns_the_verdict(cells, label, method, size):
    changed = cells.copy()
    hit = (changed["method"] == method) & (changed["n"] == size)
    changed.loc[hit, "mean"] = changed.loc[hit, "mean"] * 0.01
    before, after = (judge(claim(label), frame, "mean") for frame in (cells, changed))
    assert before[0] in ("holds", "holds in part")
    assert after[0] == "does not hold"


def test_spreads_of_few_repetitions_are_no_evidence(cells):
    few = cells.assign(reps=cells["reps"].where(cells["method"] != "NN-full", 4))
    verdict, evidence = judge(claim("rank-tre-steadier"), few, "mean")
    assert (verdict, evidence) == ("missing", "12 of 12 cells incomplete")
    assert judge(claim("rank-tre-steadier"), few, "paper_mean")[0] == "holds"
    assert judge(claim("rank-tre-beats-nn"), few, "mean")[0] == "holds", "its means count"


def test_groups_against_the_baselines(cells):
    groups = {"six": TRE + NN, "core": CORE, "two": ["TRE-sup", "TRE-full"]}
    counts = beats_baselines(cells, groups)
    assert (counts["paper"] == counts["ours"]).all()
    assert (
        f"{counts.loc['six', 'paper']} of 16"
        == judge(claim("framework-beats-baselines"), cells, "mean")[1]
    )
    assert counts["paper"].is_monotonic_increasing, "fewer methods, fewer obstacles"
    holes = cells.assign(mean=cells["mean"].where(cells["method"] != "NN-split"))
    assert beats_baselines(holes, groups)["cells"].tolist() == [0, 0, 16]


def test_all_and_most_are_told_apart(cells):
    weak = replace(claim("sir-best-baseline"), every=True)
    assert judge(weak, cells, "mean")[0] == "does not hold"
    assert judge(claim("sir-best-baseline"), cells, "mean")[0] == "holds in part"


def test_missing_cells_give_no_verdict(cells):
    holes = cells.assign(mean=cells["mean"].where(cells["method"] != "SIR"))
    verdict, evidence = judge(claim("core-tre-lowest"), holes, "mean")
    assert (verdict, evidence) == ("missing", "16 of 16 cells incomplete")


def test_printed_table_marks_agreement(cells):
    few = cells["method"].eq("NN-full") & cells["n"].isin([50, 100])
    some = cells.assign(reps=cells["reps"].mask(few, 3))
    frame = figures_tables.printed_table(some, "table1", "ar1")
    assert frame.shape == (10, 5)
    assert frame.loc["TRE-sup", "n = 50"] == "1.834 (0.079) | 1.834 (0.079) ✓"
    assert frame.loc["NN-full", "n = 50"].endswith(" (✓)")
    assert frame.loc["NN-full", "n = 300"].endswith(") ✓")
    assert frame["repetitions"].loc[["TRE-sup", "NN-full"]].tolist() == ["100", "3–100"]
    page = entries_html(frame)
    assert page.count("<small>") == 40
    assert "1.834 (0.079) ✓<br/><small>1.834 (0.079)</small>" in page
    with pytest.raises(ValueError, match="law is 'normal'"):
        figures_tables.printed_table(cells, "table1", "normal")


def test_repetitions_are_counted_where_something_was_computed(cells):
    first = cells[cells["table"] == "table1"]
    reps = np.resize([0, 2, 9, 10, 19, 20, 99, 100], len(first))
    counts = repetition_counts(first.assign(reps=reps))
    assert counts.to_dict() == {
        "100 or more": 20, "20 to 99": 40, "10 to 19": 40, "fewer than 10": 40
    }  # fmt: skip


@pytest.mark.parametrize("table", ["table1", "table2"])
def test_figures_show_every_law_and_method(cells, table):
    fig = figures_tables.plot_table(cells, table)
    assert len(fig.axes) == 4
    assert all(len(ax.get_lines()) == 10 for ax in fig.axes)
    points = [c for c in fig.axes[0].collections if len(c.get_offsets()) > 1]
    for own, paper in zip(fig.axes[0].get_lines(), points, strict=True):
        np.testing.assert_allclose(own.get_ydata(), paper.get_offsets()[:, 1])
    styles = [(line.get_linestyle(), line.get_marker()) for line in fig.legends[0].get_lines()]
    assert len(set(styles)) == 10, "methods can be told apart without colour"
    assert styles == [METHOD_STYLES[t.get_text()] for t in fig.legends[0].get_texts()]
    some = figures_tables.plot_table(cells, table, ["SIR"])
    assert all(len(ax.get_lines()) == 1 for ax in some.axes)
    with pytest.raises(ValueError, match="methods has"):
        figures_tables.plot_table(cells, table, ["PCA"])
    plt.close("all")


def test_agreement_outlines_what_differs(cells):
    some = cells.copy()
    some.loc[some.index[0], "verdict"] = "differs"
    some.loc[some.index[1], "verdict"] = "missing"
    some.loc[some.index[2], "reps"] = 9
    ax = figures_tables.plot_agreement(some, "table1")
    boxes = [patch for patch in ax.patches if isinstance(patch, plt.Rectangle)]
    assert len(boxes) == 2
    assert [bool(box.get_hatch()) for box in boxes] == [False, True]
    assert [text.get_text() for text in ax.texts].count("(0.0)") == 1
    plt.close("all")


def test_cells_come_from_the_papers_files(cells):
    assert isinstance(cells, pd.DataFrame)
    assert cells.groupby("table").size().to_dict() == {"table1": 160, "table2": 120, "table3": 180}
