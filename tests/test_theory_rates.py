"""Log-log slopes: exact on exact powers, honest intervals, refusals."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from steinsdr.paper.theory import figures
from steinsdr.paper.theory.rates import Rate, fit_rate, rate_of


def test_exact_power_has_exact_slope_and_no_width(rng):
    sizes = np.array([10, 100, 1000])
    errors = np.repeat(3 * sizes[:, None] ** -0.25, 7, axis=1)
    rate = fit_rate(sizes, errors, rng=rng)
    assert np.allclose([rate.slope, rate.low, rate.high], -0.25)


def test_interval_covers_at_about_its_level(rng):
    # 95% nominal; 60 trials of a percentile bootstrap with 40 repetitions: binomial sd is 0.03
    sizes = np.array([100, 200, 400])
    hits = 0
    for _ in range(60):
        noise = rng.exponential(size=(3, 40))
        rate = fit_rate(sizes, noise / np.sqrt(sizes)[:, None], rng=rng, n_boot=300)
        hits += rate.contains(-0.5)
    assert hits / 60 > 0.82


def test_flat_errors_do_not_pass_for_falling_ones(rng):
    rate = fit_rate([100, 200, 400], rng.uniform(0.9, 1.1, (3, 20)), rng=rng)
    assert not rate.contains(-0.5)
    assert not rate.at_least_as_fast_as(-0.2)


def test_frame_and_array_agree(rng):
    errors = rng.uniform(1, 2, (3, 5))
    frame = pd.DataFrame(
        [(n, e) for n, row in zip([3, 1, 2], errors, strict=True) for e in row],
        columns=["n", "error"],
    )
    order = np.argsort([3, 1, 2])
    direct = fit_rate([1, 2, 3], errors[order], rng=np.random.default_rng(0))
    assert rate_of(frame, "n", "error", rng=np.random.default_rng(0)) == direct


def test_unequal_groups_are_refused(rng):
    frame = pd.DataFrame({"n": [1, 1, 2], "error": [1.0, 1.0, 1.0]})
    with pytest.raises(ValueError, match="same number"):
        rate_of(frame, "n", "error", rng=rng)


@pytest.mark.parametrize(
    ("sizes", "errors"),
    [([1, 2], [[1.0]]), ([1, 1], [[1.0], [1.0]]), ([1, 2], [[1.0], [0.0]])],
)
def test_bad_input_is_refused(sizes, errors, rng):
    with pytest.raises(ValueError, match=r"errors|sizes"):
        fit_rate(sizes, errors, rng=rng)


def test_rate_prints_its_interval():
    assert str(Rate(-0.5, -0.6, -0.4)) == "-0.50 [-0.60, -0.40]"


# Figures


def labels_inside(ax):
    """Labels of the y axis that a reader sees."""
    ax.figure.canvas.draw()
    low, high = ax.get_ylim()
    ticks = zip(ax.get_yticks(), ax.get_yticklabels(), strict=True)
    return [label.get_text() for value, label in ticks if low <= value <= high]


@pytest.mark.parametrize(("top", "some"), [(0.2, "0.1"), (1000.0, "100")])
def test_logarithmic_axis_has_several_plain_labels(top, some):
    frame = pd.DataFrame({"n": [500, 2000, 8000], "gap": [top, 0.1, 0.05]})
    labels = labels_inside(figures.plot_rates(frame, "n", "gap", exponent=-0.5))
    assert len(labels) >= 3
    assert some in labels
    plt.close("all")
