"""The structured kernel operator against the kernel written out block by block."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from steinsdr.kernels import CurlFreeIMQ, median_distance

WIDTH = 1.7


def block(x, y, c=WIDTH):
    """-Hessian of (1 + |x - y|^2 / c^2)^(-1/2), straight from the formula."""
    d = x - y
    u = 1 + d @ d / c**2
    return np.eye(len(x)) * u**-1.5 / c**2 - 3 * u**-2.5 * np.outer(d, d) / c**4


def dense(A, B):
    n, p = A.shape
    K = np.array([[block(a, b) for b in B] for a in A])
    return K.transpose(0, 2, 1, 3).reshape(n * p, len(B) * p)


@pytest.fixture
def points(rng):
    return rng.standard_normal((15, 4)) + 3.0, rng.standard_normal((6, 4)) + 3.0


@pytest.mark.parametrize("memory_limit", [1e9, 1.0])
def test_products_match_dense_blocks(points, rng, memory_limit):
    X, new = points
    V, U = rng.standard_normal(X.shape), rng.standard_normal(new.shape)
    kernel = CurlFreeIMQ(X, WIDTH, memory_limit=memory_limit)
    expected = (dense(X, X) @ V.ravel()).reshape(X.shape)
    np.testing.assert_allclose(kernel @ V, expected, atol=1e-12)
    assert bool(kernel._own.kept) == (memory_limit > 1)
    expected = (dense(new, X) @ V.ravel()).reshape(new.shape)
    np.testing.assert_allclose(kernel.at(new, V), expected, atol=1e-12)
    expected = (dense(X, new) @ U.ravel()).reshape(X.shape)
    np.testing.assert_allclose(kernel.adjoint_at(new, U), expected, atol=1e-12)


def test_divergence_is_the_derivative_of_the_blocks(points):
    X, new = points
    h = 1e-5
    expected = np.zeros_like(new)
    for i, x in enumerate(new):
        for y in X:
            for k in range(X.shape[1]):
                e = np.zeros(X.shape[1])
                e[k] = h
                expected[i] += (block(x, y + e) - block(x, y - e))[:, k] / (2 * h) / len(X)
    np.testing.assert_allclose(CurlFreeIMQ(X, WIDTH).divergence(new), expected, atol=1e-8)


def test_potential_has_the_field_as_gradient(points, rng):
    X, new = points
    V = rng.standard_normal(X.shape)
    kernel = CurlFreeIMQ(X, WIDTH)
    h = 1e-5
    for k in range(X.shape[1]):
        step = h * np.eye(X.shape[1])[k]
        slope = (kernel.potential_at(new + step, V) - kernel.potential_at(new - step, V)) / (2 * h)
        np.testing.assert_allclose(slope, kernel.at(new, V)[:, k], atol=1e-8)


def test_many_tiles_give_the_same_as_one(rng, monkeypatch):
    X, V = rng.standard_normal((2, 200, 3))
    kernel, tiled = CurlFreeIMQ(X, WIDTH), CurlFreeIMQ(X, WIDTH, memory_limit=1)
    whole, slopes = kernel @ V, kernel.slopes_at(X + 0.1, V[None])
    monkeypatch.setattr("steinsdr.kernels._TILE_ENTRIES", 200 * 17)
    np.testing.assert_allclose(CurlFreeIMQ(X, WIDTH) @ V, whole, atol=1e-13)
    np.testing.assert_allclose(tiled @ V, whole, atol=1e-13)
    np.testing.assert_allclose(kernel.slopes_at(X + 0.1, V[None]), slopes, rtol=1e-10)


@pytest.mark.parametrize("n", [2, 3, 10, 11])
def test_median_distance_counts_all_pairs_and_the_diagonal(rng, n):
    X = rng.standard_normal((n, 3))
    distances = np.sort(np.linalg.norm(X[:, None] - X[None], axis=2).ravel())[::-1]
    assert median_distance(X) == pytest.approx(distances[n * n // 2 - 1], rel=1e-12)


def test_median_distance_takes_offsets_and_many_rows(rng, monkeypatch):
    X = rng.standard_normal((3000, 5))
    whole = median_distance(X)
    # X + 1e8 holds X to 1e-8; without centring the squares would cancel to nothing.
    assert median_distance(X + 1e8) == pytest.approx(whole, rel=1e-7)
    monkeypatch.setattr("steinsdr.kernels._MEDIAN_ROWS", 1000)
    assert median_distance(X) != whole
    assert median_distance(X) == pytest.approx(whole, rel=0.02)


def test_kept_factors_die_with_the_kernel(rng):
    """Repeated large fits must not wait for the garbage collector to free their n x n arrays."""
    X, V = rng.standard_normal((2, 50, 3))
    gc.disable()
    try:
        kernel = CurlFreeIMQ(X, WIDTH)
        kernel @ V
        kernel.at(kernel.rows(X), V)
        gone = weakref.ref(kernel), weakref.ref(kernel._own)
        assert kernel._own.kept
        del kernel
        assert [ref() for ref in gone] == [None, None]
    finally:
        gc.enable()
