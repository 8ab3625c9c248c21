"""Reduced-rank regression, plain, ridge and sparse: closed forms, optimality, invariances."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, MultiTaskElasticNet
from sklearn.model_selection import KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from steinsdr.paper.reduced_rank import (
    ReducedRankRegression,
    SparseRRR,
    cross_validate_rrr,
    largest_penalty,
    select_features,
    selection_leak,
)


def planted(rng, n=300, p=40, q=8, rank=2, rows=6, noise=0.3):
    """Responses that the first ``rows`` predictors decide through ``rank`` latent variables."""
    X = rng.standard_normal((n, p))
    W = rng.standard_normal((rows, rank))
    V = np.linalg.qr(rng.standard_normal((q, rank)))[0]
    return X, X[:, :rows] @ W @ V.T + noise * rng.standard_normal((n, q))


@parametrize_with_checks([ReducedRankRegression(1), SparseRRR(1, alpha=0.01)])
def test_is_a_scikit_learn_estimator(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


# Reduced-rank regression


@pytest.mark.parametrize(("rank", "alpha"), [(8, 0.0), (8, 0.5), (3, 0.0), (2, 0.7)])
def test_closed_form(rank, alpha, rng):
    """Ridge is least squares with extra rows, projected on the top right singular vectors."""
    X, Y = planted(rng, n=60, noise=2.0)
    centered, responses = X - X.mean(axis=0), Y - Y.mean(axis=0)
    extra_X = np.vstack([centered, np.sqrt(len(X) * alpha) * np.eye(X.shape[1])])
    extra_Y = np.vstack([responses, np.zeros((X.shape[1], Y.shape[1]))])
    B = np.linalg.lstsq(extra_X, extra_Y, rcond=None)[0]
    V = np.linalg.svd(extra_X @ B, full_matrices=False)[2][:rank].T
    model = ReducedRankRegression(rank, alpha=alpha).fit(X, Y)
    np.testing.assert_allclose(model.coef_, (B @ V @ V.T).T, atol=1e-10)
    assert np.linalg.matrix_rank(model.coef_) == rank
    np.testing.assert_allclose(model.decoder_ @ model.decoder_.T, np.eye(rank), atol=1e-12)
    fitted = centered @ B @ V @ V.T + Y.mean(axis=0)
    np.testing.assert_allclose(model.predict(X), fitted, atol=1e-10)
    np.testing.assert_allclose(
        model.transform(X) @ model.decoder_ + Y.mean(axis=0), fitted, atol=1e-10
    )


def test_more_columns_than_rows_interpolates(rng):
    X, Y = rng.standard_normal((20, 50)), rng.standard_normal((20, 3))
    np.testing.assert_allclose(ReducedRankRegression(3).fit(X, Y).predict(X), Y, atol=1e-9)


# Sparse reduced-rank regression


def test_without_penalty_it_is_reduced_rank_regression(rng):
    """With a tiny penalty the iteration ends beside the closed form."""
    X, Y = planted(rng)
    tiny = SparseRRR(2, alpha=1e-6, relaxed=False, max_iter=500, tol=1e-12).fit(X, Y)
    np.testing.assert_allclose(tiny.coef_, ReducedRankRegression(2).fit(X, Y).coef_, atol=1e-3)


def test_full_rank_is_the_row_sparse_elastic_net(rng):
    """With r = q the rotation V drops out of the objective."""
    X, Y = planted(rng, q=3)
    settings = {"alpha": 0.2, "l1_ratio": 0.6}
    net = MultiTaskElasticNet(**settings, tol=1e-8).fit(X, Y)
    full = SparseRRR(3, **settings, relaxed=False, tol=1e-10).fit(X, Y)
    # Both stop within 1e-5 of the minimum, relative to |Y|^2.
    np.testing.assert_allclose(full.coef_, net.coef_, atol=2e-3)
    np.testing.assert_array_equal(full.selected_, net.coef_.any(axis=0))


def test_planted_rows_are_found_and_refitted_by_ridge(rng):
    X, Y = planted(rng)
    strict, relaxed = (SparseRRR(2, alpha=0.4, relaxed=r).fit(X, Y) for r in (False, True))
    for model in (strict, relaxed):
        np.testing.assert_array_equal(np.flatnonzero(model.selected_), np.arange(6))
        assert not model.components_[:, 6:].any()
        assert model.components_[:, :6].all()
    refit = ReducedRankRegression(2, alpha=0.4).fit(X[:, :6], Y)
    np.testing.assert_allclose(relaxed.predict(X), refit.predict(X[:, :6]), atol=1e-10)
    assert not np.allclose(strict.predict(X), relaxed.predict(X))


def test_objective_falls_and_penalty_counts(rng):
    X, Y = planted(rng, noise=2.0)
    model = SparseRRR(3, alpha=0.1, tol=1e-9).fit(X, Y)
    # The inner solver stops at a gap of 1e-5 |Y|^2 / 2n, so a step may rise by that much.
    assert (np.diff(model.objective_) <= 1e-5 * np.mean(Y**2) * Y.shape[1]).all()
    assert len(model.objective_) > 2
    assert model.objective_[-1] < model.objective_[0]
    counts = [SparseRRR(3, alpha=a).fit(X, Y).selected_.sum() for a in (0.5, 0.2, 0.05)]
    assert counts[0] < counts[1] < counts[2]


def test_invariances(rng):
    X, Y = planted(rng)
    base = SparseRRR(2, alpha=0.3).fit(X, Y)
    turn = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    turned = SparseRRR(2, alpha=0.3).fit(X, Y @ turn)
    # Turning the responses turns the predictions, up to the tolerance of the iteration.
    np.testing.assert_allclose(turned.predict(X), base.predict(X) @ turn, atol=1e-4)
    np.testing.assert_array_equal(turned.selected_, base.selected_)
    moved = SparseRRR(2, alpha=0.3).fit(X + 5, Y - 7)
    np.testing.assert_allclose(moved.predict(X + 5), base.predict(X) - 7, atol=1e-8)
    order = rng.permutation(X.shape[1])
    mixed = SparseRRR(2, alpha=0.3).fit(X[:, order], Y)
    np.testing.assert_array_equal(mixed.selected_, base.selected_[order])


def test_penalty_at_the_limit_selects_nothing(rng):
    X, Y = planted(rng)
    limit = largest_penalty(X - X.mean(axis=0), Y - Y.mean(axis=0), 2) / 0.5
    # Closer than this, zero is within the inner solver's tolerance.
    assert SparseRRR(2, alpha=0.95 * limit).fit(X, Y).selected_.sum() >= 1
    with pytest.warns(UserWarning, match="selects no predictor"):
        empty = SparseRRR(2, alpha=1.001 * limit).fit(X, Y)
    np.testing.assert_allclose(empty.predict(X), np.tile(Y.mean(axis=0), (len(X), 1)))


def test_fewer_predictors_than_components(rng):
    X, Y = planted(rng, rows=1, rank=1, noise=0.05)
    model = SparseRRR(3, alpha=0.5).fit(X, Y)
    assert model.selected_.sum() == 1
    assert model.components_.shape == (3, 40)
    alone = ReducedRankRegression(1, alpha=0.5).fit(X[:, :1], Y)
    np.testing.assert_allclose(model.predict(X), alone.predict(X[:, :1]), atol=1e-10)


def test_iterations_that_do_not_suffice_are_reported(rng):
    X, Y = planted(rng, noise=2.0)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        SparseRRR(3, alpha=0.1, max_iter=1).fit(X, Y)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (SparseRRR(0).fit, "'n_components' parameter of SparseRRR must be an int in the range"),
        (SparseRRR(9).fit, "n_components=9 but X has 40 column.* expected at most 8"),
        (SparseRRR(1, alpha=0.0).fit, "'alpha' parameter"),
        (ReducedRankRegression(1, alpha=np.nan).fit, "'alpha' parameter"),
        (lambda X, Y: SparseRRR(1).fit(X, Y[1:]), r"y has 19 row\(s\) but X has 20"),
        (lambda X, Y: SparseRRR(1).fit(X, np.where(Y > 1, np.nan, Y)), "y contains NaN"),
        (lambda X, Y: select_features(X * [0, *[1] * 39], Y, 40), "n_features=40, but only 39 col"),
    ],
)
def test_bad_input_is_named(call, message, rng):
    with pytest.raises(ValueError, match=message):
        call(*planted(rng, n=20))


# Selection


@pytest.mark.parametrize("wanted", [1, 4, 6, 15, 39])
def test_selection_has_the_wanted_number(wanted, rng):
    """Whatever the units; a constant column is never taken."""
    X, Y = planted(rng)
    X *= rng.uniform(0.1, 10, X.shape[1])
    X[:, 30] = 4.0
    found = select_features(X, Y, wanted)
    assert len(found) == wanted
    assert (np.diff(found) > 0).all()
    assert 30 not in found
    assert set(found) <= set(range(6)) or set(found) > set(range(6)), "planted ones first"


def test_cross_validation_without_penalty_is_least_squares_fold_by_fold(rng):
    X, Y = planted(rng, n=90, p=5, q=3, rows=4)
    X, Y = X * [1, 10, 0.1, 1, 3] + 5, Y * [1, 20, 0.3] - 2
    folds = KFold(4, shuffle=True, random_state=1)
    table = cross_validate_rrr(X, Y, ranks=[3], alphas=[1e-9], folds=folds)
    expected = []
    for train, test in folds.split(X):
        mean, sd = Y[train].mean(axis=0), Y[train].std(axis=0)
        fit = LinearRegression().fit(X[train], (Y[train] - mean) / sd)
        held_out = (Y[test] - mean) / sd
        left = np.square(held_out - fit.predict(X[test])).sum() / np.square(held_out).sum()
        expected.append(1 - left)
    np.testing.assert_allclose(table.r2, expected, rtol=1e-7)
    assert table.n_selected.tolist() == [5] * 4


def test_leak_shows_on_pure_noise_and_not_where_the_choice_is_clear(rng):
    """Responses unrelated to 300 predictors: selection with the test rows 'predicts' them."""
    X, Y = rng.standard_normal((120, 300)), rng.standard_normal((120, 4))
    leaks = [
        selection_leak(X, Y, train=r[:80], test=r[80:], n_features=15)
        for r in (rng.permutation(120) for _ in range(3))
    ]
    inside = np.mean([leak["inside"] for leak in leaks])
    assert inside > np.mean([leak["everywhere"] for leak in leaks]) + 0.05
    assert inside > 1.0  # honest selection knows that there is nothing to find
    assert all(0 < leak["shared"] < 15 for leak in leaks)
    clear = selection_leak(*planted(rng), np.arange(200), np.arange(200, 300), n_features=6)
    assert clear["inside"] == clear["everywhere"]
    assert clear["shared"] == 6
