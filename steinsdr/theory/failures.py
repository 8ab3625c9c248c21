r"""Where the method is blind: even links (limitation 1), discrete covariates (limitation 2)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from .._validation import check_choice
from ..estimator import SteinSDR
from ..moments import cross_moment
from ..scores import TikhonovScore
from ..streams import stream
from ..subspace import procrustes_distance
from .stein_identity import random_basis

__all__ = ["discrete_distances", "even_link_spectrum"]

DISCRETE = ("normal", "signs", "counts", "rounded")


def even_link_spectrum(
    shifts: list[float], *, n: int = 20_000, p: int = 10, seed: int = 42
) -> pd.DataFrame:
    r"""Singular values of :math:`\hat M` for :math:`y = (t_1, t_2^2)` as x is moved off centre.

    x is normal with mean shift times :math:`B (1, 1)^\top` and identity covariance, the score is
    the true one. :math:`E\{\nabla t_2^2\} = 2 \cdot \text{shift}`: at shift 0 the square is even
    about the centre and the second singular value is noise. Columns shift, sigma_1, sigma_2,
    expected_2.
    """
    rng = stream(seed, "even")
    B = random_basis(p, 2, rng)
    Z = rng.standard_normal((n, p))
    noise = rng.standard_normal((n, 2))
    rows = []
    for shift in shifts:
        t = Z @ B + shift
        M_hat = cross_moment(Z, np.column_stack([t[:, 0], t[:, 1] ** 2]) + noise)
        first, second = np.linalg.svd(M_hat, compute_uv=False)[:2]
        expected = np.sort([1.0, 2 * shift])[::-1]
        rows.append((shift, first, second, expected[0], expected[1]))
    columns = ["shift", "sigma_1", "sigma_2", "expected_1", "expected_2"]
    return pd.DataFrame(rows, columns=columns)


def discrete_distances(
    kinds: list[str], *, n: int = 400, p: int = 10, n_reps: int = 5, seed: int = 42
) -> pd.DataFrame:
    """Distance of TRE-sup from the truth when x is discrete and has no score at all.

    Kinds: "normal" for comparison; "signs" (fair coins, so that almost no two rows agree);
    "counts" (Poisson of mean 0.2, standardized: skewed, mostly zeros); "rounded" normals. Two
    responses, tanh of either direction, and noise of half their size. Columns kind, rep,
    distance, chance.
    """
    rows = []
    for kind in kinds:
        check_choice(kind, "kinds", DISCRETE)
        for rep in range(n_reps):
            rng = stream(seed, "discrete", rep)
            B = random_basis(p, 2, rng)
            Z = rng.standard_normal((n, p))
            X = {
                "normal": Z,
                "signs": np.sign(Z),
                "rounded": np.round(Z),
                "counts": (rng.poisson(0.2, (n, p)) - 0.2) / np.sqrt(0.2),
            }[kind]
            Y = np.tanh(X @ B) + 0.5 * rng.standard_normal((n, 2))
            fit = SteinSDR(2, score=TikhonovScore(1e-3, tol=1e-3)).fit(X, Y)
            chance = procrustes_distance(random_basis(p, 2, rng), B)
            rows.append((kind, rep, procrustes_distance(fit.components_.T, B), chance))
    return pd.DataFrame(rows, columns=["kind", "rep", "distance", "chance"])
