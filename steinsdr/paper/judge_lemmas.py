"""The lemmas as claims. Importing registers them."""

from __future__ import annotations

import numpy as np

from .claims import SEED, Judgement, claim, claim_rng, decide
from .theory import kernel_lemmas, lemma1, rates, theorem1

__all__ = []


@claim(
    "lem:fs",
    "lemma",
    "notebooks/10_steins_lemma#cell-stein-gap",
    r"\(\mathbb{E}\{y_j \boldsymbol{s}(\boldsymbol{x})\} = \boldsymbol{B}\,"
    r"\mathbb{E}\{\nabla f_j(\boldsymbol{B}^\top \boldsymbol{x})\}\) if \(f_j\, p\) vanishes at "
    "infinity.",
)
def _stein() -> Judgement:
    smooth = [name for name, link in lemma1.LINKS.items() if link.smooth]
    laws = list(lemma1.SCORED_LAWS)
    frame = lemma1.gap_by_size(laws, smooth, [500, 2000], n_reps=8, seed=SEED)
    frame["relative"] = frame.gap / frame.groupby(["law", "link"]).gap.transform("mean")
    rate = rates.rate_of(frame, "n", "relative", rng=claim_rng("stein"))
    B = lemma1.random_basis(5, 2, claim_rng("basis"))
    gap = lemma1.identity_gap("exponential", "tanh", B, 20_000, claim_rng("edge"))[0]
    broken = float(np.linalg.norm(gap)) > 0.1
    text = (
        f"gap of 36 law-link pairs falls with slope {rate} up to n = 2000; for exponential x, "
        f"which the wording does not exclude, it stays at {np.linalg.norm(gap):.1f}"
    )
    return decide(rate.contains(-0.5) and not broken, text, otherwise="holds in part")


@claim(
    "lem:sub-exp",
    "lemma",
    "notebooks/15_appendix#cell-products",
    r"A product of sub-Gaussian variables is sub-exponential: "
    r"\(\|xy - \mathbb{E}(xy)\|_{\psi_1} \le C \|x\|_{\psi_2} \|y\|_{\psi_2}\).",
)
def _product() -> Judgement:
    frame = theorem1.product_norms()
    ratio = frame.ratio.max()
    return decide(ratio <= 1, f"norm over bound at most {ratio:.2f} over {len(frame)} pairs")


@claim(
    "lem:app-ge",
    "lemma",
    "notebooks/15_appendix#cell-good-event",
    "All norms are below explicit radii with high probability.",
)
def _event() -> Judgement:
    event = theorem1.good_event(
        200, 50, 5, 3, delta=0.1, rho=0.5, n_reps=200, rng=claim_rng("event")
    )
    good = event["measured"] <= event["bound"]
    return decide(good, f"left in {event['measured']:.2f} of samples, {event['bound']:.2f} allowed")


@claim(
    "lem:app-rp",
    "lemma",
    "notebooks/15_appendix#cell-kernel-facts",
    r"\(\|\boldsymbol{f}(\boldsymbol{x})\| \le "
    r"\|\mathcal{K}(\boldsymbol{x}, \boldsymbol{x})\|^{1/2} \|\boldsymbol{f}\|_{\mathcal{H}}\).",
)
def _evaluation() -> Judgement:
    ratio = kernel_lemmas.pointwise_bound(20, 3, 1.5, 20, claim_rng("fields")).ratio.max()
    return decide(ratio <= 1, f"field over bound at most {ratio:.2f}")


@claim(
    "lem:replacement-stability",
    "lemma",
    "notebooks/15_appendix#cell-replacement",
    r"Replacing one pair changes kernel ridge regression by an explicit multiple of \(1/n\).",
)
def _ridge() -> Judgement:
    frame = kernel_lemmas.ridge_replacement(10, 3, 1.5, [1.0, 0.1, 0.01], 2, claim_rng("ridge"))
    return decide(frame.ratio.max() <= 1, f"change over bound at most {frame.ratio.max():.2f}")


@claim(
    "lem:kef-replacement",
    "lemma",
    "notebooks/15_appendix#cell-replacement",
    r"Replacing one point changes the TRE by an explicit multiple of \(1/n\).",
)
def _replace() -> Judgement:
    single = kernel_lemmas.single_point_counterexample(3, 10.0, 0.01)
    ratio = single["measured"] / single["bound"]
    text = f"counterexample with one point: change over bound {ratio:.0f} (repaired bound holds)"
    return decide(ratio <= 1, text)


@claim(
    "lem:app-m3",
    "lemma",
    "notebooks/15_appendix#cell-kernel-facts",
    "Third derivatives of the inverse multiquadric kernel are bounded.",
)
def _third() -> Judgement:
    value = kernel_lemmas.third_derivative_sup()["M3"]
    return decide(bool(np.isfinite(value)), rf"\(M_3 = {value:.3f} / c^3\)")


@claim(
    "lem:app-bd-general",
    "lemma",
    "notebooks/15_appendix#cell-kernel-facts",
    r"The supremum \(M_\zeta\) of the kernel's divergence grows like \(p\).",
)
def _divergence() -> Judgement:
    frame = kernel_lemmas.divergence_sup_table([3, 10, 100, 1000])
    good = bool(frame.over_3p.between(frame.low, frame.high).all())
    low, high = frame.over_3p.min(), frame.over_3p.max()
    text = rf"\(c^3 M_\zeta / (3p)\) between {low:.2f} and {high:.2f} for p from 3 to 1000, c fixed"
    return decide(good, text)


@claim(
    "lem:app-opb",
    "lemma",
    "notebooks/15_appendix#cell-kernel-facts",
    r"\(\|\mathcal{K}(\boldsymbol{x}, \boldsymbol{x})\| = 1/c^2\).",
)
def _diagonal() -> Judgement:
    frame = kernel_lemmas.diagonal_norms(0.7, 3, 20, claim_rng("diagonal"))
    good = bool(np.allclose(frame.measured, frame.bound))
    return decide(good, f"equal to {frame.bound[0]:.3f} at {len(frame)} random points for c = 0.7")


@claim(
    "lem:kef-prop",
    "lemma",
    "notebooks/15_appendix#cell-size-and-slope",
    "The TRE is bounded and Lipschitz with explicit constants.",
)
def _size() -> Judgement:
    size = kernel_lemmas.pointwise_table(
        8, 3, [0.5, 10.0], [1e-3, 1.0], 2, claim_rng("size")
    ).ratio.max()
    steep = kernel_lemmas.lipschitz_table(1, 3, [0.1], [1e5], 2, claim_rng("steep")).ratio.max()
    text = f"size over bound at most {size:.2f}; slope over bound {steep:.0f} for a narrow kernel"
    return decide(size <= 1 and steep <= 1, text, otherwise="holds in part")
