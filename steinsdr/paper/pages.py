r"""Tables and figures of the book's pages: ledger, claims, computing, readings of the network.

Tables come as HTML or as frames that a page shows. Formulas in statements stand between ``\(`` and
``\)`` and are set by the page.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from html import escape
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..simulation import LAWS
from .claims import NN, load_claims
from .experiment import EXPERIMENTS, find_experiment
from .ledger import LAYOUTS, SCANT, Z_LIMIT, Ledger, title_of
from .provenance import environments, read_manifest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "MARKS",
    "READINGS",
    "claims_html",
    "computing_table",
    "differences_html",
    "folded_html",
    "frame_html",
    "ledger_html",
    "load_manifests",
    "plot_readings",
    "plot_z",
    "printed_html",
    "readings_table",
    "repetition_counts",
    "rows_table",
    "sentences_html",
]


def _html(frame: pd.DataFrame, **options: Any) -> str:
    with pd.option_context("display.max_colwidth", None):  # text in full
        return frame.to_html(border=0, **options)


def frame_html(frame: pd.DataFrame) -> str:
    """Return a frame as an HTML table: no index, three decimals, text in full.

    A column ``table`` shows the paper's names; underscores in the heads become spaces.
    """
    if "table" in frame:  # a name does not break over two lines
        frame = frame.assign(table=[title_of(t).replace(" ", "\u00a0") for t in frame["table"]])
    frame = frame.rename(columns=lambda name: str(name).replace("_", " ")).rename_axis(columns=None)
    return _html(frame, index=False, float_format="{:.3f}".format, na_rep="")


def folded_html(frame: pd.DataFrame, summary: str) -> str:
    """Return :func:`frame_html` folded under a line of summary, with the number of rows."""
    return (
        f'<div class="ledger"><details><summary>{escape(summary)} ({len(frame)})</summary>'
        f'<div class="ledger-scroll">{frame_html(frame)}</div></details></div>'
    )


# The ledger.


MARKS = {"agrees": "✓", "differs": "✗", "missing": "·"}
"""The ledger's verdicts and the marks that stand for them."""


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


def _z(value: float) -> str:
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    return "" if np.isnan(value) else f"{value:.1f}".replace("-", "−")


def ledger_html(cells: pd.DataFrame) -> str:
    """Return every cell as HTML: one folded, scrolling table per table, and a choice of verdicts.

    The choice is made by style rules alone (``custom.css``), so that it works without a script.

    Parameters
    ----------
    cells : DataFrame
        ``Ledger.cells``, or the file ``ledger.csv``.
    """
    choices = "".join(
        f'<label><input type="radio" name="ledger" value="{value}"{checked}/> {value}</label> '
        for value, checked in [("all", " checked"), *((verdict, "") for verdict in MARKS)]
    )
    names = ["cell", "method", "paper (sd)", "ours (sd)", "reps", "z", "verdict"]
    head = "".join(f"<th>{name}</th>" for name in names)
    parts = [f'<p class="ledger-choice">Show: {choices}</p>']
    for table, part in cells.groupby("table", sort=False):
        counts = part["verdict"].value_counts()
        told = ", ".join(f"{counts[v]} {v}" for v in MARKS if v in counts)
        body = []
        for row in part.itertuples():
            ours = "" if row.verdict == "missing" else f"{row.mean:.3f} ({row.sd:.3f})"
            entries = [
                *(escape(row.cell), escape(row.method)),
                *(f"{row.paper_mean:.3f} ({row.paper_sd:.3f})", ours, row.reps, _z(row.z)),
                f"{MARKS[row.verdict]} {row.verdict}",
            ]
            data = "".join(f"<td>{entry}</td>" for entry in entries)
            body.append(f'<tr class="{row.verdict}">{data}</tr>')
        parts.append(
            f"<details><summary>{escape(title_of(str(table)))}: {len(part)} cells, {told}"
            f'</summary><div class="ledger-scroll"><table><thead><tr>{head}</tr></thead>'
            f"<tbody>{''.join(body)}</tbody></table></div></details>"
        )
    return f'<div class="ledger">{"".join(parts)}</div>'


def differences_html(differences: pd.DataFrame) -> str:
    """Return the cells that differ, of ``Ledger.differences``, as a list by note."""
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


_DIGITS = {"distance": 3, "error": 2, "rank": 1, "mse_rhat": 3, "mse_r10": 3}
_HEADS = {"gamma": "γ", "rank": "rank", "mse_rhat": "MSE", "mse_r10": "at 10"}


def printed_html(cells: pd.DataFrame, table: str, **half: Any) -> str:
    """Return a part of a table as the paper prints it: ours with a mark above the paper's, as HTML.

    ✓ agrees, ✗ differs, · missing; a mark in brackets rests on fewer than ten repetitions. The last
    column has the numbers of our repetitions.

    Parameters
    ----------
    cells : DataFrame
        ``Ledger.cells``.
    table : {"table1", "table2", "table3"}
    **half
        The part: ``law="ar1"``, or ``train_ratio=0.6`` of Table 3.
    """
    ((key, value),) = half.items()
    whole = cells[cells["table"] == table]
    part = whole[whole[key] == value]
    if part.empty:
        raise ValueError(f"{key} is {value!r}; expected one of {sorted(set(whole[key]))}.")
    layout = LAYOUTS[table]
    (axis,) = set(layout.keys) - {key}
    entries = []
    for row in part.itertuples():
        digits = _DIGITS[row.measure]
        spreads = ("", "")
        if table != "table3":
            spreads = tuple(f" ({sd:.{digits}f})" for sd in (row.sd, row.paper_sd))
        ours = "–" if row.verdict == "missing" else f"{row.mean:.{digits}f}{spreads[0]}"
        mark = MARKS[row.verdict]
        mark = f"({mark})" if row.verdict != "missing" and row.reps < SCANT else mark
        paper = f"{row.paper_mean:.{digits}f}{spreads[1]}"
        entries.append(f"{ours} {mark}<br/><small>{paper}</small>")
    order = list(product(sorted(set(part[axis])), layout.measures))
    wide = part.assign(entry=entries).pivot(
        index="method", columns=[axis, "measure"], values="entry"
    )
    wide = wide.loc[part["method"].unique(), order].rename_axis(None)
    ends = part.groupby("method")["reps"].agg(["min", "max"]).loc[wide.index].to_numpy()
    spans = [f"{least}" if least == most else f"{least}–{most}" for least, most in ends]
    heads = [(f"{_HEADS.get(axis, axis)} = {at:g}", _HEADS.get(name)) for at, name in order]
    if table == "table3":
        wide.columns = pd.MultiIndex.from_tuples(heads)
        wide["", "parts"] = spans
    else:
        wide.columns = [name for name, _ in heads]
        wide["repetitions"] = spans
    page = _html(wide, escape=False, classes="entries")
    return page.replace("<td>", '<td style="white-space: nowrap; text-align: right">')


def plot_z(cells: pd.DataFrame, *, limit: float = 8.0) -> Axes:
    """Draw z of every computed cell: a row per method, a colour per table.

    If the two sides differ by chance alone, z is nearly standard normal: most points within two,
    nearly all within three. Cells beyond ``limit`` stand at the edge as triangles.

    Parameters
    ----------
    cells : DataFrame
        ``Ledger.cells``, or the file ``ledger.csv``.
    """
    import matplotlib.pyplot as plt
    import seaborn as sns

    ax = plt.subplots(figsize=(8, 5.2))[1]
    shown = cells[cells["z"].notna()]
    order, tables = list(shown["method"].unique()), list(shown["table"].unique())
    ax.axvspan(-Z_LIMIT, Z_LIMIT, color="0.93", lw=0, zorder=0)
    for k, color in enumerate(sns.color_palette("colorblind", len(tables))):
        part = shown[shown["table"] == tables[k]]
        z = part["z"].clip(-limit, limit).to_numpy()
        # Tables side by side within a method's row, neighbouring cells a little apart.
        lane = (k - (len(tables) - 1) / 2) * 0.27
        y = np.array([order.index(m) for m in part["method"]]) + lane
        y += np.resize([-0.06, 0.0, 0.06], len(y))
        inside = np.abs(z) < limit
        style = {"color": color, "alpha": 0.8, "lw": 0, "zorder": 3}
        ax.scatter(z[inside], y[inside], s=22, label=title_of(tables[k]), **style)
        ax.scatter(z[~inside], y[~inside], s=60, marker="^", **style)
    ax.set(xlabel="(ours - paper) / standard error", xlim=(-limit - 0.5, limit + 0.5))
    ax.set(yticks=range(len(order)), yticklabels=order, ylim=(len(order) - 0.4, -0.6))
    ax.grid(visible=False, axis="y")
    ax.legend(frameon=False, loc="upper right")
    return ax


# The claims.


def _math_html(text: str) -> str:
    """Escape a text and mark its formulas for the page to set."""
    return re.sub(
        r"\\\(.*?\\\)",
        lambda formula: f'<span class="math notranslate nohighlight">{formula[0]}</span>',
        escape(text, quote=False),
    )


def _chapter_title(page: str) -> str:
    """Return the title in a notebook's first cell, or the file's name where there is none."""
    path = Path(__file__).parents[2] / f"{page}.ipynb"
    if not path.is_file():
        return path.stem
    first = json.loads(path.read_text(encoding="utf-8"))["cells"][0]
    return "".join(first["source"]).partition("\n")[0].removeprefix("# ").strip()


def claims_html(table: pd.DataFrame, *kinds: str) -> str:
    """Return claims as an HTML table: claim with a link to its cell, verdict, evidence.

    Parameters
    ----------
    table : DataFrame
        Of :func:`steinsdr.paper.claims.claims_table`, or the file ``claims.csv``.
    *kinds : str
        Kinds of claims to show, such as "lemma".

    Examples
    --------
    >>> columns = ["label", "kind", "statement", "where", "verdict", "evidence"]
    >>> row = ("lem:fs", "lemma", "It holds.", "notebooks/x#cell-y", "holds", "1 of 1")
    >>> "Lemma 1" in claims_html(pd.DataFrame([row], columns=columns), "lemma")
    True
    """
    if unknown := set(kinds) - set(table["kind"]):
        raise ValueError(
            f"kinds has {sorted(unknown)}; the table has {sorted(set(table['kind']))}."
        )
    table = table[table["kind"].isin(kinds)]
    names = {claim.label: claim.name for claim in load_claims()}
    claims = []
    for row in table.itertuples():
        name = escape(names.get(row.label, row.label))
        page, _, anchor = row.where.partition("#")
        claims.append(
            f'<strong title="{escape(row.label)}">{name}.</strong> {_math_html(row.statement)}<br/>'
            f'<small><a href="../{page}.html#{anchor}">{escape(_chapter_title(page))}</a></small>'
        )
    columns = {"claim": claims, "verdict": "<strong>" + table["verdict"] + "</strong>"}
    frame = pd.DataFrame({**columns, "evidence": table["evidence"].map(_math_html)})
    html = _html(frame, index=False, escape=False, justify="left", classes="claims")
    return html.replace("<td>", '<td style="text-align: left; vertical-align: top">')


def sentences_html(sentences: pd.DataFrame) -> str:
    """Return sentences about a table, of ``judge_sentences``, with their verdicts as HTML.

    Examples
    --------
    >>> row = {"statement": "a < b", "paper": "holds", "paper_count": "2 of 2"}
    >>> "a &lt; b" in sentences_html(pd.DataFrame([row | {"ours": "holds", "our_count": "1 of 2"}]))
    True
    """
    columns = {
        "the paper says": sentences["statement"].map(escape),
        "in its own numbers": sentences["paper"] + "<br/>" + sentences["paper_count"],
        "in ours": sentences["ours"] + "<br/>" + sentences["our_count"],
    }
    frame = pd.DataFrame(columns)
    return _html(frame, index=False, escape=False, justify="left", classes="sentences")


# What was computed, on what and for how long.


def load_manifests(folder: str | os.PathLike[str]) -> dict[str, dict[str, Any]]:
    """Return the manifests of a results folder by the name of their experiment, sorted.

    Totals are written when a run ends; an experiment whose first run has not is left out.

    Raises
    ------
    ValueError
        If there is none, or one is no manifest.
    """
    suffix = ".manifest.json"
    paths = sorted(Path(folder).glob(f"*{suffix}"))
    contents = {p.name.removesuffix(suffix): read_manifest(p) for p in paths}
    found = {name: content for name, content in contents.items() if "rows" in content}
    if not found:
        raise ValueError(
            f"folder {folder} has {len(paths)} file(s) *{suffix}, none with totals; expected one "
            "per experiment."
        )
    return found


def rows_table(folder: str | os.PathLike[str]) -> pd.DataFrame:
    """Return stored rows by method and table, as "stored of wanted by the paper's profile".

    A variant that the paper does not have shows the stored rows alone. The theory studies, which
    have no methods, are left out.
    """
    columns = {}
    for name, manifest in load_manifests(folder).items():
        told = {method: str(rows) for method, rows in manifest["rows"].items()}
        if name in EXPERIMENTS:
            experiment = find_experiment(name)
            if experiment.by != "method":
                continue
            wanted = {}
            for method in experiment.axes["method"]:
                cells = experiment.cells("paper", {"method": [method]})
                wanted[method] = f"{told.get(method, 0)} of {len(cells)}"
            told = wanted | {method: rows for method, rows in told.items() if method not in wanted}
        columns[title_of(name)] = told
    return pd.DataFrame(columns).fillna("")


def computing_table(folder: str | os.PathLike[str]) -> pd.DataFrame:
    """Return one row per experiment: rows, failures, hours of one core, machines and versions."""
    kinds = {
        "processor": ("machine", "processor"),
        "cores": ("machine", "cores"),
        "Python": ("versions", "python"),
        "NumPy": ("versions", "numpy"),
        "PyTorch": ("versions", "torch"),
    }
    records = {}
    for name, manifest in load_manifests(folder).items():
        records[title_of(name)] = {
            "rows": sum(manifest["rows"].values()),
            "failed": manifest["failed"],
            "hours on one core": round(manifest["seconds"] / 3600, 1),
        } | {  # several of a kind where it changed between runs
            head: ", ".join(dict.fromkeys(str(one[part][key]) for one in environments(manifest)))
            for head, (part, key) in kinds.items()
        }
    return pd.DataFrame.from_dict(records, orient="index")


# Readings of the network's standardization. The appendix says that inputs are standardized and that
# noise of standard deviation 0.1 is added, not in which order. Under laws with unit variance the
# order hardly matters. Under heavy tails, where a column's standard deviation is large, a tenth of
# it is a lot of noise and a tenth of a unit of x is little.


READINGS: dict[str, str] = {
    "noise, then scaled": "",
    "scaled, then noise": "-std",
    "not scaled": "-raw",
}
"""Readings and the endings of their methods' names."""


def readings_table(ledger: Ledger) -> pd.DataFrame:
    """Return every reading of every network method of Table 1 beside the paper, where computed.

    Returns
    -------
    DataFrame
        With columns law, n, method, reading, mean, sd, reps, paper_mean, paper_sd, z, verdict.
    """
    columns = ["law", "n", "method", "reading", "mean", "sd", "reps"]
    columns += ["paper_mean", "paper_sd", "z", "verdict"]
    printed = ledger.cells[ledger.cells["table"] == "table1"]
    found = pd.concat(
        (ledger.reading("table1", ending) if ending else printed).assign(reading=reading)
        for reading, ending in READINGS.items()
    )[columns]
    found = found[found["method"].isin(NN) & (found["verdict"] != "missing")]
    order = found["method"].map(["NN-sup", "NN-split", "NN-full"].index)
    return found.iloc[np.argsort(order, kind="stable")].reset_index(drop=True)


def plot_readings(readings: pd.DataFrame, laws: Sequence[str]) -> Figure:
    """Draw distance against n: a row per law, a panel per method, a line per reading.

    Open circles are the paper's means.

    Parameters
    ----------
    readings : DataFrame
        Of :func:`readings_table`.
    laws : sequence of str
        Laws to draw.
    """
    import matplotlib.pyplot as plt

    size = (9.5, 0.8 + 2.6 * len(laws))
    fig, axes = plt.subplots(len(laws), 3, figsize=size, sharex=True, sharey=True, squeeze=False)
    cells = product(laws, readings["method"].unique())
    for ax, (law, method) in zip(axes.flat, cells, strict=True):
        part = readings[(readings["law"] == law) & (readings["method"] == method)]
        for reading, style in zip(READINGS, ("-", "--", ":"), strict=True):
            line = part[part["reading"] == reading].sort_values("n")
            ax.plot(line["n"], line["mean"], style, marker=".", label=reading)  # a lone point shows
        paper = part.drop_duplicates("n")
        ring: dict[str, Any] = {"s": 36, "facecolor": "white", "edgecolor": "black", "zorder": 3}
        ax.scatter(paper["n"], paper["paper_mean"], label="the paper", **ring)
        ax.set(title=f"{method}, {LAWS[law].label}", xticks=sorted(set(readings["n"])))
    for ax in axes[:, 0]:
        ax.set(ylabel="Procrustes distance")
    for ax in axes[-1]:
        ax.set(xlabel="labeled observations")
    handles, names = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, names, loc="outside lower center", ncols=4, frameon=False)
    return fig
