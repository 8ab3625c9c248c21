"""The paper's tables as declared grids of independent, replayable cells.

:mod:`~steinsdr.experiments.grid` declares the tables, :mod:`~steinsdr.experiments.methods` the
methods, :mod:`~steinsdr.experiments.cells` computes cells, :mod:`~steinsdr.experiments.runner` runs
what is missing, :mod:`~steinsdr.experiments.store` keeps the rows and
:mod:`~steinsdr.experiments.replay` recomputes them. ``python -m steinsdr`` is the command line.
"""

# First, so that the texts it hashes are those of the code that is loaded.
from . import fingerprint as _fingerprint  # noqa: F401  # isort: split
from .grid import TABLE1, TABLE2, Experiment, parse_only
from .table3 import TABLE3
from .tables import EXPERIMENTS

__all__ = ["EXPERIMENTS", "TABLE1", "TABLE2", "TABLE3", "Experiment", "parse_only"]
