"""Fit a table: SteinSDR in coordinates that suit its columns, then resample and compare."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from .._base import (
    check_integer,
    check_not_constant,
    check_numeric_columns,
    check_responses,
    split_labeled,
)
from ..estimator import SteinSDR
from ..moments import stein_diagnostics
from ..rank import (
    AdaptiveRank,
    DirectionTransformer,
    RankSelection,
    leading_singular_values,
    permutation_null,
    tail_check,
)
from ..scores import TikhonovScore
from ..scores.tikhonov import TikhonovScoreCV
from .bootstrap import bootstrap
from .comparison import compare
from .read import Table
from .rules import Analysis

__all__ = ["Reduction", "analyze"]

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


def analyze(
    table: Table,
    *,
    components: int | Literal["auto"] = "auto",
    scale: str = "auto",
    config: str = "sup",
    n_bootstrap: int = 200,
    folds: int = 5,
    seed: int = 0,
    progress: bool = False,
) -> Analysis:
    """Fit, resample, compare.

    Parameters
    ----------
    table : Table
        From :func:`read_table`.
    components : int or "auto"
        Number of directions.
    scale : {"auto", "standardize", "whiten"}
        See :class:`Reduction`.
    config : {"sup", "split", "full"}
        Rows that the score is learned from; the last two need unlabeled rows.
    n_bootstrap : int
        Resamples behind the intervals; 0 leaves them out, else at least 10.
    folds : int
        Folds of the comparison, at least 2.
    seed : int
        Every draw follows from it.
    progress : bool
        Whether to show progress bars.

    Raises
    ------
    ValueError
        If an argument is outside these ranges, ``components`` exceeds the number of predictors or
        of responses, or a column is constant outside a fold.

    Examples
    --------
    >>> import pandas as pd
    >>> from steinsdr.report import read_table
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((120, 4))
    >>> frame = pd.DataFrame(X, columns=list("abcd"))
    >>> frame["y"] = X[:, 0] + 0.3 * rng.standard_normal(120)
    >>> analysis = analyze(read_table(frame, "y"), n_bootstrap=0)
    >>> analysis.loadings()["loading"].abs().idxmax()
    ('direction 1', 'a')
    """
    check_integer(seed, "seed", low=0, high=2**32 - 1)
    check_integer(folds, "folds", low=2, high=len(table.X))
    if n_bootstrap:
        check_integer(n_bootstrap, "n_bootstrap", low=10)
    X, Y, more = table.X, table.Y, table.X_unlabeled
    reduction = Reduction(components, scale=scale, config=config, random_state=seed)
    with warnings.catch_warnings():
        # The verdict says so in its own words; folds may say it five times more.
        warnings.filterwarnings("ignore", "rank: no direction stands out", UserWarning)
        reduction.fit(X, Y, more)
        resampled = None
        if n_bootstrap:
            arrays = X.to_numpy(), Y.to_numpy(), more.to_numpy()
            resampled = bootstrap(
                reduction, *arrays, n_resamples=n_bootstrap, seed=seed, progress=progress
            )
        comparison = compare(reduction, X, Y, more, folds=folds, seed=seed, progress=progress)
    return Analysis(
        table,
        reduction,
        stein_diagnostics(reduction.sdr_.scores_, reduction.points_),
        _spectrum(reduction, StandardScaler().fit_transform(Y.to_numpy()), seed),
        comparison,
        resampled,
        settings={
            "components": components,
            "scale": scale,
            "config": config,
            "bootstrap": n_bootstrap,
            "folds": folds,
            "seed": seed,
        },
    )


def _spectrum(reduction: Reduction, Y: NDArray, seed: int) -> RankSelection:
    """Compare the singular values with permuted responses, whatever rule chose the rank."""
    sdr, chosen = reduction.sdr_, reduction.sdr_.rank_
    if chosen is None:
        values = leading_singular_values(sdr.cross_moment_, len(sdr.singular_values_))
        chosen = RankSelection(sdr.n_components_, "given", values)
    null = chosen.null
    if null is None:
        rng = np.random.default_rng([seed, 1])
        k = len(chosen.singular_values)
        null = permutation_null(sdr.scores_, Y, k=k, m=PERMUTATIONS, rng=rng)
    return replace(
        chosen, rank=sdr.n_components_, null=null, thresholds=np.quantile(null, QUANTILE, axis=0)
    )
