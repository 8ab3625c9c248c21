"""Algorithms and tables of settings as claims. Importing registers them."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import numpy as np

from ..rank import AdaptiveRank
from ..scores import DenoisingScore, TikhonovScore
from ..streams import stream
from . import rank_tests, subspace_bounds
from .claims import Judgement, claim, decide

SEED = 42


def _rng(name: str) -> np.random.Generator:
    return stream(SEED, "claims", name)


@claim(
    "alg:rs",
    "algorithm",
    "notebooks/14_subspace_and_rank",
    "Algorithm 1 selects the rank by an oracle threshold.",
)
def _threshold() -> Judgement:
    frame = subspace_bounds.rank_recovery([300], [0.25, 0.5, 0.75], n_reps=10, seed=SEED)
    share = frame.groupby("factor").correct.mean()
    shares = ", ".join(f"{share[factor]:.0%}" for factor in (0.25, 0.5, 0.75))
    text = f"n = 300: correct in {shares} of samples at tau = 1/4, 1/2, 3/4 of sigma_r"
    return decide(share[0.5] > 0.9, text)


@claim(
    "alg:ars",
    "algorithm",
    "notebooks/14_subspace_and_rank",
    "Algorithm 2: a permutation test of level 0.10 finds the rank.",
)
def _adaptive() -> Judgement:
    frame = rank_tests.rank_frequencies([0.0, 0.5], n=200, n_permutations=60, n_reps=80, seed=SEED)
    over = frame.groupby("signal").over.mean()
    text = (
        f"keeps too many in {over[0.0]:.0%} of samples without signal, in {over[0.5]:.0%} at rank 3"
    )
    return decide(over[0.5] < 0.2, text, otherwise="holds in part")


@claim(
    "rm:rs",
    "remark",
    "notebooks/14_subspace_and_rank",
    "Energy share and level are easier to set than a threshold.",
)
def _easier() -> Judgement:
    values = np.r_[3.0, 2.0, 1.5, np.full(7, 0.5)]
    ranks = [_energy_rank(values, k) for k in (5, 10)]
    text = (
        f"the energy rule gives {ranks[0]} or {ranks[1]} on one spectrum as the largest candidate "
        "goes from 5 to 10; the level is exact for the first direction only"
    )
    return decide(ranks[0] == ranks[1], text, otherwise="holds in part")


def _energy_rank(values: np.ndarray, k: int) -> int:
    rule = AdaptiveRank(max_rank=k, branch="energy")
    X = _rng("energy").standard_normal((50, 10))
    zeros = np.zeros((50, 10))
    return rule.select(np.diag(values), scores=X, Y=zeros, X=X, rng=_rng("unused")).rank


def _defaults(factory: Callable, printed: dict[str, object]) -> Judgement:
    """Whether the package's defaults are the printed settings."""
    signature = inspect.signature(factory).parameters
    different = [name for name, value in printed.items() if signature[name].default != value]
    text = f"{len(printed) - len(different)} of {len(printed)} printed settings are the defaults"
    return decide(not different, text + (f"; not {different}" if different else ""))


@claim("tab:dnn_score", "table", "book/api", "Settings of the score network.")
def _network() -> Judgement:
    return _defaults(
        DenoisingScore,
        {
            "sigma": 0.1,
            "hidden": 256,
            "dropout": 0.3,
            "epochs": 150,
            "batch_size": 256,
            "learning_rate": 1e-3,
            "weight_decay": 1e-5,
            "standardize": True,
        },
    )


@claim("tab:numethod", "table", "book/api", "Settings of the TRE.")
def _tre_settings() -> Judgement:
    return _defaults(TikhonovScore, {"lam": 1e-4, "standardize": True})


@claim("tab:mlp_baseline", "table", "book/api", "Settings of the MLP baseline.")
def _mlp_settings() -> Judgement:
    from ..baselines import MLPDirections

    return _defaults(
        MLPDirections,
        {"hidden": (256, 128), "epochs": 100, "batch_size": 64, "learning_rate": 1e-3},
    )


@claim("tab:eval_mlp", "table", "book/api", "Settings of the evaluation network.")
def _evaluation_settings() -> Judgement:
    from ..evaluation import evaluate_reductions

    return _defaults(
        evaluate_reductions,
        {"hidden": 32, "epochs": 200, "batch_size": 64, "learning_rate": 1e-3, "max_norm": 1.0},
    )


@claim("tab:rank-params", "table", "book/api", "Settings of the rank rules.")
def _rank_settings() -> Judgement:
    return _defaults(AdaptiveRank, {"energy": 0.95, "quantile": 0.90, "n_permutations": 200})


@claim(
    "alg:sir-rank",
    "algorithm",
    "notebooks/14_subspace_and_rank",
    "Algorithm 3: a permutation test of level 0.10 finds SIR's rank.",
)
def _sir_rank() -> Judgement:
    from ..baselines import SIR

    ranks = []
    for rep in range(20):
        rng = stream(SEED, "claims", "sir", rep)
        X = rng.standard_normal((300, 10))
        Y = X[:, [0, 1, 2] * 2] + 0.5 * rng.standard_normal((300, 6))
        rule = AdaptiveRank(max_rank=6, n_permutations=60)
        ranks.append(SIR(rank=rule, random_state=rep).fit(X, Y).n_components_)
    over = float(np.mean(np.array(ranks) > 3))
    text = f"keeps too many directions in {over:.0%} of samples at rank 3"
    return decide(over < 0.3, text)


@claim(
    "alg:mlp-rank",
    "algorithm",
    "notebooks/14_subspace_and_rank",
    "Algorithm 4 with its settings gives Table 2's MLP ranks.",
)
def _mlp_rank() -> Judgement:
    from ..baselines import DominanceRank

    X = _rng("mlp").standard_normal((100, 10))
    largest = DominanceRank().select(np.eye(10), X=X).rank
    text = f"a flat spectrum gives rank {largest}, the most possible; Table 2 implies 10"
    return decide(largest == 10, text)
