"""Figures with one look: spectra with their null, sufficient summary plots, method colors.

Functions draw into given axes and return them, so that figures can be composed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._base import check_integer, check_matrix, check_responses, needs_extra
from .rank import RankSelection

with needs_extra("report", "steinsdr.plotting"):
    import matplotlib.pyplot as plt
    import seaborn as sns
    from matplotlib.axes import Axes
    from matplotlib.patheffects import withStroke

_PALETTE = sns.color_palette("colorblind", 10).as_hex()
METHOD_COLORS: dict[str, str] = {
    "TRE-sup": _PALETTE[0],
    "TRE-full": _PALETTE[9],
    "TRE-split": _PALETTE[4],
    "NN-sup": "#6e5a00",
    "NN-full": _PALETTE[1],
    "NN-split": _PALETTE[3],
    "SIR": _PALETTE[2],
    "csOPG": _PALETTE[5],
    "KSIR": "#8c2d6b",
    "MLP": "#5a5a5a",
}
"""One color per method of the paper, safe for color-blind readers, the same everywhere."""

REFERENCE_COLORS: dict[str, str] = {
    "ridge": "#000000",
    "PCA+network": "#8b1a1a",
    "SIR-projective": "#2e8b57",
    "RFM": "#a0522d",
    "default": "#c2185b",
    "chance": "#777777",
}
"""Colors of the methods that the paper does not compare with, and of chance."""

SIGNAL, NULL = _PALETTE[0], "0.55"


def use_style() -> None:
    """Set the book's look: white background (legible in dark mode too), quiet grid, crisp lines."""
    sns.set_theme(style="whitegrid", palette="colorblind", context="notebook")
    plt.rcParams.update(
        {
            "figure.dpi": 200,  # twice the width of a page: sharp on dense screens
            "savefig.dpi": 160,
            "figure.facecolor": "white",
            "savefig.bbox": "tight",
            "axes.titleweight": "bold",
            "legend.frameon": True,
            "legend.framealpha": 0.9,
            "legend.edgecolor": "none",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "figure.constrained_layout.use": True,
        }
    )


def plot_spectrum(selection: RankSelection, ax: Axes | None = None) -> Axes:
    """Draw the singular values, what they were compared with, and the rank that resulted.

    Filled points are kept. Under the permutation rule the band holds the middle 90% of the null
    and the line its threshold; under the energy rule each point shows the energy up to it.

    Raises
    ------
    ValueError
        If ``selection`` is None, as ``rank_`` is where ``n_components`` was given.
    """
    if selection is None:
        raise ValueError(
            "selection is None: n_components was given as a number, so no rule chose it; expected "
            "the rank_ of a fit with n_components='auto'."
        )
    ax = plt.subplots(figsize=(5.5, 3.6))[1] if ax is None else ax
    values = selection.singular_values
    k = np.arange(1, len(values) + 1)
    # One value alone would leave band and threshold without width.
    span = k if len(k) > 1 else np.array([0.7, 1.3])
    if selection.null is not None:
        low, high = np.quantile(selection.null, [0.05, 0.95], axis=0)
        low, high = (np.broadcast_to(edge, span.shape) for edge in (low, high))
        ax.fill_between(span, low, high, color=NULL, alpha=0.3, lw=0, label="permuted responses")
    if selection.thresholds is not None:
        thresholds = np.broadcast_to(selection.thresholds, span.shape)
        ax.plot(span, thresholds, color=NULL, ls="--", label="threshold")
    else:
        for x, y, share in zip(k, values, selection.energy, strict=True):
            look: dict[str, Any] = {"size": "x-small", "ha": "center", "va": "bottom"}
            text = ax.text(float(x), y, f"{share:.0%}\n", zorder=4, **look)
            text.set_path_effects([withStroke(linewidth=3, foreground="white")])
    ax.plot(k, values, color=SIGNAL, lw=1)
    kept = k <= selection.rank
    ax.scatter(k[kept], values[kept], color=SIGNAL, s=45, zorder=3, label="kept")
    hollow = {"facecolor": "white", "edgecolor": SIGNAL, "label": "dropped"}
    ax.scatter(k[~kept], values[~kept], s=45, zorder=3, **hollow)
    ax.set(xlabel="k", ylabel="k-th singular value", xticks=k, ylim=(0, None))
    ax.set_title(f"{selection.method} rule: rank {selection.rank}")
    ax.legend(fontsize="small")
    return ax


def plot_summary(
    Z: ArrayLike, y: ArrayLike, ax: Axes | None = None, *, direction: int = 0, label: str = "y"
) -> Axes:
    """Draw a sufficient summary plot: a response against one estimated direction, with its trend.

    Z (n, r) is ``SteinSDR.transform(X)``, y (n,) one response with name ``label``.
    """
    points = check_matrix(Z, "Z")
    response = check_responses(y, n_rows=len(points), missing=False)[:, 0]
    z = points[:, check_integer(direction, "direction", low=0, high=points.shape[1] - 1)]
    ax = plt.subplots(figsize=(4, 3.4))[1] if ax is None else ax
    ax.scatter(z, response, s=12, alpha=0.5, color=SIGNAL, lw=0)
    order = np.argsort(z)
    window = max(15, len(z) // 10)
    smooth = np.convolve(response[order], np.ones(window) / window, mode="valid")
    center = np.convolve(z[order], np.ones(window) / window, mode="valid")
    ax.plot(center, smooth, color=_PALETTE[1], lw=2.5, label="running mean")
    ax.set(xlabel=f"direction {direction + 1}", ylabel=label)
    return ax


def plot_alignment(components: NDArray, B: NDArray, ax: Axes | None = None) -> Axes:
    """Draw the estimated basis, turned as close to the truth as it goes, against the truth.

    On the diagonal each loading is recovered exactly. ``components`` (r, p) are those of a fit, B
    (p, r) is the true basis.
    """
    B = check_matrix(B, "B")
    components = check_matrix(components, "components", n_columns=len(B))
    if len(components) != B.shape[1]:
        raise ValueError(f"components has {len(components)} row(s); expected {B.shape[1]}, as B.")
    ax = plt.subplots(figsize=(3.6, 3.6))[1] if ax is None else ax
    U, _, Vt = np.linalg.svd(components @ B)
    turned = components.T @ (U @ Vt)
    limit = 1.1 * max(np.abs(B).max(), np.abs(turned).max())
    ax.plot([-limit, limit], [-limit, limit], color=NULL, lw=1)
    for j in range(B.shape[1]):
        ax.scatter(B[:, j], turned[:, j], s=14, alpha=0.8, label=f"direction {j + 1}")
    ax.set(xlabel="true loading", ylabel="estimated loading", aspect="equal")
    ax.set(xlim=(-limit, limit), ylim=(-limit, limit))
    ax.legend(fontsize="small")
    return ax
