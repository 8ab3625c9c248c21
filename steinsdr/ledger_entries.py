"""Entries of the printed tables: ours above the paper's, a mark, and how much it rests on."""

from __future__ import annotations

from html import escape

import numpy as np
import pandas as pd

from .ledger_page import VERDICTS

__all__ = ["SCANT", "entries_html", "mark", "repetition_counts", "repetitions_phrase", "spans"]

SCANT = 10
"""With fewer repetitions than these a verdict says little, and its mark stands in brackets."""


def mark(verdict: str, reps: int) -> str:
    """Return the mark of a verdict, in brackets if it rests on fewer than ten repetitions.

    Examples
    --------
    >>> mark("agrees", 100), mark("differs", 4), mark("missing", 0)
    ('✓', '(✗)', '·')
    """
    plain = VERDICTS[verdict]
    return f"({plain})" if verdict != "missing" and reps < SCANT else plain


def spans(cells: pd.DataFrame) -> pd.Series:
    """Return the least and the largest number of repetitions of each method, as text.

    Examples
    --------
    >>> spans(pd.DataFrame({"method": ["SIR", "MLP", "MLP"], "reps": [100, 2, 4]})).to_dict()
    {'SIR': '100', 'MLP': '2–4'}
    """
    ends = cells.groupby("method", sort=False)["reps"].agg(["min", "max"])
    text = [f"{a}" if a == b else f"{a}–{b}" for a, b in ends.to_numpy()]
    return pd.Series(text, index=ends.index).rename_axis(None)


def repetition_counts(cells: pd.DataFrame) -> pd.Series:
    """Count the computed cells by the number of our repetitions behind them.

    Parameters
    ----------
    cells : DataFrame
        ``Ledger.cells``, the file ``ledger.csv``, or a part of either.

    Returns
    -------
    Series of int
        Indexed by "100 or more", "20 to 99", "10 to 19" and "fewer than 10".

    Examples
    --------
    >>> repetition_counts(pd.DataFrame({"reps": [0, 3, 20, 100]})).tolist()
    [1, 1, 0, 1]
    """
    computed = cells.loc[cells["reps"] >= 2, "reps"]
    labels = ["fewer than 10", "10 to 19", "20 to 99", "100 or more"]
    bins = pd.cut(computed, [0, SCANT, 20, 100, np.inf], right=False, labels=labels)
    return bins.value_counts().reindex(labels[::-1]).astype(int).rename_axis("repetitions")


def repetitions_phrase(cells: pd.DataFrame, noun: str = "data sets") -> str:
    """Return in words how many of our repetitions are behind cells.

    Examples
    --------
    >>> repetitions_phrase(pd.DataFrame({"reps": [20, 100]}))
    '20 to 100 data sets, by method'
    >>> repetitions_phrase(pd.DataFrame({"reps": [100, 100]}), "partitions")
    '100 partitions'
    """
    least, most = int(cells["reps"].min()), int(cells["reps"].max())
    return f"{most} {noun}" if least == most else f"{least} to {most} {noun}, by method"


def entries_html(frame: pd.DataFrame) -> str:
    """Return a table of entries "ours | paper ✓" as HTML, ours with the mark above the paper's.

    Parameters
    ----------
    frame : DataFrame of str
        From :func:`steinsdr.plotting_tables.printed_table` or
        :func:`steinsdr.plotting_table3.printed_table3`; entries without a bar stay as they are.

    Examples
    --------
    >>> page = entries_html(pd.DataFrame({"n = 50": ["1.2 (0.1) | 1.3 (0.1) ✓"]}, index=["SIR"]))
    >>> "1.2 (0.1) ✓<br/>" in page and "<small>1.3 (0.1)</small>" in page
    True
    """
    shown = frame.map(_entry)
    page = shown.to_html(border=0, escape=False, classes="entries")
    return page.replace("<td>", '<td style="white-space: nowrap; text-align: right">')


def _entry(text: str) -> str:
    ours, bar, rest = escape(str(text)).partition(" | ")
    if not bar:
        return ours
    paper, sign = rest.rsplit(" ", 1)
    return f"{ours} {sign}<br/><small>{paper}</small>"
