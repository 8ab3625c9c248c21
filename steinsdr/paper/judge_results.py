"""Theorems, corollary and remarks as claims. Importing registers them."""

from __future__ import annotations

import pandas as pd

from ..scores import GaussianScore, TikhonovScore
from .claims import BOOK, SEED, Judgement, claim, claim_rng, decide
from .rate_results import load_studies, study_rate
from .theory import rates, score_errors, theorem1, theorem2, theorem3
from .theory.rates import Rate

__all__ = []


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
    scale = theorem1.scale_counterexample([1.0, 1000.0]).constant
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
        theorem1.split_errors([n], p=10, n_unlabeled=n, score=GaussianScore(), n_reps=8, seed=SEED)
        for n in (200, 800, 3200)
    ]
    frame = pd.concat(frames)
    rate = rates.rate_of(frame, "n_labeled", "error", rng=claim_rng("adapts"))
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
    studies = [f"coupled-{beta:g}" for beta in betas]
    frame = _stored(*studies)
    slopes = [study_rate(frame, study) for study in studies]
    stated = theorem2.exponents(betas).stated
    text = (
        rf"slope {slopes[-1]} at \(\beta = 1\) up to n = {frame['size'].max()} against "
        f"{stated.iloc[-1]:.2f}; but no density meets its source condition, and its proof gives "
        "other exponents"
    )
    fast = all(map(Rate.at_least_as_fast_as, slopes, stated))
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
        f"{rate} up to n = {frame['size'].max()}, p = {theorem2.P}; that it tends to zero is "
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
    sizes = theorem3.RELATIVE_ERRORS
    frame = theorem3.corollary_ratios(20, 10, 3, sizes, 10, claim_rng("corollary"))
    exact = theorem3.worst_ratio()
    text = (
        f"largest constant {frame.constant.max():.2f} at rank 3, {exact:.2f} by exhaustion at rank "
        f"1; {theorem3.CONSTANT:.2f} allowed"
    )
    return decide(max(frame.constant.max(), exact) <= theorem3.CONSTANT, text)


@claim(
    "the:rank-s",
    "theorem",
    "notebooks/14_subspace_and_rank#cell-threshold",
    "Hard thresholding at half the signal finds the rank.",
)
def _rank() -> Judgement:
    frame = theorem3.rank_recovery([100, 300, 3000], [0.5], n_reps=10, seed=SEED)
    share = frame.groupby("n").correct.mean()
    good = share[3000] == 1 and bool(frame[frame.sufficient].correct.all())
    shares = ", ".join(f"{value:.0%} at n = {n}" for n, value in share.items())
    found = {}
    for name, n_unlabeled in {"sup": 0, "split": 1000}.items():
        tre = TikhonovScore(1e-3, tol=1e-3)
        ranks = theorem3.rank_recovery(
            [1000], [0.5], n_unlabeled=n_unlabeled, n_reps=4, score=tre, seed=SEED
        )
        found[name] = ranks.correct.mean()
    text = (
        f"rank correct in {shares} with the true score; at n = 1000 in {found['sup']:.0%} with "
        f"TRE-sup and {found['split']:.0%} with TRE-split"
    )
    return decide(good and min(found.values()) == 1, text)


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
    ).set_index(["best_for", "kernel"])
    score, distance = pair.own["score"], pair.distance["directions"]
    gain = distance["diagonal"] / distance["curl-free"] - 1
    text = (
        f"n = 200: distance sup {mean['TRE', 'sup']:.2f}, split {mean['TRE', 'split']:.2f}, true "
        f"score {mean['oracle', 'none']:.2f}; n = 100: score error {score['curl-free']:.2f} with "
        f"the curl-free kernel, {score['diagonal']:.2f} with a diagonal one, which changes the "
        f"distance by {gain:+.1%}"
    )
    helps = mean["TRE", "sup"] < mean["TRE", "split"] and score["curl-free"] < score["diagonal"]
    return decide(helps and gain > 0.05, text, otherwise="holds in part")
