"""The command ``python -m steinsdr book``."""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

__all__ = ["add_command"]

NOTEBOOKS = "notebooks"
OUT = "_build/batch"


def add_command(commands: Any) -> None:
    """Add ``book`` to the commands of the program."""
    text = "execute all notebooks with the parameters of a profile"
    parser = commands.add_parser("book", help=text, description=text)
    parser.set_defaults(command=_book)
    parser.add_argument("--profile", default="laptop", help="smoke, laptop (default) or paper")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="NOTEBOOK", help="these alone, such as 03_table1"
    )
    parser.add_argument("--jobs", type=int, default=1, help="notebooks side by side (default 1)")
    parser.add_argument("--out", default=OUT, help=f"copies go to OUT/PROFILE (default OUT {OUT})")
    parser.add_argument(
        "--resume",
        action="store_true",
        help="keep copies newer than notebook and package, made with the same parameters",
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument(
        "--notebooks", default=NOTEBOOKS, help=f"their folder (default {NOTEBOOKS})"
    )


def _book(options: argparse.Namespace) -> int:
    if find_spec("papermill") is None:
        raise ValueError("the book command needs papermill: pip install 'steinsdr[book]'.")
    from .._validation import check_integer
    from .runner import plan, run
    from .summary import write_summary

    jobs = check_integer(options.jobs, "jobs", low=1)
    tasks = plan(options.notebooks, options.profile, options.out, only=options.only)
    folder = Path(options.out, options.profile)
    outcome = run(
        tasks,
        jobs=jobs,
        resume=options.resume,
        progress=not options.quiet,
        report=lambda results: write_summary(results, folder),
    )
    print(write_summary(outcome.results, folder))
    print(f"executed copies and summary in {folder}")
    if outcome.interrupted:
        print("Interrupted; the same command with --resume does the rest.", file=sys.stderr)
        return 130
    return 1 if outcome.failed else 0
