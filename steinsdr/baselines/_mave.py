"""The transformer that csOPG and KSIR share: everything but the choice of gradients."""

from __future__ import annotations

from abc import abstractmethod
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._validation import check_choice, check_integer
from ..subspace import orthonormalize
from ._base import DirectionTransformer, fixed_signs
from ._mave_dim import cross_validate
from ._prepare import IndicatorResponses, Predictors, prepare_predictors

__all__ = ["MaveTransformer"]


class MaveTransformer(DirectionTransformer):
    """Base of the methods of the R package MAVE; see :class:`CSOPG` and :class:`KSIR`."""

    max_dim: int
    screen: int | Literal["default"] | None
    scale: Literal["raw", "standardized"]

    @abstractmethod
    def _bases(
        self, predictors: Predictors, responses: IndicatorResponses, Y: NDArray, max_dim: int
    ) -> dict[int, NDArray]:
        """Return for d = 1..max_dim a basis (s, d) in the coordinates of whitened predictors."""

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Estimate the directions for every dimension and choose one of them.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Predictors, n >= 3. A constant column gets zero loadings.
        y : array-like of shape (n,) or (n, q)
            Responses Y; one of them at least must vary.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If X or y hold NaN or infinity, differ in length, have fewer than 3 rows or
            no column that varies; or if a parameter is out of range.
        """
        self._check_parameters()
        X, Y = self._check_data(X, y, min_rows=3)
        predictors = prepare_predictors(X, Y, screen=self.screen)
        max_dim = min(self.max_dim, predictors.rank)
        if self.n_components != "auto" and self.n_components > max_dim:
            raise ValueError(
                f"n_components is {self.n_components}; expected at most {max_dim}, the least of "
                f"max_dim ({self.max_dim}) and the rank of the {predictors.selected.size} "
                f"column(s) of X that were kept ({predictors.rank})."
            )
        responses = IndicatorResponses.of(Y)
        bases = self._bases(predictors, responses, Y, max_dim)
        raw = {d: predictors.directions(bases[d], raw=True) for d in range(1, max_dim + 1)}

        self.selected_ = predictors.selected
        # The package's choice, whatever scale the directions are reported in.
        self.cv0_, self.cv_ = cross_validate(X, list(raw.values()), responses.smooth)
        self.selected_dim_ = int(np.argmin(np.append(self.cv0_, self.cv_)))
        self.n_components_ = (
            max(1, self.selected_dim_) if self.n_components == "auto" else int(self.n_components)
        )
        self.directions_path_ = raw
        if self.scale == "standardized":
            self.directions_path_ = {
                d: predictors.directions(bases[d], raw=False) for d in range(1, max_dim + 1)
            }
        self.directions_ = self.directions_path_[self.n_components_]
        # Selected rows only, so that the other loadings stay exactly zero.
        self.components_ = np.zeros(self.directions_.T.shape)
        kept = orthonormalize(self.directions_[self.selected_]).T
        self.components_[:, self.selected_] = fixed_signs(kept)
        return self

    def _check_parameters(self) -> None:
        self._check_n_components()
        check_integer(self.max_dim, "max_dim", low=1)
        if isinstance(self.screen, str):
            check_choice(self.screen, "screen", ["default"])
        elif self.screen is not None:
            check_integer(self.screen, "screen", low=1)
        check_choice(self.scale, "scale", ["raw", "standardized"])
