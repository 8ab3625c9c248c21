"""Find the reading of the MLP and of Algorithm 4 that reproduces the paper's Tables 1 and 2.

``python -m steinsdr.paper.calibrate_mlp`` writes ``book/results/calibration_mlp.csv``, a row
per cell of the paper's Tables 1 and 2 and reading; z is the gap to the paper in standard errors of
both. Readings name what the weights refer to ("raw" or "standardized" X), whether the responses are
raw or standardized ("raw Y", "standardized Y"), and in Table 2 the energy share.
"""

from __future__ import annotations

import numpy as np

from ..baselines import DominanceRank, MLPDirections
from ..simulation import simulate
from ..subspace import procrustes_distance
from .calibration import Cell, Readings, calibrate

__all__ = ["measure"]


SHARES = (0.90, 0.95)


def measure(cell: Cell, seed: int) -> Readings:
    """Return the figure of the paper's cell for every reading, on one data set."""
    version = "section41" if cell.table == 1 else "section42"
    data = simulate(cell.law, cell.n, r=cell.r, version=version, seed=seed)
    values: Readings = {}
    for standardize in (False, True):
        model = MLPDirections(cell.r, standardize_responses=standardize, random_state=seed).fit(
            data.X, data.Y
        )
        # One training serves both scales.
        scales = {"raw": model.weights_, "standardized": model.weights_ * data.X.std(axis=0)}
        for scale, W in scales.items():
            name = f"{scale} X, {'standardized' if standardize else 'raw'} Y"
            if cell.table == 1:
                basis = np.linalg.svd(W, full_matrices=False)[2][: cell.r].T
                values[name, None] = procrustes_distance(basis, data.B)
                continue
            for share in SHARES:
                rule = DominanceRank(energy_heavy=share, energy_light=share)
                error = abs(rule.select(W, X=data.X).rank - cell.r)
                values[f"{name}, share {share:.2f}", None] = error
    return values


if __name__ == "__main__":
    calibrate("MLP", measure, reps=20, doc=__doc__, output="calibration_mlp.csv")
