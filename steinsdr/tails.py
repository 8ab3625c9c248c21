"""Light or heavy tails: the switch inside Algorithms 2, 3 and 4."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import kurtosis, skew

from ._validation import check_matrix, varying_columns

__all__ = ["KURTOSIS_LIMIT", "SKEWNESS_LIMIT", "TailCheck", "tail_check"]

SKEWNESS_LIMIT = 2.75
KURTOSIS_LIMIT = 10.0


@dataclass(frozen=True)
class TailCheck:
    """Largest absolute skewness and largest excess kurtosis over the features, and the verdict."""

    skewness: float
    kurtosis: float
    heavy: bool


def tail_check(
    X: ArrayLike, *, skewness: float = SKEWNESS_LIMIT, kurtosis_: float = KURTOSIS_LIMIT
) -> TailCheck:
    """Classify x as heavy-tailed if any feature exceeds a limit :math:`s_0` or :math:`k_0`.

    The paper gives no limits. These separate its four laws and its data at every sample size
    it uses, with a margin that the tests measure: 100 Gaussian features at n = 50 stay below both,
    log-normal ones exceed both by far. Columns that do not vary have no tails.

    Parameters
    ----------
    X : array-like of shape (n, p)
    skewness, kurtosis_ : float
        Limits of the absolute skewness and of the excess kurtosis.

    Examples
    --------
    >>> z = np.random.default_rng(0).standard_normal((300, 5))
    >>> tail_check(z).heavy, tail_check(np.exp(1.5 * z)).heavy
    (False, True)
    """
    points = check_matrix(X, "X")
    points = points[:, varying_columns(points)]
    if not points.shape[1]:
        return TailCheck(0.0, 0.0, False)
    s_max = float(np.abs(skew(points, axis=0)).max())
    k_max = float(kurtosis(points, axis=0).max())
    return TailCheck(s_max, k_max, s_max > skewness or k_max > kurtosis_)
