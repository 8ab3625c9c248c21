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
from .fingerprint import modules
from .grid import Experiment
from .store import atomic_write, locked

__all__ = ["Manifest"]

SEEDS = (
    "repetition k has seed 42 + k; every draw comes from a stream of steinsdr.streams named by "
    "what it is for"
)
SECONDS = "one core, one thread; a score fit's time is shared by its cells, 0 if it was cached"
_PACKAGES = ("numpy", "scipy", "scikit-learn", "torch", "joblib")


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
        if not self.path.exists():
            return {}
        try:
            return json.loads(self.path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{self.path} is not JSON ({error}); restore it.") from error

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
        """Record the current signatures; ``replayed`` counts the rows that were found equal."""
        with locked(self.path):
            content = self.load()
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
                entry["modules"] = modules(method.family, self.experiment.measure)
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
        """Write totals and surroundings; the signatures stay."""
        with locked(self.path):
            content = self.load()
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
                "seconds": round(sum(row.seconds for row in rows.values()), 1),
                "seconds_are": SECONDS,
                "versions": _versions(),
                "machine": {
                    "system": platform.system(),
                    "processor": _processor(),
                    "cores": os.cpu_count(),
                },
            }
            self._write(content)

    def _design(self) -> dict[str, Any]:
        return _plain(self.experiment.describe())

    def _ordered(self, by_method: Mapping[str, Any]) -> dict[str, Any]:
        return {name: by_method[name] for name in self.experiment.methods if name in by_method}

    def _write(self, content: dict[str, Any]) -> None:
        order = ("experiment", "columns", "fixed", "design", "seeds")
        ordered = {key: content[key] for key in order if key in content} | content
        text = json.dumps(ordered, indent=1, ensure_ascii=False)
        atomic_write(self.path, f"{text}\n".encode())


def _codes(entry: Mapping[str, Any]) -> list[str]:
    """Return the code hashes under which a method's rows may be made."""
    return [part["code"] for part in (entry, *entry.get("found_equal", [])) if "code" in part]


def _plain(content: Any) -> Any:
    """Return content as JSON gives it back."""
    return json.loads(json.dumps(content))


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
