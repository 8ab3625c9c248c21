"""The recursive feature machine: what it sees, what decides its steps."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from steinsdr.baselines import RFM
from steinsdr.link import KernelLink
from steinsdr.subspace import procrustes_distance


@parametrize_with_checks([RFM(1)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def even():
    """Even links of two indices, which no first moment of normal x sees."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 8))
    B = np.linalg.qr(rng.standard_normal((8, 2)))[0]
    T = X @ B
    Y = np.column_stack([T[:, 0] ** 2, np.cos(2 * T[:, 1])]) + 0.1 * rng.standard_normal((400, 2))
    return X, Y, B


def test_learning_the_metric_helps_on_even_links(even):
    X, Y, B = even
    once, thrice = (
        procrustes_distance(RFM(2, steps=steps).fit(X, Y).components_.T, B) for steps in (1, 3)
    )
    assert thrice < 0.6 * once
    assert thrice < 0.2


def test_first_step_is_the_outer_product_of_a_kernel_fit(even):
    X, Y, _ = even
    rfm = RFM(2, steps=1).fit(X, Y)
    scale = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / scale
    gradient = KernelLink().fit(Z, Y).gradient(Z) / scale[:, None]
    expected = sum(g.T @ g for g in gradient.transpose(2, 0, 1)) / len(X)
    np.testing.assert_allclose(rfm.agop_, expected, atol=1e-10)


def test_units_of_the_predictors_do_not_matter(even):
    X, Y, _ = even
    units = np.array([1, 10, 100, 1, 0.1, 1, 1, 5.0])
    plain, scaled = RFM(2).fit(X, Y), RFM(2).fit(X * units, Y)
    np.testing.assert_allclose(scaled.agop_ * np.outer(units, units), plain.agop_, rtol=1e-6)
    assert scaled.errors_ == pytest.approx(plain.errors_)


def test_a_constant_column_has_no_loading(even):
    X, Y, _ = even
    rfm = RFM("auto").fit(np.column_stack([X, np.ones(len(X))]), Y)
    assert rfm.n_components_ == 2
    assert np.all(rfm.components_[:, -1] == 0)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"steps": 0}, "steps"), ({"n_components": 9}, "n_components=9"), ({"max_centers": 1}, "max")],
)
def test_bad_parameters_are_named(even, parameters, message):
    X, Y, _ = even
    with pytest.raises(ValueError, match=message):
        RFM(**parameters).fit(X, Y)
