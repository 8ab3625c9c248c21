"""Reduced-rank regression, plain, ridge and sparse: closed forms, optimality, invariances."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, MultiTaskElasticNet
from sklearn.model_selection import KFold

from steinsdr.paper.reduced_rank import (
    ReducedRankRegression,
    cross_validate_rrr,
    largest_penalty,
    select_features,
    selection_leak,
    sparse_encoder,
)


def planted(rng, n=300, p=40, q=8, rank=2, rows=6, noise=0.3):
    """Responses that the first ``rows`` predictors decide through ``rank`` latent variables."""
    X = rng.standard_normal((n, p))
    W = rng.standard_normal((rows, rank))
    V = np.linalg.qr(rng.standard_normal((q, rank)))[0]
    return X, X[:, :rows] @ W @ V.T + noise * rng.standard_normal((n, q))


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
    decoder = np.linalg.lstsq(model.components_.T, model.coef_.T, rcond=None)[0]
    np.testing.assert_allclose(decoder @ decoder.T, np.eye(rank), atol=1e-10)
    fitted = centered @ B @ V @ V.T + Y.mean(axis=0)
    np.testing.assert_allclose(model.predict(X), fitted, atol=1e-10)
    np.testing.assert_allclose(model.transform(X) @ decoder + Y.mean(axis=0), fitted, atol=1e-10)


def test_more_columns_than_rows_interpolates(rng):
    X, Y = rng.standard_normal((20, 50)), rng.standard_normal((20, 3))
    np.testing.assert_allclose(ReducedRankRegression(3).fit(X, Y).predict(X), Y, atol=1e-9)


# Sparse reduced-rank regression


def strength(X, Y, rank, alpha):
    """Return the norms of the rows of the encoder for centered data."""
    W = sparse_encoder(X - X.mean(axis=0), Y - Y.mean(axis=0), rank=rank, alpha=alpha)
    return np.linalg.norm(W, axis=1)


def test_without_penalty_it_is_reduced_rank_regression(rng):
    X, Y = planted(rng)
    closed = ReducedRankRegression(2).fit(X, Y).components_
    np.testing.assert_allclose(strength(X, Y, 2, 1e-6), np.linalg.norm(closed, axis=0), atol=1e-3)


def test_full_rank_is_the_row_sparse_elastic_net(rng):
    """With r = q the rotation V drops out of the objective."""
    X, Y = planted(rng, q=3)
    net = MultiTaskElasticNet(alpha=0.2, tol=1e-8).fit(X, Y)
    found = strength(X, Y, 3, 0.2)
    # Both stop within 1e-5 of the minimum, relative to |Y|^2.
    np.testing.assert_allclose(found, np.linalg.norm(net.coef_, axis=0), atol=2e-3)
    np.testing.assert_array_equal(found > 0, net.coef_.any(axis=0))


def test_planted_rows_are_found_and_the_penalty_counts(rng):
    X, Y = planted(rng)
    np.testing.assert_array_equal(np.flatnonzero(strength(X, Y, 2, 0.4)), np.arange(6))
    counts = [(strength(X, Y, 3, alpha) > 0).sum() for alpha in (0.4, 0.05, 0.01)]
    assert counts[0] < counts[1] < counts[2]


def test_invariances(rng):
    X, Y = planted(rng)
    base = strength(X, Y, 2, 0.3)
    turn = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    np.testing.assert_allclose(strength(X, Y @ turn, 2, 0.3), base, atol=1e-4)
    order = rng.permutation(X.shape[1])
    np.testing.assert_array_equal(strength(X[:, order], Y, 2, 0.3) > 0, base[order] > 0)


def test_penalty_at_the_limit_selects_nothing(rng):
    X, Y = planted(rng)
    limit = largest_penalty(X - X.mean(axis=0), Y - Y.mean(axis=0), 2) / 0.5
    # Closer than this, zero is within the inner solver's tolerance.
    assert strength(X, Y, 2, 0.95 * limit).any()
    assert not strength(X, Y, 2, 1.001 * limit).any()


def test_cross_validation_refits_the_selected_predictors_by_ridge(rng):
    X, Y = planted(rng, rows=1, rank=1, noise=0.05)
    folds = KFold(2)
    table = cross_validate_rrr(X, Y, ranks=[3], alphas=[0.5, 50], folds=folds)
    assert table.n_selected.tolist() == [1, 0] * 2, "fewer than components, and none"
    assert (table.r2[1::2] == 0).all()
    for r2, (train, test) in zip(table.r2[::2], folds.split(X), strict=True):
        scaled = [(A - A[train].mean(axis=0)) / A[train].std(axis=0) for A in (X[:, :1], Y)]
        (U, T), (U_test, T_test) = ([A[rows] for A in scaled] for rows in (train, test))
        left = T_test - ReducedRankRegression(1, alpha=0.5).fit(U, T).predict(U_test)
        assert r2 == pytest.approx(1 - np.sum(left**2) / np.sum(T_test**2))


def test_bad_input_is_named(rng):
    X, Y = planted(rng, n=20)
    with pytest.raises(ValueError, match=r"n_components=9 but X has 40 column.* y has 8"):
        ReducedRankRegression(9).fit(X, Y)
    with pytest.raises(ValueError, match="n_features=40, but only 39 column"):
        select_features(X * [0, *[1] * 39], Y, 40)


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
