"""Paired comparisons of methods over the random partitions of Table 3.

Methods share their partitions, test cells included. Their difference on one partition varies much
less than either error, so means of differences decide more than differences of means.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

__all__ = ["paired_differences", "pooled_differences"]

COLUMNS = ["train_ratio", "gamma"]


def paired_differences(
    rows: pd.DataFrame, reference: str, *, measure: str = "mse_rhat"
) -> pd.DataFrame:
    """Return the mean difference of every method to a reference, column by column of the table.

    Parameters
    ----------
    rows : DataFrame
        Of :func:`steinsdr.paper_tables.load_rows`.
    reference : str
        Method that is subtracted.
    measure : str
        Column of the rows.

    Returns
    -------
    DataFrame with columns train_ratio, gamma, method, difference, error, pairs
        ``error`` is the standard error of the mean difference. A positive difference favours the
        reference.
    """
    if reference not in set(rows["method"]):
        raise ValueError(f"reference is {reference!r}; expected one of {sorted(set(rows.method))}.")
    keys = [*COLUMNS, "rep"]
    base = rows[rows["method"] == reference].set_index(keys)[measure]
    joined = rows.join(base.rename("base"), on=keys)
    joined["difference"] = joined[measure] - joined["base"]
    grouped = joined.dropna(subset=["difference"]).groupby([*COLUMNS, "method"], sort=False)
    return (
        grouped["difference"]
        .agg(difference="mean", error=lambda d: d.std(ddof=1) / np.sqrt(len(d)), pairs="count")
        .reset_index()
    )


def pooled_differences(
    rows: pd.DataFrame, reference: str, *, measure: str = "mse_rhat"
) -> pd.DataFrame:
    """Return the mean difference to a reference over all columns, partition by partition.

    The six columns of a partition share cells and are no independent evidence: they are averaged
    first, so that the standard error counts partitions. Partitions that lack a column are left out.

    Returns
    -------
    DataFrame indexed by method with columns difference, error, partitions
    """
    keys = [*COLUMNS, "rep"]
    wide = rows.pivot_table(index=keys, columns="method", values=measure)
    differences = wide.sub(wide[reference], axis=0)
    n_columns = len(wide.index.droplevel("rep").unique())
    counts = differences.groupby("rep").count()
    means = differences.groupby("rep").mean().where(counts == n_columns)
    table = pd.DataFrame(
        {
            "difference": means.mean(),
            "error": means.std(ddof=1) / np.sqrt(means.count()),
            "partitions": means.count(),
        }
    )
    return table[table["partitions"] > 0].rename_axis("method").sort_values("difference")
