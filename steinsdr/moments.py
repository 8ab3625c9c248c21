r"""The sample cross-moment :math:`\hat M = n^{-1} \sum_i \hat s(x_i) y_i^\top` and score checks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._base import check_matrix, check_not_constant, check_same_rows

__all__ = ["SteinDiagnostics", "cross_moment", "stein_diagnostics"]


def cross_moment(scores: ArrayLike, Y: ArrayLike) -> NDArray:
    r"""Return :math:`\hat M = n^{-1} \hat S^\top Y`, shape (p, q).

    By the generalized Stein's lemma (Lemma 1) its population value is
    :math:`M = B\, E\{\nabla f(B^\top x)\}`, so its left singular vectors span the
    central subspace as far as the mean gradients do: an even link of a symmetric x
    has mean gradient zero and leaves no trace.

    Parameters
    ----------
    scores : array-like of shape (n, p)
        :math:`\hat s(x_i)`, the negative gradient of the log density.
    Y : array-like of shape (n, q)
        Responses.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal((100_000, 2))  # its own score: s(x) = x
    >>> M = cross_moment(x, x @ [[3.0], [1.0]])
    >>> bool(np.allclose(M, [[3.0], [1.0]], atol=0.05))
    True
    """
    S = check_matrix(scores, "scores")
    responses = check_matrix(Y, "Y")
    check_same_rows(S, responses, name="scores")
    return S.T @ responses / S.shape[0]


@dataclass(frozen=True)
class SteinDiagnostics:
    r"""How well estimated scores satisfy what every true score does.

    Attributes
    ----------
    mean : ndarray of shape (p,)
        Sample mean of the scores in units of 1/sd(x_j); its target is 0.
    identity : ndarray of shape (p, p)
        Sample :math:`E[s(x)x^\top]` with x in units of its sd; its target is the identity.
    """

    mean: NDArray
    identity: NDArray

    @property
    def slope(self) -> float:
        """Average diagonal of ``identity``: below 1 the score is shrunk (lambda too large)."""
        return float(np.mean(np.diag(self.identity)))

    @property
    def identity_error(self) -> float:
        """Frobenius distance of ``identity`` from the identity, over sqrt(p)."""
        p = len(self.mean)
        return float(np.linalg.norm(self.identity - np.eye(p)) / np.sqrt(p))


def stein_diagnostics(scores: ArrayLike, X: ArrayLike) -> SteinDiagnostics:
    r"""Check :math:`E[s] = 0` and :math:`E[s(x) x^\top] = I`, both Stein's lemma itself.

    Parameters
    ----------
    scores, X : array-like of shape (n, p)
        Scores and the points they belong to; every column of X must vary.

    Examples
    --------
    >>> x = np.random.default_rng(0).standard_normal((5000, 3))  # its own score
    >>> round(stein_diagnostics(x, x).slope, 1)
    1.0
    """
    points = check_matrix(X, "X", min_rows=2)
    S = check_matrix(scores, "scores", n_columns=points.shape[1])
    if S.shape != points.shape:
        raise ValueError(f"scores has shape {S.shape} but X has {points.shape}; they must match.")
    check_not_constant(points, "X")
    sd = points.std(axis=0)
    S = S * sd
    centred = (points - points.mean(axis=0)) / sd
    return SteinDiagnostics(mean=S.mean(axis=0), identity=S.T @ centred / len(S))
