"""The theory studies: closed forms, invariances and independent computations.

What a study finds is asserted in its chapter and judged in the table of claims.
"""

import numpy as np
import pytest
from scipy.stats import ortho_group

from steinsdr.kernels import CurlFreeIMQ
from steinsdr.paper.theory import kernel_lemmas, lemma1, score_errors, theorem1, theorem2, theorem3
from steinsdr.paper.theory.printed_settings import compare_settings
from steinsdr.scores import TikhonovScore
from steinsdr.simulation import links

# Lemma 1


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


def test_moment_matches_numerical_differentiation(rng):
    B = np.linalg.cholesky([[1.0, 0.3, 0.0], [0.3, 1.0, 0.2], [0.0, 0.2, 1.0]]).T
    t = rng.standard_normal((200_000, 3)) @ B
    h = 1e-5
    numeric = [(links(t + h * e) - links(t - h * e)).mean(axis=0) / (2 * h) for e in np.eye(3)]
    # Gauss-Hermite with 24 nodes is exact to 1e-3 here; Monte-Carlo error is 2e-3
    assert np.abs(lemma1.gaussian_moment(B) - B @ np.array(numeric)).max() < 0.01


# Theorem 1, Lemmas 2 and 3


@pytest.mark.parametrize("scale", [1, 3])
def test_orlicz_norm_of_a_normal_is_its_closed_form(scale):
    z, w = theorem1._gaussian_grid()
    norm = theorem1.orlicz_norm(scale * z, w, 2)
    assert np.isclose(norm, scale * theorem1.GAUSSIAN_PSI2, rtol=1e-3)


def test_kurtosis_of_log_normal_scores_and_responses_is_its_closed_form():
    a = 1.5
    # (1 + z/a) exp(-a z) with moments of normal z: E s^2 = (1 + 1/a^2) exp(2 a^2)
    second = np.exp(2 * a**2) * ((1 - 2) ** 2 + 1 / a**2)
    m = 1 - 4  # mean of 1 + z/a after shifting z by -4a; its variance is 1/a^2
    fourth = np.exp(8 * a**2) * (m**4 + 6 * m**2 / a**2 + 3 / a**4)
    assert np.isclose(theorem1.score_kurtosis("lognormal"), fourth / second**2)
    w = np.exp(a**2)  # the log-normal's excess kurtosis and variance
    excess, variance = w**4 + 2 * w**3 + 3 * w**2 - 6, w * (w - 1)
    expected = 3 + excess * variance**2 * 4 * 0.5**4 / (variance + 1) ** 2
    b = np.full(4, 0.5)
    assert np.isclose(theorem1.response_kurtosis("lognormal", b), expected)


# Theorem 2


@pytest.mark.slow
def test_bias_of_the_normal_law_is_that_of_a_large_sample(rng):
    # An independent computation: the estimator trained on 3,000 points, at fresh points.
    lam = 0.1
    score = TikhonovScore(lam, width=2.0, standardize=False, tol=1e-4)
    fresh = rng.standard_normal((3000, 3))
    gap = score.fit(rng.standard_normal((3000, 3))).evaluate(fresh) - fresh
    bias = theorem2.normal_bias([lam]).iloc[0]
    assert abs(np.sqrt(np.mean(np.sum(gap**2, axis=1))) / bias.bias - 1) < 0.05
    assert bias.bound > bias.bias


@pytest.mark.parametrize("law", ["gaussian", "student"])
def test_true_moment_of_the_coupled_design_is_its_average(law, rng):
    X, scores = theorem2._draw(law, 200_000, rng)
    M = scores.T @ theorem2._responses(X, rng) / len(X)
    assert np.abs(M - theorem2.true_moment(law)).max() < 0.02  # Monte-Carlo error is 0.003


@pytest.mark.slow
def test_score_estimate_is_near_the_regularized_score(rng):
    # The proposition of the chapter on Theorem 2: the root mean square of the largest distance is
    # at most kappa {Z + kappa (E|s|^2)^(1/2)} / (lambda n^(1/2)). A large sample gives s_lambda.
    p, c, lam, n = 3, 2.0, 0.05, 100
    points = rng.standard_normal((200, p))
    large = TikhonovScore(lam, width=c, standardize=False, tol=1e-4)
    limit = large.fit(rng.standard_normal((5000, p))).evaluate(points)
    fields = [tre_field(rng.standard_normal((n, p)), lam, c) for _ in range(8)]
    distances = [np.linalg.norm(field(points) - limit, axis=1).max() for field in fields]
    bound = (kernel_lemmas.feature_norm(p, c) + np.sqrt(p) / c) / (c * lam * np.sqrt(n))
    assert np.sqrt(np.mean(np.square(distances))) < bound
    # and it is not the score itself that the estimate approaches
    assert np.linalg.norm(limit - points, axis=1).max() > bound


# Lemmas 4 to 10


def tre_field(X, lam, c):
    """The estimator as the lemmas state it, solved directly: a function of points (m, p)."""
    kernel, (n, p) = CurlFreeIMQ(X, c), X.shape
    gram = kernel_lemmas._gram(X, c) + n * lam * np.eye(n * p)
    V = np.linalg.solve(gram, kernel.divergence(X).ravel() / lam).reshape(n, p)
    return lambda points: kernel.divergence(points) / lam - kernel.at(points, V)


def test_scores_of_points_on_a_line_are_those_of_the_field():
    x = np.array([0.0, 0, 1.5])
    field = tre_field(x[:, None] * np.eye(3)[0], 0.1, 2.0)(x[:, None] * np.eye(3)[0])
    on_line = kernel_lemmas.line_score(x[1:] / 2, np.array([2, 1]) / 3, 0.1 * 2**2, 3)
    assert np.allclose(on_line(x / 2) / 2, field[:, 0])


def test_divergence_is_the_operators_divergence():
    x = np.zeros((1, 5))
    x[0, 0] = 0.8
    at_distance = CurlFreeIMQ(np.zeros((1, 5)), 1.6).divergence(x)
    assert np.isclose(np.linalg.norm(at_distance), kernel_lemmas.divergence_norm(0.5, 5, 1.6))


@pytest.mark.parametrize(("p", "x"), [(1, (6 - np.sqrt(30)) / 4), (2, (27 - np.sqrt(665)) / 8)])
def test_divergence_sup_in_low_dimensions_is_the_papers(p, x):
    closed = 3 * np.sqrt(x) * ((p + 2) + (p - 3) * x) / (1 + x) ** 3.5
    assert np.isclose(kernel_lemmas.divergence_sup(p), closed)


def test_feature_norm_is_the_norm_of_the_divergence():
    # div_x div_y K at x = y by central differences of the closed-form divergence
    p, c, h = 3, 1.7, 1e-4
    slope = p * kernel_lemmas.divergence_norm(h / c, p, c) / h
    assert np.isclose(np.sqrt(slope), kernel_lemmas.feature_norm(p, c), rtol=1e-5)


def test_field_is_the_estimator_and_turns_with_the_data(rng):
    X = rng.standard_normal((30, 3))
    scores = tre_field(X, 0.05, 2.0)(X)
    fitted = TikhonovScore(0.05, width=2.0, standardize=False, tol=1e-10).fit(X)
    assert np.allclose(scores, fitted.train_scores_, atol=1e-7)
    Q = ortho_group.rvs(3, random_state=1)
    assert np.allclose(tre_field(X @ Q, 0.05, 2.0)(X @ Q), scores @ Q)


def test_slope_of_one_point_over_the_repaired_constant_is_its_closed_form():
    slope = kernel_lemmas.slope_search(3, [0.5, 1.0])
    assert (slope.true_to <= slope.false_from).all()
    assert np.isclose(slope.attained[0], np.sqrt(5 / 9))


def test_limits_of_the_printed_size_are_those_of_the_estimator():
    limits = kernel_lemmas.size_limits()
    assert 2.2 < limits["true_to"] < limits["false_from"] < 20
    # The weighted sample as plain rows, at width 2.
    rings = [
        (z, r * np.cos(a), r * np.sin(a))
        for r, z in kernel_lemmas._SHELL
        for a in (np.pi / 4 * np.arange(8) if r else [0.0])
    ]
    X, x = np.array([(0, 0, 0)] * 159 + rings), np.linspace(0.3, 0.5, 41)
    field = tre_field(2 * X, 0.01, 2.0)(2 * x[:, None] * np.eye(3)[0])
    ratio = 0.01 * np.abs(field[:, 0]).max() / kernel_lemmas.divergence_sup(3, 2.0)
    assert np.isclose(ratio, kernel_lemmas.size_limits(0.04, 41 / 200)["ratio"])


def test_lipschitz_constant_of_the_repair_is_the_largest_eigenvalue():
    d = np.geomspace(1e-3, 100, 400)
    blocks = [kernel_lemmas.curl_free_block(np.array([x, 0.0]), np.zeros(2), 1.0) for x in d]
    largest = [np.linalg.eigvalsh(2 * (np.eye(2) - block)).max() for block in blocks]
    ratio = np.sqrt(largest) / (3 * d)
    assert ratio.max() <= 1
    assert ratio[0] > 0.999


# Scores


def test_diagonal_kernel_is_equivariant_under_scaling(rng):
    X = rng.standard_normal((40, 3))
    scale = np.array([1.0, 2.0, 5.0])
    assert np.allclose(
        score_errors.diagonal_scores(X * scale, 1e-3), score_errors.diagonal_scores(X, 1e-3) / scale
    )


def test_diagonal_kernel_finds_a_normal_score(rng):
    X = rng.standard_normal((400, 2))
    assert score_errors.relative_error(score_errors.diagonal_scores(X, 3e-3), X) < 0.4


# Corollary 1, ranks and printed settings


def test_level_of_the_permutation_test_is_that_of_exchangeable_values(rng):
    values = rng.standard_normal((20_000, 61))
    level = (values[:, 0] > np.quantile(values[:, 1:], 0.9, axis=1)).mean()
    low, high = theorem3.permutation_level(60)
    assert low - 0.008 < level < high + 0.008  # four standard errors


def test_printed_settings_are_told_from_others(monkeypatch):
    defaults = (1.0, *TikhonovScore.__init__.__defaults__[1:])
    monkeypatch.setattr(TikhonovScore.__init__, "__defaults__", defaults)
    (row,) = compare_settings().query("not same").itertuples(index=False)
    names = "kernel for the score", "regularization λ"
    assert tuple(row) == ("tab:numethod", "TikhonovScore", "lam", 1e-4, 1.0, False, *names)


def test_kurtosis_of_responses_needs_independent_predictors():
    with pytest.raises(ValueError, match="independent"):
        theorem1.response_kurtosis("exp_ar1", np.ones(4) / 2)
