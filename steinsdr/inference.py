r"""Standard errors of the directions from the terms of the moment, and the summary of a fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ._base import check_integer, check_share

__all__ = ["RidgeTerms", "loading_errors", "summary"]


def loading_errors(S: NDArray, C: NDArray, U: NDArray, n: int) -> NDArray:
    r"""Return standard errors (p, r) of directions U (p, r), from first-order perturbation.

    A moment :math:`\hat M = n^{-1} \{G + \hat S^\top C\}` with singular value decomposition
    :math:`U D V^\top` moves its left singular vectors by
    :math:`(I - U U^\top)(\hat M - M) V D^{-1}`, a mean of the terms
    :math:`(I - U U^\top) \hat s_i c_i^\top`. Their mean squares give the standard errors. A
    rotation within the subspace does not count as an error. Bias of the fit and of the score does
    not count either, so that intervals of correlated columns can cover a little less than they say.

    Parameters
    ----------
    S : ndarray of shape (m, p)
        Scores.
    C : ndarray of shape (m, r)
        The rows :math:`c_i` that belong to the directions, here :math:`C V D^{-1}`.
    n : int
        Rows over which the moment is a mean; S and C may be a subset of them.

    Examples
    --------
    For normal x and a linear link they are those of least squares, sigma / sqrt(n):

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((4000, 3))
    >>> noise = rng.standard_normal((4000, 1))
    >>> errors = loading_errors(X, noise, np.eye(3)[:, :1], 4000)[:, 0] * np.sqrt(4000)
    >>> errors.round(1).tolist()
    [0.0, 1.0, 1.0]
    """
    S = S - S.mean(axis=0)
    outside = S - (S @ U) @ U.T
    return np.sqrt(np.square(outside).T @ np.square(C) / (len(S) * n))


@dataclass(frozen=True)
class RidgeTerms:
    r"""What standard errors of directions need if the fit is a ridge regression.

    The moment of response k, from m rows with centered scores S and points Z, is linear in the
    response: :math:`b_k + m^{-1} S^\top (y_k - Z b_k)` with :math:`b_k = G_k Z^\top y_k` and
    :math:`G_k = (Z^\top Z + \alpha_k I)^{-1}` has the weights
    :math:`w_{ki} = s_i / m + N G_k z_i` with :math:`N = I - m^{-1} S^\top Z`. Where the score is
    shrunk, N is not small, and the error of the fit counts beside that of the mean.

    Attributes
    ----------
    S, Z : ndarray of shape (m, p)
        Scores and points, centered.
    R : ndarray of shape (m, q)
        Residuals of the fit.
    alpha : ndarray of shape (q,)
        Its penalties.
    U, V : ndarray of shape (p, r), (q, r)
        Left singular vectors of the moment, and right ones over the singular values.
    """

    S: NDArray
    Z: NDArray
    R: NDArray
    alpha: NDArray
    U: NDArray
    V: NDArray

    def errors(self, directions: NDArray, n: int, basis: NDArray | None = None) -> NDArray:
        r"""Return standard errors (p, r) of ``directions``, or of ``basis @ directions``.

        The variance has three parts. *Noise*: the weights above with residuals
        :math:`r_{ik} / \sqrt{1 - h_{ik}}`, h the leverage; if the mean is over n > m rows, the
        further rows add scores alone. *Bias of the fit*: its mean over coefficients of variance
        :math:`\sigma_k^2 / \alpha_k`, of which ridge regression is the posterior mean. *Length*:
        a direction at the angle :math:`\theta` falls short of the truth by
        :math:`1 - \cos\theta` along itself.
        """
        S, Z, V = self.S, self.Z, self.V @ (self.U.T @ directions)
        m = len(S)
        if Z.shape[1] > m:  # never a p x p matrix
            left, size, right = np.linalg.svd(Z, full_matrices=False)
            power, right, A = size**2, right.T, left * size
        else:
            power, right = np.linalg.eigh(Z.T @ Z)
            power, A = np.clip(power, 0.0, None), Z @ right
        gain = 1.0 / (power[:, None] + self.alpha)  # (k, q)
        leverage = np.minimum(A**2 @ gain + 1.0 / m, 1 - 1e-9)
        E = self.R / np.sqrt(1.0 - leverage)

        def lift(columns: NDArray) -> NDArray:
            return columns if basis is None else basis @ columns

        rest = right - S.T @ A / m  # N times the right singular vectors
        rest, loadings = lift(rest - directions @ (directions.T @ rest)), lift(directions)
        outside = lift((S - (S @ directions) @ directions.T).T).T / n
        variance = rest**2 @ (self.alpha * np.mean(E**2, axis=0) * gain**2) @ V**2
        for j, v in enumerate(V.T):
            own = outside * (E @ v)[:, None]
            variance[:, j] += np.sum((own + A * (E * v @ gain.T) @ rest.T) ** 2, axis=0)
            variance[:, j] += (n / m - 1.0) * np.sum(own**2, axis=0)
        cosine = np.sqrt(np.clip(1.0 - variance.sum(axis=0), 0.0, 1.0))
        return np.sqrt(variance + ((1.0 - cosine) * loadings) ** 2)


def summary(sdr: Any, n_loadings: int = 5, level: float = 0.95) -> str:
    """Return a table of a fitted :class:`steinsdr.SteinSDR`, ready to be printed."""
    check_share(level, "level")
    check_integer(n_loadings, "n_loadings", low=1)
    r, p = sdr.components_.shape
    lines = [
        f"SteinSDR: {r} direction(s) of {p} columns from {sdr.n_rows_} labeled rows",
        f"score learned from: {sdr.config_} ({sdr.config_reason_})",
    ]
    if sdr.coordinates_ is not None:
        k = p if sdr.coordinates_.basis is None else sdr.coordinates_.basis.shape[1]
        parts = "" if k == p else f", {k} principal components"
        lines.append(f"units of the columns: {sdr.coordinates_.scale}{parts}")
        fit = "none" if sdr.link_ is None else type(sdr.link_).__name__
        lines.append(f"fit of the responses: {fit}")
    p_values = getattr(sdr.rank_, "p_values", None)
    # The test says nothing of directions that it did not select.
    p_values = [] if p_values is None else p_values[: max(1, sdr.rank_.rank)]
    if sdr.rank_ is not None and r > max(1, sdr.rank_.rank):
        p_values = p_values[: sdr.rank_.rank]
        lines.append("number of directions: by prediction, as the links are nonlinear")
    share = np.square(sdr.singular_values_) / np.sum(np.square(sdr.singular_values_))
    lines += ["", "direction  singular value  p-value   share"]
    for k in range(r):
        shown = f"{p_values[k]:.3f}" if k < len(p_values) else "-"
        lines.append(f"{k + 1:>9}  {sdr.singular_values_[k]:>14.4g}  {shown:>7}  {share[k]:>6.1%}")
    if sdr.loading_errors_ is None:
        return "\n".join(lines)
    names = getattr(sdr, "feature_names_in_", [f"x{j}" for j in range(p)])
    width = max(8, *(len(str(name)) for name in names))
    quantile = stats.norm.ppf(0.5 + level / 2)
    lines += ["", f"largest loadings, with {level:.0%} intervals"]
    for k in range(r):
        order = np.argsort(-np.abs(sdr.loadings_[:, k]), kind="stable")[:n_loadings]
        for j in order:
            value, error = sdr.loadings_[j, k], quantile * sdr.loading_errors_[j, k]
            interval = f"[{value - error:+.3f}, {value + error:+.3f}]"
            lines.append(f"{k + 1:>9}  {names[j]!s:<{width}}  {value:+.3f}  {interval}")
    return "\n".join(lines)
