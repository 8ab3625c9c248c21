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
from ..rank import AdaptiveRank
from ..streams import stream

__all__ = ["SPECTRUM", "energy_ranks", "largest_mlp_rank", "sir_ranks"]

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
