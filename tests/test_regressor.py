"""SteinRegressor: a reduction and the best of three fits of its indices."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV

from steinsdr import SteinRegressor, SteinSDR


@pytest.fixture(scope="module")
def data():
    """One linear and one even link of two indices among five columns, and a constant column."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal((300, 5)), np.full(300, 0.1)])
    Y = np.column_stack([X[:, 0], np.cos(2 * X[:, 1])]) + 0.1 * rng.standard_normal((300, 2))
    return X, Y


def test_each_response_has_its_own_link(data):
    X, Y = data
    model = SteinRegressor(2).fit(X[:200], Y[:200])
    # Noise leaves shares of 0.99 and 0.98; a linear fit would explain nothing of the second.
    assert model.score(X[200:], Y[200:]) > 0.9


def test_units_of_the_responses_do_not_matter(data):
    X, Y = data
    units = np.array([1e3, 1e-3])
    model = SteinRegressor(2)
    plain = model.fit(X, Y).predict(X[:9])
    np.testing.assert_allclose(model.fit(X, 7 + Y * units).predict(X[:9]), 7 + plain * units)


def test_cross_validation_chooses_from_a_list_and_grid_search_works(data):
    X, Y = data
    model = SteinRegressor(reduction=[PCA(1), SteinSDR(2, random_state=0)], cv=3).fit(X, Y)
    assert isinstance(model.reduction_, SteinSDR)
    assert model.cv_errors_[1] < 0.2 < model.cv_errors_[0]
    search = GridSearchCV(SteinRegressor(), {"n_components": [1, 2]}, cv=2)
    assert search.fit(X, Y).best_params_ == {"n_components": 2}


def test_rows_that_repeat_leave_ridge_regression():
    X = np.repeat([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]], [80, 10, 10], axis=0)
    y = X @ [1.0, 2.0]
    # The penalty is at least 1e-4 a row.
    np.testing.assert_allclose(SteinRegressor(reduction=PCA()).fit(X, y).predict(X), y, atol=0.05)
