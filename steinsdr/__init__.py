"""Sufficient dimension reduction via the generalized Stein's lemma.

Responses depend on covariates x through a few indices, y = F(B'x) + noise. The class ``SteinSDR``
estimates the central subspace, which is the span of B, from the mean product of responses and
estimated scores of x. Each step has a module: :mod:`steinsdr.simulation` draws data,
:mod:`steinsdr.scores` estimates the score, :mod:`steinsdr.moments` forms the mean product, and
:mod:`steinsdr.subspace` and :mod:`steinsdr.rank` find the subspace and its dimension.
"""

__version__ = "0.4.0"

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .estimator import SteinSDR
    from .rank import AdaptiveRank, HardThreshold, SequentialRank
    from .regressor import LabeledOnly, SteinRegressor

__all__ = [
    "AdaptiveRank",
    "HardThreshold",
    "LabeledOnly",
    "SequentialRank",
    "SteinRegressor",
    "SteinSDR",
    "__version__",
]

_HOMES = {"SteinSDR": "estimator", "LabeledOnly": "regressor", "SteinRegressor": "regressor"}


def __getattr__(name: str) -> Any:
    """Import what is asked for: the command line speaks, and stops, before NumPy is there."""
    if name in __all__:
        return getattr(importlib.import_module(f".{_HOMES.get(name, 'rank')}", __name__), name)
    try:
        return importlib.import_module(f".{name}", __name__)
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.{name}":
            raise
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
