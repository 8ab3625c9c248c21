"""Experiments: declared grids of independent cells, their profiles and filters.

:class:`Experiment` is the interface that runner, store, manifest and replay work with; as it stands
it serves the simulation tables. Table 3 overrides what differs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, ClassVar

from .._base import check_choice
from .fingerprint import fingerprint
from .methods import METHODS, NETWORKS, PAPER_METHODS, Method, tolerance
from .simulations import MAX_RANK, Cell, Design, Row, ScoreCache, compute, group_cells

__all__ = ["PROFILES", "TABLE1", "TABLE2", "Experiment", "parse_only"]


PROFILES = ("smoke", "laptop", "paper")
Axes = Mapping[str, tuple[Any, ...]]

_LAWS = ("isotropic", "ar1", "lognormal", "exp_ar1")
_LAW_VARIANTS = ("exp_ar1_literal",)
# Networks on 10,000 points take minutes each.
_LAPTOP_METHODS = tuple(m for m in PAPER_METHODS if m not in ("NN-split", "NN-full"))


@dataclass(frozen=True)
class Experiment:
    """A grid law x (n or r) x method x repetition; one row of its CSV file per cell.

    Attributes
    ----------
    name : str
        Also the stem of its files.
    axes : mapping of str to tuple
        Values of ``law``, of ``n`` or ``r``, and of ``method``, as run by default.
    fixed : mapping
        The one of n and r that does not vary.
    design : Design
        Dimensions, links, and what is measured.
    variants : mapping of str to tuple
        Further values of the axes, run only when a filter names them.
    repetitions : mapping of str to int
        By profile.
    subsets : mapping of str to axes
        By profile: what it leaves out, unless a filter names it.
    """

    name: str
    axes: Axes
    fixed: Mapping[str, Any]
    design: Design
    variants: Axes = field(default_factory=dict)
    repetitions: Mapping[str, int] = field(
        default_factory=lambda: {"smoke": 2, "laptop": 10, "paper": 100}
    )
    subsets: Mapping[str, Axes] = field(default_factory=dict)

    cell_type: ClassVar[type] = Cell
    key_types: ClassVar[Mapping[str, type]] = {"n": int, "r": int, "rep": int}
    methods: ClassVar[Mapping[str, Method]] = METHODS
    naming: ClassVar[str] = "method"  # the axis whose values are the keys of ``methods``

    @property
    def keys(self) -> tuple[str, ...]:
        """Columns that identify a row."""
        return (*self.axes, "rep")

    @property
    def measure(self) -> str:
        """What is measured; with the family it decides which code matters."""
        return self.design.measure

    @property
    def values(self) -> Mapping[str, type]:
        """Columns that hold the result, and their types."""
        return {"distance": float} if self.measure == "distance" else {"rank": int, "error": int}

    @property
    def further(self) -> Mapping[str, type]:
        """Columns of results that stand at the end of a row."""
        return {}

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of the CSV file."""
        return (*self.keys, *self.values, "status", "seconds", *self.further)

    def groups(self, cells: Iterable[Any]) -> Sequence[Any]:
        """Return the cells in groups that are computed together; each has ``cells`` and ``cost``.

        The order is that of dispatch.
        """
        return group_cells(self.design, cells)

    def compute(self, group: Any, cache: str | os.PathLike[str] | None = None) -> list[Row]:
        """Compute a group; ``cache`` is a folder of score fits shared with other runs."""
        return compute(self.design, group, ScoreCache(cache))

    def describe(self) -> dict[str, Any]:
        """Return what the cells have in common, as plain data for a manifest."""
        return {**self.design.describe(), "max_rank": MAX_RANK}

    def signature(self, method: str) -> dict[str, Any]:
        """Return what decides a method's numbers: settings, and a hash of the code."""
        family = self.methods[method].family
        described = self.methods[method].describe(self.measure)
        if override := self.design.overrides.get(family):
            described["overrides"] = dict(override)
        return {**described, "code": fingerprint(family, self.measure)}

    def uses_networks(self, cells: Iterable[Any]) -> bool:
        """Whether torch is needed; importing it takes seconds."""
        return any(self.methods[cell.method].family in NETWORKS for cell in cells)

    def tolerance(self, method: str) -> float:
        """Return the largest difference at which a replayed number counts as the same."""
        return tolerance(self.methods[method].family)

    def known(self, axis: str) -> tuple[Any, ...]:
        """Return all values of an axis, variants included."""
        return (*self.axes[axis], *self.variants.get(axis, ()))

    def key(self, cell: Any) -> tuple[Any, ...]:
        """Return the cell's key, in the order of ``keys``."""
        return tuple(getattr(cell, name) for name in self.keys)

    def cell(self, **key: Any) -> Any:
        """Return the cell of a key; ValueError names what is unknown.

        Examples
        --------
        >>> TABLE1.cell(law="ar1", n=300, method="TRE-sup", rep=17)
        Cell(law='ar1', n=300, r=3, method='TRE-sup', rep=17)
        """
        if missing := [name for name in self.keys if key.get(name) is None]:
            raise ValueError(f"{self.name} needs {', '.join(missing)}; got {key}.")
        if surplus := [name for name in key if name not in self.keys]:
            raise ValueError(
                f"{self.name} has no {', '.join(surplus)}; its keys are {', '.join(self.keys)}."
            )
        for axis in self.axes:
            self._check(axis, str(key[axis]))
        return self.make(key)

    def make(self, key: Mapping[str, Any]) -> Any:
        """Return the cell of a key given as values or as text, unchecked."""
        typed = {}
        for name, value in key.items():
            kind = self.key_types.get(name, str)
            try:
                typed[name] = kind(value)
            except ValueError:
                raise ValueError(
                    f"{name} must be of type {kind.__name__}; got {value!r}."
                ) from None
        return self.cell_type(**self.fixed, **typed)

    def cells(
        self, profile: str = "paper", only: Mapping[str, Iterable[str]] | None = None
    ) -> list[Any]:
        """Return the cells of a profile that pass a filter.

        Parameters
        ----------
        profile : {"smoke", "laptop", "paper"}
            Chooses repetitions, and for the smaller ones a part of the grid.
        only : mapping of str to iterable of str, optional
            Values to keep by key, as from :func:`parse_only`. A named value is taken even
            where the profile leaves it out.

        Examples
        --------
        >>> len(TABLE1.cells()), len(TABLE2.cells())
        (16000, 12000)
        """
        check_choice(profile, "profile", PROFILES)
        only = dict(only or {})
        for name in only:
            check_choice(name, "a filter's name", self.keys)
        chosen = {axis: self._choose(axis, profile, only.get(axis)) for axis in self.axes}
        reps: Iterable[int] = range(self.repetitions[profile])
        if "rep" in only:
            reps = _repetitions(only["rep"])
        return [
            self.cell_type(**self.fixed, **dict(zip(self.axes, values, strict=True)), rep=rep)
            for *values, rep in product(*chosen.values(), reps)
        ]

    def _choose(self, axis: str, profile: str, wanted: Iterable[str] | None) -> tuple[Any, ...]:
        if wanted is not None:
            return tuple(dict.fromkeys(self._check(axis, value) for value in wanted))
        return self.subsets.get(profile, {}).get(axis, self.axes[axis])

    def _check(self, axis: str, value: str) -> Any:
        """Return the axis value that is written ``value``."""
        known = {str(v): v for v in self.known(axis)}
        return known[check_choice(value, axis, list(known))]


def _repetitions(values: Iterable[str]) -> list[int]:
    """Read repetitions such as "3" and ranges such as "10-19"."""
    found: dict[int, None] = {}
    for value in values:
        first, dash, last = str(value).partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise ValueError(f"rep must be a number such as 3 or a range 10-19; got {value!r}.")
        if last and int(last) < int(first):
            raise ValueError(f"rep must be a range that ascends; got {value!r}.")
        found.update(dict.fromkeys(range(int(first), int(last or first) + 1)))
    return list(found)


def parse_only(texts: Iterable[str]) -> dict[str, list[str]]:
    """Read filters such as ``"method=TRE-sup|SIR,law=ar1"``; later ones add to earlier ones.

    Examples
    --------
    >>> parse_only(["method=TRE-sup|SIR,law=ar1", "law=isotropic"])
    {'method': ['TRE-sup', 'SIR'], 'law': ['ar1', 'isotropic']}
    """
    only: dict[str, list[str]] = {}
    for text in texts:
        for part in text.split(","):
            name, equals, values = (piece.strip() for piece in part.partition("="))
            if not (name and equals and values):
                example = "method=TRE-sup,law=ar1|exp_ar1"
                raise ValueError(f'only must look like "{example}"; got {text!r}.')
            only.setdefault(name, []).extend(value.strip() for value in values.split("|"))
    return only


def _variants(table: str) -> Axes:
    methods = tuple(m for m in METHODS if m not in PAPER_METHODS and table in METHODS[m].tables)
    return {"law": _LAW_VARIANTS, "method": methods}


TABLE1 = Experiment(
    name="table1",
    axes={"law": _LAWS, "n": (50, 100, 300, 500), "method": PAPER_METHODS},
    fixed={"r": 3},
    design=Design(version="section41", measure="distance"),
    variants=_variants("table1"),
    subsets={
        "smoke": {
            "law": ("isotropic", "lognormal"),
            "n": (50, 100),
            "method": ("SIR", "csOPG", "KSIR", "MLP", "NN-sup", "TRE-sup"),
        },
        "laptop": {"method": _LAPTOP_METHODS},
    },
)

TABLE2 = Experiment(
    name="table2",
    axes={"law": _LAWS, "r": (1, 3, 5), "method": PAPER_METHODS},
    # The paper does not give n here; 300 reproduces its ranks.
    fixed={"n": 300},
    design=Design(version="section42", measure="rank"),
    variants=_variants("table2"),
    subsets={
        "smoke": {
            "law": ("isotropic", "lognormal"),
            "method": ("SIR", "KSIR", "MLP", "TRE-sup"),
        },
        "laptop": {"method": _LAPTOP_METHODS},
    },
)
