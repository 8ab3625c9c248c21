r"""Lemmas 2 and 3: products of sub-Gaussian variables, and the event on which norms are small.

The lemmas ask for sub-Gaussian variables; which of the paper's laws have them is measured too.

Orlicz norms are computed, not bounded: :math:`\|x\|_{\psi_k} = \inf\{t > 0 :
E \exp(|x|^k / t^k) \le 2\}` by quadrature or exact summation and a root search.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq

from ..._base import check_choice, check_integer, check_positive
from ...moments import cross_moment
from ...scores import GaussianScore
from ...simulation import LAWS, links, stream
from .lemma1 import gaussian_moment, random_basis

__all__ = [
    "GAUSSIAN_PSI2",
    "PRODUCT_CONSTANT",
    "bound_terms",
    "design_norm",
    "good_event",
    "implied_constant",
    "orlicz_norm",
    "product_norms",
    "reach",
    "response_kurtosis",
    "scale_counterexample",
    "score_kurtosis",
    "split_errors",
]


PRODUCT_CONSTANT = float(1 + 2 / np.log(2))
"""The constant C of Lemma 2 in its proof."""

GAUSSIAN_PSI2 = float(np.sqrt(8 / 3))
r""":math:`\|z\|_{\psi_2}` of a standard normal: :math:`(1 - 2/t^2)^{-1/2} = 2` gives 8/3."""


def orlicz_norm(values: NDArray, weights: NDArray, k: int) -> float:
    r"""Return :math:`\|x\|_{\psi_k}` of a law with atoms ``values`` and ``weights``.

    Examples
    --------
    A sign has :math:`E \exp(1/t^2) = 2` at :math:`t = (\ln 2)^{-1/2}`:

    >>> norm = orlicz_norm(np.array([-1.0, 1.0]), np.array([0.5, 0.5]), 2)
    >>> bool(np.isclose(norm, np.log(2) ** -0.5))
    True
    """
    size = np.abs(values) ** k
    top = size.max()
    if top == 0:
        return 0.0

    def excess(t: float) -> float:
        # log E exp(|x|^k / t^k) - log 2, safe for small t
        shifted = (size - top) / t**k
        return float(top / t**k + np.log(weights @ np.exp(shifted)) - np.log(2))

    low = (top / np.log(2 / weights[size == top].sum())) ** (1 / k) * 0.5
    high = (top / np.log(2)) ** (1 / k) * 1.001
    return float(brentq(excess, low, high))


def _gaussian_grid(half_width: float = 9.0, m: int = 20_001) -> tuple[NDArray, NDArray]:
    z = np.linspace(-half_width, half_width, m)
    w = np.exp(-(z**2) / 2)
    return z, w / w.sum()


def _joint_normal(rho: float, m: int = 801) -> tuple[NDArray, NDArray, NDArray]:
    z, w = _gaussian_grid(9.0, m)
    x, e = np.meshgrid(z, z, indexing="ij")
    y = rho * x + np.sqrt(1 - rho**2) * e
    return x.ravel(), y.ravel(), np.outer(w, w).ravel()


def product_norms() -> pd.DataFrame:
    r"""Lemma 2 for several pairs: :math:`\|xy - E(xy)\|_{\psi_1}` against its bound.

    Columns pair, measured, bound, ratio. Pairs range from independent to identical.
    """
    sign = np.array([-1.0, 1.0])
    z, w = _gaussian_grid()
    rare = np.array([0.0, 1.0])
    pairs: dict[str, tuple[NDArray, NDArray, NDArray]] = {
        "normal, itself": (z, z, w),
        "normal, independent normal": _joint_normal(0.0),
        "normal, correlated normal (0.5)": _joint_normal(0.5),
        "sign, itself": (sign, sign, np.array([0.5, 0.5])),
        "rare event, itself": (rare, rare, np.array([0.9, 0.1])),
    }
    rows = []
    for name, (x, y, weights) in pairs.items():
        product = x * y
        measured = orlicz_norm(product - weights @ product, weights, 1)
        scale = orlicz_norm(x, weights, 2) * orlicz_norm(y, weights, 2)
        rows.append((name, measured, PRODUCT_CONSTANT * scale, measured / scale))
    frame = pd.DataFrame(rows, columns=["pair", "measured", "bound", "constant"])
    return frame.assign(ratio=frame.measured / frame.bound)


def good_event(
    n: int,
    n_labeled: int,
    p: int,
    q: int,
    *,
    delta: float,
    rho: float,
    n_reps: int,
    rng: np.random.Generator,
    draw: Callable[[np.random.Generator, tuple[int, int]], NDArray] | None = None,
    K: float = GAUSSIAN_PSI2,
    c: float = 1.0,
) -> dict[str, float]:
    r"""Lemma 3: how often :math:`\max_i\|x_i\|` or :math:`\max_j\|y_j\|` exceeds its radius.

    With :math:`\|z\|_{\psi_2} \le K` Markov's inequality gives
    :math:`P(|z| > t) \le 2 e^{-t^2/K^2}`, so c = 1 always serves. Returns the radii, the
    share of repetitions outside the event (``measured``), the promised ``bound``
    :math:`\rho\delta`, and the radius over the largest norm seen (``slack``).
    """
    for name, value in (("delta", delta), ("rho", rho)):
        if not 0 < value < 1:
            raise ValueError(f"{name} must be in (0, 1); got {value!r}.")
    check_integer(n_reps, "n_reps", low=1)
    check_positive(K, "K")
    sample = draw or (lambda g, shape: g.standard_normal(shape))
    radius_x = K * np.sqrt(p / c * np.log(4 * n**4 * p / (rho * delta)))
    radius_y = K * np.sqrt(q / c * np.log(4 * n_labeled**4 * q / (rho * delta)))
    outside, largest = 0, 0.0
    for _ in range(n_reps):
        norm_x = float(np.linalg.norm(sample(rng, (n, p)), axis=1).max())
        norm_y = float(np.linalg.norm(sample(rng, (n_labeled, q)), axis=1).max())
        outside += norm_x > radius_x or norm_y > radius_y
        largest = max(largest, norm_x)
    return {
        "radius_x": float(radius_x),
        "radius_y": float(radius_y),
        "measured": outside / n_reps,
        "bound": rho * delta,
        "slack": float(radius_x / largest),
    }


def _predictor_grid(law: str) -> tuple[NDArray, NDArray]:
    """Return values of a predictor and their weights, on a grid of the normal variable behind it.

    Far out, since fourth moments of log-normal variables have their mass six deviations away.
    """
    check_choice(law, "law", tuple(LAWS))
    z, w = _gaussian_grid(14.0, 8001)
    scale = LAWS[law].log_scale
    return (z if scale is None else np.exp(scale * z)), w


def score_kurtosis(law: str) -> float:
    r"""Kurtosis :math:`E(s_1^4)/E(s_1^2)^2` of a component of the true score, by quadrature.

    The law is a name in ``LAWS`` of :mod:`steinsdr.simulation`, its components independent.

    Examples
    --------
    >>> round(score_kurtosis("isotropic"), 6)
    3.0
    """
    x, w = _predictor_grid(law)
    score = LAWS[law].score(1).evaluate(x[:, None])[:, 0]
    return float(w @ score**4 / (w @ score**2) ** 2)


def response_kurtosis(law: str, b: NDArray) -> float:
    r"""Kurtosis of :math:`b^\top x + \varepsilon` with independent x and standard normal noise.

    That is the first response of the paper's designs without its bounded term; b is the first
    column of B. Fourth cumulants add up: that of x times :math:`\sum_k b_k^4`.

    Examples
    --------
    >>> round(response_kurtosis("isotropic", np.array([0.6, 0.8])), 6)
    3.0
    """
    x, w = _predictor_grid(law)
    if LAWS[law].rho:
        raise ValueError(f"law {law!r} has dependent components.")
    centred = x - w @ x
    variance = w @ centred**2
    fourth = w @ centred**4 - 3 * variance**2
    return float(3 + fourth * np.sum(b**4) / (variance * np.sum(b**2) + 1) ** 2)


def reach(law: str, n: int, rng: np.random.Generator) -> float:
    """Return the largest of n draws of a predictor, in standard deviations.

    For sub-Gaussian x it grows like the root of log n.
    """
    check_choice(law, "law", tuple(LAWS))
    x = LAWS[law].draw(check_integer(n, "n", low=2), 1, rng)
    return float(np.abs(x).max() / x.std())


# Theorem 1: the split estimator's error and the three terms of its bound.
#
# .. math::
#     \|\hat M - M\|_F \le C K^2 \Big\{ \sqrt q\, \epsilon(n_u)
#     + \sqrt{\tfrac{pq \ln(pq/\delta)}{n_\ell}} + \tfrac{\sqrt{pq} \ln(pq/\delta)}{n_\ell} \Big\}.
#
# The designs are those of Section 4.1 with standard normal x, where M is known
# (:mod:`steinsdr.paper.theory.lemma1`).


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
