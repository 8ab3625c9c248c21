"""What notebooks need and the package does not: numbers for the book's prose, and re-execution.

``python -m steinsdr.notebook notebooks/*.ipynb`` executes notebooks in place, as committed:
outputs and execution counts, no timestamps.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["execute", "glue"]


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
    """Execute the notebooks named on the command line."""
    for name in arguments:
        print(name, flush=True)
        execute(Path(name))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
