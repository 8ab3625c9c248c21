"""TikhonovScoreCV: the objective against finite differences, the choice against the truth."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from steinsdr import SteinSDR
from steinsdr.moments import stein_diagnostics
from steinsdr.scores import DenoisingScore, TikhonovScore, TikhonovScoreCV
from steinsdr.scores.tikhonov import default_lams, field_divergence, held_out_objective
from steinsdr.subspace import procrustes_distance


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


def test_divergence_is_the_same_in_one_tile_and_in_many(rng, monkeypatch):
    points, centers = rng.standard_normal((70, 3)), rng.standard_normal((40, 3))
    C = rng.standard_normal((2, 40, 3))
    whole = field_divergence(points, centers, 1.5, C)
    monkeypatch.setattr("steinsdr.scores.tikhonov.TILE_ENTRIES", 1)
    np.testing.assert_allclose(field_divergence(points, centers, 1.5, C), whole)


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
    assert score.lams_[0] < default_lams(4)[0]
    assert score.lam_ < default_lams(4)[1]
    np.testing.assert_allclose(np.diff(np.log10(score.lams_)), 0.5)


def test_is_a_tikhonov_score_with_the_chosen_lambda(rng):
    X, new = rng.standard_normal((120, 3)), rng.standard_normal((10, 3))
    cv = TikhonovScoreCV(estimator=TikhonovScore(width=2.0, tol=1e-8)).fit(X)
    plain = TikhonovScore(lam=cv.lam_, width=2.0, tol=1e-8).fit(X)
    np.testing.assert_array_equal(cv.train_scores_, plain.train_scores_)
    np.testing.assert_array_equal(cv.evaluate(new), plain.evaluate(new))
    assert cv.objective_.shape == cv.standard_error_.shape == cv.lams_.shape
    assert cv.standard_error_[cv.lams_ == cv.lam_] == 0
    again = clone(cv).fit(X)
    assert again.lam_ == cv.lam_
    np.testing.assert_array_equal(again.objective_, cv.objective_)


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


def test_many_rows_are_tuned_on_some(rng):
    X = rng.standard_normal((400, 3))
    few = TikhonovScoreCV(max_rows=100).fit(X)
    assert few.train_scores_.shape == X.shape
    assert few.objective_ != pytest.approx(TikhonovScoreCV().fit(X).objective_)


def test_serves_steinsdr_with_few_columns(rng):
    X = rng.standard_normal((300, 3))
    Y = X[:, :1] + 0.3 * X[:, :1] ** 3 + 0.5 * rng.standard_normal((300, 1))
    truth = np.eye(3)[:, :1]
    tuned = SteinSDR(1, score=TikhonovScoreCV()).fit(X, Y)
    assert procrustes_distance(tuned.components_.T, truth) < 0.15
    diagnostics = stein_diagnostics(tuned.scores_, X)
    assert 0.6 < diagnostics.slope < 1.0  # shrunk, as a regularized score is
    assert np.abs(diagnostics.identity - diagnostics.slope * np.eye(3)).max() < 0.15


@pytest.mark.parametrize(
    ("arguments", "X", "words"),
    [
        ({"lams": "many"}, None, "lams must be 'auto'"),
        ({"lams": [1e-3, -1.0]}, None, "lams must be a positive finite number"),
        (
            {"estimator": DenoisingScore()},
            None,
            "estimator must be a TikhonovScore or None; got Den",
        ),
        ({"estimator": TikhonovScore}, None, "estimator must be a TikhonovScore or None"),
        ({"cv": 1}, None, "cv must be an integer at least 2"),
        ({"max_rows": 2}, None, "max_rows must be an integer at least 4"),
        ({}, np.repeat([[0.0, 1.0], [1.0, 0.0], [2.0, 5.0]], 9, axis=0), "3 distinct row"),
        ({}, np.column_stack([np.ones(20), np.arange(20.0)]), "constant column"),
    ],
)
def test_wrong_requests(rng, arguments, X, words):
    X = rng.standard_normal((30, 2)) if X is None else X
    with pytest.raises(ValueError, match=words):
        TikhonovScoreCV(**arguments).fit(X)


def test_a_column_that_varies_in_one_fold_only_is_named(rng):
    X = rng.standard_normal((60, 3))
    X[:, 1] = 0.0
    X[7, 1] = 1.0
    message = r"X: 1 column\(s\) \(1\) vary in the rows of one fold only"
    with pytest.raises(ValueError, match=message):
        TikhonovScoreCV().fit(X)
    with pytest.raises(ValueError, match=r"\(gene\) vary in the rows of one fold only"):
        TikhonovScoreCV().fit(pd.DataFrame(X, columns=["a", "gene", "b"]))
    assert np.isfinite(TikhonovScore().fit(X).train_scores_).all()  # as the message advises
