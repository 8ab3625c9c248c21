"""Figures of the simulation tables: our means with their spread, the paper's as markers."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .plotting import METHOD_COLORS
from .simulation import LAWS

__all__ = ["plot_agreement", "plot_table", "printed_table"]

_AXIS = {"table1": ("n", "labeled observations"), "table2": ("r", "true dimension r")}
_VALUE = {"table1": "Procrustes distance", "table2": "error of the selected rank"}


def _part(cells: pd.DataFrame, table: str, methods: Sequence[str] | None) -> pd.DataFrame:
    part = cells[cells["table"] == table]
    if methods is None:
        return part
    if unknown := sorted(set(methods) - set(part["method"])):
        raise ValueError(f"methods has {unknown}; the table has {sorted(set(part['method']))}.")
    return part[part["method"].isin(methods)]


def plot_table(
    cells: pd.DataFrame, table: str = "table1", methods: Sequence[str] | None = None
) -> Figure:
    """Draw a table: a panel per law, a line per method, the paper's means as open circles.

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
    fig, axes = plt.subplots(2, 2, figsize=(9.5, 7), sharex=True, sharey=True)
    for ax, (law, of_law) in zip(axes.flat, part.groupby("law", sort=False), strict=True):
        for method, line in of_law.groupby("method", sort=False):
            color = METHOD_COLORS[str(method)]
            x, mean, sd = (line[name].to_numpy(float) for name in (axis, "mean", "sd"))
            ax.plot(x, mean, color=color, lw=1.8, label=method)
            ax.fill_between(x, mean - sd, mean + sd, color=color, alpha=0.12, lw=0)
            ax.scatter(x, line["paper_mean"], s=30, facecolor="white", edgecolor=color, zorder=3)
        ax.set(title=LAWS[str(law)].label, xticks=sorted(set(part[axis].astype(int))))
    for ax in axes[1]:
        ax.set(xlabel=label)
    for ax in axes[:, 0]:
        ax.set(ylabel=_VALUE[table], ylim=(0, None))
    handles, names = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, names, loc="outside lower center", ncols=5, frameon=False)
    return fig


def plot_agreement(cells: pd.DataFrame, table: str = "table1", ax: Axes | None = None) -> Axes:
    """Draw z of every cell as a heat map: methods by columns of the paper's table.

    White is agreement; a cell beyond 3 standard errors is outlined, a missing one hatched.
    """
    part = _part(cells, table, None)
    ax = plt.subplots(figsize=(11, 4))[1] if ax is None else ax
    order = list(dict.fromkeys(part["method"]))
    columns = list(dict.fromkeys(part["cell"]))
    z = part.pivot(index="method", columns="cell", values="z").loc[order, columns]
    shown = z.replace([np.inf, -np.inf], np.nan)
    sns.heatmap(
        z.clip(-9, 9),
        cmap="vlag",
        center=0,
        vmin=-6,
        vmax=6,
        annot=shown,
        fmt=".1f",
        annot_kws={"size": 7},
        linewidths=0.5,
        cbar_kws={"label": "(ours - paper) / standard error"},
        ax=ax,
    )
    verdict = part.set_index(["method", "cell"])["verdict"]
    for i, method in enumerate(order):
        for j, cell in enumerate(columns):
            if verdict[method, cell] != "agrees":
                hatch = "///" if verdict[method, cell] == "missing" else None
                box = plt.Rectangle((j, i), 1, 1, fill=False, ec="0.2", lw=1.2, hatch=hatch)
                ax.add_patch(box)
    ax.set(xlabel="", ylabel="")
    ax.tick_params(axis="x", rotation=60)
    return ax


def printed_table(cells: pd.DataFrame, table: str, law: str) -> pd.DataFrame:
    """Return one law's table as the paper prints it: ours, the paper's, and a mark.

    ✓ agrees, ✗ differs, · missing.
    """
    whole = _part(cells, table, None)
    part = whole[whole["law"] == law]
    if part.empty:
        raise ValueError(f"law is {law!r}; expected one of {sorted(set(whole['law']))}.")
    digits = 3 if table == "table1" else 2
    marks = {"agrees": "✓", "differs": "✗", "missing": "·"}
    text = [
        ("–" if row.verdict == "missing" else f"{row.mean:.{digits}f} ({row.sd:.{digits}f})")
        + f" | {row.paper_mean:.{digits}f} ({row.paper_sd:.{digits}f}) {marks[row.verdict]}"
        for row in part.itertuples()
    ]
    text = [entry.replace(" ", "\u00a0") for entry in text]  # an entry stays on one line
    axis = _AXIS[table][0]
    frame = part.assign(text=text).pivot(index="method", columns=axis, values="text")
    frame.columns = [f"{axis} = {value:.0f}" for value in frame.columns]
    return frame.loc[list(dict.fromkeys(part["method"]))].rename_axis(None)
