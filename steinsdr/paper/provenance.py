"""What stands beside a table's rows, and whether they can be computed again.

A manifest holds settings, seeds, versions, code hashes, the machine and totals. A replay computes
stored rows again from nothing and says whether they are the same numbers.
"""

from __future__ import annotations

import json
import os
import platform
from collections import defaultdict
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..simulation import BASE_SEED, stream
from .experiment import EXPERIMENTS, Cell, Experiment, Row, find_experiment
from .store import Store, atomic_write, digest, locked

__all__ = [
    "Manifest",
    "check_code",
    "check_rows",
    "record_rows",
    "replay",
    "replay_sample",
    "status",
]


_SEEDS = (
    "repetition k has seed 42 + k; every draw comes from a stream of steinsdr.simulation named by "
    "what it is for"
)
_SECONDS = "one core, one thread; a score fit's time is shared by its cells, 0 if it was cached"
_DIGESTS = "number of rows that are ok, and the start of the SHA-256 of their lines, in order"
_PACKAGES = ("numpy", "scipy", "scikit-learn", "torch", "joblib")

# What is read back from a manifest, where it is there.
_PARTS = {"methods": dict, "rows": dict, "digests": dict, "environments": list}


class Manifest:
    """``<name>.manifest.json`` beside ``<name>.csv``.

    For every method with rows it holds the signature under which they were made. A signature
    that changed is recorded as equal only after a replay said so; the old code hash is kept.
    """

    def __init__(self, experiment: Experiment, folder: str | os.PathLike[str]) -> None:
        self.experiment = experiment
        self.path = Path(folder) / f"{experiment.name}.manifest.json"

    def load(self) -> dict[str, Any]:
        """Return its content, empty if there is none; ValueError if the file is no manifest."""
        if not self.path.exists():
            return {}
        try:
            content = json.loads(self.path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{self.path} is not JSON ({error}); restore it.") from error
        if not isinstance(content, dict):
            raise ValueError(f"{self.path} holds {content!r}; expected a manifest. Restore it.")
        for name, kind in _PARTS.items():
            if not isinstance(found := content.get(name, kind()), kind):
                raise ValueError(
                    f"{self.path}: {name} is {found!r}; expected a {kind.__name__}. Restore it."
                )
        for name, entry in content.get("methods", {}).items():
            if not isinstance(entry, dict) or "code" not in entry:
                raise ValueError(
                    f"{self.path}: methods: {name} is {entry!r}; expected an object with the key "
                    "code. Restore it."
                )
        return content

    def changed(self, methods: Iterable[str]) -> dict[str, list[str]]:
        """Return for each method whose signature differs from the recorded one, in what.

        A method that is not recorded differs in the "record".
        """
        content = self.load()
        recorded = content.get("methods", {})
        found = {}
        for name in methods:
            if name not in recorded:
                found[name] = ["record"]
                continue
            made_for = recorded[name].get("design", content.get("design"))
            design = [] if made_for == self._design() else ["design"]
            now = _plain(self.experiment.signature(name))
            then = {key: recorded[name].get(key) for key in now}
            if now["code"] in _codes(recorded[name]):
                then["code"] = now["code"]
            if differing := design + [key for key in now if now[key] != then[key]]:
                found[name] = differing
        return found

    def record(self, methods: Iterable[str], *, replayed: int = 0) -> None:
        """Record the current signatures; ``replayed`` counts the rows that were found equal.

        Without any, rows are about to be made, and versions and machine are recorded, too.
        """
        with locked(self.path):
            content = self.load()
            if not replayed:
                now, seen = _environment(), content.get("environments", [])
                content |= {**now, "environments": seen if now in seen else [*seen, now]}
            recorded = content.setdefault("methods", {})
            if (old := content.get("design", self._design())) != self._design():
                for other in recorded.values():  # rows that nobody replayed keep the old design
                    other.setdefault("design", old)
            for name in methods:
                before = recorded.get(name, {})
                entry = self.experiment.signature(name)
                if not replayed and entry["code"] in _codes(before):
                    entry["code"] = before["code"]  # a later version, found equal to this one
                entry["note"] = self.experiment.methods[name].note
                entry["tolerance"] = self.experiment.tolerance(name)
                history = [h for h in before.get("found_equal", []) if h["code"] != entry["code"]]
                if before and before["code"] != entry["code"]:
                    # Not replayed: the rows of the old code are gone, and nothing is known of it.
                    known = {"code": before["code"], "rows_replayed": replayed}
                    history = [*history, known] if replayed else []
                if history:
                    entry["found_equal"] = history
                recorded[name] = entry
            content["methods"] = self._ordered(recorded)
            content["design"] = self._design()
            self._write(content)

    def compare(self, rows: Mapping[Cell, Row]) -> tuple[dict[str, str], dict[str, int]]:
        """Compare rows, in the order of the file, with the digests of the last run.

        A run appends, so that recorded rows are the first of their method. A killed run leaves
        rows behind them that are not recorded. Returned are the methods whose recorded rows are
        not what is stored, and in what way; and those with further rows, and how many.
        """
        content = self.load()
        counts, digests = content.get("rows", {}), content.get("digests", {})
        stored = self.by_method(rows)
        altered, unrecorded = {}, {}
        for name in self.experiment.methods:
            mine = stored[name]
            count = counts.get(name, 0) if name in digests else 0
            number = str(digests.get(name)).partition(" ")[0]
            if len(mine) < count:
                altered[name] = f"{len(mine)} rows; {count} are recorded"
            elif count and self._digest(mine, number) != digests[name]:
                altered[name] = f"not the {count} rows that a run has written"
            elif len(mine) > count:
                unrecorded[name] = len(mine) - count
        return altered, unrecorded

    def by_method(self, rows: Mapping[Cell, Row]) -> defaultdict[str, list[Row]]:
        """Return the rows of each method, in the order of the file."""
        found: defaultdict[str, list[Row]] = defaultdict(list)
        for cell, row in rows.items():
            found[self.experiment.method_of(cell)].append(row)
        return found

    def _digest(self, rows: Iterable[Row], number: str = "") -> str:
        """Return the digest of the first rows; a failed row is left out, as it may be retried."""
        good = [row for row in rows if row.status == "ok"]
        good = good[: int(number) if number.isdecimal() else None]
        return f"{len(good)} {digest(self.experiment, good)}"

    def summarize(self, rows: Mapping[Cell, Row], *, accept: bool = False) -> None:
        """Write totals and digests, if they are others than those that are there.

        Altered rows keep the record that they do not match, unless ``accept`` is true.
        """
        with locked(self.path):
            before = self.load()
            altered = {} if accept else self.compare(rows)[0]
            stored = self.by_method(rows)
            digests = {name: self._digest(mine) for name, mine in stored.items()}
            counts = {name: len(mine) for name, mine in stored.items()}
            digests |= {name: before["digests"][name] for name in altered}
            counts |= {name: before["rows"][name] for name in altered}
            content = before | {
                "experiment": self.experiment.name,
                "columns": list(self.experiment.columns),
                "fixed": dict(self.experiment.fixed),
                "seeds": _SEEDS,
                "rows": self._ordered(counts),
                "digests": self._ordered(digests),
                "digests_are": _DIGESTS,
                "failed": sum(row.status != "ok" for row in rows.values()),
                # Rounded as in the file, so that reading it gives the same sum.
                "seconds": round(sum(round(row.seconds, 3) for row in rows.values()), 1),
                "seconds_are": _SECONDS,
            }
            if content != before:
                self._write(content)

    def made_here(self) -> bool:
        """Whether all rows were made on this kind of processor with these NumPy and PyTorch."""
        made = self.load().get("environments", [])
        return bool(made) and all(_kind(one) == _kind(_environment()) for one in made)

    def _design(self) -> dict[str, Any]:
        return _plain(dict(self.experiment.design))

    def _ordered(self, by_method: Mapping[str, Any]) -> dict[str, Any]:
        return {name: by_method[name] for name in self.experiment.methods if name in by_method}

    def _write(self, content: dict[str, Any]) -> None:
        text = json.dumps(content, indent=1, ensure_ascii=False)
        atomic_write(self.path, f"{text}\n".encode())


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
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        return names[0]
    except (OSError, IndexError):
        return platform.processor() or platform.machine()


_LOOSE = 0.01  # only networks have a larger tolerance
_STRICT = 1e-6  # their tolerance where the same machine should give the same digits


def replay(experiment: Experiment, folder: str | os.PathLike[str], stored: Row) -> bool:
    """Compute a stored row again, without any cache; print the outcome, return if it is the same.

    Networks are held to six digits if all rows in the folder were made on this kind of machine.
    """
    (again,) = experiment.compute([stored.cell])
    tolerance, where = experiment.tolerance(experiment.method_of(stored.cell)), "another machine"
    if Manifest(experiment, folder).made_here():
        where = "the same kind of machine"
        tolerance = _STRICT if tolerance > _LOOSE else tolerance
    same = stored.status == again.status
    if stored.values and again.values:
        same = bool(np.abs(np.subtract(stored.values, again.values)).max() <= tolerance)
    old, new = (", ".join(map(repr, row.values)) or row.status for row in (stored, again))
    verdict = "same within" if same else "NOT the same, tolerance"
    told = f"{verdict} {tolerance:g} on {where}: stored {old}, now {new}"
    key = " ".join(map(str, stored.cell))
    print(f"{experiment.name} {key}: {f'same: {old}' if old == new else told}")
    return same


def check_rows(store: Store) -> dict[str, list[str]]:
    """Return the methods whose code or settings are not those of their rows, and what changed.

    The rows are those that the store has read.

    Raises
    ------
    ValueError
        If rows are not those that the manifest records.
    """
    manifest = Manifest(store.experiment, store.path.parent)
    altered, unrecorded = manifest.compare(store.rows)
    if altered:
        raise ValueError(
            f"rows in {store.path} are not those that {manifest.path.name} records: "
            f"{_by_name(altered)}. Restore them, or take them as they are: "
            f"steinsdr check {store.experiment.name} --record-rows."
        )
    if unrecorded:
        print(
            f"{store.path}: rows without a record, as after a killed run: {_by_name(unrecorded)}."
        )
    return manifest.changed(manifest.by_method(store.rows))


def check_code(
    experiment: Experiment, folder: str | os.PathLike[str], sample: int = 3
) -> dict[str, int]:
    """Replay rows of every method whose code or settings changed, and record that they are equal.

    Returned is how many rows of each such method were replayed, at most ``sample``.

    Raises
    ------
    ValueError
        If a replayed row differs, or rows are not those that the manifest records.
    """
    store, manifest = Store(experiment, folder), Manifest(experiment, folder)
    stored, replayed = manifest.by_method(store.read()), {}
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
    return replayed


def _by_name(by_method: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} ({what})" for name, what in by_method.items())


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
    manifest.summarize(rows, accept=True)
    for what, found in (("ALTERED", altered), ("further", unrecorded)):
        if found:
            print(f"{experiment.name}: {what} rows are now recorded: {_by_name(found)}.")


def status(folder: str | os.PathLike[str]) -> str:
    """Return a table of methods: rows of the paper profile there, missing, failed, code, hours."""
    return "\n\n".join(_table(find_experiment(name), folder) for name in EXPERIMENTS)


def _table(experiment: Experiment, folder: str | os.PathLike[str]) -> str:
    rows, manifest = Store(experiment, folder).read(), Manifest(experiment, folder)
    stored = manifest.by_method(rows)
    changed, (altered, unrecorded) = manifest.changed(stored), manifest.compare(rows)
    lines = [f"{experiment.name:<20}{'stored':>8}{'missing':>9}{'failed':>8}{'hours':>8}  code"]
    for method in experiment.known(experiment.by):
        mine = stored[method]
        missing = {*experiment.cells(only={experiment.by: [method]})} - rows.keys()
        failed = sum(row.status != "ok" for row in mine)
        hours = sum(row.seconds for row in mine) / 3600
        code = "" if not mine else "changed" if method in changed else "as recorded"
        if method in altered:
            code += f"; ROWS ALTERED: {altered[method]}"
        elif method in unrecorded:
            code += f"; {unrecorded[method]} rows without a record"
        lines.append(f"{method:<20}{len(mine):>8}{len(missing):>9}{failed:>8}{hours:>8.2f}  {code}")
    return "\n".join(lines)
