r"""Algorithm 2 as a test: how often it keeps too many or too few directions.

The permutation rule compares the k-th singular value of :math:`\hat M` with a quantile of the k-th
singular value of permuted data. For k = 1 that is a test of "no relation at all", of its nominal
size up to 1/(m + 1) with m permutations (:func:`permutation_level`). For k = r + 1 it
is not a test of "no further direction": permuted data have no signal, so their (r+1)-th singular
value has r larger noise values above it, while that of :math:`\hat M` is the *first* of its noise
values.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from .._validation import check_integer
from ..rank import AdaptiveRank
from ..streams import stream
from .stein_identity import random_basis

__all__ = ["permutation_level", "rank_frequencies"]


def permutation_level(n_permutations: int, quantile: float = 0.90) -> tuple[float, float]:
    r"""Bounds of the level of "observed value above a quantile of m permuted ones".

    Without a relation the observed value and the m permuted ones are exchangeable, so the observed
    one exceeds the k-th smallest of the others with probability :math:`(m + 1 - k)/(m + 1)`, apart
    from ties. The quantile lies between two of these, the observed value not among them.

    Examples
    --------
    >>> [round(end, 3) for end in permutation_level(60)]
    [0.098, 0.115]
    """
    m = check_integer(n_permutations, "n_permutations", low=1)
    if not 0 < quantile < 1:
        raise ValueError(f"quantile must be in (0, 1); got {quantile!r}.")
    # numpy interpolates between the order statistics on either side of 1 + quantile (m - 1)
    place = 1 + quantile * (m - 1)
    return float((m + 1 - np.ceil(place)) / (m + 1)), float((m + 1 - np.floor(place)) / (m + 1))


def rank_frequencies(
    signals: list[float],
    *,
    r: int = 3,
    n: int = 300,
    p: int = 20,
    q: int = 10,
    branch: str = "permutation",
    quantile: float = 0.90,
    n_permutations: int = 100,
    n_reps: int = 100,
    seed: int = 42,
) -> pd.DataFrame:
    r"""Selected ranks in a linear model :math:`y = g A^\top B^\top x + \varepsilon`, by signal g.

    x and noise are standard normal, A has orthonormal rows, the score is the true one. Signal 0
    is the null hypothesis of no relation. Columns signal, rep, rank, first (whether the first
    singular value passed its threshold), over (more directions than r), under, and over_first:
    whether more than r singular values exceed the threshold of the first.
    """
    check_integer(r, "r", low=1, high=min(p, q) - 1)
    rule = AdaptiveRank(quantile=quantile, n_permutations=n_permutations, branch=branch)
    rows = []
    for signal in signals:
        true_rank = r if signal else 0
        for rep in range(n_reps):
            rng = stream(seed, "rank", r, n, p, q, str(signal), rep)
            B, A = random_basis(p, r, rng), random_basis(q, r, rng).T
            X = rng.standard_normal((n, p))
            Y = signal * (X @ B) @ A + rng.standard_normal((n, q))
            chosen = rule.select(X.T @ Y / n, scores=X, Y=Y, X=X, rng=rng)
            kept, beyond = chosen.rank, False
            if chosen.thresholds is not None:
                values, limit = chosen.singular_values, chosen.thresholds[0]
                kept = kept if values[0] > limit else 0
                beyond = bool(values[true_rank] > limit)
            outcome = (bool(kept), kept > true_rank, kept < true_rank, beyond)
            rows.append((signal, rep, chosen.rank, *outcome))
    columns = ["signal", "rep", "rank", "first", "over", "under", "over_first"]
    return pd.DataFrame(rows, columns=columns)
