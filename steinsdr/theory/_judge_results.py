"""Theorems, corollary, remarks, assumptions and limitations as claims. Importing registers them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..scores import GaussianScore, TikhonovScore
from ..streams import stream
from ..theory_results import load_studies, rates_table, study_rate
from . import (
    concentration,
    coupled,
    failures,
    rates,
    score_errors,
    source_condition,
    split_bound,
    subspace_bounds,
)
from .claims import BOOK, Judgement, claim, decide

SEED = 42


def _rng(name: str) -> np.random.Generator:
    return stream(SEED, "claims", name)


def _stored(*studies: str) -> pd.DataFrame:
    """Return stored rows of the theory studies, which reach larger samples than seconds allow."""
    return load_studies(BOOK / "results", studies)


@claim(
    "thm:subgcomp",
    "theorem",
    "notebooks/12_theorem1#cell-split-slopes",
    r"Split estimator: with probability \(1 - \delta\) the error is at most \(C K^2 [\sqrt{q}\,"
    r"\epsilon(n_u)\) \({} + \sqrt{pq \ln(pq/\delta)/n_\ell}\) "
    r"\({} + \sqrt{pq} \ln(pq/\delta)/n_\ell]\).",
)
def _split() -> Judgement:
    frame = _stored("split-n")
    rate = study_rate(frame, "split-n")
    scale = split_bound.scale_counterexample([1.0, 1000.0]).constant
    text = (
        f"slope in n {rate} up to n = {frame['size'].max()}; but the constant needed grows by "
        f"{scale[1] / scale[0]:.0f} as scores and responses shrink by 1000: the first term wants "
        r"\(K\), not \(K^2\)"
    )
    return decide(rate.contains(-0.5) and scale[1] < 10, text, otherwise="holds in part")


@claim(
    "remark after thm:subgcomp",
    "remark",
    "notebooks/12_theorem1#cell-split-floor",
    "The bound adapts to the score's rate: a parametric score gives a parametric estimator.",
)
def _adapts() -> Judgement:
    frames = [
        split_bound.split_errors(
            [n], p=10, n_unlabeled=n, score=GaussianScore(), n_reps=8, seed=SEED
        )
        for n in (200, 800, 3200)
    ]
    frame = pd.concat(frames)
    rate = rates.rate_of(frame, "n_labeled", "error", rng=_rng("adapts"))
    good = rate.low < -0.45 and rate.high > -0.65
    text = f"normal score, as many labeled as unlabeled rows, up to n = 3200: slope {rate}"
    return decide(good, text)


@claim(
    "thm:kernel",
    "theorem",
    "notebooks/13_theorem2#cell-coupled-rates",
    r"Coupled TRE: rate \(n^{-\omega(2\beta - 1)/\{2(\omega + 1)\}}\) for \(\beta > 1/2\).",
)
def _coupled() -> Judgement:
    betas = [0.6, 0.75, 0.9, 1.0]
    table = rates_table(_stored(*(f"coupled-{beta:g}" for beta in betas)))
    stated = coupled.exponents(betas).stated.to_numpy()
    last = table.iloc[-1]
    text = (
        rf"slope {last.slope:.2f} [{last.low:.2f}, {last.high:.2f}] at \(\beta = 1\) up to n = "
        f"{last.largest} against {stated[-1]:.2f}; but no density meets its source condition, and "
        "its proof gives other exponents"
    )
    fast = bool((table.low.to_numpy() <= stated).all())
    return Judgement("holds in part" if fast else "does not hold", text)


@claim(
    "thm:kernel/2",
    "theorem",
    "notebooks/13_theorem2#cell-few-labels",
    r"For \(\beta \le 1/2\) the error does not converge to zero.",
)
def _few() -> Judgement:
    frame = _stored("few-0.5")
    rate = study_rate(frame, "few-0.5")
    text = (
        r"at \(\beta = 1/2\), \(\lambda\) as for \(\beta = 1\), the error falls with slope "
        f"{rate} up to n = {frame['size'].max()}, p = {coupled.P}; that it tends to zero is "
        "proved there"
    )
    return decide(rate.high >= 0, text)


@claim(
    "cor:1",
    "corollary",
    "notebooks/14_subspace_and_rank#cell-corollary",
    r"The distance is at most \(4\sqrt{2}\,\|\widehat{\boldsymbol{M}} - \boldsymbol{M}\|_F /"
    r"\sigma_r(\boldsymbol{M})\).",
)
def _corollary() -> Judgement:
    frame = subspace_bounds.corollary_ratios(20, 10, 3, [0.01, 0.3, 1.0], 10, _rng("corollary"))
    worst = max(frame.constant.max(), subspace_bounds.worst_ratio())
    good = worst <= subspace_bounds.CONSTANT
    return decide(good, f"largest constant {worst:.2f}, {subspace_bounds.CONSTANT:.2f} allowed")


@claim(
    "the:rank-s",
    "theorem",
    "notebooks/14_subspace_and_rank#cell-threshold",
    "Hard thresholding at half the signal finds the rank.",
)
def _rank() -> Judgement:
    frame = subspace_bounds.rank_recovery([100, 300, 3000], [0.5], n_reps=10, seed=SEED)
    share = frame.groupby("n").correct.mean()
    good = share[3000] == 1 and bool(frame[frame.sufficient].correct.all())
    shares = ", ".join(f"{value:.0%} at n = {n}" for n, value in share.items())
    return decide(good, f"rank correct in {shares}")


@claim(
    "rem:ctre",
    "remark",
    "notebooks/11_scores#cell-curl-free",
    "Coupling, regularization and the curl-free prior make the TRE strong in small samples.",
)
def _remark() -> Judgement:
    table = score_errors.configuration_errors(200, 600, 20, n_reps=6, seed=SEED)
    mean = table.groupby(["estimator", "config"]).distance.mean()
    pair = score_errors.kernel_comparison(
        "isotropic", [100], 50, [1e-5, 1e-4, 1e-3], n_reps=3, seed=SEED
    ).set_index("kernel")
    gain = pair.distance["diagonal"] / pair.distance["curl-free"] - 1
    text = (
        f"n = 200: distance sup {mean['TRE', 'sup']:.2f}, split {mean['TRE', 'split']:.2f}, true "
        f"score {mean['oracle', 'none']:.2f}; n = 100: diagonal against curl-free kernel "
        f"{gain:+.1%}"
    )
    coupling = mean["TRE", "sup"] < mean["TRE", "split"]
    return decide(coupling and gain > 0.05, text, otherwise="holds in part")


@claim(
    "assum:source",
    "assumption",
    "notebooks/13_theorem2#cell-source-condition",
    r"Source condition: \(\boldsymbol{s} = L_{\mathcal{K}}^\omega \boldsymbol{f}_0\), so that the "
    "score is in the space of the kernel.",
)
def _source() -> Judgement:
    ratio = source_condition.potential_range(20, 3, 1.5, 20, _rng("potential")).ratio.max()
    norms = source_condition.interpolation_norms(
        lambda X: X, [1.0, 16.0], p=3, c=2.0, n=50, rng=_rng("ball")
    ).norm
    text = (
        rf"potentials vary by at most \(\sqrt{{2}}\) norms (largest ratio {ratio:.2f}), so no "
        f"density qualifies; the normal score's norm grows by {norms[1] / norms[0]:.0f}, the ball "
        "by 16"
    )
    return decide(ratio > 1, text)


@claim(
    "assum:1",
    "assumption",
    "notebooks/12_theorem1#cell-subgaussian-scores",
    "Estimated scores and responses are sub-Gaussian.",
)
def _subgaussian() -> Judgement:
    kurtosis = concentration.score_kurtosis("lognormal")
    text = f"met by normal x; the log-normal design's score has kurtosis {kurtosis:,.0f}"
    return decide(kurtosis < 10, text, otherwise="holds in part")


@claim(
    "ass:score",
    "assumption",
    "notebooks/11_scores#cell-score-rates",
    r"The error \(\epsilon(n_u)\) of the score estimator tends to zero.",
)
def _consistent() -> Judgement:
    frame = score_errors.size_errors(
        TikhonovScore(3e-3, tol=1e-3), "mixture", 2, [100, 200, 400], n_reps=4, seed=SEED
    )
    rate = rates.rate_of(frame, "n", "fresh", rng=_rng("consistent"))
    kernel = _stored("score-kernel").groupby("size").value.mean()
    flat = kernel[12800] / kernel[1600]
    text = (
        f"TRE on a normal mixture: error falls with slope {rate} up to n = 400; but with "
        rf"\(\lambda\) fixed at \(10^{{-4}}\) it levels off: at n = 12800 it is {flat:.2f} times "
        "that at n = 1600"
    )
    return decide(rate.high < 0 and flat < 0.5, text, otherwise="holds in part")


@claim(
    "assum:subG",
    "assumption",
    "notebooks/13_theorem2#cell-subgaussian-predictors",
    "Predictors and responses are sub-Gaussian.",
)
def _covariates() -> Judgement:
    reach = concentration.reach("lognormal", 100_000, _rng("lognormal"))
    text = f"met by normal x; log-normal x of the designs reaches {reach:.0f} sd in 100,000 draws"
    return decide(reach < 10, text, otherwise="holds in part")


@claim(
    "limitation 1",
    "limitation",
    "notebooks/10_steins_lemma#cell-even-link",
    r"Links even in a symmetric index leave no trace in \(\boldsymbol{M}\).",
)
def _even() -> Judgement:
    frame = failures.even_link_spectrum([0.0, 0.5], n=20_000, seed=SEED)
    second = frame.sigma_2
    text = f"second singular value {second[0]:.2f} with symmetric x, {second[1]:.2f} after a shift"
    return decide(second[0] < 0.1 < second[1], text)


@claim(
    "limitation 2",
    "limitation",
    "notebooks/10_steins_lemma#cell-discrete",
    "The framework excludes discrete covariates.",
)
def _discrete() -> Judgement:
    frame = failures.discrete_distances(["normal", "counts"], n_reps=3, seed=SEED)
    mean = frame.groupby("kind").distance.mean()
    text = (
        f"no guarantee, yet distance {mean['counts']:.2f} for counts, {mean['normal']:.2f} for "
        f"normal x, {frame.chance.mean():.2f} by chance"
    )
    gradual = mean["counts"] < 0.5 * frame.chance.mean()
    return Judgement("holds in part" if gradual else "holds", text)
