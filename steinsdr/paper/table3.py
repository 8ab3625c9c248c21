"""Cells of Table 3 as pure functions of their key.

Cells of one repetition and train ratio are computed together: their partitions are pieces of one
permutation, so that a "full" score serves all three labeled shares.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from ..baselines import CSOPG, KSIR, SIR, DominanceRank, MLPDirections
from ..estimator import SteinSDR
from ..rank import AdaptiveRank
from ..scores import DenoisingScore, TikhonovScore
from ..simulation import BASE_SEED, stream_seed
from .methods import PAPER_METHODS, TABLE3_METHODS, Method, Table3Method
from .patchseq import (
    MAX_RANK,
    N_GENES,
    REFERENCE_RANK,
    Directions,
    PatchSeq,
    Split,
    evaluate_methods,
    fit_reduction,
    linear_errors,
    linear_reductions,
    load_patchseq,
    select_genes,
    table3_split,
)
from .simulations import Row, reason
from .study import Experiment

__all__ = [
    "TABLE3",
    "SharedScore",
    "Table3",
    "Table3Cell",
    "Table3Design",
    "Table3Group",
    "compute",
    "group_cells",
]


class Table3Cell(NamedTuple):
    """One repetition of one entry of the table."""

    train_ratio: float
    gamma: float
    method: str
    rep: int


@dataclass(frozen=True)
class Table3Design:
    """What the cells have in common.

    Attributes
    ----------
    n_genes, reference : int
        Genes selected; the fixed rank of the last columns.
    data : str, optional
        Folder with other data in the same format; the paper's by default.
    overrides : mapping of str to mapping
        Settings by family that replace those of all methods, and "evaluation" for those of the
        predicting network: for small experiments.
    """

    n_genes: int = N_GENES
    reference: int = REFERENCE_RANK
    data: str | None = None
    overrides: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    measure: str = "prediction"

    def describe(self) -> dict[str, Any]:
        """Return all but the overrides, as plain data for a manifest."""
        return {
            "measure": self.measure,
            "n_genes": self.n_genes,
            "reference_rank": self.reference,
            "max_rank": MAX_RANK,
        }

    def settings(self, method: Table3Method) -> dict[str, Any]:
        """Return the estimator's settings."""
        return {**method.settings, **self.overrides.get(method.family, {})}


class Table3Group(NamedTuple):
    """Cells computed together: those of one repetition and train ratio."""

    cells: tuple[Table3Cell, ...]

    @property
    def cost(self) -> float:
        """Seconds it may take, roughly."""
        return sum(TABLE3_METHODS[cell.method].cost + 0.3 for cell in self.cells)


def group_cells(cells: Iterable[Table3Cell]) -> list[Table3Group]:
    """Group cells by repetition and train ratio, in this order."""
    groups: dict[tuple[int, float], list[Table3Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.rep, cell.train_ratio), []).append(cell)
    return [Table3Group(tuple(groups[key])) for key in sorted(groups)]


def compute(design: Table3Design, group: Table3Group) -> list[Row]:
    """Compute the cells of a group; what fails is recorded with its reason.

    Raises
    ------
    OSError, ValueError
        If the data can not be had: the machine's failure, not a method's.
    """
    data = _data(design.data)
    shared: dict[Any, Any] = {}
    columns: dict[Any, list[Table3Cell]] = {}
    for cell in group.cells:
        method = TABLE3_METHODS[cell.method]
        column = (cell.train_ratio, cell.gamma, method.link, tuple(sorted(method.split.items())))
        columns.setdefault(column, []).append(cell)
    rows: list[Row] = []
    for (train_ratio, gamma, link, options), cells in columns.items():
        chosen = dict(options)
        split = table3_split(
            cells[0].rep,
            train_ratio,
            gamma,
            data=data,
            n_genes=design.n_genes,
            genes=None if "selection" in chosen else _genes(design.data, design.n_genes),
            **chosen,
        )
        rows += _column(design, cells, split, link, shared)
    return rows


@cache
def _data(folder: str | None) -> PatchSeq:
    return load_patchseq(folder, verify=folder is None)


@cache
def _genes(folder: str | None, n_genes: int) -> tuple[str, ...]:
    """Return the genes that all cells select, the paper's way; once per process."""
    return select_genes(_data(folder), n_genes)


def _column(
    design: Table3Design,
    cells: list[Table3Cell],
    split: Split,
    link: str,
    shared: dict[Any, Any],
) -> list[Row]:
    """Compute the cells of one split: reductions one by one, their networks side by side."""
    reductions: dict[str, Directions] = {}
    values: dict[str, tuple[float, ...]] = {}
    status: dict[str, str] = {}
    seconds: dict[str, float] = {}
    for cell in cells:
        start = time.perf_counter()
        try:
            found = _fit(design, cell, split, shared)
            if isinstance(found, Directions):
                _check_finite(found)  # before the networks, which are trained side by side
                reductions[cell.method] = found
            else:
                values[cell.method] = found
        except (MemoryError, OSError):
            raise
        except Exception as error:
            status[cell.method] = reason(error)
        seconds[cell.method] = time.perf_counter() - start

    start = time.perf_counter()
    settings = design.overrides.get("evaluation", {})
    errors = evaluate_methods(split, reductions, trained_on=link, **settings) if reductions else {}
    share = (time.perf_counter() - start) / max(len(reductions), 1)
    for name in reductions:
        # An integer rank and four errors, in the order of the columns.
        rank, *rest = (float(value) for value in errors.loc[name])  # type: ignore[union-attr]
        values[name] = (int(rank), *rest)
        seconds[name] += share
    rows = []
    for cell in cells:
        name = cell.method
        outcome, said = values.get(name, ()), status.get(name, "ok")
        if not np.isfinite(outcome).all():
            outcome, said = (), "failed: the result is not finite"
        rows.append(Row(cell, outcome, said, seconds[name]))  # type: ignore[arg-type]
    return rows


def _check_finite(reduction: Directions) -> None:
    for directions in (reduction.selected, reduction.reference):
        if not np.isfinite(directions).all():
            raise FloatingPointError("the directions are not finite")


def _fit(
    design: Table3Design, cell: Table3Cell, split: Split, shared: dict[Any, Any]
) -> Directions | tuple[float, ...]:
    """Return the reduction of a method, or the result of a linear prediction."""
    method = TABLE3_METHODS[cell.method]
    if method.family != "linear":
        estimator = _estimator(design, cell, shared)
        with warnings.catch_warnings():
            # The paper does not centre its responses.
            warnings.filterwarnings("ignore", "y: the mean of the responses", UserWarning)
            return fit_reduction(estimator, split, reference=design.reference)
    settings = design.settings(method)
    model, network = settings["model"], settings["network"]
    if network:
        return linear_reductions(model, split, reference=design.reference)
    rank, *errors = linear_errors(model, split, reference=design.reference)
    # Nothing is stopped early here: the paper's reading and the honest one are the same.
    return (rank, *errors, *errors)


def _estimator(design: Table3Design, cell: Table3Cell, shared: dict[Any, Any]) -> Any:
    method = TABLE3_METHODS[cell.method]
    settings = design.settings(method)
    seed = BASE_SEED + cell.rep
    ratio = str(cell.train_ratio)
    column = stream_seed(seed, "patchseq", method.family, ratio, str(cell.gamma))
    if method.family in ("csopg", "ksir"):
        return (CSOPG if method.family == "csopg" else KSIR)("auto", **settings)
    if method.family == "mlp":
        rule = DominanceRank(**method.rank)
        return MLPDirections("auto", rank=rule, random_state=column, **settings)
    rank = AdaptiveRank(**method.rank)
    if method.family == "sir":
        return SIR("auto", rank=rank, random_state=column, **settings)
    if method.family == "tikhonov":
        score: Any = TikhonovScore(**settings)
    else:
        # One seed for all labeled shares: a "full" network sees the same cells in each.
        network = stream_seed(seed, "patchseq", "network", method.config, ratio)
        score = DenoisingScore(random_state=network, **settings)
    known = SharedScore(score, shared)
    return SteinSDR("auto", score=known, config=method.config, rank=rank, random_state=column)


class SharedScore:
    """Hands :class:`steinsdr.SteinSDR` a score that is fitted once for the same points.

    Parameters
    ----------
    estimator : TikhonovScore or DenoisingScore
        Fitted when points are new.
    fits : dict
        Fitted estimators by settings and points; shared by those who may use them.
    """

    def __init__(self, estimator: Any, fits: dict[Any, Any]) -> None:
        self.estimator = estimator
        self.fits = fits

    def __sklearn_clone__(self) -> SharedScore:
        return SharedScore(self.estimator, self.fits)  # a copy of the dict would share nothing

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Fit, or find the fit of the same points with the same settings."""
        points = np.ascontiguousarray(X, dtype=np.float64)
        settings = sorted(self.estimator.get_params().items())
        key = (type(self.estimator).__name__, str(settings), points.shape, points.tobytes())
        if key not in self.fits:
            self.fits[key] = clone(self.estimator).fit(points)
        self.fitted_ = self.fits[key]
        self.train_scores_: NDArray = self.fitted_.train_scores_
        return self

    def evaluate(self, X: ArrayLike) -> NDArray:
        """Return the score at every row of X."""
        return self.fitted_.evaluate(X)


# Table 3 as an experiment: train ratio x labeled share x method x random partition.


@dataclass(frozen=True)
class Table3(Experiment):
    """The grid of Table 3; one row of its CSV file per method and random partition."""

    cell_type: ClassVar[type] = Table3Cell
    key_types: ClassVar[Mapping[str, type]] = {"train_ratio": float, "gamma": float, "rep": int}
    methods: ClassVar[Mapping[str, Method]] = TABLE3_METHODS

    design: Table3Design = field(default_factory=Table3Design)  # type: ignore[assignment]

    @property
    def values(self) -> Mapping[str, type]:
        """Selected rank, and the test errors there and at rank 10 as the paper takes them."""
        return {"rank": int, "mse_rhat": float, "mse_r10": float}

    @property
    def further(self) -> Mapping[str, type]:
        """The same errors with the epoch chosen without the test cells."""
        return {"mse_rhat_honest": float, "mse_r10_honest": float}

    def groups(self, cells: Iterable[Table3Cell]) -> Sequence[Any]:
        """Return the cells by repetition and train ratio."""
        return group_cells(cells)

    def compute(self, group: Any, cache: str | os.PathLike[str] | None = None) -> list[Row]:
        """Compute a group; score fits are shared inside it, so that it needs no cache."""
        return compute(self.design, group)

    def describe(self) -> dict[str, Any]:
        """Return what the cells have in common, as plain data for a manifest."""
        return self.design.describe()

    def uses_networks(self, cells: Iterable[Table3Cell]) -> bool:
        """Whether torch is needed: a network predicts from every reduction."""
        return True

    def tolerance(self, method: str) -> float:
        """Return the largest difference at which a replayed number counts as the same.

        The predicting networks are trained in double precision, but side by side or alone, which
        rounds differently.
        """
        return max(super().tolerance(method), 1e-6)


TABLE3 = Table3(
    name="table3",
    axes={
        "train_ratio": (0.6, 0.8),
        "gamma": (0.1, 0.3, 0.5),
        "method": PAPER_METHODS,
    },
    fixed={},
    variants={"method": tuple(name for name in TABLE3_METHODS if name not in PAPER_METHODS)},
    subsets={
        "smoke": {"train_ratio": (0.6,), "gamma": (0.1,), "method": ("SIR", "KSIR", "TRE-sup")},
    },
)
