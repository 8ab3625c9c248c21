"""The loadings of the chapter's genes, and how far they move when rows are drawn anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import orthogonal_procrustes
from scipy.stats import norm
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data
from tqdm import tqdm

from .._base import (
    check_integer,
    check_not_constant,
    check_numeric_columns,
    check_responses,
    split_labeled,
    varying_columns,
)
from ..estimator import SteinSDR
from ..rank import AdaptiveRank, DirectionTransformer, tail_check
from ..scores import TikhonovScore
from ..scores.tikhonov import TikhonovScoreCV
from ..subspace import chance_distance, orthonormalize, procrustes_distance

__all__ = ["Bootstrap", "Reduction", "aligned", "bootstrap", "intervals"]

LEVEL = 0.95
QUICK_TOL = 1e-3  # of the score; far below what drawing rows anew changes


WHITEN_ROWS = 10  # rows per predictor from which "auto" whitens
THIN = 1e-3  # of the largest spread; a thinner direction is often rounding: deg C beside deg F
MAX_RANK, QUANTILE, PERMUTATIONS = 10, 0.95, 500


class Reduction(DirectionTransformer):
    r"""SteinSDR in coordinates where no column counts more for its units, with a tuned score.

    The coordinates are those of a ``StandardScaler``, or of a ``StandardScaler`` and a
    ``PCA(whiten=True)``. The cross-moment's noise has the covariance of the score, about
    :math:`\Sigma^{-1}`: where predictors are correlated it is large in the thin directions of x,
    and singular vectors look there first. Whitened coordinates make it the same in all directions.
    Whitening needs many more rows than columns, which is why the paper does without. It leaves out
    directions whose spread is below 1e-3 of the largest: they may be what rounding left of two
    equal columns. The central subspace is the same in either coordinates, up to their change.
    Responses are standardized too, hence centred.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Number of directions.
    scale : {"auto", "standardize", "whiten"}, default="auto"
        Coordinates; "auto" whitens from 10 labeled rows per predictor.
    config : {"sup", "split", "full"}, default="sup"
        Rows that the score is learned from, see :class:`steinsdr.SteinSDR`.
    lam : float or None, default=None
        Regularization of the score; None chooses it by held-out score matching.
    tol : float, default=1e-5
        Precision of the score, see :class:`steinsdr.scores.TikhonovScore`.
    random_state : int, default=0
        Permutations and folds.

    Attributes
    ----------
    scale_ : str
        "standardize" or "whiten".
    coordinates_ : Pipeline
        The map to the coordinates, learned from the labeled rows.
    root_ : ndarray of shape (p, k)
        Its matrix: the coordinates are the standardized predictors times ``root_``.
    sdr_ : SteinSDR
        Fitted in these coordinates on standardized responses.
    lam_ : float
    points_ : ndarray of shape (n, k)
        The labeled rows in these coordinates.
    loadings_ : ndarray of shape (p, r)
        Weights of the standardized predictors, each column of length one and with its largest
        entry positive.
    basis_ : ndarray of shape (k, r)
        The same directions in these coordinates, orthonormal.

    Examples
    --------
    Units do not matter:

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 3))
    >>> Y = X[:, :1] + 0.1 * rng.standard_normal((100, 1))
    >>> one, two = (Reduction(1).fit(X * unit, Y).loadings_ for unit in (1.0, [1, 10, 1000]))
    >>> bool(np.allclose(one, two, atol=1e-4))
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "scale": [StrOptions({"auto", "standardize", "whiten"})]
    }

    def __init__(
        self,
        n_components: int | Literal["auto"] = "auto",
        *,
        scale: str = "auto",
        config: str = "sup",
        lam: float | None = None,
        tol: float = 1e-5,
        random_state: int = 0,
    ) -> None:
        self.n_components = n_components
        self.scale = scale
        self.config = config
        self.lam = lam
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, X_unlabeled: ArrayLike | None = None) -> Self:
        """Estimate the directions from predictors (n, p) and responses (n,) or (n, q).

        Rows whose responses are all NaN count as unlabeled, like those of ``X_unlabeled`` (m, p).
        """
        self._validate_params()
        check_numeric_columns(X, "X")
        points = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        responses = check_responses(y, n_rows=len(points))
        if X_unlabeled is not None:
            more = validate_data(
                self, X_unlabeled, dtype=np.float64, reset=False, ensure_min_samples=0
            )
            points = np.vstack([points, more])
            responses = np.pad(responses, ((0, len(more)), (0, 0)), constant_values=np.nan)
        labeled = split_labeled(responses)
        if labeled.sum() < 2:
            raise ValueError(f"y has {labeled.sum()} labeled row(s); at least 2 are needed.")
        check_not_constant(points[labeled], "X", getattr(self, "feature_names_in_", None))
        self._set_coordinates(points[labeled])
        Z = self.coordinates_.transform(points)
        self.points_ = Z[labeled]
        score: Any = TikhonovScore(tol=self.tol)
        if self.lam is None:
            score = TikhonovScoreCV(estimator=score, random_state=self.random_state)
        else:
            score.set_params(lam=self.lam)
        # The rule looks at the tails of the columns themselves, not of their mixtures.
        seen = points[labeled] if self.config == "sup" else points
        heavy = self.n_components == "auto" and tail_check(seen).heavy
        rule = AdaptiveRank(
            max_rank=min(Z.shape[1], responses.shape[1], MAX_RANK),
            quantile=QUANTILE,
            n_permutations=PERMUTATIONS,
            branch="energy" if heavy else "permutation",
        )
        self.sdr_ = SteinSDR.paper(
            self.n_components,
            score_estimator=score,
            config=self.config,
            rank=rule,
            random_state=self.random_state,
        )
        self.sdr_.fit(Z, StandardScaler().fit_transform(responses))  # NaN stays NaN
        self.lam_ = float(self.sdr_.score_estimator_.lam_ if self.lam is None else self.lam)  # type: ignore[attr-defined]
        weights = self.root_ @ self.sdr_.components_.T
        weights /= np.linalg.norm(weights, axis=0)
        signs = np.sign(np.take_along_axis(weights, np.abs(weights).argmax(0)[None], axis=0))
        self.loadings_ = weights * signs
        self.basis_ = self.sdr_.components_.T * signs
        return self

    @property
    def _n_features_out(self) -> int:
        return self.loadings_.shape[1]

    def _set_coordinates(self, points: NDArray) -> None:
        n, p = points.shape
        automatic = "whiten" if n >= WHITEN_ROWS * p else "standardize"
        self.scale_ = automatic if self.scale == "auto" else self.scale
        scaler = StandardScaler().fit(points)
        self.coordinates_, self.root_ = make_pipeline(scaler), np.eye(p)
        if self.scale_ == "whiten":
            standard = scaler.transform(points)
            spread = PCA(svd_solver="full").fit(standard).singular_values_
            kept = int((spread > THIN * spread[0]).sum())
            pca = PCA(kept, whiten=True, svd_solver="full").fit(standard)
            self.coordinates_ = make_pipeline(scaler, pca)
            self.root_ = pca.components_.T / np.sqrt(pca.explained_variance_)

    def transform(self, X: ArrayLike) -> NDArray:
        """Return the reduced predictors (n, r): standardized predictors times ``loadings_``."""
        check_is_fitted(self, "loadings_")
        points = validate_data(self, X, dtype=np.float64, reset=False)
        return self.coordinates_[0].transform(points) @ self.loadings_


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
    >>> from steinsdr.paper.reduction import Reduction
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
    reduction : Reduction
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
