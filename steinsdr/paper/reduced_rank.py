r"""Reduced-rank regression: the linear model that SDR has to beat, and how genes are selected.

Ridge reduced-rank regression has a closed form. Sparse reduced-rank regression (Kobak et al. 2021)
keeps few predictors. Selecting predictors on all rows and splitting afterwards lets the test rows
take part in the selection; :func:`selection_leak` measures what that changes.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import MultiTaskElasticNet
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from .._base import check_matrix, check_responses

__all__ = [
    "ReducedRankRegression",
    "SparseRRR",
    "cross_validate_rrr",
    "largest_penalty",
    "select_features",
    "selection_leak",
]


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


class ReducedRankRegression(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, RegressorMixin, BaseEstimator
):
    r"""Least squares, or ridge regression, with a coefficient matrix of given rank.

    Minimizes :math:`\|Y - X W V^\top\|_F^2 / (2n) + \alpha \|W\|_F^2 / 2` with
    :math:`V^\top V = I_r`, for centered X and Y: encoder W, decoder V, and predictions
    :math:`\hat y = \bar y + V W^\top (x - \bar x)`.

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
    coef_, intercept_ : ndarray of shape (q, p) and (q,)
        The regression, :math:`V W^\top`.

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, n_components: int = 1, *, alpha: float = 0.0) -> None:
        self.n_components = n_components
        self.alpha = alpha

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit to X (n, p) and responses y, (n, q) or (n,)."""
        points, responses = self._centred(X, y)
        self._keep(*_ridge_rrr(points, responses, rank=self.n_components, alpha=self.alpha))
        return self

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
        """Check parameters and data; return centered X (n, p) and Y (n, q)."""
        self._validate_params()
        points = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        responses = check_matrix(check_responses(Y, n_rows=len(points)), "y")
        limit = min(points.shape[1], responses.shape[1])
        if self.n_components > limit:
            raise ValueError(
                f"n_components={self.n_components} but X has {points.shape[1]} column(s) and y has "
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


class SparseRRR(ReducedRankRegression):
    r"""Reduced-rank regression on a few predictors, chosen by an elastic net on whole rows.

    For centered X and Y, alternates between the two blocks of

    .. math:: \min_{W,\,V:\,V^\top V = I_r}\ \frac{1}{2n} \|Y - X W V^\top\|_F^2
       + \alpha\rho \sum_j \|w_j\|_2 + \frac{\alpha(1-\rho)}{2} \|W\|_F^2 ,

    with :math:`w_j` the rows of W: given V, W is scikit-learn's ``MultiTaskElasticNet`` of
    :math:`Y V` on X; given W, V is the Procrustes rotation :math:`P Q^\top` from the singular value
    decomposition :math:`P D Q^\top` of :math:`Y^\top X W`. A row is zero as a whole: its predictor
    is not selected. The relaxed version then refits the selected predictors with ridge alone.

    Parameters
    ----------
    n_components : int, default=1
        Rank r, at most min(p, q).
    alpha : float, default=0.1
        Penalty, above 0. :func:`select_features` finds the one that leaves a wanted number of
        predictors.
    l1_ratio : float, default=0.5
        :math:`\rho`: 1 penalizes the norms of the rows only, towards 0 it is ridge.
    relaxed : bool, default=True
        Refit the selected predictors with ridge penalty ``alpha`` and without the sparse penalty.
    max_iter : int, default=100
        Largest number of alternations.
    tol : float, default=1e-6
        Stop when the objective falls by less than this share.

    Attributes
    ----------
    selected_ : ndarray of bool, shape (p,)
        Predictors with a nonzero row.
    strength_ : ndarray of shape (p,)
        Norms of the rows of W before the relaxed refit: the order in which predictors matter.
    components_, decoder_, coef_, intercept_
        As in :class:`ReducedRankRegression`, with zero columns of the encoder for predictors that
        are not selected. If fewer predictors than r are selected, the last rows of encoder and
        decoder are zero.
    objective_ : list of float
        Objective after each alternation, never rising.
    n_iter_ : int
        Alternations done.

    Notes
    -----
    The objective is not convex; the start, the top right singular vectors of :math:`X^\top Y`, is
    that of the authors. Predictors in different units should be standardized first.

    References
    ----------
    D. Kobak, Y. Bernaerts, M. A. Weis, F. Scala, A. S. Tolias and P. Berens, "Sparse
    reduced-rank regression for exploratory visualisation of paired multivariate data", Journal
    of the Royal Statistical Society C 70 (2021), 980-1000.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 30))
    >>> Y = X[:, :3] @ rng.standard_normal((3, 5)) + 0.1 * rng.standard_normal((200, 5))
    >>> np.flatnonzero(SparseRRR(2, alpha=0.5).fit(X, Y).selected_).tolist()
    [0, 1, 2]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ReducedRankRegression._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "l1_ratio": [Interval(Real, 0, 1, closed="right")],
        "relaxed": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        alpha: float = 0.1,
        l1_ratio: float = 0.5,
        relaxed: bool = True,
        max_iter: int = 100,
        tol: float = 1e-6,
    ) -> None:
        super().__init__(n_components, alpha=alpha)
        self.l1_ratio = l1_ratio
        self.relaxed = relaxed
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit to X (n, p) and responses y, (n, q) or (n,).

        Warns
        -----
        UserWarning
            If the penalty leaves no predictor.
        ConvergenceWarning
            If ``max_iter`` alternations do not suffice.
        """
        points, responses = self._centred(X, y)
        self.objective_: list[float] = []
        W, V = self._alternate(points, responses)
        self.n_iter_ = max(1, len(self.objective_))
        self.strength_ = np.linalg.norm(W, axis=1)
        self.selected_ = self.strength_ > 0
        if not self.selected_.any():
            limit = largest_penalty(points, responses, self.n_components) / self.l1_ratio
            warnings.warn(
                f"alpha={self.alpha:g} selects no predictor, so the mean of Y is all that is "
                f"predicted; use less than {limit:g}.",
                stacklevel=2,
            )
        elif self.relaxed:
            chosen, rank = self.selected_, min(self.n_components, int(self.selected_.sum()))
            W, V = np.zeros(W.shape), np.zeros(V.shape)
            W[chosen, :rank], V[:, :rank] = _ridge_rrr(
                points[:, chosen], responses, rank=rank, alpha=self.alpha
            )
        self._keep(W, V)
        return self

    def _alternate(self, X: NDArray, Y: NDArray) -> tuple[NDArray, NDArray]:
        """Return W (p, r) and V (q, r) of the penalized problem."""
        V = _initial_decoder(X, Y, self.n_components)
        penalty = {"alpha": self.alpha, "l1_ratio": self.l1_ratio}
        net = MultiTaskElasticNet(**penalty, fit_intercept=False, warm_start=True, tol=1e-5)
        columns = np.asfortranarray(X)
        for _ in range(self.max_iter):
            W = net.fit(columns, np.asfortranarray(Y @ V)).coef_.T
            if not W.any():
                return np.zeros_like(W), V
            P, _, Qt = np.linalg.svd(Y.T @ (X @ W), full_matrices=False)
            V = P @ Qt
            self.objective_.append(self._objective(X, Y, W, V))
            if len(self.objective_) > 1:
                before, now = self.objective_[-2:]
                if before - now <= self.tol * before:
                    break
        else:
            warnings.warn(
                f"max_iter={self.max_iter} alternations did not reach tol={self.tol:g}.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return np.array(W), V

    def _objective(self, X: NDArray, Y: NDArray, W: NDArray, V: NDArray) -> float:
        loss = np.sum((Y - (X @ W) @ V.T) ** 2) / (2 * len(X))
        rows = np.linalg.norm(W, axis=1)
        penalty = self.l1_ratio * rows.sum() + (1 - self.l1_ratio) / 2 * np.sum(rows**2)
        return float(loss + self.alpha * penalty)


def largest_penalty(X: NDArray, Y: NDArray, rank: int) -> float:
    r"""Return the smallest :math:`\alpha\rho` at which the start of SparseRRR selects nothing.

    That is :math:`\max_j \|x_j^\top Y V\|_2 / n` for centered X and Y.
    """
    V = _initial_decoder(X, Y, rank)
    return float(np.linalg.norm(X.T @ (Y @ V), axis=1).max() / len(X))


def _initial_decoder(X: NDArray, Y: NDArray, rank: int) -> NDArray:
    """Return the top right singular vectors (q, rank) of X'Y, the directions of PLS."""
    return np.linalg.svd(X.T @ Y, full_matrices=False)[2][:rank].T


def select_features(X: ArrayLike, Y: ArrayLike, n_features: int) -> NDArray:
    """Return the columns (n_features,) of X, ascending, that sparse RRR of rank 2 selects.

    Bisects the penalty on a logarithmic scale until that many rows survive. Where the count jumps
    over the wanted number, the strongest rows of the next larger selection are taken. On the
    Patch-seq data rank 2 comes closest to the ranks of the paper's Table 3; of 100 genes, 82 are
    the same with rank 10. X (n, p) and Y (n, q) are standardized here; constant columns are never
    selected.

    Raises
    ------
    ValueError
        If the penalty goes to zero before so many survive.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 30))
    >>> Y = X[:, :3] @ rng.standard_normal((3, 5)) + 0.1 * rng.standard_normal((200, 5))
    >>> select_features(X, Y, 3).tolist()
    [0, 1, 2]
    """
    points, responses = check_matrix(X, "X", min_rows=2), check_matrix(Y, "Y", min_rows=2)
    points, responses = (StandardScaler().fit_transform(array) for array in (points, responses))
    rank, steps = 2, 40  # 2^-40 of the first interval is far below any gap between penalties

    def fit(alpha: float) -> tuple[NDArray, int]:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*selects no predictor")
            model = SparseRRR(rank, alpha=alpha).fit(points, responses)
        return model.strength_, int(model.selected_.sum())

    first = high = largest_penalty(points, responses, rank) / SparseRRR().l1_ratio
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
    X: ArrayLike, Y: ArrayLike, *, ranks: Sequence[int], alphas: Sequence[float], folds: KFold
) -> pd.DataFrame:
    """Cross-validate sparse reduced-rank regression of Y (n, q) on X (n, p) by rank and penalty.

    Standardization and selection happen inside each fold. Columns rank, alpha, fold, n_selected,
    r2: one minus the share of the variance of all standardized responses in the held-out fold that
    is left; 0 predicts the training mean.
    """
    points, responses = check_matrix(X, "X"), check_matrix(Y, "Y")
    rows = []
    for fold, (train, test) in enumerate(folds.split(points)):
        X_train, X_test = _standardized(points, train, test)
        Y_train, Y_test = _standardized(responses, train, test)
        if not Y_train.any() or not Y_test.any():
            raise ValueError(f"Y does not vary in fold {fold}; expected responses that do.")
        for rank in ranks:
            for alpha in alphas:
                model = SparseRRR(rank, alpha=alpha).fit(X_train, Y_train)
                left = np.sum((Y_test - model.predict(X_test)) ** 2) / np.sum(Y_test**2)
                rows.append((rank, alpha, fold, int(model.selected_.sum()), 1.0 - float(left)))
    return pd.DataFrame(rows, columns=["rank", "alpha", "fold", "n_selected", "r2"])


def selection_leak(
    X: ArrayLike, Y: ArrayLike, train: NDArray, test: NDArray, *, n_features: int
) -> dict[str, float]:
    """Measure how much a selection of predictors on all rows flatters the test error.

    Both selections, of ``n_features`` columns of X (n, p), are followed by the same ridge
    reduced-rank regression on the training rows, of rank 10 at most and with penalty 0.1. On
    responses Y (n, q) that have nothing to do with X, any gap is leakage. Entries ``everywhere``
    and ``inside`` are the test MSE with predictors selected on training and test rows, and on
    training rows alone; ``shared`` is the number of predictors that both select.
    """
    points, responses = check_matrix(X, "X"), check_matrix(Y, "Y")
    Y_train, Y_test = _standardized(responses, train, test)
    errors, chosen = [], []
    for rows in (np.concatenate([train, test]), train):
        columns = select_features(points[rows], responses[rows], n_features)
        X_train, X_test = _standardized(points[:, columns], train, test)
        rank = min(10, n_features, responses.shape[1])
        model = ReducedRankRegression(rank, alpha=0.1).fit(X_train, Y_train)
        errors.append(float(np.mean((Y_test - model.predict(X_test)) ** 2)))
        chosen.append(columns)
    shared = len(np.intersect1d(chosen[0], chosen[1]))
    return {"everywhere": errors[0], "inside": errors[1], "shared": shared}


def _standardized(array: NDArray, train: NDArray, test: NDArray) -> tuple[NDArray, NDArray]:
    """Return training and test rows, scaled by the training rows."""
    scaler = StandardScaler().fit(array[train])
    return scaler.transform(array[train]), scaler.transform(array[test])
