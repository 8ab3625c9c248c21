"""Reduced-rank regression: the linear model that SDR has to beat, and how genes are selected.

Ridge reduced-rank regression has a closed form. Sparse reduced-rank regression (Kobak et al. 2021)
keeps few predictors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin, TransformerMixin
from sklearn.linear_model import MultiTaskElasticNet
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from .._base import check_matrix


def _ridge_rrr(X: NDArray, Y: NDArray, *, rank: int, alpha: float) -> tuple[NDArray, NDArray]:
    r"""Minimize :math:`\|Y - X W V^\top\|_F^2 / (2n) + \alpha \|W\|_F^2 / 2` for centered X, Y.

    With the singular value decomposition :math:`X = P D Q^\top`, V (q, rank) holds the top right
    singular vectors of :math:`D (D^2 + n\alpha)^{-1/2} P^\top Y`, and W (p, rank) is the ridge
    regression of :math:`Y V` on X. Without penalty and with p > n, W is the shortest least-squares
    solution.
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


class ReducedRankRegression(TransformerMixin, RegressorMixin, BaseEstimator):
    r"""Least squares, or ridge regression, with a coefficient matrix of given rank.

    Minimizes :math:`\|Y - X W V^\top\|_F^2 / (2n) + \alpha \|W\|_F^2 / 2` with :math:`V^\top V =
    I_r`, for centered X and Y: encoder W, decoder V, and predictions :math:`\hat y = \bar y + V
    W^\top (x - \bar x)`. The rank ``n_components`` is at most min(p, q), and ``alpha`` is in the
    scale of scikit-learn's ``ElasticNet`` (``Ridge`` has n times it). A fit sets ``components_``
    :math:`= W^\top` (r, p), so that the largest entry of each column of V is positive, ``coef_``
    :math:`= V W^\top` (q, p) and ``intercept_`` (q,).

    Examples
    --------
    With the full rank it is ordinary least squares:

    >>> from sklearn.linear_model import LinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.standard_normal((50, 4)), rng.standard_normal((50, 3))
    >>> model = ReducedRankRegression(3).fit(X, Y)
    >>> bool(np.allclose(model.predict(X), LinearRegression().fit(X, Y).predict(X)))
    True
    """

    def __init__(self, n_components: int = 1, *, alpha: float = 0.0) -> None:
        self.n_components = n_components
        self.alpha = alpha

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit to X (n, p) and responses y (n, q)."""
        X, y = check_matrix(X, "X", min_rows=2), check_matrix(y, "y")
        if self.n_components > min(X.shape[1], y.shape[1]):
            raise ValueError(
                f"n_components={self.n_components} but X has {X.shape[1]} column(s) and y has "
                f"{y.shape[1]}; expected no more."
            )
        self.x_mean_, mean = X.mean(axis=0), y.mean(axis=0)
        W, V = _ridge_rrr(X - self.x_mean_, y - mean, rank=self.n_components, alpha=self.alpha)
        signs = np.sign(V[np.abs(V).argmax(axis=0), np.arange(V.shape[1])])
        self.components_ = (W * signs).T
        self.coef_ = (V * signs) @ self.components_
        self.intercept_ = mean - self.coef_ @ self.x_mean_
        return self

    def transform(self, X: ArrayLike) -> NDArray:
        r"""Return the latent variables :math:`W^\top (x - \bar x)`, shape (n, r)."""
        return (np.asarray(X) - self.x_mean_) @ self.components_.T

    def predict(self, X: ArrayLike) -> NDArray:
        """Return the predicted responses, shape (n, q)."""
        return np.asarray(X) @ self.coef_.T + self.intercept_


_L1_RATIO = 0.5


def sparse_encoder(X: NDArray, Y: NDArray, *, rank: int, alpha: float) -> NDArray:
    r"""Return the encoder W (p, rank) of sparse reduced-rank regression of centered X and Y.

    Alternates between the two blocks of

    .. math:: \min_{W,\,V:\,V^\top V = I_r}\ \frac{1}{2n} \|Y - X W V^\top\|_F^2
       + \frac{\alpha}{2} \sum_j \|w_j\|_2 + \frac{\alpha}{4} \|W\|_F^2 ,

    with :math:`w_j` the rows of W: given V, W is scikit-learn's ``MultiTaskElasticNet`` of :math:`Y
    V` on X; given W, V is a Procrustes rotation. A row is zero as a whole: its predictor is not
    selected. The objective is not convex; the start is that of the authors (D. Kobak, Y. Bernaerts,
    M. A. Weis, F. Scala, A. S. Tolias and P. Berens, Journal of the Royal Statistical Society C 70,
    2021, 980-1000). It ends after 100 alternations, or when the objective falls by less than a
    millionth of itself.
    """
    V = _initial_decoder(X, Y, rank)
    net = MultiTaskElasticNet(
        alpha=alpha, l1_ratio=_L1_RATIO, fit_intercept=False, warm_start=True, tol=1e-5
    )
    columns, before = np.asfortranarray(X), np.inf
    for _ in range(100):
        W = np.array(net.fit(columns, np.asfortranarray(Y @ V)).coef_.T)
        if not W.any():
            break
        P, _, Qt = np.linalg.svd(Y.T @ (X @ W), full_matrices=False)
        V = P @ Qt
        rows = np.linalg.norm(W, axis=1)
        penalty = _L1_RATIO * rows.sum() + (1 - _L1_RATIO) / 2 * np.sum(rows**2)
        now = np.sum((Y - (X @ W) @ V.T) ** 2) / (2 * len(X)) + alpha * penalty
        if before - now <= 1e-6 * before < np.inf:
            break
        before = now
    return W


def largest_penalty(X: NDArray, Y: NDArray, rank: int) -> float:
    r"""Return the smallest :math:`\alpha\rho` at which the start of sparse RRR selects nothing.

    That is :math:`\max_j \|x_j^\top Y V\|_2 / n` for centered X and Y.
    """
    V = _initial_decoder(X, Y, rank)
    return float(np.linalg.norm(X.T @ (Y @ V), axis=1).max() / len(X))


def _initial_decoder(X: NDArray, Y: NDArray, rank: int) -> NDArray:
    """Return the top right singular vectors (q, rank) of X'Y, the directions of PLS."""
    return np.linalg.svd(X.T @ Y, full_matrices=False)[2][:rank].T


def select_features(X: ArrayLike, Y: ArrayLike, n_features: int) -> NDArray:
    """Return the columns (n_features,) of X, ascending, that sparse RRR of rank 2 selects.

    Bisects the penalty until that many rows survive. Where the count jumps over the wanted number,
    the strongest rows of the next larger selection are taken. On the Patch-seq data rank 2 comes
    closest to the ranks of the paper's Table 3; of 100 genes, 82 are the same with rank 10. X (n,
    p) and Y (n, q) are standardized here; constant columns are never selected. ValueError if the
    penalty goes to zero before so many survive.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 30))
    >>> Y = X[:, :3] @ rng.standard_normal((3, 5)) + 0.1 * rng.standard_normal((200, 5))
    >>> select_features(X, Y, 3).tolist()
    [0, 1, 2]
    """
    points, responses = (StandardScaler().fit_transform(array) for array in (X, Y))
    rank, steps = 2, 40  # 2^-40 of the first interval is far below any gap between penalties

    def fit(alpha: float) -> tuple[NDArray, int]:
        strength = np.linalg.norm(sparse_encoder(points, responses, rank=rank, alpha=alpha), axis=1)
        return strength, int((strength > 0).sum())

    first = high = largest_penalty(points, responses, rank) / _L1_RATIO
    low, (best, count) = high / 2, fit(high / 2)
    while count < n_features:  # a bracket first: few predictors are cheap, many are not
        if low < first * 2.0**-steps:
            raise ValueError(
                f"n_features={n_features}, but only {count} column(s) survive a vanishing penalty; "
                "ask for fewer."
            )
        high, low = low, low / 2
        best, count = fit(low)
    for _ in range(steps):
        if count == n_features or high / low < 1 + 1e-6:
            break
        middle = float(np.sqrt(low * high))
        strength, found = fit(middle)
        if found >= n_features:
            low, best, count = middle, strength, found
        else:
            high = middle
    return np.sort(np.argsort(-best, kind="stable")[:n_features])


def cross_validate_rrr(
    X: NDArray, Y: NDArray, *, ranks: Sequence[int], alphas: Sequence[float], folds: KFold
) -> pd.DataFrame:
    """Cross-validate sparse reduced-rank regression of Y (n, q) on X (n, p) by rank and penalty.

    Selected predictors are refitted with the ridge penalty alone. Standardization and selection
    happen inside each fold. Columns rank, alpha, fold, n_selected, r2: one minus the share of the
    variance of all standardized responses in the held-out fold that is left; 0 predicts the
    training mean.
    """
    rows = []
    for fold, (train, test) in enumerate(folds.split(X)):
        X_train, X_test = _standardized(X, train, test)
        Y_train, Y_test = _standardized(Y, train, test)
        for rank in ranks:
            for alpha in alphas:
                chosen = sparse_encoder(X_train, Y_train, rank=rank, alpha=alpha).any(axis=1)
                predicted, k = np.zeros_like(Y_test), int(chosen.sum())
                if k:
                    model = ReducedRankRegression(min(rank, k), alpha=alpha)
                    predicted = model.fit(X_train[:, chosen], Y_train).predict(X_test[:, chosen])
                left = np.sum((Y_test - predicted) ** 2) / np.sum(Y_test**2)
                rows.append((rank, alpha, fold, k, 1.0 - float(left)))
    return pd.DataFrame(rows, columns=["rank", "alpha", "fold", "n_selected", "r2"])


def selection_leak(
    X: NDArray, Y: NDArray, train: NDArray, test: NDArray, *, n_features: int
) -> dict[str, float]:
    """Measure how much a selection of predictors on all rows flatters the test error.

    Both selections are followed by the same ridge reduced-rank regression on the training rows.
    Entries ``everywhere`` and ``inside`` are the test MSE with predictors selected on training and
    test rows, and on training rows alone; ``shared`` is the number of predictors that both select.
    """
    Y_train, Y_test = _standardized(Y, train, test)
    errors, chosen = [], []
    for rows in (np.concatenate([train, test]), train):
        columns = select_features(X[rows], Y[rows], n_features)
        X_train, X_test = _standardized(X[:, columns], train, test)
        rank = min(10, n_features, Y.shape[1])
        model = ReducedRankRegression(rank, alpha=0.1).fit(X_train, Y_train)
        errors.append(float(np.mean((Y_test - model.predict(X_test)) ** 2)))
        chosen.append(columns)
    shared = len(np.intersect1d(chosen[0], chosen[1]))
    return {"everywhere": errors[0], "inside": errors[1], "shared": shared}


def _standardized(array: NDArray, train: NDArray, test: NDArray) -> tuple[NDArray, NDArray]:
    """Return training and test rows, scaled by the training rows."""
    scaler = StandardScaler().fit(array[train])
    return scaler.transform(array[train]), scaler.transform(array[test])
