"""The protocol that every score estimator follows, and the scaling two of them share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["ScoreEstimator", "Standardization"]


@runtime_checkable
class ScoreEstimator(Protocol):
    r"""What :class:`steinsdr.SteinSDR` asks of a score: two methods.

    ``fit(X)`` learns from points (n, p) and returns the estimator; ``evaluate(X)`` returns
    :math:`s(x) = -\nabla \log p(x)` at every row, (m, p). Note the sign.
    """

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Learn the score from the rows of X."""
        ...

    def evaluate(self, X: ArrayLike) -> NDArray:
        """Return the score at every row of X."""
        ...


@dataclass(frozen=True)
class Standardization:
    """z = (x - mean) / scale; a score in z becomes one in x by division with ``scale``."""

    mean: NDArray
    scale: NDArray

    @classmethod
    def of(cls, X: NDArray, enabled: bool) -> Standardization:
        """Take mean and standard deviation (divisor n, as StandardScaler) of X, or do nothing."""
        if not enabled:
            return cls(np.zeros(X.shape[1]), np.ones(X.shape[1]))
        return cls(X.mean(axis=0), X.std(axis=0))

    def forward(self, X: NDArray) -> NDArray:
        """Return z for the rows of X."""
        return (X - self.mean) / self.scale

    def score_back(self, scores: NDArray) -> NDArray:
        """Return scores of z as scores of x."""
        return scores / self.scale
