"""Figures of the paper's pages: Tables 1 to 3 and the Patch-seq chapter."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from ..plotting import METHOD_COLORS, REFERENCE_COLORS
from ..simulation import LAWS
from .ledger import SCANT, readable, title_of
from .theory.figures import label_log_axis

_LOOKS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))

FAMILY_COLORS: dict[str, str] = _LOOKS["families"]
"""One color per transcriptomic family."""

METHOD_STYLES: dict[str, tuple[str, str]] = {k: tuple(v) for k, v in _LOOKS["methods"].items()}
"""Line and marker per method."""

# The methods that figures name; the others stay in the background.
_NAMED = ("TRE-sup", "TRE-full", "NN-split", "SIR")


# All tables.


def plot_means(cells: pd.DataFrame) -> Figure:
    """Draw our means against the paper's, a panel per table; on the line they are equal.

    Agreeing cells are gray, differing ones are colored diamonds. The panel of Table 3 has ranks and
    errors, and therefore logarithmic axes. ``cells`` are those of a ledger or of ``ledger.csv``.
    """
    fig, axes = plt.subplots(1, 3, figsize=(9, 3.9))
    looks: dict[str, Any] = {
        "agrees": {"color": "0.55", "s": 22, "alpha": 0.45},
        "differs": {"color": "C3", "s": 30, "marker": "D", "alpha": 0.9},
    }
    for ax, (table, part) in zip(axes, cells.groupby("table", sort=False), strict=True):
        ax.set(title=title_of(str(table)), aspect="equal")
        if table == "table3":
            ax.set(xscale="log", yscale="log")
            label_log_axis(ax.xaxis, [0.5, 1, 2, 5, 10])
            label_log_axis(ax.yaxis, [0.5, 1, 2, 5, 10])
        ax.axline((1, 1), (2, 2), color="0.2", lw=0.8, zorder=0)
        for verdict, look in looks.items():
            shown = part[part["verdict"] == verdict]
            ax.scatter(shown["paper_mean"], shown["mean"], label=verdict, lw=0, **look)
    fig.supxlabel("mean in the paper")
    fig.supylabel("our mean")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
    return fig


# Tables 1 and 2.


def plot_distances(cells: pd.DataFrame, extras: pd.DataFrame, chance: float) -> Figure:
    """Draw Table 1: a panel per law, a line per method, the default, ridge regression and chance.

    Four methods are named and have the paper's means as open markers; the other methods of the
    paper are gray. ``cells`` and ``extras`` are those of a
    :class:`steinsdr.paper.ledger.Ledger`, in which the default of ``SteinSDR`` is the method
    "default"; ``chance`` is the mean distance of two random subspaces.
    """
    part, others = (frame[frame["table"] == "table1"] for frame in (cells, extras))
    fig, axes = plt.subplots(2, 2, figsize=(9, 8.4), sharex=True, sharey=True)
    for ax, (law, of_law) in zip(axes.flat, part.groupby("law", sort=False), strict=True):
        ax.axhline(chance, color=REFERENCE_COLORS["chance"], ls=":", lw=1.6, label="chance")
        beside = others[others["law"] == law]
        _draw_methods(ax, of_law, beside, "n", default="-", ridge="-")
        ax.set(title=LAWS[str(law)].label, xticks=sorted(set(part["n"].astype(int))))
    plt.setp(axes[-1], xlabel="labeled observations n")  # a common label is under the legend
    fig.supylabel("mean Procrustes distance to the true subspace")
    _share_legend(fig, axes[0, 0])
    return fig


def _draw_methods(
    ax: Axes, part: pd.DataFrame, others: pd.DataFrame, axis: str, **references: str
) -> None:
    """Draw our means, and for named methods the paper's as open markers; others are gray.

    ``references`` are methods that the paper does not have, and how their lines look.
    """
    for method, line in part.groupby("method", sort=False):
        named = method in _NAMED
        style, marker = METHOD_STYLES[str(method)]
        color = METHOD_COLORS[str(method)] if named else "0.78"
        look: dict[str, Any] = {"color": color, "ls": style, "lw": 1.9 if named else 1.0}
        look |= {"label": method if named else "_other", "zorder": 2.5 if named else 1.5}
        look |= {"marker": marker, "markerfacecolor": "white", "markevery": []}  # in the legend
        ax.plot(line[axis], line["mean"], **look)
        if named:
            ring: dict[str, Any] = {"s": 34, "lw": 1.3, "facecolor": "white", "edgecolor": color}
            ax.scatter(line[axis], line["paper_mean"], marker=marker, zorder=3, **ring)
    for name, style in references.items():
        line = others[others["method"] == name].sort_values(axis)
        look = {"color": REFERENCE_COLORS[name], "ls": style, "lw": 2.2, "label": name}
        ax.plot(line[axis], line["mean"], **look)


def _share_legend(fig: Figure, ax: Axes) -> None:
    """Put one legend under the panels, with a line for the methods in gray."""
    handles = [*ax.get_legend_handles_labels()[0], Line2D([], [], color="0.78", label="others")]
    fig.legend(handles=handles, loc="outside lower center", ncols=4, handlelength=3)


def plot_ranks(rows: pd.DataFrame) -> Figure:
    """Draw stored rows of Table 2 as a heat map of the mean selected rank: methods by law and r.

    The color is the difference to the truth: white is right, red too many, blue too few.
    """
    wide = rows.pivot_table("rank", "method", ["law", "r"])
    laws = [law for law in LAWS if law in set(rows["law"])]
    wide = wide.loc[[m for m in METHOD_STYLES if m in wide.index], laws]
    fig, axes = plt.subplots(1, len(laws), figsize=(9, 4.8), sharey=True)
    for ax, law in zip(axes, laws, strict=True):
        part = wide[law]
        off = part - part.columns.to_numpy(float)
        look: dict[str, Any] = {"vmin": -4, "vmax": 4, "cmap": "vlag", "cbar": False}
        sns.heatmap(off, annot=part, fmt=".1f", linewidths=0.5, ax=ax, **look)
        ax.set(xlabel="true r", ylabel="")
        ax.set_title(LAWS[law].label, fontsize="medium")
    return fig


def plot_agreement(cells: pd.DataFrame, table: str) -> Figure:
    """Draw z of every cell as a heat map: methods by columns of the paper's table.

    White is agreement; a cell that differs is outlined, a missing one hatched, and one that rests
    on fewer than ten repetitions has its number in brackets.
    """
    part = cells[cells["table"] == table]
    fig, ax = plt.subplots(figsize=(9, 4.4))
    order, columns = list(dict.fromkeys(part["method"])), list(dict.fromkeys(part["cell"]))
    wide = part.pivot(index="method", columns="cell", values=["z", "reps", "verdict"]).loc[order]
    z, reps, verdict = (wide[name][columns] for name in ("z", "reps", "verdict"))
    z = z.astype(float)
    shown = z.map(lambda value: f"{value:.1f}" if np.isfinite(value) else "")
    shown = shown.where((reps >= SCANT) | (shown == ""), "(" + shown + ")")
    bar = {"label": "(ours - paper) / standard error", "fraction": 0.04, "pad": 0.015}
    look: dict[str, Any] = {"vmin": -6, "vmax": 6, "cmap": "vlag", "cbar_kws": bar}
    size = {"size": 9}
    drawn = z.clip(-9, 9)  # an infinite value would be left blank
    sns.heatmap(drawn, annot=shown, fmt="", annot_kws=size, linewidths=0.5, ax=ax, **look)
    for i, j in np.argwhere(verdict.to_numpy() != "agrees"):
        hatch = "///" if verdict.iloc[i, j] == "missing" else None
        ax.add_patch(plt.Rectangle((j, i), 1, 1, fill=False, ec="0.1", lw=2, hatch=hatch))
    heads = pd.Series(readable(name) for name in columns).str.rsplit(", ", n=1, expand=True)
    ax.set(ylabel="", xticklabels=heads[1].str.rpartition(" ")[2])
    ax.set(xlabel=heads[1].iloc[0].partition(" ")[0])
    for name, places in heads.groupby(0, sort=False).groups.items():
        ax.text(places.to_numpy().mean() + 0.5, -0.3, str(name), ha="center", size=10)
        ax.axvline(places[0], color="white", lw=5, zorder=0.5)
    ax.tick_params(axis="x", rotation=0)
    return fig


# Table 3 and the stored results of the real data.


def plot_errors(cells: pd.DataFrame, extras: pd.DataFrame) -> Figure:
    """Draw the test error at the selected rank against the labeled share, a panel per train ratio.

    Arguments and named methods are those of :func:`plot_distances`. Ridge regression is a solid
    black line, the network on principal components a dashed one. An arrow marks a named method
    above the edge.
    """
    limit = 0.85
    part, others = (
        frame[(frame["table"] == "table3") & (frame["measure"] == "mse_rhat")]
        for frame in (cells, extras)
    )
    ratios = sorted(set(part["train_ratio"]))
    fig, axes = plt.subplots(1, len(ratios), figsize=(9, 5.4), sharey=True)
    for ax, ratio in zip(axes, ratios, strict=True):
        mine, beside = (frame[frame["train_ratio"] == ratio] for frame in (part, others))
        _draw_methods(ax, mine, beside, "gamma", ridge="-", **{"PCA+network": "--"})
        for row in mine[mine["method"].isin(_NAMED) & mine["mean"].gt(limit)].itertuples():
            arrow = {"arrowstyle": "->", "color": METHOD_COLORS[row.method]}
            ax.annotate("", (row.gamma, limit), (row.gamma, limit - 0.03), arrowprops=arrow)
        ax.set(title=f"train ratio {ratio:g}", xlabel="labeled share γ")
        ax.set(xticks=sorted(set(part["gamma"])))
    floor = 0.95 * np.nanmin([*part["mean"], *part["paper_mean"], *others["mean"]])
    axes[0].set(ylabel="test MSE (variance of a property is 1)", ylim=(floor, limit))
    _share_legend(fig, axes[0])
    return fig


# Pictures of single cells: they need the data.


def plot_bibiplot(
    genes: pd.DataFrame,
    ephys: pd.DataFrame,
    latent: tuple[NDArray, NDArray],
    families: Sequence[str],
    components: tuple[int, int],
) -> Figure:
    """Draw the two-panel biplot of Kobak et al. (2021): the same cells seen from both sides.

    Each panel shows the cells in two latent dimensions, standardized, and variables as lines: the
    ends are their correlations with the two dimensions, in a circle of radius one. The name of a
    family stands near the median of its cells. ``genes`` (n, p) and ``ephys`` (n, q) have a row per
    cell, ``latent`` has their latent variables (n, r), of which ``components``, counted from 1, are
    drawn.
    """
    figure, axes = plt.subplots(2, 1, figsize=(6, 10))
    titles = ("Gene expression", "Electrophysiology")
    for ax, values, scores, title in zip(axes, (genes, ephys), latent, titles, strict=True):
        shown = scores[:, [k - 1 for k in components]]
        shown = (shown - shown.mean(axis=0)) / shown.std(axis=0)
        n_names = 15 if values is genes else ephys.shape[1]
        colors = [FAMILY_COLORS.get(name, "0.6") for name in families]
        _draw_biplot(ax, shown, values, colors, n_names)
        ax.set(xlabel=f"direction {components[0]}", ylabel=f"direction {components[1]}")
        ax.set_title(title)
        named = [name in FAMILY_COLORS for name in families]
        places = pd.DataFrame(shown[named]).groupby(np.array(families)[named]).median()
        places = places.sort_values(1)
        for family, x, y in zip(places.index, places[0], _apart(places[1]), strict=True):
            look: dict[str, Any] = {"weight": "bold", "ha": "center", "zorder": 5}
            text = ax.text(x, y, family, color=FAMILY_COLORS[family], gid="family", **look)
            text.set_path_effects([withStroke(linewidth=3, foreground="white")])
    return figure


_RADIUS = 3.0  # of the correlation circle, in standard deviations of the cells


def _apart(heights: pd.Series) -> NDArray:
    """Return the heights nearest to these, which rise, that keep names a line of text apart."""
    steps = 0.1 * _RADIUS * np.arange(len(heights))
    return isotonic_regression(heights - steps).x + steps if len(heights) else steps


def _draw_biplot(
    ax: Axes, shown: NDArray, values: pd.DataFrame, colors: list[str], n_names: int
) -> None:
    """Draw cells at ``shown`` (n, 2) and the ``n_names`` variables with the longest lines."""
    ax.scatter(shown[:, 0], shown[:, 1], c=colors, s=8, alpha=0.6, lw=0, rasterized=True)
    lines = np.corrcoef(shown, values, rowvar=False)[2:, :2]
    ax.add_patch(Circle((0, 0), _RADIUS, fill=False, color="0.6", lw=0.8))
    longest = np.argsort(-np.linalg.norm(lines, axis=1), kind="stable")[:n_names]
    ends = _RADIUS * pd.DataFrame(lines[longest], values.columns[longest], ["x", "y"])
    for x, y in ends.to_numpy():
        ax.plot([0, x], [0, y], color="0.15", lw=0.7)
    for side, align in {-1: "right", 1: "left"}.items():
        mine, edge = ends[side * ends["x"] >= 0].sort_values("y"), side * 1.04 * _RADIUS
        for name, height in zip(mine.index, _apart(mine["y"]), strict=True):
            ax.plot([mine["x"][name], edge], [mine["y"][name], height], color="0.6", lw=0.4)
            ax.text(edge, height, str(name), fontsize="small", ha=align, va="center")
    ax.set(xlim=(-1.55 * _RADIUS, 1.55 * _RADIUS), ylim=(-1.2 * _RADIUS, 1.25 * _RADIUS))
    ax.set(aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)


def plot_overlays(
    latent: NDArray, measured: pd.DataFrame, predicted: pd.DataFrame, names: Sequence[str]
) -> Figure:
    """Draw the cells in the first two latent dimensions (n, r), colored by a property.

    Each named property, standardized, has a row of two panels: measured and predicted (n, q).
    """
    size = (5.6, 2.3 * len(names) + 0.4)
    fig, axes = plt.subplots(len(names), 2, figsize=size, sharex=True, sharey=True)
    for row, name in zip(axes, names, strict=True):
        for ax, values in zip(row, (measured[name], predicted[name]), strict=True):
            style: dict[str, Any] = {"s": 7, "cmap": "vlag", "vmin": -2, "vmax": 2, "lw": 0}
            drawn = ax.scatter(latent[:, 0], latent[:, 1], c=values, rasterized=True, **style)
            ax.set(xticks=[], yticks=[])
        row[0].set(ylabel=name)
    axes[0, 0].set_title("measured")
    axes[0, 1].set_title("predicted")
    fig.colorbar(drawn, ax=axes, location="bottom", shrink=0.7, label="standard deviations")
    return fig


# The default estimator.


def plot_gaps(gaps: pd.DataFrame, chance: pd.Series, lines: dict[str, Sequence[str]]) -> Figure:
    """Draw how much farther than the default the methods are, a panel per distribution.

    ``gaps`` has difference and standard error by method, law and n, ``chance`` the difference of
    random subspaces by law and n, and ``lines`` the methods of each panel.
    """
    colors = METHOD_COLORS | REFERENCE_COLORS | {"limit": "0.35"}
    fig, axes = plt.subplots(2, 2, figsize=(6.2, 6.6), sharex=True, sharey=True)
    for ax, (law, names) in zip(axes.flat, lines.items(), strict=True):
        last, height = chance[law].index[-1], -1.0
        for name in sorted(names, key=lambda m: gaps["difference"][m, law, last]):
            part, color = gaps.loc[(name, law)], colors[name]
            n, end = part.index.astype(str), part["difference"][last]
            ax.errorbar(n, part["difference"], 2 * part["error"], fmt="o-", color=color)
            height = max(height + 0.07, end)  # names keep a line of text apart
            arrow = {"arrowstyle": "-", "relpos": (0, 0.5), "lw": 0.7, "color": color}
            place: dict[str, Any] = {"va": "center", "color": color, "arrowprops": arrow}
            ends = (len(n) - 1, end), (len(n) - 0.8, height)
            ax.annotate(name, *ends, fontsize="small", **place)
        ax.plot(n, chance[law], ":", c="0.4")
        ax.set(title=LAWS[law].label, xlim=(-0.2, 5.6), ylim=(-0.25, 0.72))
        ax.set(xlabel="labeled observations", ylabel="difference in distance")
        ax.label_outer()
    return fig
