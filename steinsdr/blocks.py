"""Fits of Dask collections: learn from a subset of the rows, then add up the moment by blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._base import check_matrix, is_dask, needs_extra, split_labeled


def block_rows(X: Any, y: Any) -> tuple[Any, Any]:
    """Return X (n, p) and y (n, q) as Dask arrays with equal blocks of whole rows.

    It is a ValueError if one of them is no Dask collection, sizes are unknown or rows differ.
    """
    with needs_extra("cluster", "fit on Dask collections"):
        import dask.array as da
    arrays = []
    for name, value in (("X", X), ("y", y)):
        if not is_dask(value):
            raise ValueError(
                f"{name} is a {type(value).__name__}; if one of X and y is a Dask collection, both "
                "must be."
            )
        array = value.to_dask_array(lengths=True) if hasattr(value, "to_dask_array") else value
        if np.isnan(array.shape).any():
            raise ValueError(
                f"{name} is a Dask array of unknown size, {array.shape}; call its "
                "compute_chunk_sizes() first."
            )
        if array.ndim == 1 and name == "y":
            array = array[:, None]
        if array.ndim != 2:
            raise ValueError(f"{name} has {array.ndim} dimension(s); expected 2.")
        arrays.append(array.rechunk({1: -1}))
    if len(arrays[0]) != len(arrays[1]):
        raise ValueError(
            f"y has {len(arrays[1])} row(s) but X has {len(arrays[0])}; they must match."
        )
    return arrays[0], da.asarray(arrays[1]).rechunk({0: arrays[0].chunks[0], 1: -1})


def labeled_rows(Y: Any) -> NDArray:
    """Return the mask (n,) of the rows of a Dask array (n, q) that have responses, in memory."""
    import dask

    missing = np.isnan(Y)
    some, every = dask.compute(missing.any(axis=1), missing.all(axis=1))
    # A row that is partly missing stays so in two columns.
    return split_labeled(np.where(np.column_stack([some, every]), np.nan, 0.0))


def add_up(sdr: Any, moment: Any, X: Any, Y: Any) -> NDArray:
    """Return the moment over all labeled rows; sums are added in the order of the blocks."""
    import dask

    plan = dask.delayed((sdr, moment), pure=False)
    blocks = zip(X.to_delayed().ravel(), Y.to_delayed().ravel(), strict=True)
    sums = [dask.delayed(_block_sum)(plan, x, y) for x, y in blocks]
    return sum(dask.compute(*sums)) / sdr.n_rows_


def _block_sum(plan: tuple[Any, Any], X: NDArray, Y: NDArray) -> NDArray | float:
    """Return a block's part of the moment, on the worker that has it."""
    sdr, moment = plan
    labeled = split_labeled(Y)
    if not labeled.any():
        return 0.0
    points, responses = check_matrix(X, "X")[labeled], check_matrix(Y[labeled], "y")
    return sdr._block_sum(moment, points, responses, np.zeros(len(points), dtype=int))
