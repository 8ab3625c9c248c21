"""Closed-form scores: gradients of scipy's log densities, plug-in fits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from steinsdr.moments import cross_moment
from steinsdr.scores import (
    GaussianMixtureScore,
    GaussianScore,
    LaplaceScore,
    LogNormalScore,
    ScoreEstimator,
    StudentScore,
)

P = 3
COV = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 0.5]])
MEAN = np.array([1.0, -1.0, 0.5])
ORACLES = {
    "gaussian": GaussianScore(MEAN, COV),
    "lognormal": LogNormalScore(MEAN, COV),
    "student": StudentScore(4.0, MEAN, COV),
    "laplace": LaplaceScore(MEAN, [1.0, 2.0, 0.5]),
    "mixture": GaussianMixtureScore([0.3, 0.7], [MEAN, -MEAN], [COV, np.eye(P)]),
}


NORMAL = stats.multivariate_normal(MEAN, COV)
OTHER = stats.multivariate_normal(-MEAN, np.eye(P))
LOG_DENSITIES = {
    "gaussian": NORMAL.logpdf,
    "lognormal": lambda x: NORMAL.logpdf(np.log(x)) - np.log(x).sum(axis=1),
    "student": stats.multivariate_t(MEAN, COV, df=4.0).logpdf,
    "laplace": lambda x: stats.laplace(MEAN, [1.0, 2.0, 0.5]).logpdf(x).sum(axis=1),
    "mixture": lambda x: np.log(0.3 * NORMAL.pdf(x) + 0.7 * OTHER.pdf(x)),
}


@pytest.mark.parametrize("name", ORACLES)
def test_score_is_minus_the_gradient_of_scipys_log_density(name, rng):
    score, log_density = ORACLES[name], LOG_DENSITIES[name]
    x = np.exp(rng.standard_normal((6, P)))
    h = 1e-6
    for j in range(P):
        step = h * np.eye(P)[j]
        slope = (log_density(x + step) - log_density(x - step)) / (2 * h)
        np.testing.assert_allclose(score.evaluate(x)[:, j], -slope, rtol=1e-5, atol=1e-6)
    assert isinstance(score, ScoreEstimator)


def test_fitted_gaussian_score_is_least_squares(rng):
    X = rng.standard_normal((200, P)) @ rng.standard_normal((P, P))
    Y = rng.standard_normal((200, 2)) + X[:, :2]
    centred = Y - Y.mean(axis=0)
    M = cross_moment(GaussianScore().fit(X).evaluate(X), centred) * 200 / 199
    slopes = np.linalg.lstsq(X - X.mean(axis=0), centred, rcond=None)[0]
    np.testing.assert_allclose(M, slopes, atol=1e-10)


def test_fits_recover_parameters(rng):
    x = rng.multivariate_normal(MEAN, COV, 20_000)
    np.testing.assert_allclose(GaussianScore().fit(x).cov_, COV, atol=0.1)
    np.testing.assert_allclose(LogNormalScore().fit(np.exp(x)).cov_, COV, atol=0.1)
    t = stats.multivariate_t(MEAN, COV, df=10.0).rvs(50_000, random_state=rng)
    np.testing.assert_allclose(StudentScore(10.0).fit(t).cov_, COV, atol=0.1)
