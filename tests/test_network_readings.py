"""Readings of the network's standardization beside the paper's figures."""

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT

from steinsdr.paper.ledger import Ledger
from steinsdr.paper.methods import METHODS
from steinsdr.paper.network_readings import READINGS, plot_readings, readings_table
from steinsdr.scores import DenoisingScore


@pytest.fixture(scope="module")
def ledger():
    return Ledger.build(ROOT / "book" / "results", ROOT / "book" / "paper")


def test_names_are_methods_with_the_settings_that_they_say():
    for ending in READINGS.values():
        for config in ("sup", "split", "full"):
            method = METHODS[f"NN-{config}{ending}"]
            assert method.config == config
            network = DenoisingScore(**method.settings)
            assert network.standardize == (ending != "-raw")
            assert (network.sigma_units == "x") == (ending == "")


@pytest.mark.parametrize("table", ["table1", "table2"])
def test_every_reading_is_that_of_its_own_rows(ledger, table):
    found = readings_table(ledger, table)
    assert set(found["reading"]) == set(READINGS)
    axis, measure = ("n", "distance") if table == "table1" else ("r", "error")
    rows = pd.read_csv(ROOT / "book" / "results" / f"{table}.csv")
    own = rows.groupby(["law", axis, "method"])[measure].agg(["mean", "std", "count"])
    names = found["method"] + found["reading"].map(READINGS)
    stored = own.loc[list(zip(found["law"], found[axis], names, strict=True))]
    np.testing.assert_allclose(found["mean"], stored["mean"])
    np.testing.assert_allclose(found["sd"], stored["std"])
    assert found["reps"].tolist() == stored["count"].tolist()


def test_a_reading_without_rows_is_left_out(ledger):
    bare = Ledger(ledger.cells, ledger.extras[ledger.extras["method"] != "NN-split-std"])
    found = readings_table(bare)
    assert "scaled, then noise" not in set(found.loc[found["method"] == "NN-split", "reading"])
    assert len(found) < len(readings_table(ledger))


def test_figure_has_a_panel_for_each_law_and_method(ledger):
    laws = ("lognormal", "exp_ar1")
    fig = plot_readings(readings_table(ledger), laws)
    assert len(fig.axes) == 3 * len(laws)
    for ax in fig.axes:
        (paper,) = ax.collections
        assert len(paper.get_offsets()) == 4
