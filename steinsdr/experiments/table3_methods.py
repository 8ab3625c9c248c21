"""The methods of Table 3, with the settings that the paper gives for real data, and references.

Names are those of the paper; what it does not have (linear models, other readings of the protocol)
has a name of its own and stays out of the ledger.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..patchseq import MAX_RANK
from .methods import Method

__all__ = ["REFERENCES", "TABLE3_METHODS", "Table3Method"]


@dataclass(frozen=True)
class Table3Method(Method):
    """A method on the Patch-seq data.

    ``family`` may also be "linear"; ``settings`` then names the ``model`` and says whether a
    ``network`` predicts from its directions.

    Attributes
    ----------
    link : {"labeled", "fit"}
        Cells that train the network behind an error, see
        :func:`steinsdr.patchseq.evaluate_methods`.
    split : mapping
        Options of :func:`steinsdr.patchseq.table3_split` other than the paper's.
    """

    link: str = "labeled"
    split: Mapping[str, str] = field(default_factory=dict)

    def describe(self, measure: str = "prediction") -> dict[str, Any]:
        """Return what decides the numbers, as plain data for a manifest."""
        return {
            "family": self.family,
            "config": self.config,
            "settings": dict(self.settings),
            "rank": dict(self.rank),
            "link": self.link,
            "split": dict(self.split),
        }


_LIMIT = {"max_rank": MAX_RANK}


def _tre(config: str, cost: float) -> Table3Method:
    return Table3Method(
        "tikhonov", config, {"lam": 1e-4}, rank=_LIMIT, cost=cost, note="lambda 1e-4"
    )


def _network(config: str, cost: float) -> Table3Method:
    return Table3Method("denoising", config, rank=_LIMIT, cost=cost, note="standardized")


def _linear(model: str, note: str, *, network: bool = False, cost: float = 0.5) -> Table3Method:
    settings = {"model": model, "network": network}
    return Table3Method("linear", settings=settings, cost=cost, note=note)


_PAPER: dict[str, Table3Method] = {
    "SIR": Table3Method(
        "sir", settings={"n_slices": 12}, rank=_LIMIT, cost=0.1, note="12 slices, pooled"
    ),
    "csOPG": Table3Method("csopg", settings={"max_dim": MAX_RANK}, cost=4.0, note="as in MAVE"),
    "KSIR": Table3Method("ksir", settings={"max_dim": MAX_RANK}, cost=0.5, note="as in MAVE"),
    "MLP": Table3Method(
        "mlp",
        settings={"scale": "standardized"},
        rank=_LIMIT,
        cost=0.7,
        note="hidden layers of 256 and 128 units",
    ),
    "NN-sup": _network("sup", 2.0),
    "NN-full": _network("full", 2.0),
    "TRE-split": _tre("split", 0.2),
    "NN-split": _network("split", 3.7),
    "TRE-sup": _tre("sup", 0.1),
    "TRE-full": _tre("full", 0.3),
}

REFERENCES: dict[str, Table3Method] = {
    "mean": _linear("mean", "predicts the training mean", cost=0.01),
    "ridge": _linear("ridge", "ridge regression on all genes", cost=0.05),
    "RRR": _linear("RRR", "ridge-penalized reduced-rank regression"),
    "PLS": _linear("PLS", "partial least squares"),
    "RRR+network": _linear("RRR", "the network on directions of RRR", network=True),
    "PLS+network": _linear("PLS", "the network on directions of PLS", network=True),
    "PCA+network": _linear("PCA", "the network on ten principal components", network=True),
}
"""What a practitioner would try first."""


def _unscreened(name: str, cost: float) -> Table3Method:
    settings = {**_PAPER[name].settings, "screen": None}
    return replace(
        _PAPER[name], settings=settings, cost=cost, note="all genes kept: screening switched off"
    )


_HONEST = {"selection": "labeled", "scaling": "train"}
_READINGS: dict[str, Table3Method] = {
    "TRE-sup-Tf": replace(
        _PAPER["TRE-sup"], link="fit", note="network trained on the fitting set, as Section 5 says"
    ),
    "SIR-Tf": replace(
        _PAPER["SIR"], link="fit", note="network trained on the fitting set, as Section 5 says"
    ),
    "csOPG-unscreened": _unscreened("csOPG", 10.0),
    "KSIR-unscreened": _unscreened("KSIR", 1.0),
    "TRE-sup-inner": replace(
        _PAPER["TRE-sup"],
        split=_HONEST,
        cost=3.0,
        note="genes selected and scales taken without the test cells and without responses of "
        "unlabeled ones",
    ),
    **{
        f"{name}-literal": replace(
            method,
            split={"shares": "literal"},
            note="at train ratio 0.6 a fifth of the cells is unused",
        )
        for name, method in _PAPER.items()
    },
    "ridge-inner": replace(
        REFERENCES["ridge"],
        split=_HONEST,
        cost=3.0,
        note="genes selected and scales taken without the test cells and without responses of "
        "unlabeled ones",
    ),
}

TABLE3_METHODS: dict[str, Table3Method] = {**_PAPER, **REFERENCES, **_READINGS}
