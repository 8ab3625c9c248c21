"""Assumptions, limitations and the abstract's promise as claims. Importing registers them."""

from __future__ import annotations

from ..scores import TikhonovScore
from ..simulation import simulate
from .claims import BOOK, SEED, Judgement, claim, claim_rng, decide
from .rate_results import load_studies
from .theory import kernel_lemmas, lemma1, rates, score_errors, theorem1

__all__ = []


@claim(
    "assum:source",
    "assumption",
    "notebooks/13_theorem2#cell-source-condition",
    r"Source condition: \(\boldsymbol{s} = L_{\mathcal{K}}^\omega \boldsymbol{f}_0\), so that the "
    "score is in the space of the kernel.",
)
def _source() -> Judgement:
    ratio = kernel_lemmas.potential_range(20, 3, 1.5, 20, claim_rng("potential")).ratio.max()
    norms = kernel_lemmas.interpolation_norms(
        lambda X: X, [1.0, 16.0], p=3, c=2.0, n=50, rng=claim_rng("ball")
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
    kurtosis = {}
    for law in ("isotropic", "lognormal"):
        b = simulate(law, 1, seed=SEED).B[:, 0]
        kurtosis[law] = (
            theorem1.response_kurtosis(law, b),
            theorem1.score_kurtosis(law),
        )
    normal, heavy = kurtosis.values()
    text = (
        f"kurtosis of the first response and of the true score {normal[0]:.0f} and {normal[1]:.0f} "
        f"for normal x, {heavy[0]:,.0f} and {heavy[1]:,.0f} for log-normal x: such responses are "
        r"not sub-Gaussian, and estimates that tend to such a score leave no common \(K\)"
    )
    return decide(max(heavy) < 10, text, otherwise="holds in part")


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
    rate = rates.rate_of(frame, "n", "fresh", rng=claim_rng("consistent"))
    kernel = load_studies(BOOK / "results", ["score-kernel"]).groupby("size").value.mean()
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
    largest = theorem1.largest_in_deviations("lognormal", 100_000, claim_rng("lognormal"))
    text = f"met by normal x; log-normal x of the designs reaches {largest:.0f} sd in 100,000 draws"
    return decide(largest < 10, text, otherwise="holds in part")


@claim(
    "abstract",
    "remark",
    "notebooks/10_steins_lemma#cell-linearity",
    "The method does not rely on the linearity condition.",
)
def _linearity() -> Judgement:
    frame = lemma1.linearity_distances(["lognormal"], [8000, 64_000], n_reps=4, seed=SEED)
    mean = frame.groupby(["method", "n"]).distance.mean().unstack("n")
    (stein, stein_last), (sir, sir_last) = mean.loc[["Stein", "SIR"]].to_numpy()
    text = (
        f"x log-normal with log sd 0.5, true score: distance {stein:.2f} at n = 8000, "
        f"{stein_last:.2f} at n = 64,000; that of SIR, which relies on it, {sir:.2f} and "
        f"{sir_last:.2f}"
    )
    return decide(stein_last < 0.6 * stein and stein_last < 0.5 * sir_last, text)


@claim(
    "limitation 1",
    "limitation",
    "notebooks/10_steins_lemma#cell-even-link",
    r"Links even in a symmetric index leave no trace in \(\boldsymbol{M}\).",
)
def _even() -> Judgement:
    frame = lemma1.even_link_spectrum([0.0, 0.5], n=20_000, seed=SEED)
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
    frame = lemma1.discrete_distances(["normal", "counts"], n_reps=3, seed=SEED)
    mean = frame.groupby("kind").distance.mean()
    text = (
        f"no guarantee, yet distance {mean['counts']:.2f} for counts, {mean['normal']:.2f} for "
        f"normal x, {frame.chance.mean():.2f} by chance"
    )
    gradual = mean["counts"] < 0.5 * frame.chance.mean()
    return Judgement("holds in part" if gradual else "holds", text)
