"""Figures of the simulation tables: our means with their spread, the paper's as markers."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from .ledger_entries import SCANT, mark, spans
from .plotting import METHOD_COLORS, METHOD_STYLES
from .simulation import LAWS

__all__ = ["method_lines", "plot_agreement", "plot_table", "printed_table"]

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


def printed_table(cells: pd.DataFrame, table: str, law: str) -> pd.DataFrame:
    """Return one law's table as the paper prints it: ours, the paper's, and a mark.

    ✓ agrees, ✗ differs, · missing; a mark in brackets rests on fewer than ten repetitions. The
    last column has our repetitions. :func:`steinsdr.ledger_entries.entries_html` shows ours above
    the paper's.
    """
    whole = _part(cells, table, None)
    part = whole[whole["law"] == law]
    if part.empty:
        raise ValueError(f"law is {law!r}; expected one of {sorted(set(whole['law']))}.")
    digits = 3 if table == "table1" else 2
    text = [
        ("–" if row.verdict == "missing" else f"{row.mean:.{digits}f} ({row.sd:.{digits}f})")
        + f" | {row.paper_mean:.{digits}f} ({row.paper_sd:.{digits}f}) "
        + mark(row.verdict, row.reps)
        for row in part.itertuples()
    ]
    axis = _AXIS[table][0]
    frame = part.assign(text=text).pivot(index="method", columns=axis, values="text")
    frame.columns = [f"{axis} = {value:.0f}" for value in frame.columns]
    frame = frame.loc[list(dict.fromkeys(part["method"]))].rename_axis(None)
    return frame.assign(repetitions=spans(part).reindex(frame.index))
