r"""The curl-free IMQ kernel as an operator: three matrix products, no n x n x p array.

With :math:`\phi(d) = (1 + \|d\|^2/c^2)^{-1/2}` the kernel of the paper's Tikhonov estimator is

.. math::
    \mathcal K_{CI}(x, y) = -\nabla^2 \phi(x - y)
    = c^{-2} \{ w^3 I - 3 w^5 \delta\delta^\top \}, \qquad
    \delta = (x - y)/c, \quad w = (1 + \|\delta\|^2)^{-1/2}.

Each block is a multiple of the identity plus a rank-one matrix, so for V of shape (n, p)

.. math::
    c^2 (K V)_i = \sum_j w_{ij}^3 v_j + \sum_j t_{ij} (z_i - z_j), \qquad
    t_{ij} = -3 w_{ij}^5 (z_i - z_j)^\top v_j, \quad z = x / c:

the products :math:`Z V^\top`, :math:`w^3 V` and :math:`t Z`. Everything is done in tiles
of rows; the two n x n factors are kept if they fit the memory limit, else made anew per tile.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

_MEDIAN_ROWS = 8192
_TILE_ENTRIES = 1 << 21  # entries of one tile: small enough for the cache, large enough for BLAS


def _squared_distances(rows: NDArray, columns: NDArray) -> NDArray:
    """Return ||rows_i - columns_j||^2, shape (m, n), in one product."""
    out = rows @ columns.T
    out *= -2.0
    out += (rows * rows).sum(1)[:, None]
    out += (columns * columns).sum(1)[None, :]
    return np.clip(out, 0.0, None, out=out)


def median_distance(X: NDArray) -> float:
    """Median of all n^2 pairwise distances of the rows of X (n, p), zeros of the diagonal included.

    It is the (n^2 // 2)-th largest, the rule of the authors' kscore code, which the paper's numbers
    follow. Of more than 8,192 rows an evenly spaced subset of that many stands for all.

    Examples
    --------
    >>> median_distance(np.array([[0.0], [3.0]]))
    3.0
    """
    n = X.shape[0]
    if n > _MEDIAN_ROWS:
        X = X[np.linspace(0, n - 1, _MEDIAN_ROWS).astype(int)]
        n = _MEDIAN_ROWS
    X = X - X.mean(axis=0)  # keeps the distances, and their squares cancel less
    squared = _squared_distances(X, X).reshape(-1)
    position = n * n - n * n // 2
    squared.partition(position)
    return float(np.sqrt(squared[position]))


@dataclass
class _Rows:
    """Points x_i at which a kernel is applied: scaled, with a one appended, and kept factors."""

    # No reference to the kernel: a cycle would keep n x n arrays alive until a garbage collection.

    z: NDArray
    z1: NDArray
    keep: bool
    kept: dict[int, tuple[NDArray, NDArray]] = field(default_factory=dict)


class CurlFreeIMQ:
    """The curl-free IMQ kernel of n centers, and everything the score estimator asks of it.

    The dtype of the centers x_j (n, p) is used throughout. Factors of the products are kept if they
    take less than ``memory_limit`` bytes, else made anew for every tile.

    Examples
    --------
    The kernel is symmetric and positive:

    >>> rng = np.random.default_rng(0)
    >>> X, U, V = rng.standard_normal((3, 20, 4))
    >>> K = CurlFreeIMQ(X, 2.0)
    >>> bool(np.isclose((U * (K @ V)).sum(), (V * (K @ U)).sum()) and (V * (K @ V)).sum() > 0)
    True
    """

    def __init__(self, centers: NDArray, width: float, *, memory_limit: float = 2e9) -> None:
        self.width = float(width)
        self.n, self.p = centers.shape
        self._memory_limit = memory_limit
        self._shift = centers.mean(0)  # keeps the distances, and their squares cancel less
        self._own = self.rows(centers)

    def rows(self, points: NDArray) -> _Rows:
        """Prepare points (m, p) for repeated products: their factors are kept if they fit."""
        z = (points - self._shift) / self.width
        z1 = np.concatenate([z, np.ones_like(z[:, :1])], 1)
        return _Rows(z, z1, keep=2.0 * len(z) * self.n * z.itemsize <= self._memory_limit)

    def __matmul__(self, V: NDArray) -> NDArray:
        """Return K V for V of shape (n, p), where K holds the n x n blocks of the centers."""
        return self.at(self._own, V)

    def at(self, points: NDArray | _Rows, V: NDArray) -> NDArray:
        r"""Return :math:`\sum_j \mathcal K(x, x_j) v_j` for every row x of ``points``, (m, p)."""
        rows = self._once(points)
        lift = self._lift(V, self._own.z).T
        out = np.empty_like(rows.z)
        for tile in self._tiles(rows):
            cubes, fifths = self._factors(rows, tile)
            t = rows.z1[tile] @ lift
            t *= fifths
            pulled = t @ self._own.z1
            block = cubes @ V
            block += pulled[:, self.p :] * rows.z[tile]
            block -= pulled[:, : self.p]
            out[tile] = block
        out /= self.width**2
        return out

    def adjoint_at(self, points: NDArray | _Rows, U: NDArray) -> NDArray:
        r"""Return :math:`\sum_i \mathcal K(x_j, x_i) u_i` over ``points`` for every center, (n, p).

        The adjoint of :meth:`at`, for a rectangular kernel (Nyström).
        """
        rows = self._once(points)
        lift = self._lift(U, rows.z)
        out = np.zeros_like(self._own.z)
        for tile in self._tiles(rows):
            cubes, fifths = self._factors(rows, tile)
            t = lift[tile] @ self._own.z1.T
            t *= fifths
            pulled = t.T @ rows.z1[tile]
            out += cubes.T @ U[tile]
            out += pulled[:, self.p :] * self._own.z
            out -= pulled[:, : self.p]
        out /= self.width**2
        return out

    def divergence(self, points: NDArray | None = None) -> NDArray:
        r"""Return :math:`\hat\zeta(x) = n^{-1}\sum_j \mathrm{div}_{x_j}\mathcal K(x, x_j)`, (m, p).

        In closed form the summand is :math:`3 c^{-3} w^5 (p - 3 + 5 w^2)\,\delta`. Without
        ``points`` it is taken at the centers.
        """
        rows = self._own if points is None else self._once(points)
        out = np.empty_like(rows.z)
        for tile in self._tiles(rows):
            square, _, fifths = self._powers(rows.z[tile])
            square *= 5.0
            square += self.p - 3.0
            fifths *= square
            pulled = fifths @ self._own.z1
            out[tile] = pulled[:, self.p :] * rows.z[tile] - pulled[:, : self.p]
        out *= 3.0 / (self.n * self.width**3)
        return out

    def potential_at(self, points: NDArray, V: NDArray) -> NDArray:
        r"""Return :math:`\sum_j c^{-1} w^3 \delta^\top v_j`, (m,); its gradient is :meth:`at`."""
        rows = self._once(points)
        lift = self._lift(V, self._own.z).T
        out = np.empty_like(rows.z[:, 0])
        for tile in self._tiles(rows):
            cubes = rows.z1[tile] @ lift
            cubes *= self._factors(rows, tile)[0]
            out[tile] = cubes.sum(1) / self.width
        return out

    def slopes_at(self, points: NDArray, V: NDArray) -> NDArray:
        r"""Return the divergence of :meth:`at` for L fields, and that of :meth:`divergence`.

        The summands are :math:`-3 c^{-3} w^5 (p - 3 + 5 w^2)\, \delta^\top v_j`
        and the bi-Laplacian :math:`c^{-4} \{3(3-p)(5-p) w^5 - 30 (5-p) w^7 + 105 w^9\}` of the IMQ
        function. V has shape (L, n, p), the result (L + 1, m); its last row is that of
        :math:`\hat\zeta`.
        """
        p, rows = self.p, self._once(points)
        lifts = [self._lift(v, self._own.z).T for v in V]
        out = np.empty((len(V) + 1, len(rows.z)))
        for tile in self._tiles(rows):
            square, _, fifths = self._powers(rows.z[tile])
            weight = fifths * (p - 3.0 + 5.0 * square)
            for index, lift in enumerate(lifts):
                inner = rows.z1[tile] @ lift
                inner *= weight
                out[index, tile] = inner.sum(axis=1) * (-3.0 / self.width**3)
            fifths *= 3.0 * (3 - p) * (5 - p) - 30.0 * (5 - p) * square + 105.0 * square**2
            out[-1, tile] = fifths.mean(axis=1) / self.width**4
        return out

    def _once(self, points: NDArray | _Rows) -> _Rows:
        """Return prepared points as they are, and others for one product that keeps nothing."""
        if isinstance(points, _Rows):
            return points
        rows = self.rows(points)
        rows.keep = False
        return rows

    @staticmethod
    def _lift(V: NDArray, z: NDArray) -> NDArray:
        """Append a column to V so that (z_i, 1) . lift_j = (z_i - z_j) . v_j, in one product."""
        return np.concatenate([V, -(z * V).sum(1)[:, None]], 1)

    def _tiles(self, rows: _Rows) -> Iterator[slice]:
        step = max(16, min(1024, _TILE_ENTRIES // self.n))
        for start in range(0, len(rows.z), step):
            yield slice(start, start + step)

    def _factors(self, rows: _Rows, tile: slice) -> tuple[NDArray, NDArray]:
        """Return w^3 and -3 w^5 of a tile, from memory if they are kept."""
        if tile.start in rows.kept:
            return rows.kept[tile.start]
        _, cubes, fifths = self._powers(rows.z[tile])
        fifths *= -3.0
        if rows.keep:
            rows.kept[tile.start] = cubes, fifths
        return cubes, fifths

    def _powers(self, z: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """Return w^2, w^3 and w^5 between rows z and the centers."""
        w = _squared_distances(z, self._own.z)
        w += 1.0
        np.sqrt(w, out=w)
        np.reciprocal(w, out=w)
        square = w * w
        w *= square
        return square, w, square * w
