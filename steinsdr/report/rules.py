"""An analysis, and what its numbers allow in plain words: a table of rules applied to facts."""

from __future__ import annotations

import textwrap
import tomllib
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any, NamedTuple

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

__all__ = [
    "Analysis",
    "Finding",
    "Verdict",
    "describe",
    "explained_by_others",
    "unevenness",
]

FEW_VALUES = 10  # distinct values up to which a column counts as discrete
LARGE_SHARE = 0.2  # share of the rows that one value may hold
COLLINEAR = 0.95  # share of a column's variance that the others may explain
SIGNIFICANT = 0.05  # permutation p-value above which a singular value counts as noise
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

    ``kind`` is a short name such as "discrete", ``text`` what was found, ``advice`` what to do.
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


@dataclass(frozen=True)
class Analysis:
    """A fit and what is known about it.

    Attributes
    ----------
    table : Table
    reduction : steinsdr.report.Reduction
        The fit on all rows.
    diagnostics : SteinDiagnostics
        Stein's lemma applied to the predictors themselves.
    spectrum : RankSelection
        Singular values with their permutation null, and the number of directions that was used.
    comparison : Comparison
    bootstrap : Bootstrap or None
    settings : dict
        What was asked for.
    """

    table: Table
    reduction: BaseEstimator
    diagnostics: SteinDiagnostics
    spectrum: RankSelection
    comparison: Comparison
    bootstrap: Bootstrap | None
    settings: dict[str, Any]

    @cached_property
    def predictors(self) -> pd.DataFrame:
        """One row per predictor, see :func:`steinsdr.report.rules.describe`."""
        return describe(self.table.X)

    @property
    def pvalues(self) -> NDArray:
        """For each k the share of permutations whose k-th singular value is as large, (k,)."""
        null, values = np.asarray(self.spectrum.null), self.spectrum.singular_values
        return (1 + (null >= values).sum(axis=0)) / (1 + len(null))

    @cached_property
    def verdict(self) -> Verdict:
        """What the numbers allow, by the rules of ``rules.toml``."""
        return _judge(self)

    @property
    def n_components(self) -> int:
        """Number of directions."""
        return self.reduction.loadings_.shape[1]

    @property
    def directions(self) -> list[str]:
        """Names of the directions."""
        return [f"direction {k + 1}" for k in range(self.n_components)]

    def reduced(self) -> pd.DataFrame:
        """Return the reduced predictors of all rows, labeled first, indexed by file and row."""
        X = pd.concat([self.table.X, self.table.X_unlabeled])
        Z = pd.DataFrame(self.reduction.transform(X), X.index, self.directions)
        Z.insert(0, "labeled", np.arange(len(X)) < len(self.table.X))
        return Z

    def loadings(self) -> pd.DataFrame:
        """Return one row per direction and predictor, with intervals if there was a bootstrap.

        ``loading`` is the weight of the standardized predictor, ``correlation`` the predictor's
        correlation with the direction over the labeled rows.
        """
        X, Z = self.table.X.to_numpy(), self.reduction.transform(self.table.X)
        p, r = self.reduction.loadings_.shape
        columns = {
            "loading": self.reduction.loadings_,
            "correlation": np.corrcoef(X.T, Z.T)[:p, p:],
        }
        if self.bootstrap is not None:
            columns |= {"low": self.bootstrap.low, "high": self.bootstrap.high}
        scaler = self.reduction.coordinates_[0]
        columns |= {"mean": np.tile(scaler.mean_, (r, 1)).T, "sd": np.tile(scaler.scale_, (r, 1)).T}
        index = pd.MultiIndex.from_product(
            [self.directions, self.table.X.columns], names=["direction", "predictor"]
        )
        return pd.DataFrame({name: value.T.ravel() for name, value in columns.items()}, index)


def _judge(analysis: Analysis) -> Verdict:
    """Apply the rules of ``rules.toml`` to an analysis."""
    text = files(__package__).joinpath("rules.toml").read_text(encoding="utf-8")
    rules = tomllib.loads(text)
    facts = _fit_facts(analysis) | _data_facts(analysis) | _prediction_facts(analysis.comparison)
    facts |= _resampling_facts(analysis)
    facts["hopeless"] = eval(rules["hopeless"], {}, facts)
    said = [
        Finding(*(rule.get(part, "").format(**facts) for part in Finding._fields))
        for rule in rules["rule"]
        if eval(rule["when"], {}, facts)
    ]
    findings = tuple(finding for finding in said if finding.advice)
    level = "not usable" if facts["hopeless"] else "with care" if findings else "usable"
    return Verdict(level, tuple(s.text for s in said if not s.advice), findings)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" + ("" if number == 1 else "s")


def _data_facts(analysis: Analysis) -> dict[str, Any]:
    table, predictors = analysis.table, analysis.predictors
    (n, p), q, m = table.X.shape, table.Y.shape[1], len(table.X_unlabeled)
    facts: dict[str, Any] = {
        "n": n,
        "p": p,
        "size": f"{_count(n, 'row')}, {_count(p, 'predictor')}, {_count(q, 'response')}",
        "m": m,
        "unlabeled_rows": _count(m, "unlabeled row"),
        "config": analysis.reduction.config,
        "scale": analysis.reduction.scale_,
        "n_rows": table.n_rows,
        "n_dropped": table.n_dropped,
        "gaps": ", ".join(f"{name!r} ({k})" for name, k in list(table.gaps.items())[:3]),
    }
    for remark in ("discrete", "heavy", "collinear", "counter"):
        names = predictors.index[predictors["remarks"].str.contains(remark)]
        facts |= {remark: listed(names), f"n_{remark}": len(names)}
    return facts


def _fit_facts(analysis: Analysis) -> dict[str, Any]:
    diagnostics, pvalues, r = analysis.diagnostics, analysis.pvalues, analysis.spectrum.rank
    relations = {
        "given": ", as asked for",
        "energy": f" {'holds' if r == 1 else 'hold'} 95% of the squared singular values",
        "permutation": f" {'rises' if r == 1 else 'rise'} above what permuted responses give",
    }
    scaled = analysis.reduction.scale_ == "standardize"
    return {
        "r": r,
        "directions": _count(r, "direction"),
        "relation": relations[analysis.spectrum.method],
        "p_first": pvalues[0],
        "noise": (pvalues[:r] > SIGNIFICANT).tolist(),
        "n_noise": int((pvalues[:r] > SIGNIFICANT).sum()),
        "slope": diagnostics.slope,
        "uneven": unevenness(diagnostics),
        "mean": float(np.abs(diagnostics.mean).max()),
        "whiten_too": " With correlated columns and enough rows, whiten." if scaled else "",
    }


def _prediction_facts(comparison: Comparison) -> dict[str, Any]:
    overall, better = comparison.mean_r2, []
    for name in METHODS[1:]:
        gap, error = comparison.difference(name, "SteinSDR")
        gain, noise = comparison.difference(name, "mean")
        if gap > max(CLEAR * error, RELEVANT) and gain > CLEAR * noise:
            better.append(f"{name} ({overall[name]:.2f})")
    reduced, everything = overall["SteinSDR"], overall["all predictors"]
    shares = [
        f"{r2:.0%}" if r2 >= SOMETHING else f"nothing (R² {r2:.2f})" for r2 in (reduced, everything)
    ]
    gap, error = comparison.difference("SteinSDR", "all predictors")
    difference = f"clearly {'more' if gap > 0 else 'less'}"
    if abs(gap) <= max(CLEAR * error, SOMETHING):
        difference = "no clear difference"
    gain, noise = comparison.difference("SteinSDR", "mean")
    return {
        "predicts_something": max(reduced, everything) >= SOMETHING,
        "gain": gain,
        "gain_error": noise,
        "r2_reduced": reduced,
        "share_reduced": shares[0],
        "share_all": shares[1],
        "gap": gap,
        "gap_error": error,
        "difference": difference,
        "better": ", ".join(better),
    }


def _resampling_facts(analysis: Analysis) -> dict[str, Any]:
    resampled = analysis.bootstrap
    if resampled is None:
        return {"resampled": False, "chance": 0.0, "instability": 0.0, "turning": False}
    clear = (resampled.low > 0) | (resampled.high < 0)
    size = np.where(clear, np.abs(analysis.reduction.loadings_), 0.0).max(axis=1)
    order = np.argsort(-size, kind="stable")[:3]
    largest = [analysis.table.X.columns[j] for j in order if size[j] > 0]
    # Noise from outside the subspace makes both means smaller; a turn inside it only the first.
    kept = resampled.cosines.mean(axis=0) / resampled.products.mean(axis=0)
    number = max(2, int((kept < TOGETHER).sum()))  # none turns alone
    *rest, last = (1 + np.sort(np.argsort(kept)[:number])).tolist()
    return {
        "resampled": True,
        "chance": resampled.chance,
        "instability": resampled.instability,
        "n_clear": int(clear.sum()),
        "n_loadings": clear.size,
        "clearest": f", the largest of them those of {listed(largest)}" if largest else "",
        "turning": len(kept) > 1 and kept.min() < TOGETHER,
        "mixed": f"{', '.join(map(str, rest))} and {last}",
        "span": "plane" if number == 2 else "space",
    }
