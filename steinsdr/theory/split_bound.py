r"""Theorem 1: the split estimator's error and the three terms of its bound.

.. math::
    \|\hat M - M\|_F \le C K^2 \Big\{ \sqrt q\, \epsilon(n_u)
    + \sqrt{\tfrac{pq \ln(pq/\delta)}{n_\ell}} + \tfrac{\sqrt{pq} \ln(pq/\delta)}{n_\ell} \Big\}.

The designs are those of Section 4.1 with standard normal x, where M is known
(:mod:`steinsdr.theory.population`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._validation import check_integer
from ..moments import cross_moment
from ..scores import GaussianScore
from ..simulation import links
from ..streams import stream
from .concentration import GAUSSIAN_PSI2, orlicz_norm
from .population import gaussian_moment
from .stein_identity import random_basis

__all__ = [
    "bound_terms",
    "design_norm",
    "implied_constant",
    "scale_counterexample",
    "split_errors",
]


def bound_terms(
    n_labeled: int, p: int, q: int, *, epsilon: float, delta: float
) -> dict[str, float]:
    """Return the three terms in the braces of Theorem 1 and their sum, without C K^2."""
    if not 0 < delta < 1:
        raise ValueError(f"delta must be in (0, 1); got {delta!r}.")
    log = float(np.log(p * q / delta))
    terms = {
        "score": float(np.sqrt(q) * epsilon),
        "root": float(np.sqrt(p * q * log / n_labeled)),
        "linear": float(np.sqrt(p * q) * log / n_labeled),
    }
    return {**terms, "total": sum(terms.values())}


def _responses(X: NDArray, B: NDArray, q: int, rng: np.random.Generator) -> NDArray:
    return links(X @ B, q) + rng.standard_normal((len(X), q))


def design_norm(q: int = 10, n: int = 200_000, seed: int = 42) -> float:
    r"""The K of Assumption 1 for this design: the largest :math:`\psi_2` norm of a response.

    Standard normal scores have :math:`\sqrt{8/3}`; the responses' norms come from n draws.
    """
    rng = stream(seed, "split", "norm")
    Y = _responses(rng.standard_normal((n, 3)), np.eye(3), q, rng)
    weights = np.full(n, 1 / n)
    return max(GAUSSIAN_PSI2, *(orlicz_norm(y, weights, 2) for y in Y.T))


def _trained(score: Any, X_unlabeled: NDArray) -> Any:
    return (
        GaussianScore(np.zeros(X_unlabeled.shape[1]), np.eye(X_unlabeled.shape[1]))
        if (score is None)
        else score.fit(X_unlabeled)
    )


def split_errors(
    n_labeled: list[int],
    *,
    p: int = 20,
    q: int = 10,
    n_unlabeled: int = 0,
    score: Any = None,
    n_reps: int = 20,
    seed: int = 42,
) -> pd.DataFrame:
    r"""Errors of the split estimator over labeled sample sizes.

    Parameters
    ----------
    n_labeled : list of int
    p, q : int
        Dimensions; r is 3.
    n_unlabeled : int
        Rows on which ``score`` is trained, once for each repetition.
    score : estimator or None
        A score estimator, or None for the true score (:math:`\epsilon = 0`).

    Returns
    -------
    DataFrame
        Columns n_labeled, p, q, n_unlabeled, rep, epsilon, error; ``epsilon`` is
        :math:`\{E\|\hat s(x) - s(x)\|^2\}^{1/2}` over 2,000 fresh points.
    """
    check_integer(n_reps, "n_reps", low=1)
    B = random_basis(p, 3, stream(seed, "split", "basis", p))
    M = gaussian_moment(B, q=q)
    rows = []
    for rep in range(n_reps):
        rng = stream(seed, "split", p, q, n_unlabeled, rep)
        fitted = _trained(score, rng.standard_normal((max(n_unlabeled, 1), p)))
        fresh = rng.standard_normal((2000, p))
        gap = fitted.evaluate(fresh) - fresh
        epsilon = float(np.sqrt(np.mean(np.sum(gap**2, axis=1))))
        for n in n_labeled:
            X = rng.standard_normal((n, p))
            M_hat = cross_moment(fitted.evaluate(X), _responses(X, B, q, rng))
            rows.append((n, p, q, n_unlabeled, rep, epsilon, float(np.linalg.norm(M_hat - M))))
    columns = ["n_labeled", "p", "q", "n_unlabeled", "rep", "epsilon", "error"]
    return pd.DataFrame(rows, columns=columns)


def implied_constant(frame: pd.DataFrame, K: float, delta: float) -> pd.DataFrame:
    r"""Smallest C that makes the bound hold in a share 1 - delta of repetitions, cell by cell.

    If Theorem 1 has the right shape, one C serves all cells: the column ``constant`` stays below a
    number as n, p and q grow.
    """
    cells = []
    keys = ["n_labeled", "p", "q", "n_unlabeled"]
    for key, cell in frame.groupby(keys):
        n, p, q, n_u = (int(value) for value in key)
        # Assumption 2 promises epsilon with probability 1 - delta/2
        epsilon = float(np.quantile(cell.epsilon, 1 - delta / 2))
        terms = bound_terms(n, p, q, epsilon=epsilon, delta=delta)
        error = float(np.quantile(cell.error, 1 - delta))
        cells.append((n, p, q, n_u, error, *terms.values(), error / (K**2 * terms["total"])))
    return pd.DataFrame(
        cells, columns=[*keys, "error", "score", "root", "linear", "total", "constant"]
    )


def scale_counterexample(sigmas: list[float], p: int = 4) -> pd.DataFrame:
    r"""The first term wants K, not :math:`K^2`: a family on which no constant C serves.

    :math:`x \sim N(0, \sigma^2 I_p)` with score :math:`s = x/\sigma^2`, noiseless responses
    :math:`y = s` (q = p), and the estimator :math:`\hat s = s/2`, as :math:`n_\ell \to \infty`.
    Then :math:`\|\hat M - M\|_F = \sqrt p/(2\sigma^2)`,
    :math:`\epsilon = \sqrt p/(2\sigma)`, :math:`K = \sqrt{8/3}/\sigma`, all exactly. Column
    ``constant`` is error over the paper's :math:`K^2\sqrt q \epsilon` and grows like
    :math:`\sigma`; ``repaired`` has K in place of :math:`K^2` and stays.
    """
    sigma = np.asarray(sigmas, dtype=float)
    error = np.sqrt(p) / (2 * sigma**2)
    epsilon = np.sqrt(p) / (2 * sigma)
    K = GAUSSIAN_PSI2 / sigma
    return pd.DataFrame(
        {
            "sigma": sigma,
            "error": error,
            "K": K,
            "epsilon": epsilon,
            "constant": error / (K**2 * np.sqrt(p) * epsilon),
            "repaired": error / (K * np.sqrt(p) * epsilon),
        }
    )
