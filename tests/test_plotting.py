"""Figures show what they are given."""

from __future__ import annotations

from dataclasses import asdict

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from steinsdr import SteinSDR, plotting
from steinsdr.rank import AdaptiveRank
from steinsdr.simulation import simulate
from steinsdr.tails import KURTOSIS_LIMIT, SKEWNESS_LIMIT, tail_check


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def data():
    return simulate("isotropic", 200, p=10)


def test_spectrum_marks_what_is_kept(data):
    selection = SteinSDR(random_state=0).fit(data.X, data.Y).rank_
    ax = plotting.plot_spectrum(selection)
    kept, dropped = ax.collections[-2:]
    assert len(kept.get_offsets()) == selection.rank
    assert len(dropped.get_offsets()) == 10 - selection.rank
    np.testing.assert_allclose(
        kept.get_offsets()[:, 1], selection.singular_values[: selection.rank]
    )
    assert ax.get_title() == f"permutation rule: rank {selection.rank}"
    assert any("threshold" in line.get_label() for line in ax.get_lines())


def test_spectrum_of_the_energy_rule_shows_the_energy(data):
    rule = AdaptiveRank(branch="energy")
    selection = SteinSDR(rank=rule).fit(data.X, data.Y).rank_
    ax = plotting.plot_spectrum(selection)
    twin = next(other for other in ax.figure.axes if other is not ax)
    np.testing.assert_allclose([bar.get_height() for bar in twin.patches], selection.energy)


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


def test_tails_show_the_limits(data):
    frame = pd.DataFrame([{"law": "a", "n": 200, **asdict(tail_check(data.X))}])
    axes = plotting.plot_tails(frame)
    levels = [ax.get_lines()[-1].get_ydata()[0] for ax in axes]
    assert levels == [SKEWNESS_LIMIT, KURTOSIS_LIMIT]


def test_every_method_has_its_own_colour():
    assert len(set(plotting.METHOD_COLORS.values())) == len(plotting.METHOD_COLORS) == 10
