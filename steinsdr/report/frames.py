"""Files to data frames: CSV, TSV and Parquet, with messages that help."""

from __future__ import annotations

import csv
import difflib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

__all__ = [
    "SUFFIXES",
    "check_columns",
    "listed",
    "names_in",
    "numbered",
    "parse_names",
    "read_frame",
]

SUFFIXES = (".csv", ".tsv", ".parquet")
DELIMITERS = (",", ";", "\t", "|")
COMMA = re.compile(r"\s*[-+]?\d*,\d+(e[-+]?\d+)?\s*$", re.IGNORECASE)  # a decimal comma


def parse_names(value: str | Sequence[str] | None) -> list[str]:
    """Return column names from a list, or from text such as ``"[y1, y2]"`` or ``"y1, y2"``.

    Notebooks and shells pass lists as text; names may be quoted.

    Examples
    --------
    >>> parse_names("[y1, 'body weight']") == parse_names(["y1", "body weight"])
    True
    >>> parse_names(None)
    []
    """
    if value is None:
        return []
    if isinstance(value, str):
        text = value.strip()
        if text.startswith("[") and text.endswith("]"):
            text = text[1:-1]
        value = [part.strip().strip("'\"") for part in text.split(",")]
    return [str(name) for name in value if str(name)]


def names_in(frame: pd.DataFrame, value: str | Sequence[str] | None) -> list[str]:
    """Return the column names that ``value`` means, given the columns there are.

    A shell passes ``y1,y2`` as one name; it is taken apart if there is no such column but there are
    parts of it. A column whose own name has a comma is left whole.

    Examples
    --------
    >>> frame = pd.DataFrame(columns=["y1", "y2", "weight, kg"])
    >>> names_in(frame, ["y1,y2", "weight, kg"]), names_in(frame, "weight, kg")
    (['y1', 'y2', 'weight, kg'], ['weight, kg'])
    """
    known = set(frame.columns)
    names = []
    for name in [value] if isinstance(value, str) and value in known else parse_names(value):
        parts = parse_names(name)
        names += [name] if name in known or not known.intersection(parts) else parts
    return names


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


def numbered(names: Iterable[object]) -> str:
    """Return a question about the first line if all names are numbers, else nothing.

    Examples
    --------
    >>> numbered(["5.1", "3.5"]), numbered(["5.1", "x"])
    ('All names are numbers: does the first line name the columns?', '')
    """
    values = pd.to_numeric(pd.Series(list(names), dtype=object), errors="coerce")
    if values.isna().any():
        return ""
    return "All names are numbers: does the first line name the columns?"


def check_columns(frame: pd.DataFrame, names: Sequence[str], argument: str) -> None:
    """Raise if a name is not that of one column, with close matches and what there is."""
    for name in names:
        found = int((frame.columns == name).sum())
        if found == 1:
            continue
        if found:
            raise ValueError(f"{argument}: {found} columns are named {name!r}; rename them.")
        known = [str(column) for column in frame.columns]
        lower = {column.lower(): column for column in reversed(known)}
        close = difflib.get_close_matches(name.strip().lower(), lower, n=3, cutoff=0.6)
        hint = f" Did you mean {listed(lower[c] for c in close)}?" if close else ""
        raise ValueError(
            f"{argument}: no column {name!r}.{hint} The columns are {listed(known, most=30)}. "
            f"{numbered(known)}".rstrip()
        )


def read_frame(path: str | Path, argument: str = "data") -> pd.DataFrame:
    """Read a table whose first line names the columns.

    Parameters
    ----------
    path : str or Path
        A file that ends in .csv, .tsv or .parquet. The delimiter of a .csv may also be a
        semicolon, a tab or a bar; then numbers may have decimal commas. Text is UTF-8.
    argument : str
        Its name in messages.

    Returns
    -------
    DataFrame
        Its ``attrs["notes"]`` say what was assumed about the file, in sentences.

    Raises
    ------
    ValueError
        If there is no such file, the suffix is another, the file is empty or not readable, or
        Parquet support is not installed.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if path.is_dir():
        raise ValueError(f"{argument}: {str(path)!r} is a folder; expected a file.")
    if suffix not in SUFFIXES:
        raise ValueError(
            f"{argument}: {path.name!r} ends in {suffix or 'no suffix'!r}; expected one of "
            f"{', '.join(SUFFIXES)}."
        )
    if not path.is_file():
        raise ValueError(f"{argument}: there is no file {str(path)!r}.")
    try:
        frame = _read_parquet(path) if suffix == ".parquet" else _read_text(path, suffix)
    except ImportError as error:
        raise ValueError(
            f"{argument}: reading Parquet needs pyarrow, which is not installed: "
            "pip install 'pandas[parquet]', or save the table as CSV."
        ) from error
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{argument}: {path.name!r} is not UTF-8 text (byte {error.start + 1} read is "
            f"{error.object[error.start]:#04x}); save the file as UTF-8."
        ) from error
    except (ValueError, OSError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise ValueError(f"{argument}: cannot read {path.name!r}: {reason}") from error
    frame.columns = [str(column) for column in frame.columns]
    if frame.shape[1] == 0 or frame.empty:
        raise ValueError(f"{argument}: {path.name!r} holds no rows.")
    return frame


def _read_text(path: Path, suffix: str) -> pd.DataFrame:
    with path.open(encoding="utf-8-sig", newline="") as file:
        header = file.readline()
        unquoted = re.sub('"[^"]*"', "", header)  # a quoted name may hold any delimiter
        delimiter = "\t" if suffix == ".tsv" else max(DELIMITERS, key=unquoted.count)
        file.seek(0)
        names = next(csv.reader(file, delimiter=delimiter, skipinitialspace=True), [])
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:  # pandas would rename them
        question = numbered(names)
        raise ValueError(f"several columns are named {listed(twice)}; {question or 'rename them.'}")
    return _with_decimals(path, delimiter)


def _with_decimals(path: Path, delimiter: str) -> pd.DataFrame:
    """Read with decimal points, or with decimal commas if that makes numbers of more columns.

    Where commas separate columns, one inside a number would be that of thousands.
    """
    options = {"sep": delimiter, "encoding": "utf-8-sig", "skipinitialspace": True}
    frame = pd.read_csv(path, **options)
    texts = frame.select_dtypes(exclude=["number", "bool"])
    if delimiter == "," or not any(texts[c].astype(str).str.match(COMMA).any() for c in texts):
        return frame
    other = pd.read_csv(path, decimal=",", **options)
    if other.select_dtypes("number").shape[1] <= frame.select_dtypes("number").shape[1]:
        return frame
    other.attrs["notes"] = (f"{path.name}: commas within numbers were read as decimal points.",)
    return other


def _read_parquet(path: Path) -> pd.DataFrame:
    frame = pd.read_parquet(path)
    # A named index is a column that the writer set aside; an unnamed one only counts rows.
    return frame.reset_index() if frame.index.names != [None] else frame
