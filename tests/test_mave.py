"""csOPG and KSIR against the R package MAVE 1.3.11, and their invariances."""

import numpy as np
import pytest
from conftest import ROOT, reference_folder
from numpy.testing import assert_allclose, assert_array_equal

from steinsdr.baselines import CSOPG, KSIR
from steinsdr.baselines.mave import (
    _indicators,
    anchor_points,
    indicator_responses,
)
from steinsdr.subspace import principal_angles, procrustes_distance

COMMITTED = ROOT / "tests" / "data" / "mave_seed1007_n50_p20_lognormal.npz"
REFERENCE_NAMES = [
    "seed1001_n100_p20_gauss",
    "seed1002_n50_p100_ar1",
    "seed1003_n100_p100_lognormal",
    "seed1004_n300_p20_expar1",
    "seed1005_n300_p100_gauss",
    "seed1006_n100_p100_ar1",
    "seed1007_n50_p20_lognormal",
]
each_method = pytest.mark.parametrize("method", [CSOPG, KSIR])


def angle(first, second):
    return float(principal_angles(first, second).max())


def data(n=60, p=6, q=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    signal = np.column_stack([X[:, k % p] + np.sin(X[:, (k + 1) % p]) for k in range(q)])
    return X, signal + 0.3 * rng.standard_normal((n, q))


@each_method
@pytest.mark.parametrize("name", REFERENCE_NAMES)
def test_matches_the_output_of_the_package(method, name):
    path = COMMITTED if name in COMMITTED.name else reference_folder() / "mave" / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"no {path}: set STEINSDR_REFERENCE to the folder that holds mave/*.npz")
    prefix = method.__name__.lower()
    with np.load(path) as file:
        fit = method(max_dim=int(file["max_dim"])).fit(file["X"], file["Y"])
        # R counts columns from 1.
        assert_array_equal(fit.selected_ + 1, file[f"idx_{prefix}"])
        for d in range(1, int(file["max_dim"]) + 1):
            reference = file[f"dir_{prefix}_{d}"]
            assert angle(fit.directions_path_[d], reference) < 1e-6
            # Not the span alone: column by column, up to sign.
            assert_allclose(np.abs(fit.directions_path_[d]), np.abs(reference), atol=1e-6)
        assert_allclose(fit.cv0_, file[f"cv0_{prefix}"], atol=1e-8)
        assert_allclose(fit.cv_, file[f"cv_{prefix}"], atol=1e-8)
        assert fit.selected_dim_ == file[f"dim_min_{prefix}"]


def test_indicator_responses_of_many_rows_are_those_of_the_gram_matrix():
    # 600 rows and two responses: fewer indicators than rows.
    Y = np.random.default_rng(0).standard_normal((600, 2))
    working, smooth = indicator_responses(Y)
    indicators = np.hstack([_indicators(y) for y in Y.T])
    assert len(Y) > indicators.shape[1]
    values, vectors = np.linalg.eigh(indicators @ indicators.T)
    kept = 1 + int(np.argmax(np.cumsum(values[::-1]) >= 0.99 * values.sum()))
    U = vectors[:, -kept:]
    # Signs of singular vectors are free, and the Gram matrix squares the rounding.
    assert_allclose(working @ working.T, (U * values[-kept:]) @ U.T, atol=1e-9)
    assert_allclose(smooth, U @ (U.T @ indicators), atol=1e-9)


def test_large_problems_give_the_same_in_pieces(monkeypatch):
    X, Y = data(120, 8)
    whole = CSOPG(max_dim=3).fit(X, Y)
    monkeypatch.setattr("steinsdr.baselines.mave._TABLE_LIMIT", 5000)
    pieces = CSOPG(max_dim=3).fit(X, Y)
    assert angle(whole.directions_path_[3], pieces.directions_path_[3]) < 1e-8


@pytest.mark.parametrize(("n", "count"), [(99, 99), (150, 149), (250, 125), (300, 100), (302, 101)])
def test_anchors(n, count):
    V = np.random.default_rng(0).standard_normal((n, 3))
    anchors = anchor_points(V)
    assert len(np.unique(anchors)) == len(anchors) == count


# Invariances


def test_csopg_ignores_monotone_transformation_of_responses():
    X, Y = data(50)
    one, two = (CSOPG(n_components=2).fit(X, values).directions_ for values in (Y, np.exp(Y)))
    assert angle(one, two) < 1e-6


def test_ksir_of_the_package_depends_on_the_first_response_and_the_repair_does_not():
    X, Y = data(100)
    for weigh, invariant in [("first", False), ("all", True)]:
        one = KSIR(2, weigh=weigh).fit(X, Y).directions_
        swapped = KSIR(2, weigh=weigh).fit(X, Y[:, ::-1]).directions_
        rescaled = KSIR(2, weigh=weigh).fit(X, Y * [10, 1]).directions_
        assert (angle(one, swapped) < 1e-6) == invariant
        assert (angle(one, rescaled) < 1e-6) == invariant
    y = Y[:, :1] / Y[:, 0].std(ddof=1)  # of one response nothing is left but its unit
    first, every = (KSIR(2, weigh=weigh).fit(X, y).directions_ for weigh in ("first", "all"))
    assert angle(first, every) < 1e-6


def test_only_csopg_sees_an_even_link():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 5))
    y = X[:, 0] ** 2 + 0.2 * rng.standard_normal(100)
    truth = np.eye(5)[:, :1]
    assert procrustes_distance(CSOPG(1).fit(X, y).components_.T, truth) < 0.2
    assert procrustes_distance(KSIR(1).fit(X, y).components_.T, truth) > 0.6


# Interface


@each_method
def test_standardized_scale_leaves_out_the_division_by_sd(method):
    X, Y = data()
    X = X * np.logspace(-1, 1, 6)
    raw, standardized = (method(2, scale=s).fit(X, Y) for s in ("raw", "standardized"))
    mapped = raw.directions_ * X.std(axis=0, ddof=1)[:, None]
    assert angle(mapped, standardized.directions_) < 1e-7
    assert_array_equal(raw.cv_, standardized.cv_)


@each_method
def test_screening_keeps_as_many_columns_as_asked(method):
    X, Y = data(60, 20)
    assert method().fit(X, Y).selected_.size == 15  # ceil(60 / ln 60)
    assert method(screen=None).fit(X, Y).selected_.size == 20
    fit = method(2, screen=4).fit(X, Y)
    assert fit.selected_.size == 4
    assert not np.delete(fit.components_, fit.selected_, axis=1).any()
    assert_allclose(np.linalg.norm(fit.directions_, axis=0), 1.0)
    assert angle(fit.components_.T, fit.directions_) < 1e-7


@each_method
def test_no_direction_better_than_the_mean(method):
    # The response alternates along x, so the neighbours of a point mislead.
    fit = method().fit(np.arange(30.0)[:, None], np.arange(30) % 2)
    assert fit.selected_dim_ == 0
    assert fit.n_components_ == 1
    assert fit.cv0_ < fit.cv_.min()


def test_a_constant_response_does_not_weigh():
    X, Y = data(80)
    more = np.column_stack([Y, np.full(80, 0.1)])
    plain, padded = (KSIR(2, weigh="all").fit(X, Z).components_ for Z in (Y, more))
    assert_allclose(plain, padded, atol=1e-10)
