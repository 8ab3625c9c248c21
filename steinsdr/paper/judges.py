"""What is measured of every labeled statement of the paper, and what follows from the numbers.

``JUDGES`` holds a measurement and a rule by the labels of ``claims.toml``. The measurement returns
facts, which fill the sentences of that file. The rule turns facts into the answer to the question
that is ``measured`` or, where a proof or a counterexample answers, into whether the numbers bear it
out. Samples are small, so that all takes about a minute; larger ones come from stored rows.
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
from .simulations import TABLE1, TABLE2
from .theory import kernel_lemmas, lemma1, score_errors, theorem1, theorem2, theorem3
from .theory.printed_settings import compare_settings


class StoredRows(NamedTuple):
    """What was computed beforehand: the ledger, and the rows of all theory studies."""

    ledger: Ledger
    studies: pd.DataFrame


Facts = dict[str, Any]


class Judge(NamedTuple):
    """A measurement, and the rule that answers from its facts, in words or by a bool."""

    measure: Callable[[StoredRows], Facts]
    rule: Callable[[Facts], str | bool]


JUDGES: dict[str, Judge] = {}
"""By label, what judges a claim."""


def _judges(label: str, rule: Callable[[Facts], str | bool], *first: Any) -> Callable:
    """Return a decorator that enters a function into ``JUDGES``, its first arguments filled in."""

    def enter(function: Callable) -> Callable:
        JUDGES[label] = Judge(partial(function, *first), rule)
        return function

    return enter


def _rng(name: str) -> np.random.Generator:
    """Return the stream of random numbers of one measurement."""
    return stream(BASE_SEED, "claims", name)


def _graded(share: float, whole: float = 1.0, part: float = 0.5) -> str:
    """Return "yes" from a share of ``whole`` on, "in part" from ``part`` on, else "no"."""
    return "yes" if share >= whole else "in part" if share >= part else "no"


def _met(*conditions: bool) -> str:
    """Return "yes" if all conditions are met, "in part" if at least one is, else "no"."""
    return _graded(float(np.mean(conditions)), part=1e-9)


def _mean_in_words(values: Any) -> str:
    """Return a mean with its 95 percent interval, in words."""
    margin = 1.96 * np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{np.mean(values):.2f} [{np.mean(values) - margin:.2f}, {np.mean(values) + margin:.2f}]"


def _share(outcomes: Any) -> pd.Series:
    """Return the share of true outcomes with a 95 percent interval: share, low, high."""
    frame = pd.DataFrame({"study": "", "size": 0, "value": np.asarray(outcomes, dtype=float)})
    return shares_table(frame).iloc[0]


def answer_by_count(true: np.ndarray, every: bool) -> tuple[str, str]:
    """Return the answer that a count of comparisons supports, and the count, such as "2 of 3".

    A statement about all cases is true if all comparisons are, and in part if half of them are. A
    statement about most cases is true if more than half of them are, and else it is not.
    """
    share = float(np.mean(true))
    answer = _graded(share) if every else "yes" if share > 0.5 else "no"
    return answer, f"{np.sum(true)} of {np.size(true)}"


@_judges("lem:fs", lambda f: f["rate"].contains(-0.5) and f["edge"] > 0.1)
def _lemma_1(_: StoredRows) -> Facts:
    smooth = [name for name, link in lemma1.LINKS.items() if link.smooth]
    laws = list(lemma1.SCORED_LAWS)
    frame = lemma1.gap_by_size(laws, smooth, [500, 2000], n_reps=8, seed=BASE_SEED)
    frame["relative"] = frame.gap / frame.groupby(["law", "link"]).gap.transform("mean")
    rate = rates.rate_of(frame, "n", "relative", rng=_rng("stein"))
    B = lemma1.random_basis(5, 2, _rng("basis"))
    edge = np.linalg.norm(lemma1.identity_gap("exponential", "tanh", B, 20_000, _rng("edge"))[0])
    return {"rate": rate, "edge": edge, "pairs": len(laws) * len(smooth)}


@_judges("lem:kef-replacement", lambda f: f["ratios"].max() > 1 and f["repaired"] <= 1)
def _lemma_6(_: StoredRows) -> Facts:
    found = kernel_lemmas.replacement_search(3, [1e-2, 1e-3, 1e-4])
    return {"ratios": found.ratio, "repaired": found.ratio_repaired.max()}


@_judges(
    "lem:kef-prop",
    lambda f: (
        f["ratio"] > 1 >= f["sharp"] and np.isfinite(f["steep"]) and f["true_to"] < f["false_from"]
    ),
)
def _lemma_10(_: StoredRows) -> Facts:
    sharp = kernel_lemmas.size_search(3, [1e-6]).ratio_repaired.max()
    limits = kernel_lemmas.size_limits()
    steep = kernel_lemmas.slope_search(3, [1.0]).false_from[0]
    return {"sharp": sharp, "steep": steep, **limits}


@_judges("lem:sub-exp", lambda f: 1 < f["worst"] <= 2)
def _lemma_2(_: StoredRows) -> Facts:
    return {"worst": theorem1.product_search(3, 4, seed=BASE_SEED)}


@_judges("lem:app-ge", lambda f: f["share"].low <= f["allowed"] and f["sharp"] > 0.5 * f["allowed"])
def _lemma_3(_: StoredRows) -> Facts:
    """Return the share of samples outside the event, with n to the power 4 and 1 in its radius."""
    settings: dict[str, Any] = {"delta": 0.1, "rho": 1.0, "n_reps": 2000, "rng": _rng("event")}
    printed = theorem1.good_event(200, 50, 1, 1, **settings)["measured"]
    sharp = theorem1.good_event(200, 50, 1, 1, power=1, **settings)["measured"]
    share = _share(np.arange(2000) < round(2000 * printed))
    return {"share": share, "sharp": sharp, "allowed": 0.1}


@_judges("lem:app-rp", lambda f: f["ratio"] <= 1 + 1e-9)
def _lemma_4(_: StoredRows) -> Facts:
    fields = kernel_lemmas.pointwise_bound(1, 3, 1.5, 50, _rng("fields"))
    return {"ratio": fields.ratio.max(), "fields": len(fields)}


@_judges("lem:replacement-stability", lambda f: f["ratio"] <= 1)
def _lemma_5(_: StoredRows) -> Facts:
    return {"ratio": kernel_lemmas.ridge_search([30.0, 1.0, 1e-3]).ratio.max()}


@_judges("lem:app-m3", lambda f: 0.95 < f["found"] / f["M3"] <= 1 and f["far"] < 1e-6)
def _lemma_7(_: StoredRows) -> Facts:
    """Return the computed supremum, and the largest value at random points near and far."""
    rng = _rng("third")
    d = rng.standard_normal((100_000, 3)) * 10 ** rng.uniform(-1, 3, (100_000, 1))
    w = (1 + np.sum(d**2, axis=1)) ** -0.5
    a, b, c = d.T
    kinds = 9 * w**5 * a - 15 * w**7 * a**3, 3 * w**5 * b - 15 * w**7 * a**2 * b
    value = np.abs([*kinds, 15 * w**7 * a * b * c]).max(axis=0)  # at indices 000, 001, 012
    M3 = kernel_lemmas.third_derivative_sup()["M3"]
    return {"M3": M3, "found": value.max(), "far": value[w < 1e-2].max()}


@_judges("lem:app-bd-general", lambda f: f["low"] <= f["least"] <= f["most"] <= f["high"])
def _lemma_8(_: StoredRows) -> Facts:
    table = kernel_lemmas.divergence_sup_table([3, 10, 30, 100, 300])
    slope = np.polyfit(np.log(table.p[-3:]), np.log(table.median_width[-3:]), 1)[0]
    ends = {"least": table.over_3p.min(), "most": table.over_3p.max(), "slope": slope}
    return {**ends, "low": table.low[0], "high": table.high[0]}


@_judges("lem:app-opb", lambda f: np.allclose([f["least"], f["most"]], 1 / f["c"] ** 2))
def _lemma_9(_: StoredRows) -> Facts:
    norms = kernel_lemmas.diagonal_norms(2.0, 3, 100, _rng("diagonal")).measured
    return {"c": 2, "least": norms.min(), "most": norms.max()}


@_judges("thm:subgcomp", lambda f: f["rate"].contains(-0.5) and f["growth"] > 10)
def _theorem_1(stored: StoredRows) -> Facts:
    frame = stored.studies.query("study == 'split-n'")
    scale = theorem1.scale_counterexample([1.0, 1000.0]).constant
    rate = study_rate(frame, "split-n")
    return {"rate": rate, "largest": frame["size"].max(), "growth": scale[1] / scale[0]}


@_judges("thm:kernel", lambda f: f["uniform"].low > -0.1 and f["last"] > 0.5)
def _theorem_2_first_part(stored: StoredRows) -> Facts:
    settings: dict[str, Any] = {"beta": 1.0, "lam": lambda n: theorem2.schedule(n, 1.0, 0.01)}
    jump = theorem2.uniform_moments([100, 400], even=False, n_reps=8, **settings)
    normal = study_rate(stored.studies, "coupled-1")
    rate = rates.rate_of(jump, "n", "error", rng=_rng("uniform"))
    last = jump.query("n == 400").error
    return {"uniform": rate, "last": last.mean(), "error": _mean_in_words(last), "normal": normal}


@_judges("thm:kernel/2", lambda f: f["uniform"].high < -0.1 and f["normal"].high < 0)
def _theorem_2_second_part(stored: StoredRows) -> Facts:
    frame = theorem2.uniform_moments([100, 1000], even=True, beta=0.5, lam=lambda n: 1.0, n_reps=30)
    rate = rates.rate_of(frame, "n", "error", rng=_rng("few"))
    return {"uniform": rate, "normal": study_rate(stored.studies, "few-0.5")}


@_judges("after thm:kernel", lambda f: np.allclose([f["half"], f["all"]], -0.25, atol=0.01))
def _after_theorem_2(_: StoredRows) -> Facts:
    """Return the exponents of the bound at its best lambda, if the bias is lambda."""
    lam, sizes = np.geomspace(1e-12, 1, 8000), np.array([1e30, 1e40])
    found = {}
    for name, beta in {"few": 0.4, "half": 0.5, "all": 1.0}.items():
        bounds = [(1 / (lam * n**0.5) + lam).min() + n ** (-beta / 2) for n in sizes]
        found[name] = np.diff(np.log(bounds))[0] / np.diff(np.log(sizes))[0]
    return found


@_judges("the:rank-s", lambda f: f["sufficient"] > 0 and f["right"] == f["sufficient"])
def _theorem_3(_: StoredRows) -> Facts:
    frame = theorem3.rank_recovery([1000, 3000], [0.5], n_reps=20, seed=BASE_SEED)
    met = frame[frame.sufficient]
    return {"sufficient": len(met), "right": met.correct.sum(), "sets": len(frame)}


@_judges("cor:1", lambda f: f["found"] <= f["sharp"] + 1e-6 and f["far"] > 3 * f["near"])
def _corollary_1(_: StoredRows) -> Facts:
    found = theorem3.corollary_search(3, 3, 2, 2, _rng("corollary")).max()
    facts = {"found": found, "sharp": theorem3.SHARP_CONSTANT, "allowed": theorem3.CONSTANT}
    X, noise = (_rng(name).standard_normal((100, 1000, 5)) for name in ("small x", "noise"))
    for name, sigma in {"near": 1.0, "far": 0.1}.items():  # x_1 times sigma, and noise
        m = (X * (sigma * X[..., :1] + noise[..., :1])).mean(axis=1)
        cosine = np.abs(m[:, 0]) / np.linalg.norm(m, axis=1)
        facts[name] = np.quantile(np.sqrt(2 - 2 * cosine), 0.9)
    return facts


@_judges("abstract", lambda f: f["stein"][1] < min(0.6 * f["stein"][0], 0.5 * f["sir"][1]))
def _abstract(_: StoredRows) -> Facts:
    frame = lemma1.linearity_distances(["lognormal"], [8000, 64_000], n_reps=4, seed=BASE_SEED)
    groups = frame.groupby(["method", "n"]).distance
    mean, told = groups.mean(), groups.agg(_mean_in_words)
    told = {"stein_told": told["Stein"].tolist(), "sir_told": told["SIR"].tolist()}
    return {"stein": mean["Stein"].tolist(), "sir": mean["SIR"].tolist(), **told}


@_judges("rm:rs", lambda f: f["ranks"][0] == f["ranks"][1])
def _remark_3(_: StoredRows) -> Facts:
    ranks = theorem3.energy_ranks([5, 10], seed=BASE_SEED).tolist()
    return {"ranks": ranks, "level": theorem3.permutation_level(200)}


@_judges(
    "remark after thm:subgcomp",
    lambda f: _met(f["rate"].low < -0.45 and f["rate"].high > -0.65, f["slow"].low > -0.4),
)
def _remark_1(_: StoredRows) -> Facts:
    options: dict[str, Any] = {"p": 10, "score": GaussianScore(), "n_reps": 8, "seed": BASE_SEED}
    sizes, rng = (200, 800, 3200), _rng("slow")
    frame = pd.concat(theorem1.split_errors([n], n_unlabeled=n, **options) for n in sizes)
    rows = []
    for n in np.repeat(sizes, 20):  # an error of the score that no linear response notices
        X, noise = rng.standard_normal((2, n, 4))
        scores = X + n**-0.25 * (X**2 - 1)
        rows.append((n, np.linalg.norm(scores.T @ (X + noise) / n - np.eye(4))))
    slow = pd.DataFrame(rows, columns=["n", "error"])
    return {
        "rate": rates.rate_of(frame, "n_labeled", "error", rng=_rng("adapts")),
        "slow": rates.rate_of(slow, "n", "error", rng=_rng("slow rate")),
    }


@_judges(
    "rem:ctre",
    lambda f: _met(
        f["sup"] < f["split"], f["score"]["curl-free"] < f["score"]["diagonal"], f["gain"] > 0.05
    ),
)
def _remark_2(_: StoredRows) -> Facts:
    table = score_errors.configuration_errors(200, 600, 20, n_reps=6, seed=BASE_SEED)
    groups = table.groupby(["estimator", "config"]).distance
    keys = {"sup": ("TRE", "sup"), "split": ("TRE", "split"), "true": ("oracle", "none")}
    pair = score_errors.kernel_comparison(
        "isotropic", [100], 50, [1e-5, 1e-4, 1e-3], n_reps=3, seed=BASE_SEED
    ).set_index(["best_for", "kernel"])
    distance = pair.distance["directions"]
    return {
        **{name: groups.get_group(key).mean() for name, key in keys.items()},
        **{f"{name}_told": _mean_in_words(groups.get_group(key)) for name, key in keys.items()},
        **{"score": pair.own["score"], "gain": distance["diagonal"] / distance["curl-free"] - 1},
    }


@_judges("alg:rs", lambda f: f["half"].low > 0.8)
def _algorithm_1(_: StoredRows) -> Facts:
    frame = theorem3.rank_recovery([300], [0.25, 0.5, 0.75], n_reps=20, seed=BASE_SEED)
    quarter, half, most = (_share(part.correct) for _, part in frame.groupby("factor"))
    return {"quarter": quarter, "half": half, "most": most}


@_judges("alg:ars", lambda f: _met(*(f[k].low <= 0.115 for k in ("null", "even", "medium"))))
def _algorithm_2(stored: StoredRows) -> Facts:
    options: dict[str, Any] = {"n_permutations": 60, "n_reps": 80, "seed": BASE_SEED}
    frame = theorem3.rank_frequencies([0.0, 0.5], n=200, **options)
    null, medium = (_share(part.over) for _, part in frame.groupby("signal"))
    even = _share(theorem3.even_link_passes([200], **options).passes)
    large = shares_table(stored.studies.query("study == 'excess-0.5'")).iloc[-1]
    return {"null": null, "even": even, "medium": medium, "large": large}


@_judges("alg:sir-rank", lambda f: f["printed"].low <= 0.1)
def _algorithm_3(_: StoredRows) -> Facts:
    over = {null: _share(theorem3.sir_ranks(null) > 3) for null in ("projected", "pooled")}
    return {"printed": over["projected"], "pooled": over["pooled"]}


@_judges("alg:mlp-rank", lambda f: f["largest"] == 10)
def _algorithm_4(_: StoredRows) -> Facts:
    return {"largest": theorem3.largest_mlp_rank(seed=BASE_SEED)}


def _printed_settings(label: str, _: StoredRows) -> Facts:
    """Count the printed settings that the runs used: the defaults, unless a rule has others."""
    table = compare_settings().query("table == @label")
    other = {name for method in TABLE2.axes["method"] for name in TABLE2.methods[method].rank}
    other = other if label == "tab:rank-params" else set()
    same = table.same & ~table.setting.isin(other)
    return {"same": same.sum(), "settings": len(same), "other": ", ".join(table.setting[~same])}


for _label in compare_settings()["table"].unique():
    _judges(_label, lambda f: _graded(f["same"] / f["settings"]), _label)(_printed_settings)


@_judges("tab:sim", lambda f: _graded(f["as_printed"] / f["computed"], 0.9, 0.5), "table1")
@_judges("tb:rs", lambda f: _graded(f["as_printed"] / f["computed"], 0.9, 0.5), "table2")
@_judges("tab:real_combined", lambda f: _graded(f["agrees"] / f["computed"], 0.9, 0.5), "table3")
def _table(table: str, stored: StoredRows) -> Facts:
    """Count the cells that agree; ``as_printed`` leaves out case (d), whose law is another here."""
    cells = stored.ledger.cells[stored.ledger.cells["table"] == table]
    agrees, computed = cells["verdict"] == "agrees", (cells["verdict"] != "missing").sum()
    as_printed = agrees & (cells["law"] != "exp_ar1")
    counts = {"agrees": agrees.sum(), "computed": computed, "as_printed": as_printed.sum()}
    return {**counts, "others": len(cells) - computed}


@_judges("assum:source", lambda f: f["variation"] <= 1 and f["growth"] > 10)
def _assumption_4(_: StoredRows) -> Facts:
    """Return the variation of potentials over its bound, and how the norm of a score grows."""
    variation = kernel_lemmas.potential_range(20, 3, 1.5, 30, _rng("potential")).ratio.max()
    ball: dict[str, Any] = {"p": 3, "c": 2.0, "n": 60, "rng": _rng("ball")}
    norms = kernel_lemmas.interpolation_norms(lambda X: X, [1.0, 16.0], **ball).norm
    return {"variation": variation, "growth": norms.iloc[1] / norms.iloc[0]}


@_judges("assum:1", lambda f: _met(max(f["normal"]) < 10, max(f["heavy"]) < 10))
def _assumption_1(_: StoredRows) -> Facts:
    b = simulate("isotropic", 1, seed=BASE_SEED).B[:, 0]
    laws = {"normal": "isotropic", "heavy": "lognormal"}
    kurtosis = theorem1.response_kurtosis, theorem1.score_kurtosis
    return {name: [kurtosis[0](law, b), kurtosis[1](law)] for name, law in laws.items()}


@_judges("ass:score", lambda f: _met(f["rate"].high < 0, f["flat"] < 0.5))
def _assumption_2(stored: StoredRows) -> Facts:
    frame = score_errors.size_errors(
        TikhonovScore(3e-3, tol=1e-3), "mixture", 2, [100, 200, 400], n_reps=4, seed=BASE_SEED
    )
    kernel = stored.studies.query("study == 'score-kernel'").groupby("size").value.mean()
    rate = rates.rate_of(frame, "n", "fresh", rng=_rng("consistent"))
    return {"rate": rate, "flat": kernel[12800] / kernel[1600]}


@_judges("assum:subG", lambda f: _met(f["normal"] < 10, f["heavy"] < 10))
def _assumption_3(_: StoredRows) -> Facts:
    laws = {"normal": "isotropic", "heavy": "lognormal"}
    return {k: theorem1.largest_in_deviations(v, 100_000, _rng(v)) for k, v in laws.items()}


@_judges("limitation 1", lambda f: f["second"][0] < 0.1 < f["second"][1])
def _limitation_1(_: StoredRows) -> Facts:
    return {"second": lemma1.even_link_spectrum([0.0, 0.5], n=20_000, seed=BASE_SEED).sigma_2}


@_judges("sec:ss/nn-sup-failures", lambda f: f["ours"] > 0.8)
def _nn_sup_failures(stored: StoredRows) -> Facts:
    part = stored.ledger.cells.query("table == 'table2' and method == 'NN-sup'")
    return {"ours": part["failure_rate"].max()}


@_judges("sec:ss/noise-level", lambda f: _graded(f["share"]))
def _noise_level(_: StoredRows) -> Facts:
    draws = (simulate(law, 20_000, seed=BASE_SEED) for law in TABLE1.axes["law"])
    # Ten responses a law, whose noise has variance one.
    signal = np.concatenate([links(data.X @ data.B).var(axis=0) for data in draws])
    within = signal <= 2.0
    return {"share": within.mean(), "count": within.sum(), "all": len(signal), "top": signal.max()}
