"""Held-out comparison of the reduction with SIR, PLS, PCA and no reduction.

Everything that is learned (units, lambda, the number of directions, the directions, the predictor)
is learned in the training folds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from tqdm import tqdm

from .._base import varying_columns
from ..baselines import SIR

__all__ = ["METHODS", "Comparison", "compare"]

METHODS = ("SteinSDR", "SIR", "PLS", "PCA", "all predictors")
PENALTIES = np.logspace(-3, 3, 13)


@dataclass(frozen=True)
class Comparison:
    """Held-out errors of every method of ``METHODS``, and of the mean.

    Attributes
    ----------
    r2 : DataFrame
        Share of each response's variance that is predicted (rows: responses, columns: methods). The
        mean of the training folds has zero; below zero is worse than that.
    loss : DataFrame of shape (n, methods)
        Squared error of each row, averaged over the standardized responses.
    dimensions : tuple of int
        Number of directions in each fold.
    """

    r2: pd.DataFrame
    loss: pd.DataFrame
    dimensions: tuple[int, ...]

    @property
    def mean_r2(self) -> pd.Series:
        """Share of the responses' total standardized variance that is predicted, by method."""
        loss = self.loss.mean()
        return 1.0 - loss / loss["mean"]

    def difference(self, method: str, other: str) -> tuple[float, float]:
        """Difference of ``mean_r2`` and its standard error over the rows.

        The error treats rows as independent though they share training folds: a guide, no test.
        """
        gap = (self.loss[other] - self.loss[method]) / self.loss["mean"].mean()
        return float(gap.mean()), float(gap.std(ddof=1) / np.sqrt(len(gap)))

    def table(self) -> pd.DataFrame:
        """Return one row per method: R² per response, overall, and against SteinSDR."""
        table = self.r2.T.rename_axis(index="method", columns=None)
        gaps = np.array([self.difference(method, "SteinSDR") for method in table.index])
        return table.assign(
            overall=self.mean_r2, **{"minus SteinSDR": gaps[:, 0], "standard error": gaps[:, 1]}
        )


def compare(
    reduction: BaseEstimator,
    X: pd.DataFrame,
    Y: pd.DataFrame,
    X_unlabeled: pd.DataFrame | None = None,
    *,
    folds: int = 5,
    seed: int = 0,
    progress: bool = False,
) -> Comparison:
    """Predict every row from the folds it is not in, after each reduction.

    SIR, PLS and PCA get as many directions as SteinSDR has in the same fold. Ridge regression on
    the reduced predictors, their squares and products follows each of the four. For reference:
    ridge regression on all predictors, and the mean. Penalties are chosen by leave-one-out on the
    training rows.

    Parameters
    ----------
    reduction : steinsdr.report.Reduction
        Its settings are used, not its fit.
    X, Y : DataFrame of shape (n, p), (n, q)
    X_unlabeled : DataFrame of shape (m, p), optional
        Given to SteinSDR in every fold.
    folds : int
        At least 2.
    seed : int
        Assigns rows to folds.
    progress : bool
        Whether to show a progress bar.

    Raises
    ------
    ValueError
        If a column is constant in the rows outside a fold.
    """
    errors = {name: np.empty(Y.shape) for name in (*METHODS, "mean")}
    dimensions = []
    splits = KFold(folds, shuffle=True, random_state=seed).split(X)
    bar = {"desc": "held-out folds", "disable": not progress, "leave": False}
    for train, test in tqdm(splits, total=folds, **bar):
        for name, part in (("X", X.iloc[train]), ("Y", Y.iloc[train])):
            constant = part.columns[~varying_columns(part.to_numpy())]
            if len(constant):
                raise ValueError(
                    f"{name}: column {constant[0]!r} has a single value in the rows outside a "
                    "fold, so nothing can be learned of it there. Drop it, or use more folds or "
                    "another seed."
                )
        stein = clone(reduction).fit(X.iloc[train], Y.iloc[train], X_unlabeled)
        r = stein.loadings_.shape[1]
        dimensions.append(r)
        (x, x_test), (y, y_test) = (
            (scaler.transform(values[train]), scaler.transform(values[test]))
            for values in (X.to_numpy(), Y.to_numpy())
            for scaler in [StandardScaler().fit(values[train])]
        )
        # Responses that repeat each other show SIR fewer directions.
        visible = SIR(1, random_state=seed).fit(x, y).eigenvalues_ > np.finfo(float).eps
        others = {
            "SIR": SIR(min(r, int(visible.sum())), random_state=seed),
            "PLS": PLSRegression(r, scale=False),
            "PCA": PCA(r),
        }
        reduced = {"SteinSDR": (stein.transform(X.iloc[train]), stein.transform(X.iloc[test]))}
        for name, method in others.items():
            method.fit(x, y)
            reduced[name] = method.transform(x), method.transform(x_test)
        predicted = {"mean": np.zeros_like(y_test)}
        for name, (z, z_test) in reduced.items():
            squares = PolynomialFeatures(2, include_bias=False)
            ridge = RidgeCV(PENALTIES)
            pipe = make_pipeline(StandardScaler(), squares, StandardScaler(), ridge).fit(z, y)
            predicted[name] = pipe.predict(z_test)
        predicted["all predictors"] = RidgeCV(PENALTIES).fit(x, y).predict(x_test)
        for name, values in predicted.items():
            errors[name][test] = np.square(y_test - values.reshape(y_test.shape))
    total = errors["mean"].sum(axis=0)
    r2 = {name: 1.0 - error.sum(axis=0) / total for name, error in errors.items()}
    loss = {name: error.mean(axis=1) for name, error in errors.items()}
    responses = pd.Index(Y.columns, name="response")
    return Comparison(pd.DataFrame(r2, responses), pd.DataFrame(loss, X.index), tuple(dimensions))
