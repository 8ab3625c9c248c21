"""Distances between subspaces, cross-moments and score diagnostics."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes
from scipy.stats import ortho_group

from steinsdr.moments import stein_diagnostics
from steinsdr.subspace import (
    chance_distance,
    orthonormalize,
    principal_angles,
    procrustes_distance,
)


def test_procrustes_distance_is_the_infimum_over_rotations(rng):
    A, B = orthonormalize(rng.standard_normal((9, 3))), orthonormalize(rng.standard_normal((9, 3)))
    R, _ = orthogonal_procrustes(B, A)
    assert procrustes_distance(A, B) == pytest.approx(np.linalg.norm(A - B @ R), rel=1e-12)
    for seed in range(20):
        V = ortho_group.rvs(3, random_state=seed)
        assert np.linalg.norm(A - B @ V) >= procrustes_distance(A, B) - 1e-12


def test_distance_does_not_depend_on_the_basis(rng):
    A, B = rng.standard_normal((2, 8, 2))
    value = procrustes_distance(A, B)
    assert procrustes_distance(A @ rng.standard_normal((2, 2)), -3 * B) == pytest.approx(value)
    assert procrustes_distance(B, A) == pytest.approx(value)
    assert procrustes_distance(A, A) == pytest.approx(0.0, abs=1e-12)


def test_small_angles_stay_accurate():
    angle = 1e-9
    A, B = np.array([[1.0], [0.0]]), np.array([[np.cos(angle)], [np.sin(angle)]])
    assert procrustes_distance(A, B) == pytest.approx(angle, rel=1e-6)


def test_principal_angles_allow_other_ranks(rng):
    A = rng.standard_normal((6, 3))
    np.testing.assert_allclose(principal_angles(A, A[:, :1]), 0, atol=1e-7)


def test_chance_level_of_the_papers_setting(rng):
    mean, sd = chance_distance(100, 3, rng=rng)
    assert mean == pytest.approx(2.27, abs=0.05)  # the paper's worst methods sit here
    assert 0 < sd < 0.1


def test_diagnostics_see_a_shrunk_score(rng):
    x = rng.standard_normal((20_000, 3)) * [1.0, 10.0, 0.1]
    truth = x / np.array([1.0, 10.0, 0.1]) ** 2
    good, shrunk = stein_diagnostics(truth, x), stein_diagnostics(0.5 * truth, x)
    assert good.slope == pytest.approx(1.0, abs=0.02)
    assert np.allclose(good.identity, np.eye(3), atol=0.03)
    assert shrunk.slope == pytest.approx(0.5, abs=0.02)
    assert np.abs(good.mean).max() < 0.03
