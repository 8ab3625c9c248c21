"""SteinSDR for columns in any units: coordinates, a tuned score, and weights in those units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from .._base import (
    check_choice,
    check_matrix,
    check_not_constant,
    check_numeric_columns,
    check_responses,
    split_labeled,
)
from ..estimator import SteinSDR
from ..rank import AdaptiveRank, tail_check
from ..scores import TikhonovScore
from ..scores.tikhonov import TikhonovScoreCV

__all__ = [
    "PERMUTATIONS",
    "QUANTILE",
    "SCALES",
    "Coordinates",
    "Reduction",
    "standardized",
    "unit_columns",
]

SCALES = ("auto", "standardize", "whiten")
WHITEN_ROWS = 10  # rows per predictor from which "auto" whitens
THIN = 1e-3  # of the largest spread; a thinner direction is often rounding: deg C beside deg F
MAX_RANK, QUANTILE, PERMUTATIONS = 10, 0.95, 500


def unit_columns(weights: NDArray) -> NDArray:
    """Return the columns of ``weights`` divided by their lengths."""
    return weights / np.linalg.norm(weights, axis=0)


@dataclass(frozen=True)
class Coordinates:
    """Coordinates z = root' (x - mean)/sd in which the directions are looked for.

    Attributes
    ----------
    mean, sd : ndarray of shape (p,)
    root : ndarray of shape (p, k)
        The identity, or whitening: then the columns of z are uncorrelated with variance one.
    unroot : ndarray of shape (p, k)
        ``unroot.T @ root`` is the identity.
    """

    mean: NDArray
    sd: NDArray
    root: NDArray
    unroot: NDArray

    @classmethod
    def of(cls, X: NDArray, *, whiten: bool) -> Coordinates:
        """Learn the coordinates from the rows of X (n, p).

        Whitening leaves out directions whose spread is below 1e-3 of the largest. They may be
        what rounding left of two equal columns, and whitening would blow it up to variance one.

        Examples
        --------
        >>> X = np.cumsum(np.random.default_rng(0).standard_normal((50, 3)), axis=1)
        >>> Z = Coordinates.of(X, whiten=True).forward(X)
        >>> bool(np.allclose(Z.T @ Z / 50, np.eye(3)))
        True
        """
        mean, sd = X.mean(axis=0), X.std(axis=0)
        if not whiten:
            eye = np.eye(X.shape[1])
            return cls(mean, sd, eye, eye)
        _, s, Vt = np.linalg.svd((X - mean) / sd / np.sqrt(len(X)), full_matrices=False)
        kept = s > THIN * s[0]
        return cls(mean, sd, Vt[kept].T / s[kept], Vt[kept].T * s[kept])

    def forward(self, X: NDArray) -> NDArray:
        """Return z for the rows of X, shape (n, k)."""
        return (X - self.mean) / self.sd @ self.root


class Reduction(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""SteinSDR in coordinates where no column counts more for its units, with a tuned score.

    The cross-moment's noise has the covariance of the score, about :math:`\Sigma^{-1}`: where
    predictors are correlated it is large in the thin directions of x, and singular vectors look
    there first. Whitened coordinates make it the same in all directions. Whitening needs many more
    rows than columns, which is why the paper does without. The central subspace is the same in
    either, up to the change of coordinates. Responses are standardized too, hence centred.

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
    coordinates_ : Coordinates
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
        check_numeric_columns(X, "X")
        points = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        responses = check_responses(y, n_rows=len(points))
        labeled = split_labeled(responses)
        if labeled.sum() < 2:
            raise ValueError(f"y has {labeled.sum()} labeled row(s); at least 2 are needed.")
        points, more, responses = points[labeled], points[~labeled], responses[labeled]
        check_not_constant(points, "X", getattr(self, "feature_names_in_", None))
        check_not_constant(responses, "y")
        n, p = points.shape
        check_choice(self.scale, "scale", SCALES)
        enough = n >= WHITEN_ROWS * p
        automatic = "whiten" if enough else "standardize"
        self.scale_ = automatic if self.scale == "auto" else self.scale
        self.coordinates_ = Coordinates.of(points, whiten=self.scale_ == "whiten")
        self.points_ = self.coordinates_.forward(points)
        if X_unlabeled is not None and len(np.asarray(X_unlabeled)):
            more = np.vstack([more, self._check_unlabeled(X_unlabeled)])
        extra, seen = None, points
        if len(more):
            extra = self.coordinates_.forward(more)
            seen = np.vstack([points, more]) if self.config != "sup" else points
        base = TikhonovScore(tol=self.tol)
        score: Any = TikhonovScoreCV(estimator=base, random_state=self.random_state)
        if self.lam is not None:
            score = base.set_params(lam=self.lam)
        self.sdr_ = SteinSDR(
            self.n_components,
            score=score,
            config=self.config,
            rank=self._rule(seen, self.points_.shape[1], responses.shape[1]),
            random_state=self.random_state,
        )
        self.sdr_.fit(self.points_, standardized(responses), X_unlabeled=extra)
        self.lam_ = float(self.sdr_.score_estimator_.lam_ if self.lam is None else self.lam)
        weights = unit_columns(self.coordinates_.root @ self.sdr_.components_.T)
        signs = np.sign(np.take_along_axis(weights, np.abs(weights).argmax(0)[None], axis=0))
        self.loadings_ = weights * signs
        self.basis_ = self.sdr_.components_.T * signs
        return self

    @property
    def _n_features_out(self) -> int:
        return self.loadings_.shape[1]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags

    def _check_unlabeled(self, X_unlabeled: ArrayLike) -> NDArray:
        extra = check_matrix(X_unlabeled, "X_unlabeled", n_columns=self.n_features_in_)
        try:  # names: columns in another order would be taken for those of X
            validate_data(self, X_unlabeled, reset=False, skip_check_array=True)
        except ValueError as error:
            raise ValueError(f"X_unlabeled: {error}") from error
        return extra

    def _rule(self, X: NDArray, k: int, q: int) -> AdaptiveRank:
        """Return Algorithm 2 with more permutations and a stricter quantile than the paper's.

        It looks at the tails of the columns themselves, not of their mixtures.
        """
        heavy = self.n_components == "auto" and tail_check(X).heavy
        return AdaptiveRank(
            max_rank=min(k, q, MAX_RANK),
            quantile=QUANTILE,
            n_permutations=PERMUTATIONS,
            branch="energy" if heavy else "permutation",
        )

    def transform(self, X: ArrayLike) -> NDArray:
        """Return the reduced predictors (n, r): standardized predictors times ``loadings_``."""
        check_is_fitted(self, "loadings_")
        points = validate_data(self, X, dtype=np.float64, reset=False)
        return (points - self.coordinates_.mean) / self.coordinates_.sd @ self.loadings_


def standardized(Y: NDArray) -> NDArray:
    """Return the columns of Y with mean zero and variance one."""
    return (Y - Y.mean(axis=0)) / Y.std(axis=0)
