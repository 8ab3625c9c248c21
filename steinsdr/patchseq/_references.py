"""What a practitioner would try first: ridge, reduced-rank regression, PLS and PCA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV, KFold

from .._validation import check_choice, check_integer
from ..reduced_rank import ReducedRankRegression
from ..streams import stream_seed
from ._evaluate import REFERENCE_RANK, Reduction
from ._split import Split

__all__ = ["linear_errors", "linear_reductions"]

LINEAR = ("mean", "ridge", "RRR", "PLS")
REDUCTIONS = ("RRR", "PLS", "PCA")
RANKS = (2, 4, 6, 8, 10)
PENALTIES = tuple(np.logspace(-2, 1, 7))  # per row of standardized X


def linear_errors(
    split: Split,
    *,
    with_fit: bool = False,
    reference: int = REFERENCE_RANK,
    models: Sequence[str] = LINEAR,
) -> pd.DataFrame:
    r"""Return the test errors of linear predictions, their settings chosen by cross-validation.

    Parameters
    ----------
    split : Split
    with_fit : bool, default=False
        Train on :math:`\mathcal T_\ell \cup \mathcal T_f`, every labeled cell, instead of
        :math:`\mathcal T_\ell`.
    reference : int, default=10
        The other rank.
    models : sequence of str
        Which of mean, ridge, RRR, PLS.

    Returns
    -------
    DataFrame indexed by model with columns rank, mse, mse_reference
        "mean" predicts the training mean and has rank 0; ridge is a full regression, its rank that
        of Y. ``mse_reference`` is the error at the reference rank, where a model has ranks.
    """
    X, Y = split.X_labeled, split.Y_labeled
    if with_fit:
        X, Y = np.vstack([X, split.X_fit]), np.vstack([Y, split.Y_fit])
    rows = {}
    for name in models:
        check_choice(name, "models", LINEAR)
        if name in ("mean", "ridge"):
            alphas = len(X) * np.asarray(PENALTIES)
            model = DummyRegressor() if name == "mean" else RidgeCV(alphas=alphas)
            error = _test_error(model.fit(X, Y), split)
            rank = 0 if name == "mean" else min(X.shape[1], Y.shape[1])
            rows[name] = {"rank": rank, "mse": error, "mse_reference": error}
        else:
            best, other = _at_both_ranks(name, split, X, Y, reference)
            rows[name] = {
                "rank": best.n_components,
                "mse": _test_error(best, split),
                "mse_reference": _test_error(other, split),
            }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")


def _test_error(model: Any, split: Split) -> float:
    return float(np.mean((split.Y_test - model.predict(split.X_test)) ** 2))


def linear_reductions(
    split: Split, *, reference: int = REFERENCE_RANK, models: Sequence[str] = REDUCTIONS
) -> dict[str, Reduction]:
    r"""Return the reductions of RRR, PLS (on :math:`\mathcal T_\ell`) and PCA (with the unlabeled).

    Ranks of RRR and PLS are chosen by cross-validation of their linear predictions; PCA, which
    looks at no response, takes the reference rank. ``models`` says which of them are wanted.
    """
    check_integer(reference, "reference", low=1)
    X, Y = split.X_labeled, split.Y_labeled
    found = {}
    for name in models:
        check_choice(name, "models", REDUCTIONS)
        if name == "PCA":
            both = np.vstack([X, split.X_unlabeled])
            components = PCA(reference, svd_solver="full").fit(both).components_.T
            found[name] = Reduction(reference, components, components)
        else:
            best, other = _at_both_ranks(name, split, X, Y, reference)
            found[name] = Reduction(best.n_components, _directions(best), _directions(other))
    return found


def _at_both_ranks(
    name: str, split: Split, X: NDArray, Y: NDArray, reference: int
) -> tuple[Any, Any]:
    """Return the model fitted at its best rank and at the reference rank."""
    search = _search(name, split, X, Y).fit(X, Y)
    other = clone(search.estimator).set_params(**{**search.best_params_, "n_components": reference})
    return search.best_estimator_, other.fit(X, Y)


def _search(name: str, split: Split, X: NDArray, Y: NDArray) -> GridSearchCV:
    """Return a cross-validated RRR or PLS, over ranks that the data allow."""
    ranks = [r for r in RANKS if r <= min(len(X) // 2, X.shape[1], Y.shape[1])]
    folds = KFold(5, shuffle=True, random_state=stream_seed(split.seed, "patchseq", "folds"))
    grid: dict[str, Any] = {"n_components": ranks}
    if name == "RRR":
        model: Any = ReducedRankRegression()
        grid["alpha"] = PENALTIES
    else:
        model = PLSRegression(scale=False)
    return GridSearchCV(model, grid, cv=folds, scoring="neg_mean_squared_error")


def _directions(model: ReducedRankRegression | PLSRegression) -> NDArray:
    """Return the directions (p, r) whose projections the model predicts from."""
    return model.components_.T if hasattr(model, "components_") else model.x_rotations_
