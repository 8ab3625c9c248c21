"""Benchmark on real data: data set x peer x split of repeated 5-fold cross-validation.

Everything is learned from the training rows: imputation, units, the choice of genes, reduction,
penalties. The value is the squared error of the standardized responses on the test rows, over that
of the training mean.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache, partial
from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, KFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from ..baselines import CSOPG, KSIR, RFM, SIR
from ..estimator import SteinSDR
from ..link import KernelLink, fit_link
from ..rank import energy_rank
from ..regressor import SteinRegressor
from ..simulation import BASE_SEED, stream_seed
from .experiment import Cell, Experiment, Row, attempt, each_alone, read_methods
from .multitarget import MULTITARGET, load_multitarget
from .patchseq import load_patchseq, log_cpm
from .reduced_rank import ReducedRankRegression

SELECTED_ON = ("andro", "enb", "jura", "osales", "wq")
"""Data sets on which the settings of SteinRegressor were chosen; the others only report."""
_PATCHSEQ = "patchseq"


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
    """Measure cells; what fails is recorded with its reason, unless the data can not be had."""
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
    genes = experiment.design["genes"] if name == _PATCHSEQ else "all"
    prepare = make_pipeline(
        SimpleImputer(strategy="median"),
        VarianceThreshold(),
        SelectKBest(_variances, k=genes),
        StandardScaler(),
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
    if name == _PATCHSEQ:
        cells = load_patchseq()
        return log_cpm(cells.counts).to_numpy(), cells.ephys.to_numpy(dtype=np.float64)
    X, Y = load_multitarget(name)
    return X.to_numpy(), Y.to_numpy()


def _variances(X: NDArray, y: Any = None) -> NDArray:
    return X.var(axis=0)


def _full(task: _Task) -> Any:
    if task.settings["link"] == "ridge":
        return fit_link("ridge", task.X, task.Y)
    return KernelLink().fit(task.X, task.Y)


def _average(task: _Task) -> Any:
    fitted = _reduced(task, FunctionTransformer())
    rank = task.settings.get("rank")
    return fitted if rank is None else _LowRank(fitted, task.X, rank)


class _LowRank:
    """Predictions projected on their leading combinations of the responses."""

    def __init__(self, fitted: Any, X: NDArray, rank: int) -> None:
        self.fitted = fitted
        self.leading = np.linalg.svd(fitted.predict(X), full_matrices=False)[2][:rank]

    def predict(self, X: NDArray) -> NDArray:
        return self.fitted.predict(X) @ self.leading.T @ self.leading


def _reduced(task: _Task, reduction: Any) -> SteinRegressor:
    return SteinRegressor(reduction=reduction, cv=3).fit(task.X, task.Y)


def _pca(task: _Task) -> SteinRegressor:
    return _reduced(task, PCA(task.most, svd_solver="full"))


def _pls(task: _Task) -> SteinRegressor:
    numbers = list(range(1, task.most + 1))
    return _reduced(task, searched(PLSRegression(scale=False), {"n_components": numbers}))


def _rrr(task: _Task) -> SteinRegressor:
    rank = min(task.most, task.Y.shape[1])
    penalties = list(np.logspace(-3, 1, 9))
    return _reduced(task, searched(ReducedRankRegression(rank), {"alpha": penalties}))


def searched(estimator: Any, grid: dict[str, list[Any]]) -> GridSearchCV:
    """Return a regressor whose parameters 5-fold cross-validation chooses, to be fitted."""
    return GridSearchCV(estimator, grid, cv=5, scoring="neg_mean_squared_error")


def _sir(task: _Task) -> SteinRegressor:
    sir = SIR(task.most, random_state=task.seed, **task.settings)
    n, p = task.X.shape
    number = max(task.most, n // 10)
    if p <= number:
        return _reduced(task, sir)
    return _reduced(task, make_pipeline(PCA(number, svd_solver="full"), sir))


def _second_order(task: _Task) -> SteinRegressor:
    # Both invert the covariance, which columns that are sums of others make singular.
    number = min(max(task.most, len(task.X) // 10), int(np.linalg.matrix_rank(task.X, tol=1e-6)))
    components = PCA(number, whiten=True, svd_solver="full")
    reduction = PerResponse(task.settings["model"], min(task.most, number))
    return _reduced(task, make_pipeline(components, reduction))


class PerResponse(TransformerMixin, BaseEstimator):
    """Directions of a model of statsmodels for each response, combined by their eigenvalues.

    The columns must be uncorrelated and of equal variance.
    """

    def __init__(self, model: str, n_components: int) -> None:
        self.model = model
        self.n_components = n_components

    def fit(self, X: NDArray, y: NDArray) -> Self:
        """Fit to X (n, p) and responses (n, q)."""
        from statsmodels.regression import dimred

        total = np.zeros((X.shape[1], X.shape[1]))
        for response in y.T:
            fitted = getattr(dimred, self.model)(response, X).fit(slice_n=max(2, len(X) // 5))
            directions = np.real(fitted.params[:, : self.n_components])
            directions = directions / np.linalg.norm(directions, axis=0)
            total += directions * np.abs(fitted.eigs[: self.n_components]) @ directions.T
        self.components_ = np.linalg.eigh(total)[1][:, ::-1][:, : self.n_components].T
        return self

    def transform(self, X: NDArray) -> NDArray:
        """Return the indices (n, r)."""
        return X @ self.components_.T


def _rfm(task: _Task) -> SteinRegressor:
    return _reduced(task, RFM(task.most))


class XRFMDirections(TransformerMixin, BaseEstimator):
    """Directions of a recursive feature machine of the package xrfm, by the method's authors.

    A Laplace kernel and at most five steps, as by default there. A fifth of the rows, drawn by
    ``random_state``, chooses step, bandwidth and penalty. The directions are the leading
    eigenvectors of the gradients' outer product of the chosen fit; "auto" takes as many as reach
    95 percent of the eigenvalues. The columns must be standardized, and so must the responses.
    """

    _BANDWIDTHS = (3.0, 10.0, 30.0)
    _PENALTIES = (1e-3, 1e-1)

    def __init__(self, n_components: Any, random_state: int) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: NDArray, y: NDArray) -> Self:
        """Fit to X (n, p) and responses (n, q)."""
        import torch
        from xrfm.rfm_src import RFM as PeerRFM

        parts = train_test_split(X, y, test_size=0.2, random_state=self.random_state)
        train_X, held_X, train_y, held_y = (torch.from_numpy(part) for part in parts)
        smallest = np.inf
        for bandwidth, penalty in product(self._BANDWIDTHS, self._PENALTIES):
            peer = PeerRFM("l2", bandwidth=bandwidth, device="cpu", verbose=False)
            settings = {"iters": 5, "reg": penalty, "get_agop_best_model": True}
            peer.fit((train_X, train_y), (held_X, held_y), **settings)
            error = float(torch.mean((peer.predict(held_X) - held_y) ** 2))
            if error < smallest:
                smallest, outer = error, peer.agop_best_model.numpy()
        values, vectors = np.linalg.eigh(outer)
        roots = np.sqrt(np.clip(values[::-1], 0.0, None))
        auto = self.n_components == "auto"
        self.n_components_ = energy_rank(roots, 0.95) if auto else self.n_components
        self.components_ = vectors[:, ::-1][:, : self.n_components_].T
        return self

    def transform(self, X: NDArray) -> NDArray:
        """Return the indices (n, r)."""
        return X @ self.components_.T


def _xrfm(task: _Task) -> SteinRegressor:
    return _reduced(task, XRFMDirections(task.most, task.seed))


def _tikhonov(task: _Task) -> SteinRegressor:
    paper = SteinSDR.paper(min(task.most, task.Y.shape[1]), random_state=task.seed)
    ours = SteinSDR(task.most, random_state=task.seed)
    choice = {"paper": paper, "default": ours, "search": [None, ours, paper]}
    return _reduced(task, choice[task.settings["moment"]])


def _gradients(task: _Task) -> SteinRegressor:
    return SteinRegressor(task.directions).fit(task.X, task.Y)


def _csopg(task: _Task) -> SteinRegressor:
    return _reduced(task, CSOPG(task.most, max_dim=task.most))


def _ksir(task: _Task) -> SteinRegressor:
    return _reduced(task, KSIR(task.most, max_dim=task.most))


_METHODS = read_methods("benchmark.toml", "real")
_SLOW = ("SteinRegressor-search", "csOPG", "KSIR")  # run when a filter names them

BENCHMARK = Experiment(
    name="benchmark",
    axes={
        "data": (*MULTITARGET, _PATCHSEQ),
        "method": tuple(name for name in _METHODS if name not in _SLOW),
    },
    values={"error": float},
    methods=_METHODS,
    measure=_measure,
    group=each_alone,
    described=("family", "settings"),
    design={"measure": "prediction", "directions": 4, "folds": 5, "genes": 100},
    variants={"method": _SLOW},
    subsets={"smoke": {"data": ("andro", "slump"), "method": ("ridge", "PLS", "SteinRegressor")}},
    repetitions={"smoke": 1, "laptop": 5, "paper": 15},
    # A kernel fit with hardly a penalty amplifies rounding.
    precision=1e-6,
)
"""Relative errors of predictions."""
