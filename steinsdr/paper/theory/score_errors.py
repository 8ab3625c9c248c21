r"""Score estimators against true scores: errors by sample size, lambda, width and kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..._base import check_choice, check_positive
from ...kernels import CurlFreeIMQ, median_distance
from ...moments import cross_moment
from ...scores import GaussianScore, TikhonovScore
from ...scores._base import Standardization
from ...simulation import LAWS, simulate, stream
from ...subspace import procrustes_distance
from .kernel_lemmas import _gram
from .lemma1 import SCORED_LAWS, gaussian_moment

__all__ = [
    "configuration_errors",
    "diagonal_scores",
    "interpolation_norms",
    "kernel_comparison",
    "lambda_errors",
    "potential_range",
    "relative_error",
    "size_errors",
    "width_errors",
]


def relative_error(estimate: NDArray, truth: NDArray) -> float:
    r"""Return :math:`\{E\|\hat s - s\|^2 / E\|s\|^2\}^{1/2}`: 0 if perfect, 1 for a zero score."""
    return float(np.linalg.norm(estimate - truth) / np.linalg.norm(truth))


def size_errors(
    estimator: Any, law: str, p: int, sizes: list[int], *, n_reps: int = 5, seed: int = 42
) -> pd.DataFrame:
    """Error of a score estimator by n: at fresh points and, if it offers them, at its own.

    ``law`` is a key of :data:`steinsdr.paper.theory.lemma1.SCORED_LAWS`. Columns n, rep, fresh,
    own.
    """
    scored = SCORED_LAWS[check_choice(law, "law", SCORED_LAWS)]
    rows = []
    for n in sizes:
        for rep in range(n_reps):
            rng = stream(seed, "score", law, p, n, rep)
            X, fresh = scored.draw(n, p, rng), scored.draw(500, p, rng)
            estimator.fit(X)
            own = relative_error(estimator.evaluate(X), scored.score(X))
            rows.append(
                (n, rep, relative_error(estimator.evaluate(fresh), scored.score(fresh)), own)
            )
    return pd.DataFrame(rows, columns=["n", "rep", "fresh", "own"])


def lambda_errors(
    law: str, n: int, p: int, lams: list[float], *, n_reps: int = 3, seed: int = 42
) -> pd.DataFrame:
    """Error of the TRE at its training points over a grid of lambda, and of what follows from it.

    ``law`` is a key of ``steinsdr.simulation.LAWS``. Columns lam, rep, own (score error) and
    distance (of the three directions of the Section 4.1 design).
    """
    rows = []
    for rep in range(n_reps):
        data = simulate(law, n, p=p, seed=seed + rep)
        truth = data.law.score(p).evaluate(data.X)
        path = TikhonovScore(tol=1e-3).path(data.X, lams)
        for lam, scores in zip(path.lams, path.scores, strict=True):
            U = np.linalg.svd(cross_moment(scores, data.Y), full_matrices=False)[0][:, :3]
            distance = procrustes_distance(U, data.B)
            rows.append((lam, rep, relative_error(scores, truth), distance))
    return pd.DataFrame(rows, columns=["lam", "rep", "own", "distance"])


def width_errors(
    law: str, n: int, p: int, factors: list[float], *, lam: float, n_reps: int = 3, seed: int = 42
) -> pd.DataFrame:
    r"""Error of the TRE by width, in units of the median distance; lambda scales with the kernel.

    ``lam`` is the lambda at a width of one median. The kernel's scale is :math:`c^{-2}`, so a fair
    comparison holds :math:`\lambda c^2` fixed.
    """
    rows = []
    for rep in range(n_reps):
        data = simulate(law, n, p=p, seed=seed + rep)
        truth = data.law.score(p).evaluate(data.X)
        median = median_distance(Standardization.of(data.X, True).forward(data.X))
        for factor in factors:
            estimator = TikhonovScore(lam / factor**2, width=factor * median, tol=1e-3)
            scores = estimator.fit(data.X).train_scores_
            U = np.linalg.svd(cross_moment(scores, data.Y), full_matrices=False)[0][:, :3]
            distance = procrustes_distance(U, data.B)
            rows.append((factor, rep, relative_error(scores, truth), distance))
    return pd.DataFrame(rows, columns=["factor", "rep", "own", "distance"])


def diagonal_scores(X: NDArray, lam: float, *, width: float | None = None) -> NDArray:
    r"""Training scores of the TRE with the diagonal kernel :math:`k_I(x, y)\, I_p`, (n, p).

    :math:`\hat s_X = n (K + n\lambda)^{-1} \hat\zeta` with
    :math:`\hat\zeta(x) = n^{-1}\sum_j \nabla_{x_j} k_I(x, x_j)
    = n^{-1} \sum_j w^3 (x - x_j)/c^2`. Nothing ties the p components together: the field need
    not be a gradient. Columns are standardized first, as in the curl-free estimator.
    """
    check_positive(lam, "lam")
    scaling = Standardization.of(X, True)
    Z = scaling.forward(X)
    c = median_distance(Z) if width is None else check_positive(width, "width")
    n = len(Z)
    squared = (
        np.sum((Z[:, None] - Z[None]) ** 2, axis=2)
        if n * n * Z.shape[1] < 1e7
        else (np.clip(np.add.outer((Z**2).sum(1), (Z**2).sum(1)) - 2 * Z @ Z.T, 0, None))
    )
    w = (1 + squared / c**2) ** -0.5
    cubes = w**3
    zeta = (Z * cubes.sum(axis=1, keepdims=True) - cubes @ Z) / (n * c**2)
    return scaling.score_back(np.linalg.solve(w + n * lam * np.eye(n), n * zeta))


def kernel_comparison(
    law: str, sizes: list[int], p: int, lams: list[float], *, n_reps: int = 3, seed: int = 42
) -> pd.DataFrame:
    """Curl-free against diagonal kernel, each at its own best lambda of the grid.

    Columns n, best_for, kernel, lam, own, distance: means over repetitions at the lambda with the
    least mean score error at the training points (``best_for`` "score"), and at the one with the
    least mean distance ("directions"). So each kernel is shown at its best for either purpose.
    """
    check_choice(law, "law", LAWS)
    rows = []
    for n in sizes:
        for rep in range(n_reps):
            data = simulate(law, n, p=p, seed=seed + rep)
            truth = data.law.score(p).evaluate(data.X)
            path = TikhonovScore(tol=1e-3, max_iter=1000).path(data.X, lams)
            for i, lam in enumerate(path.lams):
                pair = {"curl-free": path.scores[i], "diagonal": diagonal_scores(data.X, lam)}
                for kernel, scores in pair.items():
                    U = np.linalg.svd(cross_moment(scores, data.Y), full_matrices=False)[0][:, :3]
                    distance = procrustes_distance(U, data.B)
                    rows.append((n, kernel, lam, relative_error(scores, truth), distance))
    frame = pd.DataFrame(rows, columns=["n", "kernel", "lam", "own", "distance"])
    means = frame.groupby(["n", "kernel", "lam"], as_index=False).mean()
    parts = []
    for purpose, column in {"score": "own", "directions": "distance"}.items():
        best = means.loc[means.groupby(["n", "kernel"])[column].idxmin()]
        parts.append(best.assign(best_for=purpose))
    columns = ["n", "best_for", "kernel", "lam", "own", "distance"]
    return pd.concat(parts, ignore_index=True)[columns]


def configuration_errors(
    n: int, n_unlabeled: int, p: int, *, lam: float = 1e-3, n_reps: int = 10, seed: int = 42
) -> pd.DataFrame:
    r"""What the score is learned from, and what it does to M: sup, split, full and the truth.

    Isotropic design of Section 4.1. Estimators: the TRE, the fitted normal score ("normal", with
    which sup is least squares), and the oracle. Columns estimator, config, rep, score_error
    (relative, at the labeled points), moment_error (:math:`\|\hat M - M\|_F`), distance.
    """
    rows = []
    for rep in range(n_reps):
        data = simulate("isotropic", n, p=p, n_unlabeled=n_unlabeled, seed=seed + rep)
        M = gaussian_moment(data.B)
        both = np.vstack([data.X, data.X_unlabeled])
        train = {"sup": data.X, "split": data.X_unlabeled, "full": both}
        scores = {("oracle", "none"): data.X}
        for config, rows_used in train.items():
            tre = TikhonovScore(lam, tol=1e-3).fit(rows_used)
            scores["TRE", config] = tre.evaluate(data.X)
            scores["normal", config] = GaussianScore().fit(rows_used).evaluate(data.X)
        for (name, config), S in scores.items():
            M_hat = cross_moment(S, data.Y)
            U = np.linalg.svd(M_hat, full_matrices=False)[0][:, :3]
            off = float(np.linalg.norm(M_hat - M))
            distance = procrustes_distance(U, data.B)
            rows.append((name, config, rep, relative_error(S, data.X), off, distance))
    columns = ["estimator", "config", "rep", "score_error", "moment_error", "distance"]
    return pd.DataFrame(rows, columns=columns)


# Assumption 4 (source condition): no density has its score in the RKHS.
#
# If :math:`s = L^\omega f_0` with :math:`f_0 \in \mathcal H` and :math:`\omega > 0`, then s itself
# is
# in :math:`\mathcal H`. A field f = grad g of :math:`\mathcal H` has, along the segment from a to
# b,
#
# .. math::
#     |g(b) - g(a)| \le \|f\|_{\mathcal H} \{2\phi(0) - 2\phi(\|b - a\|)\}^{1/2}
#     < \sqrt 2\, \|f\|_{\mathcal H},
#
# because the norm of the line integral, as a functional, is a double integral of
# :math:`-\nabla^2 \phi`. So a log density whose score is in :math:`\mathcal H` varies by less than
# :math:`\sqrt 2 \|s\|_{\mathcal H}`: it stays above a positive constant everywhere, and no
# probability density on :math:`\mathbb R^p` does that.


def potential_range(
    n: int, p: int, c: float, n_fields: int, rng: np.random.Generator
) -> pd.DataFrame:
    r"""Measure :math:`|g(b) - g(a)|` of random fields against :math:`\sqrt 2\|f\|_{\mathcal H}`.

    Columns measured (largest difference over 500 pairs near and far), bound, ratio.
    """
    rows = []
    for _ in range(n_fields):
        X, V = rng.standard_normal((2, n, p))
        kernel = CurlFreeIMQ(X, c)
        norm = np.sqrt(float((V * (kernel @ V)).sum()))
        radius = rng.choice([1.0, 5.0, 50.0], size=(1000, 1))
        g = kernel.potential_at(radius * rng.standard_normal((1000, p)), V)
        rows.append((float(np.abs(g[:500] - g[500:]).max()), np.sqrt(2) * norm))
    frame = pd.DataFrame(rows, columns=["measured", "bound"])
    return frame.assign(ratio=frame.measured / frame.bound)


def interpolation_norms(
    score: Callable[[NDArray], NDArray],
    radii: list[float],
    *,
    p: int,
    c: float,
    n: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    r"""Smallest RKHS norm of a field that equals the score on n points of a ball, by its radius.

    It is a lower bound of the norm of any member of :math:`\mathcal H` that agrees with the score
    there: if it grows without limit as the ball grows, the score is not in :math:`\mathcal H`.
    """
    directions = rng.standard_normal((n, p))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    unit = directions * rng.random((n, 1)) ** (1 / p)
    rows = []
    for radius in radii:
        X = radius * unit
        target = score(X).ravel()
        norm = np.sqrt(target @ np.linalg.lstsq(_gram(X, c), target, rcond=1e-12)[0])
        rows.append((radius, float(norm)))
    return pd.DataFrame(rows, columns=["radius", "norm"])
