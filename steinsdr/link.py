r"""Fits of :math:`f(x) = E(y \mid x)` and their gradients, for the augmented moment.

:func:`fit_link` makes the fit, :func:`link_gradients` gives :math:`\nabla \hat f(x_i)` of any
regressor, and :class:`KernelLink` is a kernel ridge regression with closed forms for both.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh
from scipy.spatial.distance import cdist, pdist
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, clone
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.linear_model._base import LinearModel
from sklearn.utils import gen_batches
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ._base import SequenceOf, check_argument, check_points, check_responses, check_result

RIDGE_PENALTIES = np.logspace(-4, 2, 25)  # per row, as the columns have unit scale
GAIN = 0.9  # "auto" is the kernel fit if its leave-one-out error is below this share of ridge's
PENALTIES = np.logspace(-6, 1, 15)
WIDTHS = (0.5, 1.0, 2.0, 4.0)
_POSITIVE = Interval(Real, 0, None, closed="neither")
CHUNK = 1 << 22  # entries of a kernel matrix held at once


def fit_link(
    augment: Any, X: NDArray, Y: NDArray, *, pooled: float = 1.0, nonlinear: bool = False
) -> Any:
    r"""Return a regressor fitted to X (n, p), in comparable units, and Y (n, q).

    Parameters
    ----------
    augment : {"auto", "ridge", "kernel"} or regressor
        "ridge" has a penalty per response, by the leave-one-out error of that response plus
        ``pooled`` times the mean over all of them. "kernel" is :class:`KernelLink`.
        "auto" is the kernel fit if it predicts left-out rows clearly better: if the ratio of its
        error to that of ridge, at most 1 a response, averages below 0.9. A regressor is cloned; its
        predictions must be finite and have the shape of Y.
    pooled : float, default=1.0
        Steadies the choice of penalties. Heavy tails need a small value.
    nonlinear : bool, default=False
        Whether "auto" must not be linear, because more directions are wanted than a linear fit has.
    """
    if augment not in ("auto", "ridge", "kernel"):
        link = clone(augment, safe=False).fit(X, Y[:, 0] if Y.shape[1] == 1 else Y)
        fitted = np.asarray(link.predict(X), dtype=float)
        shapes = [Y.shape, Y.shape[:1]] if Y.shape[1] == 1 else [Y.shape]
        if fitted.shape not in shapes or not np.isfinite(fitted).all():
            raise ValueError(
                f"augment: {link!r} predicts an array of shape {fitted.shape} with "
                f"{np.isfinite(fitted).sum()} finite values; expected {Y.shape}, all finite."
            )
        return link
    if augment == "kernel":
        return KernelLink().fit(X, Y)
    ridge = _ridge(X, Y, pooled)
    errors = ridge.errors_
    # With fewer rows than twice the columns a kernel fit is no better than linear.
    if augment == "ridge" or (len(X) < max(3, 2 * X.shape[1]) and not nonlinear):
        return ridge
    kernel = KernelLink(widths=(1.0,), max_centers=1000).fit(X, Y)
    # One response with heavy tails must not decide, hence ratios, and none above one.
    ratios = np.divide(kernel.errors_, errors, out=np.ones_like(errors), where=errors > 0)
    return kernel if nonlinear or np.minimum(ratios, 1.0).mean() < GAIN else ridge


def _ridge(X: NDArray, Y: NDArray, pooled: float) -> Any:
    """Return the ridge regression, with its leave-one-out errors (q,) as ``errors_``."""
    penalties = len(X) * RIDGE_PENALTIES
    path = RidgeCV(alphas=penalties, store_cv_results=True).fit(X, Y)
    errors = path.cv_results_.reshape(len(X), Y.shape[1], -1).mean(axis=0)  # (q, penalties)
    relative = errors / np.maximum(errors.max(axis=1, keepdims=True), np.finfo(float).tiny)
    chosen = np.argmin(relative + pooled * relative.mean(axis=0), axis=1)
    ridge = Ridge(alpha=penalties[chosen]).fit(X, Y)
    ridge.errors_ = errors[np.arange(len(errors)), chosen]
    return ridge


def is_linear(link: Any) -> bool:
    """Return whether the gradient of a fitted regressor is its coefficients."""
    # Not all that has coefficients is linear: generalized linear models are not.
    return isinstance(link, LinearModel) and not hasattr(link, "gradient")


def link_gradients(link: Any, X: NDArray, q: int) -> NDArray:
    r"""Return :math:`\nabla \hat f(x_i)`, shape (n, p, q), of a fitted regressor of q responses.

    It is the regressor's method ``gradient`` where there is one, its coefficients if it is
    linear, and else central differences of its predictions.

    Examples
    --------
    The gradient of a linear fit is its coefficients, and differences find them too:

    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.standard_normal((50, 3)), rng.standard_normal((50, 2))
    >>> link = fit_link("ridge", X, Y)
    >>> differences = np.stack([_difference(link, X, j) for j in range(3)], axis=1)
    >>> bool(np.allclose(link_gradients(link, X, 2), differences))
    True
    """
    n, p = X.shape
    if hasattr(link, "gradient"):
        gradient = np.asarray(link.gradient(X), dtype=float)
        gradient = gradient[:, :, None] if gradient.shape == (n, p) else gradient
        if gradient.shape != (n, p, q) or not np.isfinite(gradient).all():
            raise ValueError(
                f"augment: the gradient of {link!r} has shape {gradient.shape}, or values that are "
                f"not finite; expected finite values of shape ({n}, {p}, {q})."
            )
        return gradient
    if is_linear(link):
        coefficients = np.atleast_2d(link.coef_).T
        return np.broadcast_to(coefficients, (n, *coefficients.shape))
    return np.stack([_difference(link, X, j) for j in range(p)], axis=1)


def _difference(link: Any, X: NDArray, column: int) -> NDArray:
    """Return the central difference of the predictions along a column, shape (n, q)."""
    step = 1e-2  # in units of the column: wide enough for a tree to change
    shift = np.zeros(X.shape[1])
    shift[column] = step
    up, down = (np.asarray(link.predict(X + s)).reshape(len(X), -1) for s in (shift, -shift))
    return (up - down) / (2 * step)


class KernelLink(RegressorMixin, MultiOutputMixin, BaseEstimator):
    r"""Kernel ridge regression with a Gaussian or a Laplace kernel, tuned by leave-one-out.

    :math:`\hat f(x) = \bar y + \sum_j c_j\{1 + k(x, x_j)\}` with the kernel
    :math:`\exp(-\|x - x_j\|^2 / 2 h^2)` or :math:`\exp(-\|x - x_j\| / h)`, one width h
    for all responses and a penalty for each of them. Both minimize the leave-one-out error, which
    costs one eigendecomposition per width.

    Parameters
    ----------
    widths : sequence of float, default=(0.5, 1, 2, 4)
        Candidates for h, in units of the median distance between rows.
    penalties : sequence of float, default=None
        Candidates for the penalty, per row; None is a grid from 1e-6 to 10.
    max_centers : int, default=2000
        Rows that carry the expansion. With more rows a subset of that size does (Nyström), evenly
        spaced in the order of the first column, so that the cost is linear in n.
    kernel : {"gaussian", "laplace"}, default="gaussian"
        The Laplace kernel suits functions with kinks and steps, for which the Gaussian one is too
        smooth. Its fit has no second derivatives, and a row of the expansion adds nothing to the
        gradient at itself.

    Attributes
    ----------
    width_, alpha_ : float, ndarray of shape (q,)
        The chosen h, and the chosen penalties, per row.
    errors_ : ndarray of shape (q,)
        Mean squared leave-one-out error of each response, in its units.
    centers_, dual_coef_ : ndarray of shape (m, p), (m, q)
        Rows that carry the expansion, and their coefficients c.

    Notes
    -----
    The columns must be in comparable units. With many columns and few rows all distances are alike,
    and the fit becomes nearly linear.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 2))
    >>> fit = KernelLink().fit(X, np.sin(2 * X[:, 0]))
    >>> fit.score(X, np.sin(2 * X[:, 0])) > 0.99
    True

    A step is fitted better by the Laplace kernel:

    >>> step = (X[:, 0] > 0).astype(float)
    >>> bool(KernelLink(kernel="laplace").fit(X, step).errors_ < fit.fit(X, step).errors_)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "widths": [SequenceOf(_POSITIVE)],
        "penalties": [SequenceOf(_POSITIVE), None],
        "max_centers": [Interval(Integral, 2, None, closed="left")],
        "kernel": [StrOptions({"gaussian", "laplace"})],
    }

    def __init__(
        self,
        *,
        widths: ArrayLike = WIDTHS,
        penalties: ArrayLike | None = None,
        max_centers: int = 2000,
        kernel: str = "gaussian",
    ) -> None:
        self.widths = widths
        self.penalties = penalties
        self.max_centers = max_centers
        self.kernel = kernel

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit to X (n, p) and responses y (n,) or (n, q)."""
        self._validate_params()
        points = check_points(self, X, min_rows=3)
        Y = check_responses(y, n_rows=len(points), missing=False)
        self._flat = np.asarray(y).ndim == 1
        self.mean_ = Y.mean(axis=0)
        Y = Y - self.mean_
        n = len(points)
        self.centers_ = points
        if n > self.max_centers:
            # Evenly spaced in their order by columns, which is the same however the rows come.
            order = np.lexsort(points.T[::-1])
            self.centers_ = points[order[np.linspace(0, n - 1, self.max_centers).astype(int)]]
        penalties = PENALTIES if self.penalties is None else np.asarray(self.penalties)
        unit = np.median(pdist(self.centers_))
        check_argument(unit, "X: the median distance between rows", _POSITIVE)
        best = np.inf
        for width in np.atleast_1d(self.widths) * unit:
            errors, alpha, coefficients = self._tune(points, Y, width, penalties)
            if errors.sum() < best:
                best, self.width_ = errors.sum(), float(width)
                self.errors_, self.alpha_, self.dual_coef_ = errors, alpha, coefficients
        if not np.isfinite(best):
            raise ValueError("y: its squares are not finite; rescale the responses.")
        return self

    def _tune(
        self, points: NDArray, Y: NDArray, width: float, penalties: NDArray
    ) -> tuple[NDArray, NDArray, NDArray]:
        """Return the leave-one-out errors of a width with its best penalties, and the fit."""
        n = len(points)
        own = 1.0 + self._kernel(self.centers_, width)
        values, vectors = eigh(own)
        keep = values > values[-1] * len(values) * np.finfo(float).eps
        values, vectors = values[keep], vectors[:, keep]
        if len(self.centers_) == n:
            basis, power, back = vectors, values, vectors / np.sqrt(values)
        else:
            whiten = vectors / np.sqrt(values)
            features = (1.0 + self._kernel(points, width)) @ whiten
            power, rotation = eigh(features.T @ features)
            power = np.clip(power, np.finfo(float).tiny, None)
            basis, back = features @ (rotation / np.sqrt(power)), whiten @ rotation
        projected = basis.T @ Y
        # All penalties at once: (k, l) shrinkage factors of the k eigenvectors.
        shrink = power[:, None] / (power[:, None] + n * penalties)
        fitted = basis @ (shrink[:, :, None] * projected[:, None, :]).reshape(len(power), -1)
        leverage = np.minimum(basis**2 @ shrink, 1 - 1e-9)
        residuals = Y[:, None, :] - fitted.reshape(n, len(penalties), -1)
        errors = np.mean((residuals / (1 - leverage)[:, :, None]) ** 2, axis=0)
        chosen = np.argmin(errors, axis=0)
        alpha = n * penalties[chosen]
        root = np.sqrt(power)[:, None]
        coefficients = back @ (root / (power[:, None] + alpha) * projected)
        return np.min(errors, axis=0), penalties[chosen], coefficients

    def predict(self, X: ArrayLike) -> NDArray:
        """Return the fitted values, shape (n,) or (n, q)."""
        check_is_fitted(self, "dual_coef_")
        points = check_points(self, X, reset=False)
        constant = self.mean_ + self.dual_coef_.sum(axis=0)
        parts = [
            constant + self._kernel(points[rows], self.width_) @ self.dual_coef_
            for rows in self._batches(len(points))
        ]
        values = np.vstack(parts)
        check_result(values, "the predictions")
        return values[:, 0] if self._flat else values

    def gradient(self, X: ArrayLike) -> NDArray:
        r"""Return :math:`\nabla \hat f(x_i)`, shape (n, p, q)."""
        check_is_fitted(self, "dual_coef_")
        points = check_points(self, X, reset=False)
        out = np.empty((*points.shape, self.dual_coef_.shape[1]))
        for rows in self._batches(len(points)):
            slopes = self._kernel(points[rows], self.width_)
            scale = self.width_**2
            if self.kernel == "laplace":
                distances = cdist(points[rows], self.centers_)
                near = distances <= self.width_ * np.sqrt(np.finfo(float).eps)
                slopes /= np.where(near, np.inf, distances)
                scale = self.width_
            for k, coefficients in enumerate(self.dual_coef_.T):
                pull = slopes * coefficients
                out[rows, :, k] = pull @ self.centers_ - pull.sum(axis=1)[:, None] * points[rows]
            out[rows] /= scale
        return out

    def derivatives(self, X: NDArray) -> tuple[NDArray, NDArray]:
        r"""Return gradients (n, p, q) and Hessians (n, p, p, q); meant for few columns."""
        if self.kernel == "laplace":
            raise ValueError(
                "kernel is 'laplace', which has no second derivatives; use 'gaussian'."
            )
        (n, p), q = X.shape, self.dual_coef_.shape[1]
        gradients, hessians = np.empty((n, p, q)), np.empty((n, p, p, q))
        for rows in self._batches(n):
            kernel = self._kernel(X[rows], self.width_)
            fitted = kernel @ self.dual_coef_ / self.width_**2
            steps = [(self.centers_[:, j] - X[rows, j, None]) / self.width_**2 for j in range(p)]
            for j in range(p):
                pull = kernel * steps[j]
                gradients[rows, j] = pull @ self.dual_coef_
                for k in range(j, p):
                    curvature = (pull * steps[k]) @ self.dual_coef_ - (fitted if j == k else 0.0)
                    hessians[rows, j, k] = hessians[rows, k, j] = curvature
        return gradients, hessians

    def _kernel(self, points: NDArray, width: float) -> NDArray:
        """Return the kernel between points (n, p) and the centers, shape (n, m)."""
        if self.kernel == "laplace":
            return np.exp(cdist(points, self.centers_) / -width)
        return np.exp(cdist(points, self.centers_, "sqeuclidean") / (-2.0 * width**2))

    def _batches(self, n: int) -> Any:
        return gen_batches(n, max(1, CHUNK // len(self.centers_)))
