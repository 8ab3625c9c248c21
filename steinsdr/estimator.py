"""SteinSDR: score, moment, singular vectors and rank, as a scikit-learn transformer."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import svd_flip
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from ._base import (
    InstanceWith,
    check_argument,
    check_groups,
    check_integer,
    check_matrix,
    check_names,
    check_not_constant,
    check_numeric_columns,
    check_points,
    check_responses,
    check_result,
    check_spread,
    is_dask,
    split_labeled,
    varying_columns,
)
from .blocks import add_up, block_rows, labeled_rows
from .link import KernelLink, fit_link, is_linear, link_gradients
from .moments import (
    AugmentedMoment,
    EfficientMoment,
    RidgeTerms,
    cross_moment,
    fourier_weights,
    loading_errors,
)
from .rank import AdaptiveRank, DirectionTransformer, RankRule, SequentialRank
from .scores import DenoisingScore, ScoreEstimator, TikhonovScore
from .subspace import heavy_tails, learn_coordinates

CONFIGS = ("sup", "split", "full")
_PAPER: dict[str, Any] = {
    "augment": None,
    "weights": None,
    "scale": "sd",
    "center": False,
    "pca": None,
    "config": "sup",
    "rank": "adaptive",
}
_SCORES = {"tikhonov": TikhonovScore, "denoising": DenoisingScore}
_RANKS = {"sequential": SequentialRank, "adaptive": AdaptiveRank}
_MEAN_LIMIT = 0.5  # of the mean's part in the cross-moment, against the largest singular value
_UNITS_LIMIT = 10.0
_CHUNK_ROWS = 20_000
_POOLED = {"sd": 1.0, "robust": 0.1}  # of the penalties' choice, with light and heavy tails
_MAX_PREDICTIVE = 8  # directions among which prediction chooses, if the links are nonlinear
_LARGE_GROUP = 20  # rows a column that a group needs for a score of its own


class SteinSDR(DirectionTransformer):
    r"""Sufficient dimension reduction via the generalized Stein's lemma.

    For :math:`y = \mathcal F(B^\top x) + \varepsilon` with responses in :math:`\mathbb R^q` and
    the score :math:`s = -\nabla \log p` of x, where p is the density of x, the moment
    :math:`M = E\{s(x) y^\top\}` has columns in the span of B (Lemma 1). So has, for every weight w
    and every fit :math:`\hat f` of the mean response f,

    .. math:: M_w = E\{w \nabla \hat f^\top\} + E[\{w s - \nabla w\}\{y - \hat f(x)\}^\top]
        = E\{w \nabla f(x)^\top\}.

    The estimate is the span of the leading left singular vectors of the sample moment. The defaults
    use a fit and the most efficient weights. The paper's estimator, with w = 1 and no fit, is
    :meth:`SteinSDR.paper`.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Number of directions, the dimension r of the subspace. "auto" selects it with ``rank``.
    score_estimator : {"tikhonov", "denoising"} or object, default="tikhonov"
        A name, or any object with ``fit(X)`` and ``evaluate(X)``, which is cloned. The name
        "tikhonov" is :class:`steinsdr.scores.TikhonovScore` with :math:`\lambda = 10^{-2}/p`,
        multiplied by :math:`(p/n)^2` if there are fewer rows than columns, and with 1e-4 for the
        paper's moment. A parameter ``standardize`` is set to False, as the columns are scaled
        before.
    config : {"auto", "sup", "split", "full"}, default="auto"
        Rows from which the score is learned: the labeled ones ("sup"), the unlabeled ones
        ("split") or both ("full"). The moment always uses the labeled rows. "auto" is "full" if
        there are unlabeled rows and the tails are heavy, and "sup" otherwise.
    augment : {"auto", "ridge", "kernel"}, regressor or None, default="auto"
        The fit :math:`\hat f` of the responses (:func:`steinsdr.link.fit_link`). A regressor is
        cloned; if it has no method ``gradient``, gradients are numerical. None is no fit. "auto" is
        "ridge" unless the kernel fit predicts left-out rows clearly better.
    weights : {"auto", "efficient", "fourier"}, callable or None, default="auto"
        Weights w: the gradients of a fit on the indices of a first pass
        (:class:`steinsdr.moments.EfficientMoment`), waves of these indices
        (:func:`steinsdr.moments.fourier_weights`), or 1 (None). A callable maps raw X (n, p) to
        values (n, m) and gradients (n, p, m), and excludes ``pca``. "auto" is "efficient" if there
        are at least two labeled rows a column; with fewer the first pass is too inaccurate.
    scale : {"auto", "robust", "sd"}, default="auto"
        Units of the columns, in which the singular vectors are taken: the interquartile range
        ("robust") or the standard deviation ("sd"). "auto" is "robust" if tails are heavy. With
        ``augment=None, weights=None, scale="sd"`` only the score uses these units, and the singular
        vectors are those of the raw columns, as in the paper.
    center : bool, default=True
        Center the responses. The lemma holds either way; the paper does not center.
    pca : None, "auto" or int, default="auto"
        Number of leading principal components, not whitened, to which x is reduced first; None is
        no reduction. "auto" reduces strongly correlated columns
        (:func:`steinsdr.subspace.learn_coordinates`).
    separate : bool or "auto", default="auto"
        Whether each group of ``groups`` has a score of its own. Otherwise the scores of all groups
        have one shape. "auto" is True if the smallest group has at least 20 rows a column.
    rank : {"sequential", "adaptive"} or object, default="sequential"
        Rank rule for ``n_components="auto"``: :class:`steinsdr.rank.SequentialRank`, the paper's
        Algorithm 2 (:class:`steinsdr.rank.AdaptiveRank`), or an object such as
        ``HardThreshold(0.3)``.
    max_rows : int, default=5_000
        Largest number of rows from which units, score and fits are learned; of more a random subset
        is taken. The moment is a mean over all rows, at a cost linear in n.
    random_state : int, RandomState or None, default=None
        Seed of the subsets of rows, of the rank rule's draws, and of a score given by name.

    Attributes
    ----------
    components_ : ndarray of shape (r, p)
        Orthonormal rows that span the estimated central subspace, in the units of X.
    singular_values_ : ndarray of shape (k,)
        Singular values of the moment.
    cross_moment_ : ndarray of shape (p', k)
        The moment, in the coordinates ``coordinates_``.
    scores_ : ndarray of shape (m, p')
        Estimated scores :math:`\hat s(x_i)` at the labeled rows, or at the subset of ``max_rows``.
    score_estimator_, link_ : object
        The fitted score estimator, and the fit :math:`\hat f` or None.
    coordinates_ : Coordinates or None
        Units of the columns and principal components; None for the paper's moment.
    loadings_, loading_errors_ : ndarray of shape (p, r), or None
        Directions in the units of the columns, orthonormal, and their standard errors
        (:class:`steinsdr.moments.RidgeTerms` with a ridge fit, else
        :func:`steinsdr.moments.loading_errors`); None for the paper's moment.
    subspace_error_ : float
        Root mean square of the distance between the estimated and the true subspace, predicted
        from the standard errors.
    n_components_ : int
        Number of directions.
    n_rows_ : int
        Number of labeled rows.
    config_, config_reason_ : str
        Rows from which the score was learned, and why.
    rank_ : RankSelection or None
        How the dimension was selected; None if ``n_components`` is an integer.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    Covariates must be continuous. A categorical one goes into ``groups``. Without weights the
    method uses only the mean gradient of each link. A link that is even in a symmetric index, such
    as its square, is then invisible, and q responses show at most q directions. The default finds
    such links if the kernel fit does, which takes several rows a column. Responses in different
    units should be standardized first, because responses with large units dominate the singular
    values. With skewed columns "auto" can keep too many directions, as in the book's benchmark.

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

    coordinates_: Any
    cross_moment_: Any
    loadings_: Any
    loading_errors_: Any
    subspace_error_: float | None
    link_: Any
    _terms: Any
    _pieces: dict[str, Any]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DirectionTransformer._parameter_constraints,
        "score_estimator": [StrOptions(set(_SCORES)), InstanceWith(["fit", "evaluate"])],
        "config": [StrOptions({"auto", *CONFIGS})],
        "augment": [
            StrOptions({"auto", "ridge", "kernel"}),
            InstanceWith(["fit", "predict"]),
            None,
        ],
        "weights": [StrOptions({"auto", "efficient", "fourier"}), callable, None],
        "scale": [StrOptions({"auto", "robust", "sd"})],
        "center": ["boolean"],
        "pca": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left"), None],
        "separate": [StrOptions({"auto"}), "boolean"],
        "rank": [StrOptions(set(_RANKS)), InstanceWith("select")],
        "max_rows": [Interval(Integral, 2, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int | Literal["auto"] = "auto",
        *,
        score_estimator: str | ScoreEstimator = "tikhonov",
        config: str = "auto",
        augment: Any = "auto",
        weights: str | Callable[[NDArray], tuple[NDArray, NDArray]] | None = "auto",
        scale: str = "auto",
        center: bool = True,
        pca: int | Literal["auto"] | None = "auto",
        separate: bool | Literal["auto"] = "auto",
        rank: str | RankRule = "sequential",
        max_rows: int = 5_000,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.score_estimator = score_estimator
        self.config = config
        self.augment = augment
        self.weights = weights
        self.scale = scale
        self.center = center
        self.pca = pca
        self.separate = separate
        self.rank = rank
        self.max_rows = max_rows
        self.random_state = random_state

    @classmethod
    def paper(cls, n_components: int | Literal["auto"] = "auto", **settings: Any) -> Self:
        """Return the paper's estimator: the kernel score of the labeled rows, and Algorithm 2.

        Without other ``settings`` it is ``SteinSDR(augment=None, weights=None, scale="sd",
        center=False, pca=None, config="sup", rank="adaptive")``.

        Examples
        --------
        >>> SteinSDR.paper(3, config="split").get_params()["center"]
        False
        """
        return cls(n_components, **{**_PAPER, **settings})

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        X_unlabeled: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        r"""Estimate the central subspace.

        Parameters
        ----------
        X : array-like or Dask collection of shape (n, p)
            Covariates. A Dask array or data frame is processed block by block on the workers that
            hold the blocks. The result is that of the same rows in memory.
        y : array-like or Dask collection of shape (n,) or (n, q)
            Responses Y, of which at least one must vary. Rows that are all NaN count as unlabeled.
        X_unlabeled : array-like of shape (n_u, p), optional
            Further covariates without responses. They are not used with ``config="sup"``. In a
            pipeline the earlier steps do not transform them unless the argument ``transform_input``
            of ``Pipeline`` names them. Rows of NaN in ``y`` need no such setting.
        groups : array-like of shape (n,), optional
            A categorical covariate, numbers or text. The directions are those of the partial
            central subspace: within each group y depends on x through the same :math:`B^\top x`.
            x and y are centered within groups, and the score is that of x given the group. The
            groups share one shape of the score unless ``separate`` says otherwise. ``groups``
            cannot be combined with ``X_unlabeled``.
        """
        self._validate_params()
        self.__dict__.pop("_pieces", None)
        if is_dask(X) or is_dask(y):
            if X_unlabeled is not None or groups is not None:
                raise ValueError("X_unlabeled and groups: not available for Dask collections.")
            return self._fit_blocks(X, y)
        points = check_points(self, X, min_rows=2)
        responses = check_responses(y, n_rows=len(points))
        has_label = split_labeled(responses)
        if has_label.sum() < 2:
            raise ValueError(f"y has {has_label.sum()} labeled row(s); at least 2 are needed.")
        codes = np.zeros(len(points), dtype=int)
        if groups is not None:
            points, responses, codes = self._within_groups(points, responses, groups, X_unlabeled)
        labeled, responses = points[has_label], responses[has_label]
        unlabeled = self._unlabeled(points[~has_label], X_unlabeled)
        limit = self._check_sizes(labeled, responses)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        self._choose_config(labeled, unlabeled)
        if self._is_paper() and groups is None:
            self._fit_paper(labeled, unlabeled, responses, limit, rng)
        else:
            pilot = _subset(len(labeled), self.max_rows, rng)
            others = _subset(len(unlabeled), self.max_rows - len(pilot), rng)
            if self.config_ == "split":
                others = _subset(len(unlabeled), self.max_rows, rng)
            elsewhere = np.zeros(len(unlabeled) - np.sum(~has_label), dtype=int)
            known = np.r_[codes[has_label][pilot], np.r_[codes[~has_label], elsewhere][others]]
            self.n_rows_ = len(labeled)
            moment = self._learn(labeled[pilot], responses[pilot], unlabeled[others], known, rng)
            if len(pilot) < len(labeled):
                blocks = (slice(i, i + _CHUNK_ROWS) for i in range(0, len(labeled), _CHUNK_ROWS))
                sums = [
                    self._block_sum(moment, labeled[b], responses[b], codes[has_label][b])
                    for b in blocks
                ]
                self.cross_moment_ = sum(sums) / len(labeled)
            self._set_directions()
        for message in self._warnings(labeled, responses):
            warnings.warn(message, stacklevel=2)
        return self

    @available_if(lambda self: self._takes_pieces())
    def partial_fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Add labeled rows, for data that come in pieces.

        X is (n, p), y (n,) or (n, q) without NaN. Until ``max_rows`` rows have come, each call fits
        all of them anew. From then on only the moment, and with it the directions, changes, at a
        cost that is linear in the new rows. The paper's moment has no such method, because its
        score is learned from all rows, and neither has ``config="split"`` or ``"full"``.
        """
        self._validate_params()
        new = not hasattr(self, "_pieces")
        points = check_points(self, X, reset=new)
        responses = check_responses(y, n_rows=len(points), missing=False)
        if not new and responses.shape[1] != self._pieces["q"]:
            raise ValueError(
                f"y has {responses.shape[1]} column(s); the pieces before had {self._pieces['q']}."
            )
        if new:
            empty = [np.empty((0, points.shape[1])), np.empty((0, responses.shape[1]))]
            self._pieces = {"q": responses.shape[1], "rows": empty, "moment": None}
        if self._pieces["moment"] is None:
            X_kept, Y_kept = self._pieces["rows"]
            kept = np.vstack([X_kept, points]), np.vstack([Y_kept, responses])
            first, known = (array[: self.max_rows] for array in kept)
            self._check_sizes(first, known)
            rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
            self._choose_config(first, first[:0])
            self.n_rows_ = len(first)
            codes = np.zeros(len(first), dtype=int)
            moment = self._learn(first, known, first[:0], codes, rng)
            self._pieces["rows"] = kept
            if len(kept[0]) < self.max_rows:
                self._set_directions()
                return self
            self._pieces |= {"moment": moment, "rows": []}
            self._pieces["sum"] = self.cross_moment_ * len(first)
            points, responses = (array[self.max_rows :] for array in kept)
        if len(points):
            codes = np.zeros(len(points), dtype=int)
            self._pieces["sum"] += self._block_sum(self._pieces["moment"], points, responses, codes)
            self.n_rows_ += len(points)
        self.cross_moment_ = self._pieces["sum"] / self.n_rows_
        self._set_directions()
        return self

    def _fit_blocks(self, X: Any, y: Any) -> Self:
        """Fit Dask collections: learn from a subset of rows, add up the moment by blocks."""
        points, responses = block_rows(X, y)
        if self._is_paper():
            raise ValueError(
                "X is a Dask collection, for which the paper's moment is not available; use the "
                "defaults."
            )
        has_label = labeled_rows(responses)
        labeled, unlabeled = np.flatnonzero(has_label), np.flatnonzero(~has_label)
        if len(labeled) < 2:
            raise ValueError(f"y has {len(labeled)} labeled row(s); at least 2 are needed.")
        self._check_unlabeled(len(unlabeled))
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        pilot = labeled[_subset(len(labeled), self.max_rows, rng)]
        others = unlabeled[_subset(len(unlabeled), self.max_rows - len(pilot), rng)]
        if self.config == "split":
            others = unlabeled[_subset(len(unlabeled), self.max_rows, rng)]
        first, known = points[pilot].compute(), responses[pilot].compute()
        more = check_matrix(points[others].compute(), "X") if len(others) else first[:0]
        if hasattr(X, "columns"):
            check_numeric_columns(X._meta_nonempty, "X")
            first = type(X._meta)(first, columns=X.columns)
        first = check_points(self, first)
        known = check_responses(known, n_rows=len(first), missing=False)
        self._check_sizes(first, known)
        self._choose_config(first, unlabeled)
        self.n_rows_ = len(labeled)
        codes = np.zeros(len(first) + len(more), dtype=int)
        moment = self._learn(first, known, more, codes, rng)
        if len(pilot) < len(labeled):
            self.cross_moment_ = add_up(self, moment, points, responses)
        self._set_directions()
        for message in self._warnings(first, known):
            warnings.warn(message, stacklevel=3)
        return self

    def _check_sizes(self, X: NDArray, Y: NDArray) -> int:
        """Return the largest possible dimension; raise if more are wanted or nothing varies."""
        if len(Y) < 2 or not varying_columns(Y).any():
            raise ValueError(
                f"y: every response is constant over its {len(Y)} labeled row(s); at least one "
                "must vary."
            )
        limit = X.shape[1] if self.weights is not None else min(X.shape[1], Y.shape[1])
        if isinstance(self.pca, Integral):
            limit = min(limit, int(self.pca))
        if self.n_components != "auto" and self.n_components > limit:
            raise ValueError(
                f"n_components={self.n_components} but X has {X.shape[1]} column(s) and y has "
                f"{Y.shape[1]}; at most {limit} direction(s) are identifiable"
                f"{' from first moments' if self.weights is None else ''}."
            )
        return limit

    def _takes_pieces(self) -> bool:
        """Return true, or raise because ``partial_fit`` does not exist for these settings."""
        if self._is_paper():
            raise AttributeError(
                "partial_fit with the paper's moment: its score has no subset of rows to be "
                'learned from; use augment, weights, pca or scale="auto".'
            )
        if self.config in ("split", "full"):
            raise AttributeError(
                f"config={self.config!r}: partial_fit takes labeled rows only; expected "
                '"sup" or "auto".'
            )
        return True

    def _is_paper(self) -> bool:
        """Return whether the moment is the paper's, whose coordinates are the raw columns."""
        plain = self.augment is None and self.weights is None and self.pca is None
        return plain and self.scale == "sd"

    def _choose_config(self, labeled: NDArray, unlabeled: NDArray) -> None:
        """Set ``config_`` and ``config_reason_``."""
        self.config_, self.config_reason_ = self.config, "given"
        if self.config != "auto":
            return
        if not len(unlabeled):
            self.config_, self.config_reason_ = "sup", "there are no unlabeled rows"
        elif heavy_tails(labeled):
            self.config_ = "full"
            self.config_reason_ = "tails are heavy, and unlabeled rows make units and score sharper"
        else:
            self.config_ = "sup"
            self.config_reason_ = "tails are light: the labeled rows' own score adds less noise"

    def _within_groups(
        self, points: NDArray, responses: NDArray, groups: ArrayLike, X_unlabeled: Any
    ) -> tuple[NDArray, NDArray, NDArray]:
        """Return X and Y centered within groups, and each row's group as a number."""
        if X_unlabeled is not None:
            raise ValueError(
                "groups with X_unlabeled: the groups of those rows are not known; pass them as "
                "rows of X whose y is NaN."
            )
        check_groups(groups)
        labels = np.asarray(groups)
        missing = sum(label is None or label != label for label in labels.ravel().tolist())
        if missing:
            raise ValueError(f"groups has {missing} missing value(s); every row needs a group.")
        if labels.shape != (len(points),):
            raise ValueError(f"groups has shape {labels.shape}; expected ({len(points)},).")
        has_label = split_labeled(responses)
        names, codes = np.unique(labels.astype(str), return_inverse=True)
        sizes = [np.nanmax(np.abs(array), axis=0) for array in (points, responses)]
        points, responses = points.copy(), responses.copy()
        for code, name in enumerate(names):
            rows = codes == code
            if (rows & has_label).sum() < 2:
                raise ValueError(
                    f"groups: {str(name)!r} has {(rows & has_label).sum()} labeled row(s); at "
                    "least 2 are needed. Merge small groups."
                )
            points[rows] -= points[rows].mean(axis=0)
            responses[rows] -= responses[rows & has_label].mean(axis=0)
        for centred, size in zip((points, responses), sizes, strict=True):
            # What is constant within groups is rounding now.
            centred[:, np.nanmax(np.abs(centred), axis=0) <= 1e-12 * size] = 0.0
        responses[~has_label] = np.nan
        return points, responses, codes

    def _fit_paper(
        self, labeled: NDArray, unlabeled: NDArray, Y: NDArray, limit: int, rng: np.random.Generator
    ) -> None:
        """Estimate as in the paper: the cross-moment of scores and responses."""
        parts = {"sup": [labeled], "split": [unlabeled], "full": [labeled, unlabeled]}
        train = np.vstack(parts[self.config_])
        if self.center:
            Y = Y - Y.mean(axis=0)
        self.coordinates_ = self.link_ = self.loadings_ = self.loading_errors_ = None
        self.subspace_error_ = None
        self.n_rows_ = len(labeled)
        check_not_constant(train, "X", getattr(self, "feature_names_in_", None))
        estimator = self._new_score(None, seed=int(rng.integers(2**31)))
        self.scores_ = self._labeled_scores(estimator, labeled, train)
        self.cross_moment_ = cross_moment(self.scores_, Y)
        self.n_components_ = self._select_dimension(
            self._rule(),
            self.cross_moment_,
            limit=limit,
            scores=self.scores_,
            Y=Y,
            X=labeled if self.config_ == "sup" else np.vstack([labeled, unlabeled]),
            rng=rng,
        )
        self._set_directions()

    def _learn(
        self,
        X: NDArray,
        Y: NDArray,
        unlabeled: NDArray,
        codes: NDArray,
        rng: np.random.Generator,
    ) -> AugmentedMoment | EfficientMoment:
        """Learn coordinates, score, fit and rank; set these rows' moment and return its form."""
        seed = int(rng.integers(2**31))
        everything = X if self.config_ == "sup" else np.vstack([X, unlabeled])
        check_not_constant(everything, "X", getattr(self, "feature_names_in_", None))
        given = 1 if self.n_components == "auto" else int(self.n_components)
        self.coordinates_ = learn_coordinates(everything, self.scale, self.pca, X, Y, given)
        self._mean = Y.mean(axis=0) if self.center else np.zeros(Y.shape[1])
        Z, Y = self.coordinates_.map(X), Y - self._mean
        train = self.coordinates_.map(unlabeled if self.config_ == "split" else everything)
        groups = codes[len(X) :] if self.config_ == "split" else codes[: len(everything)]
        sizes = np.bincount(groups)
        separate = self.separate
        if separate == "auto":
            separate = len(sizes) > 1 and sizes.min() >= _LARGE_GROUP * Z.shape[1]
        if given > Z.shape[1]:
            raise ValueError(
                f"n_components={given} but {len(everything)} row(s) have {Z.shape[1]} principal "
                "component(s); expected no more directions."
            )
        estimator = self._new_score(train, seed=seed)
        if separate and len(sizes) > 1:
            rows = np.bincount(groups, minlength=int(codes.max()) + 1)
            if rows.min() < 2:
                raise ValueError(
                    f"separate=True: a group has {rows.min()} of the {len(groups)} rows that the "
                    "score is learned from; at least 2 are needed."
                )
            estimator = _SeparateScores(estimator)
            self.score_estimator_ = estimator.fit(train, groups)
            self.scores_ = S = estimator.evaluate(Z, codes[: len(X)])
        else:
            self.scores_ = S = self._labeled_scores(estimator, Z, train)

        q = Y.shape[1]
        self.link_ = None
        if self.augment is not None:
            nonlinear = self.n_components != "auto" and given > q
            pooled = _POOLED[self.coordinates_.scale]
            self.link_ = fit_link(self.augment, Z, Y, pooled=pooled, nonlinear=nonlinear)
        linear = self.link_ is None or is_linear(self.link_)
        first = AugmentedMoment(self.link_)
        start = _mean_over(first, Z, S, Y)
        outer = None if linear else _outer_product(self.link_, Z, q)
        self.n_components_ = r = self._select_dimension(
            self._rule(), cross_moment(S, Y), limit=min(Z.shape[1], q), scores=S, Y=Y, X=Z, rng=rng
        )
        if self.n_components == "auto" and outer is not None and self.weights is not None:
            self.n_components_ = r = max(r, _predictive_rank(outer, Z, Y))
        directions = _leading(start if outer is None else outer, r)
        while directions.shape[1] < r:  # more than responses: waves of the first show others
            waves = AugmentedMoment(self.link_, fourier_weights(Z, directions))
            directions = _leading(_mean_over(waves, Z, S, Y), r)
        weights = self.weights
        if isinstance(weights, str) and weights == "auto":
            weights = "efficient" if len(Z) >= max(3, 2 * Z.shape[1]) or r > q else None
        if weights is None:
            moment: AugmentedMoment | EfficientMoment = first
        elif isinstance(weights, str) and weights == "efficient":
            moment = EfficientMoment(directions, Z, Y)
            # One more step helps in samples of this size, and a start by kernel gradients, which
            # is not root-n consistent, needs another.
            for _ in range(1 if linear else 2):
                directions = _leading(_mean_over(moment, Z, S, Y), r)
                moment = EfficientMoment(directions, Z, Y, before=moment)
        elif isinstance(weights, str):
            moment = AugmentedMoment(self.link_, fourier_weights(Z, directions))
        else:
            moment = AugmentedMoment(self.link_, self._own_weights(weights))
        gradients, C = moment.parts(Z, Y)
        self.cross_moment_ = (gradients + S.T @ C) / len(Z)
        if C.shape[1] < r or not np.any(self.cross_moment_):
            raise ValueError(
                f"weights: the moment has {C.shape[1]} column(s), which show fewer than "
                f"{r} direction(s), or vanishes; expected more weights."
            )
        self._terms = _influence(self.cross_moment_, C, r)
        if linear:
            # The residuals behind efficient weights are too small, since the same rows gave the
            # directions. Those of the first pass are known, and so is how it depends on them.
            C = first.parts(Z, Y)[1]
            self._terms = _influence(start, C, r)
            if hasattr(self.link_, "errors_"):
                U, D, Vt = np.linalg.svd(start, full_matrices=False)
                V = Vt[:r].T / np.maximum(D[:r], np.finfo(float).tiny)
                centred = S - S.mean(axis=0), Z - Z.mean(axis=0)
                self._terms = RidgeTerms(*centred, C, self.link_.alpha, U[:, :r], V)
        return moment

    def _block_sum(self, moment: Any, X: NDArray, Y: NDArray, codes: NDArray) -> NDArray:
        """Return the sum over some rows whose mean over all rows is the moment."""
        Z = self.coordinates_.map(X)
        gradients, C = moment.parts(Z, Y - self._mean)
        separate = isinstance(self.score_estimator_, _SeparateScores)
        return gradients + self.score_estimator_.evaluate(Z, *([codes] * separate)).T @ C

    def _set_directions(self) -> None:
        """Set singular values and components from the moment."""
        if not np.isfinite(self.cross_moment_).all():
            raise ValueError(
                "X and y: their moment is not finite, because values are too large or a score or "
                "fit is not finite; rescale the columns."
            )
        U, self.singular_values_, Vt = np.linalg.svd(self.cross_moment_, full_matrices=False)
        # Signs fixed by the largest loading, so that equal fits look equal.
        directions = svd_flip(U, Vt)[0][:, : self.n_components_]
        if self.coordinates_ is not None:
            self._set_loadings(directions)
            raw = self.coordinates_.raw(directions)
            # The largest rows first: rounding then is relative to each row, whatever its unit.
            order = np.argsort(-np.abs(raw).max(axis=1), kind="stable")
            raw[order] = np.linalg.qr(raw[order])[0]
            directions = svd_flip(raw, np.zeros((raw.shape[1], 1)))[0]
        self.components_ = directions.T

    def _set_loadings(self, directions: NDArray) -> None:
        """Set loadings and their standard errors, in the units of the columns."""
        basis = self.coordinates_.basis
        self.loadings_ = directions if basis is None else basis @ directions
        if isinstance(self._terms, RidgeTerms):
            self.loading_errors_ = self._terms.errors(directions, self.n_rows_, basis)
        else:
            reference, terms = self._terms
            S = self.scores_ if basis is None else self.scores_ @ basis.T
            terms = terms @ (reference.T @ directions)
            self.loading_errors_ = loading_errors(S, terms, self.loadings_, self.n_rows_)
        self.subspace_error_ = float(np.sqrt(np.sum(self.loading_errors_**2)))

    def summary(self, n_loadings: int = 5, level: float = 0.95) -> str:
        """Return a table: settings, directions with p-values and shares, largest loadings.

        Examples
        --------
        >>> from steinsdr.simulation import simulate
        >>> data = simulate("isotropic", n=300, p=10)
        >>> sdr = SteinSDR(random_state=0).fit(data.X, data.Y)
        >>> print(sdr.summary().splitlines()[0])
        SteinSDR: 3 direction(s) of 10 columns from 300 labeled rows
        """
        check_is_fitted(self, "components_")
        return summary(self, n_loadings, level)

    def _rule(self) -> RankRule:
        return _RANKS[self.rank]() if isinstance(self.rank, str) else self.rank

    def _own_weights(self, function: Callable[..., Any]) -> Callable[[NDArray], Any]:
        """Return the user's weights as functions of the coordinates."""
        coordinates = self.coordinates_
        if coordinates.basis is not None:
            raise ValueError(
                f"weights is a function of the raw columns, but pca={self.pca!r} reduces them to "
                f"{coordinates.basis.shape[1]} components; expected pca=None with such weights."
            )

        def weights(Z: NDArray) -> tuple[NDArray, NDArray]:
            try:
                values, gradients = function(Z * coordinates.unit + coordinates.shift)
            except TypeError as error:
                raise ValueError(f"weights must return values and gradients: {error}") from error
            values = check_matrix(values, "the values of weights")
            gradients = np.asarray(gradients, dtype=float)
            n, p, m = len(Z), len(coordinates.unit), values.shape[1]
            if len(values) != n or gradients.shape != (n, p, m):
                raise ValueError(
                    f"weights returned arrays of shape {values.shape} and {gradients.shape} for "
                    f"{n} points; expected ({n}, m) and ({n}, {p}, m)."
                )
            if not np.isfinite(gradients).all():
                raise ValueError("the gradients of weights are not finite.")
            return values, gradients * coordinates.unit[:, None]

        return weights

    def _unlabeled(self, points: NDArray, X_unlabeled: ArrayLike | None) -> NDArray:
        """Return all covariates without responses, those of X first."""
        if X_unlabeled is not None:
            extra = check_matrix(X_unlabeled, "X_unlabeled", n_columns=self.n_features_in_)
            check_spread(extra, "X_unlabeled")
            check_names(X_unlabeled, "X_unlabeled")
            try:  # names: columns in another order would be taken for those of X
                validate_data(self, X_unlabeled, reset=False, skip_check_array=True)
            except ValueError as error:
                raise ValueError(f"X_unlabeled: {error}") from error
            points = np.vstack([points, extra])
        self._check_unlabeled(len(points))
        return points

    def _check_unlabeled(self, n: int) -> None:
        """Raise if the configuration needs unlabeled rows, and there are none."""
        if self.config in ("split", "full") and not n:
            raise ValueError(
                f"config={self.config!r} needs unlabeled rows, and there are none: pass "
                "X_unlabeled, or rows of y that are all NaN."
            )

    def _new_score(self, train: NDArray | None, seed: int) -> Any:
        """Return an unfitted score estimator; with ``train`` for these rows, which are scaled."""
        if isinstance(self.score_estimator, str):
            estimator: Any = _SCORES[self.score_estimator](random_state=seed)
            if train is not None and self.score_estimator == "tikhonov":
                n, p = train.shape
                # Tolerance: the solver's error is far below that of the estimate.
                estimator.set_params(lam=1e-2 / p * max(1.0, (p / n) ** 2), tol=1e-3)
        else:
            estimator = clone(self.score_estimator, safe=False)
        if train is not None and hasattr(estimator, "standardize"):
            estimator.standardize = False
        return estimator

    def _labeled_scores(self, estimator: Any, labeled: NDArray, train: NDArray) -> NDArray:
        """Learn the score from ``train`` and return it at the labeled rows, (n_l, p)."""
        self.score_estimator_ = estimator.fit(train)
        known = None if self.config_ == "split" else getattr(estimator, "train_scores_", None)
        scores = estimator.evaluate(labeled) if known is None else known[: len(labeled)]
        scores = check_matrix(scores, "the score estimator's output", n_columns=labeled.shape[1])
        if len(scores) != len(labeled):
            raise ValueError(
                f"score_estimator returned {len(scores)} rows for {len(labeled)} points; they must "
                "match."
            )
        return scores

    def _warnings(self, train: NDArray, Y: NDArray) -> Iterator[str]:
        """Name what the cross-moment of this fit may show in place of directions."""
        if self.coordinates_ is None and _units_differ(train):
            yield (
                "X: the spreads of the columns differ by more than a factor of "
                f"{_UNITS_LIMIT:.0f}, and directions follow the smallest. Standardize the columns "
                'first, or use scale="auto", unless the units are meant.'
            )
        if self.coordinates_ is None and not self.center:
            # The part of the responses' mean is zero for the true score. Its rank is one.
            mean_part = np.outer(self.scores_.mean(axis=0), Y.mean(axis=0))
            size = np.linalg.norm(mean_part)
            rest = np.linalg.norm(self.cross_moment_ - mean_part, ord=2)
            if size > _MEAN_LIMIT * rest:
                yield (
                    f"y: the mean of the responses adds {size:.2g} to a cross-moment whose largest "
                    f"singular value is {rest:.2g} without it. What it adds is noise; pass "
                    "center=True."
                )
        # A user's own rule may have neither p-values nor thresholds.
        p_values = getattr(self.rank_, "p_values", None)
        thresholds = getattr(self.rank_, "thresholds", None)
        kept = "One direction is kept all the same; do not trust it."
        nonlinear = self.link_ is not None and not is_linear(self.link_)
        if self.rank_ is not None and p_values is not None:
            if self.rank_.rank == 0 and not nonlinear:
                p_value = f"{p_values[0]:.2g}"
                yield f"rank: no direction stands out, the first has p-value {p_value}. {kept}"
        elif self.rank_ is not None and thresholds is not None:
            value = self.rank_.singular_values[0]
            if value <= thresholds[0]:
                yield (
                    f"rank: no direction stands out, the largest singular value is {value:.2g} and "
                    f"its threshold {thresholds[0]:.2g}. {kept}"
                )
        # With as many directions as responses all are kept, whatever their units.
        if self.n_components_ < Y.shape[1] and _units_differ(Y):
            yield (
                "y: the spreads of the responses differ by more than a factor of "
                f"{_UNITS_LIMIT:.0f}, and directions follow the largest. Standardize y first, "
                "unless the units are meant."
            )


def summary(sdr: Any, n_loadings: int = 5, level: float = 0.95) -> str:
    """Return a table of a fitted :class:`steinsdr.SteinSDR`, ready to be printed."""
    check_argument(level, "level", Interval(Real, 0, 1, closed="neither"))
    check_integer(n_loadings, "n_loadings", low=1)
    r, p = sdr.components_.shape
    lines = [
        f"SteinSDR: {r} direction(s) of {p} columns from {sdr.n_rows_} labeled rows",
        f"score learned from: {sdr.config_} ({sdr.config_reason_})",
    ]
    if sdr.coordinates_ is not None:
        k = p if sdr.coordinates_.basis is None else sdr.coordinates_.basis.shape[1]
        parts = "" if k == p else f", {k} principal components"
        lines.append(f"units of the columns: {sdr.coordinates_.scale}{parts}")
        fit = "none" if sdr.link_ is None else type(sdr.link_).__name__
        lines.append(f"fit of the responses: {fit}")
    p_values = getattr(sdr.rank_, "p_values", None)
    # The test says nothing of directions that it did not select.
    p_values = [] if p_values is None else p_values[: max(1, sdr.rank_.rank)]
    if sdr.rank_ is not None and r > max(1, sdr.rank_.rank):
        p_values = p_values[: sdr.rank_.rank]
        lines.append("number of directions: by prediction, as the links are nonlinear")
    share = np.square(sdr.singular_values_) / np.sum(np.square(sdr.singular_values_))
    lines += ["", "direction  singular value  p-value   share"]
    for k in range(r):
        shown = f"{p_values[k]:.3f}" if k < len(p_values) else "-"
        lines.append(f"{k + 1:>9}  {sdr.singular_values_[k]:>14.4g}  {shown:>7}  {share[k]:>6.1%}")
    if sdr.loading_errors_ is None:
        return "\n".join(lines)
    names = getattr(sdr, "feature_names_in_", [f"x{j}" for j in range(p)])
    width = max(8, *(len(str(name)) for name in names))
    quantile = stats.norm.ppf(0.5 + level / 2)
    lines += ["", f"largest loadings, with {level:.0%} intervals"]
    for k in range(r):
        order = np.argsort(-np.abs(sdr.loadings_[:, k]), kind="stable")[:n_loadings]
        for j in order:
            value, error = sdr.loadings_[j, k], quantile * sdr.loading_errors_[j, k]
            interval = f"[{value - error:+.3f}, {value + error:+.3f}]"
            lines.append(f"{k + 1:>9}  {names[j]!s:<{width}}  {value:+.3f}  {interval}")
    return "\n".join(lines)


class _SeparateScores:
    """One score estimator for each group."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: NDArray, codes: NDArray) -> Self:
        """Fit a copy to the rows of each group."""
        groups = range(int(codes.max()) + 1)
        self.fitted_ = [clone(self.estimator, safe=False).fit(X[codes == g]) for g in groups]
        return self

    def evaluate(self, X: NDArray, codes: NDArray) -> NDArray:
        """Return each row's score in its group."""
        scores = np.empty_like(X)
        for group, estimator in enumerate(self.fitted_):
            if (codes == group).any():
                scores[codes == group] = estimator.evaluate(X[codes == group])
        return scores


def _subset(n: int, most: int, rng: np.random.Generator) -> NDArray:
    """Return at most so many of n rows, in order; random numbers are drawn only if it must be."""
    if n <= most:
        return np.arange(n)
    return np.sort(rng.choice(n, size=max(0, most), replace=False))


def _mean_over(moment: Any, Z: NDArray, S: NDArray, Y: NDArray) -> NDArray:
    """Return the moment of these rows."""
    gradients, C = moment.parts(Z, Y)
    return (gradients + S.T @ C) / len(Z)


def _leading(matrix: NDArray, r: int) -> NDArray:
    """Return the r leading left singular vectors, fewer if there are fewer."""
    check_result(matrix, "the moment", "X and y")
    return np.linalg.svd(matrix, full_matrices=False)[0][:, :r]


def _outer_product(link: Any, Z: NDArray, q: int) -> NDArray:
    """Return a matrix whose left singular vectors are those of the gradients' outer product."""
    gradients = link_gradients(link, Z, q)
    if gradients[:, 0].size < Z.shape[1]:  # no p x p matrix
        return gradients.transpose(1, 0, 2).reshape(Z.shape[1], -1)
    return np.tensordot(gradients, gradients, axes=([0, 2], [0, 2]))


def _influence(moment: NDArray, C: NDArray, r: int) -> tuple[NDArray, NDArray]:
    """Return r left singular vectors (p, r) of a moment, and the terms (n, r) that move them."""
    check_result(moment, "the moment", "X and y")
    U, D, Vt = np.linalg.svd(moment, full_matrices=False)
    return U[:, :r], C @ Vt[:r].T / np.maximum(D[:r], np.finfo(float).tiny)


def _predictive_rank(outer: NDArray, Z: NDArray, Y: NDArray) -> int:
    """Return the fewest leading directions whose indices predict left-out rows as well as more."""
    U = _leading(outer, _MAX_PREDICTIVE)
    spread = np.where(Y.var(axis=0) > 0, Y.var(axis=0), 1.0)
    errors = []
    for k in range(1, U.shape[1] + 1):
        indices = Z @ U[:, :k]
        link = KernelLink(widths=(0.5, 1.0), max_centers=200).fit(indices / indices.std(axis=0), Y)
        errors.append(np.mean(link.errors_ / spread))
    return int(np.argmax(np.array(errors) <= 1.02 * min(errors))) + 1


def _units_differ(X: NDArray) -> bool:
    """Return whether columns differ tenfold in spread, by standard deviation and by quartiles.

    Both must: heavy tails alone make standard deviations differ, and many equal values quartiles.
    """
    low, high = np.quantile(X, [0.25, 0.75], axis=0)
    spreads = (X.std(axis=0), (high - low)[high > low])
    return all(s.size > 0 and s.max() > _UNITS_LIMIT * s.min() for s in spreads)
