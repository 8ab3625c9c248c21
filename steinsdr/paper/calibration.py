"""What the calibrations share: the paper's cells, repetitions, and how far apart they are."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray

from ..simulation import BASE_SEED, LAWS

__all__ = ["Cell", "calibrate", "cells"]


ROOT = Path(__file__).resolve().parents[2]
CASES = ("isotropic", "ar1", "lognormal", "exp_ar1")
PAPER_REPETITIONS = 100
RANK_ROWS = 300  # the n of Table 2, which the paper does not give

# The value of every reading, by its name and number of slices if any, on one simulated data set.
Key = tuple[str, int | None]
Readings = dict[Key, float]


@dataclass(frozen=True)
class Cell:
    """One cell of the paper's Table 1 (distance) or Table 2 (error of the rank)."""

    table: int
    law: str
    n: int
    r: int
    mean: float
    sd: float


def cells(method: str, folder: Path = ROOT / "book" / "paper") -> Iterator[Cell]:
    """Yield the cells of Tables 1 and 2 in the rows of ``method``."""
    key = {LAWS[law].label: law for law in CASES}
    first = pd.read_csv(folder / "table1_subspace_distance.csv").query("method == @method")
    for row in first.itertuples():
        yield Cell(1, key[row.distribution], row.n_labeled, 3, row.mean, row.sd)
    second = pd.read_csv(folder / "table2_rank_error.csv").query("method == @method")
    for row in second.itertuples():
        yield Cell(2, key[row.distribution], RANK_ROWS, row.r, row.mean, row.sd)


def _row(cell: Cell, key: Key, values: NDArray) -> dict:
    reading, n_slices = key
    mean, sd, reps = values.mean(), values.std(ddof=1), len(values)
    error = np.sqrt(cell.sd**2 / PAPER_REPETITIONS + sd**2 / reps)
    gap = mean - cell.mean
    # Cells without variation on either side agree, or are infinitely far apart.
    z = gap / error if error > 0 else np.copysign(np.inf, gap) if abs(gap) > 1e-9 else 0.0
    return {
        "table": cell.table,
        "law": cell.law,
        "n": cell.n,
        "r": cell.r,
        "reading": reading,
        "n_slices": n_slices,
        "reps": reps,
        "mean": mean,
        "sd": sd,
        "paper_mean": cell.mean,
        "paper_sd": cell.sd,
        "z": z,
    }


def calibrate(
    method: str, measure: Callable[[Cell, int], Readings], *, reps: int, doc: str, output: str
) -> None:
    """Run ``measure(cell, seed)`` over cells and repetitions; write a row per cell and reading."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--reps", type=int, default=reps, help="repetitions of each cell")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--output", type=Path, default=ROOT / "book" / "results" / output)
    options = parser.parse_args()
    rows = []
    for cell in cells(method):
        runs = Parallel(n_jobs=options.jobs)(
            delayed(measure)(cell, BASE_SEED + k) for k in range(options.reps)
        )
        rows += [_row(cell, key, np.array([run[key] for run in runs])) for key in runs[0]]
    frame = pd.DataFrame(rows)
    if frame["n_slices"].isna().all():
        frame = frame.drop(columns="n_slices")
    else:
        frame["n_slices"] = frame["n_slices"].astype("Int64")
    frame = frame.round({"mean": 4, "sd": 4, "z": 2})
    options.output.parent.mkdir(parents=True, exist_ok=True)
    frame.to_csv(options.output, index=False)
    # The readings that fit best come first: root mean square of z over the cells of a table.
    by = [name for name in ("table", "reading", "n_slices") if name in frame]
    fit = frame.groupby(by)["z"].agg(cells="size", rms=lambda z: np.sqrt(np.mean(z**2)))
    print(fit.sort_values(["table", "rms"]).round(2).to_string())
