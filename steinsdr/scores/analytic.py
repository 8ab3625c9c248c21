r"""Scores in closed form: oracles for tests and simulations, two of them plug-in estimators.

An oracle knows its law, so ``evaluate`` needs no ``fit`` before. :class:`GaussianScore` and its
subclasses estimate parameters that are None. A fitted :class:`GaussianScore` turns the method into
least squares: :math:`\hat M = \hat\Sigma^{-1} \widehat{\mathrm{cov}}(x, y)`.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import logsumexp
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from .._base import (
    check_matrix,
    check_numbers,
    check_points,
    check_result,
    check_shape,
)


class _AnalyticScore(BaseEstimator):
    """Shared frame: check X, set the parameters of the law, evaluate in closed form."""

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Estimate the parameters that were left as None from X (n, p); y is ignored."""
        self._validate_params()
        needed = 1 if self._is_given() else 2
        points = check_points(self, X, min_rows=needed)
        self._estimate(self._checked(points))
        return self

    def evaluate(self, X: ArrayLike) -> NDArray:
        r"""Return :math:`s(x) = -\nabla \log p(x)` at every row, shape (m, p)."""
        if not hasattr(self, "n_features_in_") and self._is_given():
            self.fit(X)  # an oracle needs no data to know its law
        check_is_fitted(self, "n_features_in_")
        points = self._checked(check_points(self, X, reset=False))
        with np.errstate(all="ignore"):  # what over- or underflows is refused by name
            return check_result(self._score(points), "the scores")

    def _checked(self, points: NDArray) -> NDArray:
        """Return the points if the law can have produced them."""
        return points

    def _is_given(self) -> bool:
        return all(value is not None for value in self.get_params(deep=False).values())

    def _estimate(self, points: NDArray) -> None:
        raise NotImplementedError

    def _score(self, points: NDArray) -> NDArray:
        raise NotImplementedError


class GaussianScore(_AnalyticScore):
    r"""Score of a normal distribution: :math:`s(x) = \Sigma^{-1}(x - \mu)`.

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
        mean = points.mean(axis=0) if self.mean is None else _vector(self.mean, "mean")
        if mean.shape != (p,):
            raise ValueError(f"mean has shape {mean.shape}; expected ({p},) for the columns of X.")
        cov = np.cov(points, rowvar=False) if self.cov is None else self.cov
        check_numbers(cov, "cov")
        self.mean_ = mean
        self.cov_ = check_matrix(cov if np.ndim(cov) else np.atleast_2d(cov), "cov", n_columns=p)
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


class LogNormalScore(GaussianScore):
    r"""Score of :math:`x = e^z`, z normal: :math:`s(x) = \{1 + \Sigma^{-1}(\log x - \mu)\}/x`.

    ``mean`` and ``cov`` are those of :math:`z = \log x`; None estimates them from the logarithms.
    Entries of X that are not positive are refused (ValueError).
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


class LaplaceScore(_AnalyticScore):
    r"""Score of independent Laplace coordinates: :math:`s_j(x) = \mathrm{sign}(x_j - m_j)/b_j`.

    The score is bounded, hence sub-Gaussian as Assumption 1 asks. It jumps at the median, a set of
    probability zero. ``median`` and ``scale`` have shape (p,), or are one number for all columns.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "median": ["array-like", Real],
        "scale": ["array-like", Real],
    }

    def __init__(self, median: ArrayLike, scale: ArrayLike) -> None:
        self.median = median
        self.scale = scale

    def _estimate(self, points: NDArray) -> None:
        check_numbers(self.median, "median")
        check_numbers(self.scale, "scale")
        self.median_, self.scale_ = (
            np.asarray(getattr(self, name), dtype=float)
            if np.ndim(getattr(self, name)) == 0
            else _vector(getattr(self, name), name)
            for name in ("median", "scale")
        )
        shape = points.shape[1:]
        for name, value in (("median", self.median_), ("scale", self.scale_)):
            if value.shape not in ((), shape) or not np.isfinite(value).all():
                raise ValueError(f"{name} is {value}; expected finite, one number or {shape}.")
        if not (self.scale_ > 0).all():
            raise ValueError(f"scale must be positive; got {self.scale!r}.")

    def _score(self, points: NDArray) -> NDArray:
        return np.sign(points - self.median_) / self.scale_


class GaussianMixtureScore(_AnalyticScore):
    r"""Score of a normal mixture: the posterior-weighted mean of its components' scores.

    Parameters
    ----------
    weights, means, covs : array-like of shape (k,), (k, p), (k, p, p)
        The mixture. Weights are divided by their sum.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "weights": ["array-like"],
        "means": ["array-like"],
        "covs": ["array-like"],
    }

    def __init__(self, weights: ArrayLike, means: ArrayLike, covs: ArrayLike) -> None:
        self.weights = weights
        self.means = means
        self.covs = covs

    def _estimate(self, points: NDArray) -> None:
        weights, means = _vector(self.weights, "weights"), check_matrix(self.means, "means")
        check_numbers(self.covs, "covs")
        try:
            covs = np.asarray(self.covs, dtype=float)
        except (TypeError, ValueError) as error:
            raise ValueError(f"covs must have shape (k, p, p): {error}") from error
        check_shape(means, "means", points.shape[1:])
        check_shape(covs, "covs", 2 * points.shape[1:])
        if not (weights > 0).all():
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

    def _score(self, points: NDArray) -> NDArray:
        scores = [part._score(points) for part in self._parts]
        terms = np.column_stack(  # log(weight * density) but for a constant
            [
                np.log(weight)
                - 0.5 * np.sum((points - part.mean_) * score, axis=1)
                - 0.5 * np.linalg.slogdet(part.cov_)[1]
                for weight, part, score in zip(self.weights_, self._parts, scores, strict=True)
            ]
        )
        posterior = np.exp(terms - logsumexp(terms, axis=1, keepdims=True))
        return np.einsum("nk,nkp->np", posterior, np.stack(scores, axis=1))


def _vector(value: ArrayLike, name: str) -> NDArray:
    """Return a parameter as finite numbers (k,)."""
    check_numbers(value, name)
    if np.ndim(value) != 1:
        raise ValueError(f"{name} has {np.ndim(value)} dimension(s); expected one, of numbers.")
    return check_matrix(np.asarray(value)[None], name)[0]
