r"""What the R package MAVE does to X and Y before it estimates a gradient.

Standardize X, keep the columns of largest distance correlation with Y, whiten them, and
replace Y by indicators :math:`1\{y_k < c\}`, whose conditional means carry the whole
conditional distribution of each :math:`y_k`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform

from ._base import varying_columns

__all__ = ["IndicatorResponses", "Predictors", "distance_correlations", "prepare_predictors"]

# Share of the squared singular values of the indicators that is kept.
_KEPT_SHARE = 0.99


@dataclass(frozen=True)
class Predictors:
    """Screened and whitened predictors, and the way back.

    Attributes
    ----------
    whitened : ndarray of shape (n, s)
        Columns of unit variance and no correlation.
    selected : ndarray of shape (s,)
        Columns of X that survived, by decreasing distance correlation if screened.
    root : ndarray of shape (s, s)
        Symmetric inverse root of the covariance of the standardized columns.
    scale : ndarray of shape (p,)
        Standard deviation (divisor n - 1) of each column of X, 1 for a constant column.
    null : ndarray of shape (s, s - rank)
        Orthonormal basis of the directions in which the kept columns do not vary.
    """

    whitened: NDArray
    selected: NDArray
    root: NDArray
    scale: NDArray
    null: NDArray

    @property
    def rank(self) -> int:
        """Rank of the covariance of the kept columns."""
        return self.null.shape[0] - self.null.shape[1]

    def directions(self, basis: NDArray, *, raw: bool) -> NDArray:
        """Return the columns of ``basis`` (s, d) as unit directions (p, d).

        They refer to X itself if ``raw``, to standardized X if not.
        """
        loadings = np.zeros((self.scale.size, basis.shape[1]))
        loadings[self.selected] = self.root @ basis
        if raw:
            # Unit length first: dividing by a large scale might underflow.
            loadings /= np.linalg.norm(loadings, axis=0)
            loadings /= self.scale[:, None]
        return loadings / np.linalg.norm(loadings, axis=0)


def distance_correlations(columns: NDArray, Y: NDArray) -> NDArray:
    r"""Distance correlation of every column of X (n, p) with the whole of Y (n, q).

    The V-statistic of Székely, Rizzo and Bakirov (2007): with a, b the doubly centred
    distance matrices, :math:`\{\sum ab / (\sum a^2 \sum b^2)^{1/2}\}^{1/2}`. Only b is
    formed: centring a projection, :math:`\sum ab` needs a uncentred, and
    :math:`\sum a^2` follows from the row sums of a.

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [4.0], [6.0]])
    >>> bool(np.allclose(distance_correlations(x, 3 - 2 * x), 1.0))
    True
    """
    n = len(columns)
    b = squareform(pdist(Y))
    b -= b.mean(axis=0)
    b -= b.mean(axis=1, keepdims=True)
    b_norm = np.linalg.norm(b)
    b_pairs = 2.0 * squareform(b, checks=False)
    # |x_(i) - x_(k)| summed over k, from the sorted column alone.
    ordered = np.sort(columns, axis=0)
    position = np.arange(1, n + 1)[:, None]
    total = np.cumsum(ordered, axis=0)
    row_sums = (2 * position - n) * ordered - 2 * total + total[-1]
    squares = 2 * n * np.sum(columns**2, axis=0) - 2 * np.sum(columns, axis=0) ** 2
    a_norm2 = squares - 2 * np.sum(row_sums**2, axis=0) / n + (row_sums.sum(axis=0) / n) ** 2
    # One column at a time, so that equal columns get equal values to the last bit.
    cross = np.array([pdist(x[:, None], "cityblock") @ b_pairs for x in columns.T])
    squared = cross / np.maximum(np.sqrt(np.maximum(a_norm2, 0.0)) * b_norm, np.finfo(float).tiny)
    return np.sqrt(np.maximum(squared, 0.0))


def prepare_predictors(
    X: NDArray, Y: NDArray, *, screen: int | Literal["default"] | None
) -> Predictors:
    r"""Standardize, screen and whiten X (n, p).

    With ``screen="default"`` the best :math:`\lceil n / \ln n\rceil` columns stay, with an
    integer that many, with None all. Constant columns never stay. Directions in which the
    kept columns do not vary are dropped from the whitening, so the result is finite when
    columns are collinear or outnumber the rows.
    """
    n = len(X)
    varies = varying_columns(X)
    center, scale = X.mean(axis=0), np.where(varies, X.std(axis=0, ddof=1), 1.0)
    selected = np.flatnonzero(varies)
    standardized = (X[:, selected] - center[selected]) / scale[selected]

    if screen == "default":
        screen = int(np.ceil(n / np.log(n)))
    if screen is not None and screen < selected.size:
        order = np.argsort(-distance_correlations(standardized, Y), kind="stable")[:screen]
        selected, standardized = selected[order], standardized[:, order]

    standardized = standardized - standardized.mean(axis=0)
    eigenvalues, vectors = np.linalg.eigh(standardized.T @ standardized / n)
    # Rounding leaves null eigenvalues at this size, of either sign. The package compares
    # 1 / (eigenvalue + n^-5) with n^5, which lets the sign decide.
    null = eigenvalues <= selected.size * np.finfo(float).eps * eigenvalues[-1]
    inverse = np.where(null, 0.0, 1.0 / np.where(null, 1.0, eigenvalues + float(n) ** -5))
    root = (vectors * np.sqrt(inverse)) @ vectors.T
    return Predictors(standardized @ root, selected, root, scale, vectors[:, null])


@dataclass(frozen=True)
class IndicatorResponses:
    r"""Indicator responses cut to 99 % of their variance.

    Attributes
    ----------
    working : ndarray of shape (n, k)
        :math:`U \Sigma` of the indicators' singular value decomposition: the responses of
        the local regressions, weighted.
    smooth : ndarray of shape (n, N)
        The indicators projected on the span of U: what cross-validation predicts.
    """

    working: NDArray
    smooth: NDArray

    @classmethod
    def of(cls, Y: NDArray) -> IndicatorResponses:
        """Build the indicators of every column of Y (n, q)."""
        indicators = np.hstack([_indicators(y) for y in Y.T])
        n, n_columns = indicators.shape
        if n > n_columns:
            vectors, values, _ = np.linalg.svd(indicators, full_matrices=False)
            eigenvalues = np.square(values)
        else:  # the n x n Gram matrix is the smaller problem
            eigenvalues, vectors = np.linalg.eigh(indicators @ indicators.T)
            eigenvalues, vectors = np.maximum(eigenvalues[::-1], 0.0), vectors[:, ::-1]
        share = np.cumsum(eigenvalues) / np.sum(eigenvalues)
        kept = int(np.argmax(share >= _KEPT_SHARE)) + 1
        U = vectors[:, :kept]
        return cls(U * np.sqrt(eigenvalues[:kept]), U @ (U.T @ indicators))


def _indicators(y: NDArray) -> NDArray:
    """Return centred indicators of y < c at its quantiles c, and the same less their row means."""
    n = y.size
    n_levels = max(min(99, n), int(n**0.6))
    # Kept in this order of operations: where n p is a half-integer, the quantile is a data
    # point and the comparison below turns on the last bit.
    rank = ((100 * (np.arange(1, n_levels + 1) / (n_levels + 1))) / 100) * n
    lower = np.floor(rank + 0.5)
    fraction = rank - lower
    below = np.clip(lower.astype(int) - 1, 0, n - 1)
    above = np.clip(lower.astype(int), 0, n - 1)
    ordered = np.sort(y)
    between = (0.5 - fraction) * ordered[below] + (0.5 + fraction) * ordered[above]
    levels = np.unique(np.where(below == above, ordered[below], between))
    first = (y[:, None] - levels < 0).astype(float)
    first -= first.mean(axis=0)
    second = first - first.mean(axis=1, keepdims=True)
    second -= second.mean(axis=0)
    return np.hstack([first, second])
