"""How a failure is written in the status of a row."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..estimator import SteinSDR
from ..rank import AdaptiveRank
from ..scores import DenoisingScore, TikhonovScore
from ..simulation import BASE_SEED, LAWS, Simulation, simulate, stream_seed
from ..subspace import procrustes_distance
from .fingerprint import fingerprint
from .methods import METHODS, SCORE_FAMILIES, Method

__all__ = [
    "Cell",
    "Design",
    "Group",
    "KnownScores",
    "Row",
    "ScoreCache",
    "ScoreFit",
    "compute",
    "group_cells",
    "reason",
    "score_fit",
]


def reason(error: Exception) -> str:
    r"""Return the status of a cell that raised ``error``, in one line.

    Examples
    --------
    >>> reason(ValueError("the loss\nis nan"))
    'failed: ValueError: the loss is nan'
    """
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return f"failed: {text[:160]}"


# Score fits that cells share, and their cache on disk.


@dataclass(frozen=True)
class ScoreFit:
    """Everything that determines estimated scores at labeled rows.

    ``n`` labeled and ``n_unlabeled`` unlabeled rows are trained on; the scores are those of the
    first ``n_evaluated`` labeled rows.
    """

    family: str
    config: str
    law: str
    rep: int
    p: int
    n: int
    n_unlabeled: int
    n_evaluated: int
    settings: str  # JSON, which is hashable

    def describe(self) -> str:
        """Return all of it as text."""
        return json.dumps(asdict(self), sort_keys=True)

    def compute(self) -> NDArray:
        """Return the scores, shape (n_evaluated, p)."""
        seed = BASE_SEED + self.rep
        data = simulate(
            self.law, self.n_evaluated, p=self.p, n_unlabeled=self.n_unlabeled, seed=seed
        )
        if self.family == "analytic":
            return LAWS[self.law].score(self.p).evaluate(data.X)
        settings = json.loads(self.settings)
        if self.family == "tikhonov":
            estimator: Any = TikhonovScore(**settings)
        else:
            network = stream_seed(seed, "network", self.law, self.config, self.n)
            estimator = DenoisingScore(random_state=network, **settings)
        if self.config == "split":
            return estimator.fit(data.X_unlabeled).evaluate(data.X)
        train = data.X if self.config == "sup" else np.vstack([data.X, data.X_unlabeled])
        return estimator.fit(train).train_scores_[: self.n_evaluated]


class KnownScores:
    """Hands :class:`steinsdr.SteinSDR` scores that were estimated before."""

    def __init__(self, scores: NDArray) -> None:
        self.scores = scores

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Do nothing."""
        return self

    def evaluate(self, X: ArrayLike) -> NDArray:
        """Return the scores of the first rows."""
        return self.scores[: np.shape(X)[0]]


class ScoreCache:
    """Scores at labeled rows, in one ``.npz`` file per fit; absent ones are computed and kept.

    A file's name is a hash of everything that determines the fit, the code of the score included,
    and it appears whole or not at all: concurrent processes at worst do the same work twice.

    Parameters
    ----------
    folder : path or None
        Where the files are; None computes every time.
    """

    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        self.folder = None if folder is None else Path(folder)

    def path(self, fit: ScoreFit) -> Path | None:
        """Return where the scores of a fit are, or would be."""
        if self.folder is None:
            return None
        code = fingerprint(fit.family, "scores")
        name = hashlib.sha256(f"{fit.describe()} {code}".encode()).hexdigest()[:32]
        return self.folder / f"{name}.npz"

    def __call__(self, fit: ScoreFit) -> NDArray:
        """Return the scores of a fit, shape (n_evaluated, p)."""
        path = self.path(fit)
        if path is None:
            return fit.compute()
        try:
            with np.load(path, allow_pickle=False) as stored:
                if str(stored["fit"]) == fit.describe():
                    return stored["scores"]
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            pass  # absent or damaged: compute it
        scores = fit.compute()
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        try:
            with os.fdopen(descriptor, "wb") as file:
                np.savez(file, scores=scores, fit=np.array(fit.describe()))
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        return scores


# Cells as pure functions of their key: same key, same number, in any order and any process.
#
# Scores depend on x alone. Cells that use the same score fit form a group, the unit of dispatch:
# a "split" fit serves every n, and every fit of Table 2 serves all its r. Across tables fits are
# shared through a cache on disk.


MAX_RANK = 10
"""Largest candidate rank. The paper says 7; its errors of 9, 7 and 5 are only possible with 10."""


class Cell(NamedTuple):
    """One repetition of one entry of a table."""

    law: str
    n: int
    r: int
    method: str
    rep: int


@dataclass(frozen=True)
class Design:
    """What the cells of an experiment have in common.

    Attributes
    ----------
    version : {"section41", "section42"}
        Links, see :func:`steinsdr.simulation.links`.
    measure : {"distance", "rank"}
        Distance of the estimated subspace with r known, or the selected rank.
    p, q : int
        Dimensions of x and y.
    n_unlabeled : mapping of str to int
        Unlabeled rows, by family of score.
    n_evaluated : int
        Labeled rows at which a "split" score is evaluated: the largest n of any table.
    overrides : mapping of str to mapping
        Settings by family that replace those of all methods, for small experiments.
    """

    version: str
    measure: Literal["distance", "rank"]
    p: int = 100
    q: int = 10
    n_unlabeled: Mapping[str, int] = field(
        default_factory=lambda: {"tikhonov": 3_500, "denoising": 10_000}
    )
    n_evaluated: int = 500
    overrides: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def describe(self) -> dict[str, Any]:
        """Return all but the overrides, as plain data for a manifest."""
        return {
            "links": self.version,
            "measure": self.measure,
            "p": self.p,
            "q": self.q,
            "n_unlabeled": dict(self.n_unlabeled),
            "n_evaluated": self.n_evaluated,
        }

    def settings(self, method: Method, n: int) -> dict[str, Any]:
        """Return the estimator's settings for n labeled rows."""
        return {**method.parameters(n), **self.overrides.get(method.family, {})}


class Group(NamedTuple):
    """Cells computed together: those of one score fit, or of one baseline on one law."""

    fit: ScoreFit | None
    cells: tuple[Cell, ...]

    @property
    def cost(self) -> float:
        """Seconds it may take, roughly."""
        return sum(METHODS[cell.method].cost for cell in self.cells)


class Row(NamedTuple):
    """A cell's outcome; ``values`` is empty unless ``status`` is "ok"."""

    cell: Cell
    values: tuple[float, ...]
    status: str
    seconds: float


def score_fit(design: Design, cell: Cell) -> ScoreFit | None:
    """Return the score fit that a cell needs; None for a baseline."""
    method = METHODS[cell.method]
    if method.family not in SCORE_FAMILIES:
        return None
    split = method.config == "split"
    return ScoreFit(
        family=method.family,
        config=method.config,
        law=cell.law,
        rep=cell.rep,
        p=design.p,
        n=0 if split else cell.n,
        n_unlabeled=0 if method.config == "sup" else design.n_unlabeled[method.family],
        n_evaluated=design.n_evaluated if split else cell.n,
        settings=json.dumps(design.settings(method, cell.n), sort_keys=True),
    )


def group_cells(design: Design, cells: Iterable[Cell]) -> list[Group]:
    """Group cells by score fit (baselines by method, law and repetition), the cheapest first."""
    groups: dict[Any, list[Cell]] = {}
    for cell in cells:
        key = score_fit(design, cell) or (cell.method, cell.law, cell.rep)
        groups.setdefault(key, []).append(cell)
    made = [
        Group(key if isinstance(key, ScoreFit) else None, tuple(members))
        for key, members in groups.items()
    ]
    # By the costliest method's cost, not the group's: what remains of a group keeps its place.
    return sorted(
        made, key=lambda g: (max(METHODS[c.method].cost for c in g.cells), g.cells[0].rep)
    )


def compute(
    design: Design, group: Group, scores_of: Callable[[ScoreFit], NDArray] = ScoreFit.compute
) -> list[Row]:
    """Compute the cells of a group; what fails is recorded with its reason.

    Parameters
    ----------
    design : Design
        What the cells have in common.
    group : Group
        Cells that share a score fit.
    scores_of : callable, optional
        How to get the scores of a fit, for example from a cache.
    """
    start = time.perf_counter()
    scores, trouble = None, ""
    if group.fit is not None:
        try:
            scores = scores_of(group.fit)
        except (MemoryError, OSError):
            raise  # the machine's failure, not the method's
        except Exception as error:
            trouble = reason(error)
    # The time of the fit is shared evenly, so that a table's seconds add up.
    share = (time.perf_counter() - start) / len(group.cells)
    rows = []
    for cell in group.cells:
        start = time.perf_counter()
        values: tuple[float, ...] = ()
        status = trouble
        if not trouble:
            try:
                values, status = _measure(design, cell, scores), "ok"
            except (MemoryError, OSError):
                raise
            except Exception as error:
                status = reason(error)
        if not np.isfinite(values).all():
            values, status = (), "failed: the result is not finite"
        rows.append(Row(cell, values, status, share + time.perf_counter() - start))
    return rows


def _measure(design: Design, cell: Cell, scores: NDArray | None) -> tuple[float, ...]:
    """Return the distance, or the selected rank and its error."""
    method = METHODS[cell.method]
    seed = BASE_SEED + cell.rep
    unlabeled = 0 if method.config in ("", "sup") else design.n_unlabeled[method.family]
    data = simulate(
        cell.law,
        cell.n,
        p=design.p,
        q=design.q,
        r=cell.r,
        n_unlabeled=unlabeled,
        version=design.version,
        seed=seed,
    )
    n_components = cell.r if design.measure == "distance" else "auto"
    if scores is None:
        fitted = _baseline(design, cell, n_components).fit(data.X, data.Y)
    else:
        fitted = _stein(cell, n_components, KnownScores(scores), data)
    if design.measure == "distance":
        return (procrustes_distance(fitted.components_.T, data.B),)
    # Cross-validation of the MAVE package may select 0, which no transformer can return.
    rank = int(getattr(fitted, "selected_dim_", fitted.n_components_))
    return rank, abs(rank - cell.r)


def _stein(cell: Cell, n_components: Any, score: KnownScores, data: Simulation) -> SteinSDR:
    method = METHODS[cell.method]
    sdr = SteinSDR(
        n_components,
        score=score,
        config=method.config,
        rank=_adaptive_rank(method) if n_components == "auto" else "adaptive",
        center=method.center,
        random_state=stream_seed(BASE_SEED + cell.rep, "rank", cell.law, cell.n, cell.r),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the paper does not centre its responses
        return sdr.fit(data.X, data.Y, data.X_unlabeled if len(data.X_unlabeled) else None)


def _adaptive_rank(method: Method) -> AdaptiveRank:
    return AdaptiveRank(**{"max_rank": MAX_RANK, **method.rank})


def _baseline(design: Design, cell: Cell, n_components: Any) -> Any:
    from .. import baselines

    method = METHODS[cell.method]
    settings = design.settings(method, cell.n)
    if method.family in ("csopg", "ksir"):
        kind = baselines.CSOPG if method.family == "csopg" else baselines.KSIR
        return kind(n_components, **settings)
    seed = stream_seed(BASE_SEED + cell.rep, method.family, cell.law, cell.n, cell.r)
    if method.family in ("sir", "ridge"):
        transformer = baselines.SIR if method.family == "sir" else baselines.RidgeDirections
        rule: Any = _adaptive_rank(method) if n_components == "auto" else "adaptive"
        return transformer(n_components, rank=rule, random_state=seed, **settings)
    rule = baselines.DominanceRank(**{"max_rank": MAX_RANK, **method.rank})
    return baselines.MLPDirections(n_components, rank=rule, random_state=seed, **settings)
