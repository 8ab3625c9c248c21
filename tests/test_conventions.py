"""What all estimators share: scikit-learn's checks, declared ranges, frames, bad parameters."""

from __future__ import annotations

import sys
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_param_validation, parametrize_with_checks

from steinsdr import (
    AdaptiveRank,
    HardThreshold,
    LabeledOnly,
    SequentialRank,
    SteinRegressor,
    SteinSDR,
)
from steinsdr.baselines import CSOPG, KSIR, RFM, SIR, DominanceRank, MLPDirections, RidgeDirections
from steinsdr.link import KernelLink
from steinsdr.scores import (
    DenoisingScore,
    GaussianMixtureScore,
    GaussianScore,
    LaplaceScore,
    StudentScore,
    TikhonovScore,
    TikhonovScoreCV,
)
from steinsdr.simulation import simulate
from steinsdr.subspace import principal_angles

PROJECTIVE = SIR(slicing="projective", n_projections=30, random_state=0)
BASELINES = [
    SIR(random_state=0),
    PROJECTIVE,
    CSOPG(),
    KSIR(),
    MLPDirections(hidden=(16, 8), epochs=3, random_state=0),
    RidgeDirections(random_state=0),
]
SCORES = [
    TikhonovScore(),
    DenoisingScore(epochs=2, hidden=16),
    GaussianScore(),
    StudentScore(),
]
OTHERS = [
    SteinSDR(),
    SteinSDR.paper(),
    SteinSDR(augment="kernel", weights="fourier", pca=1, scale="robust"),
    SteinRegressor(1),
    LabeledOnly(),
    RFM(1),
    KernelLink(),
    KernelLink(kernel="laplace"),
]


@parametrize_with_checks([*BASELINES, *SCORES, *OTHERS])
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@pytest.mark.parametrize("estimator", [*BASELINES, *SCORES, *OTHERS, TikhonovScoreCV()], ids=str)
def test_parameters_outside_their_declared_ranges_are_named(estimator):
    check_param_validation(type(estimator).__name__, estimator)


RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 6))
Y = np.column_stack([X[:, k] + np.sin(X[:, k + 1]) for k in range(2)])
Y += 0.3 * RNG.standard_normal((60, 2))


@pytest.mark.parametrize("estimator", [*BASELINES, RFM(), SteinSDR()], ids=str)
def test_frames_and_flat_responses_give_the_same_fit(estimator):
    frame = pd.DataFrame(X, columns=[f"gene{j}" for j in range(6)])
    plain = clone(estimator).set_params(n_components=1).fit(X, Y[:, :1])
    named = clone(plain).set_output(transform="pandas").fit(frame, pd.Series(Y[:, 0]))
    reduced = named.transform(frame)
    assert_array_equal(named.components_, plain.components_)
    assert list(named.feature_names_in_) == list(frame.columns)
    assert list(reduced.columns) == [f"{type(estimator).__name__.lower()}0"]
    assert_allclose(reduced, X @ named.components_.T)


VARIANTS = [{}, {"augment": "kernel"}, {"weights": "fourier"}, {"scale": "robust"}, {"pca": 4}]


@pytest.mark.parametrize(
    "estimator",
    [SIR(random_state=0), PROJECTIVE, CSOPG(), KSIR(), RidgeDirections(), RFM()]
    + [SteinSDR(**variant) for variant in VARIANTS],
    ids=str,
)
def test_units_shifts_and_order_do_not_change_the_reduced_data(estimator):
    """Of all columns and rows together. A network's first weights and batches have an order."""
    rows, columns = RNG.permutation(60), RNG.permutation(6)
    correlated = X + X[:, :1] * np.arange(6)  # equal eigenvalues have no leading components
    moved = correlated * [1, 10, 100, 1e3, 0.01, 1] - 5.0
    reduced = []
    for Z, T in ((correlated, Y), (moved[rows][:, columns], 7 * Y[rows] + 3)):
        found = clone(estimator).set_params(n_components=2).fit(Z, T).transform(Z)
        reduced.append(found - found.mean(axis=0))
    # The steps of the feature machine amplify what order and units change in the last digits.
    tolerance = 1e-3 if isinstance(estimator, RFM) else 1e-6
    assert principal_angles(reduced[0][rows], reduced[1]).max() < tolerance


# Degenerate data: a finite result


def small(n, p):
    Z = RNG.standard_normal((n, p))
    return Z, np.sin(Z[:, [0, -1]]) + 0.3 * RNG.standard_normal((n, 2))


SPOILT = {
    "constant": (np.where(np.arange(6) == 1, 0.1, X), Y),
    "tiny": (np.column_stack([1e-10 * X, np.full(60, 1e6 / 3)]), Y),
    "duplicated": (X[:, [0, 1, 2, 0, 4, 5]], Y),
    "few values": (np.round(X), np.round(Y)),
    "repeated rows": (np.repeat(X[:20], 3, axis=0), np.repeat(Y[:20], 3, axis=0)),
    "constant response": (X, np.column_stack([np.full(60, 7.0), Y[:, 1]])),
    **{f"{n} x {p}": small(n, p) for n, p in [(4, 1), (5, 30), (9, 3), (30, 30), (40, 60)]},
}
UNSCREENED = [CSOPG(screen=None), KSIR(screen=None)]


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        *product([*BASELINES, KSIR(weigh="all"), RFM(), *UNSCREENED], SPOILT),
        *product([CSOPG(), KSIR()], ["huge"]),
    ],
    ids=str,
)
def test_degenerate_data_give_orthonormal_directions(estimator, name):
    Z, T = SPOILT[name] if name != "huge" else (1e120 * X, 1e120 * Y)
    fit = clone(estimator).fit(Z, T)
    r = fit.n_components_
    assert fit.components_.shape == (r, Z.shape[1])
    assert_allclose(fit.components_ @ fit.components_.T, np.eye(r), atol=1e-8)
    assert_allclose(fit.components_[:, np.ptp(Z, axis=0) == 0], 0, atol=1e-12)
    assert np.isfinite(fit.transform(Z)).all()
    for d, directions in getattr(fit, "directions_path_", {}).items():
        assert np.linalg.matrix_rank(directions * Z.std(axis=0)[:, None]) == d


@pytest.mark.parametrize("estimator", [MLPDirections(), DenoisingScore()])
def test_a_missing_torch_is_named_with_the_extra_that_brings_it(estimator, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not installed
    name = type(estimator).__name__
    with pytest.raises(ImportError, match=rf"{name} needs torch.* pip install '\.\[nn\]'"):
        estimator.fit(X, Y)


# Parameters that are in their declared range, but do not fit the data or each other. Bad data
# are in test_bad_input.py.


class OwnRule:
    def select(self, matrix, **data):
        raise NotImplementedError


def mixture(weights):
    return GaussianMixtureScore(weights, np.zeros((2, 6)), [np.eye(6), np.eye(6)])


def sequential(**changed):
    data = {"scores": X, "Y": Y, "X": X, "rng": np.random.default_rng(0)}
    return SequentialRank().select(X.T @ Y, **data | changed)


class Fragile(GaussianScore):
    def evaluate(self, X):
        return super().evaluate(X) * (np.nan if len(X) > 50 else 1.0)


ASYMMETRIC = np.eye(6) + 0.1 * np.eye(6, k=1)
ONE_GROUP = np.repeat(["a", "b"], [59, 1])
HALVES = np.where(np.arange(6) == 1, np.repeat([[0.1], [0.7]], 30, axis=0), X)
BAD = [
    (SteinSDR(7), "n_components=7 but X has 6 column.* and y has 2"),
    (SteinSDR(3, weights=None), r"at most 2 direction.*first moments"),
    (SteinSDR(2.0), "'n_components' parameter"),
    (SteinSDR(config="split"), "config='split' needs unlabeled rows"),
    (SteinSDR(score_estimator=TikhonovScore), "'score_estimator' parameter"),
    (SteinSDR(score_estimator=TikhonovScore(lam=-1)), "'lam' parameter of TikhonovScore"),
    (SteinSDR(2, rank=AdaptiveRank), "'rank' parameter"),
    (SteinSDR(score_estimator=Fragile(), max_rows=50), "their moment is not finite"),
    (SteinRegressor(reduction=[]), "reduction is an empty list"),
    (SteinRegressor(reduction=[3]), "reduction: 3 is not a transformer"),
    (SteinRegressor(reduction=SteinSDR), "'reduction' parameter"),
    (TikhonovScore(n_centers=61), r"n_centers=61, but X has 60 row"),
    (TikhonovScoreCV(lams=[1e-3, -1.0]), "lams must be a sequence whose values are"),
    (TikhonovScoreCV(estimator=TikhonovScore), "'estimator' parameter"),
    (TikhonovScoreCV(estimator=TikhonovScore(tol=-1.0)), "'tol' parameter"),
    (GaussianScore(np.zeros(6), -np.eye(6)), "positive definite"),
    (GaussianScore(np.zeros(3), np.eye(6)), r"mean has shape \(3,\); expected \(6,\)"),
    (GaussianScore(np.zeros(6), ASYMMETRIC), "cov must be symmetric"),
    (GaussianScore(np.zeros(6), np.ones((3, 6))), r"cov has shape \(3, 6\)"),
    (StudentScore(2.0), "has no covariance"),
    (LaplaceScore(0.0, -1.0), "scale must be positive"),
    (LaplaceScore(np.nan, 1.0), "median is nan; expected finite"),
    (LaplaceScore(0.0, [*np.ones(5), np.inf]), "scale contains infinity"),
    (LaplaceScore([0.0, 1.0, 2.0], 1.0), r"median is .* one number or \(6,\)"),
    (LaplaceScore("middle", 1.0), "'median' parameter of LaplaceScore"),
    (mixture([0.5, 0.0]), "weights must be positive finite numbers"),
    (mixture([[0.5, 0.5]]), "weights has 2 dimension"),
    (mixture([0.2, 0.3, 0.5]), r"shapes \(3,\), \(2, 6\) and \(2, 6, 6\)"),
    (SIR(7), "n_components=7; expected at most 6, the number of directions in which the slice"),
    (SIR(null="projected", rank=OwnRule()), "null='projected' needs an AdaptiveRank"),
    (CSOPG(7), "n_components=7; expected at most 6, the least of max_dim .10. and the rank"),
    (CSOPG(2, max_dim=1), r"n_components=2; expected at most 1, the least of max_dim \(1\)"),
    (MLPDirections(7, epochs=1), "at most 6, the least of 256 hidden units and 6 column"),
    (MLPDirections(hidden=()), r"'hidden' parameter .* a sequence .* Got \(\)"),
    (MLPDirections(hidden=(8, 0)), r"'hidden' parameter .* a sequence .* Got \(8, 0\)"),
    (MLPDirections(epochs=1, rank=AdaptiveRank()), "does not fit MLPDirections, which has X"),
    (RidgeDirections(3), "n_components=3; expected at most 2, the rank of the coefficients"),
    (RidgeDirections(alphas=[1.0, -1.0]), r"'alphas' parameter .* Got \[1.0, -1.0\]"),
    (RidgeDirections(alphas=()), r"'alphas' parameter .* Got \(\)"),
    (RFM(9), "n_components=9"),
]
CALLS = [
    (lambda: SteinSDR().fit(X, Y, groups=ONE_GROUP[1:]), r"groups has shape \(59,\); expected"),
    (lambda: SteinSDR().fit(X, Y, groups=ONE_GROUP), "groups: 'b' has 1 labeled row"),
    (lambda: SteinSDR().fit(HALVES, Y, groups=HALVES[:, 1]), "constant column"),
    (lambda: SteinSDR().fit(X, Y, X, ONE_GROUP), "groups with X_unlabeled"),
    (lambda: sequential(scores=X[1:]), r"scores has 59 row\(s\) but Y has 60"),
    (lambda: sequential(X=X[1:]), r"X has 59 row\(s\) but Y has 60"),
    (lambda: KernelLink(kernel="laplace").fit(X, Y).derivatives(X), "kernel is .laplace."),
    (lambda: simulate("normal"), "law must be one of 'isotropic'"),
    (lambda: simulate(r=2), "links need r in"),
    (lambda: simulate(version="section43"), "version must be one of"),
    (lambda: simulate(r=3, p=2), "r must be an integer between 1 and 2"),
    (lambda: simulate(noise=-1.0), r"noise must be a float in the range \[0.0, inf\); got -1.0"),
]


@pytest.mark.parametrize(
    ("call", "message"),
    [*((lambda e=estimator: clone(e).fit(X, Y), message) for estimator, message in BAD), *CALLS],
    ids=[message for _, message in [*BAD, *CALLS]],
)
def test_bad_parameters_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


RULES = [AdaptiveRank(), HardThreshold(1.0), DominanceRank(), SequentialRank()]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_bad_parameters_of_rank_rules_are_named(rule):
    assert set(rule._parameter_constraints) == set(rule.get_params())
    for name in rule.get_params():
        for value in (None, "high", np.nan if name in ("skewness", "kurtosis") else 0):
            with pytest.raises(ValueError, match=f"'{name}' parameter of {type(rule).__name__}"):
                clone(rule).set_params(**{name: value}).select(
                    X.T @ Y, scores=X, Y=Y, X=X, rng=np.random.default_rng(0)
                )
