"""The report on a table of one's own: reading, checks, fit, intervals, comparison, verdict."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_linnerud
from sklearn.model_selection import KFold

from steinsdr import SteinSDR
from steinsdr.moments import SteinDiagnostics
from steinsdr.report import Reduction, analyze, page, parse_names, read_table
from steinsdr.report.bootstrap import aligned, bootstrap
from steinsdr.report.checks import check_data, explained_by_others
from steinsdr.report.comparison import compare
from steinsdr.report.findings import unevenness
from steinsdr.report.frames import read_frame
from steinsdr.report.reduction import PERMUTATIONS
from steinsdr.report.verdict import judge
from steinsdr.scores import TikhonovScore
from steinsdr.subspace import procrustes_distance


def simulated(rng, n=200, p=5, noise=0.5):
    """Two responses of two indices: a + b and c; the last predictors do nothing."""
    X = rng.standard_normal((n, p))
    first, second = (X[:, 0] + X[:, 1]) / np.sqrt(2), X[:, 2]
    Y = np.column_stack([first + 0.3 * first**2, np.tanh(second)])
    frame = pd.DataFrame(X, columns=list("abcdefghij")[:p])
    # Unequal noise: with equal singular values the directions would be determined only together.
    frame[["y1", "y2"]] = Y + noise * rng.standard_normal((n, 2)) * [0.5, 1.6]
    return frame


@pytest.fixture
def frame(rng):
    return simulated(rng)


@pytest.fixture
def linnerud(tmp_path):
    path = tmp_path / "linnerud.csv"
    load_linnerud(as_frame=True).frame.to_csv(path, index=False)
    return path


# Reading


def test_linnerud_from_csv(linnerud):
    table = read_table(linnerud, ["Weight", "Waist", "Pulse"])
    data = load_linnerud()
    np.testing.assert_array_equal(table.X, data.data)
    np.testing.assert_array_equal(table.Y, data.target)
    assert list(table.X.columns) == data.feature_names
    assert (len(table.X_unlabeled), table.notes, table.name) == (0, (), "linnerud.csv")
    assert table.X.index[-1] == ("linnerud.csv", 20)


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
@pytest.mark.parametrize("sep", [",", ";", "\t"])
def test_delimiters(frame, tmp_path, suffix, sep):
    path = tmp_path / f"table{suffix}"
    frame.to_csv(path, sep="\t" if suffix == ".tsv" else sep, index=False, encoding="utf-8-sig")
    pd.testing.assert_frame_equal(read_frame(path), frame)


def test_parquet(frame, tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "table.parquet"
    frame.set_index("a").to_parquet(path)
    table = read_table(path, "y1, y2")
    np.testing.assert_array_equal(table.X, frame[list("abcde")])


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    path = tmp_path / "table.parquet"
    path.touch()

    def no_engine(*_):
        raise ImportError("no engine")

    monkeypatch.setattr(pd, "read_parquet", no_engine)
    with pytest.raises(ValueError, match=r"needs pyarrow.*pip install 'pandas\[parquet\]'"):
        read_frame(path)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("[y1, y2]", ["y1", "y2"]),
        ("y1,y2", ["y1", "y2"]),
        ("['a b', \"c\"]", ["a b", "c"]),
        (["y1", "y2"], ["y1", "y2"]),
        ("", []),
        ("[]", []),
    ],
)
def test_names(text, names):
    assert parse_names(text) == names


def test_predictors_and_drop(frame):
    assert list(read_table(frame, "y1", drop="[y2, e]").X.columns) == list("abcd")
    assert list(read_table(frame, "y1", predictors="c, a").X.columns) == list("ca")
    assert read_table(frame, "y1").X.shape[1] == 6  # the other response is a predictor then


def test_missing_values_are_dropped_or_unlabeled_and_noted(frame):
    frame.loc[0:4, "a"] = np.nan
    frame.loc[5, "b"] = np.inf
    frame.loc[10:11, "y1"] = np.nan  # y2 is there: dropped
    frame.loc[20:29, ["y1", "y2"]] = np.nan
    frame.loc[29, "c"] = np.nan
    table = read_table(frame, ["y1", "y2"])
    assert len(table.X) == 200 - 6 - 2 - 10
    assert [row for _, row in table.X_unlabeled.index] == list(range(21, 30))  # rows count from 1
    partly, missing, unlabeled = table.notes
    assert partly.startswith("2 row(s) with some of the responses missing")
    assert "7 of 200 rows" in missing
    assert "in 3 column(s): 'a' (5), " in missing
    assert "10 row(s) without any response count as unlabeled, 9 of them complete" in unlabeled


def test_unlabeled_file(frame, tmp_path):
    path = tmp_path / "more.csv"
    frame[list("edcba")].iloc[:50].to_csv(path, index=False)
    table = read_table(frame, "y1,y2", unlabeled=path)
    np.testing.assert_allclose(table.X_unlabeled, frame[list("abcde")].iloc[:50])
    assert table.notes == ("50 unlabeled row(s) come from more.csv.",)


def text_column(frame):
    frame["d"] = ["red", "blue"] * 100
    frame["e"] = frame["e"].astype(object)
    frame.loc[3, "e"] = "?"


def text_response(frame):
    frame["y1"] = "high"


def constant(frame):
    frame["d"] = 0.1


def nearly_constant(frame):
    frame["d"] = (np.arange(200) < 3).astype(float)


def constant_response(frame):
    frame["y1"] = 1.0


def empty_column(frame):
    frame["d"] = np.nan


def mostly_missing(frame):
    frame.loc[10:, "d"] = np.nan


@pytest.mark.parametrize(
    ("change", "arguments", "words"),
    [
        (None, {"responses": "Y1"}, r"no column 'Y1'. Did you mean 'y1'\? The columns are"),
        (None, {"responses": "zebra"}, r"responses: no column 'zebra'. The columns are 'a', 'b'"),
        (None, {"responses": ""}, "responses: name at least one column"),
        (None, {"predictors": "a, q"}, "predictors: no column 'q'"),
        (None, {"drop": "q"}, "drop: no column 'q'"),
        (None, {"responses": "y1,y1"}, "responses: 'y1' named more than once"),
        (None, {"predictors": "a,y1"}, "'y1' cannot also be a predictor or dropped"),
        (None, {"predictors": "a"}, r"predictors: 1 column\(s\) left; at least 2"),
        (None, {"unlabeled": pd.DataFrame({"a": [1.0]})}, "unlabeled: no column 'b'"),
        (
            text_column,
            {},
            r"not numeric: 'd' \(200 value\(s\) such as 'red'\), 'e' \(1 value\(s\) such as '\?'\);"
            " leave them out with drop, or fit within their groups",
        ),
        (text_response, {}, "responses: not numeric: 'y1'"),
        (constant, {}, "predictors: constant in all 200 rows: 'd'; leave out with drop"),
        (nearly_constant, {}, "predictors: constant but for fewer than 5 rows: 'd'"),
        (constant_response, {}, "responses: constant in all 200 rows: 'y1'"),
        (empty_column, {}, "predictors: 'd' without a single value"),
        (
            mostly_missing,
            {},
            r"10 complete row\(s\) .* out of 200; at least 20 .* Predictor 'd' alone lacks 190",
        ),
    ],
)
def test_wrong_tables(frame, change, arguments, words):
    if change:
        change(frame)
    with pytest.raises(ValueError, match=words):
        read_table(frame, **({"responses": ["y1", "y2"]} | arguments))


def test_wrong_files(tmp_path):
    contents = {"empty.csv": b"", "header.csv": b"a,b\n", "bytes.csv": b"\xff\xfe\x00"}
    for name, content in contents.items():
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(ValueError, match=rf"data: .*{name}"):
            read_frame(path)
    with pytest.raises(ValueError, match="data: there is no file"):
        read_frame(tmp_path / "missing.csv")
    with pytest.raises(ValueError, match="is a folder; expected a file"):
        read_frame(tmp_path)
    with pytest.raises(ValueError, match=r"ends in '.xlsx'; expected one of .csv, .tsv, .parquet"):
        read_frame(tmp_path / "book.xlsx")


# Checks


def test_checks_flag_what_has_no_density(rng):
    n = 300
    X = pd.DataFrame(rng.standard_normal((n, 2)), columns=["fine", "other"])
    X["binary"] = rng.integers(0, 2, n)
    X["zeros"] = np.where(rng.random(n) < 0.3, 0.0, rng.random(n))
    X["heavy"] = np.exp(2 * rng.standard_normal(n))
    X["sum"] = X["fine"] + X["other"] + 0.01 * rng.standard_normal(n)
    X["id"] = np.arange(n)
    checks = check_data(X)
    assert checks.columns["remarks"].to_dict() == {
        "fine": "collinear",
        "other": "collinear",
        "binary": "discrete",
        "zeros": "discrete",
        "heavy": "heavy",
        "sum": "collinear",
        "id": "counter",
    }
    assert [f.kind for f in checks.findings] == [
        "discrete",
        "heavy tails",
        "collinear",
        "row number",
    ]
    assert checks.tails.heavy
    assert [f.kind for f in check_data(X[["fine", "other"]].iloc[:9]).findings] == ["few rows"]


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


# Fit


def test_standardized_reduction_is_steinsdr_on_standardized_columns(frame):
    X, Y = frame[list("abcde")].to_numpy(), frame[["y1", "y2"]].to_numpy()
    fit = Reduction(2, scale="standardize", lam=1e-3).fit(X, Y)
    Z, T = (X - X.mean(0)) / X.std(0), (Y - Y.mean(0)) / Y.std(0)
    plain = SteinSDR(2, score=TikhonovScore(lam=1e-3)).fit(Z, T)
    np.testing.assert_allclose(np.abs(fit.loadings_), np.abs(plain.components_.T))
    np.testing.assert_allclose(fit.transform(X), Z @ fit.loadings_)
    assert (fit.loadings_[np.abs(fit.loadings_).argmax(0), [0, 1]] > 0).all()


def test_whitened_reduction_does_not_depend_on_the_predictors_basis(frame, rng):
    X, Y = frame[list("abcde")].to_numpy(), frame[["y1", "y2"]].to_numpy()
    A = rng.standard_normal((5, 5))
    one = Reduction(2, scale="whiten", lam=1e-3, tol=1e-8).fit(X, Y)
    two = Reduction(2, scale="whiten", lam=1e-3, tol=1e-8).fit(X @ A, Y)
    correlation = np.corrcoef(one.transform(X).T, two.transform(X @ A).T)[:2, 2:]
    np.testing.assert_allclose(np.abs(correlation), np.eye(2), atol=1e-4)


def test_whitening_leaves_exactly_collinear_directions_out(frame):
    frame["f"] = frame["a"] - frame["b"]
    fit = Reduction(2, scale="whiten").fit(frame[list("abcdef")], frame[["y1", "y2"]])
    assert fit.points_.shape[1] == 5
    truth = frame[list("abc")].to_numpy() @ np.array([[1.0, 0], [1, 0], [0, 1]])
    Z = fit.transform(frame[list("abcdef")])
    assert procrustes_distance(Z - Z.mean(0), truth - truth.mean(0)) < 0.5


def test_auto_scale_asks_for_ten_rows_per_predictor(rng):
    X, Y = rng.standard_normal((50, 5)), rng.standard_normal((50, 1))
    assert Reduction(1, lam=1e-2).fit(X, Y).scale_ == "whiten"
    assert Reduction(1, lam=1e-2).fit(X[:49], Y[:49]).scale_ == "standardize"


# Intervals


@pytest.mark.slow
def test_bootstrap_intervals_cover():
    truth = np.zeros((5, 2))
    truth[:3] = [[1, 0], [1, 0], [0, 1]]
    covered, widths = [], {}
    for n in (60, 240):
        widths[n] = []
        for seed in range(6):
            data = simulated(np.random.default_rng(seed), n=n)
            X, Y = data[list("abcde")].to_numpy(), data[["y1", "y2"]].to_numpy()
            fit = Reduction(2).fit(X, Y)
            result = bootstrap(fit, X, Y, n_resamples=25, seed=seed)
            target, _ = aligned(truth * X.std(axis=0)[:, None], fit)
            covered.append((result.low <= target) & (target <= result.high))
            widths[n].append(result.high - result.low)
    # 120 intervals that hang together; nominal 0.95.
    assert 0.85 < np.mean(covered) <= 1.0
    ratio = np.mean(widths[60]) / np.mean(widths[240])
    assert 1.4 < ratio < 3.5  # about 2, the root of 4


def test_bootstrap_repeats_itself_and_measures_stability(frame, rng):
    X, Y = frame[list("abcde")].to_numpy(), frame[["y1", "y2"]].to_numpy()
    fit = Reduction(2, lam=1e-2).fit(X, Y)
    one, two = (bootstrap(fit, X, Y, n_resamples=10, seed=3) for _ in range(2))
    np.testing.assert_array_equal(one.loadings, two.loadings)
    other = bootstrap(fit, X, Y, n_resamples=10, seed=4)
    assert not np.array_equal(one.loadings, other.loadings)
    noise = rng.standard_normal(Y.shape)
    wild = bootstrap(Reduction(2, lam=1e-2).fit(X, noise), X, noise, n_resamples=10)
    assert one.instability < 0.3 < 0.45 < wild.instability < 1.2
    # Length one in the coordinates of the fit, whatever the length of the loadings.
    inside = fit.coordinates_.unroot.T @ (
        one.loadings * np.linalg.norm(fit.coordinates_.root @ fit.basis_, axis=0)
    )
    np.testing.assert_allclose(np.linalg.norm(inside, axis=1), 1.0)


# Comparison


def test_comparison_learns_nothing_from_the_held_out_rows(rng):
    # With as many predictors as half the rows, any leak would show as a positive R².
    X, Y = rng.standard_normal((60, 30)), rng.standard_normal((60, 2))
    result = compare(Reduction(2, lam=1e-3), pd.DataFrame(X), pd.DataFrame(Y))
    assert (result.mean_r2 < 0.02).all()
    assert (result.r2["mean"] == 0).all()
    assert result.dimensions == (2,) * 5


def test_comparison_matches_the_definition(frame):
    X, Y = frame[list("abcde")], frame[["y1", "y2"]]
    result = compare(Reduction(2), X, Y, folds=4, seed=1)
    table = result.table()
    assert table.loc["SteinSDR", "overall"] > 0.5
    assert table.loc["SteinSDR", "overall"] > table.loc["PCA", "overall"] + 0.1
    gap, error = result.difference("SteinSDR", "PCA")
    assert gap == pytest.approx(result.mean_r2["SteinSDR"] - result.mean_r2["PCA"])
    assert gap > 2 * error > 0
    assert result.loss.shape == (200, 6)


# Verdict


def even_link(frame, rng):
    frame["y1"] = frame["a"] ** 2 + 0.2 * rng.standard_normal(200)
    frame["y2"] = frame["b"] ** 2 + 0.2 * rng.standard_normal(200)


def pure_noise(frame, rng):
    frame[["y1", "y2"]] = rng.standard_normal((200, 2))


def one_binary(frame, rng):
    frame["e"] = rng.integers(0, 2, 200)


@pytest.mark.parametrize(
    ("change", "level", "kinds"),
    [
        (None, "usable", set()),
        (one_binary, "with care", {"discrete"}),
        (pure_noise, "not usable", {"rank"}),
        (even_link, "not usable", {"rank"}),
    ],
)
def test_verdict_follows_the_data(frame, rng, change, level, kinds):
    if change:
        change(frame, rng)
    analysis = analyze(read_table(frame, "y1,y2"), n_bootstrap=20)
    verdict = analysis.verdict
    assert verdict.level == level
    found = {finding.kind for finding in verdict.findings}
    assert kinds <= found
    assert bool(found) == (level != "usable")
    assert str(verdict).startswith(verdict.headline)
    assert unevenness(analysis.diagnostics) < 0.5
    if level == "usable":
        assert analysis.n_components == 2
        assert "2 directions rise above" in verdict.sentences[0]
        top = analysis.loadings()["loading"].abs().groupby("predictor").max().nlargest(3)
        assert set(top.index) == set("abc")


@pytest.fixture(scope="module")
def usable():
    """An analysis without any finding, whose parts are then replaced one by one."""
    frame = simulated(np.random.default_rng(0))
    analysis = analyze(read_table(frame, "y1,y2"), n_bootstrap=20)
    assert analysis.verdict.findings == ()
    return analysis


def judged(analysis, **parts):
    names = ("table", "checks", "reduction", "diagnostics", "spectrum", "pvalues", "comparison")
    values = {name: parts.get(name, getattr(analysis, name)) for name in names}
    verdict = judge(**values, resampled=parts.get("bootstrap", analysis.bootstrap))
    return verdict.level, {finding.kind for finding in verdict.findings}


@pytest.mark.parametrize(
    ("share", "level", "kinds"),
    [(0.3, "usable", set()), (0.5, "with care", {"stability"}), (0.8, "not usable", {"stability"})],
)
def test_resampled_subspaces_that_move_are_said(usable, share, level, kinds):
    distances = np.full_like(usable.bootstrap.distances, share * usable.bootstrap.chance)
    assert judged(usable, bootstrap=replace(usable.bootstrap, distances=distances)) == (
        level,
        kinds,
    )


@pytest.mark.parametrize(
    ("mean", "diagonal"),
    [
        ([0.0, 0.0], [0.1, 0.1]),  # shrunk to nothing
        ([0.0, 0.0], [2.0, 2.0]),  # too large
        ([0.0, 0.0], [0.2, 1.4]),  # uneven
        ([0.5, 0.0], [1.0, 1.0]),  # not centred
    ],
)
def test_a_score_that_is_none_is_said(usable, mean, diagonal):
    diagnostics = SteinDiagnostics(mean=np.array(mean), identity=np.diag(diagonal))
    assert judged(usable, diagnostics=diagnostics) == ("with care", {"score"})


def test_a_better_competitor_is_said(rng):
    frame = simulated(rng, noise=0.2)
    analysis = analyze(read_table(frame, "y1,y2"), components=1, n_bootstrap=0)
    found = {finding.kind: finding.text for finding in analysis.verdict.findings}
    assert "all predictors" in found["competitor"]


def test_differences_that_do_not_show_are_not_clear(rng):
    frame = simulated(rng, noise=0.01).assign(y2=lambda f: f["b"])
    frame["y1"] = frame["a"] + 0.01 * rng.standard_normal(len(frame))
    analysis = analyze(read_table(frame, "y1,y2"), n_bootstrap=0)
    gap, _ = analysis.comparison.difference("SteinSDR", "all predictors")
    assert abs(gap) < 0.005
    assert "no clear difference" in str(analysis.verdict)


def test_heavy_tails_take_the_energy_rule_and_p_values_count_the_data(rng):
    frame = simulated(rng)
    analysis = analyze(read_table(frame, "y1,y2"), n_bootstrap=0)
    assert analysis.spectrum.method == "permutation"
    assert analysis.pvalues[0] == 1 / (1 + PERMUTATIONS)
    frame[list("abcde")] = np.exp(1.5 * frame[list("abcde")])
    heavy = analyze(read_table(frame, "y1,y2"), n_bootstrap=0)
    assert heavy.spectrum.method == "energy"


def test_collinear_columns_are_named_and_whitening_finds_the_direction():
    # s1 and s2 nearly determine each other, sex is binary: data with trouble of their own.
    frame = load_diabetes(as_frame=True, scaled=False).frame
    analysis = analyze(read_table(frame, "target, bp", drop="s6, age"), n_bootstrap=0, folds=2)
    found = {finding.kind: finding.text for finding in analysis.verdict.findings}
    assert "'sex'" in found["discrete"]
    assert "'s1', 's2'" in found["collinear"]
    assert analysis.verdict.level == "with care"
    assert analysis.pvalues[0] < 0.01


def test_unlabeled_rows_take_part_when_asked(rng):
    frame = simulated(rng, n=400)
    frame.loc[60:, ["y1", "y2"]] = np.nan
    table = read_table(frame, "y1,y2")
    options = {"components": 2, "n_bootstrap": 0, "folds": 2}
    alone, full, split = (
        analyze(table, config=config, **options) for config in ("sup", "full", "split")
    )
    assert "340 unlabeled rows took no part" in alone.verdict.sentences[-1]
    assert len(full.reduction.sdr_.score_estimator_.train_scores_) == 400
    assert len(split.reduction.sdr_.score_estimator_.train_scores_) == 340
    assert len(alone.reduction.sdr_.score_estimator_.train_scores_) == 60
    reduced = full.reduced()
    assert reduced["labeled"].value_counts().to_dict() == {False: 340, True: 60}
    with pytest.raises(ValueError, match="config='full' needs unlabeled rows"):
        analyze(read_table(frame.iloc[:60], "y1,y2"), config="full")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"components": 3}, r"at most min\(p, q\) = 2"),
        ({"scale": "log"}, "scale must be one of 'auto', 'standardize', 'whiten'"),
        ({"config": "all"}, "config must be one of"),
        ({"n_bootstrap": 5}, "n_bootstrap must be an integer at least 10"),
        ({"folds": 1}, "folds must be an integer between 2 and 200"),
        ({"seed": -1}, "seed must be an integer between 0"),
    ],
)
def test_wrong_requests(frame, arguments, words):
    with pytest.raises(ValueError, match=words):
        analyze(read_table(frame, "y1,y2"), **arguments)


def test_a_reduction_minds_the_names_of_columns(frame):
    X = frame[list("abcde")]
    fit = Reduction(2, lam=1e-2).fit(X, frame[["y1", "y2"]])
    with pytest.raises(ValueError, match="feature names should match"):
        fit.transform(X[list("edcba")])
    with pytest.raises(ValueError, match=r"constant column\(s\) \(d\)"):
        Reduction(2).fit(X.assign(d=1.0), frame[["y1", "y2"]])


def test_a_header_that_repeats_itself_is_told(frame, tmp_path):
    path = tmp_path / "twice.csv"
    path.write_text(frame.to_csv(index=False).replace("b,c", "a,c", 1))
    with pytest.raises(ValueError, match=r"data: cannot read .*several columns are named 'a'"):
        read_table(path, "y1")


def test_duplicated_names_are_told(frame):
    twice = pd.concat([frame, frame[["y1"]]], axis=1)
    with pytest.raises(ValueError, match="responses: 2 columns are named 'y1'"):
        read_table(twice, "y1")


def test_responses_that_repeat_each_other_show_one_direction(rng):
    frame = simulated(rng).assign(y2=lambda f: -f["y1"])
    analysis = analyze(read_table(frame, ["y1", "y2"]), n_bootstrap=0)
    assert analysis.n_components == 1
    given = analyze(read_table(frame, ["y1", "y2"]), components=2, n_bootstrap=0)
    assert given.spectrum.singular_values[1] == 0.0
    assert given.pvalues[1] == 1.0


def test_a_column_that_a_fold_leaves_constant_is_named(rng):
    frame = simulated(rng, n=60).assign(d=0.0)
    frame.loc[:4, "d"] = 1.0
    X, Y = frame[list("abcde")], frame[["y1", "y2"]]
    seed = next(  # one that puts the five rows into one fold
        seed
        for seed in range(1000)
        if set(range(5)) <= set(next(KFold(2, shuffle=True, random_state=seed).split(X))[1])
    )
    with pytest.raises(ValueError, match="X: column 'd' has a single value"):
        compare(Reduction(1, lam=1e-2), X, Y, folds=2, seed=seed)


def test_resampling_redraws_unlabeled_rows_too(rng):
    frame = simulated(rng, n=60)
    X, Y = frame[list("abcde")].to_numpy(), frame[["y1", "y2"]].to_numpy()
    more = rng.standard_normal((40, 5))
    more[:, 4] = 0.0
    more[0, 4] = 1.0  # absent from about every third resample
    fit = Reduction(1, lam=1e-2, config="split", scale="standardize").fit(X, Y, more)
    assert np.isfinite(bootstrap(fit, X, Y, more, n_resamples=20, seed=0).distances).all()


def test_the_seed_reaches_the_folds_of_lambda(frame):
    X, Y = frame[list("abcde")], frame[["y1", "y2"]]
    curves = [
        Reduction(2, random_state=seed).fit(X, Y).sdr_.score_estimator_.objective_
        for seed in (0, 0, 1)
    ]
    assert np.array_equal(curves[0], curves[1])
    assert not np.array_equal(curves[0], curves[2])


@pytest.mark.parametrize(
    ("value", "shown"), [(1.2e-9, "1.2e−09"), (-3e-4, "−3.0e−04"), (0.0, "0.000"), (12.3, "12.3")]
)
def test_numbers_of_the_page(value, shown):
    assert page._number(value) == shown
