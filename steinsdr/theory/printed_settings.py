"""The settings that the paper's appendix prints in tables, against the package's defaults."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pandas as pd

from .._validation import check_choice
from ..baselines import DominanceRank, MLPDirections
from ..evaluation import evaluate_reductions
from ..rank import AdaptiveRank
from ..scores import DenoisingScore, TikhonovScore

__all__ = ["PRINTED", "compare_settings"]

PRINTED: dict[str, list[tuple[Callable[..., Any], dict[str, object]]]] = {
    "tab:dnn_score": [
        (
            DenoisingScore,
            {
                "sigma": 0.1,
                "hidden": 256,
                "dropout": 0.3,
                "epochs": 150,
                "batch_size": 256,
                "learning_rate": 1e-3,
                "weight_decay": 1e-5,
                "standardize": True,
            },
        ),
    ],
    "tab:numethod": [(TikhonovScore, {"lam": 1e-4, "standardize": True})],
    "tab:mlp_baseline": [
        (
            MLPDirections,
            {"hidden": (256, 128), "epochs": 100, "batch_size": 64, "learning_rate": 1e-3},
        ),
    ],
    "tab:eval_mlp": [
        (
            evaluate_reductions,
            {"hidden": 32, "epochs": 200, "batch_size": 64, "learning_rate": 1e-3, "max_norm": 1.0},
        ),
    ],
    "tab:rank-params": [
        (AdaptiveRank, {"energy": 0.95, "quantile": 0.90, "n_permutations": 200}),
        (DominanceRank, {"energy_heavy": 0.95, "energy_light": 0.90, "dominance": 0.85}),
    ],
}
"""What each table prints, by its label in the paper's source: who has the settings, and which."""


def compare_settings(label: str) -> pd.DataFrame:
    """Return the settings of one of the paper's tables beside the defaults.

    Columns are used_by, setting, printed, default, same.

    Examples
    --------
    >>> bool(compare_settings("tab:numethod").same.all())
    True
    """
    check_choice(label, "label", tuple(PRINTED))
    rows = []
    for factory, printed in PRINTED[label]:
        parameters = inspect.signature(factory).parameters
        for setting, value in printed.items():
            default = parameters[setting].default
            rows.append((factory.__name__, setting, value, default, bool(default == value)))
    columns = ["used_by", "setting", "printed", "default", "same"]
    # As objects, or whole numbers would be shown as decimal ones beside others.
    return pd.DataFrame(rows, columns=columns, dtype=object).astype({"same": bool})
