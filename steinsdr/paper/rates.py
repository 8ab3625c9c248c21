"""Cells of the theory studies as pure functions of their key.

Repetition k has seed 42 + k, and every draw follows from it. A cell's values are what the study
measures, and the error of the score it was measured with: zero for the true score.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import pandas as pd

from ..scores import DenoisingScore, GaussianScore, TikhonovScore
from ..simulation import BASE_SEED
from .fingerprint import fingerprint
from .simulations import Row
from .study import Experiment
from .theory import lemma1, score_errors, theorem1, theorem2, theorem3
from .theory.lemma1 import SCORED_LAWS

__all__ = [
    "STUDIES",
    "THEORY",
    "Study",
    "Theory",
    "TheoryCell",
    "TheoryDesign",
    "TheoryGroup",
    "compute",
    "group_cells",
]


Values = tuple[float, float]  # what is measured, and the score's error


class TheoryCell(NamedTuple):
    """One repetition of a study at one size."""

    study: str
    size: int
    rep: int

    @property
    def method(self) -> str:
        """What runner and manifest keep apart."""
        return self.study


class TheoryGroup(NamedTuple):
    """Cells of one family, size and repetition: they share data and fits."""

    cells: tuple[TheoryCell, ...]

    @property
    def cost(self) -> float:
        """Seconds it may take, roughly."""
        return sum(STUDIES[cell.study].cost * cell.size / 1000 for cell in self.cells)


def group_cells(cells: Iterable[TheoryCell]) -> list[TheoryGroup]:
    """Group cells; repetitions in turn, so that all sizes fill up together."""
    groups: dict[tuple[int, str, int], list[TheoryCell]] = {}
    for cell in cells:
        key = (cell.rep, STUDIES[cell.study].family, cell.size)
        groups.setdefault(key, []).append(cell)
    return [TheoryGroup(tuple(groups[key])) for key in sorted(groups)]


def compute(group: TheoryGroup) -> list[Row]:
    """Compute the cells of a group.

    None of them has a reason to fail, so that an exception is a defect and ends the run.
    """
    first = group.cells[0]
    studies = [STUDIES[cell.study] for cell in group.cells]
    measure = _FAMILIES[studies[0].family]
    start = time.perf_counter()
    results = list(measure(studies, first.size, BASE_SEED + first.rep))
    seconds = (time.perf_counter() - start) / len(studies)
    return [
        Row(cell, values, "ok", seconds)  # type: ignore[arg-type]
        for cell, values in zip(group.cells, results, strict=True)
    ]


def _one(frame: pd.DataFrame, value: str, score_error: str | None = None) -> Values:
    """Return the values of a frame's only row."""
    (row,) = frame.to_dict("records")
    return float(row[value]), 0.0 if score_error is None else float(row[score_error])


def _identity(studies: list[Study], size: int, seed: int) -> Iterable[Values]:
    smooth = [name for name, link in lemma1.LINKS.items() if link.smooth]
    for study in studies:
        law = study.settings["law"]
        gaps = lemma1.gap_by_size([law], smooth, [size], n_reps=1, seed=seed)
        yield float(gaps.gap.mean()), 0.0


def _scores(make: Callable[[Study, int], Any]) -> Callable[..., Iterable[Values]]:
    def measure(studies: list[Study], size: int, seed: int) -> Iterable[Values]:
        for study in studies:
            law, p = study.settings["law"], study.settings["p"]
            errors = score_errors.size_errors(
                make(study, seed), law, p, [size], n_reps=1, seed=seed
            )
            yield _one(errors, "fresh", "own")

    return measure


def _split(studies: list[Study], size: int, seed: int) -> Iterable[Values]:
    for study in studies:
        varied = {"n_labeled": 400, study.settings["vary"]: size}
        n_labeled = varied.pop("n_labeled")
        errors = theorem1.split_errors([n_labeled], n_reps=1, seed=seed, **varied)
        yield _one(errors, "error", "epsilon")


def _floor(make: Callable[[int], Any]) -> Callable[..., Iterable[Values]]:
    def measure(studies: list[Study], size: int, seed: int) -> Iterable[Values]:
        for study in studies:
            n_labeled, p = study.settings["n_labeled"], study.settings["p"]
            errors = theorem1.split_errors(
                [n_labeled], p=p, n_unlabeled=size, score=make(seed), n_reps=1, seed=seed
            )
            yield _one(errors, "error", "epsilon")

    return measure


def _coupled(studies: list[Study], size: int, seed: int) -> Iterable[Values]:
    # One path of fits serves every beta with the same law and rule for lambda. It stops when the
    # last of them has converged, so all are asked for, wanted or not: same key, same number.
    found: dict[Any, pd.DataFrame] = {}
    family = [s.settings for s in STUDIES.values() if s.family == "coupled"]
    for study in studies:
        law, lam_beta = rule = study.settings["law"], study.settings["lam_beta"]
        if rule not in found:
            betas = [s["beta"] for s in family if (s["law"], s["lam_beta"]) == rule]
            found[rule] = theorem2.coupled_errors(
                betas, [size], law=law, lam_beta=lam_beta, n_reps=1, seed=seed
            )
        errors = found[rule]
        yield _one(errors[errors.beta == study.settings["beta"]], "error", "score_error")


def _distance(studies: list[Study], size: int, seed: int) -> Iterable[Values]:
    for _ in studies:
        yield _one(theorem3.rank_recovery([size], [0.5], n_reps=1, seed=seed), "distance")


def _threshold(studies: list[Study], size: int, seed: int) -> Iterable[Values]:
    factors = [study.settings["factor"] for study in studies]
    ranks = theorem3.rank_recovery([size], factors, n_reps=1, seed=seed)
    yield from ((float(correct), 0.0) for correct in ranks.correct)


def _permutation(studies: list[Study], size: int, seed: int) -> Iterable[Values]:
    signals = [study.settings["signal"] for study in studies]
    ranks = theorem3.rank_frequencies(signals, n=size, n_reps=1, seed=seed)
    yield from ((float(over), 0.0) for over in ranks.over)


_FAMILIES: dict[str, Callable[[list[Study], int, int], Iterable[Values]]] = {
    "identity": _identity,
    # Beyond ten thousand points the kernel draws its centres: the seed makes it a pure function.
    "score-kernel": _scores(
        lambda study, seed: TikhonovScore(study.settings["lam"], tol=1e-3, random_state=seed)
    ),
    "score-network": _scores(lambda study, seed: DenoisingScore(random_state=seed)),
    "split": _split,
    "floor-normal": _floor(lambda seed: GaussianScore()),
    "floor-kernel": _floor(lambda seed: TikhonovScore(1e-3, tol=1e-3, random_state=seed)),
    "coupled": _coupled,
    "distance": _distance,
    "threshold": _threshold,
    "permutation": _permutation,
}


# The studies behind the theory chapters that take longer than a chapter may.
#
# A study measures one quantity over growing sizes, the settings otherwise fixed. The chapters
# compute
# small versions live and show these beside them.


@dataclass(frozen=True)
class Study:
    """A quantity measured over growing sizes.

    Attributes
    ----------
    family : str
        Which function of ``steinsdr.paper.rates`` measures it; cells of one family,
        size and repetition are computed together.
    sizes : tuple of int
        Values of what grows.
    axis : str
        What grows.
    value : str
        What is measured.
    exponent : float or None
        The exponent b of value ~ size^b that the paper states or implies; None if none is.
    settings : mapping
        What the function needs to know.
    repetitions : int
        Of each size in the paper's profile.
    cost : float
        Seconds of one cell at size 1000 on one core, roughly; it grows with the size.
    note : str
        What it is for.
    """

    family: str
    sizes: tuple[int, ...]
    axis: str
    value: str
    exponent: float | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    repetitions: int = 100
    cost: float = 0.02
    note: str = ""

    def describe(self) -> dict[str, Any]:
        """Return what decides the numbers, as plain data for a manifest."""
        return {"family": self.family, "settings": dict(self.settings)}


def _sizes(first: int, last: int, factor: int) -> tuple[int, ...]:
    """Return first, first * factor, ... up to last."""
    found = [first]
    while found[-1] * factor <= last:
        found.append(found[-1] * factor)
    return tuple(found)


_GAP = "norm of E[f(x) s(x)] - B E[grad f], mean over smooth links"
_MOMENT = "||M^ - M||_F"
_SCORE = "relative error of the score at fresh points"


def _identity_theory_studies(law: str) -> Study:
    return Study(
        "identity",
        _sizes(500, 128_000, 4),
        "draws",
        _GAP,
        -0.5,
        {"law": law},
        cost=0.003,
        note="Lemma 1 with the true score",
    )


def _split_theory_studies(
    settings: Mapping[str, Any], sizes: tuple[int, ...], axis: str, exponent: float
) -> Study:
    note = "Theorem 1 with the true score"
    return Study("split", sizes, axis, _MOMENT, exponent, settings, note=note)


def _floor_theory_studies(family: str, cost: float, reps: int) -> Study:
    return Study(
        family,
        _sizes(200, 12_800, 4),
        "unlabeled observations",
        _MOMENT,
        None,
        {"n_labeled": 25_600, "p": 10},
        repetitions=reps,
        cost=cost,
        note="Theorem 1: the floor that an estimated score sets",
    )


def _coupled_theory_studies(beta: float, *, few: bool = False, law: str = "gaussian") -> Study:
    return Study(
        "coupled",
        _sizes(100, 6400, 2),
        "observations",
        _MOMENT,
        float(theorem2.exponents([beta])["stated"].item()) + 0.0,  # no minus zero
        {"beta": beta, "lam_beta": 1.0 if few else None, "law": law},
        repetitions=30,
        cost=0.05,
        note="Theorem 2, lambda as for beta = 1"
        if few
        else "Theorem 2 with its schedule of lambda",
    )


def _excess(signal: float) -> Study:
    return Study(
        "permutation",
        _sizes(100, 3200, 2),
        "observations",
        "whether the permutation rule keeps more than the three directions there are",
        None,
        {"signal": signal},
        repetitions=400,
        cost=0.04,
        note="Algorithm 2, true score, linear responses",
    )


def _threshold_theory_studies(factor: float) -> Study:
    return Study(
        "threshold",
        _sizes(100, 6400, 2),
        "observations",
        "whether Algorithm 1 finds the rank",
        None,
        {"factor": factor},
        repetitions=200,
        note="Theorem 3, threshold as a share of the smallest true singular value",
    )


STUDIES: dict[str, Study] = {
    **{f"stein-{law}": _identity_theory_studies(law) for law in SCORED_LAWS},
    "score-kernel": Study(
        "score-kernel",
        _sizes(100, 12_800, 2),
        "observations",
        _SCORE,
        settings={"law": "gaussian", "p": 100, "lam": 1e-4},
        repetitions=10,
        cost=0.5,
        note="the kernel estimator in a hundred dimensions",
    ),
    "score-network": Study(
        "score-network",
        _sizes(200, 12_800, 4),
        "observations",
        _SCORE,
        settings={"law": "gaussian", "p": 100},
        repetitions=10,
        cost=6.0,
        note="the network with the paper's settings in a hundred dimensions",
    ),
    "split-n": _split_theory_studies(
        {"vary": "n_labeled"}, _sizes(100, 102_400, 4), "labeled observations", -0.5
    ),
    "split-p": _split_theory_studies({"vary": "p"}, _sizes(10, 320, 2), "predictors", 0.5),
    "split-q": _split_theory_studies({"vary": "q"}, _sizes(4, 64, 2), "responses", 0.5),
    "floor-normal": _floor_theory_studies("floor-normal", 0.02, 100),
    "floor-kernel": _floor_theory_studies("floor-kernel", 0.5, 10),
    **{
        f"coupled-{beta:g}": _coupled_theory_studies(beta)
        for beta in (0.4, 0.5, 0.6, 0.75, 0.9, 1.0)
    },
    "coupled-student": _coupled_theory_studies(1.0, law="student"),
    **{f"few-{beta:g}": _coupled_theory_studies(beta, few=True) for beta in (0.4, 0.5)},
    "distance": Study(
        "distance",
        _sizes(100, 25_600, 4),
        "observations",
        "distance of the subspaces",
        -0.5,
        note="Corollary 1 on the paper's design, true score",
    ),
    **{f"threshold-{factor:g}": _threshold_theory_studies(factor) for factor in (0.25, 0.5, 0.75)},
    **{f"excess-{signal:g}": _excess(signal) for signal in (0.2, 0.5, 1.0)},
}
"""All studies by name."""


# The theory studies as an experiment: study x size x repetition.


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
