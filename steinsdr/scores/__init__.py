r"""Score estimators: objects with ``fit(X)`` and ``evaluate(X)`` -> :math:`s = -\nabla \log p`."""

from typing import Any, Protocol, Self, runtime_checkable

from numpy.typing import ArrayLike, NDArray

from .analytic import (
    GaussianMixtureScore,
    GaussianScore,
    LaplaceScore,
    LogNormalScore,
    StudentScore,
)
from .denoising import DenoisingScore
from .tikhonov import TikhonovPath, TikhonovScore, TikhonovScoreCV

__all__ = [
    "DenoisingScore",
    "GaussianMixtureScore",
    "GaussianScore",
    "LaplaceScore",
    "LogNormalScore",
    "ScoreEstimator",
    "StudentScore",
    "TikhonovPath",
    "TikhonovScore",
    "TikhonovScoreCV",
]


@runtime_checkable
class ScoreEstimator(Protocol):
    r"""What :class:`steinsdr.SteinSDR` asks of a score: two methods.

    ``fit(X)`` learns from points (n, p) and returns the estimator; ``evaluate(X)`` returns
    :math:`s(x) = -\nabla \log p(x)` at every row, (m, p). Note the sign. An estimator that knows
    the scores at its training points without another evaluation offers them as ``train_scores_``.
    """

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Learn the score from the rows of X."""
        ...

    def evaluate(self, X: ArrayLike) -> NDArray:
        """Return the score at every row of X."""
        ...
