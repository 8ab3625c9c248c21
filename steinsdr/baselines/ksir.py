"""KSIR: kernel sliced inverse regression, as in the R package MAVE."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .._validation import check_choice, varying_columns
from ._mave import MaveTransformer
from ._opg import LocalGradients, leading_eigenvectors
from ._prepare import IndicatorResponses, Predictors

__all__ = ["KSIR"]


class KSIR(MaveTransformer):
    r"""Kernel sliced inverse regression, as R package MAVE 1.3.11 computes it.

    One step of :class:`CSOPG` with neighbours weighed by the responses instead of
    :math:`\hat B^\top x`: a slice with soft edges. Indicators :math:`1\{y_k < c\}` are regressed
    on x among points of similar response, and the leading eigenvectors of
    :math:`\sum_j G_j G_j^\top` are the directions.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Dimension r. "auto" takes the one with the least cross-validation error, as
        ``mave.dim`` does, but never 0.
    max_dim : int, default=10
        Largest dimension fitted. Directions are nested and do not depend on it, but the
        selected dimension does; 10 fits the paper's Table 2, 7 cannot (see :class:`CSOPG`).
    screen : "default", int or None, default="default"
        How many columns of X to keep, by distance correlation with Y:
        :math:`\lceil n/\ln n\rceil`, a number, or all. The others get loadings of zero.
    scale : {"raw", "standardized"}, default="raw"
        "raw" directions apply to X, as the package returns them; "standardized" ones to X
        divided by its standard deviations. See :class:`CSOPG`.
    weigh : {"first", "all"}, default="first"
        Which responses measure the distance between points. The package uses **the first
        response only**, with a bandwidth and anchors from all, all in raw units. "all"
        repairs that: all responses, each divided by its standard deviation.

    Attributes
    ----------
    components_ : ndarray of shape (r, p)
        Orthonormal rows that span the same space as ``directions_``.
    directions_ : ndarray of shape (p, r)
        The package's directions: columns of unit length, not orthogonal.
    directions_path_ : dict of int to ndarray
        For every d = 1..max_dim the directions (p, d).
    n_components_ : int
        Dimension used.
    selected_dim_ : int
        Dimension that cross-validation selects; 0 if no direction beats the mean.
    cv_, cv0_ : ndarray of shape (max_dim,), float
        Cross-validation error for d = 1..max_dim and for d = 0. It is always that of the
        raw directions.
    selected_ : ndarray of int
        Columns of X kept, by decreasing distance correlation if some were not.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    With ``weigh="first"`` and q > 1 the result depends on which response comes first, and on
    the units of the others. Like all inverse regression it is blind to links that are even in
    a symmetric index; :class:`CSOPG` sees them. The notes of :class:`CSOPG` on screening,
    cross-validation and constant columns hold here too.

    References
    ----------
    K.-C. Li, "Sliced inverse regression for dimension reduction", Journal of the American
    Statistical Association 86 (1991), 316-327.

    W. Hang and Y. Xia, "MAVE: Methods for Dimension Reduction", R package 1.3.11 (2021).

    Examples
    --------
    Unlike those of csOPG, the directions are nested:

    >>> from steinsdr.simulation import simulate
    >>> data = simulate("isotropic", n=100, p=10)
    >>> path = KSIR().fit(data.X, data.Y).directions_path_
    >>> all(np.allclose(path[d], path[10][:, :d]) for d in path)
    True
    """

    def __init__(
        self,
        n_components: int | Literal["auto"] = "auto",
        *,
        max_dim: int = 10,
        screen: int | Literal["default"] | None = "default",
        scale: Literal["raw", "standardized"] = "raw",
        weigh: Literal["first", "all"] = "first",
    ) -> None:
        self.n_components = n_components
        self.max_dim = max_dim
        self.screen = screen
        self.scale = scale
        self.weigh = weigh

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.weigh, "weigh", ["first", "all"])

    def _bases(
        self, predictors: Predictors, responses: IndicatorResponses, Y: NDArray, max_dim: int
    ) -> dict[int, NDArray]:
        V, m = Y, 1
        if self.weigh == "all":
            V = Y[:, varying_columns(Y)]
            V = V / np.std(V, axis=0, ddof=1)
            m = min(V.shape[1], len(V) // 2)
        gradients = LocalGradients(predictors.whitened, responses.working, reuse=False)
        basis = leading_eigenvectors(gradients.outer_product(V, m), max_dim, null=predictors.null)
        return {d: basis[:, :d] for d in range(1, max_dim + 1)}
