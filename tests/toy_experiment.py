"""Small experiments of the same machinery as the tables, and a command that runs one.

``python tests/toy_experiment.py FOLDER`` is what the tests interrupt.
"""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import fields, replace

from patchseq_miniature import write_miniature

from steinsdr.paper.experiment import Experiment
from steinsdr.paper.run import run
from steinsdr.paper.simulations import TABLE1, TABLE2
from steinsdr.paper.table3 import TABLE3

SETTINGS = {
    "tikhonov": {"lam": 1e-2},
    "denoising": {"epochs": 2, "hidden": 8, "n_blocks": 1, "batch_size": 32},
    "mlp": {"epochs": 2, "hidden": (8, 4)},
}


def small(methods, settings=SETTINGS):
    """Return methods with settings by family that make them quick."""
    return {
        name: replace(m, settings={**m.settings, **settings.get(m.family, {})}, by_n={})
        for name, m in methods.items()
    }


SMALL = {"p": 6, "n_unlabeled": {"tikhonov": 50, "denoising": 60}, "n_evaluated": 40}
CHANGED = {
    "methods": small(TABLE1.methods),
    "repetitions": {"smoke": 1, "laptop": 3, "paper": 12},
    "subsets": {},
}
LAWS = ("isotropic", "lognormal")
METHODS = ("SIR", "TRE-sup", "TRE-split", "NN-split")

TOY1 = replace(
    TABLE1,
    name="toy1",
    axes={"law": LAWS, "n": (30, 40), "method": METHODS},
    design={**TABLE1.design, **SMALL},
    variants={"method": tuple(name for name in TABLE1.known("method") if name not in METHODS)},
    **CHANGED,
)
TOY2 = replace(
    TABLE2,
    name="toy2",
    axes={"law": LAWS, "r": (1, 3), "method": METHODS},
    fixed={"n": 40},
    design={**TABLE2.design, **SMALL},
    variants={"method": tuple(name for name in TABLE2.known("method") if name not in METHODS)},
    **CHANGED,
)


def toy3(folder):
    """Return Table 3 on made-up data in the format of the real ones."""
    data = write_miniature(folder, 3, n_cells=120)
    changed = {"n_genes": 8, "reference_rank": 3, "data": str(data), "evaluation": {"epochs": 3}}
    settings = {**SETTINGS, "tikhonov": {}, "sir": {"n_slices": 4}}
    settings |= {"csopg": {"max_dim": 4}, "ksir": {"max_dim": 4}}
    methods = small(TABLE3.methods, settings)
    return replace(TABLE3, design=TABLE3.design | changed, methods=methods)


class Deadly(Experiment):
    """The worker that computes repetition 1 is killed, as by a system without memory."""

    def compute(self, cells, cache=None):
        if cells[0][-1] == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().compute(cells, cache)


DEADLY = Deadly(**{field.name: getattr(TOY1, field.name) for field in fields(TOY1)})


def computed(experiment, cells):
    """Return values and status by cell: what must not change."""
    rows = [row for group in experiment.groups(cells) for row in experiment.compute(group)]
    return {row.cell: (row.values, row.status) for row in rows}


if __name__ == "__main__":
    only = {"method": ["SIR", "TRE-sup", "TRE-split"]}
    jobs = int((*sys.argv, 1)[2])
    run(TOY1, TOY1.cells("paper", only), sys.argv[1], jobs=jobs, progress=False)
