"""Corollary 1, Theorem 3 and the rank rules: from an error in M to its subspace and its rank."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import ceil
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import minimize

from ...baselines import SIR, DominanceRank
from ...moments import cross_moment
from ...rank import AdaptiveRank, HardThreshold
from ...simulation import simulate, stream
from ...subspace import procrustes_distance
from .lemma1 import gaussian_moment, random_basis

CONSTANT = float(4 * np.sqrt(2))
r"""Corollary 1 in its proof: :math:`\mathrm{dist} \le 4\sqrt 2\, \|\hat M - M\|_F/\sigma_r(M)`."""

SHARP_CONSTANT = 2.0
r"""The least constant that serves every M of rank r in
:math:`\mathrm{dist} \le 2\, \|\hat M - M\|_F/\sigma_r(M)`; see :func:`corollary_search`."""

RELATIVE_ERRORS = (0.01, 0.1, 0.3, 0.7072, 1.0, 3.0)
r"""Values of :math:`\|E\|_F/\sigma_r(M)` to try. A little above :math:`1/\sqrt 2` aligned noise
makes two directions trade places: the smallest error that loses one, hence the worst case."""


def _ratio(M: NDArray, perturbed: NDArray, r: int) -> tuple[float, float, float]:
    """Return distance, relative error ||E||_F / sigma_r, and their quotient."""
    U, values, _ = np.linalg.svd(M, full_matrices=False)
    U_hat = np.linalg.svd(perturbed, full_matrices=False)[0]
    distance = procrustes_distance(U_hat[:, :r], U[:, :r])
    relative = float(np.linalg.norm(perturbed - M) / values[r - 1])
    return distance, relative, distance / relative


def corollary_ratios(
    p: int, q: int, r: int, sizes: Sequence[float], n_reps: int, rng: np.random.Generator
) -> pd.DataFrame:
    r"""Distance against relative error for random M of rank r and perturbations of several kinds.

    ``sizes`` are values of :math:`\|E\|_F/\sigma_r(M)`. Kinds: "dense" normal noise; "rank-one"
    noise; "aligned" noise, which lowers the weakest direction of M and lifts one orthogonal to it,
    until they trade places. Columns kind, size, rep, distance, constant (distance over size).
    """
    rows = []
    for size, rep in product(sizes, range(n_reps)):
        U, V = random_basis(p, r + 1, rng), random_basis(q, r + 1, rng)
        values = np.sort(rng.uniform(1, 3, r))[::-1]
        M = (U[:, :r] * values) @ V[:, :r].T
        kinds = {
            "dense": rng.standard_normal((p, q)),
            "rank-one": np.outer(rng.standard_normal(p), rng.standard_normal(q)),
            "aligned": np.outer(U[:, r], V[:, r]) - np.outer(U[:, r - 1], V[:, r - 1]),
        }
        for kind, E in kinds.items():
            perturbed = M + size * values[-1] * E / np.linalg.norm(E)
            distance, _, constant = _ratio(M, perturbed, r)
            rows.append((kind, size, rep, distance, constant))
    return pd.DataFrame(rows, columns=["kind", "size", "rep", "distance", "constant"])


def corollary_search(p: int, q: int, r: int, n_starts: int, rng: np.random.Generator) -> pd.Series:
    r"""Corollary 1, adversarially: the largest distance over :math:`\|E\|_F/\sigma_r` by start.

    M has rank r and random singular values, the last of which is 1. Half of the starts are
    random perturbations of about the size of :math:`\sigma_r`, half are near the one that makes
    the weakest direction and a new one trade places. The proof's bound is 2.
    """
    best = []
    for start in range(n_starts):
        values = np.append(rng.uniform(1, 3, r - 1), 1.0)
        M = np.zeros((p, q))
        M[range(r), range(r)] = values
        E = rng.standard_normal((p, q)) / (p * q) ** 0.5
        if start % 2:
            E *= 0.1
            E[r - 1, r - 1] -= 0.5
            E[r, r] += 0.5

        def ratio(entries: NDArray, M: NDArray = M) -> float:
            return -_ratio(M, M + entries.reshape(p, q), r)[2]

        options = {"maxfev": 2000, "adaptive": True}
        found = minimize(ratio, E.ravel(), method="Nelder-Mead", options=options)
        best.append(-found.fun)
    return pd.Series(best)


def rank_recovery(
    sizes: list[int],
    factors: list[float],
    *,
    p: int = 20,
    n_unlabeled: int = 0,
    n_reps: int,
    score: Any = None,
    seed: int = 42,
) -> pd.DataFrame:
    r"""Theorem 3: how often Algorithm 1 finds r = 3 with threshold factor times :math:`\sigma_r`.

    The score is the true one unless another is given: trained on the labeled rows, or on
    ``n_unlabeled`` others. Columns n, factor, rep, correct; ``sufficient`` marks data sets with
    :math:`\|\hat M - M\|_F < \sigma_r/2`, on which the proof guarantees the rank; ``distance``
    and ``constant`` (distance over :math:`\|\hat M - M\|_F/\sigma_r(M)`) are those of Corollary 1.
    """
    rows = []
    for n, rep in product(sizes, range(n_reps)):
        data = simulate("isotropic", n, p=p, n_unlabeled=n_unlabeled, seed=seed + rep)
        rows_of_score = data.X_unlabeled if n_unlabeled else data.X
        # The true score of standard normal x is x.
        scores = data.X if score is None else score.fit(rows_of_score).evaluate(data.X)
        M_hat, M = cross_moment(scores, data.Y), gaussian_moment(data.B)
        sigma = float(np.linalg.svd(M, compute_uv=False)[2])
        distance, relative, constant = _ratio(M, M_hat, 3)
        for factor in factors:
            correct = HardThreshold(factor * sigma).select(M_hat).rank == 3
            rows.append((n, factor, rep, correct, relative < 0.5, distance, constant))
    columns = ["n", "factor", "rep", "correct", "sufficient", "distance", "constant"]
    return pd.DataFrame(rows, columns=columns)


def energy_ranks(max_ranks: list[int], *, seed: int = 42) -> pd.Series:
    """Ranks that the energy rule of Algorithm 2 gives, by the largest candidate.

    The singular values are three that stand out and seven equal ones of noise.
    """
    rng = stream(seed, "claims", "energy")
    X = rng.standard_normal((50, 10))  # the rule looks at the singular values alone
    data: dict[str, Any] = {"scores": X, "Y": X, "X": X, "rng": rng}
    rules = {k: AdaptiveRank(max_rank=k, branch="energy") for k in max_ranks}
    values = np.diag((3.0, 2.0, 1.5, *[0.5] * 7))
    return pd.Series({k: rule.select(values, **data).rank for k, rule in rules.items()})


def sir_ranks(null: str = "pooled", *, seed: int = 42) -> pd.Series:
    """Ranks that Algorithm 3 selects for SIR where the truth is 3 and the largest candidate is 6.

    20 data sets of 300 rows: ten normal predictors, six responses, which are three of the
    predictors, each twice, with noise of half their size. ``null`` is that of
    :class:`steinsdr.baselines.SIR`.
    """
    ranks = []
    for rep in range(20):
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


def permutation_level(n_permutations: int, quantile: float = 0.90) -> tuple[float, float]:
    """Bounds of the level of "observed value above a quantile of m permuted ones".

    Without a relation all m + 1 values are exchangeable: the observed one exceeds the k-th smallest
    of the others with probability :math:`(m + 1 - k)/(m + 1)`.

    Examples
    --------
    >>> [round(end, 3) for end in permutation_level(60)]
    [0.098, 0.115]
    """
    # numpy interpolates between the order statistics on either side of this place
    place = 1 + quantile * (n_permutations - 1)
    low, high = ((n_permutations + 1 - k) / (n_permutations + 1) for k in (ceil(place), int(place)))
    return low, high


def rank_frequencies(
    signals: list[float],
    *,
    n: int,
    n_permutations: int = 100,
    n_reps: int,
    seed: int = 42,
) -> pd.DataFrame:
    r"""Ranks by Algorithm 2's permutations in :math:`y = g A^\top B^\top x + \varepsilon`, by g.

    r = 3, p = 20, q = 10; x and noise are standard normal, A has orthonormal rows, the score is the
    true one. Signal g = 0 means no relation. Columns signal, rep; first, whether the first singular
    value exceeds its threshold; over and under, whether more or fewer directions are kept than
    there are; over_first and under_first, the same with the threshold of the first for all.
    """
    r, p, q = 3, 20, 10
    rule = AdaptiveRank(n_permutations=n_permutations, branch="permutation")
    rows = []
    for signal, rep in product(signals, range(n_reps)):
        true_rank = r if signal else 0
        rng = stream(seed, "rank", r, n, p, q, str(signal), rep)
        B, A = random_basis(p, r, rng), random_basis(q, r, rng).T
        X = rng.standard_normal((n, p))
        Y = signal * (X @ B) @ A + rng.standard_normal((n, q))
        chosen = rule.select(X.T @ Y / n, scores=X, Y=Y, X=X, rng=rng)
        assert chosen.thresholds is not None  # the permutation rule has them
        beyond_first = int((chosen.singular_values > chosen.thresholds[0]).sum())
        kept = chosen.rank if beyond_first else 0  # the rule keeps one direction in any case
        row = {"signal": signal, "rep": rep, "first": bool(beyond_first)}
        row |= {"over": kept > true_rank, "under": kept < true_rank}
        row |= {"over_first": beyond_first > true_rank, "under_first": beyond_first < true_rank}
        rows.append(row)
    return pd.DataFrame(rows)


def even_link_passes(
    sizes: list[int], *, n_permutations: int = 60, n_reps: int, seed: int = 42
) -> pd.DataFrame:
    r"""Algorithm 2 where M = 0 without independence: :math:`y = x_1^2 + \varepsilon`, normal x.

    p = 20, one response, the true score. Column ``passes`` by n and rep: whether the first singular
    value exceeds its threshold.
    """
    rule = AdaptiveRank(n_permutations=n_permutations, branch="permutation")
    rows = []
    for n, rep in product(sizes, range(n_reps)):
        rng = stream(seed, "even null", n, rep)
        X = rng.standard_normal((n, 20))
        Y = X[:, :1] ** 2 + rng.standard_normal((n, 1))
        chosen = rule.select(X.T @ Y / n, scores=X, Y=Y, X=X, rng=rng)
        assert chosen.thresholds is not None  # the permutation rule has them
        rows.append((n, rep, bool(chosen.singular_values[0] > chosen.thresholds[0])))
    return pd.DataFrame(rows, columns=["n", "rep", "passes"])
