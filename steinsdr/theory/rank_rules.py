r"""Rank rules beside the permutation test of Algorithm 2: the energy share, Algorithms 3 and 4.

None of them can tell a direction from noise. An energy share counts noise values as it counts
signals; Algorithm 3 permutes like Algorithm 2 (:mod:`steinsdr.theory.rank_tests`), hence inherits
its defect; Algorithm 4 is an energy share again.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from .._validation import check_integer
from ..baselines import SIR, DominanceRank
from ..rank import AdaptiveRank, RankSelection
from ..streams import stream
from .stein_identity import random_basis

__all__ = [
    "SPECTRUM",
    "energy_ranks",
    "first_threshold_rank",
    "first_threshold_ranks",
    "largest_mlp_rank",
    "sir_ranks",
]

SPECTRUM = (3.0, 2.0, 1.5, *[0.5] * 7)
"""Three singular values that stand out, then seven of noise."""


def energy_ranks(max_ranks: list[int], *, seed: int = 42) -> pd.Series:
    """Ranks that the energy rule of Algorithm 2 gives on ``SPECTRUM``, by the largest candidate.

    Examples
    --------
    >>> energy_ranks([5, 10]).to_dict()
    {5: 3, 10: 7}
    """
    X = stream(seed, "claims", "energy").standard_normal((50, len(SPECTRUM)))
    nothing = np.zeros_like(X)  # the energy rule looks at neither scores nor responses
    ranks = {}
    for k in max_ranks:
        rule = AdaptiveRank(max_rank=k, branch="energy")
        selection = rule.select(
            np.diag(SPECTRUM), scores=X, Y=nothing, X=X, rng=stream(seed, "claims", "unused")
        )
        ranks[k] = selection.rank
    return pd.Series(ranks)


def first_threshold_rank(selection: RankSelection) -> int:
    """Count the singular values above the *first* threshold of a permutation test, one at least.

    The largest singular value of permuted data is that of pure noise, so noise passes it no more
    often than the level says, whatever its place. Weak directions pass it less often, too.

    Parameters
    ----------
    selection : RankSelection
        With ``thresholds``, as :class:`steinsdr.rank.AdaptiveRank` returns it under light tails;
        a fitted :class:`steinsdr.SteinSDR` keeps it as ``rank_``.

    Raises
    ------
    ValueError
        If the selection has no thresholds.

    Examples
    --------
    >>> values, limits = np.array([3.0, 1.0, 0.5]), np.array([1.2, 0.8, 0.4])
    >>> first_threshold_rank(RankSelection(3, "permutation", values, values, limits))
    1
    """
    if selection.thresholds is None:
        raise ValueError(f"the rule {selection.method!r} has no thresholds.")
    return max(1, int((selection.singular_values > selection.thresholds[0]).sum()))


def first_threshold_ranks(
    signals: list[float],
    *,
    r: int = 3,
    n: int = 300,
    p: int = 20,
    q: int = 10,
    n_permutations: int = 100,
    n_reps: int = 100,
    seed: int = 42,
) -> pd.DataFrame:
    """Ranks by :func:`first_threshold_rank` on the data sets of ``rank_frequencies``.

    Design and draws are those of :func:`steinsdr.theory.rank_tests.rank_frequencies`; signals are
    positive. Columns signal, rep, rank, over (more directions than r), under.
    """
    check_integer(r, "r", low=1, high=min(p, q) - 1)
    rule = AdaptiveRank(n_permutations=n_permutations, branch="permutation")
    rows = []
    for signal in signals:
        for rep in range(n_reps):
            rng = stream(seed, "rank", r, n, p, q, str(signal), rep)
            B, A = random_basis(p, r, rng), random_basis(q, r, rng).T
            X = rng.standard_normal((n, p))
            Y = signal * (X @ B) @ A + rng.standard_normal((n, q))
            selection = rule.select(X.T @ Y / n, scores=X, Y=Y, X=X, rng=rng)
            rank = first_threshold_rank(selection)
            rows.append((signal, rep, rank, rank > r, rank < r))
    return pd.DataFrame(rows, columns=["signal", "rep", "rank", "over", "under"])


def sir_ranks(null: str = "pooled", *, n_reps: int = 20, seed: int = 42) -> pd.Series:
    """Ranks that Algorithm 3 selects for SIR where the truth is 3 and the largest candidate is 6.

    300 rows of ten normal predictors, six responses: three of the predictors, each twice, with
    noise of half their size. ``null`` is that of :class:`steinsdr.baselines.SIR`.
    """
    check_integer(n_reps, "n_reps", low=1)
    ranks = []
    for rep in range(n_reps):
        rng = stream(seed, "claims", "sir", rep)
        X = rng.standard_normal((300, 10))
        Y = X[:, [0, 1, 2] * 2] + 0.5 * rng.standard_normal((300, 6))
        rule = AdaptiveRank(max_rank=6, n_permutations=60)
        ranks.append(SIR(rank=rule, null=null, random_state=rep).fit(X, Y).n_components_)
    return pd.Series(ranks)


def largest_mlp_rank(energy_light: float = 0.90, *, seed: int = 42) -> int:
    """Largest rank that Algorithm 4 can return under light tails with ten candidates.

    A flat spectrum gives it: the k largest of ten values hold at least k tenths of the energy.
    """
    X = stream(seed, "claims", "mlp").standard_normal((100, 10))
    return DominanceRank(energy_light=energy_light).select(np.eye(10), X=X).rank
