r"""Distances between subspaces given by bases (p, r), and the coordinates of the columns.

The paper measures an estimate by the orthogonal Procrustes distance
:math:`\operatorname{dist}(\hat B, B) = \inf_{V \in \mathcal V_r} \|\hat B - B V\|_F`. It states
it for r x r matrices and uses it for p x r bases; so does this module. :func:`learn_coordinates`
gives the units of the columns, and their leading components, in which :class:`steinsdr.SteinSDR`
forms its moment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import qr, subspace_angles

from ._base import check_argument, check_integer, check_matrix
from .rank import tail_check

_NORMAL_QUARTILES = 1.349  # interquartile range of a standard normal variable
_CORRELATED = 0.25  # "auto" takes components if the columns have less than this share of dimensions


def orthonormalize(basis: ArrayLike) -> NDArray:
    """Return an orthonormal basis (p, r) of the span of the columns, which must be independent.

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
    check_matrix(first, "first")
    check_matrix(second, "second")
    A, B = orthonormalize(first), orthonormalize(second)
    if A.shape != B.shape:
        raise ValueError(f"bases have shapes {A.shape} and {B.shape}; they must be equal.")
    return A, B


def principal_angles(first: ArrayLike, second: ArrayLike) -> NDArray:
    """Return the principal angles between two spans, in radians, largest first.

    Bases (p, r1) and (p, r2); they need not be orthonormal, nor of the same rank.
    """
    check_matrix(first, "first")
    check_matrix(second, "second")
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
    >>> procrustes_distance(I[:, :2], I[:, [1, 0]])
    0.0
    >>> round(procrustes_distance(I[:, :2], I[:, 2:]))
    2
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
    check_argument(rng, "rng", np.random.Generator)
    draws = [
        procrustes_distance(rng.standard_normal((p, r)), rng.standard_normal((p, r)))
        for _ in range(n_draws)
    ]
    return float(np.mean(draws)), float(np.std(draws, ddof=1))


@dataclass(frozen=True)
class Coordinates:
    r"""The map :math:`z = V^\top \{(x - \mu) / u\}` from raw columns.

    Shift :math:`\mu` and unit u have shape (p,). The basis V (p, k) holds the leading principal
    components; None is the identity. ``scale`` says what u is, "sd" or "robust".
    """

    shift: NDArray
    unit: NDArray
    basis: NDArray | None
    scale: str

    def map(self, X: NDArray) -> NDArray:
        """Return the rows of X (n, p) in these coordinates, (n, k)."""
        Z = (X - self.shift) / self.unit
        return Z if self.basis is None else Z @ self.basis

    def raw(self, directions: NDArray) -> NDArray:
        """Return coefficients (p, r) of the raw columns that give the indices of (k, r)."""
        lifted = directions if self.basis is None else self.basis @ directions
        return lifted / self.unit[:, None]


def heavy_tails(X: NDArray) -> bool:
    """Return :func:`steinsdr.rank.tail_check` in units in which fourth powers are numbers."""
    return tail_check(X / np.maximum(np.abs(X).max(axis=0), np.finfo(float).tiny)).heavy


def robust_units(X: NDArray) -> NDArray:
    """Return the interquartile range over 1.349, or where it is zero the standard deviation, (p,).

    Both are the standard deviation of a normal column. Heavy tails do not move the former.

    Examples
    --------
    >>> z = np.random.default_rng(0).standard_normal((10_000, 1))
    >>> bool(abs(robust_units(z)[0] - 1) < 0.05), bool(robust_units(z**9)[0] < 0.5 < (z**9).std())
    (True, True)
    """
    low, high = np.quantile(X, [0.25, 0.75], axis=0)
    return np.where(high > low, (high - low) / _NORMAL_QUARTILES, X.std(axis=0))


def learn_coordinates(
    X: NDArray, scale: str, pca: Any, labeled: NDArray, Y: NDArray, least: int
) -> Coordinates:
    """Return the coordinates for rows X (n, p), labeled or not.

    Parameters
    ----------
    scale : {"auto", "sd", "robust"}
        Units; "auto" is robust if a column has heavy tails (:func:`steinsdr.rank.tail_check`).
    pca : None, "auto" or int
        Number of principal components. "auto" is none unless the columns are strongly correlated,
        and then the number, at least ``least``, that predicts left-out responses best.
    labeled, Y : ndarray of shape (m, p), (m, q)
        Rows with responses, which "auto" needs.
    """
    if scale == "auto":
        scale = "robust" if heavy_tails(X) else "sd"
    with np.errstate(over="ignore", under="ignore"):
        unit = X.std(axis=0) if scale == "sd" else robust_units(X)
    if not (np.isfinite(unit).all() and (unit > 0).all()):
        wrong = int(np.sum(~(np.isfinite(unit) & (unit > 0))))
        raise ValueError(
            f"X has {wrong} column(s) whose spread is too large or too small for a number; rescale "
            "them."
        )
    plain = Coordinates(X.mean(axis=0), unit, None, scale)
    if pca is None or (pca == "auto" and not _correlated(X)):
        return plain
    Z = plain.map(X)
    n, p = Z.shape
    if p > n:  # never a p x p matrix
        basis = np.linalg.svd(Z, full_matrices=False)[2].T
    else:
        basis = np.linalg.eigh(Z.T @ Z)[1][:, ::-1]
    if pca == "auto":
        most = max(least, min(p, n - 1, len(labeled) // 2))
        pca = _best_number(plain.map(labeled) @ basis[:, :most], Y, least)
    return Coordinates(plain.shift, unit, np.ascontiguousarray(basis[:, :pca]), scale)


def _correlated(X: NDArray) -> bool:
    r"""Return whether the columns have far fewer dimensions than independent ones would.

    The number of dimensions is :math:`p^2 / \sum_{ij} \hat\rho_{ij}^2`; with independent columns
    the sum has mean :math:`p + p^2/n`.
    """
    n, p = X.shape
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    gram = (Z @ Z.T if p > n else Z.T @ Z) / n
    return bool((p + p**2 / n) / np.sum(gram**2) < _CORRELATED)


def _best_number(components: NDArray, Y: NDArray, least: int) -> int:
    """Return how many leading columns predict left-out responses best by least squares."""
    Q = np.linalg.qr(components - components.mean(axis=0))[0]
    residuals = Y - Y.mean(axis=0)
    spread = residuals.var(axis=0)
    leverage = np.full(len(Y), 1.0 / len(Y))
    errors = []
    for column in Q.T:
        residuals = residuals - np.outer(column, column @ residuals)
        leverage = np.minimum(leverage + column**2, 1 - 1e-9)
        error = np.mean((residuals / (1 - leverage)[:, None]) ** 2, axis=0)
        errors.append(np.mean(error[spread > 0] / spread[spread > 0]))
    return max(int(np.argmin(errors)) + 1, least)
