"""Rows as lines of a CSV file: written exactly, and read with every field checked."""

from __future__ import annotations

import csv
import hashlib
import io
import math
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .._base import check_choice
from .simulations import Row
from .study import Experiment

__all__ = ["Key", "RowText", "Store", "atomic_write", "locked"]


Key = tuple[str, ...]


class RowText:
    """Writes and reads the rows of an experiment."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self._kinds = {**experiment.values, **experiment.further}
        self._known = {
            axis: {str(v): v for v in experiment.known(axis)} for axis in experiment.axes
        }

    def key(self, cell: Any) -> Key:
        """Return the key of a cell as it is written."""
        return tuple(str(part) for part in self.experiment.key(cell))

    def format(self, row: Row) -> str:
        """Return a row's line; ValueError if a value is not finite, as no reader would take it."""
        if not all(map(math.isfinite, row.values)):
            name = " ".join(self.key(row.cell))
            raise ValueError(f"{name}: values must be finite; got {row.values}.")
        n_values = len(self.experiment.values)
        values = [repr(value) for value in row.values] or [""] * len(self._kinds)
        fields = [*self.key(row.cell), *values[:n_values], row.status, f"{row.seconds:.3f}"]
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\n").writerow([*fields, *values[n_values:]])
        return buffer.getvalue()

    def parse(self, fields: list[str]) -> Row:
        """Return the row of a line's fields; ValueError if they are not what is written."""
        named = dict(zip(self.experiment.columns, fields, strict=True))
        for axis, known in self._known.items():
            if named[axis] not in known:
                check_choice(named[axis], axis, list(known))
        if not named["rep"].isdecimal():
            raise ValueError(f"rep must be a number; got {named['rep']!r}")
        values, seconds = self._values(named), float(named["seconds"])
        if not all(map(math.isfinite, (*values, seconds))):
            raise ValueError(f"numbers must be finite; got {values} and {seconds} seconds")
        cell = self.experiment.make({name: named[name] for name in self.experiment.keys})
        return Row(cell, values, named["status"], seconds)

    def _values(self, named: dict[str, str]) -> tuple[float, ...]:
        status = named["status"]
        if status == "ok":
            return tuple(kind(named[name]) for name, kind in self._kinds.items())
        if not status.startswith("failed: "):
            raise ValueError(f"status must be 'ok' or begin with 'failed: '; got {status!r}")
        if given := [name for name in self._kinds if named[name]]:
            raise ValueError(f"a failed row has no {', '.join(given)}")
        return ()


# Rows on disk: an append-only CSV file that survives interruption at any moment.
#
# A finished group is one write under a file lock, flushed to the disk. Whoever opens the file
# finds out about a torn last line or a duplicated row. Several runs on one machine may append to
# the same file.


try:
    import fcntl
except ImportError:  # Windows: one run at a time is then the user's care
    fcntl = None  # type: ignore[assignment]


_hash = hashlib.blake2b
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
    try:
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


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
        self._text = RowText(experiment)
        self._forget()

    def key(self, cell: Any) -> Key:
        """Return the key of a cell as it is written."""
        return self._text.key(cell)

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
                self._rewrite(self.rows)

    def append(self, rows: Iterable[Row], *, retried: bool = False) -> list[Row]:
        """Append rows durably and return those that were new; ``open`` comes first.

        With ``retried`` a row also takes the place of a stored one that failed.

        Raises
        ------
        OSError
            If the disk does not take them, for example because it is full.
        ValueError
            If a value is not finite.
        """
        with locked(self.path):
            self._catch_up()
            fresh = {self.key(row.cell): row for row in rows if self.lacks(row.cell, retried)}
            if any(key in self.rows for key in fresh):
                self._rewrite(self.rows | fresh)
            else:
                self._add(fresh)
        return list(fresh.values())

    def lacks(self, cell: Any, retried: bool = False) -> bool:
        """Whether a cell has no row or, with ``retried``, one that failed."""
        row = self.rows.get(self.key(cell))
        return row is None or (retried and row.status != "ok")

    def _add(self, fresh: dict[Key, Row]) -> None:
        content = "".join(map(self._format, fresh.values())).encode()
        # Buffered: an unbuffered file may write a part and say so only in what it returns.
        with open(self.path, "ab") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        self._seen.update(content)
        self._position += len(content)
        self._line += len(fresh)
        self.rows |= fresh

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

    def _rewrite(self, rows: dict[Key, Row]) -> None:
        lines = [",".join(self.experiment.columns) + "\n", *map(self._format, rows.values())]
        content = "".join(lines).encode()
        atomic_write(self.path, content)
        self.rows = rows
        self._position, self._line = len(content), len(lines) + 1
        self._seen = _hash(content)

    def _take(self, content: bytes) -> int:
        """Add complete lines to ``rows``; return the number of repeated ones."""
        repeated = 0
        for fields in self._records(content):
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

    def _records(self, content: bytes) -> Iterator[list[str]]:
        try:
            yield from csv.reader(io.StringIO(content.decode("utf-8")))
        except UnicodeDecodeError as error:
            line = self._line + content[: error.start].count(b"\n")
            raise ValueError(f"{self.path}, line {line}: not a row ({error}).") from error
        except csv.Error as error:
            raise ValueError(f"{self.path}, line {self._line}: not a row ({error}).") from error

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
        return self._text.format(row)

    def _parse(self, fields: list[str]) -> Row:
        try:
            return self._text.parse(fields)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self.path}, line {self._line}: not a row ({error}).") from error
