"""The reduction of the chapter's genes and its intervals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from steinsdr import SteinSDR
from steinsdr.paper.reduction import Reduction, aligned, bootstrap, intervals
from steinsdr.scores import TikhonovScore


def simulated(rng, n=200):
    """Two responses of two indices, a + b and c, in five predictors; the last do nothing."""
    X = pd.DataFrame(rng.standard_normal((n, 5)), columns=list("abcde"))
    first = (X["a"] + X["b"]) / np.sqrt(2)
    Y = pd.DataFrame({"y1": first + 0.3 * first**2, "y2": np.tanh(X["c"])})
    return X, Y + rng.standard_normal((n, 2)) * [0.25, 0.8]


@pytest.fixture
def data(rng):
    return simulated(rng)


# Reduction


def test_standardized_reduction_is_steinsdr_on_standardized_columns(data):
    X, Y = (frame.to_numpy() for frame in data)
    fit = Reduction(2, scale="standardize", lam=1e-3).fit(X, Y)
    Z, T = (X - X.mean(0)) / X.std(0), (Y - Y.mean(0)) / Y.std(0)
    plain = SteinSDR.paper(2, score_estimator=TikhonovScore(lam=1e-3)).fit(Z, T)
    np.testing.assert_allclose(np.abs(fit.loadings_), np.abs(plain.components_.T))
    np.testing.assert_allclose(fit.transform(X), Z @ fit.loadings_)
    assert (fit.loadings_[np.abs(fit.loadings_).argmax(0), [0, 1]] > 0).all()


def test_whitened_reduction_does_not_depend_on_the_predictors_basis(data, rng):
    X, Y = (frame.to_numpy() for frame in data)
    A = rng.standard_normal((5, 5))
    one = Reduction(2, scale="whiten", lam=1e-3, tol=1e-8).fit(X, Y)
    two = Reduction(2, scale="whiten", lam=1e-3, tol=1e-8).fit(X @ A, Y)
    np.testing.assert_allclose(np.cov(one.points_.T), np.eye(5), atol=1e-12)
    np.testing.assert_allclose((X - X.mean(0)) / X.std(0) @ one.root_, one.points_, atol=1e-12)
    correlation = np.corrcoef(one.transform(X).T, two.transform(X @ A).T)[:2, 2:]
    np.testing.assert_allclose(np.abs(correlation), np.eye(2), atol=1e-4)


def test_a_rounded_duplicate_is_as_good_as_an_exact_one(rng):
    X = rng.standard_normal((200, 4))
    Y = X[:, :2] @ [[1.0], [1.0]] + 0.5 * rng.standard_normal((200, 1))
    fahrenheit = 1.8 * X[:, :1] + 32
    exact, rounded = (
        Reduction(1, scale="whiten", lam=1e-3).fit(np.hstack([X, other]), Y)
        for other in (fahrenheit, np.round(fahrenheit, 4))
    )
    assert exact.points_.shape[1] == rounded.points_.shape[1] == 4
    # Rounding moves a value by 5e-5 of about 2; the loadings by about as much.
    np.testing.assert_allclose(rounded.loadings_, exact.loadings_, atol=1e-3)


def test_auto_scale_asks_for_ten_rows_per_predictor(data):
    X, Y = data
    assert Reduction(1, lam=1e-2).fit(X[:50], Y[:50]).scale_ == "whiten"
    assert Reduction(1, lam=1e-2).fit(X[:49], Y[:49]).scale_ == "standardize"


@pytest.mark.parametrize("config", ["sup", "full", "split"])
def test_rows_without_responses_are_unlabeled(data, rng, config):
    X, Y = data
    more = pd.DataFrame(rng.standard_normal((20, 5)), columns=X.columns)
    options = {"lam": 1e-2, "config": config, "scale": "standardize"}
    apart = Reduction(2, **options).fit(X[20:], Y[20:], pd.concat([X[:20], more]))
    holes = np.where(np.arange(200)[:, None] < 20, np.nan, Y)
    together = Reduction(2, **options).fit(X, holes, more)
    np.testing.assert_allclose(together.loadings_, apart.loadings_, atol=1e-12)
    assert together.points_.shape == (180, 5)


def test_wrong_data_of_a_reduction(data):
    X, Y = data
    fit = Reduction(2, lam=1e-2).fit(X, Y)
    with pytest.raises(ValueError, match="feature names should match"):
        fit.transform(X[list("edcba")])
    with pytest.raises(ValueError, match="feature names should match"):
        Reduction(2, lam=1e-2, config="full").fit(X, Y, X[list("edcba")])
    with pytest.raises(ValueError, match=r"constant column\(s\) \(d\)"):
        Reduction(2).fit(X.assign(d=1.0), Y)
    with pytest.raises(
        ValueError, match=r"X: not numeric: text such as 'Rome' in column\(s\) 'place'"
    ):
        Reduction(2).fit(X.assign(place="Rome"), Y)
    with pytest.raises(ValueError, match=r"y has 1 row\(s\) that are partly NaN"):
        Reduction(2).fit(X, Y.assign(y1=Y["y1"].where(Y.index != 3)))
    with pytest.raises(ValueError, match=r"y has 1 labeled row\(s\); at least 2"):
        Reduction(1).fit(X, np.where(np.arange(200) == 3, 1.0, np.nan))


# Intervals


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


def test_every_direction_has_its_own_correction(rng):
    sharp, blurred = drawn(rng, 50, 0.01), drawn(rng, 50, 0.1)
    both = [np.concatenate(parts, axis=-1) for parts in zip(sharp, blurred, strict=True)]
    low, high = intervals(*both[:2])
    for k, alone in enumerate((sharp, blurred)):
        np.testing.assert_allclose([low[:, [k]], high[:, [k]]], intervals(*alone[:2]))
    assert (high - low)[:, 0].max() < 0.05 < 0.2 < (high - low)[:, 1].max()


def test_whitened_intervals_take_their_correction_from_the_products(rng):
    fitted, resampled, _ = drawn(rng, 30, 0.1)
    products = np.einsum("bpr,pr->br", resampled, fitted)
    plain = intervals(fitted, resampled)
    scaled = intervals(3 * fitted, 3 * resampled, products)  # other units, the same cosines
    inside = (np.abs(plain) < 1).all(axis=0)
    assert inside.sum() >= 25
    np.testing.assert_allclose(np.array(scaled)[:, inside], 3 * np.array(plain)[:, inside])
    assert scaled[1].max() > 1


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
        fit = Reduction(1, lam=1e-3).fit(X, Y)
        result = bootstrap(fit, X, Y, n_resamples=20, seed=seed)
        target, _, _ = aligned(b * X.std(axis=0)[:, None], fit)
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


def test_bootstrap_repeats_itself_and_measures_stability(data, rng):
    X, Y = (frame.to_numpy() for frame in data)
    fit = Reduction(2, lam=1e-2).fit(X, Y)
    one, two, other = (bootstrap(fit, X, Y, n_resamples=10, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.loadings, two.loadings)
    assert not np.array_equal(one.loadings, other.loadings)
    noise = rng.standard_normal(Y.shape)
    wild = bootstrap(Reduction(2, lam=1e-2).fit(X, noise), X, noise, n_resamples=10)
    assert one.instability < 0.3 < 0.45 < wild.instability < 1.2
    # Length one in the coordinates of the fit, whatever the length of the loadings.
    lengths = np.linalg.norm(fit.root_ @ fit.basis_, axis=0)
    inside = np.linalg.pinv(fit.root_) @ (one.loadings * lengths)
    np.testing.assert_allclose(np.linalg.norm(inside, axis=1), 1.0)


def test_resampling_redraws_unlabeled_rows_too(rng):
    X, Y = (frame.to_numpy() for frame in simulated(rng, n=60))
    more = rng.standard_normal((40, 5))
    more[:, 4] = 0.0
    more[0, 4] = 1.0  # absent from about every third resample
    fit = Reduction(1, lam=1e-2, config="split", scale="standardize").fit(X, Y, more)
    assert np.isfinite(bootstrap(fit, X, Y, more, n_resamples=20, seed=0).distances).all()
