"""Algorithms and tables of settings as claims. Importing registers them."""

from __future__ import annotations

from functools import partial

from .claims import BOOK, SEED, Claim, Judgement, claim, decide, register
from .rate_results import load_studies, shares_table
from .theory import theorem3
from .theory.printed_settings import compare_settings

__all__ = []


SETTINGS = "notebooks/02_competitors#cell-printed-settings"


@claim(
    "alg:rs",
    "algorithm",
    "notebooks/14_subspace_and_rank#cell-threshold",
    "A threshold that an oracle gives selects the rank.",
)
def _threshold() -> Judgement:
    frame = theorem3.rank_recovery([300], [0.25, 0.5, 0.75], n_reps=10, seed=SEED)
    share = frame.groupby("factor").correct.mean()
    shares = ", ".join(f"{share[factor]:.0%}" for factor in (0.25, 0.5, 0.75))
    text = (
        rf"n = 300: correct in {shares} of samples at \(\tau\) = 1/4, 1/2, 3/4 of "
        r"\(\sigma_r(\boldsymbol{M})\)"
    )
    return decide(share[0.5] > 0.9, text)


@claim(
    "alg:ars",
    "algorithm",
    "notebooks/14_subspace_and_rank#cell-permutation-rule",
    "A permutation test of level 0.10 finds the rank.",
)
def _adaptive() -> Judgement:
    frame = theorem3.rank_frequencies([0.0, 0.5], n=200, n_permutations=60, n_reps=80, seed=SEED)
    outcomes = frame.assign(study=frame.signal, size=200, value=frame.over.astype(float))
    null, medium = (row for _, row in shares_table(outcomes).iterrows())
    large = shares_table(load_studies(BOOK / "results", ["excess-0.5"])).iloc[-1]
    text = (
        f"n = 200: keeps too many in {null.share:.0%} [{null.low:.0%}, {null.high:.0%}] of samples "
        f"without signal, in {medium.share:.0%} at rank 3; there in {large.share:.0%} even at n = "
        f"{large['size']}"
    )
    return decide(medium.share < 0.2, text, otherwise="holds in part")


@claim(
    "rm:rs",
    "remark",
    "notebooks/14_subspace_and_rank#cell-energy-rule",
    "Energy share and level are easier to set than a threshold.",
)
def _easier() -> Judgement:
    ranks = theorem3.energy_ranks([5, 10], seed=SEED).tolist()
    low, high = theorem3.permutation_level(200)
    text = (
        f"the energy rule gives {ranks[0]} or {ranks[1]} on one spectrum as the largest candidate "
        f"goes from 5 to 10; the level, {low:.3f} to {high:.3f} with 200 permutations, is kept "
        "for the first direction only"
    )
    return decide(ranks[0] == ranks[1], text, otherwise="holds in part")


def _defaults(label: str) -> Judgement:
    """Whether the package's defaults are the settings that a table prints."""
    frame = compare_settings().query("table == @label")
    different = frame.setting[~frame.same].tolist()
    text = f"{frame.same.sum()} of {len(frame)} printed settings are the defaults"
    return decide(not different, text + (f"; not {different}" if different else ""))


def _register_settings() -> None:
    statements = {
        "tab:dnn_score": "Settings of the score network.",
        "tab:numethod": "Settings of the TRE.",
        "tab:mlp_baseline": "Settings of the MLP baseline.",
        "tab:eval_mlp": "Settings of the evaluation network.",
        "tab:rank-params": "Settings of the rank rules.",
    }
    for label, statement in statements.items():
        judge = partial(_defaults, label)
        register(Claim(label, "table", statement, SETTINGS, judge))


_register_settings()


@claim(
    "alg:sir-rank",
    "algorithm",
    "notebooks/02_competitors#cell-sir-rank",
    "A permutation test of level 0.10 finds SIR's rank.",
)
def _sir_rank() -> Judgement:
    over = (theorem3.sir_ranks(seed=SEED) > 3).mean()
    text = f"n = 300: keeps too many directions in {over:.0%} of samples at rank 3"
    return decide(over < 0.3, text)


@claim(
    "alg:mlp-rank",
    "algorithm",
    "notebooks/02_competitors#cell-mlp-rank",
    "With its printed settings it gives Table 2's ranks of the MLP.",
)
def _mlp_rank() -> Judgement:
    largest = theorem3.largest_mlp_rank(seed=SEED)
    text = f"a flat spectrum gives rank {largest}, the most possible; Table 2 implies 10"
    return decide(largest == 10, text)
