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

__all__ = ["Bootstrap", "aligned", "bootstrap", "intervals"]

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
        Intervals, see :func:`intervals`.
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


def intervals(fitted: NDArray, resampled: NDArray) -> tuple[NDArray, NDArray]:
    r"""Intervals for the loadings of the true direction, from those of a fit and of its resamples.

    A fit is the true direction and noise, cut to length one: with many predictors the noise takes
    much of that length, and large loadings come out too small. With e the squared length of the
    noise over that of the signal, the fit keeps the share :math:`a = 1/\sqrt{1 + e}` of a true
    loading. A resample adds the same noise once more, so that its mean product with the fit is
    :math:`c = \sqrt{(1 + e)/(1 + 2e)}`, which can be seen, and :math:`a^2 = 2 - 1/c^2`. In units of
    the true direction the fitted loading is 1/a, and the standard deviation of the resampled
    loadings 1/(ac) times as large. The intervals are normal, with this centre and spread. They end
    at -1 and 1, as loadings do, and are widened where they would leave out the fitted one.

    Percentiles of the resamples would not do: they are shrunk twice.

    The correction takes the noise of a resample for that of a fit, and knows of noise alone. It
    fails with very few rows, where a few of them carry a direction, and where the score is biased,
    as by its regularization if predictors are correlated and not whitened. In simulations with two
    to five rows per predictor 90 to 100 of 100 intervals hold a large loading, 90 to 92 one that
    is zero; with neighbours that have a correlation of 0.5, not whitened, 80 and 88. Where c is no
    more than :math:`\sqrt{1/2}` noise hides the direction: the interval is all from -1 to 1.

    Parameters
    ----------
    fitted : ndarray of shape (p, r)
        Columns of length one.
    resampled : ndarray of shape (N, p, r)
        The same of each resample, turned towards the fit.

    Returns
    -------
    low, high : ndarray of shape (p, r)

    Examples
    --------
    A loading of 0.8 and one of 0.6 among 30, with noise of standard deviation 0.1 on each:

    >>> rng = np.random.default_rng(0)
    >>> true = np.array([0.8, 0.6] + 28 * [0.0])[:, None]
    >>> seen = true + 0.1 * rng.standard_normal((30, 1))
    >>> again = seen + 0.1 * rng.standard_normal((200, 30, 1))
    >>> fitted = unit_columns(seen)
    >>> low, high = intervals(fitted, np.array([unit_columns(one) for one in again]))
    >>> np.column_stack([low, fitted, high])[:2].round(2)
    array([[0.7 , 0.74, 1.  ],
           [0.43, 0.53, 0.8 ]])
    """
    product = np.einsum("bpr,pr->r", resampled, fitted) / len(resampled)
    known = 2.0 * product * np.abs(product) > 1.0
    c = np.where(known, product, 1.0)
    a = np.sqrt(2.0 - 1.0 / np.square(c))
    margin = norm.ppf((1 + LEVEL) / 2) * resampled.std(axis=0, ddof=1) / c
    low = np.maximum(np.minimum((fitted - margin) / a, fitted), -1.0)
    high = np.minimum(np.maximum((fitted + margin) / a, fitted), 1.0)
    return np.where(known, low, -1.0), np.where(known, high, 1.0)


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
    k, r = reduction.basis_.shape
    chance = chance_distance(k, r, rng=rng)[0] if r < k else 0.0
    low, high = intervals(reduction.loadings_, loadings)
    return Bootstrap(loadings, low, high, distances, chance)


def _draw(rng: np.random.Generator, *tables: NDArray) -> NDArray:
    """Return row numbers drawn with replacement, such that every column that varies still does."""
    varying = [table[:, varying_columns(table)] for table in tables]
    while True:
        rows = rng.integers(len(tables[0]), size=len(tables[0]))
        if all(varying_columns(table[rows]).all() for table in varying):
            return rows
