"""Figures of the theory chapters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator
from numpy.typing import ArrayLike


def label_log_axis(axis: Axis, values: ArrayLike | None = None) -> None:
    """Label a logarithmic axis with plain numbers.

    At ``values`` if they are given and at most eight; otherwise at 1, 2, 5 times powers of ten, or
    at powers alone if the axis is long.
    """
    if values is not None and np.size(values) <= 8:
        axis.set_ticks(np.unique(values))
        axis.set_minor_locator(NullLocator())
    else:
        low, high = axis.get_view_interval()
        subs = (1.0, 2.0, 5.0) if high / low < 300 else (1.0,)
        axis.set_major_locator(LogLocator(base=10, subs=subs))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def label_lines(ax: Axes, form: str = "{}") -> None:
    """Write the name of each line with error bars at its right end, in place of the legend.

    ``form`` is a format that takes the name of the line.
    """
    for bars in ax.containers:
        line: Any = bars[0]
        end = line.get_xdata()[-1], line.get_ydata()[-1]
        style = {"va": "center", "color": line.get_color(), "annotation_clip": False}
        ax.annotate(form.format(bars.get_label()), end, (7, 0), textcoords="offset points", **style)
    if legend := ax.get_legend():
        legend.remove()


def plot_rates(
    frame: pd.DataFrame,
    size: str,
    error: str,
    *,
    hue: str | None = None,
    exponent: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw mean errors against size on log-log axes, with a dashed line of slope ``exponent``.

    Bars are standard errors of the mean.
    """
    ax = plt.subplots(figsize=(5.2, 3.8))[1] if ax is None else ax
    groups: Any = [("", frame)] if hue is None else frame.groupby(hue, sort=False)
    for label, group in groups:
        stats = group.groupby(size)[error].agg(["mean", "sem"])
        ax.errorbar(stats.index, stats["mean"], stats["sem"], marker="o", ms=4, label=label)
    sizes = np.sort(frame[size].unique()).astype(float)
    if exponent is not None:
        start = frame.loc[frame[size] == sizes[0], error].mean()
        reference = start * (sizes / sizes[0]) ** exponent
        ax.plot(sizes, reference, color="0.3", ls="--", lw=1, label=f"slope {exponent:g}")
    ax.set(xscale="log", yscale="log", xlabel=size, ylabel=error)
    label_log_axis(ax.xaxis, sizes)
    label_log_axis(ax.yaxis)
    if hue is not None or exponent is not None:
        ax.legend(frameon=False, fontsize="small", title=hue)
    return ax


def plot_shares(
    table: pd.DataFrame, names: Mapping[str, str], places: Iterable[tuple[float, float]]
) -> Axes:
    """Draw the shares of a table by size, with the intervals of its columns ``low`` and ``high``.

    The table has the columns of :func:`steinsdr.paper.rates.shares_table`. Each study is a line.
    Its name is written at its place, in the order of ``names``.
    """
    ax = plt.subplots(figsize=(6.4, 3.6))[1]
    for (study, name), place in zip(names.items(), places, strict=True):
        part = table[table["study"] == study]
        bars = np.clip([part["share"] - part["low"], part["high"] - part["share"]], 0, 1)
        line = ax.errorbar(part["size"], part["share"], bars, marker="o")[0]
        ax.text(*place, name, color=line.get_color())
    ax.set(xscale="log", xlabel="observations", ylabel="share of data sets")
    label_log_axis(ax.xaxis, table["size"].unique())
    return ax
