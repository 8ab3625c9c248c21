"""The ledger as a page: counts of verdicts, every cell in folded tables, all z in one figure.

Nothing here knows how many tables there are; whatever the column ``table`` holds is shown.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from .ledger import Z_LIMIT
from .provenance import environments, read_manifest
from .registry import EXPERIMENTS

__all__ = [
    "SCANT",
    "VERDICTS",
    "computing_table",
    "differences_html",
    "entries_html",
    "folded_html",
    "frame_html",
    "ledger_html",
    "load_manifests",
    "mark",
    "plot_z",
    "repetition_counts",
    "repetitions_phrase",
    "rows_table",
    "sentences_html",
    "spans",
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
        From :func:`steinsdr.paper.sentences.judge_all`.

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


# Entries of the printed tables: ours above the paper's, a mark, and how much it rests on.


SCANT = 10
"""With fewer repetitions than these a verdict says little, and its mark stands in brackets."""


def mark(verdict: str, reps: int) -> str:
    """Return the mark of a verdict, in brackets if it rests on fewer than ten repetitions.

    Examples
    --------
    >>> mark("agrees", 100), mark("differs", 4), mark("missing", 0)
    ('✓', '(✗)', '·')
    """
    plain = VERDICTS[verdict]
    return f"({plain})" if verdict != "missing" and reps < SCANT else plain


def spans(cells: pd.DataFrame) -> pd.Series:
    """Return the least and the largest number of repetitions of each method, as text.

    Examples
    --------
    >>> spans(pd.DataFrame({"method": ["SIR", "MLP", "MLP"], "reps": [100, 2, 4]})).to_dict()
    {'SIR': '100', 'MLP': '2–4'}
    """
    ends = cells.groupby("method", sort=False)["reps"].agg(["min", "max"])
    text = [f"{a}" if a == b else f"{a}–{b}" for a, b in ends.to_numpy()]
    return pd.Series(text, index=ends.index).rename_axis(None)


def repetition_counts(cells: pd.DataFrame) -> pd.Series:
    """Count the computed cells by the number of our repetitions behind them.

    Parameters
    ----------
    cells : DataFrame
        ``Ledger.cells``, the file ``ledger.csv``, or a part of either.

    Returns
    -------
    Series of int
        Indexed by "100 or more", "20 to 99", "10 to 19" and "fewer than 10".

    Examples
    --------
    >>> repetition_counts(pd.DataFrame({"reps": [0, 3, 20, 100]})).tolist()
    [1, 1, 0, 1]
    """
    computed = cells.loc[cells["reps"] >= 2, "reps"]
    labels = ["fewer than 10", "10 to 19", "20 to 99", "100 or more"]
    bins = pd.cut(computed, [0, SCANT, 20, 100, np.inf], right=False, labels=labels)
    return bins.value_counts().reindex(labels[::-1]).astype(int).rename_axis("repetitions")


def repetitions_phrase(cells: pd.DataFrame, noun: str = "data sets") -> str:
    """Return in words how many of our repetitions are behind cells.

    Examples
    --------
    >>> repetitions_phrase(pd.DataFrame({"reps": [20, 100]}))
    '20 to 100 data sets, by method'
    >>> repetitions_phrase(pd.DataFrame({"reps": [100, 100]}), "partitions")
    '100 partitions'
    """
    least, most = int(cells["reps"].min()), int(cells["reps"].max())
    return f"{most} {noun}" if least == most else f"{least} to {most} {noun}, by method"


def entries_html(frame: pd.DataFrame) -> str:
    """Return a table of entries "ours | paper ✓" as HTML, ours with the mark above the paper's.

    Parameters
    ----------
    frame : DataFrame of str
        From :func:`steinsdr.paper.figures_tables.printed_table` or
        :func:`steinsdr.paper.figures_tables.printed_table3`; entries without a bar stay as they
        are.

    Examples
    --------
    >>> page = entries_html(pd.DataFrame({"n = 50": ["1.2 (0.1) | 1.3 (0.1) ✓"]}, index=["SIR"]))
    >>> "1.2 (0.1) ✓<br/>" in page and "<small>1.3 (0.1)</small>" in page
    True
    """
    shown = frame.map(_entry)
    page = shown.to_html(border=0, escape=False, classes="entries")
    return page.replace("<td>", '<td style="white-space: nowrap; text-align: right">')


def _entry(text: str) -> str:
    ours, bar, rest = escape(str(text)).partition(" | ")
    if not bar:
        return ours
    paper, sign = rest.rsplit(" ", 1)
    return f"{ours} {sign}<br/><small>{paper}</small>"


# What was computed, on what and for how long: the manifests beside the results, as tables.


_SUFFIX = ".manifest.json"


def load_manifests(folder: str | os.PathLike[str]) -> dict[str, dict[str, Any]]:
    """Return the manifests of a results folder by the name of their experiment, sorted.

    Totals are written when a run ends; an experiment whose first run has not is left out.

    Raises
    ------
    ValueError
        If there is none, or one is no manifest.
    """
    paths = sorted(Path(folder).glob(f"*{_SUFFIX}"))
    contents = {p.name.removesuffix(_SUFFIX): read_manifest(p) for p in paths}
    found = {name: content for name, content in contents.items() if "rows" in content}
    if not found:
        raise ValueError(
            f"folder {folder} has {len(paths)} file(s) *{_SUFFIX}, none with totals; expected one "
            "per experiment."
        )
    return found


def rows_table(folder: str | os.PathLike[str]) -> pd.DataFrame:
    """Return stored rows by method and table, as "stored of wanted by the paper's profile".

    A variant that the paper does not have is wanted by nobody: "stored" alone. The theory studies,
    which have no methods, are left out.
    """
    columns = {}
    for name, manifest in load_manifests(folder).items():
        experiment = EXPERIMENTS.get(name)
        if experiment is not None and experiment.naming != "method":
            continue
        paper = [] if experiment is None else list(experiment.axes["method"])
        rows = manifest["rows"]
        told = {}
        for method in [*paper, *(m for m in rows if m not in paper)]:
            stored = f"{rows.get(method, 0)}"
            if experiment is not None and method in paper:
                stored += f" of {len(experiment.cells('paper', {'method': [method]}))}"
            told[method] = stored
        columns[title_of(name)] = told
    return pd.DataFrame(columns).fillna("")


def computing_table(folder: str | os.PathLike[str]) -> pd.DataFrame:
    """Return one row per experiment: rows, failures, hours of one core, machines and versions."""
    records = {
        title_of(name): {
            "rows": sum(manifest["rows"].values()),
            "failed": manifest["failed"],
            "hours on one core": round(manifest["seconds"] / 3600, 1),
            "processor": _listed(manifest, "machine", "processor"),
            "cores": _listed(manifest, "machine", "cores"),
            "Python": _listed(manifest, "versions", "python"),
            "NumPy": _listed(manifest, "versions", "numpy"),
            "PyTorch": _listed(manifest, "versions", "torch"),
        }
        for name, manifest in load_manifests(folder).items()
    }
    return pd.DataFrame.from_dict(records, orient="index")


def _listed(manifest: dict[str, Any], part: str, name: str) -> str:
    """Return what the rows were made with; several of it if it changed."""
    return ", ".join(dict.fromkeys(str(one[part][name]) for one in environments(manifest)))
