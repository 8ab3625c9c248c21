r"""The residual network of the denoising score estimator, and its gradient written out.

The network is the paper's: a linear layer to 256 units with ReLU and LayerNorm, two residual blocks
:math:`h \mapsto \mathrm{ReLU}(h + \mathrm{LN}(W_2\, D(\mathrm{ReLU}(W_1 h))))` with dropout D, and
a linear layer back. ``ScoreNetwork`` defines it; ``DenoisingStep`` computes loss and gradient
without autograd, whose bookkeeping, with per-call dropout sampling, costs as much again as the
matrix products (a test holds the two together).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

_layer_norm = torch.ops.aten.native_layer_norm
_layer_norm_backward = torch.ops.aten.native_layer_norm_backward
_relu_backward = torch.ops.aten.threshold_backward


class ResidualBlock(nn.Module):
    """Linear, ReLU, dropout, linear, LayerNorm, skip connection, ReLU."""

    def __init__(self, hidden: int, dropout: float) -> None:
        super().__init__()
        self.first = nn.Linear(hidden, hidden)
        self.dropout = nn.Dropout(dropout)
        self.second = nn.Linear(hidden, hidden)
        self.norm = nn.LayerNorm(hidden)

    def forward(self, h: Tensor) -> Tensor:
        """Map (n, hidden) to (n, hidden)."""
        inner = self.second(self.dropout(torch.relu(self.first(h))))
        return torch.relu(h + self.norm(inner))


class ScoreNetwork(nn.Module):
    r"""The map :math:`x \mapsto \nabla \log p_\sigma(x)`, (n, p) to (n, p)."""

    def __init__(self, p: int, hidden: int, n_blocks: int, dropout: float) -> None:
        super().__init__()
        self.inlet = nn.Linear(p, hidden)
        self.norm = nn.LayerNorm(hidden)
        self.blocks = nn.ModuleList(ResidualBlock(hidden, dropout) for _ in range(n_blocks))
        self.outlet = nn.Linear(hidden, p)

    def draw_weights(self, generator: torch.Generator) -> None:
        """Draw weights and biases uniformly in ±1/sqrt(in), layer by layer, as ``nn.Linear``."""
        for layer in self.modules():
            if isinstance(layer, nn.LayerNorm):
                layer.reset_parameters()  # ones and zeros
            if isinstance(layer, nn.Linear):
                nn.init.kaiming_uniform_(layer.weight, a=5**0.5, generator=generator)
                bound = layer.in_features**-0.5
                nn.init.uniform_(layer.bias, -bound, bound, generator=generator)

    def forward(self, x: Tensor) -> Tensor:
        """Map (n, p) to (n, p)."""
        h = self.norm(torch.relu(self.inlet(x)))
        for block in self.blocks:
            h = block(h)
        return self.outlet(h)


def dropout_masks(
    n_blocks: int, n: int, hidden: int, rate: float, generator: torch.Generator
) -> Tensor:
    """Return masks (n_blocks, n, hidden): 1/(1 - rate) with probability 1 - rate, else 0."""
    entries = n_blocks * n * hidden
    # One 64-bit draw makes four of them; the probability is exact to 2^-16.
    words = torch.empty(-(-entries // 4), dtype=torch.int64, device=generator.device)
    words.random_(-(2**63), None, generator=generator)
    threshold = round(rate * 2**16) - 2**15
    kept = words.view(torch.int16)[:entries] >= threshold
    return kept.to(torch.float32).mul_(1.0 / (1.0 - rate)).view(n_blocks, n, hidden)


class DenoisingStep:
    r"""Loss :math:`n^{-1}\sum_i\|g_\theta(x_i+\epsilon_i) + \epsilon_i/\sigma^2\|^2` and gradient.

    Writes into ``parameter.grad``, which must exist. With ``scale`` (p,), the points get the noise
    times ``scale``.
    """

    def __init__(self, network: ScoreNetwork, sigma: float, scale: Tensor | None = None) -> None:
        self.net = network
        self.inverse_variance = sigma**-2
        self.scale = scale
        for parameter in network.parameters():
            parameter.grad = torch.zeros_like(parameter)

    @torch.no_grad()
    def __call__(self, x: Tensor, noise: Tensor, masks: Tensor) -> Tensor:
        """Return the loss, a scalar tensor; x and noise are (n, p), masks as drawn above."""
        net = self.net
        noisy = x + (noise if self.scale is None else noise * self.scale)
        first = _linear(net.inlet, noisy).relu_()
        h, *moments = _normalize(net.norm, first)
        trace = []
        for block, mask in zip(net.blocks, masks, strict=True):
            active = _linear(block.first, h).relu_()
            dropped = active * mask
            inner = _linear(block.second, dropped)
            out, *inner_moments = _normalize(block.norm, inner)
            out = out.add_(h).relu_()
            trace.append((block, mask, h, active, dropped, inner, inner_moments, out))
            h = out
        error = _linear(net.outlet, h).add_(noise, alpha=self.inverse_variance)
        loss = error.square().sum() / len(x)

        g = _linear_backward(net.outlet, h, error.mul_(2.0 / len(x)))
        for block, mask, h_in, active, dropped, inner, inner_moments, out in reversed(trace):
            skip = _relu_backward(g, out, 0)
            g = _normalize_backward(block.norm, skip, inner, inner_moments)
            g = _linear_backward(block.second, dropped, g).mul_(mask)
            g = _linear_backward(block.first, h_in, _relu_backward(g, active, 0)).add_(skip)
        g = _normalize_backward(net.norm, g, first, moments)
        _linear_backward(net.inlet, noisy, _relu_backward(g, first, 0))
        return loss


def _linear(layer: Any, x: Tensor) -> Tensor:
    return torch.addmm(layer.bias, x, layer.weight.t())


def _linear_backward(layer: Any, x: Tensor, g: Tensor) -> Tensor:
    torch.mm(g.t(), x, out=layer.weight.grad)
    torch.sum(g, 0, out=layer.bias.grad)
    return g.mm(layer.weight)


def _normalize(layer: Any, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return _layer_norm(x, layer.normalized_shape, layer.weight, layer.bias, layer.eps)


def _normalize_backward(layer: Any, g: Tensor, x: Tensor, moments: list[Tensor]) -> Tensor:
    g_in, layer.weight.grad, layer.bias.grad = _layer_norm_backward(
        g, x, layer.normalized_shape, *moments, layer.weight, layer.bias, [True, True, True]
    )
    return g_in
