"""From a file to predictors and responses: which columns, which rows, and what was left out."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from .._base import varying_columns

__all__ = ["Table", "listed", "read_frame", "read_table"]

SUFFIXES = (".csv", ".tsv", ".parquet")
MIN_ROWS = 20  # labeled rows below which folds and resampling say nothing
MIN_OTHER = 5  # rows that must differ from a column's usual value, or folds may find it constant
_ADVICE = {
    "responses": "if these are classes, give each of them a column of 0 and 1 and name these "
    "columns as responses; K classes show at most K - 1 directions.",
    "predictors": "leave them out with drop, or fit within their groups: a column of categories "
    "has no density, and numbers for them do not change that.",
    "unlabeled": "they must be numbers as in the data.",
}
_CELLS = "Write numbers without thousands separators, and leave a cell without a number empty."


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
        What was left out, set aside or assumed, in sentences.
    n_rows : int
        Rows of the file.
    n_dropped : int
        Rows that were dropped because cells are missing.
    gaps : dict of str to int
        For each column, how many of the dropped rows lack it; the largest first.
    """

    X: pd.DataFrame
    Y: pd.DataFrame
    X_unlabeled: pd.DataFrame
    name: str
    notes: tuple[str, ...]
    n_rows: int
    n_dropped: int
    gaps: dict[str, int]


def listed(names: Iterable[object], most: int = 8) -> str:
    """Return names in quotes, comma-separated, the rest as a count.

    Examples
    --------
    >>> listed("abc", most=2)
    "'a', 'b' and 1 more"
    """
    shown = [repr(str(name)) for name in names]
    rest = len(shown) - most
    return ", ".join(shown[:most]) + (f" and {rest} more" if rest > 0 else "")


def read_frame(path: str | Path, argument: str = "data") -> tuple[pd.DataFrame, list[str]]:
    """Read a table whose first line names the columns.

    Parameters
    ----------
    path : str or Path
        A file that ends in .csv, .tsv or .parquet. The delimiter of a .csv may be a comma, a
        semicolon, a tab or a bar. If it is no comma, numbers may have decimal commas. Text is
        UTF-8.
    argument : str
        Its name in messages.

    Returns
    -------
    DataFrame
    list of str
        What was assumed about the file, in sentences.

    Raises
    ------
    ValueError
        If there is no such file, it has another suffix, it has no rows or cannot be read, two
        columns have one name, or Parquet support is not installed.
    """
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(
            f"{argument}: {path.name!r} ends in {path.suffix or 'no suffix'!r}; expected one of "
            f"{', '.join(SUFFIXES)}."
        )
    if not path.is_file():
        raise ValueError(f"{argument}: there is no file {str(path)!r}.")
    notes: list[str] = []
    try:
        if path.suffix.lower() == ".parquet":
            frame = pd.read_parquet(path)
            # A named index is a column that the writer set aside; an unnamed one counts rows.
            frame = frame.reset_index() if frame.index.names != [None] else frame
        else:
            frame = _read_text(path, notes)
    except ImportError as error:
        raise ValueError(
            f"{argument}: reading Parquet needs pyarrow, which is not installed: "
            "pip install 'steinsdr[parquet]', or save the table as CSV."
        ) from error
    except (ValueError, OSError) as error:
        reason = str(error).strip().partition("\n")[0]
        if isinstance(error, UnicodeDecodeError):
            reason = f"it is not UTF-8 ({reason}); save the file as UTF-8."
        raise ValueError(f"{argument}: cannot read {path.name!r}: {reason}") from error
    if frame.empty:
        raise ValueError(f"{argument}: {path.name!r} holds no rows.")
    return frame.rename(columns=str), notes


def _read_text(path: Path, notes: list[str]) -> pd.DataFrame:
    with path.open(encoding="utf-8-sig") as file:
        unquoted = re.sub('"[^"]*"', "", file.readline())  # a quoted name may hold any delimiter
    sep = "\t" if path.suffix.lower() == ".tsv" else max(",;\t|", key=unquoted.count)
    options = {"sep": sep, "encoding": "utf-8-sig", "skipinitialspace": True}
    first = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False, **options)
    names = first.iloc[0]
    twice = sorted(set(names[names.duplicated() & (names != "")]))
    if twice:  # pandas would rename them
        question = _all_numbers(names) or "rename them."
        raise ValueError(f"several columns are named {listed(twice)}; {question}")
    frame = pd.read_csv(path, **options)
    if sep == ",":  # a comma inside a number would be that of thousands
        return frame
    other = pd.read_csv(path, decimal=",", **options)
    if other.select_dtypes("number").shape[1] <= frame.select_dtypes("number").shape[1]:
        return frame
    notes.append(f"{path.name}: commas within numbers were read as decimal points.")
    return other


def _all_numbers(names: Iterable[object]) -> str:
    """Return a question about the first line if all names are numbers, else nothing."""
    values = pd.to_numeric(pd.Series(list(names), dtype=object), errors="coerce")
    question = "All names are numbers: does the first line name the columns?"
    return "" if values.isna().any() else question


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
    Columns are given as a list, or as text such as ``"[y1, y2]"`` or ``"y1, y2"``.

    Parameters
    ----------
    data : path or DataFrame
        A .csv, .tsv or .parquet file, see :func:`steinsdr.report.read.read_frame`.
    responses : list of str or str
        Columns to explain. Of classes, one column of 0 and 1 for each.
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
    frame, name, notes = _load(data, "data")
    targets = _names(responses, frame, "responses")
    if not targets:
        raise ValueError("responses: name at least one column.")
    dropped = _names(drop, frame, "drop")
    chosen = _names(predictors, frame, "predictors") or [c for c in frame if c not in targets]
    chosen = _names([c for c in chosen if c not in dropped], frame, "predictors")
    both = [c for c in targets if c in chosen or c in dropped]
    if both:
        raise ValueError(f"responses: {listed(both)} cannot also be a predictor or dropped.")
    if len(chosen) < 2:
        raise ValueError(f"predictors: {len(chosen)} column(s) left; at least 2 are needed.")

    Y, X = _numbers(frame, targets, name, "responses"), _numbers(frame, chosen, name, "predictors")
    without = Y.isna().all(axis=1)
    partly = Y.isna().any(axis=1) & ~without
    incomplete = X.isna().any(axis=1)
    if partly.any():
        notes.append(f"{partly.sum()} row(s) with some of the responses missing were dropped.")
    notes += _missing_note(X, name)
    extra = [X[without & ~incomplete]]
    if without.any():
        notes.append(
            f"{without.sum()} row(s) without any response count as unlabeled, "
            f"{len(extra[0])} of them complete."
        )
    if unlabeled is not None:
        more, source, assumed = _load(unlabeled, "unlabeled")
        points = _numbers(more, _names(chosen, more, "unlabeled"), source, "unlabeled")
        extra.append(points.dropna())
        notes += [*assumed, *_missing_note(points, source)]
        notes.append(f"{len(extra[1])} unlabeled row(s) come from {source}.")
    left_out = incomplete | partly
    labeled = ~(without | left_out)
    _check_rows(X, X[labeled], Y[labeled])
    # A row without any response lacks none that it should have.
    holes = pd.concat([X, Y.where(~without, 0.0)], axis=1)[left_out].isna().sum()
    gaps = holes[holes > 0].sort_values(ascending=False, kind="stable").to_dict()
    return Table(
        X=X[labeled],
        Y=Y[labeled],
        X_unlabeled=pd.concat(extra),
        name=name,
        notes=tuple(notes),
        n_rows=len(X),
        n_dropped=int(left_out.sum()),
        gaps=gaps,
    )


def _load(data: str | Path | pd.DataFrame, argument: str) -> tuple[pd.DataFrame, str, list[str]]:
    if isinstance(data, pd.DataFrame):
        return data.rename(columns=str), argument, []
    frame, notes = read_frame(data, argument)
    return frame, Path(data).name, notes


def _names(value: str | Sequence[str] | None, frame: pd.DataFrame, argument: str) -> list[str]:
    """Return the columns of ``frame`` that ``value`` means; raise if it means none or several.

    Text that is no column is taken apart at its commas, also inside a list: a shell passes
    ``y1,y2`` as one name. A column whose own name has a comma stays whole.
    """
    known = [str(column) for column in frame]
    names: list[str] = []
    for text in [value] if isinstance(value, str) else value or []:
        parts = [str(text)]
        if parts[0] not in known:
            inside = re.sub(r"^\s*\[(.*)\]\s*$", r"\1", parts[0])
            parts = [part.strip().strip("'\"") for part in inside.split(",")]
        names += [part for part in parts if part]
    for name in names:
        if known.count(name) > 1:
            raise ValueError(
                f"{argument}: {known.count(name)} columns are named {name!r}; rename them."
            )
        if names.count(name) > 1:
            raise ValueError(f"{argument}: {name!r} named more than once.")
        if name not in known:
            lower = {column.lower(): column for column in reversed(known)}
            close = difflib.get_close_matches(name.lower(), lower, n=3)
            hint = f" Did you mean {listed(lower[c] for c in close)}?" if close else ""
            raise ValueError(
                f"{argument}: no column {name!r}.{hint} The columns are {listed(known, most=30)}. "
                f"{_all_numbers(known)}".rstrip()
            )
    return names


def _numbers(frame: pd.DataFrame, names: list[str], name: str, argument: str) -> pd.DataFrame:
    """Return columns as floats with NaN for missing, indexed by file and row.

    Raise if a column holds no value, or anything but numbers, with an example of what it holds.
    """
    values, wrong = {}, []
    for column in names:
        content = frame[column]
        if not pd.api.types.is_numeric_dtype(content.dtype):
            parsed = pd.to_numeric(content.astype(object), errors="coerce")
            texts = content[parsed.isna() & content.notna()]
            if len(texts):
                wrong.append(f"{column!r} ({len(texts)} value(s) such as {str(texts.iloc[0])!r})")
            content = parsed
        values[column] = content.to_numpy(dtype=float, na_value=np.nan)
    if wrong:
        shown = ", ".join(wrong[:5]) + (f" and {len(wrong) - 5} more" if len(wrong) > 5 else "")
        raise ValueError(f"{argument}: not numeric: {shown}; {_ADVICE[argument]} {_CELLS}")
    index = pd.MultiIndex.from_product([[name], range(1, len(frame) + 1)], names=["file", "row"])
    table = pd.DataFrame(values, index=index).replace([np.inf, -np.inf], np.nan)
    empty = table.columns[table.isna().all()]
    if len(empty) and argument != "unlabeled":
        raise ValueError(f"{argument}: {listed(empty)} without a single value; leave out.")
    return table


def _missing_note(X: pd.DataFrame, name: str) -> list[str]:
    missing = X.isna().sum()
    missing = missing[missing > 0].sort_values(ascending=False)
    if missing.empty:
        return []
    worst = ", ".join(f"{column!r} ({count})" for column, count in missing.head(5).items())
    return [
        f"{X.isna().any(axis=1).sum()} of {len(X)} rows of {name} were dropped because predictors "
        f"are missing, in {len(missing)} column(s): {worst}."
    ]


def _check_rows(everything: pd.DataFrame, X: pd.DataFrame, Y: pd.DataFrame) -> None:
    """Raise if too few complete rows are left, or a column of them is nearly constant."""
    n = len(X)
    if n < MIN_ROWS:
        missing = everything.isna().sum().sort_values(ascending=False)
        worst = f" Predictor {missing.index[0]!r} alone lacks {missing.iloc[0]}."
        raise ValueError(
            f"data: {n} complete row(s) with responses out of {len(everything)}; at least "
            f"{MIN_ROWS} are needed.{worst if missing.iloc[0] else ''}"
        )
    for argument, frame, end in (("predictors", X, " with drop"), ("responses", Y, "")):
        constant = ~varying_columns(frame.to_numpy())
        usual = np.array([frame[c].value_counts().iloc[0] for c in frame])
        for wrong, extent in (
            (constant, f"in all {n} rows"),
            (n - usual < MIN_OTHER, f"but for fewer than {MIN_OTHER} rows"),
        ):
            if wrong.any():
                names = listed(frame.columns[wrong])
                raise ValueError(f"{argument}: constant {extent}: {names}; leave out{end}.")
