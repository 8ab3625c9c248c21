"""What a reader takes from the tables: the order of the methods, and which is printed in bold."""

from __future__ import annotations

import pandas as pd
from scipy.stats import kendalltau

from .comparisons import paired_differences
from .experiments.methods import PAPER_METHODS
from .ledger import Z_LIMIT, Ledger
from .paper_tables import LAYOUTS

__all__ = ["bold_entries", "rankings"]

NOT_RANKED = ("rank",)


def rankings(ledger: Ledger) -> pd.DataFrame:
    """Return how far the order of the methods is the paper's, cell by cell.

    Columns: ``tau`` (Kendall's rank correlation of the means), ``best_paper`` and
    ``best`` (methods with the least mean), ``same_best``, ``methods`` (how many
    are there). Cells with fewer than two methods are left out, and so are the selected ranks
    of Table 3, of which none is better than another.
    """
    records = []
    ranked = ledger.cells[~ledger.cells["measure"].isin(NOT_RANKED)]
    for (table, cell), part in ranked.groupby(["table", "cell"], sort=False):
        part = part[part.verdict != "missing"]
        if len(part) < 2:
            continue
        tau = kendalltau(part["paper_mean"], part["mean"]).statistic
        best_paper, best = (
            tuple(part["method"][part[column] == part[column].min()])
            for column in ("paper_mean", "mean")
        )
        same = bool(set(best_paper) & set(best))
        records.append((table, cell, tau, "|".join(best_paper), "|".join(best), same, len(part)))
    columns = ["table", "cell", "tau", "best_paper", "best", "same_best", "methods"]
    return pd.DataFrame(records, columns=columns)


def bold_entries(ledger: Ledger) -> pd.DataFrame:
    """Return for every bold entry of the paper whether it is the best here too.

    Methods are compared on the data sets that they share, whatever the number of repetitions of
    either: the difference on one data set varies much less than the results themselves.

    Returns
    -------
    DataFrame with columns table, cell, method, holds, by, difference, error, pairs
        ``holds``: "best" if no other of the paper's methods is smaller on average, "tied" if none
        is by more than 3 standard errors, "beaten", or "missing". The rest is about the method
        ``by`` that is smaller by the most standard errors, empty for the best: its mean
        difference, the standard error of that, and the number of common data sets.
    """
    records = []
    for row in ledger.cells[ledger.cells["bold"]].itertuples():
        name = (row.table, row.cell, row.method)
        if row.verdict == "missing":
            records.append((*name, "missing", "", float("nan"), float("nan"), 0))
            continue
        columns = LAYOUTS[row.table].keys
        rows = ledger.rows[row.table]
        for column in columns:
            rows = rows[rows[column] == getattr(row, column)]
        rows = rows[rows["method"].isin(PAPER_METHODS)]
        found = paired_differences(rows, row.method, measure=row.measure, columns=columns)
        found = found[(found["difference"] < 0) & (found["pairs"] >= 2)]
        if found.empty:
            records.append((*name, "best", "", float("nan"), float("nan"), row.reps))
            continue
        rival = found.loc[(found["difference"] / found["error"]).idxmin()]
        holds = "tied" if -rival["difference"] <= Z_LIMIT * rival["error"] else "beaten"
        records.append((*name, holds, *rival[["method", "difference", "error", "pairs"]]))
    columns = ["table", "cell", "method", "holds", "by", "difference", "error", "pairs"]
    return pd.DataFrame(records, columns=columns)
