"""The theory studies: their cells, and the slopes and shares that the stored rows show.

A study measures one quantity over growing sizes. The values of a cell are that quantity, and the
error of the score it was measured with: zero for the true score.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from statsmodels.stats.proportion import proportion_confint

from .._base import check_choice
from ..scores import DenoisingScore, GaussianScore, TikhonovScore
from ..simulation import BASE_SEED, stream
from .experiment import Cell, Experiment, Row, read_methods
from .ledger import load_rows
from .theory import lemma1, score_errors, theorem1, theorem2, theorem3

Values = tuple[float, float]  # what is measured, and the score's error
Settings = Mapping[str, Any]

STUDIES = read_methods("studies.toml")
"""All studies by name."""


def _measure(experiment: Experiment, cells: Sequence[Cell], folder: Any = None) -> list[Row]:
    """Measure cells of one family, size and repetition.

    None of them has a reason to fail, so that an exception is a defect and ends the run.
    """
    rows = []
    for name, size, rep in cells:
        study, start = experiment.methods[name], time.perf_counter()
        values = experiment.families[study.family](study.settings, size, BASE_SEED + rep)
        rows.append(Row((name, size, rep), values, "ok", time.perf_counter() - start))
    return rows


def _one(frame: pd.DataFrame, value: str, score_error: str | None = None) -> Values:
    """Return the values of a frame's only row."""
    (row,) = frame.to_dict("records")
    return float(row[value]), 0.0 if score_error is None else float(row[score_error])


def _identity(settings: Settings, size: int, seed: int) -> Values:
    smooth = [name for name, link in lemma1.LINKS.items() if link.smooth]
    gaps = lemma1.gap_by_size([settings["law"]], smooth, [size], n_reps=1, seed=seed)
    return float(gaps.gap.mean()), 0.0


def _score_kernel(settings: Settings, size: int, seed: int) -> Values:
    # Beyond ten thousand points the kernel draws its centers: the seed makes it a function.
    score = TikhonovScore(settings["lam"], tol=1e-3, random_state=seed)
    return _score_error(settings, score, size, seed)


def _score_network(settings: Settings, size: int, seed: int) -> Values:
    return _score_error(settings, DenoisingScore(random_state=seed), size, seed)


def _score_error(settings: Settings, score: Any, size: int, seed: int) -> Values:
    law, p = settings["law"], settings["p"]
    errors = score_errors.size_errors(score, law, p, [size], n_reps=1, seed=seed)
    return _one(errors, "fresh", "own")


def _split(settings: Settings, size: int, seed: int) -> Values:
    varied = {"n_labeled": 400, settings["vary"]: size}
    errors = theorem1.split_errors([varied.pop("n_labeled")], n_reps=1, seed=seed, **varied)
    return _one(errors, "error", "epsilon")


def _floor_normal(settings: Settings, size: int, seed: int) -> Values:
    return _floor(settings, GaussianScore(), size, seed)


def _floor_kernel(settings: Settings, size: int, seed: int) -> Values:
    return _floor(settings, TikhonovScore(1e-3, tol=1e-3, random_state=seed), size, seed)


def _floor(settings: Settings, score: Any, size: int, seed: int) -> Values:
    n_labeled, p = settings["n_labeled"], settings["p"]
    errors = theorem1.split_errors(
        [n_labeled], p=p, n_unlabeled=size, score=score, n_reps=1, seed=seed
    )
    return _one(errors, "error", "epsilon")


def _coupled(settings: Settings, size: int, seed: int) -> Values:
    errors = _coupled_errors(settings["law"], settings["lam_beta"], size, seed)
    return _one(errors[errors.beta == settings["beta"]], "error", "score_error")


@lru_cache(maxsize=8)
def _coupled_errors(law: str, lam_beta: float | None, size: int, seed: int) -> pd.DataFrame:
    # One path of fits serves every beta with the same law and rule for lambda. It stops when the
    # last of them has converged, so all are asked for, wanted or not: same key, same number.
    family = [study.settings for study in STUDIES.values() if study.family == "coupled"]
    betas = [s["beta"] for s in family if (s["law"], s["lam_beta"]) == (law, lam_beta)]
    return theorem2.coupled_errors(betas, [size], law=law, lam_beta=lam_beta, n_reps=1, seed=seed)


def _distance(settings: Settings, size: int, seed: int) -> Values:
    return _one(theorem3.rank_recovery([size], [0.5], n_reps=1, seed=seed), "distance")


def _threshold(settings: Settings, size: int, seed: int) -> Values:
    factor = settings["factor"]
    return _one(theorem3.rank_recovery([size], [factor], n_reps=1, seed=seed), "correct")


def _permutation(settings: Settings, size: int, seed: int) -> Values:
    signal = settings["signal"]
    return _one(theorem3.rank_frequencies([signal], n=size, n_reps=1, seed=seed), "over")


def _group(experiment: Experiment, cell: Cell) -> tuple[int, str, int]:
    """Group by family and size; repetitions in turn, so that all sizes fill up together."""
    study, size, rep = cell
    return rep, experiment.methods[study].family, size


THEORY = Experiment(
    name="theory",
    axes={
        "study": tuple(STUDIES),
        "size": tuple(sorted({size for study in STUDIES.values() for size in study.sizes})),
    },
    by="study",
    values={"value": float, "score_error": float},
    methods=STUDIES,
    measure=_measure,
    group=_group,
    described=("family", "settings"),
    design={"measure": "theory"},
    repetitions={
        "smoke": 2,
        "laptop": 10,
        "paper": max(study.repetitions for study in STUDIES.values()),
    },
    unused=("STUDIES",),  # settings stand in the manifest
)
"""Study x size x repetition; every study has its own sizes and repetitions."""


@dataclass(frozen=True)
class Rate:
    """The exponent b of error ~ size^b, with the ends of a confidence interval."""

    slope: float
    low: float
    high: float

    def contains(self, exponent: float) -> bool:
        """Whether the interval holds ``exponent``."""
        return self.low <= exponent <= self.high

    def at_least_as_fast_as(self, exponent: float) -> bool:
        """Whether the whole interval says that the error falls like size^exponent or faster.

        A wide interval does not pass.
        """
        return self.high <= exponent

    def __str__(self) -> str:
        return f"{self.slope:.2f} [{self.low:.2f}, {self.high:.2f}]"


def rate_of(
    frame: pd.DataFrame, size: str, error: str, *, rng: np.random.Generator, level: float = 0.95
) -> Rate:
    """Return the least-squares slope of the log of the mean error on the log of the size.

    The interval resamples repetitions within each size (percentile bootstrap, 1000 times), so it
    speaks of Monte-Carlo error alone: a curve that bends has a slope all the same. ValueError if
    sizes have different numbers of rows, or there is no logarithm or slope.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame({"n": np.repeat([100, 200, 400, 800], 50)})
    >>> frame["error"] = rng.uniform(0.9, 1.1, 200) / np.sqrt(frame.n)
    >>> rate_of(frame, "n", "error", rng=rng).contains(-0.5)
    True
    """
    groups = {value: group[error].to_numpy(float) for value, group in frame.groupby(size)}
    if len({len(group) for group in groups.values()}) != 1:
        raise ValueError(f"every {size} needs the same number of rows.")
    sizes, errors = np.array(list(groups), dtype=float), np.stack(list(groups.values()))
    if len(sizes) < 2 or sizes[0] <= 0:
        raise ValueError(f"{size} must hold two distinct positive numbers; got {sizes}.")
    if not (np.isfinite(errors) & (errors > 0)).all():
        raise ValueError(f"{error} must be positive and finite to have logarithms.")
    logs = np.log(sizes) - np.log(sizes).mean()

    def slopes(means: NDArray) -> NDArray:
        return np.log(means) @ logs / (logs @ logs)

    n_reps = errors.shape[1]
    draws = rng.integers(n_reps, size=(1000, len(sizes), n_reps))
    resampled = np.take_along_axis(errors[None], draws, axis=2).mean(axis=2)
    low, high = np.quantile(slopes(resampled), [(1 - level) / 2, (1 + level) / 2])
    return Rate(float(slopes(errors.mean(axis=1))), float(low), float(high))


def load_studies(folder: str | os.PathLike[str], studies: Iterable[str] = STUDIES) -> pd.DataFrame:
    """Return the stored rows of some studies: columns study, size, rep, value, score_error, ...

    Only repetitions that every size of a study has are kept, so that an interrupted sweep does not
    give the small sizes more of them. ValueError if a study is unknown, or nothing whole is stored.
    """
    rows = load_rows(THEORY, folder)
    parts = []
    for name in studies:
        sizes = STUDIES[check_choice(name, "study", STUDIES)].sizes
        mine = rows[rows["study"] == name]
        whole = mine.groupby("rep")["size"].nunique() == len(sizes)
        mine = mine[mine["rep"].isin(whole.index[whole])]
        if mine.empty:
            raise ValueError(
                f"{folder} has no repetition of study {name} at all its sizes; "
                f'steinsdr run theory --only "study={name}" computes them.'
            )
        parts.append(mine.sort_values(["size", "rep"]))
    return pd.concat(parts, ignore_index=True)


def study_rate(frame: pd.DataFrame, study: str, column: str = "value") -> Rate:
    """Return the slope of a study in log-log scale with its 95 percent interval."""
    rows = frame[frame["study"] == study]
    return rate_of(rows, "size", column, rng=stream(BASE_SEED, "bootstrap", study, column))


def rates_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the slopes of all studies in a frame, next to what the paper states.

    Columns axis, smallest, largest, repetitions, slope, low, high, stated (NaN if nothing is).
    """
    table = frame.groupby("study", sort=False).agg(
        smallest=("size", "min"), largest=("size", "max"), repetitions=("rep", "nunique")
    )
    table.insert(0, "axis", [STUDIES[name].axis for name in table.index])
    table = table.join(pd.DataFrame([study_rate(frame, name) for name in table.index], table.index))
    return table.assign(stated=[STUDIES[name].exponent for name in table.index]).astype(
        {"stated": float}
    )


def shares_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the share of ones by study and size, with Wilson's 95 percent interval.

    Columns study, size, share, low, high, repetitions. ValueError if a value is neither 0 nor 1.
    """
    if not frame["value"].isin([0.0, 1.0]).all():
        raise ValueError("shares need values 0 and 1; these rows hold others.")
    groups = frame.groupby(["study", "size"], sort=False)["value"]
    table = groups.agg(share="mean", repetitions="size", ones="sum").reset_index()
    ends = proportion_confint(table.pop("ones"), table["repetitions"], method="wilson")
    table.insert(3, "low", ends[0])
    table.insert(4, "high", ends[1])
    return table
