"""The paper's competitors, and ridge regression, with the interface of ``SteinSDR``."""

from ..rank import DominanceRank
from .mave import CSOPG, KSIR
from .mlp import MLPDirections
from .ridge import RidgeDirections
from .sir import SIR

__all__ = ["CSOPG", "KSIR", "SIR", "DominanceRank", "MLPDirections", "RidgeDirections"]
