"""Theorem 1, its Assumption 1, and Lemmas 2 and 3 for sub-Gaussian variables.

Orlicz norms are computed, not bounded. The designs of Theorem 1 are those of Section 4.1 with
standard normal x, where M is known (:func:`steinsdr.paper.theory.lemma1.gaussian_moment`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize
from scipy.stats import lognorm, norm

from ...moments import cross_moment
from ...simulation import LAWS, links, stream
from .lemma1 import gaussian_moment, random_basis

GAUSSIAN_PSI2 = float(np.sqrt(8 / 3))
r""":math:`\|z\|_{\psi_2}` of a standard normal: :math:`(1 - 2/t^2)^{-1/2} = 2` gives 8/3."""


def orlicz_norm(values: NDArray, weights: NDArray, k: int) -> float:
    r"""Return :math:`\inf\{t > 0 : E \exp(|x|^k / t^k) \le 2\}`, the Orlicz norm of atoms.

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
    """Return m points up to ``half_width`` from 0, and their weights under the standard normal."""
    z = np.linspace(-half_width, half_width, m)
    w = np.exp(-(z**2) / 2)
    return z, w / w.sum()


def product_norms() -> pd.DataFrame:
    r"""Lemma 2 for pairs from independent to identical: columns pair and constant.

    The constant is the least C for which the lemma holds for this pair,
    :math:`\|xy - E(xy)\|_{\psi_1} / (\|x\|_{\psi_2}\|y\|_{\psi_2})`.
    """
    z, w = _gaussian_grid()
    coarse, weights = _gaussian_grid(m=801)
    x, e = (axis.ravel() for axis in np.meshgrid(coarse, coarse, indexing="ij"))
    joint = np.outer(weights, weights).ravel()
    sign, rare = np.array([-1.0, 1.0]), np.array([0.0, 1.0])
    pairs = {
        "normal, itself": (z, z, w),
        "normal, independent normal": (x, e, joint),
        "normal, correlated normal (0.5)": (x, 0.5 * x + np.sqrt(0.75) * e, joint),
        "sign, itself": (sign, sign, np.array([0.5, 0.5])),
        "rare event, itself": (rare, rare, np.array([0.9, 0.1])),
    }
    rows = []
    for name, (first, second, weights) in pairs.items():
        product = first * second
        measured = orlicz_norm(product - weights @ product, weights, 1)
        scale = orlicz_norm(first, weights, 2) * orlicz_norm(second, weights, 2)
        rows.append((name, measured / scale))
    return pd.DataFrame(rows, columns=["pair", "constant"])


def product_search(atoms: int = 3, n_starts: int = 10, *, seed: int = 42) -> float:
    r"""Lemma 2, adversarially: the largest :math:`\|xy - E(xy)\|_{\psi_1}` for factors of norm 1.

    Any z is such a product, of :math:`x = |z|^{1/2}` and :math:`y = \mathrm{sign}(z)|z|^{1/2}`, up
    to scale. So this is the largest :math:`\|z - Ez\|_{\psi_1}/\|z\|_{\psi_1}`, here over laws with
    few atoms. It is at most 2.
    """
    rng = stream(seed, "product")

    def ratio(theta: NDArray) -> float:
        weights = np.exp(theta[atoms:] - theta[atoms:].max())
        z, w = theta[:atoms], weights / weights.sum()
        return orlicz_norm(z - w @ z, w, 1) / orlicz_norm(z, w, 1)

    starts = 2 * rng.standard_normal((n_starts, 2 * atoms))
    found = (minimize(lambda t: -ratio(t), start, method="Nelder-Mead") for start in starts)
    return float(max(-result.fun for result in found))


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
    power: int = 4,
) -> dict[str, float]:
    r"""Lemma 3: how often :math:`\max_i\|x_i\|` or :math:`\max_j\|y_j\|` exceeds its radius.

    The components have the heaviest tails that the lemma allows (K = c = 1). The radius is
    :math:`\{p \ln(4 n^4 p/\rho\delta)\}^{1/2}`; ``power`` replaces the 4 at n. Returns the share of
    repetitions outside the event (``measured``) and the ``bound`` :math:`\rho\delta`.
    """

    def largest_norm(size: tuple[int, int]) -> float:
        return float(np.sqrt(np.log(2 / rng.random(size)).sum(axis=1)).max())

    radius_x = np.sqrt(p * np.log(4 * n**power * p / (rho * delta)))
    radius_y = np.sqrt(q * np.log(4 * n_labeled**power * q / (rho * delta)))
    outside = 0
    for _ in range(n_reps):
        norm_x, norm_y = largest_norm((n, p)), largest_norm((n_labeled, q))
        outside += norm_x > radius_x or norm_y > radius_y
    return {"measured": outside / n_reps, "bound": rho * delta}


def score_kurtosis(law: str) -> float:
    """Kurtosis :math:`E(s_1^4)/E(s_1^2)^2` of a component of the true score, by quadrature.

    The law is a name in ``LAWS`` of :mod:`steinsdr.simulation`, its components independent.
    """
    scale = LAWS[law].log_scale
    # The mass of fourth moments of log-normal variables is six deviations from the center.
    z, w = _gaussian_grid(14.0, 8001)
    x = z if scale is None else np.exp(scale * z)
    score = LAWS[law].score(1).evaluate(x[:, None])[:, 0]
    return float(w @ score**4 / (w @ score**2) ** 2)


def response_kurtosis(law: str, b: NDArray) -> float:
    r"""Kurtosis of :math:`b^\top x + \varepsilon` with independent x and standard normal noise.

    That is the first response of the paper's designs without its bounded term; b is the first
    column of B. ValueError if the components of x depend on each other.
    """
    known = LAWS[law]
    if known.rho:
        raise ValueError(f"law must have independent components; got {law!r}.")
    component = norm() if known.log_scale is None else lognorm(known.log_scale)
    variance, excess = component.stats("vk")
    fourth = excess * variance**2 * np.sum(b**4)
    return float(3 + fourth / (variance * np.sum(b**2) + 1) ** 2)


def largest_in_deviations(law: str, n: int, rng: np.random.Generator) -> float:
    """Return the largest of n draws of a predictor, in standard deviations (Assumption 3).

    For sub-Gaussian x it grows like the root of log n.
    """
    x = LAWS[law].draw(n, 1, rng)
    return float(np.abs(x).max() / x.std())


def _responses(X: NDArray, B: NDArray, q: int, rng: np.random.Generator) -> NDArray:
    return links(X @ B, q) + rng.standard_normal((len(X), q))


def split_errors(
    n_labeled: list[int],
    *,
    p: int = 20,
    q: int = 10,
    n_unlabeled: int = 0,
    score: Any = None,
    n_reps: int,
    seed: int = 42,
) -> pd.DataFrame:
    r"""Errors of the split estimator over labeled sample sizes, with r = 3.

    The score is the true one, or that of an estimator trained on ``n_unlabeled`` rows, once for
    each repetition. Columns n_labeled, p, q, n_unlabeled, rep, epsilon, error; ``epsilon`` is
    :math:`\{E\|\hat s(x) - s(x)\|^2\}^{1/2}` over 2,000 fresh points.
    """
    B = random_basis(p, 3, stream(seed, "split", "basis", p))
    M = gaussian_moment(B, q)
    rows = []
    for rep in range(n_reps):
        rng = stream(seed, "split", p, q, n_unlabeled, rep)
        X_unlabeled = rng.standard_normal((max(n_unlabeled, 1), p))
        # The true score of standard normal x is x.
        estimate = np.asarray if score is None else score.fit(X_unlabeled).evaluate
        fresh = rng.standard_normal((2000, p))
        gap = estimate(fresh) - fresh
        epsilon = float(np.sqrt(np.mean(np.sum(gap**2, axis=1))))
        for n in n_labeled:
            X = rng.standard_normal((n, p))
            M_hat = cross_moment(estimate(X), _responses(X, B, q, rng))
            rows.append((n, p, q, n_unlabeled, rep, epsilon, float(np.linalg.norm(M_hat - M))))
    columns = ["n_labeled", "p", "q", "n_unlabeled", "rep", "epsilon", "error"]
    return pd.DataFrame(rows, columns=columns)


def scale_counterexample(sigmas: list[float]) -> pd.DataFrame:
    r"""The first term of Theorem 1 with K or :math:`K^2`: a family on which no C serves the square.

    :math:`x \sim N(0, \sigma^2 I_4)` with score :math:`s = x/\sigma^2`, responses :math:`y = s`,
    estimator :math:`\hat s = s/2`, and :math:`n_\ell \to \infty`; all is exact. Column ``constant``
    is error over the paper's :math:`K^2\sqrt q \epsilon` and grows like :math:`\sigma`;
    ``repaired`` has K in place of :math:`K^2` and is constant.
    """
    p, sigma = 4, np.asarray(sigmas, dtype=float)
    error = np.sqrt(p) / (2 * sigma**2)
    epsilon = np.sqrt(p) / (2 * sigma)
    K = GAUSSIAN_PSI2 / sigma
    constant, repaired = (error / (scale * np.sqrt(p) * epsilon) for scale in (K**2, K))
    return pd.DataFrame({"sigma": sigma, "constant": constant, "repaired": repaired})
