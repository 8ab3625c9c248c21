"""Benchmark on real data: data set x peer x split of repeated 5-fold cross-validation.

Everything is learned from the training rows: imputation, units, reduction, penalties. The value is
the squared error of the standardized responses on the test rows, over that of the training mean.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ..baselines import CSOPG, KSIR, RFM, SIR
from ..estimator import SteinSDR
from ..link import KernelLink, fit_link
from ..regressor import SteinRegressor
from ..simulation import BASE_SEED, stream_seed
from .experiment import Cell, Experiment, Row, attempt, read_methods
from .multitarget import MULTITARGET, load_multitarget
from .reduced_rank import ReducedRankRegression

__all__ = ["BENCHMARK"]


class _Task(NamedTuple):
    """Training rows of a cell: standardized columns X (n, p) and responses Y (n, q)."""

    X: NDArray
    Y: NDArray
    settings: dict[str, Any]
    directions: int
    seed: int

    @property
    def most(self) -> int:
        """Directions that there are."""
        return min(self.directions, self.X.shape[1])


def _measure(experiment: Experiment, cells: Sequence[Cell], folder: Any = None) -> list[Row]:
    """Measure cells; what fails is recorded with its reason.

    Raises
    ------
    OSError
        If the data can not be had: the machine's failure, not a method's.
    """
    return [Row(cell, *attempt(partial(_error, experiment, cell))) for cell in cells]


def _error(experiment: Experiment, cell: Cell) -> tuple[float]:
    """Return the relative error of a peer on the test rows of a split."""
    name, peer, rep = cell
    folds = experiment.design["folds"]
    repetition, fold = divmod(rep, folds)
    # Repetition k of the cross-validation has the seed 42 + k.
    seed = stream_seed(BASE_SEED + repetition, "benchmark", name)
    X, Y = _data(name)
    splits = KFold(folds, shuffle=True, random_state=seed).split(X)
    train, test = list(splits)[fold]
    prepare = make_pipeline(
        SimpleImputer(strategy="median"), VarianceThreshold(), StandardScaler()
    ).fit(X[train])
    units = StandardScaler().fit(Y[train])
    targets = units.transform(Y[test])
    method = experiment.methods[peer]
    task = _Task(
        prepare.transform(X[train]),
        units.transform(Y[train]),
        dict(method.settings),
        experiment.design["directions"],
        stream_seed(seed, "fold", fold),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # discrete columns, responses without a signal
        fitted = experiment.families[method.family](task)
    predicted = np.reshape(fitted.predict(prepare.transform(X[test])), targets.shape)
    return (float(np.sum((targets - predicted) ** 2) / np.sum(targets**2)),)


@cache
def _data(name: str) -> tuple[NDArray, NDArray]:
    X, Y = load_multitarget(name)
    return X.to_numpy(), Y.to_numpy()


def _full(task: _Task) -> Any:
    if task.settings["link"] == "ridge":
        return fit_link("ridge", task.X, task.Y)
    return KernelLink().fit(task.X, task.Y)


def _reduced(task: _Task, reduction: Any) -> SteinRegressor:
    return SteinRegressor(reduction=reduction).fit(task.X, task.Y)


def _pca(task: _Task) -> SteinRegressor:
    return _reduced(task, PCA(task.most, svd_solver="full"))


def _pls(task: _Task) -> SteinRegressor:
    numbers = list(range(1, task.most + 1))
    return _reduced(task, _searched(PLSRegression(scale=False), {"n_components": numbers}))


def _rrr(task: _Task) -> SteinRegressor:
    rank = min(task.most, task.Y.shape[1])
    penalties = list(np.logspace(-3, 1, 9))
    return _reduced(task, _searched(ReducedRankRegression(rank), {"alpha": penalties}))


def _searched(estimator: Any, grid: dict[str, list[Any]]) -> GridSearchCV:
    return GridSearchCV(estimator, grid, cv=5, scoring="neg_mean_squared_error")


def _sir(task: _Task) -> SteinRegressor:
    sir = SIR(task.most, random_state=task.seed, **task.settings)
    n, p = task.X.shape
    number = max(task.most, n // 10)
    if p <= number:
        return _reduced(task, sir)
    return _reduced(task, make_pipeline(PCA(number, svd_solver="full"), sir))


def _rfm(task: _Task) -> SteinRegressor:
    return _reduced(task, RFM(task.most))


def _tikhonov(task: _Task) -> SteinRegressor:
    moment = task.settings.get("moment")
    if moment == "paper":
        rank = min(task.most, task.Y.shape[1])
        return _reduced(task, SteinSDR.paper(rank, random_state=task.seed))
    model = SteinRegressor(task.directions, reduction=moment, cv=3, random_state=task.seed)
    return model.fit(task.X, task.Y)


def _csopg(task: _Task) -> SteinRegressor:
    return _reduced(task, CSOPG(task.most, max_dim=task.most))


def _ksir(task: _Task) -> SteinRegressor:
    return _reduced(task, KSIR(task.most, max_dim=task.most))


def _group(experiment: Experiment, cell: Cell) -> tuple[Any, ...]:
    """Each cell is a group of its own; a split of all data sets comes before the next split."""
    name, peer, rep = cell
    return rep, experiment.methods[peer].cost, name, peer


_METHODS = read_methods("benchmark.toml")
_SLOW = ("SteinRegressor-search", "csOPG", "KSIR")  # run when a filter names them

BENCHMARK = Experiment(
    name="benchmark",
    axes={
        "data": tuple(MULTITARGET),
        "method": tuple(name for name in _METHODS if name not in _SLOW),
    },
    values={"error": float},
    methods=_METHODS,
    measure=_measure,
    families={
        "full": _full,
        "pca": _pca,
        "pls": _pls,
        "rrr": _rrr,
        "sir": _sir,
        "rfm": _rfm,
        "tikhonov": _tikhonov,
        "csopg": _csopg,
        "ksir": _ksir,
    },
    group=_group,
    described=("family", "settings"),
    design={"measure": "prediction", "directions": 4, "folds": 5},
    variants={"method": _SLOW},
    subsets={"smoke": {"data": ("andro", "slump"), "method": ("ridge", "PLS", "SteinRegressor")}},
    repetitions={"smoke": 1, "laptop": 5, "paper": 15},
    # A kernel fit with hardly a penalty amplifies rounding.
    precision=1e-6,
)
"""Relative errors of predictions."""
