r"""Lemmas 4 to 10 and the source condition: bounds in the space of the curl-free IMQ kernel.

The chapter on the appendix has the symbols, the proofs, and the bounds called ``repaired``, which
replace Lemmas 6 and 10. Quantities that depend on the distance of two points alone are functions of
u, the distance in units of the width c.

Whether a bound holds is asked of an optimizer, not of random data: it searches for the points, all
on one line, that come nearest to the bound. There only :math:`\mu = \lambda c^2` and p matter.

Functions that measure return a data frame with columns ``measured``, ``bound`` and their
``ratio``, which is at most 1 where the lemma holds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import differential_evolution, minimize_scalar

from ...kernels import CurlFreeIMQ

_RATIO = "ratio = measured / bound"
Field = Callable[[NDArray], NDArray]  # points (m, p) -> vectors (m, p); on a line (m,) -> (m,)


def curl_free_block(x: NDArray, y: NDArray, c: float) -> NDArray:
    r"""Return :math:`\mathcal K_{CI}(x, y) = c^{-2}\{w^3 I - 3 w^5 \delta\delta^\top\}`, (p, p).

    Written from the definition, independently of :class:`steinsdr.kernels.CurlFreeIMQ`.
    """
    delta = (np.asarray(x, dtype=float) - y) / c
    w = (1 + delta @ delta) ** -0.5
    return (w**3 * np.eye(len(delta)) - 3 * w**5 * np.outer(delta, delta)) / c**2


def diagonal_norms(c: float, p: int, n: int, rng: np.random.Generator) -> pd.DataFrame:
    r"""Lemma 9: operator norms of :math:`\mathcal K(x, x)` at n random x, against :math:`1/c^2`."""
    X = 10 * rng.standard_normal((n, p))
    measured = [np.linalg.norm(curl_free_block(x, x, c), 2) for x in X]
    return pd.DataFrame({"measured": measured, "bound": 1 / c**2})


def _sup(f: Callable[[Any], Any]) -> float:
    """Return the maximum of |f| on [0, 20]: grid, then a bounded search."""
    grid = np.linspace(0, 20.0, 4001)
    best, step = grid[np.argmax(np.abs(f(grid)))], grid[1]
    bounds, options = (max(0.0, best - step), best + step), {"xatol": 1e-12}
    found = minimize_scalar(lambda u: -abs(f(u)), bounds=bounds, method="bounded", options=options)
    return float(-found.fun)


def divergence_norm(u: NDArray, p: int, c: float = 1.0) -> NDArray:
    r"""Return :math:`\|\mathrm{div}_x \mathcal K(x, y)\|` at distance r = cu, signed.

    :math:`3 c^{-3} u \{(p + 2) + (p - 3) u^2\} (1 + u^2)^{-7/2}`.
    """
    u = np.asarray(u, dtype=float)
    return 3 / c**3 * u * ((p + 2) + (p - 3) * u**2) / (1 + u**2) ** 3.5


def divergence_sup(p: int, c: float = 1.0) -> float:
    r"""Lemma 8: :math:`M_\zeta = \sup_{x, y} \|\mathrm{div}_x \mathcal K(x, y)\|_2`."""
    return _sup(lambda u: divergence_norm(u, p, c))


def divergence_sup_table(dimensions: list[int]) -> pd.DataFrame:
    r"""Lemma 8 with c = 1 over dimensions: the supremum, and the proof's two constants.

    The proof brackets :math:`c^3 M_\zeta/(3p)` (``over_3p``) by ``low`` and ``high``. Column
    ``median_width`` is the supremum with :math:`c = (2p)^{1/2}`, the order of the median distance.
    """
    high = _sup(lambda u: u * (3 + u**2) / (1 + u**2) ** 3.5)
    measured = np.array([divergence_sup(p) for p in dimensions])
    return pd.DataFrame(
        {
            "p": dimensions,
            "measured": measured,
            "over_3p": measured / (3 * np.array(dimensions)),
            "low": 2**-3.5,
            "high": high,
            "median_width": [divergence_sup(p, (2 * p) ** 0.5) for p in dimensions],
        }
    )


def third_derivative_sup() -> dict[str, float]:
    """Lemma 7 with c = 1: :math:`M_3`, the largest mixed third derivative of :math:`k_I`.

    A derivative involves at most three coordinates; others only shrink it. Entries by kind, and
    ``M3``.
    """
    a, b = np.meshgrid(np.linspace(0, 4, 801), np.linspace(0, 4, 801))
    s = 1 + a**2 + b**2
    kinds = {
        "iii": _sup(lambda u: 9 * u / (1 + u**2) ** 2.5 - 15 * u**3 / (1 + u**2) ** 3.5),
        "iij": float(np.abs(3 * b / s**2.5 - 15 * a**2 * b / s**3.5).max()),
        "ijk": _sup(lambda u: 15 * (u / np.sqrt(3)) ** 3 / (1 + u**2) ** 3.5),
    }
    return {**kinds, "M3": max(kinds.values())}


def feature_norm(p: int, c: float) -> float:
    r"""Norm in the RKHS of the divergence functional: :math:`Z = \{3p(p+2)\}^{1/2}/c^2`."""
    return float(np.sqrt(3 * p * (p + 2)) / c**2)


def _random_field(
    n: int, p: int, c: float, rng: np.random.Generator
) -> tuple[NDArray, NDArray, CurlFreeIMQ, float]:
    r"""Return centers, coefficients, kernel and RKHS norm of a random sum of kernel functions."""
    X, V = rng.standard_normal((2, n, p))
    kernel = CurlFreeIMQ(X, c)
    return X, V, kernel, np.sqrt(float((V * (kernel @ V)).sum()))


def pointwise_bound(
    n: int, p: int, c: float, n_fields: int, rng: np.random.Generator
) -> pd.DataFrame:
    r"""Lemma 4: :math:`\|f(x)\|_2 \le \|\mathcal K(x,x)\|^{1/2} \|f\|_{\mathcal H}` for random f.

    ``measured`` is the largest norm of f(x) at the n centers of a field and at 200 fresh points.
    """
    rows = []
    for _ in range(n_fields):
        X, V, kernel, norm = _random_field(n, p, c, rng)
        points = np.vstack([X, rng.standard_normal((200, p))])
        rows.append((np.linalg.norm(kernel.at(points, V), axis=1).max(), norm / c))
    return pd.DataFrame(rows, columns=["measured", "bound"]).eval(_RATIO)


def potential_range(
    n: int, p: int, c: float, n_fields: int, rng: np.random.Generator
) -> pd.DataFrame:
    r"""Assumption 4: potentials of random fields vary less than :math:`\sqrt 2\|f\|_{\mathcal H}`.

    ``measured`` is the largest difference over 500 pairs near and far. A continuous density on
    :math:`\mathbb R^p` has a log density without lower bound, so its score is no such field: the
    chapter on Theorem 2 has the proof.
    """
    rows = []
    for _ in range(n_fields):
        _, V, kernel, norm = _random_field(n, p, c, rng)
        radius = rng.choice([1.0, 5.0, 50.0], size=(1000, 1))
        g = kernel.potential_at(radius * rng.standard_normal((1000, p)), V)
        rows.append((np.abs(g[:500] - g[500:]).max(), np.sqrt(2) * norm))
    return pd.DataFrame(rows, columns=["measured", "bound"]).eval(_RATIO)


def _gram(X: NDArray, c: float) -> NDArray:
    """Return the (np, np) matrix of kernel blocks, built block by block from the definition."""
    return np.block([[curl_free_block(a, b, c) for b in X] for a in X])


def interpolation_norms(
    score: Field, radii: list[float], *, p: int, c: float, n: int, rng: np.random.Generator
) -> pd.DataFrame:
    r"""Smallest RKHS norm of a field that equals the score on n points of a ball, by its radius.

    If it grows without limit as the ball grows, the score is not in :math:`\mathcal H` (Assumption
    4).
    """
    directions = rng.standard_normal((n, p))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    unit = directions * rng.random((n, 1)) ** (1 / p)
    rows = []
    for radius in radii:
        X = radius * unit
        target = score(X).ravel()
        norm = np.sqrt(target @ np.linalg.lstsq(_gram(X, c), target, rcond=1e-12)[0])
        rows.append({"radius": radius, "norm": float(norm)})
    return pd.DataFrame(rows)


def _line_kernel(x: NDArray, y: NDArray) -> NDArray:
    """Return the kernel's entries along a line, width 1."""
    t = np.subtract.outer(x, y)
    return (1 + t**2) ** -1.5 - 3 * t**2 * (1 + t**2) ** -2.5


def _line_ridge(points: NDArray, weights: NDArray, values: NDArray, mu: float) -> Field:
    """Return kernel ridge regression on weighted points of a line, width 1, along the line."""
    gram = _line_kernel(points, points)
    fitted = np.linalg.solve(gram * weights + mu * np.eye(len(points)), values)
    return lambda x: _line_kernel(x, points) @ (weights * fitted)


def line_score(points: ArrayLike, weights: ArrayLike, mu: float, p: int) -> Field:
    r"""Return the TRE of points on a line of :math:`\mathbb R^p`, as a function on that line.

    ``weights`` are the shares of the sample at each of ``points``, the width is 1 and mu is
    :math:`\lambda`. Any other width c follows:
    :math:`\hat s_{c,\lambda}(x) = \hat s_{1,\lambda c^2}(x/c)/c`.

    Examples
    --------
    The score of two equal halves is odd about the middle between them:

    >>> score = line_score([-1, 1], [0.5, 0.5], 0.1, 3)
    >>> bool(np.allclose(score([0.3, 2]), -score([-0.3, -2])))
    True
    """
    points, weights = np.asarray(points, dtype=float), np.asarray(weights, dtype=float)

    def zeta(x: NDArray) -> NDArray:
        return divergence_norm(np.subtract.outer(x, points), p) @ weights

    ridge = _line_ridge(points, weights, zeta(points) / mu, mu)
    return lambda x: zeta(np.asarray(x, dtype=float)) / mu - ridge(np.asarray(x, dtype=float))


_N = 100_000  # rows of the searches, of which all but one are at 0
_SHARES = np.array([_N - 1, 1]) / _N


def _search(
    objective: Callable[[NDArray, float], float],
    reach: list[float],
    mus: list[float],
    bound: Any,
    repaired: Any,
) -> pd.DataFrame:
    """Return the largest value of an objective of (place, mu) by mu, against its two bounds.

    Differential evolution searches the place, an array; each entry lies within its ``reach`` of 0.
    ``bound`` is the paper's and ``repaired`` ours, one for all mus or one for each.
    """
    limits = [(-end, end) for end in reach]
    options: dict[str, Any] = {"rng": 0, "tol": 1e-6, "maxiter": 300, "popsize": 10}
    found = [
        differential_evolution(lambda place, mu=mu: -objective(place, mu), limits, **options)
        for mu in mus
    ]
    places, values = [one.x for one in found], [-one.fun for one in found]
    frame = pd.DataFrame({"mu": mus, "place": places, "measured": values})
    frame = frame.assign(bound=bound, repaired=repaired)
    return frame.eval(_RATIO).eval("ratio_repaired = measured / repaired")


def ridge_search(mus: list[float]) -> pd.DataFrame:
    """Lemma 5, adversarially, for width 1: the largest change of the fit as one pair is replaced.

    n - 1 points are at 0 with response 1. The last pair has the response 1 before and -1 after;
    its places before and after and the point of evaluation are searched for.
    """

    def change(place: NDArray, mu: float) -> float:
        old, new, x = place
        before = _line_ridge(np.array([0, old]), _SHARES, np.array([1.0, 1.0]), mu)
        after = _line_ridge(np.array([0, new]), _SHARES, np.array([1.0, -1.0]), mu)
        return float(abs(before(x) - after(x)))

    mu = np.array(mus)
    bounds = (2 * (1 + part * mu**-0.5) / (_N * mu) for part in (1, 0.5))
    return _search(change, [4, 4, 4], mus, *bounds)


def replacement_search(p: int, mus: list[float]) -> pd.DataFrame:
    """Lemma 6, adversarially, for width 1: the largest change of the TRE as one point moves.

    n - 1 points are at 0; where the last one comes from and goes to (columns ``from`` and ``to``),
    and the point of evaluation, are searched for. At other widths the ratio is :math:`c^2` times
    that of the same mu: the printed bound is true for widths up to ``true_to``, false above
    ``false_from``.
    """

    def change(place: NDArray, mu: float) -> float:
        x = place[2:]
        before, after = (line_score([0, last], _SHARES, mu, p)(x) for last in place[:2])
        return float(abs(before - after)[0])

    mu = np.array(mus)
    bound = (2 * (1 + mu**-0.5) / mu + 2) * divergence_sup(p) / _N
    repaired = 2 * feature_norm(p, 1.0) / (_N * mu) * (1 + 1 / mu)
    frame = _search(change, [4, 4, 4], mus, bound, repaired)
    frame[["from", "to"]] = np.stack(frame["place"])[:, :2]
    return frame.assign(true_to=(bound / repaired) ** 0.5, false_from=frame.ratio**-0.5)


def size_search(p: int, mus: list[float]) -> pd.DataFrame:
    r"""Lemma 10, first half, adversarially: the largest :math:`\lambda\|\hat s(x)\|`, width 1.

    Points and weights of three groups on a line and the point of evaluation are searched for.
    ``bound`` is what the printed :math:`(1 + \kappa)M_\zeta` tends to for wide kernels.
    """

    def size(place: NDArray, mu: float) -> float:
        weights = np.exp(np.append(place[2:4], 0))
        field = line_score(np.append(place[:2], 0), weights / weights.sum(), mu, p)
        return mu * float(abs(field(place[-1:]))[0])

    return _search(size, [4, 4, 12, 12, 4], mus, divergence_sup(p), feature_norm(p, 1.0))


_SHELL = ((0.0, 1.16), (0.62, 1.23), (1.35, 1.20), (1.89, 0.77), (2.13, 0.0), (1.90, -0.85))
"""Rings of points around the first axis: radius, and place on the axis (found by a search)."""


def size_limits(mu: float = 1e-10, share: float = 1e-4) -> dict[str, float]:
    r"""Lemma 10, first half, for p = 3: widths for which the printed bound is true and false.

    A sample with the ``share`` of its points on six rings and the others at 0 has the ``ratio`` of
    :math:`\lambda\|\hat s(x)\|` to :math:`M_\zeta`, at :math:`\lambda c^2` = ``mu``. It refutes the
    printed bound for widths above ``false_from``. Since :math:`(M_\zeta + \kappa Z)/2` is a bound,
    the printed :math:`(1 + \kappa)M_\zeta` is true for widths up to ``true_to``.
    """
    angles = 2 * np.pi * np.arange(8) / 8
    rings = [(z, r * np.cos(a), r * np.sin(a)) for r, z in _SHELL for a in angles[: 8 if r else 1]]
    points = np.array([(0, 0, 0), *rings], dtype=float)
    weights = np.append(1 - share, np.full(len(rings), share / len(rings)))

    def zeta(x: NDArray) -> NDArray:
        d = x - points
        u = np.linalg.norm(d, axis=1)
        return (weights * divergence_norm(u, 3) / np.where(u > 0, u, 1)) @ d

    spread = np.repeat(weights, 3)
    system = mu * np.eye(3 * len(points)) + _gram(points, 1.0) * spread
    values = np.linalg.solve(system, np.concatenate([zeta(x) for x in points]))
    sizes = []
    for place in np.linspace(0.3, 0.5, 41):
        x = np.array([place, 0, 0])
        row = np.hstack([curl_free_block(x, y, 1.0) for y in points])
        sizes.append(np.linalg.norm(zeta(x) - row @ (spread * values)))
    M, Z = divergence_sup(3), feature_norm(3, 1.0)
    ratio = float(max(sizes) / M)
    return {"ratio": ratio, "true_to": 2 * M / (Z - M), "false_from": 1 / (ratio - 1)}


def slope_search(p: int, widths: list[float]) -> pd.DataFrame:
    r"""Lemma 10, second half: for which lambda the printed Lipschitz constant is true, by width.

    One training point has the slope :math:`3(p + 2)/(c^4\lambda)` at itself. It refutes the printed
    constant from the lambda ``false_from`` on (infinite if never). Up to ``true_to`` the repaired
    one is smaller than the printed one. ``attained`` is the slope of one point over the repaired
    constant.
    """
    c = np.asarray(widths, dtype=float)
    printed = third_derivative_sup()["M3"] * p**1.5 / c**3  # times 1/lambda + M_zeta/lambda^2
    single, repaired = 3 * (p + 2) / c**4, 3 * feature_norm(p, 1.0) / c**4
    zeta = divergence_sup(p) / c**3
    with np.errstate(divide="ignore"):
        ends = [
            np.where(slope > printed, printed * zeta / np.abs(slope - printed), np.inf)
            for slope in (repaired, single)
        ]
    return pd.DataFrame(
        {"c": c, "true_to": ends[0], "false_from": ends[1], "attained": single / repaired}
    )
