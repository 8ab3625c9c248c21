r"""The moments whose left singular vectors are the directions, and checks of a score.

Every moment is a mean over rows, :math:`\hat M = n^{-1} \{G + \hat S^\top C\}`, with the scores
:math:`\hat S` (n, p), a matrix C (n, c) made of responses, and a sum G (p, c) of gradients that
needs no score. The paper's has G = 0 and C = Y (:func:`cross_moment`). With a fit
:math:`\hat f` of :math:`E(y \mid x)` and weights w,

.. math:: M_w = E\{w \nabla \hat f^\top\} + E[\{w s - \nabla w\}\{y - \hat f\}^\top]
    = E\{w \nabla f^\top\},

by Stein's lemma for :math:`w (f - \hat f)`. It is right if the score is, or if the fit is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import pdist
from sklearn.covariance import ledoit_wolf

from ._base import (
    check_matrix,
    check_not_constant,
    check_result,
    check_same_rows,
    check_spread,
    varying_columns,
)
from .link import KernelLink, link_gradients

_LINK_WIDTHS = (0.5, 1.0, 2.0)
_LINK_CENTERS = 200  # enough for a function of a few indices
WeightFunction = Callable[[NDArray], tuple[NDArray, NDArray]]
"""Maps points (n, p) to the values (n, m) of m weights and their gradients (n, p, m)."""


def cross_moment(scores: ArrayLike, Y: ArrayLike) -> NDArray:
    r"""Return :math:`\hat M = n^{-1} \hat S^\top Y`, shape (p, q), of scores (n, p) and Y (n, q).

    By the generalized Stein's lemma (Lemma 1) its population value is
    :math:`M = B\, E\{\nabla f(B^\top x)\}`, so its left singular vectors span the
    central subspace as far as the mean gradients do: an even link of a symmetric x
    has mean gradient zero and leaves no trace.

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
    with np.errstate(over="ignore", invalid="ignore"):
        return check_result(S.T @ responses / S.shape[0], "the moment", "scores and Y")


@dataclass(frozen=True)
class SteinDiagnostics:
    r"""How well estimated scores satisfy what every true score does.

    ``mean`` (p,) is that of the scores in units of 1/sd(x_j); its target is 0. ``identity`` (p, p)
    is the mean of :math:`s(x) x^\top` with x in units of its sd; its target is the identity.
    """

    mean: NDArray
    identity: NDArray

    @property
    def slope(self) -> float:
        """Average diagonal of ``identity``: below 1 the score is shrunk (lambda too large)."""
        return float(np.mean(np.diag(self.identity)))


def stein_diagnostics(scores: ArrayLike, X: ArrayLike) -> SteinDiagnostics:
    r"""Check :math:`E[s] = 0` and :math:`E[s(x) x^\top] = I`, both Stein's lemma itself.

    Scores and the points they belong to are (n, p); every column of X must vary.

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
    check_spread(points, "X")
    check_not_constant(points, "X")
    sd = points.std(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        S = S * sd
        identity = S.T @ ((points - points.mean(axis=0)) / sd) / len(S)
    check_result(identity, "E[s x']", "scores and X")
    return SteinDiagnostics(mean=S.mean(axis=0), identity=identity)


def fourier_weights(points: NDArray, directions: NDArray) -> WeightFunction:
    r"""Return the weights 1, :math:`t_j`, sin and cos of :math:`t_j` and :math:`2 t_j`.

    The indices :math:`t = U^\top x` of a first pass, with ``directions`` U (p, r), are centered and
    divided by their standard deviation over ``points`` (n, p), and each weight by its root mean
    square there.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((100, 4))
    >>> values, gradients = fourier_weights(X, np.eye(4)[:, :2])(X)
    >>> values.shape, gradients.shape, bool(np.allclose(np.mean(values**2, axis=0), 1))
    ((100, 11), (100, 4, 11), True)
    """
    indices = points @ directions
    mean, sd = indices.mean(axis=0), indices.std(axis=0)
    sd = np.where(sd > 0, sd, 1.0)

    def raw(X: NDArray) -> tuple[NDArray, NDArray]:
        t = (X @ directions - mean) / sd
        one = np.ones_like(t)
        waves = [(t, one)]
        for k in (1, 2):
            waves += [(np.sin(k * t), k * np.cos(k * t)), (np.cos(k * t), -k * np.sin(k * t))]
        values = np.hstack([one[:, :1], *(value for value, _ in waves)])
        slopes = np.hstack([slope for _, slope in waves])  # (n, 5 r), index by index
        steps = np.tile(directions / sd, 5)  # of the index that each weight depends on
        gradients = np.zeros((len(X), X.shape[1], values.shape[1]))
        gradients[:, :, 1:] = slopes[:, None, :] * steps
        return values, gradients

    size = np.sqrt(np.mean(raw(points)[0] ** 2, axis=0))
    size = np.where(size > 0, size, 1.0)

    def weights(X: NDArray) -> tuple[NDArray, NDArray]:
        values, gradients = raw(X)
        return values / size, gradients / size

    return weights


@dataclass(frozen=True)
class AugmentedMoment:
    r"""The moments :math:`M_w` of several weights side by side, shape (p, m q).

    ``link`` is the fitted :math:`\hat f`, None for :math:`\hat f = 0`; weights None are w = 1.
    """

    link: Any
    weights: WeightFunction | None = None

    def parts(self, X: NDArray, Y: NDArray) -> tuple[NDArray, NDArray]:
        """Return G (p, m q), a sum over the rows of X, and C (n, m q)."""
        n, p = X.shape
        residuals, gradients = Y, np.zeros((1, p, Y.shape[1]))
        if self.link is not None:
            residuals = Y - np.asarray(self.link.predict(X)).reshape(Y.shape)
            gradients = link_gradients(self.link, X, Y.shape[1])
        if self.weights is None:
            return gradients.sum(axis=0), residuals
        values, slopes = self.weights(X)
        total = np.einsum("im,ipq->pmq", values, np.broadcast_to(gradients, (n, p, Y.shape[1])))
        total -= np.einsum("ipm,iq->pmq", slopes, residuals)
        stacked = values[:, :, None] * residuals[:, None, :]
        return total.reshape(p, -1), stacked.reshape(n, -1)


class EfficientMoment:
    r"""The moment whose weights are the gradients of the links, shape (p, r).

    With :math:`\hat g` a kernel fit of y on the indices :math:`t = U^\top x` of a first pass,
    :math:`w_{jk} = \partial_j \hat g_k(t)` as weights and the covariance :math:`\Omega` of the
    errors of the q responses, its column j is
    :math:`\sum_{kl} (\Omega^{-1})_{kl} M_{w_{jk}} e_l`, which estimates
    :math:`E\{\nabla f^\top \Omega^{-1} \partial_j g\}`. These are the weights of the efficient
    score of the semiparametric model: in large samples one step from a root-n consistent U is
    enough. :math:`\Omega` has the leave-one-out errors of the fit as variances, and the
    correlations of its residuals, shrunk towards zero (Ledoit and Wolf 2004). Errors that the
    responses share thus cancel. The kernel width minimizes the sum of the leave-one-out errors, in
    which a response in a small unit has little say: standardize responses whose units differ.

    U is ``directions`` (p, r); :math:`\hat g` is fitted to X (n, p) and Y (n, q), with the width of
    the pass ``before`` if that is given.

    Examples
    --------
    Two responses share an error. Their difference is free of it, and the precision knows:

    >>> rng = np.random.default_rng(0)
    >>> X, shared = rng.standard_normal((500, 3)), 3 * rng.standard_normal((500, 1))
    >>> Y = X[:, :2] + shared + 0.1 * rng.standard_normal((500, 2))
    >>> precision = EfficientMoment(np.eye(3)[:, :2], X, Y).precision
    >>> bool([1, -1] @ precision @ [1, -1] > 100 * ([1, 1] @ precision @ [1, 1]))
    True
    """

    def __init__(
        self, directions: NDArray, X: NDArray, Y: NDArray, before: EfficientMoment | None = None
    ) -> None:
        spread = (X @ directions).std(axis=0)
        self.steps = directions / np.where(spread > 0, spread, 1.0)  # dt/dx
        widths = _LINK_WIDTHS if before is None else (before.width,)
        self.link = KernelLink(widths=widths, max_centers=_LINK_CENTERS)
        self.link.fit(X @ self.steps, Y)
        self.width: float = self.link.width_ / float(np.median(pdist(self.link.centers_)))
        self.precision = self._precision(Y - self._fitted(X @ self.steps, Y), varying_columns(Y))

    def _fitted(self, indices: NDArray, Y: NDArray) -> NDArray:
        return self.link.predict(indices).reshape(Y.shape)

    def _precision(self, residuals: NDArray, varies: NDArray) -> NDArray:
        """Return the inverse (q, q) of the errors' covariance, times the smallest variance."""
        # A response that does not vary has nothing to say, and no error either.
        errors = np.sqrt(np.maximum(self.link.errors_[varies], np.finfo(float).tiny))
        residuals = residuals[:, varies]
        size = np.sqrt(np.mean(residuals**2, axis=0))
        residuals = residuals / np.where(size > 0, size, 1.0)
        correlations = ledoit_wolf(residuals, assume_centered=True)[0]
        np.fill_diagonal(correlations, 1.0)
        relative = errors.min() / errors
        precision = np.zeros((len(varies), len(varies)))
        inverse = np.linalg.inv(correlations) * np.outer(relative, relative)
        precision[np.ix_(varies, varies)] = inverse
        return precision

    def parts(self, X: NDArray, Y: NDArray) -> tuple[NDArray, NDArray]:
        """Return G (p, r), a sum over the rows of X, and C (n, r)."""
        indices = X @ self.steps
        gradients, hessians = self.link.derivatives(indices)
        residuals = (Y - self._fitted(indices, Y)) @ self.precision
        total = np.einsum("ijk,ilk->lj", gradients @ self.precision, gradients)
        total -= np.einsum("ijlk,ik->lj", hessians, residuals)
        return self.steps @ total, np.einsum("ijk,ik->ij", gradients, residuals)


def loading_errors(S: NDArray, C: NDArray, U: NDArray, n: int) -> NDArray:
    r"""Return standard errors (p, r) of directions U (p, r), from first-order perturbation.

    A moment :math:`\hat M = n^{-1} \{G + \hat S^\top C\}` with singular value decomposition
    :math:`U D V^\top` moves its left singular vectors by
    :math:`(I - U U^\top)(\hat M - M) V D^{-1}`, a mean of the terms
    :math:`(I - U U^\top) \hat s_i c_i^\top`. Their mean squares give the standard errors. Neither a
    rotation within the subspace nor bias of the fit and of the score counts as an error, so that
    intervals of correlated columns can cover a little less than they say.

    S (m, p) are the scores and C (m, r) the rows :math:`c_i` that belong to the directions, here
    :math:`C V D^{-1}`; the moment is a mean over n rows, of which they may be a subset.

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

    S and Z (m, p) are the centered scores and points, R (m, q) the residuals of the fit and alpha
    (q,) its penalties, U (p, r) the left singular vectors of the moment, and V (q, r) the right
    ones over the singular values.
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
