"""SIR: statsmodels, a plain loop, invariances, both slicings, Algorithm 3."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from statsmodels.regression.dimred import SlicedInverseReg

from steinsdr import AdaptiveRank
from steinsdr.baselines import SIR
from steinsdr.baselines.sir import slice_indicators, whiten
from steinsdr.subspace import principal_angles, procrustes_distance

SLICINGS = [{}, {"slicing": "projective", "n_projections": 30, "random_state": 0}]
each_slicing = pytest.mark.parametrize("slicing", SLICINGS, ids=["marginal", "projective"])


def angle(first, second):
    return float(principal_angles(first.components_.T, second.components_.T).max())


def data(n=200, p=6, q=3, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) @ (np.eye(p) + 0.3 * rng.standard_normal((p, p)))
    signal = np.column_stack([np.sin(X[:, k % 2]) + X[:, k % 2] for k in range(q)])
    return X, signal + noise * rng.standard_normal((n, q))


# The estimate itself


def test_one_response_agrees_with_statsmodels():
    X, Y = data(q=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = SlicedInverseReg(Y[:, 0], X).fit(slice_n=20)  # observations per slice: 10 slices
    ours = SIR(2).fit(X, Y)
    assert principal_angles(ours.components_.T, theirs.params[:, :2]).max() < 1e-7
    # They whiten with the divisor n, as we do.
    assert_allclose(ours.eigenvalues_[:6], theirs.eigs[:6], rtol=1e-8)


def test_agrees_with_a_loop_over_responses_and_slices():
    X, Y = data(n=103)
    fit = SIR(2, n_slices=7).fit(X, Y)
    centred = X - X.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(X))
    root = vectors @ np.diag(values**-0.5) @ vectors.T
    Z = centred @ root
    K = np.zeros((6, 6))
    for y in Y.T:
        slot = (np.argsort(np.argsort(y)) + 0.5) * 7 // len(X)
        for h in range(7):
            mean = Z[slot == h].mean(axis=0)
            K += np.mean(slot == h) * np.outer(mean, mean) / Y.shape[1]
    values, vectors = np.linalg.eigh(K)
    assert_allclose(fit.eigenvalues_[:6], values[::-1], atol=1e-12)
    assert principal_angles(fit.components_.T, root @ vectors[:, :-3:-1]).max() < 1e-7


def test_slices_have_equal_counts_but_every_class_is_one_however_rare(rng):
    counts = (slice_indicators(rng.standard_normal((103, 4)), 10) > 0).sum(axis=0)
    assert set(counts) <= {10, 11}
    classes = np.repeat([0.0, 1.0, 2.0, 3.0], [320, 32, 28, 20])[:, None]
    G = slice_indicators(classes, 10)
    np.testing.assert_array_equal((G > 0).sum(axis=0), [320, 32, 28, 20, 0, 0, 0, 0, 0, 0])
    X = rng.standard_normal((400, 6)) + np.eye(4, 6)[classes[:, 0].astype(int)] * 3
    assert SIR(3).fit(X, classes[:, 0]).components_.shape == (3, 6), "four means, three directions"


def test_whitening_of_singular_data_is_a_pseudo_inverse(rng):
    X = rng.standard_normal((20, 30))
    Z, root = whiten(X)
    assert Z.shape == (20, 19)
    assert_allclose(Z, (X - X.mean(axis=0)) @ root, atol=1e-10)
    assert_allclose(root @ root.T, np.linalg.pinv(np.cov(X.T, bias=True)), atol=1e-8)


def test_projective_slicing_sees_what_no_marginal_shows(rng):
    # y2 = sign(x1) y1: each is standard normal given x, their sum is not.
    X, y = rng.standard_normal((2000, 4)), rng.standard_normal(2000)
    Y = np.column_stack([y, np.sign(X[:, 0]) * y])
    truth = np.eye(4)[:, :1]
    marginal, projective = (SIR(1, **slicing).fit(X, Y) for slicing in SLICINGS)
    assert angle(*(SIR(2, **slicing).fit(X, X[:, 0]) for slicing in SLICINGS)) < 1e-7
    assert procrustes_distance(projective.components_.T, truth) < 0.2
    assert procrustes_distance(marginal.components_.T, truth) > 0.5


# What must not matter


@each_slicing
def test_affine_transformation_of_x(slicing, rng):
    X, Y = data()
    A = rng.standard_normal((6, 6))
    plain, moved = SIR(2, **slicing).fit(X, Y), SIR(2, **slicing).fit(X @ A + 3.0, Y)
    back = np.linalg.solve(A, plain.components_.T)
    assert principal_angles(moved.components_.T, back).max() < 1e-7
    assert_allclose(moved.eigenvalues_, plain.eigenvalues_, atol=1e-10)


def test_order_of_responses_and_rows_and_units_of_projected_responses(rng):
    # That marginal slices ignore monotone transformations is an example in the docstring.
    X, Y = data(q=3)
    rows = rng.permutation(len(X))
    plain = SIR(random_state=0).fit(X, Y)
    assert SIR(random_state=0).fit(X, Y[:, ::-1]).n_components_ == plain.n_components_
    assert angle(plain, SIR(plain.n_components_).fit(X[rows], Y[rows][:, ::-1])) < 1e-7
    plain, moved = (SIR(2, **SLICINGS[1]).fit(X, Z) for Z in (Y, Y * [2.0, 100.0, 0.1] + 7))
    assert_allclose(moved.components_, plain.components_, atol=1e-8)


# Algorithm 3


@each_slicing
def test_pooled_null_is_sir_of_permuted_responses(slicing):
    X, Y = data(n=80)
    seed = np.random.RandomState(0).randint(2**31)
    rule = AdaptiveRank(n_permutations=5)
    fit = SIR(**slicing | {"random_state": 0, "rank": rule}).fit(X, Y)
    rng = np.random.default_rng(seed)
    if slicing:
        rng.standard_normal((3, 30))  # the projections are drawn first
    for row in fit.rank_.null:
        order = rng.permutation(80)
        again = SIR(1, **slicing | {"random_state": 0}).fit(X, Y[order])
        assert_allclose(row[:6] ** 2, again.eigenvalues_[:6], atol=1e-10)


def test_projected_nulls_differ_by_the_number_of_responses():
    X, Y = data(q=4)
    mean, total = (
        SIR(null=null, random_state=0).fit(X, Y) for null in ("projected", "projected-sum")
    )
    assert_allclose(mean.rank_.null, 2.0 * total.rank_.null)
    # One projection with H = 10 slices has slice means of rank 9 at most; here p = 6.
    assert (mean.rank_.null[:, :6] > 0).all()
    assert (mean.rank_.null[:, 6:] == 0).all()


def test_projected_null_of_one_response_is_the_pooled_one():
    X, Y = data(q=1, n=300)
    rule = AdaptiveRank(n_permutations=2000)
    pooled, projected = (
        SIR(null=null, rank=rule, random_state=0).fit(X, Y) for null in ("pooled", "projected")
    )
    # Two samples of 2000 from one law: quantiles within a few percent.
    assert_allclose(projected.rank_.thresholds[:4], pooled.rank_.thresholds[:4], rtol=0.05)


# Degenerate input


@each_slicing
def test_constant_and_duplicated_columns_add_nothing(slicing):
    X, Y = data()
    wide = np.column_stack([X, np.full(200, 0.1), X[:, 0]])
    more = SIR(2, **slicing).fit(wide, np.column_stack([Y, np.ones(200)]))
    plain = SIR(2, **slicing).fit(X, Y)
    assert_allclose(more.components_[:, 0], more.components_[:, 7], atol=1e-10)
    assert_allclose(more.eigenvalues_[:6], plain.eigenvalues_[:6], atol=1e-10)


def test_a_response_with_two_values_shows_one_direction():
    X, Y = data(q=1)
    labels = (Y > 0).astype(int)
    assert SIR(1).fit(X, labels[:, 0]).components_.shape == (1, 6)
    with pytest.raises(ValueError, match="n_components=2; expected at most 1, the number of dir"):
        SIR(2).fit(X, labels)
