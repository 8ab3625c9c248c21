"""The simulation tables as claims, judged from the stored rows. Importing registers them."""

from __future__ import annotations

from pathlib import Path

from ..ledger import Ledger
from .claims import Judgement, claim

BOOK = Path(__file__).parents[2] / "book"


def _agreement(table: str) -> Judgement:
    """Judge a table by the share of its computed cells that agree with the paper."""
    cells = Ledger.build(BOOK / "results", BOOK / "paper").cells
    counts = cells[cells["table"] == table]["verdict"].value_counts()
    agrees, differs = int(counts.get("agrees", 0)), int(counts.get("differs", 0))
    share = agrees / max(agrees + differs, 1)
    evidence = (
        f"{agrees} of {agrees + differs} computed cells within 3 standard errors or 2%; "
        f"{int(counts.get('missing', 0))} not computed"
    )
    verdict = "holds" if share >= 0.9 else "holds in part" if share >= 0.5 else "does not hold"
    return Judgement(verdict, evidence)


@claim("tab:sim", "table", "notebooks/03_table1", "Table 1 prints what its methods achieve.")
def _table1() -> Judgement:
    return _agreement("table1")


@claim("tb:rs", "table", "notebooks/04_table2", "Table 2 prints what its methods select.")
def _table2() -> Judgement:
    return _agreement("table2")
