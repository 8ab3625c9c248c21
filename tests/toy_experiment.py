"""Small experiments of the same machinery as the tables, and a command that runs one.

``python tests/toy_experiment.py FOLDER`` is what the tests interrupt.
"""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import fields

from steinsdr.paper.run import run
from steinsdr.paper.simulations import Design
from steinsdr.paper.study import Experiment

SMALL = {
    "p": 6,
    "n_unlabeled": {"tikhonov": 50, "denoising": 60},
    "n_evaluated": 40,
    "overrides": {
        "tikhonov": {"lam": 1e-2},
        "denoising": {"epochs": 2, "hidden": 8, "n_blocks": 1, "batch_size": 32},
        "mlp": {"epochs": 2, "hidden": (8, 4)},
    },
}
METHODS = ("SIR", "TRE-sup", "TRE-split", "NN-split")
REPETITIONS = {"smoke": 1, "laptop": 3, "paper": 12}

TOY1 = Experiment(
    name="toy1",
    axes={"law": ("isotropic", "lognormal"), "n": (30, 40), "method": METHODS},
    fixed={"r": 3},
    design=Design(version="section41", measure="distance", **SMALL),
    variants={"method": ("KSIR", "csOPG", "MLP", "TRE-full", "NN-sup")},
    repetitions=REPETITIONS,
)
TOY2 = Experiment(
    name="toy2",
    axes={"law": ("isotropic", "lognormal"), "r": (1, 3), "method": METHODS},
    fixed={"n": 40},
    design=Design(version="section42", measure="rank", **SMALL),
    repetitions=REPETITIONS,
)


class Deadly(Experiment):
    """The worker that computes repetition 1 is killed, as by a system without memory."""

    def compute(self, group, cache=None):
        if group.cells[0].rep == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().compute(group, cache)


DEADLY = Deadly(**{field.name: getattr(TOY1, field.name) for field in fields(TOY1)})


def definitions_entered(function):
    """Call a function; return the package's functions and classes it ran, as "module:name"."""
    entered = set()

    def observe(frame, event, _):
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith("steinsdr"):
            name = frame.f_code.co_qualname.partition(".")[0]
            if not name.startswith(("<", "__create_fn__")):  # what dataclasses make
                entered.add(f"{module}:{name}")

    sys.setprofile(observe)
    try:
        function()
    finally:
        sys.setprofile(None)
    return entered


if __name__ == "__main__":
    only = {"method": ["SIR", "TRE-sup", "TRE-split"]}
    run(TOY1, TOY1.cells("paper", only), sys.argv[1], progress=False)
