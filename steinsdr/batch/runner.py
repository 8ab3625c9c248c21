"""Execute notebooks side by side; a failing one does not stop the others."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .parameters import check_only, find_notebooks, read_profile

__all__ = ["Outcome", "Result", "Task", "execute", "kept", "plan", "run"]

PACKAGE = Path(__file__).resolve().parents[1]

# Kernels inherit it: one thread each gives the same numbers everywhere, and no fight for cores.
ONE_THREAD = {"OMP_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Task:
    """A notebook to execute, what to set in it, and where its executed copy goes."""

    notebook: Path
    profile: str
    parameters: dict[str, Any]
    copy: Path


@dataclass(frozen=True)
class Result:
    """What became of a task; the fields are the columns of the summary.

    ``status`` is ``ok``, ``failed``, ``kept`` (an earlier copy is still good) or ``not run``.
    """

    notebook: str
    profile: str
    status: str
    seconds: float = 0.0
    cells: int = 0
    error: str = ""


@dataclass(frozen=True)
class Outcome:
    """Results in the order of the tasks, and whether the run was interrupted."""

    results: list[Result]
    interrupted: bool = False

    @property
    def failed(self) -> int:
        """Number of notebooks that failed."""
        return sum(result.status == "failed" for result in self.results)


def plan(
    folder: str | os.PathLike[str],
    profile: str,
    out: str | os.PathLike[str],
    *,
    only: Collection[str] = (),
) -> list[Task]:
    """Return the tasks of a profile, after all checks of its parameters.

    Parameters
    ----------
    folder : path
        Holds the notebooks and ``parameters/<profile>.yml``.
    profile : str
        Which parameters.
    out : path
        The copies go to ``out/<profile>``.
    only : collection of str
        Notebooks by stem; all if empty.
    """
    parameters = read_profile(folder, profile)
    notebooks = find_notebooks(folder)
    check_only(only, notebooks)
    return [
        Task(path.resolve(), profile, parameters[stem], Path(out, profile, path.name).resolve())
        for stem, path in notebooks.items()
        if not only or stem in only
    ]


def execute(task: Task) -> Result:
    """Execute one notebook in its own folder; an error becomes part of the result."""
    import papermill

    task.copy.parent.mkdir(parents=True, exist_ok=True)
    task.copy.unlink(missing_ok=True)
    started = time.perf_counter()
    error = ""
    try:
        papermill.execute_notebook(
            task.notebook,
            task.copy,
            parameters=task.parameters,
            progress_bar=False,
            cwd=task.notebook.parent,
            extra_arguments=["--log-level=CRITICAL"],  # the kernel's own log tears the bar
        )
    except papermill.PapermillExecutionError as failure:
        error = _describe(failure)
    except Exception as failure:  # a dead kernel, a full disk: the other notebooks may still run
        error = f"{type(failure).__name__}: {_last_line(str(failure))}"
    seconds = time.perf_counter() - started
    status = "failed" if error else "ok"
    return Result(
        task.notebook.stem, task.profile, status, seconds, _cells_executed(task.copy), error
    )


def run(
    tasks: Sequence[Task],
    *,
    jobs: int = 1,
    resume: bool = False,
    progress: bool = True,
    report: Callable[[Sequence[Result]], Any] = lambda results: None,
) -> Outcome:
    """Execute the tasks, ``jobs`` at a time.

    Parameters
    ----------
    tasks : sequence of Task
        From :func:`plan`.
    jobs : int
        Notebooks side by side, each in a process and kernel of its own.
    resume : bool
        Keep a copy that ended well, has the same parameters, and is newer than its notebook and
        the package.
    progress : bool
        Show a progress bar.
    report : callable
        Gets all results, after each notebook.
    """
    # Loky, which comes with joblib, can end its workers together with their kernels.
    from joblib.externals.loky import ProcessPoolExecutor, as_completed
    from tqdm import tqdm

    results = [
        (kept(task) if resume else None) or Result(task.notebook.stem, task.profile, "not run")
        for task in tasks
    ]
    report(results)
    todo = [k for k, result in enumerate(results) if result.status == "not run"]
    if not todo:
        return Outcome(results)
    # Always in processes: within this one the kernel's client would swallow an interrupt.
    pool = ProcessPoolExecutor(max_workers=min(jobs, len(todo)), env=ONE_THREAD)
    interrupted = False
    with tqdm(total=len(todo), desc="notebooks", unit="", disable=not progress) as bar:
        try:
            futures = {pool.submit(execute, tasks[k]): k for k in todo}
            for future in as_completed(futures):
                k = futures[future]
                results[k] = result = _result_of(future, tasks[k])
                report(results)
                bar.update()
                if progress:
                    bar.write(f"{result.notebook}: {result.status}, {result.seconds:.0f} s")
        except KeyboardInterrupt:
            interrupted = True
        finally:
            pool.shutdown(wait=True, kill_workers=True)
    return Outcome(results, interrupted)


def _result_of(future: Any, task: Task) -> Result:
    """Return the result of a finished future, also if its process was killed."""
    failure = future.exception()
    if failure is None:
        return future.result()
    error = f"{type(failure).__name__}: {_last_line(str(failure))}"
    return Result(task.notebook.stem, task.profile, "failed", error=error)


def kept(task: Task) -> Result | None:
    """Return the result of an earlier copy if that is still good, else None."""
    import nbformat

    try:
        record = nbformat.read(task.copy, as_version=4).metadata.get("papermill", {})
    except (OSError, ValueError):  # none, or torn by a crash
        return None
    sources = [task.notebook, *PACKAGE.rglob("*.py")]
    if "book/results" in task.notebook.read_text(encoding="utf-8"):
        sources += (task.notebook.parents[1] / "book" / "results").glob("*.csv")
    newest = max(path.stat().st_mtime for path in sources)
    ended_well = bool(record.get("end_time")) and not record.get("exception")
    same = record.get("parameters", {}) == task.parameters
    if not (ended_well and same and task.copy.stat().st_mtime > newest):
        return None
    cells = _cells_executed(task.copy)
    return Result(task.notebook.stem, task.profile, "kept", record.get("duration") or 0.0, cells)


def _cells_executed(copy: Path) -> int:
    import nbformat

    if not copy.is_file():
        return 0
    cells = nbformat.read(copy, as_version=4).cells
    return sum(cell.get("execution_count") is not None for cell in cells)


def _describe(failure: Any) -> str:
    """Say in one line where a notebook failed: its cell, the line of the cell, the error."""
    from papermill.exceptions import strip_color

    traceback = strip_color("\n".join(failure.traceback))
    arrow = re.search(r"^-+> *\d+ (.*)$", traceback, flags=re.M)
    line = f" at `{arrow[1].strip()}`" if arrow else ""
    message = _last_line(strip_color(failure.evalue))
    return f"In [{failure.exec_count}]{line}: {failure.ename}" + (f": {message}" if message else "")


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
