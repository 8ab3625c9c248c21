"""Data that come in pieces, and Dask collections."""

from __future__ import annotations

import os
import signal
import warnings

import numpy as np
import pandas as pd
import pytest

from steinsdr import SteinSDR

N, P, LEARNED = 300, 5, 120
# Sums over rows that lie otherwise in memory are rounded otherwise, which the regularized score of
# heavy tails amplifies: differences up to 2e-8 were seen.
ROUNDING = 1e-6


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(11)
    X = rng.standard_normal((N, P))
    return X, np.column_stack([X[:, 0], np.sin(X[:, 1])]) + 0.4 * rng.standard_normal((N, 2))


def in_pieces(sdr, X, Y, ends):
    for rows in np.split(np.arange(len(X)), ends):
        sdr.partial_fit(X[rows], Y[rows])
    return sdr


@pytest.mark.parametrize("variant", [{}, {"weights": "fourier"}, {"augment": None}])
def test_few_rows_in_pieces_are_the_same_fit(data, variant):
    X, Y = data
    whole = SteinSDR(random_state=0, **variant).fit(X, Y)
    pieces = in_pieces(SteinSDR(random_state=0, **variant), X, Y, [50, 110])
    np.testing.assert_allclose(pieces.components_, whole.components_, atol=1e-10)
    np.testing.assert_allclose(pieces.loading_errors_, whole.loading_errors_, atol=1e-10)
    assert pieces.n_rows_ == whole.n_rows_ == N


def moment_of(sdr, X, Y):
    """The augmented moment of a linear fit, from public attributes, for center=False."""
    Z = sdr.coordinates_.map(X)
    residuals = Y - sdr.link_.predict(Z)
    return sdr.link_.coef_.T * len(X) + sdr.score_estimator_.evaluate(Z).T @ residuals


LINEAR = {"augment": "ridge", "weights": None, "center": False, "max_rows": LEARNED}


def test_moment_goes_on_beyond_the_rows_that_are_learned_from(data):
    X, Y = data
    first = SteinSDR(2, **LINEAR).partial_fit(X[:LEARNED], Y[:LEARNED])
    expected = first.cross_moment_ * LEARNED + moment_of(first, X[LEARNED:], Y[LEARNED:])
    for ends in ([200], [60, 180, 181, 250], []):
        sdr = in_pieces(SteinSDR(2, **LINEAR), X, Y, ends)
        np.testing.assert_allclose(sdr.cross_moment_, expected / N, atol=1e-10)
        assert sdr.n_rows_ == N


def test_fit_takes_the_moment_over_all_rows(data):
    X, Y = data
    sdr = SteinSDR(2, random_state=0, **LINEAR).fit(X, Y)
    assert len(sdr.scores_) == LEARNED
    np.testing.assert_allclose(sdr.cross_moment_, moment_of(sdr, X, Y) / N, atol=1e-10)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (lambda X, Y: (X[:, 1:], Y), "X has 4 features, but SteinSDR is expecting 5"),
        (lambda X, Y: (X, Y[:, :1]), r"y has 1 column\(s\); the pieces before had 2"),
        (lambda X, Y: (X, Y[1:]), r"y has 299 row\(s\) but X has 300"),
        (lambda X, Y: (X, Y * np.nan), "y contains NaN"),
    ],
)
def test_bad_pieces_are_named(data, columns, message):
    sdr = SteinSDR(2).partial_fit(*data)
    with pytest.raises(ValueError, match=message):
        sdr.partial_fit(*columns(*data))


@pytest.mark.parametrize(
    ("sdr", "reason"),
    [(SteinSDR.paper(2), "the paper's moment"), (SteinSDR(config="full"), "labeled rows only")],
)
def test_partial_fit_exists_only_where_it_works(sdr, reason):
    with pytest.raises(AttributeError, match="partial_fit") as refusal:
        sdr.partial_fit  # noqa: B018
    assert reason in str(refusal.value.__cause__)


def as_arrays(X, Y):
    da = pytest.importorskip("dask.array")
    return da.from_array(X, chunks=(70, 2)), da.from_array(Y, chunks=(110, 1))


def as_frames(X, Y):
    dd = pytest.importorskip("dask.dataframe")
    names = [f"x{j}" for j in range(P)]
    frames = pd.DataFrame(X, columns=names), pd.DataFrame(Y, columns=["u", "v"])
    return tuple(dd.from_pandas(frame, npartitions=4) for frame in frames)


@pytest.mark.parametrize("collect", [as_arrays, as_frames])
@pytest.mark.parametrize("variant", [{}, {"weights": "fourier"}, {"pca": 3}])
def test_dask_collections_give_the_result_in_memory(data, collect, variant):
    X, Y = data
    settings = {"max_rows": LEARNED, "random_state": 0, **variant}
    whole = SteinSDR(**settings).fit(X, Y)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        blocks = SteinSDR(**settings).fit(*collect(X, Y))
    np.testing.assert_allclose(blocks.cross_moment_, whole.cross_moment_, atol=1e-8)
    np.testing.assert_allclose(blocks.components_, whole.components_, atol=1e-8)
    assert blocks.n_rows_ == N
    assert hasattr(blocks, "feature_names_in_") == (collect is as_frames)


@pytest.mark.parametrize("config", ["auto", "full", "split"])
@pytest.mark.parametrize(("collect", "max_rows"), [(as_arrays, LEARNED), (as_frames, 5000)])
def test_rows_without_responses_count_as_unlabeled_in_blocks(data, collect, config, max_rows):
    X, Y = np.exp(data[0]), data[1].copy()  # heavy tails: "auto" takes all rows
    Y[50:130] = np.nan  # a block without responses among them
    settings = {"config": config, "max_rows": max_rows, "random_state": 0, "scale": "robust"}
    whole = SteinSDR(2, **settings).fit(X, Y)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        blocks = SteinSDR(2, **settings).fit(*collect(X, Y))
    assert (blocks.n_rows_, blocks.config_) == (N - 80, whole.config_)
    np.testing.assert_allclose(blocks.cross_moment_, whole.cross_moment_, atol=ROUNDING)
    np.testing.assert_allclose(blocks.components_, whole.components_, atol=ROUNDING)


@pytest.mark.slow
def test_a_worker_that_dies_changes_nothing(data, tmp_path):
    pytest.importorskip("distributed")
    from distributed import Client, LocalCluster

    X, Y = data
    calls = tmp_path / "calls"

    def deadly(block):
        """Count the calls of all processes; the seventh, after the subset was read, dies."""
        with calls.open("ab") as file:
            file.write(b".")
        if calls.stat().st_size == 7:
            os.kill(os.getpid(), signal.SIGKILL)
        return block

    points, responses = as_arrays(X, Y)
    points = points.rechunk((70, P)).map_blocks(deadly, meta=np.empty((0, 0)))
    settings = {"max_rows": LEARNED, "random_state": 0}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        blocks = SteinSDR(2, **settings).fit(points, responses)
    assert calls.stat().st_size > 7, "work went on after the death"
    whole = SteinSDR(2, **settings).fit(X, Y)
    np.testing.assert_allclose(blocks.components_, whole.components_, atol=1e-8)


def partly_missing(Y):
    Y = Y.copy()
    Y[9, 0] = np.nan
    return Y


@pytest.mark.parametrize(
    ("parameters", "change", "message"),
    [
        ({}, lambda X, Y: (X[X[:, 0] > 0], Y), "X is a Dask array of unknown size"),
        ({}, lambda X, Y: (X, Y[X[:, 0] > 0]), "y is a Dask array of unknown size"),
        ({}, lambda X, Y: (X[:-1], Y), r"y has 300 row\(s\) but X has 299"),
        ({}, lambda X, Y: (X, Y.compute()), "y is a ndarray; if one of X and y"),
        ({}, lambda X, Y: (X[:, 0], Y), r"X has 1 dimension\(s\); expected 2"),
        ({"config": "full"}, lambda X, Y: (X, Y), "needs unlabeled rows, and there are none"),
        ({}, lambda X, Y: (X, Y * np.nan), r"y has 0 labeled row\(s\)"),
        ({}, lambda X, Y: (X, partly_missing(Y)), r"1 row\(s\) that are partly NaN \(first: row 9"),
        ({"augment": None, "weights": None, "pca": None, "scale": "sd"}, None, "paper's moment"),
    ],
)
def test_bad_dask_collections_are_named(data, parameters, change, message):
    X, Y = as_arrays(*data)
    with pytest.raises(ValueError, match=message):
        SteinSDR(2, **parameters).fit(*(change(X, Y) if change else (X, Y)))
