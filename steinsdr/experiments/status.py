"""What is stored and what is missing."""

from __future__ import annotations

import os

from .grid import Experiment
from .manifest import Manifest
from .store import Store
from .tables import EXPERIMENTS

__all__ = ["status"]


def status(folder: str | os.PathLike[str]) -> str:
    """Return a table of methods: rows of the paper profile there, missing, failed, code, hours."""
    return "\n\n".join(_table(experiment, folder) for experiment in EXPERIMENTS.values())


def _table(experiment: Experiment, folder: str | os.PathLike[str]) -> str:
    rows = Store(experiment, folder).read()
    manifest = Manifest(experiment, folder)
    changed = {*manifest.changed(experiment.methods), *manifest.unrecorded(rows)}
    lines = [f"{experiment.name:<20}{'stored':>8}{'missing':>9}{'failed':>8}{'hours':>8}  code"]
    for method in experiment.known(experiment.naming):
        mine = [row for row in rows.values() if row.cell.method == method]
        wanted = {experiment.key(c) for c in experiment.cells(only={experiment.naming: [method]})}
        have = {experiment.key(row.cell) for row in mine}
        failed = sum(row.status != "ok" for row in mine)
        hours = sum(row.seconds for row in mine) / 3600
        code = "" if not mine else "changed" if method in changed else "as recorded"
        lines.append(
            f"{method:<20}{len(mine):>8}{len(wanted - have):>9}{failed:>8}{hours:>8.2f}  {code}"
        )
    return "\n".join(lines)
