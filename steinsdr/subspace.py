r"""Distances between subspaces given by bases (p, r).

The paper measures an estimate by the orthogonal Procrustes distance
:math:`\operatorname{dist}(\hat B, B) = \inf_{V \in \mathcal V_r} \|\hat B - B V\|_F`. It states
it for r x r matrices and uses it for p x r bases; so does this module.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import qr, subspace_angles

from ._base import check_generator, check_integer, check_matrix

__all__ = [
    "chance_distance",
    "orthonormalize",
    "principal_angles",
    "procrustes_distance",
]


def orthonormalize(basis: ArrayLike) -> NDArray:
    """Return an orthonormal basis (p, r) of the span of the columns.

    Raises
    ------
    ValueError
        If there are more columns than rows, or the columns are linearly dependent.

    Examples
    --------
    >>> B = orthonormalize([[3.0, 1.0], [0.0, 2.0], [4.0, 0.0]])
    >>> bool(np.allclose(B.T @ B, np.eye(2)))
    True
    """
    B = check_matrix(basis, "basis")
    p, r = B.shape
    if r > p:
        raise ValueError(f"basis has shape {B.shape}; expected (p, r) with r <= p.")
    norms = np.linalg.norm(B, axis=0)
    if not np.isfinite(norms).all() or (norms < np.finfo(float).tiny).any():
        # A power of two scales without rounding.
        B = np.ldexp(B, -np.frexp(np.abs(B).max(axis=0))[1])
        norms = np.linalg.norm(B, axis=0)
    Q, R = qr(B / np.where(norms > 0, norms, 1.0), mode="economic")
    if np.abs(np.diag(R)).min() <= p * np.finfo(float).eps:
        raise ValueError(f"basis has {r} columns that are linearly dependent; expected rank {r}.")
    return Q


def _pair(first: ArrayLike, second: ArrayLike) -> tuple[NDArray, NDArray]:
    A, B = orthonormalize(first), orthonormalize(second)
    if A.shape != B.shape:
        raise ValueError(f"bases have shapes {A.shape} and {B.shape}; they must be equal.")
    return A, B


def principal_angles(first: ArrayLike, second: ArrayLike) -> NDArray:
    """Return the principal angles between two spans, in radians, largest first.

    Bases (p, r1) and (p, r2); they need not be orthonormal, nor of the same rank.
    """
    A, B = orthonormalize(first), orthonormalize(second)
    if A.shape[0] != B.shape[0]:
        raise ValueError(f"bases live in R^{A.shape[0]} and R^{B.shape[0]}; they must be equal.")
    return subspace_angles(A, B)


def procrustes_distance(first: ArrayLike, second: ArrayLike) -> float:
    r"""Orthogonal Procrustes distance :math:`\inf_V \|\hat B - BV\|_F` of two bases (p, r).

    With principal angles :math:`\theta_i` it is
    :math:`\{2 \sum_i (1 - \cos\theta_i)\}^{1/2} = 2\{\sum_i \sin^2(\theta_i/2)\}^{1/2}`:
    0 for equal spans, :math:`\sqrt{2r}` for orthogonal ones. The half-angle form, which is
    computed, stays accurate for nearly equal spans. The bases are orthonormalized first.

    Examples
    --------
    >>> I = np.eye(4)
    >>> procrustes_distance(I[:, :2], I[:, [1, 0]]), round(procrustes_distance(I[:, :2], I[:, 2:]))
    (0.0, 2)
    """
    angles = subspace_angles(*_pair(first, second))
    return float(2.0 * np.sqrt(np.sum(np.sin(angles / 2.0) ** 2)))


def chance_distance(
    p: int, r: int, *, rng: np.random.Generator, n_draws: int = 200
) -> tuple[float, float]:
    """Mean and standard deviation of the Procrustes distance between two random spans.

    An estimate no better than this has found nothing.
    """
    check_integer(p, "p", low=1)
    check_integer(r, "r", low=1, high=p)
    check_integer(n_draws, "n_draws", low=2)
    check_generator(rng)
    draws = [
        procrustes_distance(rng.standard_normal((p, r)), rng.standard_normal((p, r)))
        for _ in range(n_draws)
    ]
    return float(np.mean(draws)), float(np.std(draws, ddof=1))
