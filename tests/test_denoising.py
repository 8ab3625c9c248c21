"""DenoisingScore: the hand-written gradient, determinism, and that it learns."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from steinsdr.scores import DenoisingScore
from steinsdr.scores._network import DenoisingStep, ScoreNetwork, dropout_masks


@pytest.mark.parametrize("scale", [None, torch.linspace(0.1, 2.0, 7, dtype=torch.float64)])
def test_step_equals_autograd(scale):
    """With ``scale`` the noise of the points alone is scaled, not that of the target."""
    torch.manual_seed(0)
    network = ScoreNetwork(7, 32, 2, 0.3).double()
    x, noise = torch.randn(2, 19, 7, dtype=torch.float64)
    masks = dropout_masks(2, 19, 32, 0.3, torch.Generator().manual_seed(1)).double()
    loss = DenoisingStep(network, 0.5, scale)(x, noise, masks)
    by_hand = [parameter.grad.clone() for parameter in network.parameters()]
    network.zero_grad()
    h = network.norm(torch.relu(network.inlet(x + noise * (1.0 if scale is None else scale))))
    for block, mask in zip(network.blocks, masks, strict=True):
        h = torch.relu(h + block.norm(block.second(torch.relu(block.first(h)) * mask)))
    expected = ((network.outlet(h) + noise / 0.25) ** 2).sum(1).mean()
    expected.backward()
    torch.testing.assert_close(loss, expected.detach())
    for ours, parameter in zip(by_hand, network.parameters(), strict=True):
        torch.testing.assert_close(ours, parameter.grad)


@pytest.mark.parametrize("rate", [0.0, 0.3, 0.75])
def test_masks_keep_the_right_share_and_mean(rate):
    masks = dropout_masks(2, 300, 101, rate, torch.Generator().manual_seed(0))
    assert masks.shape == (2, 300, 101)
    kept = (masks > 0).float().mean().item()
    assert kept == pytest.approx(1 - rate, abs=4 * np.sqrt(0.25 / masks.numel()))
    assert masks.unique().tolist() == pytest.approx(
        [1.0] if rate == 0 else [0.0, 1 / (1 - rate)], rel=1e-6
    )


def test_learns_a_gaussian_score(rng):
    X = rng.standard_normal((3000, 3)) @ np.diag([1.0, 5.0, 0.2]) + 1.0
    score = DenoisingScore(epochs=40, dropout=0.0, hidden=64, random_state=0).fit(X)
    new = rng.standard_normal((500, 3))
    fresh = score.evaluate(new @ np.diag([1.0, 5.0, 0.2]) + 1.0) * np.array([1.0, 5.0, 0.2])
    correlations = [np.corrcoef(fresh[:, j], new[:, j])[0, 1] for j in range(3)]
    assert min(correlations) > 0.9
    # The noisy law has variance 1 + sigma^2, so the slope is 0.99 for a perfect network; a score
    # left in units of the standardized columns would be off by a factor of 5.
    slopes = (fresh * new).sum(axis=0) / np.square(new).sum(axis=0)
    np.testing.assert_allclose(slopes, 0.99, atol=0.15)
    assert score.loss_curve_[-1] < score.loss_curve_[0]


def test_noise_in_units_of_x_gives_the_score_of_x(rng):
    scale = 5.0
    # Noise as large as x: the noisy law is normal with variance 2 scale^2. Were sigma in standard
    # deviations of x, the slope of the score would be off by almost half of 1 / scale^2.
    X = scale * rng.standard_normal((2000, 2))
    network = DenoisingScore(
        sigma=scale, sigma_units="x", epochs=60, hidden=64, random_state=0
    ).fit(X)
    errors = network.train_scores_ - X / (2.0 * scale**2)
    assert np.sqrt(np.mean(errors**2)) < 0.2 / scale


def test_divergence_is_an_error_not_a_result(rng):
    X = rng.standard_normal((100, 2))
    with pytest.raises(FloatingPointError, match="learning_rate"):
        DenoisingScore(epochs=20, learning_rate=1e30, random_state=0).fit(X)


def test_new_parameters_leave_a_fit_as_it_is():
    X = 5.0 * np.random.default_rng(0).standard_normal((60, 2))
    score = DenoisingScore(epochs=2, hidden=8, random_state=0).fit(X)
    before = score.evaluate(X)
    assert np.array_equal(score.set_params(sigma_units="x").evaluate(X), before)
