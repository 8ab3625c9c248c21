"""Recompute stored replicates from nothing, and say whether they are the same numbers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from .cells import Row
from .grid import Experiment
from .store import Store
from .threads import one_thread

__all__ = ["Replay", "replay", "replay_sample", "stored_row"]


@dataclass(frozen=True)
class Replay:
    """A stored row, the row computed again, and the tolerance of the comparison."""

    stored: Row
    again: Row
    tolerance: float

    @property
    def same(self) -> bool:
        """Whether status and values agree."""
        if self.stored.status != "ok" or self.again.status != "ok":
            return self.stored.status == self.again.status
        difference = np.abs(np.subtract(self.stored.values, self.again.values))
        return bool(difference.max() <= self.tolerance)

    def __str__(self) -> str:
        stored, again = (row.values or row.status for row in (self.stored, self.again))
        if stored == again:
            return f"same: {_shown(stored)}"
        verdict = "same within" if self.same else "NOT the same, tolerance"
        return f"{verdict} {self.tolerance:g}: stored {_shown(stored)}, now {_shown(again)}"


def _shown(result: tuple[float, ...] | str) -> str:
    return result if isinstance(result, str) else ", ".join(map(repr, result))


def stored_row(store: Store, cell: Any) -> Row:
    """Return the row of a cell; ValueError if there is none."""
    row = store.rows.get(store.key(cell))
    if row is None:
        name = " ".join(store.key(cell))
        raise ValueError(f"{store.path} has no row {name}; python -m steinsdr status lists them.")
    return row


def replay(experiment: Experiment, stored: Row) -> Replay:
    """Compute a stored row again, without any cache."""
    (group,) = experiment.groups([stored.cell])
    with one_thread(networks=experiment.uses_networks(group.cells)):
        (again,) = experiment.compute(group)
    return Replay(stored, again, experiment.tolerance(stored.cell.method))


def replay_sample(
    experiment: Experiment, folder: str | os.PathLike[str], method: str, size: int = 3
) -> list[Replay]:
    """Replay some rows of a method, evenly spread over what is stored."""
    store = Store(experiment, folder)
    rows = [row for row in store.read().values() if row.cell.method == method]
    # Sorted by key, so that the sample does not depend on the order of computing.
    rows.sort(key=lambda row: row.cell)
    picks = np.unique(np.linspace(0, len(rows) - 1, min(size, len(rows))).astype(int))
    return [replay(experiment, rows[k]) for k in picks]
