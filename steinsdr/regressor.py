"""Regressors: SteinRegressor reduces the columns, then predicts; LabeledOnly serves pipelines."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import pdist
from sklearn.base import (
    BaseEstimator,
    MetaEstimatorMixin,
    MultiOutputMixin,
    RegressorMixin,
    TransformerMixin,
    clone,
)
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import check_cv
from sklearn.utils import gen_batches
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from ._base import (
    InstanceWith,
    check_numbers,
    check_points,
    check_responses,
    check_result,
    check_spread,
    split_labeled,
    varying_columns,
)
from .link import WIDTHS, KernelLink, fit_link, link_gradients

_MAX_CENTERS = 1_000
_LAPLACE_WIDTHS = (1.0, 2.0, 4.0, 8.0)  # in median distances
_POWER = 8  # of the ratio of leave-one-out errors, in the weights of an average of fits


class SteinRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    r"""Regression on a few indices :math:`\hat B^\top x` of the columns.

    The reduction starts from a fit :math:`\hat f` of all columns: an average of ridge regression
    and two kernel ridge regressions, with a Gaussian and with a Laplace kernel
    (:class:`steinsdr.link.KernelLink`). It weighs each by the eighth power of its inverse
    leave-one-out error, response by response. The directions b solve

    .. math:: \hat A \hat\Sigma b = \lambda b, \qquad
        \hat A = n^{-1} \sum_i \nabla \hat f(x_i) \nabla \hat f(x_i)^\top ,

    with the covariance :math:`\hat\Sigma` of the columns. If x is normal, the variance of
    :math:`\hat f` that the indices do not explain is at most the sum of the eigenvalues left out.
    For a linear fit the indices are the principal components of the fitted values.
    :math:`\hat A` is the moment :math:`M_w` of :class:`steinsdr.SteinSDR` with the gradients of
    :math:`\hat f` as weights, without the term that corrects the fit by the score.

    From the indices each response is predicted by the average, with the same weights, of five
    fits: these three, and both kernel ridge regressions again in the metric :math:`\hat A` of the
    Gaussian one, which shortens indices that matter little.

    Parameters
    ----------
    n_components : int, default=4
        Number of directions, at most the number of columns. A given ``reduction`` has a number of
        its own.
    reduction : transformer, None or list of them, default=None
        None is the reduction above. Otherwise any transformer of X given y, for example a pipeline
        or ``SteinSDR("auto")``, which is cloned. Of a list the first is taken, unless another has a
        cross-validated error that is smaller by more than the standard error of the difference.
    cv : int or splitter, default=5
        Folds of the cross-validation that chooses from a list.

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
    do not vary are left out. A few directions cannot hold what many responses need. With more than
    four responses that share little, ridge regression on all columns predicts better.

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
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "reduction": [None, InstanceWith(["fit", "transform"]), list],
        "cv": ["cv_object"],
    }

    def __init__(self, n_components: int = 4, *, reduction: Any = None, cv: Any = 5) -> None:
        self.n_components = n_components
        self.reduction = reduction
        self.cv = cv

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit reduction and prediction to X (n, p) and responses y (n,) or (n, q)."""
        self._validate_params()
        points = check_points(self, X, min_rows=4)
        Y = check_responses(y, n_rows=len(points), missing=False)
        self._flat = np.asarray(y).ndim == 1
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
            errors = np.array([_held_out_errors(one, Z, Y, folds) for one in candidates])
            self.cv_errors_ = errors.mean(axis=1)
            gains = errors[0] - errors
            sure = gains.mean(axis=1) > gains.std(axis=1) / np.sqrt(gains.shape[1])
            best = candidates[int(np.argmin(np.where(sure, self.cv_errors_, errors[0].mean())))]
        self.reduction_, self._link = _fit(best, Z, Y)
        return self

    def predict(self, X: ArrayLike) -> NDArray:
        """Return predictions, shape (n,) or (n, q)."""
        check_is_fitted(self, "reduction_")
        points = check_points(self, X, reset=False)
        indices = self.reduction_.transform(points[:, self._varying])
        values = self._mean + self._spread * self._link.predict(indices)
        check_result(values, "the predictions")
        return values[:, 0] if self._flat else values

    def _candidates(self, p: int) -> list[Any]:
        """Return unfitted reductions of p columns."""
        given = self.reduction if isinstance(self.reduction, list) else [self.reduction]
        if not given:
            raise ValueError("reduction is an empty list; expected a transformer or more.")
        own = _GradientReduction(min(self.n_components, p))
        for one in given:
            if one is not None and not hasattr(one, "transform"):
                raise ValueError(f"reduction: {one!r} is not a transformer.")
        return [own if one is None else one for one in given]


class _GradientReduction(TransformerMixin, BaseEstimator):
    """The reduction of :class:`SteinRegressor`; ``components_`` (r, p) has rows of length one."""

    def __init__(self, n_components: int) -> None:
        self.n_components = n_components

    def fit(self, X: NDArray, y: NDArray) -> Self:
        """Fit to columns that vary and standardized responses (n, q)."""
        self.mean_, unit = X.mean(axis=0), X.std(axis=0)
        # Both fits are the same in rotated coordinates. Those of the principal components have a
        # diagonal covariance, and there are no more of them than rows.
        U, sizes, Vt = np.linalg.svd((X - self.mean_) / unit, full_matrices=False)
        keep = sizes > sizes[0] * max(X.shape) * np.finfo(float).eps
        sizes, Vt, Z = sizes[keep], Vt[keep], U[:, keep] * sizes[keep]
        outer = _Blend(1).fit(Z, y).outer_product(Z)
        _, vectors = np.linalg.eigh(outer * np.outer(sizes, sizes))
        leading = vectors[:, ::-1][:, : self.n_components]
        components = (Vt.T @ outer @ (sizes[:, None] * leading)).T / unit
        length = np.linalg.norm(components, axis=1, keepdims=True)
        self.components_ = components / np.where(length > 0, length, 1.0)
        return self

    def transform(self, X: NDArray) -> NDArray:
        """Return the indices (n, r)."""
        return (X - self.mean_) @ self.components_.T


class _Blend:
    """An average of ridge regression and kernel ridge regressions, with weights per response.

    A step fits a Gaussian and a Laplace kernel. The first step has the metric of the coordinates,
    each further one that of the gradients of the Gaussian fit before.
    """

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def fit(self, T: NDArray, Y: NDArray, unit: Any = 1.0) -> Self:
        """Fit to coordinates T (n, k), divided by their unit, and standardized responses (n, q)."""
        self.unit = unit
        T = T / unit
        metric = np.eye(T.shape[1])
        self.fits = [(metric, fit_link("ridge", T, Y))]
        # A few discrete columns have more equal rows than a kernel's width can be taken from.
        some = T[np.linspace(0, len(T) - 1, min(len(T), _MAX_CENTERS)).astype(int)]
        if np.median(pdist(some)) > 0:
            for step in range(self.steps):
                if step:
                    gaussian = self.fits[-2]
                    metric = _root(_mean_outer_product([gaussian], np.ones((1, 1)), T))
                for kernel, widths in (("gaussian", WIDTHS), ("laplace", _LAPLACE_WIDTHS)):
                    link = KernelLink(kernel=kernel, widths=widths, max_centers=_MAX_CENTERS)
                    self.fits.append((metric, link.fit(T @ metric, Y)))
        errors = np.maximum([fit.errors_ for _, fit in self.fits], np.finfo(float).tiny)
        weights = (errors.min(axis=0) / errors) ** _POWER
        self.weights = weights / weights.sum(axis=0)  # (fits, q)
        return self

    def predict(self, T: NDArray) -> NDArray:
        """Return the predictions (n, q)."""
        check_result(T / self.unit, "the indices")
        shape = len(T), self.weights.shape[1]
        parts = [fit.predict(T / self.unit @ metric).reshape(shape) for metric, fit in self.fits]
        return np.einsum("mq,mnq->nq", self.weights, parts)

    def outer_product(self, T: NDArray) -> NDArray:
        """Return the mean over rows of the gradients' outer products (k, k)."""
        return _mean_outer_product(self.fits, self.weights, T / self.unit)


def _mean_outer_product(fits: list[Any], weights: NDArray, T: NDArray) -> NDArray:
    """Return the mean outer product (k, k) of the gradients of an average of fits."""
    n, k = T.shape
    total = np.zeros((k, k))
    for rows in gen_batches(n, _MAX_CENTERS):
        gradient: Any = 0.0
        for weight, (metric, fit) in zip(weights, fits, strict=True):
            q = fit.errors_.size
            # The chain rule: one in T is the metric times one in the coordinates of the fit.
            inner = link_gradients(fit, T[rows] @ metric, q)
            gradient = gradient + weight * np.tensordot(inner, metric, (1, 0)).swapaxes(1, 2)
        total += np.tensordot(gradient, gradient, axes=([0, 2], [0, 2]))
    return total / n


def _root(outer: NDArray) -> NDArray:
    """Return the symmetric root of a nonnegative matrix (k, k), scaled to trace k before."""
    if not np.trace(outer) > 0:  # a constant fit has no direction to follow
        return np.eye(len(outer))
    values, vectors = np.linalg.eigh(outer / np.trace(outer) * len(outer))
    return (vectors * np.sqrt(np.clip(values, 0.0, None))) @ vectors.T


def _fit(reduction: Any, Z: NDArray, Y: NDArray) -> tuple[Any, _Blend]:
    """Return the fitted reduction and the fit of its indices."""
    fitted = clone(reduction).fit(Z, Y)
    T = np.asarray(fitted.transform(Z), dtype=float)
    return fitted, _Blend(2).fit(T, Y, np.where(varying_columns(T), T.std(axis=0), 1.0))


def _held_out_errors(reduction: Any, Z: NDArray, Y: NDArray, folds: list[Any]) -> NDArray:
    """Return the squared error of each left-out row, the mean over responses."""
    errors = []
    for train, test in folds:
        varying = varying_columns(Z[train])
        fitted, link = _fit(reduction, Z[train][:, varying], Y[train])
        predicted = link.predict(fitted.transform(Z[test][:, varying]))
        errors.append(np.mean((Y[test] - predicted) ** 2, axis=1))
    return np.concatenate(errors)


class LabeledOnly(RegressorMixin, MetaEstimatorMixin, BaseEstimator):
    """Fit and score a regressor on the rows whose responses are not all NaN.

    In a pipeline :class:`steinsdr.SteinSDR` can learn its score from unlabeled rows too, but the
    regressor after it must not see them, nor must ``cross_val_score``.

    Parameters
    ----------
    estimator : regressor, default=None
        The regressor, which is cloned. None is ``LinearRegression()``.

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [None, InstanceWith(["fit", "predict", "score", "get_params"])]
    }

    def __init__(self, estimator: Any = None) -> None:
        self.estimator = estimator

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the regressor on the labeled rows."""
        self._validate_params()
        points, responses = self._labeled(check_points(self, X), y)
        base = LinearRegression() if self.estimator is None else clone(self.estimator)
        self.estimator_ = base.fit(points, responses)
        return self

    def predict(self, X: ArrayLike) -> NDArray:
        """Predict with the fitted regressor."""
        check_is_fitted(self, "estimator_")
        predicted = self.estimator_.predict(check_points(self, X, reset=False))
        return check_result(predicted, "the predictions")

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: Any = None) -> float:
        """Return the fitted regressor's score on the labeled rows."""
        check_is_fitted(self, "estimator_")
        points = check_points(self, X, reset=False)
        check_spread(points, "X")
        if sample_weight is not None:
            check_numbers(sample_weight, "sample_weight")
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
