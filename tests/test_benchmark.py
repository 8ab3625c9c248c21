"""The benchmark: its data sets and its rows."""

import os
from pathlib import Path

import numpy as np
import pytest

from steinsdr.paper.multitarget import MULTITARGET, load_multitarget

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
    (tmp_path / "enb.arff").write_text(ARFF)  # two responses
    X, Y = load_multitarget("enb", tmp_path, verify=False)
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
def test_wrong_names_and_files_are_told(name, kind, message, tmp_path):
    (tmp_path / "enb.arff").write_text(ARFF)
    with pytest.raises(kind, match=message):
        load_multitarget(name, tmp_path)


@pytest.mark.skipif(
    not (Path(os.environ.get("STEINSDR_DATA", "")) / "multitarget").is_dir(),
    reason="needs the data in STEINSDR_DATA",
)
def test_all_sets_can_be_read():
    shapes = {name: [part.shape for part in load_multitarget(name)] for name in MULTITARGET}
    assert shapes["atp1d"] == [(337, 411), (337, 6)]
    assert shapes["sf2"] == [(1066, 21), (1066, 3)]  # ten nominal columns with 31 values
    assert all(Y[1] == MULTITARGET[name]["targets"] for name, (_, Y) in shapes.items())
