"""Rules for the rank: their branches, nulls, levels and invariances, and the limits of tails."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from conftest import DATA, ROOT
from scipy import stats

from steinsdr import SteinSDR
from steinsdr.moments import cross_moment
from steinsdr.paper.patchseq import load_patchseq, table3_split
from steinsdr.rank import (
    KURTOSIS_LIMIT,
    SKEWNESS_LIMIT,
    AdaptiveRank,
    HardThreshold,
    SequentialRank,
    cumulative_energy,
    energy_rank,
    permutation_null,
    sequential_rank,
    tail_check,
)
from steinsdr.simulation import BASE_SEED, LAWS, simulate, stream


def spectrum_data(rng, n=400, p=8, q=6, r=2, noise=1.0):
    S = rng.standard_normal((n, p))
    Y = S[:, :r] @ np.diag(np.arange(r, 0, -1.0)) @ np.eye(r, q) + noise * rng.standard_normal(
        (n, q)
    )
    return S, Y, cross_moment(S, Y)


@pytest.mark.parametrize("chunk", [1 << 24, 50 * 6 * 3])
@pytest.mark.parametrize(("p", "q"), [(8, 6), (3, 9), (9, 3)])
def test_null_equals_a_loop_of_svds(rng, monkeypatch, p, q, chunk):
    monkeypatch.setattr("steinsdr.rank._CHUNK", chunk)
    S, Y = rng.standard_normal((50, p)), rng.standard_normal((50, q))
    null = permutation_null(S, Y, k=5, m=7, rng=np.random.default_rng(1))
    again = np.random.default_rng(1)
    orders = [again.permutation(50) for _ in range(7)]
    values = [np.linalg.svd(S.T @ Y[order] / 50, compute_uv=False)[:5] for order in orders]
    expected = np.zeros((7, 5))
    expected[:, : min(5, p, q)] = values  # zeros beyond the smaller side
    np.testing.assert_allclose(null, expected, rtol=1e-8)
    with pytest.raises(ValueError, match=r"scores has 50 row\(s\) but Y has 49; they must"):
        permutation_null(S, Y[1:], k=2, m=3, rng=rng)


def test_permutation_branch_finds_the_rank(rng):
    S, Y, M = spectrum_data(rng)
    selection = AdaptiveRank(quantile=0.99).select(M, scores=S, Y=Y, X=S, rng=rng)
    assert (selection.rank, selection.method) == (2, "permutation")
    assert selection.null.shape == (200, 10)
    np.testing.assert_allclose(
        selection.thresholds, np.quantile(selection.null, 0.99, axis=0), rtol=1e-12
    )
    assert not selection.tails.heavy


def test_permutation_test_has_its_size(rng):
    first = []
    for _ in range(200):
        S, Y = rng.standard_normal((60, 5)), rng.standard_normal((60, 4))
        selection = AdaptiveRank(n_permutations=99).select(
            cross_moment(S, Y), scores=S, Y=Y, X=S, rng=rng
        )
        first.append(selection.singular_values[0] > selection.thresholds[0])
    assert np.mean(first) == pytest.approx(0.10, abs=4 * np.sqrt(0.09 / 200))


def test_energy_branch_under_heavy_tails(rng):
    S, Y, M = spectrum_data(rng, noise=0.1)
    X = np.exp(1.5 * S)
    selection = AdaptiveRank().select(M, scores=S, Y=Y, X=X, rng=rng)
    assert (selection.rank, selection.method) == (2, "energy")
    assert selection.tails.heavy
    assert selection.energy[1] >= 0.95 > selection.energy[0]


def test_at_least_one_direction_and_at_most_max_rank(rng):
    S, Y = rng.standard_normal((50, 4)), np.zeros((50, 3))
    selection = AdaptiveRank().select(cross_moment(S, Y), scores=S, Y=Y, X=S, rng=rng)
    assert selection.rank == 1
    S, Y, M = spectrum_data(rng)
    assert AdaptiveRank(1).select(M, scores=S, Y=Y, X=S, rng=rng).rank == 1
    forced = AdaptiveRank(branch="energy").select(M, scores=S, Y=Y, X=S, rng=rng)
    assert forced.method == "energy"
    rule = AdaptiveRank(skewness=np.inf, kurtosis=np.inf)  # limits that nothing exceeds
    assert rule.select(M, scores=S, Y=Y, X=np.exp(3 * S), rng=rng).method == "permutation"


def test_rules_at_their_edges():
    M = np.diag([3.0, 2.0, 1.0])
    assert [HardThreshold(t).select(M).rank for t in (0.5, 1.0, 2.5, 9.0)] == [3, 2, 1, 0]
    assert energy_rank(np.array([1.0, 1.0]), 0.5) == 1
    assert energy_rank(np.array([1.0, 1.0]), 1.0) == 2
    assert energy_rank(np.zeros(3), 0.95) == 1
    assert sequential_rank(np.array([0.1, 5.0]), np.array([1.0, 1.0])) == 1
    assert sequential_rank(np.array([2.0, 5.0]), np.array([1.0, 1.0])) == 2
    assert sequential_rank(np.array([2.0, 1.0]), np.array([1.0, 1.0])) == 1  # strictly above


@pytest.mark.parametrize("unit", [1e-300, 1e300])
def test_energy_ignores_the_unit_of_the_values(unit):
    values = np.array([4.0, 2.0, 1.0, 0.0])
    # Squares of powers of two are exact; only the unit itself is rounded.
    np.testing.assert_allclose(
        cumulative_energy(unit * values), [16 / 21, 20 / 21, 1, 1], rtol=1e-15
    )
    assert [energy_rank(unit * values, share) for share in (0.7, 0.9, 0.99)] == [1, 2, 3]


def test_tail_check_ignores_units_and_constant_columns(rng):
    z = rng.standard_normal((300, 4))
    a, b = tail_check(z), tail_check(np.column_stack([5 * z - 7, np.ones(300)]))
    assert (a.skewness, a.kurtosis) == pytest.approx((b.skewness, b.kurtosis))
    assert tail_check(np.c_[z, rng.standard_t(2, 300)]).heavy
    assert not tail_check(np.ones((10, 2))).heavy


def ratios(X):
    """Return skewness and kurtosis in units of their limits; the verdict is that one exceeds 1."""
    found = tail_check(X)
    pair = (found.skewness / SKEWNESS_LIMIT, found.kurtosis / KURTOSIS_LIMIT)
    assert found.heavy == (max(pair) > 1)
    return pair


@pytest.mark.parametrize("n", [50, 100, 300, 500, 3500, 10_000])  # rows of the paper's designs
@pytest.mark.parametrize("law", ["isotropic", "ar1", "lognormal", "exp_ar1"])
def test_limits_are_far_from_the_papers_laws(law, n):
    seeds = range(BASE_SEED, BASE_SEED + (5 if n <= 500 else 2))
    draws = (LAWS[law].draw(n, 100, stream(s, law, "covariates", "labeled")) for s in seeds)
    found = np.array([ratios(X) for X in draws])
    if LAWS[law].log_scale is None:
        # In 10,000 samples of n = 50, the worst size, the largest ratios were 0.80 and 0.94.
        assert found.max() < 0.75
    else:
        assert found.min() > 2


def test_labeled_cells_of_table_3_are_heavy_in_the_selected_genes():
    """The switch sees the 100 selected genes of the labeled cells, at every size of Table 3."""
    if not (DATA / "m1_patchseq").exists():
        pytest.skip(f"no {DATA}/m1_patchseq: set STEINSDR_DATA to the folder that holds it")
    data = load_patchseq(DATA / "m1_patchseq")
    stored = pd.read_csv(ROOT / "book" / "results" / "patchseq_genes.csv")
    genes = tuple(stored["gene"][stored["selected"]])
    for ratio, gamma in product((0.6, 0.8), (0.1, 0.3, 0.5)):
        split = table3_split(0, ratio, gamma, data=data, genes=genes)
        found = tail_check(split.X_labeled)
        assert found.skewness > 1.1 * SKEWNESS_LIMIT, (ratio, gamma, found)


# SequentialRank: level, power, what it returns.

SETS = 200


def even(X, noise):
    return X[:, :1] ** 2 + 0.3 * noise


NULLS = {
    "independent": lambda X, noise: noise,
    "unequal noise": lambda X, noise: noise * (0.3 + X[:, :1] ** 2),
    "even link": even,
}


@pytest.mark.parametrize("null", NULLS)
def test_level(null):
    """M = 0 in all three; permutations take dependence for a direction in two of them."""
    found, permuted = 0, 0
    for seed in range(SETS):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((100, 8))  # its own score
        Y = NULLS[null](X, rng.standard_normal((100, 2)))
        M = X.T @ (Y - Y.mean(axis=0)) / 100
        rule = SequentialRank(n_flips=99)
        found += rule.select(M, scores=X, Y=Y, X=X, rng=rng).rank > 0
        draws = permutation_null(X, Y - Y.mean(axis=0), k=1, m=99, rng=rng)
        permuted += np.mean(draws >= np.linalg.norm(M, ord=2)) < 0.05
    assert found <= stats.binom.ppf(0.9999, SETS, 0.05)
    if null == "independent":
        assert found >= stats.binom.ppf(0.0001, SETS, 0.05)
    else:
        assert permuted > stats.binom.ppf(0.9999, SETS, 0.05), "a design that tells them apart"


@pytest.mark.parametrize("law", ["isotropic", "ar1", "lognormal", "exp_ar1"])
def test_finds_the_rank_of_the_papers_designs(law):
    errors = []
    for seed in range(4):
        data = simulate(law, 300, p=20, seed=seed)
        sdr = SteinSDR(random_state=0, augment=None, weights=None, scale="auto")
        errors.append(abs(sdr.fit(data.X, data.Y).n_components_ - 3))
    assert np.sum(errors) <= 2


def test_a_direction_is_a_step_with_a_p_value(rng):
    X = rng.standard_normal((200, 5))
    Y = np.column_stack([X[:, 0], X[:, 1], rng.standard_normal(200)])
    Y += 0.5 * rng.standard_normal((200, 3))
    chosen = SequentialRank().select(X.T @ Y / 200, scores=X, Y=Y, X=X, rng=rng)
    assert (chosen.rank, chosen.method) == (2, "sequential")
    assert chosen.p_values.shape == chosen.singular_values.shape == chosen.thresholds.shape == (3,)
    assert np.all(chosen.p_values[:2] == 1 / 200), "the smallest that 199 flips can give"
    assert chosen.p_values[2] > 0.05
    fewer = SequentialRank(max_rank=1).select(X.T @ Y / 200, scores=X, Y=Y, X=X, rng=rng)
    assert (fewer.rank, len(fewer.p_values)) == (1, 1)
