"""Experiments: declared grids of independent cells, and how a group of cells is measured.

A cell is the tuple of its key, in the order of :attr:`Experiment.keys`. Its outcome, a
:class:`Row`, is a pure function of it: same key, same number, in any order and any process.
"""

from __future__ import annotations

import re
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from .._base import check_choice
from .fingerprint import code_hash

EXPERIMENTS = {
    "table1": "simulations",
    "table2": "simulations",
    "table3": "table3",
    "theory": "rates",
    "benchmark": "benchmark",
    "simulated": "designs",
}
"""Names of the experiments, and the module that declares each under its name in capitals."""
Cell = tuple[Any, ...]
_NETWORKS = ("denoising", "mlp", "score-network")  # families that train in single precision

# Definitions that others name as one of several choices, and the families of methods that use
# them. A row of another family uses nothing of them, so its fingerprint leaves them out.
_CHOICES: dict[str, tuple[str, ...]] = {
    "TikhonovScore": ("tikhonov", "score-kernel", "floor-kernel", "coupled"),
    "DenoisingScore": ("denoising", "score-network"),
    "AdaptiveRank": ("tikhonov", "denoising", "analytic", "sir", "ridge", "permutation"),
}


def find_experiment(name: str) -> Experiment:
    """Return an experiment by name; its module is imported now."""
    home = EXPERIMENTS[check_choice(name, "experiment", EXPERIMENTS)]
    return getattr(import_module(f".{home}", __package__), name.upper())


@dataclass(frozen=True)
class Method:
    """What a name in a table stands for; ``methods.toml`` explains the fields.

    The last five are those of a theory study, explained in ``studies.toml``.
    """

    family: str
    config: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    by_n: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    rank: Mapping[str, Any] = field(default_factory=dict)
    center: bool = False
    stein: Mapping[str, Any] | Literal[False] = False
    link: str = "labeled"
    split: Mapping[str, str] = field(default_factory=dict)
    cost: float = 0.1
    note: str = ""
    tables: tuple[str, ...] = ("table1", "table2")
    precision: float | None = None
    sizes: tuple[int, ...] = ()
    repetitions: int = 100
    axis: str = ""
    value: str = ""
    exponent: float | None = None


def read_methods(file: str, section: str | None = None) -> dict[str, Method]:
    """Return the methods of a TOML file beside this module, in its order.

    An entry with ``like`` takes from that method what it does not say itself.
    """
    content = tomllib.loads(Path(__file__).with_name(file).read_text(encoding="utf-8"))
    entries = content if section is None else content[section]
    found: dict[str, dict[str, Any]] = {}
    for name, entry in entries.items():
        base = found[entry.pop("like")] if "like" in entry else {}
        found[name] = base | {key: _python(value) for key, value in entry.items()}
    return {name: Method(**entry) for name, entry in found.items()}


def _python(value: Any) -> Any:
    """Return a TOML value as the estimators want it: None for "null", tuples for lists."""
    if isinstance(value, dict):
        return {key: _python(part) for key, part in value.items()}
    return None if value == "null" else tuple(value) if isinstance(value, list) else value


class Row(NamedTuple):
    """A cell's outcome; ``values`` is empty unless ``status`` is "ok"."""

    cell: Cell
    values: tuple[float, ...]
    status: str
    seconds: float


def attempt(measure: Callable[[], tuple[float, ...]]) -> tuple[tuple[float, ...], str, float]:
    r"""Return the values of a measurement, its status and its seconds.

    What fails has no values, and a status of one line. Trouble of the machine (no memory, a full
    disk) is no result and passes.

    Examples
    --------
    >>> attempt(lambda: (1 / 0,))[:2]
    ((), 'failed: ZeroDivisionError: division by zero')
    """
    start = time.perf_counter()
    values: tuple[float, ...] = ()
    try:
        values, status = measure(), "ok"
    except (MemoryError, OSError):
        raise
    except Exception as error:
        status = "failed: " + " ".join(f"{type(error).__name__}: {error}".split())[:160]
    if not np.isfinite(values).all():
        values, status = (), "failed: the result is not finite"
    return values, status, time.perf_counter() - start


@contextmanager
def one_thread() -> Iterator[None]:
    """Run linear algebra and torch on one thread; restore it after.

    Modules of networks are loaded now, not when the first network is due: their files may have
    changed by then, and the fingerprint is that of the code at the start.
    """
    from torch import get_num_threads, set_num_threads

    from ..baselines import _networks  # noqa: F401
    from ..scores import _network  # noqa: F401

    before = get_num_threads()
    set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        set_num_threads(before)


@dataclass(frozen=True)
class Experiment:
    """A grid of cells, one row of a CSV file for each.

    Attributes
    ----------
    name
        Also the stem of its files.
    axes, variants, fixed
        Values by axis that are run by default, and those that a filter must name. With the
        repetition they are the key of a cell; ``fixed`` is what elsewhere is an axis.
    values, largest, trailing
        Columns that hold the result with their types, at least 0 and at most ``largest``;
        ``trailing`` ones stand at the end of a row.
    methods
        By the values of the axis ``by``.
    measure
        ``measure(experiment, cells, folder)`` returns the rows of a group of cells; ``folder``
        holds score fits shared with other runs, or is None. For a method it calls the function
        ``_family`` beside it, that of "second-order" is ``_second_order``. Both decide the
        fingerprint, without the definitions named in ``unused``.
    group
        ``group(experiment, cell)`` is the same for cells that are measured together; groups are
        dispatched in its order.
    described, design
        Attributes of a method that decide its numbers, and what all cells have in common.
    subsets, repetitions
        By profile: what it leaves of the axes, unless a filter names more; and repetitions.
    precision
        Largest difference at which a replayed number counts as the same, networks aside.
    """

    name: str
    axes: Mapping[str, tuple[Any, ...]]
    values: Mapping[str, type]
    methods: Mapping[str, Method]
    measure: Callable[[Experiment, Sequence[Cell], Any], list[Row]]
    group: Callable[[Experiment, Cell], tuple[Any, ...]]
    described: tuple[str, ...]
    design: Mapping[str, Any]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    variants: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    subsets: Mapping[str, Mapping[str, tuple[Any, ...]]] = field(default_factory=dict)
    repetitions: Mapping[str, int] = field(
        default_factory=lambda: {"smoke": 2, "laptop": 10, "paper": 100}
    )
    trailing: tuple[str, ...] = ()
    largest: Mapping[str, float] = field(default_factory=dict)
    by: str = "method"
    unused: tuple[str, ...] = ()
    precision: float = 1e-8

    @property
    def keys(self) -> tuple[str, ...]:
        """Columns that identify a row."""
        return (*self.axes, "rep")

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of the CSV file."""
        first = (name for name in self.values if name not in self.trailing)
        return (*self.keys, *first, "status", "seconds", *self.trailing)

    @cached_property
    def families(self) -> dict[str, Callable[..., Any]]:
        """Return by family the function for its methods, which stands beside ``measure``."""
        home = import_module(self.measure.__module__)
        names = {method.family for method in self.methods.values()}
        return {name: getattr(home, f"_{name.replace('-', '_')}") for name in names}

    def known(self, axis: str) -> tuple[Any, ...]:
        """Return all values of an axis, variants included."""
        return (*self.axes[axis], *self.variants.get(axis, ()))

    def named(self, cell: Cell) -> dict[str, Any]:
        """Return the parts of a cell's key by name, and what is fixed."""
        return {**self.fixed, **dict(zip(self.keys, cell, strict=True))}

    def method_of(self, cell: Cell) -> str:
        """Return the name of a cell's method."""
        return cell[self.keys.index(self.by)]

    def signature(self, name: str) -> dict[str, Any]:
        """Return what decides a method's numbers: settings, and a hash of the code."""
        method = self.methods[name]
        parts = {key: getattr(method, key) for key in self.described}
        settings = {key: part for key, part in parts.items() if part is not False}
        return {**settings, "code": code_hash(*self.code(method.family))}

    def code(self, family: str) -> tuple[list[str], set[str]]:
        """Return the arguments of :func:`.code_hash` for a family: roots, names not followed."""
        roots = [f"{f.__module__}:{f.__qualname__}" for f in (self.measure, self.families[family])]
        others = {name for name, families in _CHOICES.items() if family not in families}
        return roots, others | {*self.unused}

    def tolerance(self, name: str, *, same_machine: bool = False) -> float:
        """Return the largest difference at which a replayed number counts as the same.

        One machine repeats every number exactly; another rounds differently, which training in
        single precision amplifies, and a kernel fit with a small penalty, which has a
        ``precision`` of its own.
        """
        method = self.methods[name]
        if method.family in _NETWORKS:
            return 1e-6 if same_machine else 0.05
        return method.precision or self.precision

    def groups(self, cells: Iterable[Cell]) -> list[list[Cell]]:
        """Return the cells in groups that are measured together, in the order of dispatch."""
        groups: dict[tuple[Any, ...], list[Cell]] = {}
        for cell in cells:
            groups.setdefault(self.group(self, cell), []).append(cell)
        return [groups[key] for key in sorted(groups)]

    def cost(self, cells: Iterable[Cell]) -> float:
        """Return the seconds that cells may take, roughly."""
        return sum(
            self.methods[self.method_of(cell)].cost * self.named(cell).get("size", 1000) / 1000
            for cell in cells
        )

    def compute(self, cells: Sequence[Cell], cache: Any = None) -> list[Row]:
        """Measure one of the ``groups`` on one thread; ``cache`` is a folder of score fits."""
        with one_thread():
            return self.measure(self, cells, cache)

    def cell(self, **key: Any) -> Cell:
        """Return the cell of a key; ValueError names what is unknown.

        Examples
        --------
        >>> find_experiment("table1").cell(law="ar1", n=300, method="TRE-sup", rep=17)
        ('ar1', 300, 'TRE-sup', 17)
        """
        if key.keys() != set(self.keys):
            raise ValueError(f"{self.name} needs {', '.join(self.keys)}; got {', '.join(key)}.")
        return self.parse([str(key[name]) for name in self.keys])

    def parse(self, texts: Sequence[str]) -> Cell:
        """Return the cell whose key is written so; ValueError names what is unknown."""
        *parts, rep = texts
        if not rep.isdecimal():
            raise ValueError(f"rep must be a number; got {rep!r}")
        values = (self._value(axis, part) for axis, part in zip(self.axes, parts, strict=True))
        return (*values, int(rep))

    def cells(
        self, profile: str = "paper", only: Mapping[str, Iterable[str]] | None = None
    ) -> list[Cell]:
        """Return the cells of a profile ("smoke", "laptop" or "paper") that pass a filter.

        A profile chooses repetitions, and for the smaller ones a part of the grid. The filter has
        values to keep by key, as from :func:`parse_only`; a named value is taken even where the
        profile leaves it out. ValueError if a name or value is unknown, or no theory study has a
        size that is asked for.

        Examples
        --------
        >>> len(find_experiment("table1").cells()), len(find_experiment("table2").cells())
        (16000, 12000)
        """
        check_choice(profile, "profile", self.repetitions)
        only = dict(only or {})
        for name in only:
            check_choice(name, "a filter's name", self.keys)
        chosen = {**self.axes, **self.subsets.get(profile, {})}
        for axis in self.axes.keys() & only.keys():
            chosen[axis] = tuple(dict.fromkeys(self._value(axis, text) for text in only[axis]))
        reps = _repetitions(only["rep"]) if "rep" in only else range(self.repetitions[profile])
        asked = product(*(chosen[axis] for axis in self.axes), reps)
        if "size" not in self.axes:
            return list(asked)
        # A theory study has sizes of its own and, unless a filter names them, repetitions.
        studies = {name: self.methods[name] for name in chosen[self.by]}
        cells = [
            (name, size, rep)
            for name, size, rep in asked
            if size in studies[name].sizes and ("rep" in only or rep < studies[name].repetitions)
        ]
        if not cells:
            have = {name: study.sizes for name, study in studies.items()}
            got = ", ".join(map(str, chosen["size"]))
            raise ValueError(f"size must be one that a study asked for has: {have}; got {got}.")
        return cells

    def _value(self, axis: str, text: str) -> Any:
        """Return the axis value that is written so."""
        return self._written[axis][check_choice(text, axis, self._written[axis])]

    @cached_property
    def _written(self) -> dict[str, dict[str, Any]]:
        return {axis: {str(value): value for value in self.known(axis)} for axis in self.axes}


def each_alone(experiment: Experiment, cell: Cell) -> tuple[Any, ...]:
    """Group nothing: a repetition of all cells comes before the next, cheap methods first."""
    *key, rep = cell
    return rep, experiment.methods[experiment.method_of(cell)].cost, *key


def _repetitions(values: Iterable[str]) -> list[int]:
    """Read repetitions such as "3" and ranges such as "10-19"."""
    found: dict[int, None] = {}
    for value in values:
        ends = re.fullmatch(r"([0-9]+)(?:-([0-9]+))?", str(value))
        span = range(int(ends[1]), int(ends[2] or ends[1]) + 1) if ends else ()
        if not span:
            raise ValueError(f"rep must be a number such as 3 or a range 10-19; got {value!r}.")
        found |= dict.fromkeys(span)
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
