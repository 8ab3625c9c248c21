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

from ..._base import check_integer, check_positive
from ...kernels import CurlFreeIMQ

__all__ = [
    "curl_free_block",
    "diagonal_norms",
    "divergence_norm",
    "divergence_sup",
    "divergence_sup_table",
    "feature_norm",
    "lipschitz_table",
    "pointwise_bound",
    "pointwise_table",
    "ridge_field",
    "ridge_replacement",
    "single_point_counterexample",
    "third_derivative_sup",
    "tre_field",
    "tre_replacement",
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
    paper does without it; it gives the bounds of :mod:`steinsdr.paper.theory.kernel_lemmas` that
    hold.
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


# Lemmas 5, 6 and 10: how much one observation moves an estimate, and how large it can be.
#
# Lemma 5 speaks of kernel ridge regression, Lemmas 6 and 10 of the Tikhonov score estimator (TRE),
# which is the ridge regression of :math:`\hat\zeta(x_i)/\lambda` minus
# :math:`\hat\zeta(x)/\lambda`. In their proofs a factor :math:`1/\lambda` of these responses is
# lost.
# The bounds called ``repaired`` below use instead
# :math:`\hat s = (\hat L + \lambda)^{-1} \hat\zeta` in the RKHS, where :math:`\hat L \ge 0` is the
# empirical integral operator and :math:`\|\hat\zeta\|_{\mathcal H} \le Z` (see
# :func:`steinsdr.paper.theory.kernel_lemmas.feature_norm`): with :math:`\kappa = 1/c`
#
# .. math::
#     \|\hat s(x)\| \le \frac{\kappa Z}{\lambda}, \qquad
#     \|\hat s_X(x) - \hat s_{X^j}(x)\| \le \frac{2\kappa Z}{n\lambda}
#     \Big(1 + \frac{\kappa^2}{\lambda}\Big).


Field = Callable[[NDArray], NDArray]


def _gram(X: NDArray, c: float) -> NDArray:
    """Return the (np, np) matrix of kernel blocks, built block by block from the definition."""
    n, p = X.shape
    blocks = [[curl_free_block(a, b, c) for b in X] for a in X]
    return np.block(blocks).reshape(n * p, n * p)


def ridge_field(X: NDArray, Y: NDArray, lam: float, c: float) -> Field:
    """Return the kernel ridge regression of Lemma 5, solved directly."""
    n, p = X.shape
    V = np.linalg.solve(_gram(X, c) + n * lam * np.eye(n * p), Y.ravel()).reshape(n, p)
    kernel = CurlFreeIMQ(X, c)
    return lambda points: kernel.at(points, V)


def tre_field(X: NDArray, lam: float, c: float) -> Field:
    r"""Return the TRE :math:`\hat s = (\hat L + \lambda)^{-1}\hat\zeta`, solved directly.

    No standardization and a given width: the estimator as the lemmas state it. Small n only.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((20, 3))
    >>> tre_field(X, 0.1, 2.0)(X).shape
    (20, 3)
    """
    check_positive(lam, "lam")
    kernel = CurlFreeIMQ(X, check_positive(c, "c"))
    ridge = ridge_field(X, kernel.divergence(X) / lam, lam, c)
    return lambda points: kernel.divergence(points) / lam - ridge(points)


def _largest(first: Field, second: Field, points: NDArray) -> float:
    return float(np.linalg.norm(first(points) - second(points), axis=1).max())


def ridge_replacement(
    n: int, p: int, c: float, lams: list[float], n_reps: int, rng: np.random.Generator
) -> pd.DataFrame:
    r"""Lemma 5: replace one of n responses-and-points, look at the largest change of the fit.

    Responses lie on the sphere of radius :math:`M_y = 1`; the new pair is the worst of ten.
    The bound is :math:`2(1 + \kappa/\sqrt\lambda)\kappa^2 M_y/(n\lambda)`.
    """
    check_integer(n, "n", low=2)
    rows = []
    for lam in lams:
        bound = 2 * (1 + 1 / (c * np.sqrt(lam))) / (c**2 * lam * n)
        for rep in range(n_reps):
            X, Y = rng.standard_normal((2, n, p))
            Y /= np.linalg.norm(Y, axis=1, keepdims=True)
            before = ridge_field(X, Y, lam, c)
            measured = 0.0
            for _ in range(10):
                X2, Y2 = X.copy(), Y.copy()
                X2[0], Y2[0] = rng.standard_normal((2, p))
                Y2[0] /= np.linalg.norm(Y2[0])
                points = np.vstack([X, X2[:1], rng.standard_normal((50, p))])
                measured = max(measured, _largest(before, ridge_field(X2, Y2, lam, c), points))
            rows.append((lam, rep, measured, bound))
    frame = pd.DataFrame(rows, columns=["lam", "rep", "measured", "bound"])
    return frame.assign(ratio=frame.measured / frame.bound)


def _paper_replacement(p: int, c: float, lam: float, n: int) -> float:
    return (2 * (1 + 1 / (c * np.sqrt(lam))) / (c**2 * lam) + 2) * divergence_sup(p, c) / n


def _repaired_replacement(p: int, c: float, lam: float, n: int) -> float:
    return 2 * feature_norm(p, c) / (c * n * lam) * (1 + 1 / (c**2 * lam))


def tre_replacement(
    n: int, p: int, c: float, lams: list[float], n_reps: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Lemma 6: replace one of n points by the worst of ten, look at the largest change of the TRE.

    Columns lam, rep, measured, bound (the paper's), repaired, ratio, ratio_repaired.
    """
    rows = []
    for lam in lams:
        for rep in range(n_reps):
            X = rng.standard_normal((n, p))
            before, measured = tre_field(X, lam, c), 0.0
            for _ in range(10):
                X2 = X.copy()
                X2[0] = 3 * rng.standard_normal(p)
                points = np.vstack([X, X2[:1], 3 * rng.standard_normal((50, p))])
                measured = max(measured, _largest(before, tre_field(X2, lam, c), points))
            paper, repaired = (f(p, c, lam, n) for f in (_paper_replacement, _repaired_replacement))
            rows.append((lam, rep, measured, paper, repaired))
    frame = pd.DataFrame(rows, columns=["lam", "rep", "measured", "bound", "repaired"])
    return frame.assign(
        ratio=frame.measured / frame.bound, ratio_repaired=frame.measured / frame.repaired
    )


def single_point_counterexample(p: int, c: float, lam: float) -> dict[str, float]:
    r"""Lemma 6 with n = 1, computed by hand and by machine.

    The divergence vanishes at the only training point, so the ridge part is zero and
    :math:`\hat s(x) = \hat\zeta(x)/\lambda`. Put the point and its replacement at opposite sides
    of x, at the distance where the divergence is largest: the change is
    :math:`2 M_\zeta/\lambda`, and exceeds the lemma's bound for a wide kernel and small lambda.
    """
    pass

    u = _sup(lambda t: divergence_norm(t, p, c))[1]
    point = np.zeros((1, p))
    point[0, 0] = c * u
    x = np.zeros((1, p))
    return {
        "measured": _largest(tre_field(point, lam, c), tre_field(-point, lam, c), x),
        "by_hand": 2 * divergence_sup(p, c) / lam,
        "bound": _paper_replacement(p, c, lam, 1),
        "repaired": _repaired_replacement(p, c, lam, 1),
    }


def pointwise_table(
    n: int, p: int, widths: list[float], lams: list[float], n_reps: int, rng: np.random.Generator
) -> pd.DataFrame:
    r"""Lemma 10, first half: :math:`\sup_x\|\hat s(x)\|` against :math:`(1+\kappa)M_\zeta/\lambda`.

    The supremum is over 400 test points, near and far, of ``n_reps`` data sets. The last width and
    lambda are as likely to break the bound as the first; column ``repaired`` holds
    :math:`\kappa Z/\lambda`.
    """
    rows = []
    for c in widths:
        for lam in lams:
            for rep in range(n_reps):
                X = rng.standard_normal((n, p)) * rng.choice([0.3, 1.0, 3.0])
                points = np.vstack([X, rng.standard_normal((400, p)) * (c + 1)])
                measured = float(np.linalg.norm(tre_field(X, lam, c)(points), axis=1).max())
                bound = (1 + 1 / c) * divergence_sup(p, c) / lam
                rows.append((c, lam, rep, measured, bound, feature_norm(p, c) / (c * lam)))
    frame = pd.DataFrame(rows, columns=["c", "lam", "rep", "measured", "bound", "repaired"])
    return frame.assign(
        ratio=frame.measured / frame.bound, ratio_repaired=frame.measured / frame.repaired
    )


def lipschitz_table(
    n: int, p: int, widths: list[float], lams: list[float], n_reps: int, rng: np.random.Generator
) -> pd.DataFrame:
    r"""Lemma 10, second half: the steepest slope of :math:`\hat s` against its Lipschitz bound.

    The bound is :math:`(M_3 M_\zeta/\lambda^2 + M_3/\lambda)\,p^{3/2}`. Slopes are difference
    quotients over short steps in random directions from data points and random points; n = 1
    shows the divergence alone, whose slope is a *fourth* derivative of the IMQ kernel.
    """
    rows = []
    for c in widths:
        M3, Mz = third_derivative_sup(c)["M3"], divergence_sup(p, c)
        for lam in lams:
            for rep in range(n_reps):
                X = rng.standard_normal((n, p))
                field = tre_field(X, lam, c)
                start = np.vstack([X, X[:1] + c * 0.3 * rng.standard_normal((200, p))])
                step = rng.standard_normal(start.shape)
                step *= 1e-4 * c / np.linalg.norm(step, axis=1, keepdims=True)
                change = np.linalg.norm(field(start + step) - field(start), axis=1)
                measured = float((change / (1e-4 * c)).max())
                rows.append((c, lam, rep, measured, (M3 * Mz / lam**2 + M3 / lam) * p**1.5))
    frame = pd.DataFrame(rows, columns=["c", "lam", "rep", "measured", "bound"])
    return frame.assign(ratio=frame.measured / frame.bound)
