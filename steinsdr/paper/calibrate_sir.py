"""Find the reading of SIR and of Algorithm 3 that reproduces the paper's Tables 1 and 2.

``python -m steinsdr.paper.calibrate_sir`` writes ``book/results/calibration_sir.csv``, a row
per cell of the paper and reading; z is the gap to the paper in standard errors of both. Readings:

- Table 1: "marginal" slices of each response, "projective" slices of random projections;
- Table 2, light tails: the null of the permutation test, "pooled", "projected" or "projected-sum"
  as in :class:`steinsdr.baselines.SIR`, and "one projection" on both sides;
- Table 2, heavy tails: the energy share of the "eigenvalues" of the pooled matrix, which are the
  squared singular values of the matrix of slice means, or of their "squares".
"""

from __future__ import annotations

from ..baselines import SIR
from ..rank import energy_rank
from ..simulation import LAWS, simulate
from ..subspace import procrustes_distance
from .calibration import Cell, Readings, calibrate

__all__ = ["distances", "measure", "rank_errors"]


SLICES = (5, 8, 10, 12, 15)
MAX_RANK, ENERGY = 10, 0.95


def distances(cell: Cell, seed: int) -> Readings:
    """Return the distance of every reading of SIR on one data set of Table 1."""
    data = simulate(cell.law, cell.n, r=cell.r, version="section41", seed=seed)
    models = {("marginal", H): SIR(cell.r, n_slices=H) for H in SLICES}
    models["projective", 10] = SIR(cell.r, slicing="projective", random_state=seed)
    return {
        key: procrustes_distance(model.fit(data.X, data.Y).components_.T, data.B)
        for key, model in models.items()
    }


def rank_errors(cell: Cell, seed: int) -> Readings:
    """Return the error of the rank of every reading of Algorithm 3 on one data set of Table 2."""
    data = simulate(cell.law, cell.n, r=cell.r, version="section42", seed=seed)
    ranks: Readings = {}
    if LAWS[cell.law].log_scale is not None:
        for H in SLICES:
            model = SIR(n_slices=H, random_state=seed).fit(data.X, data.Y)
            ranks["eigenvalues", H] = model.n_components_
            ranks["squares", H] = energy_rank(model.eigenvalues_[:MAX_RANK], ENERGY)
    else:
        models = {("pooled", H): SIR(n_slices=H, random_state=seed) for H in SLICES}
        for null in ("projected", "projected-sum"):
            models[null, 10] = SIR(null=null, random_state=seed)
        models["one projection", 10] = SIR(
            slicing="projective", n_projections=1, null="projected", random_state=seed
        )
        ranks = {key: model.fit(data.X, data.Y).n_components_ for key, model in models.items()}
    return {key: abs(rank - cell.r) for key, rank in ranks.items()}


def measure(cell: Cell, seed: int) -> Readings:
    """Return the figure of the paper's cell for every reading, on one data set."""
    return distances(cell, seed) if cell.table == 1 else rank_errors(cell, seed)


if __name__ == "__main__":
    calibrate("SIR", measure, reps=40, doc=__doc__, output="calibration_sir.csv")
