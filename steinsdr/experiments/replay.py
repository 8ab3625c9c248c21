"""Recompute stored replicates from nothing, and say whether they are the same numbers."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..streams import BASE_SEED, stream
from .cells import Row
from .grid import Experiment
from .manifest import Manifest
from .store import Store
from .threads import one_thread

__all__ = ["Replay", "replay", "replay_sample", "spread", "stored_row"]

STRICT = 1e-6
"""Tolerance of networks where the same machine should give the same digits."""


@dataclass(frozen=True)
class Replay:
    """A stored row, the row computed again, and the tolerance of the comparison.

    ``made_here`` says whether the stored row comes from the same kind of machine.
    """

    stored: Row
    again: Row
    tolerance: float
    made_here: bool = False

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
        where = "on the same kind of machine" if self.made_here else "on another machine"
        found = f"stored {_shown(stored)}, now {_shown(again)}"
        return f"{verdict} {self.tolerance:g} {where}: {found}"


def _shown(result: tuple[float, ...] | str) -> str:
    return result if isinstance(result, str) else ", ".join(map(repr, result))


def stored_row(store: Store, cell: Any) -> Row:
    """Return the row of a cell; ValueError if there is none."""
    row = store.rows.get(store.key(cell))
    if row is None:
        name = " ".join(store.key(cell))
        raise ValueError(f"{store.path} has no row {name}; python -m steinsdr status lists them.")
    return row


def replay(experiment: Experiment, stored: Row, *, made_here: bool = False) -> Replay:
    """Compute a stored row again, without any cache.

    Parameters
    ----------
    experiment : Experiment
    stored : Row
    made_here : bool
        Whether it was made on the same kind of machine with the same versions, as
        :meth:`Manifest.made_here` says; networks are then held to ``STRICT``.
    """
    (group,) = experiment.groups([stored.cell])
    with one_thread(networks=experiment.uses_networks(group.cells)):
        (again,) = experiment.compute(group)
    tolerance = experiment.tolerance(stored.cell.method)
    return Replay(stored, again, min(tolerance, STRICT) if made_here else tolerance, made_here)


def replay_sample(
    experiment: Experiment, folder: str | os.PathLike[str], method: str, size: int = 3
) -> list[Replay]:
    """Replay some rows of a method, chosen by :func:`spread`."""
    rows = [r for r in Store(experiment, folder).read().values() if r.cell.method == method]
    made_here = Manifest(experiment, folder).made_here()
    chosen = spread(experiment, rows, size)
    return [replay(experiment, row, made_here=made_here) for row in chosen]


def spread(experiment: Experiment, rows: Iterable[Row], size: int) -> list[Row]:
    """Choose rows of a method that cover the values of every axis, and repetitions, evenly.

    One after the other, the row whose values were chosen least often so far; which one of several
    depends on the method, so that together the methods cover more than each alone.
    """
    # Sorted by key, so that the sample does not depend on the order of computing.
    left = sorted(rows, key=lambda row: row.cell)
    axes = [axis for axis in experiment.axes if axis != experiment.naming]
    chosen: list[Row] = []
    if left:
        names = ("replay", experiment.name, left[0].cell.method)
        left = [left[k] for k in stream(BASE_SEED, *names).permutation(len(left))]
    times: Counter[tuple[str, Any]] = Counter()

    def chosen_before(row: Row) -> tuple[int, int]:
        values = sum(times[axis, getattr(row.cell, axis)] for axis in axes)
        return values, times["rep", row.cell.rep]

    while left and len(chosen) < size:
        row = min(left, key=chosen_before)
        left.remove(row)
        chosen.append(row)
        times.update((axis, getattr(row.cell, axis)) for axis in (*axes, "rep"))
    return chosen
