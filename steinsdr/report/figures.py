"""Figures of an analysis; each function returns a figure of its own."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ..plotting import METHOD_COLORS, NULL, SIGNAL, plot_spectrum, plot_summary
from .comparison import METHODS
from .fit import Analysis

__all__ = [
    "plot_comparison",
    "plot_loadings",
    "plot_predictors",
    "plot_score",
    "plot_singular_values",
    "plot_summaries",
]

MOST_NAMES = 30  # names that fit beside a figure
MOST_RESPONSES, MOST_DIRECTIONS = 4, 3  # panels that fit into one
COLORS = [*(METHOD_COLORS[name] for name in ("TRE-sup", "SIR", "NN-full", "csOPG")), "black"]
MARKERS = "oDs^x"


def _shortened(name: object, most: int = 28) -> str:
    """Return a name that fits beside an axis, without mathematics."""
    text = str(name).replace("$", r"\$")
    return text if len(text) <= most else text[: most - 1] + "…"


def plot_predictors(analysis: Analysis) -> Figure:
    """Draw the predictors' correlations, and how much of each the others explain."""
    X = analysis.table.X
    p = X.shape[1]
    height = np.clip(0.3 * p + 1.0, 3.2, 8.0)
    figure, axes = plt.subplots(
        1, 2, figsize=(height + 5.0, height + 0.8), width_ratios=[height + 1.0, 3], sharey=True
    )
    image = axes[0].imshow(
        np.corrcoef(X.to_numpy(), rowvar=False), cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto"
    )
    figure.colorbar(image, ax=axes[0], label="correlation", location="bottom", shrink=0.6)
    columns = analysis.predictors
    flagged = columns["remarks"].str.contains("collinear").to_numpy()
    share, rows = columns["explained_by_others"].to_numpy(), np.arange(p)
    axes[1].hlines(rows, 0, share, color=NULL, lw=1)
    axes[1].scatter(share[~flagged], rows[~flagged], color=SIGNAL, s=28, zorder=3)
    axes[1].scatter(share[flagged], rows[flagged], color="#c44e52", marker="D", s=28, zorder=3)
    axes[1].set(xlim=(0, 1.03), xlabel="share explained by the others", ylim=(p - 0.5, -0.5))
    axes[0].grid(visible=False)
    if p <= MOST_NAMES:
        axes[0].set_yticks(rows, [_shortened(name) for name in X.columns])
        axes[0].set_xticks([])
    else:
        axes[0].set(xlabel="predictor", ylabel="predictor")
    return figure


def plot_score(analysis: Analysis) -> Figure:
    """Draw how lambda was chosen, and the matrix E[s x'] that should be the identity."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.8))
    score = analysis.reduction.sdr_.score_estimator_
    ax = axes[0]
    # Objectives of too small a lambda are huge; what counts is the neighbourhood of the best.
    gap = score.objective_ - score.objective_.min()
    ax.plot(score.lams_, gap, color=SIGNAL, marker="o", ms=4)
    ax.axvline(score.lam_, color=NULL, ls="--", lw=1, label=f"chosen: {score.lam_:.1e}")
    ax.set(xscale="log", xlabel="λ", ylabel="held-out objective above its best")
    ceiling = max(-score.objective_.min(), np.quantile(gap, 0.5), 1e-12)
    ax.set_ylim(-0.05 * ceiling, 1.3 * ceiling)
    ax.legend(frameon=False, fontsize="small")
    identity = analysis.diagnostics.identity
    image = axes[1].imshow(identity, cmap="RdBu_r", vmin=-1, vmax=1)
    axes[1].grid(visible=False)
    axes[1].set(xticks=[], yticks=[], xlabel="coordinate of x", ylabel="coordinate of s")
    axes[1].set_title(f"E[s x'], average diagonal {analysis.diagnostics.slope:.2f}")
    figure.colorbar(image, ax=axes[1])
    return figure


def plot_singular_values(analysis: Analysis) -> Figure:
    """Draw the singular values against permuted responses."""
    figure, ax = plt.subplots(figsize=(5.5, 3.6))
    plot_spectrum(analysis.spectrum, ax)
    n = analysis.n_components
    ax.set_title(f"{n} direction{'' if n == 1 else 's'} kept")
    return figure


def plot_loadings(analysis: Analysis) -> Figure:
    """Draw the loadings with their intervals, the largest on top.

    At most thirty predictors and three directions. Without intervals loadings are crosses, as
    nothing says which of them are clear of zero.
    """
    table = analysis.loadings()
    size = table["loading"].abs().groupby("predictor").max()
    shown = size.sort_values(ascending=False, kind="stable").index[:MOST_NAMES]
    r = min(analysis.n_components, MOST_DIRECTIONS)
    figure, axes = plt.subplots(
        1,
        r,
        figsize=(2.6 + 2.6 * r, 0.28 * len(shown) + 1.3),
        sharey=True,
        sharex=True,
        squeeze=False,
    )
    rows = np.arange(len(shown))
    for ax, direction in zip(axes[0], analysis.directions[:r], strict=True):
        part = table.loc[direction].reindex(shown)
        if "low" in part:
            ax.hlines(rows, part["low"], part["high"], color=SIGNAL, lw=1.5)
            clear = (part["low"] > 0) | (part["high"] < 0)
            face = [SIGNAL if c else "white" for c in clear]
            ax.scatter(part["loading"], rows, s=30, c=face, edgecolor=SIGNAL, zorder=3)
        else:
            ax.scatter(part["loading"], rows, s=30, color=SIGNAL, marker="x", zorder=3)
        ax.axvline(0, color="0.3", lw=0.8)
        ax.set(title=direction, xlabel="loading")
    axes[0, 0].set_yticks(rows, [_shortened(name) for name in shown])
    axes[0, 0].set_ylim(len(shown) - 0.5, -0.5)
    return figure


def plot_summaries(analysis: Analysis) -> Figure:
    """Draw the responses against the directions, with running means.

    At most four responses, the best predicted first, and three directions.
    """
    best = analysis.comparison.r2["SteinSDR"].sort_values(ascending=False, kind="stable").index
    names = list(best[:MOST_RESPONSES])
    r = min(analysis.n_components, MOST_DIRECTIONS)
    Z = analysis.reduction.transform(analysis.table.X)
    figure, axes = plt.subplots(
        len(names),
        r,
        figsize=(1.2 + 3.2 * r, 2.6 * len(names)),
        sharex="col",
        sharey="row",
        squeeze=False,
    )
    for i, name in enumerate(names):
        for k in range(r):
            ax = axes[i, k]
            label = _shortened(name, 24) if k == 0 else ""
            plot_summary(Z, analysis.table.Y[name], ax, direction=k, label=label)
            if i < len(names) - 1:
                ax.set_xlabel("")
    return figure


def plot_comparison(analysis: Analysis) -> Figure:
    """Draw the held-out R² of every method, per response and overall."""
    comparison = analysis.comparison
    best = comparison.r2["SteinSDR"].sort_values(ascending=False, kind="stable").index
    overall = comparison.mean_r2.to_frame("overall").T
    table = pd.concat([overall, comparison.r2.loc[best[:MOST_NAMES]]])
    figure, ax = plt.subplots(figsize=(7.5, 0.34 * len(table) + 1.7))
    rows = np.arange(len(table))
    for k, (name, color, marker) in enumerate(zip(METHODS, COLORS, MARKERS, strict=True)):
        # A little apart, so that equal values stay visible.
        offset = 0.12 * (k - (len(METHODS) - 1) / 2)
        size = 36 if k == 0 else 26
        y = rows + offset
        ax.scatter(table[name], y, size, color, marker=marker, label=name, zorder=3)
    ax.axvline(0, color="0.3", lw=0.8)
    ax.axhline(0.5, color="0.6", lw=0.8, ls=":")
    ax.set_yticks(rows, [_shortened(name) for name in table.index])
    ax.set_ylim(len(table) - 0.5, -0.5)
    ax.set(xlabel="held-out R² (0: the mean)")
    figure.legend(loc="outside upper center", ncols=len(METHODS), frameon=False, fontsize="small")
    return figure
