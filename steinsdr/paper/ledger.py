"""The ledger: every figure of the paper's three tables beside ours, with a computed verdict.

The paper's tables and ours have one long form: the key columns of a table (law and n, law and r,
or train ratio and gamma), the method, the measure, and mean and sd of a cell.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from ..simulation import LAWS
from .experiment import Experiment, find_experiment
from .simulations import PAPER_METHODS
from .store import Store, atomic_write


class _Layout(NamedTuple):
    """The name of a cell, its keys besides the method, and the measures."""

    cell: str
    keys: tuple[str, ...]
    measures: tuple[str, ...]


LAYOUTS = {
    "table1": _Layout("{law} n={n}", ("law", "n"), ("distance",)),
    "table2": _Layout("{law} r={r}", ("law", "r"), ("error",)),
    "table3": _Layout(
        "train_ratio={train_ratio} gamma={gamma} {measure}",
        ("train_ratio", "gamma"),
        ("rank", "mse_rhat", "mse_r10"),
    ),
}


def load_rows(experiment: Experiment, folder: str | os.PathLike[str]) -> pd.DataFrame:
    """Return the stored rows as a frame with the columns of the CSV file, NaN where it failed."""
    rows = Store(experiment, folder).read().values()
    names = [*experiment.values]
    blank = (np.nan,) * len(names)
    records = [(*row.cell, *(row.values or blank), row.status, row.seconds) for row in rows]
    frame = pd.DataFrame(records, columns=[*experiment.keys, *names, "status", "seconds"])
    return frame[list(experiment.columns)]


def summarize(experiment: Experiment, rows: pd.DataFrame) -> pd.DataFrame:
    """Return mean, sd and number of repetitions of every cell in ``rows``, variants included.

    Failed repetitions do not enter mean and sd, as in the paper; ``failure_rate`` counts them.
    """
    layout = LAYOUTS[experiment.name]
    keys = [*layout.keys, "method"]
    failed = rows.assign(failed=rows["status"] != "ok")
    long = failed.melt([*keys, "failed"], list(layout.measures), var_name="measure")
    return long.groupby([*keys, "measure"], sort=False, as_index=False).agg(
        mean=("value", "mean"),
        sd=("value", "std"),
        reps=("value", "count"),
        failure_rate=("failed", "mean"),
    )


def load_paper(table: str, folder: str | os.PathLike[str]) -> pd.DataFrame:
    """Return the paper's figures: keys, method, measure, mean, sd, bold, failure_rate.

    In Table 3 bold entries and failure rates are what Section 5 says in words.
    """
    return pd.read_csv(Path(folder) / f"{table}.csv").astype({"bold": bool})


LEDGER_COLUMNS = ["table", "cell", "method", "paper_mean", "paper_sd", "mean", "sd", "reps"]
LEDGER_COLUMNS += ["z", "verdict"]
PAPER_REPETITIONS = 100
Z_LIMIT = 3.0
RELATIVE_LIMIT = 0.02
FEW = 30
"""Fewer repetitions estimate their own spread badly."""

SCANT = 10
"""With fewer repetitions a verdict says little, and its mark stands in brackets."""


def compare_means(
    mean: float,
    sd: float,
    reps: float,
    paper_mean: float,
    paper_sd: float,
    paper_reps: float = PAPER_REPETITIONS,
) -> tuple[float, str]:
    """Return z and the verdict on two means.

    z is the difference over its standard error; fewer than 30 repetitions of ours estimate their
    own spread badly, and the paper's stands in for it if it is larger. The verdict is "agrees" if
    abs(z) <= 3 or the means are within 2% of the paper's, else "differs"; "missing" below two
    repetitions. Without any variation z is 0 for equal means and infinite for others.

    Examples
    --------
    >>> [compare_means(mean, 0.1, 100, 1.0, 0.1)[1] for mean in (1.01, 1.2)]
    ['agrees', 'differs']
    >>> compare_means(8.0, 0.0, 100, 9.0, 0.0)
    (-inf, 'differs')
    """
    if not reps >= 2:
        return np.nan, "missing"
    difference = mean - paper_mean
    spread = sd if reps >= FEW else max(sd, paper_sd)
    error = np.sqrt(spread**2 / reps + paper_sd**2 / max(paper_reps, 1.0))
    with np.errstate(divide="ignore"):
        z = float(np.divide(difference, error)) if difference else 0.0
    agrees = abs(z) <= Z_LIMIT or abs(difference) <= RELATIVE_LIMIT * abs(paper_mean)
    return z, "agrees" if agrees else "differs"


@dataclass(frozen=True)
class Ledger:
    """The comparison and what follows from it.

    ``cells`` has a row per figure of the paper: the columns of the file, and besides the measure,
    the keys (law, n, r, train_ratio, gamma), bold and failure rates. ``extras`` are means of the
    methods and laws that the paper does not have, and ``rows`` by table the stored rows behind all
    means.
    """

    cells: pd.DataFrame
    extras: pd.DataFrame
    rows: Mapping[str, pd.DataFrame] = field(default_factory=dict)

    @classmethod
    def build(cls, results: str | os.PathLike[str], paper: str | os.PathLike[str]) -> Ledger:
        """Compare the rows in ``results`` with the paper's figures in ``paper``."""
        parts, extras, rows = [], [], {}
        for table, layout in LAYOUTS.items():
            experiment = find_experiment(table)
            keys = [*layout.keys, "method", "measure"]
            rows[table] = load_rows(experiment, results)
            ours = summarize(experiment, rows[table]).assign(table=table)
            theirs = load_paper(table, paper).assign(table=table)
            names = theirs.to_dict("records")
            theirs["cell"] = [layout.cell.format(**name) for name in names]
            printed = {name: f"paper_{name}" for name in ("mean", "sd", "failure_rate")}
            merged = theirs.rename(columns=printed).merge(ours, "left", ["table", *keys])
            types = {"mean": float, "sd": float, "reps": int}
            parts.append(_with_verdicts(merged.fillna({"reps": 0}).astype(types)))
            ours_at, theirs_at = map(pd.MultiIndex.from_frame, (ours[keys], theirs[keys]))
            extras.append(ours[~ours_at.isin(theirs_at)])
        whole, others = (pd.concat(frames, ignore_index=True) for frames in (parts, extras))
        return cls(whole, others, rows)

    def differences(self, notes: pd.DataFrame) -> pd.DataFrame:
        """Return the cells that differ, with the cause or what was tried.

        ``notes`` has the columns table, cell, method, note. ``cell`` may be a pattern, such as
        "train_ratio=0.6 * rank" or "*"; of several that fit, the longest counts. A cell without
        note says how few repetitions it rests on, if they are fewer than 30, else nothing.
        """
        columns = ["table", "cell", "method", "paper_mean", "mean", "reps", "z"]
        differing = self.cells.loc[self.cells["verdict"] == "differs", columns]
        few = [f"only {n} repetitions so far" if n < FEW else "" for n in differing["reps"]]
        differing = differing.assign(note=few).reset_index(drop=True)
        for one in notes.sort_values("cell", key=lambda cell: cell.str.len()).itertuples():
            fits = differing["cell"].map(lambda cell, one=one: fnmatchcase(cell, one.cell))
            fits &= (differing["table"] == one.table) & (differing["method"] == one.method)
            differing.loc[fits, "note"] = one.note
        return differing

    def reading(self, table: str, ending: str) -> pd.DataFrame:
        """Judge methods whose names have an ending: "SIR-literal" beside the paper's SIR.

        The frame is like ``cells``, under the paper's names, where the reading was computed.
        """
        keys = [*LAYOUTS[table].keys, "method", "measure"]
        others = self.extras[self.extras["table"] == table]
        others = others[others["method"].str.endswith(ending)]
        others = others.assign(method=others["method"].str.removesuffix(ending))
        printed = self.cells[self.cells["table"] == table]
        printed = printed[[*keys, "paper_mean", "paper_sd", "paper_failure_rate"]]
        return _with_verdicts(others.merge(printed, on=keys))

    def write(self, folder: str | os.PathLike[str]) -> Path:
        """Write ``ledger.csv`` and return its path."""
        path = Path(folder) / "ledger.csv"
        frame = self.cells[LEDGER_COLUMNS].round({"mean": 4, "sd": 4, "z": 2})
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, frame.to_csv(index=False, lineterminator="\n").encode())
        return path

    def repetitions(self, table: str) -> str:
        """Return in words how many of our repetitions are behind the cells of a table."""
        reps = self.cells.loc[self.cells["table"] == table, "reps"]
        noun = "partitions" if table == "table3" else "data sets"
        if reps.min() == reps.max():
            return f"{reps.max()} {noun}"
        return f"{reps.min()} to {reps.max()} {noun}, by method"


def _with_verdicts(merged: pd.DataFrame) -> pd.DataFrame:
    """Add z and verdict to figures that stand beside the paper's."""
    figures = merged[["mean", "sd", "reps", "paper_mean", "paper_sd"]].to_numpy(float)
    repetitions = PAPER_REPETITIONS * (1.0 - merged["paper_failure_rate"])
    judged = map(compare_means, *figures.T, repetitions)
    return merged.assign(**pd.DataFrame(judged, merged.index, ["z", "verdict"]))


MEASURES = {
    "distance": "Procrustes distance",
    "error": "error of the selected rank",
    "rank": "selected rank",
    "mse_rhat": "MSE at the selected rank",
    "mse_r10": "MSE at rank 10",
}
"""What the tables print, in words."""

_WORDS = MEASURES | {name: law.label for name, law in LAWS.items()}
_WORDS |= {"n": "n =", "r": "r =", "train_ratio": "train ratio", "gamma": "γ ="}


def readable(cell: str) -> str:
    """Return a cell's name in words.

    Examples
    --------
    >>> readable("ar1 n=50"), readable("train_ratio=0.6 gamma=0.1 mse_r10")
    ('AR(1) Gaussian, n = 50', 'train ratio 0.6, γ = 0.1, MSE at rank 10')
    """
    parts = (part.split("=") for part in cell.split())
    return ", ".join(" ".join([_WORDS.get(name, name), *value]) for name, *value in parts)


def title_of(table: str) -> str:
    """Return a name as the paper writes it, "Table 1"; another experiment's with a capital."""
    return table.replace("table", "table ", 1).capitalize()


def verdict_counts(cells: pd.DataFrame) -> pd.DataFrame:
    """Count the verdicts: one row per method and one for all, a column per table and verdict there.

    ``cells`` are those of a :class:`Ledger`, or the file ``ledger.csv``.
    """
    tables = cells["table"].map(title_of)
    counts = pd.crosstab(cells["method"], [tables, cells["verdict"]])
    counts = counts.loc[cells["method"].unique()]
    counts.loc["all"] = counts.sum()
    return counts.rename_axis(None)


TEST_PER_TRAIN = (0.05 / 0.75 + 0.05 / 0.95) / 2
"""Test cells over cells that a partition of Table 3 learns from or stops on, on average."""


def paired_differences(
    rows: pd.DataFrame, reference: str, *, measure: str, columns: Sequence[str]
) -> pd.DataFrame:
    """Return the mean difference of every method to a reference, column by column of the table.

    The difference on one data set or partition varies much less than either result, so means of
    differences decide more than differences of means. A positive difference favors the reference.
    ``rows`` are those of :func:`load_rows`, ``measure`` one of their columns, and ``columns`` name
    a column of the table, such as law and n. The frame has these and method, difference, error
    (standard error of the mean difference) and pairs (number of data sets).

    Examples
    --------
    >>> rows = pd.DataFrame({"n": 50, "rep": [0, 1] * 2, "method": list("aabb")})
    >>> rows["distance"] = [1.0, 5.0, 1.5, 5.5]
    >>> found = paired_differences(rows, "a", measure="distance", columns=["n"])
    >>> found["difference"].tolist(), found["error"].tolist()
    ([0.0, 0.5], [0.0, 0.0])
    """
    if reference not in set(rows["method"]):
        raise ValueError(f"reference is {reference!r}; expected one of {sorted(set(rows.method))}.")
    keys = [*columns, "rep"]
    base = rows[rows["method"] == reference].set_index(keys)[measure]
    joined = rows.join(base.rename("base"), on=keys)
    joined["difference"] = joined[measure] - joined["base"]
    grouped = joined.dropna(subset=["difference"]).groupby([*columns, "method"], sort=False)
    return grouped["difference"].agg(difference="mean", error="sem", pairs="count").reset_index()


def pooled_differences(
    rows: pd.DataFrame, reference: str, *, measure: str, test_per_train: float = TEST_PER_TRAIN
) -> pd.DataFrame:
    r"""Return the mean difference to a reference over all columns of Table 3.

    The six columns of a partition share cells and are averaged first, so that the standard error
    counts partitions. Partitions that lack a column are left out. Random partitions overlap, which
    the usual error :math:`s / \sqrt{J}` ignores; the corrected one of Nadeau and Bengio (2003) is
    :math:`s \sqrt{1/J + n_\mathrm{test}/n_\mathrm{train}}`. The frame is indexed by method and has
    the columns difference, error (the usual one), corrected and partitions.

    Examples
    --------
    >>> rows = pd.DataFrame({"train_ratio": 0.6, "gamma": 0.1, "rep": list(range(4)) * 2})
    >>> rows["method"], rows["mse"] = list("aaaabbbb"), [1, 1, 1, 1, 1, 2, 1, 2]
    >>> row = pooled_differences(rows, "a", measure="mse", test_per_train=0.75).loc["b"]
    >>> bool(np.isclose(row["corrected"], 2 * row["error"]))  # 1/4 + 3/4 for 1/4
    True
    """
    columns = list(LAYOUTS["table3"].keys)
    counted = rows.dropna(subset=measure)
    means = counted.groupby(["method", "rep"])[measure].agg(["mean", "count"]).reset_index()
    whole = means[means["count"] == len(counted[columns].drop_duplicates())]
    found = paired_differences(whole, reference, measure="mean", columns=[]).set_index("method")
    corrected = found["error"] * np.sqrt(1.0 + test_per_train * found["pairs"])
    found.insert(2, "corrected", corrected)
    return found.rename(columns={"pairs": "partitions"}).sort_values("difference")


def bold_entries(ledger: Ledger) -> pd.DataFrame:
    """Return for every bold entry of the paper whether it is the best here too.

    Methods are compared on the data sets that they share, see :func:`paired_differences`. ``holds``
    is "best" if no other of the paper's methods is smaller on average, "tied" if none is by more
    than 3 standard errors, "beaten", or "missing". The columns by, difference, error and pairs are
    about the method that is smaller by the most standard errors, empty for the best.
    """
    records = []
    for row in ledger.cells[ledger.cells["bold"]].itertuples():
        outcome = ("missing", "", np.nan, np.nan, 0)
        if row.verdict != "missing":
            columns = list(LAYOUTS[row.table].keys)
            rows = ledger.rows[row.table]
            here = (rows[columns] == [getattr(row, key) for key in columns]).all(axis=1)
            rows = rows[here & rows["method"].isin(PAPER_METHODS)]
            found = paired_differences(rows, row.method, measure=row.measure, columns=columns)
            found = found[(found["difference"] < 0) & (found["pairs"] >= 2)]
            outcome = ("best", "", np.nan, np.nan, row.reps)
            if len(found):
                rival = found.loc[(found["difference"] / found["error"]).idxmin()]
                holds = "tied" if -rival["difference"] <= Z_LIMIT * rival["error"] else "beaten"
                outcome = (holds, *rival[["method", "difference", "error", "pairs"]])
        records.append((row.table, row.cell, row.method, *outcome))
    columns = ["table", "cell", "method", "holds", "by", "difference", "error", "pairs"]
    return pd.DataFrame(records, columns=columns)
