"""Notebooks: numbers for the book's prose, execution in place, and batches with other parameters.

A notebook is committed as :func:`insert_setup` and :func:`execute` leave it: with the cell that
lets it run on Colab, executed, without times. :func:`run_batch` leaves the notebooks alone and
executes copies with the parameters of a profile, ``notebooks/parameters/<profile>.yml``.
"""

from __future__ import annotations

import ast
import csv
import re
import time
from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin

import numpy as np

__all__ = [
    "REPOSITORY",
    "SETUP",
    "execute",
    "find_notebooks",
    "fits",
    "glue",
    "insert_setup",
    "notebook_parameters",
    "read_profile",
    "run_batch",
]

#: Where the project lives; ``pyproject.toml``, ``CITATION.cff`` and ``_config.yml`` say the same.
REPOSITORY = "https://github.com/steinsdr/steinsdr"

#: First code cell of every notebook. It installs the package without the lock, so that Colab keeps
#: its own versions; and the clone is not called ``steinsdr``, or it would pass for the package.
SETUP = f"""\
# Where the package is missing, as on Colab: fetch and install it, then go to its notebooks.
import importlib.util
import os
import subprocess
import sys

if importlib.util.find_spec("steinsdr") is None:
    if not os.path.isdir("steinsdr-book"):
        address = "{REPOSITORY}"
        subprocess.run(["git", "clone", "--depth", "1", address, "steinsdr-book"], check=True)
    install = [sys.executable, "-m", "pip", "install", "-q", "./steinsdr-book[paper]"]
    subprocess.run(install, check=True)
    importlib.invalidate_caches()
if os.path.isdir("steinsdr-book/notebooks"):  # also after a restart of the kernel
    os.chdir("steinsdr-book/notebooks")"""

_SETUP_ID = "setup"
_PACKAGE = Path(__file__).resolve().parents[1]


def glue(name: str, value: Any) -> None:
    """Hand a value to the book's prose under ``name``; outside the book do nothing.

    Numbers become plain Python numbers, which the book can format. Without MyST-NB (on Colab,
    for instance) a notebook runs all the same.
    """
    if isinstance(value, np.generic):
        value = value.item()
    try:
        from myst_nb import glue as myst_glue
    except ImportError:
        return
    myst_glue(name, value, display=False)


def find_notebooks(folder: Path, only: Collection[str] = ()) -> dict[str, Path]:
    """Return the notebooks of a folder, or those named in ``only``, by stem and in order.

    Raises
    ------
    ValueError
        If there are none, or ``only`` names one that is not there.
    """
    found = {path.stem: path for path in sorted(folder.glob("*.ipynb"))}
    if not found:
        raise ValueError(f"notebooks must be a folder with notebooks; found none in {folder}.")
    for stem in only:
        if stem not in found:
            raise ValueError(f"only must be {_one_of(stem, found)}.")
    return {stem: path for stem, path in found.items() if not only or stem in only}


# In place.


def insert_setup(path: Path) -> bool:
    """Make :data:`SETUP` the first code cell of a notebook; return whether that changed the file.

    Nothing is executed. The cell does nothing where the package is installed, so stored outputs
    stay valid; if the notebook was executed from top to bottom, its cells are counted anew.
    """
    import nbformat
    from nbformat.v4 import new_code_cell

    notebook = nbformat.read(path, as_version=4)
    before = nbformat.writes(notebook)
    cells = [cell for cell in notebook.cells if cell.get("id") != _SETUP_ID]
    code = [cell for cell in cells if cell.cell_type == "code"]
    if not code:
        return False
    setup = new_code_cell(SETUP, id=_SETUP_ID, metadata={"tags": ["remove-cell"]})
    cells.insert(cells.index(code[0]), setup)
    notebook.cells = cells
    counts = [cell.execution_count or 0 for cell in code]
    if counts[0] > 0 and counts == list(range(counts[0], counts[0] + len(counts))):
        for count, cell in enumerate([setup, *code], start=1):
            cell.execution_count = count
            for output in cell.outputs:
                if "execution_count" in output:
                    output.execution_count = count
    if nbformat.writes(notebook) == before:
        return False
    nbformat.write(notebook, path)
    return True


def execute(path: Path) -> None:
    """Execute a notebook in place, in its own folder; a failing cell leaves the file as it was."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=900, kernel_name="python3", resources=resources).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times of the run, which change every time
    nbformat.write(notebook, path)


# Parameters of a batch.


def notebook_parameters(path: Path) -> dict[str, str]:
    """Return the annotation of each name that a notebook's ``parameters`` cell assigns.

    papermill's own inspection goes line by line and misses types such as ``str | None``.
    """
    import nbformat

    cells = nbformat.read(path, as_version=4).cells
    sources = [c.source for c in cells if "parameters" in c.metadata.get("tags", [])]
    return {
        ast.unparse(statement.target): ast.unparse(statement.annotation)
        for statement in ast.parse("\n".join(sources)).body
        if isinstance(statement, ast.AnnAssign)
    }


def fits(value: Any, annotation: str) -> bool:
    """Return whether a value from YAML has the annotated type, made of Python's own types.

    An integer passes for a float, a boolean never for a number.

    Examples
    --------
    >>> fits([100, 200], "list[int]"), fits([100, 0.5], "list[int]")
    (True, False)
    >>> fits(1, "float"), fits(True, "int"), fits(None, "str | None")
    (True, False, True)
    """
    return _fits(value, eval(annotation, {}))


def _fits(value: Any, kind: Any) -> bool:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return any(_fits(value, argument) for argument in arguments)
    if origin is list:
        return isinstance(value, list) and all(_fits(item, *arguments) for item in value)
    if origin is not None:
        raise ValueError(f"the type of a parameter cannot be checked: {kind}.")
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, int | float if kind is float else kind)


def read_profile(folder: Path, profile: str) -> dict[str, dict[str, Any]]:
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
    files = {path.stem: path for path in sorted((folder / "parameters").glob("*.yml"))}
    if profile not in files:
        raise ValueError(f"profile must be {_one_of(profile, files)}.")
    given = yaml.safe_load(files[profile].read_text(encoding="utf-8")) or {}
    if not isinstance(given, dict):
        raise ValueError(f"{files[profile]} must map notebooks to parameters; got {given!r}.")
    if problems := list(_problems(given, notebooks)):
        raise ValueError("\n".join(f"{files[profile].name}: {line}" for line in problems))
    return {stem: given.get(stem) or {} for stem in notebooks}


def _problems(given: Mapping[str, Any], notebooks: Mapping[str, Path]) -> Iterator[str]:
    for stem, parameters in given.items():
        if stem not in notebooks:
            yield f"a notebook must be {_one_of(stem, notebooks)}."
            continue
        if not isinstance(parameters or {}, dict):
            yield f"{stem} must map parameters to values; got {parameters!r}."
            continue
        known = notebook_parameters(notebooks[stem])
        for name, value in (parameters or {}).items():
            if name not in known:
                yield f"a parameter of {stem} must be {_one_of(name, known)}."
            elif not fits(value, known[name]):
                yield f"{stem}: {name} must be {known[name]}; got {value!r}."


def _one_of(name: Any, known: Collection[str]) -> str:
    """Say what a name could have been, and which one is likely."""
    close = get_close_matches(str(name), known, n=1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    return f"one of {', '.join(known)}; got {name!r}{hint}"


# A batch.


def run_batch(
    folder: Path,
    profile: str,
    *,
    only: Collection[str] = (),
    jobs: int = 1,
    resume: bool = False,
    out: Path = Path("_build/batch"),
) -> int:
    """Execute copies of the notebooks with a profile's parameters; a failure stops no other one.

    The copies go to ``out/<profile>``, with ``summary.csv``: notebook, status (``ok``, ``failed``,
    ``kept`` or ``not run``), seconds and error.

    Parameters
    ----------
    folder, profile
        See :func:`read_profile`; all parameters are checked before anything runs.
    only : collection of str
        Notebooks by stem; all if empty.
    jobs : int
        Notebooks side by side, each in a process and kernel of its own.
    resume : bool
        Keep a copy that ended well, has the same parameters, and is newer than its notebook, the
        package and, if the notebook reads them, the stored rows.
    out : path
        Folder of the batches.

    Returns
    -------
    int
        0, 1 if a notebook failed, 130 if the batch was interrupted.
    """
    # Loky, which comes with joblib, can end its workers together with their kernels.
    from joblib.externals.loky import ProcessPoolExecutor, as_completed

    parameters = read_profile(folder, profile)
    out = out.resolve() / profile
    out.mkdir(parents=True, exist_ok=True)
    rows: dict[str, dict[str, Any]] = {}
    tasks = {}
    for stem, path in find_notebooks(folder.resolve(), only).items():
        keep = resume and _still_good(path, out / path.name, parameters[stem])
        rows[stem] = {"status": "kept" if keep else "not run", "seconds": "", "error": ""}
        if not keep:
            tasks[stem] = path, out / path.name, parameters[stem]
    # Always in processes, as the kernel's client would swallow an interrupt; and each with one
    # thread, for the same numbers everywhere and no fight for cores.
    pool = ProcessPoolExecutor(max_workers=jobs, env={"OMP_NUM_THREADS": "1"})
    interrupted = False
    try:
        futures = {pool.submit(_execute_copy, *task): stem for stem, task in tasks.items()}
        for future in as_completed(futures):
            stem, died = futures[future], future.exception()
            rows[stem] = (
                {"status": "failed", "seconds": "", "error": _line(died)}
                if died
                else future.result()
            )
            print(f"{stem}: {rows[stem]['status']} {rows[stem]['seconds']} s", flush=True)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        pool.shutdown(wait=True, kill_workers=True)
        with open(out / "summary.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, ["notebook", "status", "seconds", "error"])
            writer.writeheader()
            writer.writerows({"notebook": stem} | row for stem, row in rows.items())
    failed = {stem: row["error"] for stem, row in rows.items() if row["status"] == "failed"}
    for stem, error in failed.items():
        print(f"{stem} failed: {error}")
    print(f"{len(rows)} notebooks, {len(failed)} failed; copies and summary.csv in {out}")
    if interrupted:
        print("Interrupted; the same command with --resume does the rest.")
        return 130
    return 1 if failed else 0


def _execute_copy(notebook: Path, copy: Path, parameters: dict[str, Any]) -> dict[str, Any]:
    """Execute one notebook in its own folder; an error becomes part of the result."""
    import papermill

    copy.unlink(missing_ok=True)
    started = time.perf_counter()
    error = ""
    try:
        papermill.execute_notebook(
            notebook, copy, parameters=parameters, progress_bar=False, cwd=notebook.parent
        )
    except papermill.PapermillExecutionError as failure:
        # The arrow in IPython's traceback points to the line that failed.
        arrow = re.search(r"^-+> *\d+ (.*)$", _plain("\n".join(failure.traceback)), flags=re.M)
        where = f" at `{arrow[1].strip()}`" if arrow else ""
        error = f"In [{failure.exec_count}]{where}: {failure.ename}: {_line(failure.evalue)}"
    except Exception as failure:  # a dead kernel, a full disk: the other notebooks may still run
        error = f"{type(failure).__name__}: {_line(failure)}"
    seconds = f"{time.perf_counter() - started:.1f}"
    return {"status": "failed" if error else "ok", "seconds": seconds, "error": error.rstrip(": ")}


def _plain(text: str) -> str:
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def _line(message: Any) -> str:
    """Return the last line of a message, without colours."""
    return (_plain(str(message)).strip().splitlines() or [""])[-1]


def _still_good(notebook: Path, copy: Path, parameters: dict[str, Any]) -> bool:
    """Return whether a copy ended well, with these parameters, after its sources last changed."""
    import nbformat

    try:
        record = nbformat.read(copy, as_version=4).metadata.get("papermill", {})
    except (OSError, ValueError):  # none, or torn by a crash
        return False
    sources = [notebook, *(path for path in _PACKAGE.rglob("*") if path.suffix != ".pyc")]
    if "book/results" in notebook.read_text(encoding="utf-8"):
        sources += (notebook.parents[1] / "book" / "results").glob("*.csv")
    ended_well = bool(record.get("end_time")) and not record.get("exception")
    same = record.get("parameters", {}) == parameters
    newest = max(path.stat().st_mtime for path in sources if path.is_file())
    return ended_well and same and copy.stat().st_mtime > newest
