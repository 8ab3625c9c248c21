"""Fits of the responses: kernel ridge regression, ridge directions, SteinRegressor."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV

from steinsdr import SteinRegressor, SteinSDR
from steinsdr.baselines import RidgeDirections
from steinsdr.link import KernelLink
from steinsdr.scores import GaussianScore
from steinsdr.simulation import simulate
from steinsdr.subspace import principal_angles

# Kernel ridge regression: leave-one-out, gradients, a subset of rows.


@pytest.fixture
def data():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((80, 3))
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2]) + 0.1 * rng.standard_normal((80, 2))
    return X, Y


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
    np.testing.assert_allclose(link.errors_, np.mean(np.square(residuals), axis=0), rtol=1e-6)


@pytest.mark.parametrize("kernel", ["gaussian", "laplace"])
def test_gradient_is_the_derivative_of_the_prediction(data, kernel):
    X, Y = data
    link = KernelLink(kernel=kernel).fit(X, Y)
    step = 1e-5 * np.array([0.0, 1.0, 0.0])
    # At the rows themselves the Laplace kernel's own term is even: a difference loses it.
    for points in (X, X + 0.05):
        numerical = (link.predict(points + step) - link.predict(points - step)) / 2e-5
        np.testing.assert_allclose(link.gradient(points)[:, 1], numerical, atol=1e-5)


def test_laplace_fit_is_scikit_learns(data):
    X, Y = data
    link = KernelLink(kernel="laplace", widths=[1.0], penalties=[1e-2]).fit(X, Y)
    kernel = 1.0 + np.exp(-np.linalg.norm(X[:, None] - X[None], axis=2) / link.width_)
    peer = KernelRidge(alpha=len(X) * 1e-2, kernel="precomputed").fit(kernel, Y - Y.mean(axis=0))
    fitted = peer.predict(kernel) + Y.mean(axis=0)
    np.testing.assert_allclose(link.predict(X), fitted, rtol=1e-8, atol=1e-10)


def test_centers_are_enough_for_a_smooth_function():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(600)
    whole, part = (KernelLink(max_centers=m).fit(X, y) for m in (600, 150))
    assert part.centers_.shape == (150, 2)
    assert np.sqrt(np.mean((whole.predict(X) - part.predict(X)) ** 2)) < 0.02


# Directions of ridge regression.


@pytest.mark.parametrize("n", [30, 200])  # fewer and more rows than columns
def test_coefficients_and_penalty_are_scikit_learns(n):
    data = simulate("lognormal", n, p=40, seed=3)
    fit = RidgeDirections(3).fit(data.X, data.Y)
    scale = data.X.std(axis=0)
    Z = (data.X - data.X.mean(axis=0)) / scale
    chosen = RidgeCV(alphas=n * np.logspace(-3, 1, 13)).fit(Z, data.Y).alpha_
    assert fit.alpha_ == pytest.approx(chosen / n)
    coef = Ridge(n * fit.alpha_).fit(Z, data.Y).coef_.T / scale[:, None]
    assert_allclose(fit.cross_moment_, coef, atol=1e-10)
    assert_allclose(fit.singular_values_, np.linalg.svd(coef, compute_uv=False), rtol=1e-8)
    assert_allclose(fit.components_ @ fit.components_.T, np.eye(3), atol=1e-12)
    U = np.linalg.svd(coef, full_matrices=False)[0][:, :3]
    assert principal_angles(fit.components_.T, U).max() < 1e-6


def test_without_penalty_it_is_the_stein_estimator_with_a_normal_score():
    data = simulate("ar1", 300, p=10)
    ridge = RidgeDirections(3, alphas=[1e-12]).fit(data.X, data.Y)
    stein = SteinSDR.paper(3, score_estimator=GaussianScore(), center=True).fit(data.X, data.Y)
    assert principal_angles(ridge.components_.T, stein.components_.T).max() < 1e-6


def test_selects_the_dimension():
    data = simulate("isotropic", 600, p=10, r=3)
    fit = RidgeDirections(random_state=0).fit(data.X, data.Y)
    assert fit.rank_.method == "permutation"
    assert fit.n_components_ >= 3


# SteinRegressor: a reduction and the best of three fits of its indices.


@pytest.fixture(scope="module")
def two_links():
    """One linear and one even link of two indices among five columns, and a constant column."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal((300, 5)), np.full(300, 0.1)])
    Y = np.column_stack([X[:, 0], np.cos(2 * X[:, 1])]) + 0.1 * rng.standard_normal((300, 2))
    return X, Y


def test_each_response_has_its_own_link(two_links):
    X, Y = two_links
    model = SteinRegressor(2).fit(X[:200], Y[:200])
    # Noise leaves shares of 0.99 and 0.98; a linear fit would explain nothing of the second.
    assert model.score(X[200:], Y[200:]) > 0.9


def test_units_of_the_responses_do_not_matter(two_links):
    X, Y = two_links
    units = np.array([1e3, 1e-3])
    model = SteinRegressor(2)
    plain = model.fit(X, Y).predict(X[:9])
    np.testing.assert_allclose(model.fit(X, 7 + Y * units).predict(X[:9]), 7 + plain * units)


def test_cross_validation_chooses_from_a_list_and_grid_search_works(two_links):
    X, Y = two_links
    model = SteinRegressor(reduction=[PCA(1), SteinSDR(2, random_state=0)], cv=3).fit(X, Y)
    assert isinstance(model.reduction_, SteinSDR)
    assert model.cv_errors_[1] < 0.2 < model.cv_errors_[0]
    search = GridSearchCV(SteinRegressor(), {"n_components": [1, 2]}, cv=2)
    assert search.fit(X, Y).best_params_ == {"n_components": 2}


def test_rows_that_repeat_leave_ridge_regression():
    X = np.repeat([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]], [80, 10, 10], axis=0)
    y = X @ [1.0, 2.0]
    # The penalty is at least 1e-4 a row.
    np.testing.assert_allclose(SteinRegressor(reduction=PCA()).fit(X, y).predict(X), y, atol=0.05)
