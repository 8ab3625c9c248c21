"""Subspace and rank: Corollary 1, Theorem 3, the rank rules and the printed settings."""

import numpy as np
import pytest

from steinsdr.paper.theory import theorem3
from steinsdr.paper.theory.theorem3 import PRINTED
from steinsdr.rank import RankSelection
from steinsdr.scores import TikhonovScore

# Corollary 1, Theorem 3, Algorithm 2


def test_corollary_and_its_worst_case(rng):
    frame = theorem3.corollary_ratios(8, 6, 2, [0.1, 1.0], 5, rng)
    assert (frame.distance <= frame.bound).all()
    fading = theorem3.vanishing_signal([1.0, 0.01], n_reps=3, rng=rng)
    needed = fading.groupby("shrinkage").c0.mean()
    assert needed[0.01] > 10 * needed[1.0]


def test_no_matrix_of_rank_one_needs_a_constant_above_two(rng):
    worst = theorem3.worst_ratio()
    assert np.isclose(worst, 2)
    assert np.isclose(theorem3.worst_ratio(rank_one=True), np.sqrt(2))
    M = np.zeros((3, 4))
    M[0, 0] = 1.0
    middle = np.eye(3, 4) * [0.5, 0.5, 0.0, 0.0]  # where the two directions trade places
    near = [middle + 0.02 * rng.standard_normal((3, 4)) for _ in range(500)]
    far = list(rng.standard_normal((500, 3, 4)))
    ratios = [theorem3._ratio(M, M_hat, 1)[2] for M_hat in near + far]
    assert 1.9 < max(ratios) < worst


def test_directions_that_trade_places_are_the_worst_case(rng):
    assert theorem3.SIZES[3] > np.sqrt(0.5)
    frame = theorem3.corollary_ratios(8, 6, 2, theorem3.SIZES, 5, rng)
    largest = frame.groupby("kind").constant.max()
    assert largest["aligned"] == pytest.approx(2, abs=1e-3)
    assert largest.drop("aligned").max() < 1.5
    at = frame[(frame.kind == "aligned") & np.isclose(frame.constant, largest["aligned"])]
    assert set(at["size"]) == {theorem3.SIZES[3]}


def test_rank_and_distance_with_an_estimated_score():
    score = TikhonovScore(1e-3, tol=1e-3)
    settings = {"n_reps": 3, "score": score}
    sup = theorem3.rank_recovery([100, 600], [0.5], **settings)
    split = theorem3.rank_recovery([100, 600], [0.5], n_unlabeled=600, **settings)
    for frame in (sup, split):
        assert frame[frame.n == 600].correct.all()
        assert (frame.constant < theorem3.CONSTANT).all()
        means = frame.groupby("n").distance.mean()
        assert means[600] < 0.6 * means[100]
    assert sup.distance.mean() < split.distance.mean()
    truth = theorem3.rank_recovery([100], [0.5], n_reps=2)
    assert np.allclose(truth.distance, theorem3.design_ratios([100], n_reps=2).distance, rtol=1e-12)


def test_rank_is_found_wherever_the_proof_says_so():
    frame = theorem3.rank_recovery([3000], [0.5], n_reps=4)
    assert frame.sufficient.any()
    assert frame[frame.sufficient].correct.all()


def test_permutation_rule_keeps_too_many_at_medium_signal():
    frame = theorem3.rank_frequencies([0.0, 0.5], n=150, n_permutations=40, n_reps=40)
    over = frame.groupby("signal").over.mean()
    assert over[0.0] < 0.3
    assert over[0.5] > 0.4
    assert frame[frame.signal == 0.5].over_first.mean() < 0.1


def test_level_of_the_permutation_test_is_that_of_exchangeable_values(rng):
    for m, quantile in ((60, 0.9), (200, 0.9), (19, 0.95)):
        low, high = theorem3.permutation_level(m, quantile)
        assert 0 <= low <= high <= 1
        assert max(abs(low - (1 - quantile)), abs(high - (1 - quantile))) <= 1 / (m + 1)
    values = rng.standard_normal((20_000, 61))
    level = (values[:, 0] > np.quantile(values[:, 1:], 0.9, axis=1)).mean()
    low, high = theorem3.permutation_level(60)
    assert low - 0.008 < level < high + 0.008  # four standard errors
    with pytest.raises(ValueError, match="quantile"):
        theorem3.permutation_level(60, 1.0)


def test_first_threshold_keeps_fewer_on_the_same_data():
    settings = {"n": 150, "n_permutations": 40, "n_reps": 15}
    frame = theorem3.rank_frequencies([0.5], **settings)
    strict = theorem3.first_threshold_ranks([0.5], **settings)
    assert (strict.over == frame.over_first).all()
    assert (strict["rank"] <= frame["rank"]).all()
    assert (strict["rank"] < frame["rank"]).any()


def test_first_threshold_counts_and_needs_thresholds():
    values = np.array([3.0, 2.0, 1.0])
    for limit, kept in ((0.5, 3), (1.5, 2), (4.0, 1)):
        limits = np.array([limit, 0.1, 0.1])
        selection = RankSelection(3, "permutation", values, values, limits)
        assert theorem3.first_threshold_rank(selection) == kept
    with pytest.raises(ValueError, match="no thresholds"):
        theorem3.first_threshold_rank(RankSelection(3, "energy", values, values))


def test_energy_rule_depends_on_the_largest_candidate():
    energy = np.cumsum(np.square(theorem3.SPECTRUM))
    ranks = theorem3.energy_ranks([3, 5, 10])
    by_hand = [int(np.argmax(energy[:k] >= 0.95 * energy[k - 1])) + 1 for k in ranks.index]
    assert ranks.tolist() == by_hand
    assert ranks[5] < ranks[10]


def test_algorithm_3_keeps_too_many():
    ranks = theorem3.sir_ranks(n_reps=4)
    assert len(ranks) == 4
    assert ranks.between(4, 6).all()


def test_algorithm_4_never_returns_ten_with_its_share():
    assert theorem3.largest_mlp_rank() == 9
    assert theorem3.largest_mlp_rank(0.95) == 10


def test_printed_settings_are_told_from_others(monkeypatch):
    assert all(theorem3.compare_settings(name).same.all() for name in PRINTED)
    monkeypatch.setitem(PRINTED, "tab:numethod", [(TikhonovScore, {"lam": 1.0})])
    (row,) = theorem3.compare_settings("tab:numethod").itertuples(index=False)
    assert tuple(row) == ("TikhonovScore", "lam", 1.0, 1e-4, False)
    with pytest.raises(ValueError, match="label"):
        theorem3.compare_settings("tab:sim")
