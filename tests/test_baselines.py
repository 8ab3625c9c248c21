"""What all baselines share: scikit-learn's checks, degenerate data, bad parameters."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_param_validation, parametrize_with_checks

from steinsdr import AdaptiveRank
from steinsdr.baselines import CSOPG, KSIR, SIR, DominanceRank, MLPDirections, RidgeDirections
from steinsdr.scores import DenoisingScore

ESTIMATORS = [
    SIR(random_state=0),
    SIR(slicing="projective", n_projections=30, random_state=0),
    CSOPG(),
    KSIR(),
    KSIR(weigh="all"),
    MLPDirections(hidden=(16, 8), epochs=3, random_state=0),
    RidgeDirections(random_state=0),
]
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@each_estimator
def test_parameters_outside_their_declared_ranges_are_named(estimator):
    check_param_validation(type(estimator).__name__, estimator)


@pytest.mark.parametrize("estimator", [MLPDirections(), DenoisingScore()])
def test_a_missing_torch_is_named_with_the_extra_that_brings_it(estimator, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not installed
    name = type(estimator).__name__
    with pytest.raises(ImportError, match=rf"{name} needs torch.* pip install '\.\[nn\]'"):
        estimator.fit(*data())


def data(n=60, p=6, q=2):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    signal = np.column_stack([X[:, k % p] + np.sin(X[:, (k + 1) % p]) for k in range(q)])
    return X, signal + 0.3 * rng.standard_normal((n, q))


@each_estimator
def test_frames_and_flat_responses_give_the_same_fit(estimator):
    X, Y = data(q=1)
    frame = pd.DataFrame(X, columns=[f"gene{j}" for j in range(6)])
    model = clone(estimator).set_params(n_components=1).set_output(transform="pandas")
    reduced = model.fit(frame, pd.Series(Y[:, 0])).transform(frame)
    assert_array_equal(
        model.components_, clone(estimator).set_params(n_components=1).fit(X, Y).components_
    )
    assert list(reduced.columns) == [f"{type(estimator).__name__.lower()}0"]
    assert_allclose(reduced, X @ model.components_.T)


# Degenerate data: a finite result

SPOILT = {
    "constant": lambda X, Y: (np.where(np.arange(6) == 1, 0.1, X), Y),
    "tiny": lambda X, Y: (np.column_stack([1e-10 * X, np.full(len(X), 1e6 / 3)]), Y),
    "duplicated": lambda X, Y: (X[:, [0, 1, 2, 0, 4, 5]], Y),
    "few values": lambda X, Y: (np.round(X), np.round(Y)),
    "repeated rows": lambda X, Y: (np.repeat(X[:20], 3, axis=0), np.repeat(Y[:20], 3, axis=0)),
    "constant response": lambda X, Y: (X, np.column_stack([np.full(len(Y), 7.0), Y[:, 1]])),
}


@each_estimator
@pytest.mark.parametrize("spoil", SPOILT)
def test_degenerate_data_give_orthonormal_directions(estimator, spoil):
    assert_orthonormal(estimator, *SPOILT[spoil](*data()))


@each_estimator
@pytest.mark.parametrize(("n", "p"), [(4, 1), (5, 30), (9, 3), (30, 30), (40, 60)])
def test_odd_shapes_give_orthonormal_directions(estimator, n, p):
    assert_orthonormal(estimator, *data(n, p))


@pytest.mark.parametrize("method", [CSOPG, KSIR])
def test_mave_without_screening_and_in_huge_units(method):
    for spoil in ("constant", "duplicated", "repeated rows"):
        assert_orthonormal(method(screen=None), *SPOILT[spoil](*data()))
    for n, p in ((3, 2), (5, 30), (40, 60)):
        assert_orthonormal(method(screen=None), *data(n, p))
    X, Y = data()
    assert_orthonormal(method(), 1e120 * X, 1e120 * Y)


def assert_orthonormal(estimator, X, Y):
    fit = clone(estimator).fit(X, Y)
    r = fit.n_components_
    assert fit.components_.shape == (r, X.shape[1])
    assert_allclose(fit.components_ @ fit.components_.T, np.eye(r), atol=1e-8)
    assert_allclose(fit.components_[:, np.ptp(X, axis=0) == 0], 0, atol=1e-12)
    assert np.isfinite(fit.transform(X)).all()
    for d, directions in getattr(fit, "directions_path_", {}).items():
        assert np.linalg.matrix_rank(directions * X.std(axis=0)[:, None]) == d


# Bad parameters: an error that names them (bad data: test_bad_input.py)


class OwnRule:
    def select(self, matrix, **data):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (SIR(7), "n_components=7; expected at most 6, the number of directions in which the slice"),
        (SIR(rank=DominanceRank), "rank"),
        (SIR(null="projected", rank=OwnRule()), "null='projected' needs an AdaptiveRank"),
        (CSOPG(7), "n_components=7; expected at most 6, the least of max_dim .10. and the rank"),
        (CSOPG(2, max_dim=1), r"n_components=2; expected at most 1, the least of max_dim \(1\)"),
        (MLPDirections(7, epochs=1), "at most 6, the least of 256 hidden units and 6 column"),
        (MLPDirections(hidden=()), r"'hidden' parameter .* a sequence .* Got \(\)"),
        (MLPDirections(hidden=(8, 0)), r"'hidden' parameter .* a sequence .* Got \(8, 0\)"),
        (MLPDirections(epochs=1, rank=AdaptiveRank()), "does not fit MLPDirections, which has X"),
        (RidgeDirections(3), "n_components=3; expected at most 2, the rank of the coefficients"),
        (RidgeDirections(alphas=[1.0, -1.0]), r"'alphas' parameter .* Got \[1.0, -1.0\]"),
        (RidgeDirections(alphas=()), r"'alphas' parameter .* Got \(\)"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_bad_parameters_are_named(estimator, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(*data())
