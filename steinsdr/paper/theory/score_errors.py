r"""Score estimators against true scores: errors by sample size, lambda and kernel.

Errors of scores are relative, :math:`\{E\|\hat s - s\|^2 / E\|s\|^2\}^{1/2}`. Columns called
``own`` hold the error at the points that trained the score, and ``distance`` the Procrustes
distance of the three directions that follow from it in the Section 4.1 design.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from ..._base import check_choice, mean_and_scale
from ...kernels import median_distance
from ...moments import cross_moment
from ...scores import GaussianScore, TikhonovScore
from ...simulation import Simulation, simulate, stream
from ...subspace import procrustes_distance
from .lemma1 import SCORED_LAWS, gaussian_moment


def relative_error(estimate: NDArray, truth: NDArray) -> float:
    """Return the relative error of scores (n, p)."""
    return float(np.linalg.norm(estimate - truth) / np.linalg.norm(truth))


def size_errors(
    estimator: Any, law: str, p: int, sizes: list[int], *, n_reps: int, seed: int = 42
) -> pd.DataFrame:
    """Error of a score estimator by n (Assumption 2): at 500 fresh points and at its own.

    ``law`` is a key of :data:`steinsdr.paper.theory.lemma1.SCORED_LAWS`. Columns n, rep, fresh,
    own.
    """
    scored = SCORED_LAWS[check_choice(law, "law", SCORED_LAWS)]
    rows = []
    for n, rep in product(sizes, range(n_reps)):
        rng = stream(seed, "score", law, p, n, rep)
        X, fresh = scored.draw(n, p, rng), scored.draw(500, p, rng)
        estimator.fit(X)
        errors = [relative_error(estimator.evaluate(Z), scored.score(Z)) for Z in (fresh, X)]
        rows.append({"n": n, "rep": rep, "fresh": errors[0], "own": errors[1]})
    return pd.DataFrame(rows)


def errors_in_design(scores: NDArray, data: Simulation) -> dict[str, float]:
    """Return the errors ``own`` of scores (n, p) at the rows of X, and ``distance``."""
    truth = data.law.score(data.X.shape[1]).evaluate(data.X)
    U = np.linalg.svd(cross_moment(scores, data.Y), full_matrices=False)[0][:, :3]
    distance = procrustes_distance(U, data.B)
    return {"own": relative_error(scores, truth), "distance": distance}


def diagonal_scores(X: NDArray, lam: float) -> NDArray:
    r"""Training scores of the TRE with the diagonal kernel :math:`k_I(x, y)\, I_p`, (n, p).

    :math:`\hat s_X = n (K + n\lambda)^{-1} \hat\zeta` with :math:`\hat\zeta(x) = n^{-1} \sum_j w^3
    (x - x_j)/c^2`. Columns are standardized first and the width is the median distance, as in the
    curl-free estimator.
    """
    mean, scale = mean_and_scale(X)
    Z = (X - mean) / scale
    n, c = len(Z), median_distance(Z)
    w = (1 + cdist(Z, Z, "sqeuclidean") / c**2) ** -0.5
    cubes = w**3
    zeta = (Z * cubes.sum(axis=1, keepdims=True) - cubes @ Z) / (n * c**2)
    return np.linalg.solve(w + n * lam * np.eye(n), n * zeta) / scale


def kernel_comparison(
    law: str, sizes: list[int], p: int, lams: list[float], *, n_reps: int, seed: int = 42
) -> pd.DataFrame:
    """Curl-free against diagonal kernel, each at its own best lambda of the grid.

    Columns n, best_for, kernel, lam, own, distance: means over repetitions at the lambda with the
    least mean error of the scores (``best_for`` "score"), or of the directions ("directions").
    """
    rows = []
    for n, rep in product(sizes, range(n_reps)):
        data = simulate(law, n, p=p, seed=seed + rep)
        path = TikhonovScore(tol=1e-3, max_iter=1000).path(data.X, lams)
        for lam, scores in zip(path.lams, path.scores, strict=True):
            pair = {"curl-free": scores, "diagonal": diagonal_scores(data.X, lam)}
            for kernel, found in pair.items():
                rows.append({"n": n, "kernel": kernel, "lam": lam, **errors_in_design(found, data)})
    means = pd.DataFrame(rows).groupby(["n", "kernel", "lam"], as_index=False).mean()
    parts = []
    for purpose, column in {"score": "own", "directions": "distance"}.items():
        best = means.loc[means.groupby(["n", "kernel"])[column].idxmin()]
        parts.append(best.assign(best_for=purpose))
    columns = ["n", "best_for", "kernel", "lam", "own", "distance"]
    return pd.concat(parts, ignore_index=True)[columns]


def configuration_errors(
    n: int, n_unlabeled: int, p: int, *, n_reps: int, seed: int = 42
) -> pd.DataFrame:
    r"""Errors by the rows that train the score: the labeled (sup), the others (split), all (full).

    Isotropic design of Section 4.1. Estimators are the TRE, the fitted normal score ("normal") and
    the true score ("oracle", config "none"). Columns estimator, config, rep, score_error (relative,
    at the labeled points), moment_error (:math:`\|\hat M - M\|_F`), distance.
    """
    rows = []
    for rep in range(n_reps):
        data = simulate("isotropic", n, p=p, n_unlabeled=n_unlabeled, seed=seed + rep)
        M = gaussian_moment(data.B)
        both = np.vstack([data.X, data.X_unlabeled])
        scores = {("oracle", "none"): data.X}
        for config, train in {"sup": data.X, "split": data.X_unlabeled, "full": both}.items():
            tre = TikhonovScore(1e-3, tol=1e-3).fit(train)
            scores["TRE", config] = tre.evaluate(data.X)
            scores["normal", config] = GaussianScore().fit(train).evaluate(data.X)
        for (name, config), S in scores.items():
            own, distance = errors_in_design(S, data).values()
            moment = float(np.linalg.norm(cross_moment(S, data.Y) - M))
            rows.append((name, config, rep, own, moment, distance))
    columns = ["estimator", "config", "rep", "score_error", "moment_error", "distance"]
    return pd.DataFrame(rows, columns=columns)
