"""The summary of a batch, as a data file and as a table to read."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path

from .runner import Result

__all__ = ["write_summary"]

COLUMNS = [column.name for column in fields(Result)]


def write_summary(results: Sequence[Result], folder: str | os.PathLike[str]) -> str:
    """Write ``summary.csv`` and ``summary.md`` to a folder, and return the table of the latter."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    rows = [asdict(result) | {"seconds": f"{result.seconds:.1f}"} for result in results]
    with open(folder / "summary.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    table = _table([[str(row[name]) for name in COLUMNS] for row in rows])
    (folder / "summary.md").write_text(table + "\n", encoding="utf-8")
    return table


def _table(rows: Sequence[Sequence[str]]) -> str:
    r"""Return a Markdown table whose columns also line up in a terminal.

    Examples
    --------
    >>> print(_table([["a", "smoke", "ok", "1.5", "3", ""]]).splitlines()[-1])
    | a        | smoke   | ok     | 1.5     | 3     |       |
    >>> "a \\| b" in _table([["a | b", "", "", "", "", ""]])
    True
    """
    lines = [COLUMNS, *([text.replace("|", "\\|") for text in row] for row in rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(COLUMNS))]
    lines.insert(1, ["-" * width for width in widths])
    padded = ([text.ljust(w) for text, w in zip(line, widths, strict=True)] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in padded)
