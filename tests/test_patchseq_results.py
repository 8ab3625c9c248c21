"""Stored results of the real-data chapter and its figures."""

from __future__ import annotations

import json

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from patchseq_miniature import DRIVERS, write_miniature
from toy_experiment import definitions_entered

from steinsdr.paper import figures_patchseq, figures_tables, patchseq_results
from steinsdr.paper.fingerprint import code_hash, reachable
from steinsdr.paper.ledger import Ledger
from steinsdr.paper.network import evaluate_reduction, predict_from_reductions, watch_reductions
from steinsdr.paper.patchseq import DATA_VARIABLE, N_GENES, CPMLog, load_patchseq
from steinsdr.paper.patchseq_chapter import Chapter

RESULTS = ROOT / "book" / "results"


@pytest.fixture(scope="module")
def mini(tmp_path_factory):
    folder = write_miniature(tmp_path_factory.mktemp("data") / "mini", 5, n_cells=200, n_genes=130)
    return load_patchseq(folder, verify=False)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


# The tables.


def test_stored_tables_are_those_of_the_committed_code():
    manifest = json.loads((RESULTS / patchseq_results.MANIFEST).read_text())
    assert manifest["code"] == code_hash(patchseq_results.ROOTS), "run: python -m steinsdr patchseq"


# Observing calls takes time, and what "leak" enters "rrr" enters too.
@pytest.mark.slow
@pytest.mark.parametrize("name", ["genes", "r2", "spectrum", "rrr", "silent"])
def test_what_the_tables_run_is_in_their_fingerprint(mini, name):
    genes = tuple(mini.counts.columns[:N_GENES])
    step = patchseq_results.STEPS[name]
    assert definitions_entered(lambda: step(mini, genes, 1)) <= set(
        reachable(patchseq_results.ROOTS)
    )


def test_stored_tables_have_what_the_chapter_needs():
    genes = patchseq_results.read("genes", RESULTS)
    assert genes["selected"].sum() == N_GENES
    assert genes["frequency"].between(0, 1).all()
    chosen = genes[genes["selected"]]
    for k in (1, 2, 3):
        assert (chosen[f"low_{k}"] < chosen[f"loading_{k}"]).all()
        assert (chosen[f"loading_{k}"] < chosen[f"high_{k}"]).all()
    leak = patchseq_results.read("leak", RESULTS)
    gap = (leak["inside"] - leak["everywhere"]).groupby(leak["responses"]).mean()
    assert gap["shuffled"] > 0, "without any signal, what selection on all cells gains is leakage"
    spectrum = patchseq_results.read("spectrum", RESULTS)
    assert len(spectrum) == 16
    assert (spectrum["null_low"] < spectrum["null_high"]).all()
    assert patchseq_results.read("r2", RESULTS)["property"].nunique() == 16
    with pytest.raises(ValueError, match="name must be one of genes, r2"):
        patchseq_results.read("tables", RESULTS)


def test_drivers_stand_out_on_made_up_cells(mini):
    genes = tuple(mini.counts.columns[:20])
    spectrum = patchseq_results.spectrum(mini, genes, 3)
    assert (spectrum["singular_value"] > spectrum["null_high"]).sum() >= 3
    assert spectrum["energy"].iloc[-1] == pytest.approx(1.0)
    silent = patchseq_results.silent(mini, genes, 1)
    assert len(silent) == 5 * 6
    assert (silent["constant_genes"] >= 0).all()
    r2 = patchseq_results.property_r2(mini, genes, 1)
    means = r2.groupby("method")["r2"].mean()
    assert means["ridge"] > 0.2, "six of the genes decide the properties"
    assert set(means.index) == {"TRE-sup", "SIR", "KSIR", "PCA+network", "ridge"}


def test_leak_compares_both_selections(mini):
    leak = patchseq_results.leak(mini, tuple(mini.counts.columns[:20]), 1)
    assert list(leak["responses"]) == ["as measured", "shuffled"]
    assert leak[["everywhere", "inside"]].gt(0).all(axis=None)
    assert leak["shared"].between(1, N_GENES).all()


def test_loadings_of_drivers(mini):
    genes = tuple(mini.counts.columns[:20])
    table = patchseq_results.gene_table(mini, genes, 2).set_index("gene")
    assert set(table["frequency"]) <= {0.0, 0.5, 1.0}
    size = table.loc[list(genes), "loading_1"].abs()
    assert size[:DRIVERS].mean() > size[DRIVERS:].mean()


def test_make_writes_everything(mini, tmp_path, monkeypatch):
    steps = {name: lambda *_: pd.DataFrame({"a": [1.0]}) for name in patchseq_results.STEPS}
    monkeypatch.setattr(patchseq_results, "STEPS", steps)
    written = patchseq_results.make(mini, tmp_path, reps=2)
    assert {path.name for path in written.values()} == set(patchseq_results.FILES.values())
    assert json.loads((tmp_path / patchseq_results.MANIFEST).read_text())["partitions"] == 2


# The network's predictions.


def test_predictions_have_the_errors_that_are_watched(rng):
    T = rng.standard_normal((90, 3))
    Y = np.tanh(T[:, :2]) + 0.1 * rng.standard_normal((90, 2))
    parts = [slice(0, 50), slice(50, 70), slice(70, 90)]
    settings = {"epochs": 30, "learning_rate": 0.05}
    bases = [T, T[:, :1]]
    sets = [([B[rows] for B in bases], Y[rows]) for rows in parts]
    seed = int(np.random.RandomState(3).randint(2**31))  # what watch_reductions draws
    stop, test = watch_reductions(*sets[0], sets[1:], random_state=3, **settings)
    found = predict_from_reductions(*sets[0], *sets[1], sets[2][0], seed=seed, **settings)
    for b, guess in enumerate(found):
        error = np.mean((guess - sets[2][1]) ** 2)
        assert error == pytest.approx(test[stop[:, b].argmin(), b], rel=1e-9)
    single = evaluate_reduction(T[:50], Y[:50], T[70:], Y[70:], random_state=3, **settings)
    np.testing.assert_allclose(single.test_curve, test[:, 0], rtol=1e-9)


def test_prediction_names_what_is_wrong(rng):
    T = rng.standard_normal((20, 2))
    with pytest.raises(ValueError, match="T_stop holds 2 reduction"):
        predict_from_reductions([T], T, [T, T], T, [T])
    with pytest.raises(ValueError, match=r"Y_stop has 1 column\(s\); expected 2"):
        predict_from_reductions([T], T, [T], T[:, :1], [T])
    for name, targets in (("Y_train", (np.nan * T, T)), ("Y_stop", (T, np.nan * T))):
        with pytest.raises(ValueError, match=f"{name}: .*NaN"):
            predict_from_reductions([T], targets[0], [T], targets[1], [T])
    with pytest.raises(ValueError, match="watched is empty"):
        watch_reductions([T], T, [])


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """The paper's table with the paper's own means as ours."""
    frame = Ledger.build(tmp_path_factory.mktemp("empty"), ROOT / "book" / "paper").cells.copy()
    return frame.assign(
        mean=frame["paper_mean"], sd=frame["paper_sd"], reps=100, z=0.0, verdict="agrees"
    )


def test_figures_of_table_3(own):
    extras = own.iloc[:0].assign(measure=pd.Series(dtype=str))
    fig = figures_tables.plot_errors(own, extras)
    assert [ax.get_title() for ax in fig.axes] == ["train ratio 0.6", "train ratio 0.8"]
    assert len(fig.axes[0].lines) >= 10
    assert len(figures_tables.plot_ranks(own).get_xticklabels()) == 10
    with pytest.raises(ValueError, match="methods has"):
        figures_tables.plot_errors(own, extras, methods=["nothing"])


def test_figures_of_stored_tables():
    genes = patchseq_results.read("genes", RESULTS)
    fig = figures_patchseq.plot_loadings(genes, (1, 2), n_genes=5)
    assert [len(ax.get_yticklabels()) for ax in fig.axes] == [5, 5]
    ax = figures_patchseq.plot_selection_frequency(genes)
    assert len(ax.patches) == len(genes)
    figures_patchseq.plot_stored_spectrum(patchseq_results.read("spectrum", RESULTS))
    ax = figures_patchseq.plot_rrr_path(patchseq_results.read("rrr", RESULTS))
    assert len(ax.get_legend_handles_labels()[1]) == 4
    axes = figures_tables.plot_leak(patchseq_results.read("leak", RESULTS))
    assert len(axes) == 2


def test_overlays_show_measured_and_predicted(rng):
    scores, measured = rng.standard_normal((30, 2)), pd.DataFrame(
        rng.standard_normal((30, 3)), columns=["a", "b", "c"]
    )  # fmt: skip
    fig = figures_patchseq.plot_overlays(scores, measured, measured.to_numpy(), ["b", "a"])
    assert len(fig.axes) == 5, "two by two panels and a colour bar"
    with pytest.raises(ValueError, match=r"names has \['d'\]"):
        figures_patchseq.plot_overlays(scores, measured, measured.to_numpy(), ["d"])


# With and without the data.


def test_chapter_draws_from_data(mini, tmp_path):
    chapter = Chapter(tmp_path, mini)
    assert chapter.available
    assert "200 cells" in chapter.notice()
    scores_x, scores_y, sdr = chapter.latent
    assert scores_x.shape == scores_y.shape == (200, sdr.n_components_)
    pairs = [np.corrcoef(scores_x[:, k], scores_y[:, k])[0, 1] for k in range(2)]
    assert min(pairs) > 0.2, "the two sides see the same cells"
    names = list(mini.ephys.columns[:2])
    chapter.overlays(names)
    chapter.bibiplot((1, 2))


def test_expression_counts_silent_cells_and_is_found_again(mini, tmp_path):
    described = Chapter(tmp_path, mini).expression(tmp_path)
    gene = described.index[0]
    assert described["zeros"][gene] == sum(mini.counts[gene] == 0) / 200
    logs = pd.Series(CPMLog().fit_transform(mini.counts)[:, mini.counts.columns.get_loc(gene)])
    # pandas divides by n - 1 and the like: 2% at 200 cells
    assert described["skewness"][gene] == pytest.approx(logs.skew(), rel=0.02)
    Chapter(tmp_path, mini).store_expression(tmp_path)
    stored = Chapter(tmp_path, data=False).expression(tmp_path)
    pd.testing.assert_frame_equal(stored, described, rtol=1e-5)  # six digits are stored


def test_stored_expression_is_of_the_selected_genes():
    stored = Chapter(RESULTS, data=False).expression(RESULTS)
    genes = patchseq_results.read("genes", RESULTS)
    assert set(stored.index) == set(genes[genes["selected"]]["gene"])
    assert stored["zeros"].between(0, 1).all()


def test_chapter_falls_back_loudly(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path / "nowhere"))
    chapter = Chapter(ROOT / "book" / "figures")
    assert not chapter.available
    assert "THE DATA ARE NOT HERE" in chapter.notice()
    assert "nowhere" in chapter.notice()
    assert chapter.bibiplot((1, 2)) is None
    assert "Image" in capsys.readouterr().out
    with pytest.raises(FileNotFoundError, match="python -m steinsdr patchseq"):
        Chapter(tmp_path, data=False).bibiplot((1, 2))
    with pytest.raises(ValueError, match="Patch-seq data are needed"):
        Chapter(tmp_path, data=False).store_pictures()


def test_a_failed_download_says_nothing_on_stderr(tmp_path, monkeypatch, capfd):
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    monkeypatch.setattr("pooch.os_cache", lambda _: tmp_path)
    monkeypatch.setattr("steinsdr.paper.patchseq.PATCHSEQ_URL", "http://localhost:9/")
    chapter = Chapter(tmp_path)
    assert not chapter.available
    assert "Could not download" in chapter.reason
    assert capfd.readouterr().err == "", "the book takes it for a warning"


def test_stored_pictures_are_there():
    figures = ROOT / "book" / "figures"
    for name in ("patchseq_bibiplot_12", "patchseq_bibiplot_13", "patchseq_overlays"):
        assert plt.imread(figures / f"{name}.png").std() > 0.01
