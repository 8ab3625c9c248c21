"""Notebooks: numbers for the book's prose, execution in place, and batches with other parameters.

:func:`execute` leaves a notebook as it is committed: executed, without times, and, if the project
has a public address, with the cell that lets it run on Colab. :func:`run_batch` executes copies
with the parameters of a profile, ``notebooks/parameters/<profile>.yml``.
"""

from __future__ import annotations

import ast
import html
import time
from collections.abc import Collection
from concurrent.futures import BrokenExecutor
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin

import numpy as np
import pandas as pd

from .._base import check_choice

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


def captioned(frame: pd.DataFrame, caption: str) -> None:
    """Display a table below its caption.

    The names of the index stand in the head beside the names of the columns, in one line.
    """
    from IPython.display import display

    one_line = frame.columns.nlevels == 1 and frame.columns.name is None
    with pd.option_context("display.max_colwidth", None):
        table = frame.to_html(border=0, index_names=not one_line)
    if one_line:
        for name in frame.index.names:
            table = table.replace("<th></th>", f"<th>{html.escape(str(name or ' '))}</th>", 1)
    words = f"<caption>{html.escape(caption)}</caption>"
    table = table.replace("<thead>", f"{words}\n  <thead>", 1)
    display({"text/plain": f"{caption}\n\n{frame}", "text/html": table}, raw=True)


def find_notebooks(folder: Path, only: Collection[str] = ()) -> dict[str, Path]:
    """Return the notebooks of a folder, or those named in ``only``, by stem and in order."""
    found = {path.stem: path for path in sorted(folder.glob("*.ipynb"))}
    for stem in only:
        check_choice(stem, "only", found)
    return {stem: path for stem, path in found.items() if not only or stem in only}


def setup_source(folder: Path) -> str | None:
    """Return the cell that installs the package on Colab, or None if the project has no address.

    The address is ``repository: url:`` in the book's ``_config.yml``, beside the folder of
    notebooks. The book's buttons have the same setting.
    """
    import jinja2
    import yaml

    config = folder.parent / "_config.yml"
    settings = yaml.safe_load(config.read_text(encoding="utf-8")) if config.is_file() else {}
    address = (settings.get("repository") or {}).get("url")
    if not address:
        return None
    template = Path(__file__).with_name("colab.py.j2").read_text(encoding="utf-8")
    return jinja2.Template(template).render(address=address)


def execute(path: Path) -> None:
    """Execute a notebook in place, in its own folder, with :func:`setup_source` first if any.

    A failing cell leaves the file as it was.
    """
    import nbclient
    import nbformat
    from nbformat.v4 import new_code_cell

    notebook = nbformat.read(path, as_version=4)
    cells = [cell for cell in notebook.cells if cell.get("id") != "setup"]
    if source := setup_source(path.parent):
        first = next(i for i, cell in enumerate(cells) if cell.cell_type == "code")
        cells.insert(first, new_code_cell(source, id="setup", metadata={"tags": ["remove-cell"]}))
    notebook.cells = cells
    # Times of the run are not recorded: they change every time.
    options: dict[str, Any] = {"kernel_name": "python3", "timeout": 900, "record_timing": False}
    nbclient.execute(notebook, cwd=str(path.parent), **options)
    nbformat.write(notebook, path)


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


def fits(value: Any, annotation: Any) -> bool:
    """Return whether a value from YAML has the annotated type: a basic one, a list or a union.

    An integer passes for a float, a boolean never for a number.

    Examples
    --------
    >>> fits([100, 200], "list[int]"), fits([100, 0.5], "list[int]")
    (True, False)
    >>> fits(1, "float"), fits(True, "int"), fits(None, "str | None")
    (True, False, True)
    """
    kind = eval(annotation, {}) if isinstance(annotation, str) else annotation
    if isinstance(kind, UnionType):
        return any(fits(value, part) for part in get_args(kind))
    if get_origin(kind) is list:
        return isinstance(value, list) and all(fits(item, *get_args(kind)) for item in value)
    return type(value) is kind or (kind is float and type(value) is int)


def read_profile(folder: Path, profile: str) -> dict[str, dict[str, Any]]:
    """Return the parameters of every notebook in ``folder/parameters/<profile>.yml``.

    Notebooks that the file leaves out have an empty mapping. ValueError if there is no such
    profile, or the file names a notebook or parameter that does not exist, or a value has the wrong
    type.
    """
    import yaml

    notebooks = find_notebooks(folder)
    files = {path.stem: path for path in sorted((folder / "parameters").glob("*.yml"))}
    file = files[check_choice(profile, "profile", files)]
    try:
        given = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{file} is not YAML: {' '.join(str(error).split())}.") from error
    if not isinstance(given, dict) or not all(isinstance(v, dict) for v in given.values()):
        raise ValueError(f"{file} must map notebooks to parameters and values; got {given!r}.")
    for stem, parameters in given.items():
        known = notebook_parameters(notebooks[check_choice(stem, f"{file}: a notebook", notebooks)])
        for name, value in parameters.items():
            kind = known[check_choice(name, f"{file}: {stem}: a parameter", known)]
            if not fits(value, kind):
                raise ValueError(f"{file}: {stem}: {name} must be {kind}; got {value!r}.")
    return {stem: given.get(stem, {}) for stem in notebooks}


def run_batch(folder: Path, profile: str, *, only: Collection[str], jobs: int, resume: bool) -> int:
    """Execute copies of the notebooks with a profile's parameters; a failure stops no other one.

    The copies go to ``_build/batch/<profile>``, with ``summary.csv``: notebook, status (``ok``,
    ``failed``, ``kept`` or ``not run``), seconds and error.

    All parameters are checked before anything runs, see :func:`read_profile`. ``jobs`` notebooks
    run side by side, each in a process and kernel of its own. With ``resume`` a copy is kept that
    ended well, has the same parameters, and is newer than its notebook, the package and, if the
    notebook reads them, the stored rows. Returned is 0, 1 if a notebook failed, or 130 if the
    batch was interrupted.
    """
    # Loky, which comes with joblib, can end its workers together with their kernels.
    from joblib.externals.loky import ProcessPoolExecutor, as_completed

    parameters = read_profile(folder, profile)
    out = Path("_build", "batch", profile).resolve()
    out.mkdir(parents=True, exist_ok=True)
    paths = find_notebooks(folder.resolve(), only)
    tasks = {stem: (path, out / path.name, parameters[stem]) for stem, path in paths.items()}
    rows = {stem: {"status": "not run"} for stem in tasks}
    for stem in [stem for stem, task in tasks.items() if resume and _still_good(*task)]:
        rows[stem] = {"status": "kept"}
        del tasks[stem]
    print(f"{len(tasks)} notebooks to execute, minutes each; {jobs} side by side.")
    # Always in processes, as the kernel's client would swallow an interrupt; and each with one
    # thread, for the same numbers everywhere and no fight for cores.
    pool = ProcessPoolExecutor(max_workers=jobs, env={"OMP_NUM_THREADS": "1"})
    try:
        futures = {pool.submit(_execute_copy, *task): stem for stem, task in tasks.items()}
        for future in as_completed(futures):
            rows[futures[future]] = row = future.result()
            print(futures[future], *row.values())
    except KeyboardInterrupt:
        print("Interrupted; the same command with --resume does the rest.")
        return 130
    except BrokenExecutor as error:
        does = "the same command with --resume does the rest."
        raise ChildProcessError(f"a process died (out of memory?); {does}") from error
    finally:
        pool.shutdown(wait=True, kill_workers=True)
        table = pd.DataFrame(rows.values(), list(rows), ["status", "seconds", "error"])
        table.to_csv(out / "summary.csv", index_label="notebook")
    failed = sum(row["status"] == "failed" for row in rows.values())
    print(f"{len(rows)} notebooks, {failed} failed; copies and summary.csv in {out}")
    return int(failed > 0)


def _execute_copy(notebook: Path, copy: Path, parameters: dict[str, Any]) -> dict[str, str]:
    """Execute one notebook in its own folder; an error becomes part of the result."""
    import papermill

    started, status, error = time.perf_counter(), "ok", ""
    try:
        papermill.execute_notebook(
            notebook, copy, parameters=parameters, progress_bar=False, cwd=notebook.parent
        )
    except Exception as failure:  # of a cell, a dead kernel, a full disk: the others may still run
        status, error = "failed", f"{type(failure).__name__}: {failure}"
        if isinstance(failure, papermill.PapermillExecutionError):  # not the whole traceback
            error = f"In [{failure.exec_count}]: {failure.ename}: {failure.evalue}"
    seconds = f"{time.perf_counter() - started:.1f}"
    return {"status": status, "seconds": seconds, "error": error}


def _still_good(notebook: Path, copy: Path, parameters: dict[str, Any]) -> bool:
    """Return whether a copy ended well, with these parameters, after its sources last changed."""
    import nbformat

    try:
        record = nbformat.read(copy, as_version=4).metadata["papermill"]
    except (OSError, ValueError, KeyError):  # none, or torn by a crash
        return False
    code = (path for path in _PACKAGE.rglob("*") if path.suffix != ".pyc")
    rows = notebook.parents[1].glob("book/results/*.csv")
    read = rows if "book/results" in notebook.read_text(encoding="utf-8") else ()
    newest = max(p.stat().st_mtime for p in (notebook, *code, *read) if p.is_file())
    ended_well = record["end_time"] and not record["exception"]
    same = record["parameters"] == parameters
    return bool(ended_well) and same and copy.stat().st_mtime > newest
