"""Rows on disk: an append-only CSV file that survives interruption at any moment.

A finished group is one write under a file lock, flushed to the disk. Whoever opens the file
finds out about a torn last line or a duplicated row. Several runs on one machine may append to
the same file.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .cells import Row
from .grid import Experiment

try:
    import fcntl
except ImportError:  # Windows: one run at a time is then the user's care
    fcntl = None  # type: ignore[assignment]

__all__ = ["Store", "atomic_write", "locked"]

_hash = hashlib.blake2b
Key = tuple[str, ...]
Say = Callable[[str], None]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the exclusive lock that belongs to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.parent / f".{path.name}.lock", "w") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def atomic_write(path: Path, content: bytes) -> None:
    """Replace a file by new content, durably: readers see the old or the new one, whole."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with open(temporary, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


class Store:
    """The rows of one experiment.

    Parameters
    ----------
    experiment : Experiment
        Names the file and its columns.
    folder : path
        Where ``<name>.csv`` is.
    say : callable, optional
        Gets a sentence about everything that is repaired.

    Attributes
    ----------
    rows : dict of tuple to Row
        By the text of the key, as of the last look at the file.
    """

    def __init__(
        self, experiment: Experiment, folder: str | os.PathLike[str], say: Say = print
    ) -> None:
        self.experiment = experiment
        self.path = Path(folder) / f"{experiment.name}.csv"
        self.say = say
        self.rows: dict[Key, Row] = {}
        self._forget()

    def key(self, cell: Any) -> Key:
        """Return the key of a cell as it is written."""
        return tuple(str(part) for part in self.experiment.key(cell))

    def __contains__(self, cell: Any) -> bool:
        return self.key(cell) in self.rows

    def read(self) -> dict[Key, Row]:
        """Read the file without changing it; a torn last line is left out, and said."""
        self._forget()
        content = self.path.read_bytes() if self.path.exists() else b""
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            self.say(f"{self.path}: the last line is torn and left out: {content[whole:]!r}")
        self._take(content[:whole])
        return self.rows

    def open(self) -> None:
        """Prepare for appending: make the file, cut a torn last line, drop repeated rows."""
        with locked(self.path):
            header = ",".join(self.experiment.columns) + "\n"
            content = self.path.read_bytes() if self.path.exists() else b""
            if b"\n" not in content:
                if content:
                    self.say(f"{self.path}: the header was torn: {content!r}; written again.")
                content = header.encode()
                atomic_write(self.path, content)
            content = self._without_torn_line(content)
            self._forget()
            if self._take(content):
                self._rewrite()

    def append(self, rows: Iterable[Row]) -> list[Row]:
        """Append rows durably and return those that were new; ``open`` comes first."""
        with locked(self.path):
            self._catch_up()
            fresh = [row for row in rows if row.cell not in self]
            content = "".join(map(self._format, fresh)).encode()
            with open(self.path, "ab", buffering=0) as file:
                file.write(content)
                os.fsync(file.fileno())
            self._seen.update(content)
            self._position += len(content)
            self._line += len(fresh)
            self.rows.update((self.key(row.cell), row) for row in fresh)
        return fresh

    def drop(self, cells: Iterable[Any]) -> int:
        """Remove rows, for example failed ones that are to be tried again; return how many."""
        with locked(self.path):
            self._catch_up()
            gone = {self.key(cell) for cell in cells} & self.rows.keys()
            if gone:
                self.rows = {key: row for key, row in self.rows.items() if key not in gone}
                self._rewrite()
        return len(gone)

    def _catch_up(self) -> None:
        """Take in what another run has appended, or read again what it has rewritten."""
        content = self._without_torn_line(self.path.read_bytes())
        before = content[: self._position]
        if len(before) < self._position or _hash(before).digest() != self._seen.digest():
            self._forget()
        self._take(content[self._position :])

    def _without_torn_line(self, content: bytes) -> bytes:
        """Cut off what a killed run left of its last line, in the file too."""
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            self.say(
                f"{self.path}: the last line was torn: {content[whole:]!r}; it is cut off, and "
                "its cell counts as missing."
            )
            os.truncate(self.path, whole)
        return content[:whole]

    def _forget(self) -> None:
        self.rows = {}
        self._position, self._line = 0, 1
        self._seen = _hash(b"")  # of all bytes up to the position

    def _rewrite(self) -> None:
        lines = [",".join(self.experiment.columns) + "\n", *map(self._format, self.rows.values())]
        content = "".join(lines).encode()
        atomic_write(self.path, content)
        self._position, self._line = len(content), len(lines) + 1
        self._seen = _hash(content)

    def _take(self, content: bytes) -> int:
        """Add complete lines to ``rows``; return the number of repeated ones."""
        repeated = 0
        text = content.decode("utf-8")
        for fields in csv.reader(io.StringIO(text)):
            if self._line == 1:
                self._check_header(fields)
            else:
                row = self._parse(fields)
                before = self.rows.setdefault(self.key(row.cell), row)
                if before is not row:
                    self._check_same(before, row)
                    repeated += 1
                    self.say(f"{self.path}, line {self._line}: repeats {self._name(row)}; dropped.")
            self._line += 1
        self._position += len(content)
        self._seen.update(content)
        return repeated

    def _check_header(self, fields: list[str]) -> None:
        if tuple(fields) != self.experiment.columns:
            raise ValueError(
                f"{self.path} has columns {','.join(fields)}; expected "
                f"{','.join(self.experiment.columns)}."
            )

    def _check_same(self, one: Row, two: Row) -> None:
        if (one.values, one.status) != (two.values, two.status):
            raise ValueError(
                f"{self.path}, line {self._line}: {self._name(two)} is there twice with different "
                f"results, {one.values or one.status} and {two.values or two.status}. Replay it "
                "and remove the wrong line."
            )

    def _name(self, row: Row) -> str:
        return " ".join(self.key(row.cell))

    def _format(self, row: Row) -> str:
        experiment = self.experiment
        n_values = len(experiment.values)
        values = [repr(value) for value in row.values]
        values = values or [""] * (n_values + len(experiment.further))
        fields = [*self.key(row.cell), *values[:n_values], row.status, f"{row.seconds:.3f}"]
        fields += values[n_values:]
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\n").writerow(fields)
        return buffer.getvalue()

    def _parse(self, fields: list[str]) -> Row:
        experiment = self.experiment
        try:
            named = dict(zip(experiment.columns, fields, strict=True))
            key = {name: named[name] for name in experiment.keys}
            ok = named["status"] == "ok"
            kinds = {**experiment.values, **experiment.further} if ok else {}
            values = tuple(kind(named[name]) for name, kind in kinds.items())
            cell = experiment.make(key)
            return Row(cell, values, named["status"], float(named["seconds"]))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self.path}, line {self._line}: not a row ({error}).") from error
