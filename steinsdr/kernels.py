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
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["CurlFreeIMQ", "KernelRows", "median_distance", "namespace"]

TILE_ENTRIES = 1 << 21  # entries of one tile: small enough for the cache, large enough for BLAS
Array = Any  # numpy.ndarray or torch.Tensor


def namespace(device: str | None) -> ModuleType:
    """Return numpy for ``device=None`` and torch otherwise; the code below runs on both."""
    if device is None:
        return np
    import torch  # deferred: it takes seconds, and the numpy path never needs it

    return torch


def _squared_distances(rows: Array, columns: Array, xp: ModuleType) -> Array:
    """Return ||rows_i - columns_j||^2, shape (m, n), in one product."""
    out = xp.matmul(rows, columns.T)
    out *= -2.0
    out += (rows * rows).sum(1)[:, None]
    out += (columns * columns).sum(1)[None, :]
    return xp.clip(out, 0.0, None, out=out)


def median_distance(X: NDArray, *, max_points: int = 8192) -> float:
    """Median of all n^2 pairwise distances, the zeros of the diagonal included.

    It is the (n^2 // 2)-th largest, the rule of the authors' kscore code, which the
    paper's numbers follow. Beyond ``max_points`` rows an evenly spaced subset of that many
    rows stands for all.
    """
    n = X.shape[0]
    if n > max_points:
        X = X[np.linspace(0, n - 1, max_points).astype(int)]
        n = max_points
    X = X - X.mean(axis=0)  # distances do not change, cancellation does
    squared = _squared_distances(X, X, np).reshape(-1)
    position = n * n - n * n // 2
    squared.partition(position)
    return float(np.sqrt(squared[position]))


@dataclass
class KernelRows:
    """Points x_i at which a kernel is applied: scaled, with a one appended, and what is kept.

    They hold no reference to the kernel: a cycle would keep n x n arrays alive until some later
    garbage collection.
    """

    z: Array
    z1: Array
    keep: bool
    kept: dict[int, tuple[Array, Array]] = field(default_factory=dict)


class CurlFreeIMQ:
    """The curl-free IMQ kernel of n centres, and everything the score estimator asks of it.

    Parameters
    ----------
    centers : array of shape (n, p)
        Points x_j, a numpy array or a torch tensor; its dtype and device are used throughout.
    width : float
        Kernel width c.
    memory_limit : float
        Bytes that kept factors may take; beyond it they are made anew for every tile.

    Examples
    --------
    A field of this kernel is a gradient, and the kernel is symmetric and positive:

    >>> rng = np.random.default_rng(0)
    >>> X, U, V = rng.standard_normal((3, 20, 4))
    >>> K = CurlFreeIMQ(X, 2.0)
    >>> bool(np.isclose((U * (K @ V)).sum(), (V * (K @ U)).sum()))
    True
    >>> bool((V * (K @ V)).sum() > 0)
    True
    """

    def __init__(self, centers: Array, width: float, *, memory_limit: float = 2e9) -> None:
        self.xp: ModuleType = np if isinstance(centers, np.ndarray) else namespace("torch")
        self.width = float(width)
        self.n, self.p = centers.shape
        self._shift = centers.mean(0)  # distances do not change, cancellation does
        self._z = self._scaled(centers)
        self._z1 = self._with_ones(self._z)
        self._memory_limit = memory_limit
        self._own = KernelRows(self._z, self._z1, keep=self._fits(self.n))

    def _fits(self, m: int) -> bool:
        """Whether two factors (m, n) respect the memory limit."""
        return 2.0 * m * self.n * self._z.itemsize <= self._memory_limit

    @property
    def stored(self) -> bool:
        """Whether the factors between the centres are kept."""
        return self._own.keep

    def rows(self, points: Array) -> KernelRows:
        """Prepare points for repeated products: their factors are kept if they fit."""
        return self._rows_of(points, keep=self._fits(len(points)))

    def _rows_of(self, points: Array | KernelRows, *, keep: bool = False) -> KernelRows:
        if isinstance(points, KernelRows):
            return points
        z = self._scaled(points)
        return KernelRows(z, self._with_ones(z), keep)

    def _factors(self, at: KernelRows, rows: slice) -> tuple[Array, Array]:
        """Return w^3 and -3 w^5 of a tile, from memory if they are kept."""
        if not at.keep:
            return self._make_factors(at.z[rows])
        if rows.start not in at.kept:
            at.kept[rows.start] = self._make_factors(at.z[rows])
        return at.kept[rows.start]

    def _scaled(self, points: Array) -> Array:
        return (points - self._shift) / self.width

    def _with_ones(self, z: Array) -> Array:
        return self.xp.concatenate([z, self.xp.ones_like(z[:, :1])], 1)

    def _lift(self, V: Array, z: Array) -> Array:
        """Append a column to V so that (z_i, 1) . lift_j = (z_i - z_j) . v_j, in one product."""
        return self.xp.concatenate([V, -(z * V).sum(1)[:, None]], 1)

    def _tiles(self, m: int) -> Iterator[slice]:
        step = max(16, min(1024, TILE_ENTRIES // self.n))
        for start in range(0, m, step):
            yield slice(start, min(start + step, m))

    def _inverse_root(self, z: Array) -> Array:
        """Return w = (1 + ||delta||^2)^(-1/2) between rows z and the centres."""
        w = _squared_distances(z, self._z, self.xp)
        w += 1.0
        self.xp.sqrt(w, out=w)
        return self.xp.reciprocal(w, out=w)

    def _make_factors(self, z: Array) -> tuple[Array, Array]:
        """Return w^3 and -3 w^5 between rows z and the centres."""
        w = self._inverse_root(z)
        square = w * w
        w *= square  # w^3
        square *= w  # w^5
        square *= -3.0
        return w, square

    def _apply(self, at: KernelRows, V: Array) -> Array:
        xp, p = self.xp, self.p
        lift = self._lift(V, self._z).T
        out = xp.empty_like(at.z)
        for rows in self._tiles(len(at.z)):
            cubes, fifths = self._factors(at, rows)
            t = xp.matmul(at.z1[rows], lift)
            t *= fifths
            pulled = xp.matmul(t, self._z1)
            block = xp.matmul(cubes, V)
            block += pulled[:, p:] * at.z[rows]
            block -= pulled[:, :p]
            out[rows] = block
        out /= self.width**2
        return out

    def __matmul__(self, V: Array) -> Array:
        """Return K V for V of shape (n, p), where K holds the n x n blocks of the centres."""
        return self._apply(self._own, V)

    def at(self, points: Array | KernelRows, V: Array) -> Array:
        r"""Return :math:`\sum_j \mathcal K(x, x_j) v_j` for every row x of ``points``, (m, p)."""
        return self._apply(self._rows_of(points), V)

    def adjoint_at(self, points: Array | KernelRows, U: Array) -> Array:
        r"""Return :math:`\sum_i \mathcal K(x_j, x_i) u_i` over ``points`` for every centre, (n, p).

        The adjoint of :meth:`at`, for a rectangular kernel (Nyström).
        """
        xp, p = self.xp, self.p
        at = self._rows_of(points)
        lift = self._lift(U, at.z)
        out = xp.zeros_like(self._z)
        for rows in self._tiles(len(at.z)):
            cubes, fifths = self._factors(at, rows)
            t = xp.matmul(lift[rows], self._z1.T)
            t *= fifths
            pulled = xp.matmul(t.T, at.z1[rows])
            out += xp.matmul(cubes.T, U[rows])
            out += pulled[:, p:] * self._z
            out -= pulled[:, :p]
        out /= self.width**2
        return out

    def divergence(self, points: Array | None = None) -> Array:
        r"""Return :math:`\hat\zeta(x) = n^{-1}\sum_j \mathrm{div}_{x_j}\mathcal K(x, x_j)`, (m, p).

        In closed form the summand is :math:`3 c^{-3} w^5 (p - 3 + 5 w^2)\,\delta`.
        """
        z = self._z if points is None else self._scaled(points)
        out = self.xp.empty_like(z)
        for rows in self._tiles(z.shape[0]):
            w = self._inverse_root(z[rows])
            square = w * w
            w *= square
            w *= square  # w^5
            square *= 5.0
            square += self.p - 3.0
            w *= square
            pulled = self.xp.matmul(w, self._z1)
            out[rows] = pulled[:, self.p :] * z[rows] - pulled[:, : self.p]
        out *= 3.0 / (self.n * self.width**3)
        return out

    def potential_at(self, points: Array, V: Array) -> Array:
        r"""Return :math:`\sum_j c^{-1} w^3 \delta^\top v_j`, (m,); its gradient is :meth:`at`."""
        at, lift = self._rows_of(points), self._lift(V, self._z).T
        out = self.xp.empty_like(at.z[:, 0])
        for rows in self._tiles(len(at.z)):
            cubes = self.xp.matmul(at.z1[rows], lift)
            cubes *= self._factors(at, rows)[0]
            out[rows] = cubes.sum(1) / self.width
        return out

    def divergence_potential(self, points: Array) -> Array:
        r"""Return :math:`n^{-1} \sum_j \Delta\phi(x - x_j)`, (m,).

        The potential of :meth:`divergence`: :math:`c^2 \Delta\phi = (3 - p) w^3 - 3 w^5`.
        """
        at = self._rows_of(points)
        out = self.xp.empty_like(at.z[:, 0])
        for rows in self._tiles(len(at.z)):
            cubes, fifths = self._factors(at, rows)
            out[rows] = (cubes * (3.0 - self.p) + fifths).sum(1)
        return out / (self.n * self.width**2)
