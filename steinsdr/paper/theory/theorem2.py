r"""Theorem 2: the TRE trained on the same observations it is averaged over.

Of n observations :math:`n_\ell \asymp n^\beta` are labeled. :func:`exponents` has the rates that
are stated and that can be proved. Everything here has :math:`\omega = 1`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import erf, gammaln, kve
from scipy.stats import chi2

from ..._base import check_choice
from ...moments import cross_moment
from ...scores import TikhonovScore
from ...simulation import stream
from .kernel_lemmas import feature_norm

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
    - ``own_terms``: what the proof derives, :math:`-\omega(2\beta-1)/\{2(\omega+2)\}`.
    - ``sharper``: with McDiarmid's differences by kind of observation,
      :math:`-\omega\beta/\{2(\omega+2)\}` for every :math:`\beta > 0`.
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

    The kernel's width is 2: the theory has no data-driven width and no standardization. Of n rows
    :math:`n_\ell = \lceil n^\beta \rceil` are labeled; one data set serves every beta. The law is
    "gaussian" or "student" with 5 degrees of freedom; neither meets the source condition. Lambda
    follows the :func:`schedule` of beta, or of ``lam_beta`` whatever the labeled share. Columns
    beta, n, n_labeled, lam, rep, error, score_error, moment (:math:`\hat M`, (3, 3)).
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


def normal_bias(lams: list[float], *, p: int = P, c: float = 2.0) -> pd.DataFrame:
    r"""Bias :math:`b(\lambda) = (E\|s_\lambda - s\|^2)^{1/2}` of the TRE for standard normal x.

    :math:`s_\lambda` minimizes :math:`J(f) = E\|f - s\|^2 + \lambda\|f\|_{\mathcal H}^2`, so that
    :math:`b(\lambda)^2 \le J(f)` for every f in :math:`\mathcal H`. Here f is the best combination
    of gradients of 14 Gaussian bumps :math:`\exp\{-\|x\|^2/(2\tau^2)\}`. Columns lam, bias
    (:math:`E^{1/2}\|f - s\|^2`), bound (:math:`J(f)^{1/2} \ge b(\lambda)`).

    Examples
    --------
    Without regularization there is no bias, with all of it the bias is :math:`(E\|s\|^2)^{1/2}`:

    >>> ends = normal_bias([1e-8, 1e6]).bound
    >>> bool(ends[0] < 0.01 and np.isclose(ends[1], 3**0.5))
    True
    """
    tau = np.geomspace(0.7, 12, 14)
    rho = np.linspace(1e-4, 60, 6001)  # norms of frequencies
    log_phi = p / 2 * np.log(2 * np.pi) + np.log(c * (2 / np.pi) ** 0.5)
    log_phi = (
        log_phi + (0.5 - p / 2) * np.log(rho / c) + np.log(kve((p - 1) / 2, c * rho)) - c * rho
    )
    log_bump = p / 2 * np.log(2 * np.pi) + p * np.log(tau[:, None]) - (tau[:, None] * rho) ** 2 / 2
    log_area = np.log(2) + p / 2 * np.log(np.pi) - gammaln(p / 2) + (p - 1) * np.log(rho)
    log_area = log_area - p * np.log(2 * np.pi)
    in_space = np.trapezoid(np.exp(log_bump[:, None] + log_bump + log_area - log_phi), rho)
    inverse = tau**-2.0
    both = inverse[:, None] + inverse
    in_mean = p * (1 + both) ** (-p / 2 - 1) * np.outer(inverse, inverse)
    with_score = p * (1 + inverse) ** (-p / 2 - 1) * inverse
    rows = []
    for lam in lams:
        A = in_mean + lam * in_space
        scale = np.diag(A) ** -0.5
        weights = scale * np.linalg.lstsq(A * np.outer(scale, scale), with_score * scale, 1e-13)[0]
        error = p - 2 * weights @ with_score + weights @ in_mean @ weights
        total = error + lam * weights @ in_space @ weights
        rows.append((lam, error**0.5, total**0.5))
    return pd.DataFrame(rows, columns=["lam", "bias", "bound"])


def expected_error_bound(n: NDArray, n_labeled: NDArray, lam: NDArray) -> pd.DataFrame:
    r"""The bound of :math:`E\|\hat M - M\|_F` for the normal design, its parts and their sum.

    It is the chapter's bound with c = 2. Columns estimation, bias, average (the three terms),
    total.
    """
    nodes, w = np.polynomial.hermite_e.hermegauss(40)
    a, b = np.meshgrid(nodes, nodes, indexing="ij")
    w = np.outer(w, w) / w.sum() ** 2
    # The noise has variance 1/4 for each of three responses; the third predictor has none.
    squares = erf(a) ** 2 + np.tanh(b) ** 2 + np.sin(a + b) ** 2 + P / 4
    of_y, of_both = float(np.sum(w * squares)), float(np.sum(w * squares * (a**2 + b**2 + 1)))
    n, n_labeled, lam = (np.asarray(v, dtype=float) for v in (n, n_labeled, lam))
    size = (feature_norm(P, 2.0) + P**0.5 / 2) * of_y**0.5
    least = np.minimum(1 / (2 * lam * n**0.5), 0.5 / (lam * n_labeled) ** 0.5)
    frame = pd.DataFrame({"estimation": size * least})
    frame["bias"] = of_y**0.5 * normal_bias(lam.tolist()).bound
    frame["average"] = (of_both / n_labeled) ** 0.5
    return frame.assign(total=frame.sum(axis=1))


def uniform_moments(
    sizes: list[int],
    *,
    even: bool,
    beta: float,
    lam: Callable[[int], float],
    n_reps: int,
    seed: int = 42,
) -> pd.DataFrame:
    r"""Norms of :math:`\hat M` for x uniform on :math:`[-1, 1]^3`, where s = 0 and hence M = 0.

    Both assumptions of Theorem 2 hold, though Stein's lemma does not. The response is :math:`x_1`,
    or :math:`x_1^2` if ``even``, plus noise of standard deviation 1/2; :math:`n_\ell = \lceil
    n^\beta \rceil` and ``lam`` gives lambda for n. Columns n, rep, error (:math:`\|\hat M\|_F`).
    """
    rows = []
    for n, rep in product(sizes, range(n_reps)):
        rng = stream(seed, "uniform", str(even), n, rep)
        X = rng.uniform(-1, 1, (n, P))
        y = (X[:, :1] ** 2 if even else X[:, :1]) + 0.5 * rng.standard_normal((n, 1))
        score = TikhonovScore(lam(n), width=2.0, standardize=False, tol=1e-3).fit(X)
        n_l = min(n, int(np.ceil(n**beta)))
        M_hat = cross_moment(score.train_scores_[:n_l], y[:n_l])
        rows.append((n, rep, float(np.linalg.norm(M_hat))))
    return pd.DataFrame(rows, columns=["n", "rep", "error"])
