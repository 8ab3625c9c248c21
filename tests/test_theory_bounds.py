"""Theorems 1 and 2, lemmas, scores: bounds against direct computations, and counterexamples."""

import numpy as np
import pytest
from scipy.stats import ortho_group

from steinsdr.kernels import CurlFreeIMQ
from steinsdr.paper.theory import kernel_lemmas, rates, score_errors, theorem1, theorem2
from steinsdr.scores import GaussianScore, TikhonovScore

# Lemmas 2 and 3


def test_orlicz_norm_of_a_normal_is_its_closed_form():
    z, w = theorem1._gaussian_grid()
    assert np.isclose(theorem1.orlicz_norm(z, w, 2), theorem1.GAUSSIAN_PSI2, rtol=1e-3)
    assert np.isclose(theorem1.orlicz_norm(3 * z, w, 2), 3 * theorem1.GAUSSIAN_PSI2, rtol=1e-3)


def test_product_norms_respect_the_lemma():
    frame = theorem1.product_norms()
    assert (frame.measured <= frame.bound).all()


def test_good_event_can_fail_when_the_tail_constant_is_wrong(rng):
    settings = {"delta": 0.5, "rho": 0.9, "n_reps": 20, "rng": rng}
    assert theorem1.good_event(50, 20, 3, 2, **settings)["measured"] == 0
    assert theorem1.good_event(50, 20, 3, 2, **settings, c=100.0)["measured"] == 1
    with pytest.raises(ValueError, match="delta"):
        theorem1.good_event(5, 5, 2, 2, delta=2.0, rho=0.5, n_reps=1, rng=rng)


def test_log_normal_laws_are_not_sub_gaussian(rng):
    assert np.isclose(theorem1.score_kurtosis("ar1"), 3)
    # (1 + z/a) exp(-a z) with moments of normal z in closed form: E s^2 = (1 + 1/a^2) exp(2 a^2)
    a = 1.5
    second = np.exp(2 * a**2) * ((1 - 2) ** 2 + 1 / a**2)
    m = 1 - 4  # mean of 1 + z/a after shifting z by -4a; its variance is 1/a^2
    fourth = np.exp(8 * a**2) * (m**4 + 6 * m**2 / a**2 + 3 / a**4)
    assert np.isclose(theorem1.score_kurtosis("lognormal"), fourth / second**2)
    assert theorem1.reach("isotropic", 2000, rng) < 6 < theorem1.reach("lognormal", 2000, rng)
    with pytest.raises(ValueError, match="law"):
        theorem1.score_kurtosis("uniform")


def test_responses_to_log_normal_predictors_are_not_sub_gaussian(rng):
    b = np.full(4, 0.5)
    w = np.exp(1.5**2)  # the log-normal's excess kurtosis and variance in closed form
    excess, variance = w**4 + 2 * w**3 + 3 * w**2 - 6, w * (w - 1)
    expected = 3 + excess * variance**2 * 4 * 0.5**4 / (variance + 1) ** 2
    assert np.isclose(theorem1.response_kurtosis("lognormal", b), expected)
    with pytest.raises(ValueError, match="dependent"):
        theorem1.response_kurtosis("exp_ar1", b)


# Kernel facts


def test_block_and_operator_agree(rng):
    X, V = rng.standard_normal((2, 6, 4))
    blocks = [
        sum(kernel_lemmas.curl_free_block(a, b, 1.3) @ v for b, v in zip(X, V, strict=True))
        for a in X
    ]
    assert np.allclose(CurlFreeIMQ(X, 1.3) @ V, blocks)


def test_divergence_is_the_operators_divergence():
    x = np.zeros((1, 5))
    x[0, 0] = 0.8
    at_distance = CurlFreeIMQ(np.zeros((1, 5)), 1.6).divergence(x)
    assert np.isclose(np.linalg.norm(at_distance), kernel_lemmas.divergence_norm(0.5, 5, 1.6))


@pytest.mark.parametrize(("p", "x"), [(1, (6 - np.sqrt(30)) / 4), (2, (27 - np.sqrt(665)) / 8)])
def test_divergence_sup_in_low_dimensions_is_the_papers(p, x):
    closed = 3 * np.sqrt(x) * ((p + 2) + (p - 3) * x) / (1 + x) ** 3.5
    assert np.isclose(kernel_lemmas.divergence_sup(p), closed)


def test_third_derivatives_by_finite_differences(rng):
    def phi(d):
        return (1 + d @ d) ** -0.5

    h, largest = 1e-2, 0.0
    for _ in range(300):
        d = rng.uniform(-2, 2, 3)
        i, j, k = np.eye(3)[rng.integers(3, size=3)] * h
        signs = [(a, b, c) for a in (1, -1) for b in (1, -1) for c in (1, -1)]
        value = sum(a * b * c * phi(d + a * i + b * j + c * k) for a, b, c in signs) / (8 * h**3)
        largest = max(largest, abs(value))
    M3 = kernel_lemmas.third_derivative_sup()["M3"]
    assert 0.5 * M3 < largest <= M3 * 1.01  # differences are off by O(h^2)


def test_feature_norm_is_the_norm_of_the_divergence():
    # div_x div_y K at x = y by central differences of the closed-form divergence
    p, c, h = 3, 1.7, 1e-4
    slope = p * kernel_lemmas.divergence_norm(h / c, p, c) / h
    assert np.isclose(np.sqrt(slope), kernel_lemmas.feature_norm(p, c), rtol=1e-5)


def test_potentials_respect_the_oscillation_bound(rng):
    frame = score_errors.potential_range(10, 2, 1.0, 10, rng)
    assert (frame.ratio < 1).all()
    norms = score_errors.interpolation_norms(lambda X: X, [1, 8], p=2, c=2.0, n=30, rng=rng)
    assert norms.norm[1] > 3 * norms.norm[0]


# Stability


def test_field_is_the_estimator(rng):
    X = rng.standard_normal((30, 3))
    fitted = TikhonovScore(0.05, width=2.0, standardize=False, tol=1e-10).fit(X)
    assert np.allclose(kernel_lemmas.tre_field(X, 0.05, 2.0)(X), fitted.train_scores_, atol=1e-7)


def test_lemma_six_fails_and_the_repair_holds(rng):
    single = kernel_lemmas.single_point_counterexample(2, 20.0, 0.01)
    assert np.isclose(single["measured"], single["by_hand"])
    assert single["measured"] > 10 * single["bound"]
    assert single["measured"] <= single["repaired"]
    frame = kernel_lemmas.tre_replacement(8, 2, 5.0, [0.1], 2, rng)
    assert (frame.ratio_repaired <= 1).all()


def test_ridge_replacement_and_size_respect_their_bounds(rng):
    assert (kernel_lemmas.ridge_replacement(8, 2, 1.5, [0.1, 0.01], 2, rng).ratio <= 1).all()
    size = kernel_lemmas.pointwise_table(8, 2, [1.0, 10.0], [0.01], 2, rng)
    assert (size.ratio <= 1).all()
    assert (size.ratio_repaired <= 1).all()


def test_lipschitz_bound_fails_for_a_narrow_kernel(rng):
    assert kernel_lemmas.lipschitz_table(1, 3, [0.1], [1e5], 1, rng).ratio.max() > 5
    assert kernel_lemmas.lipschitz_table(8, 3, [2.0], [0.01], 1, rng).ratio.max() < 1


# Theorem 1


def test_bound_terms_add_up():
    terms = theorem1.bound_terms(100, 10, 4, epsilon=0.5, delta=0.1)
    assert np.isclose(terms["total"], terms["score"] + terms["root"] + terms["linear"])
    assert np.isclose(terms["score"], 1.0)
    with pytest.raises(ValueError, match="delta"):
        theorem1.bound_terms(100, 10, 4, epsilon=0.5, delta=1.0)


def test_oracle_error_falls_like_the_inverse_root(rng):
    frame = theorem1.split_errors([200, 800, 3200], p=10, n_reps=8)
    assert (frame.epsilon == 0).all()
    rate = rates.rate_of(frame, "n_labeled", "error", rng=rng, level=0.999)
    assert rate.contains(-0.5)


def test_estimated_score_leaves_a_floor():
    score = GaussianScore()
    frame = theorem1.split_errors([20_000], p=10, n_unlabeled=100, score=score, n_reps=2)
    oracle = theorem1.split_errors([20_000], p=10, n_reps=2)
    assert frame.error.min() > 3 * oracle.error.max()
    assert (frame.error < np.sqrt(10) * frame.epsilon).all()


def test_no_constant_serves_the_square():
    frame = theorem1.scale_counterexample([1.0, 100.0])
    assert np.isclose(frame.constant[1], 100 * frame.constant[0])
    assert np.isclose(frame.repaired[1], frame.repaired[0])


# Theorem 2


def test_schedule_and_exponents_are_the_theorems():
    assert np.isclose(theorem2.schedule(16, 1.0, lam0=1.0), 16**-0.25)
    table = theorem2.exponents([0.5, 1.0])
    assert np.allclose(table.stated, [0, -0.25])
    assert np.allclose(table.own_terms, [0, -1 / 6])
    assert (table.sharper < 0).all()


def test_uniform_differences_do_not_vanish_and_differences_by_kind_do():
    small, large = (theorem2.mcdiarmid_orders(n, int(n**0.5), 1.0) for n in (10**4, 10**8))
    assert large["uniform"] > 0.9 * small["uniform"]
    assert large["by_kind"] < 0.2 * small["by_kind"]


@pytest.mark.parametrize("law", theorem2.LAWS)
def test_truth_of_the_coupled_design(law, rng):
    X, scores = theorem2._draw(law, 200_000, rng)
    M = scores.T @ theorem2._responses(X, rng) / len(X)
    assert np.abs(M - theorem2._truth(law)).max() < 0.02  # Monte-Carlo error is 0.003


def test_error_falls_with_few_labels():
    frame = theorem2.coupled_errors([0.5], [100, 800], n_reps=6, lam_beta=1.0)
    means = frame.groupby("n").error.mean()
    assert means[800] < 0.8 * means[100]


@pytest.mark.slow
def test_score_estimate_is_near_the_regularized_score(rng):
    # The proposition of the chapter on Theorem 2: the root mean square of the largest distance is
    # at most kappa {Z + kappa (E|s|^2)^(1/2)} / (lambda n^(1/2)). A large sample gives s_lambda.
    p, c, lam, n = 3, 2.0, 0.05, 100
    points = rng.standard_normal((200, p))
    large = TikhonovScore(lam, width=c, standardize=False, tol=1e-4)
    limit = large.fit(rng.standard_normal((5000, p))).evaluate(points)
    fields = [kernel_lemmas.tre_field(rng.standard_normal((n, p)), lam, c) for _ in range(8)]
    distances = [np.linalg.norm(field(points) - limit, axis=1).max() for field in fields]
    bound = (kernel_lemmas.feature_norm(p, c) + np.sqrt(p) / c) / (c * lam * np.sqrt(n))
    assert np.sqrt(np.mean(np.square(distances))) < bound
    # and it is not the score itself that the estimate approaches
    assert np.linalg.norm(limit - points, axis=1).max() > bound


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


def test_curl_free_kernel_has_the_better_score_and_no_better_directions():
    lams = [1e-5, 1e-4, 1e-3]
    frame = score_errors.kernel_comparison("isotropic", [100], 50, lams, n_reps=2)
    assert list(frame.groupby("best_for").size()) == [2, 2]
    table = frame.set_index(["best_for", "kernel"])
    own, distance = table.own["score"], table.distance["directions"]
    assert own["curl-free"] < 0.8 * own["diagonal"]
    assert abs(distance["curl-free"] / distance["diagonal"] - 1) < 0.1
    # each purpose has its own lambda, and neither is better for the other
    assert (own <= table.own["directions"]).all()
    assert (distance <= table.distance["score"]).all()


def test_coupling_beats_the_true_score():
    frame = score_errors.configuration_errors(200, 400, 10, n_reps=4)
    mean = frame.groupby(["estimator", "config"]).distance.mean()
    assert mean["normal", "sup"] < mean["oracle", "none"] < mean["normal", "split"]


def test_rotation_does_not_change_the_error(rng):
    # the median width and the curl-free kernel do not know the axes
    X = rng.standard_normal((60, 3))
    Q = ortho_group.rvs(3, random_state=1)
    plain, turned = (kernel_lemmas.tre_field(Z, 0.01, 2.0)(Z) for Z in (X, X @ Q))
    assert np.allclose(plain @ Q, turned)
