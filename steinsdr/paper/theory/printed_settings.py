"""The settings that tables of the paper's appendix print, beside the package's defaults."""

from __future__ import annotations

import inspect
import tomllib
from pathlib import Path
from typing import Any

import pandas as pd

from ...baselines import DominanceRank, MLPDirections
from ...rank import AdaptiveRank
from ...scores import DenoisingScore, TikhonovScore
from ..network import train_networks

_USERS: tuple[Any, ...] = (
    DenoisingScore,
    TikhonovScore,
    MLPDirections,
    train_networks,
    AdaptiveRank,
    DominanceRank,
)


def compare_settings() -> pd.DataFrame:
    """Return the settings that the paper's tables print, beside the defaults.

    Columns are table (its label in the paper's source), used_by, setting, printed, default, same.
    """
    tables = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    users = {user.__name__: user for user in _USERS}
    rows = []
    for table, names in tables.items():
        for name, settings in names.items():
            parameters = inspect.signature(users[name]).parameters
            for setting, value in settings.items():
                printed = tuple(value) if isinstance(value, list) else value
                default = parameters[setting].default
                rows.append((table, name, setting, printed, default, bool(default == printed)))
    columns = ["table", "used_by", "setting", "printed", "default", "same"]
    # As objects, or whole numbers would be shown as decimal ones beside others.
    return pd.DataFrame(rows, columns=columns, dtype=object).astype({"same": bool})
