"""Paired comparisons of methods over the data sets or random partitions that they share.

Their difference on one data set or partition varies much less than either result, so means of
differences decide more than differences of means.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

__all__ = ["paired_differences", "pooled_differences", "with_verdicts"]

COLUMNS = ["train_ratio", "gamma"]
TEST_PER_TRAIN = (0.05 / 0.75 + 0.05 / 0.95) / 2
"""Test cells over cells that a partition of Table 3 learns from or stops on, on average."""


def paired_differences(
    rows: pd.DataFrame,
    reference: str,
    *,
    measure: str = "mse_rhat",
    columns: Sequence[str] = tuple(COLUMNS),
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
    columns : sequence of str
        What names a column of the table; law and n for Table 1.

    Returns
    -------
    DataFrame with columns train_ratio and gamma (or ``columns``), method, difference, error, pairs
        ``error`` is the standard error of the mean difference. A positive difference favours the
        reference.

    Examples
    --------
    >>> rows = pd.DataFrame({"law": "ar1", "n": 50, "rep": [0, 1] * 2, "method": list("aabb")})
    >>> found = paired_differences(
    ...     rows.assign(distance=[1.0, 5.0, 1.5, 5.5]),
    ...     "a",
    ...     measure="distance",
    ...     columns=["law", "n"],
    ... )
    >>> found["difference"].tolist(), found["error"].tolist()
    ([0.0, 0.5], [0.0, 0.0])
    """
    _check_reference(rows, reference)
    keys = [*columns, "rep"]
    base = rows[rows["method"] == reference].set_index(keys)[measure]
    joined = rows.join(base.rename("base"), on=keys)
    joined["difference"] = joined[measure] - joined["base"]
    grouped = joined.dropna(subset=["difference"]).groupby([*columns, "method"], sort=False)
    return (
        grouped["difference"]
        .agg(difference="mean", error=lambda d: d.std(ddof=1) / np.sqrt(len(d)), pairs="count")
        .reset_index()
    )


def with_verdicts(paired: pd.DataFrame, *, limit: float = 3.0) -> pd.DataFrame:
    """Add who is ahead of the reference, who clearly so, and who clearly behind.

    Parameters
    ----------
    paired : DataFrame
        Of :func:`paired_differences`.
    limit : float
        Standard errors of the mean difference from which on it counts as clear.

    Returns
    -------
    DataFrame
        The same with columns ahead, clearly, behind of bools.

    Examples
    --------
    >>> paired = pd.DataFrame({"difference": [-1.0, -1.0, 1.0], "error": [0.5, 0.1, 0.1]})
    >>> with_verdicts(paired)[["ahead", "clearly", "behind"]].sum().tolist()
    [2, 1, 1]
    """
    difference, edge = paired["difference"], limit * paired["error"]
    return paired.assign(ahead=difference < 0, clearly=difference < -edge, behind=difference > edge)


def pooled_differences(
    rows: pd.DataFrame,
    reference: str,
    *,
    measure: str = "mse_rhat",
    test_per_train: float = TEST_PER_TRAIN,
) -> pd.DataFrame:
    r"""Return the mean difference to a reference over all columns, partition by partition.

    The six columns of a partition share cells and are no independent evidence: they are averaged
    first, so that the standard error counts partitions. Partitions that lack a column are left out.

    Random partitions overlap, and with them the differences :math:`d_1, \ldots, d_J`. The usual
    error :math:`s / \sqrt{J}` ignores this; the corrected one of Nadeau and Bengio (2003) is
    :math:`s \sqrt{1/J + n_\mathrm{test}/n_\mathrm{train}}`.

    Parameters
    ----------
    rows, reference, measure
        As in :func:`paired_differences`.
    test_per_train : float
        Ratio :math:`n_\mathrm{test}/n_\mathrm{train}`. By default all cells that a partition
        learns from or stops on count as training cells.

    Returns
    -------
    DataFrame indexed by method with columns difference, error, corrected, partitions
        ``error`` is the usual standard error, ``corrected`` the other.

    Examples
    --------
    >>> rows = pd.DataFrame({"train_ratio": 0.6, "gamma": 0.1, "rep": list(range(4)) * 2})
    >>> rows["method"], rows["mse_rhat"] = list("aaaabbbb"), [1, 1, 1, 1, 1, 2, 1, 2]
    >>> row = pooled_differences(rows, "a", test_per_train=0.75).loc["b"]
    >>> bool(np.isclose(row["corrected"], 2 * row["error"]))  # 1/4 + 3/4 for 1/4
    True
    """
    _check_reference(rows, reference)
    if test_per_train < 0:
        raise ValueError(f"test_per_train is {test_per_train}; a ratio cannot be negative.")
    keys = [*COLUMNS, "rep"]
    wide = rows.pivot_table(index=keys, columns="method", values=measure)
    differences = wide.sub(wide[reference], axis=0)
    n_columns = len(wide.index.droplevel("rep").unique())
    counts = differences.groupby("rep").count()
    means = differences.groupby("rep").mean().where(counts == n_columns)
    spread = means.std(ddof=1)
    table = pd.DataFrame(
        {
            "difference": means.mean(),
            "error": spread / np.sqrt(means.count()),
            "corrected": spread * np.sqrt(1.0 / means.count().clip(lower=1) + test_per_train),
            "partitions": means.count(),
        }
    )
    return table[table["partitions"] > 0].rename_axis("method").sort_values("difference")


def _check_reference(rows: pd.DataFrame, reference: str) -> None:
    if reference not in set(rows["method"]):
        raise ValueError(f"reference is {reference!r}; expected one of {sorted(set(rows.method))}.")
