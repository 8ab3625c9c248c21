"""What was computed, on what and for how long: the manifests beside the results, as tables."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pandas as pd

from .experiments import EXPERIMENTS
from .experiments.manifest import environments, read_manifest
from .ledger_page import title_of

__all__ = ["computing_table", "load_manifests", "rows_table"]

_SUFFIX = ".manifest.json"


def load_manifests(folder: str | os.PathLike[str]) -> dict[str, dict[str, Any]]:
    """Return the manifests of a results folder by the name of their experiment, sorted.

    Totals are written when a run ends; an experiment whose first run has not is left out.

    Raises
    ------
    ValueError
        If there is none, or one is no manifest.
    """
    paths = sorted(Path(folder).glob(f"*{_SUFFIX}"))
    contents = {p.name.removesuffix(_SUFFIX): read_manifest(p) for p in paths}
    found = {name: content for name, content in contents.items() if "rows" in content}
    if not found:
        raise ValueError(
            f"folder {folder} has {len(paths)} file(s) *{_SUFFIX}, none with totals; expected one "
            "per experiment."
        )
    return found


def rows_table(folder: str | os.PathLike[str]) -> pd.DataFrame:
    """Return stored rows by method and table, as "stored of wanted by the paper's profile".

    A variant that the paper does not have is wanted by nobody: "stored" alone. The theory studies,
    which have no methods, are left out.
    """
    columns = {}
    for name, manifest in load_manifests(folder).items():
        experiment = EXPERIMENTS.get(name)
        if experiment is not None and experiment.naming != "method":
            continue
        paper = [] if experiment is None else list(experiment.axes["method"])
        rows = manifest["rows"]
        told = {}
        for method in [*paper, *(m for m in rows if m not in paper)]:
            stored = f"{rows.get(method, 0)}"
            if experiment is not None and method in paper:
                stored += f" of {len(experiment.cells('paper', {'method': [method]}))}"
            told[method] = stored
        columns[title_of(name)] = told
    return pd.DataFrame(columns).fillna("")


def computing_table(folder: str | os.PathLike[str]) -> pd.DataFrame:
    """Return one row per experiment: rows, failures, hours of one core, machines and versions."""
    records = {
        title_of(name): {
            "rows": sum(manifest["rows"].values()),
            "failed": manifest["failed"],
            "hours on one core": round(manifest["seconds"] / 3600, 1),
            "processor": _listed(manifest, "machine", "processor"),
            "cores": _listed(manifest, "machine", "cores"),
            "Python": _listed(manifest, "versions", "python"),
            "NumPy": _listed(manifest, "versions", "numpy"),
            "PyTorch": _listed(manifest, "versions", "torch"),
        }
        for name, manifest in load_manifests(folder).items()
    }
    return pd.DataFrame.from_dict(records, orient="index")


def _listed(manifest: dict[str, Any], part: str, name: str) -> str:
    """Return what the rows were made with; several of it if it changed."""
    return ", ".join(dict.fromkeys(str(one[part][name]) for one in environments(manifest)))
