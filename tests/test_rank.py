"""Algorithms 1 and 2: their branches, their null, their invariances."""

from __future__ import annotations

import numpy as np
import pytest

from steinsdr.moments import cross_moment
from steinsdr.rank import (
    AdaptiveRank,
    HardThreshold,
    cumulative_energy,
    energy_rank,
    permutation_null,
    sequential_rank,
    tail_check,
)


def spectrum_data(rng, n=400, p=8, q=6, r=2, noise=1.0):
    S = rng.standard_normal((n, p))
    Y = S[:, :r] @ np.diag(np.arange(r, 0, -1.0)) @ np.eye(r, q) + noise * rng.standard_normal(
        (n, q)
    )
    return S, Y, cross_moment(S, Y)


def test_null_equals_a_loop_of_svds(rng):
    S, Y, _ = spectrum_data(rng, n=50)
    null = permutation_null(S, Y, k=4, m=7, rng=np.random.default_rng(1))
    again = np.random.default_rng(1)
    orders = [again.permutation(50) for _ in range(7)]
    expected = [np.linalg.svd(S.T @ Y[order] / 50, compute_uv=False)[:4] for order in orders]
    np.testing.assert_allclose(null, expected, rtol=1e-8)


def test_null_is_the_same_in_chunks(rng, monkeypatch):
    S, Y, _ = spectrum_data(rng, n=30)
    whole = permutation_null(S, Y, k=3, m=10, rng=np.random.default_rng(1))
    monkeypatch.setattr("steinsdr.rank._CHUNK", 30 * 6 * 3)
    chunked = permutation_null(S, Y, k=3, m=10, rng=np.random.default_rng(1))
    np.testing.assert_allclose(chunked, whole, rtol=1e-10)


@pytest.mark.parametrize(("p", "q"), [(3, 9), (9, 3)])
def test_null_pads_beyond_the_smaller_side(rng, p, q):
    S, Y = rng.standard_normal((40, p)), rng.standard_normal((40, q))
    null = permutation_null(S, Y, k=5, m=4, rng=rng)
    assert (null[:, :3] > 0).all()
    assert (null[:, 3:] == 0).all()


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


def test_branch_can_be_forced(rng):
    S, Y, M = spectrum_data(rng)
    selection = AdaptiveRank(branch="energy").select(M, scores=S, Y=Y, X=S, rng=rng)
    assert selection.method == "energy"


def test_at_least_one_direction_and_at_most_max_rank(rng):
    S, Y = rng.standard_normal((50, 4)), np.zeros((50, 3))
    selection = AdaptiveRank().select(cross_moment(S, Y), scores=S, Y=Y, X=S, rng=rng)
    assert selection.rank == 1
    S, Y, M = spectrum_data(rng)
    assert AdaptiveRank(1).select(M, scores=S, Y=Y, X=S, rng=rng).rank == 1


def test_hard_threshold_counts():
    M = np.diag([3.0, 2.0, 1.0])
    assert [HardThreshold(t).select(M).rank for t in (0.5, 1.0, 2.5, 9.0)] == [3, 2, 1, 0]


def test_energy_and_sequential_rules_at_their_edges():
    assert energy_rank(np.array([1.0, 1.0]), 0.5) == 1
    assert energy_rank(np.array([1.0, 1.0]), 1.0) == 2
    assert energy_rank(np.zeros(3), 0.95) == 1
    assert sequential_rank(np.array([0.1, 5.0]), np.array([1.0, 1.0])) == 1
    assert sequential_rank(np.array([2.0, 5.0]), np.array([1.0, 1.0])) == 2
    assert sequential_rank(np.array([1.0]), np.array([1.0])) == 1  # strictly above


@pytest.mark.parametrize("unit", [1e-170, 1e-300, 1e160, 1e300])
def test_energy_ignores_the_unit_of_the_values(unit):
    values = np.array([4.0, 2.0, 1.0, 0.0])
    # Squares of powers of two are exact; only the unit itself is rounded.
    np.testing.assert_allclose(
        cumulative_energy(unit * values), [16 / 21, 20 / 21, 1, 1], rtol=1e-15
    )
    assert [energy_rank(unit * values, share) for share in (0.7, 0.9, 0.99)] == [1, 2, 3]


@pytest.mark.parametrize("rows", [29, 31])
def test_null_asks_for_as_many_responses_as_scores(rng, rows):
    S, Y = rng.standard_normal((30, 3)), rng.standard_normal((rows, 2))
    with pytest.raises(ValueError, match=rf"scores has 30 row\(s\) but Y has {rows}; they must"):
        permutation_null(S, Y, k=2, m=3, rng=rng)


def test_an_infinite_limit_is_never_exceeded(rng):
    S, Y, M = spectrum_data(rng, n=60)
    rule = AdaptiveRank(skewness=np.inf, kurtosis=np.inf)
    assert rule.select(M, scores=S, Y=Y, X=np.exp(3 * S), rng=rng).method == "permutation"


def test_tail_check_ignores_scale_and_shift(rng):
    z = rng.standard_normal((300, 4))
    a, b = tail_check(z), tail_check(5 * z - 7)
    assert a.skewness == pytest.approx(b.skewness)
    assert a.kurtosis == pytest.approx(b.kurtosis)
    assert tail_check(np.c_[z, rng.standard_t(2, 300)]).heavy


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (AdaptiveRank(0), "max_rank must be an integer"),
        (AdaptiveRank(energy=0), r"energy must be in \(0, 1\]"),
        (AdaptiveRank(quantile=1.5), r"quantile must be in \(0, 1\]"),
        (AdaptiveRank(quantile="high"), r"quantile must be in \(0, 1\]; got 'high'"),
        (AdaptiveRank(energy=None), r"energy must be in \(0, 1\]; got None"),
        (AdaptiveRank(energy=np.nan), r"energy must be in \(0, 1\]; got nan"),
        (AdaptiveRank(skewness=np.nan), "skewness must be a number; got nan"),
        (AdaptiveRank(skewness=None), "skewness must be a number; got None"),
        (AdaptiveRank(kurtosis="10"), "kurtosis must be a number; got '10'"),
        (AdaptiveRank(n_permutations=0), "n_permutations must be an integer"),
        (AdaptiveRank(branch="both"), "branch must be"),
        (HardThreshold(-1), "tau must be a positive"),
    ],
)
def test_bad_parameters_are_named(rng, rule, message):
    S, Y, M = spectrum_data(rng, n=30)
    with pytest.raises(ValueError, match=message):
        rule.select(M, scores=S, Y=Y, X=S, rng=rng)
