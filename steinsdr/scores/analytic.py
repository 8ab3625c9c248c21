r"""Scores in closed form: oracles for tests and simulations, plug-in estimators when fitted.

Each law's parameters may be given, and then ``fit`` only records the number of columns, or
left as None, and then ``fit`` estimates them. A fitted :class:`GaussianScore` turns the method into
least squares: :math:`\hat M = \hat\Sigma^{-1} \widehat{\mathrm{cov}}(x, y)`.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import logsumexp
from sklearn.base import BaseEstimator
from sklearn.mixture import GaussianMixture
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from .._base import check_matrix, check_not_constant

__all__ = [
    "GaussianMixtureScore",
    "GaussianScore",
    "LaplaceScore",
    "LogNormalScore",
    "StudentScore",
]


class _AnalyticScore(BaseEstimator):
    """Shared frame: check X, estimate what was not given, evaluate in closed form."""

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Estimate the parameters that were left as None from X (n, p); y is ignored."""
        self._validate_params()
        needed = 1 if self._is_given() else 2
        points = validate_data(self, X, dtype=np.float64, ensure_min_samples=needed)
        self._estimate(self._checked(points))
        return self

    def evaluate(self, X: ArrayLike) -> NDArray:
        r"""Return :math:`s(x) = -\nabla \log p(x)` at every row, shape (m, p)."""
        return self._score(self._points(X))

    def log_density(self, X: ArrayLike) -> NDArray:
        """Return log p at every row up to one additive constant, shape (m,)."""
        return self._log_density(self._points(X))

    def _points(self, X: ArrayLike) -> NDArray:
        if not hasattr(self, "n_features_in_") and self._is_given():
            self.fit(X)  # an oracle needs no data to know its law
        check_is_fitted(self, "n_features_in_")
        return self._checked(validate_data(self, X, dtype=np.float64, reset=False))

    def _checked(self, points: NDArray) -> NDArray:
        """Return the points if the law can have produced them."""
        return points

    def _is_given(self) -> bool:
        return all(value is not None for value in self.get_params(deep=False).values())

    def _estimate(self, points: NDArray) -> None:
        raise NotImplementedError

    def _score(self, points: NDArray) -> NDArray:
        raise NotImplementedError

    def _log_density(self, points: NDArray) -> NDArray:
        raise NotImplementedError


class GaussianScore(_AnalyticScore):
    r"""Score of a normal law: :math:`s(x) = \Sigma^{-1}(x - \mu)`.

    Parameters
    ----------
    mean : array-like of shape (p,) or None
        :math:`\mu`; None takes the sample mean.
    cov : array-like of shape (p, p) or None
        :math:`\Sigma`; None takes the sample covariance, which needs n > p.

    Examples
    --------
    >>> GaussianScore(mean=[1.0], cov=[[4.0]]).evaluate([[3.0]])
    array([[0.5]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "mean": ["array-like", None],
        "cov": ["array-like", None],
    }

    def __init__(self, mean: ArrayLike | None = None, cov: ArrayLike | None = None) -> None:
        self.mean = mean
        self.cov = cov

    def _estimate(self, points: NDArray) -> None:
        n, p = points.shape
        if self.cov is None:
            if n <= p:
                raise ValueError(
                    f"X has n = {n} rows and p = {p} columns; estimating cov needs n > p. Pass cov."
                )
            centred, sd = points - points.mean(axis=0), points.std(axis=0)
            if np.linalg.matrix_rank(centred / np.where(sd > 0, sd, 1.0)) < p:
                raise ValueError(
                    "X has columns that are constant or linear combinations of others, so cov has "
                    "no inverse. Leave such columns out, or pass cov."
                )
        mean = points.mean(axis=0) if self.mean is None else np.asarray(self.mean, dtype=float)
        if mean.shape != (p,):
            raise ValueError(f"mean has shape {mean.shape}; expected ({p},) for the columns of X.")
        cov = np.cov(points, rowvar=False) if self.cov is None else self.cov
        self.mean_ = mean
        self.cov_ = check_matrix(np.atleast_2d(cov), "cov", n_columns=p)
        if len(self.cov_) != p:
            raise ValueError(f"cov has shape {self.cov_.shape}; expected ({p}, {p}).")
        # Cholesky reads one triangle only, so an asymmetric matrix would pass for another.
        gap = np.abs(self.cov_ - self.cov_.T)
        sd = np.sqrt(np.abs(np.diag(self.cov_)))
        if (gap > 1e-8 * np.outer(sd, sd)).any():
            raise ValueError(
                f"cov must be symmetric; it differs from its transpose by {gap.max():.2g}."
            )
        try:
            self._factor = cho_factor(self.cov_)
        except (LinAlgError, ValueError) as error:
            raise ValueError("cov must be a positive definite (p, p) matrix.") from error

    def _score(self, points: NDArray) -> NDArray:
        return cho_solve(self._factor, (points - self.mean_).T).T

    def _log_density(self, points: NDArray) -> NDArray:
        return -0.5 * np.sum((points - self.mean_) * GaussianScore._score(self, points), axis=1)


class LogNormalScore(GaussianScore):
    r"""Score of :math:`x = e^z`, z normal: :math:`s(x) = \{1 + \Sigma^{-1}(\log x - \mu)\}/x`.

    ``mean`` and ``cov`` are those of :math:`z = \log x`; a diagonal ``cov`` is the componentwise
    (independent) law, any other the correlated one. None estimates them from the logarithms.

    Raises
    ------
    ValueError
        If X has entries that are not positive.
    """

    def _checked(self, points: NDArray) -> NDArray:
        if (points <= 0).any():
            raise ValueError(
                f"X has {int((points <= 0).sum())} entries <= 0; expected all above 0."
            )
        return points

    def _estimate(self, points: NDArray) -> None:
        super()._estimate(np.log(points))

    def _score(self, points: NDArray) -> NDArray:
        return (1.0 + super()._score(np.log(points))) / points

    def _log_density(self, points: NDArray) -> NDArray:
        logs = np.log(points)
        return super()._log_density(logs) - logs.sum(axis=1)


class StudentScore(GaussianScore):
    r"""Score of a multivariate t law with shape :math:`\Sigma` and :math:`\nu` degrees of freedom.

    :math:`s(x) = (\nu + p)\, \Sigma^{-1}(x-\mu) / \{\nu + (x-\mu)^\top\Sigma^{-1}(x-\mu)\}`.
    ``cov`` is the shape matrix; None takes the sample covariance times
    :math:`(\nu - 2)/\nu`, which needs :math:`\nu > 2`.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GaussianScore._parameter_constraints,
        "df": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self, df: float = 5.0, mean: ArrayLike | None = None, cov: ArrayLike | None = None
    ) -> None:
        super().__init__(mean=mean, cov=cov)
        self.df = df

    def _estimate(self, points: NDArray) -> None:
        if self.cov is None and self.df <= 2:
            raise ValueError(f"df = {self.df} has no covariance; pass the shape matrix as cov.")
        super()._estimate(points)
        if self.cov is None:
            self.cov_ = self.cov_ * (self.df - 2) / self.df
            self._factor = cho_factor(self.cov_)

    def _score(self, points: NDArray) -> NDArray:
        linear = super()._score(points)
        squared = np.sum((points - self.mean_) * linear, axis=1, keepdims=True)
        return (self.df + points.shape[1]) * linear / (self.df + squared)

    def _log_density(self, points: NDArray) -> NDArray:
        squared = -2.0 * super()._log_density(points)
        return -0.5 * (self.df + points.shape[1]) * np.log1p(squared / self.df)


def _one_per_column(value: ArrayLike, name: str, p: int) -> NDArray:
    """Return ``value`` as a finite vector (p,); one number stands for all columns."""
    vector = np.asarray(value, dtype=float)
    if vector.shape not in ((), (1,), (p,)):
        raise ValueError(f"{name} has shape {vector.shape}; expected ({p},) or one number.")
    if not np.isfinite(vector).all():
        raise ValueError(f"{name} must be finite; got {value!r}.")
    return np.broadcast_to(vector, (p,))


class LaplaceScore(_AnalyticScore):
    r"""Score of independent Laplace coordinates: :math:`s_j(x) = \mathrm{sign}(x_j - m_j)/b_j`.

    The score is bounded, hence sub-Gaussian as Assumption 1 asks. It jumps at the median, a set of
    probability zero. None takes sample median and mean absolute deviation; one number stands for
    all columns.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "median": ["array-like", Real, None],
        "scale": ["array-like", Real, None],
    }

    def __init__(self, median: ArrayLike | None = None, scale: ArrayLike | None = None) -> None:
        self.median = median
        self.scale = scale

    def _estimate(self, points: NDArray) -> None:
        if self.scale is None:
            check_not_constant(points, "X")
        p = points.shape[1]
        median = np.median(points, axis=0) if self.median is None else self.median
        self.median_ = _one_per_column(median, "median", p)
        scale = np.abs(points - self.median_).mean(axis=0) if self.scale is None else self.scale
        self.scale_ = _one_per_column(scale, "scale", p)
        if not (self.scale_ > 0).all():
            raise ValueError(f"scale must be positive; got {scale!r}.")

    def _score(self, points: NDArray) -> NDArray:
        return np.sign(points - self.median_) / self.scale_

    def _log_density(self, points: NDArray) -> NDArray:
        return -np.sum(np.abs(points - self.median_) / self.scale_, axis=1)


class GaussianMixtureScore(_AnalyticScore):
    r"""Score of a normal mixture: the posterior-weighted mean of its components' scores.

    Parameters
    ----------
    weights, means, covs : array-like of shape (k,), (k, p), (k, p, p), or None
        The mixture. If any is None, all are estimated by EM, on standardized columns: the scores of
        X in other units are the same scores in other units. Weights are divided by their sum.
    n_components : int
        Components that EM fits.
    random_state : int
        Seed of EM.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "weights": ["array-like", None],
        "means": ["array-like", None],
        "covs": ["array-like", None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        weights: ArrayLike | None = None,
        means: ArrayLike | None = None,
        covs: ArrayLike | None = None,
        *,
        n_components: int = 2,
        random_state: int = 0,
    ) -> None:
        self.weights = weights
        self.means = means
        self.covs = covs
        self.n_components = n_components
        self.random_state = random_state

    def _is_given(self) -> bool:
        return not any(given is None for given in (self.weights, self.means, self.covs))

    def _estimate(self, points: NDArray) -> None:
        if self._is_given():
            weights, means, covs = self.weights, self.means, self.covs
        else:
            check_not_constant(points, "X", getattr(self, "feature_names_in_", None))
            # scikit-learn adds 1e-6 to every variance, which is small beside one alone.
            mean, sd = points.mean(axis=0), points.std(axis=0)
            mixture = GaussianMixture(self.n_components, random_state=self.random_state)
            mixture.fit((points - mean) / sd)
            weights, means = mixture.weights_, mean + sd * mixture.means_
            covs = mixture.covariances_ * np.outer(sd, sd)
        weights, means, covs = (np.asarray(a, dtype=float) for a in (weights, means, covs))
        if weights.ndim != 1 or not (np.isfinite(weights) & (weights > 0)).all():
            raise ValueError(f"weights must be positive finite numbers; got {self.weights!r}.")
        if not weights.shape == means.shape[:1] == covs.shape[:1]:
            raise ValueError(
                f"weights, means and covs have shapes {weights.shape}, {means.shape} and "
                f"{covs.shape}; their first numbers must match."
            )
        self.weights_ = weights / weights.sum()
        self._parts = [
            GaussianScore(mean=mean, cov=cov).fit(points)
            for mean, cov in zip(means, covs, strict=True)
        ]

    def _log_terms(self, points: NDArray) -> NDArray:
        """Return log(weight * density) of each component, without the shared constant, (n, k)."""
        terms = [
            np.log(weight) + part._log_density(points) - 0.5 * np.linalg.slogdet(part.cov_)[1]
            for weight, part in zip(self.weights_, self._parts, strict=True)
        ]
        return np.column_stack(terms)

    def _score(self, points: NDArray) -> NDArray:
        terms = self._log_terms(points)
        posterior = np.exp(terms - logsumexp(terms, axis=1, keepdims=True))
        scores = np.stack([part._score(points) for part in self._parts], axis=1)
        return np.einsum("nk,nkp->np", posterior, scores)

    def _log_density(self, points: NDArray) -> NDArray:
        return logsumexp(self._log_terms(points), axis=1)
