"""Write an analysis into a folder: a page, tables and figures."""

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

from ..plotting import use_style
from . import figures
from .bootstrap import LEVEL
from .fit import Analysis
from .rules import unevenness

__all__ = ["page", "summary", "write_report"]

DENSITY = 1.7  # pixels of a picture for one of the screen
FIGURES = {
    "predictors": figures.plot_predictors,
    "score": figures.plot_score,
    "spectrum": figures.plot_singular_values,
    "loadings": figures.plot_loadings,
    "summaries": figures.plot_summaries,
    "comparison": figures.plot_comparison,
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
        most_names=figures.MOST_NAMES,
        most_responses=figures.MOST_RESPONSES,
        most_directions=figures.MOST_DIRECTIONS,
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
