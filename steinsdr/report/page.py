"""One HTML page for an analysis: no script, no file and no address outside itself."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from html import escape

import numpy as np
import pandas as pd

from .. import __version__
from .analysis import Analysis
from .bootstrap import LEVEL
from .captions import GIVEN_BASIS, caption
from .comparison import REFERENCES
from .findings import unevenness
from .reduction import PERMUTATIONS

__all__ = ["page"]

DENSITY = 1.7  # pixels of a picture for one of the screen
HEADINGS = {
    "distinct": "distinct values",
    "most_frequent": "share of most frequent",
    "explained_by_others": "explained by others",
}

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.55 system-ui, sans-serif; color: #222; background: #fff;
  max-width: 56rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin-bottom: .2rem; }
h2 { font-size: 1.25rem; margin: 2.4rem 0 .6rem; border-bottom: 1px solid #ddd; }
.verdict { border-left: .4rem solid; padding: .6rem 1rem; margin: 1.2rem 0; }
.verdict p { margin: .2rem 0; font-weight: 600; font-size: 1.1rem; }
.usable { border-color: #2f8f6f; background: #eef7f3; }
.with-care { border-color: #de8f05; background: #fdf6e9; }
.not-usable { border-color: #c44e52; background: #faeeee; }
ul { padding-left: 1.3rem; } li { margin: .3rem 0; }
figure { margin: 1.2rem 0; } figcaption, .quiet { color: #555; font-size: .92rem; }
img { max-width: 100%; height: auto; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; margin: .8rem 0; }
caption { text-align: left; color: #555; padding-bottom: .3rem; }
th, td { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid #e5e5e5; }
thead th { border-bottom: 2px solid #bbb; vertical-align: bottom; }
tbody th, thead th:first-child { text-align: left; }
tbody th { font-weight: 500; white-space: nowrap; }
td { font-variant-numeric: tabular-nums; white-space: nowrap; }
td.text { text-align: left; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; }
dt { color: #555; } dd { margin: 0; }
"""


def page(analysis: Analysis, figures: Mapping[str, bytes]) -> str:
    """Return the report as HTML.

    Parameters
    ----------
    analysis : Analysis
    figures : mapping of str to bytes
        PNG pictures by the keys of ``steinsdr.report.captions.CAPTIONS``.
    """
    table, verdict = analysis.table, analysis.verdict
    title = f"Directions of {table.name}"
    body = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="quiet">{escape(_subtitle(analysis))}</p>',
        f'<div class="verdict {verdict.level.replace(" ", "-")}"><p>{escape(verdict.headline)}</p>',
        _bullets(verdict.sentences) + "</div>",
    ]
    if verdict.findings:
        body += ["<h2>What to mind, and what to do</h2>"]
        body += [_bullets(f"{finding.text} {finding.advice}" for finding in verdict.findings)]
    body += ["<h2>The data</h2>", _bullets(table.notes)]
    body += [_html(_checks(analysis), "The predictors."), _figure("predictors", analysis, figures)]
    body += [
        "<h2>The score</h2>",
        _paragraph(_score(analysis)),
        _figure("score", analysis, figures),
    ]
    body += ["<h2>How many directions</h2>", _html(_spectrum(analysis), _permutations(analysis))]
    body += [_figure("spectrum", analysis, figures)]
    body += ["<h2>What the directions are made of</h2>", _figure("loadings", analysis, figures)]
    body += [_html(_loadings(analysis), _loadings_caption(analysis))]
    body += ["<h2>What the responses do along them</h2>", _figure("summaries", analysis, figures)]
    body += ["<h2>What they predict</h2>", _paragraph(_folds(analysis))]
    body += [_figure("comparison", analysis, figures)]
    body += [_html(analysis.comparison.table(), "Held-out R² per response and overall.")]
    body += ["<h2>How this was made</h2>", _settings(analysis)]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>\n"
        + "\n".join(part for part in body if part)
        + "\n</body></html>\n"
    )


def _subtitle(analysis: Analysis) -> str:
    n, p = analysis.table.X.shape
    names = ", ".join(analysis.table.Y.columns)
    more = f", {len(analysis.table.X_unlabeled)} unlabeled rows" * bool(
        len(analysis.table.X_unlabeled)
    )
    return f"{n} rows{more}, {p} predictors; responses: {names}"


def _score(analysis: Analysis) -> str:
    mean = float(np.abs(analysis.diagnostics.mean).max())
    edge = getattr(analysis.reduction.sdr_.score_estimator_, "at_edge_", False)
    return (
        f"λ = {analysis.reduction.lam_:.1e} was chosen by held-out score matching"
        + (" and lies at the end of the grid" if edge else "")
        + f". Largest mean of the score: {mean:.2f} (target 0). Average diagonal of E[s x']: "
        f"{analysis.diagnostics.slope:.2f} (target 1; below, the score is shrunk, which leaves the "
        "directions alone). Its distance from a multiple of the identity: "
        f"{unevenness(analysis.diagnostics):.2f} (target 0)."
    )


def _checks(analysis: Analysis) -> pd.DataFrame:
    columns = analysis.checks.columns.rename(columns=HEADINGS)
    return columns.drop(columns="remarks") if (columns["remarks"] == "").all() else columns


def _spectrum(analysis: Analysis) -> pd.DataFrame:
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


def _permutations(analysis: Analysis) -> str:
    null = analysis.spectrum.null
    m = PERMUTATIONS if null is None else len(null)
    return f"Singular values against {m} permutations of the rows of the responses."


def _loadings(analysis: Analysis) -> pd.DataFrame:
    """Return one row per predictor, the largest loading on top; per direction three columns."""
    table, columns = analysis.loadings(), {}
    for k, name in enumerate(analysis.directions, start=1):
        part = table.loc[name]
        columns[name] = part["loading"]
        if "low" in part:
            columns[f"interval {k}"] = [
                f"{_number(low)} to {_number(high)}"
                for low, high in zip(part["low"], part["high"], strict=True)
            ]
        columns[f"correlation {k}"] = part["correlation"]
    size = table["loading"].abs().groupby("predictor").max()
    return pd.DataFrame(columns).loc[size.sort_values(ascending=False, kind="stable").index]


def _loadings_caption(analysis: Analysis) -> str:
    text = "Loadings, and correlations of the predictors with the direction"
    if analysis.bootstrap is None:
        return text + "."
    resamples = len(analysis.bootstrap.loadings)
    text = (
        f"{text}; intervals of {LEVEL:.0%} from {resamples} resamples. With fewer than ten rows "
        "for each predictor, about one in ten of the loadings that are zero has an interval "
        "without it."
    )
    if analysis.reduction.scale_ == "whiten":
        text += " After whitening intervals are in units of the fit's length and may go beyond 1."
    return f"{text} {GIVEN_BASIS}" if analysis.n_components > 1 else text


def _folds(analysis: Analysis) -> str:
    dimensions = analysis.comparison.dimensions
    return (
        f"{len(dimensions)} folds; everything, also the number of directions "
        f"({', '.join(map(str, dimensions))}), was learned in the training folds. Ridge regression "
        "on the reduced predictors, their squares and products follows each reduction; for "
        f"reference, linear ridge regression on {REFERENCES[0]}, and the {REFERENCES[1]}."
    )


def _settings(analysis: Analysis) -> str:
    rows = {
        **analysis.settings,
        "coordinates used": analysis.reduction.scale_,
        "steinsdr": __version__,
    }
    items = "".join(f"<dt>{escape(k)}</dt><dd>{escape(str(v))}</dd>" for k, v in rows.items())
    return f"<dl>{items}</dl>"


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _bullets(sentences: object) -> str:
    items = "".join(f"<li>{escape(str(s))}</li>" for s in sentences)  # type: ignore[attr-defined]
    return f"<ul>{items}</ul>" if items else ""


def _figure(name: str, analysis: Analysis, figures: Mapping[str, bytes]) -> str:
    picture = figures[name]
    data, text = base64.b64encode(picture).decode(), escape(caption(name, analysis), quote=True)
    # A PNG says its width in bytes 16 to 20; pictures are drawn denser than screens show.
    width = round(int.from_bytes(picture[16:20]) / DENSITY)
    return (
        f'<figure><img alt="{text}" width="{width}" src="data:image/png;base64,{data}">'
        f"<figcaption>{text}</figcaption></figure>"
    )


def _html(frame: pd.DataFrame, caption: str) -> str:
    """Return a table whose numbers have three digits."""
    head = "".join(f"<th>{escape(str(c))}</th>" for c in (frame.index.name or "", *frame.columns))
    rows = []
    for label, row in zip(frame.index, frame.itertuples(index=False), strict=True):
        cells = "".join(_cell(value) for value in row)
        rows.append(f"<tr><th>{escape(str(label))}</th>{cells}</tr>")
    return (
        f'<div class="scroll"><table><caption>{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _cell(value: object) -> str:
    if isinstance(value, float | np.floating):
        return f"<td>{_number(float(value))}</td>"
    kind = "" if isinstance(value, int | np.integer) else ' class="text"'
    return f"<td{kind}>{escape(str(value))}</td>"


def _number(value: float) -> str:
    if not np.isfinite(value):
        return "–"
    if 0 < abs(value) < 0.001:
        return f"{value:.1e}".replace("-", "−")
    digits = max(0, 2 - int(np.floor(np.log10(max(abs(value), 0.01)))))
    return f"{value:.{min(digits, 3)}f}".replace("-", "−")
