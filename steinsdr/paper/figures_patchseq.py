"""Figures that readers of Patch-seq studies look for: bibiplots and R² per property."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle
from numpy.typing import ArrayLike, NDArray

from .._base import check_matrix
from ..plotting import METHOD_COLORS
from ..rank import AdaptiveRank

__all__ = [
    "FAMILY_COLORS",
    "REFERENCE_COLORS",
    "bibiplot",
    "biplot_panel",
    "correlations",
    "plot_loadings",
    "plot_overlays",
    "plot_r2",
    "plot_rrr_path",
    "plot_selection_frequency",
    "plot_stored_spectrum",
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

UNKNOWN_COLOR = "0.6"
OTHER_COLORS = ("#7a4a1e", "#3b5323", "0.25", "0.75")  # none of METHOD_COLORS
REFERENCE_COLORS: dict[str, str] = {"ridge": "black", "RRR": "0.35", "PLS": "0.7"} | {
    "RRR+network": "#6b6b2a", "PLS+network": "#c9a227", "PCA+network": "#8b1a1a"
}  # fmt: skip
"""Colours of what the paper does not compare with, the same in all figures."""


def correlations(scores: ArrayLike, values: ArrayLike) -> NDArray:
    """Return the correlations (p, r) of the columns of ``values`` (n, p) with scores (n, r).

    A constant column correlates with nothing: zero.
    """
    T, X = check_matrix(scores, "scores"), check_matrix(values, "values")
    if len(T) != len(X):
        raise ValueError(f"scores has {len(T)} row(s) and values {len(X)}; they must match.")
    T, X = T - T.mean(axis=0), X - X.mean(axis=0)
    scale = np.outer(np.linalg.norm(X, axis=0), np.linalg.norm(T, axis=0))
    return np.divide(X.T @ T, scale, out=np.zeros_like(scale), where=scale > 1e-12)


def biplot_panel(
    scores: ArrayLike,
    values: ArrayLike,
    names: Sequence[str],
    families: Sequence[str],
    ax: Axes | None = None,
    *,
    components: tuple[int, int] = (0, 1),
    n_names: int = 15,
    radius: float = 3.0,
) -> Axes:
    """Draw cells in two latent dimensions, and variables as their correlations with these.

    Parameters
    ----------
    scores : array-like of shape (n, r)
        Latent variables of the cells; each is standardized for the figure.
    values : array-like of shape (n, p)
        Variables to show, genes or properties.
    names : sequence of str
        Their names.
    families : sequence of str
        Family of each cell, see :data:`FAMILY_COLORS`; others are grey.
    components : tuple of two int
        Which latent variables, from 0.
    n_names : int
        The variables with the longest lines that are drawn and named.
    radius : float
        Radius of the correlation circle, in standard deviations of the cells.
    """
    T = check_matrix(scores, "scores")
    if max(components) >= T.shape[1] or min(components) < 0:
        raise ValueError(f"components={components}; expected numbers below {T.shape[1]}.")
    if len(families) != len(T):
        raise ValueError(f"families has {len(families)} entries for {len(T)} cells.")
    ax = plt.subplots(figsize=(5, 5))[1] if ax is None else ax
    shown = T[:, list(components)]
    spread = shown.std(axis=0)
    shown = (shown - shown.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    colors = [FAMILY_COLORS.get(family, UNKNOWN_COLOR) for family in families]
    ax.scatter(shown[:, 0], shown[:, 1], c=colors, s=8, alpha=0.6, lw=0, rasterized=True)

    lines = correlations(shown, values)
    if len(names) != len(lines):
        raise ValueError(f"names has {len(names)} entries for {len(lines)} variables.")
    ax.add_patch(Circle((0, 0), radius, fill=False, color="0.6", lw=0.8))
    longest = np.argsort(-np.linalg.norm(lines, axis=1), kind="stable")[:n_names]
    for j in longest:
        end = radius * lines[j]
        ax.plot([0, end[0]], [0, end[1]], color="0.15", lw=0.7)
    _place_names(ax, radius * lines[longest], [str(names[j]) for j in longest], radius)
    ax.set(
        xlim=(-1.55 * radius, 1.55 * radius), ylim=(-1.2 * radius, 1.25 * radius), aspect="equal"
    )
    ax.spines[:].set_visible(False)
    ax.set(xlabel=f"component {components[0] + 1}", ylabel=f"component {components[1] + 1}")
    ax.set(xticks=[], yticks=[])
    return ax


def _place_names(ax: Axes, ends: NDArray, names: list[str], radius: float) -> None:
    """Write the names outside the circle's lines, left and right, without overlap."""
    step = 2.4 * radius / 26  # the height of a small line of text
    for side in (-1, 1):
        members = [i for i in range(len(names)) if (ends[i, 0] >= 0) == (side > 0)]
        members.sort(key=lambda i: ends[i, 1])
        heights = ends[members, 1].copy()
        for k in range(1, len(heights)):
            heights[k] = max(heights[k], heights[k - 1] + step)
        heights -= max(0.0, heights[-1] - 1.2 * radius) if len(heights) else 0.0
        for i, y in zip(members, heights, strict=True):
            x = side * 1.04 * radius
            ax.plot([ends[i, 0], x], [ends[i, 1], y], color="0.6", lw=0.4)
            align = "left" if side > 0 else "right"
            ax.text(x, y, names[i], fontsize="x-small", ha=align, va="center", clip_on=False)


def bibiplot(
    scores_x: ArrayLike,
    genes: pd.DataFrame,
    scores_y: ArrayLike,
    ephys: pd.DataFrame,
    families: Sequence[str],
    *,
    components: tuple[int, int] = (0, 1),
    n_genes: int = 15,
    titles: tuple[str, str] = ("Gene expression", "Electrophysiology"),
) -> Figure:
    r"""Draw the two-panel biplot of Kobak et al. (2021): the same cells seen from both sides.

    Parameters
    ----------
    scores_x, scores_y : array-like of shape (n, r)
        Latent variables from the genes, :math:`\hat B^\top x`, and the matching ones of the
        properties, for example :math:`V^\top y`.
    genes, ephys : DataFrame
        Variables that are correlated with them, one row per cell.
    families : sequence of str
        Family of each cell.
    components : tuple of two int
        Which latent variables, from 0.
    n_genes : int
        Genes that are named; the properties are all named.
    """
    figure, axes = plt.subplots(1, 2, figsize=(11, 5.6))
    sides = ((scores_x, genes, n_genes), (scores_y, ephys, ephys.shape[1]))
    for ax, (scores, frame, n_names), title in zip(axes, sides, titles, strict=True):
        names = [str(name) for name in frame.columns]
        biplot_panel(
            scores, frame, names, families, ax, components=components, n_names=n_names
        ).set_title(title)
    present = [family for family in FAMILY_COLORS if family in set(families)]
    handles = [
        Line2D([], [], marker="o", ls="", ms=5, color=FAMILY_COLORS[family], label=family)
        for family in present
    ]
    if handles:
        figure.legend(
            handles=handles, loc="outside lower center", ncols=len(handles), frameon=False
        )
    return figure


def plot_r2(table: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw R² per property, one point per method, the best predicted property on top.

    Parameters
    ----------
    table : DataFrame
        From :func:`steinsdr.paper.network.r2_table`, or a mean of several.
    """
    ax = plt.subplots(figsize=(6, 0.32 * len(table) + 1))[1] if ax is None else ax
    order = table.mean(axis=1).sort_values().index
    for k, method in enumerate(table.columns):
        known = {**METHOD_COLORS, **REFERENCE_COLORS}
        color = known.get(str(method), OTHER_COLORS[k % len(OTHER_COLORS)])
        ax.plot(table.loc[order, method], range(len(order)), "o", color=color, label=method)
    for k, name in enumerate(order):
        row = table.loc[name]
        ax.plot([row.min(), row.max()], [k, k], color="0.8", lw=1, zorder=0)
    ax.axvline(0, color="0.5", lw=1)
    ax.set(xlabel="test R²", yticks=range(len(order)), yticklabels=list(order))
    ax.legend(frameon=False, fontsize="small")
    return ax


# Figures of genes and latent directions of the real data.


BLUE, GREY = "#4477aa", "#999999"


def plot_loadings(
    genes: pd.DataFrame, directions: Sequence[int] = (1, 2, 3), *, n_genes: int = 14
) -> Figure:
    """Draw the largest loadings of each direction with their bootstrap intervals.

    Parameters
    ----------
    genes : DataFrame
        ``patchseq_genes.csv`` of :mod:`steinsdr.paper.patchseq_results`: columns gene, loading_k,
        low_k,
        high_k.
    directions : sequence of int
        Which k, from 1.
    n_genes : int
        Genes per panel, by size of loading. Filled points have an interval without zero.
    """
    fig, axes = plt.subplots(
        1, len(directions), figsize=(3.4 * len(directions), 0.28 * n_genes + 1)
    )
    for ax, k in zip(np.atleast_1d(axes), directions, strict=True):
        known = genes.dropna(subset=[f"loading_{k}"])
        part = known.reindex(known[f"loading_{k}"].abs().sort_values().index[-n_genes:])
        part = part.sort_values(f"loading_{k}")
        y = np.arange(len(part))
        clear = (part[f"low_{k}"] > 0) | (part[f"high_{k}"] < 0)
        ax.hlines(y, part[f"low_{k}"], part[f"high_{k}"], color=BLUE, lw=1.5)
        face = [BLUE if sure else "white" for sure in clear]
        ax.scatter(part[f"loading_{k}"], y, c=face, edgecolor=BLUE, s=26, zorder=3)
        ax.axvline(0, color="0.5", lw=1)
        ax.set(yticks=y, title=f"direction {k}", xlabel="loading")
        ax.set_yticklabels(part["gene"], fontsize="small", style="italic")
    return fig


def plot_selection_frequency(genes: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw in what share of the partitions each gene is selected, most frequent first.

    Parameters
    ----------
    genes : DataFrame
        Columns frequency and selected: dark bars are the genes that all cells select.
    """
    ax = plt.subplots(figsize=(8, 3.4))[1] if ax is None else ax
    part = genes.sort_values(["frequency", "selected"], ascending=False, ignore_index=True)
    for chosen, color, label in (
        (True, BLUE, "selected on all cells"),
        (False, GREY, "not selected on all cells"),
    ):
        rows = part.index[part["selected"] == chosen]
        ax.bar(rows, part.loc[rows, "frequency"], width=1.0, lw=0, color=color, label=label)
    ax.set(xlabel="genes, by frequency", ylabel="share of partitions", ylim=(0, 1.02))
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_stored_spectrum(spectrum: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw singular values, the middle 90% of the permutation null, and the cumulative energy.

    Parameters
    ----------
    spectrum : DataFrame
        ``patchseq_spectrum.csv`` of :mod:`steinsdr.paper.patchseq_results`.
    """
    ax = plt.subplots(figsize=(7, 3.8))[1] if ax is None else ax
    k = spectrum["k"]
    ax.fill_between(
        k,
        spectrum["null_low"],
        spectrum["null_high"],
        color=GREY,
        alpha=0.4,
        lw=0,
        label="permuted",
    )
    ax.plot(k, spectrum["singular_value"], "o-", color=BLUE, lw=1, label="cells as measured")
    ax.set(xlabel="k", ylabel="k-th singular value", xticks=list(k), ylim=(0, None))
    share = ax.twinx()
    share.plot(k, spectrum["energy"], color="#cc6677", ls="--", lw=1.4, label="cumulative energy")
    share.axhline(AdaptiveRank().energy, color="#cc6677", lw=0.8, ls=":")
    share.set(ylim=(0, 1.05), ylabel="cumulative energy")
    share.grid(visible=False)
    lines: list[Any] = [*ax.get_legend_handles_labels()[0], *share.get_legend_handles_labels()[0]]
    names = [line.get_label() for line in lines]
    ax.legend(lines, names, loc="center right", frameon=False, fontsize="small")
    return ax


def plot_rrr_path(path: pd.DataFrame, ax: Axes | None = None, *, wanted: int = 100) -> Axes:
    """Draw cross-validated R² of sparse reduced-rank regression against the number of genes.

    Parameters
    ----------
    path : DataFrame
        Of :func:`steinsdr.paper.reduced_rank.cross_validate_rrr`; a line per rank.
    wanted : int
        Number of genes to mark.
    """
    ax = plt.subplots(figsize=(6.5, 3.8))[1] if ax is None else ax
    means = path.groupby(["rank", "alpha"], as_index=False)[["n_selected", "r2"]].mean()
    ranks = sorted(set(means["rank"]))
    for shade, rank in zip(np.linspace(0.15, 0.9, len(ranks)), ranks, strict=True):
        line = means[means["rank"] == rank].sort_values("n_selected")
        color = plt.get_cmap("viridis")(shade)
        ax.plot(line["n_selected"], line["r2"], "o-", ms=4, color=color, label=f"rank {rank}")
    ax.axvline(wanted, color="0.5", ls="--", lw=1)
    ax.set(xscale="log", xlabel="selected genes", ylabel="cross-validated R²")
    ticks = [20, 50, wanted, 200, 500]
    ax.set_xticks(ticks, [str(tick) for tick in ticks])
    ax.minorticks_off()
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_overlays(
    scores: ArrayLike,
    measured: pd.DataFrame,
    predicted: ArrayLike,
    names: Sequence[str],
) -> Figure:
    """Draw the cells in two latent dimensions, coloured by a property: measured and predicted.

    Parameters
    ----------
    scores : array-like of shape (n, 2)
        Latent variables of the cells.
    measured : DataFrame of shape (n, q)
        Standardized properties.
    predicted : array-like of shape (n, q)
        In the same order.
    names : sequence of str
        Properties to show, a column of two panels each.
    """
    T = check_matrix(scores, "scores", n_columns=2)
    guess = check_matrix(predicted, "predicted", n_columns=measured.shape[1])
    if unknown := [name for name in names if name not in measured.columns]:
        raise ValueError(f"names has {unknown}; expected some of {list(measured.columns)}.")
    fig, axes = plt.subplots(
        2, len(names), figsize=(2.9 * len(names), 5.6), sharex=True, sharey=True, squeeze=False
    )
    for column, name in enumerate(names):
        j = list(measured.columns).index(name)
        both: tuple[NDArray, NDArray] = (measured[name].to_numpy(float), guess[:, j])
        for ax, values in zip(axes[:, column], both, strict=True):
            drawn = ax.scatter(
                *T.T, c=values, s=7, cmap="vlag", vmin=-2, vmax=2, lw=0, rasterized=True
            )
            ax.set(xticks=[], yticks=[])
        axes[0, column].set_title(name, fontsize="medium")
    axes[0, 0].set(ylabel="measured")
    axes[1, 0].set(ylabel="predicted")
    fig.colorbar(drawn, ax=axes, shrink=0.7, label="standard deviations")
    return fig
