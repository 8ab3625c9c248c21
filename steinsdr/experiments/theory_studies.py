"""The studies behind the theory chapters that take longer than a chapter may.

A study measures one quantity over growing sizes, the settings otherwise fixed. The chapters compute
small versions live and show these beside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..theory import coupled
from ..theory.stein_identity import SCORED_LAWS

__all__ = ["STUDIES", "Study"]


@dataclass(frozen=True)
class Study:
    """A quantity measured over growing sizes.

    Attributes
    ----------
    family : str
        Which function of ``steinsdr.experiments.theory_cells`` measures it; cells of one family,
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


def _identity(law: str) -> Study:
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


def _split(
    settings: Mapping[str, Any], sizes: tuple[int, ...], axis: str, exponent: float
) -> Study:
    note = "Theorem 1 with the true score"
    return Study("split", sizes, axis, _MOMENT, exponent, settings, note=note)


def _floor(family: str, cost: float, reps: int) -> Study:
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


def _coupled(beta: float, *, few: bool = False, law: str = "gaussian") -> Study:
    return Study(
        "coupled",
        _sizes(100, 6400, 2),
        "observations",
        _MOMENT,
        float(coupled.exponents([beta])["stated"].item()) + 0.0,  # no minus zero
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


def _threshold(factor: float) -> Study:
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
    **{f"stein-{law}": _identity(law) for law in SCORED_LAWS},
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
    "split-n": _split({"vary": "n_labeled"}, _sizes(100, 102_400, 4), "labeled observations", -0.5),
    "split-p": _split({"vary": "p"}, _sizes(10, 320, 2), "predictors", 0.5),
    "split-q": _split({"vary": "q"}, _sizes(4, 64, 2), "responses", 0.5),
    "floor-normal": _floor("floor-normal", 0.02, 100),
    "floor-kernel": _floor("floor-kernel", 0.5, 10),
    **{f"coupled-{beta:g}": _coupled(beta) for beta in (0.4, 0.5, 0.6, 0.75, 0.9, 1.0)},
    "coupled-student": _coupled(1.0, law="student"),
    **{f"few-{beta:g}": _coupled(beta, few=True) for beta in (0.4, 0.5)},
    "distance": Study(
        "distance",
        _sizes(100, 25_600, 4),
        "observations",
        "distance of the subspaces",
        -0.5,
        note="Corollary 1 on the paper's design, true score",
    ),
    **{f"threshold-{factor:g}": _threshold(factor) for factor in (0.25, 0.5, 0.75)},
    **{f"excess-{signal:g}": _excess(signal) for signal in (0.2, 0.5, 1.0)},
}
"""All studies by name."""
