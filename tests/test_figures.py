"""Figures of the paper's pages show what is in their tables."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from steinsdr.paper import figures


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_distances_show_every_law_and_method_with_ridge_and_chance(paper_cells):
    some = paper_cells.query("table == 'table1' and method == 'SIR'").assign(method="ridge")
    fig = figures.plot_distances(paper_cells, some, 2.4)
    assert len(fig.axes) == 4
    assert all(len(ax.get_lines()) == 12 for ax in fig.axes), "ten methods, ridge and chance"
    named = [text.get_text() for text in fig.legends[0].get_texts()]
    assert {"ridge", "chance", "others", "TRE-sup"} <= set(named)
    lines = {line.get_label(): line for line in fig.axes[0].get_lines()}
    np.testing.assert_allclose(lines["ridge"].get_ydata(), lines["SIR"].get_ydata())
    assert len(fig.axes[0].collections) == 4, "the paper's means of the named methods"


def test_ranks_show_the_mean_of_every_setting():
    rows = pd.DataFrame({"law": "ar1", "r": [1, 1, 3], "method": "SIR", "rank": [1, 2, 5]})
    rows = pd.concat([rows, rows.assign(law="isotropic")])
    fig = figures.plot_ranks(rows)
    assert [[text.get_text() for text in ax.texts] for ax in fig.axes] == [["1.5", "5.0"]] * 2


def test_agreement_outlines_what_differs(paper_cells):
    some = paper_cells.copy()
    some.loc[some.index[0], "verdict"] = "differs"
    some.loc[some.index[1], "verdict"] = "missing"
    some.loc[some.index[2], "reps"] = 9
    ax = figures.plot_agreement(some, "table1").axes[0]
    boxes = [patch for patch in ax.patches if isinstance(patch, plt.Rectangle)]
    assert sorted(bool(box.get_hatch()) for box in boxes) == [False, True]
    assert [text.get_text() for text in ax.texts].count("(0.0)") == 1


def test_means_of_the_paper_and_ours_differ_off_the_line(paper_cells):
    some = paper_cells.copy()
    where = some.index[some["table"] == "table2"][:2]
    some.loc[where, ["mean", "verdict"]] = [[3.0, "differs"], [4.0, "missing"]]
    shown = [ax.collections for ax in figures.plot_means(some).axes]
    assert [len(agrees.get_offsets()) for agrees, _ in shown] == [160, 118, 180]
    assert all((x == y).all() for x, y in (agrees.get_offsets().T for agrees, _ in shown))
    (point,) = shown[1][1].get_offsets()
    np.testing.assert_array_equal(point, [some.loc[where[0], "paper_mean"], 3.0])


def test_table_3(paper_cells):
    extras = paper_cells.iloc[:0].assign(measure=pd.Series(dtype=str))
    fig = figures.plot_errors(paper_cells, extras)
    assert [ax.get_title() for ax in fig.axes] == ["train ratio 0.6", "train ratio 0.8"]
    part = paper_cells.query("table == 'table3' and measure == 'mse_rhat' and train_ratio == 0.6")
    np.testing.assert_allclose(
        fig.axes[0].lines[0].get_ydata(), part[part["method"] == "SIR"]["mean"]
    )
    named = part["method"].isin(["SIR", "TRE-sup", "TRE-full", "NN-split"])
    assert len(fig.axes[0].texts) == (named & (part["mean"] > 0.85)).sum() > 0


def test_bibiplot_shows_cells_and_names(rng):
    latent = rng.standard_normal((40, 3)), rng.standard_normal((40, 3))
    values = latent[0] @ rng.standard_normal((3, 20)) + rng.standard_normal((40, 20))
    genes = pd.DataFrame(values, columns=[f"g{j}" for j in range(20)])
    ephys = genes.iloc[:, :4].set_axis(["a", "b", "c", "d"], axis=1)
    fig = figures.plot_bibiplot(genes, ephys, latent, ["IT", "Pvalb"] * 20, (1, 3))
    left, right = fig.axes
    assert [len(ax.collections[0].get_offsets()) for ax in (left, right)] == [40, 40]
    correlations = np.corrcoef(values.T, latent[0][:, [0, 2]].T)[:20, 20:]
    longest = np.argsort(-np.linalg.norm(correlations, axis=1))[:15]
    assert {text.get_text() for text in left.texts if not text.get_gid()} == {
        f"g{j}" for j in longest
    }
    np.testing.assert_allclose(
        [line.get_xydata()[1] / 3 for line in left.lines[:15]], correlations[longest], atol=1e-12
    )
    assert {text.get_text() for text in right.texts if not text.get_gid()} == set("abcd")
    assert left.get_ylabel() == "direction 3"
    assert {text.get_text() for text in left.texts if text.get_gid()} == {"IT", "Pvalb"}
    fig = figures.plot_overlays(latent[0], ephys, 2 * ephys, ["b", "a"])
    assert len(fig.axes) == 5, "two by two panels and a color bar"
    np.testing.assert_array_equal(fig.axes[1].collections[0].get_array(), 2 * ephys["b"])


def test_gaps_from_the_default_stand_beside_chance():
    laws, sizes = ["isotropic", "ar1", "lognormal", "exp_ar1"], [50, 500]
    index = pd.MultiIndex.from_product([["SIR", "ridge"], laws, sizes], names=["method", "law", "n"])
    gaps = pd.DataFrame({"difference": np.arange(16) / 40, "error": 0.01}, index).sort_index()
    chance = pd.Series(0.6, pd.MultiIndex.from_product([laws, sizes], names=["law", "n"]))
    lines = {law: ["SIR", "ridge"] for law in laws[:3]} | {"exp_ar1": ["ridge"]}
    fig = figures.plot_gaps(gaps, chance, lines)
    assert [len(ax.containers) for ax in fig.axes] == [2, 2, 2, 1]
    np.testing.assert_allclose(fig.axes[3].lines[0].get_ydata(orig=False), [14 / 40, 15 / 40])
    assert [text.get_text() for text in fig.axes[0].texts] == ["SIR", "ridge"], "from below"
    np.testing.assert_array_equal(fig.axes[0].lines[-1].get_ydata(orig=False), [0.6, 0.6])
