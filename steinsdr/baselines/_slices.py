r"""Slices as responses: what turns sliced inverse regression into a cross-moment."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from .._validation import varying_columns
from ..rank import AdaptiveRank

__all__ = ["ProjectedNull", "compressed", "slice_indicators", "whiten"]


def whiten(X: NDArray) -> tuple[NDArray, NDArray]:
    r"""Return whitened rows Z (n, k) and the root (p, k) with :math:`Z = (X - \bar x)\, root`.

    k is the rank of the covariance :math:`\hat\Sigma` and root root' its pseudo-inverse: directions
    in which X does not vary (p >= n, collinear or constant columns) are left out.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((5, 8))
    >>> Z, root = whiten(X)
    >>> root.shape, bool(np.allclose(Z.T @ Z / 5, np.eye(4)))
    ((8, 4), True)
    """
    n = len(X)
    # A constant column centres to rounding noise, which would otherwise be blown up to unit size.
    centred = np.where(varying_columns(X), X - X.mean(axis=0), 0.0)
    U, s, Vt = np.linalg.svd(centred, full_matrices=False)
    kept = s > s[0] * max(X.shape) * np.finfo(float).eps
    return np.sqrt(n) * U[:, kept], np.sqrt(n) * Vt[kept].T / s[kept]


def slice_indicators(Y: NDArray, n_slices: int) -> NDArray:
    r"""Return the slices' indicators as responses G, shape (n, q H).

    Each column of Y (n, q) is cut by its ranks into H slices of equal count (up to one). Equal
    values stay together; of a response with at most H different values, such as classes, each is a
    slice, however rare. Column h of a response is
    :math:`(n/n_h)^{1/2} 1\{i \in h\} / q^{1/2}`; then for whitened Z the cross-moment
    :math:`M = n^{-1} Z^\top G` satisfies :math:`M M^\top = q^{-1} \sum_k \sum_h (n_h/n) \bar z_{kh}
    \bar z_{kh}^\top`, the mean of the responses' SIR matrices.

    Examples
    --------
    >>> G = slice_indicators(np.array([[3.0], [1.0], [2.0], [9.0]]), 2)
    >>> (G > 0).astype(int).tolist()
    [[0, 1], [1, 0], [1, 0], [0, 1]]
    >>> slice_indicators(np.array([[0.0], [0.0], [0.0], [0.0], [1.0], [2.0]]), 3).sum(axis=0) > 0
    array([ True,  True,  True])
    """
    n, q = Y.shape
    place = rankdata(Y, method="dense", axis=0).astype(int) - 1
    label = ((rankdata(Y, axis=0) - 0.5) * n_slices / n).astype(int)
    label = np.where(place.max(axis=0) < n_slices, place, label)
    member = label[:, :, None] == np.arange(n_slices)
    weight = np.sqrt(n / (np.maximum(member.sum(axis=0), 1) * q))
    return (member * weight).reshape(n, q * n_slices)


def compressed(G: NDArray) -> NDArray:
    r"""Return L (n, n) with :math:`L L^\top = G G^\top` if G has more than n columns, else G.

    :math:`Z^\top G` and :math:`Z^\top L` have the same left singular vectors and values for
    every Z, also with the rows permuted.
    """
    n, width = G.shape
    if width <= n:
        return G
    return cast(NDArray, np.linalg.qr(G.T, mode="r")).T


class ProjectedNull(AdaptiveRank):
    """Algorithm 3 to the letter: the null slices one random projection of the permuted responses.

    Parameters
    ----------
    rule : AdaptiveRank
        Gives every setting but the null.
    responses : ndarray of shape (n, q)
        What the observed matrix slices.
    n_slices : int
    summed : bool
        Whether the observed matrix is the sum over the responses, not their mean.
    """

    def __init__(
        self, rule: AdaptiveRank, responses: NDArray, n_slices: int, *, summed: bool
    ) -> None:
        super().__init__(**rule.get_params())
        self.responses = responses
        self.n_slices = n_slices
        self.summed = summed

    def _null(
        self, scores: ArrayLike, Y: ArrayLike, *, k: int, m: int, rng: np.random.Generator
    ) -> NDArray:
        n, q = self.responses.shape
        # Uniform on the sphere but for their length, which ranks do not see.
        projected = self.responses @ rng.standard_normal((q, m))
        # Projecting permuted rows is permuting projected ones, another order for each column.
        G = slice_indicators(rng.permuted(projected, axis=0), self.n_slices) * np.sqrt(m)
        M = (np.asarray(scores).T @ G / n).reshape(-1, m, self.n_slices).transpose(1, 0, 2)
        values = np.linalg.svd(M, compute_uv=False)[:, :k]
        # The observed matrix has the scale of a mean; under a sum it would be q times as large.
        values = values / np.sqrt(q) if self.summed else values
        return np.pad(values, ((0, 0), (0, k - values.shape[1])))
