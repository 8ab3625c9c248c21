"""TikhonovScore: the authors' code, the truth, its own path, its limits."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from steinsdr.moments import stein_diagnostics
from steinsdr.scores import TikhonovScore
from steinsdr.scores.tikhonov import KrylovBasis

KSCORE = sorted((Path(__file__).parent / "data" / "kscore").glob("*.npz"))


def relative(a, b):
    return np.abs(a - b).max() / np.abs(b).max()


def test_reference_files_are_there():
    assert len(KSCORE) == 6


@pytest.mark.parametrize("device", [None, "cpu"])
@pytest.mark.parametrize("path", KSCORE, ids=lambda path: path.stem)
def test_matches_kscore(path, device):
    reference = np.load(path)
    score = TikhonovScore(
        lam=float(reference["lam"]), standardize=False, tol=1e-12, max_iter=5000, device=device
    ).fit(reference["X"])
    assert score.width_ == pytest.approx(float(reference["width"]), rel=1e-12)
    assert relative(-score.train_scores_, reference["grad_train"]) < 1e-8
    assert relative(-score.evaluate(reference["X_new"]), reference["grad_new"]) < 1e-8
    ours, theirs = score.log_density(reference["X_new"]), reference["log_density_new"].ravel()
    assert np.ptp(ours - theirs) / np.ptp(theirs) < 1e-8


@pytest.fixture
def gaussian(rng):
    return rng.standard_normal((400, 6)) @ np.diag([1.0, 2, 3, 0.1, 10, 1]) + 5.0


def test_recovers_a_gaussian_score(gaussian):
    score = TikhonovScore(lam=1e-3).fit(gaussian)
    truth = (gaussian - 5.0) / np.array([1.0, 2, 3, 0.1, 10, 1]) ** 2
    error = (score.train_scores_ - truth) * np.array([1.0, 2, 3, 0.1, 10, 1])
    assert np.sqrt(np.mean(error**2)) < 0.4  # the score itself has size 1 in these units
    assert stein_diagnostics(score.train_scores_, gaussian).slope == pytest.approx(0.9, abs=0.05)


def test_training_scores_are_the_evaluation_there(gaussian):
    score = TikhonovScore(tol=1e-9).fit(gaussian)
    assert relative(score.evaluate(gaussian), score.train_scores_) < 1e-7


def test_log_density_is_the_potential_of_the_score(gaussian, rng):
    score = TikhonovScore().fit(gaussian)
    x = gaussian[:5]
    h = 1e-5 * gaussian.std(axis=0)
    for j in range(x.shape[1]):
        step = np.eye(x.shape[1])[j] * h[j]
        slope = (score.log_density(x + step) - score.log_density(x - step)) / (2 * h[j])
        np.testing.assert_allclose(-slope, score.evaluate(x)[:, j], rtol=1e-4, atol=1e-6)


def test_residual_bounds_the_true_error(gaussian):
    exact = TikhonovScore(tol=1e-11).fit(gaussian).train_scores_ * gaussian.std(axis=0)
    for tol in (1e-1, 1e-3, 1e-5):
        score = TikhonovScore(tol=tol).fit(gaussian)
        error = np.linalg.norm(score.train_scores_ * gaussian.std(axis=0) - exact)
        assert error / np.linalg.norm(exact) <= score.residual_ * 1.01 <= tol * 1.01


def test_path_equals_separate_fits(gaussian):
    lams = [1e-2, 1e-4, 1e-6]
    path = TikhonovScore(tol=1e-7).path(gaussian, lams)
    assert path.scores.shape == (3, *gaussian.shape)
    for lam, scores in zip(lams, path.scores, strict=True):
        assert relative(scores, TikhonovScore(lam, tol=1e-7).fit(gaussian).train_scores_) < 1e-5
    assert path.n_iter <= TikhonovScore(1e-6, tol=1e-7).fit(gaussian).n_iter_ + 1
    assert (path.residuals <= 1e-7).all()


@pytest.mark.parametrize("k", [1, 2, 30])
@pytest.mark.parametrize("shift", [1e-6, 1.0])
def test_coordinates_solve_the_tridiagonal_system(rng, k, shift):
    # A tridiagonal matrix B^T B with B bidiagonal is positive, as that of a kernel.
    B = np.diag(rng.uniform(0.5, 1, k)) + np.diag(rng.uniform(0, 0.5, k - 1), 1)
    T = B.T @ B
    basis = KrylovBasis([], list(np.diag(T)), [*np.diag(T, 1), 0.3], norm=2.5, eps=1e-16)
    expected = np.linalg.solve(T + shift * np.eye(k), 2.5 * np.eye(k)[0])
    np.testing.assert_allclose(basis.coordinates(shift), expected, rtol=1e-9, atol=1e-12)


def test_coordinates_survive_an_eigenvalue_that_rounding_made_negative():
    basis = KrylovBasis([], [1.0, 1.0], [1.0 + 1e-6, 0.1], norm=1.0, eps=1e-7)
    T = np.array([[1.0, 1.0 + 1e-6], [1.0 + 1e-6, 1.0]]) + 1e-9 * np.eye(2)
    expected = np.linalg.solve(T, [1.0, 0.0])  # of condition 2e6
    np.testing.assert_allclose(basis.coordinates(1e-9), expected, rtol=1e-8)


@pytest.mark.parametrize(("shift", "width"), [(1e6, 2.0), (1e8, "median")])
def test_raw_columns_may_have_any_offset(rng, shift, width):
    X = rng.standard_normal((100, 3))
    here, there = (
        TikhonovScore(lam=1e-2, standardize=False, width=width).fit(Z) for Z in (X, X + shift)
    )
    # X + shift holds X to the rounding of the shift, which lambda amplifies.
    accuracy = 1e3 * np.finfo(float).eps * shift
    assert relative(there.train_scores_, here.train_scores_) < accuracy
    assert relative(there.evaluate(X + shift), here.evaluate(X)) < accuracy


def test_tiled_and_stored_kernels_agree(gaussian):
    stored = TikhonovScore().fit(gaussian)
    tiled = TikhonovScore(memory_limit=1.0).fit(gaussian)
    assert relative(tiled.train_scores_, stored.train_scores_) < 1e-10


def test_float32_agrees_to_its_stated_accuracy(rng):
    X = rng.standard_normal((300, 30))
    double, single = TikhonovScore().fit(X), TikhonovScore(dtype="float32").fit(X)
    assert relative(single.train_scores_, double.train_scores_) < 1e-4
    assert relative(single.evaluate(X[:9]), double.evaluate(X[:9])) < 1e-3


def test_float32_says_when_it_cannot(rng):
    with pytest.warns(ConvergenceWarning, match="float64"):
        TikhonovScore(lam=1e-7, dtype="float32").fit(rng.standard_normal((200, 3)))


def test_too_few_iterations_warn(gaussian):
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        TikhonovScore(max_iter=2).fit(gaussian)


def test_nystrom_warns_of_a_change_not_of_an_error(gaussian):
    with pytest.warns(ConvergenceWarning, match="last step still changed .* many times that"):
        score = TikhonovScore(max_iter=20, n_centers=200, random_state=0).fit(gaussian)
    scale = gaussian.std(axis=0)
    exact = TikhonovScore(max_iter=20_000, n_centers=200, random_state=0).fit(gaussian)
    error = np.linalg.norm((score.train_scores_ - exact.train_scores_) * scale)
    assert error / np.linalg.norm(exact.train_scores_ * scale) > score.residual_


def test_nystrom_with_all_points_is_exact(gaussian):
    exact = TikhonovScore(lam=1e-2, tol=1e-8).fit(gaussian)
    nystrom = TikhonovScore(lam=1e-2, n_centers=len(gaussian)).fit(gaussian)
    scale = gaussian.std(axis=0)
    assert relative(nystrom.train_scores_ * scale, exact.train_scores_ * scale) < 0.02
    assert relative(nystrom.evaluate(gaussian), nystrom.train_scores_) < 1e-6


def test_nystrom_with_few_centres_estimates_as_well(rng):
    X = rng.standard_normal((1500, 60))
    exact = TikhonovScore().fit(X)
    few = TikhonovScore(n_centers=300, random_state=0).fit(X)
    errors = [np.linalg.norm(s.train_scores_ - X) / np.linalg.norm(X) for s in (exact, few)]
    assert errors[1] < 1.1 * errors[0]
    assert few.centers_.shape == (300, 60)
    again = TikhonovScore(n_centers=300, random_state=0).fit(X)
    np.testing.assert_array_equal(again.train_scores_, few.train_scores_)


def test_one_feature_works(rng):
    X = rng.standard_normal((1000, 1))
    scores = TikhonovScore(lam=0.1).fit(X).train_scores_
    assert np.corrcoef(scores[:, 0], X[:, 0])[0, 1] > 0.8


def test_duplicated_rows_give_finite_scores(rng):
    X = np.repeat(rng.standard_normal((60, 4)), 2, axis=0)
    assert np.isfinite(TikhonovScore().fit(X).train_scores_).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lam": 0}, "lam must be a positive"),
        ({"lam": -1e-4}, "lam must be a positive"),
        ({"lam": np.nan}, "lam must be a positive"),
        ({"lam": "small"}, "lam must be a positive"),
        ({"width": 0.0}, "width must be a positive"),
        ({"width": "mean"}, "width must be a positive"),
        ({"tol": 0}, "tol must be a positive"),
        ({"max_iter": 0}, "max_iter must be an integer at least 1"),
        ({"dtype": "float16"}, "dtype must be one of"),
        ({"n_centers": 0}, "n_centers must be an integer between 1 and 30"),
        ({"n_centers": 31}, "n_centers must be an integer between 1 and 30"),
    ],
)
def test_bad_parameters_are_named(rng, change, message):
    with pytest.raises(ValueError, match=message):
        TikhonovScore(**change).fit(rng.standard_normal((30, 2)))


def test_bad_data_are_named(rng):
    X = rng.standard_normal((30, 3))
    with pytest.raises(ValueError, match=r"constant column\(s\) \(1\)"):
        TikhonovScore().fit(np.c_[X[:, 0], np.full(30, 0.1), X[:, 1]])
    with pytest.raises(ValueError, match="NaN"):
        TikhonovScore().fit(np.where(X > 1, np.nan, X))
    with pytest.raises(ValueError, match="infinity"):
        TikhonovScore().fit(np.where(X > 1, np.inf, X))
    with pytest.raises(ValueError, match="minimum of 2"):
        TikhonovScore().fit(X[:1])
    with pytest.raises(ValueError, match="width='median' is zero"):
        TikhonovScore().fit(np.r_[np.zeros((29, 3)), np.ones((1, 3))])
    for unit, standardize in ((1e160, True), (1e-170, True), (1e160, False), (1e-170, False)):
        with pytest.raises(ValueError, match="X holds values too large or too small"):
            TikhonovScore(standardize=standardize).fit(unit * X)
    with pytest.raises(ValueError, match=r"kernel width is .*; rescale X"):
        TikhonovScore(standardize=False).fit(1e-110 * X)
    with pytest.raises(ValueError, match="3 features"):
        TikhonovScore().fit(X).evaluate(X[:, :2])
    with pytest.raises(NotFittedError):
        TikhonovScore().evaluate(X)
    with pytest.raises(ValueError, match="lams must be"):
        TikhonovScore().path(X, [1e-3, 0.0])


def test_a_fit_warns_of_nothing(rng):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TikhonovScore().fit(rng.standard_normal((100, 5)))


def test_a_path_and_new_parameters_leave_a_fit_as_it_is():
    X = np.random.default_rng(3).standard_normal((80, 3))
    score = TikhonovScore(lam=1e-3).fit(X)
    before, density = score.evaluate(X), score.log_density(X)
    score.path(10 * X + 3, [1e-2])
    score.set_params(lam=1.0)
    assert np.array_equal(score.evaluate(X), before)
    assert np.array_equal(score.log_density(X), density)
