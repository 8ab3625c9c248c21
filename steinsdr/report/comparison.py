"""Does the reduction keep what predicts? Held-out comparison with SIR, PLS, PCA and no reduction.

Everything that is learned (units, lambda, the number of directions, the directions, the predictor)
is learned in the training folds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from tqdm import tqdm

from .._base import check_integer, varying_columns
from ..baselines import SIR
from .reduction import Reduction

__all__ = ["METHODS", "REFERENCES", "Comparison", "compare", "simple_predictor"]

METHODS = ("SteinSDR", "SIR", "PLS", "PCA")
REFERENCES = ("all predictors", "mean")
RIDGE = np.logspace(-3, 3, 13)


@dataclass(frozen=True)
class Comparison:
    """Held-out errors of every method.

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
        table["overall"] = self.mean_r2
        gaps = {m: self.difference(m, "SteinSDR") for m in table.index}
        table["minus SteinSDR"] = [gaps[m][0] for m in table.index]
        table["standard error"] = [gaps[m][1] for m in table.index]
        return table


def simple_predictor() -> Pipeline:
    """Return the predictor that follows every reduction: ridge on squares and products.

    Its penalty is chosen by leave-one-out on the training rows.
    """
    return make_pipeline(
        StandardScaler(),
        PolynomialFeatures(2, include_bias=False),
        StandardScaler(),
        RidgeCV(RIDGE),
    )


def compare(
    reduction: Reduction,
    X: pd.DataFrame,
    Y: pd.DataFrame,
    X_unlabeled: pd.DataFrame | None = None,
    *,
    folds: int = 5,
    seed: int = 0,
    progress: bool = False,
) -> Comparison:
    """Predict every row from the folds it is not in, after each reduction.

    SIR, PLS and PCA get as many directions as SteinSDR has in the same fold, and the same
    predictor (:func:`simple_predictor`) follows all four. For reference: ridge regression on all
    predictors, and the mean.

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
    """
    check_integer(folds, "folds", low=2, high=len(X))
    points, responses = X.to_numpy(), Y.to_numpy()
    more = None if X_unlabeled is None else X_unlabeled.to_numpy()
    names = (*METHODS, *REFERENCES)
    errors = {name: np.empty(responses.shape) for name in names}
    dimensions = []
    splits = KFold(folds, shuffle=True, random_state=seed).split(points)
    for train, test in tqdm(
        splits, total=folds, desc="held-out folds", disable=not progress, leave=False
    ):
        scale_x = StandardScaler().fit(points[train])
        scale_y = StandardScaler().fit(responses[train])
        _check_fold(X.iloc[train], Y.iloc[train])
        stein = clone(reduction).fit(points[train], responses[train], more)
        r = stein.loadings_.shape[1]
        dimensions.append(r)
        x, x_test = scale_x.transform(points[train]), scale_x.transform(points[test])
        y, y_test = scale_y.transform(responses[train]), scale_y.transform(responses[test])
        reduced = {"SteinSDR": (stein.transform(points[train]), stein.transform(points[test]))}
        for name, transform in _others(x, y, r, seed).items():
            reduced[name] = transform(x), transform(x_test)
        for name, (t, t_test) in reduced.items():
            predicted = simple_predictor().fit(t, y).predict(t_test)
            errors[name][test] = y_test - predicted.reshape(y_test.shape)
        ridge = RidgeCV(RIDGE).fit(x, y).predict(x_test)
        errors["all predictors"][test] = y_test - ridge.reshape(y_test.shape)
        errors["mean"][test] = y_test
    squares = {name: np.square(e) for name, e in errors.items()}
    total = squares["mean"].sum(axis=0)
    r2 = pd.DataFrame(
        {name: 1.0 - square.sum(axis=0) / total for name, square in squares.items()},
        index=pd.Index(Y.columns, name="response"),
    )
    loss = pd.DataFrame(
        {name: square.mean(axis=1) for name, square in squares.items()}, index=X.index
    )
    return Comparison(r2, loss, tuple(dimensions))


def _check_fold(X: pd.DataFrame, Y: pd.DataFrame) -> None:
    """Raise if a column varies in no row outside a fold, naming it."""
    for name, part in (("X", X), ("Y", Y)):
        constant = part.columns[~varying_columns(part.to_numpy())]
        if len(constant):
            raise ValueError(
                f"{name}: column {constant[0]!r} has a single value in the rows outside a fold, so "
                "nothing can be learned of it there. Drop it, or use more folds or another seed."
            )


def _others(x: NDArray, y: NDArray, r: int, seed: int) -> dict[str, Callable[[NDArray], NDArray]]:
    """Return the fitted competitors' maps to r dimensions, or to as many as SIR sees."""
    visible = int((SIR(1, random_state=seed).fit(x, y).eigenvalues_ > np.finfo(float).eps).sum())
    return {
        "SIR": SIR(min(r, visible), random_state=seed).fit(x, y).transform,
        "PLS": PLSRegression(r, scale=False).fit(x, y).transform,
        "PCA": PCA(r).fit(x).transform,
    }
