"""What the numbers allow, in plain words. Every sentence follows from a number."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..moments import SteinDiagnostics
from ..rank import RankSelection
from .bootstrap import Bootstrap
from .checks import DataChecks, Finding
from .comparison import Comparison
from .findings import CLEAR, SIGNIFICANT, find
from .frames import listed
from .reduction import Reduction
from .table import Table

__all__ = ["LEVELS", "Verdict", "count", "judge"]

LEVELS = {
    "usable": "The directions can be used.",
    "with care": "Use the directions with care.",
    "not usable": "Do not use the directions.",
}
WIDTH = 80  # of printed lines
SOMETHING = 0.005  # share of the variance that rounds to one percent
UNDETERMINED = 0.7  # bootstrap distance, as a share of chance, that says nothing is known


@dataclass(frozen=True)
class Verdict:
    """The judgment.

    Attributes
    ----------
    level : {"usable", "with care", "not usable"}
    sentences : tuple of str
        What was found: the relation, the number of directions, prediction, stability.
    findings : tuple of Finding
        What gives cause to care, with advice; empty if nothing does.
    """

    level: str
    sentences: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def headline(self) -> str:
        """The level in a sentence."""
        return LEVELS[self.level]

    def __str__(self) -> str:
        parts = [self.headline, *map(_item, self.sentences)]
        if self.findings:
            parts.append("Mind:")
            parts += [_item(f"{finding.text} {finding.advice}") for finding in self.findings]
        return "\n".join(parts)


def judge(
    table: Table,
    checks: DataChecks,
    reduction: Reduction,
    diagnostics: SteinDiagnostics,
    spectrum: RankSelection,
    pvalues: NDArray,
    comparison: Comparison,
    resampled: Bootstrap | None,
) -> Verdict:
    """Turn the results of an analysis into a verdict.

    Not usable: the first singular value is no larger than under permuted responses, the reduced
    predictors predict nothing, or resampled subspaces are nearly random. With care: any finding
    about the data, the score, the rank, the stability or a better competitor. Usable: none.
    """
    findings = find(table, checks, reduction, diagnostics, spectrum, pvalues, comparison, resampled)
    gain, error = comparison.difference("SteinSDR", "mean")
    hopeless = (
        pvalues[0] > SIGNIFICANT
        or gain < error
        or (resampled is not None and resampled.instability > UNDETERMINED)
    )
    level = "not usable" if hopeless else "with care" if findings else "usable"
    sentences = [
        _relation(table, spectrum, pvalues),
        _prediction(comparison, table),
        *_stability(table, reduction, resampled, hopeless=hopeless),
        *_unused_rows(table, reduction),
    ]
    return Verdict(level, tuple(sentences), findings)


def _item(text: str) -> str:
    return textwrap.fill(
        text, WIDTH, initial_indent="- ", subsequent_indent="  ", break_long_words=False
    )


def count(number: int, thing: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> count(1, "direction"), count(2, "direction")
    ('1 direction', '2 directions')
    """
    return f"{number} {thing}" + ("" if number == 1 else "s")


def _relation(table: Table, spectrum: RankSelection, pvalues: NDArray) -> str:
    data = (
        f"{count(len(table.X), 'row')}, {count(table.X.shape[1], 'predictor')}, "
        f"{count(table.Y.shape[1], 'response')}"
    )
    if pvalues[0] > SIGNIFICANT:
        return (
            f"{data}: no direction stands out. {pvalues[0]:.0%} of the permutations of the "
            "responses give a first singular value as large."
        )
    found = count(spectrum.rank, "direction")
    verbs = ("rises", "holds") if spectrum.rank == 1 else ("rise", "hold")
    return {
        "given": f"{data}: {found}, as asked for.",
        "energy": f"{data}: {found} {verbs[1]} 95% of the squared singular values.",
        "permutation": f"{data}: {found} {verbs[0]} above what permuted responses give.",
    }[spectrum.method]


def _prediction(comparison: Comparison, table: Table) -> str:
    overall = comparison.mean_r2
    gap, error = comparison.difference("SteinSDR", "all predictors")
    if max(overall["SteinSDR"], overall["all predictors"]) < SOMETHING:
        return (
            "On held-out rows neither the reduced predictors nor ridge regression on all "
            f"{table.X.shape[1]} predictors does better than the mean."
        )
    size = f"({gap:+.2f}, standard error {error:.2f})"
    if abs(gap) > max(CLEAR * error, SOMETHING):
        size = f"clearly {'more' if gap > 0 else 'less'} {size}"
    else:
        size = f"no clear difference {size}"
    return (
        f"On held-out rows the reduced predictors explain {_share(overall['SteinSDR'])} of the "
        f"responses' variance, ridge regression on all {table.X.shape[1]} predictors "
        f"{_share(overall['all predictors'])}: {size}."
    )


def _share(r2: float) -> str:
    return f"{r2:.0%}" if r2 >= SOMETHING else f"nothing (R² {r2:.2f})"


def _stability(
    table: Table, reduction: Reduction, resampled: Bootstrap | None, *, hopeless: bool
) -> list[str]:
    if resampled is None:
        return []
    moved = []
    if resampled.chance > 0:
        moved.append(
            f"Drawing the rows anew moves the subspace by {resampled.instability:.0%} of the "
            "distance to a random one."
        )
    if hopeless:  # loadings of nothing are not worth a word
        return moved
    clear = (resampled.low > 0) | (resampled.high < 0)
    size = np.where(clear, np.abs(reduction.loadings_), 0.0).max(axis=1)
    order = np.argsort(-size, kind="stable")
    names = [str(table.X.columns[j]) for j in order if size[j] > 0]
    which = f", the largest of them those of {listed(names[:3])}" if names else ""
    total = f"{int(clear.sum())} of {clear.size} loadings have an interval without zero{which}."
    return [*moved, total]


def _unused_rows(table: Table, reduction: Reduction) -> list[str]:
    if not len(table.X_unlabeled) or reduction.config != "sup":
        return []
    return [
        f"{count(len(table.X_unlabeled), 'unlabeled row')} took no part: config sup learns the "
        "score from labeled rows alone. Compare with config full."
    ]
