"""MLPDirections, Algorithm 4, the networks behind them against torch's own, and predictions."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import ROOT
from numpy.testing import assert_allclose, assert_array_equal
from torch import nn

from steinsdr.baselines import DominanceRank, MLPDirections
from steinsdr.baselines._networks import ReluNetworks, train
from steinsdr.paper.network import errors_by_epoch, predict_at_best_epoch
from steinsdr.subspace import procrustes_distance

SMALL = {"hidden": (16, 8), "epochs": 5, "random_state": 0}


def data(n=80, p=5, q=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * np.arange(1, p + 1)
    return X, np.tanh(X[:, :q]) + 0.1 * rng.standard_normal((n, q))


# The directions


def test_finds_a_strong_direction():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 8))
    b = np.linalg.qr(rng.standard_normal((8, 1)))[0]
    y = np.sin(2 * X @ b) + 0.1 * rng.standard_normal((1000, 1))
    fit = MLPDirections(1, epochs=60, random_state=0).fit(X, y)
    assert procrustes_distance(fit.components_.T, b) < 0.4  # a random direction: 1.2
    assert fit.loss_curve_[-1] < 0.1 < fit.loss_curve_[0]


def test_components_are_right_singular_vectors_of_the_rescaled_weights():
    X, Y = data()
    raw = MLPDirections(2, **SMALL).fit(X, Y)
    standardized = MLPDirections(2, scale="standardized", **SMALL).fit(X, Y)
    assert_allclose(raw.weights_ * X.std(axis=0), standardized.weights_, rtol=1e-12)
    for fit in (raw, standardized):
        gram = fit.weights_.T @ fit.weights_
        assert fit.weights_.shape == (16, 5)
        assert_allclose(
            fit.components_ @ gram, fit.singular_values_[:2, None] ** 2 * fit.components_, atol=1e-9
        )
        assert_allclose(fit.components_ @ fit.components_.T, np.eye(2), atol=1e-12)


def test_units_of_x_only_rescale_the_weights_and_those_of_y_can_be_forgotten():
    X, Y = data()
    units = np.array([1e3, 1.0, 1e-4, 7.0, 0.5])
    plain, scaled = MLPDirections(2, **SMALL).fit(X, Y), MLPDirections(2, **SMALL).fit(X * units, Y)
    # Training is in single precision.
    assert_allclose(scaled.weights_ * units, plain.weights_, rtol=1e-3, atol=1e-5)
    fits = [
        MLPDirections(2, standardize_responses=flag, **SMALL).fit(X, values).weights_
        for flag in (True, False)
        for values in (Y, 50 * Y + 3)
    ]
    assert_allclose(fits[1], fits[0], rtol=1e-3, atol=1e-5)
    assert not np.allclose(fits[3], fits[2], rtol=1e-1)


def test_read_only_responses_are_no_cause_for_a_warning():
    X, Y = data()
    Y.setflags(write=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MLPDirections(1, epochs=1).fit(X, Y)


def test_another_seed_gives_other_weights():
    X, Y = data()
    one, two = (MLPDirections(2, **SMALL | {"random_state": seed}).fit(X, Y) for seed in (0, 1))
    assert not np.allclose(one.weights_, two.weights_)


# Algorithm 4

LIGHT = np.random.default_rng(0).standard_normal((300, 4))
HEAVY = np.exp(2 * LIGHT)


@pytest.mark.parametrize(
    ("values", "X", "rank", "method"),
    [
        ([10, 1, 1, 1], LIGHT, 1, "dominance"),  # 100/103 > 0.85
        ([3, 2, 1, 1], LIGHT, 3, "energy"),  # 9/15, 13/15, 14/15
        ([4, 1, 1, 1], LIGHT, 3, "energy"),  # 16/19 = 0.84 is no dominance; 17/19 = 0.89
        ([4, 1, 1, 1], HEAVY, 4, "energy"),  # no dominance rule, and 18/19 = 0.947 < 0.95
        ([10, 1, 1, 1], HEAVY, 1, "energy"),  # 100/103 >= 0.95
        ([0, 0, 0, 0], LIGHT, 1, "dominance"),
        ([0, 0, 0, 0], HEAVY, 1, "energy"),
    ],
)
def test_every_branch(values, X, rank, method):
    selection = DominanceRank().select(np.diag(values).astype(float), X=X)
    assert (selection.rank, selection.method) == (rank, method)
    assert selection.tails.heavy == (X is HEAVY)


def test_energy_is_that_of_the_leading_values(rng):
    weights = np.diag([3.0, 2.0, 1.0, 1.0])
    # Of the first two alone, 9/13 and 13/13.
    assert DominanceRank(2).select(weights, X=LIGHT).rank == 2
    assert DominanceRank(1).select(weights, X=LIGHT).rank == 1
    assert DominanceRank(branch="heavy").select(weights, X=LIGHT).rank == 4
    # The light rule cannot return ten of ten.
    weights = np.diag(1 + 1e-3 * rng.random(12))
    assert DominanceRank().select(weights, X=LIGHT).rank == 9
    assert DominanceRank(energy_light=0.95).select(weights, X=LIGHT).rank == 10


def test_recorded_calibration_supports_the_readings():
    table = pd.read_csv(ROOT / "book" / "results" / "calibration_mlp.csv")
    worst = table.groupby(["table", "reading"])["z"].agg(lambda z: z.abs().max())
    assert worst[1, "standardized X, raw Y"] < 3.5
    assert worst[1, "raw X, raw Y"] > 5
    assert worst[2, "standardized X, raw Y, share 0.95"] < 3.5
    assert (worst[1].filter(like="standardized Y") > 3.5).all()
    light = table.query("table == 2 and law in ('isotropic', 'ar1')")
    nine = light[light["reading"].str.endswith("share 0.90")]
    assert (nine["mean"] == nine["paper_mean"] - 1).all()


# The networks

SETTINGS = {"epochs": 4, "batch_size": 16, "learning_rate": 1e-2, "seed": 5}


def tensors(*shapes, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]


def as_modules(networks, b, width):
    """Network b as torch.nn modules with the same weights, padding left out."""
    layers = []
    for W, bias in zip(networks.weights, networks.biases, strict=True):
        weight = W.detach()[b].T[:, : width if not layers else None]
        layer = nn.Linear(weight.shape[1], weight.shape[0], dtype=torch.float64)
        layer.weight.data, layer.bias.data = weight.clone(), bias.detach()[b, 0].clone()
        layers += [layer, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def reference(module, x, y, max_norm, *, epochs, batch_size, learning_rate, seed):
    """Train the usual way; return the mean loss of each epoch."""
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(module.parameters(), lr=learning_rate)
    losses = []
    for _ in range(epochs):
        total = 0.0
        for batch in torch.randperm(len(y), generator=generator).split(batch_size):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(module(x[batch]), y[batch])
            loss.backward()
            if max_norm is not None:
                nn.utils.clip_grad_norm_(module.parameters(), max_norm)
            optimizer.step()
            total += loss.item() * len(batch)
        losses.append(total / len(y))
    return losses


@pytest.mark.parametrize("sizes", [[7, 3], [9, 5, 3]])
@pytest.mark.parametrize("max_norm", [None, 0.1])
def test_training_is_torch_s_own(sizes, max_norm):
    x, y = tensors((2, 37, 4), (37, 3))
    x[1, :, 2:] = 0.0  # the second network has two inputs
    networks = ReluNetworks([4, 2], sizes, seed=1, dtype=torch.float64)
    modules = [as_modules(networks, 0, 4), as_modules(networks, 1, 2)]
    losses = np.array(list(train(networks, x, y, max_norm=max_norm, **SETTINGS)))
    for b, (module, width) in enumerate(zip(modules, (4, 2), strict=True)):
        inputs = x[b, :, :width]
        assert_allclose(losses[:, b], reference(module, inputs, y, max_norm, **SETTINGS), rtol=1e-9)
        outputs = module(inputs).detach()
        assert_allclose(networks.layers(x)[-1][b], outputs, rtol=1e-9, atol=1e-12)
    assert (networks.weights[0][1, 2:] == 0).all()


def test_initial_weights_are_those_of_nn_linear_in_law():
    networks = ReluNetworks([50], [400, 300], seed=0, dtype=torch.float64)
    for W, inputs in zip(networks.weights, (50, 400), strict=True):
        bound = inputs**-0.5
        assert W.abs().max() <= bound
        assert_allclose(W.detach().std(), bound / np.sqrt(3), rtol=0.02)  # of >= 20,000 draws


def test_divergence_is_an_error():
    x, y = tensors((1, 10, 2), (10, 1))
    networks = ReluNetworks([2], [4, 1], seed=0, dtype=torch.float64)
    with pytest.raises(FloatingPointError, match="the loss is not finite after epoch"):
        list(train(networks, x, y, epochs=5, batch_size=5, learning_rate=1e200, seed=0))


# The predicting networks: what training may depend on, and what the stopped predictions are.

QUICK = {"epochs": 25, "seed": 0}


def halves(n=90, m=40, r=3, seed=0):
    rng = np.random.default_rng(seed)
    T = rng.standard_normal((n + m, r))
    Y = np.column_stack([np.sin(T[:, 0]), T[:, 1] ** 2 - 1]) + 0.2 * rng.standard_normal((n + m, 2))
    return T[:n], Y[:n], T[n:], Y[n:]


def curve(T, Y, T_test, Y_test, **settings):
    """Return the test errors (epochs,) of one network."""
    return errors_by_epoch([T], Y, [([T_test], Y_test)], **QUICK | settings)[0][:, 0]


def test_a_good_reduction_has_a_small_error():
    T, Y, T_test, Y_test = halves(n=400, m=200)
    rng = np.random.default_rng(1)
    noise, noise_test = rng.standard_normal((400, 3)), rng.standard_normal((200, 3))
    (errors,) = errors_by_epoch([T, noise], Y, [([T_test, noise_test], Y_test)], seed=0)
    good, useless = errors[-1]
    # The noise has variance 0.04; without predictors the error is the variance of Y.
    assert good < 0.25 < 0.8 * Y_test.var() < useless


def test_side_by_side_is_one_at_a_time_in_any_units():
    T, Y, T_test, Y_test = halves()
    columns = [[0], [0, 1, 2], [2, 1]]
    sets = [([T_test[:, c] for c in columns], Y_test)]
    (together,) = errors_by_epoch([T[:, c] for c in columns], Y, sets, **QUICK)
    units = np.array([1e-3, 50.0, 7.0])
    T, T_test = T * units - 4, T_test * units - 4
    for c, found in zip(columns, together.T, strict=True):
        assert_allclose(found, curve(T[:, c], Y, T_test[:, c], Y_test), rtol=1e-8)


def test_clipping_matters_where_gradients_are_large():
    T, Y, T_test, Y_test = halves()
    clipped, free = (curve(T, 30 * Y, T_test, Y_test, max_norm=bound) for bound in (1.0, 1e9))
    assert not np.allclose(clipped, free, rtol=1e-3)


def test_seed_decides_and_nothing_outside_is_touched():
    torch.manual_seed(7)
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    first, again, other = (curve(*halves(), epochs=3, seed=seed) for seed in (1, 1, 2))
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
    T, Y, T_test, Y_test = halves()
    T[:, 0] = 0.1
    for rows in (4, 90):
        assert np.isfinite(curve(T[:rows], Y[:rows], T_test, Y_test)).all()


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
    T, Y, V, W = change(*halves())
    with pytest.raises(ValueError, match=message):
        errors_by_epoch(T, Y, [(V, W)], **QUICK | settings)
