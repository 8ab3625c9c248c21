r"""Stein's lemma against sliced inverse regression where :math:`E(x \mid B^\top x)` is not linear.

SIR needs the linearity condition and the lemma does not; but heavy-tailed scores make its average
noisy, so that the biased method may be nearer for long.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from .._validation import check_choice, check_integer
from ..baselines import SIR
from ..moments import cross_moment
from ..simulation import LAWS, links
from ..streams import stream
from ..subspace import procrustes_distance
from .stein_identity import SCORED_LAWS, ScoredLaw, paper_law, random_basis

__all__ = ["COMPARED_LAWS", "linearity_distances"]

COMPARED_LAWS: dict[str, ScoredLaw] = {
    **SCORED_LAWS,
    "lognormal-1.5": replace(paper_law(LAWS["lognormal"]), label="Log-normal, log sd 1.5"),
}
"""Laws with exact scores, and the log-normal one of the paper's simulations."""


def linearity_distances(
    laws: list[str], sizes: list[int], *, p: int = 5, n_reps: int = 6, seed: int = 42
) -> pd.DataFrame:
    r"""Distance from the truth of Stein's lemma with the true score, and of SIR, by sample size.

    The links of Section 4.1, ten responses, three directions, another B in each repetition;
    ``laws`` are keys of :data:`COMPARED_LAWS`. SIR is consistent if :math:`E(x \mid B^\top x)` is
    linear, as it is for normal x and not for log-normal x or a mixture. Columns law, method, n,
    rep, distance.

    Examples
    --------
    >>> frame = linearity_distances(["lognormal"], [4000], n_reps=1)
    >>> stein, sir = frame.distance
    >>> stein < sir
    True
    """
    check_integer(p, "p", low=3)
    rows = []
    for law in laws:
        scored = COMPARED_LAWS[check_choice(law, "law", COMPARED_LAWS)]
        for rep in range(n_reps):
            rng = stream(seed, "linearity", law, rep)
            B = random_basis(p, 3, rng)
            X = scored.draw(max(sizes), p, rng)
            Y = links(X @ B) + rng.standard_normal((len(X), 10))
            S = scored.score(X)
            for n in sizes:  # growing parts of one sample
                M_hat = cross_moment(S[:n], Y[:n])
                found = {
                    "Stein": np.linalg.svd(M_hat, full_matrices=False)[0][:, :3],
                    "SIR": SIR(3).fit(X[:n], Y[:n]).components_.T,
                }
                for method, U in found.items():
                    rows.append((law, method, n, rep, procrustes_distance(U, B)))
    return pd.DataFrame(rows, columns=["law", "method", "n", "rep", "distance"])
