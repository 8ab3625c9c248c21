r"""Fully connected ReLU networks, several of one shape at once, trained with Adam on squared error.

The MLP baseline is one such network, the evaluation of reductions trains many small ones whose cost
is the bookkeeping of each step: side by side they share it. Gradients are written out, as in the
score network (a test compares them with autograd).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

_relu_backward = torch.ops.aten.threshold_backward


class ReluNetworks:
    """B networks with equal hidden and output layers ``sizes``, and ``n_inputs`` of their own.

    Inputs are padded with zeros to the widest; weights of the padding start at zero and, having no
    gradient, stay there. A network's initial weights depend on the seed and its own widths alone.
    """

    def __init__(
        self, n_inputs: Sequence[int], sizes: Sequence[int], *, seed: int, dtype: torch.dtype
    ) -> None:
        networks = [_initial(width, sizes, max(n_inputs), seed, dtype) for width in n_inputs]
        stacked = [nn.Parameter(torch.stack(parts)) for parts in zip(*networks, strict=True)]
        self.weights, self.biases = stacked[::2], stacked[1::2]
        self.parameters = [*self.weights, *self.biases]
        for parameter in self.parameters:
            parameter.grad = torch.zeros_like(parameter)

    @torch.no_grad()
    def layers(self, x: Tensor) -> list[Tensor]:
        """Return inputs (B, n, p), activations and outputs (B, n, q)."""
        values = [x]
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            values.append(torch.baddbmm(bias, values[-1], weight).relu_())
        values.append(torch.baddbmm(self.biases[-1], values[-1], self.weights[-1]))
        return values

    @torch.no_grad()
    def gradient(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the errors (B,) and set every ``grad`` to the gradient of their sum."""
        *inputs, output = self.layers(x)
        g = output.sub_(y)
        errors = g.square().mean(dim=(1, 2))
        g.mul_(2.0 / y.numel())
        for i in range(len(self.weights) - 1, -1, -1):
            torch.bmm(inputs[i].transpose(1, 2), g, out=self.weights[i].grad)
            torch.sum(g, 1, keepdim=True, out=self.biases[i].grad)
            if i:
                g = _relu_backward(torch.bmm(g, self.weights[i].transpose(1, 2)), inputs[i], 0)
        return errors

    @torch.no_grad()
    def clip(self, max_norm: float) -> None:
        """Scale each network's gradient to norm at most ``max_norm``, as ``clip_grad_norm_``."""
        gradients = [p.grad for p in self.parameters if p.grad is not None]
        norms = torch.stack([g.square().sum(dim=(1, 2)) for g in gradients]).sum(0).sqrt_()
        factor = (max_norm / (norms + 1e-6)).clamp_(max=1.0)[:, None, None]
        for g in gradients:
            g.mul_(factor)


def _initial(
    width: int, sizes: Sequence[int], padded: int, seed: int, dtype: torch.dtype
) -> list[Tensor]:
    """Draw weights (in, out) and biases (1, out) in turn, as ``nn.Linear`` does: ±1/sqrt(in)."""
    generator = torch.Generator().manual_seed(seed)
    drawn: list[Tensor] = []
    for inputs, outputs in zip([width, *sizes[:-1]], sizes, strict=True):
        bound = inputs**-0.5
        for shape in ((inputs, outputs), (1, outputs)):
            values = torch.empty(shape, dtype=dtype)
            drawn.append(values.uniform_(-bound, bound, generator=generator))
    drawn[0] = nn.functional.pad(drawn[0], (0, 0, 0, padded - width))
    return drawn


def train(
    networks: ReluNetworks,
    x: Tensor,
    y: Tensor,
    *,
    epochs: int,
    batch_size: int,
    learning_rate: float,
    seed: int,
    max_norm: float | None = None,
) -> Iterator[NDArray]:
    """Train on inputs (B, n, p) and common targets (n, q); yield the errors (B,) of each epoch.

    All networks see the same batches. A loss that is not finite is a FloatingPointError.
    """
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(networks.parameters, lr=learning_rate, fused=True)
    n = len(y)
    for epoch in range(epochs):
        order = torch.randperm(n, generator=generator)
        batches = zip(x[:, order].split(batch_size, 1), y[order].split(batch_size), strict=True)
        total = torch.zeros(len(x), dtype=x.dtype)
        for inputs, targets in batches:
            total += networks.gradient(inputs, targets) * len(targets)
            if max_norm is not None:
                networks.clip(max_norm)
            optimizer.step()
        losses = total.numpy() / n
        if not np.isfinite(losses).all():
            raise FloatingPointError(
                f"the loss is not finite after epoch {epoch + 1}; lower learning_rate, or "
                "standardize the responses."
            )
        yield losses
