"""TikhonovScore and its choice of lambda: the authors' code, the truth, its path, its limits."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from steinsdr.scores import (
    TikhonovScore,
    TikhonovScoreCV,
)
from steinsdr.scores.tikhonov import KrylovBasis, held_out_objective

KSCORE = sorted((Path(__file__).parent / "data" / "kscore").glob("*.npz"))


def relative(a, b):
    return np.abs(a - b).max() / np.abs(b).max()


@pytest.mark.parametrize("path", KSCORE or [None], ids=str)
def test_matches_kscore(path):
    assert len(KSCORE) == 6
    reference = np.load(path)
    score = TikhonovScore(
        lam=float(reference["lam"]), standardize=False, tol=1e-12, max_iter=5000
    ).fit(reference["X"])
    assert score.width_ == pytest.approx(float(reference["width"]), rel=1e-12)
    assert relative(-score.train_scores_, reference["grad_train"]) < 1e-8
    assert relative(-score.evaluate(reference["X_new"]), reference["grad_new"]) < 1e-8


@pytest.fixture
def gaussian(rng):
    return rng.standard_normal((400, 6)) @ np.diag([1.0, 2, 3, 0.1, 10, 1]) + 5.0


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


def test_coordinates_survive_an_eigenvalue_that_rounding_made_negative():
    basis = KrylovBasis([], [1.0, 1.0], [1.0 + 1e-6, 0.1], norm=1.0, eps=1e-7)
    T = np.array([[1.0, 1.0 + 1e-6], [1.0 + 1e-6, 1.0]]) + 1e-9 * np.eye(2)
    expected = np.linalg.solve(T, [1.0, 0.0])  # of condition 2e6
    np.testing.assert_allclose(basis.coordinates(1e-9), expected, rtol=1e-8)
    alone = KrylovBasis([], [2.0], [0.1], norm=3.0, eps=1e-7)  # a basis of one vector
    np.testing.assert_allclose(alone.coordinates(1.0), [1.0])


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


def test_float32_agrees_to_its_stated_accuracy_or_warns(rng):
    X = rng.standard_normal((300, 30))
    double, single = TikhonovScore().fit(X), TikhonovScore(dtype="float32").fit(X)
    assert relative(single.train_scores_, double.train_scores_) < 1e-4
    assert relative(single.evaluate(X[:9]), double.evaluate(X[:9])) < 1e-3
    with pytest.warns(ConvergenceWarning, match="float64"):
        TikhonovScore(lam=1e-7, dtype="float32").fit(X[:200, :3])


def test_too_few_iterations_warn(gaussian):
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        TikhonovScore(max_iter=2).fit(gaussian)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TikhonovScore().fit(gaussian)


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


def test_a_path_and_new_parameters_leave_a_fit_as_it_is(rng):
    X = rng.standard_normal((80, 3))
    score = TikhonovScore(lam=1e-3).fit(X)
    before = score.evaluate(X)
    score.path(10 * X + 3, [1e-2])
    score.set_params(lam=1.0)
    assert np.array_equal(score.evaluate(X), before)


@pytest.mark.parametrize("p", [2, 3, 4, 7])
def test_objective_is_score_and_divergence_by_finite_differences(rng, p):
    X = rng.standard_normal((160, p)) * np.arange(1, p + 1) + 3.0
    train, test = X[:120], X[120:]
    lams = np.array([1e-3, 1e-1])
    objective = held_out_objective(TikhonovScore(tol=1e-10), train, test, lams)
    for lam, values in zip(lams, objective, strict=True):
        score = TikhonovScore(lam=lam, tol=1e-10).fit(train)
        sd, h = train.std(axis=0), 1e-4
        divergence = np.zeros(len(test))
        for j in range(p):
            step = np.eye(p)[j] * h * sd[j]
            change = score.evaluate(test + step) - score.evaluate(test - step)
            divergence += change[:, j] * sd[j] / (2 * h)
        expected = np.square(score.evaluate(test) * sd).sum(axis=1) / 2 - divergence
        # Central differences err by h^2 times third derivatives, and rounding by eps/h.
        np.testing.assert_allclose(values, expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("p", [3, 10, 100])
def test_choice_is_near_the_best_of_the_grid_on_gaussian_data(rng, p):
    X, new = rng.standard_normal((250, p)), rng.standard_normal((500, p))
    score = TikhonovScoreCV().fit(X)
    path = TikhonovScore().path(X, score.lams_)
    here = np.sqrt(np.mean((path.scores - X) ** 2, axis=(1, 2)))
    fits = [TikhonovScore(lam=lam).fit(X).evaluate(new) for lam in score.lams_]
    there = np.sqrt([np.mean((fit - new) ** 2) for fit in fits])
    chosen = score.lams_ == score.lam_
    # Chosen for new points. At the training points a step of the grid costs up to a fifth.
    assert there[chosen] <= 1.05 * there.min()
    assert here[chosen] <= 1.3 * here.min()
    if p == 3:  # where the default of TikhonovScore is far too small
        default = np.sqrt(np.mean((TikhonovScore().fit(X).evaluate(new) - new) ** 2))
        assert there[chosen] < 0.6 * default


def test_collinear_columns_take_the_grid_further_down(rng):
    X = rng.standard_normal((200, 4))
    X[:, 3] = X[:, 0] + 0.05 * rng.standard_normal(200)
    score = TikhonovScoreCV().fit(X)
    assert score.lams_[0] < 1e-3 / 4 * 0.9
    assert score.lam_ < 3e-3 / 4
    np.testing.assert_allclose(np.diff(np.log10(score.lams_)), 0.5)


def test_choice_is_a_tikhonov_score_with_the_chosen_lambda(rng):
    X, new = rng.standard_normal((120, 3)), rng.standard_normal((10, 3))
    cv = TikhonovScoreCV(estimator=TikhonovScore(width=2.0, tol=1e-8)).fit(X)
    plain = TikhonovScore(lam=cv.lam_, width=2.0, tol=1e-8).fit(X)
    np.testing.assert_array_equal(cv.train_scores_, plain.train_scores_)
    np.testing.assert_array_equal(cv.evaluate(new), plain.evaluate(new))
    assert cv.objective_.shape == cv.lams_.shape
    np.testing.assert_array_equal(clone(cv).fit(X).objective_, cv.objective_)


def test_edge_of_a_given_grid_is_reported(rng):
    X = rng.standard_normal((100, 3))
    inside = TikhonovScoreCV([1e-4, 1e-2, 1e2]).fit(X)
    assert (inside.lam_, inside.at_edge_) == (1e-2, False)
    outside = TikhonovScoreCV([1e-4, 1e-5]).fit(X)
    assert (outside.lam_, outside.at_edge_) == (1e-4, True)
    assert not TikhonovScoreCV([1e-5]).fit(X).at_edge_


def test_equal_rows_stay_in_one_fold(rng):
    X = rng.standard_normal((150, 3))
    alone = TikhonovScoreCV().fit(X)
    tripled = TikhonovScoreCV().fit(np.repeat(X, 3, axis=0))
    # Rows that sat on both sides of a fold would make the smallest lambda win.
    assert 0.1 * alone.lam_ < tripled.lam_ < 10 * alone.lam_


def test_many_rows_are_tuned_on_some(rng, monkeypatch):
    X = rng.standard_normal((400, 3))
    whole = TikhonovScoreCV().fit(X)
    monkeypatch.setattr("steinsdr.scores.tikhonov._CV_ROWS", 100)
    few = TikhonovScoreCV().fit(X)
    assert few.train_scores_.shape == X.shape
    assert few.objective_ != pytest.approx(whole.objective_)
