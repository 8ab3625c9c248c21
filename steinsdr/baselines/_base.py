"""What the baselines share: the scikit-learn interface, checks of the data, the choice of r."""

from __future__ import annotations

import inspect
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from .._base import check_choice, check_integer, check_responses, varying_columns
from ..rank import RankRule, RankSelection

__all__ = ["DirectionTransformer", "fixed_signs"]


class DirectionTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A transformer x -> components_ @ x with orthonormal rows ``components_`` (r, p)."""

    n_components: int | Literal["auto"]
    rank: str | RankRule
    components_: NDArray
    n_components_: int
    rank_: RankSelection | None

    def transform(self, X: ArrayLike) -> NDArray:
        r"""Return the reduced predictors :math:`\hat B^\top x`, shape (n, r)."""
        check_is_fitted(self, "components_")
        points = validate_data(self, X, dtype=np.float64, reset=False)
        return points @ self.components_.T

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags

    def _check_data(self, X: ArrayLike, Y: ArrayLike, min_rows: int) -> tuple[NDArray, NDArray]:
        """Return X (n, p) and complete Y (n, q), each with a column that varies."""
        # One memory order, so that a frame and its array agree to the last bit.
        points = validate_data(self, X, dtype=np.float64, order="C", ensure_min_samples=min_rows)
        responses = check_responses(Y, n_rows=len(points))
        n_missing = int(np.isnan(responses).any(axis=1).sum())
        if n_missing:
            raise ValueError(
                f"y has {n_missing} row(s) with NaN; this method uses no unlabeled points, "
                "so leave those rows out of X and y."
            )
        for name, array in (("X", points), ("y", responses)):
            with np.errstate(over="ignore"):
                if not np.isfinite(np.square(array).sum()):
                    raise ValueError(
                        f"{name} holds values too large for a finite variance; rescale its columns."
                    )
            if not varying_columns(array).any():
                raise ValueError(
                    f"{name} has {array.shape[1]} column(s), all constant; at least one must vary."
                )
        return points, responses

    def _check_n_components(self) -> None:
        if isinstance(self.n_components, str):
            check_choice(self.n_components, "n_components", ("auto",))
        else:
            check_integer(self.n_components, "n_components", low=1)

    def _rank_rule(self, default: RankRule) -> RankRule:
        """Return the rule that ``rank`` names or is."""
        if isinstance(self.rank, str):
            check_choice(self.rank, "rank", ("adaptive",))
            return default
        if isinstance(self.rank, type) or not hasattr(self.rank, "select"):
            raise ValueError(f"rank must be 'adaptive' or have a select method; got {self.rank!r}.")
        return self.rank

    def _choose_dimension(
        self, rule: RankRule, matrix: NDArray, *, limit: int, why: str, **data: Any
    ) -> int:
        """Return ``n_components``, or what ``rule`` says of ``matrix``; sets ``rank_``.

        ``limit`` is the largest dimension there is, ``why`` says what sets it.
        """
        self.rank_ = None
        if self.n_components != "auto":
            if self.n_components > limit:
                raise ValueError(
                    f"n_components={self.n_components}; expected at most {limit}, {why}."
                )
            return int(self.n_components)
        try:
            inspect.signature(rule.select).bind(matrix, **data)
        except TypeError as error:
            raise ValueError(
                f"rank={rule!r} does not fit {type(self).__name__}, which has {', '.join(data)} "
                f"for its select method ({error})."
            ) from error
        self.rank_ = rule.select(matrix, **data)
        return int(np.clip(self.rank_.rank, 1, limit))


def fixed_signs(components: NDArray) -> NDArray:
    """Return the rows with a positive largest loading, so that equal fits look equal.

    Examples
    --------
    >>> fixed_signs(np.array([[0.6, -0.8]])).tolist()
    [[-0.6, 0.8]]
    """
    largest = np.abs(components).argmax(axis=1, keepdims=True)
    return components * np.sign(np.take_along_axis(components, largest, axis=1))
