"""Figures that readers of Patch-seq studies look for: bibiplots and R² per property."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle
from numpy.typing import ArrayLike, NDArray

from ._validation import check_matrix
from .plotting import METHOD_COLORS

__all__ = [
    "FAMILY_COLORS",
    "REFERENCE_COLORS",
    "bibiplot",
    "biplot_panel",
    "correlations",
    "plot_r2",
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
        From :func:`steinsdr.prediction.r2_table`, or a mean of several.
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
