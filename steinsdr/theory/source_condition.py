r"""Assumption 4 (source condition): no density has its score in the RKHS.

If :math:`s = L^\omega f_0` with :math:`f_0 \in \mathcal H` and :math:`\omega > 0`, then s itself is
in :math:`\mathcal H`. A field f = grad g of :math:`\mathcal H` has, along the segment from a to b,

.. math::
    |g(b) - g(a)| \le \|f\|_{\mathcal H} \{2\phi(0) - 2\phi(\|b - a\|)\}^{1/2}
    < \sqrt 2\, \|f\|_{\mathcal H},

because the norm of the line integral, as a functional, is a double integral of
:math:`-\nabla^2 \phi`. So a log density whose score is in :math:`\mathcal H` varies by less than
:math:`\sqrt 2 \|s\|_{\mathcal H}`: it stays above a positive constant everywhere, and no
probability density on :math:`\mathbb R^p` does that.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..kernels import CurlFreeIMQ
from .stability import _gram

__all__ = ["interpolation_norms", "potential_range"]


def potential_range(
    n: int, p: int, c: float, n_fields: int, rng: np.random.Generator
) -> pd.DataFrame:
    r"""Measure :math:`|g(b) - g(a)|` of random fields against :math:`\sqrt 2\|f\|_{\mathcal H}`.

    Columns measured (largest difference over 500 pairs near and far), bound, ratio.
    """
    rows = []
    for _ in range(n_fields):
        X, V = rng.standard_normal((2, n, p))
        kernel = CurlFreeIMQ(X, c)
        norm = np.sqrt(float((V * (kernel @ V)).sum()))
        radius = rng.choice([1.0, 5.0, 50.0], size=(1000, 1))
        g = kernel.potential_at(radius * rng.standard_normal((1000, p)), V)
        rows.append((float(np.abs(g[:500] - g[500:]).max()), np.sqrt(2) * norm))
    frame = pd.DataFrame(rows, columns=["measured", "bound"])
    return frame.assign(ratio=frame.measured / frame.bound)


def interpolation_norms(
    score: Callable[[NDArray], NDArray],
    radii: list[float],
    *,
    p: int,
    c: float,
    n: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    r"""Smallest RKHS norm of a field that equals the score on n points of a ball, by its radius.

    It is a lower bound of the norm of any member of :math:`\mathcal H` that agrees with the score
    there: if it grows without limit as the ball grows, the score is not in :math:`\mathcal H`.
    """
    directions = rng.standard_normal((n, p))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    unit = directions * rng.random((n, 1)) ** (1 / p)
    rows = []
    for radius in radii:
        X = radius * unit
        target = score(X).ravel()
        norm = np.sqrt(target @ np.linalg.lstsq(_gram(X, c), target, rcond=1e-12)[0])
        rows.append((radius, float(norm)))
    return pd.DataFrame(rows, columns=["radius", "norm"])
