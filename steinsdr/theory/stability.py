r"""Lemmas 5, 6 and 10: how much one observation moves an estimate, and how large it can be.

Lemma 5 speaks of kernel ridge regression, Lemmas 6 and 10 of the Tikhonov score estimator (TRE),
which is the ridge regression of :math:`\hat\zeta(x_i)/\lambda` minus
:math:`\hat\zeta(x)/\lambda`. In their proofs a factor :math:`1/\lambda` of these responses is lost.
The bounds called ``repaired`` below use instead
:math:`\hat s = (\hat L + \lambda)^{-1} \hat\zeta` in the RKHS, where :math:`\hat L \ge 0` is the
empirical integral operator and :math:`\|\hat\zeta\|_{\mathcal H} \le Z` (see
:func:`steinsdr.theory.kernel_facts.feature_norm`): with :math:`\kappa = 1/c`

.. math::
    \|\hat s(x)\| \le \frac{\kappa Z}{\lambda}, \qquad
    \|\hat s_X(x) - \hat s_{X^j}(x)\| \le \frac{2\kappa Z}{n\lambda}
    \Big(1 + \frac{\kappa^2}{\lambda}\Big).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._validation import check_integer, check_positive
from ..kernels import CurlFreeIMQ
from .kernel_facts import curl_free_block, divergence_sup, feature_norm, third_derivative_sup

__all__ = [
    "lipschitz_table",
    "pointwise_table",
    "ridge_field",
    "ridge_replacement",
    "single_point_counterexample",
    "tre_field",
    "tre_replacement",
]

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
    from .kernel_facts import _sup, divergence_norm

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
