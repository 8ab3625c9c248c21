"""Draw an analysis, and write it into a folder: a page, tables and figures."""

from __future__ import annotations

import base64
import json
import os
import re
import tempfile
import warnings
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
    from markupsafe import Markup, escape
    from matplotlib.figure import Figure

from ..plotting import METHOD_COLORS, NULL, SIGNAL, plot_summary, use_style
from .rules import LEVEL, METHODS, Analysis

DENSITY = 1.7  # pixels of a picture for one of the screen
WIDTH = 6.2  # of a figure, in inches: a phone shows all of it with legible letters
MOST_NAMES = 30  # names that fit beside a figure
MOST_RESPONSES, MOST_DIRECTIONS = 4, 3  # panels that fit into one
MOST_POINTS = 2_000  # of a scatter plot
MOST_LINES = 100  # of a table on the page
NAMED = ("TRE-sup", "SIR", "NN-full", "csOPG", "KSIR", "MLP")  # whose colors the methods take
COLORS = [METHOD_COLORS[name] for name in NAMED]
MARKERS = "oDs^xv"


def _shortened(name: object, most: int = 28) -> str:
    """Return a name that fits beside an axis, without mathematics."""
    text = str(name).replace("$", r"\$")
    return text if len(text) <= most else text[: most - 1] + "…"


def _largest(analysis: Analysis) -> pd.Index:
    """Return the predictors, those with the largest loadings first."""
    size = analysis.loadings()["loading"].abs().groupby("predictor", sort=False).max()
    return size.sort_values(ascending=False, kind="stable").index


def plot_predictors(analysis: Analysis) -> Figure:
    """Draw correlations of the thirty predictors with the largest loadings."""
    names = _largest(analysis)[:MOST_NAMES]
    columns = analysis.predictors.loc[names]
    p, rows = len(names), np.arange(len(names))
    height = np.clip(0.3 * p + 1.0, 3.2, 8.0)
    figure, axes = plt.subplots(
        1, 2, figsize=(WIDTH, height + 0.8), width_ratios=[2, 1], sharey=True
    )
    X = analysis.table.X[names].fillna(columns["mean"])
    image = axes[0].imshow(
        np.corrcoef(X, rowvar=False), cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto"
    )
    figure.colorbar(image, ax=axes[0], label="correlation", location="bottom", shrink=0.8)
    flagged = columns["remarks"].str.contains("collinear").to_numpy()
    share = columns["explained_by_others"].to_numpy()
    axes[1].hlines(rows, 0, share, color=NULL, lw=1)
    axes[1].scatter(share[~flagged], rows[~flagged], color=SIGNAL, s=28, zorder=3)
    axes[1].scatter(share[flagged], rows[flagged], color="#c44e52", marker="D", s=28, zorder=3)
    axes[1].set(xlim=(0, 1.03), xlabel="share explained\nby the others", ylim=(p - 0.5, -0.5))
    axes[0].grid(visible=False)
    axes[0].set_yticks(rows, [_shortened(name) for name in names])
    axes[0].set_xticks([])
    return figure


def plot_loadings(analysis: Analysis) -> Figure:
    """Draw the loadings with their intervals, the largest on top.

    At most thirty predictors and three directions.
    """
    table, shown = analysis.loadings(), _largest(analysis)[:MOST_NAMES]
    r = min(analysis.n_components, MOST_DIRECTIONS)
    size = (min(2.6 + 2.6 * r, WIDTH), 0.28 * len(shown) + 1.3)
    figure, axes = plt.subplots(1, r, figsize=size, sharey=True, sharex=True, squeeze=False)
    rows = np.arange(len(shown))
    for ax, direction in zip(axes[0], analysis.directions[:r], strict=True):
        part = table.loc[direction].reindex(shown)
        ax.hlines(rows, part["low"], part["high"], color=SIGNAL, lw=1.5)
        face = [SIGNAL if clear else "white" for clear in part["clear"]]
        ax.scatter(part["loading"], rows, s=30, c=face, edgecolor=SIGNAL, zorder=3)
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
    Z = analysis.reduced().iloc[: len(analysis.table.X), 1:].to_numpy()
    some = np.linspace(0, len(Z) - 1, min(len(Z), MOST_POINTS)).astype(int)
    shape, size = (len(names), r), (min(1.2 + 3.2 * r, WIDTH), 2.5 * len(names))
    figure, axes = plt.subplots(*shape, figsize=size, sharex="col", sharey="row", squeeze=False)
    for row, name in zip(axes, names, strict=True):
        for k, ax in enumerate(row):
            label = _shortened(name, 24)
            y = analysis.table.Y[name].to_numpy()[some]
            plot_summary(Z[some], y, ax, direction=k, label=label)
            ax.label_outer()
    return figure


def plot_comparison(analysis: Analysis) -> Figure:
    """Draw the held-out R² of every method, per response and overall."""
    comparison = analysis.comparison
    best = comparison.r2["SteinSDR"].sort_values(ascending=False, kind="stable").index
    shown = comparison.r2.loc[best[:MOST_NAMES], list(METHODS)].to_numpy()
    values = np.vstack([comparison.mean_r2[list(METHODS)], shown])
    figure, ax = plt.subplots(figsize=(WIDTH, 0.4 * len(values) + 1.9))
    rows = np.arange(len(values))
    for k, (name, color, marker) in enumerate(zip(METHODS, COLORS, MARKERS, strict=True)):
        y = rows + 0.12 * (k - 2.5)  # a little apart, so that equal values stay visible
        # A method that fails badly must not squeeze the others into a line.
        ax.scatter(
            np.maximum(values[:, k], -0.5), y, 30, color, marker=marker, label=name, zorder=3
        )
    ax.axvline(0, color="0.3", lw=0.8)
    ax.axhline(0.5, color="0.6", lw=0.8, ls=":")
    ax.set_yticks(rows, ["ALL RESPONSES", *(_shortened(name) for name in best[:MOST_NAMES])])
    ax.set(xlabel="held-out R² (0: the mean)", ylim=(len(values) - 0.5, -0.5))
    figure.legend(loc="outside upper center", ncols=3, frameon=False, fontsize="small")
    return figure


FIGURES = {
    "comparison": plot_comparison,
    "loadings": plot_loadings,
    "summaries": plot_summaries,
    "predictors": plot_predictors,
}


def write_report(analysis: Analysis, folder: str | Path) -> list[Path]:
    """Write a page, tables (CSV), summary.json and the figures into a folder.

    The folder is made if it is missing; files of these names are replaced, others are left. All
    are written under other names first and then renamed, so that a full disk leaves none cut.
    In the CSV files a text that begins with = + - @, a tab or a carriage return has an apostrophe
    before it: a spreadsheet would run it as a formula.

    Returns
    -------
    list of Path
        What was written, the page first.

    Raises
    ------
    OSError
        If the folder cannot be made or the disk is full.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    pictures = {}
    with plt.rc_context(), warnings.catch_warnings():
        use_style()
        warnings.filterwarnings("ignore", "Glyph")  # a box stands for what the font lacks
        for name, plot in FIGURES.items():
            figure, buffer = plot(analysis), BytesIO()
            figure.savefig(buffer, format="png", metadata={"Software": None})
            plt.close(figure)
            pictures[name] = buffer.getvalue()
    tables = {
        "loadings.csv": analysis.loadings(),
        "reduced.csv": analysis.reduced(),
        "predictors.csv": analysis.predictors,
        "held_out.csv": analysis.comparison.r2,
    }
    contents = {"index.html": page(analysis, pictures).encode()}
    contents |= {name: _safe(table).encode() for name, table in tables.items()}
    contents["summary.json"] = (
        json.dumps(_summary(analysis), indent=1, ensure_ascii=False) + "\n"
    ).encode()
    contents |= {f"{name}.png": picture for name, picture in pictures.items()}
    with tempfile.TemporaryDirectory(dir=folder, prefix=".writing-") as place:
        for name, content in contents.items():
            (Path(place) / name).write_bytes(content)
        for name in contents:
            os.replace(Path(place) / name, folder / name)
    return [folder / name for name in contents]


def _safe(table: pd.DataFrame) -> str:
    """Return a table as CSV in which no text and no column's name begins like a formula."""
    frame = table.reset_index()
    for name in frame.columns[[frame[c].dtype.kind not in "biufc" for c in frame]]:
        frame[name] = frame[name].astype(str).map(_no_formula)
    return frame.rename(columns=_no_formula).to_csv(index=False, float_format="%.6g")


def _no_formula(text: str) -> str:
    return f"'{text}" if text.startswith(tuple("=+-@\t\r")) else text


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
        "options": _with_options,
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
    predictors = analysis.predictors.rename(columns=headings).loc[_largest(analysis)]
    if not predictors["remarks"].any():
        predictors = predictors.drop(columns="remarks")
    return environment.from_string(template).render(
        analysis=analysis,
        pictures=pictures,
        predictors=predictors,
        test=test_table(analysis),
        loadings=_loadings_table(analysis),
        level=LEVEL,
        methods=list(METHODS),
        most_names=MOST_NAMES,
        most_responses=MOST_RESPONSES,
        most_directions=MOST_DIRECTIONS,
        most_lines=MOST_LINES,
        version=__version__,
    )


def _with_options(advice: str) -> Markup:
    """Return an advice as HTML, its options of the command as code."""
    plain = str(escape(advice))  # re.sub would escape the tags that it puts into Markup
    return Markup(re.sub(r"--\w+", r"<code>\g<0></code>", plain))


def test_table(analysis: Analysis) -> pd.DataFrame:
    """Return the steps of the sequential test: hypothesis, statistic, threshold, p-value."""
    test = analysis.test
    p_values = np.asarray(test.p_values)
    k = np.arange(1, len(p_values) + 1)
    hypotheses = ["no direction" if j == 1 else f"{j - 1} suffice{'' if j > 2 else 's'}" for j in k]
    return pd.DataFrame(
        {
            "hypothesis tested": hypotheses,
            "largest singular value": test.singular_values,
            "95% of sign flips below": test.thresholds,
            "p-value": p_values,
            "rejected": np.where(k <= test.rank, "yes", "no"),
        },
        index=pd.Index(k, name="step"),
    )


def _loadings_table(analysis: Analysis) -> pd.DataFrame:
    """Return one row per predictor, the largest loading on top; per direction four columns."""
    table, columns = analysis.loadings(), {}
    for k, name in enumerate(analysis.directions, start=1):
        part = table.loc[name]
        columns[name] = part["loading"]
        low, high = part["low"].map(_number), part["high"].map(_number)
        columns[f"interval {k}"] = low + " to " + high
        columns[f"clear {k}"] = np.where(part["clear"], "yes", "no")
        columns[f"correlation {k}"] = part["correlation"]
    return pd.DataFrame(columns).loc[_largest(analysis)]


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


def _summary(analysis: Analysis) -> dict[str, Any]:
    """Return the numbers of an analysis, ready for JSON; users' names are values or apart."""
    table, stability = analysis.table, analysis.stability
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
        "number_chosen_by": analysis.number,
        "test": {"rank": analysis.test.rank, "p_values": np.asarray(analysis.test.p_values)},
        "held_out_r2": {
            "overall": comparison.mean_r2.to_dict(),
            "responses": [
                {"response": name, "r2": row.to_dict()} for name, row in comparison.r2.iterrows()
            ],
        },
        "best_rival": comparison.rival,
        "fold_dimensions": list(comparison.dimensions),
    }
    if stability is not None:
        out["stability"] = {
            "instability": stability.instability,
            "mean_distance": stability.distances.mean(),
            "chance_distance": stability.chance,
        }
    text = json.dumps(out, default=lambda value: value.tolist())  # arrays and their numbers
    return json.loads(text, parse_float=_six_digits, parse_constant=lambda _: None)


def _six_digits(number: str) -> float:
    return float(f"{float(number):.6g}")
