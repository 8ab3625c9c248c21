"""SteinSDR: score, cross-moment, singular vectors and rank, as a scikit-learn transformer."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.linear_model import LinearRegression
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ._base import (
    InstanceWith,
    check_matrix,
    check_not_constant,
    check_numeric_columns,
    check_responses,
    split_labeled,
    varying_columns,
)
from .moments import cross_moment
from .rank import AdaptiveRank, DirectionTransformer, RankRule
from .scores import DenoisingScore, ScoreEstimator, TikhonovScore

__all__ = ["LabeledOnly", "SteinSDR"]

CONFIGS = ("sup", "split", "full")
_SCORES = {"tikhonov": TikhonovScore, "denoising": DenoisingScore}
_MEAN_LIMIT = 0.5  # of the mean's part in the cross-moment, against the largest singular value
_UNITS_LIMIT = 10.0


class SteinSDR(DirectionTransformer):
    r"""Sufficient dimension reduction via the generalized Stein's lemma.

    For :math:`y = \mathcal F(B^\top x) + \varepsilon` with responses in :math:`\mathbb R^q`, the
    cross-moment :math:`M = E\{s(x) y^\top\}` with the score :math:`s = -\nabla \log p` of x has
    columns in the span of B (Lemma 1). The estimate is the span of the top left singular vectors of
    :math:`\hat M = n_\ell^{-1} \sum_i \hat s(x_i) y_i^\top`.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Dimension r, at most min(p, q): with one response at most one direction is
        identifiable. "auto" selects it with ``rank``.
    score : {"tikhonov", "denoising"} or object, default="tikhonov"
        Score estimator with its default settings, or any object with ``fit(X)`` and
        ``evaluate(X)``, for example ``TikhonovScore(lam=1e-5)``; it is cloned, not modified. The
        defaults are the paper's, for about a hundred columns; with ten or fewer use
        :class:`steinsdr.scores.TikhonovScoreCV`.
    config : {"sup", "split", "full"}, default="sup"
        Where the score is learned: labeled rows, unlabeled rows, or both. The cross-moment
        always uses the labeled rows. The paper recommends "sup" with the Tikhonov and "split"
        with the denoising score.
    rank : "adaptive" or object, default="adaptive"
        Rank rule for ``n_components="auto"``: Algorithm 2 with its defaults, or an object such
        as ``AdaptiveRank(max_rank=5)`` or ``HardThreshold(0.3)``.
    center : bool, default=False
        Centre the responses first. The lemma holds either way and the paper does not. Without
        it the responses' mean adds noise, little with "sup", whose scores average nearly
        zero, much with "split" and "full"; a warning says when it does.
    random_state : int, RandomState or None, default=None
        Permutations of the rank rule, and the score if given by name.

    Attributes
    ----------
    components_ : ndarray of shape (r, p)
        Orthonormal rows that span the estimated central subspace, in the raw scale of X.
    singular_values_ : ndarray of shape (min(p, q),)
        All singular values of the cross-moment.
    cross_moment_ : ndarray of shape (p, q)
        :math:`\hat M`.
    scores_ : ndarray of shape (n_l, p)
        :math:`\hat s(x_i)` at the labeled rows.
    score_estimator_ : object
        The fitted score estimator.
    n_components_ : int
        Dimension used.
    rank_ : RankSelection or None
        How it was selected; None if ``n_components`` is an integer.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    The mean gradient of every link is all the method sees. A link that is even in a symmetric
    index is invisible, and q responses show at most q directions. Covariates must be continuous.
    Responses in different units should be standardized first: singular values weigh them. So
    should covariates (``StandardScaler`` in a pipeline): the score of a column in small units is
    large, and the leading directions follow it. A warning says when spreads differ tenfold.

    Examples
    --------
    >>> from steinsdr.simulation import simulate
    >>> data = simulate("isotropic", n=500, p=20)
    >>> sdr = SteinSDR(n_components=3).fit(data.X, data.Y)
    >>> sdr.transform(data.X).shape
    (500, 3)
    >>> bool(np.allclose(sdr.components_ @ sdr.components_.T, np.eye(3)))
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DirectionTransformer._parameter_constraints,
        "score": [StrOptions(set(_SCORES)), InstanceWith(["fit", "evaluate"])],
        "config": [StrOptions(set(CONFIGS))],
        "center": ["boolean"],
    }

    def __init__(
        self,
        n_components: int | Literal["auto"] = "auto",
        *,
        score: str | ScoreEstimator = "tikhonov",
        config: str = "sup",
        rank: str | RankRule = "adaptive",
        center: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.score = score
        self.config = config
        self.rank = rank
        self.center = center
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, X_unlabeled: ArrayLike | None = None) -> Self:
        """Estimate the central subspace.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Covariates.
        y : array-like of shape (n,) or (n, q)
            Responses Y; one of them at least must vary. Rows that are all NaN count as unlabeled.
        X_unlabeled : array-like of shape (n_u, p), optional
            Further covariates without responses; with ``config="sup"`` they take no part. The
            earlier steps of a pipeline do not see them unless it was told so (``transform_input``
            of ``Pipeline``); rows of NaN in ``y`` need no telling.
        """
        self._validate_params()
        check_numeric_columns(X, "X")
        points = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        responses = check_responses(y, n_rows=len(points))
        has_label = split_labeled(responses)
        if has_label.sum() < 2:
            raise ValueError(f"y has {has_label.sum()} labeled row(s); at least 2 are needed.")
        labeled, responses = points[has_label], responses[has_label]
        unlabeled = self._unlabeled(points[~has_label], X_unlabeled)
        if not varying_columns(responses).any():
            raise ValueError("y: every response is constant; at least one must vary.")
        limit = min(points.shape[1], responses.shape[1])
        if self.n_components != "auto" and self.n_components > limit:
            raise ValueError(
                f"n_components={self.n_components} but X has {points.shape[1]} column(s) and y has "
                f"{responses.shape[1]}; at most min(p, q) = {limit} direction(s) are identifiable "
                "from first moments."
            )
        if self.center:
            responses = responses - responses.mean(axis=0)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))

        parts = {"sup": [labeled], "split": [unlabeled], "full": [labeled, unlabeled]}
        train = np.vstack(parts[self.config])
        self.scores_ = self._labeled_scores(labeled, train, seed=int(rng.integers(2**31)))
        self.cross_moment_ = cross_moment(self.scores_, responses)
        U, self.singular_values_, Vt = np.linalg.svd(self.cross_moment_, full_matrices=False)
        self.n_components_ = self._select_dimension(
            AdaptiveRank() if isinstance(self.rank, str) else self.rank,
            self.cross_moment_,
            limit=limit,
            scores=self.scores_,
            Y=responses,
            X=labeled if self.config == "sup" else np.vstack([labeled, unlabeled]),
            rng=rng,
        )
        # Signs fixed by the largest loading, so that equal fits look equal.
        self.components_ = svd_flip(U, Vt)[0].T[: self.n_components_]
        for message in self._warnings(train, responses):
            warnings.warn(message, stacklevel=2)
        return self

    def _unlabeled(self, points: NDArray, X_unlabeled: ArrayLike | None) -> NDArray:
        """Return all covariates without responses, those of X first."""
        if X_unlabeled is not None:
            extra = check_matrix(X_unlabeled, "X_unlabeled", n_columns=self.n_features_in_)
            try:  # names: columns in another order would be taken for those of X
                validate_data(self, X_unlabeled, reset=False, skip_check_array=True)
            except ValueError as error:
                raise ValueError(f"X_unlabeled: {error}") from error
            points = np.vstack([points, extra])
        if self.config != "sup" and not len(points):
            raise ValueError(
                f"config={self.config!r} needs unlabeled rows, and there are none: pass "
                "X_unlabeled, or rows of y that are all NaN."
            )
        return points

    def _labeled_scores(self, labeled: NDArray, train: NDArray, *, seed: int) -> NDArray:
        """Learn the score from ``train`` and return it at the labeled rows, (n_l, p)."""
        check_not_constant(train, "X", getattr(self, "feature_names_in_", None))
        if isinstance(self.score, str):
            estimator: Any = _SCORES[self.score](random_state=seed)
        else:
            estimator = clone(self.score, safe=False)
        self.score_estimator_ = estimator.fit(train)
        known = None if self.config == "split" else getattr(estimator, "train_scores_", None)
        scores = estimator.evaluate(labeled) if known is None else known[: len(labeled)]
        scores = check_matrix(scores, "the score estimator's output", n_columns=labeled.shape[1])
        if len(scores) != len(labeled):
            raise ValueError(
                f"score returned {len(scores)} rows for {len(labeled)} points; they must match."
            )
        return scores

    def _warnings(self, train: NDArray, Y: NDArray) -> Iterator[str]:
        """Name what the cross-moment of this fit may show in place of directions."""
        if _units_differ(train):
            yield (
                "X: the spreads of the columns differ by more than a factor of "
                f"{_UNITS_LIMIT:.0f}, and directions follow the smallest. Standardize the columns "
                "first, for example with a StandardScaler in a pipeline, unless the units are "
                "meant."
            )
        # The part of the responses' mean is zero for the true score. Its rank is one.
        mean_part = np.outer(self.scores_.mean(axis=0), Y.mean(axis=0))
        size, rest = (
            np.linalg.norm(mean_part),
            np.linalg.norm(self.cross_moment_ - mean_part, ord=2),
        )
        if size > _MEAN_LIMIT * rest:
            yield (
                f"y: the mean of the responses adds {size:.2g} to a cross-moment whose largest "
                f"singular value is {rest:.2g} without it. What it adds is noise; pass center=True."
            )
        # A user's own rule may have no thresholds.
        thresholds = getattr(self.rank_, "thresholds", None)
        if thresholds is not None and self.singular_values_[0] <= thresholds[0]:
            yield (
                f"rank: no direction stands out, the largest singular value is "
                f"{self.singular_values_[0]:.2g} and its threshold {thresholds[0]:.2g}. One "
                "direction is kept all the same; do not trust it."
            )
        # With as many directions as responses all are kept, whatever their units.
        if self.n_components_ < Y.shape[1] and _units_differ(Y):
            yield (
                "y: the spreads of the responses differ by more than a factor of "
                f"{_UNITS_LIMIT:.0f}, and directions follow the largest. Standardize y first, "
                "unless the units are meant."
            )


def _units_differ(X: NDArray) -> bool:
    """Return whether columns differ tenfold in spread, by standard deviation and by quartiles.

    Both must: heavy tails alone make standard deviations differ, and many equal values quartiles.
    """
    low, high = np.quantile(X, [0.25, 0.75], axis=0)
    spreads = (X.std(axis=0), (high - low)[high > low])
    return all(s.size > 0 and s.max() > _UNITS_LIMIT * s.min() for s in spreads)


class LabeledOnly(RegressorMixin, MetaEstimatorMixin, BaseEstimator):
    """Fit and score a regressor on the rows whose responses are not all NaN.

    :class:`steinsdr.SteinSDR` learns its score from unlabeled rows too; the regressor after it
    must not see them. With this wrapper, and its ``score``, ``cross_val_score`` runs on data where
    most rows of Y are NaN.

    Parameters
    ----------
    estimator : regressor, default=None
        None is ``LinearRegression()``.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from steinsdr import SteinSDR
    >>> from steinsdr.simulation import simulate
    >>> data = simulate("isotropic", n=200, p=5)
    >>> Y = data.Y.copy()
    >>> Y[::2] = np.nan
    >>> pipe = make_pipeline(SteinSDR(3, config="full"), LabeledOnly())
    >>> bool(np.isfinite(cross_val_score(pipe, data.X, Y, cv=3)).all())
    True
    """

    def __init__(self, estimator: Any = None) -> None:
        self.estimator = estimator

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the regressor on the labeled rows."""
        points, responses = self._labeled(validate_data(self, X, dtype=np.float64), y)
        base = LinearRegression() if self.estimator is None else clone(self.estimator)
        self.estimator_ = base.fit(points, responses)
        return self

    def predict(self, X: ArrayLike) -> NDArray:
        """Predict with the fitted regressor."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict(validate_data(self, X, dtype=np.float64, reset=False))

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: Any = None) -> float:
        """Return the fitted regressor's score on the labeled rows."""
        check_is_fitted(self, "estimator_")
        points = validate_data(self, X, dtype=np.float64, reset=False)
        if sample_weight is not None:
            mask = split_labeled(check_responses(y, n_rows=len(points)))
            sample_weight = _check_sample_weight(sample_weight, points)[mask]
        return self.estimator_.score(*self._labeled(points, y), sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    @staticmethod
    def _labeled(points: NDArray, y: ArrayLike) -> tuple[NDArray, NDArray]:
        responses = check_responses(y, n_rows=len(points), name="y")
        mask = split_labeled(responses, name="y")
        if not mask.any():
            raise ValueError("y has no labeled row: every row is NaN.")
        targets = responses[mask]
        return points[mask], targets.ravel() if np.asarray(y).ndim == 1 else targets
