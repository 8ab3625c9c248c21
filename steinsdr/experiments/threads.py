"""One thread per process: the same numbers everywhere, and no fight between workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

__all__ = ["one_thread"]


@contextmanager
def one_thread(*, networks: bool = True) -> Iterator[None]:
    """Run linear algebra and, if there are networks, torch on one thread; restore it after.

    Modules of networks are loaded now, not when the first network is due: their files may have
    changed by then, and the fingerprint is that of the code at the start.
    """
    if not networks:  # importing torch takes seconds
        with threadpool_limits(1):
            yield
        return
    import torch

    from .. import _relu  # noqa: F401
    from ..scores import _network  # noqa: F401

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(before)
