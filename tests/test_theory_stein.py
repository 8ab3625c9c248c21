"""Stein's identity and the population moment: closed forms and planted failures."""

import numpy as np
import pytest

from steinsdr.paper.theory import lemma1
from steinsdr.simulation import stream


@pytest.mark.parametrize("name", lemma1.LINKS)
def test_gradients_are_the_links_derivatives(name, rng):
    link = lemma1.LINKS[name]
    t = rng.standard_normal((200, 3))
    t = t[np.abs(t[:, 0]) > 1e-3]  # away from the kink and the jump
    h = 1e-6
    numeric = np.stack(
        [(link.value(t + h * e) - link.value(t - h * e)) / (2 * h) for e in np.eye(3)], axis=1
    )
    assert np.allclose(link.gradient(t), numeric, atol=1e-5)


@pytest.mark.parametrize("name", lemma1.SCORED_LAWS)
def test_scores_average_to_zero_with_identity_slope(name, rng):
    # E s = 0 and E s x' = I for any law; 4 standard errors of 40,000 draws
    law = lemma1.SCORED_LAWS[name]
    X = law.draw(40_000, 2, rng)
    S = law.score(X)
    assert (np.abs(S.mean(axis=0)) < 4 * S.std(axis=0) / 200).all()
    product = S[:, :, None] * X[:, None, :]
    error = np.abs(product.mean(axis=0) - np.eye(2))
    assert (error < 5 * product.std(axis=0) / 200).all()


@pytest.mark.parametrize("law", lemma1.BROKEN_LAWS)
def test_a_jump_of_the_density_leaves_the_boundary_term(law, rng):
    B = lemma1.random_basis(3, 2, rng)
    gap, p_value = lemma1.identity_gap(law, "sine", B, 50_000, rng)
    edge = lemma1.boundary_term(law, "sine", B, 50_000, rng)
    assert p_value < 1e-6
    assert np.abs(gap - edge).max() < 0.03  # five standard errors of either


def test_uniform_boundary_term_of_a_linear_link_is_minus_the_slope(rng):
    B = lemma1.random_basis(3, 2, rng)
    edge = lemma1.boundary_term("uniform", "linear", B, 10, rng)
    assert np.allclose(edge, -B[:, 0])


def test_jump_breaks_the_identity_and_smooth_link_does_not():
    B = np.eye(3)[:, :2]
    p_values = [
        lemma1.identity_gap("gaussian", link, B, 5000, stream(1, link))[1]
        for link in ("tanh", "jump")
    ]
    assert p_values[0] > 1e-3
    assert p_values[1] < 1e-9


def test_sir_needs_linear_conditional_means_and_steins_lemma_does_not():
    frame = lemma1.linearity_distances(["gaussian", "mixture"], [2000, 32_000], n_reps=2)
    mean = frame.groupby(["law", "method", "n"]).distance.mean().unstack("n")
    ratio = mean[32_000] / mean[2000]
    assert ratio["gaussian"].max() < 0.5
    assert ratio["mixture", "Stein"] < 0.5 < ratio["mixture", "SIR"]
    assert mean.loc[("mixture", "Stein"), 32_000] < 0.5 * mean.loc[("mixture", "SIR"), 32_000]
    with pytest.raises(ValueError, match="p"):
        lemma1.linearity_distances(["gaussian"], [100], p=2)


def test_unknown_names_are_refused(rng):
    with pytest.raises(ValueError, match="law"):
        lemma1.identity_gap("cauchy", "tanh", np.eye(3)[:, :2], 100, rng)
    with pytest.raises(ValueError, match="law"):
        lemma1.boundary_term("gaussian", "tanh", np.eye(3)[:, :2], 100, rng)


def test_mean_gradients_match_numerical_differentiation(rng):
    from steinsdr.simulation import links

    C = np.array([[1.0, 0.3, 0.0], [0.3, 1.0, 0.2], [0.0, 0.2, 1.0]])
    t = rng.standard_normal((200_000, 3)) @ np.linalg.cholesky(C).T
    h = 1e-5
    numeric = [(links(t + h * e) - links(t - h * e)).mean(axis=0) / (2 * h) for e in np.eye(3)]
    # Gauss-Hermite with 24 nodes is exact to 1e-3 here; Monte-Carlo error is 2e-3
    assert np.abs(lemma1.mean_gradients(C) - np.array(numeric)).max() < 0.01


def test_moment_lies_in_the_span(rng):
    B = lemma1.random_basis(8, 3, rng)
    M = lemma1.gaussian_moment(B, np.eye(8))
    assert np.allclose(B @ (B.T @ M), M)
    assert np.linalg.matrix_rank(M) == 3


def test_even_link_is_invisible_only_at_the_centre():
    frame = lemma1.even_link_spectrum([0.0, 0.5], n=10_000)
    assert frame.sigma_2[0] < 0.1
    assert np.allclose(frame.sigma_2[1], 1.0, atol=0.1)


def test_discrete_predictors_are_better_than_chance():
    frame = lemma1.discrete_distances(["signs"], n=300, n_reps=2)
    assert frame.distance.max() < frame.chance.min()
    with pytest.raises(ValueError, match="kinds"):
        lemma1.discrete_distances(["text"])
