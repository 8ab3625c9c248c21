"""What gives cause to care: checks of the data, the score, the rank, prediction, stability."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..moments import SteinDiagnostics
from ..rank import RankSelection
from .bootstrap import Bootstrap
from .checks import DataChecks, Finding
from .comparison import METHODS, Comparison
from .reduction import Reduction
from .table import Table

__all__ = ["find", "unevenness"]

MANY_GAPS = 0.2  # share of the rows; those that are left may no longer stand for all
SIGNIFICANT = 0.05  # permutation p-value above which a singular value counts as noise
SLOPE = (0.15, 1.5)  # average diagonal of E[s x']; shrinkage alone leaves directions as they are
UNEVEN = 0.5  # distance of E[s x'] from a multiple of the identity, over that multiple
MEAN = 0.3  # largest mean of the score, in units of 1/sd
LOOSE = 0.35  # bootstrap distance as a share of chance
TOGETHER = 0.97  # mean cosine after turning where singular values are two standard errors apart
CLEAR = 2.0  # standard errors that make a difference clear
RELEVANT = 0.03  # and the share of variance that makes it worth a remark


def find(
    table: Table,
    checks: DataChecks,
    reduction: Reduction,
    diagnostics: SteinDiagnostics,
    spectrum: RankSelection,
    pvalues: NDArray,
    comparison: Comparison,
    resampled: Bootstrap | None,
) -> tuple[Finding, ...]:
    """Return everything that gives cause to care, with advice; empty if nothing does."""
    return (
        *_gap_findings(table),
        *_data_findings(checks, reduction),
        *_score_findings(diagnostics, reduction),
        *_rank_findings(spectrum, pvalues),
        *_prediction_findings(comparison),
        *_stability_findings(resampled),
        *_turning_findings(resampled),
    )


def _gap_findings(table: Table) -> list[Finding]:
    if table.n_dropped <= MANY_GAPS * table.n_rows:
        return []
    worst = ", ".join(f"{name!r} ({count})" for name, count in list(table.gaps.items())[:3])
    return [
        Finding(
            "gaps",
            f"{table.n_dropped} of {table.n_rows} rows were dropped for their gaps, most of them "
            f"in {worst}.",
            "Leave such columns out, or fill predictors first with an imputer that draws on the "
            "others, such as sklearn.impute.IterativeImputer; the same value in every gap would "
            "make a column discrete.",
        )
    ]


def _data_findings(checks: DataChecks, reduction: Reduction) -> list[Finding]:
    # Whitened coordinates have no thin directions, so collinearity only blurs the loadings.
    return [
        finding
        if finding.kind != "collinear" or reduction.scale_ != "whiten"
        else Finding(
            finding.kind,
            finding.text,
            "Whitening keeps the subspace well defined; do not read their loadings one by one.",
        )
        for finding in checks.findings
    ]


def unevenness(diagnostics: SteinDiagnostics) -> float:
    """Distance of E[s x'] from a multiple of the identity, per coordinate and over that multiple.

    A score that is too small by one factor has 0, and gives the right directions.

    Examples
    --------
    >>> unevenness(SteinDiagnostics(mean=np.zeros(2), identity=0.7 * np.eye(2)))
    0.0
    """
    slope, p = diagnostics.slope, len(diagnostics.mean)
    distance = np.linalg.norm(diagnostics.identity - slope * np.eye(p)) / np.sqrt(p)
    return float(distance / abs(slope)) if slope else float("inf")


def _score_findings(diagnostics: SteinDiagnostics, reduction: Reduction) -> list[Finding]:
    slope, mean = diagnostics.slope, float(np.abs(diagnostics.mean).max())
    uneven = unevenness(diagnostics)
    if SLOPE[0] <= slope <= SLOPE[1] and uneven <= UNEVEN and mean <= MEAN:
        return []
    advice = (
        "Transform skewed columns, drop discrete ones, or add unlabeled rows and use config full."
    )
    if uneven > UNEVEN and reduction.scale_ == "standardize":
        advice += " With correlated columns and enough rows, whiten."
    return [
        Finding(
            "score",
            f"The estimated score misses what every score satisfies: the average diagonal of "
            f"E[s x'] is {slope:.2f} (target 1), its distance from a multiple of the identity "
            f"{uneven:.2f} and the largest mean {mean:.2f} (targets 0).",
            advice,
        )
    ]


def _rank_findings(spectrum: RankSelection, pvalues: NDArray) -> list[Finding]:
    noise = int(np.sum(pvalues[: spectrum.rank] > SIGNIFICANT))
    if not noise:
        return []
    return [
        Finding(
            "rank",
            f"Singular values no larger than under permuted responses: {noise} of the "
            f"{spectrum.rank} used.",
            "Columns may be nearly collinear: whiten them, given enough rows. Or links may be even "
            "(a U shape), which this method does not see: try steinsdr.baselines.CSOPG."
            if pvalues[0] > SIGNIFICANT
            else "Ask for fewer directions.",
        )
    ]


def _prediction_findings(comparison: Comparison) -> list[Finding]:
    overall = comparison.mean_r2
    better = []
    for name in (*METHODS[1:], "all predictors"):
        gap, error = comparison.difference(name, "SteinSDR")
        gain, noise = comparison.difference(name, "mean")
        if gap > max(CLEAR * error, RELEVANT) and gain > CLEAR * noise:
            better.append(f"{name} ({overall[name]:.2f})")
    if not better:
        return []
    return [
        Finding(
            "competitor",
            f"Better on held-out rows than SteinSDR ({overall['SteinSDR']:.2f}): "
            f"{', '.join(better)}.",
            "Ask for more directions, or use the better method.",
        )
    ]


def _stability_findings(resampled: Bootstrap | None) -> list[Finding]:
    if resampled is None or resampled.instability <= LOOSE:
        return []
    return [
        Finding(
            "stability",
            f"Drawing the rows anew moves the subspace by {resampled.instability:.0%} of the "
            "distance to a random one.",
            "Ask for fewer directions, drop predictors, or collect more rows.",
        )
    ]


def _turning_findings(resampled: Bootstrap | None) -> list[Finding]:
    """Name the directions that resamples mix: their singular values are too close to tell apart."""
    if resampled is None or resampled.cosines.shape[1] < 2 or resampled.instability > LOOSE:
        return []  # where not even the subspace is determined, another finding says so
    # Noise from outside the subspace makes both smaller; a turn inside it only the first.
    kept = resampled.cosines.mean(axis=0) / resampled.products.mean(axis=0)
    if kept.min() >= TOGETHER:
        return []
    number = max(2, int((kept < TOGETHER).sum()))  # none turns alone
    mixed = 1 + np.sort(np.argsort(kept)[:number])
    names = f"{', '.join(map(str, mixed[:-1]))} and {mixed[-1]}"
    return [
        Finding(
            "turning",
            f"Directions {names} are determined only together.",
            f"Read them as a {'plane' if len(mixed) == 2 else 'space'}: what they span is "
            "determined, each of them is not.",
        )
    ]
