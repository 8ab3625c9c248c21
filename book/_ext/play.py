"""Sphinx extension of the book: the entries of the ledger's explorer, a script for each table.

They are written at every build from the stored rows, so that they cannot be older than the page.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from steinsdr.paper.ledger import Ledger
from steinsdr.paper.pages import ledger_entries

__all__ = ["setup", "write_entries"]


def write_entries(app: Any, error: Exception | None) -> None:
    """Write ``_static/play/ledger.table1.js`` and the others into the built book."""
    if error or app.builder.format != "html":
        return
    book, target = Path(app.srcdir) / "book", Path(app.outdir) / "_static" / "play"
    ledger = Ledger.build(book / "results", book / "paper")
    entries = ledger_entries(ledger, pd.read_csv(book / "results" / "differences.csv"))
    for table, cells in entries.items():
        text = json.dumps(cells, ensure_ascii=False, separators=(",", ":"))
        (target / f"ledger.{table}.js").write_text(f"play.ledger.{table} = {text};\n", "utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("build-finished", write_entries)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
