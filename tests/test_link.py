"""Fits with gradients: leave-one-out, closed-form gradients, any regressor."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from steinsdr.link import KernelLink, average_gradients, ridge_link


@pytest.fixture
def data():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((80, 3))
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2]) + 0.1 * rng.standard_normal((80, 2))
    return X, Y


@parametrize_with_checks([KernelLink()])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_error_is_that_of_leaving_one_row_out(data):
    """Against refitting without each row; the mean of the responses counts as known."""
    X, Y = data
    penalty = 1e-3
    link = KernelLink(widths=[1.0], penalties=[penalty]).fit(X, Y)
    kernel = 1.0 + np.exp(-np.square(X[:, None] - X[None]).sum(axis=2) / (2 * link.width_**2))
    residuals = []
    for i in range(len(X)):
        rest = np.delete(np.arange(len(X)), i)
        model = KernelRidge(alpha=len(X) * penalty, kernel="precomputed")
        model.fit(kernel[np.ix_(rest, rest)], (Y - Y.mean(axis=0))[rest])
        residuals.append((Y - Y.mean(axis=0))[i] - model.predict(kernel[[i]][:, rest])[0])
    assert link.error_ == pytest.approx(np.mean(np.square(residuals)), rel=1e-6)


def test_gradient_is_the_derivative_of_the_prediction(data):
    X, Y = data
    link = KernelLink().fit(X, Y)
    step = 1e-5 * np.array([0.0, 1.0, 0.0])
    numerical = (link.predict(X + step) - link.predict(X - step)) / 2e-5
    np.testing.assert_allclose(link.gradient(X)[:, 1], numerical, atol=1e-5)


def test_averages_agree_whatever_the_regressor_offers(data):
    X, Y = data
    weights = np.column_stack([np.ones(len(X)), X[:, 0]])
    link = KernelLink().fit(X, Y)
    direct = np.einsum("im,ipq->mpq", weights, link.gradient(X)) / len(X)
    np.testing.assert_allclose(average_gradients(link, X, weights), direct, atol=1e-12)

    class OnlyPredicts:
        def predict(self, X):
            return link.predict(X)

    np.testing.assert_allclose(average_gradients(OnlyPredicts(), X, weights), direct, atol=1e-3)
    linear = LinearRegression().fit(X, Y)
    expected = weights.mean(axis=0)[:, None, None] * linear.coef_.T
    np.testing.assert_allclose(average_gradients(linear, X, weights), expected)


def test_a_forest_has_gradients_too():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (2000, 2))
    forest = RandomForestRegressor(50, min_samples_leaf=5, random_state=0).fit(X, 3 * X[:, 0])
    slope = average_gradients(forest, X, np.ones((len(X), 1)))[0, :, 0]
    assert slope == pytest.approx([3.0, 0.0], abs=0.6)


def test_centers_are_enough_for_a_smooth_function():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(600)
    whole, part = (KernelLink(max_centers=m, random_state=0).fit(X, y) for m in (600, 150))
    assert part.centers_.shape == (150, 2)
    assert np.sqrt(np.mean((whole.predict(X) - part.predict(X)) ** 2)) < 0.02


def test_ridge_has_a_penalty_for_each_response():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 30))
    Y = np.column_stack([X @ rng.standard_normal(30), rng.standard_normal(60)])
    assert len(set(ridge_link(60).fit(X, Y).alpha_)) == 2
