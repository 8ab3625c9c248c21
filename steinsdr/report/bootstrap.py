"""How far loadings move when the rows are drawn anew."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import orthogonal_procrustes
from scipy.stats import norm
from sklearn.base import clone
from tqdm import tqdm

from .._validation import check_integer, varying_columns
from ..subspace import chance_distance, orthonormalize, procrustes_distance
from .reduction import Reduction, unit_columns

__all__ = ["Bootstrap", "aligned", "bootstrap"]

LEVEL = 0.95
QUICK_TOL = 1e-3  # of the score; far below what drawing rows anew changes


@dataclass(frozen=True)
class Bootstrap:
    """Resampled loadings and subspaces.

    Attributes
    ----------
    loadings : ndarray of shape (N, p, r)
        Loadings of every resample, turned towards those of the fit.
    low, high : ndarray of shape (p, r)
        Intervals.
    distances : ndarray of shape (N,)
        Procrustes distance of each resample's subspace to that of the fit.
    chance : float
        The same distance between random subspaces; 0 if the subspace is the whole space.
    """

    loadings: NDArray
    low: NDArray
    high: NDArray
    distances: NDArray
    chance: float

    @property
    def instability(self) -> float:
        """Mean distance as a share of what chance gives: 0 stays put, 1 is not determined."""
        return float(self.distances.mean() / self.chance) if self.chance > 0 else 0.0


def aligned(loadings: NDArray, reduction: Reduction) -> tuple[NDArray, float]:
    """Turn loadings (p, r) towards those of a fit; return them and the distance that remains.

    A subspace has no preferred basis, so a rotation (or a sign) is no difference. It is taken out
    in the coordinates of the fit.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 3))
    >>> fit = Reduction(2, lam=1e-2).fit(X, X[:, :2] + rng.standard_normal((100, 2)))
    >>> turned, distance = aligned(fit.loadings_ @ [[0, -1], [1, 0]], fit)
    >>> bool(np.allclose(turned, fit.loadings_)) and distance < 1e-6
    True
    """
    target = reduction.basis_
    basis = orthonormalize(reduction.coordinates_.unroot.T @ loadings)
    rotation, _ = orthogonal_procrustes(basis, target)
    turned = unit_columns(reduction.coordinates_.root @ basis @ rotation)
    return turned, procrustes_distance(basis, target)


def bootstrap(
    reduction: Reduction,
    X: NDArray,
    Y: NDArray,
    X_unlabeled: NDArray | None = None,
    *,
    n_resamples: int = 200,
    seed: int = 0,
    progress: bool = False,
) -> Bootstrap:
    """Draw the rows anew, refit score and directions, and collect the loadings.

    Number of directions, coordinates and lambda stay as they were chosen: lambda, because
    equal rows on both sides of a fold would spoil its choice.

    Parameters
    ----------
    reduction : steinsdr.report.Reduction
        Fitted on these data.
    X, Y : ndarray of shape (n, p), (n, q)
    X_unlabeled : ndarray of shape (m, p), optional
        Drawn anew too.
    n_resamples : int
        At least 10.
    seed : int
    progress : bool
        Whether to show a progress bar.
    """
    check_integer(n_resamples, "n_resamples", low=10)
    rng = np.random.default_rng(seed)
    base = clone(reduction).set_params(
        n_components=reduction.loadings_.shape[1],
        scale=reduction.scale_,
        lam=reduction.lam_,
        tol=QUICK_TOL,
    )
    loadings = np.empty((n_resamples, *reduction.loadings_.shape))
    distances = np.empty(n_resamples)
    for b in tqdm(range(n_resamples), desc="bootstrap", disable=not progress, leave=False):
        rows = _draw(rng, X, Y)
        more = X_unlabeled
        if more is not None and len(more):
            more = more[_draw(rng, more)]
        fit = clone(base).fit(X[rows], Y[rows], more)
        # Weights per unit of the raw columns, then per sd of all rows.
        raw = fit.loadings_ / fit.coordinates_.sd[:, None]
        loadings[b], distances[b] = aligned(raw * reduction.coordinates_.sd[:, None], reduction)
    fitted, margin = reduction.loadings_, _margin(loadings)
    k, r = reduction.basis_.shape
    chance = chance_distance(k, r, rng=rng)[0] if r < k else 0.0
    # No loading of a unit vector exceeds one.
    low, high = np.maximum(fitted - margin, -1.0), np.minimum(fitted + margin, 1.0)
    return Bootstrap(loadings, low, high, distances, chance)


def _draw(rng: np.random.Generator, *tables: NDArray) -> NDArray:
    """Return row numbers drawn with replacement, such that every column that varies still does."""
    varying = [table[:, varying_columns(table)] for table in tables]
    while True:
        rows = rng.integers(len(tables[0]), size=len(tables[0]))
        if all(varying_columns(table[rows]).all() for table in varying):
            return rows


def _margin(loadings: NDArray) -> NDArray:
    """Half widths of normal intervals.

    Percentiles would not do: a unit vector that is shaken loses length along its old direction, so
    that resampled large loadings are too small.
    """
    return norm.ppf((1 + LEVEL) / 2) * loadings.std(axis=0, ddof=1)
