"""Warnings about data on which the cross-moment shows something other than directions."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from .rank import RankSelection

__all__ = [
    "units_differ",
    "warn_if_nothing_stands_out",
    "warn_if_off_centre",
    "warn_if_responses_differ",
    "warn_if_units_differ",
]

MEAN_LIMIT = 0.5  # of the mean's part in the cross-moment, against the largest singular value
UNITS_LIMIT = 10.0


def warn_if_off_centre(scores: NDArray, Y: NDArray, M: NDArray, *, stacklevel: int) -> None:
    r"""Warn if :math:`\bar s \bar y^\top`, zero for the true score, is a large part of M (p, q)."""
    part = np.outer(scores.mean(axis=0), Y.mean(axis=0))
    size = np.linalg.norm(part)  # of rank one: its only singular value
    rest = np.linalg.norm(M - part, ord=2)
    if size > MEAN_LIMIT * rest:
        warnings.warn(
            f"y: the mean of the responses adds {size:.2g} to a cross-moment whose largest "
            f"singular value is {rest:.2g} without it. What it adds is noise; pass center=True.",
            stacklevel=stacklevel + 1,
        )


def warn_if_nothing_stands_out(selection: RankSelection, *, stacklevel: int) -> None:
    """Warn if the largest singular value stays below its threshold; a direction is kept still."""
    thresholds = getattr(selection, "thresholds", None)  # a user's own rule may have none
    if thresholds is None or selection.singular_values[0] > thresholds[0]:
        return
    warnings.warn(
        f"rank: no direction stands out, the largest singular value is "
        f"{selection.singular_values[0]:.2g} and its threshold {thresholds[0]:.2g}. One "
        "direction is kept all the same; do not trust it.",
        stacklevel=stacklevel + 1,
    )


def warn_if_units_differ(X: NDArray, *, stacklevel: int) -> None:
    """Warn if the columns of X (n, p) differ so much in spread that the smallest decide."""
    if units_differ(X):
        warnings.warn(
            f"X: the spreads of the columns differ by more than a factor of {UNITS_LIMIT:.0f}, and "
            "directions follow the smallest. Standardize the columns first, for example with a "
            "StandardScaler in a pipeline, unless the units are meant.",
            stacklevel=stacklevel + 1,
        )


def warn_if_responses_differ(Y: NDArray, n_components: int, *, stacklevel: int) -> None:
    """Warn if the columns of Y (n, q) differ so much in spread that the largest decide.

    With as many directions as responses nothing is left to decide.
    """
    if n_components < Y.shape[1] and units_differ(Y):
        warnings.warn(
            f"y: the spreads of the responses differ by more than a factor of {UNITS_LIMIT:.0f}, "
            "and directions follow the largest. Standardize y first, unless the units are meant.",
            stacklevel=stacklevel + 1,
        )


def units_differ(X: NDArray) -> bool:
    """Return whether columns differ tenfold in spread, by standard deviation and by quartiles.

    Both must: heavy tails alone make standard deviations differ, and many equal values quartiles.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 2))
    >>> units_differ(X), units_differ(X * [1.0, 100.0])
    (False, True)
    """
    low, high = np.quantile(X, [0.25, 0.75], axis=0)
    spreads = (X.std(axis=0), (high - low)[high > low])
    return all(s.size > 0 and s.max() > UNITS_LIMIT * s.min() for s in spreads)
