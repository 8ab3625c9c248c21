"""What stands beside a table's rows: settings, seeds, versions, code hashes, machine, totals."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from .. import __version__
from .cells import Row
from .grid import Experiment
from .store import atomic_write, locked

__all__ = ["Manifest", "environments", "read_manifest"]

SEEDS = (
    "repetition k has seed 42 + k; every draw comes from a stream of steinsdr.streams named by "
    "what it is for"
)
SECONDS = "one core, one thread; a score fit's time is shared by its cells, 0 if it was cached"
_PACKAGES = ("numpy", "scipy", "scikit-learn", "torch", "joblib")


def read_manifest(path: Path) -> dict[str, Any]:
    """Return a manifest's content; ValueError names the file if it is none."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not JSON ({error}); restore it.") from error
    if not isinstance(content, dict):
        found = type(content).__name__
        raise ValueError(f"{path} is not a manifest: a {found}, not an object; restore it.")
    return content


def environments(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the versions and machines that rows were made with, the first ones first.

    A manifest of an earlier version of the package knows the last ones alone.
    """
    keys = ("versions", "machine")
    last = [{key: content[key] for key in keys}] if content.keys() >= set(keys) else []
    return content.get("environments", last)


class Manifest:
    """``<name>.manifest.json`` beside ``<name>.csv``.

    For every method with rows it holds the signature under which they were made. A signature
    that changed is recorded as equal only after a replay said so; the old code hash is kept.
    """

    def __init__(self, experiment: Experiment, folder: str | os.PathLike[str]) -> None:
        self.experiment = experiment
        self.path = Path(folder) / f"{experiment.name}.manifest.json"

    def load(self) -> dict[str, Any]:
        """Return its content; empty if there is none."""
        return read_manifest(self.path) if self.path.exists() else {}

    def changed(self, methods: Iterable[str]) -> dict[str, list[str]]:
        """Return for each method whose signature differs from the recorded one, in what.

        A method that is not recorded is not reported.
        """
        content = self.load()
        recorded = content.get("methods", {})
        found = {}
        for name in methods:
            if name not in recorded:
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

    def unrecorded(self, rows: Mapping[Any, Row]) -> list[str]:
        """Return the methods that have rows but no recorded signature."""
        recorded = self.load().get("methods", {})
        return sorted({row.cell.method for row in rows.values()} - recorded.keys())

    def record(self, methods: Iterable[str], *, replayed: Mapping[str, int] | None = None) -> None:
        """Record the current signatures; ``replayed`` counts the rows that were found equal.

        Without it rows are about to be made, and versions and machine are recorded, too.
        """
        with locked(self.path):
            content = self.load()
            if not replayed:
                _add_environment(content)
            recorded = content.setdefault("methods", {})
            if (old := content.get("design", self._design())) != self._design():
                for other in recorded.values():  # rows that nobody replayed keep the old design
                    other.setdefault("design", old)
            for name in methods:
                before = recorded.get(name, {})
                entry = self.experiment.signature(name)
                if not replayed and entry["code"] in _codes(before):
                    entry["code"] = before["code"]  # a later version, found equal to this one
                method = self.experiment.methods[name]
                entry["note"] = method.note
                entry["tolerance"] = self.experiment.tolerance(name)
                history = [h for h in before.get("found_equal", []) if h["code"] != entry["code"]]
                if before and before["code"] != entry["code"]:
                    rows = (replayed or {}).get(name, 0)
                    # Not replayed: the rows of the old code are gone, and nothing is known of it.
                    known = {"code": before["code"], "rows_replayed": rows}
                    history = [*history, known] if rows else []
                if history:
                    entry["found_equal"] = history
                recorded[name] = entry
            content["methods"] = self._ordered(recorded)
            content["design"] = self._design()
            self._write(content)

    def summarize(self, rows: Mapping[Any, Row]) -> None:
        """Write totals, if they are others than those that are there."""
        with locked(self.path):
            before = self.load()
            content = dict(before)
            if not environments(content):
                _add_environment(content)
            counts: dict[str, int] = {}
            for row in rows.values():
                counts[row.cell.method] = counts.get(row.cell.method, 0) + 1
            content |= {
                "experiment": self.experiment.name,
                "columns": list(self.experiment.columns),
                "fixed": dict(self.experiment.fixed),
                "seeds": SEEDS,
                "rows": self._ordered(counts),
                "failed": sum(row.status != "ok" for row in rows.values()),
                # Rounded as in the file, so that reading it gives the same sum.
                "seconds": round(sum(round(row.seconds, 3) for row in rows.values()), 1),
                "seconds_are": SECONDS,
            }
            if content != before:
                self._write(content)

    def made_here(self) -> bool:
        """Whether all rows were made on this kind of processor with these NumPy and PyTorch."""
        made = environments(self.load())
        return bool(made) and all(_kind(one) == _kind(_environment()) for one in made)

    def _design(self) -> dict[str, Any]:
        return _plain(self.experiment.describe())

    def _ordered(self, by_method: Mapping[str, Any]) -> dict[str, Any]:
        return {name: by_method[name] for name in self.experiment.methods if name in by_method}

    def _write(self, content: dict[str, Any]) -> None:
        order = ("experiment", "columns", "fixed", "design", "seeds")
        last = ("versions", "machine", "environments")
        ordered = {key: content[key] for key in order if key in content}
        ordered |= {key: value for key, value in content.items() if key not in last}
        ordered |= {key: content[key] for key in last if key in content}
        text = json.dumps(ordered, indent=1, ensure_ascii=False)
        atomic_write(self.path, f"{text}\n".encode())


def _codes(entry: Mapping[str, Any]) -> list[str]:
    """Return the code hashes under which a method's rows may be made."""
    return [part["code"] for part in (entry, *entry.get("found_equal", [])) if "code" in part]


def _plain(content: Any) -> Any:
    """Return content as JSON gives it back."""
    return json.loads(json.dumps(content))


def _add_environment(content: dict[str, Any]) -> None:
    now = _environment()
    seen = environments(content)
    content |= {**now, "environments": seen if now in seen else [*seen, now]}


def _environment() -> dict[str, Any]:
    machine = {
        "system": platform.system(),
        "processor": _processor(),
        "cores": os.cpu_count(),
    }
    return {"versions": _versions(), "machine": machine}


def _kind(environment: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what decides how training in single precision rounds."""
    versions = environment["versions"]
    return environment["machine"]["processor"], versions["numpy"], versions["torch"]


def _versions() -> dict[str, str]:
    packages = {name: metadata.version(name) for name in _PACKAGES}
    return {"python": platform.python_version(), "steinsdr": __version__, **packages}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        return names[0]
    except (OSError, IndexError):
        return platform.processor() or platform.machine()
