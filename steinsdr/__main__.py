"""Sufficient dimension reduction: a report on your own table, and all that the paper computes."""

from __future__ import annotations

import argparse
import io
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

_EPILOG = """\
"steinsdr COMMAND --help" shows the options of a command and an example. All commands but fit work
in a checkout of the project. Exit codes: 0 if all is well; 1 if a row is not the same or a notebook
failed; 2 for a wrong request or trouble of the machine; 130 if interrupted."""

# Optional packages with an extra of their own; all others come with the extra of the command.
_EXTRAS = {"dask": "cluster", "distributed": "cluster", "pyarrow": "parquet"}

AddCommand = Callable[..., argparse.ArgumentParser]


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0, 1, 2 or 130, as ``steinsdr --help`` says."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # lines are seen at once, in a file too
        sys.stdout.reconfigure(line_buffering=True)
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    extra = "paper"
    try:
        options = _parser(paper=arguments[:1] != ["fit"]).parse_args(arguments)
        extra = options.extra
        if extra == "paper" and not Path("book/results").is_dir():
            here = Path.cwd()
            raise ValueError(
                f"no folder 'book/results' in {here}: this command works in a checkout."
            )
        return options.command(options)
    except ImportError as error:
        package = (error.name or "steinsdr").partition(".")[0]
        if package == "steinsdr":  # a mistake of ours, not a missing extra
            raise
        extra = _EXTRAS.get(package, extra)
        trouble = f"this command needs {package}; in a copy of the repository: "
        trouble += f"pip install '.[{extra}]'"
    except (ValueError, OSError) as error:
        trouble = str(error)
    except MemoryError:
        trouble = "out of memory."
    except KeyboardInterrupt:
        print("steinsdr: interrupted.", file=sys.stderr)
        return 130
    print(f"steinsdr: {trouble}", file=sys.stderr)
    return 2


def _parser(*, paper: bool = True) -> argparse.ArgumentParser:
    """Return the parser; without ``paper`` it knows fit alone, which uses none of that storey."""
    parser = _Parser(prog="steinsdr", description=__doc__, epilog=_EPILOG)
    commands = parser.add_subparsers(required=True, metavar="command")

    def add(
        function: Callable[[argparse.Namespace], int], text: str, example: str, extra: str = "paper"
    ) -> argparse.ArgumentParser:
        name = function.__name__.lstrip("_")
        command = commands.add_parser(
            name, help=text, description=text, epilog=f"Example: steinsdr {name} {example}"
        )
        command.set_defaults(command=function, extra=extra)
        return command

    _add_fit(add)
    if paper:
        from .paper.commands import add_commands

        add_commands(add)
    return parser


def _add_fit(add: AddCommand) -> None:
    text = "apply SteinSDR to a table of your own and write a report"
    fit = add(_fit, text, "my.csv --response y1 y2 --out report", "report")
    fit.add_argument("data", help="CSV, TSV or Parquet file whose first line names the columns")
    columns: dict[str, Any] = {"nargs": "+", "metavar": "COLUMN"}
    text = "columns to explain, separated by spaces"
    fit.add_argument("--response", required=True, help=text, **columns)
    fit.add_argument("--predictors", help="columns to use (default: all others)", **columns)
    fit.add_argument("--drop", help="columns to leave out", **columns)
    text = "column of categories; directions are those within its groups"
    fit.add_argument("--group", metavar="COLUMN", help=text)
    text = "fill gaps of predictors inside the fit (default), or drop such rows"
    fit.add_argument("--missing", choices=("impute", "drop"), default="impute", help=text)
    fit.add_argument("--unlabeled", metavar="FILE", help="further rows without responses")
    fit.add_argument("--components", default="auto", help="number of directions, or auto (default)")
    text = "units of the columns: auto (default), robust or sd"
    fit.add_argument("--scale", default="auto", help=text)
    text = "rows for the score: auto (default), labeled (sup), unlabeled (split) or all (full)"
    fit.add_argument("--config", default="auto", help=text)
    text = "number of random halves of the rows that show stability (default 50; 0 for none)"
    fit.add_argument("--bootstrap", type=int, default=50, help=text)
    fit.add_argument("--folds", type=int, default=5, help="held-out folds (default 5)")
    fit.add_argument("--seed", type=int, default=0, help="seed of every random draw (default 0)")
    fit.add_argument("--out", default="report", help="folder to write to (default report)")
    fit.add_argument("--quiet", action="store_true", help="no progress bar")


def _fit(options: argparse.Namespace) -> int:
    if not options.quiet:  # before imports that take seconds
        print(f"Reading {options.data} ...")
    try:
        return _report(options)
    except ValueError as error:  # texts begin with an argument; its option has another name
        argument, rest = re.fullmatch(r"(\w*)(.*)", str(error), re.DOTALL).groups()  # type: ignore[union-attr]
        named = {"responses": "--response", "data": options.data}.get(argument, f"--{argument}")
        known = argument == "data" or hasattr(options, named[2:])
        raise ValueError((named if known else argument) + rest) from error


def _report(options: argparse.Namespace) -> int:
    import matplotlib

    matplotlib.use("Agg")  # a terminal may have no display
    from .report import analyze, read_table
    from .report.fit import expected_seconds
    from .report.write import write_report

    number = options.components
    if number != "auto":
        if not number.isdecimal():
            raise ValueError(f"components must be auto or a whole number; got {number!r}.")
        number = int(number)
    choice = ("predictors", "drop", "group", "missing", "unlabeled")
    table = read_table(
        options.data, options.response, **{name: getattr(options, name) for name in choice}
    )
    for note in table.notes:
        print(note)
    Path(options.out).mkdir(parents=True, exist_ok=True)  # before minutes of work
    settings = {"bootstrap": options.bootstrap, "folds": options.folds}
    if not options.quiet:
        (n, p), q = table.X.shape, table.Y.shape[1]
        size = f"{n} rows, {p} predictors, {q} response{'' if q == 1 else 's'}"
        seconds = round(expected_seconds(table, **settings))
        time = f"{seconds} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"
        print(f"{size}: about {time}.")
    analysis = analyze(
        table,
        components=number,
        scale=options.scale,
        config=options.config,
        seed=options.seed,
        progress=not options.quiet,
        **settings,
    )
    page = write_report(analysis, options.out)[0]  # first: who reads the output may stop early
    print(analysis.verdict)
    print(f"written to {page}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
