"""What the stored rows of the theory studies say: slopes and shares, each with its interval."""

from __future__ import annotations

import os
from collections.abc import Iterable

import pandas as pd
from scipy.stats import binomtest

from .._base import check_choice
from ..simulation import BASE_SEED, stream
from .ledger import load_rows
from .rates import STUDIES, THEORY
from .theory.rates import Rate, rate_of

__all__ = ["load_studies", "rates_table", "shares_table", "study_rate"]


def load_studies(folder: str | os.PathLike[str], studies: Iterable[str] = STUDIES) -> pd.DataFrame:
    """Return the stored rows of some studies: columns study, size, rep, value, score_error, ...

    Only repetitions that every size of a study has are kept, so that an interrupted sweep does not
    give the small sizes more of them.

    Raises
    ------
    ValueError
        If a study is unknown, or nothing whole is stored of it.
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
                f'python -m steinsdr run theory --only "study={name}" computes them.'
            )
        parts.append(mine.sort_values(["size", "rep"]))
    return pd.concat(parts, ignore_index=True)


def study_rate(frame: pd.DataFrame, study: str, column: str = "value") -> Rate:
    """Return the slope of a study in log-log scale with its 95 percent interval."""
    rows = frame[frame["study"] == study]
    return rate_of(rows, "size", column, rng=stream(BASE_SEED, "bootstrap", study, column))


def rates_table(frame: pd.DataFrame, column: str = "value") -> pd.DataFrame:
    """Return the slopes of all studies in a frame, next to what the paper states.

    Columns axis, smallest, largest, repetitions, slope, low, high, stated (NaN if nothing is).
    """
    records = {}
    for name, rows in frame.groupby("study", sort=False):
        study, rate = STUDIES[str(name)], study_rate(rows, str(name), column)
        records[name] = {
            "axis": study.axis,
            "smallest": rows["size"].min(),
            "largest": rows["size"].max(),
            "repetitions": rows["rep"].nunique(),
            "slope": rate.slope,
            "low": rate.low,
            "high": rate.high,
            "stated": study.exponent,
        }
    table = pd.DataFrame.from_dict(records, orient="index").rename_axis("study")
    return table.astype({"stated": float})


def shares_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the share of ones by study and size, with Wilson's 95 percent interval.

    Columns study, size, share, low, high, repetitions.

    Raises
    ------
    ValueError
        If a value is neither 0 nor 1.
    """
    if not frame["value"].isin([0.0, 1.0]).all():
        raise ValueError("shares need values 0 and 1; these rows hold others.")
    records = []
    for (study, size), rows in frame.groupby(["study", "size"], sort=False):
        count = len(rows)
        ends = binomtest(int(rows["value"].sum()), count).proportion_ci(method="wilson")
        records.append((study, size, rows["value"].mean(), ends.low, ends.high, count))
    columns = ["study", "size", "share", "low", "high", "repetitions"]
    return pd.DataFrame(records, columns=columns)
