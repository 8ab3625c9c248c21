r"""Outer product of gradients: local linear regressions at anchors, and :math:`M = \sum GG^\top`.

At an anchor :math:`x_j` a ridge regression with kernel weights gives the gradients
:math:`G_j` of all responses at once. The directions along which gradients vary span the
central mean subspace of the responses; for indicator responses, the central subspace
(Xia, 2007).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.spatial.distance import cdist

__all__ = ["LocalGradients", "anchor_points", "leading_eigenvectors"]

# Doubles in the table of products kept between steps (256 MB); above it, blocks are rebuilt.
_TABLE_LIMIT = 2**25
_RESPONSES_PER_BLOCK = 24


def anchor_points(V: NDArray) -> NDArray:
    """Return the rows of V (n, c) at which gradients are estimated: about 100, well spread.

    All rows if n <= 100. Otherwise the first row left and its nearest neighbours, n // 100
    points together, form a group; the member nearest to the group's centroid is an anchor;
    and so on. A single row left over is dropped. A group of two is a tie that the R package
    lets rounding decide (every group if 200 <= n < 300); here its first row wins.
    """
    n = len(V)
    if n <= 100:
        return np.arange(n)
    size = n // max(100, int(np.sqrt(n)))
    taken = np.zeros(n)  # 0, or infinity once the row is in a group
    groups = []
    n_left = n
    while n_left > 1:
        head = int(np.argmin(taken))
        distance = cdist(V[head : head + 1], V, "sqeuclidean")[0] + taken
        group = []
        for _ in range(min(size, n_left)):
            nearest = int(np.argmin(distance))
            distance[nearest] = taken[nearest] = np.inf
            group.append(nearest)
        groups.append(group)
        n_left -= len(group)
    last = groups.pop() if len(groups[-1]) < size else None
    anchors = [_nearest_to_centroid(V, np.array(groups))]
    if last:
        anchors.append(_nearest_to_centroid(V, np.array([last])))
    return np.concatenate(anchors)


def _nearest_to_centroid(V: NDArray, groups: NDArray) -> NDArray:
    """Return, for each row of ``groups``, the member nearest to the centroid; ties go first."""
    if groups.shape[1] == 2:
        return groups[:, 0]
    points = V[groups]
    distance = np.sum((points - points.mean(axis=1, keepdims=True)) ** 2, axis=2)
    return groups[np.arange(len(groups)), np.argmin(distance, axis=1)]


def leading_eigenvectors(M: NDArray, k: int, *, null: NDArray) -> NDArray:
    """Return the eigenvectors (p, k) of the k largest eigenvalues of M, those in ``null`` last.

    The columns of ``null`` (p, z) are eigenvectors of M with eigenvalue 0; other eigenvalues
    may be 0 as well, but only directions outside ``null`` can be mapped back to X.
    """
    last = (1.0 + np.trace(M)) * (null @ null.T)
    return np.linalg.eigh(M - last)[1][:, ::-1][:, :k]


class LocalGradients:
    r"""Local linear regressions of responses F (n, k) on x (n, p), for any weighing space.

    The regression at anchor j has design :math:`Z_i = (x_i - x_j, 1)`, weights :math:`w_i`
    and ridge I/n. Three identities make it cheap.

    - Write :math:`u_i = (x_i, 1)`. The gradients are the first p rows of
      :math:`(U^\top W U + P_j/n)^{-1} U^\top W F`, where :math:`P_j = I_p \oplus 0 + u_j
      u_j^\top`. Nothing is centred at the anchor, so the products :math:`u_i u_i^\top` and
      :math:`u_i F_i^\top` are formed once, and the moments of all anchors are one matrix
      product of the weights with each.
    - M needs F only through :math:`FF^\top`, so F may be rotated to be lower trapezoidal.
      About a third of the products vanish and are skipped.
    - The moment matrices are positive definite: one Cholesky factor serves all k responses.

    Parameters
    ----------
    x : ndarray of shape (n, p)
        Whitened predictors.
    F : ndarray of shape (n, k)
        Weighted responses.
    reuse : bool
        Keep the products for further calls, if they fit into memory.
    """

    def __init__(self, x: NDArray, F: NDArray, *, reuse: bool) -> None:
        n, p = x.shape
        self._u = np.hstack([x, np.ones((n, 1))])
        self._F = np.ascontiguousarray(qr(F.T, mode="r")[0].T)
        # Symmetric products u_i u_i', packed; None where they would not fit.
        self._pairs: NDArray | None = None
        if n * (p + 1) ** 2 <= 2 * _TABLE_LIMIT:
            row, column = np.tril_indices(p + 1)
            self._pairs = self._u[:, row] * self._u[:, column]
            self._unpack = np.empty((p + 1, p + 1), dtype=int)
            self._unpack[row, column] = self._unpack[column, row] = np.arange(row.size)
        fits = n * (p + 1) * F.shape[1] <= _TABLE_LIMIT
        self._products = list(self._build_products()) if reuse and fits else None
        self._buffer = np.empty((0, F.shape[1] * (p + 1)))

    def _build_products(self) -> Iterator[NDArray]:
        """Yield the products F_i u_i' for blocks of responses, without leading rows of zeros."""
        for start in range(0, self._F.shape[1], _RESPONSES_PER_BLOCK):
            block = self._F[start:, start : start + _RESPONSES_PER_BLOCK]
            yield (block[:, :, None] * self._u[start:, None, :]).reshape(len(block), -1)

    def outer_product(self, V: NDArray, m: int) -> NDArray:
        r"""Return :math:`M = \sum_j G_j G_j^\top` (p, p), with neighbours weighed in V (n, c).

        Distances use the first m columns of V; anchors and bandwidth use all.
        """
        anchors = anchor_points(V)
        weights = _kernel_weights(V, anchors, m)
        k, size = self._F.shape[1], self._u.shape[1]
        at_once = max(1, _TABLE_LIMIT // (size * (size + k)))
        M = np.zeros((size, size))
        for start in range(0, len(anchors), at_once):
            chunk = slice(start, start + at_once)
            gradients = self._response_moments(weights[chunk])
            for moment, right in zip(
                self._moments(weights[chunk], anchors[chunk]), gradients, strict=True
            ):
                # LAPACK is column-major: transposes of these C-ordered arrays are solved in place.
                factor, info = dpotrf(moment.T, lower=True, overwrite_a=True)
                if info:
                    raise np.linalg.LinAlgError("a local regression is singular")
                dpotrs(factor, right.T, lower=True, overwrite_b=True)
            flat = gradients.reshape(-1, size)
            M += flat.T @ flat
        return M[:-1, :-1]

    def _moments(self, weights: NDArray, anchors: NDArray) -> NDArray:
        """Return U' W U + P_j / n for every anchor, shape (a, p + 1, p + 1)."""
        u = self._u
        if self._pairs is None:
            moments = np.stack([(u.T * w) @ u for w in weights])
        else:
            moments = np.take(weights @ self._pairs, self._unpack, axis=1)
        at_anchor = u[anchors]
        moments += (at_anchor / len(u))[:, :, None] * at_anchor[:, None, :]
        diagonal = np.arange(u.shape[1] - 1)
        moments[:, diagonal, diagonal] += 1.0 / len(u)
        return moments

    def _response_moments(self, weights: NDArray) -> NDArray:
        """Return (U' W F)' for every anchor, shape (a, k, p + 1), in a buffer that is reused."""
        n, size = self._u.shape
        # Fresh memory at every call would cost more in page faults than it is worth.
        if len(self._buffer) < len(weights):
            self._buffer = np.empty((len(weights), self._buffer.shape[1]))
        moments = self._buffer[: len(weights)]
        stop = 0
        for block in self._build_products() if self._products is None else self._products:
            start, stop = stop, stop + block.shape[1]
            np.matmul(weights[:, n - len(block) :], block, out=moments[:, start:stop])
        return moments.reshape(len(weights), -1, size)


def _kernel_weights(V: NDArray, anchors: NDArray, m: int) -> NDArray:
    """Gaussian weights (anchors, n); the width reaches the 2m-th neighbour at least."""
    n = len(V)
    h = 1.2 * np.mean(np.std(V, axis=0, ddof=1)) / n ** (1.0 / (m + 4))
    distance = cdist(V[anchors, :m], V[:, :m], "sqeuclidean")
    neighbour = np.partition(distance, 2 * m - 1, axis=1)[:, 2 * m - 1 : 2 * m]
    return np.exp(-distance / np.maximum(2 * h**2, neighbour))
