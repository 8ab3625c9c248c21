"""The Patch-seq data, their partitions, and ranks and errors of methods on one partition."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pooch
import pytest
from conftest import DATA
from patchseq_miniature import DRIVERS, write_miniature
from sklearn.base import clone

from steinsdr import AdaptiveRank, SteinSDR
from steinsdr.baselines import CSOPG, KSIR, SIR, DominanceRank, MLPDirections
from steinsdr.paper import patchseq
from steinsdr.paper.figures import FAMILY_COLORS
from steinsdr.paper.network import errors_by_epoch
from steinsdr.paper.patchseq import (
    DATA_VARIABLE,
    PATCHSEQ_FILES,
    PATCHSEQ_URL,
    Directions,
    evaluate_methods,
    fit_reduction,
    linear_errors,
    linear_reductions,
    load_patchseq,
    log_cpm,
    random_partition,
    table3_split,
)
from steinsdr.paper.reduction import intervals, loading_intervals
from steinsdr.scores import TikhonovScore
from steinsdr.simulation import stream_seed

REAL = DATA / "m1_patchseq"

CONFIGS = ("sup", "split", "full")

# The loader. No network here.


@pytest.fixture
def alone(monkeypatch):
    """Fail loudly if anything tries to download without being told how."""

    def refuse(*_, **__):
        raise AssertionError("a test tried to download")

    monkeypatch.setattr(pooch, "retrieve", refuse)
    monkeypatch.delenv(DATA_VARIABLE, raising=False)


@pytest.fixture
def folder(tmp_path, alone, monkeypatch):
    """A made-up data set whose files are the expected ones."""
    made = write_miniature(tmp_path / "m1_patchseq", seed=1)
    sums = {name: hashlib.sha256((made / name).read_bytes()).hexdigest() for name in PATCHSEQ_FILES}
    monkeypatch.setattr(patchseq, "PATCHSEQ_FILES", sums)
    return made


def test_files_are_joined_by_cell(folder):
    data = load_patchseq(folder)
    assert data.counts.shape == (80, 40)
    assert data.counts.index.equals(data.cells.index)
    assert set(data.cells.columns) == {"family", "type", "confidence", "layer", "cre"}
    # Types begin with their family, so labels of another row would show.
    assert all(t.startswith(f) for t, f in zip(data.cells["type"], data.cells.family, strict=True))
    raw = pd.read_csv(folder / "ephys_values.csv", index_col=0)
    assert not raw.index.equals(data.counts.index)
    pd.testing.assert_frame_equal(data.ephys, raw.loc[data.counts.index], check_names=False)
    # Genes and properties of a row belong together: a driver predicts what it drives.
    logs = np.log(data.counts.iloc[:, :DRIVERS].to_numpy() + 1.0)
    fitted = np.linalg.lstsq(np.c_[np.ones(80), logs], data.ephys.to_numpy(), rcond=None)[1]
    assert np.mean(fitted / (80 * data.ephys.to_numpy().var(axis=0))) < 0.6


def test_variable_wins_over_download_and_missing_files_are_named(folder, monkeypatch):
    monkeypatch.setenv(DATA_VARIABLE, str(folder.parent))
    assert load_patchseq().counts.shape == (80, 40)
    (folder / "ephys_values.csv").unlink()
    with pytest.raises(FileNotFoundError, match=rf"^ephys_values.csv not found.*{DATA_VARIABLE}"):
        load_patchseq()
    with pytest.raises(FileNotFoundError, match=r"gene_counts.csv, ephys_values.csv, mini-atlas"):
        load_patchseq(folder / "nowhere")


def test_wrong_checksum_is_refused(folder):
    with (folder / "gene_counts.csv").open("a") as file:
        file.write("\n")
    with pytest.raises(ValueError, match=r"gene_counts.csv has SHA-256 .*verify=False"):
        load_patchseq(folder)
    load_patchseq(folder, verify=False)


def test_download_asks_for_the_pinned_files(tmp_path, alone, monkeypatch):
    folder = write_miniature(tmp_path, seed=1)
    asked = []

    def retrieve(url, known_hash, fname, path):
        asked.append((url, known_hash))
        assert path == Path(pooch.os_cache("steinsdr")) / "m1_patchseq"
        return str(folder / fname)

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    assert load_patchseq().counts.shape == (80, 40)
    assert asked == [(PATCHSEQ_URL + name, f"sha256:{s}") for name, s in PATCHSEQ_FILES.items()]
    assert "4ff8ba81123051419c6da0db9215d45e9a4e02c3" in PATCHSEQ_URL


def test_a_failed_download_says_what_to_do(alone, monkeypatch):
    def no_network(*_, **__):
        raise OSError("retries, pools and hosts") from OSError("name resolution failed")

    def cut_short(*_, **__):  # as pooch says it
        raise ValueError("SHA256 hash of downloaded file does not match the known hash")

    monkeypatch.setattr(pooch, "retrieve", no_network)
    with pytest.raises(ConnectionError, match=rf"name resolution failed.*{DATA_VARIABLE}") as info:
        load_patchseq()
    assert "pools" not in str(info.value)
    monkeypatch.setattr(pooch, "retrieve", cut_short)
    with pytest.raises(ValueError, match=r"gene_counts.csv does not have the expected SHA-256"):
        load_patchseq()


@pytest.mark.parametrize(
    ("name", "pattern", "text", "message"),
    [
        ("ephys_values.csv", r"\n[^\n]+\n$", "\n", "lacks 1 of the 80 cells"),
        ("ephys_values.csv", r"\n(\w+),[^,]+,", r"\n\1,,", "missing or non-numeric"),
        ("ephys_values.csv", r"(\n[^\n]+\n)$", r"\1\1", "names a cell twice"),
        ("gene_counts.csv", r"\n(\w+),\d+,", r"\n\1,-3,", "negative values"),
        ("mini-atlas-meta-data.csv", "RNA family", "family", "lacks .* RNA family"),
    ],
)
def test_inconsistent_files_are_refused(folder, name, pattern, text, message):
    path = folder / name
    path.write_text(re.sub(pattern, text, path.read_text(), count=1))
    with pytest.raises(ValueError, match=message):
        load_patchseq(folder, verify=False)


@pytest.mark.skipif(not REAL.is_dir(), reason="the Patch-seq data are not here")
def test_real_data_are_what_the_paper_describes():
    data = load_patchseq(REAL)
    assert data.counts.shape == (1213, 1000)
    assert data.ephys.shape == (1213, 16)
    assert set(data.cells.family) == set(FAMILY_COLORS)
    assert len(FAMILY_COLORS) == 9
    # The marker gene of a family is highest there, so labels are in the right rows.
    markers = data.counts[["Pvalb", "Sst", "Vip"]].groupby(data.cells.family.to_numpy()).median()
    assert markers.idxmax().tolist() == ["Pvalb", "Sst", "Vip"]


# Logarithms and partitions.


def test_log_cpm_by_hand():
    counts = pd.DataFrame({"a": [1, 0], "b": [3, 10]}, index=["x", "y"])
    expected = np.log2([[250_001, 750_001], [1, 1_000_001]])
    np.testing.assert_allclose(log_cpm(counts), expected, rtol=1e-14)


@pytest.mark.parametrize("n", [40, 101, 1213])
@pytest.mark.parametrize("gamma", [0.1, 0.3, 0.5])
@pytest.mark.parametrize(("train_ratio", "fill"), [(0.6, True), (0.6, False), (0.8, False)])
def test_partition_has_the_papers_shares(n, train_ratio, gamma, fill, rng):
    parts = random_partition(n, train_ratio, gamma, rng, fill=fill)
    rows = np.concatenate(parts)
    assert len(np.unique(rows)) == len(rows)
    assert set(rows) <= set(range(n))
    if fill or train_ratio == 0.8:
        assert len(rows) == n
    expected = np.array([train_ratio * gamma, train_ratio * (1 - gamma), 0.15, 0.05])
    sizes = [len(piece) for piece in parts]
    unit = n / (train_ratio + 0.2) if fill else n
    np.testing.assert_allclose(sizes, expected * unit, atol=1.5)


@pytest.mark.parametrize("fill", [True, False])
def test_partitions_of_one_stream_are_paired(fill):
    def make(ratio, gamma):
        return random_partition(1213, ratio, gamma, np.random.default_rng(3), fill=fill)

    small, large, wide = make(0.6, 0.1), make(0.6, 0.5), make(0.8, 0.5)
    np.testing.assert_array_equal(small.test, large.test)
    np.testing.assert_array_equal(small.fit, large.fit)
    assert set(small.labeled) < set(large.labeled)
    assert set(wide.test) <= set(small.test)
    elsewhere = random_partition(1213, 0.6, 0.1, np.random.default_rng(4), fill=fill)
    assert set(small.test) != set(elsewhere.test)


# One split of Table 3.


def halves(data, **options):
    return table3_split(0, 0.6, 0.5, data=data, **options)


@pytest.fixture(scope="module")
def mini(tmp_path_factory):
    folder = write_miniature(tmp_path_factory.mktemp("data") / "m1_patchseq", 1, n_cells=200)
    return load_patchseq(folder, verify=False)


@pytest.fixture(scope="module")
def split(mini):
    return halves(mini, n_genes=10)


def test_split_takes_the_rows_of_its_partition(mini, split):
    logs = np.log2(mini.counts.div(mini.counts.sum(axis=1), axis=0) * 1e6 + 1)
    X = ((logs - logs.mean()) / logs.std(ddof=0))[list(split.genes)].to_numpy()
    Y = ((mini.ephys - mini.ephys.mean()) / mini.ephys.std(ddof=0)).to_numpy()
    for part, rows in split.partition._asdict().items():
        np.testing.assert_allclose(getattr(split, f"X_{part}"), X[rows], atol=1e-10)
        if part != "unlabeled":
            np.testing.assert_allclose(getattr(split, f"Y_{part}"), Y[rows], atol=1e-10)
    assert split.seed == 42
    assert split.X_labeled.shape == (75, 10), "half of three quarters of 200 cells"


def test_train_scaling_does_not_see_the_test_cells(mini, split):
    loud = mini.ephys.copy()
    loud.iloc[split.partition.test] *= 100
    louder = replace(mini, ephys=loud)
    for scaling, same in (("all", False), ("train", True)):
        a, b = (halves(d, genes=split.genes, scaling=scaling) for d in (mini, louder))
        assert np.allclose(a.Y_fit, b.Y_fit) == same


@pytest.mark.parametrize(("selection", "same"), [("all", False), ("labeled", True)])
def test_selection_looks_only_where_it_may(mini, split, selection, same):
    """Responses of some cells are made to follow one gene; only who looks there takes it."""
    decoy = mini.counts.columns[-1]
    level = np.log1p(mini.counts[decoy].to_numpy())
    for rows in (split.partition.test, split.partition.unlabeled):
        ephys = mini.ephys.copy()
        ephys.iloc[rows] = 1e4 * level[rows, None]
        plain, other = (
            halves(d, selection=selection, n_genes=6).genes
            for d in (mini, replace(mini, ephys=ephys))
        )
        assert decoy not in plain
        assert (plain == other) == same


# Directions and errors.


@pytest.mark.parametrize(
    "estimator",
    [
        *(SteinSDR.paper(config=c, rank=AdaptiveRank(8), random_state=0) for c in CONFIGS),
        SIR(n_slices=5, random_state=0),
        CSOPG(max_dim=4),
        KSIR(max_dim=4),
        MLPDirections(epochs=2, rank=DominanceRank(max_rank=4), random_state=0),
    ],
    ids=lambda estimator: getattr(estimator, "config", type(estimator).__name__),
)
def test_reduction_is_that_of_the_estimator(split, estimator):
    made = fit_reduction(estimator, split, reference=3)
    unlabeled = [split.X_unlabeled] * (getattr(estimator, "config", "sup") != "sup")
    three = clone(estimator).set_params(n_components=3)
    for found, direct in ((made.selected, clone(estimator)), (made.reference, three)):
        direct.fit(split.X_labeled, split.Y_labeled, *unlabeled)
        np.testing.assert_allclose(found, direct.components_.T, atol=1e-12)


def test_silent_genes_get_no_weight(split):
    X = split.X_labeled.copy()
    X[:, 4] = 1.5
    silent = replace(split, X_labeled=X)
    made = fit_reduction(SteinSDR.paper(random_state=0), silent, reference=3)
    assert made.selected.shape[0] == 10
    assert not made.reference[4].any()
    keep = np.arange(10) != 4
    direct = SteinSDR.paper(3, random_state=0).fit(X[:, keep], split.Y_labeled)
    np.testing.assert_allclose(made.reference[keep], direct.components_.T)


def errors(split, B, trained_on, stopped_on=None, seed=None):
    """Return the test errors, and those of stopping cells, of one network (epochs,) each."""
    (X, Y), (X_stop, Y_stop) = trained_on, stopped_on or trained_on
    watched = [([split.X_test @ B], split.Y_test), ([X_stop @ B], Y_stop)]
    found = errors_by_epoch([X @ B], Y, watched, seed=seed, epochs=40, learning_rate=0.05)
    return [curve[:, 0] for curve in found]


@pytest.mark.parametrize("trained_on", ["labeled", "fit"])
def test_errors_of_the_paper_and_honest_ones(split, trained_on):
    B = np.linalg.qr(np.random.default_rng(0).standard_normal((10, 3)))[0]
    found = {"a": Directions(B, B[:, :1]), "b": Directions(B[:, :1], B)}
    # Steps so large that the error turns early, and not at the same epoch everywhere.
    settings = {"epochs": 40, "learning_rate": 0.05}
    table = evaluate_methods(split, found, trained_on=trained_on, **settings)
    assert table["rank"].tolist() == [3, 1]
    assert table.loc["a", "mse_rhat"] == table.loc["b", "mse_r10"]
    assert table.loc["a", "mse_rhat_honest"] == table.loc["b", "mse_r10_honest"]
    random = np.random.RandomState(stream_seed(42, "patchseq", "evaluation"))
    seed = random.randint(2**31)
    fitting = split.X_fit, split.Y_fit
    if trained_on == "labeled":
        test, stop = errors(split, B, (split.X_labeled, split.Y_labeled), fitting, seed)
        paper = test.min()
    else:
        paper = errors(split, B, fitting, seed=seed)[0].min()
        stopping, rest = np.split(random.permutation(38), [8])  # a fifth of the fitting cells
        parts = [(split.X_fit[rows], split.Y_fit[rows]) for rows in (rest, stopping)]
        test, stop = errors(split, B, *parts, seed=seed)
    assert table.loc["a", "mse_rhat"] == pytest.approx(paper, rel=1e-10)
    assert table.loc["a", "mse_rhat_honest"] == pytest.approx(test[stop.argmin()], rel=1e-10)
    assert (table.mse_rhat < table.mse_rhat_honest).all()


def test_linear_references(split):
    found = {model: linear_errors(model, split) for model in ("mean", "ridge", "RRR", "PLS")}
    mean = np.mean((split.Y_test - split.Y_labeled.mean(axis=0)) ** 2)
    assert found["mean"] == (0, pytest.approx(mean), pytest.approx(mean))
    assert found["ridge"][0] == 10
    for model in ("ridge", "RRR", "PLS"):
        assert found[model][1] < 0.8 * mean
    for model in ("RRR", "PLS", "PCA"):
        made = linear_reductions(model, split, reference=4)
        assert made.reference.shape == (10, 4)
        assert made.selected.shape == (10, 4 if model == "PCA" else found[model][0])


def parts(*arguments):
    return random_partition(*arguments, np.random.default_rng(0), fill=False)


WRONG = Directions(np.ones((3, 1)), np.ones((3, 1)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s, d: log_cpm(pd.DataFrame([[1, -1], [2, 2]])), "1 negative entries"),
        (lambda s, d: log_cpm(pd.DataFrame([[1, 1], [0, 0]])), r"1 row\(s\) without any count"),
        (lambda s, d: log_cpm(pd.DataFrame([[1, np.nan], [1, 1]])), "counts contains NaN"),
        (lambda s, d: parts(100, 0.9, 0.1), "train_ratio=0.9; expected at most 0.8"),
        (lambda s, d: parts(100, 0.6, 1.0), "leaves a part empty"),
        (lambda s, d: halves(d, selection="some"), "selection must be one"),
        (lambda s, d: halves(d, scaling="none"), "scaling must be one of"),
        (lambda s, d: halves(d, shares="some"), "shares must be one of"),
        (lambda s, d: evaluate_methods(s, {}, trained_on="test"), "trained_on must be one of"),
        (lambda s, d: evaluate_methods(s, {"a": WRONG}), "directions with 3 rows; expected 10"),
        (lambda s, d: linear_errors("PCA", s), "model must be one of 'mean'"),
        (lambda s, d: linear_reductions("ridge", s), "model must be one of 'RRR'"),
    ],
)
def test_bad_options_are_named(mini, split, call, message):
    with pytest.raises(ValueError, match=message):
        call(split, mini)


# The loadings of the chapter's genes and their intervals.


def test_loadings_are_those_of_steinsdr_on_standardized_columns_and_the_seed_decides(rng):
    X = rng.standard_normal((200, 5)) * [1, 10, 1, 1000, 1] + 3
    Y = np.tanh(X[:, :2] / [1, 10]) + rng.standard_normal((200, 2)) * [0.25, 0.8]
    Z, T = (X - X.mean(0)) / X.std(0), (Y - Y.mean(0)) / Y.std(0)
    plain = SteinSDR.paper(2, score_estimator=TikhonovScore(lam=1e-3)).fit(Z, T)
    one, two, other = (
        loading_intervals(X, Y, 2, lam=1e-3, n_resamples=10, seed=seed) for seed in (3, 3, 4)
    )
    loadings, low, high = one
    np.testing.assert_allclose(np.abs(loadings), np.abs(plain.components_.T))
    assert (loadings[np.abs(loadings).argmax(0), [0, 1]] > 0).all()
    assert (low <= loadings).all()
    assert (loadings <= high).all()
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(low, other[1])


def drawn(rng, p, noise, n_resamples=100):
    """A direction of three loadings in p predictors; its fit, its resamples, itself."""
    truth = np.zeros((p, 1))
    truth[:3, 0] = [0.8, 0.5, np.sqrt(0.11)]
    seen = truth + noise * rng.standard_normal((p, 1))
    again = seen + noise * rng.standard_normal((n_resamples, p, 1))
    fitted, resampled = (v / np.linalg.norm(v, axis=-2, keepdims=True) for v in (seen, again))
    return fitted, resampled, truth


@pytest.mark.parametrize(("p", "noise"), [(5, 0.05), (30, 0.1), (60, 0.1), (100, 0.15)])
def test_intervals_hold_what_noise_has_shrunk(rng, p, noise):
    held = []
    for _ in range(200):
        fitted, resampled, truth = drawn(rng, p, noise)
        low, high = intervals(fitted, resampled)
        held.append((low <= truth) & (truth <= high))
        assert (low <= fitted).all()
        assert (fitted <= high).all()
        assert max(-low.min(), high.max()) <= 1.0
    held = np.array(held)
    assert 0.92 < held[:, :3].mean() < 0.99, "large loadings"
    assert 0.92 < held[:, 3:].mean() < 0.98, "zeros"


def test_intervals_are_everything_where_noise_hides_the_direction(rng):
    fitted, _, _ = drawn(rng, 100, 0.5)
    unrelated = rng.standard_normal((50, 100, 1))
    unrelated /= np.linalg.norm(unrelated, axis=1, keepdims=True)
    opposite = -np.repeat(fitted[None], 10, axis=0)
    for resampled in (unrelated, opposite):
        low, high = intervals(fitted, resampled)
        assert (low == -1).all()
        assert (high == 1).all()


@pytest.mark.slow
def test_bootstrap_intervals_cover():
    p, n = 30, 120
    b = np.zeros((p, 1))
    b[:2, 0] = [0.8, 0.6]
    rng = np.random.default_rng(5)
    held = []
    for seed in range(16):
        X = rng.standard_normal((n, p))
        Y = np.tanh(2 * X @ b) + 0.5 * rng.standard_normal((n, 1))
        fitted, low, high = loading_intervals(X, Y, 1, lam=1e-3, n_resamples=20, seed=seed)
        target = b * X.std(axis=0)[:, None]
        target *= np.sign(fitted.T @ target) / np.linalg.norm(target)
        held.append(((low <= target) & (target <= high))[:, 0])
    held = np.array(held)
    assert held[:, :2].mean() > 0.85, "the large ones; without correction about 0.6"
    assert held[:, 2:].mean() > 0.87, "zeros"
