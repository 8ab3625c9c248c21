"""SteinSDR in use: configurations, pipelines, unlabeled rows, warnings."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from steinsdr import HardThreshold, LabeledOnly, SteinSDR
from steinsdr.link import KernelLink
from steinsdr.scores import DenoisingScore, GaussianScore, TikhonovScore
from steinsdr.simulation import simulate
from steinsdr.subspace import procrustes_distance


@pytest.fixture(scope="module")
def data():
    return simulate("isotropic", 400, p=20, n_unlabeled=600, seed=7)


def test_finds_the_subspace_and_the_rank(data):
    sdr = SteinSDR(random_state=0).fit(data.X, data.Y)
    assert sdr.n_components_ == sdr.rank_.rank == 3
    assert procrustes_distance(sdr.components_.T, data.B) < 0.8


@pytest.mark.parametrize(("config", "rows"), [("sup", 400), ("split", 1000), ("full", 1000)])
def test_the_rank_rule_sees_all_rows_that_there_are(data, config, rows):
    class Rule(HardThreshold):
        def select(self, cross_moment, *, X, **others):
            assert len(X) == rows
            return super().select(cross_moment, **others)

    sdr = SteinSDR.paper(score_estimator=GaussianScore(), config=config, rank=Rule(0.1))
    assert sdr.fit(data.X, data.Y, data.X_unlabeled).rank_.method == "threshold"


@pytest.mark.parametrize(
    ("law", "n_unlabeled", "config", "reason"),
    [
        ("isotropic", 0, "sup", "no unlabeled rows"),
        ("isotropic", 50, "sup", "tails are light"),
        ("lognormal", 50, "full", "tails are heavy"),
    ],
)
def test_configuration_is_chosen_for_a_reason(law, n_unlabeled, config, reason):
    data = simulate(law, 60, p=4, n_unlabeled=50, seed=1)
    extra = data.X_unlabeled if n_unlabeled else None
    sdr = SteinSDR(2).fit(data.X, data.Y, extra)
    assert sdr.config_ == config
    assert reason in sdr.config_reason_
    assert f"score learned from: {config} ({sdr.config_reason_})" in sdr.summary()
    assert sdr.coordinates_.scale == ("robust" if law == "lognormal" else "sd")


def test_nan_rows_are_unlabeled(data):
    X = np.vstack([data.X, data.X_unlabeled])
    Y = np.vstack([data.Y, np.full((600, 10), np.nan)])
    order = np.random.default_rng(0).permutation(len(X))
    a = SteinSDR(3, config="split").fit(data.X, data.Y, data.X_unlabeled)
    b = SteinSDR(3, config="split").fit(X[order], Y[order])
    np.testing.assert_allclose(np.abs(b.components_), np.abs(a.components_), atol=1e-6)


def test_parameters_of_score_and_fit_are_searched(data):
    pipe = make_pipeline(
        SteinSDR(score_estimator=TikhonovScore(), augment=KernelLink()), LinearRegression()
    )
    grid = {
        "steinsdr__n_components": [1, 3],
        "steinsdr__score_estimator__lam": [1e-2],
        "steinsdr__augment__max_centers": [50],
    }
    search = GridSearchCV(pipe, grid, cv=2).fit(data.X, data.Y)
    assert search.best_params_["steinsdr__n_components"] == 3
    best = search.best_estimator_[0]
    assert (best.score_estimator_.lam, len(best.link_.centers_)) == (1e-2, 50)
    assert pipe.get_params()["steinsdr__score_estimator__lam"] == 1e-4, "as it was"


def test_cross_validation_with_unlabeled_rows(data):
    Y = data.Y.copy()
    Y[::2] = np.nan
    pipe = make_pipeline(SteinSDR(3, config="full"), LabeledOnly(LinearRegression()))
    scores = cross_val_score(pipe, data.X, Y, cv=4)
    assert np.isfinite(scores).all()
    assert scores.mean() > 0.1
    pipe.fit(data.X, Y)
    Z, weights = pipe[0].transform(data.X), np.arange(len(Y), dtype=float)
    some = ~np.isnan(Y).any(axis=1)
    assert pipe[1].score(Z, Y, sample_weight=weights) == pytest.approx(
        LinearRegression().fit(Z[some], Y[some]).score(Z[some], Y[some], weights[some])
    )


def test_unlabeled_rows_pass_the_earlier_steps_of_a_pipeline_that_was_told(data):
    rng = np.random.default_rng(0)
    units = rng.uniform(1.0, 5.0, data.X.shape[1])
    extra = rng.standard_normal((300, data.X.shape[1])) * units
    with config_context(enable_metadata_routing=True):
        sdr = SteinSDR(3, config="full").set_fit_request(X_unlabeled=True)
        pipe = make_pipeline(StandardScaler(), sdr, transform_input=["X_unlabeled"])
        pipe.fit(data.X * units, data.Y, X_unlabeled=extra)
    scaler = StandardScaler().fit(data.X * units)
    direct = SteinSDR(3, config="full").fit(
        scaler.transform(data.X * units), data.Y, X_unlabeled=scaler.transform(extra)
    )
    assert np.allclose(np.abs(pipe[-1].components_), np.abs(direct.components_), atol=1e-8)


def test_any_object_with_fit_and_evaluate_serves(data):
    class Oracle:
        def fit(self, X, y=None):
            return self

        def evaluate(self, X):
            return np.asarray(X)

    oracle = Oracle()
    sdr = SteinSDR.paper(3, score_estimator=oracle).fit(data.X, data.Y)
    np.testing.assert_allclose(sdr.cross_moment_, data.X.T @ data.Y / 400)
    assert sdr.score_estimator_ is not oracle


def test_denoising_by_name():
    X = np.random.default_rng(0).standard_normal((40, 3))
    fits = [
        SteinSDR(1, score_estimator="denoising", random_state=seed).fit(X, X[:, :1])
        for seed in (0, 0, 1)
    ]
    assert all(isinstance(fit.score_estimator_, DenoisingScore) for fit in fits)
    assert np.array_equal(fits[0].scores_, fits[1].scores_)
    assert not np.array_equal(fits[0].scores_, fits[2].scores_), "the seed reaches the score"


@pytest.mark.parametrize("make", [SteinSDR, SteinSDR.paper])
@pytest.mark.parametrize("factor", [-1.0, 2.0])
def test_responses_that_repeat_each_other_add_no_direction(make, factor):
    rng = np.random.default_rng(1)
    for _ in range(5):
        X = rng.standard_normal((200, 4))
        y = X[:, 0] + 0.2 * rng.standard_normal(200)
        Y = np.column_stack([y, factor * y])
        assert make(random_state=0).fit(X, Y).n_components_ == 1


def test_one_column_is_its_own_subspace_and_a_constant_response_silences_none():
    X = np.random.default_rng(0).standard_normal((200, 6))
    np.testing.assert_allclose(SteinSDR().fit(X[:, :1], X[:, 0]).components_, [[1.0]])
    y = X[:, 0] + 0.2 * X[:, 1]
    alone, beside = SteinSDR(1).fit(X, y), SteinSDR(1).fit(X, np.c_[y, np.full(200, 0.1)])
    assert beside.singular_values_[0] == pytest.approx(alone.singular_values_[0], rel=1e-6)


@pytest.mark.parametrize(
    ("law", "rank", "method"),
    [
        ("isotropic", "adaptive", "permutation"),
        ("lognormal", "adaptive", "energy"),
        ("isotropic", "sequential", "sequential"),
    ],
)
@pytest.mark.parametrize("unit", [1e-140, 1e140])
def test_the_rank_does_not_depend_on_the_unit_of_all_responses(unit, law, rank, method):
    data = simulate(law, 150, p=8, seed=7)
    sdr = SteinSDR.paper(score_estimator=data.law.score(8), rank=rank, random_state=0)
    expected = clone(sdr).fit(data.X, data.Y).rank_
    found = sdr.fit(data.X, unit * data.Y).rank_
    assert expected.method == found.method == method
    assert expected.rank == found.rank > 1


@pytest.mark.parametrize(("config", "shift"), [("sup", 1e4), ("split", 10.0)])
def test_means_of_responses_that_disturb_are_warned_of(data, config, shift):
    # Scores learned elsewhere do not average to zero over the labeled rows: a small mean disturbs.
    def directions(Y, **parameters):
        sdr = SteinSDR.paper(3, config=config, **parameters).fit(data.X, Y, data.X_unlabeled)
        return sdr.components_.T

    with pytest.warns(UserWarning, match="center=True"):
        off = directions(data.Y + shift)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        directions(data.Y)
        on, plain = (directions(Y, center=True) for Y in (data.Y + shift, data.Y))
    assert procrustes_distance(on, plain) < 1e-6
    assert procrustes_distance(off, plain) > 0.1


def test_units_that_decide_are_warned_of(data):
    X, Y = data.X * np.where(np.arange(20) == 4, 0.01, 1), data.Y * np.r_[1, 100, np.ones(8)]
    with pytest.warns(UserWarning, match="Standardize the columns"):
        SteinSDR.paper(3).fit(X, data.Y)
    with pytest.warns(UserWarning, match="Standardize y first"):
        SteinSDR.paper(3).fit(data.X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_pipeline(StandardScaler(), SteinSDR.paper(3)).fit(X, Y / Y.std(axis=0))
        SteinSDR.paper(2).fit(data.X, Y[:, :2])  # both are kept: no unit decides
        for law in ("lognormal", "exp_ar1"):  # heavy tails in equal units
            heavy = simulate(law, n=60, p=30)
            SteinSDR.paper(3).fit(heavy.X, heavy.Y)


@pytest.mark.parametrize("make", [SteinSDR, SteinSDR.paper])
def test_responses_without_any_signal_are_said(make, rng):
    X, noise = rng.standard_normal((200, 4)), rng.standard_normal((200, 2))
    with pytest.warns(UserWarning, match="no direction stands out"):
        make(random_state=0).fit(X, noise)
    with pytest.warns(UserWarning, match=r"its threshold 50\."):
        none = make(rank=HardThreshold(50.0)).fit(X, X[:, :2])
    assert (none.rank_.rank, none.n_components_) == (0, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make(random_state=0).fit(X, X[:, :2] + 0.1 * noise)
