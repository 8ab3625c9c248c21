"""Bad input at every entry point: a ValueError that names the argument and what was found.

``test_fuzz.py`` draws data at random; files, commands and what one parameter alone refuses are in
the tests of their modules.
"""

from __future__ import annotations

from datetime import date
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LinearRegression
from sklearn.utils._param_validation import Interval

import steinsdr
from steinsdr import (
    AdaptiveRank,
    HardThreshold,
    LabeledOnly,
    SequentialRank,
    SteinRegressor,
    baselines,
    scores,
)
from steinsdr import SteinSDR as Stein
from steinsdr.baselines import CSOPG, KSIR, RFM, SIR, DominanceRank, MLPDirections, RidgeDirections
from steinsdr.link import KernelLink
from steinsdr.moments import cross_moment, stein_diagnostics
from steinsdr.paper.multitarget import load_multitarget
from steinsdr.paper.patchseq import load_patchseq
from steinsdr.rank import permutation_null, tail_check
from steinsdr.report import analyze, read_table
from steinsdr.scores import (
    DenoisingScore,
    GaussianMixtureScore,
    GaussianScore,
    LaplaceScore,
    LogNormalScore,
    StudentScore,
    TikhonovScore,
    TikhonovScoreCV,
)
from steinsdr.simulation import links, simulate
from steinsdr.subspace import chance_distance, orthonormalize, principal_angles, procrustes_distance

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 3))
Y = np.column_stack([X[:, 0], X[:, 1] ** 2]) + 0.1 * RNG.standard_normal((30, 2))
POSITIVE = np.exp(X)
EYES = np.array([np.eye(3)] * 2)

FITS = {
    "SteinSDR": Stein(1, random_state=0),
    "SteinSDR.paper": Stein.paper(1, random_state=0),
    "SteinRegressor": SteinRegressor(1),
    "LabeledOnly": LabeledOnly(),
    "KernelLink": KernelLink(),
    "KernelLink Laplace": KernelLink(kernel="laplace"),
    "SIR": SIR(1, random_state=0),
    "SIR projective": SIR(1, slicing="projective", n_projections=5, random_state=0),
    "CSOPG": CSOPG(1),
    "KSIR": KSIR(1),
    "MLPDirections": MLPDirections(1, hidden=(4,), epochs=2, random_state=0),
    "RFM": RFM(1),
    "RidgeDirections": RidgeDirections(1, random_state=0),
}
SCORES = {
    "TikhonovScore": TikhonovScore(),
    "Nystrom": TikhonovScore(n_centers=9, random_state=0),
    "TikhonovScoreCV": TikhonovScoreCV(),
    "DenoisingScore": DenoisingScore(hidden=4, epochs=2, random_state=0),
    "GaussianScore": GaussianScore(),
    "StudentScore": StudentScore(),
    "LogNormalScore": LogNormalScore(np.zeros(3), np.eye(3)),
    "LaplaceScore": LaplaceScore(0.0, 1.0),
    "GaussianMixtureScore": GaussianMixtureScore([0.5, 0.5], np.zeros((2, 3)), EYES),
}
MODELS = {**FITS, **SCORES}
RULES = {
    "SequentialRank": SequentialRank(),
    "AdaptiveRank": AdaptiveRank(),
    "DominanceRank": DominanceRank(),
    "HardThreshold": HardThreshold(1.0),
}


@cache
def fitted(name):
    return clone(MODELS[name]).fit(POSITIVE, Y)


def methods():
    """Yield every method of a fitted estimator that takes points."""
    for name, model in MODELS.items():
        for method in ("transform", "predict", "gradient", "evaluate"):
            if hasattr(model, method):
                yield name, method


def select(rule, **changed):
    data = {"scores": X, "Y": Y, "X": X, "rng": np.random.default_rng(0)} | changed
    return rule.select(data.pop("cross_moment", X.T @ Y), **data)


def null(scores, responses):
    return permutation_null(scores, responses, k=2, m=2, rng=np.random.default_rng(0))


# What is called, with a good value of the argument that is named. A fit asks for numbers whose
# squares are numbers too.
FIT_X = {
    name: (lambda v, m=model: clone(m).fit(v, Y), "X", POSITIVE) for name, model in MODELS.items()
}
FIT_X["SteinSDR.partial_fit"] = (lambda v: Stein(1).partial_fit(v, Y), "X", X)
FIT_X["TikhonovScore.path"] = (lambda v: TikhonovScore().path(v, [1e-3]), "X", X)
FIT_Y = {
    f"{name} y": (lambda v, m=model: clone(m).fit(X, v), "y", Y) for name, model in FITS.items()
}
FIT_Y["SteinSDR.partial_fit y"] = (lambda v: Stein(1).partial_fit(X, v), "y", Y)
FIT_Y["LabeledOnly.score y"] = (lambda v: fitted("LabeledOnly").score(X, v), "y", Y)
SQUARED = {
    "X_unlabeled": (lambda v: Stein(1, config="full").fit(X, Y, v), "X_unlabeled", X),
    "stein_diagnostics X": (lambda v: stein_diagnostics(X, v), "X", X),
    "tail_check": (tail_check, "X", X),
    "SequentialRank scores": (lambda v: select(SequentialRank(), scores=v), "scores", X),
    "SequentialRank Y": (lambda v: select(SequentialRank(), Y=v), "Y", Y),
    "SequentialRank X": (lambda v: select(SequentialRank(), X=v), "X", X),
    "AdaptiveRank X": (lambda v: select(AdaptiveRank(), X=v), "X", X),
    "DominanceRank X": (lambda v: DominanceRank().select(X, X=v), "X", X),
}
NEW_X = {
    f"{name}.{method}": (lambda v, n=name, m=method: getattr(fitted(n), m)(v), "X", POSITIVE)
    for name, method in methods()
}
NEW_X["LabeledOnly.score"] = (lambda v: fitted("LabeledOnly").score(v, Y), "X", POSITIVE)
MATRICES = {
    "cross_moment scores": (lambda v: cross_moment(v, Y), "scores", X),
    "cross_moment Y": (lambda v: cross_moment(X, v), "Y", Y),
    "stein_diagnostics scores": (lambda v: stein_diagnostics(v, X), "scores", X),
    "permutation_null scores": (lambda v: null(v, Y), "scores", X),
    "permutation_null Y": (lambda v: null(X, v), "Y", Y),
    "AdaptiveRank scores": (lambda v: select(AdaptiveRank(), scores=v), "scores", X),
    "AdaptiveRank Y": (lambda v: select(AdaptiveRank(), Y=v), "Y", Y),
    "AdaptiveRank": (lambda v: select(AdaptiveRank(), cross_moment=v), "cross_moment", X),
    "SequentialRank": (lambda v: select(SequentialRank(), cross_moment=v), "cross_moment", X),
    "HardThreshold": (HardThreshold(1.0).select, "cross_moment", X),
    "DominanceRank": (lambda v: DominanceRank().select(v, X=X), "matrix", X),
    "orthonormalize": (orthonormalize, "basis", X),
    "procrustes_distance first": (lambda v: procrustes_distance(v, X), "first", X),
    "procrustes_distance second": (lambda v: procrustes_distance(X, v), "second", X),
    "principal_angles first": (lambda v: principal_angles(v, X), "first", X),
    "principal_angles second": (lambda v: principal_angles(X, v), "second", X),
    "links": (links, "indices", X),
}
ALL = {**FIT_X, **FIT_Y, **SQUARED, **NEW_X, **MATRICES}


def altered(array, value):
    array = np.array(array, dtype=float if isinstance(value, float) else object)
    array[3, 0] = value
    return array


def frame(array, **columns):
    return pd.DataFrame(array, columns=list("abc")[: array.shape[1]]).assign(**columns)


def days(array):
    return np.arange(array.size).reshape(array.shape).astype("M8[D]")


DATES = r"{}: not numeric: dates or times in column\(s\) "
SPREAD = r"{} holds values too large or too small for a variance .* in column\(s\) 0"
NAN = r"{}(| contains NaN in| has 1 row\(s\) (that are partly|with) NaN)"
ANY = {  # what is wrong: how it is made, and what the error says after the name of the argument
    "dates": (days, DATES + "0"),
    "time spans": (lambda a: days(a) - days(a)[0], DATES + "0"),
    "a date": (lambda a: altered(a, date(2020, 1, 1)), DATES + "0"),
    "a column of dates": (
        lambda a: frame(a, a=pd.date_range("2020", periods=len(a))),
        DATES + "'a'",
    ),
    "periods": (lambda a: frame(a, a=pd.period_range("2020", periods=len(a))), "{}: .*'Period'"),
    "text": (lambda a: altered(a, "me"), r"{}: not numeric: text such as 'me' in column\(s\) 0"),
    "a column of text": (
        lambda a: frame(a, a="me"),
        r"{}: not numeric: text .* in column\(s\) 'a'",
    ),
    "complex": (lambda a: a + 1j, "{}: not numeric: Complex data not supported"),
    "a complex number": (lambda a: altered(a, 1j), "{}: not numeric: Complex data not supported"),
    "masked": (lambda a: np.ma.masked_greater(a, 1.0), r"{} is a masked array with masked values"),
    "an object": (lambda a: altered(a, {}), "{}: .* must be a string or a real number, not 'dict'"),
    "sparse": (sparse.csr_array, "{}: Sparse data was passed"),
    "nan": (lambda a: altered(a, np.nan), NAN),
    "infinity": (lambda a: altered(a, np.inf), r"{} contains infinity in column\(s\) 0, .* row 3"),
    "a large integer": (lambda a: altered(a, 10**400), "{}: int too large to convert to float"),
    "no rows": (lambda a: a[:0], r"{}: Found array with 0 sample\(s\)"),
    "no columns": (lambda a: a[:, :0], r"{}: Found array with 0 feature\(s\)"),
    "three dimensions": (lambda a: a[:, :, None], "{}: Found array with dim 3"),
    "nothing": (lambda a: None, "{}(: Expected 2D array| to be passed|, or)"),
    "ragged": (lambda a: [[1.0, 2.0], [3.0]], "{}: setting an array element with a sequence"),
    "equal names": (
        lambda a: frame(a).set_axis(["a"] * a.shape[1], axis=1),
        r"{} has .* repeat \('a'",
    ),
}
SCALES = {
    "1e300": (lambda a: 1e300 * a, SPREAD),
    "1e-300": (lambda a: 1e-300 * a, SPREAD),
    "one value of 1e300": (lambda a: altered(a, 1e300), SPREAD),
}
FLAT = {"one dimension": (lambda a: a[:, 0], "{}: Expected 2D array, got 1D array")}
OTHER = {
    "fewer columns": (lambda a: a[:, 1:], "{} has 2 features, but .* is expecting 3"),
    "some names": (lambda a: frame(a).rename(columns={"a": 0}), "{}: Feature names are only supp"),
}
CASES = {
    f"{entry}: {case}": (*ALL[entry][:2], table[case][0](ALL[entry][2]), table[case][1])
    for table, entries in (
        (ANY, ALL),
        (SCALES, {**FIT_X, **FIT_Y, **SQUARED}),
        (FLAT, {**FIT_X, **SQUARED, **NEW_X, **MATRICES}),
        (OTHER, NEW_X),
    )
    for entry in entries
    for case in table
}


@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize(("call", "name", "bad", "message"), CASES.values(), ids=CASES)
def test_bad_data_are_named(call, name, bad, message):
    with pytest.raises(ValueError, match=message.format(name)):
        call(bad)


# Lengths that differ, rows and columns that say nothing, and what one method alone refuses


def fit(name, X, Y):
    return clone(MODELS[name]).fit(X, Y)


GIVEN = ("LabeledOnly", "LogNormalScore", "LaplaceScore", "GaussianMixtureScore")
LEARNED = [name for name in MODELS if name not in GIVEN]  # from rows and columns that vary
DIRECTIONS = [name for name in FITS if hasattr(FITS[name], "transform")]  # of responses that vary
LATE = np.where(np.arange(30)[:, None] == 7, 1.0, X * [1, 0, 1])  # column 1 varies in row 7
CENTERS = TikhonovScore(n_centers=5, standardize=False)
SIZES = [("n", 0), ("p", 0), ("q", 0), ("q", 1.5), ("seed", -1), ("n_unlabeled", -1)]
LONG = np.arange(200_000)[:, None]
COLLINEAR = np.column_stack([X, X[:, 0] + X[:, 1]])
REFUSED = [
    *((partial(fit, k, X, Y[1:]), r"y has 29 row\(s\) but X has 30") for k in FITS),
    *((partial(fit, k, X[:1], Y[:1]), r"X: .* 1 sample\(s\) .* minimum of [234]") for k in LEARNED),
    *((partial(fit, k, 0 * X + 0.1, Y), "X(:| has) .*(constant|distance)") for k in LEARNED),
    *((partial(fit, k, X, 0 * Y + 0.1), "y(:| has) .*constant") for k in DIRECTIONS),
    (lambda: Stein().fit(frame(X, c=1.0), Y), r"X has 1 constant column\(s\) \(c\)"),
    (lambda: Stein().fit(X, Y * np.nan), r"y has 0 labeled row\(s\); at least 2"),
    (lambda: Stein().fit(X, Y, X[:, 1:]), r"X_unlabeled has 2 column\(s\); expected 3"),
    (lambda: Stein().fit(frame(X), Y, frame(X)[["c", "b", "a"]]), "X_unlabeled: The feature names"),
    (lambda: Stein().fit(frame(X), Y, frame(X).set_axis(["a", 1, 2], axis=1)), "X_unlabeled: Feat"),
    (lambda: Stein(1).fit(frame(X), Y).transform(frame(X)[["c", "b", "a"]]), "X: The feature nam"),
    (lambda: Stein().fit(X, Y, groups=[pd.NA] * 30), r"groups has 30 missing value\(s\)"),
    (lambda: Stein().fit(X, Y, groups=np.zeros(30, "i8,i8")), "groups is an array of shape .*type"),
    (lambda: Stein().fit(X, Y, groups=X), r"groups is an array of shape \(30, 3\)"),
    (lambda: fitted("LabeledOnly").score(X, Y, days(X[:, 0])), "sample_weight: not numeric: dates"),
    (lambda: fitted("LabeledOnly").score(X, Y, Y), "[Ss]ample.weight.* must be 1D"),
    (lambda: TikhonovScore().path(X, [10**400]), "lams: int too large to convert"),
    (lambda: TikhonovScore().fit(X * [1, 0, 1]), r"X has 1 constant column\(s\) \(1\)"),
    (lambda: TikhonovScore().fit(np.eye(30)[:, :1].repeat(3, 1)), "width='median' is zero"),
    (lambda: TikhonovScore(standardize=False).fit(1e-110 * X), "kernel width is .* rescale X"),
    (lambda: TikhonovScore(standardize=False).fit(1e60 * X), "X and width: the size of the kern"),
    (lambda: CENTERS.fit(1e30 * X), "X, lam and width: a curvature must be .*; got 0"),
    (lambda: TikhonovScoreCV().fit(np.repeat(X[:3], 9, axis=0)), "X has 3 distinct row"),
    (lambda: TikhonovScoreCV().fit(LATE), r"X without one .* 1 constant column\(s\) \(1\)"),
    (lambda: TikhonovScoreCV().fit(frame(LATE)), r"X without one .* 1 constant column\(s\) \(b\)"),
    (lambda: DenoisingScore(standardize=False).fit(1e30 * X), "X holds values of size .* network"),
    (lambda: MLPDirections().fit(X, 1e30 * Y), "y holds values of size .* too large for a network"),
    (lambda: GaussianScore().fit(X[:3]), "X has n = 3 rows and p = 3 columns; .* needs n > p"),
    (lambda: GaussianScore().fit(COLLINEAR), "X has columns that are .* combinations of others"),
    (lambda: fitted("LogNormalScore").evaluate(X), "X has .* entries <= 0"),
    (lambda: fitted("StudentScore").evaluate(1e160 * X), "X: .* for the scores"),
    (lambda: GaussianMixtureScore([1.0], X[:1], 1j * EYES[:1]).fit(X), "covs: not numeric: Comp"),
    (lambda: LaplaceScore({}, 1.0).fit(X), "median: .* not 'dict'"),
    (lambda: SIR(1).fit([[1], [-1], [1], [-1]], [0, 0, 1, 1]), "y: all slices have the same mean"),
    (lambda: CSOPG().fit(LONG[:20_000], LONG[:20_000]), "X has n = 20000 rows: CSOPG .* 8 GB"),
    (lambda: KSIR().fit(LONG, LONG), "X has n = 200000 rows: KSIR holds .* 8 GB"),
    (lambda: cross_moment(X, Y[1:]), r"scores has 30 row\(s\) but Y has 29"),
    (lambda: cross_moment(1e300 * X, 1e300 * Y), "scores and Y: .* for the moment"),
    (lambda: stein_diagnostics(X[1:], X), r"scores has shape \(29, 3\) but X has \(30, 3\)"),
    (lambda: stein_diagnostics(X, X * [1, 1, 0]), r"X has 1 constant column\(s\) \(2\)"),
    (lambda: stein_diagnostics(1e300 * X, 1e100 * X), r"scores and X: .* for E\[s x'\]"),
    (lambda: null(1e300 * X, 1e300 * Y), "scores and Y: .* for the moments"),
    (lambda: select(SequentialRank(), scores=1e100 * X, Y=1e100 * Y), "scores and Y: .* squares"),
    (lambda: select(SequentialRank(), rng=0), "rng must be .*Generator.*; got 0"),
    (lambda: chance_distance(5, 2, rng=None), "rng must be .*Generator.*; got None"),
    (lambda: orthonormalize(X[:2]), r"basis has shape \(2, 3\); expected \(p, r\) with r <= p"),
    (lambda: orthonormalize(COLLINEAR), "basis has 4 columns that are linearly dependent"),
    (lambda: procrustes_distance(X, X[:, :2]), r"bases have shapes \(30, 3\) and \(30, 2\)"),
    (lambda: principal_angles(X, X[1:]), r"bases live in R\^30 and R\^29"),
    (lambda: links(X[:, :2]), r"indices has r = 2 column\(s\)"),
    *((partial(simulate, **{k: v}), f"{k} must be an integer .*; got {v}") for k, v in SIZES),
    (lambda: simulate(n=10**400), "n must be an integer between 1 and 9"),
    (lambda: simulate(noise=10**400), "noise is 1000*, .* expected a float in the range"),
    (lambda: LabeledOnly(LinearRegression).fit(X, Y), "The 'estimator' parameter"),
    (lambda: DenoisingScore(sigma=1e-70).fit(X), r"sigma must be .* \(1e-15, 1000000000000000.0\)"),
    (lambda: DenoisingScore(sigma=np.int64(1)).fit(X), "sigma must be an instance of 'int' or"),
    (
        lambda: DenoisingScore(batch_size=np.int64(9)).fit(X),
        "batch_size must be an .* 'int'",
    ),
    (
        lambda: MLPDirections(batch_size=np.int64(9)).fit(X, Y),
        "batch_size must be an .* 'int'",
    ),
    (lambda: GaussianMixtureScore([1.0], X[:1, :2], EYES[:1]).fit(X), r"means has shape \(1, 2\)"),
    (lambda: GaussianMixtureScore([1.0], X[:1], [1.0]).fit(X), r"covs has .*expected \(k, 3, 3\)"),
]


@pytest.mark.filterwarnings("ignore:.*encountered in matmul")
@pytest.mark.parametrize(("call", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_data_that_say_nothing_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# Parameters: numbers that no range should hold, and objects in the place of every argument

NUMBERS = [
    (name, parameter, value)
    for name, model in {**MODELS, **RULES}.items()
    for parameter, declared in getattr(model, "_parameter_constraints", {}).items()
    if any(isinstance(one, Interval) for one in declared) and parameter in model.get_params()
    for value in (True, 10**400, np.int8(1))
]


@pytest.mark.parametrize(("name", "parameter", "value"), NUMBERS)
def test_numbers_that_cannot_be_calculated_with_are_named(name, parameter, value):
    model = clone({**MODELS, **RULES}[name]).set_params(**{parameter: value})
    with pytest.raises(ValueError, match=parameter):
        select(model) if name in RULES else model.fit(POSITIVE, Y)


FRAME = pd.DataFrame(np.column_stack([X, Y[:, 0]]), columns=list("abcy"))
GENERATOR = np.random.default_rng(0)
CALLS = [
    (tail_check, {"X": X, "skewness": 2.0, "kurtosis": 10.0}),
    (permutation_null, {"scores": X, "Y": Y, "k": 2, "m": 2, "rng": GENERATOR}),
    (simulate, {"law": "ar1", "n": 9, "p": 3, "q": 4, "r": 3, "n_unlabeled": 0, "seed": 1}),
    (simulate, {"version": "section41", "noise": 1.0}),
    (links, {"indices": X, "q": 4, "version": "section41"}),
    (chance_distance, {"p": 3, "r": 2, "rng": GENERATOR, "n_draws": 2}),
    (load_multitarget, {"name": "slump"}),
    (load_patchseq, {"folder": "here", "verify": True}),
    (read_table, {"data": FRAME, "responses": "y", "predictors": None, "drop": None}),
    (read_table, {"data": FRAME, "responses": "y", "group": None, "unlabeled": None}),
    (read_table, {"data": FRAME, "responses": "y", "missing": "drop"}),
    (analyze, {"table": read_table(FRAME, "y"), "components": 1, "scale": "sd", "config": "sup"}),
    (analyze, {"table": read_table(FRAME, "y"), "bootstrap": 0, "folds": 2, "seed": 0}),
]


@pytest.mark.parametrize(
    ("function", "arguments", "name"),
    [(function, good, name) for function, good in CALLS for name in good],
)
def test_an_object_is_no_argument(function, arguments, name):
    with pytest.raises(ValueError, match=rf"^{name}\b"):
        function(**{**arguments, name: object()})


def test_every_estimator_is_in_these_tables():
    public = [getattr(m, name) for m in (steinsdr, scores, baselines) for name in m.__all__]
    here = {type(model) for model in (*MODELS.values(), *RULES.values())}
    assert {
        one for one in public if isinstance(one, type) and issubclass(one, BaseEstimator)
    } <= here
