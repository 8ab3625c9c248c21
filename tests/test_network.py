"""The predicting networks: what training may depend on, and what the stopped predictions are."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from steinsdr.paper.network import errors_by_epoch, predict_at_best_epoch

QUICK = {"epochs": 25, "seed": 0}


def data(n=90, m=40, r=3, seed=0):
    rng = np.random.default_rng(seed)
    T = rng.standard_normal((n + m, r))
    Y = np.column_stack([np.sin(T[:, 0]), T[:, 1] ** 2 - 1]) + 0.2 * rng.standard_normal((n + m, 2))
    return T[:n], Y[:n], T[n:], Y[n:]


def curve(T, Y, T_test, Y_test, **settings):
    """Return the test errors (epochs,) of one network."""
    return errors_by_epoch([T], Y, [([T_test], Y_test)], **QUICK | settings)[0][:, 0]


def test_a_good_reduction_has_a_small_error():
    T, Y, T_test, Y_test = data(n=400, m=200)
    rng = np.random.default_rng(1)
    noise, noise_test = rng.standard_normal((400, 3)), rng.standard_normal((200, 3))
    (errors,) = errors_by_epoch([T, noise], Y, [([T_test, noise_test], Y_test)], seed=0)
    good, useless = errors[-1]
    # The noise has variance 0.04; without predictors the error is the variance of Y.
    assert good < 0.25 < 0.8 * Y_test.var() < useless


def test_side_by_side_is_one_at_a_time_in_any_units():
    T, Y, T_test, Y_test = data()
    columns = [[0], [0, 1, 2], [2, 1]]
    sets = [([T_test[:, c] for c in columns], Y_test)]
    (together,) = errors_by_epoch([T[:, c] for c in columns], Y, sets, **QUICK)
    units = np.array([1e-3, 50.0, 7.0])
    T, T_test = T * units - 4, T_test * units - 4
    for c, found in zip(columns, together.T, strict=True):
        assert_allclose(found, curve(T[:, c], Y, T_test[:, c], Y_test), rtol=1e-8)


def test_clipping_matters_where_gradients_are_large():
    T, Y, T_test, Y_test = data()
    results = [
        curve(T, scale * Y, T_test, Y_test, max_norm=bound)
        for scale, bound in [(30, 1.0), (30, 1e9), (0.01, 1e3), (0.01, 1e9)]
    ]
    assert not np.allclose(results[0], results[1], rtol=1e-3)
    assert_array_equal(results[2], results[3])


def test_seed_decides_and_nothing_outside_is_touched():
    torch.manual_seed(7)
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    first, again, other = (curve(*data(), epochs=3, seed=seed) for seed in (1, 1, 2))
    assert_array_equal(first, again)
    assert not np.allclose(first, other)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads


def test_predictions_have_the_errors_that_are_watched(rng):
    T = rng.standard_normal((90, 3))
    Y = np.tanh(T[:, :2]) + 0.1 * rng.standard_normal((90, 2))
    parts = [slice(0, 50), slice(50, 70), slice(70, 90)]
    # Steps so large that the errors turn before the last epoch.
    settings = {"epochs": 30, "learning_rate": 0.05, "seed": 3}
    bases = [T, T[:, :1]]
    train, stop, test = (([B[rows] for B in bases], Y[rows]) for rows in parts)
    stop_errors, test_errors = errors_by_epoch(*train, [stop, test], **settings)
    best = stop_errors.argmin(axis=0)
    assert (best < 29).all()
    found = predict_at_best_epoch(*train, *stop, test[0], **settings)
    errors = np.mean((found - test[1]) ** 2, axis=(1, 2))
    assert_allclose(errors, test_errors[best, [0, 1]], rtol=1e-9)


def test_degenerate_reductions_stay_finite():
    T, Y, T_test, Y_test = data()
    T[:, 0] = 0.1
    for rows in (4, 90):
        assert np.isfinite(curve(T[:rows], Y[:rows], T_test, Y_test)).all()
    with pytest.raises(FloatingPointError, match="the loss is not finite"):
        curve(*data(), epochs=5, learning_rate=1e200)


@pytest.mark.parametrize(
    ("change", "settings", "message"),
    [
        (lambda T, Y, V, W: ([], Y, [], W), {}, r"T_train has \[\] rows; expected 90"),
        (lambda T, Y, V, W: ([T, T], Y, [V], W), {}, "T_new holds 1 reductions; expected 2"),
        (lambda T, Y, V, W: ([T], Y, [V[:, :2]], W), {}, r"T_new\[0\] has 2 column\(s\)"),
        (lambda T, Y, V, W: ([T, T[1:]], Y, [V, V], W), {}, r"\[90, 89\] rows; expected 90 each"),
        (lambda T, Y, V, W: ([T], Y, [V], W[1:]), {}, r"Y has shape \(39, 2\); expected \(40, 2\)"),
        (lambda T, Y, V, W: ([T], Y * np.nan, [V], W), {}, "Y_train.*contains NaN"),
        (lambda T, Y, V, W: ([T], Y, [V], W), {"hidden": 0}, "'hidden' parameter"),
    ],
)
def test_bad_input_is_named(change, settings, message):
    T, Y, V, W = change(*data())
    with pytest.raises(ValueError, match=message):
        errors_by_epoch(T, Y, [(V, W)], **QUICK | settings)
