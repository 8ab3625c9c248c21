"""python -m steinsdr fit: what it writes, prints and refuses; and the notebook on other data."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from conftest import ROOT
from sklearn.datasets import load_linnerud

from steinsdr.__main__ import main
from steinsdr.report import analyze, read_table
from steinsdr.report.captions import CAPTIONS
from steinsdr.report.files import FIGURES, summary, write_report

RESPONSES = ["Weight", "Waist", "Pulse"]


@pytest.fixture(scope="module")
def linnerud(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "linnerud.csv"
    load_linnerud(as_frame=True).frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def report(linnerud, tmp_path_factory):
    """Run the command once; return its exit code and the folder."""
    folder = tmp_path_factory.mktemp("out") / "new" / "report"
    options = ["--bootstrap", "10", "--folds", "3", "--seed", "7", "--quiet", "--components", "1"]
    arguments = ["fit", str(linnerud), "--response", *RESPONSES, *options, "--out", str(folder)]
    return main(arguments), folder


def test_everything_is_written(report):
    code, folder = report
    assert code == 0
    pictures = {f"{name}.png" for name in FIGURES}
    tables = {"index.html", "loadings.csv", "reduced.csv", "summary.json"}
    assert {path.name for path in folder.iterdir()} == pictures | tables
    assert FIGURES.keys() == CAPTIONS.keys()
    assert all((folder / name).read_bytes().startswith(b"\x89PNG") for name in pictures)


def test_tables_rebuild_the_reduction(report):
    _, folder = report
    loadings, reduced = pd.read_csv(folder / "loadings.csv"), pd.read_csv(folder / "reduced.csv")
    X = load_linnerud(as_frame=True).data[loadings["predictor"]]
    by_hand = ((X - loadings["mean"].to_numpy()) / loadings["sd"].to_numpy()) @ loadings[
        "loading"
    ].to_numpy()
    np.testing.assert_allclose(reduced["direction 1"], by_hand, atol=1e-4)
    assert reduced["row"].tolist() == list(range(1, 21))
    assert reduced["labeled"].all()
    assert (loadings["low"] <= loadings["loading"]).all()
    assert (loadings["loading"] <= loadings["high"]).all()


def test_summary_is_what_the_same_analysis_gives(report, linnerud):
    _, folder = report
    stored = json.loads((folder / "summary.json").read_text())
    table = read_table(linnerud, RESPONSES)
    again = analyze(table, components=1, n_bootstrap=10, folds=3, seed=7)
    assert stored == json.loads(json.dumps(summary(again)))
    assert stored["data"]["responses"] == RESPONSES
    assert stored["settings"]["seed"] == 7
    assert set(stored["held_out_r2"]["SIR"]) == set(RESPONSES)


def test_page_refers_to_nothing_outside_itself(report):
    _, folder = report
    text = (folder / "index.html").read_text()
    page = BeautifulSoup(text, "html.parser")
    assert page.find_all(["script", "link", "iframe"]) == []
    sources = [element["src"] for element in page.select("[src]")]
    assert len(sources) == len(FIGURES)
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    assert page.select("[href]") == []
    assert not re.search(r"https?://|url\(|@import", re.sub(r"base64,[\w+/=]+", "", text))
    assert all(image["alt"] for image in page.select("img"))
    words = page.get_text(" ")
    assert json.loads((folder / "summary.json").read_text())["verdict"]["headline"] in words
    assert "nan" not in words.lower().split()


def test_names_are_escaped(tmp_path, rng):
    frame = pd.DataFrame(rng.standard_normal((40, 3)), columns=["<b>a</b>", "$x_1$", "y & z"])
    analysis = analyze(read_table(frame, ["y & z"]), n_bootstrap=0, folds=2)
    text = write_report(analysis, tmp_path)[0].read_text()
    assert "&lt;b&gt;a&lt;/b&gt;" in text
    assert "<b>" not in text
    assert "bootstrap" not in json.loads((tmp_path / "summary.json").read_text())


def test_verdict_and_notes_are_printed(linnerud, tmp_path, capsys):
    frame = pd.read_csv(linnerud)
    frame = pd.concat([frame, frame[["Chins", "Situps", "Jumps"]] + 1.0])
    path = tmp_path / "more.csv"
    frame.to_csv(path, index=False)
    options = ["--bootstrap", "0", "--folds", "2", "--quiet", "--config", "full"]
    choice = ["--response", "Waist", "--drop", "Weight", "Pulse", "--out", str(tmp_path / "r")]
    assert main(["fit", str(path), *choice, *options]) == 0
    printed = capsys.readouterr().out
    assert "20 row(s) without any response count as unlabeled, 20 of them complete" in printed
    assert re.search(r"directions( can be used|\.| with care)", printed)
    assert printed.endswith("index.html\n")


def test_a_reader_that_stops_early_loses_nothing(linnerud, tmp_path, monkeypatch):
    def closed(*_, file=None):
        if file is None:
            raise BrokenPipeError

    monkeypatch.setattr("builtins.print", closed)
    options = ["--bootstrap", "0", "--folds", "2", "--quiet", "--out", str(tmp_path / "r")]
    assert main(["fit", str(linnerud), "--response", "Waist", *options]) == 2
    assert (tmp_path / "r" / "index.html").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.csv", "--response", "y"], "there is no file"),
        (["DATA", "--response", "Wiast"], "Did you mean 'Waist'?"),
        (["DATA", "--response", "Waist", "--components", "two"], "components must be auto or"),
        (["DATA", "--response", "Waist", "--components", "2"], "at most min(p, q) = 1"),
        (["DATA", "--response", "Waist", "--config", "full"], "needs unlabeled rows"),
        (["DATA", "--response", "Waist", "--unlabeled", "no.txt"], "ends in '.txt'"),
        (["DATA", "--response", "Waist", "--bootstrap", "3"], "at least 10"),
    ],
)
def test_wrong_requests_are_one_clear_line(linnerud, arguments, words, capsys, tmp_path):
    arguments = [str(linnerud) if argument == "DATA" else argument for argument in arguments]
    folder = tmp_path / "new" / "report"
    assert main(["fit", *arguments, "--out", str(folder)]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
    assert not folder.parent.exists()


@pytest.mark.parametrize("name", ["file", "file/report"])
def test_folder_that_cannot_be_made(linnerud, tmp_path, capsys, name):
    (tmp_path / "file").touch()
    options = ["--bootstrap", "0", "--folds", "2", "--quiet", "--out", str(tmp_path / name)]
    assert main(["fit", str(linnerud), "--response", "Waist", *options]) == 2
    error = capsys.readouterr().err
    assert "out: cannot make" in error
    assert "file' is a file" in error


def test_names_may_be_apart_by_commas(linnerud, tmp_path):
    options = ["--bootstrap", "0", "--folds", "2", "--quiet", "--out", str(tmp_path)]
    choice = ["--response", "Weight,Waist", "--components", "1", "--drop", "Pulse"]
    assert main(["fit", str(linnerud), *choice, *options]) == 0
    stored = json.loads((tmp_path / "summary.json").read_text())
    assert stored["data"]["responses"] == ["Weight", "Waist"]


def test_response_is_required(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["fit", "data.csv"])
    assert stop.value.code == 2
    assert "--response" in capsys.readouterr().err


@pytest.mark.slow
def test_notebook_runs_on_other_data(tmp_path, rng):
    papermill = pytest.importorskip("papermill")
    X = rng.standard_normal((60, 3))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["y1"] = X[:, 0] + 0.5 * rng.standard_normal(60)
    frame["y2"] = X[:, 1] + 0.5 * rng.standard_normal(60)
    frame["c"] = frame["c"].where(frame.index != 3)
    frame.to_csv(tmp_path / "my.csv", index=False)
    parameters = {
        "data": "my.csv",
        "responses": "[y1, y2]",  # what -p passes
        "n_bootstrap": 10,
        "out": "made",
    }
    notebook = ROOT / "notebooks" / "your_data.ipynb"
    known = papermill.inspect_notebook(notebook)
    assert parameters.keys() <= known.keys()
    executed = papermill.execute_notebook(
        notebook, tmp_path / "out.ipynb", parameters, cwd=tmp_path, progress_bar=False
    )
    outputs = [output for cell in executed.cells for output in cell.get("outputs", [])]
    text = "".join(output.get("text", "") for output in outputs)
    assert "1 of 60 rows of my.csv were dropped" in text
    assert "59 rows, 3 predictors, 2 responses: 2 directions" in text
    assert not [output for output in outputs if output.get("name") == "stderr"]
    stored = json.loads((tmp_path / "made" / "summary.json").read_text())
    assert stored["data"]["responses"] == ["y1", "y2"]
    assert "wine" not in text
