"""How a failure is written in the status of a row."""

from __future__ import annotations

__all__ = ["reason"]


def reason(error: Exception) -> str:
    r"""Return the status of a cell that raised ``error``, in one line.

    Examples
    --------
    >>> reason(ValueError("the loss\nis nan"))
    'failed: ValueError: the loss is nan'
    """
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return f"failed: {text[:160]}"
