"""Figures of genes and latent directions of the real data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from ._validation import check_matrix
from .rank import AdaptiveRank

__all__ = [
    "plot_loadings",
    "plot_overlays",
    "plot_rrr_path",
    "plot_selection_frequency",
    "plot_stored_spectrum",
]

BLUE, GREY = "#4477aa", "#999999"


def plot_loadings(
    genes: pd.DataFrame, directions: Sequence[int] = (1, 2, 3), *, n_genes: int = 14
) -> Figure:
    """Draw the largest loadings of each direction with their bootstrap intervals.

    Parameters
    ----------
    genes : DataFrame
        ``patchseq_genes.csv`` of :mod:`steinsdr.patchseq_results`: columns gene, loading_k, low_k,
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
        ``patchseq_spectrum.csv`` of :mod:`steinsdr.patchseq_results`.
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
        Of :func:`steinsdr.selection.cross_validate_rrr`; a line per rank.
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
