r"""Lemmas 2 and 3: products of sub-Gaussian variables, and the event on which norms are small.

The lemmas ask for sub-Gaussian variables; which of the paper's laws have them is measured too.

Orlicz norms are computed, not bounded: :math:`\|x\|_{\psi_k} = \inf\{t > 0 :
E \exp(|x|^k / t^k) \le 2\}` by quadrature or exact summation and a root search.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq

from .._validation import check_choice, check_integer, check_positive
from ..simulation import LAWS

__all__ = [
    "GAUSSIAN_PSI2",
    "PRODUCT_CONSTANT",
    "good_event",
    "orlicz_norm",
    "product_norms",
    "reach",
    "response_kurtosis",
    "score_kurtosis",
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
