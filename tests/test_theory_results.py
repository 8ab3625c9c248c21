"""Slopes and shares from stored rows of the theory studies."""

import numpy as np
import pytest

from steinsdr.paper import rate_results
from steinsdr.paper.rates import STUDIES, THEORY, TheoryCell
from steinsdr.paper.simulations import Row
from steinsdr.paper.store import Store


def planted(folder, study, function, reps=range(20)):
    """Store rows whose values are a function of size and repetition."""
    store = Store(THEORY, folder)
    store.open()
    cells = [TheoryCell(study, size, rep) for size in STUDIES[study].sizes for rep in reps]
    store.append([Row(c, (float(function(c.size, c.rep)), 0.5), "ok", 0.0) for c in cells])


def test_planted_slopes_are_found(tmp_path):
    noise = np.random.default_rng(0).uniform(0.9, 1.1, 200_000)
    planted(tmp_path, "split-n", lambda size, rep: size**-0.5 * noise[size + rep])
    planted(tmp_path, "split-p", lambda size, rep: size**0.8)
    frame = rate_results.load_studies(tmp_path, ["split-n", "split-p"])
    table = rate_results.rates_table(frame)
    assert table.loc["split-n", "low"] <= -0.5 <= table.loc["split-n", "high"]
    assert table.loc["split-n", "high"] - table.loc["split-n", "low"] < 0.05
    assert table.loc["split-p", "slope"] == pytest.approx(0.8)
    assert list(table.stated) == [-0.5, 0.5]
    assert list(table.repetitions) == [20, 20]
    assert rate_results.study_rate(frame, "split-p", "score_error").slope == pytest.approx(0.0)


def test_a_repetition_that_lacks_a_size_is_left_out(tmp_path):
    planted(tmp_path, "split-q", lambda size, rep: size, reps=range(3))
    store = Store(THEORY, tmp_path)
    store.open()
    store.append([Row(TheoryCell("split-q", 4, 7), (1e6, 0.0), "ok", 0.0)])
    frame = rate_results.load_studies(tmp_path, ["split-q"])
    assert set(frame.rep) == {0, 1, 2}
    assert rate_results.rates_table(frame).slope.item() == pytest.approx(1.0)


def test_shares_and_their_intervals(tmp_path):
    planted(tmp_path, "threshold-0.5", lambda size, rep: rep < 5)
    shares = rate_results.shares_table(rate_results.load_studies(tmp_path, ["threshold-0.5"]))
    assert (shares.share == 0.25).all()
    assert ((shares.low < 0.25) & (shares.high > 0.25)).all()
    planted(tmp_path, "split-q", lambda size, rep: size)
    with pytest.raises(ValueError, match="0 and 1"):
        rate_results.shares_table(rate_results.load_studies(tmp_path, ["split-q"]))


def test_what_is_not_there_is_said(tmp_path):
    with pytest.raises(ValueError, match='study=split-n" computes'):
        rate_results.load_studies(tmp_path, ["split-n"])
    with pytest.raises(ValueError, match="study must be one of"):
        rate_results.load_studies(tmp_path, ["split"])
