"""The loadings of the chapter's genes and their intervals."""

from __future__ import annotations

import numpy as np
import pytest

from steinsdr import SteinSDR
from steinsdr.paper.reduction import intervals, loading_intervals
from steinsdr.scores import TikhonovScore


def test_loadings_are_those_of_steinsdr_on_standardized_columns_and_the_seed_decides(rng):
    X = rng.standard_normal((200, 5)) * [1, 10, 1, 1000, 1] + 3
    Y = np.tanh(X[:, :2] / [1, 10]) + rng.standard_normal((200, 2)) * [0.25, 0.8]
    Z, T = (X - X.mean(0)) / X.std(0), (Y - Y.mean(0)) / Y.std(0)
    plain = SteinSDR.paper(2, score_estimator=TikhonovScore(lam=1e-3)).fit(Z, T)
    one, two, other = (
        loading_intervals(X, Y, 2, lam=1e-3, n_resamples=10, seed=seed) for seed in (3, 3, 4)
    )
    loadings, low, high = one
    np.testing.assert_allclose(np.abs(loadings), np.abs(plain.components_.T))
    assert (loadings[np.abs(loadings).argmax(0), [0, 1]] > 0).all()
    assert (low <= loadings).all()
    assert (loadings <= high).all()
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(low, other[1])


def drawn(rng, p, noise, n_resamples=100):
    """A direction of three loadings in p predictors; its fit, its resamples, itself."""
    truth = np.zeros((p, 1))
    truth[:3, 0] = [0.8, 0.5, np.sqrt(0.11)]
    seen = truth + noise * rng.standard_normal((p, 1))
    again = seen + noise * rng.standard_normal((n_resamples, p, 1))
    fitted, resampled = (v / np.linalg.norm(v, axis=-2, keepdims=True) for v in (seen, again))
    return fitted, resampled, truth


@pytest.mark.parametrize(("p", "noise"), [(5, 0.05), (30, 0.1), (60, 0.1), (100, 0.15)])
def test_intervals_hold_what_noise_has_shrunk(rng, p, noise):
    held = []
    for _ in range(200):
        fitted, resampled, truth = drawn(rng, p, noise)
        low, high = intervals(fitted, resampled)
        held.append((low <= truth) & (truth <= high))
        assert (low <= fitted).all()
        assert (fitted <= high).all()
        assert max(-low.min(), high.max()) <= 1.0
    held = np.array(held)
    assert 0.92 < held[:, :3].mean() < 0.99, "large loadings"
    assert 0.92 < held[:, 3:].mean() < 0.98, "zeros"


def test_intervals_are_everything_where_noise_hides_the_direction(rng):
    fitted, _, _ = drawn(rng, 100, 0.5)
    unrelated = rng.standard_normal((50, 100, 1))
    unrelated /= np.linalg.norm(unrelated, axis=1, keepdims=True)
    opposite = -np.repeat(fitted[None], 10, axis=0)
    for resampled in (unrelated, opposite):
        low, high = intervals(fitted, resampled)
        assert (low == -1).all()
        assert (high == 1).all()


@pytest.mark.slow
def test_bootstrap_intervals_cover():
    p, n = 30, 120
    b = np.zeros((p, 1))
    b[:2, 0] = [0.8, 0.6]
    rng = np.random.default_rng(5)
    held = []
    for seed in range(16):
        X = rng.standard_normal((n, p))
        Y = np.tanh(2 * X @ b) + 0.5 * rng.standard_normal((n, 1))
        fitted, low, high = loading_intervals(X, Y, 1, lam=1e-3, n_resamples=20, seed=seed)
        target = b * X.std(axis=0)[:, None]
        target *= np.sign(fitted.T @ target) / np.linalg.norm(target)
        held.append(((low <= target) & (target <= high))[:, 0])
    held = np.array(held)
    assert held[:, :2].mean() > 0.85, "the large ones; without correction about 0.6"
    assert held[:, 2:].mean() > 0.87, "zeros"
