"""Subspace and rank: Corollary 1, Theorem 3, the rank rules and the printed settings."""

import numpy as np
import pytest

from steinsdr.paper.theory import theorem3
from steinsdr.paper.theory.printed_settings import compare_settings
from steinsdr.scores import TikhonovScore


def test_no_matrix_of_rank_one_needs_a_constant_above_two(rng):
    M = np.zeros((3, 4))
    M[0, 0] = 1.0
    middle = np.eye(3, 4) * [0.5, 0.5, 0.0, 0.0]  # where the two directions trade places
    near = [middle + 0.02 * rng.standard_normal((3, 4)) for _ in range(500)]
    far = list(rng.standard_normal((500, 3, 4)))
    ratios = [theorem3._ratio(M, M_hat, 1)[2] for M_hat in near + far]
    assert 1.9 < max(ratios) < theorem3.worst_ratio()


def test_directions_that_trade_places_are_the_worst_case(rng):
    frame = theorem3.corollary_ratios(8, 6, 2, theorem3.RELATIVE_ERRORS, 5, rng)
    largest = frame.groupby("kind").constant.max()
    assert largest["aligned"] == pytest.approx(2, abs=1e-3)
    assert largest.drop("aligned").max() < 1.5
    worst = frame[(frame.kind == "aligned") & np.isclose(frame.constant, largest["aligned"])]
    assert set(worst["size"]) == {0.7072}


def test_rank_is_found_wherever_the_proof_says_so():
    frame = theorem3.rank_recovery([3000], [0.5], n_reps=4)
    assert frame.sufficient.any()
    assert frame[frame.sufficient].correct.all()


def test_estimated_scores_find_rank_and_directions():
    score = TikhonovScore(1e-3, tol=1e-3)
    sup, split = (
        theorem3.rank_recovery([100, 600], [0.5], n_unlabeled=others, n_reps=3, score=score)
        for others in (0, 600)
    )
    for frame in (sup, split):
        assert frame[frame.n == 600].correct.all()
        means = frame.groupby("n").distance.mean()
        assert means[600] < 0.6 * means[100]
    assert sup.distance.mean() < split.distance.mean()


def test_level_of_the_permutation_test_is_that_of_exchangeable_values(rng):
    for m, quantile in ((60, 0.9), (200, 0.9), (19, 0.95)):
        low, high = theorem3.permutation_level(m, quantile)
        assert 0 <= low <= high <= 1
        assert max(abs(low - (1 - quantile)), abs(high - (1 - quantile))) <= 1 / (m + 1)
    values = rng.standard_normal((20_000, 61))
    level = (values[:, 0] > np.quantile(values[:, 1:], 0.9, axis=1)).mean()
    low, high = theorem3.permutation_level(60)
    assert low - 0.008 < level < high + 0.008  # four standard errors


def test_first_threshold_keeps_fewer_on_the_same_data():
    frame = theorem3.rank_frequencies([0.0, 0.5], n=150, n_permutations=40, n_reps=15)
    assert (frame.over_first <= frame.over).all()
    assert (frame.under_first >= frame.under).all()
    assert frame[frame.signal == 0.5].over.mean() > 0.4
    assert not frame[frame.signal == 0].under.any()


def test_energy_rule_depends_on_the_largest_candidate():
    energy = np.cumsum(np.square(theorem3.SPECTRUM))
    ranks = theorem3.energy_ranks([3, 5, 10])
    by_hand = [int(np.argmax(energy[:k] >= 0.95 * energy[k - 1])) + 1 for k in ranks.index]
    assert ranks.tolist() == by_hand


def test_printed_settings_are_told_from_others(monkeypatch):
    defaults = (1.0, *TikhonovScore.__init__.__defaults__[1:])
    monkeypatch.setattr(TikhonovScore.__init__, "__defaults__", defaults)
    (row,) = compare_settings().query("not same").itertuples(index=False)
    assert tuple(row) == ("tab:numethod", "TikhonovScore", "lam", 1e-4, 1.0, False)
