"""A sentence of the paper that compares methods, as a count over cells, and the verdict on it.

A claim is a comparison of means that should hold in certain cells. "Holds" means in all of them
where the paper says all, in more than half where it says "generally" or "most"; "holds in part" in
at least half, or a quarter; else it "does not hold". The count is the evidence. Counting over the
paper's printed means shows whether a claim describes even its own table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from .ledger import LAYOUTS
from .pages import SCANT

__all__ = [
    "BASELINES",
    "CLOSE",
    "CORE",
    "HEAVY",
    "LIGHT",
    "NN",
    "TRE",
    "Claim",
    "at",
    "beats_baselines",
    "judge",
    "judge_all",
    "laws",
    "weigh",
]


BASELINES = ["SIR", "csOPG", "KSIR", "MLP"]
TRE = ["TRE-sup", "TRE-full", "TRE-split"]
NN = ["NN-sup", "NN-full", "NN-split"]
CORE = ["TRE-sup", "TRE-full", "NN-split"]
"""The methods that the paper calls core configurations."""

LIGHT, HEAVY = ["isotropic", "ar1"], ["lognormal", "exp_ar1"]
"""Laws of the simulations, by their tails."""

CLOSE = 0.05
"""Relative difference of means below which they count as close."""

# From means, cells by method (by measure and method where there are several), to bools.
Counter = Callable[[pd.DataFrame], pd.Series]


@dataclass(frozen=True)
class Claim:
    """A statement, where it is made, and the comparison that decides it.

    Attributes
    ----------
    label : str
        Short name.
    table : {"table1", "table2", "table3"}
        Whose means are compared.
    statement : str
        What the paper says, in our words.
    every : bool
        Whether the paper says it of all cells, not of most.
    count : callable
        From the means, one row per cell and one column per method, to a boolean per comparison.
    value : {"mean", "sd"}
        What is compared: means, or standard deviations over repetitions.
    """

    label: str
    table: str
    statement: str
    every: bool
    count: Counter
    value: Literal["mean", "sd"] = "mean"


def laws(means: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Return the rows of some laws."""
    return means[means.index.get_level_values("law").isin(names)]


def at(means: pd.DataFrame, sizes: Sequence[int]) -> pd.DataFrame:
    """Return the rows of some n, or of some r."""
    return means[means.index.get_level_values(1).isin(sizes)]


def judge(claim: Claim, cells: pd.DataFrame, column: str) -> tuple[str, str]:
    """Return verdict and evidence of a claim from the means in ``column``.

    Parameters
    ----------
    cells : DataFrame
        ``Ledger.cells``.
    column : {"mean", "paper_mean"}
        Ours or the paper's. A claim about standard deviations takes those beside it, and of ours
        none that rest on fewer than ten repetitions.
    """
    layout = LAYOUTS[claim.table]
    part = cells[cells["table"] == claim.table]
    columns: Any = "method" if len(layout.measures) == 1 else ["measure", "method"]
    value = column.replace("mean", claim.value)
    if value == "sd":
        part = part.assign(sd=part["sd"].where(part["reps"] >= SCANT))
    means = part.pivot(index=list(layout.keys), columns=columns, values=value)
    if means.isna().any(axis=None):
        return "missing", f"{int(means.isna().any(axis=1).sum())} of {len(means)} cells incomplete"
    return weigh(claim.count(means), claim.every)


def weigh(true: pd.Series, every: bool) -> tuple[str, str]:
    """Return the verdict that a count of comparisons supports, and the count.

    Examples
    --------
    >>> weigh(pd.Series([True, True, False]), every=True)
    ('holds in part', '2 of 3')
    >>> weigh(pd.Series([True, True, False]), every=False)
    ('holds', '2 of 3')
    """
    share = float(true.mean())
    limits = (1.0, 0.5) if every else (0.5 + 1e-9, 0.25)
    verdict = (
        "holds"
        if share >= limits[0]
        else "holds in part"
        if share >= limits[1]
        else "does not hold"
    )
    return verdict, f"{int(true.sum())} of {len(true)}"


def judge_all(cells: pd.DataFrame, claims: Sequence[Claim]) -> pd.DataFrame:
    """Return every claim with its verdict on the paper's own means and on ours."""
    records = []
    for claim in claims:
        paper, ours = (judge(claim, cells, column) for column in ("paper_mean", "mean"))
        records.append((claim.label, claim.table, claim.statement, *paper, *ours))
    columns = ["label", "table", "statement", "paper", "paper_count", "ours", "our_count"]
    return pd.DataFrame(records, columns=columns)


def beats_baselines(
    cells: pd.DataFrame, groups: Mapping[str, Sequence[str]], *, table: str = "table1"
) -> pd.DataFrame:
    """Count the cells in which every method of a group has a smaller mean than every baseline.

    Parameters
    ----------
    cells : DataFrame
        ``Ledger.cells``.
    groups : mapping of str to sequence of str
        Names of groups and their methods.
    table : {"table1", "table2"}

    Returns
    -------
    DataFrame indexed by group with columns paper, ours, cells
        In the paper's means, in ours, and how many cells have been computed.

    Examples
    --------
    >>> cells = pd.DataFrame(
    ...     [("table1", "a", m, x, x) for x, m in enumerate(["TRE-sup", *BASELINES, "NN-sup"])],
    ...     columns=["table", "cell", "method", "paper_mean", "mean"],
    ... )
    >>> beats_baselines(cells, {"one": ["TRE-sup"], "both": ["TRE-sup", "NN-sup"]})["ours"].tolist()
    [1, 0]
    """
    part = cells[cells["table"] == table]
    paper, ours = (
        part.pivot(index="cell", columns="method", values=column)
        for column in ("paper_mean", "mean")
    )
    records = []
    for methods in map(list, groups.values()):
        counts = [
            int((means[methods].max(axis=1) < means[BASELINES].min(axis=1)).sum())
            for means in (paper, ours)
        ]
        computed = ours[[*methods, *BASELINES]].notna().all(axis=1)
        records.append((*counts, int(computed.sum())))
    return pd.DataFrame(records, index=list(groups), columns=["paper", "ours", "cells"])
