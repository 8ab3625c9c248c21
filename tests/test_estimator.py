"""SteinSDR: scikit-learn's own checks, configurations, warnings, bad parameters, a light import."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from steinsdr import AdaptiveRank, HardThreshold, LabeledOnly, SteinSDR
from steinsdr.scores import DenoisingScore, GaussianScore, StudentScore, TikhonovScore
from steinsdr.simulation import simulate
from steinsdr.subspace import procrustes_distance


@parametrize_with_checks(
    [
        SteinSDR(),
        SteinSDR(n_components=1, score_estimator=GaussianScore()),
        LabeledOnly(),
        TikhonovScore(),
        DenoisingScore(epochs=2, hidden=16),
        GaussianScore(),
        StudentScore(),
    ]
)
def test_sklearn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@pytest.fixture(scope="module")
def data():
    return simulate("isotropic", 400, p=20, n_unlabeled=600, seed=7)


def test_finds_the_subspace_and_the_rank(data):
    sdr = SteinSDR(random_state=0).fit(data.X, data.Y)
    assert sdr.n_components_ == 3
    assert procrustes_distance(sdr.components_.T, data.B) < 0.8
    assert sdr.rank_.rank == 3


def test_attributes_fit_together(data):
    sdr = SteinSDR.paper(2).fit(data.X, data.Y)
    assert sdr.components_.shape == (2, 20)
    np.testing.assert_allclose(sdr.components_ @ sdr.components_.T, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(sdr.cross_moment_, sdr.scores_.T @ data.Y / 400)
    np.testing.assert_allclose(
        sdr.singular_values_, np.linalg.svd(sdr.cross_moment_, compute_uv=False)
    )
    np.testing.assert_allclose(
        np.linalg.norm(sdr.components_ @ sdr.cross_moment_, axis=1), sdr.singular_values_[:2]
    )
    np.testing.assert_allclose(sdr.transform(data.X), data.X @ sdr.components_.T)
    assert sdr.rank_ is None


@pytest.mark.parametrize("config", ["sup", "split", "full"])
def test_score_and_rank_see_what_the_configuration_says(data, config):
    class Recorder(GaussianScore):
        def fit(self, X, y=None):
            super().fit(X)
            self.seen_ = np.array(X)
            return self

    class Rule(HardThreshold):
        def select(self, cross_moment, *, X, **others):
            seen.append(len(X))
            return super().select(cross_moment, **others)

    seen = []
    sdr = SteinSDR.paper(score_estimator=Recorder(), config=config, rank=Rule(0.1))
    sdr.fit(data.X, data.Y, data.X_unlabeled)
    parts = {
        "sup": [data.X],
        "split": [data.X_unlabeled],
        "full": [data.X, data.X_unlabeled],
    }[config]
    np.testing.assert_array_equal(sdr.score_estimator_.seen_, np.vstack(parts))
    assert seen == [400 if config == "sup" else 1000]
    np.testing.assert_allclose(sdr.scores_, sdr.score_estimator_.evaluate(data.X))


def test_full_uses_the_training_scores_of_the_labeled_rows(data):
    sdr = SteinSDR(3, config="full").fit(data.X, data.Y, data.X_unlabeled)
    direct = sdr.score_estimator_.evaluate(sdr.coordinates_.map(data.X))
    np.testing.assert_allclose(sdr.scores_, direct, atol=1e-2)


def test_nan_rows_are_unlabeled(data):
    X = np.vstack([data.X, data.X_unlabeled])
    Y = np.vstack([data.Y, np.full((600, 10), np.nan)])
    order = np.random.default_rng(0).permutation(len(X))
    a = SteinSDR(3, config="split").fit(data.X, data.Y, data.X_unlabeled)
    b = SteinSDR(3, config="split").fit(X[order], Y[order])
    np.testing.assert_allclose(np.abs(b.components_), np.abs(a.components_), atol=1e-6)
    one = SteinSDR(config="full").fit(X, Y[:, 0])
    assert one.components_.shape == (1, 20)


def test_frames(data):
    columns = [f"gene{j}" for j in range(20)]
    X, Y = pd.DataFrame(data.X, columns=columns), pd.DataFrame(data.Y)
    sdr = SteinSDR(2).set_output(transform="pandas").fit(X, Y)
    assert list(sdr.transform(X).columns) == ["steinsdr0", "steinsdr1"]
    assert list(sdr.feature_names_in_) == columns
    numbers = SteinSDR(2).fit(X.astype(object), data.Y)
    np.testing.assert_array_equal(numbers.components_, sdr.components_)


def test_pipeline_grid_search_and_clone(data):
    pipe = make_pipeline(SteinSDR(score_estimator=TikhonovScore()), LinearRegression())
    grid = GridSearchCV(
        pipe,
        {"steinsdr__n_components": [1, 3], "steinsdr__score_estimator__lam": [1e-3, 1e-2]},
        cv=3,
    ).fit(data.X, data.Y)
    assert grid.best_params_["steinsdr__n_components"] == 3
    assert clone(pipe).get_params()["steinsdr__score_estimator__lam"] == 1e-4


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


def test_one_covariate_is_its_own_subspace(rng):
    x = rng.standard_normal((100, 1))
    sdr = SteinSDR(score_estimator=GaussianScore()).fit(x, x[:, 0])
    np.testing.assert_allclose(sdr.components_, [[1.0]])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 21}, "n_components=21 but X has 20 column.* and y has 10"),
        ({"n_components": 11, "weights": None}, r"at most 10 direction.*first moments"),
        ({"n_components": 0}, "'n_components' parameter"),
        ({"n_components": 2.0}, "'n_components' parameter"),
        ({"config": "semi"}, "'config' parameter"),
        ({"config": "split"}, "config='split' needs unlabeled rows"),
        ({"score_estimator": "kernel"}, "'score_estimator' parameter"),
        ({"score_estimator": TikhonovScore}, "'score_estimator' parameter"),
        ({"score_estimator": TikhonovScore(lam=-1)}, "'lam' parameter of TikhonovScore"),
        ({"rank": "best"}, "'rank' parameter"),
        ({"n_components": 2, "rank": AdaptiveRank}, "'rank' parameter"),
        ({"center": "yes"}, "'center' parameter"),
        ({"random_state": "x"}, "'random_state' parameter"),
    ],
)
def test_bad_parameters_are_named(data, parameters, message):
    with pytest.raises(ValueError, match=message):
        SteinSDR(**parameters).fit(data.X, data.Y)


def test_duplicated_rows_are_finite(data):
    X, Y = np.repeat(data.X[:100], 2, axis=0), np.repeat(data.Y[:100], 2, axis=0)
    assert np.isfinite(SteinSDR(3).fit(X, Y).components_).all()


@pytest.mark.parametrize("factors", [(1.0, -1.0), (1.0, 1.0), (1.0, 2.0)])
def test_responses_that_repeat_each_other_add_no_direction(factors):
    rng = np.random.default_rng(1)
    for _ in range(5):
        X = rng.standard_normal((200, 4))
        y = X[:, 0] + 0.2 * rng.standard_normal(200)
        Y = np.column_stack([factor * y for factor in factors])
        assert SteinSDR.paper(random_state=0).fit(X, Y).n_components_ == 1


@pytest.mark.parametrize(("law", "method"), [("isotropic", "permutation"), ("lognormal", "energy")])
@pytest.mark.parametrize("unit", [1.0, 1e-140, 1e140])
def test_the_rank_does_not_depend_on_the_unit_of_all_responses(unit, law, method):
    data = simulate(law, 150, p=8, seed=7)
    sdr = SteinSDR.paper(score_estimator=data.law.score(8), random_state=0)
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


def test_responses_without_any_signal_are_said(rng):
    X, noise = rng.standard_normal((200, 4)), rng.standard_normal((200, 2))
    with pytest.warns(UserWarning, match="no direction stands out"):
        SteinSDR.paper(random_state=0).fit(X, noise)
    with pytest.warns(UserWarning, match=r"its threshold 50\."):
        none = SteinSDR.paper(rank=HardThreshold(50.0)).fit(X, X[:, :2])
    assert (none.rank_.rank, none.n_components_) == (0, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SteinSDR.paper(random_state=0).fit(X, X[:, :2])


def test_importing_the_method_takes_no_optional_package():
    # scikit-learn imports pandas if it is there; without it, an import by steinsdr would fail.
    code = (
        "import sys; sys.modules['pandas'] = None; import steinsdr, steinsdr.simulation; "
        "print(sorted({'torch', 'matplotlib', 'seaborn', 'tqdm'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
