"""What the data must be like for Stein's lemma to apply, and where they are not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import kurtosis, skew

from ..rank import KURTOSIS_LIMIT, SKEWNESS_LIMIT, TailCheck, tail_check
from .frames import listed

__all__ = ["DataChecks", "Finding", "check_data", "explained_by_others"]

FEW_VALUES = 10  # distinct values up to which a column counts as discrete
LARGE_SHARE = 0.2  # share of the rows that one value may hold
COLLINEAR = 0.95  # share of a column's variance that the others may explain
ROWS_PER_PREDICTOR = 5


@dataclass(frozen=True)
class Finding:
    """Something about the data or the fit that a reader should know, and what to do about it.

    Attributes
    ----------
    kind : str
        A short name, such as "discrete".
    text : str
        What was found.
    advice : str
        What to do.
    """

    kind: str
    text: str
    advice: str


@dataclass(frozen=True)
class DataChecks:
    """Properties of the predictors and what they give cause to.

    Attributes
    ----------
    columns : DataFrame
        One row per predictor: mean, sd, distinct values, share of the most frequent value,
        skewness, excess kurtosis, share of its variance explained by the other predictors, and
        the remarks on it.
    tails : steinsdr.rank.TailCheck
        The extremes over the columns.
    findings : tuple of Finding
    """

    columns: pd.DataFrame
    tails: TailCheck
    findings: tuple[Finding, ...]


def explained_by_others(X: NDArray) -> NDArray:
    r"""Share of each column's variance that is linear in the others, shape (p,).

    With the eigenvectors v and eigenvalues :math:`\ell` of the correlation matrix it is
    :math:`1 - 1/\sum_k v_{jk}^2/\ell_k`, one minus the inverse variance inflation factor, adjusted
    for the number of columns: n rows and as many columns explain each other whatever they are. NaN
    where there are no more rows than columns.

    Examples
    --------
    >>> x, y, noise = np.random.default_rng(0).standard_normal((3, 1000))
    >>> np.round(explained_by_others(np.column_stack([x, y, x + y])), 2).tolist()
    [1.0, 1.0, 1.0]
    >>> bool(explained_by_others(np.column_stack([x, noise])).max() < 0.05)
    True
    """
    n, p = X.shape
    if n <= p:
        return np.full(p, np.nan)
    if p == 1:
        return np.zeros(1)
    values, vectors = np.linalg.eigh(np.corrcoef(X, rowvar=False))
    smallest = len(values) * np.finfo(float).eps * values[-1]
    inflation = np.square(vectors) @ (1.0 / np.maximum(values, smallest))
    return np.maximum(0.0, 1.0 - (n - 1) / (n - p) / inflation)


def check_data(X: pd.DataFrame) -> DataChecks:
    """Describe the predictors (n, p) and name what is at odds with the method.

    The lemma needs a density that is positive and smooth: columns with few values, or with one
    value in many rows, have none, and nearly collinear columns have a nearly flat one. Heavy tails
    are allowed but make the score hard to estimate.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"height": rng.standard_normal(200), "sex": rng.integers(0, 2, 200)})
    >>> [finding.kind for finding in check_data(X).findings]
    ['discrete']
    """
    values = X.to_numpy()
    n, p = values.shape
    columns = pd.DataFrame(
        {
            "mean": values.mean(axis=0),
            "sd": values.std(axis=0),
            "distinct": X.nunique().to_numpy(),
            "most_frequent": [float(X[c].value_counts(normalize=True).iloc[0]) for c in X],
            "skewness": skew(values, axis=0),
            "kurtosis": kurtosis(values, axis=0),
            "explained_by_others": explained_by_others(values),
        },
        index=pd.Index(X.columns, name="predictor"),
    )
    masks = {
        "discrete": (columns["distinct"] <= min(FEW_VALUES, n // 2))
        | (columns["most_frequent"] > LARGE_SHARE),
        "heavy": (columns["skewness"].abs() > SKEWNESS_LIMIT)
        | (columns["kurtosis"] > KURTOSIS_LIMIT),
        "collinear": columns["explained_by_others"] > COLLINEAR,
        "counter": pd.Series([_counts_rows(X[c]) for c in X], index=columns.index),
    }
    remarks = pd.DataFrame(masks)
    columns["remarks"] = [", ".join(remarks.columns[row]) for row in remarks.to_numpy()]
    findings = [_FINDINGS[kind](list(X.columns[mask])) for kind, mask in masks.items() if any(mask)]
    if n < ROWS_PER_PREDICTOR * p:
        findings.append(
            Finding(
                "few rows",
                f"There are {n} labeled rows for {p} predictors.",
                "Expect wide intervals. Drop predictors that cannot matter, or add rows; unlabeled "
                "ones help the score.",
            )
        )
    return DataChecks(columns, tail_check(values), tuple(findings))


def _counts_rows(column: pd.Series) -> bool:
    """Whether a column looks like a row number: whole, and as far apart as the rows of the file.

    Rows that were dropped leave gaps in both. A column that the file gives no name is the index of
    a table that was saved with it, and may have gaps of its own.
    """
    values = column.to_numpy()
    if len(values) < 2 or not np.all(values == np.round(values)):
        return False
    if str(column.name).startswith("Unnamed: ") and np.all(np.diff(values) > 0):
        return True
    named = "row" in column.index.names
    rows = column.index.get_level_values("row") if named else np.arange(len(values))
    return bool(np.ptp(values - np.asarray(rows)) == 0)


def _discrete(names: list[str]) -> Finding:
    return Finding(
        "discrete",
        f"{len(names)} column(s) take few values, or one value in many rows: {listed(names)}.",
        "Stein's lemma needs predictors with a density. Drop these columns, or fit within their "
        "groups; their loadings mean little.",
    )


def _heavy(names: list[str]) -> Finding:
    return Finding(
        "heavy tails",
        f"{len(names)} column(s) have heavy tails: {listed(names)}.",
        "A logarithm or a root often helps; look for outliers first.",
    )


def _collinear(names: list[str]) -> Finding:
    return Finding(
        "collinear",
        f"{len(names)} column(s) are almost determined by the others: {listed(names)}.",
        "Drop one of each such group, or whiten the predictors; do not read their loadings one by "
        "one.",
    )


def _counter(names: list[str]) -> Finding:
    return Finding(
        "row number", f"{listed(names)} numbers the rows.", "Drop it unless the order means much."
    )


_FINDINGS = {
    "discrete": _discrete,
    "heavy": _heavy,
    "collinear": _collinear,
    "counter": _counter,
}
