"""Figures show what they are given."""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pytest

from steinsdr import SteinSDR, plotting
from steinsdr.paper.figures import METHOD_STYLES
from steinsdr.rank import AdaptiveRank
from steinsdr.simulation import simulate


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


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
    values = np.array(matplotlib.colors.to_rgb(color))
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(light):
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    f = np.cbrt(to_xyz @ np.clip(light, 0, 1) / to_xyz.sum(axis=1))
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("eye", DEFICIENCIES)
def test_methods_with_the_same_line_have_colors_far_apart(eye):
    assert set(METHOD_STYLES) == set(plotting.METHOD_COLORS)
    assert len(set(METHOD_STYLES.values())) == 10, "a method is known without its color"
    seen = {m: lab(DEFICIENCIES[eye] @ linear(c)) for m, c in plotting.METHOD_COLORS.items()}
    for style in ("-", "-.", "--"):
        family = [m for m, (line, _) in METHOD_STYLES.items() if line == style]
        for k, one in enumerate(family):
            for two in family[:k]:
                # Ten units of CIELAB are a difference that is seen at a glance.
                assert np.linalg.norm(seen[one] - seen[two]) > 10, (one, two)
