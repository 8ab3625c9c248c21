"""How fast an error falls with the sample size: a log-log slope and its confidence interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ..._base import check_integer

__all__ = ["Rate", "fit_rate", "rate_of"]


@dataclass(frozen=True)
class Rate:
    """The exponent b of error ~ size^b, with a confidence interval.

    Attributes
    ----------
    slope : float
        Least-squares slope of log mean error on log size.
    low, high : float
        Ends of the interval.
    level : float
        Its nominal coverage.
    """

    slope: float
    low: float
    high: float
    level: float = 0.95

    def contains(self, exponent: float) -> bool:
        """Whether the interval holds ``exponent``."""
        return self.low <= exponent <= self.high

    def at_least_as_fast_as(self, exponent: float) -> bool:
        """Whether the error falls like size^exponent or faster, as far as the interval can say."""
        return self.low <= exponent

    def __str__(self) -> str:
        return f"{self.slope:.2f} [{self.low:.2f}, {self.high:.2f}]"


def _slopes(log_sizes: NDArray, log_errors: NDArray) -> NDArray:
    centred = log_sizes - log_sizes.mean()
    return log_errors @ centred / (centred @ centred)


def fit_rate(
    sizes: ArrayLike,
    errors: ArrayLike,
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    n_boot: int = 1000,
) -> Rate:
    """Regress the log of the mean error on the log of the size.

    The interval resamples repetitions within each size (percentile bootstrap), so it speaks of
    Monte-Carlo error alone: a curve that bends has a slope all the same. Look at the points, too.

    Parameters
    ----------
    sizes : array-like of shape (k,)
        At least two distinct positive sizes.
    errors : array-like of shape (k, R)
        Positive errors, R repetitions of each size.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> sizes = np.array([100, 200, 400, 800])
    >>> errors = rng.uniform(0.9, 1.1, (4, 50)) / np.sqrt(sizes)[:, None]
    >>> fit_rate(sizes, errors, rng=rng).contains(-0.5)
    True
    """
    x, table = np.asarray(sizes, dtype=float), np.asarray(errors, dtype=float)
    if table.ndim != 2 or table.shape[0] != x.size:
        raise ValueError(f"errors has shape {table.shape}; expected ({x.size}, R), one row a size.")
    if np.unique(x).size < 2 or (x <= 0).any():
        raise ValueError(f"sizes must hold two distinct positive numbers; got {sizes!r}.")
    if not (np.isfinite(table) & (table > 0)).all():
        raise ValueError("errors must be positive and finite to have logarithms.")
    if not 0 < level < 1:
        raise ValueError(f"level must be in (0, 1); got {level!r}.")
    check_integer(n_boot, "n_boot", low=1)
    R = table.shape[1]
    draws = rng.integers(R, size=(n_boot, x.size, R))
    means = np.take_along_axis(table[None], draws, axis=2).mean(axis=2)
    boot = _slopes(np.log(x), np.log(means))
    low, high = np.quantile(boot, [(1 - level) / 2, (1 + level) / 2])
    slope = float(_slopes(np.log(x), np.log(table.mean(axis=1))))
    return Rate(slope, float(low), float(high), level)


def rate_of(
    frame: pd.DataFrame, size: str, error: str, *, rng: np.random.Generator, level: float = 0.95
) -> Rate:
    """Return the :class:`Rate` of a tidy frame with one row per size and repetition."""
    groups = [group[error].to_numpy() for _, group in frame.groupby(size, sort=True)]
    if len({len(group) for group in groups}) != 1:
        raise ValueError(f"every {size} needs the same number of rows.")
    return fit_rate(np.sort(frame[size].unique()), np.stack(groups), rng=rng, level=level)
