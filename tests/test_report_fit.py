"""The report's fit: units, halves of the rows, the held-out comparison, what each table gets."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

from steinsdr import SteinSDR
from steinsdr.report import analyze, read_table
from steinsdr.report.fit import _OnIndices, by_prediction, compare, half_samples
from steinsdr.report.read import Units
from steinsdr.report.rules import METHODS


def simulated(rng, n=200):
    """Two responses of two indices, a + b and c, in five predictors; the last do nothing."""
    frame = pd.DataFrame(rng.standard_normal((n, 5)), columns=list("abcde"))
    first = (frame["a"] + frame["b"]) / np.sqrt(2)
    Y = np.column_stack([first, np.tanh(frame["c"])])
    frame[["y1", "y2"]] = Y + rng.standard_normal((n, 2)) * [0.25, 0.8]
    return frame


@pytest.fixture
def frame(rng):
    return simulated(rng)


def test_units_are_those_of_a_scaler_and_within_groups_of_one_for_each(rng):
    X = rng.standard_normal((40, 3)) * [1, 10, 100] + 5
    one = np.full(40, "")
    np.testing.assert_allclose(Units(X, one)(X, one), StandardScaler().fit_transform(X))
    groups = np.repeat(["a", "b"], 20)
    shifted = X + np.where(groups == "a", 50.0, 0.0)[:, None]
    Z = Units(shifted, groups)(shifted, groups)
    np.testing.assert_allclose([Z[:20].mean(0), Z[20:].mean(0)], 0.0, atol=1e-12)
    np.testing.assert_allclose(Z.std(axis=0), 1.0)
    constant = np.column_stack([X, groups == "a"])
    assert Units(constant, groups).varies.tolist() == [True] * 3 + [False]


def test_gaps_are_filled_by_the_medians_of_the_training_rows():
    X, one = np.array([[1.0], [2.0], [9.0], [np.nan]]), np.full(4, "")
    units = Units(X, one)
    assert units.medians == [2.0]
    assert units(np.array([[np.nan]]), one[:1]) == units(np.array([[2.0]]), one[:1])


def test_directions_are_those_of_the_default_estimator(frame):
    table = read_table(frame, "y1,y2")
    analysis = analyze(table, bootstrap=0, folds=2)
    Z, Y = (StandardScaler().fit_transform(part) for part in (table.X, table.Y))
    plain = SteinSDR(random_state=0).fit(Z, Y)
    np.testing.assert_allclose(analysis.sdr.loadings_, plain.loadings_, atol=1e-8)
    assert analysis.n_components == analysis.test.rank == 2
    top = analysis.loadings()["loading"].abs().groupby("predictor").max().nlargest(3)
    assert set(top.index) == set("abc")


def test_errors_from_halves_are_those_of_many_data_sets(rng):
    """Least squares has known errors: sigma / sqrt(n) for loadings across a linear index."""
    n, sigma = 400, 0.5
    Z = rng.standard_normal((n, 4))
    Y = Z[:, :1] + sigma * rng.standard_normal((n, 1))
    sdr = SteinSDR(1, random_state=0).fit(Z, Y)
    found = half_samples(sdr, Z, Y, Z[:0], n_samples=60)
    np.testing.assert_allclose(found.errors[1:, 0], sigma / np.sqrt(n), rtol=0.4)
    assert found.instability < 0.1
    again = half_samples(sdr, Z, Y, Z[:0], n_samples=60)
    np.testing.assert_array_equal(found.distances, again.distances)
    noise = rng.standard_normal((n, 1))
    wild = half_samples(SteinSDR(1, random_state=0).fit(Z, noise), Z, noise, Z[:0], n_samples=20)
    assert wild.instability > 0.4


def test_comparison_learns_nothing_from_the_held_out_rows(rng):
    # With as many predictors as half the rows, any leak would show as a positive R².
    frame = pd.DataFrame(rng.standard_normal((60, 32))).rename(columns=str)
    result = compare(SteinSDR(2, random_state=0), read_table(frame, ["30", "31"]))
    assert (result.mean_r2 < 0.05).all()
    assert (result.r2["mean"] == 0).all()
    assert result.dimensions == (2,) * 5


def test_comparison_matches_the_definition(frame):
    result = compare(SteinSDR(2, random_state=0), read_table(frame, "y1,y2"), folds=4, seed=1)
    gap, error = result.difference("SteinSDR", "mean")
    assert gap == pytest.approx(result.mean_r2["SteinSDR"])
    assert gap > 0.5 > 2 * error > 0
    assert result.rival == result.mean_r2[list(METHODS[1:])].idxmax()
    assert result.loss.shape == (200, 7)
    assert result.table().loc["SteinSDR", "minus SteinSDR"] == 0


def test_prediction_from_indices_takes_the_better_fit_for_each_response(rng):
    T = rng.standard_normal((900, 2)) * [1, 100]
    Y = np.column_stack([T[:, 1] / 100, np.cos(3 * T[:, 0])]) + 0.1 * rng.standard_normal((900, 2))
    model = _OnIndices().fit(T[:700], Y[:700])
    assert model.best_.tolist()[0] == 0 < model.best_[1]
    errors = np.mean((model.predict(T[700:]) - Y[700:]) ** 2, axis=0)
    assert errors.max() < 0.02
    rare = 1.0 * (np.arange(60) % 20 == 0)[:, None]  # shows no width for a kernel
    np.testing.assert_allclose(_OnIndices().fit(rare, rare).predict(rare), rare, atol=0.01)


def test_the_number_that_predicts_best_is_that_of_the_relation(rng):
    Z = rng.standard_normal((400, 5))
    Y = np.column_stack([Z[:, 0], np.tanh(Z[:, 1]), Z[:, 0] + Z[:, 1]])
    assert by_prediction(Z, Y + 0.3 * rng.standard_normal((400, 3)), seed=0) == 2


def test_a_relation_that_the_test_cannot_see_is_fitted_by_prediction(rng):
    frame = pd.DataFrame(rng.standard_normal((300, 4)), columns=list("abcd"))
    frame["y"] = np.cos(2 * frame["a"]) + 0.1 * rng.standard_normal(300)
    analysis = analyze(read_table(frame, "y"), bootstrap=0)
    assert analysis.number in ("prediction", "nonlinear")
    assert analysis.comparison.mean_r2["SteinSDR"] > 0.7
    assert analysis.verdict.level != "not usable"


def test_directions_within_groups(rng):
    frame = pd.DataFrame(rng.standard_normal((200, 4)), columns=list("abcd"))
    frame["kind"] = np.repeat(["x", "y"], 100)
    jump = np.where(frame["kind"] == "x", 20.0, 0.0)
    frame["a"] += jump  # a tells the groups apart, which differ in y; within them only b matters
    frame["y"] = 5 * jump + frame["b"] + 0.3 * rng.standard_normal(200)
    analysis = analyze(read_table(frame, "y", group="kind"), bootstrap=0)
    assert analysis.loadings()["loading"].abs().idxmax()[1] == "b"
    assert abs(analysis.sdr.loadings_[0, 0]) < 0.2
    assert "within 2 groups" in str(analysis.verdict)


@pytest.mark.parametrize("config", ["sup", "full", "split"])
def test_unlabeled_rows_take_part_when_asked(frame, config):
    frame.loc[80:, ["y1", "y2"]] = np.nan
    analysis = analyze(read_table(frame, "y1,y2"), config=config, bootstrap=10, folds=2)
    rows = {"sup": 80, "full": 200, "split": 120}[config]
    assert len(analysis.sdr.score_estimator_.train_scores_) == rows
    assert analysis.reduced()["labeled"].value_counts().to_dict() == {False: 120, True: 80}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"components": 6}, "components must be an integer between 1 and 5"),
        ({"scale": "log"}, "scale must be one of"),
        ({"config": "all"}, "config must be one of"),
        ({"config": "full"}, "config: 'full' needs unlabeled rows"),
        ({"bootstrap": 5}, "bootstrap must be an integer at least 10"),
        ({"folds": 1}, "folds must be an integer between 2 and 200"),
        ({"seed": -1}, "seed must be an integer between 0"),
    ],
)
def test_wrong_requests(frame, arguments, words):
    with pytest.raises(ValueError, match=words):
        analyze(read_table(frame, "y1,y2"), **arguments)
