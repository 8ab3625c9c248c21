"""The identity behind SteinSDR: double robustness, weights, invariances, groups, components."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import TweedieRegressor

from steinsdr import SteinSDR
from steinsdr.link import KernelLink, fit_link, link_gradients
from steinsdr.moments import (
    AugmentedMoment,
    EfficientMoment,
    RidgeTerms,
    cross_moment,
    fourier_weights,
)
from steinsdr.scores import GaussianScore, TikhonovScore
from steinsdr.simulation import simulate
from steinsdr.subspace import procrustes_distance

# The identity.


@pytest.fixture(scope="module")
def stein_points():
    """Points with exact second moments I and odd moments 0: Stein's identity for s(x) = x."""
    Z = np.random.default_rng(0).standard_normal((50, 3))
    Z = np.vstack([Z, -Z])
    return Z @ np.linalg.inv(np.linalg.cholesky(Z.T @ Z / len(Z))).T


SLOPES, CURVATURE, WRONG = np.array([1.0, -2.0, 0.5]), np.diag([1.0, 0.0, 3.0]), np.ones(3)


class Known:
    """A regressor that knows a quadratic function, or is given a wrong linear one."""

    def __init__(self, right):
        self.right = right

    def predict(self, X):
        if self.right:
            return X @ SLOPES + np.einsum("ij,jk,ik->i", X, CURVATURE, X) / 2
        return X @ WRONG + 7.0

    def gradient(self, X):
        gradient = SLOPES + X @ CURVATURE if self.right else np.broadcast_to(WRONG, X.shape)
        return gradient[:, :, None]


@pytest.mark.parametrize(
    ("score_factor", "right_fit", "expected"),
    [
        (1.0, True, SLOPES),
        (1.0, False, SLOPES),
        (3.0, True, SLOPES),
        (3.0, False, 3 * SLOPES - 2 * WRONG),
    ],
)
def test_one_of_score_and_fit_must_be_right(stein_points, score_factor, right_fit, expected):
    X = stein_points
    Y = Known(right=True).predict(X)[:, None]
    gradients, C = AugmentedMoment(Known(right_fit)).parts(X, Y)
    moment = (gradients + score_factor * X.T @ C) / len(X)
    np.testing.assert_allclose(moment[:, 0], expected, atol=1e-12)


def test_weighted_moment_is_the_mean_of_weight_times_gradient():
    """Normal x, an even link (b'x)^2 and a wrong fit; E{w grad f} in closed form."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200_000, 3))
    b, u, v = np.array([1.0, 1.0, 0.0]) / np.sqrt(2), np.array([0.5, 0.0, 2.0]), np.eye(3)[0]

    def weights(Z):
        values = np.column_stack([np.ones(len(Z)), Z @ u, np.sin(Z @ v)])
        slopes = np.column_stack([np.zeros(len(Z)), np.ones(len(Z)), np.cos(Z @ v)])
        return values, slopes[:, None, :] * np.column_stack([v, u, v])

    Y = ((X @ b) ** 2)[:, None] + rng.standard_normal((len(X), 1))
    gradients, C = AugmentedMoment(Known(right=False), weights).parts(X, Y)
    terms = X[:, :, None] * C[:, None, :]
    error = terms.std(axis=0) / np.sqrt(len(X))
    expected = np.column_stack([0 * b, 2 * (u @ b) * b, 2 * np.exp(-0.5) * (v @ b) * b])
    assert np.all(np.abs(gradients / len(X) + terms.mean(axis=0) - expected) < 6 * error)


@pytest.mark.parametrize("kind", ["none", "kernel", "fourier", "efficient"])
def test_sum_of_gradients_is_the_derivative_of_the_rest(kind):
    """G = -sum_i dC_i/dx at fixed y: both parts of the moment come from w (y - f)."""
    rng = np.random.default_rng(2)
    X, Y = rng.standard_normal((40, 3)), rng.standard_normal((40, 2))
    directions = np.linalg.qr(rng.standard_normal((3, 2)))[0]
    link = KernelLink().fit(X, Y)
    moment = {
        "none": AugmentedMoment(None),
        "kernel": AugmentedMoment(link),
        "fourier": AugmentedMoment(link, fourier_weights(X, directions)),
        "efficient": EfficientMoment(directions, X, Y),
    }[kind]
    step = 1e-5
    slopes = [
        (moment.parts(X + s, Y)[1] - moment.parts(X - s, Y)[1]).sum(axis=0) / (2 * step)
        for s in step * np.eye(3)
    ]
    np.testing.assert_allclose(moment.parts(X, Y)[0], -np.array(slopes), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("config", ["sup", "split", "full"])
def test_the_papers_mode_is_score_moment_and_singular_vectors_to_the_last_bit(config):
    data = simulate("lognormal", 60, p=5, n_unlabeled=40, seed=3)
    train = {
        "sup": data.X,
        "split": data.X_unlabeled,
        "full": np.vstack([data.X, data.X_unlabeled]),
    }[config]
    score = TikhonovScore().fit(train)
    S = score.evaluate(data.X) if config == "split" else score.train_scores_[:60]
    M = cross_moment(S, data.Y)
    sdr = SteinSDR.paper(2, config=config).fit(data.X, data.Y, data.X_unlabeled)
    np.testing.assert_array_equal(sdr.cross_moment_, M)
    U = np.linalg.svd(M, full_matrices=False)[0][:, :2]
    np.testing.assert_array_equal(np.abs(sdr.components_), np.abs(U.T))


# What must not matter.


def indices(sdr, X):
    """Orthonormal basis of the estimated indices of centred rows: what units do not change."""
    return np.linalg.qr(sdr.transform(X - X.mean(axis=0)))[0]


def angle(a, b):
    """Sine of the largest angle between two subspaces given by orthonormal columns."""
    return float(np.linalg.norm(b - a @ (a.T @ b), ord=2))


@pytest.fixture(scope="module")
def three():
    """Three responses of three indices, with unit covariance of x in the sample."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((150, 5))
    X = (X - X.mean(axis=0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(X.T, bias=True))).T
    links = np.column_stack([X[:, 0], np.sin(X[:, 1]), X[:, 2] + X[:, 2] ** 2 / 4])
    return X, links + 0.3 * rng.standard_normal((150, 3))


def test_efficient_weights_take_no_notice_of_the_units_of_single_responses(three, monkeypatch):
    monkeypatch.setattr("steinsdr.moments._LINK_WIDTHS", (1.0,))  # their choice is in these units
    X, Y = three
    units = np.array([1.0, 100.0, 0.01])
    directions = np.eye(5)[:, :3]
    moments = []
    for responses in (Y, units * Y):
        moment = EfficientMoment(directions, X, responses)
        gradients, C = moment.parts(X, responses)
        moments.append(gradients + X.T @ C)
    # Up to one factor, because precisions are relative to the best response's.
    ratio = moments[0] / moments[1]
    np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-6)


# What first moments do not show.


def test_one_response_shows_two_directions_of_even_links():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((300, 5))
    y = X[:, 0] ** 2 + np.cos(2 * X[:, 1]) + 0.2 * rng.standard_normal(300)
    sdr = SteinSDR(2).fit(X, y)
    assert procrustes_distance(sdr.components_.T, np.eye(5)[:, :2]) < 0.15
    assert isinstance(sdr.link_, KernelLink)
    blind = SteinSDR(1, augment=None, weights=None).fit(X, y)
    assert procrustes_distance(blind.components_.T, np.eye(5)[:, :1]) > 0.3


def test_fit_is_linear_unless_the_kernel_is_clearly_better(three):
    X, _ = three
    noise = 0.5 * np.random.default_rng(0).standard_normal((len(X), 1))
    assert not isinstance(fit_link("auto", X, X[:, :1] + noise), KernelLink)
    assert isinstance(fit_link("auto", X, X[:, :1] ** 2 + noise), KernelLink)


# Groups.


@pytest.fixture(scope="module")
def grouped():
    rng = np.random.default_rng(6)
    X, groups = rng.standard_normal((200, 4)), np.repeat(["a", "b", "c", "d"], 50)
    Y = X[:, :2] + 0.3 * rng.standard_normal((200, 2))
    return X, Y, groups


@pytest.mark.parametrize("separate", [False, True])
def test_means_of_groups_do_not_matter(grouped, separate):
    X, Y, groups = grouped
    codes = np.unique(groups, return_inverse=True)[1]
    shifts = np.random.default_rng(0).standard_normal((4, 4)) * 10
    plain, moved = (
        SteinSDR(2, separate=separate).fit(A, B, groups=groups)
        for A, B in ((X, Y), (X + shifts[codes], Y + 5 * shifts[codes, :2]))
    )
    np.testing.assert_allclose(moved.components_, plain.components_, atol=1e-8)


def test_separate_scores_are_those_of_each_group(grouped):
    X, Y, groups = grouped
    wide = groups == "b"
    X = X * np.where(wide, 3.0, 1.0)[:, None]
    sdr = SteinSDR(2, separate=True, score_estimator=GaussianScore(), scale="sd")
    sdr.fit(X, Y, groups=groups)
    for name in "abcd":
        rows = X[groups == name]
        Z = sdr.coordinates_.map(rows - rows.mean(axis=0))
        np.testing.assert_allclose(sdr.scores_[groups == name], GaussianScore().fit(Z).evaluate(Z))
    shared = SteinSDR(2, score_estimator=GaussianScore(), scale="sd").fit(X, Y, groups=groups)
    assert isinstance(shared.score_estimator_, GaussianScore), "12 rows a column are too few"


# Principal components.


def factor_data(n, p, rng):
    """Three factors in all columns; the first two are the responses."""
    factors = rng.standard_normal((n, 3))
    X = factors @ rng.standard_normal((3, p)) + rng.standard_normal((n, p))
    return X, factors[:, :2] + 0.1 * rng.standard_normal((n, 2)), factors[:, :2]


def test_wide_data_need_no_square_matrix():
    X, Y, factors = factor_data(60, 20_000, np.random.default_rng(7))
    tracemalloc.start()
    sdr = SteinSDR(2).fit(X, Y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * X.nbytes, "a p x p matrix takes 333 times the data"
    assert sdr.components_.shape == (2, 20_000)
    assert sdr.coordinates_.basis.shape[1] < 30
    centred = factors - factors.mean(axis=0)
    assert angle(indices(sdr, X), np.linalg.qr(centred)[0]) < 0.3


def test_components_are_taken_if_columns_are_strongly_correlated_only():
    rng = np.random.default_rng(8)
    X, Y, _ = factor_data(100, 30, rng)
    taken = SteinSDR(2).fit(X, Y)
    assert taken.coordinates_.basis.shape == (30, taken.cross_moment_.shape[0])
    assert "principal components" in taken.summary()
    spread = np.linalg.qr(taken.loadings_)[0]
    assert angle(taken.coordinates_.basis, spread) < 1e-10, "in the original columns"
    assert SteinSDR(2).fit(rng.standard_normal((100, 30)), Y).coordinates_.basis is None
    assert SteinSDR(2, pca=None).fit(X, Y).coordinates_.basis is None


# What the fit tells.


def test_summary_shows_directions_and_loadings(three):
    X, Y = three
    frame = pd.DataFrame(X, columns=[f"gene{j}" for j in range(5)])
    sdr = SteinSDR(random_state=0).fit(frame, Y)
    lines = [line.split() for line in sdr.summary(n_loadings=2, level=0.9).splitlines()]
    start = lines.index(["direction", "singular", "value", "p-value", "share"])
    table = lines[start + 1 : start + 4]
    assert [float(row[1]) for row in table] == pytest.approx(sdr.singular_values_[:3], rel=1e-3)
    assert sum(float(row[3].rstrip("%")) for row in table) == pytest.approx(100, abs=0.2)
    rows = lines[lines.index(["largest", "loadings,", "with", "90%", "intervals"]) + 1 :]
    assert len(rows) == 3 * 2
    _, name, *numbers = rows[0]
    j = int(np.abs(sdr.loadings_[:, 0]).argmax())
    half = 1.645 * sdr.loading_errors_[j, 0]
    expected = sdr.loadings_[j, 0] + np.array([0, -half, half])
    assert name == f"gene{j}"
    assert [float(number.strip("[,]")) for number in numbers] == pytest.approx(expected, abs=1e-3)


def test_standard_errors_are_those_of_the_bootstrap():
    rng = np.random.default_rng(9)
    X = rng.standard_normal((400, 5))
    Y = X[:, :2] + np.column_stack([np.sin(X[:, 0]), 0 * X[:, 0]]) + rng.standard_normal((400, 2))
    sdr = SteinSDR(2, score_estimator=GaussianScore(), augment="ridge", weights=None).fit(X, Y)
    moved = []
    for _ in range(100):
        rows = rng.integers(400, size=400)
        again = clone(sdr).fit(X[rows], Y[rows]).loadings_
        # Rotations within the subspace are no error: compare with the nearest basis.
        moved.append(again @ np.linalg.pinv(sdr.loadings_.T @ again) - sdr.loadings_)
    bootstrap = np.sqrt(np.mean(np.square(moved), axis=(0, 2)))
    errors = np.sqrt(np.mean(np.square(sdr.loading_errors_), axis=1))
    np.testing.assert_allclose(errors[2:], bootstrap[2:], rtol=0.3)
    assert sdr.subspace_error_ == pytest.approx(np.sqrt(2 * np.sum(errors**2)))


@pytest.mark.parametrize("right", [True, False])
def test_errors_with_a_linear_score_are_those_of_least_squares(right):
    """Without a penalty every linear score, right or wrong, gives the least squares estimate."""
    rng = np.random.default_rng(10)
    Z = rng.standard_normal((60, 4)) @ rng.standard_normal((4, 4))
    Z -= Z.mean(axis=0)
    y = Z @ [1.0, 2.0, 0.0, -1.0] + rng.standard_normal(60) * (1 + Z[:, 0] ** 2)
    S = Z @ (np.linalg.inv(Z.T @ Z / 60) if right else rng.standard_normal((4, 4)))
    hat = np.linalg.solve(Z.T @ Z, Z.T)
    b = hat @ (y - y.mean())
    residuals = y - y.mean() - Z @ b
    size, U = np.linalg.norm(b), (b / np.linalg.norm(b))[:, None]
    leverage = np.sum(Z.T * hat, axis=0) + 1 / 60
    hc2 = hat * (residuals / np.sqrt(1 - leverage)) / size
    sines = np.sum((hc2 - U @ (U.T @ hc2)) ** 2, axis=1)
    short = 1 - np.sqrt(1 - sines.sum())
    terms = RidgeTerms(S, Z, residuals[:, None], np.array([1e-9]), U, np.array([[1 / size]]))
    np.testing.assert_allclose(
        terms.errors(U, 60)[:, 0], np.sqrt(sines + (short * U[:, 0]) ** 2), rtol=1e-6
    )


@pytest.mark.slow
@pytest.mark.parametrize("law", ["isotropic", "ar1"])
def test_intervals_cover_on_the_papers_designs(law):
    """Shares on fresh data sets were 93 to 95 percent; the standard error of six is 0.7."""
    hits = []
    for seed in range(500, 506):
        data = simulate(law, 300, seed=seed)
        sdr = SteinSDR(3).fit(data.X, data.Y)
        truth = np.linalg.qr(data.B * sdr.coordinates_.unit[:, None])[0]
        U, _, Vt = np.linalg.svd(truth.T @ sdr.loadings_)
        hits.append(np.abs(sdr.loadings_ - truth @ U @ Vt) < 1.96 * sdr.loading_errors_)
    assert np.mean(hits) == pytest.approx(0.95, abs=0.03)


def test_directions_survive_units_far_apart():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    y = X[:, 0] + X[:, 1] + 0.2 * rng.standard_normal(200)
    units = np.array([1e50, 1.0, 1.0, 1.0])
    plain, scaled = SteinSDR(1).fit(X, y), SteinSDR(1).fit(X * units, y)
    indices = plain.transform(X)[:, 0], scaled.transform(X * units)[:, 0]
    assert abs(np.corrcoef(*indices)[0, 1]) > 1 - 1e-8


def test_a_generalized_linear_model_is_not_taken_for_a_linear_one():
    rng = np.random.default_rng(0)
    X = 0.3 * rng.standard_normal((200, 2))
    link = fit_link(TweedieRegressor(power=0, link="log", alpha=0), X, np.exp(X[:, :1]))
    expected = np.exp(X[:, 0])
    np.testing.assert_allclose(link_gradients(link, X, 1)[:, 0, 0], expected, rtol=0.02)


def test_own_weights_are_functions_of_the_raw_columns(three):
    X, Y = three
    seen = []

    def one(points):
        seen.append(points)
        return np.ones((len(points), 1)), np.zeros((*points.shape, 1))

    SteinSDR(2, weights=one, pca=None).fit(X, Y)
    np.testing.assert_allclose(seen[0], X, atol=1e-12)
    with pytest.raises(ValueError, match="weights is a function of the raw columns, but pca=4"):
        SteinSDR(2, weights=one, pca=4).fit(X, Y)
