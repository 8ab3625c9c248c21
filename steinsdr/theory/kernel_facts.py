r"""Lemmas 4, 7, 8 and 9: what is bounded in the space of the curl-free IMQ kernel.

With :math:`\phi(r) = (1 + r^2/c^2)^{-1/2}` and u = r/c, everything below is radial, so a supremum
over two points of :math:`\mathbb R^p` is one over u, found on a grid and polished.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from .._validation import check_integer, check_positive
from ..kernels import CurlFreeIMQ

__all__ = [
    "curl_free_block",
    "diagonal_norms",
    "divergence_norm",
    "divergence_sup",
    "divergence_sup_table",
    "feature_norm",
    "pointwise_bound",
    "third_derivative_sup",
]


def curl_free_block(x: NDArray, y: NDArray, c: float) -> NDArray:
    r"""Return :math:`\mathcal K_{CI}(x, y) = c^{-2}\{w^3 I - 3 w^5 \delta\delta^\top\}`, (p, p).

    Written from the definition, independently of :class:`steinsdr.kernels.CurlFreeIMQ`.

    Examples
    --------
    >>> block = curl_free_block(np.zeros(3), np.zeros(3), 2.0)
    >>> bool(np.allclose(block, np.eye(3) / 4))
    True
    """
    delta = (np.asarray(x, dtype=float) - y) / check_positive(c, "c")
    w = (1 + delta @ delta) ** -0.5
    return (w**3 * np.eye(len(delta)) - 3 * w**5 * np.outer(delta, delta)) / c**2


def diagonal_norms(c: float, p: int, n: int, rng: np.random.Generator) -> pd.DataFrame:
    r"""Lemma 9: operator norms of :math:`\mathcal K(x, x)` at n random x, against :math:`1/c^2`."""
    X = 10 * rng.standard_normal((n, p))
    measured = [np.linalg.norm(curl_free_block(x, x, c), 2) for x in X]
    return pd.DataFrame({"measured": measured, "bound": 1 / c**2})


def _sup(f: Callable[[NDArray], NDArray], high: float = 20.0) -> tuple[float, float]:
    """Maximize |f| on [0, high]: grid, then a bounded search around the best point."""
    grid = np.linspace(0, high, 4001)
    best = int(np.argmax(np.abs(f(grid))))
    step = grid[1]
    found = minimize_scalar(
        lambda u: -abs(float(f(np.array([u]))[0])),
        bounds=(max(0.0, grid[best] - step), grid[best] + step),
        method="bounded",
        options={"xatol": 1e-12},
    )
    return float(-found.fun), float(found.x)


def divergence_norm(u: NDArray, p: int, c: float = 1.0) -> NDArray:
    r"""Return :math:`\|\mathrm{div}_x \mathcal K(x, y)\|` at distance r = cu, signed.

    :math:`3 c^{-3} u \{(p + 2) + (p - 3) u^2\} (1 + u^2)^{-7/2}`.
    """
    u = np.asarray(u, dtype=float)
    return 3 / c**3 * u * ((p + 2) + (p - 3) * u**2) / (1 + u**2) ** 3.5


def divergence_sup(p: int, c: float = 1.0) -> float:
    r"""Lemma 8: :math:`M_\zeta = \sup_{x, y} \|\mathrm{div}_x \mathcal K(x, y)\|_2`.

    Examples
    --------
    >>> bool(0.5 < divergence_sup(200) / (2 * divergence_sup(100)) < 1.5)
    True
    """
    check_integer(p, "p", low=1)
    return _sup(lambda u: divergence_norm(u, p, c))[0]


def divergence_sup_table(dimensions: list[int], c: float = 1.0) -> pd.DataFrame:
    r"""Lemma 8 over dimensions: the supremum, over p, and between the proof's two constants.

    The proof brackets :math:`c^3 M_\zeta/(3p)` by :math:`2^{-7/2}` and
    :math:`\sup_u u(3 + u^2)(1 + u^2)^{-7/2}`. Column ``median_width`` is the supremum with
    :math:`c = (2p)^{1/2}`, the order of the median distance of p standardized columns.
    """
    top = _sup(lambda u: u * (3 + u**2) / (1 + u**2) ** 3.5)[0]
    rows = []
    for p in dimensions:
        sup = divergence_sup(p, c)
        rows.append((p, sup, c**3 * sup / (3 * p), 2**-3.5, top, divergence_sup(p, (2 * p) ** 0.5)))
    columns = ["p", "measured", "over_3p", "low", "high", "median_width"]
    return pd.DataFrame(rows, columns=columns)


def third_derivative_sup(c: float = 1.0) -> dict[str, float]:
    r"""Lemma 7: :math:`M_3`, the largest mixed third derivative of :math:`k_I`, by its kind.

    With d = (x - y)/c, :math:`c^3 \partial_i\partial_j\partial_k \phi = 3 w^5(\delta_{ij} d_k +
    \delta_{ik} d_j + \delta_{jk} d_i) - 15 w^7 d_i d_j d_k`. A derivative involves at most
    three coordinates; other coordinates only shrink it. It decays like :math:`r^{-4}`.
    """
    scale = 1 / c**3
    same = _sup(lambda u: 9 * u / (1 + u**2) ** 2.5 - 15 * u**3 / (1 + u**2) ** 3.5)[0]

    def two(a: NDArray, b: NDArray) -> NDArray:
        s = 1 + a**2 + b**2
        return 3 * b / s**2.5 - 15 * a**2 * b / s**3.5

    a, b = np.meshgrid(np.linspace(0, 4, 801), np.linspace(0, 4, 801))
    pair = float(np.abs(two(a, b)).max())
    distinct = _sup(lambda u: 15 * (u / np.sqrt(3)) ** 3 / (1 + u**2) ** 3.5)[0]
    tail = float(np.abs(9 * 1e3 / (1 + 1e6) ** 2.5 - 15 * 1e9 / (1 + 1e6) ** 3.5) * 1e12)
    kinds = {"iii": same * scale, "iij": pair * scale, "ijk": distinct * scale}
    return {**kinds, "M3": max(kinds.values()), "decay_constant": tail * scale}


def feature_norm(p: int, c: float) -> float:
    r"""Norm in the RKHS of the divergence functional: :math:`Z = \{3p(p+2)\}^{1/2}/c^2`.

    :math:`Z^2 = \mathrm{div}_x \mathrm{div}_y \mathcal K(x, y)|_{x = y} = \Delta^2\phi(0)`. The
    paper does without it; it gives the bounds of :mod:`steinsdr.theory.stability` that hold.
    """
    return float(np.sqrt(3 * p * (p + 2)) / c**2)


def pointwise_bound(
    n: int, p: int, c: float, n_fields: int, rng: np.random.Generator
) -> pd.DataFrame:
    r"""Lemma 4: :math:`\|f(x)\|_2 \le \|\mathcal K(x,x)\|^{1/2} \|f\|_{\mathcal H}` for random f.

    Fields :math:`f = \sum_j \mathcal K(\cdot, x_j) v_j` with random centres and coefficients;
    f(x) is taken at the centres and at fresh points. Columns measured (largest norm), bound.
    """
    rows = []
    for _ in range(n_fields):
        X, V = rng.standard_normal((2, n, p))
        kernel = CurlFreeIMQ(X, c)
        norm = np.sqrt(float((V * (kernel @ V)).sum()))
        points = np.vstack([X, rng.standard_normal((200, p))])
        largest = float(np.linalg.norm(kernel.at(points, V), axis=1).max())
        rows.append((largest, norm / c))
    frame = pd.DataFrame(rows, columns=["measured", "bound"])
    return frame.assign(ratio=frame.measured / frame.bound)
