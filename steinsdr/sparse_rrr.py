r"""Sparse reduced-rank regression (Kobak et al. 2021): few genes, few latent variables."""

from __future__ import annotations

import warnings
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import MultiTaskElasticNet

from ._validation import check_integer, check_nonnegative, check_positive, check_share
from .reduced_rank import LowRankRegressor, ridge_rrr

__all__ = ["SparseRRR", "largest_penalty"]


class SparseRRR(LowRankRegressor):
    r"""Reduced-rank regression on a few predictors, chosen by an elastic net on whole rows.

    For centred X and Y, alternates between the two blocks of

    .. math:: \min_{W,\,V:\,V^\top V = I_r}\ \frac{1}{2n} \|Y - X W V^\top\|_F^2
       + \alpha\rho \sum_j \|w_j\|_2 + \frac{\alpha(1-\rho)}{2} \|W\|_F^2 ,

    with :math:`w_j` the rows of W: given V, W is scikit-learn's ``MultiTaskElasticNet`` of
    :math:`Y V` on X; given W, V is the Procrustes rotation :math:`P Q^\top` from the singular value
    decomposition :math:`P D Q^\top` of :math:`Y^\top X W`. A row is zero as a whole: its predictor
    is not selected. The relaxed version then refits the selected predictors with ridge alone.

    Parameters
    ----------
    n_components : int, default=1
        Rank r, at most min(p, q).
    alpha : float, default=0.1
        Penalty; 0 is least squares. :func:`steinsdr.selection.select_features` finds the one that
        leaves a wanted number of predictors.
    l1_ratio : float, default=0.5
        :math:`\rho`: 1 penalizes the norms of the rows only, towards 0 it is ridge.
    relaxed : bool, default=True
        Refit the selected predictors without the sparse penalty.
    ridge : float, optional
        Ridge penalty of that refit; ``alpha`` by default, as Kobak et al.
    max_iter : int, default=100
        Largest number of alternations.
    tol : float, default=1e-6
        Stop when the objective falls by less than this share.

    Attributes
    ----------
    selected_ : ndarray of bool, shape (p,)
        Predictors with a nonzero row.
    strength_ : ndarray of shape (p,)
        Norms of the rows of W before the relaxed refit: the order in which predictors matter.
    components_ : ndarray of shape (r, p)
        Encoder :math:`W^\top`; zero columns for the others. If fewer predictors than r are
        selected, its last rows and those of the decoder are zero.
    decoder_ : ndarray of shape (r, q)
        :math:`V^\top`, orthonormal rows.
    coef_, intercept_ : ndarray of shape (q, p) and (q,)
        The regression.
    objective_ : list of float
        Objective after each alternation, never rising.
    n_iter_ : int
        Alternations done.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    The objective is not convex; the start, the top right singular vectors of :math:`X^\top Y`, is
    that of the authors. Predictors in different units should be standardized first.

    References
    ----------
    D. Kobak, Y. Bernaerts, M. A. Weis, F. Scala, A. S. Tolias and P. Berens, "Sparse
    reduced-rank regression for exploratory visualisation of paired multivariate data", Journal
    of the Royal Statistical Society C 70 (2021), 980-1000.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 30))
    >>> Y = X[:, :3] @ rng.standard_normal((3, 5)) + 0.1 * rng.standard_normal((200, 5))
    >>> np.flatnonzero(SparseRRR(2, alpha=0.5).fit(X, Y).selected_).tolist()
    [0, 1, 2]
    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        alpha: float = 0.1,
        l1_ratio: float = 0.5,
        relaxed: bool = True,
        ridge: float | None = None,
        max_iter: int = 100,
        tol: float = 1e-6,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.relaxed = relaxed
        self.ridge = ridge
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit to X (n, p) and responses y, (n, q) or (n,).

        Raises
        ------
        ValueError
            If the data are not finite or do not match, or a parameter is out of range.

        Warns
        -----
        UserWarning
            If the penalty leaves no predictor.
        ConvergenceWarning
            If ``max_iter`` alternations do not suffice.
        """
        alpha = check_nonnegative(self.alpha, "alpha")
        ridge = alpha if self.ridge is None else check_nonnegative(self.ridge, "ridge")
        check_share(self.l1_ratio, "l1_ratio", one=True)
        check_integer(self.max_iter, "max_iter", low=1)
        check_positive(self.tol, "tol")
        points, responses = self._centred(X, y)

        if alpha == 0:  # nothing to select: the closed form
            W, V = ridge_rrr(points, responses, rank=self.n_components, alpha=0.0)
            self.objective_: list[float] = [_objective(points, responses, W, V, 0.0, self.l1_ratio)]
        else:
            W, V = self._alternate(points, responses, alpha)
        self.n_iter_ = max(1, len(self.objective_))
        self.strength_ = np.linalg.norm(W, axis=1)
        self.selected_ = self.strength_ > 0
        if not self.selected_.any():
            limit = largest_penalty(points, responses, self.n_components) / self.l1_ratio
            warnings.warn(
                f"alpha={alpha:g} selects no predictor, so the mean of Y is all that is predicted; "
                f"use less than {limit:g}.",
                stacklevel=2,
            )
        elif self.relaxed and (alpha > 0 or ridge > 0):
            W, V = self._refit(points, responses, ridge)
        self._keep(W, V)
        return self

    def _alternate(self, X: NDArray, Y: NDArray, alpha: float) -> tuple[NDArray, NDArray]:
        """Return W (p, r) and V (q, r) of the penalized problem."""
        V = _initial_decoder(X, Y, self.n_components)
        net = MultiTaskElasticNet(
            alpha=alpha, l1_ratio=self.l1_ratio, fit_intercept=False, warm_start=True, tol=1e-5
        )
        columns = np.asfortranarray(X)
        self.objective_ = []
        for _ in range(self.max_iter):
            W = net.fit(columns, np.asfortranarray(Y @ V)).coef_.T
            if not W.any():
                return np.zeros_like(W), V
            P, _, Qt = np.linalg.svd(Y.T @ (X @ W), full_matrices=False)
            V = P @ Qt
            self.objective_.append(_objective(X, Y, W, V, alpha, self.l1_ratio))
            if len(self.objective_) > 1:
                before, now = self.objective_[-2:]
                if before - now <= self.tol * before:
                    break
        else:
            warnings.warn(
                f"max_iter={self.max_iter} alternations did not reach tol={self.tol:g}.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return np.array(W), V

    def _refit(self, X: NDArray, Y: NDArray, ridge: float) -> tuple[NDArray, NDArray]:
        """Return W and V of the ridge regression on the selected predictors."""
        rank = min(self.n_components, int(self.selected_.sum()))
        W = np.zeros((X.shape[1], self.n_components))
        V = np.zeros((Y.shape[1], self.n_components))
        W[self.selected_, :rank], V[:, :rank] = ridge_rrr(
            X[:, self.selected_], Y, rank=rank, alpha=ridge
        )
        return W, V


def largest_penalty(X: NDArray, Y: NDArray, rank: int) -> float:
    r"""Return the smallest :math:`\alpha\rho` at which the start of SparseRRR selects nothing.

    That is :math:`\max_j \|x_j^\top Y V\|_2 / n` for centred X and Y.
    """
    V = _initial_decoder(X, Y, rank)
    return float(np.linalg.norm(X.T @ (Y @ V), axis=1).max() / len(X))


def _initial_decoder(X: NDArray, Y: NDArray, rank: int) -> NDArray:
    """Return the top right singular vectors (q, rank) of X'Y, the directions of PLS."""
    return np.linalg.svd(X.T @ Y, full_matrices=False)[2][:rank].T


def _objective(
    X: NDArray, Y: NDArray, W: NDArray, V: NDArray, alpha: float, l1_ratio: float
) -> float:
    loss = np.sum((Y - (X @ W) @ V.T) ** 2) / (2 * len(X))
    rows = np.linalg.norm(W, axis=1)
    penalty = l1_ratio * rows.sum() + (1 - l1_ratio) / 2 * np.sum(rows**2)
    return float(loss + alpha * penalty)
