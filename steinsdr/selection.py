r"""Which predictors: as many as wanted by sparse reduced-rank regression, and its cross-validation.

Selecting predictors on all rows and splitting afterwards lets the test rows vote on the model.
:func:`selection_leak` measures what that is worth.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from ._validation import check_integer, check_matrix, check_same_rows
from .reduced_rank import ReducedRankRegression
from .sparse_rrr import SparseRRR, largest_penalty

__all__ = [
    "FeatureSelection",
    "SelectionLeak",
    "cross_validate_rrr",
    "select_features",
    "selection_leak",
]

MAX_STEPS = 40  # bisections: 2^-40 of the first interval is far below any gap between penalties


@dataclass(frozen=True)
class FeatureSelection:
    """The selected columns and how the penalty was found.

    Attributes
    ----------
    indices : ndarray of int
        Selected columns, ascending.
    alpha : float
        Penalty that left them.
    model : SparseRRR
        The fitted model of standardized data.
    path : DataFrame with columns alpha, n_selected
        Penalties tried, in order.
    """

    indices: NDArray
    alpha: float
    model: SparseRRR
    path: pd.DataFrame


def select_features(
    X: ArrayLike, Y: ArrayLike, n_features: int = 100, *, rank: int = 2, **settings: Any
) -> FeatureSelection:
    """Select ``n_features`` columns of X by sparse reduced-rank regression of Y.

    Bisects the penalty on a logarithmic scale until that many rows survive. Where the count jumps
    over the wanted number, the strongest rows of the next larger selection are taken.

    Parameters
    ----------
    X, Y : array-like of shape (n, p) and (n, q)
        Standardized here, on these rows; constant columns are never selected.
    n_features : int, default=100
        Wanted number, at most p.
    rank : int, default=2
        Rank of the regression. On the Patch-seq data 2 comes closest to the ranks of the paper's
        Table 3; of 100 genes, 82 are the same with rank 10.
    **settings
        Further settings of :class:`steinsdr.sparse_rrr.SparseRRR`, such as ``l1_ratio``.

    Raises
    ------
    ValueError
        If X and Y differ in length, if there are fewer columns that vary, or if the penalty goes to
        zero before so many survive.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 30))
    >>> Y = X[:, :3] @ rng.standard_normal((3, 5)) + 0.1 * rng.standard_normal((200, 5))
    >>> select_features(X, Y, 3, rank=2).indices.tolist()
    [0, 1, 2]
    """
    points, responses = check_matrix(X, "X", min_rows=2), check_matrix(Y, "Y", min_rows=2)
    check_same_rows(points, responses)
    points, responses = (StandardScaler().fit_transform(array) for array in (points, responses))
    check_integer(n_features, "n_features", low=1, high=int(points.any(axis=0).sum()))
    l1_ratio = settings.get("l1_ratio", SparseRRR().l1_ratio)
    tried: list[tuple[float, int]] = []

    def fit(alpha: float) -> tuple[SparseRRR, int]:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*selects no predictor")
            model = SparseRRR(rank, alpha=alpha, **settings).fit(points, responses)
        tried.append((alpha, int(model.selected_.sum())))
        return model, tried[-1][1]

    high = largest_penalty(points, responses, rank) / l1_ratio
    low, (best, count) = high / 2, fit(high / 2)
    while count < n_features:  # a bracket first: few predictors are cheap, many are not
        if len(tried) > MAX_STEPS:
            raise ValueError(
                f"n_features={n_features}, but only {count} column(s) survive a vanishing penalty; "
                "ask for fewer."
            )
        high, low = low, low / 2
        best, count = fit(low)
    for _ in range(MAX_STEPS):
        if count == n_features or high / low < 1 + 1e-6:
            break
        middle = float(np.sqrt(low * high))
        model, found = fit(middle)
        if found >= n_features:
            low, best, count = middle, model, found
        else:
            high = middle
    strongest = np.argsort(-best.strength_, kind="stable")[:n_features]
    path = pd.DataFrame(tried, columns=["alpha", "n_selected"])
    return FeatureSelection(np.sort(strongest), low, best, path)


def cross_validate_rrr(
    X: ArrayLike,
    Y: ArrayLike,
    *,
    ranks: Sequence[int],
    alphas: Sequence[float],
    n_folds: int = 10,
    random_state: Any = None,
    **settings: Any,
) -> pd.DataFrame:
    """Cross-validate sparse reduced-rank regression over ranks and penalties.

    Standardization and selection happen inside each fold.

    Parameters
    ----------
    X, Y : array-like of shape (n, p) and (n, q)
    ranks, alphas : sequences
        Values of ``n_components`` and ``alpha``.
    n_folds : int
        Number of folds.
    random_state : int, RandomState or None
        Shuffles the rows.
    **settings
        Further settings of :class:`steinsdr.sparse_rrr.SparseRRR`.

    Returns
    -------
    DataFrame with columns rank, alpha, fold, n_selected, r2
        ``r2`` is one minus the share of the variance of all standardized responses in the held-out
        fold that is left; 0 predicts the training mean.
    """
    points, responses = check_matrix(X, "X"), check_matrix(Y, "Y")
    check_same_rows(points, responses)
    rows = []
    folds = KFold(n_folds, shuffle=True, random_state=random_state)
    for fold, (train, test) in enumerate(folds.split(points)):
        (X_train, X_test), (Y_train, Y_test) = (
            _standardized(array, train, test) for array in (points, responses)
        )
        for rank in ranks:
            for alpha in alphas:
                model = SparseRRR(rank, alpha=alpha, **settings).fit(X_train, Y_train)
                left = np.sum((Y_test - model.predict(X_test)) ** 2) / np.sum(Y_test**2)
                rows.append((rank, alpha, fold, int(model.selected_.sum()), 1.0 - float(left)))
    return pd.DataFrame(rows, columns=["rank", "alpha", "fold", "n_selected", "r2"])


@dataclass(frozen=True)
class SelectionLeak:
    """Test errors after selection on all rows and on the training rows.

    Attributes
    ----------
    everywhere, inside : float
        Test MSE with predictors selected on training and test rows, and on training rows alone.
    shared : int
        Predictors that both select.
    """

    everywhere: float
    inside: float
    shared: int

    @property
    def gap(self) -> float:
        """What the test rows' vote is worth: ``inside - everywhere``."""
        return self.inside - self.everywhere


def selection_leak(
    X: ArrayLike,
    Y: ArrayLike,
    train: NDArray,
    test: NDArray,
    *,
    n_features: int = 100,
    rank: int = 2,
    refit_rank: int = 10,
    alpha: float = 0.1,
    **settings: Any,
) -> SelectionLeak:
    """Measure how much a selection of predictors on all rows flatters the test error.

    Both selections are followed by the same ridge reduced-rank regression on the training rows.
    On responses that have nothing to do with X, any gap is leakage.

    Parameters
    ----------
    X, Y : array-like of shape (n, p) and (n, q)
    train, test : ndarray of int
        Row numbers.
    n_features, rank : int
        As in :func:`select_features`.
    refit_rank, alpha : int and float
        Rank (at most) and ridge penalty of the regression that is tested.
    **settings
        Further settings of :func:`select_features`.
    """
    points, responses = check_matrix(X, "X"), check_matrix(Y, "Y")
    check_same_rows(points, responses)
    Y_train, Y_test = _standardized(responses, train, test)
    both = np.concatenate([train, test])
    errors, chosen = [], []
    for rows in (both, train):
        columns = select_features(
            points[rows], responses[rows], n_features, rank=rank, **settings
        ).indices
        X_train, X_test = _standardized(points[:, columns], train, test)
        model = ReducedRankRegression(
            min(refit_rank, len(columns), responses.shape[1]), alpha=alpha
        ).fit(X_train, Y_train)
        errors.append(float(np.mean((Y_test - model.predict(X_test)) ** 2)))
        chosen.append(set(columns.tolist()))
    return SelectionLeak(errors[0], errors[1], len(chosen[0] & chosen[1]))


def _standardized(array: NDArray, train: NDArray, test: NDArray) -> tuple[NDArray, NDArray]:
    """Return training and test rows, scaled by the training rows."""
    scaler = StandardScaler().fit(array[train])
    return scaler.transform(array[train]), scaler.transform(array[test])
