"""MLPDirections and Algorithm 4: what is learned, scales, reproducibility, degenerate input."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import ROOT
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.estimator_checks import parametrize_with_checks

from steinsdr import AdaptiveRank
from steinsdr.baselines import DominanceRank, MLPDirections
from steinsdr.subspace import procrustes_distance

SMALL = {"hidden": (16, 8), "epochs": 5, "random_state": 0}


def data(n=80, p=5, q=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * np.arange(1, p + 1)
    return X, np.tanh(X[:, :q]) + 0.1 * rng.standard_normal((n, q))


@parametrize_with_checks([MLPDirections(hidden=(8, 4), epochs=3, random_state=0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# The directions


def test_finds_a_strong_direction():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 8))
    b = np.linalg.qr(rng.standard_normal((8, 1)))[0]
    y = np.sin(2 * X @ b) + 0.1 * rng.standard_normal((1000, 1))
    fit = MLPDirections(1, epochs=60, random_state=0).fit(X, y)
    assert procrustes_distance(fit.components_.T, b) < 0.4  # a random direction: 1.2
    assert fit.loss_curve_[-1] < 0.1 < fit.loss_curve_[0]


def test_components_are_right_singular_vectors_of_the_rescaled_weights():
    X, Y = data()
    raw = MLPDirections(2, **SMALL).fit(X, Y)
    standardized = MLPDirections(2, scale="standardized", **SMALL).fit(X, Y)
    assert_allclose(raw.weights_ * X.std(axis=0), standardized.weights_, rtol=1e-12)
    for fit in (raw, standardized):
        gram = fit.weights_.T @ fit.weights_
        assert fit.weights_.shape == (16, 5)
        assert_allclose(
            fit.components_ @ gram, fit.singular_values_[:2, None] ** 2 * fit.components_, atol=1e-9
        )
        assert_allclose(fit.components_ @ fit.components_.T, np.eye(2), atol=1e-12)


def test_units_of_x_only_rescale_the_weights():
    X, Y = data()
    units = np.array([1e3, 1.0, 1e-4, 7.0, 0.5])
    plain, scaled = MLPDirections(2, **SMALL).fit(X, Y), MLPDirections(2, **SMALL).fit(X * units, Y)
    # Training is in single precision.
    assert_allclose(scaled.weights_ * units, plain.weights_, rtol=1e-3, atol=1e-5)


def test_standardized_responses_forget_their_units():
    X, Y = data()
    fits = [
        MLPDirections(2, standardize_responses=flag, **SMALL).fit(X, values).weights_
        for flag in (True, False)
        for values in (Y, 50 * Y + 3)
    ]
    assert_allclose(fits[1], fits[0], rtol=1e-3, atol=1e-5)
    assert not np.allclose(fits[3], fits[2], rtol=1e-1)


def test_read_only_responses_are_no_cause_for_a_warning(rng):
    X, Y = rng.standard_normal((20, 3)), rng.standard_normal((20, 2))
    Y.setflags(write=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MLPDirections(1, epochs=1).fit(X, Y)


def test_seed_decides_and_nothing_outside_is_touched():
    X, Y = data()
    torch.manual_seed(7)
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    first, again = (MLPDirections(2, **SMALL).fit(X, Y) for _ in range(2))
    other = MLPDirections(2, **SMALL | {"random_state": 1}).fit(X, Y)
    assert_array_equal(first.weights_, again.weights_)
    assert not np.allclose(first.weights_, other.weights_)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads


# Algorithm 4

LIGHT = np.random.default_rng(0).standard_normal((300, 4))
HEAVY = np.exp(2 * LIGHT)


@pytest.mark.parametrize(
    ("values", "X", "rank", "method"),
    [
        ([10, 1, 1, 1], LIGHT, 1, "dominance"),  # 100/103 > 0.85
        ([3, 2, 1, 1], LIGHT, 3, "energy"),  # 9/15, 13/15, 14/15
        ([4, 1, 1, 1], LIGHT, 3, "energy"),  # 16/19 = 0.84 is no dominance; 17/19 = 0.89
        ([4, 1, 1, 1], HEAVY, 4, "energy"),  # no dominance rule, and 18/19 = 0.947 < 0.95
        ([10, 1, 1, 1], HEAVY, 1, "energy"),  # 100/103 >= 0.95
        ([1, 1, 1, 1], LIGHT, 4, "energy"),
        ([0, 0, 0, 0], LIGHT, 1, "dominance"),
        ([0, 0, 0, 0], HEAVY, 1, "energy"),
    ],
)
def test_every_branch(values, X, rank, method):
    selection = DominanceRank().select(np.diag(values).astype(float), X=X)
    assert (selection.rank, selection.method) == (rank, method)
    assert selection.tails.heavy == (X is HEAVY)


def test_energy_is_that_of_the_leading_values():
    weights = np.diag([3.0, 2.0, 1.0, 1.0])
    # Of the first two alone, 9/13 and 13/13.
    assert DominanceRank(2).select(weights, X=LIGHT).rank == 2
    assert DominanceRank(1).select(weights, X=LIGHT).rank == 1
    assert DominanceRank(branch="heavy").select(weights, X=LIGHT).rank == 4


def test_the_light_rule_cannot_return_ten_of_ten(rng):
    X = rng.standard_normal((300, 12))
    for _ in range(20):
        weights = np.diag(1 + 1e-3 * rng.random(12))
        assert DominanceRank().select(weights, X=X).rank == 9
        assert DominanceRank(energy_light=0.95).select(weights, X=X).rank == 10


def test_auto_selects_with_the_rule():
    X, Y = data()
    fit = MLPDirections(rank=DominanceRank(3), **SMALL).fit(X, Y)
    assert fit.n_components_ == fit.rank_.rank == len(fit.components_) <= 3
    assert_allclose(fit.rank_.singular_values, fit.singular_values_[:3])
    assert MLPDirections(2, **SMALL).fit(X, Y).rank_ is None


def test_recorded_calibration_supports_the_readings():
    table = pd.read_csv(ROOT / "book" / "results" / "calibration_mlp.csv")
    worst = table.groupby(["table", "reading"])["z"].agg(lambda z: z.abs().max())
    assert worst[1, "standardized X, raw Y"] < 3.5
    assert worst[1, "raw X, raw Y"] > 5
    assert worst[2, "standardized X, raw Y, share 0.95"] < 3.5
    assert (worst[1].filter(like="standardized Y") > 3.5).all()
    light = table.query("table == 2 and law in ('isotropic', 'ar1')")
    nine = light[light["reading"].str.endswith("share 0.90")]
    assert (nine["mean"] == nine["paper_mean"] - 1).all()


# Degenerate input


@pytest.mark.parametrize("shape", [(2, 3), (5, 1), (9, 30)])
def test_few_rows_or_many_columns_stay_finite(shape, rng):
    X, Y = rng.standard_normal(shape), rng.standard_normal(shape[0])
    fit = MLPDirections(**SMALL).fit(X, Y)
    assert_allclose(fit.components_ @ fit.components_.T, np.eye(fit.n_components_), atol=1e-8)


def test_constant_and_duplicated_columns():
    X, Y = data()
    wide = np.column_stack([X, np.full(80, 0.1), X[:, 0]])
    fit = MLPDirections(3, **SMALL).fit(wide, np.column_stack([Y, np.ones(80)]))
    assert_array_equal(fit.components_[:, 5], 0.0)
    assert np.isfinite(fit.components_).all()
    with pytest.raises(ValueError, match="at most 6, the least of 16 hidden units and 6 column"):
        MLPDirections(7, **SMALL).fit(wide, Y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, Y: (X * np.nan, Y), "contains NaN"),
        (lambda X, Y: (X, Y * np.nan), r"y has 80 row\(s\) with NaN"),
        (lambda X, Y: (X, Y[:-1]), r"y has 79 row\(s\) but X has 80"),
        (lambda X, Y: (X, 0 * Y), r"y has 2 column\(s\), all constant"),
        (lambda X, Y: (0 * X, Y), r"X has 5 column\(s\), all constant"),
        (lambda X, Y: (X[:1], Y[:1]), r"1 sample\(s\).*minimum of 2 is required by MLPDir"),
    ],
)
def test_bad_data_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        MLPDirections(1, **SMALL).fit(*change(*data()))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 6}, "n_components=6; expected at most 5"),
        ({"n_components": 1.5}, "n_components must be an integer at least 1; got 1.5"),
        ({"hidden": ()}, r"hidden must be a sequence of widths, such as \(256, 128\); got \(\)"),
        ({"hidden": 16}, "hidden must be a sequence of widths.* got 16"),
        ({"hidden": None}, "hidden must be a sequence of widths.* got None"),
        ({"hidden": (8, 0)}, "hidden must be an integer at least 1; got 0"),
        ({"epochs": 0}, "epochs must be an integer at least 1; got 0"),
        ({"batch_size": -1}, "batch_size must be an integer at least 1; got -1"),
        ({"learning_rate": 0}, "learning_rate must be a positive finite number; got 0"),
        ({"scale": "unit"}, "scale must be one of 'raw', 'standardized'; got 'unit'"),
        ({"rank": DominanceRank}, "rank must be 'adaptive' or have a select method; got <class"),
        ({"rank": AdaptiveRank()}, "does not fit MLPDirections, which has X for its select"),
        ({"rank": DominanceRank(0)}, "max_rank must be an integer at least 1; got 0"),
        ({"rank": DominanceRank(dominance=2)}, r"dominance must be in \(0, 1\]; got 2"),
        (
            {"rank": DominanceRank(energy_light="all")},
            r"energy_light must be in \(0, 1\]; got 'all'",
        ),
        (
            {"rank": DominanceRank(energy_heavy=np.nan)},
            r"energy_heavy must be in \(0, 1\]; got nan",
        ),
        ({"rank": DominanceRank(skewness=None)}, "skewness must be a number; got None"),
        ({"rank": DominanceRank(branch="both")}, "branch must be one of 'auto', 'heavy', 'light'"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        MLPDirections(**SMALL | parameters).fit(*data())
