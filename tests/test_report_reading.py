"""Tables as people have them: decimal commas, classes, saved indices, names with commas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from steinsdr.report import analyze, read_table
from steinsdr.report.checks import check_data
from steinsdr.report.frames import names_in, read_frame
from steinsdr.subspace import procrustes_distance


@pytest.fixture
def frame(rng):
    return pd.DataFrame(rng.standard_normal((60, 5)), columns=["a", "b", "c", "y1", "y2"])


# Row numbers


@pytest.mark.parametrize("gap", [False, True])
def test_a_row_number_is_seen_whether_rows_were_dropped_or_not(frame, gap):
    frame.insert(0, "id", range(101, 161))
    if gap:
        frame.loc[[10, 30], "c"] = np.nan
    found = check_data(read_table(frame, "y1,y2").X).findings
    assert [(f.kind, f.text) for f in found] == [("row number", "'id' numbers the rows.")]


@pytest.mark.parametrize("filtered", [False, True])
def test_a_saved_index_is_seen(frame, tmp_path, filtered):
    frame.loc[[10, 30], "c"] = np.nan
    frame = frame.drop(index=[3, 4]) if filtered else frame
    frame.to_csv(tmp_path / "my.csv")
    found = check_data(read_table(tmp_path / "my.csv", "y1,y2").X).findings
    assert [f.text for f in found] == ["'Unnamed: 0' numbers the rows."]


def test_sorted_numbers_with_a_name_are_no_row_numbers(frame):
    frame["a"] = np.cumsum(1 + np.arange(60) % 3)
    assert check_data(frame[["a", "b"]]).findings == ()
    frame["a"] = np.arange(60) + 0.5
    assert check_data(frame[["a", "b"]]).findings == ()


# Text in cells


def test_classes_are_to_be_columns_of_their_own(frame):
    frame["y1"] = ["red", "green", "blue"] * 20
    words = r"responses: not numeric: 'y1' \(60 .* give each of them a column of 0 and 1"
    with pytest.raises(ValueError, match=words):
        read_table(frame, "y1")
    frame["a"] = ["p", "q"] * 30
    with pytest.raises(ValueError, match="leave them out with drop, or fit within their groups"):
        read_table(frame, "y2", drop="y1")
    more = frame.assign(b="?")
    with pytest.raises(ValueError, match=r"unlabeled: not numeric: 'b' .* must be empty"):
        read_table(frame, "y2", predictors="b,c", unlabeled=more)


def test_columns_of_classes_show_one_direction_less(rng, tmp_path):
    X = rng.standard_normal((200, 6))
    corners = np.array([[1, 0], [-0.5, 0.9], [-0.5, -0.9]])
    place = (3 * X[:, :2] @ corners.T + rng.gumbel(size=(200, 3))).argmax(axis=1)
    classes = pd.get_dummies(np.array(["red", "green", "blue"])[place])  # True and False
    frame = pd.DataFrame(X, columns=list("abcdef")).join(classes)
    frame.to_csv(tmp_path / "classes.csv", index=False)
    table = read_table(tmp_path / "classes.csv", ["red", "green", "blue"])
    analysis = analyze(table, n_bootstrap=0, folds=2)
    assert analysis.n_components == 2
    assert procrustes_distance(analysis.reduction.loadings_, np.eye(6)[:, :2]) < 0.5


def test_thousands_separators_are_no_classes(frame, tmp_path):
    frame["y1"] = [f"{1000 + 37.4 * i:,.2f}" for i in range(60)]
    frame.to_csv(tmp_path / "money.csv", index=False)
    words = r"'y1' \(60 value\(s\) such as '1,000.00'\); remove thousands separators\.$"
    with pytest.raises(ValueError, match=words):
        read_table(tmp_path / "money.csv", "y1")
    frame["y2"] = "high"
    with pytest.raises(ValueError, match=r"thousands separators where .* if these are classes"):
        read_table(frame, "y1,y2")
    frame["y1"] = "12,5"  # no thousands
    with pytest.raises(ValueError, match=r"not numeric: 'y1' .*; if these are classes"):
        read_table(frame, "y1")


def test_a_file_without_names_is_asked_about(frame, tmp_path):
    frame.round(6).to_csv(tmp_path / "bare.csv", index=False, header=False)
    with pytest.raises(
        ValueError, match=r"no column 'y1'.* does the first line name the columns\?$"
    ):
        read_table(tmp_path / "bare.csv", "y1")
    (tmp_path / "twice.csv").write_text("0,0,1\n1,2,3\n")
    with pytest.raises(ValueError, match=r"named '0'; .* does the first line name the columns\?$"):
        read_table(tmp_path / "twice.csv", "y1")
    with pytest.raises(ValueError, match=r"no column 'z'\..*'y2'\.$"):
        read_table(frame, "z")


# Gaps


@pytest.mark.parametrize(("gaps", "found"), [(12, False), (13, True)])
def test_many_rows_dropped_for_gaps_are_a_finding(frame, gaps, found):
    frame.loc[: gaps - 3, "b"] = np.nan
    frame.loc[gaps - 2 : gaps - 1, "y1"] = np.nan  # y2 is there
    frame.loc[20:24, ["y1", "y2"]] = np.nan  # unlabeled, not dropped
    table = read_table(frame, "y1,y2")
    assert (table.n_rows, table.n_dropped) == (60, gaps)
    assert list(table.gaps.items()) == [("b", gaps - 2), ("y1", 2)]
    verdict = analyze(table, components=1, n_bootstrap=0, folds=2).verdict
    texts = [finding.text for finding in verdict.findings if finding.kind == "gaps"]
    said = f"13 of 60 rows were dropped for their gaps, most of them in 'b' ({gaps - 2}), 'y1' (2)."
    assert texts == [said] * found


# Decimal commas, other encodings, quoted names


@pytest.mark.parametrize(("suffix", "sep"), [(".csv", ";"), (".csv", "|"), (".tsv", "\t")])
def test_decimal_commas(frame, tmp_path, suffix, sep):
    frame.loc[3, "a"] = np.nan
    frame["count"] = range(60)
    path = tmp_path / f"europe{suffix}"
    frame.to_csv(path, sep=sep, decimal=",", index=False)
    pd.testing.assert_frame_equal(read_frame(path), frame)
    table = read_table(path, "y1", unlabeled=path)
    note = f"europe{suffix}: commas within numbers were read as decimal points."
    assert table.notes[0] == note
    assert table.notes.count(note) == 2  # both files


def test_commas_that_are_no_decimal_ones_stay(frame, tmp_path):
    path = tmp_path / "points.csv"
    frame["place"] = "1,5"  # one column of text, against five of numbers with points
    frame.to_csv(path, sep=";", index=False)
    pd.testing.assert_frame_equal(read_frame(path), frame)
    frame["place"] = "1,500"  # of a thousand
    frame.to_csv(path, index=False)
    pd.testing.assert_frame_equal(read_frame(path), frame)


def test_another_encoding_is_told(frame, tmp_path):
    path = tmp_path / "latin.csv"
    path.write_text(frame.rename(columns={"a": "größe"}).to_csv(index=False), encoding="latin-1")
    with pytest.raises(ValueError, match=r"^data: 'latin.csv' is not UTF-8.*save the file as"):
        read_frame(path)


def test_delimiters_in_quoted_names_do_not_count(tmp_path):
    path = tmp_path / "quoted.csv"
    path.write_text('"weight, kg";"height, cm"\n1;2\n3;4\n')
    assert list(read_frame(path).columns) == ["weight, kg", "height, cm"]
    path.write_text('"a; ""b;""; c",d\n1,2\n')
    assert list(read_frame(path).columns) == ['a; "b;"; c', "d"]


def test_names_with_commas(frame):
    assert names_in(frame, ["y1,y2"]) == ["y1", "y2"]
    assert names_in(frame, ["y1, y3", "b"]) == ["y1", "y3", "b"]  # so that y3 is what is missing
    assert names_in(frame, ["zebra, q"]) == ["zebra, q"]
    table = read_table(frame.rename(columns={"y1": "weight, kg"}), "weight, kg", drop=["y2,c"])
    assert list(table.Y.columns) == ["weight, kg"]
    assert list(table.X.columns) == ["a", "b"]
