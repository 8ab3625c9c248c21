"""The intervals of the report hold the true loadings, also where predictors are many."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from steinsdr.report import Reduction
from steinsdr.report.bootstrap import aligned, bootstrap, intervals
from steinsdr.report.findings import _turning_findings


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-2, keepdims=True)


def drawn(rng, p, noise, n_resamples=100):
    """A direction of three loadings in p predictors; its fit, its resamples, itself."""
    truth = np.zeros((p, 1))
    truth[:3, 0] = [0.8, 0.5, np.sqrt(0.11)]
    seen = truth + noise * rng.standard_normal((p, 1))
    again = seen + noise * rng.standard_normal((n_resamples, p, 1))
    return unit(seen), unit(again), truth


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
    unrelated = unit(rng.standard_normal((50, 100, 1)))
    opposite = -np.repeat(fitted[None], 10, axis=0)
    for resampled in (unrelated, opposite):
        low, high = intervals(fitted, resampled)
        assert (low == -1).all()
        assert (high == 1).all()


def test_every_direction_has_its_own_correction(rng):
    sharp, blurred = drawn(rng, 50, 0.01), drawn(rng, 50, 0.1)
    both = [np.concatenate(parts, axis=-1) for parts in zip(sharp, blurred, strict=True)]
    low, high = intervals(*both[:2])
    for k, alone in enumerate((sharp, blurred)):
        np.testing.assert_allclose([low[:, [k]], high[:, [k]]], intervals(*alone[:2]))
    assert (high - low)[:, 0].max() < 0.05 < 0.2 < (high - low)[:, 1].max()


@pytest.mark.slow
def test_bootstrap_intervals_cover_with_a_quarter_as_many_predictors_as_rows():
    p, n = 30, 120
    b = np.zeros((p, 1))
    b[:2, 0] = [0.8, 0.6]
    rng = np.random.default_rng(5)
    held = []
    for seed in range(16):
        X = rng.standard_normal((n, p))
        Y = np.tanh(2 * X @ b) + 0.5 * rng.standard_normal((n, 1))
        fit = Reduction(1, lam=1e-3).fit(X, Y)
        result = bootstrap(fit, X, Y, n_resamples=20, seed=seed)
        target, _ = aligned(b * X.std(axis=0)[:, None], fit)
        held.append(((result.low <= target) & (target <= result.high))[:, 0])
    held = np.array(held)
    assert held[:, :2].mean() > 0.85, "the large ones; without correction about 0.6"
    assert held[:, 2:].mean() > 0.87, "zeros"


@pytest.mark.slow
def test_a_nearly_collinear_pair_blurs_its_own_loadings_alone():
    rng = np.random.default_rng(3)
    clear = []
    for seed in range(8):
        X = rng.standard_normal((300, 8))
        X[:, 7] = X[:, 6] + 0.01 * rng.standard_normal(300)
        Y = X[:, :1] + X[:, 1:2] + rng.standard_normal((300, 1))
        fit = Reduction(1, lam=1e-3).fit(X, Y)
        assert fit.scale_ == "whiten"
        result = bootstrap(fit, X, Y, n_resamples=20, seed=seed)
        clear.append(((result.low > 0) | (result.high < 0))[:, 0])
    clear = np.array(clear)
    assert clear[:, :2].all()
    assert clear[:, 2:].mean() < 0.2  # nominal 0.05, of 48 that hang together


def test_whitened_intervals_take_their_correction_from_the_products(rng):
    fitted, resampled, _ = drawn(rng, 30, 0.1)
    products = np.einsum("bpr,pr->br", resampled, fitted)
    plain = intervals(fitted, resampled)
    scaled = intervals(3 * fitted, 3 * resampled, products)  # other units, the same cosines
    inside = (np.abs(plain) < 1).all(axis=0)
    assert inside.sum() >= 25
    np.testing.assert_allclose(np.array(scaled)[:, inside], 3 * np.array(plain)[:, inside])
    assert scaled[1].max() > 1


@pytest.mark.parametrize(("noise", "together"), [([0.5, 0.5], True), ([0.3, 1.5], False)])
def test_directions_that_turn_among_themselves_are_named(noise, together):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5))
    Y = X[:, :2] + noise * rng.standard_normal((200, 2))
    fit = Reduction(2, lam=1e-3).fit(X, Y)
    found = _turning_findings(bootstrap(fit, X, Y, n_resamples=20))
    said = "Directions 1 and 2 are determined only together."
    assert [finding.text for finding in found] == [said] * together


def test_noise_is_no_turning():
    def resampled(cosines, products, instability=0.1):
        four = np.ones((4, 1))
        return SimpleNamespace(
            cosines=four * cosines, products=four * products, instability=instability
        )

    assert _turning_findings(resampled([0.8, 0.79, 0.6], [0.8, 0.8, 0.6])) == []
    assert _turning_findings(resampled([0.5], [0.9])) == []  # one has nowhere to turn
    assert _turning_findings(resampled([0.5, 0.5], [0.9, 0.9], instability=0.5)) == []
    mixed = resampled([0.99, 0.7, 0.7], [1.0, 1.0, 0.9])
    assert _turning_findings(mixed)[0].text.startswith("Directions 2 and 3 are")
    (all_three,) = _turning_findings(resampled([0.8, 0.7, 0.7], [1.0, 1.0, 0.9]))
    assert all_three.text.startswith("Directions 1, 2 and 3 are")
    assert "as a space" in all_three.advice
