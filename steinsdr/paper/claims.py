"""Every labeled statement of the paper, where it is tested, and a verdict from computed evidence.

A :class:`Claim` carries a function that computes its own :class:`Judgement`; nothing here is
typed by hand. To add a claim, write such a function and decorate it with :func:`claim`; then
``python -m steinsdr.paper.claims`` writes the table anew. Sizes are smaller than in the cells
named by ``where``, so that the whole table takes less than a minute; larger ones come from stored
rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from .._base import check_choice
from ..simulation import BASE_SEED, stream

__all__ = [
    "CLAIMS",
    "COLUMNS",
    "PAPER_LABELS",
    "SEED",
    "VERDICTS",
    "Claim",
    "Judgement",
    "all_claims",
    "claim",
    "claim_rng",
    "claims_table",
    "decide",
    "register",
    "write_claims",
]


BOOK = Path(__file__).parents[2] / "book"
SEED = BASE_SEED
VERDICTS = ("holds", "holds in part", "does not hold", "not testable")
COLUMNS = ["label", "kind", "statement", "where", "verdict", "evidence"]

PAPER_LABELS: dict[str, tuple[str, ...]] = {
    "lemma": (
        "lem:fs",
        "lem:sub-exp",
        "lem:app-ge",
        "lem:app-rp",
        "lem:replacement-stability",
        "lem:kef-replacement",
        "lem:app-m3",
        "lem:app-bd-general",
        "lem:app-opb",
        "lem:kef-prop",
    ),
    "theorem": ("thm:subgcomp", "thm:kernel", "the:rank-s"),
    "corollary": ("cor:1",),
    "remark": ("rem:ctre", "rm:rs"),
    "algorithm": ("alg:rs", "alg:ars", "alg:sir-rank", "alg:mlp-rank"),
    "table": (
        "tab:sim",
        "tb:rs",
        "tab:real_combined",
        "tab:dnn_score",
        "tab:numethod",
        "tab:mlp_baseline",
        "tab:eval_mlp",
        "tab:rank-params",
    ),
    "assumption": ("assum:1", "ass:score", "assum:subG", "assum:source"),
}
"""Labels of the paper's source by kind, in order of appearance."""


@dataclass(frozen=True)
class Judgement:
    """A verdict and the evidence for it in one line with its number.

    Raises
    ------
    ValueError
        If the verdict is not one of ``VERDICTS``, or there is no evidence.
    """

    verdict: str
    evidence: str

    def __post_init__(self) -> None:
        check_choice(self.verdict, "verdict", VERDICTS)
        if not self.evidence.strip():
            raise ValueError("evidence must say something.")


@dataclass(frozen=True)
class Claim:
    r"""A statement of the paper.

    Attributes
    ----------
    label : str
        The label in the paper's source; a part of it after a slash ("thm:kernel/2"), or a name of
        our own for a statement without label.
    kind : str
        lemma, theorem, ...
    statement : str
        What is claimed, in our words; formulas between ``\(`` and ``\)``.
    where : str
        Cell that tests it, or the first that does, as "page#anchor": a path of the book without
        suffix, and a MyST target on the last line before the cell or the name of its figure.
    judge : callable
        Computes the :class:`Judgement`.

    Raises
    ------
    ValueError
        If ``where`` lacks the page or the anchor.
    """

    label: str
    kind: str
    statement: str
    where: str
    judge: Callable[[], Judgement]

    def __post_init__(self) -> None:
        page, _, anchor = self.where.partition("#")
        if not (page and anchor):
            raise ValueError(f"where must be 'page#anchor'; got {self.where!r}.")


CLAIMS: dict[str, Claim] = {}
"""All registered claims by label, in order of registration."""


def register(claim: Claim) -> Claim:
    """Add a claim to ``CLAIMS``; a label can be taken only once."""
    if claim.label in CLAIMS:
        raise ValueError(f"label {claim.label!r} is already registered.")
    CLAIMS[claim.label] = claim
    return claim


Judge = Callable[[], Judgement]


def claim(label: str, kind: str, where: str, statement: str) -> Callable[[Judge], Judge]:
    """Register the decorated function as the judge of a :class:`Claim`."""

    def decorate(judge: Judge) -> Judge:
        register(Claim(label, kind, statement, where, judge))
        return judge

    return decorate


def claim_rng(name: str) -> np.random.Generator:
    """Return the generator of a claim's draws, by a name of its own."""
    return stream(SEED, "claims", name)


def decide(good: bool, evidence: str, *, otherwise: str = "does not hold") -> Judgement:
    """Return "holds" if ``good``, else ``otherwise``."""
    return Judgement("holds" if good else otherwise, evidence)


def all_claims() -> list[Claim]:
    """Return all claims, sorted by kind."""
    # Importing them registers the claims.

    order = [*PAPER_LABELS]
    return sorted(
        CLAIMS.values(), key=lambda c: order.index(c.kind) if c.kind in order else len(order)
    )


def claims_table(claims: Iterable[Claim] | None = None) -> pd.DataFrame:
    """Judge the claims, by default all of them, and return the table.

    Columns are label, kind, statement, where, verdict, evidence.
    """
    rows = []
    for claim in all_claims() if claims is None else claims:
        result = claim.judge()
        rows.append(
            (claim.label, claim.kind, claim.statement, claim.where, result.verdict, result.evidence)
        )
    return pd.DataFrame(rows, columns=COLUMNS)


def write_claims(path: str | Path, claims: Iterable[Claim] | None = None) -> pd.DataFrame:
    """Judge the claims and write the table as CSV; return it."""
    table = claims_table(claims)
    table.to_csv(path, index=False)
    return table


if __name__ == "__main__":
    pass

    write_claims(BOOK / "results" / "claims.csv")
