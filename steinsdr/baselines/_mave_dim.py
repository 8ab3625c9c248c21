"""The dimension by cross-validation, as ``mave.dim`` of the R package MAVE computes it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform

__all__ = ["cross_validate"]

_TIE = 1e-12


def cross_validate(
    X: NDArray, directions: Sequence[NDArray], responses: NDArray
) -> tuple[float, NDArray]:
    """Return the error of the mean, and of a kernel smoother on d directions for each d.

    The smoother leaves out the predicted point and works on the ranks of the reduced
    data. It is no honest cross-validation, for the directions have seen that point; and
    nothing penalizes d.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Predictors as observed.
    directions : sequence of ndarrays, the d-th of shape (p, d)
        Directions that refer to X.
    responses : ndarray of shape (n, N)
        What is predicted.

    Returns
    -------
    cv0 : float
        Mean absolute error with no direction.
    cv : ndarray
        Mean absolute error for d = 1, 2, ...
    """
    n = len(X)
    cv0 = (1 + 1 / n) * float(np.mean(np.abs(responses)))
    cv = []
    for basis in directions:
        d = basis.shape[1]
        ranks = _average_ranks(X @ basis) / (n + 1)
        h = np.mean(np.std(ranks, axis=0, ddof=1)) / n ** (1.0 / (d + 4))
        # All reduced points tied: every weight is one.
        spread = squareform(pdist(ranks, "cityblock")) / h if h > 0 else np.zeros((n, n))
        weights = 1.0 / np.square(np.square(1.0 + spread))
        np.fill_diagonal(weights, 0.0)
        weights /= weights.sum(axis=1, keepdims=True) + 1e-6
        # Subtracting the identity turns prediction and residual into one product.
        np.fill_diagonal(weights, -1.0)
        cv.append(np.mean(np.abs(weights @ responses)))
    return cv0, np.array(cv)


def _average_ranks(T: NDArray) -> NDArray:
    """Return zero-based ranks by column; values within 1e-12 of a run's first share their mean."""
    order = np.argsort(T, axis=0, kind="stable")
    ordered = np.take_along_axis(T, order, axis=0)
    position = np.repeat(np.arange(len(T), dtype=float)[:, None], T.shape[1], axis=1)
    for c in np.flatnonzero((np.diff(ordered, axis=0) <= _TIE).any(axis=0)):
        start = 0
        while start < len(T):
            stop = int(np.searchsorted(ordered[:, c] - ordered[start, c], _TIE, side="right"))
            position[start:stop, c] = (start + stop - 1) / 2
            start = stop
    ranks = np.empty_like(position)
    np.put_along_axis(ranks, order, position, axis=0)
    return ranks
