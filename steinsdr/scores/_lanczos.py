"""One Lanczos basis of K solves (K + n lambda I) c = h / lambda for every lambda at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, eigh_tridiagonal, solveh_banded

__all__ = ["KrylovBasis", "krylov_basis"]

Array = Any  # numpy.ndarray or torch.Tensor


@dataclass
class KrylovBasis:
    """Orthonormal basis of span{h, Kh, K^2 h, ...} and the tridiagonal matrix of K in it.

    Shifting K by n lambda shifts the tridiagonal matrix, so one basis serves all lambdas.
    """

    vectors: list[Array]
    alpha: list[float]
    beta: list[float]
    norm: float
    eps: float

    def coordinates(self, shift: float) -> NDArray:
        """Return y with (K + shift) (Q y) = h up to the residual."""
        first = np.zeros(len(self.alpha))
        first[0] = self.norm
        if len(first) == 1:  # the solver wants two diagonals
            return first / (self.alpha[0] + shift)
        bands = np.array([np.add(self.alpha, shift), [*self.beta[:-1], 0.0]])
        try:
            return solveh_banded(bands, first, lower=True)
        except LinAlgError:  # rounding took an eigenvalue of K below -shift
            values, rotation = eigh_tridiagonal(self.alpha, self.beta[:-1])
            return self.norm * (rotation @ (rotation[0] / (values + shift)))

    def truncation(self, shift: float) -> float:
        """Relative error that remains because the basis is finite.

        ``K + shift`` has no eigenvalue below ``shift``, so the error of the scores
        ``shift * c`` is at most ||r||, which the last coordinate gives.
        """
        y = self.coordinates(shift)
        return float(abs(self.beta[-1] * y[-1]) / (shift * np.linalg.norm(y)))

    def rounding(self, shift: float) -> float:
        """Relative error that rounding in the kernel products leaves, however long the basis."""
        return self.eps * (max(self.alpha) + shift) / shift

    def residual(self, shift: float) -> float:
        """Bound on the relative error of the scores ``shift * c``."""
        return max(self.truncation(shift), self.rounding(shift))

    def combine(self, y: NDArray) -> Array:
        """Return Q y as an array of the shape of h."""
        out = self.vectors[0] * float(y[0])
        for weight, vector in zip(y[1:], self.vectors[1:], strict=False):
            out += vector * float(weight)
        return out


def krylov_basis(
    product: Callable[[Array], Array],
    h: Array,
    shifts: list[float],
    *,
    tol: float,
    max_iter: int,
    eps: float,
) -> KrylovBasis:
    """Grow the basis until every shift is solved to ``tol`` or to rounding, or ``max_iter``.

    Every new vector is orthogonalized against all before it: a few percent of the cost of a
    kernel product, and the residual formula stays true.
    """
    norm = float((h * h).sum()) ** 0.5
    basis = KrylovBasis(vectors=[h / norm], alpha=[], beta=[], norm=norm, eps=eps)
    for _ in range(max_iter):
        q = basis.vectors[-1]
        w = product(q)
        basis.alpha.append(float((w * q).sum()))
        for vector in basis.vectors:
            w -= vector * float((w * vector).sum())
        basis.beta.append(float((w * w).sum()) ** 0.5)
        exhausted = basis.beta[-1] <= eps * max(basis.alpha)
        if exhausted or all(
            basis.truncation(shift) <= max(tol, basis.rounding(shift)) for shift in shifts
        ):
            break
        basis.vectors.append(w / basis.beta[-1])
    return basis
