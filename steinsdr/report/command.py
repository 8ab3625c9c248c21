"""The command ``python -m steinsdr fit``."""

from __future__ import annotations

import argparse
from typing import Any, Literal

__all__ = ["add_command"]


def add_command(commands: Any) -> None:
    """Add ``fit`` to the commands of the program."""
    text = "apply SteinSDR to a table of your own and write a report"
    parser = commands.add_parser("fit", help=text, description=text)
    parser.set_defaults(command=_fit)
    parser.add_argument("data", help="CSV, TSV or Parquet file whose first line names the columns")
    parser.add_argument(
        "--response",
        nargs="+",
        required=True,
        metavar="COLUMN",
        help="columns to explain, apart by spaces",
    )
    parser.add_argument(
        "--predictors", nargs="+", metavar="COLUMN", help="columns to use (default: all others)"
    )
    parser.add_argument("--drop", nargs="+", metavar="COLUMN", help="columns to leave out")
    parser.add_argument("--unlabeled", metavar="FILE", help="further rows without responses")
    parser.add_argument("--components", default="auto", help="number of directions (default auto)")
    parser.add_argument(
        "--scale", default="auto", help="auto (default), standardize or whiten the predictors"
    )
    parser.add_argument(
        "--config",
        default="sup",
        help="learn the score from labeled rows (sup, default), unlabeled (split) or all (full)",
    )
    parser.add_argument(
        "--bootstrap", type=int, default=200, help="resamples (default 200; 0 for none)"
    )
    parser.add_argument("--folds", type=int, default=5, help="held-out folds (default 5)")
    parser.add_argument("--seed", type=int, default=0, help="every draw follows from it")
    parser.add_argument("--out", default="report", help="folder to write to (default report)")
    parser.add_argument("--quiet", action="store_true", help="no progress bars")


def _fit(options: argparse.Namespace) -> int:
    import matplotlib

    matplotlib.use("Agg")  # a terminal may have no display
    from .analysis import analyze
    from .files import check_folder, write_report
    from .table import read_table

    components = _components(options.components)
    check_folder(options.out)  # before minutes of work
    table = read_table(
        options.data,
        options.response,
        predictors=options.predictors,
        drop=options.drop,
        unlabeled=options.unlabeled,
    )
    for note in table.notes:
        print(note)
    analysis = analyze(
        table,
        components=components,
        scale=options.scale,
        config=options.config,
        n_bootstrap=options.bootstrap,
        folds=options.folds,
        seed=options.seed,
        progress=not options.quiet,
    )
    page = write_report(analysis, options.out)[0]  # first: who reads the output may stop early
    print(analysis.verdict)
    print(f"written to {page}")
    return 0


def _components(text: str) -> int | Literal["auto"]:
    if text == "auto":
        return "auto"
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"components must be auto or a whole number; got {text!r}.") from None
