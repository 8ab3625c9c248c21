r"""Score estimators: objects with ``fit(X)`` and ``evaluate(X)`` -> :math:`s = -\nabla \log p`.

Anything that has these two methods can be passed to :class:`steinsdr.SteinSDR`; see
:class:`ScoreEstimator`. An estimator that knows the scores at its training points without
another evaluation offers them as ``train_scores_``.
"""

from ._base import ScoreEstimator
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
