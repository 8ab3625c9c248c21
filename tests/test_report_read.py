"""Tables as people have them: formats, delimiters, decimal commas, gaps, classes, wrong names."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_linnerud

from steinsdr.report import analyze, read_table
from steinsdr.report.read import read_frame
from steinsdr.subspace import procrustes_distance

ODD = ["?", *range(59)]


@pytest.fixture
def frame(rng):
    return pd.DataFrame(rng.standard_normal((60, 7)), columns=[*"abcde", "y1", "y2"])


def test_linnerud_from_csv(tmp_path):
    path = tmp_path / "linnerud.csv"
    load_linnerud(as_frame=True).frame.to_csv(path, index=False)
    table = read_table(path, ["Weight", "Waist", "Pulse"])
    data = load_linnerud()
    np.testing.assert_array_equal(table.X, data.data)
    np.testing.assert_array_equal(table.Y, data.target)
    assert list(table.X.columns) == data.feature_names
    assert (len(table.X_unlabeled), table.notes, table.name) == (0, (), "linnerud.csv")
    assert table.X.index[-1] == ("linnerud.csv", 20)


@pytest.mark.parametrize(
    ("suffix", "sep", "decimal"),
    [
        (".csv", ",", "."),
        (".csv", ";", "."),
        (".csv", "\t", "."),
        (".tsv", "\t", "."),
        (".csv", ";", ","),
        (".csv", "|", ","),
        (".tsv", "\t", ","),
    ],
)
def test_delimiters_and_decimals(frame, tmp_path, suffix, sep, decimal):
    frame.loc[3, "a"] = np.nan
    frame["count"] = range(60)
    path = tmp_path / f"my{suffix}"
    frame.to_csv(path, sep=sep, decimal=decimal, index=False, encoding="utf-8-sig")
    found, notes = read_frame(path)
    pd.testing.assert_frame_equal(found, frame)
    said = [f"my{suffix}: commas within numbers were read as decimal points."]
    assert notes == said * (decimal == ",")
    table = read_table(path, "y1", unlabeled=path)
    assert sum(note in said for note in table.notes) == 2 * (decimal == ",")  # both files


def test_commas_that_are_no_decimal_ones_stay(frame, tmp_path):
    path = tmp_path / "points.csv"
    frame["place"] = "1,5"  # one column of text, against seven of numbers with points
    frame.to_csv(path, sep=";", index=False)
    pd.testing.assert_frame_equal(read_frame(path)[0], frame)
    frame["place"] = "1,500"  # of a thousand
    frame.to_csv(path, index=False)
    pd.testing.assert_frame_equal(read_frame(path)[0], frame)


def test_parquet(frame, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    path = tmp_path / "table.parquet"
    frame.set_index("a").to_parquet(path)
    np.testing.assert_array_equal(read_table(path, "y1, y2").X, frame[list("abcde")])

    def no_engine(*_):
        raise ImportError("no engine")

    monkeypatch.setattr(pd, "read_parquet", no_engine)
    with pytest.raises(ValueError, match=r"needs pyarrow.*pip install '\.\[parquet\]'"):
        read_frame(path)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.csv", b"", "data: cannot read 'empty.csv'"),
        ("header.csv", b"a,b\n", "data: 'header.csv' holds no rows"),
        ("bytes.csv", b"\xff\xfe\x00", "data: cannot read 'bytes.csv': it is no text .*as UTF-8"),
        ("other.csv", b"a,b\n\x81,2\n", "it is no text .* save the file as UTF-8"),
        ("bare.csv", b"0,0,1\n1,2,3\n", r"named '0'\. .* does the first line name the columns\?$"),
        ("book.xlsx", b"", r"ends in '.xlsx'; expected one of .csv, .tsv, .parquet"),
        ("weka.arff", b"@data\n1,2\n", r"ends in '.arff'; .* Save the table as CSV\.$"),
        ("missing.csv", None, "data: there is no file"),
    ],
)
def test_wrong_files(tmp_path, name, content, words):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=words):
        read_frame(tmp_path / name)


@pytest.mark.parametrize("mark", [",", ";"])
def test_columns_that_share_a_name_are_told_apart_by_their_place(tmp_path, mark):
    path = tmp_path / "twice.csv"
    path.write_text(f"{mark}pulse{mark}b{mark}pulse\n1{mark}2{mark}3{mark}4\n".replace(",", mark))
    frame, notes = read_frame(path)
    expected = {"Unnamed: 0": [1], "pulse (column 2)": [2], "b": [3], "pulse (column 4)": [4]}
    assert frame.to_dict("list") == expected
    assert notes == [
        "twice.csv: columns that shared a name became 'pulse (column 2)', 'pulse (column 4)'."
    ]
    with pytest.raises(
        ValueError, match=r"no column 'pulse'\. Did you mean 'pulse \(column 2\)', 'pulse"
    ):
        read_table(path, "pulse")


def test_text_of_an_older_spreadsheet_is_read_and_noted(tmp_path):
    path = tmp_path / "old.csv"
    path.write_bytes("größe;b\n1,5;2\n".encode("cp1252"))
    frame, notes = read_frame(path)
    assert frame.to_dict("list") == {"größe": [1.5], "b": [2]}
    assert notes[0] == "old.csv is not UTF-8; its text was read as Windows-1252."


def test_an_index_that_was_saved_with_the_table_is_left_out(frame, tmp_path):
    frame.drop(index=[3, 4]).to_csv(tmp_path / "my.csv")
    table = read_table(tmp_path / "my.csv", "y1,y2")
    assert list(table.X) == list("abcde")
    assert table.notes == (
        "Left out, as the file gives it no name and it numbers the rows: 'Unnamed: 0'.",
    )
    assert "Unnamed: 0" in read_table(tmp_path / "my.csv", "y1", predictors="Unnamed: 0, a").X


def test_delimiters_in_quoted_names_do_not_count(tmp_path):
    path = tmp_path / "quoted.csv"
    path.write_text('"weight, kg";"height, cm"\n1;2\n3;4\n')
    assert list(read_frame(path)[0].columns) == ["weight, kg", "height, cm"]
    path.write_text('"a; ""b;""; c",d\n1,2\n')
    assert list(read_frame(path)[0].columns) == ['a; "b;"; c', "d"]


@pytest.mark.parametrize(
    "text", ["[y1, y2]", "y1,y2", "['y1', \"y2\"]", ["y1", "y2"], ["y1,y2"], ("y1", " [y2] ")]
)
def test_names(frame, text):
    assert list(read_table(frame, text).Y.columns) == ["y1", "y2"]


def test_predictors_and_drop(frame):
    assert list(read_table(frame, "y1", drop="[y2, e]").X.columns) == list("abcd")
    assert list(read_table(frame, "y1", predictors="c, a").X.columns) == list("ca")
    assert read_table(frame, "y1").X.shape[1] == 6  # the other response is a predictor then
    comma = frame.rename(columns={"y1": "weight, kg"})
    table = read_table(comma, "weight, kg", drop=["y2,c", "d"])
    assert list(table.Y.columns) == ["weight, kg"]
    assert list(table.X.columns) == list("abe")


@pytest.mark.parametrize("missing", ["impute", "drop"])
def test_missing_values_are_filled_or_dropped_and_noted(frame, missing):
    frame.loc[0:4, "a"] = np.nan
    frame.loc[5, "b"] = np.inf
    frame.loc[10:11, "y1"] = np.nan  # y2 is there: dropped
    frame.loc[20:29, ["y1", "y2"]] = np.nan
    frame.loc[29, "c"] = np.nan
    table = read_table(frame, ["y1", "y2"], missing=missing)
    filled = missing == "impute"
    assert len(table.X) == 60 - 2 - 10 - 6 * (not filled)
    assert [row for _, row in table.X_unlabeled.index] == list(range(21, 30 + filled))  # from 1
    partly, unlabeled, gaps = table.notes
    assert partly.startswith("2 row(s) with some of the responses missing")
    assert "10 row(s) without any response are unlabeled" in unlabeled
    assert "7 of 60 rows" in gaps
    assert "in 3 column(s): 'a' (5), " in gaps
    assert ("median" in gaps) == filled
    assert (table.n_rows, table.n_dropped) == (60, 2 if filled else 9)
    assert table.X.isna().sum().sum() == 6 * filled


def test_text_dates_constants_and_sparse_columns_get_a_note_not_a_refusal(frame):
    frame["color"] = ["red", "blue", "red"] * 20
    frame["id"] = [f"row {k}" for k in range(60)]
    frame["day"] = pd.date_range("2020-01-01", periods=60)
    frame["d"] = 0.1
    frame["rare"] = np.arange(60) < 3
    frame["sparse"] = np.where(np.arange(60) < 20, np.arange(60), np.nan)
    frame["odd"] = ODD
    frame["empty"] = np.nan
    frame["y1"] = frame["y1"].astype(object).where(frame.index != 59, "lost")
    table = read_table(frame, "y1,y2")
    assert list(table.X.columns) == [*"abce", "color=blue", "odd"]
    assert len(table.X) == 59
    np.testing.assert_array_equal(table.X["color=blue"], (frame["color"] == "blue")[:59])
    assert table.gaps == {"odd": 1}
    said = " ".join(table.notes)
    for words in (
        "'color' (2 values)",
        "'id' (60 values such as 'row 0'), 'day' (60",
        "more than half of the cells are empty: 'sparse', 'empty'",
        "'odd' (1, such as '?')",
        "'y1' (1, such as 'lost')",
        "fewer than 5 rows: 'd', 'rare'",
    ):
        assert words in said


def test_groups(frame):
    frame["kind"] = ["x"] * 30 + ["y"] * 20 + ["z"] * 4 + ["w"] * 6
    frame["by kind"] = frame["kind"].map({"x": 1.0, "y": 2.0, "z": 3.0, "w": 3.0})
    table = read_table(frame, "y1,y2", group="kind")
    assert table.groups.value_counts().to_dict() == {"x": 30, "y": 20, "other": 10}
    assert "Merged: groups with fewer than 10 rows ('z', 'w')" in table.notes[0]
    assert "kind" not in table.X
    assert "by kind" not in table.X
    table = read_table(frame[:54], "y1,y2", group="kind")
    assert table.groups.nunique() == 2
    assert "4 row(s) were left out with groups" in table.notes[0]


def test_unlabeled_file(frame, tmp_path):
    path = tmp_path / "more.csv"
    frame[list("edcba")].iloc[:50].to_csv(path, index=False)
    table = read_table(frame, "y1,y2", unlabeled=path)
    np.testing.assert_allclose(table.X_unlabeled, frame[list("abcde")].iloc[:50])
    assert table.notes == ("50 unlabeled row(s) come from more.csv.",)


def test_columns_of_classes_show_one_direction_less(rng, tmp_path):
    X = rng.standard_normal((200, 6))
    corners = np.array([[1, 0], [-0.5, 0.9], [-0.5, -0.9]])
    place = (3 * X[:, :2] @ corners.T + rng.gumbel(size=(200, 3))).argmax(axis=1)
    classes = pd.get_dummies(np.array(["red", "green", "blue"])[place])  # True and False
    frame = pd.DataFrame(X, columns=list("abcdef")).join(classes)
    frame.to_csv(tmp_path / "classes.csv", index=False)
    table = read_table(tmp_path / "classes.csv", ["red", "green", "blue"])
    text = read_table(frame.assign(color=classes.idxmax(axis=1))[[*"abcdef", "color"]], "color")
    assert [name.partition("=")[2] for name in text.Y] == classes.sum().sort_values()[
        ::-1
    ].index.tolist()
    np.testing.assert_array_equal(text.Y, table.Y[[n.partition("=")[2] for n in text.Y]])
    assert text.notes[0].startswith("Classes became columns of 0 and 1: 'color' (3 values)")
    analysis = analyze(table, bootstrap=0, folds=2)
    assert analysis.n_components == 2
    assert procrustes_distance(analysis.sdr.loadings_, np.eye(6)[:, :2]) < 0.5


def test_numbers_are_read_as_spreadsheets_write_them(frame, tmp_path):
    values = np.round(1000 * frame["a"] - 900, 2)
    euros = [f"{v:,.2f} €".translate(str.maketrans(",.", ".,")) for v in values]
    written = {
        "dollars": [f"${v:,.2f}" if v > 0 else f"(${-v:,.2f})" for v in values],
        "euros": euros,
        "minus": [f"{v:.2f}".replace("-", "−") for v in values],
        "spaces": [f"{v:,.2f}".replace(",", "\u202f") for v in values],
        "unit": [f"{v:.2f} m²" for v in values],
        "percent": [f"{v:.2f}%" for v in values],
    }
    table = read_table(frame[["y1"]].assign(**written, odd=ODD), "y1")
    for name in written:
        np.testing.assert_allclose(table.X[name], values, err_msg=name)
    assert f"'euros' ({euros[0]!r} as {values[0]:.10g})" in " ".join(table.notes)
    thousands = pd.Series([f"{v:,}" for v in range(900, 29_700, 480)])
    german = frame[["y1", "a"]].assign(many=thousands.str.replace(",", "."))
    german.to_csv(tmp_path / "my.csv", sep=";", decimal=",", index=False)
    for data in (tmp_path / "my.csv", german.assign(many=thousands)):
        found = read_table(data, "y1").X["many"]
        np.testing.assert_array_equal(found, np.arange(900, 29_700, 480)[: len(found)])


@pytest.mark.parametrize("sep", [",", ";"])
def test_points_and_commas_in_one_column_both_mark_decimals(frame, tmp_path, sep):
    values = (50 + 10 * frame["a"]).round(2) + 0.001  # three decimals look like thousands
    both = [f"{v:.3f}" if k % 2 else f"{v:.1f}".replace(".", ",") for k, v in enumerate(values)]
    both[1] = "51.25"  # but thousands do not have two digits
    frame[["y1"]].assign(weight=both, b=frame["b"]).to_csv(tmp_path / "n.csv", sep=sep, index=False)
    found = read_table(tmp_path / "n.csv", "y1").X["weight"].to_numpy()
    np.testing.assert_allclose(found[2:], values[2:], atol=0.051)
    assert found[1] == 51.25


def test_cells_of_several_units_stay_text(frame):
    frame["weight"] = [f"{k} kg" if k % 2 else f"{k} g" for k in range(60)]
    frame["day"] = [f"2020-01-{k % 28 + 1:02d}" for k in range(60)]
    frame["code"] = [f"A{k}" for k in range(60)]
    assert list(read_table(frame, "y1,y2").X) == list("abcde")


def test_a_word_for_totals_that_is_a_value_of_its_column_is_no_total(frame):
    frame["grade"] = ["poor", "average", "good"] * 19 + ["good", "poor", "average"]
    table = read_table(frame, "y1,y2")
    assert len(table.X) == len(frame)
    assert "a sum or mean" not in " ".join(table.notes)


def test_titles_totals_copies_and_empty_rows_are_left_out(frame, tmp_path):
    lines = frame.assign(kind="x").round(3).to_csv(index=False).splitlines()
    lines = ["Report 2023,,,,,,,", ",,,,,,,", *lines, lines[3], ",,,,,,,", "1,2,3,4,5,6,7,Total"]
    (tmp_path / "my.csv").write_text("\n".join(lines))
    table = read_table(tmp_path / "my.csv", "y1,y2")
    np.testing.assert_allclose(table.X, frame[list("abcde")], atol=1e-3)
    assert table.X.index[-1] == ("my.csv", 60)
    said = " ".join(table.notes)
    for words in (
        "line 3, below a title",
        "a sum or mean of the others: row 63",
        "1 row(s) that repeat",
    ):
        assert words in said
    coarse = frame.round(0)
    assert len(read_table(pd.concat([coarse, coarse[:9]]), "y1").X) == 69  # equal by chance


def test_numbers_that_may_be_classes_are_noted(frame):
    note = "Whole numbers: 'y1' (3 values). If these are classes, write them as text, such as "
    note += "'class 1'."
    assert note in read_table(frame.assign(y1=np.arange(60) % 3), "y1").notes


@pytest.mark.parametrize(
    ("columns", "arguments", "words"),
    [
        ({}, {"responses": "Y1"}, r"no column 'Y1'. Did you mean 'y1'\? The columns are"),
        ({}, {"responses": "zebra"}, r"responses: no column 'zebra'. The columns are 'a', 'b'"),
        ({}, {"responses": "z"}, r"no column 'z'\..*'y2'\.$"),  # and no question about numbers
        ({}, {"responses": ""}, "responses: name at least one column"),
        ({}, {"predictors": "a, q"}, "predictors: no column 'q'"),
        ({}, {"drop": "q"}, "drop: no column 'q'"),
        ({}, {"responses": "y1,y1"}, "responses: 'y1' named more than once"),
        ({}, {"predictors": "a,y1"}, "'y1' cannot also be a predictor, group or dropped"),
        ({}, {"predictors": "a"}, r"predictors: 1 column\(s\) left, 'a'; at least 2 needed"),
        ({}, {"unlabeled": pd.DataFrame({"a": [1.0]})}, "unlabeled: no column 'b'"),
        ({"y1": [*"abcdefghijkl"] * 5}, {}, r"not numeric: 'y1' \(60 .* or at most 10 classes"),
        ({"d": 1e300 * np.arange(60)}, {}, r"predictors holds values too .* in column\(s\) 'd'"),
        ({"y1": 1e-300 * np.arange(60)}, {}, r"responses holds values too .* in column\(s\) 'y1'"),
        ({"y1": pd.Timestamp("2020-01-01")}, {}, r"responses: not numeric: 'y1' \(60"),
        ({"y1": 1j * np.arange(60)}, {}, "responses: 'y1' holds complex numbers"),
        ({"d": 1j * np.arange(60)}, {}, "predictors: 'd' holds complex numbers"),
        ({"y1": 1.0, "y2": 1.0}, {}, r"responses: 0 column\(s\) left; at least 1 needed"),
        ({"d": "x"}, {"group": "d"}, r"group: 'd' has 1 group\(s\) of 10 labeled rows"),
        ({}, {"group": "q"}, "group: no column 'q'"),
        ({}, {"missing": "mean"}, "missing must be one of 'impute', 'drop'"),
        (
            {"d": np.where(np.arange(60) < 10, np.arange(60), np.nan)},
            {"missing": "drop"},
            r"10 complete row\(s\) .* out of 60; at least 20 .* Predictor 'd' alone lacks 50",
        ),
    ],
)
def test_wrong_tables(frame, columns, arguments, words):
    frame = frame.assign(**columns)
    with pytest.raises(ValueError, match=words):
        read_table(frame, **({"responses": ["y1", "y2"]} | arguments))


def test_wrong_columns_of_other_kinds(frame, tmp_path):
    for name, words in (("y1", "responses: 2 columns are named"), ("a", "predictors: 2 columns")):
        with pytest.raises(ValueError, match=words):
            read_table(pd.concat([frame, frame[[name]]], axis=1), "y1")
    frame.round(6).to_csv(tmp_path / "bare.csv", index=False, header=False)
    with pytest.raises(ValueError, match=r"no column 'y1'.* first line name the columns\?$"):
        read_table(tmp_path / "bare.csv", "y1")
