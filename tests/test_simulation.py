"""The designs of Section 4: laws, links as printed, streams."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import erf, expit

from steinsdr.simulation import LAWS, links, simulate, stream, stream_seed


def test_laws_have_the_papers_moments():
    p, n = 5, 200_000
    for name, law in LAWS.items():
        x = law.draw(n, p, stream(1, name))
        z = x if law.log_scale is None else np.log(x)
        cov = np.cov(z, rowvar=False)
        scale = 1.0 if law.log_scale is None else law.log_scale
        expected = scale**2 * law.rho ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
        np.testing.assert_allclose(cov, expected, atol=0.05)
        scores = law.score(p).evaluate(x)
        assert np.abs(scores.mean(axis=0) / scores.std(axis=0)).max() < 0.02
    assert LAWS["exp_ar1"].log_scale == 1.5
    assert LAWS["exp_ar1_literal"].log_scale == 1.0


def test_links_of_the_first_part():
    t = np.random.default_rng(0).standard_normal((8, 3))
    a, b, c = t.T
    F = links(t, 10, version="section41")
    np.testing.assert_allclose(F[:, 0], a + 0.2 * expit(b))
    np.testing.assert_allclose(F[:, 1], b / (0.5 + (c + 1.5) ** 2))
    np.testing.assert_allclose(F[:, 2], np.tanh(0.8 * c) + erf(1.2 * a))
    np.testing.assert_allclose(F[:, 3], np.tanh(0.8 * a) + expit(c) + 0.8 * erf(1.2 * b))
    # f_5, ..., f_10 = sin(x_i), i = k mod 3 with 0 read as 3
    np.testing.assert_allclose(F[:, 4:], np.sin(np.c_[b, c, a, b, c, a]))


def test_links_of_the_second_part():
    t = np.random.default_rng(0).standard_normal((8, 5))
    x1, x2, x3, x4, x5 = t.T
    F = links(t, 10, version="section42")
    np.testing.assert_allclose(F[:, 1], x2 / (0.5 + (x1 + 1.5) ** 2))
    np.testing.assert_allclose(F[:, 2], 1.5 * np.tanh(x3) + 0.8 * erf(1.2 * x1))
    np.testing.assert_allclose(F[:, 3], 2 * np.tanh(x4) + 0.8 * expit(x1))
    np.testing.assert_allclose(F[:, 4], 2 * np.sin(x5) + 1.5 * erf(1.5 * x5) + 0.5 * np.sin(x2))
    np.testing.assert_allclose(F[:, 5:], np.sin(np.c_[x1, x2, x3, x4, x5]))
    three = links(t[:, :3], 10, version="section42")
    np.testing.assert_allclose(three[:, 2], np.tanh(0.8 * x3) + 0.8 * erf(1.2 * x1))
    one = links(t[:, :1], 10, version="section42")
    np.testing.assert_allclose(one[:, 1], x1**2)
    np.testing.assert_allclose(one[:, 2:], np.sin(x1)[:, None].repeat(8, axis=1))


def test_covariates_do_not_depend_on_what_is_drawn_from_them():
    base = simulate("ar1", 40, p=10, n_unlabeled=7, seed=44)
    for change in ({"r": 5, "version": "section42"}, {"q": 4}, {"noise": 0.0}):
        other = simulate("ar1", 40, p=10, n_unlabeled=7, seed=44, **change)
        np.testing.assert_array_equal(other.X, base.X)
        np.testing.assert_array_equal(other.X_unlabeled, base.X_unlabeled)


@pytest.mark.parametrize("law", list(LAWS))
def test_smaller_samples_are_prefixes(law):
    small = simulate(law, 30, p=10, n_unlabeled=20, seed=3)
    large = simulate(law, 60, p=10, n_unlabeled=50, seed=3)
    np.testing.assert_allclose(small.X, large.X[:30], rtol=1e-12)
    np.testing.assert_allclose(small.Y, large.Y[:30], rtol=1e-12)
    np.testing.assert_allclose(small.X_unlabeled, large.X_unlabeled[:20], rtol=1e-12)
    np.testing.assert_array_equal(small.B, large.B)
    np.testing.assert_allclose(small.B.T @ small.B, np.eye(3), atol=1e-12)


def test_seeds_laws_and_parts_are_independent():
    one, two = simulate(seed=42, n=50), simulate(seed=43, n=50)
    assert not np.allclose(one.X, two.X)
    parts = simulate("isotropic", 50, n_unlabeled=50)
    assert not np.allclose(parts.X, parts.X_unlabeled)
    noise = simulate(n=5000, p=5)
    assert (noise.Y - noise.signal).std() == pytest.approx(1.0, abs=0.02)
    assert len({stream_seed(1, "a"), stream_seed(1, "a"), stream_seed(1, "b")}) == 2
