"""Figures of the paper's pages: Tables 1 to 3 and the Patch-seq chapter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle
from numpy.typing import NDArray

from ..plotting import METHOD_COLORS
from ..simulation import LAWS
from .ledger import SCANT

__all__ = [
    "FAMILY_COLORS",
    "METHOD_STYLES",
    "plot_agreement",
    "plot_bibiplot",
    "plot_errors",
    "plot_overlays",
    "plot_table",
]

FAMILY_COLORS: dict[str, str] = {
    "Pvalb": "#c44e52",
    "Sst": "#dd8452",
    "Vip": "#8172b3",
    "Sncg": "#5d3a9b",
    "Lamp5": "#da8bc3",
    "IT": "#2f8f6f",
    "PT": "#173f6e",
    "NP": "#5ad1d8",
    "CT": "#3f8fd2",
}
"""One colour per transcriptomic family: interneurons red to violet, the others green to blue."""

METHOD_STYLES: dict[str, tuple[str, str]] = {
    "TRE-sup": ("-", "o"),
    "TRE-full": ("-", "s"),
    "TRE-split": ("-", "^"),
    "NN-sup": ("-.", "o"),
    "NN-full": ("-.", "s"),
    "NN-split": ("-.", "^"),
    "SIR": ("--", "D"),
    "csOPG": ("--", "v"),
    "KSIR": ("--", "P"),
    "MLP": ("--", "X"),
}
"""Line and marker per method: the line tells the family, the marker which of it."""

# References that the paper does not compare with.
_REFERENCE_COLORS = {"ridge": "black", "PCA+network": "#8b1a1a"}


# Tables 1 and 2: our means as lines, the paper's as open markers.


def plot_table(cells: pd.DataFrame, table: str) -> Figure:
    """Draw a table: a panel per law, a line per method, the paper's means as open markers.

    Table 1 has bands of one standard deviation. The errors of Table 2, of which some are ten times
    others, stand on a square-root axis, without bands.

    Parameters
    ----------
    cells : DataFrame
        ``Ledger.cells``.
    table : {"table1", "table2"}
        Distance against n, or rank error against r.
    """
    part = cells[cells["table"] == table]
    axis = "n" if table == "table1" else "r"
    fig, axes = plt.subplots(2, 2, figsize=(9.5, 9), sharex=True, sharey=True)
    for ax, (law, of_law) in zip(axes.flat, part.groupby("law", sort=False), strict=True):
        for method, line in of_law.groupby("method", sort=False):
            band = line["sd"] if table == "table1" else None
            _draw_method(ax, str(method), line, axis, band, alpha=0.12)
        ax.set(title=LAWS[str(law)].label, xticks=sorted(set(part[axis].astype(int))))
    for ax in axes[1]:
        ax.set(xlabel="labeled observations" if table == "table1" else "true dimension r")
    for ax in axes[:, 0]:
        ax.set(ylabel="Procrustes distance" if table == "table1" else "error of the selected rank")
    if table == "table2":
        axes[0, 0].set_yscale("function", functions=(np.sqrt, np.square))
        axes[0, 0].set(yticks=[0, 0.1, 0.5, 1, 2, 4, 6, 9], ylim=(0, None))
    handles = axes[0, 0].get_legend_handles_labels()[0]
    fig.legend(handles=handles, loc="outside lower center", ncols=5, frameon=False, handlelength=3)
    return fig


def _draw_method(
    ax: Axes, method: str, line: pd.DataFrame, axis: str, band: pd.Series | None, alpha: float
) -> None:
    """Draw our means with a band around them, and the paper's means as open markers.

    The line's own markers show in the legend alone.
    """
    color, (style, marker) = METHOD_COLORS[method], METHOD_STYLES[method]
    x, mean = line[axis].to_numpy(float), line["mean"].to_numpy(float)
    look: dict[str, Any] = {"color": color, "ls": style, "lw": 1.8, "label": method}
    ax.plot(x, mean, marker=marker, markerfacecolor="white", markevery=[], **look)
    if band is not None:
        half = band.to_numpy(float)
        ax.fill_between(x, mean - half, mean + half, color=color, alpha=alpha, lw=0)
    shape: dict[str, Any] = {"marker": marker, "s": 34, "lw": 1.3, "zorder": 3}
    ax.scatter(x, line["paper_mean"], facecolor="white", edgecolor=color, **shape)


def plot_agreement(cells: pd.DataFrame, table: str) -> Figure:
    """Draw z of every cell as a heat map: methods by columns of the paper's table.

    White is agreement; a cell that differs is outlined, a missing one hatched, and one that rests
    on fewer than ten repetitions has its number in brackets.
    """
    part = cells[cells["table"] == table]
    fig, ax = plt.subplots(figsize=(12, 5.6))
    order, columns = list(dict.fromkeys(part["method"])), list(dict.fromkeys(part["cell"]))
    wide = part.pivot(index="method", columns="cell", values=["z", "reps", "verdict"]).loc[order]
    z, reps, verdict = (wide[name][columns] for name in ("z", "reps", "verdict"))
    z = z.astype(float)
    shown = z.map(lambda value: f"{value:.1f}" if np.isfinite(value) else "")
    shown = shown.where((reps >= SCANT) | (shown == ""), "(" + shown + ")")
    sns.heatmap(
        z.clip(-9, 9),
        cmap="vlag",
        center=0,
        vmin=-6,
        vmax=6,
        annot=shown,
        fmt="",
        annot_kws={"size": 10.5},
        linewidths=0.5,
        cbar_kws={"label": "(ours - paper) / standard error", "fraction": 0.04, "pad": 0.015},
        ax=ax,
    )
    for i, j in np.argwhere(verdict.to_numpy() != "agrees"):
        hatch = "///" if verdict.iloc[i, j] == "missing" else None
        ax.add_patch(plt.Rectangle((j, i), 1, 1, fill=False, ec="0.1", lw=2, hatch=hatch))
    ax.set(xlabel="", ylabel="")
    ax.tick_params(axis="x", rotation=60)
    ax.tick_params(axis="both", labelsize=12)
    return fig


# Table 3 and the stored results of the real data.


def plot_errors(cells: pd.DataFrame, extras: pd.DataFrame) -> Figure:
    """Draw the test error at the selected rank against the labeled share, a panel per train ratio.

    Lines are ours with a band of one standard error of the mean, open markers the paper's means,
    dotted lines ridge regression and the network on principal components. An arrow at the upper
    edge marks what lies above it.

    Parameters
    ----------
    cells, extras : DataFrame
        Of :class:`steinsdr.paper.ledger.Ledger`.
    """
    limit = 0.9
    part, others = (
        frame[(frame["table"] == "table3") & (frame["measure"] == "mse_rhat")]
        for frame in (cells, extras)
    )
    methods = list(dict.fromkeys(part["method"]))
    ratios = sorted(set(part["train_ratio"]))
    fig, axes = plt.subplots(1, len(ratios), figsize=(10, 5.8), sharey=True)
    for ax, ratio in zip(axes, ratios, strict=True):
        for method in methods:
            line = part[(part["method"] == method) & (part["train_ratio"] == ratio)]
            error = line["sd"] / np.sqrt(np.maximum(line["reps"], 1))
            _draw_method(ax, method, line, "gamma", error, alpha=0.15)
            above = np.fmax(line["mean"], line["paper_mean"]) > limit
            arrow = {"arrowstyle": "->", "color": METHOD_COLORS[method]}
            for gamma in line.loc[above, "gamma"]:
                ax.annotate("", (gamma, limit), (gamma, limit - 0.03), arrowprops=arrow)
        for name, color in _REFERENCE_COLORS.items():
            line = others[(others["method"] == name) & (others["train_ratio"] == ratio)]
            line = line.sort_values("gamma")
            ax.plot(line["gamma"], line["mean"], color=color, ls=":", lw=2.6, label=name)
        shares = sorted(set(part["gamma"]))
        ax.set(title=f"train ratio {ratio:g}", xlabel="labeled share γ", xticks=shares)
    floor = 0.95 * np.nanmin([*part["mean"], *part["paper_mean"], *others["mean"]])
    axes[0].set(ylabel="test MSE", ylim=(floor, limit))
    handles = axes[0].get_legend_handles_labels()[0]
    fig.legend(handles=handles, loc="outside lower center", ncols=6, frameon=False, handlelength=3)
    return fig


# Pictures of single cells: they need the data.


def plot_bibiplot(
    genes: pd.DataFrame,
    ephys: pd.DataFrame,
    latent: tuple[NDArray, NDArray],
    families: Sequence[str],
    components: tuple[int, int],
) -> Figure:
    r"""Draw the two-panel biplot of Kobak et al. (2021): the same cells seen from both sides.

    Each panel shows the cells in two latent dimensions, standardized, and variables as lines: the
    ends are their correlations with the two dimensions, in a circle of radius one.

    Parameters
    ----------
    genes, ephys : DataFrame of shape (n, p) and (n, q)
        Variables, one row per cell. The 15 genes with the longest lines and all properties are
        named.
    latent : pair of ndarrays of shape (n, r)
        Latent variables from the genes, :math:`\hat B^\top x`, and those of the properties.
    families : sequence of str
        Family of each cell, see :data:`FAMILY_COLORS`.
    components : pair of int
        Which latent variables, from 1.
    """
    figure, axes = plt.subplots(1, 2, figsize=(11, 5.6))
    titles = ("Gene expression", "Electrophysiology")
    for ax, values, scores, title in zip(axes, (genes, ephys), latent, titles, strict=True):
        shown = scores[:, [k - 1 for k in components]]
        shown = (shown - shown.mean(axis=0)) / shown.std(axis=0)
        n_names = 15 if values is genes else ephys.shape[1]
        _draw_biplot(
            ax, shown, values, [FAMILY_COLORS.get(name, "0.6") for name in families], n_names
        )
        ax.set(xlabel=f"component {components[0]}", ylabel=f"component {components[1]}")
        ax.set_title(title)
    handles = [
        Line2D([], [], marker="o", ls="", ms=5, color=color, label=family)
        for family, color in FAMILY_COLORS.items()
        if family in set(families)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)
    return figure


_RADIUS = 3.0  # of the correlation circle, in standard deviations of the cells


def _draw_biplot(
    ax: Axes, shown: NDArray, values: pd.DataFrame, colors: list[str], n_names: int
) -> None:
    """Draw cells at ``shown`` (n, 2) and the ``n_names`` variables with the longest lines."""
    ax.scatter(shown[:, 0], shown[:, 1], c=colors, s=8, alpha=0.6, lw=0, rasterized=True)
    lines = np.corrcoef(shown, values, rowvar=False)[2:, :2]
    ax.add_patch(Circle((0, 0), _RADIUS, fill=False, color="0.6", lw=0.8))
    longest = np.argsort(-np.linalg.norm(lines, axis=1), kind="stable")[:n_names]
    ends = _RADIUS * lines[longest]
    for end in ends:
        ax.plot([0, end[0]], [0, end[1]], color="0.15", lw=0.7)
    _place_names(ax, ends, [str(values.columns[j]) for j in longest])
    ax.set(xlim=(-1.55 * _RADIUS, 1.55 * _RADIUS), ylim=(-1.2 * _RADIUS, 1.25 * _RADIUS))
    ax.set(aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)


def _place_names(ax: Axes, ends: NDArray, names: list[str]) -> None:
    """Write the names outside the circle's lines, left and right, without overlap."""
    step = 2.4 * _RADIUS / 26  # the height of a small line of text
    for side in (-1, 1):
        members = [i for i in range(len(names)) if (ends[i, 0] >= 0) == (side > 0)]
        members.sort(key=lambda i: ends[i, 1])
        heights = ends[members, 1].copy()
        for k in range(1, len(heights)):
            heights[k] = max(heights[k], heights[k - 1] + step)
        heights -= max(0.0, heights[-1] - 1.2 * _RADIUS) if len(heights) else 0.0
        for i, y in zip(members, heights, strict=True):
            x = side * 1.04 * _RADIUS
            ax.plot([ends[i, 0], x], [ends[i, 1], y], color="0.6", lw=0.4)
            align = "left" if side > 0 else "right"
            ax.text(x, y, names[i], fontsize="x-small", ha=align, va="center", clip_on=False)


def plot_overlays(
    latent: NDArray, measured: pd.DataFrame, predicted: pd.DataFrame, names: Sequence[str]
) -> Figure:
    """Draw the cells in two latent dimensions, coloured by a property: measured and predicted.

    Parameters
    ----------
    latent : ndarray of shape (n, r)
        Latent variables of the cells; the first two are drawn.
    measured, predicted : DataFrame of shape (n, q)
        Standardized properties.
    names : sequence of str
        Properties to show, a column of two panels each.
    """
    size = (2.9 * len(names), 5.6)
    fig, axes = plt.subplots(2, len(names), figsize=size, sharex=True, sharey=True)
    for column, name in zip(axes.T, names, strict=True):
        for ax, values in zip(column, (measured[name], predicted[name]), strict=True):
            style: dict[str, Any] = {"s": 7, "cmap": "vlag", "vmin": -2, "vmax": 2, "lw": 0}
            drawn = ax.scatter(latent[:, 0], latent[:, 1], c=values, rasterized=True, **style)
            ax.set(xticks=[], yticks=[])
        column[0].set_title(name, fontsize="medium")
    axes[0, 0].set(ylabel="measured")
    axes[1, 0].set(ylabel="predicted")
    fig.colorbar(drawn, ax=axes, shrink=0.7, label="standard deviations")
    return fig
