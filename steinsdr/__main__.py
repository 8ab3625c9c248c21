"""Command line: run experiments, replay a replicate, compare with the paper, run the book, fit.

``python -m steinsdr --help`` lists the commands.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .paper.batch import add_command as add_book_command
from .report.command import add_command as add_fit_command

if TYPE_CHECKING:
    from .paper.study import Experiment

__all__ = ["main"]

RESULTS = "book/results"
CACHE = "_build/scores"
PAPER = "book/paper"
FIGURES = "book/figures"
KEYS = ("law", "n", "r", "train_ratio", "gamma", "method", "study", "size", "rep")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        """One line and exit code 2; the usage is for --help."""
        self.exit(2, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    0; 1 for "not the same"; 2 for a wrong request or trouble of the machine; 130 if interrupted.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        if options.command not in (_run, _patchseq):  # these make the folder
            _check_folder(getattr(options, "results", None), "--results")
        return options.command(options)
    except (ValueError, OSError) as error:
        print(f"steinsdr: {error}", file=sys.stderr)
        return 2
    except MemoryError:
        print("steinsdr: out of memory.", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="steinsdr", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")

    run = _command(commands, "run", _run, "compute the missing cells of a table")
    run.add_argument("experiment", help="table1, table2, table3 or theory")
    run.add_argument("--profile", default="laptop", help="smoke, laptop (default) or paper")
    run.add_argument("--jobs", type=int, default=1, help="local processes (default 1)")
    run.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="FILTER",
        help='part of the grid, such as "method=TRE-sup|SIR,law=ar1,rep=0-9"; may be repeated',
    )
    run.add_argument("--scheduler", help="address of a Dask scheduler, tcp://host:8786")
    run.add_argument(
        "--cache",
        help=f"folder of shared score fits (default {CACHE}, none with --scheduler)",
    )
    run.add_argument("--no-cache", action="store_true", help="compute every score fit")
    run.add_argument(
        "--accept-code-change",
        action="store_true",
        help="if code or settings changed, go on when replayed rows are the same",
    )
    run.add_argument("--retry-failed", action="store_true", help="try failed cells again")
    run.add_argument("--quiet", action="store_true", help="no progress bar")

    replay = _command(commands, "replay", _replay, "recompute one stored replicate")
    replay.add_argument("experiment", help="table1, table2, table3 or theory")
    for name in KEYS:
        replay.add_argument(f"--{name.replace('_', '-')}")

    check = _command(commands, "check", _check, "replay rows of methods whose code changed")
    check.add_argument("experiment", help="table1, table2, table3 or theory")
    check.add_argument("--sample", type=int, default=3, help="rows of each method (default 3)")

    _command(commands, "status", _status, "list what is stored and what is missing")
    ledger = _command(commands, "ledger", _ledger, "compare with the paper, cell by cell")
    ledger.add_argument("--paper", default=PAPER, help=f"the paper's figures (default {PAPER})")
    patchseq = _command(
        commands, "patchseq", _patchseq, "compute the stored results of the real-data chapter"
    )
    patchseq.add_argument("--partitions", type=int, default=20, help="random partitions (20)")
    patchseq.add_argument("--figures", default=FIGURES, help=f"folder (default {FIGURES})")
    add_book_command(commands)
    add_fit_command(commands)
    return parser


def _command(
    commands: Any, name: str, function: Callable[[argparse.Namespace], int], text: str
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=text, description=text)
    parser.set_defaults(command=function)
    parser.add_argument("--results", default=RESULTS, help=f"folder (default {RESULTS})")
    return parser


def _check_folder(path: str | None, option: str) -> None:
    if path is not None and not Path(path).is_dir():
        raise ValueError(
            f"{option}: no folder {path!r} here. Run in a checkout of the project, or name one."
        )


def _experiment(name: str) -> Experiment:
    from ._base import check_choice
    from .paper.registry import EXPERIMENTS

    return EXPERIMENTS[check_choice(name, "experiment", EXPERIMENTS)]


def _run(options: argparse.Namespace) -> int:
    from ._base import check_integer
    from .paper.run import run
    from .paper.study import parse_only

    experiment = _experiment(options.experiment)
    cells = experiment.cells(options.profile, parse_only(options.only))
    cache = options.cache or (None if options.scheduler else CACHE)
    outcome = run(
        experiment,
        cells,
        options.results,
        jobs=check_integer(options.jobs, "jobs", low=1),
        scheduler=options.scheduler,
        cache=None if options.no_cache else cache,
        accept_code_change=options.accept_code_change,
        retry_failed=options.retry_failed,
        progress=not options.quiet,
    )
    print(
        f"{experiment.name}: {outcome.asked} cells, {outcome.before} were there, "
        f"{outcome.added} added, {outcome.failed} of them failed."
    )
    if outcome.interrupted:
        print("Interrupted; the same command goes on where it stopped.")
        return 130
    return 0


def _replay(options: argparse.Namespace) -> int:
    from .paper.provenance import Manifest, replay, stored_row
    from .paper.store import Store

    experiment = _experiment(options.experiment)
    given = {name: getattr(options, name) for name in KEYS}
    cell = experiment.cell(**{name: value for name, value in given.items() if value is not None})
    store = Store(experiment, options.results)
    store.read()
    made_here = Manifest(experiment, options.results).made_here()
    outcome = replay(experiment, stored_row(store, cell), made_here=made_here)
    print(f"{experiment.name} {' '.join(store.key(cell))}: {outcome}")
    return 0 if outcome.same else 1


def _check(options: argparse.Namespace) -> int:
    from .paper.run import check_code
    from .paper.store import Store

    experiment = _experiment(options.experiment)
    if not Store(experiment, options.results).read():
        raise ValueError(f"{options.results} has no rows of {experiment.name}.")
    replayed = check_code(
        experiment, options.results, experiment.methods, accept=True, sample=options.sample
    )
    if replayed:
        found = f"{sum(replayed.values())} rows of {len(replayed)} methods replayed, all the same."
    else:
        found = "no code or setting behind the rows changed; nothing replayed."
    print(f"{experiment.name}: {found}")
    return 0


def _status(options: argparse.Namespace) -> int:
    from .paper.provenance import status

    print(status(options.results))
    return 0


def _ledger(options: argparse.Namespace) -> int:
    from .paper.ledger import Ledger

    _check_folder(options.paper, "--paper")
    ledger = Ledger.build(options.results, options.paper)
    path = ledger.write(options.results)
    print(ledger.summary())
    print(f"written to {path}")
    return 0


def _patchseq(options: argparse.Namespace) -> int:
    from ._base import check_integer
    from .paper.patchseq import load_patchseq
    from .paper.patchseq_chapter import Chapter
    from .paper.patchseq_results import make
    from .paper.provenance import one_thread
    from .plotting import use_style

    use_style()
    reps = check_integer(options.partitions, "partitions", low=2)
    data = load_patchseq()
    with one_thread():
        written = [*make(data, options.results, reps=reps).values()]
        chapter = Chapter(options.figures, data)
        written += [chapter.store_expression(options.results), *chapter.store_pictures()]
    for path in written:
        print(f"written to {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
