"""What a practitioner would try first: ridge, reduced-rank regression, PLS and PCA."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV, KFold

from .._validation import check_integer
from ..reduced_rank import ReducedRankRegression
from ..streams import stream_seed
from ._evaluate import REFERENCE_RANK, Reduction
from ._split import Split

__all__ = ["linear_errors", "linear_reductions"]

RANKS = (2, 4, 6, 8, 10)
PENALTIES = tuple(np.logspace(-2, 1, 7))  # per row of standardized X


def linear_errors(split: Split, *, with_fit: bool = False) -> pd.DataFrame:
    r"""Return the test errors of linear predictions, their settings chosen by cross-validation.

    Parameters
    ----------
    split : Split
    with_fit : bool, default=False
        Train on :math:`\mathcal T_\ell \cup \mathcal T_f`, every labeled cell, instead of
        :math:`\mathcal T_\ell`.

    Returns
    -------
    DataFrame indexed by method (mean, ridge, RRR, PLS) with columns mse and rank
        "mean" predicts the training mean; the rank of a full regression is missing.
    """
    X, Y = split.X_labeled, split.Y_labeled
    if with_fit:
        X, Y = np.vstack([X, split.X_fit]), np.vstack([Y, split.Y_fit])
    models = {
        "mean": DummyRegressor(),
        "ridge": RidgeCV(alphas=len(X) * np.asarray(PENALTIES)),
        **_searches(split, X, Y),
    }
    rows = {}
    for name, model in models.items():
        error = np.mean((split.Y_test - model.fit(X, Y).predict(split.X_test)) ** 2)
        best = getattr(model, "best_params_", {})
        rows[name] = {"mse": float(error), "rank": best.get("n_components", np.nan)}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")


def linear_reductions(split: Split, *, reference: int = REFERENCE_RANK) -> dict[str, Reduction]:
    r"""Return the reductions of RRR, PLS (on :math:`\mathcal T_\ell`) and PCA (with the unlabeled).

    Ranks of RRR and PLS are chosen by cross-validation of their linear predictions; PCA, which
    looks at no response, takes the reference rank.
    """
    check_integer(reference, "reference", low=1)
    X, Y = split.X_labeled, split.Y_labeled
    found = {}
    for name, search in _searches(split, X, Y).items():
        best = search.fit(X, Y).best_estimator_
        other = search.estimator.set_params(**{**search.best_params_, "n_components": reference})
        found[name] = Reduction(best.n_components, _directions(best), _directions(other.fit(X, Y)))
    components = PCA(reference).fit(np.vstack([X, split.X_unlabeled])).components_.T
    return {**found, "PCA": Reduction(reference, components, components)}


def _searches(split: Split, X: NDArray, Y: NDArray) -> dict[str, GridSearchCV]:
    """Return cross-validated RRR and PLS, over ranks that the data allow."""
    ranks = [r for r in RANKS if r <= min(len(X) // 2, X.shape[1], Y.shape[1])]
    folds = KFold(5, shuffle=True, random_state=stream_seed(split.seed, "patchseq", "folds"))
    settings: dict[str, Any] = {"cv": folds, "scoring": "neg_mean_squared_error"}
    return {
        "RRR": GridSearchCV(
            ReducedRankRegression(), {"n_components": ranks, "alpha": PENALTIES}, **settings
        ),
        "PLS": GridSearchCV(PLSRegression(scale=False), {"n_components": ranks}, **settings),
    }


def _directions(model: ReducedRankRegression | PLSRegression) -> NDArray:
    """Return the directions (p, r) whose projections the model predicts from."""
    return model.components_.T if hasattr(model, "components_") else model.x_rotations_
