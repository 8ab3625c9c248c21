"""Baselines on degenerate data and odd shapes, and without an optional package."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from steinsdr.baselines import CSOPG, KSIR, SIR, MLPDirections, RidgeDirections
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


# Degenerate data: a finite result

SPOILT = {
    "constant": lambda X, Y: (np.where(np.arange(6) == 1, 0.1, X), Y),
    "tiny": lambda X, Y: (np.column_stack([1e-10 * X, np.full(len(X), 1e6 / 3)]), Y),
    "duplicated": lambda X, Y: (X[:, [0, 1, 2, 0, 4, 5]], Y),
    "few values": lambda X, Y: (np.round(X), np.round(Y)),
    "repeated rows": lambda X, Y: (np.repeat(X[:20], 3, axis=0), np.repeat(Y[:20], 3, axis=0)),
    "constant response": lambda X, Y: (X, np.column_stack([np.full(len(Y), 7.0), Y[:, 1]])),
}
DEGENERATE = {
    **{name: spoil(*data()) for name, spoil in SPOILT.items()},
    **{f"{n} x {p}": data(n, p) for n, p in [(4, 1), (5, 30), (9, 3), (30, 30), (40, 60)]},
}


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_data_give_orthonormal_directions(estimator, name):
    assert_orthonormal(estimator, *DEGENERATE[name])


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
