r"""Corollary 1 and Theorem 3: from an error in M to one in its subspace, and to its rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._validation import check_integer
from ..moments import cross_moment
from ..rank import HardThreshold
from ..scores import GaussianScore
from ..simulation import Simulation, simulate
from ..subspace import procrustes_distance
from .population import gaussian_moment

__all__ = [
    "CONSTANT",
    "SIZES",
    "corollary_ratios",
    "design_ratios",
    "rank_recovery",
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
