"""Stein's identity and the population moment: closed forms and independent derivatives."""

import numpy as np
import pytest

from steinsdr.paper.theory import lemma1
from steinsdr.simulation import links


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


def test_uniform_boundary_term_of_a_linear_link_is_minus_the_slope(rng):
    B = lemma1.random_basis(3, 2, rng)
    edge = lemma1.boundary_term("uniform", "linear", B, 10, rng)
    assert np.allclose(edge, -B[:, 0])


def test_jump_breaks_the_identity_and_smooth_link_does_not(rng):
    p_values = {
        link: lemma1.identity_gap("gaussian", link, np.eye(3)[:, :2], 5000, rng)[1]
        for link in ("tanh", "jump")
    }
    assert p_values["tanh"] > 1e-3
    assert p_values["jump"] < 1e-9


def test_steins_lemma_needs_no_linear_conditional_means():
    frame = lemma1.linearity_distances(["mixture"], [2000, 32_000], n_reps=2)
    mean = frame.groupby(["method", "n"]).distance.mean().unstack("n")
    ratio = mean[32_000] / mean[2000]
    assert ratio["Stein"] < 0.5 < ratio["SIR"]


def test_unknown_names_are_refused(rng):
    B = np.eye(3)[:, :2]
    with pytest.raises(ValueError, match="law"):
        lemma1.identity_gap("cauchy", "tanh", B, 100, rng)
    with pytest.raises(ValueError, match="law"):
        lemma1.boundary_term("gaussian", "tanh", B, 100, rng)
    with pytest.raises(ValueError, match="kinds"):
        lemma1.discrete_distances(["text"], n_reps=1)


def test_mean_gradients_match_numerical_differentiation(rng):
    C = np.array([[1.0, 0.3, 0.0], [0.3, 1.0, 0.2], [0.0, 0.2, 1.0]])
    t = rng.standard_normal((200_000, 3)) @ np.linalg.cholesky(C).T
    h = 1e-5
    numeric = [(links(t + h * e) - links(t - h * e)).mean(axis=0) / (2 * h) for e in np.eye(3)]
    # Gauss-Hermite with 24 nodes is exact to 1e-3 here; Monte-Carlo error is 2e-3
    assert np.abs(lemma1.mean_gradients(C) - np.array(numeric)).max() < 0.01


def test_moment_spans_the_subspace(rng):
    B = lemma1.random_basis(8, 3, rng)
    M = lemma1.gaussian_moment(B)
    assert np.allclose(B @ (B.T @ M), M)
    assert np.linalg.matrix_rank(M) == 3
