"""The report: its verdict, its page and files, and the command that writes it."""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from conftest import ROOT
from sklearn.datasets import load_diabetes, load_linnerud

from steinsdr.__main__ import main
from steinsdr.report import analyze, read_table
from steinsdr.report.rules import METHODS, alikeness, describe, explained_by_others
from steinsdr.report.write import (
    FIGURES,
    _number,
    _safe,
    page,
    plot_comparison,
    plot_loadings,
    plot_summaries,
    write_report,
)


def simulated(rng, n=200, noise=0.5):
    """Two responses of two indices, a + b and c, in five predictors; the last do nothing."""
    frame = pd.DataFrame(rng.standard_normal((n, 5)), columns=list("abcde"))
    first = (frame["a"] + frame["b"]) / np.sqrt(2)
    Y = np.column_stack([first + 0.3 * first**2, np.tanh(frame["c"])])
    # Unequal noise: with equal singular values the directions would be determined only together.
    frame[["y1", "y2"]] = Y + noise * rng.standard_normal((n, 2)) * [0.5, 1.6]
    return frame


@pytest.fixture
def frame(rng):
    return simulated(rng)


@pytest.fixture(scope="module")
def usable():
    """An analysis without any finding, whose parts are then replaced one by one."""
    frame = simulated(np.random.default_rng(0))
    analysis = analyze(read_table(frame, "y1,y2"), bootstrap=20)
    assert (analysis.verdict.level, analysis.verdict.findings) == ("usable", ())
    return analysis


def kinds(analysis):
    return {finding.kind for finding in analysis.verdict.findings}


# Description of the predictors


def test_remarks_on_what_has_no_density(rng):
    n = 300
    X = pd.DataFrame(rng.standard_normal((n, 2)), columns=["fine", "other"])
    X["binary"] = rng.integers(0, 2, n)
    X["zeros"] = np.where(rng.random(n) < 0.3, 0.0, rng.random(n))
    X["heavy"] = np.exp(2 * rng.standard_normal(n))
    X["sum"] = X["fine"] + X["other"] + 0.01 * rng.standard_normal(n)
    X["id"] = np.arange(n)
    X["sorted"] = np.cumsum(1 + np.arange(n) % 3)
    X["half"] = np.arange(n) + 0.5
    assert describe(X.drop(columns=["sorted", "half"]))["remarks"].to_dict() == {
        "fine": "collinear",
        "other": "collinear",
        "binary": "few values",
        "zeros": "one value often",
        "heavy": "heavy",
        "sum": "collinear",
        "id": "counter",
    }
    assert not describe(X[["fine", "sorted"]])["remarks"].any()
    assert not describe(X[["fine", "half"]])["remarks"].any()


@pytest.mark.parametrize("rows", [[], [10, 30]])
def test_a_row_number_is_seen_whether_rows_were_dropped_or_not(frame, rows):
    frame.insert(0, "id", range(101, 301))
    frame.loc[rows, "c"] = np.nan
    assert describe(read_table(frame, "y1,y2", missing="drop").X)["remarks"]["id"] == "counter"
    filtered = frame.drop(index=[3, 4])
    assert not describe(read_table(filtered, "y1,y2", missing="drop").X)["remarks"]["id"]


def test_share_explained_by_others_is_that_of_least_squares(rng):
    X = rng.standard_normal((60, 4)) @ rng.standard_normal((4, 4))
    for j, share in enumerate(explained_by_others(X)):
        others = np.column_stack([np.ones(60), np.delete(X, j, axis=1)])
        residual = X[:, j] - others @ np.linalg.lstsq(others, X[:, j], rcond=None)[0]
        adjusted = 1 - residual @ residual / 56 / X[:, j].var(ddof=1)
        assert share == pytest.approx(max(0.0, adjusted))
    noise = rng.standard_normal((30, 25))
    assert explained_by_others(noise).max() < 0.95
    assert np.isnan(explained_by_others(noise[:25])).all()


# Verdict


@pytest.mark.parametrize(
    ("noise", "level", "found"),
    [(["e"], "with care", {"few values"}), (["y1", "y2"], "not usable", {"rank"})],
)
def test_verdict_follows_the_data(frame, rng, noise, level, found):
    binary = noise == ["e"]
    values = rng.integers(0, 2, (200, 1)) if binary else rng.standard_normal((200, 2))
    frame[noise] = values
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        analysis = analyze(read_table(frame, "y1,y2"), bootstrap=20)
    verdict = analysis.verdict
    assert (verdict.level, kinds(analysis) >= found) == (level, True), str(verdict)
    assert str(verdict).startswith(verdict.headline)


@pytest.mark.parametrize(
    ("rank", "number", "said"),
    [
        (1, "test", "by the sequential test (p-value 0.005, of one more 0.020)"),
        (2, "test", "by the sequential test (p-values up to 0.020, of one more 0.300)"),
        (3, "test", "by the sequential test (p-values up to 0.300)"),
        (1, "nonlinear", "the links are nonlinear; the test finds 1 (p-value 0.005, of one more"),
        (0, "prediction", "by prediction, since the test found none (p-value 0.005)."),
    ],
)
def test_the_number_of_directions_has_p_values(usable, rank, number, said):
    test = replace(usable.test, rank=rank, p_values=np.array([0.005, 0.02, 0.3]))
    assert said in replace(usable, test=test, number=number).verdict.sentences[0]


@pytest.mark.parametrize(
    ("share", "level", "found"),
    [(0.3, "usable", set()), (0.5, "with care", {"stability"}), (0.8, "with care", {"stability"})],
)
def test_halves_whose_subspaces_move_are_said(usable, share, level, found):
    distances = np.full_like(usable.stability.distances, share * usable.stability.chance)
    moved = replace(usable, stability=replace(usable.stability, distances=distances))
    assert (moved.verdict.level, kinds(moved)) == (level, found)


@pytest.mark.parametrize(
    ("cosines", "products", "share", "said"),
    [
        ([0.8, 0.79, 0.6], [0.8, 0.8, 0.6], 0.1, None),  # noise, no turning
        ([0.5], [0.9], 0.1, None),  # one has nowhere to turn
        ([0.5, 0.5], [0.9, 0.9], 0.5, None),  # not even the subspace is determined
        ([0.99, 0.7, 0.7], [1.0, 1.0, 0.9], 0.1, ("2 and 3", "plane")),
        ([0.8, 0.7, 0.7], [1.0, 1.0, 0.9], 0.1, ("1, 2 and 3", "space")),
    ],
)
def test_directions_that_turn_among_themselves_are_named(usable, cosines, products, share, said):
    parts = {"cosines": np.array([cosines]), "products": np.array([products])}
    parts["distances"] = np.array([share * usable.stability.chance])
    turned = replace(usable, stability=replace(usable.stability, **parts))
    found = [f for f in turned.verdict.findings if f.kind == "turning"]
    assert len(found) == (said is not None)
    for finding in found:
        assert finding.text == f"Directions {said[0]} are determined only together."
        assert f"as a {said[1]}:" in finding.advice


def test_errors_of_the_formula_that_halves_contradict_are_said(usable):
    wide = replace(usable.stability, errors=4 * usable.sdr.loading_errors_)
    doubled = replace(usable, stability=wide)
    assert kinds(doubled) == {"intervals"}
    assert doubled.loadings()["clear"].sum() <= usable.loadings()["clear"].sum()


@pytest.mark.parametrize(
    ("shift", "outcome"),
    [(0.0, "no clear difference"), (-0.5, "SIR is better"), (9.0, "SteinSDR is better")],
)
def test_the_best_rival_is_named_with_the_outcome(usable, shift, outcome):
    loss = usable.comparison.loss.copy()
    for name in METHODS[1:]:
        loss[name] = loss["SteinSDR"] * (1 if name != "SIR" else 1 + min(shift, 0)) + max(shift, 0)
    analysis = replace(usable, comparison=replace(usable.comparison, loss=loss))
    assert outcome in str(analysis.verdict).replace("\n  ", " ")
    assert ("rival" in kinds(analysis)) == (outcome == "SIR is better")


def in_time(rng, n=200, memory=0.8):
    """Two predictors and the noise of a response, each an autoregressive series."""
    series = rng.standard_normal((n, 3))
    for now, before in zip(series[1:], series, strict=False):
        now += memory * before
    frame = pd.DataFrame(series[:, :2], columns=["a", "b"])
    return frame.assign(y=frame["a"] + series[:, 2])


def test_rows_of_a_series_are_said_and_a_shuffle_of_them_is_not(rng):
    frame = in_time(rng)
    analysis = analyze(read_table(frame, "y"), bootstrap=0, folds=2)
    assert "dependent rows" in kinds(analysis)
    said = next(f.text for f in analysis.verdict.findings if f.kind == "dependent rows")
    assert "the residuals of 'y' have a rank correlation of 0." in said
    order = rng.permutation(len(frame))
    shuffled = replace(
        analysis.table, X=analysis.table.X.iloc[order], Y=analysis.table.Y.iloc[order]
    )
    assert "dependent rows" not in kinds(replace(analysis, table=shuffled))


def test_a_response_that_only_rises_may_be_a_series(rng):
    frame = in_time(rng).assign(year=np.arange(1800, 2000))
    frame["y"] = np.exp(0.05 * frame["y"].cumsum() + 0.4 * np.arange(200))
    frame["y"] = np.log(frame["y"].cumsum())
    analysis = analyze(read_table(frame, "y"), bootstrap=0, folds=2)
    assert analysis.table.Y["y"].is_monotonic_increasing
    assert "dependent rows" in kinds(analysis)


def test_dependence_that_spoils_nothing_is_not_said(rng):
    # Noise that remembers, beside predictors that do not: products of both are uncorrelated.
    frame = in_time(rng).assign(b=rng.standard_normal(200))
    frame["y"] += rng.standard_normal(200) - frame["a"]
    frame["a"] = rng.standard_normal(200)
    assert "dependent rows" not in kinds(analyze(read_table(frame, "y"), bootstrap=0, folds=2))


def test_blocks_of_rows_are_said_until_they_are_named(rng):
    frame = pd.DataFrame(rng.standard_normal((200, 2)), columns=["a", "b"])
    frame["subject"] = np.repeat([f"s{k}" for k in range(20)], 10)
    frame[["a", "b"]] += np.repeat(rng.standard_normal((20, 2)), 10, axis=0)
    level = np.repeat(2 * rng.standard_normal(20), 10)
    frame["y"] = frame["a"] + level + rng.standard_normal(200)
    options = {"bootstrap": 0, "folds": 2}
    found = [
        kinds(analyze(read_table(frame, "y", **how), **options))
        for how in ({"drop": "subject"}, {"group": "subject"})
    ]
    assert ["dependent rows" in kind for kind in found] == [True, False]


@pytest.mark.parametrize("responses", ["y", "kind"])
def test_independent_rows_sorted_by_a_response_are_not_dependent(frame, responses):
    frame = frame[list("abcde")].assign(y=frame["y1"])
    frame["kind"] = pd.cut(frame["y"], 3, labels=["low", "middle", "high"]).astype(str)
    frame = frame.sort_values("y")
    drop = "kind" if responses == "y" else "y"
    analysis = analyze(read_table(frame, responses, drop=drop), bootstrap=0, folds=2)
    assert "dependent rows" not in kinds(analysis)


@pytest.mark.parametrize("n", [20, 60, 300])
@pytest.mark.parametrize("law", ["normal", "lognormal", "rare"])
def test_independent_rows_seldom_seem_alike(rng, n, law):
    draws = rng.standard_normal((n, 4000))
    values = {
        "normal": draws,
        "lognormal": np.exp(2 * draws),
        "rare": (draws > 1.7) + 1e-6 * draws,
    }[law]
    r, _ = alikeness(values, np.full(n, ""))
    _, limit = alikeness(values[:, :1], np.full(n, ""))
    assert (r > limit).sum() <= 14  # four are expected where 0.001 binds and not 0.2
    assert limit == pytest.approx(max(0.2, 3.09 / np.sqrt(n)), abs=0.001)


def test_findings_of_a_real_table():
    # s1 and s2 nearly determine each other, sex is binary, s4 has 66 values, 4 the commonest.
    frame = load_diabetes(as_frame=True, scaled=False).frame
    options = {"bootstrap": 0, "folds": 2}
    analysis = analyze(read_table(frame, "target, bp", drop="s6, age"), **options)
    found = {finding.kind: finding for finding in analysis.verdict.findings}
    assert "'sex'" in found["few values"].text
    assert "'s4'" not in found["few values"].text
    assert "'s4'" in found["one value often"].text
    assert "'s1', 's2'" in found["collinear"].text
    assert analysis.verdict.level == "with care"
    assert "'sex'" not in " ".join(analysis.verdict.sentences)
    few = analyze(read_table(frame.iloc[:34], "target, bp", drop="s6, age"), **options)
    found = {finding.kind: finding for finding in few.verdict.findings}
    assert found["few rows"].text == "There are 34 labeled rows for 7 predictors."


def test_more_directions_than_the_test_finds_are_said(frame, rng):
    frame["y1"] = frame["a"] + 0.5 * rng.standard_normal(200)  # linear: the test decides
    analysis = analyze(read_table(frame, "y1,y2"), components=3, bootstrap=0)
    assert "3 directions, as asked for" in analysis.verdict.sentences[0]
    assert (analysis.test.rank, kinds(analysis)) == (2, {"rank"})


# Page and figures


def analysis_of(p, q, components, bootstrap=0):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.standard_normal((120, p)), columns=[f"x{j}" for j in range(p)])
    names = [f"y{k}" for k in range(q)]
    frame[names] = frame.iloc[:, :q] + 0.5 * rng.standard_normal((120, q))
    table = read_table(frame, names)
    return analyze(table, components=components, bootstrap=bootstrap, folds=2)


def html(analysis):
    """The page with empty pictures, which take no time to draw."""
    return BeautifulSoup(page(analysis, dict.fromkeys(FIGURES, bytes(24))), "html.parser")


@pytest.fixture(scope="module")
def wide():
    """More predictors, responses and directions than fit."""
    return analysis_of(p=32, q=31, components=4)


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_filled_points_are_clear_of_zero(usable):
    table = usable.loadings()
    axes = plot_loadings(usable).axes
    order = [label.get_text() for label in axes[0].get_yticklabels()]
    for ax, name in zip(axes, usable.directions, strict=True):
        part = table.loc[name].loc[order]
        filled = ax.collections[1].get_facecolor()[:, :3].min(axis=1) < 1
        np.testing.assert_array_equal(filled, part["clear"])
        assert (~part["clear"] | (part["low"] > 0) | (part["high"] < 0)).all()


def test_captions_say_what_the_figures_leave_out(wide, usable):
    text = html(wide)
    captions = [caption.get_text() for caption in text.select("img + figcaption")]
    assert [image["alt"] for image in text.select("img")] == captions
    rest = [caption.partition(" Shown: ")[2] for caption in captions]
    assert dict(zip(FIGURES, rest, strict=True)) == {
        "comparison": "the best predicted 30 of 31 responses; all are in held_out.csv.",
        "loadings": "the largest 30 of 32 predictors, the first 3 of 4 directions; all are in "
        "loadings.csv.",
        "summaries": "the best predicted 4 of 31 responses, the first 3 of 4 directions.",
        "predictors": "the largest 30 of 32 predictors.",
    }
    assert len(plot_loadings(wide).axes[0].get_yticks()) == 30
    assert len(plot_summaries(wide).axes) == 4 * 3
    assert len(plot_comparison(wide).axes[0].get_yticks()) == 31  # and the overall one
    assert "Shown: " not in html(usable).get_text()
    assert "tests the hypothesis that k − 1 directions suffice" in html(usable).get_text()


@pytest.mark.parametrize(
    ("value", "shown"),
    [(1.2e-9, "1.2e−09"), (-3e-4, "−3.0e−04"), (0.0, "0.000"), (12.3, "12.3"), (np.nan, "–")],
)
def test_numbers_of_the_page(value, shown):
    assert _number(value) == shown


HOSTILE = ["<b>a</b>", "$x_1$ {{ 1 }}", "=1+1", 'y & "z"', "overall", "minus SteinSDR", "R²"]


def test_hostile_names_are_escaped_and_collide_with_nothing(tmp_path, rng):
    frame = pd.DataFrame(rng.standard_normal((40, 7)), columns=HOSTILE)
    frame["overall"] += frame["=1+1"]
    analysis = analyze(read_table(frame, HOSTILE[3:]), bootstrap=0, folds=2)
    text = write_report(analysis, tmp_path)[0].read_text()
    assert "&lt;b&gt;a&lt;/b&gt;" in text
    assert "<b>" not in text
    page = BeautifulSoup(text, "html.parser")
    assert {cell.get_text() for cell in page.select("tbody th")} >= set(HOSTILE)
    stored = json.loads((tmp_path / "summary.json").read_text())
    assert "stability" not in stored
    shares = {row["response"]: row["r2"]["SteinSDR"] for row in stored["held_out_r2"]["responses"]}
    expected = analysis.comparison.r2["SteinSDR"]
    assert shares == pytest.approx(expected.to_dict(), rel=1e-5)
    mean = 1 - analysis.comparison.loss["SteinSDR"].mean() / analysis.comparison.loss["mean"].mean()
    assert stored["held_out_r2"]["overall"]["SteinSDR"] == pytest.approx(mean, rel=1e-5)
    predictors = pd.read_csv(tmp_path / "loadings.csv")["predictor"]
    assert set(predictors) == {*HOSTILE[:2], "'=1+1"}


def test_cells_that_a_spreadsheet_would_run_have_an_apostrophe():
    names = ["=a", "+b", "-c", "@d", "\te", "\rf", "g=", "a-b"]
    table = pd.DataFrame({"x": -np.arange(8.0)}, index=pd.Index(names, name="name"))
    text = _safe(table)
    for name in names[:6]:
        assert f"'{name}" in text
    assert "\ng=,-6\n" in text
    assert "\na-b,-7\n" in text


def test_a_full_disk_leaves_the_old_page(usable, tmp_path, monkeypatch):
    (tmp_path / "index.html").write_text("old")

    def full(path, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(OSError, match="No space"):
        write_report(usable, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]
    assert (tmp_path / "index.html").read_text() == "old"


# Command


RESPONSES = ["Weight", "Waist", "Pulse"]
QUICK = ["--bootstrap", "0", "--folds", "2", "--quiet"]


@pytest.fixture(scope="module")
def linnerud(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "linnerud.csv"
    load_linnerud(as_frame=True).frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def report(linnerud, tmp_path_factory):
    """Run the command once; return the folder."""
    folder = tmp_path_factory.mktemp("out") / "new" / "report"
    options = ["--bootstrap", "10", "--folds", "3", "--seed", "7", "--quiet", "--components", "1"]
    arguments = ["fit", str(linnerud), "--response", *RESPONSES, *options, "--out", str(folder)]
    assert main(arguments) == 0
    return folder


def test_options_in_an_advice_are_code(report):
    findings = json.loads((report / "summary.json").read_text())["verdict"]["findings"]
    told = set(re.findall(r"--\w+", " ".join(finding["advice"] for finding in findings)))
    text = BeautifulSoup((report / "index.html").read_text(encoding="utf-8"), "html.parser")
    assert {code.get_text() for code in text.select("li code")} == told != set()


def test_tables_rebuild_the_reduction(report):
    pictures = {f"{name}.png" for name in FIGURES}
    tables = {"index.html", "summary.json", "held_out.csv"}
    tables |= {"loadings.csv", "reduced.csv", "predictors.csv"}
    assert {path.name for path in report.iterdir()} == pictures | tables
    assert all((report / name).read_bytes().startswith(b"\x89PNG") for name in pictures)
    loadings, reduced = pd.read_csv(report / "loadings.csv"), pd.read_csv(report / "reduced.csv")
    X = load_linnerud(as_frame=True).data[loadings["predictor"]]
    Z = (X - loadings["mean"].to_numpy()) / loadings["unit"].to_numpy()
    by_hand = Z @ loadings["loading"].to_numpy()
    np.testing.assert_allclose(reduced["direction 1"], by_hand, atol=1e-4)
    correlation = [np.corrcoef(Z[c], by_hand)[0, 1] for c in Z]
    np.testing.assert_allclose(loadings["correlation"], correlation, atol=1e-4)
    assert reduced["row"].tolist() == list(range(1, 21))
    assert reduced["labeled"].all()
    assert (loadings["low"] <= loadings["loading"]).all()
    assert (loadings["loading"] <= loadings["high"]).all()


def test_summary_is_what_the_same_analysis_gives(report, linnerud, tmp_path):
    again = analyze(read_table(linnerud, RESPONSES), components=1, bootstrap=10, folds=3, seed=7)
    write_report(again, tmp_path)
    assert (report / "summary.json").read_text() == (tmp_path / "summary.json").read_text()
    stored = json.loads((report / "summary.json").read_text())
    assert stored["data"]["responses"] == RESPONSES
    assert stored["settings"]["seed"] == 7
    assert [row["response"] for row in stored["held_out_r2"]["responses"]] == RESPONSES


def test_page_refers_to_nothing_outside_itself(report):
    text = (report / "index.html").read_text()
    page = BeautifulSoup(text, "html.parser")
    assert page.find_all(["script", "link", "iframe"]) == []
    sources = [element["src"] for element in page.select("[src]")]
    assert len(sources) == len(FIGURES)
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    assert page.select("[href]") == []
    assert not re.search(r"https?://|url\(|@import", re.sub(r"base64,[\w+/=]+", "", text))
    words = page.get_text(" ")
    assert json.loads((report / "summary.json").read_text())["verdict"]["headline"] in words
    assert "nan" not in words.lower().split()


def test_verdict_and_notes_are_printed(linnerud, tmp_path, capsys):
    frame = pd.read_csv(linnerud)
    frame = pd.concat([frame, frame[["Chins", "Situps", "Jumps"]] + 1.0])
    path = tmp_path / "more.csv"
    frame.to_csv(path, index=False)
    choice = ["--response", "Waist,Weight", "--drop", "Pulse", "--out", str(tmp_path / "r")]
    assert main(["fit", str(path), *choice, *QUICK, "--config", "full"]) == 0
    printed = capsys.readouterr().out
    assert "20 row(s) without any response are unlabeled" in printed
    assert re.search(r"directions( can be used|\.| with care)", printed)
    assert printed.endswith("index.html\n")


def test_a_reader_that_stops_early_loses_nothing(linnerud, tmp_path, monkeypatch):
    def closed(*_, file=None):
        if file is None:
            raise BrokenPipeError

    monkeypatch.setattr("builtins.print", closed)
    options = [*QUICK, "--out", str(tmp_path / "r")]
    assert main(["fit", str(linnerud), "--response", "Waist", *options]) == 2
    assert (tmp_path / "r" / "index.html").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.csv", "--response", "y"], "missing.csv: there is no file"),
        (["DATA", "--response", "Waist", "--components", "two"], "--components must be auto or"),
        (["DATA", "--response", "Waist", "--bootstrap", "3"], "--bootstrap must be an integer"),
        (["DATA", "--response", "Hips"], "--response: no column 'Hips'"),
        (["DATA", "--response", "Waist", "--out", "FILE"], "File exists"),
        (["DATA", "--response", "Waist", "--out", "FILE/report"], "Not a directory"),
    ],
)
def test_wrong_requests_are_one_clear_line(linnerud, arguments, words, capsys, tmp_path):
    (tmp_path / "file").touch()
    places = {"DATA": str(linnerud), "FILE": str(tmp_path / "file")}
    arguments = [re.sub("DATA|FILE", lambda m: places[m[0]], argument) for argument in arguments]
    assert main(["fit", "--out", str(tmp_path / "new"), *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
    assert not (tmp_path / "new" / "index.html").exists()


@pytest.mark.slow
def test_notebook_runs_on_other_data(tmp_path, rng):
    papermill = pytest.importorskip("papermill")
    frame = pd.DataFrame(rng.standard_normal((60, 3)), columns=["a", "b", "c"])
    frame["y1"] = frame["a"] + 0.5 * rng.standard_normal(60)
    frame["y2"] = frame["b"] + 0.5 * rng.standard_normal(60)
    frame["c"] = frame["c"].where(frame.index != 3)
    frame.to_csv(tmp_path / "my.csv", index=False)
    parameters = {"data": "my.csv", "responses": "[y1, y2]", "n_bootstrap": 10, "out": "made"}
    notebook = ROOT / "notebooks" / "11_your_data.ipynb"
    executed = papermill.execute_notebook(
        notebook, tmp_path / "out.ipynb", parameters, cwd=tmp_path, progress_bar=False
    )
    outputs = [output for cell in executed.cells for output in cell.get("outputs", [])]
    assert not [output for output in outputs if output.get("name") == "stderr"]
    assert "wine" not in str(outputs)
    data = json.loads((tmp_path / "made" / "summary.json").read_text())["data"]
    assert (data["rows"], data["responses"]) == (60, ["y1", "y2"])
    assert data["notes"][0].startswith("1 of 60 rows of my.csv have gaps")
