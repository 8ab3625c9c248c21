"""The report's reduction as a transformer of its own: pipelines, names, unlabeled rows."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from steinsdr.report import Reduction, analyze, read_table


@pytest.fixture
def data(rng):
    X = pd.DataFrame(rng.standard_normal((80, 4)), columns=list("abcd"))
    return X, X[["a", "b"]].to_numpy() + 0.3 * rng.standard_normal((80, 2))


def test_it_is_a_transformer(data):
    X, Y = data
    reduction = Reduction(2, lam=1e-2)
    Z = reduction.fit_transform(X, Y)
    np.testing.assert_array_equal(Z, reduction.transform(X))
    names = make_pipeline(Reduction(2, lam=1e-2)).fit(X, Y).get_feature_names_out()
    assert names.tolist() == ["reduction0", "reduction1"]
    frame = Reduction(2, lam=1e-2).set_output(transform="pandas").fit_transform(X, Y)
    pd.testing.assert_frame_equal(frame, pd.DataFrame(Z, columns=names))
    pipe = make_pipeline(Reduction(2, lam=1e-2), LinearRegression())
    assert cross_val_score(pipe, X, Y, cv=3).min() > 0.7


@pytest.mark.parametrize("config", ["sup", "full", "split"])
def test_rows_without_responses_are_unlabeled(data, rng, config):
    X, Y = data
    more = pd.DataFrame(rng.standard_normal((20, 4)), columns=X.columns)
    options = {"lam": 1e-2, "config": config, "scale": "standardize"}
    apart = Reduction(2, **options).fit(X[20:], Y[20:], pd.concat([X[:20], more]))
    holes = np.where(np.arange(80)[:, None] < 20, np.nan, Y)
    together = Reduction(2, **options).fit(X, holes, more)
    np.testing.assert_array_equal(together.loadings_, apart.loadings_)
    assert together.points_.shape == (60, 4)


def test_rows_with_half_their_responses_are_refused(data):
    X, Y = data
    Y[3, 0] = np.nan
    with pytest.raises(ValueError, match=r"y has 1 row\(s\) that are partly NaN"):
        Reduction(2).fit(X, Y)
    with pytest.raises(ValueError, match=r"y has 1 labeled row\(s\); at least 2"):
        Reduction(1).fit(X, np.where(np.arange(80) < 79, np.nan, 1.0))


def test_an_analysis_says_once_that_nothing_stands_out(rng):
    frame = pd.DataFrame(rng.standard_normal((60, 4)), columns=list("abcy"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        analysis = analyze(read_table(frame, "y"), n_bootstrap=0, folds=2)
    assert analysis.verdict.level == "not usable"


@pytest.mark.parametrize("reorder", [False, True])
def test_unlabeled_columns_are_matched_by_name(data, rng, reorder):
    X, Y = data
    more = pd.DataFrame(rng.standard_normal((20, 4)), columns=list("dcba" if reorder else "abcd"))
    reduction = Reduction(2, lam=1e-2, config="full")
    if not reorder:
        assert reduction.fit(X, Y, more).loadings_.shape == (4, 2)
        return
    with pytest.raises(ValueError, match="X_unlabeled: The feature names should match"):
        reduction.fit(X, Y, more)


def test_the_reduction_of_an_analysis_knows_its_columns(data):
    X, Y = data
    frame = X.assign(y1=Y[:, 0], y2=Y[:, 1])
    fit = analyze(read_table(frame, "y1,y2"), n_bootstrap=0, folds=2).reduction
    assert fit.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(ValueError, match="feature names should match"):
        fit.transform(X[list("dcba")])


def test_a_rounded_duplicate_is_as_good_as_an_exact_one(rng):
    X = rng.standard_normal((200, 4))
    Y = X[:, :2] @ [[1.0], [1.0]] + 0.5 * rng.standard_normal((200, 1))
    fahrenheit = 1.8 * X[:, :1] + 32
    exact, rounded = (
        Reduction(1, scale="whiten", lam=1e-3).fit(np.hstack([X, other]), Y)
        for other in (fahrenheit, np.round(fahrenheit, 4))
    )
    assert exact.points_.shape[1] == rounded.points_.shape[1] == 4
    # Rounding moves a value by 5e-5 of about 2; the loadings by about as much.
    np.testing.assert_allclose(rounded.loadings_, exact.loadings_, atol=1e-3)


def test_columns_of_text_are_named(data):
    X, Y = data
    with pytest.raises(ValueError, match=r"X has 1 column\(s\) that are not numeric \('place'\)"):
        Reduction(2).fit(X.assign(place="Rome"), Y)
