r"""Theorem 2: the TRE trained on the same observations it is averaged over.

With n observations in all, :math:`n_\ell \asymp n^\beta` of them labeled and
:math:`\lambda \asymp n^{-(2\beta-1)/\{2(\omega+1)\}}`, the theorem states the rate
:math:`n^{-\omega(2\beta-1)/\{2(\omega+1)\}}` for :math:`1/2 < \beta \le 1`, and no
convergence at all for :math:`\beta \le 1/2`. Balancing the proof's own terms gives other
exponents, see :func:`exponents`. Everything here has :math:`\omega = 1`.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import erf
from scipy.stats import chi2

from ..._base import check_choice
from ...moments import cross_moment
from ...scores import TikhonovScore
from ...simulation import stream

__all__ = ["P", "coupled_errors", "exponents", "schedule", "true_moment"]

P = 3
"""Predictors of the design, and responses."""
OMEGA = 1.0
"""Smoothness in the source condition."""
DF = 5  # degrees of freedom of the Student law


def schedule(n: int, beta: float, lam0: float) -> float:
    r"""Return :math:`\lambda = \lambda_0 n^{-(2\beta-1)/\{2(\omega+1)\}}`."""
    return float(lam0 * n ** (-(2 * beta - 1) / (2 * (OMEGA + 1))))


def exponents(betas: list[float]) -> pd.DataFrame:
    r"""Rates for each beta: as stated, as the stated terms balance, and as sharper differences do.

    - ``stated``: :math:`-\omega(2\beta-1)/\{2(\omega+1)\}`, 0 (none) for :math:`\beta \le 1/2`.
    - ``own_terms``: the proof's :math:`\epsilon` has :math:`\lambda^{-2} n^{1/2 - \beta}`, but the
      list of orders keeps :math:`\lambda^{-1}`. Balancing what was derived gives
      :math:`-\omega(2\beta-1)/\{2(\omega+2)\}`.
    - ``sharper``: McDiarmid's inequality with a difference of order :math:`1/n_\ell` for
      labeled and of order 1/n for unlabeled observations, instead of the larger for all, has
      :math:`\lambda^{-2} n^{-\beta/2}`: :math:`-\omega\beta/\{2(\omega+2)\}`, for every
      :math:`\beta > 0`.
    """
    beta = np.asarray(betas, dtype=float)
    part = np.clip(2 * beta - 1, 0, None)
    return pd.DataFrame(
        {
            "beta": beta,
            "stated": -OMEGA * part / (2 * (OMEGA + 1)),
            "own_terms": -OMEGA * part / (2 * (OMEGA + 2)),
            "sharper": -OMEGA * beta / (2 * (OMEGA + 2)),
        }
    )


def _draw(law: str, n: int, rng: np.random.Generator) -> tuple[NDArray, NDArray]:
    """Return n rows of x and their true scores."""
    X = rng.standard_normal((n, P))
    if law == "gaussian":
        return X, X
    X = X / np.sqrt(rng.chisquare(DF, (n, 1)) / DF)
    return X, (DF + P) * X / (DF + np.sum(X**2, axis=1, keepdims=True))


def _responses(X: NDArray, rng: np.random.Generator) -> NDArray:
    """Three bounded links of two indices, x_1 and x_2, and noise."""
    t = X[:, :2]
    signal = np.column_stack([erf(t[:, 0]), np.tanh(t[:, 1]), np.sin(t[:, 0] + t[:, 1])])
    return signal + 0.5 * rng.standard_normal(signal.shape)


def true_moment(law: str) -> NDArray:
    """Return M (3, 3) of this design by quadrature, over the mixing variable too."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    weights = weights / weights.sum()
    z = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 2)
    w = np.outer(weights, weights).ravel()
    levels = (np.arange(1000) + 0.5) / 1000
    scales = [1.0] if law == "gaussian" else 1 / np.sqrt(chi2.ppf(levels, DF) / DF)
    M = np.zeros((P, P))
    for scale in scales:
        a, b = scale * z.T
        M[0, 0] += w @ (2 / np.sqrt(np.pi) * np.exp(-(a**2)))
        M[1, 1] += w @ (1 / np.cosh(b) ** 2)
        M[:2, 2] += w @ np.cos(a + b)
    return M / len(scales)


def coupled_errors(
    betas: list[float],
    sizes: list[int],
    *,
    law: str = "gaussian",
    n_reps: int,
    lam0: float = 0.01,
    lam_beta: float | None = None,
    seed: int = 42,
) -> pd.DataFrame:
    r"""Errors :math:`\|\hat M - M\|_F` of the coupled TRE in three dimensions.

    The kernel's width is 2: the theory has no data-driven width and no standardization.

    Parameters
    ----------
    betas : list of float
        :math:`n_\ell = \lceil n^\beta \rceil` labeled among n.
    sizes : list of int
        Values of n.
    law : {"gaussian", "student"}
        Standard normal x, whose score is unbounded, or Student x with 5 degrees of freedom, whose
        score is bounded and fades: nearer to the source condition, though not in it.
    lam0 : float
        Constant of the schedule, which the theorem leaves open.
    lam_beta : float or None
        Take lambda from the schedule of this beta whatever the labeled share. The score is
        learned from all n, so 1 is natural; None follows the theorem.

    Returns
    -------
    DataFrame
        Columns beta, n, n_labeled, lam, rep, error, score_error, moment (:math:`\hat M`, (3, 3));
        one data set serves every beta.
    """
    M = true_moment(check_choice(law, "law", ("gaussian", "student")))
    rows = []
    for n, rep in product(sizes, range(n_reps)):
        lams = {beta: schedule(n, lam_beta or beta, lam0) for beta in betas}
        grid = np.unique(list(lams.values()))
        rng = stream(seed, "coupled", law, n, rep)
        X, truth = _draw(law, n, rng)
        Y = _responses(X, rng)
        path = TikhonovScore(width=2.0, standardize=False, tol=1e-3).path(X, grid)
        for beta, lam in lams.items():
            scores = path.scores[int(np.searchsorted(grid, lam))]
            n_l = min(n, int(np.ceil(n**beta)))
            M_hat = cross_moment(scores[:n_l], Y[:n_l])
            error = float(np.linalg.norm(M_hat - M))
            score_error = float(np.sqrt(np.mean(np.sum((scores - truth) ** 2, axis=1))))
            rows.append((beta, n, n_l, lam, rep, error, score_error, M_hat))
    columns = ["beta", "n", "n_labeled", "lam", "rep", "error", "score_error", "moment"]
    return pd.DataFrame(rows, columns=columns)
