"""The benchmark: its data sets and its rows."""

import os
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT

from steinsdr.paper import benchmark, multitarget
from steinsdr.paper.benchmark import BENCHMARK
from steinsdr.paper.benchmark_chapter import live_slice
from steinsdr.paper.designs import DESIGNS, SIMULATED, draw
from steinsdr.paper.ledger import load_rows
from steinsdr.paper.multitarget import MULTITARGET, load_multitarget
from steinsdr.paper.store import Store

ARFF = """@relation small
@attribute colour {red, green, blue}
@attribute length numeric
@attribute a numeric
@attribute b numeric
@data
red, 1.5, 1, 2
blue, ?, 3, 4
green, 2.5, 5, 6
"""


def test_nominal_columns_become_indicators_and_missing_values_stay(tmp_path):
    (tmp_path / "enb.arff").write_text(ARFF)
    X, Y = multitarget._read(tmp_path / "enb.arff", 2)
    # Of three colours in the order of the alphabet the first, blue, is where both are zero.
    expected = [[1.5, 0, 1], [np.nan, 0, 0], [2.5, 1, 0]]
    np.testing.assert_array_equal(X.to_numpy(), expected)
    np.testing.assert_array_equal(Y.to_numpy(), [[1, 2], [3, 4], [5, 6]])


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("iris", ValueError, "name must be one of 'andro'"),
        ("andro", FileNotFoundError, "andro.arff not found"),
        ("enb", ValueError, "SHA-256 .* expected 8277d909"),
    ],
)
def test_wrong_names_and_files_are_told(name, kind, message, tmp_path, monkeypatch):
    monkeypatch.setenv("STEINSDR_DATA", str(tmp_path))
    (tmp_path / "multitarget").mkdir()
    (tmp_path / "multitarget" / "enb.arff").write_text(ARFF)
    with pytest.raises(kind, match=message):
        load_multitarget(name)


@pytest.mark.skipif(
    not (Path(os.environ.get("STEINSDR_DATA", "")) / "multitarget").is_dir(),
    reason="needs the data in STEINSDR_DATA",
)
def test_all_sets_can_be_read():
    shapes = {name: [part.shape for part in load_multitarget(name)] for name in MULTITARGET}
    assert shapes["atp1d"] == [(337, 411), (337, 6)]
    assert shapes["sf2"] == [(1066, 21), (1066, 3)]  # ten nominal columns with 31 values
    for name, said in MULTITARGET.items():
        sizes = said["rows"], said["columns"], said["targets"]
        assert shapes[name] == [sizes[:2], sizes[::2]]


@pytest.fixture
def small(monkeypatch):
    """Two responses of six columns, one of them constant, another with missing values."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 6))
    Y = np.column_stack([X[:, 0], 1e6 * (X[:, 1] - X[:, 2])]) + 1e-3 * rng.standard_normal((60, 2))
    X[:, 3] = 1.0
    X[::7, 4] = np.nan
    monkeypatch.setattr(benchmark, "_data", lambda name: (X, Y))
    return X, Y


@pytest.mark.parametrize("peer", BENCHMARK.known("method"))
def test_every_peer_beats_the_mean_and_gives_the_same_number_again(peer, small):
    cell = BENCHMARK.cell(data="enb", method=peer, rep=7)
    (first,), (again,) = (BENCHMARK.compute([cell]) for _ in range(2))
    assert first.status == "ok"
    assert first.values == again.values
    # Four of five components that are alike keep most of the signal, at times.
    assert 0 < first.values[0] < (1.0 if peer == "PCA" else 0.2)


def test_test_rows_teach_nothing_and_the_error_has_no_unit(small, monkeypatch):
    X, Y = small
    cell = BENCHMARK.cell(data="enb", method="ridge", rep=0)
    (row,) = BENCHMARK.compute([cell])
    monkeypatch.setattr(benchmark, "_data", lambda name: (5 + 1e3 * X, 3 - 9 * Y))
    (scaled,) = BENCHMARK.compute([cell])
    assert scaled.values == pytest.approx(row.values, rel=1e-6)
    # Responses without any relation: what is learned from test rows alone could beat the mean.
    noise = np.random.default_rng(1).standard_normal(Y.shape)
    monkeypatch.setattr(benchmark, "_data", lambda name: (X, noise))
    cells = [BENCHMARK.cell(data="enb", method="kernel-ridge", rep=rep) for rep in range(5)]
    assert np.mean([row.values for row in BENCHMARK.compute(cells)]) > 0.95


def test_the_chapter_falls_back_on_stored_rows(small, monkeypatch):
    rows = load_rows(BENCHMARK, ROOT / "book" / "results")
    cells = BENCHMARK.cells(only={"data": ["enb"], "method": ["ridge", "PLS"], "rep": ["0-1"]})
    live, notice = live_slice(cells, rows)
    assert "computed now" in notice

    def gone(name):
        raise ConnectionError("no network")

    monkeypatch.setattr(benchmark, "_data", gone)
    stored, notice = live_slice(cells, rows)
    assert "THE DATA ARE NOT HERE" in notice
    assert "no network" in notice
    keys = ["data", "method", "rep"]
    assert sorted(map(tuple, stored[keys].to_numpy())) == sorted(cells)
    assert list(stored.columns) == list(live.columns)
    assert len(stored.merge(rows, on=[*keys, "error"])) == len(cells)


# Simulated designs.


@pytest.mark.parametrize("method", SIMULATED.axes["method"])
def test_stored_rows_of_a_design_are_computed_again(method):
    cell = ("counts and groups, p = 10, n = 300", method, 0)
    (row,) = SIMULATED.compute([cell])
    stored = Store(SIMULATED, ROOT / "book" / "results").read()[cell]
    assert row.status == stored.status == "ok"
    assert row.values == pytest.approx(stored.values, abs=SIMULATED.tolerance(method))


def test_every_design_draws_the_same_data_again_and_its_directions_matter():
    for name, design in DESIGNS.items():
        one, two = draw(name, 3), draw(name, 3)
        np.testing.assert_array_equal(one.X, two.X)
        np.testing.assert_array_equal(one.Y, two.Y)
        assert one.X.shape == (design.n, design.p)
        np.testing.assert_allclose(one.B.T @ one.B, np.eye(design.r), atol=1e-12)
        assert not np.array_equal(one.X, draw(name, 4).X)
    assert np.count_nonzero(np.abs(draw("sparse, p = 500, n = 300").B).sum(axis=1)) <= 15
