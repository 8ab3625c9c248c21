"""The ledger: every cell of the paper's three tables beside ours, with a computed verdict."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pandas as pd

from .experiments import EXPERIMENTS
from .experiments.methods import PAPER_METHODS
from .experiments.store import atomic_write
from .paper_tables import LAYOUTS, load_paper, load_rows, summarize

__all__ = ["COLUMNS", "Ledger", "compare", "load_paper", "load_rows", "summarize"]

COLUMNS = (
    "table",
    "cell",
    "method",
    "paper_mean",
    "paper_sd",
    "mean",
    "sd",
    "reps",
    "z",
    "verdict",
)
PAPER_REPETITIONS = 100
Z_LIMIT = 3.0
RELATIVE_LIMIT = 0.02
FEW = 30


def compare(
    mean: float,
    sd: float,
    reps: float,
    paper_mean: float,
    paper_sd: float,
    paper_reps: float = PAPER_REPETITIONS,
    rounding: float = 0.0,
) -> tuple[float, str]:
    """Return z and the verdict on two means.

    z is the difference over its standard error; fewer than 30 repetitions of ours estimate their
    own spread badly, and the paper's stands in for it if it is larger. The verdict is "agrees" if
    abs(z) <= 3 or the means are within 2% of the paper's, else "differs"; "missing" below two
    repetitions. Without any variation z is 0 for equal means (to the ``rounding`` of print) and
    infinite for others.

    Examples
    --------
    >>> compare(1.01, 0.1, 100, 1.0, 0.1)[1], compare(1.2, 0.1, 100, 1.0, 0.1)[1]
    ('agrees', 'differs')
    >>> compare(9.0, 0.0, 100, 9.0, 0.0), compare(8.0, 0.0, 100, 9.0, 0.0)
    ((0.0, 'agrees'), (-inf, 'differs'))
    """
    if not reps >= 2:
        return np.nan, "missing"
    difference = mean - paper_mean
    spread = sd if reps >= FEW else max(sd, paper_sd)
    error = np.sqrt(spread**2 / reps + paper_sd**2 / max(paper_reps, 1.0))
    if error == 0:
        z = 0.0 if abs(difference) <= rounding else float(np.copysign(np.inf, difference))
    else:
        z = float(difference / error)
    agrees = abs(z) <= Z_LIMIT or abs(difference) <= RELATIVE_LIMIT * abs(paper_mean)
    return z, "agrees" if agrees else "differs"


@dataclass(frozen=True)
class Ledger:
    """The comparison and what follows from it.

    Attributes
    ----------
    cells : DataFrame
        One row per figure of the paper: the columns of the file, and besides the measure, the keys
        (law, n, r, train_ratio, gamma), bold and failure rates.
    extras : DataFrame
        Means of the methods and laws that the paper does not have.
    rows : mapping of str to DataFrame
        By table, the stored rows that the means are of.
    """

    cells: pd.DataFrame
    extras: pd.DataFrame
    rows: Mapping[str, pd.DataFrame] = field(default_factory=dict)

    @classmethod
    def build(cls, results: str | os.PathLike[str], paper: str | os.PathLike[str]) -> Ledger:
        """Compare the rows in ``results`` with the paper's figures in ``paper``."""
        parts, extras, rows = [], [], {}
        for table, layout in LAYOUTS.items():
            experiment = EXPERIMENTS[table]
            keys = [*layout.keys, "method", "measure"]
            rows[table] = load_rows(experiment, results)
            ours = summarize(experiment, rows[table])
            theirs = load_paper(table, paper)
            merged = theirs.merge(ours, on=keys, how="left", suffixes=("_paper", ""))
            merged["table"] = table
            merged["cell"] = [layout.name(row) for row in merged.itertuples()]
            merged = merged.rename(columns={"mean_paper": "paper_mean", "sd_paper": "paper_sd"})
            merged["reps"] = merged["reps"].fillna(0).astype(int)
            merged[["mean", "sd"]] = merged[["mean", "sd"]].astype(float)
            parts.append(_judged(merged, table))
            listed = ours["method"].isin(PAPER_METHODS)
            if "law" in ours:
                listed &= ours["law"].isin(theirs["law"])
            extras.append(ours[~listed].assign(table=table))
        whole, others = (pd.concat(frames, ignore_index=True) for frames in (parts, extras))
        return cls(whole, others, rows)

    def differences(self, notes: pd.DataFrame) -> pd.DataFrame:
        """Return the cells that differ, with the cause or what was tried.

        Parameters
        ----------
        notes : DataFrame with columns table, cell, method, note
            ``cell`` may be a pattern, such as "train_ratio=0.6 * rank" or "*"; of several that
            fit, the longest counts. A cell without note says how few repetitions it rests on, if
            they are fewer than 30, else nothing.
        """
        differing = self.cells[self.cells["verdict"] == "differs"]
        by_method: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for note in sorted(notes.itertuples(), key=lambda n: -len(n.cell)):
            by_method.setdefault((note.table, note.method), []).append((note.cell, note.note))
        found = []
        for row in differing.itertuples():
            known = by_method.get((row.table, row.method), [])
            few = f"only {row.reps} repetitions so far" if row.reps < FEW else ""
            found.append(next((text for cell, text in known if fnmatchcase(row.cell, cell)), few))
        columns = ["table", "cell", "method", "paper_mean", "mean", "reps", "z"]
        return differing[columns].assign(note=found).reset_index(drop=True)

    def reading(self, table: str, ending: str) -> pd.DataFrame:
        """Judge another reading of a table: methods whose names have an ending besides.

        Parameters
        ----------
        table : {"table1", "table2", "table3"}
        ending : str
            Such as "-literal". "SIR-literal" is compared with the paper's SIR.

        Returns
        -------
        DataFrame
            Like ``cells``, under the paper's names, where the reading was computed.
        """
        keys = [*LAYOUTS[table].keys, "method", "measure"]
        others = self.extras[self.extras["table"] == table]
        others = others[others["method"].str.endswith(ending)]
        others = others.assign(method=others["method"].str.removesuffix(ending))
        printed = self.cells[self.cells["table"] == table]
        printed = printed[[*keys, "paper_mean", "paper_sd", "failure_rate_paper"]]
        return _judged(others.merge(printed, on=keys), table)

    def variants(self, table: str) -> pd.DataFrame:
        """Return what was computed for a table and the paper does not have, and what it is."""
        part = self.extras[self.extras["table"] == table]
        keys = [*LAYOUTS[table].keys, "method", "measure"]
        methods = EXPERIMENTS[table].methods
        shown = part[[*keys, "mean", "sd", "reps"]].reset_index(drop=True)
        return shown.assign(reading=[methods[name].note for name in shown["method"]])

    def write(self, folder: str | os.PathLike[str]) -> Path:
        """Write ``ledger.csv`` and return its path."""
        path = Path(folder) / "ledger.csv"
        frame = self.cells[list(COLUMNS)].round({"mean": 4, "sd": 4, "z": 2})
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, frame.to_csv(index=False, lineterminator="\n").encode())
        return path

    def summary(self) -> str:
        """Return the counts of verdicts, overall and by table and method."""
        counts = self.cells.groupby(["table", "method"], sort=False)["verdict"].value_counts()
        shown = counts.unstack(fill_value=0).reindex(
            columns=["agrees", "differs", "missing"], fill_value=0
        )
        total = self.cells["verdict"].value_counts()
        line = ", ".join(f"{total.get(v, 0)} {v}" for v in shown.columns)
        return f"{shown.to_string()}\n{len(self.cells)} cells: {line}"


def _judged(merged: pd.DataFrame, table: str) -> pd.DataFrame:
    """Add z and verdict to figures that stand beside the paper's."""
    judged = [
        compare(
            row.mean,
            row.sd,
            row.reps,
            row.paper_mean,
            row.paper_sd,
            PAPER_REPETITIONS * (1.0 - row.failure_rate_paper),
            LAYOUTS[table].measures[row.measure],
        )
        for row in merged.itertuples()
    ]
    return merged.assign(z=[z for z, _ in judged], verdict=[verdict for _, verdict in judged])
