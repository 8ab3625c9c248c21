"""The paper's verbal claims of Section 4, each counted over its own cells and over ours.

A claim is a comparison of means that should hold in certain cells. "Holds" means in all of them
where the paper says all, in more than half where it says "generally" or "most"; "holds in part" in
at least half, or a quarter; else it "does not hold". The count is the evidence. Counting over the
paper's printed means shows whether a claim describes even its own table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from .paper_tables import LAYOUTS

__all__ = ["CLAIMS", "Claim", "judge", "judge_all", "weigh"]

BASELINES = ["SIR", "csOPG", "KSIR", "MLP"]
TRE = ["TRE-sup", "TRE-full", "TRE-split"]
NN = ["NN-sup", "NN-full", "NN-split"]
LIGHT, HEAVY = ["isotropic", "ar1"], ["lognormal", "exp_ar1"]

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
    """

    label: str
    table: str
    statement: str
    every: bool
    count: Counter


def _laws(means: pd.DataFrame, laws: list[str]) -> pd.DataFrame:
    return means[means.index.get_level_values("law").isin(laws)]


def _at(means: pd.DataFrame, sizes: list[int]) -> pd.DataFrame:
    return means[means.index.get_level_values(1).isin(sizes)]


def _gap_does_not_narrow(means: pd.DataFrame) -> pd.Series:
    gap = (means["TRE-split"] - means["TRE-full"]).unstack()
    return gap[500] >= gap[50]


def _split_catches_up(means: pd.DataFrame) -> pd.Series:
    gap = (means["NN-split"] - means["NN-full"]).unstack()
    return gap[500] < gap[50]


def _advantage_shrinks(means: pd.DataFrame) -> pd.Series:
    gain = (_laws(means, HEAVY)["TRE-sup"] - _laws(means, HEAVY)["TRE-full"]).unstack()
    return gain[500] < gain[50]


def _degrades_at_five(means: pd.DataFrame) -> pd.Series:
    light = _laws(means, LIGHT)[["csOPG", "KSIR"]].unstack("law")
    return light.loc[5] > light.loc[[1, 3]].max()


def _worse_under_heavy_tails(means: pd.DataFrame) -> pd.Series:
    sides = [
        _laws(means, laws)[["csOPG", "KSIR"]].groupby(level=1).mean().stack()
        for laws in (HEAVY, LIGHT)
    ]
    return sides[0] > sides[1]


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "sir-best-baseline",
        "table1",
        "Among the baselines SIR is the best in most settings.",
        False,
        lambda m: m[BASELINES].idxmin(axis=1) == "SIR",
    ),
    Claim(
        "framework-beats-baselines",
        "table1",
        "In all cases the score-based methods outperform the baselines.",
        True,
        lambda m: m[TRE + NN].max(axis=1) < m[BASELINES].min(axis=1),
    ),
    Claim(
        "core-tre-lowest",
        "table1",
        "TRE-sup and TRE-full achieve the lowest distances across all settings.",
        True,
        lambda m: m.idxmin(axis=1).isin(["TRE-sup", "TRE-full"]),
    ),
    Claim(
        "sup-beats-full-light",
        "table1",
        "Under Gaussian predictors TRE-sup generally outperforms TRE-full.",
        False,
        lambda m: _laws(m, LIGHT)["TRE-sup"] < _laws(m, LIGHT)["TRE-full"],
    ),
    Claim(
        "full-beats-sup-heavy",
        "table1",
        "Under heavy tails TRE-full improves on TRE-sup where labels are scarce (n = 50, 100).",
        True,
        lambda m: (
            _at(_laws(m, HEAVY), [50, 100])["TRE-full"] < _at(_laws(m, HEAVY), [50, 100])["TRE-sup"]
        ),
    ),
    Claim(
        "full-advantage-diminishes",
        "table1",
        "That advantage diminishes as the labeled sample grows.",
        True,
        _advantage_shrinks,
    ),
    Claim(
        "split-below-full",
        "table1",
        "TRE-split is consistently worse than TRE-full.",
        True,
        lambda m: m["TRE-split"] > m["TRE-full"],
    ),
    Claim(
        "split-gap-persists",
        "table1",
        "The gap of TRE-split to TRE-full does not narrow with more labels.",
        True,
        _gap_does_not_narrow,
    ),
    Claim(
        "nn-sup-poor",
        "table1",
        "NN-sup is often worse than the baselines.",
        False,
        lambda m: m["NN-sup"] > m[BASELINES].max(axis=1),
    ),
    Claim(
        "nn-unlabeled-essential",
        "table1",
        "NN-split and NN-full yield smaller distances than NN-sup.",
        True,
        lambda m: m[["NN-split", "NN-full"]].max(axis=1) < m["NN-sup"],
    ),
    Claim(
        "nn-split-catches-up",
        "table1",
        "NN-split's degradation against NN-full diminishes with more labels.",
        True,
        _split_catches_up,
    ),
    Claim(
        "rank-framework-best",
        "table2",
        "The score-based methods outperform the baselines in most settings.",
        False,
        lambda m: m[TRE + NN].median(axis=1) < m[BASELINES].min(axis=1),
    ),
    Claim(
        "rank-mave-degrades",
        "table2",
        "Under light tails csOPG and KSIR degrade markedly at r = 5.",
        True,
        _degrades_at_five,
    ),
    Claim(
        "rank-sir-maximum",
        "table2",
        "Under heavy tails SIR always selects the largest candidate, 10.",
        True,
        lambda m: _laws(m, HEAVY)["SIR"] == 10 - _laws(m, HEAVY).index.get_level_values("r"),
    ),
    Claim(
        "rank-mlp-fails",
        "table2",
        "The MLP nearly always fails (no method has a larger error).",
        False,
        lambda m: m["MLP"] >= m.drop(columns="MLP").max(axis=1),
    ),
    Claim(
        "rank-mave-heavy",
        "table2",
        "csOPG and KSIR do worse under heavy than under light tails.",
        True,
        _worse_under_heavy_tails,
    ),
    Claim(
        "rank-tre-beats-nn",
        "table2",
        "Except under heavy tails with r = 3, TRE generally outperforms NN.",
        False,
        lambda m: m[TRE].mean(axis=1) <= m[NN].mean(axis=1),
    ),
    Claim(
        "rank-nn-heavy-three",
        "table2",
        "Under heavy tails with r = 3 NN achieves lower errors than TRE.",
        True,
        lambda m: (
            _at(_laws(m, HEAVY), [3])[NN].mean(axis=1) < _at(_laws(m, HEAVY), [3])[TRE].mean(axis=1)
        ),
    ),
)


def judge(claim: Claim, cells: pd.DataFrame, column: str) -> tuple[str, str]:
    """Return verdict and evidence of a claim from the means in ``column``.

    Parameters
    ----------
    cells : DataFrame
        ``Ledger.cells``.
    column : {"mean", "paper_mean"}
        Ours or the paper's.
    """
    layout = LAYOUTS[claim.table]
    part = cells[cells["table"] == claim.table]
    columns: Any = "method" if len(layout.measures) == 1 else ["measure", "method"]
    means = part.pivot(index=list(layout.keys), columns=columns, values=column)
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


def judge_all(cells: pd.DataFrame, claims: Sequence[Claim] = CLAIMS) -> pd.DataFrame:
    """Return every claim with its verdict on the paper's own means and on ours."""
    records = []
    for claim in claims:
        paper, ours = (judge(claim, cells, column) for column in ("paper_mean", "mean"))
        records.append((claim.label, claim.table, claim.statement, *paper, *ours))
    columns = ["label", "table", "statement", "paper", "paper_count", "ours", "our_count"]
    return pd.DataFrame(records, columns=columns)
