"""Rows as lines of a CSV file: written exactly, and read with every field checked."""

from __future__ import annotations

import csv
import io
import math
from typing import Any

from .._validation import check_choice
from .cells import Row
from .grid import Experiment

__all__ = ["Key", "RowText"]

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
