r"""Corollary 1 and Theorem 3: from an error in M to one in its subspace, and to its rank."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._validation import check_integer
from ..moments import cross_moment
from ..rank import HardThreshold
from ..scores import GaussianScore
from ..simulation import simulate
from ..subspace import procrustes_distance
from .population import gaussian_moment

__all__ = [
    "CONSTANT",
    "corollary_ratios",
    "design_ratios",
    "rank_recovery",
    "vanishing_signal",
    "worst_ratio",
]

CONSTANT = float(4 * np.sqrt(2))
r"""Corollary 1 in its proof: :math:`\mathrm{dist} \le 4\sqrt 2\, \|\hat M - M\|_F/\sigma_r(M)`."""


def _left(M: NDArray, r: int) -> NDArray:
    return np.linalg.svd(M, full_matrices=False)[0][:, :r]


def _ratio(M: NDArray, perturbed: NDArray, r: int) -> tuple[float, float, float]:
    """Return distance, relative error ||E||_F / sigma_r, and their quotient."""
    distance = procrustes_distance(_left(perturbed, r), _left(M, r))
    relative = float(np.linalg.norm(perturbed - M) / np.linalg.svd(M, compute_uv=False)[r - 1])
    return distance, relative, distance / relative


def corollary_ratios(
    p: int, q: int, r: int, sizes: list[float], n_reps: int, rng: np.random.Generator
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


def worst_ratio(n_angles: int = 400) -> float:
    r"""The largest constant for 2 x 2 matrices of rank one, by exhaustion.

    :math:`M = e_1 e_1^\top` and :math:`\hat M = a b^\top` of rank one, over all directions a, b
    and lengths: a lower bound of what the corollary's constant must be.
    """
    angles = np.linspace(1e-3, np.pi / 2, n_angles)
    a = np.stack([np.cos(angles), np.sin(angles)])
    best = 0.0
    for length in np.linspace(0.05, 1.5, 30):
        # ||a b' length - e1 e1'||^2 is least for b = e1
        error = np.sqrt(length**2 - 2 * length * a[0] + 1)
        best = max(best, float((2 * np.sin(angles / 2) / error).max()))
    return best


def design_ratios(
    sizes: list[int], *, p: int = 20, n_reps: int = 10, score: Any = None, seed: int = 42
) -> pd.DataFrame:
    r"""The corollary on the paper's design: distance over :math:`\sqrt{r/q}\,\|\hat M - M\|_F`.

    Isotropic x, true score unless another is given. Columns n, rep, distance, error, constant
    (distance over error/sigma_r) and c0, the constant in the corollary's own scaling.
    """
    rows = []
    for n in sizes:
        for rep in range(n_reps):
            data = simulate("isotropic", n, p=p, seed=seed + rep)
            estimator = score or GaussianScore(np.zeros(p), np.eye(p))
            M_hat = cross_moment(estimator.fit(data.X).evaluate(data.X), data.Y)
            M = gaussian_moment(data.B)
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
    n_reps: int = 20,
    score: Any = None,
    seed: int = 42,
) -> pd.DataFrame:
    r"""Theorem 3: how often Algorithm 1 finds r = 3 with threshold factor times :math:`\sigma_r`.

    The theorem's threshold is factor 1/2, an oracle's choice. Columns n, factor, rep, rank,
    correct, error and sigma_r; ``sufficient`` marks data sets with
    :math:`\|\hat M - M\|_F < \sigma_r/2`, on which the proof guarantees the rank.
    """
    rows = []
    for n in sizes:
        for rep in range(n_reps):
            data = simulate("isotropic", n, p=p, seed=seed + rep)
            estimator = score or GaussianScore(np.zeros(p), np.eye(p))
            M_hat = cross_moment(estimator.fit(data.X).evaluate(data.X), data.Y)
            M = gaussian_moment(data.B)
            sigma = float(np.linalg.svd(M, compute_uv=False)[2])
            error = float(np.linalg.norm(M_hat - M))
            for factor in factors:
                rank = HardThreshold(factor * sigma).select(M_hat).rank
                rows.append((n, factor, rep, rank, rank == 3, error, sigma, error < sigma / 2))
    columns = ["n", "factor", "rep", "rank", "correct", "error", "sigma_r", "sufficient"]
    return pd.DataFrame(rows, columns=columns)
