"""The rank of a weight matrix by Algorithm 4."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from .._validation import check_choice, check_integer, check_limit, check_matrix, check_share
from ..rank import RankSelection, cumulative_energy, energy_rank, leading_singular_values
from ..tails import KURTOSIS_LIMIT, SKEWNESS_LIMIT, tail_check

__all__ = ["DominanceRank"]


class DominanceRank(BaseEstimator):
    r"""Algorithm 4: an energy share, or one direction if it dominates under light tails.

    Parameters
    ----------
    max_rank : int, default=10
        Largest candidate :math:`r_{\max}`; the energy is that of the leading ``max_rank`` values.
    energy_heavy, energy_light : float, default=0.95, 0.90
        Energy shares :math:`\tau_h, \tau_l` under heavy and light tails.
    dominance : float, default=0.85
        Share :math:`\rho` beyond which the first direction is taken alone under light tails.
    skewness, kurtosis : float
        Tail limits :math:`s_0, k_0`, see :func:`steinsdr.tails.tail_check`.
    branch : {"auto", "heavy", "light"}, default="auto"
        "auto" chooses by the tails; the others force a rule.

    Notes
    -----
    Nothing here knows noise: a flat spectrum gives nearly ``max_rank``, whatever the truth. As nine
    of ten falling values hold at least 0.9 of the energy, the light rule of the paper's parameter
    table never returns 10. Yet its Table 2 has 10 in every light-tailed cell, which a light share
    of 0.95 gives.

    Examples
    --------
    >>> import numpy as np
    >>> z = np.random.default_rng(0).standard_normal((300, 3))
    >>> DominanceRank().select(np.diag([3.0, 1.0, 1.0]), X=z).rank
    2
    >>> DominanceRank().select(np.diag([4.0, 1.0, 1.0]), X=z).rank
    1
    """

    def __init__(
        self,
        max_rank: int = 10,
        *,
        energy_heavy: float = 0.95,
        energy_light: float = 0.90,
        dominance: float = 0.85,
        skewness: float = SKEWNESS_LIMIT,
        kurtosis: float = KURTOSIS_LIMIT,
        branch: str = "auto",
    ) -> None:
        self.max_rank = max_rank
        self.energy_heavy = energy_heavy
        self.energy_light = energy_light
        self.dominance = dominance
        self.skewness = skewness
        self.kurtosis = kurtosis
        self.branch = branch

    def select(self, matrix: ArrayLike, *, X: ArrayLike, **_: Any) -> RankSelection:
        """Return the rank of ``matrix`` (h, p), the first-layer weights, given X (n, p)."""
        k = check_integer(self.max_rank, "max_rank", low=1)
        check_choice(self.branch, "branch", ("auto", "heavy", "light"))
        for name in ("energy_heavy", "energy_light", "dominance"):
            check_share(getattr(self, name), name, one=True)
        for name in ("skewness", "kurtosis"):
            check_limit(getattr(self, name), name)
        values = leading_singular_values(check_matrix(matrix, "matrix"), k)
        energy = cumulative_energy(values)
        tails = tail_check(X, skewness=self.skewness, kurtosis_=self.kurtosis)
        heavy = tails.heavy if self.branch == "auto" else self.branch == "heavy"
        # Values that all vanish have energy one throughout, hence rank 1 in every branch.
        dominated = not heavy and energy[0] > self.dominance
        share = self.energy_heavy if heavy else self.energy_light
        return RankSelection(
            rank=1 if dominated else energy_rank(values, share),
            method="dominance" if dominated else "energy",
            singular_values=values,
            energy=energy,
            tails=tails,
        )
