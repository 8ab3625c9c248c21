"""How far loadings move when the rows are drawn anew."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import orthogonal_procrustes
from scipy.stats import norm
from sklearn.base import BaseEstimator, clone
from tqdm import tqdm

from .._base import check_integer, varying_columns
from ..subspace import chance_distance, orthonormalize, procrustes_distance

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
    products : ndarray of shape (N, r)
        Of the directions of each resample with those of the fit, both of length one in the fit's
        coordinates, after turning.
    cosines : ndarray of shape (N, r)
        The same before turning, without signs. Smaller where directions turn among themselves.
    """

    loadings: NDArray
    low: NDArray
    high: NDArray
    distances: NDArray
    chance: float
    products: NDArray
    cosines: NDArray

    @property
    def instability(self) -> float:
        """Mean distance over ``chance``: 0 if no resample moves, 1 if all are random."""
        return float(self.distances.mean() / self.chance) if self.chance > 0 else 0.0


def aligned(loadings: NDArray, reduction: BaseEstimator) -> tuple[NDArray, NDArray, NDArray]:
    """Turn the subspace of loadings (p, r) towards that of a fit.

    A subspace has no preferred basis, so a rotation (or a sign) is no difference. It is taken out
    in the coordinates of the fit, where directions have length one. In units of the standardized
    predictors they are divided by the length of the fit, not by their own: after whitening one
    nearly collinear pair may hold most of it, and would move all other loadings along.

    Returns
    -------
    turned_loadings : ndarray of shape (p, r)
        Loadings of the turned basis, in units of the fit's length.
    basis, turned : ndarray of shape (k, r)
        The subspace in the fit's coordinates: an orthonormal basis in the order of ``loadings``,
        and the same turned towards the fit.

    Examples
    --------
    >>> from steinsdr.report import Reduction
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 3))
    >>> fit = Reduction(2, lam=1e-2).fit(X, X[:, :2] + rng.standard_normal((100, 2)))
    >>> turned, _, _ = aligned(fit.loadings_ @ [[0, -1], [1, 0]], fit)
    >>> bool(np.allclose(turned, fit.loadings_))
    True
    """
    root, target = reduction.root_, reduction.basis_
    basis = orthonormalize(np.linalg.pinv(root) @ loadings)
    turned = basis @ orthogonal_procrustes(basis, target)[0]
    return root @ turned / np.linalg.norm(root @ target, axis=0), basis, turned


def intervals(
    fitted: NDArray, resampled: NDArray, products: NDArray | None = None
) -> tuple[NDArray, NDArray]:
    r"""Intervals for the loadings of the true direction, from those of a fit and of its resamples.

    A fit is the true direction and noise, cut to length one: with many predictors the noise takes
    much of that length, and large loadings come out too small. With e the squared length of the
    noise over that of the signal, the fit keeps the share :math:`a = 1/\sqrt{1 + e}` of a true
    loading. A resample adds the same noise once more, so that its mean product with the fit is
    :math:`c = \sqrt{(1 + e)/(1 + 2e)}`, which can be seen, and :math:`a^2 = 2 - 1/c^2`. In units of
    the true direction the fitted loading is 1/a, and the standard deviation of the resampled
    loadings 1/(ac) times as large. The intervals are normal, with this centre and spread, and are
    widened where they would leave out the fitted one. They end at -1 and 1, as loadings do, unless
    ``products`` are given.

    Percentiles of the resamples would not do: they are shrunk twice.

    The correction takes the noise of a resample for that of a fit. It fails with very few rows,
    where a few of them carry a direction. It also fails where the score is biased, as by its
    regularization if predictors are correlated and not whitened. In simulations with two
    to five rows per predictor 90 to 100 of 100 intervals hold a large loading, 90 to 92 one that
    is zero; with neighbours that have a correlation of 0.5, not whitened, 80 and 88. Where c is no
    more than :math:`\sqrt{1/2}` noise hides the direction: the interval is all from -1 to 1.

    Parameters
    ----------
    fitted : ndarray of shape (p, r)
        Columns of length one.
    resampled : ndarray of shape (N, p, r)
        The same of each resample, turned towards the fit.
    products : ndarray of shape (N, r), optional
        Of the resamples with the fit, in coordinates where the noise is even. By default those of
        the loadings. After whitening these are others; loadings are then in units of the fit's
        length, where a true one may lie beyond 1.

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
    >>> fitted, again = (v / np.linalg.norm(v, axis=-2, keepdims=True) for v in (seen, again))
    >>> low, high = intervals(fitted, again)
    >>> np.column_stack([low, fitted, high])[:2].round(2)
    array([[0.7 , 0.74, 1.  ],
           [0.43, 0.53, 0.8 ]])
    """
    limit = 1.0 if products is None else np.inf
    if products is None:
        products = np.einsum("bpr,pr->br", resampled, fitted)
    product = products.mean(axis=0)
    known = 2.0 * product * np.abs(product) > 1.0
    c = np.where(known, product, 1.0)
    a = np.sqrt(2.0 - 1.0 / np.square(c))
    margin = norm.ppf((1 + LEVEL) / 2) * resampled.std(axis=0, ddof=1) / c
    low = np.maximum(np.minimum((fitted - margin) / a, fitted), -limit)
    high = np.minimum(np.maximum((fitted + margin) / a, fitted), limit)
    return np.where(known, low, -1.0), np.where(known, high, 1.0)


def bootstrap(
    reduction: BaseEstimator,
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
    target = reduction.basis_
    k, r = target.shape
    base = clone(reduction).set_params(
        n_components=r, scale=reduction.scale_, lam=reduction.lam_, tol=QUICK_TOL
    )
    loadings = np.empty((n_resamples, *reduction.loadings_.shape))
    distances = np.empty(n_resamples)
    products, cosines = np.empty((2, n_resamples, r))
    for b in tqdm(range(n_resamples), desc="bootstrap", disable=not progress, leave=False):
        rows = _draw(rng, X, Y)
        more = X_unlabeled
        if more is not None and len(more):
            more = more[_draw(rng, more)]
        fit = clone(base).fit(X[rows], Y[rows], more)
        # Weights per sd of the drawn rows, then per sd of all rows.
        units = reduction.coordinates_[0].scale_ / fit.coordinates_[0].scale_
        loadings[b], basis, turned = aligned(fit.loadings_ * units[:, None], reduction)
        distances[b] = procrustes_distance(basis, target)
        products[b] = (turned * target).sum(axis=0)
        cosines[b] = np.abs((basis * target).sum(axis=0))
    chance = chance_distance(k, r, rng=rng)[0] if r < k else 0.0
    whitened = reduction.scale_ == "whiten"
    low, high = intervals(reduction.loadings_, loadings, products if whitened else None)
    return Bootstrap(loadings, low, high, distances, chance, products, cosines)


def _draw(rng: np.random.Generator, *tables: NDArray) -> NDArray:
    """Return row numbers drawn with replacement, such that every column that varies still does."""
    varying = [table[:, varying_columns(table)] for table in tables]
    while True:
        rows = rng.integers(len(tables[0]), size=len(tables[0]))
        if all(varying_columns(table[rows]).all() for table in varying):
            return rows
