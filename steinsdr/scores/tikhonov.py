r"""The Tikhonov score estimator (TRE) with the curl-free IMQ kernel of Zhou, Shi and Zhu (2020)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .._validation import check_choice, check_integer, check_not_constant, check_positive
from ..kernels import CurlFreeIMQ, median_distance, namespace
from ._base import Standardization
from ._lanczos import KrylovBasis, krylov_basis
from ._nystrom import nystrom_coefficients

__all__ = ["TikhonovPath", "TikhonovScore"]

AUTO_EXACT = 10_000  # largest n that n_centers="auto" solves exactly
AUTO_CENTERS = 1_000
NYSTROM_TOL = 1e-3  # a smaller error of the solver is lost in that of the approximation


@dataclass(frozen=True)
class TikhonovPath:
    r"""Training scores for a grid of regularization parameters, from one Lanczos basis.

    Attributes
    ----------
    lams : ndarray of shape (L,)
    scores : ndarray of shape (L, n, p)
        :math:`\hat s(x_i)` in the raw scale, for every lambda.
    residuals : ndarray of shape (L,)
        Bound on the relative error of each, as ``TikhonovScore.residual_``.
    n_iter : int
        Kernel products that were needed for all of them together.
    width : float
        Kernel width, as ``TikhonovScore.width_``.
    """

    lams: NDArray
    scores: NDArray
    residuals: NDArray
    n_iter: int
    width: float


class TikhonovScore(BaseEstimator):
    r"""Tikhonov regularized score estimator, the paper's TRE.

    The gradient of the log density is estimated in the RKHS of the curl-free kernel
    :math:`\mathcal K` by minimizing
    :math:`n^{-1}\sum_i \|f(x_i)\|^2 + 2 n^{-1} \sum_i \mathrm{div} f(x_i)
    + \lambda \|f\|^2`, an empirical Fisher divergence up to a constant. With
    :math:`(K + n\lambda I) c = \hat\zeta/\lambda`,

    .. math::
        \hat s(x) = \hat\zeta(x)/\lambda - \sum_j \mathcal K(x, x_j) c_j, \qquad
        \hat s(x_i) = n \lambda c_i,

    so the scores at the training points are free. Everything in this field is a gradient,
    which is why it has a log density to offer.

    Parameters
    ----------
    lam : float, default=1e-4
        Regularization :math:`\lambda`. The paper uses 1e-4, and 1e-5 where
        :math:`n_\ell = 500`, both at p = 100. Too large shrinks the scores towards zero
        (:func:`steinsdr.moments.stein_diagnostics` shows it), too small makes them noisy. The
        kernel's scale is :math:`c^{-2} \approx 1/(2p)`, so fewer columns want a larger value:
        about :math:`10^{-2}/p` serves Gaussian columns well.
    width : float or "median", default="median"
        Kernel width c; "median" is the median of all :math:`n^2` pairwise distances.
    standardize : bool, default=True
        Fit on standardized columns and scale the scores back.
    tol : float, default=1e-5
        Bound on the relative error of the training scores at which the solver stops. The
        Nyström variant stops when a step changes them by less than 1e-3 (or ``tol``, if larger),
        which bounds no error: that can be many times the change.
    max_iter : int, default=500
        Largest number of kernel products.
    n_centers : "auto", None or int, default="auto"
        None solves with all n points; an integer m uses the Nyström variant with m random
        centres, O(nm) instead of O(n^2) per step; "auto" is None up to n = 10,000 and 1,000
        centres beyond.
    dtype : {"float64", "float32"}, default="float64"
        Precision of the kernel products; "float32" halves time and memory. It is refused
        nothing, but a warning says when rounding, of relative size
        :math:`\epsilon \|K\| / (n\lambda)`, exceeds ``tol``.
    device : str or None, default=None
        None computes with numpy; a torch device ("cpu", "cuda", ...) with torch.
    memory_limit : float, default=2e9
        Bytes for stored kernel factors; a larger kernel is remade tile by tile.
    random_state : int, RandomState or None
        Chooses the Nyström centres.

    Attributes
    ----------
    train_scores_ : ndarray of shape (n, p)
        :math:`\hat s(x_i)` in the raw scale.
    width_ : float
        The width used, in the (standardized) scale of the fit.
    n_iter_ : int
        Kernel products used.
    residual_ : float
        Bound on the relative error of ``train_scores_``. For Nyström the relative change of the
        last step, which is no bound: the error can be many times that.
    centers_, coefficients_ : ndarray of shape (m, p)
        Points and coefficients of the kernel expansion.

    Notes
    -----
    Fails where x has no density: constant or duplicated columns, discrete covariates. With
    few points in many dimensions it shrinks towards the score of a wide, nearly Gaussian law.

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

    def __init__(
        self,
        lam: float = 1e-4,
        *,
        width: float | Literal["median"] = "median",
        standardize: bool = True,
        tol: float = 1e-5,
        max_iter: int = 500,
        n_centers: int | Literal["auto"] | None = "auto",
        dtype: str = "float64",
        device: str | None = None,
        memory_limit: float = 2e9,
        random_state: Any = None,
    ) -> None:
        self.lam = lam
        self.width = width
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.n_centers = n_centers
        self.dtype = dtype
        self.device = device
        self.memory_limit = memory_limit
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Estimate the score from the rows of X, shape (n, p); y is ignored."""
        lam = self._lam = check_positive(self.lam, "lam")
        Z = self._prepare(X)
        n = Z.shape[0]
        m = self._number_of_centers(n)
        if m is None:
            basis = self._solve(Z, [lam])
            c = basis.combine(basis.coordinates(n * lam)) / lam
            self._centers, self._c = Z, c
            self.n_iter_, self.residual_ = len(basis.alpha), basis.residual(n * lam)
            train = self._host(c) * (n * lam)
        else:
            chosen = check_random_state(self.random_state).choice(n, size=m, replace=False)
            self._centers = Z[np.sort(chosen)] if self.device is None else Z[list(np.sort(chosen))]
            target = self._kernel(Z).divergence() / lam
            solution = nystrom_coefficients(
                self._kernel(self._centers),
                Z,
                target,
                n * lam,
                tol=max(self.tol, NYSTROM_TOL),
                max_iter=int(self.max_iter),
            )
            self._c, self.n_iter_, self.residual_ = solution[:3]
            train = self._host(target - solution[3])
        self._points = Z
        self.centers_, self.coefficients_ = self._host(self._centers), self._host(self._c)
        self.train_scores_ = self._scaling.score_back(train)
        self._warn(self.residual_, nystrom=m is not None)
        return self

    def evaluate(self, X: ArrayLike) -> NDArray:
        r"""Return :math:`\hat s(x) = -\nabla \log \hat p(x)` at every row, shape (m, p)."""
        points = self._points_of(X)
        zeta = self._kernel(self._points).divergence(points) / self._lam
        field = self._kernel(self._centers).at(points, self._c)
        return self._scaling.score_back(self._host(zeta - field))

    def log_density(self, X: ArrayLike) -> NDArray:
        """Return log p at every row up to one additive constant, shape (m,).

        The potential of the estimated field: its gradient is ``-evaluate(X)``.
        """
        points = self._points_of(X)
        field = self._kernel(self._centers).potential_at(points, self._c)
        zeta = self._kernel(self._points).divergence_potential(points)
        return self._host(field - zeta / self._lam)

    def path(self, X: ArrayLike, lams: ArrayLike) -> TikhonovPath:
        """Return the training scores for every lambda in ``lams``, for about one fit's price.

        All n points are used, and ``lam`` and ``n_centers`` are ignored. The smallest lambda
        decides how many kernel products are needed. A fit made before stays as it is.
        """
        grid = np.atleast_1d(np.asarray(lams, dtype=float))
        if grid.ndim != 1 or not grid.size or not (np.isfinite(grid) & (grid > 0)).all():
            raise ValueError(f"lams must be a sequence of positive numbers; got {lams!r}.")
        worker = clone(self)
        Z = worker._prepare(X)
        n, p = Z.shape
        basis = worker._solve(Z, grid.tolist())
        scores = np.empty((grid.size, n, p))
        for k, lam in enumerate(grid):
            train = basis.combine(basis.coordinates(n * lam)) * n
            scores[k] = worker._scaling.score_back(self._host(train))
        residuals = np.array([basis.residual(n * lam) for lam in grid])
        self._warn(residuals.max(), nystrom=False)
        return TikhonovPath(grid, scores, residuals, len(basis.alpha), worker.width_)

    def _prepare(self, X: ArrayLike) -> Any:
        """Check parameters and data; return the points of the fit, set scaling and width."""
        check_positive(self.tol, "tol")
        check_positive(self.memory_limit, "memory_limit")
        check_integer(self.max_iter, "max_iter", low=1)
        check_choice(self.dtype, "dtype", ("float64", "float32"))
        if self.width != "median":
            check_positive(self.width, "width")
        points = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        check_not_constant(points, "X", getattr(self, "feature_names_in_", None))
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            self._scaling = Standardization.of(points, self.standardize)
            points = self._scaling.forward(points)
            squares = np.square(points - points.mean(axis=0)).sum(axis=0)
        if not (np.isfinite(squares) & (squares > 0)).all() or not np.isfinite(squares.sum()):
            raise ValueError(
                "X holds values too large or too small for their variance to be a positive finite "
                "number; rescale its columns."
            )
        self.width_ = median_distance(points) if self.width == "median" else float(self.width)
        if self.width_ <= 0:
            raise ValueError(
                "width='median' is zero: half of the pairwise distances of X vanish because rows "
                "are duplicated. Drop duplicates or pass a positive width."
            )
        if not 1e-75 < self.width_ < 1e75:  # its fourth power is the largest that is needed
            raise ValueError(
                f"the kernel width is {self.width_:.1e}, too far from 1 for its powers; rescale X, "
                "or use standardize=True."
            )
        return self._native(points)

    def _number_of_centers(self, n: int) -> int | None:
        if self.n_centers is None or (self.n_centers == "auto" and n <= AUTO_EXACT):
            return None
        if self.n_centers == "auto":
            return AUTO_CENTERS
        return check_integer(self.n_centers, "n_centers", low=1, high=n)

    def _kernel(self, centers: Any) -> CurlFreeIMQ:
        return CurlFreeIMQ(centers, self.width_, memory_limit=self.memory_limit)

    def _solve(self, Z: Any, lams: list[float]) -> KrylovBasis:
        kernel = self._kernel(Z)
        shifts = [Z.shape[0] * lam for lam in lams]
        return krylov_basis(
            kernel.__matmul__,
            kernel.divergence(),
            shifts,
            tol=self.tol,
            max_iter=int(self.max_iter),
            eps=float(np.finfo(self.dtype).eps),
        )

    def _warn(self, residual: float, *, nystrom: bool) -> None:
        tol = max(self.tol, NYSTROM_TOL) if nystrom else self.tol
        if residual > tol:
            advice = "Use dtype='float64'" if self.dtype == "float32" else "Raise max_iter or lam"
            told = (
                f"the last step still changed the scores by {residual:.1e} of their size, above "
                f"{tol:.1e}; their error can be many times that"
                if nystrom
                else f"the scores' relative error may be {residual:.1e}, above tol={tol:.1e}"
            )
            warnings.warn(f"TikhonovScore: {told}. {advice}.", ConvergenceWarning, stacklevel=3)

    def _points_of(self, X: ArrayLike) -> Any:
        check_is_fitted(self, "train_scores_")
        points = validate_data(self, X, dtype=np.float64, reset=False)
        return self._native(self._scaling.forward(points))

    def _native(self, array: NDArray) -> Any:
        """Move to the backend's array type, precision and device."""
        array = np.ascontiguousarray(array, dtype=self.dtype)
        xp = namespace(self.device)
        return array if xp is np else xp.as_tensor(array, device=self.device)

    @staticmethod
    def _host(array: Any) -> NDArray:
        return np.asarray(array if isinstance(array, np.ndarray) else array.cpu(), dtype=np.float64)
