"""Table 3 as an experiment: train ratio x labeled share x method x random partition."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from .cells import Row
from .grid import Experiment
from .methods import PAPER_METHODS, Method
from .table3_cells import Table3Cell, Table3Design, compute, group_cells
from .table3_methods import TABLE3_METHODS

__all__ = ["TABLE3", "Table3"]


@dataclass(frozen=True)
class Table3(Experiment):
    """The grid of Table 3; one row of its CSV file per method and random partition."""

    cell_type: ClassVar[type] = Table3Cell
    key_types: ClassVar[Mapping[str, type]] = {"train_ratio": float, "gamma": float, "rep": int}
    methods: ClassVar[Mapping[str, Method]] = TABLE3_METHODS

    design: Table3Design = field(default_factory=Table3Design)  # type: ignore[assignment]

    @property
    def values(self) -> Mapping[str, type]:
        """Selected rank, and the test errors there and at rank 10 as the paper takes them."""
        return {"rank": int, "mse_rhat": float, "mse_r10": float}

    @property
    def further(self) -> Mapping[str, type]:
        """The same errors with the epoch chosen without the test cells."""
        return {"mse_rhat_honest": float, "mse_r10_honest": float}

    def groups(self, cells: Iterable[Table3Cell]) -> Sequence[Any]:
        """Return the cells by repetition and train ratio."""
        return group_cells(cells)

    def compute(self, group: Any, cache: str | os.PathLike[str] | None = None) -> list[Row]:
        """Compute a group; score fits are shared inside it, so that it needs no cache."""
        return compute(self.design, group)

    def describe(self) -> dict[str, Any]:
        """Return what the cells have in common, as plain data for a manifest."""
        return self.design.describe()

    def uses_networks(self, cells: Iterable[Table3Cell]) -> bool:
        """Whether torch is needed: a network predicts from every reduction."""
        return True

    def tolerance(self, method: str) -> float:
        """Return the largest difference at which a replayed number counts as the same.

        The predicting networks are trained in double precision, but side by side or alone, which
        rounds differently.
        """
        return max(super().tolerance(method), 1e-6)


TABLE3 = Table3(
    name="table3",
    axes={
        "train_ratio": (0.6, 0.8),
        "gamma": (0.1, 0.3, 0.5),
        "method": PAPER_METHODS,
    },
    fixed={},
    variants={"method": tuple(name for name in TABLE3_METHODS if name not in PAPER_METHODS)},
    subsets={
        "smoke": {"train_ratio": (0.6,), "gamma": (0.1,), "method": ("SIR", "KSIR", "TRE-sup")},
    },
)
