r"""Kernel ridge regression that knows its gradient, a fit of :math:`E(y \mid x)`."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh
from scipy.spatial.distance import cdist, pdist
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = ["KernelLink"]

PENALTIES = np.logspace(-6, 1, 15)
WIDTHS = (0.5, 1.0, 2.0, 4.0)
CHUNK = 1 << 22  # entries of a kernel matrix held at once


class KernelLink(RegressorMixin, MultiOutputMixin, BaseEstimator):
    r"""Kernel ridge regression with a Gaussian kernel, tuned by leave-one-out.

    :math:`\hat f(x) = \bar y + \sum_j c_j\{1 + \exp(-\|x - x_j\|^2 / 2 h^2)\}` with one width h
    for all responses and a penalty for each of them. Both minimize the leave-one-out error, which
    costs one eigendecomposition per width.

    Parameters
    ----------
    widths : sequence of float, default=(0.5, 1, 2, 4)
        Candidates for h, in units of the median distance between rows.
    penalties : sequence of float, default=None
        Candidates for the penalty, per row; None is a grid from 1e-6 to 10.
    max_centers : int, default=2000
        Rows that carry the expansion. With more rows a random subset of that size does (Nyström),
        so that the cost is linear in n.
    random_state : int, RandomState or None, default=None
        Chooses the subset.

    Attributes
    ----------
    width_ : float
        The chosen h.
    alpha_ : ndarray of shape (q,)
        The chosen penalties, per row.
    error_ : float
        Mean squared leave-one-out error over the responses, in their units.
    centers_ : ndarray of shape (m, p)
        Rows that carry the expansion.
    dual_coef_ : ndarray of shape (m, q)
        Their coefficients c.

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
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "widths": ["array-like"],
        "penalties": ["array-like", None],
        "max_centers": [Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        widths: ArrayLike = WIDTHS,
        penalties: ArrayLike | None = None,
        max_centers: int = 2000,
        random_state: Any = None,
    ) -> None:
        self.widths = widths
        self.penalties = penalties
        self.max_centers = max_centers
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit to X (n, p) and responses y (n,) or (n, q)."""
        self._validate_params()
        points, responses = validate_data(
            self, X, y, dtype=np.float64, multi_output=True, y_numeric=True, ensure_min_samples=3
        )
        self._flat = responses.ndim == 1
        Y = responses.reshape(len(points), -1).astype(float)
        self.mean_ = Y.mean(axis=0)
        Y = Y - self.mean_
        n = len(points)
        self.centers_ = points
        if n > self.max_centers:
            rng = check_random_state(self.random_state)
            chosen = rng.choice(n, size=int(self.max_centers), replace=False)
            self.centers_ = points[np.sort(chosen)]
        penalties = PENALTIES if self.penalties is None else np.asarray(self.penalties)
        unit = np.median(pdist(self.centers_))
        best = np.inf
        for width in np.atleast_1d(self.widths) * unit:
            error, alpha, coefficients = self._tune(points, Y, width, penalties)
            if error < best:
                best, self.width_ = error, float(width)
                self.error_ = error / Y.shape[1]
                self.alpha_, self.dual_coef_ = alpha, coefficients
        return self

    def _tune(
        self, points: NDArray, Y: NDArray, width: float, penalties: NDArray
    ) -> tuple[float, NDArray, NDArray]:
        """Return the leave-one-out error of a width with its best penalties, and the fit."""
        n = len(points)
        own = 1.0 + _gaussian(self.centers_, self.centers_, width)
        values, vectors = eigh(own)
        keep = values > values[-1] * len(values) * np.finfo(float).eps
        values, vectors = values[keep], vectors[:, keep]
        if len(self.centers_) == n:
            basis, power, back = vectors, values, vectors / np.sqrt(values)
        else:
            whiten = vectors / np.sqrt(values)
            features = (1.0 + _gaussian(points, self.centers_, width)) @ whiten
            power, rotation = eigh(features.T @ features)
            power = np.clip(power, np.finfo(float).tiny, None)
            basis, back = features @ (rotation / np.sqrt(power)), whiten @ rotation
        projected = basis.T @ Y
        squares = basis**2
        errors = []
        for alpha in n * penalties:
            shrink = power / (power + alpha)
            residual = Y - basis @ (shrink[:, None] * projected)
            leverage = np.minimum(squares @ shrink, 1 - 1e-9)
            errors.append(np.mean((residual / (1 - leverage)[:, None]) ** 2, axis=0))
        chosen = np.argmin(errors, axis=0)
        alpha = n * penalties[chosen]
        root = np.sqrt(power)[:, None]
        coefficients = back @ (root / (power[:, None] + alpha) * projected)
        return float(np.min(errors, axis=0).sum()), penalties[chosen], coefficients

    def predict(self, X: ArrayLike) -> NDArray:
        """Return the fitted values, shape (n,) or (n, q)."""
        check_is_fitted(self, "dual_coef_")
        points = validate_data(self, X, dtype=np.float64, reset=False)
        constant = self.mean_ + self.dual_coef_.sum(axis=0)
        parts = [
            constant + _gaussian(points[rows], self.centers_, self.width_) @ self.dual_coef_
            for rows in self._batches(len(points))
        ]
        values = np.vstack(parts)
        return values[:, 0] if self._flat else values

    def gradient(self, X: ArrayLike) -> NDArray:
        r"""Return :math:`\nabla \hat f(x_i)`, shape (n, p, q)."""
        check_is_fitted(self, "dual_coef_")
        points = validate_data(self, X, dtype=np.float64, reset=False)
        n, p = points.shape
        out = np.empty((n, p, self.dual_coef_.shape[1]))
        for k, coefficients in enumerate(self.dual_coef_.T):
            for rows in self._batches(n):
                pull = _gaussian(points[rows], self.centers_, self.width_) * coefficients
                out[rows, :, k] = pull @ self.centers_ - pull.sum(axis=1)[:, None] * points[rows]
        return out / self.width_**2

    def _batches(self, n: int) -> Any:
        return gen_batches(n, max(1, CHUNK // len(self.centers_)))


def _gaussian(X: NDArray, centers: NDArray, width: float) -> NDArray:
    """Return exp(-||x - c||^2 / 2 h^2), shape (n, m)."""
    return np.exp(cdist(X, centers, "sqeuclidean") / (-2.0 * width**2))
