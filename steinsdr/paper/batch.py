"""Parameters of a batch: one YAML file for each profile, checked before anything runs."""

from __future__ import annotations

import argparse
import ast
import csv
import os
import re
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any

__all__ = [
    "Outcome",
    "Result",
    "Task",
    "add_command",
    "check_only",
    "execute",
    "find_notebooks",
    "fits",
    "kept",
    "notebook_parameters",
    "plan",
    "read_profile",
    "run",
    "write_summary",
]


_SIMPLE = {"bool": bool, "dict": dict, "list": list, "str": str}


def find_notebooks(folder: str | os.PathLike[str]) -> dict[str, Path]:
    """Return the notebooks of a folder by stem, in order of their names.

    Raises
    ------
    ValueError
        If there are none.
    """
    found = {path.stem: path for path in sorted(Path(folder).glob("*.ipynb"))}
    if not found:
        raise ValueError(f"notebooks must be a folder with notebooks; found none in {folder}.")
    return found


def notebook_parameters(path: str | os.PathLike[str]) -> dict[str, ast.expr]:
    """Return the annotation of each name that a notebook's ``parameters`` cell assigns.

    papermill's own inspection goes line by line and misses types such as ``str | None``.
    """
    import nbformat

    cells = nbformat.read(path, as_version=4).cells
    sources = [c.source for c in cells if "parameters" in c.metadata.get("tags", [])]
    statements = ast.parse("\n".join(sources)).body
    return {
        statement.target.id: statement.annotation
        for statement in statements
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    }


def fits(value: Any, annotation: ast.expr | str) -> bool:
    """Return whether a value from YAML has the annotated type.

    An integer passes for a float, a boolean never for a number. Unknown annotations are a
    ``ValueError``: what cannot be checked is not waved through.

    Examples
    --------
    >>> fits([100, 200], "list[int]"), fits([100, 0.5], "list[int]")
    (True, False)
    >>> fits(1, "float"), fits(True, "int"), fits(None, "str | None")
    (True, False, True)
    """
    if isinstance(annotation, str):
        annotation = ast.parse(annotation, mode="eval").body
    match annotation:
        case ast.Constant(value=None):
            return value is None
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return fits(value, left) or fits(value, right)
        case ast.Name(id="int"):
            return isinstance(value, int) and not isinstance(value, bool)
        case ast.Name(id="float"):
            return isinstance(value, int | float) and not isinstance(value, bool)
        case ast.Name(id=name) if name in _SIMPLE:
            return isinstance(value, _SIMPLE[name])
        case ast.Subscript(value=ast.Name(id="list"), slice=item):
            return isinstance(value, list) and all(fits(element, item) for element in value)
        case ast.Subscript(value=ast.Name(id="dict"), slice=ast.Tuple(elts=[key, item])):
            return isinstance(value, dict) and all(
                fits(name, key) and fits(element, item) for name, element in value.items()
            )
    raise ValueError(f"the type of a parameter cannot be checked: {ast.unparse(annotation)}.")


def read_profile(folder: str | os.PathLike[str], profile: str) -> dict[str, dict[str, Any]]:
    """Return the parameters of every notebook in a profile; those left out have an empty mapping.

    Parameters
    ----------
    folder : path
        Holds the notebooks, and ``parameters/<profile>.yml`` for each profile.
    profile : str
        Name of such a file.

    Raises
    ------
    ValueError
        If there is no such profile, or the file names a notebook or parameter that does not
        exist, or a value has the wrong type. All problems are named at once.
    """
    import yaml

    notebooks = find_notebooks(folder)
    files = {path.stem: path for path in sorted(Path(folder, "parameters").glob("*.yml"))}
    if profile not in files:
        raise ValueError(f"profile must be {_listed(profile, files)}.")
    given = yaml.safe_load(files[profile].read_text(encoding="utf-8")) or {}
    if not isinstance(given, dict):
        raise ValueError(f"{files[profile]} must map notebooks to parameters; got {given!r}.")
    if problems := list(_problems(given, notebooks)):
        raise ValueError("\n".join(f"{files[profile].name}: {line}" for line in problems))
    return {stem: given.get(stem) or {} for stem in notebooks}


def check_only(only: Collection[str], notebooks: Collection[str]) -> None:
    """Raise a ValueError if a name in ``only`` is not a notebook."""
    for stem in only:
        if stem not in notebooks:
            raise ValueError(f"only must be {_listed(stem, notebooks)}.")


def _problems(given: Mapping[str, Any], notebooks: Mapping[str, Path]) -> Iterator[str]:
    for stem, parameters in given.items():
        if stem not in notebooks:
            yield f"a notebook must be {_listed(stem, notebooks)}."
            continue
        known = notebook_parameters(notebooks[stem])
        if not isinstance(parameters or {}, dict):
            yield f"{stem} must map parameters to values; got {parameters!r}."
            continue
        for name, value in (parameters or {}).items():
            if name not in known:
                yield f"a parameter of {stem} must be {_listed(name, known)}."
            elif not fits(value, known[name]):
                yield f"{stem}: {name} must be {ast.unparse(known[name])}; got {value!r}."


def _listed(name: Any, known: Collection[str]) -> str:
    """Say what a name could have been, the likeliest first.

    Examples
    --------
    >>> _listed("n_rep", ["p", "n_reps"])
    "one of p, n_reps; got 'n_rep' (did you mean n_reps?)"
    """
    close = get_close_matches(str(name), known, n=1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    return f"one of {', '.join(known) or 'none'}; got {name!r}{hint}"


# Execute notebooks side by side; a failing one does not stop the others.


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


# The summary of a batch, as a data file and as a table to read.


COLUMNS = [column.name for column in fields(Result)]


def write_summary(results: Sequence[Result], folder: str | os.PathLike[str]) -> str:
    """Write ``summary.csv`` and ``summary.md`` to a folder, and return the table of the latter."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    rows = [asdict(result) | {"seconds": f"{result.seconds:.1f}"} for result in results]
    with open(folder / "summary.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    table = _table([[str(row[name]) for name in COLUMNS] for row in rows])
    (folder / "summary.md").write_text(table + "\n", encoding="utf-8")
    return table


def _table(rows: Sequence[Sequence[str]]) -> str:
    r"""Return a Markdown table whose columns also line up in a terminal.

    Examples
    --------
    >>> print(_table([["a", "smoke", "ok", "1.5", "3", ""]]).splitlines()[-1])
    | a        | smoke   | ok     | 1.5     | 3     |       |
    >>> "a \\| b" in _table([["a | b", "", "", "", "", ""]])
    True
    """
    lines = [COLUMNS, *([text.replace("|", "\\|") for text in row] for row in rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(COLUMNS))]
    lines.insert(1, ["-" * width for width in widths])
    padded = ([text.ljust(w) for text, w in zip(line, widths, strict=True)] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in padded)


# The command ``python -m steinsdr book``.


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
    from .._base import check_integer

    pass
    pass

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
