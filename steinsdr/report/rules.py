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
from scipy.stats import kurtosis, mode, norm, rankdata, skew

from ..estimator import SteinSDR
from ..link import is_linear
from ..rank import KURTOSIS_LIMIT, SKEWNESS_LIMIT, RankSelection
from .read import Table, Units, quoted

METHODS = ("SteinSDR", "ridge", "kernel ridge", "PLS", "SIR", "random forest")
FEW_VALUES = 10  # distinct values up to which a column counts as discrete
LARGE_SHARE = 0.2  # share of the rows that one value may hold
COLLINEAR = 0.95  # share of a column's variance that the others may explain
PREDICTS = 0.1  # share of variance from which a rival's prediction overrules the test
MOST_COLUMNS = 500  # beyond which columns are not regressed on each other
LEVEL = 0.95  # of intervals
TOGETHER = 0.97  # mean cosine after turning where singular values are two standard errors apart
CLEAR = 2.0  # standard errors that make a difference clear
RELEVANT = 0.03  # share of variance that makes a difference worth a remark
SOMETHING = 0.005  # share of the variance that rounds to one percent
ALIKE = 0.2  # correlation of neighboring rows below which dependence does little
ALIKE_BY_CHANCE = 0.001  # chance to find independent rows alike
LEVELS = {
    "usable": "The directions can be used.",
    "with care": "Use the directions with care.",
    "not usable": "Do not use the directions.",
}
WIDTH = 80  # of printed lines


@dataclass(frozen=True)
class Comparison:
    """Held-out errors of every method of ``METHODS``, and of the mean.

    Names of responses are labels of rows only, so that none can be taken for a method.

    Attributes
    ----------
    r2 : DataFrame
        Share of each response's variance that is predicted (rows: responses, columns: methods). The
        mean of the training rows has zero; below zero is worse than that.
    loss : DataFrame of shape (n, methods)
        Squared error of each row, averaged over the standardized responses.
    dimensions : tuple of int
        Number of directions in each fold.
    """

    r2: pd.DataFrame
    loss: pd.DataFrame
    dimensions: tuple[int, ...]

    @property
    def mean_r2(self) -> pd.Series:
        """Share of the responses' total standardized variance that is predicted, by method."""
        loss = self.loss.mean()
        return 1.0 - loss / loss["mean"]

    @property
    def rival(self) -> str:
        """The best method but SteinSDR."""
        return str(self.mean_r2[list(METHODS[1:])].idxmax())

    def difference(self, method: str, other: str) -> tuple[float, float]:
        """Difference of ``mean_r2`` and its standard error over the rows.

        The error treats rows as independent though they share training folds: a guide, no test.
        """
        gap = (self.loss[other] - self.loss[method]) / self.loss["mean"].mean()
        return float(gap.mean()), float(gap.std(ddof=1) / np.sqrt(len(gap)))

    def table(self) -> pd.DataFrame:
        """Return one row per method: R² of all responses, and the difference from SteinSDR."""
        gaps = np.array([self.difference(method, "SteinSDR") for method in METHODS])
        columns = {
            "R²": self.mean_r2[list(METHODS)],
            "minus SteinSDR": gaps[:, 0],
            "standard error": gaps[:, 1],
        }
        return pd.DataFrame(columns, index=pd.Index(METHODS, name="method"))


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
        fill = textwrap.TextWrapper(WIDTH, initial_indent="- ", subsequent_indent="  ")
        fill.break_long_words = fill.break_on_hyphens = False  # names and options stay whole
        parts = [self.headline, *map(fill.fill, self.sentences)]
        return "\n".join(parts + (["Mind:", *map(fill.fill, advised)] if advised else []))


@dataclass(frozen=True)
class Stability:
    """How far directions move between halves of the rows.

    Attributes
    ----------
    errors : ndarray of shape (p, r)
        Standard errors of the loadings, from the halves.
    distances : ndarray of shape (N,)
        Procrustes distance of the indices that each half gives to those of the fit.
    chance : float
        The same distance between random directions; 0 if the subspace is the whole space.
    products, cosines : ndarray of shape (N, r)
        Of each half's directions with those of the fit, after turning them towards the fit and
        before, without signs. The latter are smaller where directions turn among themselves.
    """

    errors: NDArray
    distances: NDArray
    chance: float
    products: NDArray
    cosines: NDArray

    @property
    def instability(self) -> float:
        """Mean distance over ``chance``: 0 if no half moves, 1 if all are random."""
        return float(self.distances.mean() / self.chance) if self.chance > 0 else 0.0


def explained_by_others(X: NDArray) -> NDArray:
    r"""Share of each column's variance that is linear in the others, shape (p,).

    With the eigenvectors v and eigenvalues :math:`\ell` of the correlation matrix it is
    :math:`1 - 1/\sum_k v_{jk}^2/\ell_k`, one minus the inverse variance inflation factor, adjusted
    for the number of columns: n rows and as many columns explain each other whatever they are. NaN
    where there are no more rows than columns, or more than 500 columns.

    Examples
    --------
    >>> x, y, noise = np.random.default_rng(0).standard_normal((3, 1000))
    >>> np.round(explained_by_others(np.column_stack([x, y, x + y])), 2).tolist()
    [1.0, 1.0, 1.0]
    >>> bool(explained_by_others(np.column_stack([x, noise])).max() < 0.05)
    True
    """
    n, p = X.shape
    if n <= p or p > MOST_COLUMNS:
        return np.full(p, np.nan)
    values, vectors = np.linalg.eigh(np.atleast_2d(np.corrcoef(X, rowvar=False)))
    smallest = len(values) * np.finfo(float).eps * values[-1]
    inflation = np.square(vectors) @ (1.0 / np.maximum(values, smallest))
    return np.maximum(0.0, 1.0 - (n - 1) / (n - p) / inflation)


def describe(X: pd.DataFrame) -> pd.DataFrame:
    """Describe the predictors (n, p), gaps filled, and remark what is at odds with the method.

    The lemma needs a density that is positive and smooth. Columns with few values, or with one
    value in many rows, have none. Nearly collinear columns have a nearly flat one. Heavy tails
    are allowed but make the score hard to estimate. A counter numbers the rows.

    Returns
    -------
    DataFrame
        One row per predictor: mean, sd, number of distinct values, share of the most frequent
        value, skewness, excess kurtosis, share of its variance explained by the other predictors,
        and the remarks on it: "few values", "one value often", "heavy", "collinear", "counter",
        with commas between.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"height": rng.standard_normal(200), "sex": rng.integers(0, 2, 200)})
    >>> describe(X)["remarks"].to_dict()
    {'height': '', 'sex': 'few values'}
    """
    values = X.fillna(X.median()).to_numpy()
    columns = pd.DataFrame(
        {
            "mean": values.mean(axis=0),
            "sd": values.std(axis=0),
            "distinct": X.nunique().to_numpy(),
            "most_frequent": mode(X, nan_policy="omit").count / X.notna().sum().to_numpy(),
            "skewness": skew(values, axis=0),
            "kurtosis": kurtosis(values, axis=0),
            "explained_by_others": explained_by_others(values),
        },
        index=pd.Index(X.columns, name="predictor"),
    )
    few = columns["distinct"] <= min(FEW_VALUES, len(X) // 2)
    remarks = pd.DataFrame(
        {
            "few values": few,
            "one value often": ~few & (columns["most_frequent"] > LARGE_SHARE),
            "heavy": ~few
            & (
                (columns["skewness"].abs() > SKEWNESS_LIMIT)
                | (columns["kurtosis"] > KURTOSIS_LIMIT)
            ),
            "collinear": columns["explained_by_others"] > COLLINEAR,
            "counter": [_counts_rows(X[c]) for c in X],
        }
    )
    columns["remarks"] = [", ".join(remarks.columns[row]) for row in remarks.to_numpy()]
    return columns


def _counts_rows(column: pd.Series) -> bool:
    """Whether a column looks like a row number: whole, and as far apart as the rows of the file.

    Rows that were dropped leave gaps in both.
    """
    values = column.to_numpy()
    if not np.all(values == np.round(values)):
        return False
    named = "row" in column.index.names
    rows = column.index.get_level_values("row") if named else np.arange(len(values))
    return bool(np.ptp(values - np.asarray(rows)) == 0)


def alikeness(values: NDArray, groups: NDArray) -> tuple[NDArray, float]:
    r"""Return the rank correlation of each column (n, k) from row to row, and what it must exceed.

    In rows that were drawn independently, in whatever order they came, it is nearly normal with
    standard deviation :math:`1/\sqrt n`, whatever their tails. The limit is a quantile of that law,
    shared among the columns, or 0.2 if that is more. Rows of a group (n,) count as neighbors.

    Examples
    --------
    >>> walks = np.random.default_rng(0).standard_normal((300, 2)).cumsum(axis=0)
    >>> r, limit = alikeness(walks, np.full(300, ""))
    >>> bool(r.min() > limit), round(limit, 2)
    (True, 0.2)
    """
    centered = rankdata(values[np.argsort(groups, kind="stable")], axis=0) - (len(values) + 1) / 2
    products = (centered[1:] * centered[:-1]).sum(axis=0)
    size = np.maximum(np.square(centered).sum(axis=0), np.finfo(float).tiny)
    n, k = values.shape
    return products / size, max(ALIKE, float(norm.isf(ALIKE_BY_CHANCE / k)) / np.sqrt(n))


def _is_sorted(y: NDArray) -> bool:
    """Whether rows come in the order of a column, or its classes stand in blocks."""
    steps = np.diff(y)
    blocks = np.count_nonzero(steps) < 2 * len(np.unique(y)) <= 2 * FEW_VALUES
    return bool(blocks or np.all(steps >= 0) or np.all(steps <= 0))


@dataclass(frozen=True)
class Analysis:
    """A fit and what is known about it.

    Attributes
    ----------
    table : Table
    sdr : SteinSDR
        The fit on all rows, in ``units`` and with standardized responses.
    units : Units
        From the predictors to what the fit has seen.
    test : RankSelection
        The sequential test for the number of directions.
    number : {"test", "nonlinear", "prediction", "given"}
        What decided on the number: the test; prediction, beyond the test, as links are nonlinear;
        prediction, as the test found none and a rival predicts; or the user.
    comparison : Comparison
    stability : Stability or None
    settings : dict
        What was asked for.
    """

    table: Table
    sdr: SteinSDR
    units: Units
    test: RankSelection
    number: str
    comparison: Comparison
    stability: Stability | None
    settings: dict[str, Any]

    @cached_property
    def predictors(self) -> pd.DataFrame:
        """One row per predictor, see :func:`steinsdr.report.rules.describe`."""
        return describe(self.table.X)

    @cached_property
    def verdict(self) -> Verdict:
        """What the numbers allow, by the rules of ``rules.toml``."""
        return _judge(self)

    @property
    def n_components(self) -> int:
        """Number of directions."""
        return self.sdr.loadings_.shape[1]

    @property
    def directions(self) -> list[str]:
        """Names of the directions."""
        return [f"direction {k + 1}" for k in range(self.n_components)]

    @cached_property
    def standardized(self) -> NDArray:
        """Predictors of all rows, labeled first, in ``units``, gaps filled."""
        X = pd.concat([self.table.X, self.table.X_unlabeled]).to_numpy()
        return self.units(X, self.table.groups.to_numpy(dtype=str))

    def reduced(self) -> pd.DataFrame:
        """Return the reduced predictors of all rows, labeled first, indexed by file and row.

        They are (x - mean) / unit times the loadings, see :meth:`loadings`, gaps filled. With
        groups the mean is that of the row's group.
        """
        coordinates = self.sdr.coordinates_
        T = (self.standardized - coordinates.shift) / coordinates.unit @ self.sdr.loadings_
        frame = pd.DataFrame(T, self.table.groups.index, self.directions)
        frame.insert(0, "labeled", np.arange(len(T)) < len(self.table.X))
        return frame

    def loadings(self) -> pd.DataFrame:
        """Return one row per direction and predictor.

        ``loading`` is the weight of (predictor - ``mean``) / ``unit``; ``low`` and ``high`` are its
        interval of 95% from the larger of ``standard_error``, by the formula of the fit, and
        ``half_sample_error``, from halves of the rows; ``clear`` says whether it leaves out zero.
        ``correlation`` is the predictor's correlation with the direction.
        """
        n, L, errors = len(self.table.X), self.sdr.loadings_, self.sdr.loading_errors_
        Z, T = self.standardized[:n], self.reduced().iloc[:n, 1:].to_numpy()
        T = (T - T.mean(axis=0)) / np.maximum(T.std(axis=0), np.finfo(float).tiny)
        halves = np.full_like(L, np.nan) if self.stability is None else self.stability.errors
        margin = norm.ppf((1 + LEVEL) / 2) * np.fmax(errors, halves)
        unit = self.units.scale * self.sdr.coordinates_.unit
        mean = sum(np.mean(self.table.groups[:n] == g) * m for g, m in self.units.means.items())
        mean = mean + self.units.scale * self.sdr.coordinates_.shift
        columns = {
            "loading": L,
            "standard_error": errors,
            "low": L - margin,
            "high": L + margin,
            "half_sample_error": halves,
            "clear": np.abs(L) > margin,
            "correlation": Z.T @ T / n,
            "mean": np.tile(mean, (L.shape[1], 1)).T,
            "unit": np.tile(unit, (L.shape[1], 1)).T,
        }
        index = pd.MultiIndex.from_product(
            [self.directions, self.table.X.columns], names=["direction", "predictor"]
        )
        return pd.DataFrame({name: value.T.ravel() for name, value in columns.items()}, index)


def _judge(analysis: Analysis) -> Verdict:
    """Apply the rules of ``rules.toml`` to an analysis."""
    text = files(__package__).joinpath("rules.toml").read_text(encoding="utf-8")
    rules = tomllib.loads(text)
    facts = _fit_facts(analysis) | _data_facts(analysis) | _prediction_facts(analysis.comparison)
    facts |= _stability_facts(analysis) | _order_facts(analysis)
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
        "config": analysis.sdr.config_,
        "reason": analysis.sdr.config_reason_,
        "grouped": len(analysis.units.means) > 1,
        "n_groups": len(analysis.units.means),
        "n_gaps": sum(table.gaps.values()),
        "share_gaps": sum(table.gaps.values()) / ((n + m) * p),
        "n_rows": table.n_rows,
        "n_dropped": table.n_dropped,
        "gaps": ", ".join(f"{name!r} ({k})" for name, k in list(table.gaps.items())[:3]),
    }
    for remark in ("few values", "one value often", "heavy", "collinear", "counter"):
        with_it = predictors["remarks"].str.contains(remark)
        facts[remark.replace(" ", "_")] = quoted(predictors.index[with_it])
    Y = table.Y.to_numpy()
    squares = np.square(Y - Y.mean(axis=0))
    shares = squares.max(axis=0) / squares.sum(axis=0)
    widest = int(shares.argmax())
    facts |= {
        "share_of_one": float(shares[widest]),
        "one_row": table.Y.index[squares[:, widest].argmax()][1],
        "its_response": repr(str(table.Y.columns[widest])),
        "its_value": float(Y[squares[:, widest].argmax(), widest]),
    }
    return facts


def _fit_facts(analysis: Analysis) -> dict[str, Any]:
    r, sdr, test = analysis.n_components, analysis.sdr, analysis.test
    p_values = np.asarray(test.p_values)
    found = f"p-value{'s up to' if test.rank > 1 else ''} {p_values[: max(1, test.rank)].max():.3f}"
    if 0 < test.rank < len(p_values):
        found += f", of one more {p_values[test.rank]:.3f}"
    relations = {
        "given": f", as asked for; the test finds {test.rank} ({found})",
        "test": f", by the sequential test ({found})",
        "nonlinear": ", by prediction, since the links are nonlinear; the test finds "
        f"{test.rank} ({found})",
        "prediction": f", by prediction, since the test found none ({found})",
    }
    components = None if sdr.coordinates_.basis is None else sdr.coordinates_.basis.shape[1]
    return {
        "r": r,
        "directions": _count(r, "direction"),
        "these_explain": "the direction explains" if r == 1 else "the directions explain",
        "relation": relations[analysis.number],
        "number": analysis.number,
        "tested": test.rank,
        "nonlinear": not is_linear(sdr.link_),
        "p_first": p_values[0],
        "components": components,
    }


def _order_facts(analysis: Analysis) -> dict[str, Any]:
    """Say whether neighboring rows are alike, in predictors and in the residuals of responses.

    Both together, and not one of them, spoil tests and intervals.
    """
    table, sdr, n = analysis.table, analysis.sdr, len(analysis.table.X)
    groups, Z = table.groups.to_numpy(dtype=str)[:n], analysis.standardized[:n]
    Y = Units(table.Y.to_numpy(), groups)(table.Y.to_numpy(), groups)
    rest = Y - np.reshape(sdr.link_.predict(sdr.coordinates_.map(Z)), Y.shape)
    of_rest, limit = alikeness(rest, groups)
    of_predictors, least = alikeness(Z, groups)
    left, drifting = int(of_rest.argmax()), int(of_predictors.argmax())
    # A table that is sorted by a response may be independent, but not by a predictor as well.
    by_y, by_x = (any(_is_sorted(c) for c in part.to_numpy().T) for part in (table.Y, table.X))
    return {
        "rows_alike": (of_rest[left] > limit and of_predictors[drifting] > least)
        and (by_x or not by_y),
        "rest_alike": of_rest[left],
        "rest_limit": limit,
        "response_alike": repr(str(table.Y.columns[left])),
        "predictor_alike": repr(str(table.X.columns[drifting])),
        "drift": of_predictors[drifting],
    }


def _share(r2: float) -> str:
    return f"{r2:.0%}" if r2 >= SOMETHING else f"nothing (R² {r2:.2f})"


def _prediction_facts(comparison: Comparison) -> dict[str, Any]:
    overall, rival = comparison.mean_r2, comparison.rival
    gap, error = comparison.difference("SteinSDR", rival)
    clear = abs(gap) > max(CLEAR * error, SOMETHING)
    winner = "SteinSDR" if gap > 0 else rival
    gain, noise = comparison.difference("SteinSDR", "mean")
    best, rest = comparison.difference(rival, "mean")
    return {
        "predicts_something": max(overall["SteinSDR"], overall[rival]) >= SOMETHING,
        "gain": gain,
        "gain_error": noise,
        "rival": rival,
        "rival_error": rest,
        "n_rivals": len(METHODS) - 1,
        "r2_reduced": overall["SteinSDR"],
        "r2_rival": overall[rival],
        "share_reduced": _share(overall["SteinSDR"]),
        "share_rival": _share(overall[rival]),
        "gap": gap,
        "gap_error": error,
        "better": clear and gap < -RELEVANT and best > CLEAR * rest,
        "outcome": f"{winner} is better" if clear else "no clear difference",
    }


def _stability_facts(analysis: Analysis) -> dict[str, Any]:
    loadings = analysis.loadings()
    dense = ~analysis.predictors["remarks"].str.contains("values|often|collinear")
    clear = loadings[loadings["clear"]]["loading"].abs().groupby("predictor").max()
    largest = quoted(clear[dense.reindex(clear.index)].nlargest(3).index)
    stability = analysis.stability
    facts = {
        "n_clear": int(loadings["clear"].sum()),
        "n_loadings": len(loadings),
        "clearest": f" (largest, of columns without remarks: {largest})" if largest else "",
        "resampled": stability is not None,
        "chance": 0.0,
        "instability": 0.0,
        "turning": False,
        "ratio": 1.0,
    }
    if stability is None:
        return facts
    # Noise from outside the subspace makes both means smaller; a turn inside it only the first.
    kept = stability.cosines.mean(axis=0) / stability.products.mean(axis=0)
    number = max(2, int((kept < TOGETHER).sum()))  # none turns alone
    *rest, last = (1 + np.sort(np.argsort(kept)[:number])).tolist()
    sizes = [np.sum(np.square(e)) for e in (stability.errors, analysis.sdr.loading_errors_)]
    return facts | {
        "chance": stability.chance,
        "instability": stability.instability,
        "turning": len(kept) > 1 and kept.min() < TOGETHER,
        "mixed": f"{', '.join(map(str, rest))} and {last}",
        "span": "plane" if number == 2 else "space",
        "ratio": float(np.sqrt(sizes[0] / max(sizes[1], np.finfo(float).tiny))),
    }
