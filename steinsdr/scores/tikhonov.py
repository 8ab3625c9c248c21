r"""The Tikhonov score estimator (TRE) with the curl-free IMQ kernel of Zhou, Shi and Zhu (2020).

One Lanczos basis of K solves :math:`(K + n\lambda I) c = \hat\zeta/\lambda` for every lambda at
once. With many points, coefficients on m centers stand for those on all n (Nyström). Held-out score
matching chooses lambda.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, eigh_tridiagonal, solveh_banded
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GroupKFold
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._base import (
    check_argument,
    check_not_constant,
    check_numbers,
    check_points,
    check_result,
    mean_and_scale,
)
from ..kernels import CurlFreeIMQ, median_distance

_AUTO_EXACT = 10_000  # largest n that n_centers="auto" solves exactly
_AUTO_CENTERS = 1_000
_NYSTROM_TOL = 1e-3  # a smaller error of the solver is lost in that of the approximation
_SMALLEST_LAM = 1e-6  # where "auto" stops looking further down, times 1/p
_CV_ROWS = 2_000  # a choice needs no more; the fit uses all
_LAMBDA = Interval(Real, 1e-100, 1e100, closed="both")  # beyond, its products are no numbers
_POSITIVE = Interval(Real, 0, None, closed="neither")
_PATH_TOL = 1e-3  # errors of the solver far below those between rows


@dataclass
class KrylovBasis:
    """Orthonormal basis of span{h, Kh, K^2 h, ...} and the tridiagonal matrix of K in it."""

    vectors: list[NDArray]
    alpha: list[float]
    beta: list[float]
    norm: float
    eps: float

    def coordinates(self, shift: float) -> NDArray:
        """Return y with (K + shift) (Q y) = h up to the residual."""
        first = np.zeros(len(self.alpha))
        first[0] = self.norm
        if len(first) == 1:  # the solver wants two diagonals
            return first / (self.alpha[0] + shift)
        bands = np.array([np.add(self.alpha, shift), [*self.beta[:-1], 0.0]])
        try:
            return solveh_banded(bands, first, lower=True)
        except LinAlgError:  # rounding took an eigenvalue of K below -shift
            values, rotation = eigh_tridiagonal(self.alpha, self.beta[:-1])
            return self.norm * (rotation @ (rotation[0] / (values + shift)))

    def truncation(self, shift: float) -> float:
        """Relative error that remains because the basis is finite."""
        # K + shift has no eigenvalue below shift, so the error of the scores shift * c is at most
        # the norm of the residual, which the last coordinate gives.
        y = self.coordinates(shift)
        return float(abs(self.beta[-1] * y[-1]) / (shift * np.linalg.norm(y)))

    def rounding(self, shift: float) -> float:
        """Relative error that rounding in the kernel products leaves, however long the basis."""
        return self.eps * (max(self.alpha) + shift) / shift

    def residual(self, shift: float) -> float:
        """Bound on the relative error of the scores ``shift * c``."""
        return max(self.truncation(shift), self.rounding(shift))

    def combine(self, y: NDArray) -> NDArray:
        """Return Q y as an array of the shape of h."""
        out = self.vectors[0] * float(y[0])
        for weight, vector in zip(y[1:], self.vectors[1:], strict=False):
            out += vector * float(weight)
        return out


def _krylov_basis(
    kernel: CurlFreeIMQ, lams: Iterable[float], *, tol: float, max_iter: int
) -> KrylovBasis:
    """Grow the basis until every lambda is solved to ``tol`` or to rounding, or ``max_iter``."""
    h = kernel.divergence()
    norm, eps = float((h * h).sum()) ** 0.5, float(np.finfo(h.dtype).eps)
    check_argument(norm, "X and width: the size of the kernel's divergence", _POSITIVE)
    shifts = [kernel.n * lam for lam in lams]
    basis = KrylovBasis(vectors=[h / norm], alpha=[], beta=[], norm=norm, eps=eps)
    for _ in range(max_iter):
        q = basis.vectors[-1]
        w = kernel @ q
        basis.alpha.append(float((w * q).sum()))
        for vector in basis.vectors:  # all of them: cheap, and the formula of the residual holds
            w -= vector * float((w * vector).sum())
        basis.beta.append(float((w * w).sum()) ** 0.5)
        exhausted = basis.beta[-1] <= eps * max(basis.alpha)
        if exhausted or all(
            basis.truncation(shift) <= max(tol, basis.rounding(shift)) for shift in shifts
        ):
            break
        basis.vectors.append(w / basis.beta[-1])
    return basis


def _nystrom_coefficients(
    kernel: CurlFreeIMQ,
    points: NDArray,
    target: NDArray,
    ridge: float,
    *,
    tol: float,
    max_iter: int,
) -> tuple[NDArray, int, float, NDArray]:
    """Minimize ||K_nm b - target||^2 + ridge b' K_mm b; return b, steps, last change, K_nm b."""
    # Conjugate gradients on the normal equations, written out because they stop on the relative
    # change of the scores, target - K_nm b, which are at hand only inside the loop.
    rows = kernel.rows(points)
    residual = kernel.adjoint_at(rows, target)
    direction = residual * 1.0
    b, fitted = residual * 0.0, target * 0.0
    power = float((residual * residual).sum())
    change, n_iter = float("inf"), 0
    for n_iter in range(1, max_iter + 1):  # noqa: B007 - reported
        image = kernel.at(rows, direction)
        curved = kernel.adjoint_at(rows, image) + ridge * (kernel @ direction)
        check_argument(
            abs(float((direction * curved).sum())),
            "X, lam and width: a curvature",
            _POSITIVE,
        )
        step = power / float((direction * curved).sum())
        b += step * direction
        fitted += step * image
        residual -= step * curved
        scores = target - fitted
        change = abs(step) * float((image * image).sum() / (scores * scores).sum()) ** 0.5
        new_power = float((residual * residual).sum())
        if change <= tol or new_power == 0.0:
            break
        direction = residual + (new_power / power) * direction
        power = new_power
    return b, n_iter, change, fitted


@dataclass(frozen=True)
class TikhonovPath:
    r"""Training scores for a grid of lambdas, from one Lanczos basis.

    ``scores`` (L, n, p) are :math:`\hat s(x_i)` in the raw scale for every lambda in ``lams`` (L,);
    ``width`` is as ``TikhonovScore.width_``.
    """

    lams: NDArray
    scores: NDArray
    width: float


@dataclass(eq=False, repr=False)  # the constructor; all else is scikit-learn's
class TikhonovScore(BaseEstimator):
    r"""Tikhonov regularized score estimator, the paper's TRE.

    The gradient of the log density is estimated in the space of vector fields (the RKHS) of the
    curl-free kernel :math:`\mathcal K` by minimizing
    :math:`n^{-1}\sum_i \|f(x_i)\|^2 + 2 n^{-1} \sum_i \mathrm{div} f(x_i) + \lambda \|f\|^2`, an
    empirical Fisher divergence up to a constant. With
    :math:`(K + n\lambda I) c = \hat\zeta/\lambda`,

    .. math::
        \hat s(x) = \hat\zeta(x)/\lambda - \sum_j \mathcal K(x, x_j) c_j, \qquad
        \hat s(x_i) = n \lambda c_i .

    Parameters
    ----------
    lam : float, default=1e-4
        Regularization :math:`\lambda`. The paper uses 1e-4, and 1e-5 where :math:`n_\ell = 500`,
        both at p = 100; about :math:`10^{-2}/p` suits Gaussian columns. Too large a value shrinks
        the scores towards zero (:func:`steinsdr.moments.stein_diagnostics` shows it), and too small
        a value makes them noisy.
    width : float or "median", default="median"
        Kernel width c; "median" is the median of all :math:`n^2` pairwise distances.
    standardize : bool, default=True
        Fit on standardized columns and scale the scores back.
    tol : float, default=1e-5
        Bound on the relative error of the training scores at which the solver stops. The
        Nyström variant stops when a step changes them by less than 1e-3 (or ``tol``, if larger).
    max_iter : int, default=500
        Largest number of kernel products.
    n_centers : "auto", None or int, default="auto"
        None solves with all n points, an integer m with m random centers (Nyström), so that a step
        costs O(nm) instead of O(n^2). "auto" is None up to n = 10,000, and 1,000 centers beyond.
    dtype : {"float64", "float32"}, default="float64"
        Precision of the kernel products; "float32" halves time and memory. A warning says when
        its rounding, of relative size :math:`\epsilon \|K\| / (n\lambda)`, exceeds ``tol``.
    memory_limit : float, default=2e9
        Bytes for stored kernel factors. A larger kernel is computed anew, tile by tile.
    random_state : int, RandomState or None
        Seed of the choice of Nyström centers.

    Attributes
    ----------
    train_scores_ : ndarray of shape (n, p)
        :math:`\hat s(x_i)` in the raw scale.
    width_ : float
        Width of the kernel, in units of the standardized columns, or of X without ``standardize``.
    n_iter_ : int
        Kernel products used.
    residual_ : float
        Bound on the relative error of ``train_scores_``. For Nyström the relative change of the
        last step; the error can be many times that.
    centers_, coefficients_ : ndarray of shape (m, p)
        Points and coefficients of the kernel expansion.

    Notes
    -----
    The estimator fails where x has no density, as with constant or duplicated columns and discrete
    covariates. With few points in many dimensions it shrinks towards the score of a wide, nearly
    Gaussian distribution.

    References
    ----------
    Y. Zhou, J. Shi, J. Zhu (2020). Nonparametric score estimators. ICML.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((400, 3))
    >>> score = TikhonovScore().fit(X)
    >>> bool(np.allclose(score.evaluate(X), score.train_scores_, atol=1e-3))
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "lam": [_LAMBDA],
        "width": [StrOptions({"median"}), Interval(Real, 0, None, closed="neither")],
        "standardize": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_centers": [StrOptions({"auto"}), None, Interval(Integral, 1, None, closed="left")],
        "dtype": [StrOptions({"float64", "float32"})],
        "memory_limit": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    lam: float = 1e-4
    _: KW_ONLY
    width: float | Literal["median"] = "median"
    standardize: bool = True
    tol: float = 1e-5
    max_iter: int = 500
    n_centers: int | Literal["auto"] | None = "auto"
    dtype: str = "float64"
    memory_limit: float = 2e9
    random_state: Any = None

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Estimate the score from the rows of X, shape (n, p); y is ignored."""
        Z = self._prepare(X)
        n, lam = len(Z), float(self.lam)
        m = self.n_centers
        if m == "auto":
            m = None if n <= _AUTO_EXACT else _AUTO_CENTERS
        if m is None:
            basis = _krylov_basis(self._kernel(Z), [lam], tol=self.tol, max_iter=self.max_iter)
            self.centers_ = Z
            self.coefficients_ = basis.combine(basis.coordinates(n * lam)) / lam
            self.n_iter_, self.residual_ = len(basis.alpha), basis.residual(n * lam)
            train = self.coefficients_.astype(np.float64) * (n * lam)
        else:
            if m > n:
                raise ValueError(f"n_centers={m}, but X has {n} row(s); expected at most as many.")
            chosen = check_random_state(self.random_state).choice(n, size=m, replace=False)
            self.centers_ = Z[np.sort(chosen)]
            target = self._kernel(Z).divergence() / lam
            self.coefficients_, self.n_iter_, self.residual_, fitted = _nystrom_coefficients(
                self._kernel(self.centers_),
                Z,
                target,
                n * lam,
                tol=max(self.tol, _NYSTROM_TOL),
                max_iter=self.max_iter,
            )
            train = (target - fitted).astype(np.float64)
        self._points, self._lam = Z, lam
        self.train_scores_ = check_result(train / self._scale, "the scores", "X, lam and width")
        self._warn(self.residual_, nystrom=m is not None)
        return self

    def evaluate(self, X: ArrayLike) -> NDArray:
        r"""Return :math:`\hat s(x) = -\nabla \log \hat p(x)` at every row, shape (m, p)."""
        check_is_fitted(self, "train_scores_")
        points = check_points(self, X, reset=False)
        with np.errstate(over="ignore", invalid="ignore"):
            points = np.ascontiguousarray((points - self._mean) / self._scale, dtype=self.dtype)
            zeta = self._kernel(self._points).divergence(points) / self._lam
            field = self._kernel(self.centers_).at(points, self.coefficients_)
            return check_result((zeta - field).astype(np.float64) / self._scale, "the scores")

    def path(self, X: ArrayLike, lams: ArrayLike) -> TikhonovPath:
        """Return the training scores for every lambda in ``lams``, for about one fit's price.

        All n points are used; ``lam``, ``n_centers`` and a fit made before play no part.
        """
        path, residual = self._path(X, lams)
        self._warn(residual, nystrom=False)
        return path

    def _path(self, X: ArrayLike, lams: ArrayLike) -> tuple[TikhonovPath, float]:
        """Return the path, and a bound on the largest relative error of its scores."""
        grid = _positive_grid(lams)
        worker = clone(self)
        Z = worker._prepare(X)
        n = len(Z)
        kernel = worker._kernel(Z)
        basis = _krylov_basis(kernel, grid.tolist(), tol=self.tol, max_iter=self.max_iter)
        fields = (basis.combine(basis.coordinates(n * lam)) * n for lam in grid)
        scores = np.stack([field.astype(np.float64) / worker._scale for field in fields])
        check_result(scores, "the scores", "X, lams and width")
        residual = max(basis.residual(n * lam) for lam in grid)
        return TikhonovPath(grid, scores, worker.width_), residual

    def _prepare(self, X: ArrayLike) -> NDArray:
        """Check parameters and data; return the points of the fit, set scaling and width."""
        self._validate_params()
        points = check_points(self, X, min_rows=2)
        check_not_constant(points, "X", getattr(self, "feature_names_in_", None))
        self._mean, self._scale = mean_and_scale(points, self.standardize)
        points = (points - self._mean) / self._scale
        self.width_ = median_distance(points) if self.width == "median" else float(self.width)
        if self.width_ <= 0:
            raise ValueError(
                "width='median' is zero: half of the pairwise distances of X vanish because rows "
                "are duplicated. Drop duplicates or pass a positive width."
            )
        size = float(np.sqrt(np.square(points - points.mean(axis=0)).sum(axis=1).mean()))
        if not 1e-75 < self.width_ < 1e75 or not 1e-10 < self.width_ / size < 1e10:
            raise ValueError(  # its fourth power, and the fifth of the ratio, must be numbers
                f"width: the kernel width is {self.width_:.1e}, too far from 1 or from the size "
                f"{size:.1e} of the points for its powers; pass another width, rescale X, or use "
                "standardize=True."
            )
        return np.ascontiguousarray(points, dtype=self.dtype)

    def _kernel(self, centers: NDArray) -> CurlFreeIMQ:
        return CurlFreeIMQ(centers, self.width_, memory_limit=self.memory_limit)

    def _warn(self, residual: float, *, nystrom: bool) -> None:
        tol = max(self.tol, _NYSTROM_TOL) if nystrom else self.tol
        if residual > tol:
            advice = "Use dtype='float64'" if self.dtype == "float32" else "Raise max_iter or lam"
            told = (
                f"the last step still changed the scores by {residual:.1e} of their size, above "
                f"{tol:.1e}; their error can be many times that"
                if nystrom
                else f"the scores' relative error may be {residual:.1e}, above tol={tol:.1e}"
            )
            warnings.warn(f"TikhonovScore: {told}. {advice}.", ConvergenceWarning, stacklevel=3)


def _positive_grid(lams: ArrayLike) -> NDArray:
    check_numbers(lams, "lams")
    try:
        grid = np.atleast_1d(np.asarray(lams, dtype=float))
    except (TypeError, ValueError):
        grid = np.empty(0)
    if grid.ndim != 1 or not grid.size or not all(map(_LAMBDA.is_satisfied_by, grid)):
        raise ValueError(f"lams must be positive finite numbers, each {_LAMBDA}; got {lams!r}.")
    return grid


def held_out_objective(
    estimator: TikhonovScore, train: NDArray, test: NDArray, lams: NDArray
) -> NDArray:
    r"""Hyvärinen's objective of every lambda at every row of ``test``, shape (L, m).

    The score is learned from ``train`` (n, p), all lambdas from one Lanczos basis, and
    :math:`\|\hat s(x)\|^2/2 - \mathrm{div}\,\hat s(x)` is measured in the units of the standardized
    training rows.

    Examples
    --------
    Better than no score at all, whose objective is zero:

    >>> X = np.random.default_rng(0).standard_normal((300, 3))
    >>> bool(held_out_objective(TikhonovScore(), X[:200], X[200:], np.array([3e-3])).mean() < 0)
    True
    """
    path, _ = estimator._path(train, lams)  # the winner among candidates warns itself
    mean, scale = mean_and_scale(train, estimator.standardize)
    Z, points = (train - mean) / scale, (test - mean) / scale
    # At the training points s = n lambda c, so the path holds the coefficients.
    C = path.scores * scale / (len(Z) * path.lams[:, None, None])
    kernel = CurlFreeIMQ(Z, path.width, memory_limit=estimator.memory_limit)
    rows, zeta = kernel.rows(points), kernel.divergence(points)
    *slopes, zeta_slope = kernel.slopes_at(points, C)
    out = np.empty((len(lams), len(points)))
    for k, lam in enumerate(path.lams):
        score = zeta / lam - kernel.at(rows, C[k])
        out[k] = np.square(score).sum(axis=1) / 2.0 - (zeta_slope / lam - slopes[k])
    return out


@dataclass(eq=False, repr=False)
class TikhonovScoreCV(BaseEstimator):
    r"""Tikhonov score whose lambda is chosen by cross-validated score matching.

    The Fisher divergence :math:`E\|\hat s - s\|^2/2` is, up to a constant, the mean of
    :math:`\|\hat s(x)\|^2/2 - \mathrm{div}\,\hat s(x)`, which needs no true score (Hyvärinen 2005).
    The lambda with the smallest mean over held-out folds is fitted on all rows:
    ``SteinSDR(score_estimator=TikhonovScoreCV())`` suits any number of columns.

    Parameters
    ----------
    lams : "auto" or array-like of shape (L,), default="auto"
        Candidates. "auto" takes half decades from 1e-3/p to 1/p, and goes further down, at most to
        1e-6/p, as long as the smallest candidate wins; nearly collinear columns need such values.
    cv : int, default=5
        Number of folds, which have at most 2,000 random rows in all. Equal rows stay in one fold,
        because a row that was seen in training would favor too small a lambda.
    estimator : TikhonovScore or None, default=None
        Estimator with all other settings; its ``lam`` is ignored. None is ``TikhonovScore()``.
    random_state : int, RandomState or None, default=0
        Seed of the folds and of the drawn rows. It is fixed by default, so that equal data give
        equal scores.

    Attributes
    ----------
    lam_ : float
        The chosen lambda.
    lams_, objective_ : ndarray of shape (L,)
        The candidates, ascending, and the mean held-out objective of each; only differences count.
    at_edge_ : bool
        Whether the objective was smallest at an end of the grid: a wider grid may then do better.
    score_ : TikhonovScore
        Fitted with ``lam_`` on all rows.
    train_scores_ : ndarray of shape (n, p)
        As those of ``score_``.

    Raises
    ------
    ValueError
        If a candidate is not positive, there are fewer distinct rows than folds, or a column
        varies in the rows of one fold only.

    References
    ----------
    A. Hyvärinen (2005). Estimation of non-normalized statistical models by score matching. JMLR.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((300, 3))
    >>> score = TikhonovScoreCV().fit(X)
    >>> at_choice = score.objective_[score.lams_ == score.lam_][0]
    >>> bool(at_choice == score.objective_.min())
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "lams": [StrOptions({"auto"}), "array-like"],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "estimator": [TikhonovScore, None],
        "random_state": ["random_state"],
    }

    lams: ArrayLike | Literal["auto"] = "auto"
    _: KW_ONLY
    cv: int = 5
    estimator: TikhonovScore | None = None
    random_state: Any = 0

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Choose lambda and estimate the score from the rows of X, shape (n, p); y is ignored."""
        self._validate_params()
        points = check_points(self, X, min_rows=4)
        check_not_constant(points, "X", getattr(self, "feature_names_in_", None))
        base = TikhonovScore() if self.estimator is None else self.estimator
        base._validate_params()
        quick = clone(base).set_params(tol=max(base.tol, _PATH_TOL))
        p, auto, folds = points.shape[1], isinstance(self.lams, str), self._folds(points)

        def objective_of(lams: NDArray) -> NDArray:
            """Return the objective at every row, (L, n), each row held out once."""
            parts = [held_out_objective(quick, train, test, lams) for train, test in folds]
            return np.concatenate(parts, axis=1)

        self.lams_ = np.logspace(-3, 0, 7) / p if auto else np.unique(_positive_grid(self.lams))
        objective = objective_of(self.lams_)
        while (
            auto
            and np.argmin(objective.mean(axis=1)) == 0
            and self.lams_[0] * p > 1.1 * _SMALLEST_LAM
        ):
            further = self.lams_[0] * np.array([0.1, np.sqrt(0.1)])
            objective = np.vstack([objective_of(further), objective])
            self.lams_ = np.concatenate([further, self.lams_])
        self.objective_ = objective.mean(axis=1)
        best = int(np.argmin(self.objective_))
        self.lam_ = float(self.lams_[best])
        self.at_edge_ = len(self.lams_) > 1 and best in (0, len(self.lams_) - 1)
        self.score_ = clone(base).set_params(lam=self.lam_).fit(points)
        self.train_scores_ = self.score_.train_scores_
        return self

    def evaluate(self, X: ArrayLike) -> NDArray:
        r"""Return :math:`\hat s(x) = -\nabla \log \hat p(x)` at every row, shape (m, p)."""
        check_is_fitted(self, "score_")
        return self.score_.evaluate(check_points(self, X, reset=False))

    def _folds(self, points: NDArray) -> list[tuple[NDArray, NDArray]]:
        """Return pairs of training and test rows; every column varies in the training rows."""
        rng = check_random_state(self.random_state)
        if len(points) > _CV_ROWS:
            points = points[rng.choice(len(points), size=_CV_ROWS, replace=False)]
        groups = np.unique(points, axis=0, return_inverse=True)[1].ravel()
        if groups.max() + 1 < self.cv:
            raise ValueError(
                f"X has {groups.max() + 1} distinct row(s); cv={self.cv} needs as many."
            )
        splitter = GroupKFold(self.cv, shuffle=True, random_state=rng.randint(2**31))
        splits = splitter.split(points, groups=groups)
        folds = [(points[train], points[test]) for train, test in splits]
        for train, _ in folds:
            names = getattr(self, "feature_names_in_", None)
            check_not_constant(train, "X without one of its folds", names)
        return folds
