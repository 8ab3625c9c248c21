"""What stands beside a table's rows, and whether they can be computed again.

A manifest holds settings, seeds, versions, code hashes, the machine and totals. A replay computes
stored rows again from nothing and says whether they are the same numbers.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..simulation import BASE_SEED, stream
from .experiment import EXPERIMENTS, Cell, Experiment, Row, find_experiment
from .store import Store, atomic_write, digest, locked

_WORDS = {
    "seeds": "repetition k has seed 42 + k; every draw comes from a stream of steinsdr.simulation "
    "named by what it is for",
    "seconds_are": "one core, one thread; a score fit's time is shared by its cells, 0 if it was "
    "cached",
    "digests_are": "number of rows that are ok, and the start of the SHA-256 of their lines, in "
    "order",
}
_PACKAGES = ("numpy", "scipy", "scikit-learn", "torch", "joblib")


class Manifest:
    """``<name>.manifest.json`` beside ``<name>.csv``.

    For every method with rows it holds the signature under which they were made. A signature
    that changed is recorded as equal only after a replay said so; the old code hash is kept.
    """

    def __init__(self, experiment: Experiment, folder: str | os.PathLike[str]) -> None:
        self.experiment = experiment
        self.path = Path(folder) / f"{experiment.name}.manifest.json"
        self._design = _plain(dict(experiment.design))

    def load(self) -> dict[str, Any]:
        """Return its content, with empty parts if there is none; ValueError if it is damaged."""
        try:
            content = json.loads(self.path.read_text("utf-8")) if self.path.exists() else {}
            for part, kind in {"methods": dict, "digests": dict, "environments": list}.items():
                if not isinstance(content.setdefault(part, kind()), kind):
                    raise TypeError(f"{part} must be a {kind.__name__}")
            for entry in content["methods"].values():
                entry["code"]
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            raise ValueError(f"{self.path} is no manifest ({error}); restore it.") from error
        return content

    def changed(self, methods: Iterable[str]) -> dict[str, list[str]]:
        """Return for each method whose signature differs from the recorded one, in what.

        A method that is not recorded differs in the "record".
        """
        content = self.load()
        design = [] if content.get("design", self._design) == self._design else ["design"]
        found = {}
        for name in methods:
            then = content["methods"].get(name, {})
            now = _plain(self.experiment.signature(name))
            same = {"code": now["code"]} if now["code"] in _codes(then) else {}
            differing = [key for key in now if now[key] != {**then, **same}.get(key)]
            if what := design + differing:
                found[name] = what if then else ["record"]
        return found

    def record(self, methods: Iterable[str], *, replayed: int = 0) -> None:
        """Record the current signatures; ``replayed`` counts the rows that were found equal.

        Without any, the first rows of these methods are about to be made, and versions and
        machine are recorded, too.
        """
        with locked(self.path):
            content = self.load()
            recorded = content["methods"]
            if not replayed:
                now, seen = _environment(), content["environments"]
                content |= {**self._constant(), **now}
                content["environments"] = seen if now in seen else [*seen, now]
            for name in methods:
                entry, before = self.experiment.signature(name), recorded.get(name)
                entry["note"] = self.experiment.methods[name].note
                entry["tolerance"] = self.experiment.tolerance(name)
                if replayed and before:
                    then = {"code": before["code"], "rows_replayed": replayed}
                    history = [*before.get("found_equal", []), then]
                    entry["found_equal"] = [h for h in history if h["code"] != entry["code"]]
                recorded[name] = entry
            content["methods"] = {n: recorded[n] for n in self.experiment.methods if n in recorded}
            self._write(content)

    def compare(self, rows: Mapping[Cell, Row]) -> tuple[dict[str, str], dict[str, int]]:
        """Compare rows, in the order of the file, with the digests of the last run.

        A run appends, so that recorded rows are the first of their method. A killed run leaves
        rows behind them that are not recorded. Returned are the methods whose recorded rows are
        not what is stored, and in what way; and those with further rows, and how many.
        """
        content = self.load()
        altered, unrecorded = {}, {}
        for name, mine in _by_method(self.experiment, rows).items():
            count, recorded = content.get("rows", {}).get(name, 0), content["digests"].get(name)
            number = str(recorded).partition(" ")[0]
            if len(mine) < count:
                altered[name] = f"{len(mine)} rows; {count} are recorded"
            elif count and self._digest(mine, number) != recorded:
                altered[name] = f"not the {count} rows that a run has written"
            elif len(mine) > count:
                unrecorded[name] = len(mine) - count
        return altered, unrecorded

    def _digest(self, rows: Iterable[Row], number: str = "") -> str:
        """Return the digest of the first rows; a failed row is left out, as it may be retried."""
        good = [row for row in rows if row.status == "ok"]
        good = good[: int(number) if number.isdecimal() else None]
        return f"{len(good)} {digest(self.experiment, good)}"

    def summarize(self, rows: Mapping[Cell, Row]) -> None:
        """Write totals and digests, if they are others than those that are there."""
        stored = {name: m for name, m in _by_method(self.experiment, rows).items() if m}
        with locked(self.path):
            before = self.load()
            totals = {
                "rows": {name: len(mine) for name, mine in stored.items()},
                "digests": {name: self._digest(mine) for name, mine in stored.items()},
                "failed": sum(row.status != "ok" for row in rows.values()),
                # Rounded as in the file, so that reading it gives the same sum.
                "seconds": round(sum(round(row.seconds, 3) for row in rows.values()), 1),
            }
            if (content := before | self._constant() | totals) != before:
                self._write(content)

    def made_here(self) -> bool:
        """Whether all rows were made on this kind of processor with these NumPy and PyTorch."""
        made = self.load()["environments"]
        return bool(made) and all(_kind(one) == _kind(_environment()) for one in made)

    def _constant(self) -> dict[str, Any]:
        """Return what the manifest says of all rows."""
        experiment = self.experiment
        names = {"experiment": experiment.name, "columns": list(experiment.columns)}
        return {**names, "fixed": dict(experiment.fixed), "design": self._design, **_WORDS}

    def _write(self, content: dict[str, Any]) -> None:
        text = json.dumps(content, indent=1, ensure_ascii=False)
        atomic_write(self.path, f"{text}\n".encode())


def _by_method(experiment: Experiment, rows: Mapping[Cell, Row]) -> dict[str, list[Row]]:
    """Return the rows of every method, in the order of the file."""
    found: dict[str, list[Row]] = {name: [] for name in experiment.methods}
    for cell, row in rows.items():
        found[experiment.method_of(cell)].append(row)
    return found


def _codes(entry: Mapping[str, Any]) -> list[str]:
    """Return the code hashes under which a method's rows may be made."""
    return [part["code"] for part in (entry, *entry.get("found_equal", [])) if "code" in part]


def _plain(content: Any) -> Any:
    """Return content as JSON gives it back."""
    return json.loads(json.dumps(content))


def _environment() -> dict[str, Any]:
    packages = {name: metadata.version(name) for name in _PACKAGES}
    versions = {"python": platform.python_version(), "steinsdr": __version__, **packages}
    machine = {"system": platform.system(), "processor": _processor(), "cores": os.cpu_count()}
    return {"versions": versions, "machine": machine}


def _kind(environment: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what decides how training in single precision rounds."""
    versions = environment["versions"]
    return environment["machine"]["processor"], versions["numpy"], versions["torch"]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line for line in lines if line.startswith("model name")).partition(": ")[2]
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def replay(experiment: Experiment, folder: str | os.PathLike[str], stored: Row) -> bool:
    """Compute a stored row again, without any cache; print the outcome, return if it is the same.

    Networks are held to six digits if all rows in the folder were made on this kind of machine.
    """
    (again,) = experiment.compute([stored.cell])
    here = Manifest(experiment, folder).made_here()
    tolerance = experiment.tolerance(experiment.method_of(stored.cell), same_machine=here)
    same = stored.status == again.status
    if stored.values and again.values:
        same = bool(np.abs(np.subtract(stored.values, again.values)).max() <= tolerance)
    old, new = (", ".join(map(repr, row.values)) or row.status for row in (stored, again))
    verdict = "same within" if same else "NOT the same, tolerance"
    where = "the same kind of machine" if here else "another machine"
    told = f"{verdict} {tolerance:g} on {where}: stored {old}, now {new}"
    key = " ".join(map(str, stored.cell))
    print(f"{experiment.name} {key}: {f'same: {old}' if old == new else told}")
    return same


def check_rows(store: Store) -> dict[str, list[str]]:
    """Return the methods whose code or settings are not those of their rows, and what changed.

    The rows are those that the store has read. ValueError if they are not those that the manifest
    records.
    """
    manifest = Manifest(store.experiment, store.path.parent)
    altered, unrecorded = manifest.compare(store.rows)
    if altered:
        raise ValueError(
            f"rows in {store.path} are not those that {manifest.path.name} records: "
            f"{_told(altered)}. Restore them, or take them as they are: "
            f"steinsdr check {store.experiment.name} --record-rows."
        )
    if unrecorded:
        print(f"{store.path}: rows without a record, as after a killed run: {_told(unrecorded)}.")
    return manifest.changed(dict.fromkeys(map(store.experiment.method_of, store.rows)))


def check_code(
    experiment: Experiment, folder: str | os.PathLike[str], sample: int = 3
) -> dict[str, int]:
    """Replay rows of every method whose code or settings changed, and record that they are equal.

    Returned is how many rows of each such method were replayed, at most ``sample``. ValueError if
    one differs, or rows are not those that the manifest records.
    """
    store, manifest = Store(experiment, folder), Manifest(experiment, folder)
    stored, replayed = _by_method(experiment, store.read()), {}
    if changed := check_rows(store):
        print(f"{experiment.name}: up to {sample} rows of {len(changed)} methods are replayed.")
    for name in changed:
        # Sorted, so that the sample does not depend on the order of computing.
        mine = sorted(stored[name])
        chosen = stream(BASE_SEED, "replay", experiment.name, name).permutation(len(mine))[:sample]
        same = [replay(experiment, folder, mine[k]) for k in chosen]
        if not all(same):
            raise ValueError(
                f"{name}: {same.count(False)} of {len(same)} replayed rows of {store.path} differ "
                "under the present code. Remove its rows to compute them again, or restore the "
                "code."
            )
        replayed[name] = len(same)
        manifest.record([name], replayed=len(same))
    if replayed:
        manifest.summarize(store.rows)  # with the present design, now that all were replayed
    found = f"{sum(replayed.values())} rows of {len(replayed)} methods replayed, all the same."
    nothing = "no code or setting behind the rows changed; nothing replayed."
    print(f"{experiment.name}: rows as recorded; {found if replayed else nothing}")
    return replayed


def replay_sample(experiment: Experiment, folder: str | os.PathLike[str], number: int) -> int:
    """Replay random rows, whatever their code; return how many are not the same."""
    rows = [*Store(experiment, folder).read().values()]
    sample = [rows[k] for k in np.random.default_rng().permutation(len(rows))[:number]]
    seconds = sum(row.seconds for row in sample)
    print(f"{experiment.name}: {len(sample)} random rows, about {seconds:.0f} s or more.")
    return sum(not replay(experiment, folder, row) for row in sample)


def record_rows(experiment: Experiment, folder: str | os.PathLike[str]) -> None:
    """Take the rows as they are, after a merge for example: record them and say what is new."""
    rows, manifest = Store(experiment, folder).read(), Manifest(experiment, folder)
    altered, unrecorded = manifest.compare(rows)
    for what, found in (("ALTERED", altered), ("further", unrecorded)):
        if found:
            print(f"{experiment.name}: {what} rows are now recorded: {_told(found)}.")
    manifest.summarize(rows)


def _told(by_method: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} ({what})" for name, what in by_method.items())


def status(folder: str | os.PathLike[str]) -> str:
    """Return a table of methods: rows of the paper profile there, missing, failed, code, hours."""
    return "\n\n".join(_table(find_experiment(name), folder) for name in EXPERIMENTS)


def _table(experiment: Experiment, folder: str | os.PathLike[str]) -> str:
    rows, manifest = Store(experiment, folder).read(), Manifest(experiment, folder)
    stored, (altered, unrecorded) = _by_method(experiment, rows), manifest.compare(rows)
    lines = [f"{experiment.name:<20}{'stored':>8}{'missing':>9}{'failed':>8}{'hours':>8}  code"]
    for method in experiment.known(experiment.by):
        mine = stored[method]
        missing = {*experiment.cells(only={experiment.by: [method]})} - rows.keys()
        failed = sum(row.status != "ok" for row in mine)
        hours = sum(row.seconds for row in mine) / 3600
        code = ""
        if mine:
            code = "changed" if manifest.changed([method]) else "as recorded"
        if method in altered:
            code += f"; ROWS ALTERED: {altered[method]}"
        elif method in unrecorded:
            code += f"; {unrecorded[method]} rows without a record"
        lines.append(f"{method:<20}{len(mine):>8}{len(missing):>9}{failed:>8}{hours:>8.2f}  {code}")
    return "\n".join(lines)
