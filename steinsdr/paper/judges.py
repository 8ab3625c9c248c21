"""A function for every labeled statement of the paper that computes whether it holds, and facts.

``JUDGES`` holds them by the labels of ``claims.toml``, which has the sentences that the facts fill.
Samples are smaller than in the cells of the notebooks that the claims name, so that all of them
together take about a minute; what needs larger samples comes from stored rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..scores import GaussianScore, TikhonovScore
from ..simulation import BASE_SEED, links, simulate, stream
from . import rates
from .ledger import Ledger
from .rates import shares_table, study_rate
from .simulations import TABLE1
from .theory import kernel_lemmas, lemma1, score_errors, theorem1, theorem2, theorem3
from .theory.printed_settings import compare_settings

__all__ = ["JUDGES", "StoredRows", "verdict_by_count"]


class StoredRows(NamedTuple):
    """What was computed beforehand: the ledger, and the rows of all theory studies."""

    ledger: Ledger
    studies: pd.DataFrame


Found = tuple[bool | str, dict[str, Any]]
"""Whether a statement holds, or its verdict in words; and facts by the names of the text."""

JUDGES: dict[str, Callable[[StoredRows], Found]] = {}
"""By label, the function that judges a claim."""


def _judges(label: str, *arguments: Any) -> Callable[[Callable], Callable]:
    """Enter the function below, with its first arguments, as the judge of a label."""

    def enter(function: Callable) -> Callable:
        JUDGES[label] = partial(function, *arguments)
        return function

    return enter


def _found(verdict: Any, /, **facts: Any) -> Found:
    return verdict if isinstance(verdict, str) else bool(verdict), facts


def _rng(name: str) -> np.random.Generator:
    return stream(BASE_SEED, "claims", name)


def verdict_by_count(true: np.ndarray, every: bool) -> tuple[str, str]:
    """Return the verdict that a count of comparisons supports, and the count.

    A statement about all cases holds if all comparisons are true and in part if half of them are; a
    statement about most cases holds if more than half are true and in part if a quarter is.

    Examples
    --------
    >>> verdict_by_count(np.array([True, True, False]), every=True)
    ('holds in part', '2 of 3')
    >>> verdict_by_count(np.array([True, True, False]), every=False)
    ('holds', '2 of 3')
    """
    share = np.mean(true)
    holds, in_part = (share == 1, share >= 0.5) if every else (share > 0.5, share >= 0.25)
    verdict = "holds" if holds else "holds in part" if in_part else "does not hold"
    return verdict, f"{np.sum(true)} of {np.size(true)}"


@_judges("lem:fs")
def _stein(_: StoredRows) -> Found:
    smooth = [name for name, link in lemma1.LINKS.items() if link.smooth]
    laws = list(lemma1.SCORED_LAWS)
    frame = lemma1.gap_by_size(laws, smooth, [500, 2000], n_reps=8, seed=BASE_SEED)
    frame["relative"] = frame.gap / frame.groupby(["law", "link"]).gap.transform("mean")
    rate = rates.rate_of(frame, "n", "relative", rng=_rng("stein"))
    B = lemma1.random_basis(5, 2, _rng("basis"))
    edge = np.linalg.norm(lemma1.identity_gap("exponential", "tanh", B, 20_000, _rng("edge"))[0])
    return _found(rate.contains(-0.5) and edge <= 0.1, rate=rate, edge=edge)


@_judges("lem:sub-exp", theorem1.product_norms)
@_judges("lem:app-rp", lambda: kernel_lemmas.pointwise_bound(20, 3, 1.5, 20, _rng("fields")))
@_judges(
    "lem:replacement-stability",
    lambda: kernel_lemmas.ridge_replacement(10, 3, 1.5, [1.0, 0.1, 0.01], 2, _rng("ridge")),
)
def _bounded(measure: Callable[[], pd.DataFrame], _: StoredRows) -> Found:
    """Whether all that was measured is below its bound."""
    frame = measure()
    return _found(frame.ratio.max() <= 1, ratio=frame.ratio.max(), rows=len(frame))


@_judges("lem:app-ge")
def _event(_: StoredRows) -> Found:
    event = theorem1.good_event(200, 50, 5, 3, delta=0.1, rho=0.5, n_reps=200, rng=_rng("event"))
    return _found(event["measured"] <= event["bound"], **event)


@_judges("lem:kef-replacement")
def _replace(_: StoredRows) -> Found:
    single = kernel_lemmas.single_point_counterexample(3, 10.0, 0.01)
    ratio = single["measured"] / single["bound"]
    return _found(ratio <= 1, ratio=ratio)


@_judges("lem:app-m3")
def _third(_: StoredRows) -> Found:
    value = kernel_lemmas.third_derivative_sup()["M3"]
    return _found(np.isfinite(value), value=value)


@_judges("lem:app-bd-general")
def _divergence(_: StoredRows) -> Found:
    frame = kernel_lemmas.divergence_sup_table([3, 10, 100, 1000])
    inside = frame.over_3p.between(frame.low, frame.high).all()
    return _found(inside, low=frame.over_3p.min(), high=frame.over_3p.max())


@_judges("lem:app-opb")
def _diagonal(_: StoredRows) -> Found:
    frame = kernel_lemmas.diagonal_norms(0.7, 3, 20, _rng("diagonal"))
    return _found(np.allclose(frame.measured, frame.bound), bound=frame.bound[0], points=len(frame))


@_judges("lem:kef-prop")
def _size(_: StoredRows) -> Found:
    sizes = kernel_lemmas.pointwise_table(8, 3, [0.5, 10.0], [1e-3, 1.0], 2, _rng("size"))
    slopes = kernel_lemmas.lipschitz_table(1, 3, [0.1], [1e5], 2, _rng("steep"))
    size, steep = sizes.ratio.max(), slopes.ratio.max()
    return _found(size <= 1 and steep <= 1, size=size, steep=steep)


@_judges("thm:subgcomp")
def _split(stored: StoredRows) -> Found:
    frame = stored.studies.query("study == 'split-n'")
    rate = study_rate(frame, "split-n")
    scale = theorem1.scale_counterexample([1.0, 1000.0]).constant
    good = rate.contains(-0.5) and scale[1] < 10
    return _found(good, rate=rate, largest=frame["size"].max(), growth=scale[1] / scale[0])


@_judges("thm:kernel")
def _coupled(stored: StoredRows) -> Found:
    stated = theorem2.exponents([0.6, 0.75, 0.9, 1.0]).set_index("beta").stated
    studies = [f"coupled-{beta:g}" for beta in stated.index]
    largest = stored.studies.query("study in @studies")["size"].max()
    slopes = [study_rate(stored.studies, study) for study in studies]
    fast = all(map(rates.Rate.at_least_as_fast_as, slopes, stated))
    verdict = "holds in part" if fast else "does not hold"
    return _found(verdict, rate=slopes[-1], largest=largest, stated=stated.iloc[-1])


@_judges("thm:kernel/2")
def _few(stored: StoredRows) -> Found:
    frame = stored.studies.query("study == 'few-0.5'")
    rate = study_rate(frame, "few-0.5")
    return _found(rate.high >= 0, rate=rate, largest=frame["size"].max(), p=theorem2.P)


@_judges("the:rank-s")
def _rank(_: StoredRows) -> Found:
    frame = theorem3.rank_recovery([100, 300, 3000], [0.5], n_reps=10, seed=BASE_SEED)
    share = frame.groupby("n").correct.mean()
    shares = ", ".join(f"{value:.0%} at n = {n}" for n, value in share.items())
    found = {}
    for name, n_unlabeled in {"sup": 0, "split": 1000}.items():
        tre = TikhonovScore(1e-3, tol=1e-3)
        ranks = theorem3.rank_recovery(
            [1000], [0.5], n_unlabeled=n_unlabeled, n_reps=4, score=tre, seed=BASE_SEED
        )
        found[name] = ranks.correct.mean()
    good = share[3000] == 1 and frame[frame.sufficient].correct.all() and min(found.values()) == 1
    return _found(good, shares=shares, **found)


@_judges("cor:1")
def _corollary(_: StoredRows) -> Found:
    sizes = theorem3.RELATIVE_ERRORS
    drawn = theorem3.corollary_ratios(20, 10, 3, sizes, 10, _rng("corollary")).constant.max()
    exact, allowed = theorem3.worst_ratio(), theorem3.CONSTANT
    return _found(max(drawn, exact) <= allowed, drawn=drawn, exact=exact, allowed=allowed)


@_judges("abstract")
def _linearity(_: StoredRows) -> Found:
    frame = lemma1.linearity_distances(["lognormal"], [8000, 64_000], n_reps=4, seed=BASE_SEED)
    mean = frame.groupby(["method", "n"]).distance.mean()
    stein, sir = mean["Stein"].tolist(), mean["SIR"].tolist()
    return _found(stein[1] < 0.6 * stein[0] and stein[1] < 0.5 * sir[1], stein=stein, sir=sir)


@_judges("rm:rs")
def _easier(_: StoredRows) -> Found:
    ranks = theorem3.energy_ranks([5, 10], seed=BASE_SEED).tolist()
    return _found(ranks[0] == ranks[1], ranks=ranks, level=theorem3.permutation_level(200))


@_judges("remark after thm:subgcomp")
def _adapts(_: StoredRows) -> Found:
    options: dict[str, Any] = {"p": 10, "score": GaussianScore(), "n_reps": 8, "seed": BASE_SEED}
    sizes = (200, 800, 3200)
    frame = pd.concat(theorem1.split_errors([n], n_unlabeled=n, **options) for n in sizes)
    rate = rates.rate_of(frame, "n_labeled", "error", rng=_rng("adapts"))
    return _found(rate.low < -0.45 and rate.high > -0.65, rate=rate)


@_judges("rem:ctre")
def _remark(_: StoredRows) -> Found:
    table = score_errors.configuration_errors(200, 600, 20, n_reps=6, seed=BASE_SEED)
    mean = table.groupby(["estimator", "config"]).distance.mean()
    sup, split, true = mean["TRE", "sup"], mean["TRE", "split"], mean["oracle", "none"]
    pair = score_errors.kernel_comparison(
        "isotropic", [100], 50, [1e-5, 1e-4, 1e-3], n_reps=3, seed=BASE_SEED
    ).set_index(["best_for", "kernel"])
    score, distance = pair.own["score"], pair.distance["directions"]
    gain = distance["diagonal"] / distance["curl-free"] - 1
    good = sup < split and score["curl-free"] < score["diagonal"] and gain > 0.05
    return _found(good, sup=sup, split=split, true=true, score=score, gain=gain)


@_judges("alg:rs")
def _threshold(_: StoredRows) -> Found:
    frame = theorem3.rank_recovery([300], [0.25, 0.5, 0.75], n_reps=10, seed=BASE_SEED)
    share = frame.groupby("factor").correct.mean()
    return _found(share[0.5] > 0.9, shares=", ".join(f"{value:.0%}" for value in share))


@_judges("alg:ars")
def _adaptive(stored: StoredRows) -> Found:
    frame = theorem3.rank_frequencies(
        [0.0, 0.5], n=200, n_permutations=60, n_reps=80, seed=BASE_SEED
    )
    outcomes = frame.assign(study=frame.signal, size=200, value=frame.over.astype(float))
    null, medium = (row for _, row in shares_table(outcomes).iterrows())
    large = shares_table(stored.studies.query("study == 'excess-0.5'")).iloc[-1]
    return _found(medium.share < 0.2, null=null, medium=medium, large=large)


@_judges("alg:sir-rank")
def _sir_rank(_: StoredRows) -> Found:
    over = (theorem3.sir_ranks(seed=BASE_SEED) > 3).mean()
    return _found(over < 0.3, over=over)


@_judges("alg:mlp-rank")
def _mlp_rank(_: StoredRows) -> Found:
    largest = theorem3.largest_mlp_rank(seed=BASE_SEED)
    return _found(largest == 10, largest=largest)


@_judges("tab:dnn_score", "tab:dnn_score")
@_judges("tab:numethod", "tab:numethod")
@_judges("tab:mlp_baseline", "tab:mlp_baseline")
@_judges("tab:eval_mlp", "tab:eval_mlp")
@_judges("tab:rank-params", "tab:rank-params")
def _defaults(label: str, _: StoredRows) -> Found:
    """Whether the package's defaults are the settings that a table prints."""
    same = compare_settings().query("table == @label").same
    return _found(same.all(), same=same.sum(), settings=len(same))


@_judges("tab:sim", "table1")
@_judges("tb:rs", "table2")
@_judges("tab:real_combined", "table3")
def _agreement(table: str, stored: StoredRows) -> Found:
    """Judge a table by the share of its computed figures that agree with the paper."""
    verdicts = stored.ledger.cells.loc[stored.ledger.cells["table"] == table, "verdict"]
    agrees, computed = (verdicts == "agrees").sum(), (verdicts != "missing").sum()
    share = agrees / max(computed, 1)
    verdict = "holds" if share >= 0.9 else "holds in part" if share >= 0.5 else "does not hold"
    return _found(verdict, agrees=agrees, computed=computed, others=len(verdicts) - computed)


@_judges("assum:source")
def _source(_: StoredRows) -> Found:
    ratio = kernel_lemmas.potential_range(20, 3, 1.5, 20, _rng("potential")).ratio.max()
    norms = kernel_lemmas.interpolation_norms(
        lambda X: X, [1.0, 16.0], p=3, c=2.0, n=50, rng=_rng("ball")
    ).norm
    return _found(ratio > 1, ratio=ratio, growth=norms[1] / norms[0])


@_judges("assum:1")
def _subgaussian(_: StoredRows) -> Found:
    normal, heavy = (
        (
            theorem1.response_kurtosis(law, simulate(law, 1, seed=BASE_SEED).B[:, 0]),
            theorem1.score_kurtosis(law),
        )
        for law in ("isotropic", "lognormal")
    )
    return _found(max(heavy) < 10, normal=normal, heavy=heavy)


@_judges("ass:score")
def _consistent(stored: StoredRows) -> Found:
    frame = score_errors.size_errors(
        TikhonovScore(3e-3, tol=1e-3), "mixture", 2, [100, 200, 400], n_reps=4, seed=BASE_SEED
    )
    rate = rates.rate_of(frame, "n", "fresh", rng=_rng("consistent"))
    kernel = stored.studies.query("study == 'score-kernel'").groupby("size").value.mean()
    flat = kernel[12800] / kernel[1600]
    return _found(rate.high < 0 and flat < 0.5, rate=rate, flat=flat)


@_judges("assum:subG")
def _covariates(_: StoredRows) -> Found:
    largest = theorem1.largest_in_deviations("lognormal", 100_000, _rng("lognormal"))
    return _found(largest < 10, largest=largest)


@_judges("limitation 1")
def _even(_: StoredRows) -> Found:
    second = lemma1.even_link_spectrum([0.0, 0.5], n=20_000, seed=BASE_SEED).sigma_2
    return _found(second[0] < 0.1 < second[1], second=second)


@_judges("limitation 2")
def _discrete(_: StoredRows) -> Found:
    frame = lemma1.discrete_distances(["normal", "counts"], n_reps=3, seed=BASE_SEED)
    mean, chance = frame.groupby("kind").distance.mean(), frame.chance.mean()
    gradual = mean["counts"] < 0.5 * chance
    return _found("holds in part" if gradual else "holds", mean=mean, chance=chance)


@_judges("sec:ss/nn-sup-failures")
def _failures(stored: StoredRows) -> Found:
    part = stored.ledger.cells.query("table == 'table2' and method == 'NN-sup'")
    paper, ours = part["failure_rate_paper"].max(), part["failure_rate"].max()
    return _found(ours > 0.8, ours=ours, paper=paper)


@_judges("sec:ss/noise-level")
def _noise(_: StoredRows) -> Found:
    draws = (simulate(law, 20_000, seed=BASE_SEED) for law in TABLE1.axes["law"])
    # Ten responses a law, whose noise has variance one.
    signal = np.concatenate([links(data.X @ data.B).var(axis=0) for data in draws])
    verdict, count = verdict_by_count(signal <= 2.0, every=True)
    return _found(verdict, count=count, largest=signal.max())
