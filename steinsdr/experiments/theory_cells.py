"""Cells of the theory studies as pure functions of their key.

Repetition k has seed 42 + k, and every draw follows from it. A cell's values are what the study
measures, and the error of the score it was measured with: zero for the true score.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import pandas as pd

from ..scores import DenoisingScore, GaussianScore, TikhonovScore
from ..streams import BASE_SEED
from ..theory import (
    coupled,
    rank_tests,
    score_errors,
    split_bound,
    stein_identity,
    subspace_bounds,
)
from .cells import Row
from .theory_studies import STUDIES, Study

__all__ = ["TheoryCell", "TheoryGroup", "compute", "group_cells"]

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
    smooth = [name for name, link in stein_identity.LINKS.items() if link.smooth]
    for study in studies:
        law = study.settings["law"]
        gaps = stein_identity.gap_by_size([law], smooth, [size], n_reps=1, seed=seed)
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
        errors = split_bound.split_errors([n_labeled], n_reps=1, seed=seed, **varied)
        yield _one(errors, "error", "epsilon")


def _floor(make: Callable[[int], Any]) -> Callable[..., Iterable[Values]]:
    def measure(studies: list[Study], size: int, seed: int) -> Iterable[Values]:
        for study in studies:
            n_labeled, p = study.settings["n_labeled"], study.settings["p"]
            errors = split_bound.split_errors(
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
            found[rule] = coupled.coupled_errors(
                betas, [size], law=law, lam_beta=lam_beta, n_reps=1, seed=seed
            )
        errors = found[rule]
        yield _one(errors[errors.beta == study.settings["beta"]], "error", "score_error")


def _distance(studies: list[Study], size: int, seed: int) -> Iterable[Values]:
    for _ in studies:
        yield _one(subspace_bounds.design_ratios([size], n_reps=1, seed=seed), "distance")


def _threshold(studies: list[Study], size: int, seed: int) -> Iterable[Values]:
    factors = [study.settings["factor"] for study in studies]
    ranks = subspace_bounds.rank_recovery([size], factors, n_reps=1, seed=seed)
    yield from ((float(correct), 0.0) for correct in ranks.correct)


def _permutation(studies: list[Study], size: int, seed: int) -> Iterable[Values]:
    signals = [study.settings["signal"] for study in studies]
    ranks = rank_tests.rank_frequencies(signals, n=size, n_reps=1, seed=seed)
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
