"""The paper's printed tables and the stored rows behind ours, in one long form.

A long frame has the key columns of its table (law and n, law and r, or train ratio and gamma), the
method, the measure, and mean and sd of a cell.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .experiments import Experiment
from .experiments.store import Store
from .simulation import LAWS

__all__ = ["FOOTNOTE_SUCCESS", "LAYOUTS", "Layout", "load_paper", "load_rows", "summarize"]


@dataclass(frozen=True)
class Layout:
    """How a table is printed.

    Attributes
    ----------
    file : str
        Name of the CSV file with the paper's figures.
    keys : tuple of str
        Columns that identify a cell, with the method.
    measures : mapping of str to float
        What is printed, and half a unit of its last digit.
    """

    file: str
    keys: tuple[str, ...]
    measures: Mapping[str, float]

    def name(self, row: Any) -> str:
        """Return a cell's name.

        Examples
        --------
        >>> from types import SimpleNamespace as Row
        >>> LAYOUTS["table1"].name(Row(law="ar1", n=50, measure="distance"))
        'ar1 n=50'
        >>> LAYOUTS["table3"].name(Row(train_ratio=0.6, gamma=0.1, measure="rank"))
        'train_ratio=0.6 gamma=0.1 rank'
        """
        parts = [
            str(getattr(row, key)) if key == "law" else f"{key}={getattr(row, key)}"
            for key in self.keys
        ]
        if len(self.measures) > 1:
            parts.append(row.measure)
        return " ".join(parts)


LAYOUTS = {
    "table1": Layout("table1_subspace_distance.csv", ("law", "n"), {"distance": 5e-5}),
    "table2": Layout("table2_rank_error.csv", ("law", "r"), {"error": 5e-3}),
    "table3": Layout(
        "table3_patchseq.csv",
        ("train_ratio", "gamma"),
        {"rank": 5e-3, "mse_rhat": 5e-5, "mse_r10": 5e-5},
    ),
}


FOOTNOTE_SUCCESS = {0.6: 0.74, 0.8: 0.84}
"""Share of runs of csOPG and KSIR without NaN at gamma = 0.1, by train ratio (Section 5)."""


def load_rows(experiment: Experiment, folder: str | os.PathLike[str]) -> pd.DataFrame:
    """Return the stored rows as a frame with the columns of the CSV file, NaN where it failed."""
    rows = Store(experiment, folder).read().values()
    names = [*experiment.values, *experiment.further]
    blank = (np.nan,) * len(names)
    records = [
        (*experiment.key(row.cell), *(row.values or blank), row.status, row.seconds) for row in rows
    ]
    frame = pd.DataFrame(records, columns=[*experiment.keys, *names, "status", "seconds"])
    return frame[list(experiment.columns)]


def summarize(experiment: Experiment, rows: pd.DataFrame) -> pd.DataFrame:
    """Return mean, sd and number of repetitions of every cell in ``rows``, variants included.

    Failed repetitions do not enter mean and sd, as in the paper; ``failure_rate`` counts them.
    """
    layout = LAYOUTS[experiment.name]
    grouped = rows.groupby([*layout.keys, "method"], sort=False, as_index=False)
    parts = [
        grouped.agg(
            mean=(measure, "mean"),
            sd=(measure, lambda v: v.std(ddof=1)),
            reps=(measure, "count"),
            failure_rate=("status", lambda s: float((s != "ok").mean())),
        ).assign(measure=measure)
        for measure in layout.measures
    ]
    return pd.concat(parts, ignore_index=True)


def load_paper(table: str, folder: str | os.PathLike[str]) -> pd.DataFrame:
    """Return the paper's figures: keys, method, measure, mean, sd, bold, failure_rate."""
    layout = LAYOUTS[table]
    paper = pd.read_csv(Path(folder) / layout.file)
    if "distribution" in paper:
        paper["law"] = paper["distribution"].map({law.label: name for name, law in LAWS.items()})
    paper = paper.rename(columns={"n_labeled": "n"})
    for column, default in (("bold", False), ("failure_rate", 0.0)):
        if column not in paper:
            paper[column] = default
    paper["bold"] = paper["bold"].astype(bool)
    if len(layout.measures) == 1:
        long = paper.assign(measure=next(iter(layout.measures)))
    else:
        long = pd.concat(
            [
                paper.assign(measure=m, mean=paper[f"{m}_mean"], sd=paper[f"{m}_sd"])
                for m in layout.measures
            ],
            ignore_index=True,
        )
    if table == "table3":
        _add_what_the_text_says(long)
    return long[[*layout.keys, "method", "measure", "mean", "sd", "bold", "failure_rate"]]


def _add_what_the_text_says(table3: pd.DataFrame) -> None:
    """Add what Section 5 says of its table in words: which entries are bold, which fits failed."""
    chosen = table3["measure"] == "mse_rhat"
    least = table3[chosen].groupby(["train_ratio", "gamma"])["mean"].transform("min")
    table3.loc[chosen, "bold"] = table3.loc[chosen, "mean"] == least
    for train_ratio, success in FOOTNOTE_SUCCESS.items():
        failing = (table3["train_ratio"] == train_ratio) & (table3["gamma"] == 0.1)
        failing &= table3["method"].isin(["csOPG", "KSIR"])
        table3.loc[failing, "failure_rate"] = 1.0 - success
