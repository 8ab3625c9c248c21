"""From a file to predictors and responses: which columns, which rows, and what was left out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from .._base import varying_columns
from .frames import check_columns, listed, names_in, parse_names, read_frame

__all__ = ["MIN_ROWS", "Table", "parse_names", "read_table"]

MIN_ROWS = 20  # labeled rows below which folds and resampling say nothing
MIN_OTHER = 5  # rows that must differ from a column's usual value, or folds may find it constant
GAPS = "A cell without a number must be empty."
THOUSANDS = re.compile(r"\s*[-+]?\d{1,3}(([, ']\d{3})+(\.\d*)?|(\.\d{3})+,\d*)\s*$")
CLASSES = (
    "if these are classes, give each of them a column of 0 and 1 and name these columns as "
    f"responses; K classes show at most K - 1 directions. {GAPS}"
)
CATEGORIES = (
    "leave them out with drop, or fit within their groups: a column of categories has no density, "
    f"and numbers for them do not change that. {GAPS}"
)


@dataclass(frozen=True)
class Table:
    """Predictors and responses, complete and numeric, and what was done to get there.

    Attributes
    ----------
    X : DataFrame of shape (n, p)
        Predictors of the labeled rows. The index names the file and the row in it, from 1.
    Y : DataFrame of shape (n, q)
        Responses.
    X_unlabeled : DataFrame of shape (m, p)
        Predictors of rows without responses; m may be 0.
    name : str
        Name of the file.
    notes : tuple of str
        What was left out or set aside, in sentences.
    n_rows : int
        Rows of the file.
    gaps : dict of str to int
        Of the rows that were dropped for their gaps, how many lack this column; most first.
    n_dropped : int
        Number of these rows.
    """

    X: pd.DataFrame
    Y: pd.DataFrame
    X_unlabeled: pd.DataFrame
    name: str
    notes: tuple[str, ...] = ()
    n_rows: int = 0
    gaps: dict[str, int] = field(default_factory=dict)
    n_dropped: int = 0


def read_table(
    data: str | Path | pd.DataFrame,
    responses: str | Sequence[str],
    *,
    predictors: str | Sequence[str] | None = None,
    drop: str | Sequence[str] | None = None,
    unlabeled: str | Path | pd.DataFrame | None = None,
) -> Table:
    """Read a table and choose its predictors and responses.

    Rows with a missing predictor, or with some but not all responses missing, are dropped; rows
    with all responses missing count as unlabeled. Both are noted. Infinite values are missing.

    Parameters
    ----------
    data : path or DataFrame
        A .csv, .tsv or .parquet file, see :mod:`steinsdr.report.frames`.
    responses : list of str or str
        Columns to explain; text such as ``"[y1, y2]"`` is taken apart. Of classes, one column of
        0 and 1 for each.
    predictors : list of str or str, optional
        Columns to explain them by; by default all others.
    drop : list of str or str, optional
        Columns to leave out.
    unlabeled : path or DataFrame, optional
        Further rows with the same predictors and no responses.

    Raises
    ------
    ValueError
        If a file cannot be read; if a column is missing, named twice, not numeric, without any
        value, or constant but for a few rows; or if fewer than 20 labeled rows are complete.

    Examples
    --------
    >>> frame = pd.DataFrame(np.random.default_rng(0).standard_normal((40, 3)), columns=list("abc"))
    >>> frame.loc[30:, "c"] = np.nan
    >>> table = read_table(frame, "c")
    >>> table.X.shape, table.Y.shape, table.X_unlabeled.shape
    ((30, 2), (30, 1), (10, 2))
    """
    frame, name = _load(data, "data")
    targets, dropped = names_in(frame, responses), names_in(frame, drop)
    if not targets:
        raise ValueError("responses: name at least one column.")
    check_columns(frame, targets, "responses")
    check_columns(frame, dropped, "drop")
    chosen = names_in(frame, predictors)
    check_columns(frame, chosen, "predictors")
    if not chosen:
        chosen = [c for c in frame.columns if c not in targets]
    chosen = [c for c in chosen if c not in dropped]
    _check_roles(targets, chosen, dropped)
    _check_numeric(frame, targets, "responses", CLASSES)
    _check_numeric(frame, chosen, "predictors", CATEGORIES)

    notes: list[str] = list(frame.attrs.get("notes", ()))
    X, Y = _numeric(frame, chosen, name), _numeric(frame, targets, name)
    _check_not_empty(X, "predictors")
    _check_not_empty(Y, "responses")
    without = Y.isna().all(axis=1)
    partly = Y.isna().any(axis=1) & ~without
    if partly.any():
        notes.append(f"{partly.sum()} row(s) with some of the responses missing were dropped.")
    incomplete = X.isna().any(axis=1)
    notes += _missing_note(X, name)
    labeled = ~(without | partly | incomplete)
    extra = [X[without & ~incomplete]]
    if without.any():
        notes.append(
            f"{without.sum()} row(s) without any response count as unlabeled, "
            f"{len(extra[0])} of them complete."
        )
    if unlabeled is not None:
        extra.append(_more_rows(unlabeled, chosen, notes))
    dropped_rows = incomplete | partly
    # A row without any response lacks none that it should have.
    holes = pd.concat([X, Y.where(~without, 0.0)], axis=1)[dropped_rows].isna().sum()
    table = Table(
        X[labeled],
        Y[labeled],
        pd.concat(extra),
        name,
        tuple(notes),
        n_rows=len(X),
        gaps=holes[holes > 0].sort_values(ascending=False, kind="stable").to_dict(),
        n_dropped=int(dropped_rows.sum()),
    )
    _check_rows(table, X)
    return table


def _load(data: str | Path | pd.DataFrame, argument: str) -> tuple[pd.DataFrame, str]:
    if isinstance(data, pd.DataFrame):
        return data.rename(columns=str), argument
    return read_frame(data, argument), Path(data).name


def _check_roles(targets: list[str], chosen: list[str], dropped: list[str]) -> None:
    for argument, names in (("responses", targets), ("predictors", chosen)):
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"{argument}: {listed(twice)} named more than once.")
    both = [name for name in targets if name in chosen or name in dropped]
    if both:
        raise ValueError(f"responses: {listed(both)} cannot also be a predictor or dropped.")
    if len(chosen) < 2:
        raise ValueError(f"predictors: {len(chosen)} column(s) left; at least 2 are needed.")


def _check_numeric(frame: pd.DataFrame, names: list[str], argument: str, advice: str) -> None:
    """Raise if a column holds anything but numbers, with an example of what it holds."""
    found, thousands = [], []
    for name in names:
        column = frame[name]
        if pd.api.types.is_numeric_dtype(column.dtype):
            continue
        parsed = pd.to_numeric(column.astype(object), errors="coerce")
        wrong = column[parsed.isna() & column.notna()]
        if len(wrong):
            found.append(f"{name!r} ({len(wrong)} value(s) such as {str(wrong.iloc[0])!r})")
            thousands.append(wrong.astype(str).str.match(THOUSANDS).all())
    if found:
        if any(thousands):
            advice = "remove thousands separators" + (
                "." if all(thousands) else f" where there are such. Of the others, {advice}"
            )
        shown = ", ".join(found[:5]) + (f" and {len(found) - 5} more" if len(found) > 5 else "")
        raise ValueError(f"{argument}: not numeric: {shown}; {advice}")


def _numeric(frame: pd.DataFrame, names: list[str], name: str) -> pd.DataFrame:
    """Return the columns as floats with NaN for missing, indexed by file and row."""
    rows = range(1, len(frame) + 1)
    index = pd.MultiIndex.from_product([[name], rows], names=["file", "row"])
    values = {}
    for column in names:
        content = frame[column]
        if not pd.api.types.is_numeric_dtype(content.dtype):
            content = pd.to_numeric(content.astype(object), errors="coerce")
        values[column] = content.to_numpy(dtype=float, na_value=np.nan)
    return pd.DataFrame(values, index=index).replace([np.inf, -np.inf], np.nan)


def _check_not_empty(values: pd.DataFrame, argument: str) -> None:
    empty = [name for name in values.columns if values[name].isna().all()]
    if empty:
        raise ValueError(f"{argument}: {listed(empty)} without a single value; leave out.")


def _missing_note(X: pd.DataFrame, name: str) -> list[str]:
    missing = X.isna().sum()
    missing = missing[missing > 0].sort_values(ascending=False)
    rows = int(X.isna().any(axis=1).sum())
    if not rows:
        return []
    worst = ", ".join(f"{column!r} ({count})" for column, count in missing.head(5).items())
    return [
        f"{rows} of {len(X)} rows of {name} were dropped because predictors are missing, "
        f"in {len(missing)} column(s): {worst}."
    ]


def _more_rows(
    unlabeled: str | Path | pd.DataFrame, chosen: list[str], notes: list[str]
) -> pd.DataFrame:
    frame, name = _load(unlabeled, "unlabeled")
    check_columns(frame, chosen, "unlabeled")
    _check_numeric(frame, chosen, "unlabeled", f"they must be numbers as in the data. {GAPS}")
    X = _numeric(frame, chosen, name)
    notes += [*frame.attrs.get("notes", ()), *_missing_note(X, name)]
    complete = X.dropna()
    notes.append(f"{len(complete)} unlabeled row(s) come from {name}.")
    return complete


def _check_rows(table: Table, X: pd.DataFrame) -> None:
    """Raise if too few complete rows are left, or a column of them is constant."""
    n = len(table.X)
    if n < MIN_ROWS:
        missing = X.isna().sum().sort_values(ascending=False)
        worst = f" Predictor {missing.index[0]!r} alone lacks {missing.iloc[0]}."
        raise ValueError(
            f"data: {n} complete row(s) with responses out of {len(X)}; at least {MIN_ROWS} are "
            f"needed.{worst if missing.iloc[0] else ''}"
        )
    for argument, frame in (("predictors", table.X), ("responses", table.Y)):
        end = "; leave out" + (" with drop." if argument == "predictors" else ".")
        varies = varying_columns(frame.to_numpy())
        if not varies.all():
            names = listed(frame.columns[~varies])
            raise ValueError(f"{argument}: constant in all {n} rows: {names}{end}")
        usual = np.array([frame[c].value_counts().iloc[0] for c in frame])
        if (n - usual < MIN_OTHER).any():
            names = listed(frame.columns[n - usual < MIN_OTHER])
            raise ValueError(
                f"{argument}: constant but for fewer than {MIN_OTHER} rows: {names}{end}"
            )
