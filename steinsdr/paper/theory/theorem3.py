r"""Corollary 1 and Theorem 3: from an error in M to one in its subspace, and to its rank."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..._base import check_choice, check_integer
from ...baselines import SIR, DominanceRank, MLPDirections
from ...moments import cross_moment
from ...rank import AdaptiveRank, HardThreshold, RankSelection
from ...scores import DenoisingScore, GaussianScore, TikhonovScore
from ...simulation import Simulation, simulate, stream
from ...subspace import procrustes_distance
from ..network import evaluate_reductions
from .lemma1 import gaussian_moment, random_basis

__all__ = [
    "CONSTANT",
    "PRINTED",
    "SIZES",
    "SPECTRUM",
    "compare_settings",
    "corollary_ratios",
    "design_ratios",
    "energy_ranks",
    "first_threshold_rank",
    "first_threshold_ranks",
    "largest_mlp_rank",
    "permutation_level",
    "rank_frequencies",
    "rank_recovery",
    "sir_ranks",
    "vanishing_signal",
    "worst_ratio",
]


CONSTANT = float(4 * np.sqrt(2))
r"""Corollary 1 in its proof: :math:`\mathrm{dist} \le 4\sqrt 2\, \|\hat M - M\|_F/\sigma_r(M)`."""

SIZES = (0.01, 0.1, 0.3, 0.7072, 1.0, 3.0)
r"""Relative errors to try. A little above :math:`1/\sqrt 2` aligned noise makes two directions
trade places: the smallest error that loses one, hence the worst case."""


def _left(M: NDArray, r: int) -> NDArray:
    return np.linalg.svd(M, full_matrices=False)[0][:, :r]


def _ratio(M: NDArray, perturbed: NDArray, r: int) -> tuple[float, float, float]:
    """Return distance, relative error ||E||_F / sigma_r, and their quotient."""
    distance = procrustes_distance(_left(perturbed, r), _left(M, r))
    relative = float(np.linalg.norm(perturbed - M) / np.linalg.svd(M, compute_uv=False)[r - 1])
    return distance, relative, distance / relative


def corollary_ratios(
    p: int, q: int, r: int, sizes: Sequence[float], n_reps: int, rng: np.random.Generator
) -> pd.DataFrame:
    r"""Distance against relative error for random M of rank r and perturbations of several kinds.

    ``sizes`` are values of :math:`\|E\|_F/\sigma_r(M)`. Kinds: "dense" normal noise; "rank-one"
    noise; "aligned" noise, which lowers the weakest direction of M and lifts one orthogonal to it,
    until they trade places.
    Columns kind, size, rep, distance, constant (distance over size), bound.
    """
    check_integer(r, "r", low=1, high=min(p, q) - 1)
    rows = []
    for size in sizes:
        for rep in range(n_reps):
            U = np.linalg.qr(rng.standard_normal((p, r + 1)))[0]
            V = np.linalg.qr(rng.standard_normal((q, r + 1)))[0]
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
                rows.append((kind, size, rep, distance, constant, CONSTANT * size))
    columns = ["kind", "size", "rep", "distance", "constant", "bound"]
    return pd.DataFrame(rows, columns=columns)


def worst_ratio(n_angles: int = 401, *, rank_one: bool = False) -> float:
    r"""The smallest constant that serves every M of rank one, by exhaustion over 2 x 2 matrices.

    :math:`M = e_1 e_1^\top` against :math:`\hat M = \sigma_1 a b^\top + \sigma_2 a_\perp
    b_\perp^\top` with :math:`\sigma_1 \ge \sigma_2`, over all angles of a and b to
    :math:`e_1`; given these, the best singular values are explicit. Larger matrices add nothing:
    what :math:`\hat M` has outside the span of :math:`e_1, a` on the left and :math:`e_1, b` on
    the right only adds to the error. The worst case has equal singular values, a limit: the
    constant is approached, not attained.

    Parameters
    ----------
    n_angles : int
        Angles between 0 and a right one, for a and for b.
    rank_one : bool
        Whether only :math:`\hat M` of rank one are tried: they miss the worst case.

    Examples
    --------
    >>> round(worst_ratio(), 6), round(worst_ratio(rank_one=True), 6)
    (2.0, 1.414214)
    """
    check_integer(n_angles, "n_angles", low=2)
    angles = np.linspace(0, np.pi / 2, n_angles)
    left, right = angles[1:, None], angles
    first, second = np.cos(left) * np.cos(right), np.sin(left) * np.sin(right)
    # ||E||^2 = 1 + s1^2 + s2^2 - 2 (s1 first + s2 second), least over s1 >= s2 >= 0 (or s2 = 0)
    mean = (first + second) / 2
    s1 = first if rank_one else np.where(first >= second, first, mean)
    s2 = np.zeros_like(mean) if rank_one else np.where(first >= second, second, mean)
    error = np.sqrt(1 + s1**2 + s2**2 - 2 * (s1 * first + s2 * second)).min(axis=1)
    return float((2 * np.sin(angles[1:] / 2) / error).max())


def _moment(data: Simulation, score: Any) -> NDArray:
    """Return M hat with the true score (None), or one trained on the unlabeled rows, if any."""
    if score is None:
        p = data.X.shape[1]
        return cross_moment(GaussianScore(np.zeros(p), np.eye(p)).evaluate(data.X), data.Y)
    rows = data.X_unlabeled if len(data.X_unlabeled) else data.X
    return cross_moment(score.fit(rows).evaluate(data.X), data.Y)


def design_ratios(
    sizes: list[int], *, p: int = 20, n_reps: int = 10, seed: int = 42
) -> pd.DataFrame:
    r"""The corollary on the paper's design: distance over :math:`\sqrt{r/q}\,\|\hat M - M\|_F`.

    Isotropic x and the true score; for an estimated one see :func:`rank_recovery`. Columns n,
    rep, distance, error, constant (distance over error/sigma_r) and c0, the constant in the
    corollary's own scaling.
    """
    rows = []
    for n in sizes:
        for rep in range(n_reps):
            data = simulate("isotropic", n, p=p, seed=seed + rep)
            M_hat, M = _moment(data, None), gaussian_moment(data.B)
            distance, _, constant = _ratio(M, M_hat, 3)
            error = float(np.linalg.norm(M_hat - M))
            rows.append((n, rep, distance, error, constant, distance / (np.sqrt(0.3) * error)))
    return pd.DataFrame(rows, columns=["n", "rep", "distance", "error", "constant", "c0"])


def vanishing_signal(
    shrinkage: list[float],
    *,
    p: int = 20,
    q: int = 10,
    error: float = 0.1,
    n_reps: int = 20,
    rng: np.random.Generator,
) -> pd.DataFrame:
    r"""As :math:`\sigma_r(M)` falls below :math:`\sqrt{q/r}`, the same error loses a direction.

    M has singular values :math:`\sqrt{q/r}(1, 1, \text{shrinkage})`; the error's norm is fixed.
    Column ``c0`` is the constant that the corollary would need.
    """
    scale = np.sqrt(q / 3)
    rows = []
    for factor in shrinkage:
        for rep in range(n_reps):
            U = np.linalg.qr(rng.standard_normal((p, 3)))[0]
            V = np.linalg.qr(rng.standard_normal((q, 3)))[0]
            M = (U * scale * np.array([1, 1, factor])) @ V.T
            E = rng.standard_normal((p, q))
            distance = _ratio(M, M + error * E / np.linalg.norm(E), 3)[0]
            rows.append((factor, rep, distance, distance / (error / scale)))
    return pd.DataFrame(rows, columns=["shrinkage", "rep", "distance", "c0"])


def rank_recovery(
    sizes: list[int],
    factors: list[float],
    *,
    p: int = 20,
    n_unlabeled: int = 0,
    n_reps: int = 20,
    score: Any = None,
    seed: int = 42,
) -> pd.DataFrame:
    r"""Theorem 3: how often Algorithm 1 finds r = 3 with threshold factor times :math:`\sigma_r`.

    The theorem's threshold is factor 1/2, an oracle's choice. The score is the true one unless
    another is given: trained on the labeled rows ("sup"), or on ``n_unlabeled`` others if there
    are any ("split"). Columns n, factor, rep, rank, correct, error, sigma_r; ``sufficient`` marks
    data sets with :math:`\|\hat M - M\|_F < \sigma_r/2`, on which the proof guarantees the
    rank; ``distance`` and ``constant`` are those of :func:`corollary_ratios`.
    """
    rows = []
    for n in sizes:
        for rep in range(n_reps):
            data = simulate("isotropic", n, p=p, n_unlabeled=n_unlabeled, seed=seed + rep)
            M_hat, M = _moment(data, score), gaussian_moment(data.B)
            sigma = float(np.linalg.svd(M, compute_uv=False)[2])
            distance, relative, constant = _ratio(M, M_hat, 3)
            near = (relative * sigma, sigma, relative < 0.5, distance, constant)
            for factor in factors:
                rank = HardThreshold(factor * sigma).select(M_hat).rank
                rows.append((n, factor, rep, rank, rank == 3, *near))
    columns = ["n", "factor", "rep", "rank", "correct", "error", "sigma_r", "sufficient"]
    columns += ["distance", "constant"]
    return pd.DataFrame(rows, columns=columns)


# Rank rules beside the permutation test of Algorithm 2: the energy share, Algorithms 3 and 4.
#
# None of them can tell a direction from noise. An energy share counts noise values as it counts
# signals; Algorithm 3 permutes like Algorithm 2 (:mod:`steinsdr.paper.theory.theorem3`), hence
# inherits
# its defect; Algorithm 4 is an energy share again.


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

    Design and draws are those of :func:`steinsdr.paper.theory.theorem3.rank_frequencies`; signals
    are
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


# Algorithm 2 as a test: how often it keeps too many or too few directions.
#
# The permutation rule compares the k-th singular value of :math:`\hat M` with a quantile of the
# k-th
# singular value of permuted data. For k = 1 that is a test of "no relation at all", of its nominal
# size up to 1/(m + 1) with m permutations (:func:`permutation_level`). For k = r + 1 it
# is not a test of "no further direction": permuted data have no signal, so their (r+1)-th singular
# value has r larger noise values above it, while that of :math:`\hat M` is the *first* of its noise
# values.


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


# The settings that the paper's appendix prints in tables, against the package's defaults.


PRINTED: dict[str, list[tuple[Callable[..., Any], dict[str, object]]]] = {
    "tab:dnn_score": [
        (
            DenoisingScore,
            {
                "sigma": 0.1,
                "hidden": 256,
                "dropout": 0.3,
                "epochs": 150,
                "batch_size": 256,
                "learning_rate": 1e-3,
                "weight_decay": 1e-5,
                "standardize": True,
            },
        ),
    ],
    "tab:numethod": [(TikhonovScore, {"lam": 1e-4, "standardize": True})],
    "tab:mlp_baseline": [
        (
            MLPDirections,
            {"hidden": (256, 128), "epochs": 100, "batch_size": 64, "learning_rate": 1e-3},
        ),
    ],
    "tab:eval_mlp": [
        (
            evaluate_reductions,
            {"hidden": 32, "epochs": 200, "batch_size": 64, "learning_rate": 1e-3, "max_norm": 1.0},
        ),
    ],
    "tab:rank-params": [
        (AdaptiveRank, {"energy": 0.95, "quantile": 0.90, "n_permutations": 200}),
        (DominanceRank, {"energy_heavy": 0.95, "energy_light": 0.90, "dominance": 0.85}),
    ],
}
"""What each table prints, by its label in the paper's source: who has the settings, and which."""


def compare_settings(label: str) -> pd.DataFrame:
    """Return the settings of one of the paper's tables beside the defaults.

    Columns are used_by, setting, printed, default, same.

    Examples
    --------
    >>> bool(compare_settings("tab:numethod").same.all())
    True
    """
    check_choice(label, "label", tuple(PRINTED))
    rows = []
    for factory, printed in PRINTED[label]:
        parameters = inspect.signature(factory).parameters
        for setting, value in printed.items():
            default = parameters[setting].default
            rows.append((factory.__name__, setting, value, default, bool(default == value)))
    columns = ["used_by", "setting", "printed", "default", "same"]
    # As objects, or whole numbers would be shown as decimal ones beside others.
    return pd.DataFrame(rows, columns=columns, dtype=object).astype({"same": bool})
