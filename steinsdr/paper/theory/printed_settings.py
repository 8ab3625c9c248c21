"""The settings that tables of the paper's appendix print, beside the package's defaults."""

from __future__ import annotations

import inspect
import tomllib
from pathlib import Path
from pydoc import locate
from typing import Any

import pandas as pd


def compare_settings() -> pd.DataFrame:
    """Return the settings that the paper's tables print, beside the defaults.

    Columns are table (its label in the paper's source), used_by, setting, printed, default, same,
    and readable names of used_by and setting (part, meaning).
    """
    tables = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    readable = tables.pop("readable")
    rows = []
    for table, users in tables.items():
        for path, settings in users.items():
            user: Any = locate(path)
            parameters = inspect.signature(user).parameters
            for setting, value in settings.items():
                printed = tuple(value) if isinstance(value, list) else value
                default = parameters[setting].default
                names = readable[user.__name__], readable[setting]
                compared = printed, default, default == printed
                rows.append((table, user.__name__, setting, *compared, *names))
    columns = ["table", "used_by", "setting", "printed", "default", "same", "part", "meaning"]
    # As objects, or whole numbers would be shown as decimal ones beside others.
    return pd.DataFrame(rows, columns=columns, dtype=object).astype({"same": bool})
