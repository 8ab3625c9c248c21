"""Write an analysis into a folder: a page, tables and figures."""

from __future__ import annotations

import json
import os
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from .. import __version__
from ..plotting import use_style
from . import figures
from .analysis import Analysis
from .findings import unevenness
from .page import page

__all__ = ["check_folder", "draw", "make_folder", "summary", "write_report"]

FIGURES = {
    "predictors": figures.plot_predictors,
    "score": figures.plot_score,
    "spectrum": figures.plot_singular_values,
    "loadings": figures.plot_loadings,
    "summaries": figures.plot_summaries,
    "comparison": figures.plot_comparison,
}


def draw(analysis: Analysis) -> dict[str, bytes]:
    """Return the figures as PNG pictures by name."""
    pictures = {}
    with plt.rc_context():
        use_style()
        for name, plot in FIGURES.items():
            figure, buffer = plot(analysis), BytesIO()
            figure.savefig(buffer, format="png", metadata={"Software": None})
            plt.close(figure)
            pictures[name] = buffer.getvalue()
    return pictures


def summary(analysis: Analysis) -> dict[str, Any]:
    """Return the numbers of an analysis, ready for JSON."""
    table, reduction, resampled = analysis.table, analysis.reduction, analysis.bootstrap
    comparison = analysis.comparison
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
            "level": analysis.verdict.level,
            "headline": analysis.verdict.headline,
            "sentences": list(analysis.verdict.sentences),
            "findings": [vars(finding) for finding in analysis.verdict.findings],
        },
        "n_components": analysis.n_components,
        "scale": reduction.scale_,
        "lambda": reduction.lam_,
        "score": {
            "slope": analysis.diagnostics.slope,
            "unevenness": unevenness(analysis.diagnostics),
            "largest_mean": np.abs(analysis.diagnostics.mean).max(),
        },
        "singular_values": analysis.spectrum.singular_values,
        "pvalues": analysis.pvalues,
        "held_out_r2": {m: comparison.r2[m].to_dict() for m in comparison.r2},
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
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(item) for item in value]
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(f"{float(value):.6g}") if np.isfinite(value) else None
    return value


def check_folder(folder: str | Path) -> None:
    """Raise ValueError if the folder of a report cannot be made; makes nothing.

    Examples
    --------
    >>> check_folder("new/report")
    """
    path = Path(folder)
    nearest = next(parent for parent in (path, *path.parents) if parent.exists())
    reason = "" if os.access(nearest, os.W_OK) else f"no permission to write in {str(nearest)!r}"
    reason = reason if nearest.is_dir() else f"{str(nearest)!r} is a file"
    if reason:
        raise ValueError(f"out: cannot make the folder {str(path)!r}: {reason}.")


def make_folder(folder: str | Path) -> Path:
    """Make the folder of a report and return its path; ValueError if that cannot be."""
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"out: cannot make the folder {str(path)!r}: {error.strerror}.") from error
    return path


def write_report(analysis: Analysis, folder: str | Path) -> list[Path]:
    """Write index.html, loadings.csv, reduced.csv, summary.json and the figures into a folder.

    The folder is made if it is missing; files of these names are replaced, others are left.

    Returns
    -------
    list of Path
        What was written, the page first.

    Raises
    ------
    ValueError
        If the folder cannot be made.
    """
    folder = make_folder(folder)
    pictures = draw(analysis)
    texts = {
        "index.html": page(analysis, pictures),
        "loadings.csv": analysis.loadings().to_csv(float_format="%.6g"),
        "reduced.csv": analysis.reduced().to_csv(float_format="%.6g"),
        "summary.json": json.dumps(summary(analysis), indent=1, ensure_ascii=False) + "\n",
    }
    written = []
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
        written.append(folder / name)
    for name, picture in pictures.items():
        (folder / f"{name}.png").write_bytes(picture)
        written.append(folder / f"{name}.png")
    return written
