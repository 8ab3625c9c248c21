r"""Choose the Tikhonov score's regularization from the data, by held-out score matching.

The Fisher divergence :math:`E\|\hat s - s\|^2/2` of an estimated score is, up to a constant that no
estimate changes, Hyvärinen's objective :math:`E\{\|\hat s(x)\|^2/2 - \mathrm{div}\,\hat s(x)\}`. It
asks for no true score, so rows that were held out can judge every lambda.
"""

from __future__ import annotations

import warnings
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GroupKFold
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .._validation import check_integer, check_not_constant, check_positive, varying_columns
from ..kernels import CurlFreeIMQ
from ._base import Standardization
from .tikhonov import TikhonovScore

__all__ = ["TikhonovScoreCV", "default_lams", "field_divergence", "held_out_objective"]

TILE_ENTRIES = 1 << 21
SMALLEST = 1e-6  # where "auto" stops looking further down, times 1/p
PATH_TOL = 1e-3  # errors of the solver far below those between rows


def default_lams(p: int) -> NDArray:
    """Return the first grid for p columns: half decades from 1e-3/p to 1/p.

    The kernel's scale is about 1/(2p), and about 1e-2/p serves Gaussian columns well: the grid
    holds larger values for few rows and smaller ones for many, or for rougher densities.

    Examples
    --------
    >>> bool(np.isclose(default_lams(100), 1e-4).any())
    True
    """
    return np.logspace(-3, 0, 7) / check_integer(p, "p", low=1)


def field_divergence(points: NDArray, centers: NDArray, width: float, C: NDArray) -> NDArray:
    r"""Divergence of :math:`\sum_j \mathcal K(x, x_j) c_j` and of :math:`\hat\zeta` at points.

    With :math:`\delta = (x - x_j)/c` and :math:`w = (1 + \|\delta\|^2)^{-1/2}` the summands are
    :math:`-3 c^{-3} w^5 (p - 3 + 5 w^2)\, \delta^\top c_j` and the bi-Laplacian
    :math:`c^{-4} \{3(3-p)(5-p) w^5 - 30 (5-p) w^7 + 105 w^9\}` of the IMQ function.

    Parameters
    ----------
    points : ndarray of shape (m, p)
    centers : ndarray of shape (n, p)
    width : float
        Kernel width c.
    C : ndarray of shape (L, n, p)
        Coefficients of L expansions.

    Returns
    -------
    ndarray of shape (L + 1, m)
        The L divergences, and in the last row that of :math:`\hat\zeta`.

    Examples
    --------
    Every term of the first kind is odd in x - x_j, so a centre sees none of its own:

    >>> x = np.array([[1.0, 2.0]])
    >>> bool(field_divergence(x, x, 1.0, np.ones((1, 1, 2)))[0, 0] == 0)
    True
    """
    n, p = centers.shape
    shift = centers.mean(axis=0)
    z, centre = (points - shift) / width, (centers - shift) / width
    own = np.einsum("lnp,np->ln", C, centre)
    out = np.empty((len(C) + 1, len(points)))
    step = max(16, TILE_ENTRIES // n)
    for start in range(0, len(points), step):
        rows = slice(start, start + step)
        distance = np.square(z[rows]).sum(1)[:, None] + np.square(centre).sum(1)
        square = 1.0 / (1.0 + np.clip(distance - 2.0 * z[rows] @ centre.T, 0.0, None))  # w^2
        fifth = square**2.5
        weight = fifth * (p - 3.0 + 5.0 * square)
        for index, c in enumerate(C):
            inner = z[rows] @ c.T
            inner -= own[index]
            inner *= weight
            out[index, rows] = inner.sum(axis=1) * (-3.0 / width**3)
        biharmonic = 3.0 * (3 - p) * (5 - p) - 30.0 * (5 - p) * square + 105.0 * square**2
        out[-1, rows] = (fifth * biharmonic).mean(axis=1) / width**4
    return out


def held_out_objective(
    estimator: TikhonovScore, train: NDArray, test: NDArray, lams: NDArray
) -> NDArray:
    r"""Hyvärinen's objective of every lambda at every test row, shape (L, m).

    The score is learned from ``train`` (n, p), all lambdas from one Lanczos basis, and measured in
    the units of the standardized training rows. The mean is smallest for the best score.

    Examples
    --------
    Better than no score at all, whose objective is zero:

    >>> X = np.random.default_rng(0).standard_normal((300, 3))
    >>> bool(held_out_objective(TikhonovScore(), X[:200], X[200:], np.array([3e-3])).mean() < 0)
    True
    """
    with warnings.catch_warnings():
        # The smallest lambdas may not converge; they are candidates, and the winner warns itself.
        warnings.simplefilter("ignore", ConvergenceWarning)
        path = estimator.path(train, lams)
    scaling = Standardization.of(train, estimator.standardize)
    Z, points = scaling.forward(train), scaling.forward(test)
    # At the training points s = n lambda c, so the path holds the coefficients.
    shifts = len(Z) * path.lams[:, None, None]
    C = path.scores * scaling.scale / shifts
    kernel = CurlFreeIMQ(Z, path.width, memory_limit=estimator.memory_limit)
    rows, zeta = kernel.rows(points), kernel.divergence(points)
    *slopes, zeta_slope = field_divergence(points, Z, path.width, C)
    out = np.empty((len(lams), len(points)))
    for k, lam in enumerate(path.lams):
        score = zeta / lam - kernel.at(rows, C[k])
        out[k] = np.square(score).sum(axis=1) / 2.0 - (zeta_slope / lam - slopes[k])
    return out


class TikhonovScoreCV(BaseEstimator):
    r"""Tikhonov score whose lambda is chosen by cross-validated score matching.

    :class:`TikhonovScore` has one default, 1e-4, made for a hundred columns. This estimator tries a
    grid, averages Hyvärinen's objective over held-out folds, and fits the lambda with the smallest
    average on all rows: ``SteinSDR(score=TikhonovScoreCV())`` suits any number of columns.

    Parameters
    ----------
    lams : "auto" or array-like of shape (L,), default="auto"
        Candidates; "auto" is a grid that suits the number of columns, and a
        decade further down as often as the
        smallest candidate wins, to 1e-6/p. Nearly collinear columns need such values.
    cv : int, default=5
        Folds. Equal rows stay in one fold: a row that was seen would favour too small a lambda.
    estimator : TikhonovScore or None, default=None
        Every other setting; its ``lam`` is ignored. None is ``TikhonovScore()``.
    max_rows : int, default=2000
        The choice uses at most that many rows, drawn at random; the fit uses all.
    random_state : int, RandomState or None, default=0
        Folds and drawn rows. Fixed by default, so that equal data give equal scores.

    Attributes
    ----------
    lam_ : float
        The chosen lambda.
    lams_ : ndarray of shape (L,)
        The candidates, ascending.
    objective_ : ndarray of shape (L,)
        Mean held-out objective of each; only differences have a meaning.
    standard_error_ : ndarray of shape (L,)
        Standard error of its difference from the smallest, over the rows.
    at_edge_ : bool
        Whether the grid ended where the objective was smallest: then a wider one may do better.
    score_ : TikhonovScore
        Fitted with ``lam_`` on all rows.
    train_scores_ : ndarray of shape (n, p)
        As those of ``score_``.

    Raises
    ------
    ValueError
        If a candidate is not positive, there are fewer distinct rows than folds, or a column
        varies in the rows of one fold only.

    Notes
    -----
    The choice is made for new points. At the training points, where ``config="sup"`` uses the
    score, half a decade less can be a little better when there are many columns.

    References
    ----------
    A. Hyvärinen (2005). Estimation of non-normalized statistical models by score matching. JMLR.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((300, 3))
    >>> score = TikhonovScoreCV().fit(X)
    >>> bool(score.objective_.min() == score.objective_[score.lams_ == score.lam_][0])
    True
    """

    def __init__(
        self,
        lams: ArrayLike | Literal["auto"] = "auto",
        *,
        cv: int = 5,
        estimator: TikhonovScore | None = None,
        max_rows: int = 2000,
        random_state: Any = 0,
    ) -> None:
        self.lams = lams
        self.cv = cv
        self.estimator = estimator
        self.max_rows = max_rows
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Choose lambda and estimate the score from the rows of X, shape (n, p); y is ignored."""
        points = validate_data(self, X, dtype=np.float64, ensure_min_samples=4)
        check_not_constant(points, "X", getattr(self, "feature_names_in_", None))
        base = TikhonovScore() if self.estimator is None else self.estimator
        if not isinstance(base, TikhonovScore):
            raise ValueError(f"estimator must be a TikhonovScore or None; got {base!r}.")
        self.lams_ = self._grid(points.shape[1])
        folds = self._folds(points)
        objective = _objective(base, folds, self.lams_)
        while self._go_on(objective, points.shape[1]):
            further = self.lams_[0] * np.array([0.1, np.sqrt(0.1)])
            objective = np.vstack([_objective(base, folds, further), objective])
            self.lams_ = np.concatenate([further, self.lams_])
        self.objective_ = objective.mean(axis=1)
        best = int(np.argmin(self.objective_))
        gap = objective - objective[best]
        self.standard_error_ = gap.std(axis=1) / np.sqrt(gap.shape[1])
        self.lam_ = float(self.lams_[best])
        self.at_edge_ = len(self.lams_) > 1 and best in (0, len(self.lams_) - 1)
        self.score_ = clone(base).set_params(lam=self.lam_).fit(points)
        self.train_scores_ = self.score_.train_scores_
        return self

    def evaluate(self, X: ArrayLike) -> NDArray:
        r"""Return :math:`\hat s(x) = -\nabla \log \hat p(x)` at every row, shape (m, p)."""
        check_is_fitted(self, "score_")
        return self.score_.evaluate(validate_data(self, X, dtype=np.float64, reset=False))

    def _grid(self, p: int) -> NDArray:
        if isinstance(self.lams, str):
            if self.lams != "auto":
                raise ValueError(f"lams must be 'auto' or positive numbers; got {self.lams!r}.")
            return default_lams(p)
        return np.unique([check_positive(float(lam), "lams") for lam in np.ravel(self.lams)])

    def _go_on(self, objective: NDArray, p: int) -> bool:
        """Whether "auto" should look at smaller values, because the smallest is the best."""
        smallest_wins = int(np.argmin(objective.mean(axis=1))) == 0
        return isinstance(self.lams, str) and smallest_wins and self.lams_[0] * p > 1.1 * SMALLEST

    def _folds(self, points: NDArray) -> list[tuple[NDArray, NDArray]]:
        """Return pairs of training and test rows."""
        rng = check_random_state(self.random_state)
        limit = check_integer(self.max_rows, "max_rows", low=4)
        if len(points) > limit:
            points = points[rng.choice(len(points), size=limit, replace=False)]
        groups = np.unique(points, axis=0, return_inverse=True)[1].ravel()
        k = check_integer(self.cv, "cv", low=2)
        if groups.max() + 1 < k:
            raise ValueError(f"X has {groups.max() + 1} distinct row(s); cv={k} needs as many.")
        splitter = GroupKFold(k, shuffle=True, random_state=rng.randint(2**31))
        splits = splitter.split(points, groups=groups)
        folds = [(points[train], points[test]) for train, test in splits]
        for train, _ in folds:
            self._check_fold(train)
        return folds

    def _check_fold(self, train: NDArray) -> None:
        """Raise if a column does not vary in the training rows of a fold."""
        constant = np.flatnonzero(~varying_columns(train))
        if constant.size:
            names = getattr(self, "feature_names_in_", range(train.shape[1]))
            listed = ", ".join(str(names[j]) for j in constant[:5])
            listed += ", ..." if constant.size > 5 else ""
            raise ValueError(
                f"X: {constant.size} column(s) ({listed}) vary in the rows of one fold only, so "
                "that the others cannot tell their density. Drop them, lower cv, or pass "
                "TikhonovScore(lam=...)."
            )


def _objective(base: TikhonovScore, folds: list[tuple[NDArray, NDArray]], lams: NDArray) -> NDArray:
    """Return the objective of every lambda at every row, (L, m), each row held out once."""
    quick = clone(base).set_params(tol=max(base.tol, PATH_TOL))
    parts = [held_out_objective(quick, train, test, lams) for train, test in folds]
    return np.concatenate(parts, axis=1)
