"""Figures of the simulation tables: our means with their spread, the paper's as markers."""

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

from ..plotting import METHOD_COLORS, METHOD_STYLES
from ..simulation import LAWS
from .figures_patchseq import REFERENCE_COLORS
from .ledger import SCANT

__all__ = [
    "method_lines",
    "plot_agreement",
    "plot_errors",
    "plot_leak",
    "plot_ranks",
    "plot_table",
]


_AXIS = {"table1": ("n", "labeled observations"), "table2": ("r", "true dimension r")}
_VALUE = {"table1": "Procrustes distance", "table2": "error of the selected rank"}


def _part(cells: pd.DataFrame, table: str, methods: Sequence[str] | None) -> pd.DataFrame:
    part = cells[cells["table"] == table]
    if methods is None:
        return part
    if unknown := sorted(set(methods) - set(part["method"])):
        raise ValueError(f"methods has {unknown}; the table has {sorted(set(part['method']))}.")
    return part[part["method"].isin(methods)]


def method_lines(methods: Sequence[str]) -> list[Line2D]:
    """Return the entries of a legend: a method's line with the marker of the paper's means.

    Examples
    --------
    >>> [line.get_label() for line in method_lines(["TRE-sup", "SIR"])]
    ['TRE-sup', 'SIR']
    """
    return [
        Line2D(
            [],
            [],
            color=METHOD_COLORS[name],
            ls=METHOD_STYLES[name][0],
            marker=METHOD_STYLES[name][1],
            markerfacecolor="white",
            lw=1.8,
            label=name,
        )
        for name in methods
    ]


def plot_table(
    cells: pd.DataFrame, table: str = "table1", methods: Sequence[str] | None = None
) -> Figure:
    """Draw a table: a panel per law, a line per method, the paper's means as open markers.

    Table 1 has bands of one standard deviation. The errors of Table 2, of which some are ten times
    others, stand on a square-root axis, without bands.

    Parameters
    ----------
    cells : DataFrame
        ``Ledger.cells``.
    table : {"table1", "table2"}
        Distance against n, or rank error against r.
    methods : sequence of str, optional
        Methods to draw; all by default.
    """
    part = _part(cells, table, methods)
    axis, label = _AXIS[table]
    fig, axes = plt.subplots(2, 2, figsize=(9.5, 9), sharex=True, sharey=True)
    for ax, (law, of_law) in zip(axes.flat, part.groupby("law", sort=False), strict=True):
        for method, line in of_law.groupby("method", sort=False):
            color, (style, marker) = METHOD_COLORS[str(method)], METHOD_STYLES[str(method)]
            x, mean, sd = (line[name].to_numpy(float) for name in (axis, "mean", "sd"))
            ax.plot(x, mean, color=color, ls=style, lw=1.8, label=method)
            if table == "table1":
                ax.fill_between(x, mean - sd, mean + sd, color=color, alpha=0.12, lw=0)
            shape = {"marker": marker, "s": 34, "lw": 1.3, "zorder": 3}
            ax.scatter(x, line["paper_mean"], facecolor="white", edgecolor=color, **shape)
        ax.set(title=LAWS[str(law)].label, xticks=sorted(set(part[axis].astype(int))))
    for ax in axes[1]:
        ax.set(xlabel=label)
    for ax in axes[:, 0]:
        ax.set(ylabel=_VALUE[table])
    if table == "table2":
        axes[0, 0].set_yscale("function", functions=(np.sqrt, np.square))
        axes[0, 0].set(yticks=[0, 0.1, 0.5, 1, 2, 4, 6, 9], ylim=(0, None))
    handles = method_lines(list(dict.fromkeys(part["method"])))
    fig.legend(handles=handles, loc="outside lower center", ncols=5, frameon=False, handlelength=3)
    return fig


def plot_agreement(cells: pd.DataFrame, table: str = "table1", ax: Axes | None = None) -> Axes:
    """Draw z of every cell as a heat map: methods by columns of the paper's table.

    White is agreement; a cell that differs is outlined, a missing one hatched, and one that rests
    on fewer than ten repetitions has its number in brackets.
    """
    part = _part(cells, table, None)
    ax = plt.subplots(figsize=(12, 5.6))[1] if ax is None else ax
    order = list(dict.fromkeys(part["method"]))
    columns = list(dict.fromkeys(part["cell"]))
    z = part.pivot(index="method", columns="cell", values="z").loc[order, columns]
    reps = part.pivot(index="method", columns="cell", values="reps").loc[order, columns]
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
    verdict = part.set_index(["method", "cell"])["verdict"]
    for i, method in enumerate(order):
        for j, cell in enumerate(columns):
            if verdict[method, cell] != "agrees":
                hatch = "///" if verdict[method, cell] == "missing" else None
                box = plt.Rectangle((j, i), 1, 1, fill=False, ec="0.1", lw=2, hatch=hatch)
                ax.add_patch(box)
    ax.set(xlabel="", ylabel="")
    ax.tick_params(axis="x", rotation=60)
    ax.tick_params(axis="both", labelsize=12)
    return ax


# Figures and tables of the real-data results, drawn from stored rows: no data needed.


def _table3(cells: pd.DataFrame, measure: str) -> pd.DataFrame:
    return cells[(cells["table"] == "table3") & (cells["measure"] == measure)]


def plot_errors(
    cells: pd.DataFrame,
    extras: pd.DataFrame,
    *,
    measure: str = "mse_rhat",
    methods: Sequence[str] | None = None,
    references: Sequence[str] = ("ridge", "PCA+network"),
    limit: float = 0.9,
) -> Figure:
    """Draw the test error against the labeled share, a panel per train ratio.

    Lines are ours with a band of one standard error of the mean, open markers the paper's means,
    dotted lines the references.

    Parameters
    ----------
    cells, extras : DataFrame
        Of :class:`steinsdr.paper.ledger.Ledger`.
    measure : {"mse_rhat", "mse_r10"}
    methods, references : sequence of str, optional
        What to draw; all methods of the paper by default.
    limit : float
        Upper end of the axis; what lies above it is marked by an arrow at the edge.
    """
    part = _table3(cells, measure)
    wanted = list(dict.fromkeys(part["method"])) if methods is None else list(methods)
    if unknown := sorted(set(wanted) - set(part["method"])):
        raise ValueError(f"methods has {unknown}; the table has {sorted(set(part['method']))}.")
    ratios = sorted(set(part["train_ratio"]))
    fig, axes = plt.subplots(1, len(ratios), figsize=(10, 5.8), sharey=True)
    others = extras[(extras["table"] == "table3") & (extras["measure"] == measure)]
    for ax, ratio in zip(np.atleast_1d(axes), ratios, strict=True):
        for method in wanted:
            line = part[(part["method"] == method) & (part["train_ratio"] == ratio)]
            color, (style, marker) = METHOD_COLORS[method], METHOD_STYLES[method]
            x, mean, paper = (line[c].to_numpy(float) for c in ("gamma", "mean", "paper_mean"))
            error = line["sd"].to_numpy(float) / np.sqrt(np.maximum(line["reps"], 1))
            ax.plot(x, mean, color=color, ls=style, lw=1.8, label=method)
            ax.fill_between(x, mean - error, mean + error, color=color, alpha=0.15, lw=0)
            shape: dict[str, Any] = {"marker": marker, "s": 34, "lw": 1.3, "zorder": 3}
            ax.scatter(x, paper, facecolor="white", edgecolor=color, **shape)
            for beyond in x[np.fmax(mean, paper) > limit]:
                ax.annotate(
                    "",
                    (beyond, limit),
                    (beyond, limit - 0.03),
                    arrowprops={"arrowstyle": "->", "color": color},
                )
        for name in references:
            line = others[(others["method"] == name) & (others["train_ratio"] == ratio)]
            color = REFERENCE_COLORS.get(name, "0.6")
            line = line.sort_values("gamma")
            ax.plot(line["gamma"], line["mean"], color=color, ls=":", lw=2.6, label=name)
        ax.set(
            title=f"train ratio {ratio:g}",
            xlabel="labeled share γ",
            xticks=sorted(set(part["gamma"])),
        )
    low = min(part["mean"].min(), others["mean"].min() if len(others) else np.inf)
    floor = 0.95 * min(low, part["paper_mean"].min()) if np.isfinite(low) else None
    np.atleast_1d(axes)[0].set(ylabel="test MSE", ylim=(floor, limit))
    drawn = np.atleast_1d(axes)[0].get_legend_handles_labels()[0]
    handles = [*method_lines(wanted), *drawn[len(wanted) :]]
    fig.legend(handles=handles, loc="outside lower center", ncols=6, frameon=False, handlelength=3)
    return fig


def plot_ranks(cells: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the selected ranks of the six columns: points with one standard deviation.

    Rings are the paper's means, the dashed line is the reference rank of 10.
    """
    part = _table3(cells, "rank")
    ax = plt.subplots(figsize=(9, 4.5))[1] if ax is None else ax
    order = list(dict.fromkeys(part["method"]))
    columns = part.groupby(["train_ratio", "gamma"], sort=True).ngroup()
    for k, method in enumerate(order):
        mine = part[part["method"] == method]
        shift = (columns[mine.index] - 2.5) * 0.14
        color = METHOD_COLORS[method]
        ax.vlines(k + shift, mine["mean"] - mine["sd"], mine["mean"] + mine["sd"], color=color)
        ax.scatter(k + shift, mine["mean"], color=color, s=14, lw=0, zorder=4)
        ring: dict[str, Any] = {"facecolor": "none", "edgecolor": color, "s": 60, "lw": 1.1}
        ax.scatter(k + shift, mine["paper_mean"], zorder=3, **ring)
    ax.axhline(10, color="0.5", ls="--", lw=1)
    ax.set(ylabel="selected rank", ylim=(0, 13), xticks=range(len(order)))
    ax.set_xticklabels(order, rotation=30, ha="right")
    return ax


def plot_leak(leak: pd.DataFrame, axes: Sequence[Axes] | None = None) -> Sequence[Axes]:
    """Draw test errors with genes selected on all cells against those selected inside.

    Parameters
    ----------
    leak : DataFrame
        ``patchseq_leak.csv`` of :mod:`steinsdr.paper.patchseq_results`. A point per partition, a
        panel
        for the responses as measured and one for shuffled ones; points above the diagonal are
        flattered.
    """
    kinds = list(dict.fromkeys(leak["responses"]))
    if axes is None:
        axes = plt.subplots(1, len(kinds), figsize=(8.5, 4))[1]
    for ax, kind in zip(np.atleast_1d(np.asarray(axes)), kinds, strict=True):
        part = leak[leak["responses"] == kind]
        ax.scatter(part["everywhere"], part["inside"], color="#4477aa", s=22, alpha=0.8)
        ends = part[["everywhere", "inside"]].to_numpy()
        span = [ends.min() * 0.98, ends.max() * 1.02]
        ax.plot(span, span, color="0.5", lw=1)
        ax.set(title=f"responses {kind}", xlabel="test MSE, genes selected on all cells")
        ax.set(xlim=span, ylim=span, aspect="equal")
    np.atleast_1d(np.asarray(axes))[0].set(ylabel="test MSE, selected on training cells")
    return axes
