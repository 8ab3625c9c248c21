"""DenoisingScore: the hand-written gradient, determinism, and that it learns."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch

from steinsdr.scores import DenoisingScore
from steinsdr.scores._network import DenoisingStep, ScoreNetwork, dropout_masks


def test_step_equals_autograd():
    torch.manual_seed(0)
    network = ScoreNetwork(7, 32, 2, 0.0).double()
    x, noise = torch.randn(2, 19, 7, dtype=torch.float64)
    masks = torch.ones(2, 19, 32, dtype=torch.float64)
    loss = DenoisingStep(network, 0.5)(x, noise, masks)
    by_hand = [parameter.grad.clone() for parameter in network.parameters()]
    network.zero_grad()
    expected = ((network(x + noise) + noise / 0.25) ** 2).sum(1).mean()
    expected.backward()
    torch.testing.assert_close(loss, expected.detach())
    for ours, parameter in zip(by_hand, network.parameters(), strict=True):
        torch.testing.assert_close(ours, parameter.grad)


def test_step_scales_the_noise_of_the_points_alone():
    torch.manual_seed(0)
    network = ScoreNetwork(7, 32, 2, 0.0).double()
    x, noise = torch.randn(2, 19, 7, dtype=torch.float64)
    scale = torch.linspace(0.1, 2.0, 7, dtype=torch.float64)
    loss = DenoisingStep(network, 0.5, scale)(x, noise, torch.ones(2, 19, 32, dtype=torch.float64))
    expected = ((network(x + noise * scale) + noise / 0.25) ** 2).sum(1).mean()
    torch.testing.assert_close(loss, expected.detach())


def test_step_uses_its_masks():
    torch.manual_seed(0)
    network = ScoreNetwork(5, 16, 2, 0.3)
    step = DenoisingStep(network, 0.1)
    x, noise = torch.randn(2, 8, 5)
    masks = dropout_masks(2, 8, 16, 0.3, torch.Generator().manual_seed(1))
    with_mask = step(x, noise, masks).item()
    h = network.norm(torch.relu(network.inlet(x + noise)))
    for block, mask in zip(network.blocks, masks, strict=True):
        h = torch.relu(h + block.norm(block.second(torch.relu(block.first(h)) * mask)))
    expected = ((network.outlet(h) + noise / 0.01) ** 2).sum(1).mean().item()
    assert with_mask == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("rate", [0.0, 0.3, 0.75])
def test_masks_keep_the_right_share_and_mean(rate):
    masks = dropout_masks(2, 300, 101, rate, torch.Generator().manual_seed(0))
    assert masks.shape == (2, 300, 101)
    kept = (masks > 0).float().mean().item()
    assert kept == pytest.approx(1 - rate, abs=4 * np.sqrt(0.25 / masks.numel()))
    assert masks.unique().tolist() == pytest.approx(
        [1.0] if rate == 0 else [0.0, 1 / (1 - rate)], rel=1e-6
    )


def test_defaults_are_the_papers_table():
    parameters = DenoisingScore().get_params()
    paper = {
        "learning_rate": 1e-3,
        "weight_decay": 1e-5,
        "batch_size": 256,
        "epochs": 150,
        "sigma": 0.1,
        "dropout": 0.3,
        "hidden": 256,
        "n_blocks": 2,
        "standardize": True,
    }
    assert {name: parameters[name] for name in paper} == paper


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


def test_same_seed_same_scores_and_global_stream_untouched(rng):
    X = rng.standard_normal((300, 4))
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    first = DenoisingScore(epochs=3, random_state=1).fit(X)
    assert torch.equal(torch.random.get_rng_state(), before)
    second = DenoisingScore(epochs=3, random_state=1).fit(X)
    other = DenoisingScore(epochs=3, random_state=2).fit(X)
    np.testing.assert_array_equal(first.train_scores_, second.train_scores_)
    assert not np.allclose(first.train_scores_, other.train_scores_)


def test_threads_are_restored_and_do_not_change_much(rng):
    X = rng.standard_normal((300, 4))
    before = torch.get_num_threads()
    one = DenoisingScore(epochs=3, random_state=1, n_threads=1).fit(X)
    two = DenoisingScore(epochs=3, random_state=1, n_threads=2).fit(X)
    assert torch.get_num_threads() == before
    np.testing.assert_allclose(two.train_scores_, one.train_scores_, rtol=1e-2, atol=1e-2)


def test_units_of_sigma(rng):
    X = rng.standard_normal((300, 3)) * [1.0, 1.0, 50.0]
    X = (X - X.mean(axis=0)) / X.std(axis=0)  # with columns of variance one the units are the same
    scores = {
        units: DenoisingScore(epochs=3, sigma_units=units, random_state=0).fit(X).train_scores_
        for units in ("sd", "x")
    }
    np.testing.assert_allclose(scores["x"], scores["sd"], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("scale", [0.2, 5.0])
def test_noise_in_units_of_x_gives_the_score_of_x(rng, scale):
    # Noise as large as x: the noisy law is normal with variance 2 scale^2. Were sigma in standard
    # deviations of x, the slope of the score would be off by almost half of 1 / scale^2.
    X = scale * rng.standard_normal((2000, 2))
    network = DenoisingScore(sigma=scale, sigma_units="x", epochs=60, random_state=0).fit(X)
    errors = network.train_scores_ - X / (2.0 * scale**2)
    assert np.sqrt(np.mean(errors**2)) < 0.2 / scale


def test_divergence_is_an_error_not_a_result(rng):
    X = rng.standard_normal((100, 2)) * 1e30
    with pytest.raises(FloatingPointError, match="learning_rate"):
        DenoisingScore(epochs=3, standardize=False, random_state=0).fit(X)


def test_progress_is_shown_on_request(rng, capsys):
    X = rng.standard_normal((50, 2))
    score = DenoisingScore(epochs=2, verbose=True, random_state=0).fit(X)
    told = capsys.readouterr().err
    assert f"denoising score: epoch 2/2, loss {score.loss_curve_[1]:.4g}" in told


def test_a_missing_torch_is_named_with_the_extra_that_brings_it(rng, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not installed
    with pytest.raises(ImportError, match=r"DenoisingScore needs torch: pip install 'steinsdr\[nn"):
        DenoisingScore().fit(rng.standard_normal((30, 2)))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sigma", 0),
        ("sigma_units", "raw"),
        ("epochs", 0),
        ("hidden", 2.5),
        ("n_blocks", -1),
        ("batch_size", 0),
        ("learning_rate", np.inf),
        ("dropout", 1.0),
        ("dropout", "some"),
        ("dropout", np.nan),
        ("weight_decay", -1),
        ("weight_decay", None),
        ("n_threads", 0),
    ],
)
def test_bad_input_is_named(rng, name, value):
    with pytest.raises(ValueError, match=f"'{name}' parameter of DenoisingScore"):
        DenoisingScore(**{name: value}).fit(rng.standard_normal((30, 2)))
    with pytest.raises(ValueError, match="constant column"):
        DenoisingScore().fit(np.c_[rng.standard_normal(30), np.ones(30)])


def test_new_parameters_leave_a_fit_as_it_is():
    X = 5.0 * np.random.default_rng(0).standard_normal((60, 2))
    score = DenoisingScore(epochs=2, hidden=8, random_state=0).fit(X)
    before = score.evaluate(X)
    assert np.array_equal(score.set_params(sigma_units="x").evaluate(X), before)
