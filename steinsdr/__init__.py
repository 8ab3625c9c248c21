"""Sufficient dimension reduction via the generalized Stein's lemma.

``SteinSDR`` estimates the central subspace of y = F(B'x) + noise from the cross-moment of an
estimated score of x and the response. The modules follow the data: :mod:`steinsdr.simulation`
draws it, :mod:`steinsdr.scores` estimates the score, :mod:`steinsdr.moments` the cross-moment,
:mod:`steinsdr.subspace` and :mod:`steinsdr.rank` the subspace and its dimension.
"""

__version__ = "0.4.0"

from .estimator import SteinSDR
from .rank import AdaptiveRank, HardThreshold, SequentialRank
from .regressor import LabeledOnly, SteinRegressor

__all__ = [
    "AdaptiveRank",
    "HardThreshold",
    "LabeledOnly",
    "SequentialRank",
    "SteinRegressor",
    "SteinSDR",
    "__version__",
]
