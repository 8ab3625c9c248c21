"""Run the missing cells of an experiment: local processes, or the workers of a Dask scheduler."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError
from dataclasses import dataclass
from typing import Any

from tqdm import tqdm

from .._base import check_integer
from .fingerprint import fingerprint
from .provenance import Manifest, one_thread, replay_sample
from .simulations import Row
from .store import Say, Store
from .study import Experiment

__all__ = ["Outcome", "check_code", "run"]


Task = tuple[Experiment, int, Any, str | None, bool]  # arguments of _work
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
    cells: Sequence[Any],
    folder: str | os.PathLike[str],
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    cache: str | os.PathLike[str] | None = None,
    accept_code_change: bool = False,
    retry_failed: bool = False,
    progress: bool = True,
    say: Say = print,
) -> Outcome:
    """Compute the cells that the folder lacks, and append them group by group.

    May be interrupted at any moment: finished groups are on disk, and the next run does the rest.

    Parameters
    ----------
    experiment : Experiment
        The grid.
    cells : sequence of cells
        What is wanted of it, for example ``experiment.cells("laptop")``.
    folder : path
        Where the rows and the manifest are.
    jobs : int
        Local processes.
    scheduler : str, optional
        Address of a Dask scheduler, ``tcp://...``, whose workers compute instead.
    cache : path, optional
        Folder of score fits shared between experiments and runs; all workers must see it.
    accept_code_change : bool
        If the code or settings of a method with rows changed, replay some of them and go on if
        they are the same.
    retry_failed : bool
        Try failed cells again; a failure stays until its cell's new outcome takes its place.
    progress : bool
        Show a progress bar with the time left.
    say : callable
        Gets sentences about what happens.

    Raises
    ------
    OSError
        If the disk is full, a worker died or the scheduler is lost; finished groups are stored.
    ValueError
        If code or settings changed, or no scheduler answers.
    """
    store, manifest = Store(experiment, folder, say), Manifest(experiment, folder)
    store.open()
    methods = list(dict.fromkeys(cell.method for cell in cells))
    check_code(experiment, folder, methods, accept=accept_code_change, say=say)
    missing = [cell for cell in cells if store.lacks(cell, retry_failed)]
    if retry_failed:
        say(f"{sum(cell in store for cell in missing)} failed cell(s) are tried again.")
    before = len(cells) - len(missing)
    if not missing:
        if store.rows:  # a killed run leaves totals that are not those of its rows
            manifest.summarize(store.rows)
        return Outcome(len(cells), before, 0, 0)
    # Before the first row: should the run be killed, its rows are still accounted for.
    manifest.record(dict.fromkeys(cell.method for cell in missing))
    groups = experiment.groups(missing)
    added = failed = 0
    interrupted = False
    with tqdm(
        total=sum(group.cost for group in groups),
        desc=experiment.name,
        bar_format=_BAR,
        disable=not progress,
    ) as bar:
        results = _results(experiment, groups, jobs, scheduler, cache)
        try:
            for index, rows in results:
                fresh = store.append(rows, retried=retry_failed)
                added += len(fresh)
                failed += sum(row.status != "ok" for row in fresh)
                bar.update(groups[index].cost)
                bar.set_postfix_str(f"{added}/{len(missing)} cells, {failed} failed")
        except KeyboardInterrupt:
            interrupted = True
        finally:
            results.close()
            manifest.summarize(store.rows)
    return Outcome(len(cells), before, added, failed, interrupted)


def check_code(
    experiment: Experiment,
    folder: str | os.PathLike[str],
    methods: Iterable[str],
    *,
    accept: bool = False,
    sample: int = 3,
    say: Say = print,
) -> dict[str, int]:
    """Refuse to mix rows made by different code, unless a replay finds them equal.

    Returns
    -------
    dict of str to int
        The methods whose code or settings changed, and how many rows of each were replayed.

    Raises
    ------
    ValueError
        If a method's code or settings are not those of its stored rows, and ``accept`` is false
        or a replayed row differs; or if ``sample`` is less than one row.
    """
    check_integer(sample, "sample", low=1)
    store, manifest = Store(experiment, folder, say), Manifest(experiment, folder)
    rows = store.read()
    stored = {row.cell.method for row in rows.values()}
    wanted = [name for name in methods if name in stored]
    changed = manifest.changed(wanted)
    changed |= {name: ["record"] for name in manifest.unrecorded(rows) if name in wanted}
    if changed and not accept:
        what = "; ".join(f"{name} ({', '.join(keys)})" for name, keys in changed.items())
        raise ValueError(
            f"the code or settings behind the rows in {store.path} changed: {what}. "
            "--accept-code-change replays some rows of each and goes on if they are the same."
        )
    replayed = {}
    for name in changed:
        replays = replay_sample(experiment, folder, name, sample)
        for one in replays:
            say(f"{experiment.name} {' '.join(store.key(one.stored.cell))}: {one}")
        if different := sum(not one.same for one in replays):
            raise ValueError(
                f"{name}: {different} of {len(replays)} replayed rows of {store.path} differ under "
                "the present code. Remove its rows to compute them again, or restore the code."
            )
        replayed[name] = len(replays)
        manifest.record([name], replayed={name: len(replays)})
    return replayed


def _work(
    experiment: Experiment, index: int, group: Any, cache: str | None, networks: bool
) -> tuple[int, list[Row], list[str]]:
    """Compute a group in a worker; also return the hashes of the worker's code.

    ``networks`` says whether the run has any, so that their code is loaded with the first group.
    """
    with one_thread(networks=networks):
        rows = experiment.compute(group, cache)
    return index, rows, _hashes(experiment, group)


def _hashes(experiment: Experiment, group: Any) -> list[str]:
    families = [experiment.methods[cell.method].family for cell in group.cells]
    return [fingerprint(family, experiment.measure) for family in families]


def _results(
    experiment: Experiment,
    groups: Sequence[Any],
    jobs: int,
    scheduler: str | None,
    cache: str | os.PathLike[str] | None,
) -> Generator[tuple[int, list[Row]], None, None]:
    """Yield the index and rows of each group as it is finished."""
    folder = None if cache is None else os.path.abspath(cache)
    make = _local if scheduler is None else _distributed
    target: Any = jobs if scheduler is None else scheduler
    networks = experiment.uses_networks(cell for group in groups for cell in group.cells)
    tasks = [(experiment, k, group, folder, networks) for k, group in enumerate(groups)]
    try:
        for index, rows, hashes in make(tasks, target):
            if hashes != _hashes(experiment, groups[index]):
                raise ValueError("a worker runs other code than this process; install one version.")
            yield index, rows
    except MemoryError as error:
        raise OSError(f"out of memory; {_GO_ON}") from error


def _local(tasks: Sequence[Task], jobs: int) -> Iterator[tuple[int, list[Row], list[str]]]:
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
    try:
        yield from parallel(delayed(_work)(*task) for task in tasks)
    except BrokenExecutor as error:
        raise ChildProcessError(f"a worker died (out of memory?); {_GO_ON}") from error


def _distributed(
    tasks: Sequence[Task], scheduler: str
) -> Iterator[tuple[int, list[Row], list[str]]]:
    try:
        from distributed import Client, KilledWorker, as_completed
    except ImportError as error:
        raise ValueError("--scheduler needs Dask: pip install 'steinsdr[cluster]'.") from error
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
