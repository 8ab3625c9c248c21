r"""Reduced-rank regression, plain or ridge: the linear model that SDR has to beat."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from ._validation import check_integer, check_matrix, check_nonnegative, check_responses

__all__ = ["LowRankRegressor", "ReducedRankRegression", "ridge_rrr"]


def ridge_rrr(X: NDArray, Y: NDArray, *, rank: int, alpha: float) -> tuple[NDArray, NDArray]:
    r"""Minimize :math:`\|Y - X W V^\top\|_F^2 / (2n) + \alpha \|W\|_F^2 / 2` in closed form.

    With the singular value decomposition :math:`X = P D Q^\top`, V holds the top right singular
    vectors of :math:`D (D^2 + n\alpha)^{-1/2} P^\top Y`, and W is the ridge regression of
    :math:`Y V` on X. Without penalty and with p > n, W is the shortest least-squares solution.

    Parameters
    ----------
    X, Y : ndarray of shape (n, p) and (n, q)
        Centred.
    rank : int
        At most min(p, q).
    alpha : float
        Penalty, per row of X; 0 is ordinary least squares.

    Returns
    -------
    W, V : ndarray of shape (p, rank) and (q, rank)
        V has orthonormal columns.
    """
    P, d, Qt = np.linalg.svd(X, full_matrices=False)
    # Directions within rounding of zero carry no information and would be blown up.
    keep = d > max(X.shape) * np.finfo(float).eps * d.max(initial=0.0)
    P, d, Qt = P[:, keep], d[keep], Qt[keep]
    target = P.T @ Y
    shrunk = np.sqrt(d**2 + len(X) * alpha)
    V = np.linalg.svd((d / shrunk)[:, None] * target, full_matrices=True)[2][:rank].T
    W = Qt.T @ ((d / shrunk**2)[:, None] * (target @ V))
    return W, V


class LowRankRegressor(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, RegressorMixin, BaseEstimator
):
    r"""A regression :math:`\hat y = \bar y + V W^\top (x - \bar x)`: encoder W, decoder V.

    Subclasses give W and V; this class gives the scikit-learn interface.
    """

    n_components: int
    components_: NDArray
    decoder_: NDArray
    coef_: NDArray
    intercept_: NDArray
    x_mean_: NDArray

    def transform(self, X: ArrayLike) -> NDArray:
        r"""Return the latent variables :math:`W^\top (x - \bar x)`, shape (n, r)."""
        check_is_fitted(self, "components_")
        points = validate_data(self, X, dtype=np.float64, reset=False)
        return (points - self.x_mean_) @ self.components_.T

    def predict(self, X: ArrayLike) -> NDArray:
        """Return the predicted responses, shape (n, q), or (n,) if Y was one-dimensional."""
        check_is_fitted(self, "components_")
        points = validate_data(self, X, dtype=np.float64, reset=False)
        predicted = points @ self.coef_.T + self.intercept_
        return predicted.ravel() if self._flat else predicted

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _centred(self, X: ArrayLike, Y: ArrayLike) -> tuple[NDArray, NDArray]:
        """Return centred X (n, p) and Y (n, q), and remember the means."""
        points = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        responses = check_matrix(check_responses(Y, n_rows=len(points)), "y")
        rank = check_integer(self.n_components, "n_components", low=1)
        limit = min(points.shape[1], responses.shape[1])
        if rank > limit:
            raise ValueError(
                f"n_components={rank} but X has {points.shape[1]} column(s) and y has "
                f"{responses.shape[1]}; expected at most {limit}."
            )
        self._flat = np.asarray(Y).ndim == 1
        self.x_mean_, self._y_mean = points.mean(axis=0), responses.mean(axis=0)
        return points - self.x_mean_, responses - self._y_mean

    def _keep(self, W: NDArray, V: NDArray) -> None:
        """Store encoder W (p, r) and decoder V (q, r), signs fixed by V's largest entries."""
        signs = np.sign(V[np.abs(V).argmax(axis=0), np.arange(V.shape[1])])
        self.components_, self.decoder_ = (W * signs).T, (V * signs).T
        self.coef_ = self.decoder_.T @ self.components_
        self.intercept_ = self._y_mean - self.coef_ @ self.x_mean_


class ReducedRankRegression(LowRankRegressor):
    r"""Least squares, or ridge regression, with a coefficient matrix of given rank.

    Minimizes :math:`\|Y - X W V^\top\|_F^2 / (2n) + \alpha \|W\|_F^2 / 2` with
    :math:`V^\top V = I_r`, for centred X and Y.

    Parameters
    ----------
    n_components : int, default=1
        Rank r, at most min(p, q).
    alpha : float, default=0.0
        Ridge penalty, in the scale of scikit-learn's ``ElasticNet`` (``Ridge`` has n times it).

    Attributes
    ----------
    components_ : ndarray of shape (r, p)
        Encoder :math:`W^\top`.
    decoder_ : ndarray of shape (r, q)
        :math:`V^\top`, orthonormal rows.
    coef_ : ndarray of shape (q, p)
        :math:`V W^\top`.
    intercept_ : ndarray of shape (q,)
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    With the full rank it is ordinary least squares:

    >>> from sklearn.linear_model import LinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.standard_normal((50, 4)), rng.standard_normal((50, 3))
    >>> full = ReducedRankRegression(3).fit(X, Y)
    >>> bool(np.allclose(full.coef_, LinearRegression().fit(X, Y).coef_))
    True
    """

    def __init__(self, n_components: int = 1, *, alpha: float = 0.0) -> None:
        self.n_components = n_components
        self.alpha = alpha

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit to X (n, p) and responses y, (n, q) or (n,)."""
        alpha = check_nonnegative(self.alpha, "alpha")
        points, responses = self._centred(X, y)
        self._keep(*ridge_rrr(points, responses, rank=self.n_components, alpha=alpha))
        return self
