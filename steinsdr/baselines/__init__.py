"""The paper's competitors, ridge regression and RFM, with the interface of ``SteinSDR``."""

from ..rank import DominanceRank
from .mave import CSOPG, KSIR
from .mlp import MLPDirections
from .rfm import RFM
from .ridge import RidgeDirections
from .sir import SIR

__all__ = ["CSOPG", "KSIR", "RFM", "SIR", "DominanceRank", "MLPDirections", "RidgeDirections"]
