"""Nyström variant of the Tikhonov estimator: coefficients on m centres instead of n points."""

from __future__ import annotations

from typing import Any

from ..kernels import CurlFreeIMQ

__all__ = ["nystrom_coefficients"]

Array = Any


def nystrom_coefficients(
    kernel: CurlFreeIMQ, points: Array, target: Array, ridge: float, *, tol: float, max_iter: int
) -> tuple[Array, int, float, Array]:
    r"""Minimize :math:`\|K_{nm} b - t\|^2 + \text{ridge}\; b^\top K_{mm} b` over b of shape (m, p).

    Conjugate gradients on the normal equations. The loop is written out rather than taken
    from scipy because it stops on what matters, the change of the scores
    :math:`t - K_{nm} b`, and those are at hand only inside it.

    Parameters
    ----------
    kernel : CurlFreeIMQ
        The kernel with the m centres.
    points, target : array of shape (n, p)
        Training points, and :math:`\hat\zeta/\lambda` there.
    ridge : float
        :math:`n\lambda`.
    tol, max_iter
        Stop when a step changes the scores by less than ``tol``, relatively.

    Returns
    -------
    b, n_iter, change, fitted
        Coefficients, steps, last relative change, and :math:`K_{nm} b`.
    """
    rows = kernel.rows(points)
    residual = kernel.adjoint_at(rows, target)
    direction = residual * 1.0
    b, fitted = residual * 0.0, target * 0.0
    power = float((residual * residual).sum())
    change, n_iter = float("inf"), 0
    for n_iter in range(1, max_iter + 1):  # noqa: B007 - reported
        image = kernel.at(rows, direction)
        curved = kernel.adjoint_at(rows, image) + ridge * (kernel @ direction)
        step = power / float((direction * curved).sum())
        b += step * direction
        fitted += step * image
        residual -= step * curved
        scores = target - fitted
        change = abs(step) * float((image * image).sum() / (scores * scores).sum()) ** 0.5
        new_power = float((residual * residual).sum())
        if change <= tol or new_power == 0.0:
            break
        direction = residual + (new_power / power) * direction
        power = new_power
    return b, n_iter, change, fitted
