"""Closed-form scores: gradients of their own log densities, Stein's identities, plug-in fits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from steinsdr.moments import cross_moment, stein_diagnostics
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


@pytest.mark.parametrize("name", ORACLES)
def test_score_is_minus_the_gradient_of_the_log_density(name, rng):
    score = ORACLES[name]
    x = np.exp(rng.standard_normal((6, P)))
    h = 1e-6
    for j in range(P):
        step = h * np.eye(P)[j]
        slope = (score.log_density(x + step) - score.log_density(x - step)) / (2 * h)
        np.testing.assert_allclose(score.evaluate(x)[:, j], -slope, rtol=1e-5, atol=1e-6)
    assert isinstance(score, ScoreEstimator)


def mixture_logpdf(x):
    parts = [stats.multivariate_normal(MEAN, COV), stats.multivariate_normal(-MEAN, np.eye(P))]
    return logsumexp(np.column_stack([part.logpdf(x) for part in parts]), axis=1, b=[0.3, 0.7])


@pytest.mark.parametrize(
    ("name", "logpdf"),
    [
        ("gaussian", stats.multivariate_normal(MEAN, COV).logpdf),
        ("student", stats.multivariate_t(MEAN, COV, df=4.0).logpdf),
        ("mixture", mixture_logpdf),
    ],
)
def test_log_density_agrees_with_scipy_up_to_a_constant(name, logpdf, rng):
    x = rng.standard_normal((20, P))
    assert np.ptp(ORACLES[name].log_density(x) - logpdf(x)) < 1e-10


@pytest.mark.parametrize("name", ["gaussian", "student", "laplace"])
def test_steins_identity_holds(name, rng):
    n = 200_000
    if name == "gaussian":
        x = rng.multivariate_normal(MEAN, COV, n)
    elif name == "student":
        x = stats.multivariate_t(MEAN, COV, df=4.0).rvs(n, random_state=rng)
    else:
        x = MEAN + rng.laplace(size=(n, P)) * [1.0, 2.0, 0.5]
    scores = ORACLES[name].evaluate(x)
    np.testing.assert_allclose(scores.mean(axis=0), 0, atol=0.03)
    np.testing.assert_allclose(cross_moment(scores, x), np.eye(P), atol=0.05)


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
    double = np.r_[x[:500] * 0.1 + 4.0, x[500:1000] * 0.1 - 4.0]
    mixture = GaussianMixtureScore().fit(double)
    assert sorted(mixture.weights_.round(2)) == [0.5, 0.5]
    laplace = LaplaceScore().fit(1.0 + 2.0 * rng.laplace(size=(50_000, 2)))
    np.testing.assert_allclose(laplace.scale_, 2.0, atol=0.05)


def mixture(weights):
    return GaussianMixtureScore(weights, np.eye(2), [np.eye(2), np.eye(2)])


WIDE = np.random.default_rng(0).standard_normal((4, 5))
TALL = np.random.default_rng(0).standard_normal((60, 3))
POINT = [[0.0, 1.0]]


@pytest.mark.parametrize(
    ("score", "X", "message"),
    [
        (GaussianScore(), WIDE, "needs n > p"),
        (GaussianScore(), np.c_[TALL, TALL[:, 0] + TALL[:, 1]], "linear combinations of others"),
        (GaussianScore(), np.c_[TALL, TALL[:, 1] - TALL[:, 2]], "linear combinations of others"),
        (GaussianScore(np.zeros(2), -np.eye(2)), POINT, "positive definite"),
        (GaussianScore(np.zeros(3), np.eye(2)), POINT, r"mean has shape \(3,\); expected \(2,\)"),
        (GaussianScore(np.zeros(2), [[1.0, 0.5], [0.0, 1.0]]), POINT, "cov must be symmetric"),
        (GaussianScore(np.zeros(2), np.ones((3, 2))), POINT, r"cov has shape \(3, 2\)"),
        (LogNormalScore(np.zeros(2), np.eye(2)), POINT, "entries <= 0"),
        (StudentScore(0.0, np.zeros(2), np.eye(2)), POINT, "'df' parameter of StudentScore"),
        (StudentScore(2.0), TALL, "has no covariance"),
        (LaplaceScore(0.0, -1.0), POINT, "scale must be positive"),
        (LaplaceScore(np.nan, 1.0), POINT, "median must be finite"),
        (LaplaceScore(0.0, [1.0, np.inf]), POINT, "scale must be finite"),
        (LaplaceScore([0.0, 1.0, 2.0], 1.0), POINT, r"median has shape \(3,\)"),
        (LaplaceScore(0.0, [[1.0], [2.0]]), POINT, r"scale has shape \(2, 1\); expected \(2,\)"),
        (LaplaceScore("middle", 1.0), POINT, "'median' parameter of LaplaceScore"),
        (GaussianMixtureScore(), np.c_[TALL, np.ones(60)], r"constant column\(s\) \(3\)"),
        (mixture([0.5, 0.0]), POINT, "weights must be positive finite numbers"),
        (mixture([0.5, np.nan]), POINT, "weights must be positive finite numbers"),
        (mixture([[0.5, 0.5]]), POINT, "weights must be positive finite numbers"),
        (mixture([0.2, 0.3, 0.5]), POINT, r"shapes \(3,\), \(2, 2\) and \(2, 2, 2\)"),
    ],
)
def test_bad_input_is_named(score, X, message):
    with pytest.raises(ValueError, match=message):
        score.fit(X)


def two_groups(rng, n=1000):
    """Rows of two normal laws, one a good deal narrower than the other."""
    wide, narrow = rng.multivariate_normal(MEAN, COV, n), rng.multivariate_normal(-3 * MEAN, COV, n)
    return np.r_[wide, -3 * MEAN + 0.3 * (narrow + 3 * MEAN)]


@pytest.mark.parametrize("unit", [1e-4, 1e6, [1e-4, 1.0, 1e6]])
def test_a_fitted_mixture_satisfies_steins_identity_in_any_units(rng, unit):
    X = two_groups(rng)
    expected = GaussianMixtureScore().fit(X).evaluate(X)
    # Standard error of a mean of s_j x_j, about 2, over 2000 rows.
    assert stein_diagnostics(expected, X).slope == pytest.approx(1.0, abs=0.1)
    scores = GaussianMixtureScore().fit(X * unit).evaluate(X * unit) * unit
    # EM takes the same steps, and the narrow group's condition number amplifies their rounding.
    np.testing.assert_allclose(scores, expected, atol=1e-8 * np.abs(expected).max())


def test_a_given_mixture_is_kept_whatever_the_seed():
    X = np.random.default_rng(0).standard_normal((50, 2))
    parameters = ([0.5, 0.5], [[5.0, 5.0], [-5.0, -5.0]], [np.eye(2), np.eye(2)])
    seeded, unseeded = (
        GaussianMixtureScore(*parameters, random_state=seed).fit(X).evaluate(X)
        for seed in (0, None)
    )
    assert np.array_equal(seeded, unseeded)
