"""Held-out comparison of the reduction with ridge, kernel ridge, PLS and SIR.

Everything that is learned (medians for gaps, units, the number of directions, the directions,
penalties) is learned from the training rows of a fold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline

from .._base import varying_columns
from ..baselines import SIR
from ..estimator import SteinSDR
from ..link import KernelLink, fit_link
from ..regressor import SteinRegressor
from .read import Table

__all__ = ["METHODS", "Comparison", "Units", "by_prediction", "compare", "stacked"]

METHODS = ("SteinSDR", "ridge", "kernel ridge", "PLS", "SIR")
MOST_ROWS = 5_000  # of which a random subset is compared
NUMBERS = (1, 2, 3, 4)  # of directions among which prediction chooses


class Units:
    """Fill gaps by medians, subtract group means, divide by standard deviations.

    Attributes
    ----------
    medians, scale : ndarray of shape (p,)
    means : dict of str to ndarray of shape (p,)
        By group.
    varies : ndarray of shape (p,)
        Which columns vary within groups; the others have scale 1.

    Examples
    --------
    >>> units = Units(np.array([[0.0], [2.0], [10.0], [12.0]]), np.array(list("aabb")))
    >>> units(np.array([[11.0]]), np.array(["b"])).tolist()
    [[0.0]]
    """

    def __init__(self, values: NDArray, groups: NDArray) -> None:
        gaps = np.isnan(values)
        self.medians = np.zeros(values.shape[1])
        if gaps.any():
            known = ~gaps.all(axis=0)
            self.medians[known] = np.nanmedian(values[:, known], axis=0)
        filled = np.where(gaps, self.medians, values)
        self.means = {g: filled[groups == g].mean(axis=0) for g in np.unique(groups)}
        centered = self._centered(values, groups)
        size = np.abs(filled).max(axis=0)
        self.varies = varying_columns(filled) & (np.abs(centered).max(axis=0) > 1e-12 * size)
        self.scale = np.where(self.varies, centered.std(axis=0), 1.0)

    def _centered(self, values: NDArray, groups: NDArray) -> NDArray:
        filled = np.where(np.isnan(values), self.medians, values)
        for group, mean in self.means.items():
            filled[groups == group] -= mean
        return filled

    def __call__(self, values: NDArray, groups: NDArray) -> NDArray:
        """Return rows (n, p) in these units."""
        return self._centered(values, groups) / self.scale


@dataclass(frozen=True)
class Comparison:
    """Held-out errors of every method of ``METHODS``, and of the mean.

    Names of responses are labels of rows only, so that none can be taken for a method.

    Attributes
    ----------
    r2 : DataFrame
        Share of each response's variance that is predicted (rows: responses, columns: methods). The
        mean of the training rows has zero; below zero is worse than that.
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

    @property
    def rival(self) -> str:
        """The best method but SteinSDR."""
        return str(self.mean_r2[list(METHODS[1:])].idxmax())

    def difference(self, method: str, other: str) -> tuple[float, float]:
        """Difference of ``mean_r2`` and its standard error over the rows.

        The error treats rows as independent though they share training folds: a guide, no test.
        """
        gap = (self.loss[other] - self.loss[method]) / self.loss["mean"].mean()
        return float(gap.mean()), float(gap.std(ddof=1) / np.sqrt(len(gap)))

    def table(self) -> pd.DataFrame:
        """Return one row per method: R² of all responses, and the difference from SteinSDR."""
        gaps = np.array([self.difference(method, "SteinSDR") for method in METHODS])
        columns = {
            "R²": self.mean_r2[list(METHODS)],
            "minus SteinSDR": gaps[:, 0],
            "standard error": gaps[:, 1],
        }
        return pd.DataFrame(columns, index=pd.Index(METHODS, name="method"))


def by_prediction(Z: NDArray, Y: NDArray, seed: int) -> int:
    """Return the number of directions, 1 to 4, that predicts left-out rows best."""
    numbers = [k for k in NUMBERS if k <= Z.shape[1]]
    candidates = [SteinSDR(k, random_state=seed) for k in numbers]
    model = SteinRegressor(reduction=candidates, cv=3).fit(Z, Y)
    return int(model.reduction_.n_components)


def compare(
    sdr: SteinSDR,
    table: Table,
    *,
    predictive: bool = False,
    folds: int = 5,
    seed: int = 0,
    tick: Callable[[str], Any] = lambda _: None,
) -> Comparison:
    """Predict every row from the folds it is not in, by every method.

    SteinSDR and SIR reduce to the same number of directions, from which
    :class:`steinsdr.SteinRegressor` predicts. Ridge and kernel ridge see all predictors; PLS
    chooses its number of components by cross-validation. Of more than 5,000 rows a random subset
    is compared.

    Parameters
    ----------
    sdr : SteinSDR
        Its settings are used, not its fit.
    predictive : bool
        Whether the number of directions is chosen by prediction, in each fold.
    tick : callable
        Called with the name of every method that is done.
    """
    n = len(table.X)
    rows = np.sort(np.random.default_rng(seed).permutation(n)[:MOST_ROWS])
    X, Y = table.X.to_numpy()[rows], table.Y.to_numpy()[rows]
    groups = table.groups.to_numpy(dtype=str)
    more, other = table.X_unlabeled.to_numpy(), groups[n:]
    groups = groups[:n][rows]
    errors = {name: np.empty(Y.shape) for name in (*METHODS, "mean")}
    dimensions = []
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=seed).split(X, groups):
        units, scale = Units(X[train], groups[train]), Units(Y[train], groups[train])
        z, z_test, z_more = (
            units(values, g)[:, units.varies]
            for values, g in ((X[train], groups[train]), (X[test], groups[test]), (more, other))
        )
        y, y_test = (scale(Y[part], groups[part]) for part in (train, test))
        number = by_prediction(z, y, seed) if predictive else sdr.n_components
        if number != "auto":
            number = min(number, z.shape[1])
        stein = SteinSDR(**(sdr.get_params() | {"n_components": number}))
        stein.fit(*stacked(z, y, z_more))
        r = stein.n_components_
        dimensions.append(r)
        errors["mean"][test] = y_test**2
        for name in METHODS:
            model = _fitted(name, z, y, stein, r, seed)
            errors[name][test] = (y_test - np.reshape(model.predict(z_test), y_test.shape)) ** 2
            tick(name)
    total = np.maximum(errors["mean"].sum(axis=0), np.finfo(float).tiny)
    r2 = {name: 1.0 - error.sum(axis=0) / total for name, error in errors.items()}
    loss = {name: error.mean(axis=1) for name, error in errors.items()}
    return Comparison(
        pd.DataFrame(r2, pd.Index(table.Y.columns, name="response")),
        pd.DataFrame(loss, table.X.index[rows]),
        tuple(dimensions),
    )


def stacked(z: NDArray, y: NDArray, more: NDArray) -> tuple[NDArray, NDArray]:
    """Return labeled and unlabeled rows, and responses that are NaN for the latter."""
    return np.vstack([z, more]), np.pad(y, ((0, len(more)), (0, 0)), constant_values=np.nan)


def _fitted(name: str, z: NDArray, y: NDArray, stein: SteinSDR, r: int, seed: int) -> Any:
    """Return a method of ``METHODS``, fitted to standardized rows."""
    n, p = z.shape
    if name == "SteinSDR":
        return SteinRegressor(reduction=FrozenEstimator(stein)).fit(z, y)
    if name == "ridge":
        return fit_link("ridge", z, y)
    if name == "kernel ridge":
        return KernelLink(max_centers=1000).fit(z, y)
    if name == "PLS":
        numbers = list(range(1, min(8, p, n // 2) + 1))
        search = GridSearchCV(
            PLSRegression(scale=False),
            {"n_components": numbers},
            cv=3,
            scoring="neg_mean_squared_error",
        )
        return search.fit(z, y)
    # SIR inverts a covariance, and responses that repeat each other show it fewer directions.
    pca = PCA(min(p, max(r, n // 10)), svd_solver="full").fit(z)
    visible = SIR(1, random_state=seed).fit(pca.transform(z), y).eigenvalues_ > 1e-12
    sir = SIR(min(r, int(visible.sum())), random_state=seed)
    return SteinRegressor(reduction=make_pipeline(pca, sir)).fit(z, y)
