"""The paper's commands: run, replay, check, status, ledger, claims, notebooks and patchseq.

They read and write folders of a checkout, relative to the working directory. What a command
computes with is imported when it runs, so that ``steinsdr --help`` needs none of the extras.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from .experiment import EXPERIMENTS

_RESULTS = "book/results"
_PAPER = "book/paper"
_CACHE = "_build/scores"
_KEYS = ("law", "n", "r", "train_ratio", "gamma", "study", "size", "data", "design")
_KEYS += ("method", "rep")


def add_commands(add: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the paper's commands; ``add`` is that of ``steinsdr.__main__``."""
    example = "table1 --profile laptop --jobs 2"
    run = add(_run, "compute the missing cells of a table", example)
    run.add_argument("--profile", default="laptop", help="smoke, laptop (default) or paper")
    run.add_argument("--jobs", type=_positive, default=1, help="local processes (default 1)")
    text = 'part of the grid, such as "method=TRE-sup|SIR,law=ar1,rep=0-9"; may be repeated'
    run.add_argument("--only", action="append", default=[], metavar="FILTER", help=text)
    run.add_argument("--scheduler", help="address of a Dask scheduler, tcp://host:8786")
    text = f"folder of shared score fits (default {_CACHE}, none with --scheduler)"
    run.add_argument("--cache", help=text)
    run.add_argument("--retry-failed", action="store_true", help="try failed cells again")
    run.add_argument("--quiet", action="store_true", help="no progress bar")

    example = "table1 --law ar1 --n 300 --method TRE-sup --rep 17"
    replay = add(_replay, "recompute one stored row", example)
    for name in _KEYS:
        replay.add_argument(f"--{name.replace('_', '-')}", help=f"column {name} of the row")

    text = "compare rows with their digests, and replay rows of methods whose code changed"
    check = add(_check, text, "table1 --each 3")
    text = "rows of each method whose code changed (default 3)"
    check.add_argument("--each", type=_positive, default=3, help=text)
    text = "instead replay this many random rows of an experiment, whatever their code"
    check.add_argument("--sample", type=_positive, help=text)
    text = "take the rows as they are, after a merge for example: record their digests anew"
    check.add_argument("--record-rows", action="store_true", help=text)

    status = add(_status, "list what is stored and what is missing", "")
    ledger = add(_ledger, "compare every cell of the tables with the paper", "")
    claims = add(_claims, "judge the paper's statements and write claims.csv", "")

    text = "execute the notebooks in place, or copies of them with the parameters of a profile"
    notebooks = add(_notebooks, text, "--profile smoke --only 03_table1 --jobs 2")
    text = "notebooks to execute, such as 03_table1 (default: all)"
    notebooks.add_argument("--only", nargs="+", default=[], metavar="NAME", help=text)
    text = "smoke, laptop or paper: copies go to _build/batch/PROFILE"
    notebooks.add_argument("--profile", help=text)
    text = "with a profile: notebooks at the same time (default 1)"
    notebooks.add_argument("--jobs", type=_positive, default=1, help=text)
    text = "with a profile: keep copies that ended well and are newer than what they depend on"
    notebooks.add_argument("--resume", action="store_true", help=text)

    text = "compute the stored results of the real-data chapter"
    patchseq = add(_patchseq, text, "--partitions 20")
    text = "random partitions (default 20)"
    patchseq.add_argument("--partitions", type=_positive, default=20, help=text)

    text = f"one of {', '.join(EXPERIMENTS)}"
    for command in (run, replay):
        command.add_argument("experiment", help=text)
    check.add_argument("experiment", nargs="?", help=f"{text} (default: all with rows)")
    for command in (run, replay, check, status, ledger, claims, patchseq):
        command.add_argument("--results", default=_RESULTS, help=f"folder (default {_RESULTS})")


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number at least 1; got {text!r}")
    return int(text)


def _run(options: argparse.Namespace) -> int:
    print(f"run {options.experiment}: reading the stored rows.")
    from .experiment import find_experiment, parse_only
    from .run import run

    experiment = find_experiment(options.experiment)
    outcome = run(
        experiment,
        experiment.cells(options.profile, parse_only(options.only)),
        options.results,
        jobs=options.jobs,
        scheduler=options.scheduler,
        cache=options.cache or (None if options.scheduler else _CACHE),
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
    print(f"replay {options.experiment}: reading the stored row.")
    from .experiment import find_experiment
    from .provenance import replay
    from .store import Store

    experiment = find_experiment(options.experiment)
    given = {name: value for name in _KEYS if (value := getattr(options, name)) is not None}
    store = Store(experiment, options.results)
    if (row := store.read().get(experiment.cell(**given))) is None:
        raise ValueError(f"{store.path} has no such row; steinsdr status lists them.")
    print(f"It took {row.seconds:.1f} s, its share of a score fit; it is computed again.")
    return 0 if replay(experiment, options.results, row) else 1


def _check(options: argparse.Namespace) -> int:
    folder = options.results
    print("check: reading the stored rows.")
    from .experiment import find_experiment
    from .provenance import check_code, record_rows, replay_sample
    from .store import Store

    names = [options.experiment] if options.experiment else list(EXPERIMENTS)
    experiments = [e for e in map(find_experiment, names) if Store(e, folder).read()]
    if not experiments:
        raise ValueError(f"{folder} has no rows of {', '.join(names)}.")
    different = 0
    for experiment in experiments:
        if options.record_rows:
            record_rows(experiment, folder)
        if options.sample:
            different += replay_sample(experiment, folder, options.sample)
        else:
            check_code(experiment, folder, options.each)
    if options.sample:
        print(f"{different} of the replayed rows are different." if different else "All are equal.")
    return int(different > 0)


def _status(options: argparse.Namespace) -> int:
    from .provenance import status

    if not Path(options.results).is_dir():
        raise ValueError(f"--results: there is no folder {options.results}.")
    table = status(options.results)
    print(table)
    return int("ROWS ALTERED" in table)


def _ledger(options: argparse.Namespace) -> int:
    from .ledger import Ledger, verdict_counts

    ledger = Ledger.build(options.results, _PAPER)
    if not any(map(len, ledger.rows.values())):
        raise ValueError(
            f"{options.results} has no rows of the paper's tables; steinsdr run computes some."
        )
    path = ledger.write(options.results)
    print(verdict_counts(ledger.cells).to_string())
    print(f"written to {path}")
    return 0


def _claims(options: argparse.Namespace) -> int:
    from .claims import write_claims

    answers = write_claims(options.results, _PAPER)["statement_true"]
    print(answers.value_counts().to_string(header=False))
    print(f"written to {Path(options.results) / 'claims.csv'}")
    return 0


def _notebooks(options: argparse.Namespace) -> int:
    folder = Path("notebooks")
    from .notebook import execute, find_notebooks, run_batch

    if options.profile:
        choice = {"only": options.only, "jobs": options.jobs, "resume": options.resume}
        return run_batch(folder, options.profile, **choice)
    paths = find_notebooks(folder, options.only).values()
    print(f"{len(paths)} notebooks, a minute or two each.")
    for path in paths:
        print(str(path))
        execute(path)
    return 0


def _patchseq(options: argparse.Namespace) -> int:
    print(f"patchseq: {options.partitions} partitions, half a minute each on one core.")
    from ..plotting import use_style
    from .experiment import one_thread
    from .patchseq import load_patchseq
    from .patchseq_chapter import Chapter, make

    use_style()
    data = load_patchseq()
    with one_thread():
        written = make(data, options.results, reps=options.partitions)
        written += Chapter("book/figures", data).store_pictures()
    for path in written:
        print(f"written to {path}")
    return 0
