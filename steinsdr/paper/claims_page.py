r"""The claims as a page: counts of verdicts, and a table for each kind of statement.

A statement is named as the book names it: "Lemma 6" is the sixth that the paper prints. Formulas
stand between ``\(`` and ``\)`` and are set by the page.
"""

from __future__ import annotations

import json
import re
from functools import cache
from html import escape
from pathlib import Path

import pandas as pd

from .._base import check_choice
from .claims import BOOK, PAPER_LABELS, VERDICTS

__all__ = [
    "GROUPS",
    "chapter_title",
    "claims_html",
    "counts_html",
    "math_html",
    "paper_name",
    "verdict_counts",
]


GROUPS: dict[str, tuple[str, ...]] = {
    "lemmas": ("lemma",),
    "theorems": ("theorem", "corollary"),
    "assumptions": ("assumption",),
    "remarks": ("remark", "limitation"),
    "algorithms": ("algorithm",),
    "tables": ("table",),
    "sentences": ("sentence",),
}
"""Sections of the page and the kinds of claims in each."""

NAMES = {
    "thm:kernel": "Theorem 2, first part",
    "thm:kernel/2": "Theorem 2, second part",
    "remark after thm:subgcomp": "Remark 1",
    "rem:ctre": "Remark 2",
    "rm:rs": "Remark 3",
}
RESULT_TABLES = 3
SECTIONS = {"sec:ss": "Section 4", "sec:rda": "Section 5"}


def paper_name(label: str) -> str:
    """Return what the book calls a statement of the paper, counted in order of print.

    Tables of settings, which the appendix numbers by its own sections, have no number here. A
    label that the paper does not have is its own name.

    Examples
    --------
    >>> paper_name("lem:fs"), paper_name("thm:kernel/2"), paper_name("sec:ss/nn-sup-poor")
    ('Lemma 1', 'Theorem 2, second part', 'Section 4')
    >>> paper_name("tab:sim"), paper_name("tab:dnn_score"), paper_name("limitation 1")
    ('Table 1', 'Table in the appendix', 'Limitation 1')
    """
    if label in NAMES:
        return NAMES[label]
    for kind, labels in PAPER_LABELS.items():
        if label in labels:
            number = labels.index(label) + 1
            if kind == "table" and number > RESULT_TABLES:
                return "Table in the appendix"
            return f"{kind.capitalize()} {number}"
    return SECTIONS.get(label.partition("/")[0], label[:1].upper() + label[1:])


def math_html(text: str) -> str:
    r"""Escape a text for HTML and mark its formulas for the page to set.

    Examples
    --------
    >>> math_html(r"\(a < b\) & so on")
    '<span class="math notranslate nohighlight">\\(a &lt; b\\)</span> &amp; so on'
    """
    return re.sub(
        r"\\\(.*?\\\)",
        lambda formula: f'<span class="math notranslate nohighlight">{formula[0]}</span>',
        escape(text, quote=False),
    )


@cache
def chapter_title(page: str, root: Path = BOOK.parent) -> str:
    """Return the title in a notebook's first cell, or the file's name where there is none.

    Examples
    --------
    >>> chapter_title("notebooks/no_such_chapter")
    'no_such_chapter'
    """
    path = root / f"{page}.ipynb"
    if path.is_file():
        first = json.loads(path.read_text(encoding="utf-8"))["cells"][0]
        heading = "".join(first["source"]).partition("\n")[0]
        if heading.startswith("# "):
            return heading[2:].strip()
    return path.stem


def verdict_counts(table: pd.DataFrame) -> pd.DataFrame:
    """Count the verdicts: one row per section of the page and one for all.

    Parameters
    ----------
    table : DataFrame
        From :func:`steinsdr.paper.claims.claims_table`, or the file ``claims.csv``.

    Returns
    -------
    DataFrame of int
        Columns are the verdicts that occur, and "all".

    Examples
    --------
    >>> table = pd.DataFrame({"kind": ["lemma", "remark"], "verdict": ["holds", "holds in part"]})
    >>> verdict_counts(table).loc["lemmas"].to_dict()
    {'holds': 1, 'holds in part': 0, 'all': 1}
    """
    group = table["kind"].map({kind: name for name, kinds in GROUPS.items() for kind in kinds})
    counts = pd.crosstab(group, table["verdict"], margins=True, margins_name="all")
    rows = [name for name in (*GROUPS, "all") if name in counts.index]
    counts = counts.loc[rows, [name for name in (*VERDICTS, "all") if name in counts.columns]]
    return counts.rename_axis(index=None, columns=None)


def counts_html(table: pd.DataFrame) -> str:
    """Return :func:`verdict_counts` as HTML."""
    return verdict_counts(table).to_html(border=0)


def claims_html(table: pd.DataFrame, group: str | None = None, *, root: str = "../") -> str:
    """Return claims as an HTML table: claim with a link to its cell, verdict, evidence.

    Parameters
    ----------
    table : DataFrame
        From :func:`steinsdr.paper.claims.claims_table`, or the file ``claims.csv``.
    group : str or None
        A key of ``GROUPS``; None shows all claims.
    root : str
        Leads from the page that shows the table to the book's folder.

    Raises
    ------
    ValueError
        If there is no such group.

    Examples
    --------
    >>> columns = ["label", "kind", "statement", "where", "verdict", "evidence"]
    >>> row = ("lem:fs", "lemma", "It holds.", "notebooks/x#cell-y", "holds", "1 of 1")
    >>> "Lemma 1" in claims_html(pd.DataFrame([row], columns=columns), "lemmas")
    True
    """
    if group is not None:
        table = table[table["kind"].isin(GROUPS[check_choice(group, "group", GROUPS)])]
    claims = []
    for row in table.itertuples(index=False):
        page, _, anchor = str(row.where).partition("#")
        name = f'<strong title="{escape(row.label)}">{escape(paper_name(row.label))}.</strong>'
        title = escape(chapter_title(page), quote=False)
        link = f'<a href="{root}{page}.html#{anchor}">{title}</a>'
        claims.append(f"{name} {math_html(row.statement)}<br/><small>{link}</small>")
    columns = {"claim": claims, "verdict": "<strong>" + table["verdict"] + "</strong>"}
    frame = pd.DataFrame({**columns, "evidence": table["evidence"].map(math_html)})
    with pd.option_context("display.max_colwidth", None):
        html = frame.to_html(index=False, escape=False, border=0, justify="left", classes="claims")
    return html.replace("<td>", '<td style="text-align: left; vertical-align: top">')
