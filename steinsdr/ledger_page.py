"""The ledger as a page: counts of verdicts, every cell in folded tables, all z in one figure.

Nothing here knows how many tables there are; whatever the column ``table`` holds is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from .ledger import Z_LIMIT

__all__ = [
    "VERDICTS",
    "differences_html",
    "folded_html",
    "frame_html",
    "ledger_html",
    "plot_z",
    "sentences_html",
    "title_of",
    "verdict_counts",
]

VERDICTS = {"agrees": "✓", "differs": "✗", "missing": "·"}
"""The ledger's verdicts and the marks that stand for them."""


def title_of(table: str) -> str:
    """Return a table's name as the paper writes it; another experiment's with a capital.

    Examples
    --------
    >>> title_of("table1"), title_of("theory")
    ('Table 1', 'Theory')
    """
    return table.replace("table", "table ", 1).capitalize()


def verdict_counts(cells: pd.DataFrame) -> pd.DataFrame:
    """Count the verdicts: one row per method and one for all, a column per table and verdict.

    Parameters
    ----------
    cells : DataFrame
        ``Ledger.cells``, or the file ``ledger.csv``.

    Returns
    -------
    DataFrame of int
        Columns (table, verdict). A column has as many cells as the paper's table.

    Examples
    --------
    >>> cells = pd.DataFrame(
    ...     {"table": ["table1"] * 2, "method": ["SIR", "MLP"], "verdict": ["agrees", "missing"]}
    ... )
    >>> verdict_counts(cells)["Table 1"].loc["all"].tolist()
    [1, 0, 1]
    """
    tables = list(dict.fromkeys(cells["table"]))
    columns = pd.MultiIndex.from_product([tables, VERDICTS])
    counts = pd.crosstab(cells["method"], [cells["table"], cells["verdict"]])
    counts = counts.reindex(columns=columns, fill_value=0).loc[list(dict.fromkeys(cells["method"]))]
    counts.loc["all"] = counts.sum()
    counts.columns = columns.set_levels([title_of(t) for t in columns.levels[0]], level=0)
    return counts.rename_axis(None)


def _pair(mean: float, sd: float) -> str:
    return f"{mean:.3f} ({sd:.3f})"


def _z(value: float) -> str:
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    return "" if np.isnan(value) else f"{value:.1f}".replace("-", "−")


def _row(row: Mapping[str, Any]) -> str:
    verdict = row["verdict"]
    entries = [
        escape(str(row["cell"])),
        escape(str(row["method"])),
        _pair(row["paper_mean"], row["paper_sd"]),
        "" if verdict == "missing" else _pair(row["mean"], row["sd"]),
        str(row["reps"]),
        _z(row["z"]),
        f"{VERDICTS[verdict]} {verdict}",
    ]
    data = "".join(f"<td>{entry}</td>" for entry in entries)
    return f'<tr class="{verdict}">{data}</tr>'


def ledger_html(cells: pd.DataFrame) -> str:
    """Return every cell as HTML: one folded, scrolling table per table, and a choice of verdicts.

    The choice is made by style rules alone (``custom.css``), so that it works without a script.

    Parameters
    ----------
    cells : DataFrame
        ``Ledger.cells``, or the file ``ledger.csv``.
    """
    names = ["cell", "method", "paper (sd)", "ours (sd)", "reps", "z", "verdict"]
    head = "".join(f"<th>{name}</th>" for name in names)
    choices = "".join(
        f'<label><input type="radio" name="ledger" value="{value}"{checked}/> {value}</label> '
        for value, checked in [("all", " checked"), *((verdict, "") for verdict in VERDICTS)]
    )
    parts = [f'<p class="ledger-choice">Show: {choices}</p>']
    for table, part in cells.groupby("table", sort=False):
        counts = part["verdict"].value_counts()
        told = ", ".join(f"{counts[v]} {v}" for v in VERDICTS if v in counts)
        body = "".join(map(_row, part.to_dict("records")))
        parts.append(
            f"<details><summary>{escape(title_of(str(table)))}: {len(part)} cells, {told}"
            f'</summary><div class="ledger-scroll"><table><thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div></details>"
        )
    return f'<div class="ledger">{"".join(parts)}</div>'


def frame_html(frame: pd.DataFrame) -> str:
    """Return a frame as an HTML table: no index, three decimals, text in full.

    A column ``table`` shows the paper's names; underscores in the heads become spaces.
    """
    if "table" in frame:  # a name does not break over two lines
        frame = frame.assign(table=[title_of(t).replace(" ", "\u00a0") for t in frame["table"]])
    frame = frame.rename(columns=lambda name: str(name).replace("_", " ")).rename_axis(columns=None)
    numbers = "{:.3f}".format
    with pd.option_context("display.max_colwidth", None):
        return frame.to_html(index=False, border=0, float_format=numbers, na_rep="")


def differences_html(differences: pd.DataFrame) -> str:
    """Return the cells that differ as a list, those with the same note together.

    Parameters
    ----------
    differences : DataFrame
        From ``Ledger.differences``.
    """
    if differences.empty:
        return "<p>None.</p>"
    entries = []
    for (table, method, note), part in differences.groupby(["table", "method", "note"], sort=False):
        lines = "".join(
            f"<li>{escape(row.cell)}: ours {row.mean:.3f}, paper {row.paper_mean:.3f}, "
            f"z {_z(row.z)}, {row.reps} repetitions</li>"
            for row in part.itertuples()
        )
        cause = escape(note or "cause not known")
        entries.append(
            f"<dt>{title_of(table)}, {escape(method)}</dt><dd>{cause}<ul>{lines}</ul></dd>"
        )
    return f'<dl class="simple">{"".join(entries)}</dl>'


def sentences_html(claims: pd.DataFrame) -> str:
    """Return sentences of the paper with their verdicts as an HTML table.

    Parameters
    ----------
    claims : DataFrame
        From :func:`steinsdr.sentences.judge_all`.

    Examples
    --------
    >>> row = {"statement": "a < b", "paper": "holds", "paper_count": "2 of 2"}
    >>> "a &lt; b" in sentences_html(pd.DataFrame([row | {"ours": "holds", "our_count": "1 of 2"}]))
    True
    """
    head = "<tr><th>the paper says</th><th>in its own numbers</th><th>in ours</th></tr>"
    rows = "".join(
        f"<tr><td>{escape(row.statement)}</td>"
        f"<td>{escape(row.paper)}<br/>{escape(row.paper_count)}</td>"
        f"<td>{escape(row.ours)}<br/>{escape(row.our_count)}</td></tr>"
        for row in claims.itertuples()
    )
    body = f"<thead>{head}</thead><tbody>{rows}</tbody>"
    return f'<table class="dataframe sentences">{body}</table>'


def folded_html(frame: pd.DataFrame, summary: str) -> str:
    """Return :func:`frame_html` folded under a line of summary, with the number of rows."""
    return (
        f'<div class="ledger"><details><summary>{escape(summary)} ({len(frame)})</summary>'
        f'<div class="ledger-scroll">{frame_html(frame)}</div></details></div>'
    )


def plot_z(cells: pd.DataFrame, ax: Axes | None = None, *, limit: float = 8.0) -> Axes:
    """Draw z of every computed cell: a row per method, a colour per table.

    If the two sides differ by chance alone, z is nearly standard normal: most points within two,
    nearly all within three. Cells beyond ``limit`` stand at the edge as triangles.

    Parameters
    ----------
    cells : DataFrame
        ``Ledger.cells``, or the file ``ledger.csv``.
    """
    ax = plt.subplots(figsize=(8, 5.2))[1] if ax is None else ax
    shown = cells[cells["z"].notna()]
    order, tables = list(dict.fromkeys(shown["method"])), list(dict.fromkeys(shown["table"]))
    colors = sns.color_palette("colorblind", len(tables))
    ax.axvspan(-Z_LIMIT, Z_LIMIT, color="0.93", lw=0, zorder=0)
    for k, table in enumerate(tables):
        part = shown[shown["table"] == table]
        z = part["z"].clip(-limit, limit).to_numpy()
        # Tables side by side within a method's row, neighbouring cells a little apart.
        lane = (k - (len(tables) - 1) / 2) * 0.27
        y = np.array([order.index(m) for m in part["method"]]) + lane
        y += np.resize([-0.06, 0.0, 0.06], len(y))
        inside = np.abs(z) < limit
        style = {"color": colors[k], "alpha": 0.8, "lw": 0, "zorder": 3}
        ax.scatter(z[inside], y[inside], s=22, label=title_of(table), **style)
        ax.scatter(z[~inside], y[~inside], s=60, marker="^", **style)
    ax.set(xlabel="(ours - paper) / standard error", xlim=(-limit - 0.5, limit + 0.5))
    ax.set(yticks=range(len(order)), yticklabels=order, ylim=(len(order) - 0.4, -0.6))
    ax.grid(visible=False, axis="y")
    ax.legend(frameon=False, loc="upper right")
    return ax
