"""Figures of the theory chapters: rates, bounds, score fields, selected ranks."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator
from numpy.typing import NDArray

from ..._base import check_choice
from ...simulation import stream
from .lemma1 import SCORED_LAWS

__all__ = ["plot_bound", "plot_field", "plot_lines", "plot_rates", "plot_shares"]


def _plain_ticks(ax: Axes, values: NDArray) -> None:
    """Label a logarithmic x axis at the values that occur, if they are few."""
    if len(values) <= 8:
        ax.set_xticks(values, labels=[f"{value:g}" for value in values])
        ax.xaxis.set_minor_locator(NullLocator())


def _log_ticks(ax: Axes) -> None:
    """Label a logarithmic y axis at 1, 2, 5 times powers of ten, at powers alone if it is long."""
    low, high = ax.get_ylim()
    steps = (1.0, 2.0, 5.0) if high / low < 300 else (1.0,)
    ax.yaxis.set_major_locator(LogLocator(base=10, subs=steps))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())


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
    if exponent is not None:
        sizes = np.sort(frame[size].unique()).astype(float)
        start = frame.loc[frame[size] == sizes[0], error].mean()
        reference = start * (sizes / sizes[0]) ** exponent
        ax.plot(sizes, reference, color="0.3", ls="--", lw=1, label=f"slope {exponent:g}")
    ax.set(xscale="log", yscale="log", xlabel=size, ylabel=error)
    _plain_ticks(ax, np.sort(frame[size].unique()))
    _log_ticks(ax)
    if hue is not None or exponent is not None:
        ax.legend(frameon=False, fontsize="small", title=hue)
    return ax


def plot_lines(
    frame: pd.DataFrame,
    x: str,
    y: str,
    *,
    hue: str | None = None,
    log: str = "",
    level: float | None = None,
    label: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw means of y against x, one line a hue; ``log`` names the logarithmic axes ("x", "xy").

    ``level`` draws a dashed horizontal line; ``label`` names the line in a legend if there is no
    hue.
    """
    ax = plt.subplots(figsize=(5.2, 3.8))[1] if ax is None else ax
    colors = None if hue is None else sns.color_palette("colorblind", frame[hue].nunique())
    named = {} if label is None else {"label": label}
    sns.lineplot(
        frame,
        x=x,
        y=y,
        hue=hue,
        palette=colors,
        marker="o",
        errorbar=None,
        ax=ax,
        legend="full",
        **named,
    )
    if level is not None:
        ax.axhline(level, color="0.3", ls="--", lw=1)
    for axis in log:
        getattr(ax, f"set_{axis}scale")("log")
    if "x" in log:
        _plain_ticks(ax, np.sort(frame[x].unique()))
    if "y" in log:
        _log_ticks(ax)
    if hue is not None or label is not None:
        sns.move_legend(ax, "best", frameon=False, fontsize="small")
    return ax


def plot_shares(
    shares: pd.DataFrame, names: dict[str, str], *, title: str, ax: Axes | None = None
) -> Axes:
    """Draw shares against size with their intervals, one line a study.

    ``shares`` has columns study, size, share, low, high; ``names`` maps studies to legend labels,
    and ``title`` stands above them.
    """
    ax = plt.subplots(figsize=(5.2, 3.8))[1] if ax is None else ax
    for study, label in names.items():
        rows = shares[shares["study"] == study]
        bars = np.stack([rows["share"] - rows["low"], rows["high"] - rows["share"]])
        ax.errorbar(
            rows["size"], rows["share"], np.clip(bars, 0, None), marker="o", ms=4, label=label
        )
    ax.set(xscale="log", ylim=(-0.03, 1.03), xlabel="observations", ylabel="share of data sets")
    _plain_ticks(ax, np.sort(shares["size"].unique()))
    ax.legend(frameon=False, fontsize="small", title=title)
    return ax


def plot_bound(
    frame: pd.DataFrame, x: str, columns: dict[str, str], *, ax: Axes | None = None
) -> Axes:
    """Draw the largest value of several columns against x, log-log: measured and bounds.

    ``columns`` maps column names to legend labels; the first is drawn in bold.
    """
    ax = plt.subplots(figsize=(5.2, 3.8))[1] if ax is None else ax
    largest = frame.groupby(x)[list(columns)].max()
    for i, (name, label) in enumerate(columns.items()):
        style = {"marker": "o", "lw": 2} if i == 0 else {"ls": "--", "lw": 1.5}
        ax.plot(largest.index, largest[name], label=label, **style)  # type: ignore[arg-type]
    ax.set(xscale="log", yscale="log", xlabel=x)
    _log_ticks(ax)
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_field(
    scores: dict[str, Any], law: str, *, n: int = 500, seed: int = 42, half_width: float = 4.0
) -> NDArray:
    """Draw -s, the direction in which the log density rises, in the plane: truth and estimates.

    Parameters
    ----------
    scores : dict
        Name to score estimator; each is fitted to the same n draws of ``law``. A name with None
        stands for the true score.
    law : str
        A key of :data:`steinsdr.paper.theory.lemma1.SCORED_LAWS`.
    """
    scored = SCORED_LAWS[check_choice(law, "law", SCORED_LAWS)]
    X = scored.draw(n, 2, stream(seed, "field", law))
    side = np.linspace(-half_width, half_width, 15)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    _, axes = plt.subplots(
        1, len(scores), figsize=(3.4 * len(scores), 3.4), sharex=True, sharey=True, squeeze=False
    )
    for ax, (name, estimator) in zip(axes[0], scores.items(), strict=True):
        field = scored.score(grid) if estimator is None else estimator.fit(X).evaluate(grid)
        ax.scatter(*X.T, s=4, color="0.75", lw=0)
        ax.quiver(*grid.T, *-field.T, angles="xy", scale=45, width=0.006, color="C0")
        ax.set(title=name, aspect="equal", xlim=(-half_width, half_width))
        ax.set(ylim=(-half_width, half_width))
    return axes[0]
