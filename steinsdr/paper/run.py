"""Run the missing cells of an experiment: local processes, or the workers of a Dask scheduler."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError
from dataclasses import dataclass

from tqdm import tqdm

from .experiment import Cell, Experiment, Row
from .provenance import Manifest, check_rows
from .store import Store

_Task = tuple[Experiment, list[Cell], str | None, list[str]]  # arguments of _work
_GO_ON = "finished rows are stored, the same command goes on."
_BAR = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"


@dataclass(frozen=True)
class Outcome:
    """What a run did: cells asked for, stored before, added, failed among the added."""

    asked: int
    before: int
    added: int
    failed: int
    interrupted: bool = False


def run(
    experiment: Experiment,
    cells: Sequence[Cell],
    folder: str | os.PathLike[str],
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    cache: str | os.PathLike[str] | None = None,
    retry_failed: bool = False,
    progress: bool = True,
) -> Outcome:
    """Compute the cells that the folder lacks, and append them group by group.

    May be interrupted at any moment: finished groups are on disk, and the next run does the rest.
    ``folder`` has the rows and the manifest; ``jobs`` counts local processes. ``scheduler`` is the
    address of a Dask scheduler, ``tcp://...``, whose workers compute instead. ``cache`` is a folder
    of score fits shared between experiments and runs; all workers must see it. ``retry_failed``
    tries failed cells again; a failure stays until its cell's new outcome takes its place.

    Raises
    ------
    OSError
        If the disk is full, a worker died or the scheduler is lost; finished groups are stored.
    ValueError
        If code or settings of a method with rows changed, rows were altered, or no scheduler
        answers.
    """
    store, manifest = Store(experiment, folder), Manifest(experiment, folder)
    store.append()  # mends what a killed run has left
    wanted = {*map(experiment.method_of, cells)}
    changed = {m: w for m, w in check_rows(store).items() if m in wanted or "design" in w}
    if what := "; ".join(f"{method} ({', '.join(parts)})" for method, parts in changed.items()):
        raise ValueError(
            f"the code or settings behind the rows in {store.path} changed: {what}. "
            f"steinsdr check {experiment.name} replays some rows of each, and records the new code "
            "if they are the same."
        )
    missing = [cell for cell in cells if store.lacks(cell, retry_failed)]
    before = len(cells) - len(missing)
    cost = experiment.cost(missing)
    if progress:
        print(
            f"{experiment.name}: {len(cells)} cells, {before} stored; {len(missing)} to compute "
            f"take about {cost / 60 / max(jobs, 1):.1f} minutes on {jobs} core(s)."
        )
    if not missing:
        if store.rows:  # a killed run leaves totals that are not those of its rows
            manifest.summarize(store.rows)
        return Outcome(len(cells), before, 0, 0)
    # Before the first row: should the run be killed, its rows are still accounted for.
    stored = {*map(experiment.method_of, store.rows)}
    manifest.record(m for m in dict.fromkeys(map(experiment.method_of, missing)) if m not in stored)
    added = failed = 0
    interrupted = False
    with tqdm(total=cost, desc=experiment.name, bar_format=_BAR, disable=not progress) as bar:
        results = _results(experiment, missing, jobs, scheduler, cache)
        try:
            for rows in results:
                fresh = store.append(rows, retried=retry_failed)
                added += len(fresh)
                failed += sum(row.status != "ok" for row in fresh)
                bar.update(experiment.cost(row.cell for row in rows))
                bar.set_postfix_str(f"{added}/{len(missing)} cells, {failed} failed")
        except KeyboardInterrupt:
            interrupted = True
        finally:
            results.close()
            store.append()  # takes in what another run has stored meanwhile
            if not manifest.compare(store.rows)[0]:  # nobody has edited the file meanwhile
                manifest.summarize(store.rows)
    return Outcome(len(cells), before, added, failed, interrupted)


def _work(
    experiment: Experiment, cells: list[Cell], cache: str | None, code: list[str]
) -> list[Row]:
    """Compute a group in a worker, whose code must have the hashes of the one that asks."""
    if _hashes(experiment, cells) != code:
        raise ValueError("a worker runs other code than this process; install one version.")
    return experiment.compute(cells, cache)


def _hashes(experiment: Experiment, cells: list[Cell]) -> list[str]:
    return [experiment.signature(experiment.method_of(cell))["code"] for cell in cells]


def _results(
    experiment: Experiment,
    cells: Sequence[Cell],
    jobs: int,
    scheduler: str | None,
    cache: str | os.PathLike[str] | None,
) -> Generator[list[Row], None, None]:
    """Yield the rows of each group as it is finished."""
    folder = None if cache is None else os.path.abspath(cache)
    groups = experiment.groups(cells)
    tasks = [(experiment, group, folder, _hashes(experiment, group)) for group in groups]
    try:
        yield from _local(tasks, jobs) if scheduler is None else _distributed(tasks, scheduler)
    except MemoryError as error:
        raise OSError(f"out of memory; {_GO_ON}") from error


def _local(tasks: Sequence[_Task], jobs: int) -> Iterator[list[Row]]:
    from joblib import Parallel, delayed

    options = {"initializer": _end_with, "initargs": (os.getpid(),)} if jobs > 1 else {}
    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1, **options)
    try:
        yield from parallel(delayed(_work)(*task) for task in tasks)
    except BrokenExecutor as error:
        raise ChildProcessError(f"a worker died (out of memory?); {_GO_ON}") from error


def _end_with(parent: int) -> None:
    """Let this worker end soon after its parent, which may be killed without notice."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _distributed(tasks: Sequence[_Task], scheduler: str) -> Iterator[list[Row]]:
    from distributed import Client, KilledWorker, as_completed

    try:
        client = Client(scheduler, timeout="20s")
    except (OSError, ValueError) as error:
        raise ValueError(f"no Dask scheduler answers at {scheduler} ({error}).") from error
    with client:
        futures = [client.submit(_work, *t, pure=False, priority=-k) for k, t in enumerate(tasks)]
        try:
            for future in as_completed(futures):
                yield future.result()
                future.release()
        except KilledWorker as error:
            raise ChildProcessError(f"a worker died (out of memory?); {_GO_ON}") from error
        except CancelledError as error:
            raise ConnectionError(f"the scheduler {scheduler} is lost; {_GO_ON}") from error
