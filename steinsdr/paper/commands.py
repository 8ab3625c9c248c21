"""The paper's commands: run, replay, check, status, ledger, claims, notebooks and patchseq.

They read and write folders of a checkout, relative to the working directory. What a command
computes with is imported when it runs, so that ``steinsdr --help`` needs none of the extras.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .experiment import Experiment

__all__ = ["add_commands"]

RESULTS = "book/results"
CACHE = "_build/scores"
KEYS = ("law", "n", "r", "train_ratio", "gamma", "method", "study", "size", "rep")


def add_commands(add: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the paper's commands; ``add`` is that of :mod:`steinsdr.__main__`."""
    example = "table1 --profile laptop --jobs 2"
    run = add(_run, "compute the missing cells of a table", example, "paper")
    run.add_argument("experiment", help="table1, table2, table3 or theory")
    run.add_argument("--profile", default="laptop", help="smoke, laptop (default) or paper")
    run.add_argument("--jobs", type=_positive, default=1, help="local processes (default 1)")
    run.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="FILTER",
        help='part of the grid, such as "method=TRE-sup|SIR,law=ar1,rep=0-9"; may be repeated',
    )
    run.add_argument("--scheduler", help="address of a Dask scheduler, tcp://host:8786")
    run.add_argument(
        "--cache", help=f"folder of shared score fits (default {CACHE}, none with --scheduler)"
    )
    run.add_argument("--no-cache", action="store_true", help="compute every score fit")
    run.add_argument(
        "--accept-code-change",
        action="store_true",
        help="if code or settings changed, go on when replayed rows are the same",
    )
    run.add_argument("--retry-failed", action="store_true", help="try failed cells again")
    run.add_argument("--quiet", action="store_true", help="no progress bar")

    example = "table1 --law ar1 --n 300 --method TRE-sup --rep 17"
    replay = add(_replay, "recompute one stored replicate", example, "paper")
    replay.add_argument("experiment", help="table1, table2, table3 or theory")
    for name in KEYS:
        replay.add_argument(f"--{name.replace('_', '-')}")

    check = add(_check, "replay rows of methods whose code changed", "table1 --sample 3", "paper")
    check.add_argument("experiment", help="table1, table2, table3 or theory")
    check.add_argument(
        "--sample", type=_positive, default=3, help="rows of each method (default 3)"
    )

    status = add(_status, "list what is stored and what is missing", "", "paper")
    ledger = add(_ledger, "compare every cell of the tables with the paper", "", "paper")
    claims = add(_claims, "judge the paper's statements and write claims.csv", "", "paper")

    text = "execute the notebooks in place, or copies of them with the parameters of a profile"
    notebooks = add(_notebooks, text, "--profile smoke --only 03_table1 --jobs 2", "paper")
    notebooks.add_argument(
        "--profile", help="smoke, laptop or paper: copies go to _build/batch/PROFILE"
    )
    notebooks.add_argument(
        "--only", nargs="+", default=[], metavar="NAME", help="these alone, such as 03_table1"
    )
    notebooks.add_argument(
        "--setup-only",
        action="store_true",
        help="in place: write the cell that lets them run on Colab, and execute nothing",
    )
    notebooks.add_argument(
        "--jobs", type=_positive, default=1, help="with a profile: side by side (default 1)"
    )
    notebooks.add_argument(
        "--resume",
        action="store_true",
        help="with a profile: keep copies that ended well and are newer than what they depend on",
    )

    text = "compute the stored results of the real-data chapter"
    patchseq = add(_patchseq, text, "--partitions 20", "paper")
    patchseq.add_argument(
        "--partitions", type=_positive, default=20, help="random partitions (default 20)"
    )
    patchseq.add_argument("--figures", default="book/figures", help="folder of the pictures")

    for command in (run, replay, check, status, ledger, claims, patchseq):
        command.add_argument("--results", default=RESULTS, help=f"folder (default {RESULTS})")


def _positive(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number at least 1; got {text!r}")
    return number


def _need(folder: str) -> str:
    """Return a folder that must be there, or say that a checkout is needed."""
    if not Path(folder).is_dir():
        raise ValueError(f"no folder {folder!r} in {Path.cwd()}: this command works in a checkout.")
    return folder


def _experiment(name: str) -> Experiment:
    from .experiment import EXPERIMENTS, find_experiment

    if name not in EXPERIMENTS:
        raise ValueError(f"experiment must be one of {', '.join(EXPERIMENTS)}; got {name!r}.")
    return find_experiment(name)


def _run(options: argparse.Namespace) -> int:
    if options.results == RESULTS:  # a folder of one's own is made
        _need(RESULTS)
    from .experiment import parse_only
    from .run import run

    experiment = _experiment(options.experiment)
    cells = experiment.cells(options.profile, parse_only(options.only))
    cache = options.cache or (None if options.scheduler else CACHE)
    outcome = run(
        experiment,
        cells,
        options.results,
        jobs=options.jobs,
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
    folder = _need(options.results)
    from .provenance import Manifest, replay
    from .store import Store

    experiment = _experiment(options.experiment)
    given = {name: getattr(options, name) for name in KEYS}
    cell = experiment.cell(**{name: value for name, value in given.items() if value is not None})
    store = Store(experiment, folder)
    store.read()
    made_here = Manifest(experiment, folder).made_here()
    outcome = replay(experiment, store.row(cell), made_here=made_here)
    print(f"{experiment.name} {' '.join(map(str, cell))}: {outcome}")
    return 0 if outcome.same else 1


def _check(options: argparse.Namespace) -> int:
    folder = _need(options.results)
    from .provenance import check_code
    from .store import Store

    experiment = _experiment(options.experiment)
    if not Store(experiment, folder).read():
        raise ValueError(f"{folder} has no rows of {experiment.name}.")
    replayed = check_code(
        experiment, folder, experiment.methods, accept=True, sample=options.sample
    )
    if replayed:
        found = f"{sum(replayed.values())} rows of {len(replayed)} methods replayed, all the same."
    else:
        found = "no code or setting behind the rows changed; nothing replayed."
    print(f"{experiment.name}: {found}")
    return 0


def _status(options: argparse.Namespace) -> int:
    folder = _need(options.results)
    from .provenance import status

    print(status(folder))
    return 0


def _ledger(options: argparse.Namespace) -> int:
    folder, paper = _need(options.results), _need("book/paper")
    from .ledger import Ledger, verdict_counts

    ledger = Ledger.build(folder, paper)
    path = ledger.write(folder)
    print(verdict_counts(ledger.cells).to_string())
    print(f"written to {path}")
    return 0


def _claims(options: argparse.Namespace) -> int:
    folder, paper = _need(options.results), _need("book/paper")
    from .claims import write_claims

    table = write_claims(folder, paper)
    for verdict, count in table["verdict"].value_counts().items():
        print(f"{count:4} {verdict}")
    print(f"written to {Path(folder) / 'claims.csv'}")
    return 0


def _notebooks(options: argparse.Namespace) -> int:
    folder = Path(_need("notebooks"))
    from .notebook import execute, find_notebooks, insert_setup, run_batch

    if options.profile:
        return run_batch(
            folder,
            options.profile,
            only=options.only,
            jobs=options.jobs,
            resume=options.resume,
        )
    for path in find_notebooks(folder, options.only).values():
        changed = insert_setup(path)
        print(f"{path}{' (setup cell written)' if changed else ''}", file=sys.stdout, flush=True)
        if not options.setup_only:
            execute(path)
    return 0


def _patchseq(options: argparse.Namespace) -> int:
    if options.results == RESULTS:
        _need(RESULTS)
    from ..plotting import use_style
    from .experiment import one_thread
    from .patchseq import load_patchseq
    from .patchseq_chapter import Chapter, make

    use_style()
    data = load_patchseq()
    with one_thread():
        written = make(data, options.results, reps=options.partitions)
        written += Chapter(options.figures, data).store_pictures()
    for path in written:
        print(f"written to {path}")
    return 0
