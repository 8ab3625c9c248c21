"""A regressor that skips unlabeled rows, so that partly labeled data go through a Pipeline."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.linear_model import LinearRegression
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ._validation import check_responses, split_labeled

__all__ = ["LabeledOnly"]


class LabeledOnly(RegressorMixin, MetaEstimatorMixin, BaseEstimator):
    """Fit and score a regressor on the rows whose responses are not all NaN.

    :class:`steinsdr.SteinSDR` learns its score from unlabeled rows too; the regressor after it
    must not see them. With this wrapper, and its ``score``, ``cross_val_score`` runs on data where
    most rows of Y are NaN.

    Parameters
    ----------
    estimator : regressor, default=None
        None is ``LinearRegression()``.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from steinsdr import SteinSDR
    >>> from steinsdr.simulation import simulate
    >>> data = simulate("isotropic", n=200, p=5)
    >>> Y = data.Y.copy()
    >>> Y[::2] = np.nan
    >>> pipe = make_pipeline(SteinSDR(3, config="full"), LabeledOnly())
    >>> bool(np.isfinite(cross_val_score(pipe, data.X, Y, cv=3)).all())
    True
    """

    def __init__(self, estimator: Any = None) -> None:
        self.estimator = estimator

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the regressor on the labeled rows."""
        points, responses = self._labeled(validate_data(self, X, dtype=np.float64), y)
        base = LinearRegression() if self.estimator is None else clone(self.estimator)
        self.estimator_ = base.fit(points, responses)
        return self

    def predict(self, X: ArrayLike) -> NDArray:
        """Predict with the fitted regressor."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict(validate_data(self, X, dtype=np.float64, reset=False))

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: Any = None) -> float:
        """Return the fitted regressor's score on the labeled rows."""
        check_is_fitted(self, "estimator_")
        points = validate_data(self, X, dtype=np.float64, reset=False)
        if sample_weight is not None:
            mask = split_labeled(check_responses(y, n_rows=len(points)))
            sample_weight = _check_sample_weight(sample_weight, points)[mask]
        return self.estimator_.score(*self._labeled(points, y), sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    @staticmethod
    def _labeled(points: NDArray, y: ArrayLike) -> tuple[NDArray, NDArray]:
        responses = check_responses(y, n_rows=len(points), name="y")
        mask = split_labeled(responses, name="y")
        if not mask.any():
            raise ValueError("y has no labeled row: every row is NaN.")
        targets = responses[mask]
        return points[mask], targets.ravel() if np.asarray(y).ndim == 1 else targets
