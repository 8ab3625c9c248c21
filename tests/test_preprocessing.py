"""Counts per million and the four-part partition."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from steinsdr.paper.patchseq import CPMLog, random_partition

EMPTY = "the check's data have a row of zeros, a cell without any count"


@parametrize_with_checks(
    [CPMLog()],
    expected_failed_checks=lambda _: dict.fromkeys(
        ["check_estimators_dtypes", "check_fit2d_1feature"], EMPTY
    ),
)
def test_cpmlog_is_a_scikit_learn_estimator(estimator, check):
    check(estimator)


def test_cpmlog_by_hand():
    counts = pd.DataFrame({"a": [1, 0], "b": [3, 10]})
    expected = np.log2([[250_001, 750_001], [1, 1_000_001]])
    np.testing.assert_allclose(CPMLog().fit_transform(counts), expected, rtol=1e-14)
    named = CPMLog().set_output(transform="pandas").fit_transform(counts)
    assert named.columns.tolist() == ["a", "b"]


def test_cpmlog_treats_rows_alone(rng):
    counts = rng.poisson(5, (20, 8)) + 1
    fitted = CPMLog().fit(counts[:10])
    np.testing.assert_array_equal(fitted.transform(counts)[10:], fitted.transform(counts[10:]))


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([[1, -1], [2, 2]], "Negative values"),
        ([[1, 1], [0, 0]], r"1 row\(s\) without any count \(first: row 1\)"),
        ([[1, np.nan], [1, 1]], "NaN"),
    ],
)
def test_cpmlog_refuses(counts, message):
    with pytest.raises(ValueError, match=message):
        CPMLog().fit(np.array(counts, dtype=float))
    with pytest.raises(ValueError, match="scale must be"):
        CPMLog(scale=0).fit([[1, 2]])


def test_scaling_is_fitted_on_training_rows(rng):
    counts = rng.poisson(20, (40, 6))
    pipe = make_pipeline(CPMLog(), StandardScaler()).fit(counts[:30])
    assert abs(pipe.transform(counts[:30]).mean()) < 1e-12
    assert abs(pipe.transform(counts[30:]).mean()) > 1e-3


@pytest.mark.parametrize("train_ratio", [0.6, 0.8])
@pytest.mark.parametrize("gamma", [0.1, 0.3, 0.5])
def test_partition_has_the_papers_shares(train_ratio, gamma, rng):
    parts = random_partition(1213, train_ratio, gamma, rng)
    pieces = (parts.labeled, parts.unlabeled, parts.fit, parts.test)
    rows = np.concatenate(pieces)
    assert len(np.unique(rows)) == len(rows)
    assert rows.min() >= 0
    assert rows.max() < 1213
    n_train = len(parts.labeled) + len(parts.unlabeled)
    shares = [len(parts.fit) / 1213, len(parts.test) / 1213, n_train / 1213]
    # Whole rows: half a row of 1213, and half a row of the training part.
    np.testing.assert_allclose(shares, [0.15, 0.05, train_ratio], atol=0.5 / 1213 + 1e-9)
    assert abs(len(parts.labeled) / n_train - gamma) <= 0.5 / n_train + 1e-9
    if train_ratio == 0.8:
        assert len(rows) == 1213


@pytest.mark.parametrize("n", [40, 101, 1213])
@pytest.mark.parametrize("gamma", [0.1, 0.3, 0.5])
def test_filled_partition_uses_every_row(n, gamma):
    parts = random_partition(n, 0.6, gamma, np.random.default_rng(3), fill=True)
    pieces = (parts.test, parts.fit, parts.labeled, parts.unlabeled)
    assert sorted(np.concatenate(pieces)) == list(range(n))
    sizes = np.array([len(piece) for piece in pieces])
    expected = np.array([0.05, 0.15, 0.6 * gamma, 0.6 * (1 - gamma)]) / 0.8
    np.testing.assert_allclose(sizes / n, expected, atol=1.5 / n)
    whole = random_partition(n, 0.8, gamma, np.random.default_rng(3), fill=True)
    same = random_partition(n, 0.8, gamma, np.random.default_rng(3))
    np.testing.assert_array_equal(whole.labeled, same.labeled)
    assert set(whole.test) <= set(parts.test)


def test_partitions_of_one_stream_are_paired():
    def make(ratio, gamma):
        return random_partition(1213, ratio, gamma, np.random.default_rng(3))

    small, large, wide = make(0.6, 0.1), make(0.6, 0.5), make(0.8, 0.5)
    for other in (large, wide):
        np.testing.assert_array_equal(small.test, other.test)
        np.testing.assert_array_equal(small.fit, other.fit)
        assert set(small.labeled) < set(other.labeled)
    elsewhere = random_partition(1213, 0.6, 0.1, np.random.default_rng(4))
    assert set(small.test) != set(elsewhere.test)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((100, 0.9, 0.1), "is 1.1; expected at most 1"),
        ((100, 0.6, 1.0), "gamma must be in"),
        ((100, 0.6, "some"), r"gamma must be in \(0, 1\); got 'some'"),
        ((100, np.nan, 0.5), r"train_ratio must be in \(0, 1\); got nan"),
        ((100, 0.0, 0.5), "train_ratio must be in"),
        ((5, 0.6, 0.1), "leaves a part empty"),
        ((2.5, 0.6, 0.1), "n must be an integer"),
    ],
)
def test_partition_refuses(arguments, message, rng):
    with pytest.raises(ValueError, match=message):
        random_partition(*arguments, rng)
