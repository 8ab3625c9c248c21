"""SequentialRank: level, power, what it returns, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from steinsdr import SteinSDR
from steinsdr.rank import SequentialRank, permutation_null
from steinsdr.simulation import simulate

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
