r"""Recursive feature machine: kernel ridge regression that learns its own metric."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval
from sklearn.utils.extmath import svd_flip

from .._base import check_result, varying_columns
from ..link import KernelLink, mean_outer_product, metric_root
from ..rank import DirectionTransformer, RankSelection, energy_rank


@dataclass(eq=False, repr=False)  # the constructor; all else is scikit-learn's
class RFM(DirectionTransformer):
    r"""Leading eigenvectors of the average gradient outer product of a kernel fit.

    A kernel ridge regression :math:`\hat f` of y on x gives

    .. math:: \hat A = n^{-1} \sum_i \nabla \hat f(x_i) \nabla \hat f(x_i)^\top ,

    whose range is the central mean subspace if the fit is exact. The next step fits again in the
    metric :math:`\hat A`, that is in the coordinates :math:`\hat A^{1/2} x`, and so on. Of all
    steps the one with the smallest leave-one-out error counts. Width and penalties are chosen by
    leave-one-out in every step (:class:`steinsdr.link.KernelLink`).

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Dimension r. "auto" takes as many eigenvalues as reach 95 percent of their sum.
    steps : int, default=3
        Kernel fits; with 1 the metric is never learned.
    max_centers : int, default=2000
        Rows that carry the kernel expansion.

    Attributes
    ----------
    agop_ : ndarray of shape (p, p)
        :math:`\hat A` of the chosen step, in the raw scale of X.
    singular_values_ : ndarray of shape (p,)
        Roots of its eigenvalues.
    n_steps_ : int
        The chosen step, counted from 1.
    errors_ : list of float
        Leave-one-out error of every step.
    components_, n_components_, rank_
        As in :class:`steinsdr.SteinSDR`.

    Notes
    -----
    It sees even links, which first moments do not. With about as many rows as columns the kernel
    fit is nearly linear, and learning the metric makes the directions worse. The leave-one-out
    error does not notice, because the metric was learned from the row that it leaves out.

    References
    ----------
    A. Radhakrishnan, D. Beaglehole, P. Pandit, M. Belkin (2024). Mechanism for feature learning in
    neural networks and backpropagation-free machine learning models. Science 383, 1461-1467.

    Examples
    --------
    An even link, which a linear regression does not see:

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 4))
    >>> rfm = RFM(1).fit(X, X[:, 0] ** 2)
    >>> bool(abs(rfm.components_[0, 0]) > 0.99)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": DirectionTransformer._parameter_constraints["n_components"],
        "steps": [Interval(Integral, 1, None, closed="left")],
        "max_centers": [Interval(Integral, 2, None, closed="left")],
    }

    n_components: int | Literal["auto"] = "auto"
    _: KW_ONLY
    steps: int = 3
    max_centers: int = 2000

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Estimate the central mean subspace from X (n, p) and responses y (n,) or (n, q)."""
        self._validate_params()
        points, responses = self._check_complete(X, y, min_rows=4)
        self._check_limit(points.shape[1], "the number of columns of X")
        varying = varying_columns(points)
        scale = points[:, varying].std(axis=0)
        Z = (points[:, varying] - points[:, varying].mean(axis=0)) / scale
        root = np.eye(Z.shape[1])
        best: NDArray = root
        self.errors_: list[float] = []
        for _ in range(self.steps):
            link = KernelLink(max_centers=self.max_centers).fit(Z @ root, responses)
            outer = mean_outer_product([(root, link)], np.ones((1, 1)), Z)
            if not self.errors_ or link.errors_.mean() < min(self.errors_):
                best = outer
            self.errors_.append(float(link.errors_.mean()))
            if not np.trace(outer) > 0:
                break  # a constant fit has no direction to follow
            root = metric_root(outer)
        self.n_steps_ = int(np.argmin(self.errors_)) + 1
        self.agop_ = np.zeros((points.shape[1], points.shape[1]))
        self.agop_[np.ix_(varying, varying)] = best / np.outer(scale, scale)
        check_result(self.agop_, "the gradients' outer products", "X and y")
        U, values, Vt = np.linalg.svd(self.agop_, hermitian=True)
        self.singular_values_ = np.sqrt(np.clip(values, 0.0, None))
        self.rank_ = None
        if self.n_components == "auto":
            rank = energy_rank(self.singular_values_, 0.95)
            self.rank_ = RankSelection(rank, "energy", self.singular_values_)
        self.n_components_ = int(self.n_components) if self.rank_ is None else self.rank_.rank
        self.components_ = svd_flip(U, Vt)[0].T[: self.n_components_]
        return self
