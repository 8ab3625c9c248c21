r"""The population cross-moment M of the paper's designs with normal x, by quadrature."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._validation import check_integer
from ..simulation import links

__all__ = ["gaussian_moment", "mean_gradients"]


def mean_gradients(
    cov: NDArray, q: int = 10, *, version: str = "section41", n_nodes: int = 24
) -> NDArray:
    r"""Return :math:`M_1` with columns :math:`E\{\nabla f_j(t)\}`, t normal (0, C), shape (r, q).

    Stein's lemma again: :math:`E\{\nabla f(t)\} = C^{-1} E\{t f(t)^\top\}`, and the right side
    needs no derivatives. Gauss-Hermite quadrature with ``n_nodes`` nodes in each of r directions.

    Parameters
    ----------
    cov : ndarray of shape (r, r)
        Covariance C of the indices :math:`B^\top x`.

    Examples
    --------
    The first link of Section 4.1 has slope 1 in its first index, and the fifth is a sine:

    >>> M1 = mean_gradients(np.eye(3))
    >>> bool(np.isclose(M1[0, 0], 1.0)), bool(np.isclose(M1[1, 4], np.exp(-0.5)))
    (True, True)
    """
    C = np.atleast_2d(np.asarray(cov, dtype=float))
    r = C.shape[0]
    check_integer(n_nodes, "n_nodes", low=2)
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    weights = weights / weights.sum()
    z = np.stack(np.meshgrid(*[nodes] * r, indexing="ij"), axis=-1).reshape(-1, r)
    w = np.stack(np.meshgrid(*[weights] * r, indexing="ij"), axis=-1).reshape(-1, r).prod(axis=1)
    t = z @ np.linalg.cholesky(C).T
    return np.linalg.solve(C, (t * w[:, None]).T @ links(t, q, version=version))


def gaussian_moment(
    B: NDArray, cov: NDArray | None = None, q: int = 10, *, version: str = "section41"
) -> NDArray:
    r"""Return :math:`M = B M_1` (p, q) for :math:`x \sim N(0, \Sigma)` and a basis B (p, r)."""
    index_cov = B.T @ B if cov is None else B.T @ cov @ B
    return B @ mean_gradients(index_cov, q, version=version)
