"""Shared fixtures: where reference files are, and small data sets."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
DATA = Path(os.environ.get("STEINSDR_DATA", ROOT.parent / "shared" / "data"))


def reference_folder() -> Path:
    """Folder with outputs of independent programs: STEINSDR_REFERENCE or beside the checkout."""
    return Path(os.environ.get("STEINSDR_REFERENCE", ROOT.parent / "shared" / "reference"))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240)


@pytest.fixture(scope="session")
def ledger():
    """The ledger of the committed rows."""
    from steinsdr.paper.ledger import Ledger

    return Ledger.build(ROOT / "book" / "results", ROOT / "book" / "paper")


@pytest.fixture(scope="session")
def paper_cells(tmp_path_factory):
    """The cells of the paper's tables, with the paper's own means and deviations as ours."""
    from steinsdr.paper.ledger import Ledger

    frame = Ledger.build(tmp_path_factory.mktemp("empty"), ROOT / "book" / "paper").cells
    return frame.assign(
        mean=frame["paper_mean"], sd=frame["paper_sd"], reps=100, z=0.0, verdict="agrees"
    )
