"""Figures show what they are given: those of the package, and those of the paper's pages."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from steinsdr import SteinSDR, plotting
from steinsdr.paper import figures
from steinsdr.rank import AdaptiveRank
from steinsdr.simulation import simulate


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_distances_show_every_law_and_method_with_references_and_chance(paper_cells):
    some = paper_cells.query("table == 'table1' and method == 'SIR'").assign(method="ridge")
    fig = figures.plot_distances(paper_cells, some, 2.4)
    assert len(fig.axes) == 4
    assert all(len(ax.get_lines()) == 13 for ax in fig.axes), "ten methods, three references"
    named = [text.get_text() for text in fig.legends[0].get_texts()]
    assert {"default", "ridge", "chance", "others", "TRE-sup"} <= set(named)
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
    index = pd.MultiIndex.from_product(
        [["SIR", "ridge"], laws, sizes], names=["method", "law", "n"]
    )
    gaps = pd.DataFrame({"difference": np.arange(16) / 40, "error": 0.01}, index).sort_index()
    chance = pd.Series(0.6, pd.MultiIndex.from_product([laws, sizes], names=["law", "n"]))
    lines = {law: ["SIR", "ridge"] for law in laws[:3]} | {"exp_ar1": ["ridge"]}
    fig = figures.plot_gaps(gaps, chance, lines)
    assert [len(ax.containers) for ax in fig.axes] == [2, 2, 2, 1]
    np.testing.assert_allclose(fig.axes[3].lines[0].get_ydata(orig=False), [14 / 40, 15 / 40])
    assert [text.get_text() for text in fig.axes[0].texts] == ["SIR", "ridge"], "from below"
    np.testing.assert_array_equal(fig.axes[0].lines[-1].get_ydata(orig=False), [0.6, 0.6])


# The package's own.


@pytest.fixture(scope="module")
def data():
    return simulate("isotropic", 200, p=10)


def test_spectrum_marks_what_is_kept(data):
    selection = SteinSDR.paper(random_state=0).fit(data.X, data.Y).rank_
    ax = plotting.plot_spectrum(selection)
    kept, dropped = ax.collections[-2:]
    assert len(kept.get_offsets()) == selection.rank
    assert len(dropped.get_offsets()) == 10 - selection.rank
    np.testing.assert_allclose(
        kept.get_offsets()[:, 1], selection.singular_values[: selection.rank]
    )
    assert ax.get_title() == f"permutation rule: rank {selection.rank}"
    assert any("threshold" in line.get_label() for line in ax.get_lines())
    with pytest.raises(ValueError, match=r"n_components was given .* n_components='auto'"):
        plotting.plot_spectrum(None)


def test_spectrum_of_one_response_shows_band_and_threshold(data):
    rule = AdaptiveRank(max_rank=1)  # as in the report
    selection = SteinSDR.paper(rank=rule, random_state=0).fit(data.X, data.Y[:, 0]).rank_
    ax = plotting.plot_spectrum(selection)
    low, high = np.quantile(selection.null, [0.05, 0.95])
    box = ax.collections[0].get_paths()[0].get_extents()
    np.testing.assert_allclose([box.x0, box.x1, box.y0, box.y1], [0.7, 1.3, low, high])
    (line,) = (line for line in ax.get_lines() if line.get_label() == "threshold")
    np.testing.assert_allclose(
        line.get_xydata(), [[x, selection.thresholds[0]] for x in (0.7, 1.3)]
    )


def test_spectrum_of_the_energy_rule_shows_the_energy(data):
    rule = AdaptiveRank(branch="energy")
    selection = SteinSDR.paper(rank=rule).fit(data.X, data.Y).rank_
    ax = plotting.plot_spectrum(selection)
    assert [text.get_text().strip() for text in ax.texts] == [f"{e:.0%}" for e in selection.energy]
    assert len(ax.figure.axes) == 1, "no second axis"


def test_alignment_of_the_truth_is_the_diagonal(data):
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    ax = plotting.plot_alignment((data.B @ turn).T, data.B)
    for points in ax.collections:
        x, y = points.get_offsets().T
        np.testing.assert_allclose(x, y, atol=1e-12)


def test_summary_draws_points_and_trend(data):
    ax = plotting.plot_summary(data.X, data.Y[:, 0], direction=1, label="height")
    np.testing.assert_allclose(ax.collections[0].get_offsets()[:, 0], data.X[:, 1])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("direction 2", "height")


# Machado, Oliveira and Fernandes (2009): how light looks without one kind of cone, in linear RGB.
DEFICIENCIES = {
    "normal": np.eye(3),
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
               [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
               [-0.011820, 0.042940, 0.968881]],
}  # fmt: skip


def linear(color):
    values = np.array(to_rgb(color))
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(light):
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    f = np.cbrt(to_xyz @ np.clip(light, 0, 1) / to_xyz.sum(axis=1))
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("eye", DEFICIENCIES)
def test_methods_with_the_same_line_have_colors_far_apart(eye):
    assert set(figures.METHOD_STYLES) == set(plotting.METHOD_COLORS)
    assert len(set(figures.METHOD_STYLES.values())) == 10, "a method is known without its color"
    seen = {m: lab(DEFICIENCIES[eye] @ linear(c)) for m, c in plotting.METHOD_COLORS.items()}
    for style in ("-", "-.", "--"):
        family = [m for m, (line, _) in figures.METHOD_STYLES.items() if line == style]
        for k, one in enumerate(family):
            for two in family[:k]:
                # Ten units of CIELAB are a difference that is seen at a glance.
                assert np.linalg.norm(seen[one] - seen[two]) > 10, (one, two)
