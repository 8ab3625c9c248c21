"""SteinRegressor: reduce the columns to a few indices, then predict from the indices."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, clone
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from ._base import InstanceWith, check_numeric_columns, varying_columns
from .estimator import SteinSDR
from .link import KernelLink, fit_link

__all__ = ["SteinRegressor"]

_MAX_CENTERS = 1_000
_COMPONENTS = 15  # of the searched reduction to leading components
_SEARCHED: tuple[dict[str, Any], ...] = (
    {},
    {"augment": None},
    {"augment": "kernel"},
    {"pca": _COMPONENTS},
)


class SteinRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    r"""Regression on the indices :math:`\hat B^\top x` of a reduction.

    The reduction maps x to at most ``n_components`` indices. From these each response is
    predicted by the fit with the smallest leave-one-out error of three: ridge regression, kernel
    ridge regression (:class:`steinsdr.link.KernelLink`), and kernel ridge regression in the metric
    :math:`n^{-1} \sum_i \nabla \hat f \nabla \hat f^\top` of the second one's gradients, which
    shortens indices that matter little.

    Parameters
    ----------
    n_components : int or "auto", default=4
        Directions of :class:`steinsdr.SteinSDR`, at most the number of columns. A reduction that
        is given has its own number.
    reduction : transformer, list of transformers, "search" or None, default=None
        None is ``SteinSDR(n_components)``. Any transformer of X given y will do, for example a
        pipeline; it is cloned. Of a list the one with the smallest cross-validated error counts.
        "search" is a list of four: the default, without a fit in the moment, with a kernel fit,
        and after the 15 leading principal components.
    cv : int or splitter, default=5
        Folds that choose from a list.
    random_state : int, RandomState or None, default=None
        Of the default reduction.

    Attributes
    ----------
    reduction_ : transformer
        The fitted reduction. It sees the columns of X that vary.
    cv_errors_ : ndarray or None
        Cross-validated error of each reduction of a list: the mean squared error of the
        standardized responses.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    Responses are standardized before the reduction, so that units do not weigh them. Columns that
    do not vary are left out. A few directions can not hold what many responses need: with more
    than four responses that share little, ridge regression on all columns predicts better.

    Examples
    --------
    >>> from steinsdr.simulation import simulate
    >>> data = simulate("isotropic", n=400, p=10)
    >>> model = SteinRegressor(3).fit(data.X[:300], data.Y[:300])
    >>> model.predict(data.X[300:]).shape
    (100, 10)
    >>> model.score(data.X[300:], data.Y[300:]) > 0.1
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "reduction": [None, StrOptions({"search"}), InstanceWith(["fit", "transform"]), list],
        "cv": ["cv_object"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int | Literal["auto"] = 4,
        *,
        reduction: Any = None,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.reduction = reduction
        self.cv = cv
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit reduction and prediction to X (n, p) and responses y (n,) or (n, q)."""
        self._validate_params()
        check_numeric_columns(X, "X")
        points, responses = validate_data(
            self, X, y, dtype=np.float64, multi_output=True, y_numeric=True, ensure_min_samples=4
        )
        self._flat = responses.ndim == 1
        Y = responses.reshape(len(points), -1).astype(float)
        self._varying = varying_columns(points)
        if not self._varying.any():
            raise ValueError("X: every column is constant; at least one must vary.")
        self._mean, spread = Y.mean(axis=0), Y.std(axis=0)
        self._spread = np.where(varying_columns(Y), spread, 1.0)
        Z, Y = points[:, self._varying], (Y - self._mean) / self._spread
        candidates = self._candidates(Z.shape[1])
        self.cv_errors_ = None
        best = candidates[0]
        if len(candidates) > 1:
            folds = list(check_cv(self.cv).split(Z, Y))
            self.cv_errors_ = np.array([_held_out_error(one, Z, Y, folds) for one in candidates])
            best = candidates[int(np.argmin(self.cv_errors_))]
        self.reduction_, self._link = _fit(best, Z, Y)
        return self

    def predict(self, X: ArrayLike) -> NDArray:
        """Return predictions, shape (n,) or (n, q)."""
        check_is_fitted(self, "reduction_")
        points = validate_data(self, X, dtype=np.float64, reset=False)
        indices = self.reduction_.transform(points[:, self._varying])
        values = self._mean + self._spread * self._link.predict(indices)
        return values[:, 0] if self._flat else values

    def _candidates(self, p: int) -> list[Any]:
        """Return unfitted reductions of p columns."""
        if isinstance(self.reduction, list):
            if wrong := [one for one in self.reduction if not hasattr(one, "transform")]:
                raise ValueError(f"reduction: {wrong[0]!r} is not a transformer.")
            if not self.reduction:
                raise ValueError("reduction is an empty list; expected a transformer or more.")
            return self.reduction
        if self.reduction is not None and not isinstance(self.reduction, str):
            return [self.reduction]
        r = self.n_components if self.n_components == "auto" else min(self.n_components, p)
        settings = [s for s in _SEARCHED if s.get("pca", 0) < p] if self.reduction else [{}]
        return [SteinSDR(r, random_state=self.random_state, **one) for one in settings]


class _Link:
    """The last step: for each response the best of ridge and two kernel ridge regressions."""

    def fit(self, T: NDArray, Y: NDArray) -> Self:
        """Fit to indices T (n, r) and standardized responses Y (n, q)."""
        self.unit = np.where(varying_columns(T), T.std(axis=0), 1.0)
        T = T / self.unit
        metric = np.eye(T.shape[1])
        self.fits = [(metric, fit_link("ridge", T, Y))]
        # A few discrete columns have more equal rows than a kernel's width can be taken from.
        some = T[np.linspace(0, len(T) - 1, min(len(T), _MAX_CENTERS)).astype(int)]
        if np.median(pdist(some)) > 0:
            for _ in range(2):
                kernel = KernelLink(max_centers=_MAX_CENTERS).fit(T @ metric, Y)
                self.fits.append((metric, kernel))
                metric = _next_metric(kernel, T, metric)
        self.chosen = np.argmin([fit.errors_ for _, fit in self.fits], axis=0)
        return self

    def predict(self, T: NDArray) -> NDArray:
        """Return the predictions (n, q)."""
        T, q = T / self.unit, len(self.chosen)
        parts = [fit.predict(T @ metric).reshape(len(T), q) for metric, fit in self.fits]
        return np.stack(parts)[self.chosen, :, np.arange(q)].T


def _next_metric(kernel: KernelLink, T: NDArray, metric: NDArray) -> NDArray:
    """Return the root (r, r) of the gradients' mean outer product, of trace r."""
    gradients = kernel.gradient(T @ metric)
    outer = metric @ np.tensordot(gradients, gradients, axes=([0, 2], [0, 2])) @ metric
    if not np.trace(outer) > 0:  # a constant fit has no direction to follow
        return metric
    values, vectors = np.linalg.eigh(outer / np.trace(outer) * len(outer))
    return (vectors * np.sqrt(np.clip(values, 0.0, None))) @ vectors.T


def _fit(reduction: Any, Z: NDArray, Y: NDArray) -> tuple[Any, _Link]:
    """Return the fitted reduction and the fit of its indices."""
    fitted = clone(reduction).fit(Z, Y)
    return fitted, _Link().fit(np.asarray(fitted.transform(Z), dtype=float), Y)


def _held_out_error(reduction: Any, Z: NDArray, Y: NDArray, folds: list[Any]) -> float:
    """Return the mean squared error over folds."""
    errors = []
    for train, test in folds:
        varying = varying_columns(Z[train])
        fitted, link = _fit(reduction, Z[train][:, varying], Y[train])
        errors.append(np.mean((Y[test] - link.predict(fitted.transform(Z[test][:, varying]))) ** 2))
    return float(np.mean(errors))
