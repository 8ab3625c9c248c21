"""From a file to predictors and responses: which columns, which rows, and what was left out."""

from __future__ import annotations

import difflib
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import mode

from .._base import check_argument, check_choice, check_spread, varying_columns

SUFFIXES = (".csv", ".tsv", ".parquet")
MIN_ROWS = 20  # labeled rows below which folds and resampling say nothing
MIN_OTHER = 5  # rows that must differ from a column's usual value, or folds may find it constant
MOST_VALUES = 10  # distinct texts up to which a column becomes columns of 0 and 1
NUMBERS = 0.8  # share of cells that are numbers from which the other cells count as missing
MOST_GAPS = 0.5  # share of gaps from which a column is left out rather than filled
MIN_GROUP = 10  # labeled rows below which a group is merged with other small ones
DELIMITERS = ",;\t|"
TITLES = 10  # lines among which the names are looked for
TOTALS = {"total", "totals", "grand total", "sum", "mean", "average", "summe", "gesamt"}
# A number as a spreadsheet shows it: sign, currency, digits with separators, one unit.
WRITTEN = re.compile(
    r"(?P<open>\()?(?P<sign>[-+]?)\s*(?P<before>[A-Z]{0,3}[$€£¥₹]|USD|EUR|GBP|CHF|)\s*(?P<inner>-?)"
    r"(?P<digits>\d(?:[\d.,'’\s]*\d)?(?:[eE][-+]?\d+)?)\s*(?P<after>\D{0,15}|[a-z]{1,3}[23])"
)


@dataclass(frozen=True)
class Table:
    """Predictors and responses as numbers, and what was done to get there.

    Attributes
    ----------
    X : DataFrame of shape (n, p)
        Predictors of the labeled rows; NaN where a cell is to be filled inside the fit. The index
        names the file and the row in it, from 1.
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
        For each column, how many rows lack it; the largest first.
    groups : Series
        Each row's group, labeled rows first; all "" without a column of groups.
    """

    X: pd.DataFrame
    Y: pd.DataFrame
    X_unlabeled: pd.DataFrame
    name: str
    notes: tuple[str, ...]
    n_rows: int
    n_dropped: int
    gaps: dict[str, int]
    groups: pd.Series


def quoted(names: Iterable[object], most: int = 8) -> str:
    """Return names in quotes, comma-separated, the rest as a count.

    Examples
    --------
    >>> quoted("abc", most=2)
    "'a', 'b' and 1 more"
    """
    return _some([repr(str(name)) for name in names], most)


def _some(texts: Sequence[str], most: int = 5) -> str:
    rest = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {rest} more" if rest > 0 else "")


def read_frame(path: str | Path, argument: str = "data") -> tuple[pd.DataFrame, list[str]]:
    """Read a table whose first line, or first full line, names the columns.

    Parameters
    ----------
    path : str or Path
        A file that ends in .csv, .tsv or .parquet. The delimiter of a .csv may be a comma, a
        semicolon, a tab or a bar. If it is no comma, numbers may have decimal commas. Text is
        UTF-8, or else that of Windows-1252, as older spreadsheets write it.
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
        If there is no such file, it has another suffix, it has no rows or cannot be read, or
        Parquet support is not installed.
    """
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(
            f"{argument}: {path.name!r} ends in {path.suffix or 'no suffix'!r}; expected one of "
            f"{', '.join(SUFFIXES)}. Save the table as CSV."
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
            "pip install '.[parquet]' in a copy of the repository, or save the table as CSV."
        ) from error
    except (ValueError, OSError) as error:
        reason = str(error).strip().partition("\n")[0]
        if isinstance(error, UnicodeDecodeError):
            reason = f"it is no text ({reason}); save the file as UTF-8."
        raise ValueError(f"{argument}: cannot read {path.name!r}: {reason}") from error
    if frame.empty:
        raise ValueError(f"{argument}: {path.name!r} holds no rows.")
    return frame.rename(columns=str), notes


def _read_text(path: Path, notes: list[str]) -> pd.DataFrame:
    encoding = _encoding(path, notes)
    with path.open(encoding=encoding) as file:
        # A quoted cell may hold any delimiter.
        lines = [re.sub('"[^"]*"', "_", file.readline()) for _ in range(TITLES)]
    with_some = [line for line in lines if any(mark in line for mark in DELIMITERS)]
    sep = max(DELIMITERS, key=with_some[0].count) if with_some else ","
    sep = "\t" if path.suffix.lower() == ".tsv" else sep
    # Above the names stand lines with half as many cells, or fewer.
    filled = [sum(bool(cell.strip()) for cell in line.split(sep)) for line in lines]
    titles = next((k for k, cells in enumerate(filled) if 2 * cells > max(filled)), 0)
    options = {"sep": sep, "encoding": encoding, "skipinitialspace": True, "skiprows": titles}
    first = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False, **options)
    names = first.iloc[0]
    twice = names.duplicated(keep=False) & (names != "")
    if twice.any() and (question := _all_numbers(names)):
        raise ValueError(f"several columns are named {quoted(names[twice].unique())}. {question}")
    if titles:
        notes.append(f"{path.name}: the names were found in line {titles + 1}, below a title.")
    if twice.any():  # pandas would leave the name to the first
        place = names.index.astype(str)
        names = names.mask(twice, names + " (column " + (names.index + 1).astype(str) + ")")
        options |= {"header": 0, "names": names.mask(names == "", "Unnamed: " + place).tolist()}
        notes.append(f"{path.name}: columns that shared a name became {quoted(names[twice])}.")
    frame = pd.read_csv(path, **options)
    if sep == ",":  # a comma inside a number would be that of thousands
        return frame
    other = pd.read_csv(path, decimal=",", **options)
    if other.select_dtypes("number").shape[1] <= frame.select_dtypes("number").shape[1]:
        return frame
    notes.append(f"{path.name}: commas within numbers were read as decimal points.")
    other.attrs["decimal"] = ","
    return other


def _encoding(path: Path, notes: list[str]) -> str:
    """Return UTF-8, or what a file that is not is read as; UnicodeDecodeError if it is no text."""
    content = path.read_bytes()
    try:
        content.decode()
    except UnicodeDecodeError:
        with suppress(UnicodeDecodeError):
            if b"\0" not in content:  # as in a picture, an archive, a workbook
                content.decode("cp1252")
                notes.append(f"{path.name} is not UTF-8; its text was read as Windows-1252.")
                return "cp1252"
        raise
    return "utf-8-sig"


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
    group: str | None = None,
    missing: str = "impute",
    unlabeled: str | Path | pd.DataFrame | None = None,
) -> Table:
    """Read a table and choose its predictors and responses.

    Every choice is noted. Cells such as ``$1,234.50`` or ``3,5 kg`` are numbers if one unit
    serves the whole column. Titles above the names, a last row of totals, empty rows, and rows
    that repeat others exactly are left out. Predictors of text become columns of 0 and 1 if
    they have at most ten values, and are left out otherwise. Responses of text with at most ten
    values are classes: each becomes a column of 0 and 1, or of two classes the rarer one. Left
    out are also dates, constant columns, columns that are the same but for fewer than five
    rows, and the index that a table was saved with. Rows with all responses missing count as
    unlabeled, rows with some missing are dropped. Infinite values are missing. Columns are
    given as a list, or as text such as ``"[y1, y2]"`` or ``"y1, y2"``.

    Parameters
    ----------
    data : path or DataFrame
        A .csv, .tsv or .parquet file, see :func:`steinsdr.report.read.read_frame`.
    responses : list of str or str
        Columns to explain.
    predictors : list of str or str, optional
        Columns to explain them by; by default all others.
    drop : list of str or str, optional
        Columns to leave out.
    group : str, optional
        A column of categories. Directions are then those within its groups.
    missing : {"impute", "drop"}
        "impute" fills gaps of predictors inside the fit by the column's median, and leaves out
        columns with more gaps than values. "drop" drops the rows with gaps.
    unlabeled : path or DataFrame, optional
        Further rows with the same predictors and no responses.

    Raises
    ------
    ValueError
        If a file cannot be read; if a column is missing, named twice or complex, or its numbers are
        too large or too small for a variance; if a response is text with more values; or if fewer
        than 20 labeled rows or no two predictors are left.

    Examples
    --------
    >>> numbers = np.random.default_rng(0).standard_normal((40, 3))
    >>> frame = pd.DataFrame(numbers, columns=["a", "b", "c"])
    >>> frame.loc[30:, "c"] = np.nan
    >>> table = read_table(frame, "c")
    >>> table.X.shape, table.Y.shape, table.X_unlabeled.shape
    ((30, 2), (30, 1), (10, 2))
    """
    check_choice(missing, "missing", ("impute", "drop"))
    frame, name, notes = _load(data, "data")
    targets = _names(responses, frame, "responses")
    if not targets:
        raise ValueError("responses: name at least one column.")
    dropped, kinds = _names(drop, frame, "drop"), _names(group, frame, "group")
    if len(kinds) > 1:
        raise ValueError(f"group: {len(kinds)} columns; expected one.")
    chosen = _names(predictors, frame, "predictors") or [c for c in frame if c not in targets]
    chosen = _names([c for c in chosen if c not in [*dropped, *kinds]], frame, "predictors")
    if not predictors and (index := [c for c in chosen if _is_index(frame[c])]):
        notes.append(
            f"Left out, as the file gives it no name and it numbers the rows: {quoted(index)}."
        )
        chosen = [c for c in chosen if c not in index]
    both = [c for c in targets if c in [*chosen, *dropped, *kinds]]
    if both:
        raise ValueError(f"responses: {quoted(both)} cannot also be a predictor, group or dropped.")
    frame = _without_copies(frame, notes)
    Y = _responses(frame, targets, name, notes)
    raw = _labeled_rows(frame[[*chosen, *kinds]], name)
    if unlabeled is not None:
        more, source, assumed = _load(unlabeled, "unlabeled")
        wanted = _names([*chosen, *kinds], more, "unlabeled")
        raw = pd.concat([raw, _labeled_rows(more[wanted], source)])
        notes += [*assumed, f"{len(more)} unlabeled row(s) come from {source}."]
        Y = pd.concat([Y, pd.DataFrame(np.nan, raw.index[len(Y) :], Y.columns)])
    X = _predictors(raw[chosen], notes)
    without = Y.isna().all(axis=1)
    partly = Y.isna().any(axis=1) & ~without
    if partly.any():
        notes.append(f"{partly.sum()} row(s) with some of the responses missing were left out.")
    if without[: len(frame)].any():
        notes.append(f"{without[: len(frame)].sum()} row(s) without any response are unlabeled.")
    left_out = partly.copy()
    if missing == "impute":
        sparse = X.columns[X.isna().mean() > MOST_GAPS]
        if len(sparse):
            notes.append(f"Left out, as more than half of the cells are empty: {quoted(sparse)}.")
        X = X.drop(columns=sparse)
    else:
        left_out |= X.isna().any(axis=1)
    notes += _gap_notes(X, name, missing)
    groups = _groups(raw[kinds[0]] if kinds else None, raw.index, ~(without | left_out), notes)
    left_out |= groups.isna()
    labeled = ~(without | left_out)
    if labeled.sum() < MIN_ROWS:
        holes = X.isna().sum().nlargest(1)
        worst = "".join(f" Predictor {name!r} alone lacks {k}." for name, k in holes.items() if k)
        raise ValueError(
            f"data: {labeled.sum()} complete row(s) with responses out of {len(frame)}; at least "
            f"{MIN_ROWS} are needed, as fewer tell nothing about held-out ones.{worst}"
        )
    X, Y = _varying(X, Y, labeled, groups, notes)
    for argument, part in (("predictors", X), ("responses", Y)):
        check_spread(part.to_numpy(), argument, [repr(c) for c in part])
    holes = X.isna().sum()
    kept = without & ~left_out
    return Table(
        X=X[labeled],
        Y=Y[labeled],
        X_unlabeled=X[kept],
        name=name,
        notes=tuple(notes),
        n_rows=len(frame),
        n_dropped=int(left_out[: len(frame)].sum()),
        gaps=holes[holes > 0].sort_values(ascending=False, kind="stable").to_dict(),
        groups=pd.concat([groups[labeled], groups[kept]]),
    )


def _without_copies(frame: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Leave out rows that repeat others, if a column has so many values that chance cannot."""
    columns = [frame.iloc[:, k] for k in range(frame.shape[1])]  # names may repeat
    cells = [c.astype(str) if c.dtype.kind == "O" else c for c in columns if not _is_index(c)]
    copies = pd.concat(cells, axis=1).duplicated()
    if copies.any() and any(c.nunique() > len(frame) / 2 for c in cells):
        notes.append(f"{copies.sum()} row(s) that repeat others exactly were left out.")
        return frame[~copies]
    return frame


def _is_index(column: pd.Series) -> bool:
    """Whether a column without a name counts rows, as that of a table saved with its index."""
    if not str(column.name).startswith("Unnamed: ") or column.dtype.kind not in "iuf":
        return False
    values = column.to_numpy()
    return bool(np.all(values == np.round(values)) and np.all(np.diff(values) > 0))


def _labeled_rows(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the frame with an index of file and row."""
    return frame.set_axis(pd.MultiIndex.from_product([[name], frame.index], names=["file", "row"]))


def _responses(frame: pd.DataFrame, names: list[str], name: str, notes: list[str]) -> pd.DataFrame:
    """Return responses as floats, classes as 0 and 1; raise if a cell is no number."""
    values, wrong, classes, few = {}, [], [], []
    said: dict[str, list[str]] = defaultdict(list)
    for column in names:
        found, texts = _as_numbers(frame[column], "responses", said, frame.attrs)
        n_values = frame[column].nunique()
        if found is not None:
            values[column] = found
            whole = np.all(np.isnan(found) | (found == np.round(found)))
            if whole and 2 < n_values <= min(MOST_VALUES, len(frame) / 10):
                few.append(f"{column!r} ({n_values} values)")
            continue
        whole = len(texts) == frame[column].notna().sum()
        if whole and n_values <= MOST_VALUES and frame[column].dtype.kind not in "mM":
            values |= _indicators(frame[column], frame, values, first=n_values == 2)
            classes.append(f"{column!r} ({n_values} values)")
        else:
            wrong.append(f"{column!r} ({len(texts)} value(s) such as {str(texts.iloc[0])!r})")
    if wrong:
        raise ValueError(
            f"responses: not numeric: {_some(wrong)}; expected numbers, all in one unit, "
            f"or at most {MOST_VALUES} classes."
        )
    said["Whole numbers: {}. If these are classes, write them as text, such as 'class 1'."] = few
    text = "Classes became columns of 0 and 1: {}; the test finds at most K - 1 directions of K."
    said[text] = classes
    notes += [text.format(_some(columns)) for text, columns in said.items() if columns]
    return _labeled_rows(pd.DataFrame(values, index=frame.index), name)


def _indicators(
    content: pd.Series, frame: pd.DataFrame, values: Mapping[str, NDArray], *, first: bool
) -> dict[str, NDArray]:
    """Return a column of 0 and 1 for each text but, with ``first``, the commonest."""
    cells, found = content.astype(str).where(content.notna()), {}
    for value in cells.value_counts().index[int(first) :]:
        key = f"{content.name}={value}"
        while key in frame or key in values:
            key += "'"
        found[key] = np.where(cells.isna(), np.nan, cells == value).astype(float)
    return found


def _as_numbers(
    content: pd.Series, argument: str, said: dict[str, list[str]], attrs: Mapping[Any, Any]
) -> tuple[NDArray | None, pd.Series]:
    """Return a column as floats with NaN for what is missing, and its cells that are no numbers.

    The floats are None if fewer than 80% of the cells are numbers. ``said`` takes the columns that
    a note has to name, by the text of the note; ``attrs`` may hold the file's decimal mark.
    """
    if content.dtype.kind == "c":
        raise ValueError(f"{argument}: {content.name!r} holds complex numbers; expected real ones.")
    parsed, texts, mark = content, content[:0], attrs.get("decimal", ".")
    if content.dtype.kind in "mM" and content.notna().any():
        return None, content.dropna()
    if content.dtype.kind in "mM":
        content = content.astype(object)
    if not pd.api.types.is_numeric_dtype(content.dtype):
        parsed = pd.to_numeric(content.astype(object), errors="coerce")
        n_cells = content.notna().sum()
        if mark == "," or parsed.notna().sum() < n_cells:
            written = _written(content, mark)
            if written.notna().sum() >= max(NUMBERS * n_cells, parsed.notna().sum()):
                parsed = written
                shown = content[written.notna()]
                other = pd.to_numeric(shown.astype(object), errors="coerce") != written[shown.index]
                if other.any():
                    cell, value = shown[other].iloc[0], written[shown.index][other].iloc[0]
                    said["Read as numbers: {}."].append(
                        f"{content.name!r} ({cell!r} as {value:.10g})"
                    )
        texts = content[parsed.isna() & content.notna()]
        if parsed.notna().sum() < NUMBERS * n_cells:
            return None, texts
        if len(texts):
            said["Cells that are no numbers count as missing: {}."].append(
                f"{content.name!r} ({len(texts)}, such as {str(texts.iloc[0])!r})"
            )
    values = parsed.to_numpy(dtype=float, na_value=np.nan)
    return np.where(np.isfinite(values), values, np.nan), texts


def _written(content: pd.Series, mark: str) -> pd.Series:
    """Return numbers from cells such as "$1,234.50", "12 %" or "3,5 kg", NaN for other cells.

    All numbers of a column have one unit, the most frequent one, and one decimal mark, unless
    points and commas both stand where none separates thousands.
    """
    cells = content.dropna().astype(str).str.strip().str.replace("−", "-")
    parts = cells.str.extract(f"^{WRITTEN.pattern}\\)?$").dropna(subset="digits").fillna("")
    if parts.empty:
        return pd.Series(np.nan, content.index)
    unit = parts["before"] + " " + parts["after"].str.strip(" )")
    parts = parts[unit == unit.mode()[0]]
    digits = parts["digits"].str.replace(r"[\s'’]", "", regex=True)
    point, comma = digits.str.contains(".", regex=False), digits.str.contains(",", regex=False)
    if (point & comma).any():
        example = digits[point & comma].iloc[0]
        mark = max(".,", key=example.rfind)
    elif point.any() or comma.any():
        only = "," if comma.any() else "."
        other = "." if only == "," else ","
        grouped = digits.str.fullmatch(rf"\d{{1,3}}(\{only}\d{{3}})*")
        twice = (digits.str.count(rf"\{only}") > 1).any()
        mark = other if grouped.all() and (twice or only != mark) else only
    other = "," if mark == "." else "."
    single = digits.str.count(rf"\{other}") == 1 - digits.str.count(rf"\{mark}")
    if (single & ~digits.str.fullmatch(rf"\d{{1,3}}\{other}\d{{3}}")).any():  # no thousands
        digits = digits.where(~single, digits.str.replace(other, mark))
    digits = digits.str.replace(other, "").str.replace(mark, ".")
    numbers = pd.to_numeric(digits, errors="coerce")
    negative = parts[["open", "sign", "inner"]].isin(["(", "-"]).any(axis=1)
    return numbers.mask(negative, -numbers).reindex(content.index)


def _predictors(raw: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Return predictors as floats; text becomes columns of 0 and 1, or is left out."""
    values: dict[str, NDArray] = {}
    said: dict[str, list[str]] = defaultdict(list)
    for column in raw:
        found, texts = _as_numbers(raw[column], "predictors", said, raw.attrs)
        n_values = raw[column].nunique()
        if found is not None:
            values[column] = found
        elif n_values == 1:
            said["Left out, as text that is the same in all rows: {}."].append(repr(str(column)))
        elif n_values <= MOST_VALUES and raw[column].dtype.kind not in "mM":
            values |= _indicators(raw[column], raw, values, first=True)
            text = "Text became columns of 0 and 1, one for each value but the commonest: {}."
            said[text].append(f"{column!r} ({n_values} values)")
        else:
            example = f"{column!r} ({n_values} values such as {str(texts.iloc[0])!r})"
            said["Left out, as text or dates with many values: {}."].append(example)
    notes += [text.format(_some(columns)) for text, columns in said.items()]
    return pd.DataFrame(values, index=raw.index)


def _groups(
    content: pd.Series | None, index: pd.Index, labeled: pd.Series, notes: list[str]
) -> pd.Series:
    """Return each row's group as text, small groups merged; NaN if it has none."""
    if content is None:
        return pd.Series("", index)
    groups = content.astype(str).where(content.notna())
    if groups.isna().any():
        notes.append(f"{groups.isna().sum()} row(s) without a group were left out.")
    sizes = groups[labeled].value_counts()
    small = groups.notna() & ~groups.isin(sizes.index[sizes >= MIN_GROUP])
    if small.any():
        together = int((small & labeled).sum())
        few = f"groups with fewer than {MIN_GROUP} rows ({quoted(groups[small].unique())})"
        if together >= MIN_GROUP:
            notes.append(f"Merged: {few}.")
            groups[small] = "other"
        else:
            notes.append(f"{together} row(s) were left out with {few}.")
            groups = groups.mask(small)
    if groups[labeled].nunique() < 2:
        raise ValueError(
            f"group: {content.name!r} has {groups[labeled].nunique()} group(s) of {MIN_GROUP} "
            "labeled rows or more; expected at least 2."
        )
    return groups


def _gap_notes(X: pd.DataFrame, name: str, missing: str) -> list[str]:
    holes = X.isna().sum()
    holes = holes[holes > 0].sort_values(ascending=False)
    if holes.empty:
        return []
    worst = ", ".join(f"{column!r} ({count})" for column, count in holes.head(5).items())
    rows = f"{X.isna().any(axis=1).sum()} of {len(X)} rows of {name}"
    where = f"{len(holes)} column(s): {worst}."
    if missing == "drop":
        return [f"{rows} were left out because predictors are missing, in {where}"]
    return [
        f"{rows} have gaps, in {where} Each was filled by the median of its column, learned inside "
        "every fit; filled cells count as observed."
    ]


def _varying(
    X: pd.DataFrame, Y: pd.DataFrame, labeled: pd.Series, groups: pd.Series, notes: list[str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Leave out columns that hardly vary over the labeled rows, or not within their groups."""
    kept = []
    for argument, frame, least in (("predictors", X, 2), ("responses", Y, 1)):
        part = frame[labeled]
        usual = mode(part, nan_policy="omit").count
        wrong = ~(part.notna().sum().to_numpy() - usual >= MIN_OTHER)  # of an empty column, NaN
        what = f"constant, or the same in all but fewer than {MIN_OTHER} rows"
        if groups.nunique() > 1:
            within = (part - part.groupby(groups[labeled]).transform("mean")).abs().max()
            wrong |= (within <= 1e-12 * part.abs().max()).to_numpy()
            what += ", or within groups"
        names = frame.columns[wrong]
        if len(names):
            notes.append(f"Left out, as {argument} that are {what}: {quoted(names)}.")
        if (~wrong).sum() < least:
            left = f"{(~wrong).sum()} column(s) left"
            left += f", {quoted(frame.columns[~wrong])}" if not wrong.all() else ""
            raise ValueError(" ".join([f"{argument}: {left}; at least {least} needed.", *notes]))
        kept.append(frame.loc[:, ~wrong])
    return kept[0], kept[1]


def _load(data: str | Path | pd.DataFrame, argument: str) -> tuple[pd.DataFrame, str, list[str]]:
    """Return a table whose index counts its rows from 1, without empty rows and totals."""
    name = argument
    notes: list[str] = []
    if isinstance(data, pd.DataFrame):
        frame = data.rename(columns=str)
    else:
        check_argument(data, argument, str, os.PathLike)
        frame, notes = read_frame(data, argument)
        name = Path(data).name
    frame = frame.set_axis(pd.RangeIndex(1, len(frame) + 1))
    frame = frame.dropna(how="all")
    words = frame.select_dtypes(exclude="number").astype(str)
    words = words.apply(lambda cells: cells.str.strip(" :").str.lower()).isin(TOTALS)
    # A word that stands in other rows too is a value of its column.
    is_total = (words.iloc[-2:] & ~words.iloc[:-2].any()).any(axis=1)
    if is_total.any():
        totals = is_total.index[is_total]
        rows = ", ".join(map(str, totals))
        notes.append(f"Left out, as a sum or mean of the others: row {rows} of {name}.")
        frame = frame.drop(index=totals)
    return frame, name, notes


def _names(value: str | Sequence[str] | None, frame: pd.DataFrame, argument: str) -> list[str]:
    """Return the columns of ``frame`` that ``value`` means; raise if it means none or several.

    Text that is no column is taken apart at its commas, also inside a list: a shell passes
    ``y1,y2`` as one name. A column whose own name has a comma stays whole.
    """
    if not isinstance(value, str | list | tuple | pd.Index | None):
        raise ValueError(f"{argument} must be text or a list of columns; got {value!r}.")
    known = [str(column) for column in frame]
    names: list[str] = []
    for text in [value] if isinstance(value, str) else [] if value is None else value:
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
            place = f"{name.lower()} (column "  # see _read_text
            close = [c for c in reversed(lower) if c.startswith(place)]
            close = close or difflib.get_close_matches(name.lower(), lower, n=3)
            hint = f" Did you mean {quoted(lower[c] for c in close)}?" if close else ""
            raise ValueError(
                f"{argument}: no column {name!r}.{hint} The columns are {quoted(known, most=30)}. "
                f"{_all_numbers(known)}".rstrip()
            )
    return names


class Units:
    """Fill gaps by medians, subtract group means, divide by standard deviations.

    Attributes
    ----------
    medians, scale : ndarray of shape (p,)
    means : dict of str to ndarray of shape (p,)
        By group.
    varies : ndarray of shape (p,)
        Which columns vary within groups; the others have scale 1.

    Examples
    --------
    >>> units = Units(np.array([[0.0], [2.0], [10.0], [12.0]]), np.array(list("aabb")))
    >>> units(np.array([[11.0]]), np.array(["b"])).tolist()
    [[0.0]]
    """

    def __init__(self, values: NDArray, groups: NDArray) -> None:
        gaps = np.isnan(values)
        self.medians = np.zeros(values.shape[1])
        if gaps.any():
            known = ~gaps.all(axis=0)
            self.medians[known] = np.nanmedian(values[:, known], axis=0)
        filled = np.where(gaps, self.medians, values)
        self.means = {g: filled[groups == g].mean(axis=0) for g in np.unique(groups)}
        centered = self._centered(values, groups)
        size = np.abs(filled).max(axis=0)
        self.varies = varying_columns(filled) & (np.abs(centered).max(axis=0) > 1e-12 * size)
        self.scale = np.where(self.varies, centered.std(axis=0), 1.0)

    def _centered(self, values: NDArray, groups: NDArray) -> NDArray:
        filled = np.where(np.isnan(values), self.medians, values)
        for group, mean in self.means.items():
            filled[groups == group] -= mean
        return filled

    def __call__(self, values: NDArray, groups: NDArray) -> NDArray:
        """Return rows (n, p) in these units."""
        return self._centered(values, groups) / self.scale
