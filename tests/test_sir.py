"""SIR: statsmodels, a plain loop, invariances, both slicings, Algorithm 3, degenerate input."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.estimator_checks import parametrize_with_checks
from statsmodels.regression.dimred import SlicedInverseReg

from steinsdr import AdaptiveRank
from steinsdr.baselines import SIR
from steinsdr.baselines.sir import compressed, slice_indicators, whiten
from steinsdr.paper.calibrate_sir import measure
from steinsdr.paper.calibration import cells
from steinsdr.simulation import BASE_SEED, simulate
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


@parametrize_with_checks([SIR(), *(SIR(**slicing) for slicing in SLICINGS[1:])])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


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


def test_slices_have_equal_counts_and_keep_ties_together(rng):
    counts = (slice_indicators(rng.standard_normal((103, 4)), 10) > 0).sum(axis=0)
    assert set(counts) <= {10, 11}
    y = rng.integers(0, 3, 60).astype(float)
    member = slice_indicators(y[:, None], 10) > 0
    for value in range(3):
        assert len({tuple(row) for row in member[y == value]}) == 1


def test_every_class_is_a_slice_however_rare():
    classes = np.repeat([0.0, 1.0, 2.0, 3.0], [320, 32, 28, 20])[:, None]
    G = slice_indicators(classes, 10)
    np.testing.assert_array_equal((G > 0).sum(axis=0), [320, 32, 28, 20, 0, 0, 0, 0, 0, 0])
    rng = np.random.default_rng(3)
    X = rng.standard_normal((400, 6)) + np.eye(4, 6)[classes[:, 0].astype(int)] * 3
    assert SIR(3).fit(X, classes[:, 0]).components_.shape == (3, 6), "four means, three directions"


def test_slice_matrix_has_eigenvalues_of_a_correlation_ratio(rng):
    X, Y = data()
    assert ((SIR().fit(X, Y).eigenvalues_ >= 0) & (SIR().fit(X, Y).eigenvalues_ <= 1)).all()
    # x itself as response: its slices explain nearly all of it.
    x = rng.standard_normal((500, 1))
    assert SIR(1, n_slices=50).fit(x, x).eigenvalues_[0] > 0.98


def test_whitening_of_singular_data_is_a_pseudo_inverse(rng):
    X = rng.standard_normal((20, 30))
    Z, root = whiten(X)
    assert Z.shape == (20, 19)
    assert_allclose(Z, (X - X.mean(axis=0)) @ root, atol=1e-10)
    assert_allclose(root @ root.T, np.linalg.pinv(np.cov(X.T, bias=True)), atol=1e-8)


def test_compression_keeps_every_permuted_cross_moment(rng):
    G, Z = rng.standard_normal((12, 50)), rng.standard_normal((12, 4))
    L = compressed(G)
    assert L.shape == (12, 12)
    order = rng.permutation(12)
    full, small = (np.linalg.svd(Z.T @ A[order], compute_uv=False) for A in (G, L))
    assert_allclose(small, full, rtol=1e-10)


def test_projective_slicing_of_one_response_is_marginal():
    X, Y = data(q=1)
    assert angle(SIR(2).fit(X, Y), SIR(2, **SLICINGS[1]).fit(X, Y)) < 1e-7


def test_projective_slicing_sees_what_no_marginal_shows(rng):
    # y2 = sign(x1) y1: each is standard normal given x, their sum is not.
    X, y = rng.standard_normal((2000, 4)), rng.standard_normal(2000)
    Y = np.column_stack([y, np.sign(X[:, 0]) * y])
    truth = np.eye(4)[:, :1]
    marginal, projective = (SIR(1, **slicing).fit(X, Y) for slicing in SLICINGS)
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


def test_order_of_responses_and_of_rows(rng):
    X, Y = data(q=4)
    rows = rng.permutation(len(X))
    plain = SIR(random_state=0).fit(X, Y)
    for other in (
        SIR(random_state=0).fit(X, Y[:, [2, 0, 3, 1]]),
        SIR(plain.n_components_).fit(X[rows], Y[rows]),
    ):
        assert other.n_components_ == plain.n_components_
        assert angle(plain, other) < 1e-7


def test_monotone_transformations_of_responses():
    X, Y = data()
    changed = np.column_stack([np.exp(Y[:, 0]), -(Y[:, 1] ** 3), 5 * Y[:, 2] - 9])
    assert_allclose(SIR(2).fit(X, changed).components_, SIR(2).fit(X, Y).components_, atol=1e-10)
    # Projections mix the responses, so their units and shifts only may not matter.
    plain, moved = (SIR(2, **SLICINGS[1]).fit(X, Z) for Z in (Y, Y * [2.0, 100.0, 0.1] + 7))
    assert_allclose(moved.components_, plain.components_, atol=1e-8)


def test_same_seed_same_fit():
    X, Y = data()
    first, again, other = (
        SIR(2, slicing="projective", n_projections=20, random_state=s).fit(X, Y) for s in (1, 1, 2)
    )
    assert_array_equal(first.components_, again.components_)
    assert not np.allclose(first.eigenvalues_, other.eigenvalues_)


# Algorithm 3


def test_light_tails_use_the_permutation_test():
    X, Y = data(n=400)
    fit = SIR(random_state=0).fit(X, Y)
    assert (fit.n_components_, fit.rank_.method) == (2, "permutation")
    assert_allclose(fit.rank_.singular_values[:6] ** 2, fit.eigenvalues_[:6])
    assert_allclose(fit.rank_.thresholds, np.quantile(fit.rank_.null, 0.9, axis=0))


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


def test_heavy_tails_use_the_energy_share():
    X, Y = data(n=400)
    fit = SIR().fit(np.exp(2 * X), Y)
    share = np.cumsum(fit.eigenvalues_[:10]) / np.sum(fit.eigenvalues_[:10])
    assert fit.rank_.method == "energy"
    assert fit.n_components_ == np.argmax(share >= 0.95) + 1


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


def test_the_letter_of_algorithm_3_finds_one_direction_or_all():
    design = simulate("isotropic", 300, r=3, version="section42")
    ranks = {
        null: SIR(null=null, random_state=0).fit(design.X, design.Y).n_components_
        for null in ("projected", "projected-sum")
    }
    assert ranks == {"projected": 1, "projected-sum": 10}


def test_rank_rule_can_be_replaced():
    X, Y = data()
    assert SIR(rank=AdaptiveRank(1)).fit(X, Y).n_components_ == 1
    with pytest.raises(ValueError, match="rank must be 'adaptive' or have a select method; got 3"):
        SIR(rank=3).fit(X, Y)


# The calibration


def test_recorded_calibration_supports_the_defaults():
    table = pd.read_csv(ROOT / "book" / "results" / "calibration_sir.csv")
    default = table.query("n_slices == 10 and reading in ('marginal', 'pooled', 'eigenvalues')")
    assert len(default) == 28
    assert default["z"].abs().max() < 3
    # No other reading fits all cells of its table.
    others = table.query(
        "reading in ('projective', 'projected', 'projected-sum', 'one projection')"
    )
    assert (others.groupby("reading")["z"].agg(lambda z: z.abs().max()) > 3).all()


@pytest.mark.slow
def test_a_recorded_calibration_is_recomputed():
    table = pd.read_csv(ROOT / "book" / "results" / "calibration_sir.csv")
    cell = next(iter(cells("SIR")))
    stored = table[(table.table == 1) & (table.law == cell.law) & (table.n == cell.n)]
    runs = [measure(cell, BASE_SEED + k) for k in range(stored["reps"].iloc[0])]
    for row in stored.itertuples():
        mean = np.mean([run[row.reading, row.n_slices] for run in runs])
        assert mean == pytest.approx(row.mean, abs=1e-4)


def test_calibration_measures_what_it_records():
    first = next(cell for cell in cells("SIR") if (cell.law, cell.n) == ("isotropic", 100))
    design = simulate("isotropic", 100, seed=42)
    expected = procrustes_distance(SIR(3).fit(design.X, design.Y).components_.T, design.B)
    assert measure(first, 42)["marginal", 10] == expected
    assert first.mean == 2.2236


# Degenerate input


@each_slicing
@pytest.mark.parametrize("shape", [(4, 1), (8, 3), (9, 20), (30, 30), (30, 80)])
def test_few_rows_or_many_columns_stay_finite(slicing, shape, rng):
    X, Y = rng.standard_normal(shape), rng.standard_normal((shape[0], 2))
    fit = SIR(**slicing | {"random_state": 0}).fit(X, Y)
    assert fit.n_slices_ == min(10, shape[0] // 2)
    assert_allclose(fit.components_ @ fit.components_.T, np.eye(fit.n_components_), atol=1e-8)
    assert np.isfinite(fit.transform(X)).all()


@each_slicing
def test_constant_and_duplicated_columns(slicing):
    X, Y = data()
    wide = np.column_stack([X, np.full(200, 0.1), X[:, 0], np.full(200, 1e6)])
    fit, plain = SIR(2, **slicing).fit(wide, Y), SIR(2, **slicing).fit(X, Y)
    assert_allclose(fit.components_[:, [6, 8]], 0, atol=1e-12)
    assert_allclose(fit.components_[:, 0], fit.components_[:, 7], atol=1e-10)
    assert_allclose(fit.eigenvalues_[:6], plain.eigenvalues_[:6], atol=1e-10)
    # The rounding of a large constant must not pass for variation beside small columns.
    tiny = np.column_stack([1e-10 * X, np.full(200, 1e6 / 3)])
    assert_allclose(SIR(2, **slicing).fit(tiny, Y).components_[:, 6], 0, atol=1e-12)
    # A constant response has one slice, whose mean is that of X.
    more = SIR(2, **slicing).fit(X, np.column_stack([Y, np.ones(200)]))
    assert angle(more, plain) < 1e-7


def test_a_response_with_two_values_shows_one_direction():
    X, Y = data(q=1)
    labels = (Y > 0).astype(int)
    assert SIR(1).fit(X, labels[:, 0]).components_.shape == (1, 6)
    with pytest.raises(ValueError, match="n_components=2; expected at most 1, the number of dir"):
        SIR(2).fit(X, labels)


def test_equal_slice_means_are_an_error():
    X = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    with pytest.raises(ValueError, match="all slices have the same mean of X"):
        SIR(1).fit(X, np.array([0.0, 0.0, 1.0, 1.0]))


def altered(array, value):
    array = array.copy()
    array[3, 0] = value
    return array


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, Y: (altered(X, np.nan), Y), "contains NaN"),
        (lambda X, Y: (altered(X, np.inf), Y), "contains infinity"),
        (lambda X, Y: (altered(X, 1e200), Y), "X holds values too large"),
        (lambda X, Y: (X, altered(Y, np.nan)), r"y has 1 row\(s\) with NaN"),
        (lambda X, Y: (X, altered(Y, np.inf)), "y: Input y contains infinity"),
        (lambda X, Y: (X, Y[:-1]), r"y has 199 row\(s\) but X has 200"),
        (lambda X, Y: (X, None), "requires y to be passed"),
        (lambda X, Y: (X, np.ones_like(Y)), r"y has 3 column\(s\), all constant"),
        (lambda X, Y: (np.full_like(X, 0.1), Y), r"X has 6 column\(s\), all constant"),
        (lambda X, Y: (X[:3], Y[:3]), r"3 sample\(s\).*minimum of 4 is required by SIR"),
    ],
)
def test_bad_data_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        SIR(1).fit(*change(*data()))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 7}, "n_components=7; expected at most 6"),
        ({"n_components": 0}, "n_components must be an integer at least 1; got 0"),
        ({"n_components": "all"}, "n_components must be one of 'auto'; got 'all'"),
        ({"slicing": "joint"}, "slicing must be one of 'marginal', 'projective'; got 'joint'"),
        ({"n_slices": 1}, "n_slices must be an integer at least 2; got 1"),
        ({"n_projections": 0}, "n_projections must be an integer at least 1; got 0"),
        ({"null": "none"}, "null must be one of 'pooled'.*got 'none'"),
        ({"rank": "best"}, "rank must be one of 'adaptive'; got 'best'"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        SIR(**parameters).fit(*data())


def test_projected_null_needs_permutations():
    class Always:
        def select(self, matrix, **data):
            raise NotImplementedError

    with pytest.raises(ValueError, match="null='projected' needs an AdaptiveRank"):
        SIR(null="projected", rank=Always()).fit(*data())
