"""The experiments by name: the paper's tables, and the studies of the theory chapters."""

from __future__ import annotations

from .rates import THEORY
from .study import TABLE1, TABLE2, Experiment
from .table3 import TABLE3

__all__ = ["EXPERIMENTS"]


EXPERIMENTS: dict[str, Experiment] = {e.name: e for e in (TABLE1, TABLE2, TABLE3, THEORY)}
