"""The evaluation network: what its three errors are, what they may depend on, bad input."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from steinsdr.paper.network import evaluate_reduction, evaluate_reductions

QUICK = {"epochs": 25, "random_state": 0}


def data(n=90, m=40, r=3, seed=0):
    rng = np.random.default_rng(seed)
    T = rng.standard_normal((n + m, r))
    Y = np.column_stack([np.sin(T[:, 0]), T[:, 1] ** 2 - 1]) + 0.2 * rng.standard_normal((n + m, 2))
    return T[:n], Y[:n], T[n:], Y[n:]


def test_the_three_errors_are_read_off_the_curves():
    # Long and fast enough to overfit, so that the best epochs are not the last.
    result = evaluate_reduction(*data(), epochs=100, learning_rate=0.05, random_state=0)
    best = [curve.argmin() for curve in (result.test_curve, result.validation_curve)]
    assert max(best) < 99
    assert result.stopped_curve.argmin() != best[1]
    assert result.paper == result.test_curve.min()
    assert result.last == result.test_curve[-1]
    assert result.honest == result.stopped_curve[best[1]]
    assert result.paper < result.last
    assert len(result.test_curve) == len(result.validation_curve) == 100


def test_a_good_reduction_has_a_small_error():
    T_fit, Y_fit, T_test, Y_test = data(n=400, m=200)
    rng = np.random.default_rng(1)
    noise_fit, noise_test = rng.standard_normal((400, 3)), rng.standard_normal((200, 3))
    good, useless = evaluate_reductions(
        [T_fit, noise_fit], Y_fit, [T_test, noise_test], Y_test, random_state=0
    )
    for name in ("paper", "honest", "last"):
        # The noise has variance 0.04; without predictors the error is the variance of Y.
        assert getattr(good, name) < 0.25 < 0.8 * Y_test.var() < getattr(useless, name)


def test_side_by_side_is_one_at_a_time():
    T_fit, Y_fit, T_test, Y_test = data()
    columns = [[0], [0, 1, 2], [2, 1]]
    together = evaluate_reductions(
        [T_fit[:, c] for c in columns], Y_fit, [T_test[:, c] for c in columns], Y_test, **QUICK
    )
    for c, result in zip(columns, together, strict=True):
        alone = evaluate_reduction(T_fit[:, c], Y_fit, T_test[:, c], Y_test, **QUICK)
        assert_allclose(result.test_curve, alone.test_curve, rtol=1e-9)
        assert_allclose(result.honest, alone.honest, rtol=1e-9)


def test_the_honest_stop_does_not_see_the_test_set():
    T_fit, Y_fit, T_test, Y_test = data()
    plain = evaluate_reduction(T_fit, Y_fit, T_test, Y_test, **QUICK)
    other = evaluate_reduction(T_fit, Y_fit, T_test[:5] + 1, Y_test[:5] * 100, **QUICK)
    assert_array_equal(other.validation_curve, plain.validation_curve)
    assert other.honest != plain.honest


def test_validation_rows_stop_but_do_not_train():
    T_fit, Y_fit, T_test, Y_test = data()
    stop = np.random.RandomState(0)
    stop.randint(2**31)
    rows = stop.permutation(90)[:18]
    changed = Y_fit.copy()
    changed[rows] += 5.0
    plain, other = (evaluate_reduction(T_fit, Y, T_test, Y_test, **QUICK) for Y in (Y_fit, changed))
    assert_array_equal(other.stopped_curve, plain.stopped_curve)
    assert (other.validation_curve > plain.validation_curve + 10).all()
    assert not np.allclose(other.test_curve, plain.test_curve)


def test_units_of_the_reduction_do_not_matter():
    T_fit, Y_fit, T_test, Y_test = data()
    units = np.array([1e-3, 50.0, 7.0])
    plain = evaluate_reduction(T_fit, Y_fit, T_test, Y_test, **QUICK)
    other = evaluate_reduction(T_fit * units - 4, Y_fit, T_test * units - 4, Y_test, **QUICK)
    assert_allclose(other.test_curve, plain.test_curve, rtol=1e-8)
    assert_allclose(other.stopped_curve, plain.stopped_curve, rtol=1e-8)


def test_clipping_matters_where_gradients_are_large():
    T_fit, Y_fit, T_test, Y_test = data()
    results = [
        evaluate_reduction(T_fit, scale * Y_fit, T_test, Y_test, max_norm=bound, **QUICK).test_curve
        for scale, bound in [(30, 1.0), (30, 1e9), (0.01, 1e3), (0.01, 1e9)]
    ]
    assert not np.allclose(results[0], results[1], rtol=1e-3)
    assert_array_equal(results[2], results[3])


def test_seed_decides_and_nothing_outside_is_touched():
    torch.manual_seed(7)
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    first, again, other = (
        evaluate_reduction(*data(), epochs=3, random_state=seed) for seed in (1, 1, 2)
    )
    assert_array_equal(first.test_curve, again.test_curve)
    assert not np.allclose(first.test_curve, other.test_curve)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads


def test_degenerate_reductions_stay_finite():
    T_fit, Y_fit, T_test, Y_test = data()
    T_fit[:, 0] = 0.1
    for rows in (4, 90):
        result = evaluate_reduction(T_fit[:rows], Y_fit[:rows, 0], T_test, Y_test[:, 0], **QUICK)
        assert np.isfinite([result.paper, result.honest, result.last]).all()
    with pytest.raises(FloatingPointError, match="the loss is not finite"):
        evaluate_reduction(*data(), epochs=5, learning_rate=1e200)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda T, Y, V, W: ([], Y, [], W), r"T_fit holds 0 reduction\(s\) and T_test 0"),
        (lambda T, Y, V, W: ([T, T], Y, [V], W), r"T_fit holds 2 reduction\(s\) and T_test 1"),
        (lambda T, Y, V, W: ([T], Y, [V[:, :2]], W), r"T_test\[0\] has 2 column\(s\); expected 3"),
        (lambda T, Y, V, W: ([T, T[1:]], Y, [V, V], W), r"T_fit holds reductions with \[89, 90\]"),
        (lambda T, Y, V, W: ([T[:3]], Y[:3], [V], W), r"T_fit\[0\] has 3 row\(s\); at least 4"),
        (lambda T, Y, V, W: ([T], Y[1:], [V], W), r"Y_fit has 89 row\(s\) but X has 90"),
        (lambda T, Y, V, W: ([T], Y, [V], W[1:]), r"Y_test has 39 row\(s\)"),
        (lambda T, Y, V, W: ([T], Y, [V], W[:, :1]), r"Y_test has 1 column\(s\); expected 2"),
        (lambda T, Y, V, W: ([T * np.nan], Y, [V], W), r"T_fit\[0\].*contains NaN"),
        (lambda T, Y, V, W: ([T], Y * np.nan, [V], W), "Y_fit.*contains NaN"),
    ],
)
def test_bad_data_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        evaluate_reductions(*change(*data()), **QUICK)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"hidden": 0}, "hidden must be an integer at least 1; got 0"),
        ({"epochs": 0}, "epochs must be an integer at least 1; got 0"),
        ({"batch_size": 0}, "batch_size must be an integer at least 1; got 0"),
        ({"learning_rate": -1}, "learning_rate must be a positive finite number; got -1"),
        ({"max_norm": 0}, "max_norm must be a positive finite number; got 0"),
        ({"validation": 1}, r"validation must be in \(0, 1\); got 1"),
        ({"validation": "half"}, r"validation must be in \(0, 1\); got 'half'"),
        ({"validation": None}, r"validation must be in \(0, 1\); got None"),
    ],
)
def test_bad_settings_are_named(setting, message):
    with pytest.raises(ValueError, match=message):
        evaluate_reduction(*data(), **QUICK | setting)
