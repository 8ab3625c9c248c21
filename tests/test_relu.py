"""The ReLU networks behind the MLP baseline and the evaluation, against autograd and nn.Linear."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from torch import nn

from steinsdr._relu import ReluNetworks, train

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
        error = nn.functional.mse_loss(module(inputs), y).item()
        assert_allclose(networks.errors(x, y)[b], error, rtol=1e-9)
    assert (networks.weights[0][1, 2:] == 0).all()


def test_clipping_bounds_each_network_s_gradient():
    x, y = tensors((2, 20, 3), (20, 2))
    x[0] *= 100
    networks = ReluNetworks([3, 3], [6, 2], seed=0, dtype=torch.float64)
    networks.gradient(x, y)
    norm = lambda: sum(p.grad.square().sum(dim=(1, 2)) for p in networks.parameters).sqrt()  # noqa: E731
    before = norm()
    bound = float(before[1]) * 2
    networks.clip(bound)
    assert before[0] > bound
    assert_allclose(norm().numpy(), [bound, before[1]], rtol=1e-5)


def test_initial_weights_are_those_of_nn_linear_in_law():
    networks = ReluNetworks([50], [400, 300], seed=0, dtype=torch.float64)
    for W, inputs in zip(networks.weights, (50, 400), strict=True):
        bound = inputs**-0.5
        assert W.abs().max() <= bound
        assert_allclose(W.detach().std(), bound / np.sqrt(3), rtol=0.02)  # of >= 20,000 draws


def test_a_network_does_not_depend_on_its_neighbours():
    x, y = tensors((3, 25, 4), (25, 2))
    x[0, :, 2:] = 0.0
    together = ReluNetworks([2, 4, 4], [6, 2], seed=3, dtype=torch.float64)
    alone = ReluNetworks([2], [6, 2], seed=3, dtype=torch.float64)
    first = np.array(list(train(together, x, y, **SETTINGS)))[:, 0]
    second = np.array(list(train(alone, x[:1, :, :2], y, **SETTINGS)))[:, 0]
    assert_allclose(first, second, rtol=1e-9)


def test_divergence_is_an_error():
    x, y = tensors((1, 10, 2), (10, 1))
    networks = ReluNetworks([2], [4, 1], seed=0, dtype=torch.float64)
    with pytest.raises(FloatingPointError, match="the loss is not finite after epoch"):
        list(train(networks, x, y, epochs=5, batch_size=5, learning_rate=1e200, seed=0))
