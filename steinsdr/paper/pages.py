r"""Tables and figures of the book's pages: ledger, claims, computing, readings of the network.

Tables come as HTML or as frames that a page shows. Formulas in statements stand between ``\(`` and
``\)`` and are set by the page.
"""

from __future__ import annotations

import json
import os
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
from .experiment import EXPERIMENTS, find_experiment
from .ledger import LAYOUTS, MEASURES, SCANT, Ledger, readable, title_of
from .provenance import Manifest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "ASKED",
    "MARKS",
    "READINGS",
    "claims_html",
    "computing_table",
    "differences_html",
    "entry_id",
    "frame_html",
    "ledger_entries",
    "ledger_html",
    "plot_readings",
    "printed_html",
    "readings_table",
    "repetition_counts",
    "rows_table",
    "sentences_html",
]


def _formulas(text: str) -> Markup:
    """Escape a text and mark its formulas for the page to set."""
    marked = r'<span class="math notranslate nohighlight">\g<0></span>'
    return Markup(re.sub(r"\\\(.*?\\\)", marked, str(Markup.escape(text))))


@cache
def _macros() -> Any:
    """Return the macros of ``pages.html.j2``."""
    options: dict[str, Any] = {"trim_blocks": True, "undefined": jinja2.StrictUndefined}
    environment = jinja2.Environment(autoescape=True, **options)
    environment.filters |= {"formulas": _formulas, "z": _z}
    environment.filters |= {"entry": entry_id, "readable": readable}
    text = files(__package__).joinpath("pages.html.j2").read_text(encoding="utf-8")
    known = {"marks": MARKS, "entry_id": entry_id}
    return environment.from_string(text, known).module


def frame_html(frame: pd.DataFrame, summary: str = "") -> str:
    """Return a frame as an HTML table: no index, three decimals, text in full.

    A column ``table`` shows the paper's names; underscores in the heads become spaces. With a
    ``summary`` the table is folded under it and the number of rows.
    """
    if "table" in frame:  # a name does not break over two lines
        frame = frame.assign(table=[title_of(t).replace(" ", "\u00a0") for t in frame["table"]])
    frame = frame.rename(columns=lambda name: str(name).replace("_", " ")).rename_axis(columns=None)
    with pd.option_context("display.max_colwidth", None):
        html = frame.to_html(border=0, index=False, float_format="{:.3f}".format, na_rep="")
    return str(_macros().folded(Markup(html), f"{summary} ({len(frame)})")) if summary else html


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
    causes = ledger.differences(notes).set_index(name)["note"].to_dict()
    entries: dict[str, list[dict[str, Any]]] = {table: [] for table in LAYOUTS}
    rows = {
        table: ledger.rows[table].set_index([*layout.keys, "method", "rep"]).sort_index()
        for table, layout in LAYOUTS.items()
    }
    for row in ledger.cells.to_dict("records"):
        keys = {key: row[key] for key in LAYOUTS[row["table"]].keys}
        where = {k: int(v) if k in ("n", "r") else v for k, v in keys.items()}
        options = (f"--{key.replace('_', '-')} {value}" for key, value in where.items())
        values = pd.Series(dtype=float)
        if row["reps"]:
            values = rows[row["table"]][row["measure"]].loc[(*where.values(), row["method"])]
        in_order = values.reindex(range(max(values.index, default=-1) + 1))
        entries[row["table"]].append(
            {
                "id": entry_id(*(row[key] for key in name)),
                "column": readable(" ".join(row["cell"].split()[: len(where)])),
                "method": row["method"],
                "measure": MEASURES[row["measure"]],
                "paper": [row["paper_mean"], row["paper_sd"]],
                "z": _z(row["z"]),
                "verdict": row["verdict"],
                "cause": causes.get(tuple(row[key] for key in name), ""),
                "command": " ".join(
                    ["steinsdr replay", row["table"], *options, "--method", row["method"], "--rep"]
                ),
                "values": [None if np.isnan(v) else round(float(v), 4) for v in in_order],
            }
        )
    return entries


def differences_html(differences: pd.DataFrame) -> str:
    """Return the cells that differ, of ``Ledger.differences``, as a list by note."""
    if differences.empty:
        return "<p>None.</p>"
    groups = differences.groupby(["table", "method", "note"], sort=False)
    return str(_macros().differences(groups, title_of))


_MEASURED = {
    "table1": "Mean Procrustes distance to the true subspace (standard deviation over data sets).",
    "table2": "Mean absolute error of the selected dimension (standard deviation over data sets).",
    "table3": "Mean selected rank, and mean squared test error at that rank and at rank 10, in "
    "units of a property's variance.",
}
_KEY = (
    "Smaller errors are better. Bold: the best of a column in the paper. ✓: ours agrees with the "
    "paper's; ✗: it differs. An entry of ours leads to its line in the ledger."
)


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
    (axis,) = set(LAYOUTS[table].keys) - {key}
    order = {measure: k for k, measure in enumerate(LAYOUTS[table].measures)}
    part = part.assign(scant=part["reps"] < SCANT, order=part["measure"].map(order))
    part = part.sort_values([axis, "order"], kind="stable")
    rows = []
    for method in whole["method"].unique():
        mine = part[part["method"] == method]
        ends = sorted({mine["reps"].min(), mine["reps"].max()})
        rows.append((method, list(mine.itertuples()), "–".join(map(str, ends))))
    heads = [f"{'γ' if axis == 'gamma' else axis} = {at:g}" for at in part[axis].unique()]
    where = LAWS[value].label + " predictors" if key == "law" else f"train ratio {value:g}"
    caption = f"{title_of(table)}, {where}. {_MEASURED[table]} {_KEY}"
    return str(_macros().printed(rows, heads, table == "table3", caption))


# The claims.


def _chapter_title(page: str) -> str:
    """Return the title of a notebook or a page, or the file's name where there is none."""
    path = Path(__file__).parents[2] / page
    if (notebook := path.with_suffix(".ipynb")).is_file():
        first = json.loads(notebook.read_text(encoding="utf-8"))["cells"][0]
        return "".join(first["source"]).partition("\n")[0].removeprefix("# ").strip()
    if (written := path.with_suffix(".md")).is_file():
        return re.findall(r"^# (.*)", written.read_text(encoding="utf-8"), flags=re.M)[0]
    return path.name


ASKED = {
    "statement_true": "statement true",
    "proof_valid": "proof valid",
    "designs_meet": "designs meet it",
    "calibrated": "calibrated",
}
"""The questions of the claims in words."""


def claims_html(table: pd.DataFrame, *kinds: str) -> str:
    """Return claims of some kinds as an HTML table: the paper's words, four answers, and ours.

    ``table`` is that of ``claims.csv``; the order is that of the paper's numbers. Without kinds,
    the choices for the rows of all such tables of a page are returned; ``filter.js`` makes them
    work.
    """
    if not kinds:
        return str(_macros().claim_filters(ASKED, ANSWERS))
    if unknown := set(kinds) - set(table["kind"]):
        raise ValueError(
            f"kinds has {sorted(unknown)}; the table has {sorted(set(table['kind']))}."
        )
    names = {claim.label: claim.name for claim in load_claims()}
    rows = table[table["kind"].isin(kinds)].fillna("").to_dict("records")
    if kinds != ("sentence",):
        rows.sort(key=lambda row: _paper_order(names.get(row["label"], ""), row["place"]))
    return str(_macros().claims(rows, names, ASKED, _chapter_title))


def _paper_order(name: str, place: str) -> tuple[Any, ...]:
    """Return what sorts statements of one kind as the paper prints them, its numbers before all.

    Examples
    --------
    >>> sorted(["Lemma 10", "Lemma 2"], key=lambda name: _paper_order(name, "Appendix A"))
    ['Lemma 2', 'Lemma 10']
    """
    number = re.fullmatch(r"(\D+) (\d+)(, .*)?", name)
    if number and number[1] != "Section":
        return (0, number[1] == "Limitation", int(number[2]))
    return (1, place.startswith("Appendix"), place != "Abstract", place)


def sentences_html(sentences: pd.DataFrame) -> str:
    """Return sentences about a table, of ``judge_sentences``, with their verdicts as folded HTML.

    Examples
    --------
    >>> row = {"statement": "a < b", "paper": "yes", "paper_count": "2 of 2"}
    >>> "a &lt; b" in sentences_html(pd.DataFrame([row | {"ours": "no", "our_count": "1 of 2"}]))
    True
    """
    table = _macros().sentences(sentences.itertuples())
    return str(_macros().folded(table, f"Every sentence, with its verdicts ({len(sentences)})"))


# What was computed, on what and for how long.


def _manifests(folder: str | os.PathLike[str]) -> dict[str, dict[str, Any]]:
    """Return the manifests with totals, which are written when a run ends, by experiment."""
    contents = {name: Manifest(find_experiment(name), folder).load() for name in EXPERIMENTS}
    return {name: content for name, content in contents.items() if "rows" in content}


def rows_table(folder: str | os.PathLike[str]) -> pd.DataFrame:
    """Return stored rows by method and table, as "stored of wanted by the paper's profile".

    A variant that the paper does not have shows the stored rows alone. The theory studies, which
    have no methods, are left out.
    """
    columns = {}
    for name, manifest in _manifests(folder).items():
        experiment, stored = find_experiment(name), manifest["rows"]
        if experiment.by == "method":
            told = {
                method: f"{stored.get(method, 0)} of "
                f"{len(experiment.cells('paper', {'method': [method]}))}"
                for method in experiment.axes["method"]
            }
            others = {method: str(stored[method]) for method in stored if method not in told}
            columns[title_of(name)] = told | others
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
    for name, manifest in _manifests(folder).items():
        records[title_of(name)] = {
            "rows": sum(manifest["rows"].values()),
            "failed": manifest["failed"],
            "hours on one core": round(manifest["seconds"] / 3600, 1),
        } | {  # several of a kind where it changed between runs
            head: ", ".join(dict.fromkeys(str(one[part][key]) for one in manifest["environments"]))
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
    """Return every reading of every network method of Table 1 beside the paper, where computed."""
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

    ``readings`` are those of :func:`readings_table`; open circles are the paper's means.
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
