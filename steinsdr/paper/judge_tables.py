"""The paper's tables and what it says about them, judged from the stored rows.

Importing registers the claims.
"""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import pandas as pd

from ..simulation import links, simulate
from . import claims_patchseq, claims_simulation, sentences
from .claims import BOOK, SEED, Claim, Judgement, claim, decide, register
from .ledger import Ledger
from .pages import repetitions_phrase
from .study import TABLE1

__all__ = []


PAGES = {
    "table1": "notebooks/03_table1",
    "table2": "notebooks/04_table2",
    "table3": "notebooks/06_table3",
}


def _cell(table: str, what: str) -> str:
    """Cell of a table's chapter: "agreement" with the paper, or its "sentences"."""
    return f"{PAGES[table]}#cell-{table}-{what}"


@cache
def _cells() -> pd.DataFrame:
    return Ledger.build(BOOK / "results", BOOK / "paper").cells


def _agreement(table: str) -> Judgement:
    """Judge a table by the share of its computed figures that agree with the paper."""
    cells = _cells()
    counts = cells[cells["table"] == table]["verdict"].value_counts()
    agrees, differs = int(counts.get("agrees", 0)), int(counts.get("differs", 0))
    share = agrees / max(agrees + differs, 1)
    evidence = (
        f"{agrees} of {agrees + differs} computed cells within 3 standard errors or 2%; "
        f"{int(counts.get('missing', 0))} not computed"
    )
    verdict = "holds" if share >= 0.9 else "holds in part" if share >= 0.5 else "does not hold"
    return Judgement(verdict, evidence)


@claim("tab:sim", "table", _cell("table1", "agreement"), "It prints what its methods achieve.")
def _table1() -> Judgement:
    return _agreement("table1")


@claim("tb:rs", "table", _cell("table2", "agreement"), "It prints what its methods select.")
def _table2() -> Judgement:
    return _agreement("table2")


@claim(
    "tab:real_combined",
    "table",
    _cell("table3", "agreement"),
    "It prints the ranks and prediction errors of its methods on the Patch-seq data.",
)
def _table3() -> Judgement:
    return _agreement("table3")


def _said(one: sentences.Claim) -> Judgement:
    """Judge a sentence about a table by our means; the paper's own count stands beside it."""
    cells = _cells()
    _, own = sentences.judge(one, cells, "paper_mean")
    verdict, ours = sentences.judge(one, cells, "mean")
    if verdict == "missing":
        return Judgement("not testable", f"{ours}; {own} in the paper's own numbers")
    noun = "partitions" if one.table == "table3" else "data sets"
    behind = repetitions_phrase(cells[cells["table"] == one.table], noun)
    return Judgement(verdict, f"{ours} comparisons on {behind}; {own} in the paper's own numbers")


@claim(
    "sec:ss/nn-sup-failures",
    "sentence",
    "notebooks/04_table2#cell-table2-failures",
    "NN-sup suffers from failure rates above 80 percent in certain Gaussian settings.",
)
def _failures() -> Judgement:
    cells = _cells()
    part = cells[(cells["table"] == "table2") & (cells["method"] == "NN-sup")]
    paper, ours = part["failure_rate_paper"].max(), part["failure_rate"].max()
    text = f"at most {ours:.0%} of the fits of a setting failed here, {paper:.0%} in the paper"
    return decide(ours > 0.8, text)


@claim(
    "sec:ss/noise-level",
    "sentence",
    _cell("table1", "sentences"),
    "The noise is comparable to the signal or larger.",
)
def _noise() -> Judgement:
    draws = (simulate(law, 20_000, seed=SEED) for law in TABLE1.axes["law"])
    # Ten responses a law, whose noise has variance one.
    signal = np.concatenate([links(data.X @ data.B).var(axis=0) for data in draws])
    verdict, count = sentences.weigh(pd.Series(signal <= 2.0), every=True)
    text = (
        f"variance of the signal at most twice that of the noise in {count} responses of Section "
        f"4.1 over its laws; the largest is {signal.max():.0f} times the noise's"
    )
    return Judgement(verdict, text)


def _register_sentences() -> None:
    for section, module in (("sec:ss", claims_simulation), ("sec:rda", claims_patchseq)):
        for one in module.CLAIMS:
            label, where = f"{section}/{one.label}", _cell(one.table, "sentences")
            register(Claim(label, "sentence", one.statement, where, partial(_said, one)))


_register_sentences()
