"""The theory studies as an experiment: study x size x repetition."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from .cells import Row
from .fingerprint import fingerprint
from .grid import Experiment
from .theory_cells import TheoryCell, compute, group_cells
from .theory_studies import STUDIES, Study

__all__ = ["THEORY", "Theory", "TheoryDesign"]


@dataclass(frozen=True)
class TheoryDesign:
    """What the cells have in common: nothing but what is measured."""

    measure: str = "theory"

    def describe(self) -> dict[str, Any]:
        """Return it as plain data for a manifest."""
        return {"measure": self.measure}


@dataclass(frozen=True)
class Theory(Experiment):
    """The studies of the theory chapters; every study has its own sizes and repetitions."""

    cell_type: ClassVar[type] = TheoryCell
    key_types: ClassVar[Mapping[str, type]] = {"size": int, "rep": int}
    methods: ClassVar[Mapping[str, Study]] = STUDIES  # type: ignore[assignment]
    naming: ClassVar[str] = "study"

    design: TheoryDesign = field(default_factory=TheoryDesign)  # type: ignore[assignment]

    @property
    def values(self) -> Mapping[str, type]:
        """What the study measures, and the error of the score it used."""
        return {"value": float, "score_error": float}

    def groups(self, cells: Iterable[TheoryCell]) -> Sequence[Any]:
        """Return the cells by repetition, family and size."""
        return group_cells(cells)

    def compute(self, group: Any, cache: str | os.PathLike[str] | None = None) -> list[Row]:
        """Compute a group; there is nothing to share with other runs."""
        return compute(group)

    def describe(self) -> dict[str, Any]:
        """Return what the cells have in common, as plain data for a manifest."""
        return self.design.describe()

    def signature(self, method: str) -> dict[str, Any]:
        """Return what decides a study's numbers: settings, and a hash of the code."""
        study = self.methods[method]
        return {**study.describe(), "code": fingerprint(study.family, self.measure)}

    def uses_networks(self, cells: Iterable[TheoryCell]) -> bool:
        """Whether torch is needed; importing it takes seconds."""
        return any(STUDIES[cell.study].family == "score-network" for cell in cells)

    def tolerance(self, method: str) -> float:
        """Return the largest difference at which a replayed number counts as the same."""
        return 0.05 if STUDIES[method].family == "score-network" else 1e-8

    def cells(
        self, profile: str = "paper", only: Mapping[str, Iterable[str]] | None = None
    ) -> list[TheoryCell]:
        """Return the cells of a profile that pass a filter, each study at its own sizes.

        The paper's profile has as many repetitions as the study asks for, unless named.

        Raises
        ------
        ValueError
            If a name or value is unknown, or no study has a size that is asked for.

        Examples
        --------
        >>> len(THEORY.cells("smoke", {"study": ["split-q"]}))
        10
        """
        named = "rep" in (only or {})
        asked = super().cells(profile, only)
        found = [
            cell
            for cell in asked
            if cell.size in STUDIES[cell.study].sizes
            and (named or cell.rep < STUDIES[cell.study].repetitions)
        ]
        if asked and not found:
            sizes = ", ".join(str(size) for size in sorted({cell.size for cell in asked}))
            have = "; ".join(
                f"{name}: {', '.join(map(str, STUDIES[name].sizes))}"
                for name in dict.fromkeys(cell.study for cell in asked)
            )
            raise ValueError(f"size must be one that a study asked for has ({have}); got {sizes}.")
        return found


THEORY = Theory(
    name="theory",
    axes={
        "study": tuple(STUDIES),
        "size": tuple(sorted({size for study in STUDIES.values() for size in study.sizes})),
    },
    fixed={},
    repetitions={
        "smoke": 2,
        "laptop": 10,
        "paper": max(study.repetitions for study in STUDIES.values()),
    },
)
