"""Tables and figures of the book's pages: ledger, claims, readings of the network."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import numpy as np
import pandas as pd
from markupsafe import Markup

from ..simulation import LAWS
from .claims import ANSWERS, NN, load_claims
from .ledger import LAYOUTS, MEASURES, SCANT, Ledger, readable, title_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _formulas(text: str) -> Markup:
    """Escape a text and mark its formulas for the page to set."""
    marked = r'<span class="math notranslate nohighlight">\g<0></span>'
    return Markup(re.sub(r"\\\(.*?\\\)", marked, str(Markup.escape(text))))


@cache
def _macros() -> Any:
    """Return the macros of ``pages.html.j2``."""
    options: dict[str, Any] = {"trim_blocks": True, "undefined": jinja2.StrictUndefined}
    environment = jinja2.Environment(autoescape=True, **options)
    environment.filters |= {"formulas": _formulas, "readable": readable, "title": title_of}
    environment.filters |= {"change": _change, "z": _z}
    text = files(__package__).joinpath("pages.html.j2").read_text(encoding="utf-8")
    known = {"marks": MARKS, "entry_id": entry_id, "claim_id": claim_id}
    known |= {"asked": ASKED, "answers": ANSWERS}
    return environment.from_string(text, known).module


def frame_html(frame: pd.DataFrame, summary: str) -> str:
    """Return a frame as an HTML table, folded under a summary and the number of rows.

    It has no index, three decimals and texts in full. A column ``table`` shows the paper's names,
    and underscores in the heads become spaces.
    """
    if "table" in frame:  # a name does not break over two lines
        frame = frame.assign(table=[title_of(t).replace(" ", "\u00a0") for t in frame["table"]])
    frame = frame.rename(columns=lambda name: str(name).replace("_", " ")).rename_axis(columns=None)
    with pd.option_context("display.max_colwidth", None):
        html = frame.to_html(border=0, index=False, float_format="{:.3f}".format, na_rep="")
    return str(_macros().folded(Markup(html), f"{summary} ({len(frame)})"))


# The ledger.


MARKS = {"agrees": "✓", "differs": "✗", "missing": "·"}
"""The ledger's verdicts and the marks that stand for them."""


def entry_id(table: str, cell: str, method: str) -> str:
    """Return the anchor of an entry on the ledger's page.

    Examples
    --------
    >>> entry_id("table1", "ar1 n=50", "TRE-sup")
    'table1-ar1-n-50-TRE-sup'
    """
    return re.sub(r"[^\w.]+", "-", f"{table} {cell} {method}")


def repetition_counts(cells: pd.DataFrame) -> pd.Series:
    """Count the computed cells by the number of our repetitions behind them.

    The index is "100 or more", "20 to 99", "10 to 19" and "fewer than 10".
    """
    computed = cells.loc[cells["reps"] >= 2, "reps"]
    labels = ["fewer than 10", "10 to 19", "20 to 99", "100 or more"]
    bins = pd.cut(computed, [0, SCANT, 20, 100, np.inf], right=False, labels=labels)
    return bins.value_counts().reindex(labels[::-1]).astype(int).rename_axis("repetitions")


def _z(value: float) -> str:
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    return "" if np.isnan(value) else f"{value:.1f}".replace("-", "−")


def _change(cells: pd.DataFrame) -> str:
    """Return in words how far our means are from the paper's: the lowest and the highest change.

    Examples
    --------
    >>> _change(pd.DataFrame({"mean": [0.9, 0.5], "paper_mean": 1.0, "z": [-3.5, -9.0]}))
    'Ours 50% to 10% smaller, z −9.0 to −3.5'
    """
    changes = (cells["mean"] / cells["paper_mean"] - 1).agg(["min", "max"])
    words = ["larger" if change > 0 else "smaller" for change in changes]
    sizes = [f"{abs(change):.0%} {word}" for change, word in zip(changes, words, strict=True)]
    if len({*words}) < len({*sizes}):  # one word is enough
        sizes[0] = sizes[0].removesuffix(f" {words[0]}")
    zs = cells["z"].agg(["min", "max"]).map(_z)
    size, z = (" to ".join(dict.fromkeys(ends)) for ends in (sizes, zs))
    return f"Ours {size}, z {z}"


def ledger_html(cells: pd.DataFrame) -> str:
    """Return every cell of the ledger as HTML: one folded, scrolling table per table.

    A row has its anchor, and its method and verdict for the choices of ``filter.js``.
    """
    tables = []
    for table, part in cells.groupby("table", sort=False):
        counts = part["verdict"].value_counts()
        told = ", ".join(f"{counts[v]} {v}" for v in MARKS if v in counts)
        tables.append((f"{title_of(str(table))}: {len(part)} cells, {told}", part.itertuples()))
    return str(_macros().ledger(tables, list(cells["method"].unique())))


def ledger_entries(ledger: Ledger, notes: pd.DataFrame) -> dict[str, list[dict[str, Any]]]:
    """Return by table what the ledger's explorer shows of each cell.

    ``notes`` are those of :meth:`steinsdr.paper.ledger.Ledger.differences`. Of an entry, ``values``
    are our repetitions in order, to four decimals, None for one that failed or is not there, and
    ``command`` recomputes one of them when its number is added.
    """
    name = ["table", "cell", "method"]
    causes = ledger.differences(notes).set_index(name)["note"]
    entries: dict[str, list[dict[str, Any]]] = {}
    for table, layout in LAYOUTS.items():
        keys = [*layout.keys, "method"]
        stored = dict(iter(ledger.rows[table].set_index("rep").groupby(keys)))
        cells = ledger.cells[ledger.cells["table"] == table]
        whole = [key for key in keys if key in ("n", "r")]
        entries[table] = []
        for row in cells.astype(dict.fromkeys(whole, int)).to_dict("records"):
            values = pd.Series(dtype=float)
            if row["reps"]:
                values = stored[tuple(row[key] for key in keys)][row["measure"]]
            in_order = values.reindex(range(max(values.index, default=-1) + 1))
            options = (f"--{key.replace('_', '-')} {row[key]}" for key in keys)
            entries[table].append(
                {
                    "id": entry_id(*(row[key] for key in name)),
                    "column": readable(" ".join(row["cell"].split()[: len(layout.keys)])),
                    "method": row["method"],
                    "measure": MEASURES[row["measure"]],
                    "paper": [row["paper_mean"], row["paper_sd"]],
                    "z": _z(row["z"]),
                    "verdict": row["verdict"],
                    "cause": causes.get(tuple(row[key] for key in name), ""),
                    "command": " ".join(["steinsdr replay", table, *options, "--rep"]),
                    "values": [None if np.isnan(v) else round(float(v), 4) for v in in_order],
                }
            )
    return entries


def differences_html(differences: pd.DataFrame) -> str:
    """Return the cells that differ, of ``Ledger.differences``, as HTML: a fold for each note."""
    if differences.empty:
        return "<p>None.</p>"
    groups = differences.groupby(["table", "method", "note"], sort=False)
    return str(_macros().differences(groups))


def printed_html(cells: pd.DataFrame, table: str, **half: Any) -> str:
    """Return a part of a table as the paper prints it, as HTML: a row of ours, one of the paper's.

    ✓ agrees, ✗ differs, · missing; a mark in brackets rests on fewer than ten repetitions. Entries
    of ours lead to the ledger. The caption says what is compared and in which unit. ``half`` is the
    part: ``law="ar1"``, or ``train_ratio=0.6`` of Table 3.
    """
    ((key, value),) = half.items()
    whole = cells[cells["table"] == table]
    part = whole[whole[key] == value]
    if part.empty:
        raise ValueError(f"{key} is {value!r}; expected one of {sorted(set(whole[key]))}.")
    layout = LAYOUTS[table]
    (axis,) = set(layout.keys) - {key}
    measures = pd.Categorical(part["measure"], list(layout.measures))
    part = part.assign(scant=part["reps"] < SCANT, measure=measures)
    part = part.sort_values([axis, "measure"])
    rows = []
    for method, mine in part.groupby("method", sort=False):
        ends = sorted({mine["reps"].min(), mine["reps"].max()})
        rows.append((method, list(mine.itertuples()), "–".join(map(str, ends))))
    heads = [f"{'γ' if axis == 'gamma' else axis} = {at:g}" for at in part[axis].unique()]
    where = LAWS[value].label + " predictors" if key == "law" else f"train ratio {value:g}"
    return str(_macros().printed(rows, heads, table, where))


def printed_tabs(cells: pd.DataFrame, table: str) -> str:
    """Return a whole table as HTML: a tab for each distribution, with what `printed_html` returns.

    Without the book's style sheet the parts stand one below the other.
    """
    laws = cells.loc[cells["table"] == table, "law"].unique()
    parts = [(LAWS[law].label, Markup(printed_html(cells, table, law=law))) for law in laws]
    return str(_macros().tabs(table, parts))


# The claims.


def _chapter_title(page: str) -> str:
    """Return the title of a notebook or a page, or the file's name where there is none."""
    path = Path(__file__).parents[2] / page
    text = ""
    if (notebook := path.with_suffix(".ipynb")).is_file():
        text = "".join(json.loads(notebook.read_text(encoding="utf-8"))["cells"][0]["source"])
    elif (written := path.with_suffix(".md")).is_file():
        text = written.read_text(encoding="utf-8")
    title = re.search(r"^# (.*)", text, flags=re.M)
    return title[1] if title else path.name


ASKED = {
    "statement_true": "statement true",
    "proof_valid": "proof valid",
    "designs_meet": "designs meet it",
    "calibrated": "calibrated",
}
"""The questions of the claims in words."""


def claim_id(label: str) -> str:
    """Return the anchor of a statement on the page of claims.

    Examples
    --------
    >>> claim_id("sec:ss/sup-default")
    'claim-sec-ss-sup-default'
    """
    return "claim-" + re.sub(r"\W+", "-", label)


def claims_html(table: pd.DataFrame, *kinds: str) -> str:
    """Return claims of some kinds as HTML: a fold each, whose summary has the answers.

    ``table`` is that of ``claims.csv``. The order is that of the kinds, of the paper's numbers and
    of the file. Without kinds, the choices for all such folds of a page are returned; ``filter.js``
    makes them work.
    """
    if not kinds:
        return str(_macros().claim_filters(table["kind"].unique()))
    if unknown := set(kinds) - set(table["kind"]):
        raise ValueError(
            f"kinds has {sorted(unknown)}; the table has {sorted(set(table['kind']))}."
        )
    rows = table[table["kind"].isin(kinds)].fillna("")
    known = {claim.label: claim for claim in load_claims()}
    about = [known[label].about if label in known else "" for label in rows["label"]]
    names = [known[label].name if label in known else label for label in rows["label"]]
    rows = rows.assign(about=about, name=names)
    numbers = rows["name"].str.extract(r"^(?!Section)[A-Z][a-z]+ (\d+)", expand=False)
    order = {"kind": pd.Categorical(rows["kind"], kinds), "number": numbers.astype(float)}
    rows = rows.assign(**order).sort_values(list(order), kind="stable")
    return str(_macros().claims(rows.to_dict("records"), _chapter_title))


def sentences_html(sentences: pd.DataFrame) -> str:
    """Return what ``judge_sentences`` found about a table as folded HTML."""
    table = _macros().sentences(sentences.itertuples())
    return str(_macros().folded(table, f"Every sentence, with its verdicts ({len(sentences)})"))


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
    """Return every reading of every network method of Table 1 beside the paper, where computed."""
    columns = ["law", "n", "method", "reading", "mean", "sd", "reps"]
    columns += ["paper_mean", "paper_sd", "z", "verdict"]
    printed = ledger.cells[ledger.cells["table"] == "table1"]
    found = pd.concat(
        (ledger.reading("table1", ending) if ending else printed).assign(reading=reading)
        for reading, ending in READINGS.items()
    )[columns]
    found = found[found["method"].isin(NN) & (found["verdict"] != "missing")]
    order = ["NN-sup", "NN-split", "NN-full"]
    return found.sort_values(
        "method", key=lambda m: m.map(order.index), kind="stable", ignore_index=True
    )


def plot_readings(readings: pd.DataFrame, laws: Sequence[str]) -> Figure:
    """Draw distance against n: a row per law, a panel per method, a line per reading.

    ``readings`` are those of :func:`readings_table`; open circles are the paper's means.
    """
    import matplotlib.pyplot as plt

    size = (9.5, 0.8 + 2.6 * len(laws))
    fig, axes = plt.subplots(len(laws), 3, figsize=size, sharex=True, sharey=True, squeeze=False)
    cells = product(laws, readings["method"].unique())
    ring: dict[str, Any] = {"s": 36, "facecolor": "white", "edgecolor": "black", "zorder": 3}
    for ax, (law, method) in zip(axes.flat, cells, strict=True):
        part = readings[(readings["law"] == law) & (readings["method"] == method)]
        lines = part.pivot(index="n", columns="reading", values="mean").reindex(columns=READINGS)
        lines.plot(ax=ax, style=[".-", ".--", ".:"], legend=False)  # a lone point shows
        paper = part.drop_duplicates("n")
        ax.scatter(paper["n"], paper["paper_mean"], label="the paper", **ring)
        ax.set(title=f"{method}, {LAWS[law].label}", xticks=sorted(set(readings["n"])))
        ax.set(xlabel="labeled observations", ylabel="Procrustes distance")
        ax.label_outer()
    handles, names = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, names, loc="outside lower center", ncols=4, frameon=False)
    return fig
