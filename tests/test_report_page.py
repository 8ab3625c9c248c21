"""What the report's figures and captions say, and what they do when something is left out."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from matplotlib.markers import MarkerStyle

from steinsdr import SteinSDR
from steinsdr.plotting import plot_spectrum
from steinsdr.report import analyze, read_table
from steinsdr.report.captions import CAPTIONS, caption
from steinsdr.report.figures import plot_comparison, plot_loadings, plot_summaries
from steinsdr.report.page import page

CROSS = MarkerStyle("x").get_path().transformed(MarkerStyle("x").get_transform())


def analysis_of(p, q, components, n_bootstrap=0):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((120, p))
    Y = X[:, :q] + 0.5 * rng.standard_normal((120, q))
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(p)])
    frame[[f"y{k}" for k in range(q)]] = Y
    table = read_table(frame, [f"y{k}" for k in range(q)])
    return analyze(table, components=components, n_bootstrap=n_bootstrap, folds=2)


def html(analysis):
    """The page with empty pictures, which take no time to draw."""
    pictures = dict.fromkeys(CAPTIONS, bytes(24))
    return BeautifulSoup(page(analysis, pictures), "html.parser")


@pytest.fixture(scope="module")
def wide():
    """More predictors, responses and directions than fit."""
    return analysis_of(p=32, q=31, components=4)


@pytest.fixture(scope="module")
def small():
    return analysis_of(p=4, q=2, components=2, n_bootstrap=10)


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_without_intervals_nothing_is_clear_of_zero(wide):
    text = html(wide)
    alternatives = [image["alt"] for image in text.select("img")]
    shown = [figure.get_text() for figure in text.select("figcaption")]
    assert alternatives == shown
    assert not any("interval" in line for line in shown)
    assert any("Rows were not resampled" in line for line in shown)
    assert "interval" not in text.select("table")[2].get_text()
    for ax in plot_loadings(wide).axes:
        (points,) = ax.collections  # and no lines
        np.testing.assert_array_equal(points.get_paths()[0].vertices, CROSS.vertices)


def test_with_intervals_filled_points_are_clear_of_zero(small):
    assert caption("loadings", small).startswith(CAPTIONS["loadings"])
    table = small.loadings()
    axes = plot_loadings(small).axes
    order = [label.get_text() for label in axes[0].get_yticklabels()]
    for ax, name in zip(axes, small.directions, strict=True):
        part = table.loc[name].loc[order]
        filled = ax.collections[1].get_facecolor()[:, :3].min(axis=1) < 1
        np.testing.assert_array_equal(filled, (part["low"] > 0) | (part["high"] < 0))


def test_captions_say_what_is_left_out(wide, small):
    rest = {name: caption(name, wide).partition(" Shown: ")[2] for name in CAPTIONS}
    assert rest == {
        "predictors": "",
        "score": "",
        "spectrum": "",
        "loadings": "the largest 30 of 32 predictors, the first 3 of 4 directions; all are in the "
        "table.",
        "summaries": "the best predicted 4 of 31 responses, the first 3 of 4 directions.",
        "comparison": "the best predicted 30 of 31 responses; all are in the table.",
    }
    assert all(caption(name, small).startswith(text) for name, text in CAPTIONS.items())
    assert not any("Shown: " in caption(name, small) for name in CAPTIONS)


def test_figures_show_what_captions_say(wide):
    loadings, summaries = plot_loadings(wide), plot_summaries(wide)
    assert len(loadings.axes) == 3
    assert len(loadings.axes[0].get_yticks()) == 30
    assert len(summaries.axes) == 4 * 3
    assert len(plot_comparison(wide).axes[0].get_yticks()) == 31  # and the overall one


def test_the_page_says_what_intervals_may_miss(small):
    captions = [text.get_text() for text in html(small).select("caption")]
    assert any("about one in ten" in text for text in captions)


def test_intervals_are_said_to_be_given_the_basis_where_there_is_more_than_one(small):
    one = analysis_of(p=4, q=1, components=1, n_bootstrap=10)
    for analysis, said in ((small, True), (one, False)):
        words = html(analysis)
        assert ("given the basis" in words.select("table caption")[2].get_text()) == said
        assert any("given the basis" in text.get_text() for text in words("figcaption")) == said


def test_a_spectrum_that_no_rule_looked_at_is_told(rng):
    X = rng.standard_normal((30, 3))
    fit = SteinSDR(1).fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"n_components was given .* n_components='auto'"):
        plot_spectrum(fit.rank_)
