"""What the benchmark's chapter computes from stored rows: paired differences, goals, ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from scipy.stats import friedmanchisquare, studentized_range, t

from ..simulation import LAWS
from .benchmark import BENCHMARK, SELECTED_ON
from .experiment import Cell
from .patchseq import imported_pooch

OURS = "SteinRegressor"
FULL = ("ridge", "kernel-ridge")
RIVALS = ("PLS", "RRR", "SIR-projective", "RFM", "xRFM")
_MARGIN = 0.05  # of the goal: at most so much above the best peer that uses all columns
_TEST_PER_TRAIN = 1 / (BENCHMARK.design["folds"] - 1)


def live_slice(cells: Sequence[Cell], rows: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return the errors of cells, computed now, and a sentence that says so.

    Where the data can not be had, the errors are those of the stored ``rows``.
    """
    # The book takes what a download says on stderr for a warning.
    imported_pooch().get_logger().setLevel("ERROR")
    keys = [*BENCHMARK.keys]
    try:
        found = [(*row.cell, *(row.values or [np.nan])) for row in BENCHMARK.compute(cells)]
    except OSError as error:
        stored = rows[pd.MultiIndex.from_frame(rows[keys]).isin(cells)]
        notice = "*** THE DATA ARE NOT HERE *** The errors below are those of stored rows. Why: "
        return stored[[*keys, "error"]], notice + str(error)
    frame = pd.DataFrame(found, columns=[*keys, "error"])
    return frame, "The data are here: the errors below are computed now."


def best_of(rows: pd.DataFrame, methods: Sequence[str]) -> pd.Series:
    """Return for each data set the method with the smallest mean error, indexed by data set."""
    means = rows.pivot_table(index="data", columns="method", values="error", sort=False)
    return means[list(methods)].idxmin(axis=1)


def relative_differences(
    rows: pd.DataFrame, rivals: pd.Series | str, method: str = OURS
) -> pd.DataFrame:
    r"""Return how much larger the error of a method is than a rival's, in percent of the rival's.

    Training sets of cross-validation overlap, and with them the differences of the k splits. The
    95 percent interval has the standard error of Nadeau and Bengio (2003),
    :math:`s \sqrt{1/k + n_\mathrm{test}/n_\mathrm{train}}`, and quantiles of t with k - 1 degrees
    of freedom. There is one rival, or one for each data set. The frame is indexed by data set and
    has the columns rival, difference, low, high, splits.

    Examples
    --------
    >>> rows = pd.DataFrame({"data": "a", "rep": [0, 1] * 2, "method": list("xxyy")})
    >>> rows["error"] = [1.0, 3.0, 1.1, 3.3]
    >>> found = relative_differences(rows, "x", "y").loc["a"]
    >>> round(float(found["difference"]), 6), bool(found["low"] < 10 < found["high"])
    (10.0, True)
    """
    against = pd.Series(rivals, pd.Index(rows["data"].unique(), name="data"))
    mine, base = (
        rows[rows["method"] == name].set_index(["data", "rep"])["error"]
        for name in (method, rows["data"].map(against))
    )
    pairs = pd.DataFrame({"gap": mine - base, "base": base}).dropna().groupby("data")
    k, percent = pairs.size(), 100 / pairs["base"].mean()
    center = pairs["gap"].mean() * percent
    error = pairs["gap"].std() * np.sqrt(1 / k + _TEST_PER_TRAIN) * percent
    reach = error * t.ppf(0.975, k - 1)
    ends = {"difference": center, "low": center - reach, "high": center + reach}
    found = pd.DataFrame({"rival": against, **ends, "splits": k}, against.index)
    return found[found["splits"] >= 2].astype({"splits": int})


def duels(rows: pd.DataFrame) -> pd.DataFrame:
    """Return how often SteinRegressor is ahead of each other method, and by how much.

    A row has the data sets in common, those with the smaller mean error, those whose interval
    excludes zero on either side, and the median of :func:`relative_differences` in percent.
    """
    table = {}
    for name in rows["method"].unique():
        if name != OURS:
            found = relative_differences(rows, name)
            ahead, behind = found["high"] < 0, found["low"] > 0
            counts = (len(found), (found["difference"] < 0).sum(), ahead.sum(), behind.sum())
            table[name] = (*map(int, counts), round(found["difference"].median(), 1))
    columns = ["data sets", "ahead", "clearly ahead", "clearly behind", "median %"]
    found = pd.DataFrame.from_dict(table, orient="index", columns=columns)
    return found.rename_axis("method").round(1)


def distance_ratios(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the mean distance of SteinSDR over that of every other method, designs by methods.

    A pair is compared on the data sets that both have. A ratio below 1 favors SteinSDR.
    """
    wide = rows.pivot_table(index=["design", "rep"], columns="method", values="distance")
    wide = wide[wide["SteinSDR"].notna()]
    others = wide.drop(columns="SteinSDR")
    ours = others.mask(others.notna(), wide["SteinSDR"], axis=0)
    return ours.groupby("design").mean() / others.groupby("design").mean()


def goals(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the goals set for SteinRegressor before the run, and what was reached.

    Column ``reached`` counts data sets; ``chosen`` are those of them on which settings were chosen,
    ``reported`` the others.
    """
    full = relative_differences(rows, best_of(rows, FULL))["difference"]
    named, all_rivals = (
        relative_differences(rows, best_of(rows, rivals))["difference"]
        for rivals in (RIVALS[:-1], RIVALS)
    )
    patchseq = relative_differences(rows, "ridge").loc[["patchseq"], "difference"]
    table = []
    for goal, wanted, reached in (
        ("within 5% of the better full peer", 8, full <= 100 * _MARGIN),
        ("ahead of the rivals except xRFM", 7, named < 0),
        ("ahead of all rivals", 7, all_rivals < 0),
        ("on Patch-seq no worse than ridge", 1, patchseq <= 0),
    ):
        chosen = reached.index.isin(SELECTED_ON)
        counts = [int(part.sum()) for part in (reached, reached[chosen], reached[~chosen])]
        table.append((goal, wanted, *counts, counts[0] >= wanted))
    names = ["goal", "wanted", "reached", "chosen", "reported", "met"]
    return pd.DataFrame(table, columns=names)


class Ranks(NamedTuple):
    """Mean ranks of methods over data sets, and what they rest on.

    ``difference`` is Nemenyi's critical difference at level 0.05, ``p_value`` that of Friedman's
    test that all methods are alike.
    """

    means: pd.Series
    difference: float
    p_value: float


def mean_ranks(errors: pd.DataFrame) -> Ranks:
    r"""Return mean ranks of the columns of a table (data sets x methods); 1 is the smallest error.

    Two methods differ by Nemenyi's test if their mean ranks do by
    :math:`q_{0.05} \sqrt{k (k + 1) / (6 N)}`, with k methods, N data sets, and the quantile
    :math:`q_{0.05}` of the studentized range over :math:`\sqrt 2` (Demšar 2006, who has 2.34 for
    three methods):

    >>> table = pd.DataFrame(np.arange(18.0).reshape(6, 3), columns=list("abc"))
    >>> round(float(mean_ranks(table).difference * np.sqrt(3)), 2)
    2.34
    """
    n, k = errors.shape
    means = errors.rank(axis=1).mean().sort_values()
    quantile = studentized_range.ppf(0.95, k, np.inf) / np.sqrt(2)
    difference = float(quantile * np.sqrt(k * (k + 1) / (6 * n)))
    p_value = float(friedmanchisquare(*errors.to_numpy().T).pvalue)
    return Ranks(means, difference, p_value)


def plot_mean_ranks(ranks: Ranks) -> Figure:
    """Draw mean ranks; what lies in the band around ours does not differ from it."""
    fig, ax = plt.subplots(figsize=(6, 0.32 * len(ranks.means) + 1))
    places = np.arange(len(ranks.means))[::-1]
    ours = ranks.means[OURS]
    ax.axvspan(ours - ranks.difference, ours + ranks.difference, color="0.9", zorder=0)
    colors = ["C3" if name == OURS else "0.35" for name in ranks.means.index]
    ax.scatter(ranks.means, places, c=colors, s=45, zorder=3)
    for place, rank in zip(places, ranks.means, strict=True):
        ax.annotate(f"{rank:.1f}", (rank, place), (7, -3), textcoords="offset points", fontsize=9)
    ax.set_yticks(places, ranks.means.index)
    ax.set(xlabel="mean rank over the data sets (1 is best)", xlim=(0.5, len(places) + 0.5))
    ax.grid(axis="y", visible=False)
    return fig


def plot_wins(distances: pd.DataFrame, p: int) -> Figure:
    """Draw who is closest by distribution and rows a column, and by how much.

    ``distances`` are means of methods (rows) by law and n (columns), p is the number of columns of
    the designs.
    """
    closest, least = distances.idxmin(), distances.min()
    others = distances.mask(distances == least)
    leads = 100 * (1 - least / others.min())
    texts = closest + leads.map("\n{:.1f}% closer\nthan ".format) + others.idxmin()
    codes = pd.Series(pd.factorize(closest)[0], distances.columns)  # colors, in order of appearance
    laws = distances.columns.unique("law")
    codes, texts = (cells.unstack("n").loc[laws] for cells in (codes, texts))
    fig, ax = plt.subplots(figsize=(6, 3.8))
    look: dict[str, Any] = {"cmap": "Set2", "vmin": 0, "vmax": 8, "cbar": False, "linewidths": 1}
    words = {"size": 9, "color": "black"}
    sns.heatmap(codes, annot=texts, fmt="", annot_kws=words, ax=ax, **look)
    ax.set(xlabel="labeled rows a column", ylabel="", xticklabels=[f"{n / p:g}" for n in codes])
    ax.set_yticklabels([LAWS[law].label.replace(" ", "\n") for law in laws], rotation=0)
    return fig
