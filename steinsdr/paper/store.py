"""Rows on disk: an append-only CSV file that survives interruption at any moment.

A finished group is one write under a file lock, flushed to the disk. Whoever opens the file finds
out about a torn last line or a damaged row. Several runs on one machine may append to it.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
import secrets
import sys
from collections.abc import Iterable
from pathlib import Path

from filelock import FileLock

from .experiment import Cell, Experiment, Row


def locked(path: Path) -> FileLock:
    """Return the exclusive lock that belongs to a file, for ``with``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return FileLock(path.with_name(f".{path.name}.lock"))


def atomic_write(path: Path, content: bytes) -> None:
    """Replace a file by new content, durably: readers see the old or the new one, whole."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        _write(temporary, "xb", content)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _write(path: Path, mode: str, content: bytes) -> None:
    # Buffered: an unbuffered file may write a part and say so only in what it returns.
    with open(path, mode) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


class Store:
    """The rows of one experiment in a folder; ``rows`` are those of the last look at the file."""

    def __init__(self, experiment: Experiment, folder: str | os.PathLike[str]) -> None:
        self.experiment = experiment
        self.path = Path(folder) / f"{experiment.name}.csv"
        self.rows: dict[Cell, Row] = {}
        self._seen: tuple[int, ...] | None = None  # the file when ``rows`` were those in it

    def read(self) -> dict[Cell, Row]:
        """Read the file without changing it; a torn last line is left out, and printed."""
        self._load()
        return self.rows

    def lacks(self, cell: Cell, retried: bool = False) -> bool:
        """Whether a cell has no row or, with ``retried``, one that failed."""
        row = self.rows.get(cell)
        return row is None or (retried and row.status != "ok")

    def append(self, rows: Iterable[Row] = (), *, retried: bool = False) -> list[Row]:
        """Append rows durably and return those that were new.

        The file is made if there is none, a torn last line is cut, and what another run has stored
        is taken in. With ``retried`` a stored row that failed makes room for a new one, which
        stands at the end like all new rows. OSError if the disk does not take them; ValueError if a
        value is not finite, or the file holds what no run has written.
        """
        with locked(self.path):
            if self._state() != self._seen:
                if whole := self._load():
                    os.truncate(self.path, whole)
                else:
                    self._rewrite({})
            fresh = {row.cell: row for row in rows if self.lacks(row.cell, retried)}
            if any(cell in self.rows for cell in fresh):
                kept = {cell: row for cell, row in self.rows.items() if cell not in fresh}
                self._rewrite(kept | fresh)
            elif fresh:
                _write(self.path, "ab", _lines(self.experiment, fresh.values()).encode())
                self.rows |= fresh
            self._seen = self._state()
        return list(fresh.values())

    def _state(self) -> tuple[int, ...]:
        """Return what changes whenever somebody writes to the file; () if there is none."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return ()
        return found.st_ino, found.st_size, found.st_mtime_ns

    def _load(self) -> int:
        """Take in the rows, and return the length of the file without a torn last line.

        ValueError names a line that no run has written.
        """
        content = self.path.read_bytes() if self.path.exists() else b""
        whole = content.rfind(b"\n") + 1
        if torn := content[whole:]:
            print(f"{self.path}: the last line is torn; its cell counts as missing: {torn!r}")
        columns = ",".join(self.experiment.columns)
        header, *lines = content[:whole].decode("utf-8", "replace").split("\n")[:-1] or [columns]
        if header != columns:
            raise ValueError(f"{self.path}, line 1: columns {header}; expected {columns}.")
        rows: dict[Cell, Row] = {}
        for number, line in enumerate(lines, 2):
            try:
                row = self._row(line)
                if row.cell in rows:
                    raise ValueError(f"{_name(row.cell)} is there twice: remove one of its rows")
            except (csv.Error, ValueError) as error:
                raise ValueError(f"{self.path}, line {number}: not a row ({error}).") from error
            rows[row.cell] = row
        self.rows = rows
        return whole

    def _row(self, line: str) -> Row:
        """Return the row of a line; ValueError or csv.Error if it is not what is written."""
        (fields,) = csv.reader([line])
        named = dict(zip(self.experiment.columns, fields, strict=True))
        cell = self.experiment.parse([named[name] for name in self.experiment.keys])
        kinds = self.experiment.values if named["status"] == "ok" else {}
        values = tuple(kind(named[name]) for name, kind in kinds.items())
        row = Row(cell, values, named["status"], float(named["seconds"]))
        if line != (written := _lines(self.experiment, [row])[:-1]):
            raise ValueError(f"expected {written!r}")
        return row

    def _rewrite(self, rows: dict[Cell, Row]) -> None:
        header = ",".join(self.experiment.columns) + "\n"
        atomic_write(self.path, (header + _lines(self.experiment, rows.values())).encode())
        self.rows = rows


def _lines(experiment: Experiment, rows: Iterable[Row]) -> str:
    """Return the lines of rows; ValueError for a status or number that no run has."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, experiment.columns, lineterminator="\n")
    for row in rows:
        if row.status != "ok" and not row.status.startswith("failed: "):
            raise ValueError(f"status: {row.status!r}; expected 'ok' or 'failed: ' and a reason")
        numbers = dict(zip(experiment.values, row.values, strict=False))  # none if it failed
        for name, value in {**numbers, "seconds": row.seconds}.items():
            high = experiment.largest.get(name, sys.float_info.max)
            if not 0 <= value <= high:
                told = f"{name} is {value!r}; expected a number from 0 to {high:g}"
                raise ValueError(f"{_name(row.cell)}: {told}")
        fields = dict(zip(experiment.keys, row.cell, strict=True))
        fields |= {name: repr(value) for name, value in numbers.items()}
        writer.writerow(fields | {"status": row.status, "seconds": f"{row.seconds:.3f}"})
    return buffer.getvalue()


def digest(experiment: Experiment, rows: Iterable[Row]) -> str:
    """Return a hash of rows in their order, as they stand in the file."""
    return hashlib.sha256(_lines(experiment, rows).encode()).hexdigest()[:16]


def _name(cell: Cell) -> str:
    return " ".join(map(str, cell))
