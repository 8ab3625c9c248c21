"""Draw an analysis, and write it into a folder: a page, tables and figures."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .. import __version__
from .._base import needs_extra

with needs_extra("report", "the page of a report"):
    import jinja2
    import matplotlib.pyplot as plt
    from matplotlib.figure import Figure

from ..plotting import METHOD_COLORS, NULL, SIGNAL, plot_spectrum, plot_summary, use_style
from .bootstrap import LEVEL
from .comparison import METHODS
from .rules import Analysis, unevenness

__all__ = [
    "page",
    "plot_comparison",
    "plot_loadings",
    "plot_predictors",
    "plot_score",
    "plot_singular_values",
    "plot_summaries",
    "summary",
    "write_report",
]

DENSITY = 1.7  # pixels of a picture for one of the screen
MOST_NAMES = 30  # names that fit beside a figure
MOST_RESPONSES, MOST_DIRECTIONS = 4, 3  # panels that fit into one
COLORS = (*(METHOD_COLORS[name] for name in ("TRE-sup", "SIR", "NN-full", "csOPG")), "black")
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
    size = (2.6 + 2.6 * r, 0.28 * len(shown) + 1.3)
    figure, axes = plt.subplots(1, r, figsize=size, sharey=True, sharex=True, squeeze=False)
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
    shape, size = (len(names), r), (1.2 + 3.2 * r, 2.6 * len(names))
    figure, axes = plt.subplots(*shape, figsize=size, sharex="col", sharey="row", squeeze=False)
    for row, name in zip(axes, names, strict=True):
        for k, ax in enumerate(row):
            label = _shortened(name, 24)
            plot_summary(Z, analysis.table.Y[name], ax, direction=k, label=label)
            ax.label_outer()
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
        y = rows + 0.12 * (k - 2)  # a little apart, so that equal values stay visible
        ax.scatter(table[name], y, 30, color, marker=marker, label=name, zorder=3)
    ax.axvline(0, color="0.3", lw=0.8)
    ax.axhline(0.5, color="0.6", lw=0.8, ls=":")
    ax.set_yticks(rows, [_shortened(name) for name in table.index])
    ax.set(xlabel="held-out R² (0: the mean)", ylim=(len(table) - 0.5, -0.5))
    figure.legend(loc="outside upper center", ncols=len(METHODS), frameon=False, fontsize="small")
    return figure


FIGURES = {
    "predictors": plot_predictors,
    "score": plot_score,
    "spectrum": plot_singular_values,
    "loadings": plot_loadings,
    "summaries": plot_summaries,
    "comparison": plot_comparison,
}


def write_report(analysis: Analysis, folder: str | Path) -> list[Path]:
    """Write index.html, loadings.csv, reduced.csv, summary.json and the figures into a folder.

    The folder is made if it is missing; files of these names are replaced, others are left.

    Returns
    -------
    list of Path
        What was written, the page first.

    Raises
    ------
    OSError
        If the folder cannot be made.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    pictures = {}
    with plt.rc_context():
        use_style()
        for name, plot in FIGURES.items():
            figure, buffer = plot(analysis), BytesIO()
            figure.savefig(buffer, format="png", metadata={"Software": None})
            plt.close(figure)
            pictures[name] = buffer.getvalue()
    texts = {
        "index.html": page(analysis, pictures),
        "loadings.csv": analysis.loadings().to_csv(float_format="%.6g"),
        "reduced.csv": analysis.reduced().to_csv(float_format="%.6g"),
        "summary.json": json.dumps(summary(analysis), indent=1, ensure_ascii=False) + "\n",
    }
    contents = {name: text.encode() for name, text in texts.items()}
    contents |= {f"{name}.png": picture for name, picture in pictures.items()}
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return [folder / name for name in contents]


def page(analysis: Analysis, pictures: Mapping[str, bytes]) -> str:
    """Return the report as HTML, from the template ``report.html.j2``.

    Parameters
    ----------
    analysis : Analysis
    pictures : mapping of str to bytes
        PNG pictures by the keys of ``FIGURES``.
    """
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    )
    environment.filters |= {
        "number": _number,
        "base64": lambda picture: base64.b64encode(picture).decode(),
        # A PNG says its width in bytes 16 to 20; pictures are drawn denser than screens show.
        "width": lambda picture: round(int.from_bytes(picture[16:20]) / DENSITY),
    }
    template = files(__package__).joinpath("report.html.j2").read_text(encoding="utf-8")
    headings = {
        "distinct": "distinct values",
        "most_frequent": "share of most frequent",
        "explained_by_others": "explained by others",
    }
    predictors = analysis.predictors.rename(columns=headings)
    if not predictors["remarks"].any():
        predictors = predictors.drop(columns="remarks")
    return environment.from_string(template).render(
        analysis=analysis,
        pictures=pictures,
        predictors=predictors,
        spectrum=_spectrum_table(analysis),
        loadings=_loadings_table(analysis),
        largest_mean=np.abs(analysis.diagnostics.mean).max(),
        unevenness=unevenness(analysis.diagnostics),
        level=LEVEL,
        most_names=MOST_NAMES,
        most_responses=MOST_RESPONSES,
        most_directions=MOST_DIRECTIONS,
        version=__version__,
    )


def _spectrum_table(analysis: Analysis) -> pd.DataFrame:
    spectrum = analysis.spectrum
    k = np.arange(1, len(spectrum.singular_values) + 1)
    return pd.DataFrame(
        {
            "singular value": spectrum.singular_values,
            "95% of permutations below": spectrum.thresholds,
            "p-value": analysis.pvalues,
            "used": np.where(k <= spectrum.rank, "yes", "no"),
        },
        index=pd.Index(k, name="k"),
    )


def _loadings_table(analysis: Analysis) -> pd.DataFrame:
    """Return one row per predictor, the largest loading on top; per direction three columns."""
    table, columns = analysis.loadings(), {}
    for k, name in enumerate(analysis.directions, start=1):
        part = table.loc[name]
        columns[name] = part["loading"]
        if "low" in part:
            low, high = part["low"].map(_number), part["high"].map(_number)
            columns[f"interval {k}"] = low + " to " + high
        columns[f"correlation {k}"] = part["correlation"]
    size = table["loading"].abs().groupby("predictor").max()
    return pd.DataFrame(columns).loc[size.sort_values(ascending=False, kind="stable").index]


def _number(value: Any) -> str:
    """Return a float with three digits, anything else as text."""
    if not isinstance(value, float):
        return str(value)
    if not np.isfinite(value):
        return "–"
    if 0 < abs(value) < 0.001:
        return f"{value:.1e}".replace("-", "−")
    digits = max(0, 2 - int(np.floor(np.log10(max(abs(value), 0.01)))))
    return f"{value:.{min(digits, 3)}f}".replace("-", "−")


def summary(analysis: Analysis) -> dict[str, Any]:
    """Return the numbers of an analysis, ready for JSON."""
    table, resampled = analysis.table, analysis.bootstrap
    comparison, verdict = analysis.comparison, analysis.verdict
    out: dict[str, Any] = {
        "version": __version__,
        "data": {
            "name": table.name,
            "rows": len(table.X),
            "unlabeled_rows": len(table.X_unlabeled),
            "predictors": list(table.X.columns),
            "responses": list(table.Y.columns),
            "notes": list(table.notes),
        },
        "settings": analysis.settings,
        "verdict": {
            "level": verdict.level,
            "headline": verdict.headline,
            "sentences": list(verdict.sentences),
            "findings": [finding._asdict() for finding in verdict.findings],
        },
        "n_components": analysis.n_components,
        "scale": analysis.reduction.scale_,
        "lambda": analysis.reduction.lam_,
        "score": {
            "slope": analysis.diagnostics.slope,
            "unevenness": unevenness(analysis.diagnostics),
            "largest_mean": np.abs(analysis.diagnostics.mean).max(),
        },
        "singular_values": analysis.spectrum.singular_values,
        "pvalues": analysis.pvalues,
        "held_out_r2": comparison.r2.to_dict(),
        "held_out_r2_overall": comparison.mean_r2.to_dict(),
        "fold_dimensions": list(comparison.dimensions),
    }
    if resampled is not None:
        out["bootstrap"] = {
            "instability": resampled.instability,
            "mean_distance": resampled.distances.mean(),
            "chance_distance": resampled.chance,
        }
    return _plain(out)


def _plain(value: Any) -> Any:
    """Return ``value`` with plain numbers of six digits and lists."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | np.ndarray):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return float(f"{float(value):.6g}") if np.isfinite(value) else None
    return value
