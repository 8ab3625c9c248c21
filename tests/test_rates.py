"""The theory studies: pure cells, their own sizes, and slopes and shares of stored rows."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from toy_experiment import computed

from steinsdr.paper.experiment import Row
from steinsdr.paper.rates import (
    STUDIES,
    THEORY,
    load_studies,
    rate_of,
    rates_table,
    shares_table,
    study_rate,
)
from steinsdr.paper.store import Store
from steinsdr.paper.theory import figures, theorem2

# The smallest size of one study per family; networks take seconds and have a test of their own.
SMALL = {
    study.family: (name, study.sizes[0])
    for name, study in reversed(STUDIES.items())
    if study.family != "score-network"
}


def test_every_study_has_a_function_and_growing_sizes():
    assert {study.family for study in STUDIES.values()} == set(THEORY.families)
    for study in STUDIES.values():
        assert list(study.sizes) == sorted(set(study.sizes))
        assert len(study.sizes) >= 4
    for name in ("coupled-0.4", "coupled-0.6", "coupled-0.75", "coupled-0.9", "coupled-1"):
        stated = theorem2.exponents([STUDIES[name].settings["beta"]])["stated"].item()
        assert STUDIES[name].exponent == pytest.approx(stated)


def test_paper_profile_has_each_study_at_its_sizes_and_repetitions():
    cells = THEORY.cells("paper")
    assert len(set(cells)) == sum(len(s.sizes) * s.repetitions for s in STUDIES.values())


@pytest.mark.parametrize("family", ["score-kernel", "floor-kernel"])
def test_centres_that_the_kernel_draws_follow_from_the_key(family, monkeypatch):
    monkeypatch.setattr("steinsdr.scores.tikhonov._AUTO_EXACT", 50)
    monkeypatch.setattr("steinsdr.scores.tikhonov._AUTO_CENTERS", 20)
    cells = [(*SMALL[family], 0)]
    assert computed(THEORY, cells) == computed(THEORY, cells)


@pytest.mark.parametrize("family", SMALL)
def test_a_cell_is_a_pure_function_of_its_key(family):
    """The same number alone, beside others of its family, and after another repetition."""
    name, size = SMALL[family]
    cell = (name, size, 3)
    alone = computed(THEORY, [cell])[cell]
    family_cells = [
        (other, size, rep)
        for other, study in STUDIES.items()
        for rep in (1, 3)
        if study.family == family and size in study.sizes
    ]
    together = computed(THEORY, family_cells)
    assert together[cell] == alone
    assert together[name, size, 1] != alone or set(alone[0]) <= {0.0, 1.0}


def test_cells_that_share_a_fit_are_grouped():
    names = ["coupled-0.5", "few-0.5", "split-n", "split-q"]  # the last has no size 100
    groups = THEORY.groups(THEORY.cells("smoke", {"study": names, "size": ["100"]}))
    assert [len(group) for group in groups] == [2, 1, 2, 1]
    assert [group[0][-1] for group in groups] == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("study", "message"),
    [
        ("split-n", 'study=split-n" computes'),
        ("split", "study must be one of"),
    ],
)
def test_a_study_without_rows_is_named(study, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        load_studies(tmp_path, [study])


# Stored rows


def planted(folder, study, function, reps=range(20)):
    """Store rows whose values are a function of size and repetition."""
    store = Store(THEORY, folder)
    cells = [(study, size, rep) for size in STUDIES[study].sizes for rep in reps]
    store.append([Row(c, (float(function(*c[1:])), 0.5), "ok", 0.0) for c in cells])


def test_planted_slopes_are_found(tmp_path):
    noise = np.random.default_rng(0).uniform(0.9, 1.1, 200_000)
    planted(tmp_path, "split-n", lambda size, rep: size**-0.5 * noise[size + rep])
    planted(tmp_path, "split-p", lambda size, rep: size**0.8)
    frame = load_studies(tmp_path, ["split-n", "split-p"])
    table = rates_table(frame)
    assert table.loc["split-n", "low"] <= -0.5 <= table.loc["split-n", "high"]
    assert table.loc["split-n", "high"] - table.loc["split-n", "low"] < 0.05
    assert table.loc["split-p", "slope"] == pytest.approx(0.8)
    assert list(table.stated) == [-0.5, 0.5]
    assert list(table.repetitions) == [20, 20]
    assert study_rate(frame, "split-p", "score_error").slope == pytest.approx(0.0)


def test_a_repetition_that_lacks_a_size_is_left_out(tmp_path):
    planted(tmp_path, "split-q", lambda size, rep: size, reps=range(3))
    store = Store(THEORY, tmp_path)
    store.append([Row(("split-q", 4, 7), (1e6, 0.0), "ok", 0.0)])
    frame = load_studies(tmp_path, ["split-q"])
    assert set(frame.rep) == {0, 1, 2}
    assert rates_table(frame).slope.item() == pytest.approx(1.0)


def test_shares_and_their_intervals(tmp_path):
    planted(tmp_path, "threshold-0.5", lambda size, rep: rep < 5)
    shares = shares_table(load_studies(tmp_path, ["threshold-0.5"]))
    assert (shares.share == 0.25).all()
    assert ((shares.low < 0.25) & (shares.high > 0.25)).all()
    planted(tmp_path, "split-q", lambda size, rep: size)
    with pytest.raises(ValueError, match="0 and 1"):
        shares_table(load_studies(tmp_path, ["split-q"]))


# Slopes


def tidy(sizes, errors):
    """Return a frame of errors with one row a size."""
    errors = np.asarray(errors)
    return pd.DataFrame({"n": np.repeat(sizes, errors.shape[1]), "error": errors.ravel()})


def test_interval_covers_at_about_its_level(rng):
    # 95% nominal; 60 trials of a percentile bootstrap with 40 repetitions: binomial sd is 0.03
    sizes = np.array([100, 200, 400])
    hits = 0
    for _ in range(60):
        frame = tidy(sizes, rng.exponential(size=(3, 40)) / np.sqrt(sizes)[:, None])
        hits += rate_of(frame, "n", "error", rng=rng).contains(-0.5)
    assert hits / 60 > 0.82
    flat = rate_of(tidy(sizes, rng.uniform(0.9, 1.1, (3, 20))), "n", "error", rng=rng)
    assert not flat.contains(-0.5)
    assert not flat.at_least_as_fast_as(-0.2)


def test_noise_does_not_help_to_be_fast(rng):
    sizes = np.array([100, 200, 400])
    exact = rate_of(tidy(sizes, np.ones((3, 4)) / np.sqrt(sizes)[:, None]), "n", "error", rng=rng)
    assert exact.at_least_as_fast_as(-0.49)
    assert not exact.at_least_as_fast_as(-0.51)
    noisy = tidy(sizes, rng.lognormal(0, 2, (3, 4)) / np.sqrt(sizes)[:, None])
    wide = rate_of(noisy, "n", "error", rng=rng)
    assert wide.low < -0.45 < wide.high
    assert not wide.at_least_as_fast_as(-0.45)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"n": [1, 1, 2], "error": [1.0, 1.0, 1.0]}), "every n needs the same number"),
        (tidy([1], [[1.0, 2.0]]), "n must hold two distinct positive numbers"),
        (tidy([0, 1], [[1.0], [1.0]]), "n must hold two distinct positive numbers"),
        (tidy([1, 2], [[1.0], [0.0]]), "error must be positive and finite"),
    ],
)
def test_bad_input_is_refused(frame, message, rng):
    with pytest.raises(ValueError, match=message):
        rate_of(frame, "n", "error", rng=rng)


# Figures


@pytest.mark.parametrize(("top", "some"), [(0.2, "0.1"), (1000.0, "100")])
def test_logarithmic_axis_has_several_plain_labels(top, some):
    frame = pd.DataFrame({"n": [500, 2000, 8000], "gap": [top, 0.1, 0.05]})
    ax = figures.plot_rates(frame, "n", "gap", exponent=-0.5)
    ax.figure.canvas.draw()
    low, high = ax.get_ylim()
    ticks = zip(ax.get_yticks(), ax.get_yticklabels(), strict=True)
    labels = [label.get_text() for value, label in ticks if low <= value <= high]
    assert len(labels) >= 3
    assert some in labels
    plt.close("all")
