"""What notebooks need and the package does not: numbers for the book's prose."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["glue"]


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
