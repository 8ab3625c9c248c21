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
    more = rng.standard_normal((20, 4))
    options = {"lam": 1e-2, "config": config, "scale": "standardize"}
    apart = Reduction(2, **options).fit(X[20:], Y[20:], np.vstack([X[:20], more]))
    holes = np.where(np.arange(80)[:, None] < 20, np.nan, Y)
    given = pd.DataFrame(more, columns=X.columns)
    together = Reduction(2, **options).fit(X, holes, given)
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
