"""Ridge directions against scikit-learn, the Stein estimator, and what they cannot see."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge, RidgeCV

from steinsdr import SteinSDR
from steinsdr.baselines import RidgeDirections
from steinsdr.scores import GaussianScore
from steinsdr.simulation import simulate
from steinsdr.subspace import principal_angles


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


def test_selects_the_dimension_and_follows_units():
    data = simulate("isotropic", 600, p=10, r=3)
    fit = RidgeDirections(random_state=0).fit(data.X, data.Y)
    assert fit.rank_.method == "permutation"
    assert fit.n_components_ >= 3
    units = np.geomspace(1e-3, 1e3, 10)
    scaled = RidgeDirections(random_state=0).fit(data.X * units, data.Y)
    assert_allclose(scaled.cross_moment_, fit.cross_moment_ / units[:, None], rtol=1e-8)
    assert scaled.alpha_ == fit.alpha_
