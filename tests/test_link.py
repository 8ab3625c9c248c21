"""Kernel ridge regression: leave-one-out, gradients, a subset of rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from steinsdr.link import KernelLink


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


def test_laplace_kernel_has_no_second_derivatives(data):
    with pytest.raises(ValueError, match="kernel is 'laplace'"):
        KernelLink(kernel="laplace").fit(*data).derivatives(data[0])


def test_centers_are_enough_for_a_smooth_function():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(600)
    whole, part = (KernelLink(max_centers=m).fit(X, y) for m in (600, 150))
    assert part.centers_.shape == (150, 2)
    assert np.sqrt(np.mean((whole.predict(X) - part.predict(X)) ** 2)) < 0.02
