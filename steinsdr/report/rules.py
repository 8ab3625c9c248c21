"""What the numbers allow, in plain words: one table of rules, each a test, a text and advice."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import kurtosis, skew
from sklearn.base import BaseEstimator

from ..moments import SteinDiagnostics
from ..rank import KURTOSIS_LIMIT, SKEWNESS_LIMIT, RankSelection
from .bootstrap import Bootstrap
from .comparison import METHODS, Comparison
from .read import Table, listed

__all__ = ["Finding", "Verdict", "describe", "explained_by_others", "judge", "unevenness"]

FEW_VALUES = 10  # distinct values up to which a column counts as discrete
LARGE_SHARE = 0.2  # share of the rows that one value may hold
COLLINEAR = 0.95  # share of a column's variance that the others may explain
ROWS_PER_PREDICTOR = 5
MANY_GAPS = 0.2  # share of the rows; those that are left may no longer stand for all
SIGNIFICANT = 0.05  # permutation p-value above which a singular value counts as noise
SLOPE = (0.15, 1.5)  # average diagonal of E[s x']; shrinkage alone leaves directions as they are
UNEVEN = 0.5  # distance of E[s x'] from a multiple of the identity, over that multiple
MEAN = 0.3  # largest mean of the score, in units of 1/sd
LOOSE = 0.35  # bootstrap distance as a share of chance
UNDETERMINED = 0.7  # the same, where nothing is known of the subspace
TOGETHER = 0.97  # mean cosine after turning where singular values are two standard errors apart
CLEAR = 2.0  # standard errors that make a difference clear
RELEVANT = 0.03  # share of variance that makes a difference worth a remark
SOMETHING = 0.005  # share of the variance that rounds to one percent
LEVELS = {
    "usable": "The directions can be used.",
    "with care": "Use the directions with care.",
    "not usable": "Do not use the directions.",
}
WIDTH = 80  # of printed lines


class Finding(NamedTuple):
    """Something about the data or the fit that a reader should know, and what to do about it.

    Attributes
    ----------
    kind : str
        A short name, such as "discrete".
    text : str
        What was found.
    advice : str
        What to do.
    """

    kind: str
    text: str
    advice: str


@dataclass(frozen=True)
class Verdict:
    """The judgment.

    Attributes
    ----------
    level : {"usable", "with care", "not usable"}
    sentences : tuple of str
        What was found: the relation, the number of directions, prediction, stability.
    findings : tuple of Finding
        Reasons to take care, with advice; empty if there are none.
    """

    level: str
    sentences: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def headline(self) -> str:
        """The level in a sentence."""
        return LEVELS[self.level]

    def __str__(self) -> str:
        advised = [f"{finding.text} {finding.advice}" for finding in self.findings]
        fill = textwrap.TextWrapper(
            WIDTH, initial_indent="- ", subsequent_indent="  ", break_long_words=False
        ).fill
        parts = [self.headline, *map(fill, self.sentences)]
        return "\n".join(parts + (["Mind:", *map(fill, advised)] if advised else []))


def explained_by_others(X: NDArray) -> NDArray:
    r"""Share of each column's variance that is linear in the others, shape (p,).

    With the eigenvectors v and eigenvalues :math:`\ell` of the correlation matrix it is
    :math:`1 - 1/\sum_k v_{jk}^2/\ell_k`, one minus the inverse variance inflation factor, adjusted
    for the number of columns: n rows and as many columns explain each other whatever they are. NaN
    where there are no more rows than columns.

    Examples
    --------
    >>> x, y, noise = np.random.default_rng(0).standard_normal((3, 1000))
    >>> np.round(explained_by_others(np.column_stack([x, y, x + y])), 2).tolist()
    [1.0, 1.0, 1.0]
    >>> bool(explained_by_others(np.column_stack([x, noise])).max() < 0.05)
    True
    """
    n, p = X.shape
    if n <= p:
        return np.full(p, np.nan)
    values, vectors = np.linalg.eigh(np.atleast_2d(np.corrcoef(X, rowvar=False)))
    smallest = len(values) * np.finfo(float).eps * values[-1]
    inflation = np.square(vectors) @ (1.0 / np.maximum(values, smallest))
    return np.maximum(0.0, 1.0 - (n - 1) / (n - p) / inflation)


def describe(X: pd.DataFrame) -> pd.DataFrame:
    """Describe the predictors (n, p) and remark what is at odds with the method.

    The lemma needs a density that is positive and smooth. Columns with few values, or with one
    value in many rows, have none. Nearly collinear columns have a nearly flat one. Heavy tails
    are allowed but make the score hard to estimate. A counter numbers the rows.

    Returns
    -------
    DataFrame
        One row per predictor: mean, sd, number of distinct values, share of the most frequent
        value, skewness, excess kurtosis, share of its variance explained by the other predictors,
        and the remarks on it: "discrete", "heavy", "collinear", "counter", apart by commas.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"height": rng.standard_normal(200), "sex": rng.integers(0, 2, 200)})
    >>> describe(X)["remarks"].to_dict()
    {'height': '', 'sex': 'discrete'}
    """
    values = X.to_numpy()
    columns = pd.DataFrame(
        {
            "mean": values.mean(axis=0),
            "sd": values.std(axis=0),
            "distinct": X.nunique().to_numpy(),
            "most_frequent": [float(X[c].value_counts(normalize=True).iloc[0]) for c in X],
            "skewness": skew(values, axis=0),
            "kurtosis": kurtosis(values, axis=0),
            "explained_by_others": explained_by_others(values),
        },
        index=pd.Index(X.columns, name="predictor"),
    )
    remarks = pd.DataFrame(
        {
            "discrete": (columns["distinct"] <= min(FEW_VALUES, len(X) // 2))
            | (columns["most_frequent"] > LARGE_SHARE),
            "heavy": (columns["skewness"].abs() > SKEWNESS_LIMIT)
            | (columns["kurtosis"] > KURTOSIS_LIMIT),
            "collinear": columns["explained_by_others"] > COLLINEAR,
            "counter": [_counts_rows(X[c]) for c in X],
        }
    )
    columns["remarks"] = [", ".join(remarks.columns[row]) for row in remarks.to_numpy()]
    return columns


def _counts_rows(column: pd.Series) -> bool:
    """Whether a column looks like a row number: whole, and as far apart as the rows of the file.

    Rows that were dropped leave gaps in both. A column that the file gives no name is the index of
    a table that was saved with it, and may have gaps of its own.
    """
    values = column.to_numpy()
    if not np.all(values == np.round(values)):
        return False
    if str(column.name).startswith("Unnamed: ") and np.all(np.diff(values) > 0):
        return True
    named = "row" in column.index.names
    rows = column.index.get_level_values("row") if named else np.arange(len(values))
    return bool(np.ptp(values - np.asarray(rows)) == 0)


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


class _Rule(NamedTuple):
    """A test on the facts, and what to say if it holds; with advice it is a finding."""

    kind: str
    applies: Callable[[SimpleNamespace], object]
    text: str
    advice: str = ""


# Placeholders are names of facts. Rules without advice are the sentences of the verdict.
_RULES = (
    _Rule(
        "nothing",
        lambda f: f.p_first > SIGNIFICANT,
        "{size}: no direction stands out. {p_first:.0%} of the permutations of the responses give "
        "a first singular value as large.",
    ),
    _Rule(
        "relation",
        lambda f: f.p_first <= SIGNIFICANT,
        "{size}: {directions}{relation}.",
    ),
    _Rule(
        "no prediction",
        lambda f: max(f.r2_reduced, f.r2_all) < SOMETHING,
        "On held-out rows neither the reduced predictors nor ridge regression on all {p} "
        "predictors does better than the mean.",
    ),
    _Rule(
        "prediction",
        lambda f: max(f.r2_reduced, f.r2_all) >= SOMETHING,
        "On held-out rows the reduced predictors explain {share_reduced} of the responses' "
        "variance, ridge regression on all {p} predictors {share_all}: {difference} ({gap:+.2f}, "
        "standard error {gap_error:.2f}).",
    ),
    _Rule(
        "movement",
        lambda f: f.resampled and f.chance > 0,
        "Drawing the rows anew moves the subspace by {instability:.0%} of the distance to a random "
        "one.",
    ),
    _Rule(
        "loadings",
        lambda f: f.resampled and not f.hopeless,
        "{n_clear} of {n_loadings} loadings have an interval without zero{clearest}.",
    ),
    _Rule(
        "unused rows",
        lambda f: f.m and f.config == "sup",
        "{unlabeled_rows} took no part: config sup learns the score from labeled rows alone. "
        "Compare with config full.",
    ),
    _Rule(
        "gaps",
        lambda f: f.n_dropped > MANY_GAPS * f.n_rows,
        "{n_dropped} of {n_rows} rows were dropped for their gaps, most of them in {gaps}.",
        "Leave such columns out, or fill predictors first with an imputer that draws on the "
        "others, such as sklearn.impute.IterativeImputer; the same value in every gap would "
        "make a column discrete.",
    ),
    _Rule(
        "discrete",
        lambda f: f.discrete,
        "{n_discrete} column(s) take few values, or one value in many rows: {discrete}.",
        "Stein's lemma needs predictors with a density. Drop these columns, or fit within their "
        "groups; their loadings mean little.",
    ),
    _Rule(
        "heavy tails",
        lambda f: f.heavy,
        "{n_heavy} column(s) have heavy tails: {heavy}.",
        "A logarithm or a root often helps; look for outliers first.",
    ),
    _Rule(
        "collinear",
        lambda f: f.collinear and not f.whitened,
        "{n_collinear} column(s) are almost determined by the others: {collinear}.",
        "Drop one of each such group, or whiten the predictors; do not read their loadings one by "
        "one.",
    ),
    _Rule(
        "collinear",
        lambda f: f.collinear and f.whitened,
        "{n_collinear} column(s) are almost determined by the others: {collinear}.",
        "Whitening keeps the subspace well defined; do not read their loadings one by one.",
    ),
    _Rule(
        "row number",
        lambda f: f.counter,
        "{counter} numbers the rows.",
        "Drop it unless the order of the rows matters.",
    ),
    _Rule(
        "few rows",
        lambda f: f.n < ROWS_PER_PREDICTOR * f.p,
        "There are {n} labeled rows for {p} predictors.",
        "Expect wide intervals. Drop predictors that cannot matter, or add rows; unlabeled ones "
        "help the score.",
    ),
    _Rule(
        "score",
        lambda f: not SLOPE[0] <= f.slope <= SLOPE[1] or f.uneven > UNEVEN or f.mean > MEAN,
        "The estimated score misses what every score satisfies: the average diagonal of E[s x'] is "
        "{slope:.2f} (target 1), its distance from a multiple of the identity {uneven:.2f} and the "
        "largest mean {mean:.2f} (targets 0).",
        "Transform skewed columns, drop discrete ones, or add unlabeled rows and use config full."
        "{whiten_too}",
    ),
    _Rule(
        "rank",
        lambda f: f.p_first > SIGNIFICANT,
        "Singular values no larger than under permuted responses: {n_noise} of the {r} used.",
        "Columns may be nearly collinear: whiten them, given enough rows. Or links may be even "
        "(a U shape), which this method does not see: try steinsdr.baselines.CSOPG.",
    ),
    _Rule(
        "rank",
        lambda f: f.n_noise and f.p_first <= SIGNIFICANT,
        "Singular values no larger than under permuted responses: {n_noise} of the {r} used.",
        "Ask for fewer directions.",
    ),
    _Rule(
        "competitor",
        lambda f: f.better,
        "Better on held-out rows than SteinSDR ({r2_reduced:.2f}): {better}.",
        "Ask for more directions, or use the better method.",
    ),
    _Rule(
        "stability",
        lambda f: f.instability > LOOSE,
        "Drawing the rows anew moves the subspace by {instability:.0%} of the distance to a random "
        "one.",
        "Ask for fewer directions, drop predictors, or collect more rows.",
    ),
    _Rule(
        "turning",
        lambda f: f.mixed and f.instability <= LOOSE,
        "Directions {mixed} are determined only together.",
        "Read them as a {span}: what they span is determined, each of them is not.",
    ),
)


def judge(
    table: Table,
    predictors: pd.DataFrame,
    reduction: BaseEstimator,
    diagnostics: SteinDiagnostics,
    spectrum: RankSelection,
    pvalues: NDArray,
    comparison: Comparison,
    resampled: Bootstrap | None,
) -> Verdict:
    """Apply the rules to the parts of a :class:`steinsdr.report.Analysis`.

    Not usable: the first singular value is no larger than under permuted responses, the reduced
    predictors predict nothing, or resampled subspaces are nearly random. With care: any finding
    about the data, the score, the rank, the stability or a better competitor. Usable: none.
    """
    f = SimpleNamespace(
        **_data_facts(table, predictors),
        **_fit_facts(reduction, diagnostics, spectrum, pvalues),
        **_prediction_facts(comparison),
        **_resampling_facts(resampled, reduction.loadings_, list(table.X.columns)),
    )
    gain, error = comparison.difference("SteinSDR", "mean")
    f.hopeless = f.p_first > SIGNIFICANT or gain < error or f.instability > UNDETERMINED
    said = [
        Finding(rule.kind, rule.text.format(**vars(f)), rule.advice.format(**vars(f)))
        for rule in _RULES
        if rule.applies(f)
    ]
    findings = tuple(finding for finding in said if finding.advice)
    level = "not usable" if f.hopeless else "with care" if findings else "usable"
    return Verdict(level, tuple(s.text for s in said if not s.advice), findings)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" + ("" if number == 1 else "s")


def _data_facts(table: Table, predictors: pd.DataFrame) -> dict[str, object]:
    (n, p), m = table.X.shape, len(table.X_unlabeled)
    size = f"{_count(n, 'row')}, {_count(p, 'predictor')}, {_count(table.Y.shape[1], 'response')}"
    facts = {"n": n, "p": p, "m": m, "size": size, "unlabeled_rows": _count(m, "unlabeled row")}
    gaps = ", ".join(f"{name!r} ({count})" for name, count in list(table.gaps.items())[:3])
    facts |= {"n_rows": table.n_rows, "n_dropped": table.n_dropped, "gaps": gaps}
    for remark in ("discrete", "heavy", "collinear", "counter"):
        names = predictors.index[predictors["remarks"].str.contains(remark)]
        facts |= {remark: listed(names), f"n_{remark}": len(names)}
    return facts


def _fit_facts(
    reduction: BaseEstimator,
    diagnostics: SteinDiagnostics,
    spectrum: RankSelection,
    pvalues: NDArray,
) -> dict[str, object]:
    one, uneven = spectrum.rank == 1, unevenness(diagnostics)
    whiten_too = reduction.scale_ == "standardize" and uneven > UNEVEN
    relations = {
        "given": ", as asked for",
        "energy": f" {'holds' if one else 'hold'} 95% of the squared singular values",
        "permutation": f" {'rises' if one else 'rise'} above what permuted responses give",
    }
    return {
        "whitened": reduction.scale_ == "whiten",
        "config": reduction.config,
        "r": spectrum.rank,
        "directions": _count(spectrum.rank, "direction"),
        "relation": relations[spectrum.method],
        "p_first": pvalues[0],
        "n_noise": int(np.sum(pvalues[: spectrum.rank] > SIGNIFICANT)),
        "slope": diagnostics.slope,
        "uneven": uneven,
        "whiten_too": " With correlated columns and enough rows, whiten." if whiten_too else "",
        "mean": float(np.abs(diagnostics.mean).max()),
    }


def _prediction_facts(comparison: Comparison) -> dict[str, object]:
    overall, better = comparison.mean_r2, []
    for name in METHODS[1:]:
        gap, error = comparison.difference(name, "SteinSDR")
        gain, noise = comparison.difference(name, "mean")
        if gap > max(CLEAR * error, RELEVANT) and gain > CLEAR * noise:
            better.append(f"{name} ({overall[name]:.2f})")
    r2 = {"reduced": overall["SteinSDR"], "all": overall["all predictors"]}
    gap, error = comparison.difference("SteinSDR", "all predictors")
    difference = f"clearly {'more' if gap > 0 else 'less'}"
    if abs(gap) <= max(CLEAR * error, SOMETHING):
        difference = "no clear difference"
    return {
        **{f"r2_{key}": value for key, value in r2.items()},
        **{
            f"share_{key}": f"{value:.0%}" if value >= SOMETHING else f"nothing (R² {value:.2f})"
            for key, value in r2.items()
        },
        "gap": gap,
        "gap_error": error,
        "difference": difference,
        "better": ", ".join(better),
    }


def _resampling_facts(
    resampled: Bootstrap | None, loadings: NDArray, names: list[str]
) -> dict[str, object]:
    if resampled is None:
        return {"resampled": False, "instability": 0.0, "mixed": ""}
    clear = (resampled.low > 0) | (resampled.high < 0)
    size = np.where(clear, np.abs(loadings), 0.0).max(axis=1)
    largest = [names[j] for j in np.argsort(-size, kind="stable")[:3] if size[j] > 0]
    # Noise from outside the subspace makes both means smaller; a turn inside it only the first.
    kept = resampled.cosines.mean(axis=0) / resampled.products.mean(axis=0)
    mixed, span = "", ""
    if len(kept) > 1 and kept.min() < TOGETHER:
        number = max(2, int((kept < TOGETHER).sum()))  # none turns alone
        *rest, last = (1 + np.sort(np.argsort(kept)[:number])).tolist()
        mixed = f"{', '.join(map(str, rest))} and {last}"
        span = "plane" if number == 2 else "space"
    return {
        "resampled": True,
        "chance": resampled.chance,
        "instability": resampled.instability,
        "n_clear": int(clear.sum()),
        "n_loadings": clear.size,
        "clearest": f", the largest of them those of {listed(largest)}" if largest else "",
        "mixed": mixed,
        "span": span,
    }
