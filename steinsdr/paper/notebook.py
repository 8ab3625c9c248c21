"""What notebooks need and the package does not: numbers for the book's prose, and re-execution.

``python -m steinsdr.paper.notebook notebooks/*.ipynb`` makes notebooks as they are committed: with
the
cell that lets them run on Colab, executed in place, without timestamps. ``--setup-only`` inserts or
refreshes that cell and executes nothing.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["REPOSITORY", "SETUP", "execute", "glue", "insert_setup", "main"]


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
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "./steinsdr-book"], check=True)
    importlib.invalidate_caches()
if os.path.isdir("steinsdr-book/notebooks"):  # also after a restart of the kernel
    os.chdir("steinsdr-book/notebooks")"""

_SETUP_ID = "setup"


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
    if counts == list(range(counts[0], counts[0] + len(counts))) and counts[0] > 0:
        for count, cell in enumerate([setup, *code], start=1):
            cell.execution_count = count
            for output in cell.outputs:
                if "execution_count" in output:
                    output.execution_count = count
    if nbformat.writes(notebook) == before:
        return False
    nbformat.write(notebook, path)
    return True


def execute(path: Path, *, timeout: int = 900) -> None:
    """Execute a notebook in place, in its own folder; a failing cell leaves the file as it was."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=timeout, kernel_name="python3", resources=resources).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times of the run, which change every time
    nbformat.write(notebook, path)


def main(arguments: list[str]) -> int:
    """Insert the setup cell into the notebooks named on the command line and execute them."""
    parser = argparse.ArgumentParser(
        prog="python -m steinsdr.paper.notebook", description=main.__doc__
    )
    parser.add_argument("notebooks", nargs="+", type=Path)
    parser.add_argument("--setup-only", action="store_true", help="execute nothing")
    options = parser.parse_args(arguments)
    for path in options.notebooks:
        changed = insert_setup(path)
        print(f"{path} (setup cell written)" if changed else path, flush=True)
        if not options.setup_only:
            execute(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
