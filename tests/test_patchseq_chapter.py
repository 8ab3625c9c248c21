"""The real-data chapters: tables that are made and stored, pictures with and without the data."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from patchseq_miniature import DRIVERS, write_miniature

from steinsdr.paper import patchseq_chapter
from steinsdr.paper.fingerprint import code_hash
from steinsdr.paper.patchseq import DATA_VARIABLE, N_GENES, load_patchseq
from steinsdr.paper.patchseq_chapter import MANIFEST, ROOTS, TABLES, Chapter, make

RESULTS = ROOT / "book" / "results"


@pytest.fixture(scope="module")
def mini(tmp_path_factory):
    folder = write_miniature(tmp_path_factory.mktemp("data") / "mini", 5, n_cells=200, n_genes=130)
    data = load_patchseq(folder, verify=False)
    names = ["AP width", "Max AP num", "R_input", "UDR", *data.ephys.columns[4:]]
    data.ephys.columns = pd.Index(names, name="property")
    return data


def test_stored_tables_are_those_of_the_committed_code_and_complete():
    manifest = json.loads((RESULTS / MANIFEST).read_text())
    assert manifest["code"] == code_hash(ROOTS), "run: steinsdr patchseq"
    stored = {name: pd.read_csv(RESULTS / f"patchseq_{name}.csv") for name in TABLES}
    chosen = stored["genes"][stored["genes"]["selected"]]
    assert len(chosen) == N_GENES
    assert set(stored["expression"]["gene"]) == set(chosen["gene"])
    for k in (1, 2, 3):
        assert (chosen[f"low_{k}"] < chosen[f"loading_{k}"]).all()
        assert (chosen[f"loading_{k}"] < chosen[f"high_{k}"]).all()
    leak = stored["leak"]
    gap = (leak["inside"] - leak["everywhere"]).groupby(leak["responses"]).mean()
    assert gap["shuffled"] > 0, "without any signal, what selection on all cells gains is leakage"
    assert len(stored["spectrum"]) == stored["r2"]["property"].nunique() == 16


def test_tables_of_made_up_cells(mini):
    genes = tuple(mini.counts.columns[:20])
    spectrum = TABLES["spectrum"](mini, genes, 3)
    assert (spectrum["singular_value"] > spectrum["null_high"]).sum() >= 3
    assert spectrum["energy"].iloc[-1] == pytest.approx(1.0)
    r2 = TABLES["r2"](mini, genes, 1)
    means = r2.groupby("method")["r2"].mean()
    assert means["ridge"] > 0.2, "six of the genes decide the properties"
    assert set(means.index) == {"TRE-sup", "SIR", "KSIR", "PCA+network", "ridge"}
    leak = TABLES["leak"](mini, genes, 1)
    assert list(leak["responses"]) == ["as measured", "shuffled"]
    assert leak["shared"].between(1, N_GENES).all()
    loadings = TABLES["genes"](mini, genes, 2).set_index("gene")
    assert set(loadings["frequency"]) <= {0.0, 0.5, 1.0}
    size = loadings.loc[list(genes), "loading_1"].abs()
    assert size[:DRIVERS].mean() > size[DRIVERS:].mean()


def test_genes_are_described_and_silent_ones_counted(mini):
    counts = mini.counts.copy()
    counts.iloc[:, 0] = 0
    counts.iloc[0, 0] = 5  # one cell has reads, so most partitions find none
    data = type(mini)(counts, mini.ephys, mini.cells)
    genes = tuple(counts.columns[:3])
    silent = TABLES["silent"](data, genes, 1)
    assert len(silent) == 5 * 6
    assert silent["constant_genes"].sum() > 0
    described = TABLES["expression"](data, genes, 1).set_index("gene")
    assert described["zeros"].iloc[0] == 199 / 200
    logs = np.log2(counts.div(counts.sum(axis=1), axis=0) * 1e6 + 1)
    # pandas divides by n - 1 and the like: 2% at 200 cells
    np.testing.assert_allclose(described["skewness"], logs[list(genes)].skew(), rtol=0.02)


def test_make_writes_every_table(mini, tmp_path, monkeypatch):
    steps = {name: lambda *_: pd.DataFrame({"a": [1.0]}) for name in TABLES}
    monkeypatch.setattr(patchseq_chapter, "TABLES", steps)
    written = make(mini, tmp_path / "new", reps=2)
    assert [path.name for path in written] == [f"patchseq_{name}.csv" for name in TABLES]
    assert json.loads((tmp_path / "new" / MANIFEST).read_text())["partitions"] == 2


def test_pictures_are_drawn_from_data_and_found_without(mini, tmp_path):
    chapter = Chapter(tmp_path, mini)
    assert "200 cells" in chapter.notice()
    pairs = [np.corrcoef(a, b)[0, 1] for a, b in zip(*(s.T for s in chapter.latent), strict=True)]
    assert min(pairs[:2]) > 0.2, "the two sides see the same cells"
    absent = Chapter(tmp_path, None, "no network")
    with pytest.raises(FileNotFoundError, match="steinsdr patchseq"):
        absent.bibiplot(1, 2)
    with pytest.raises(ValueError, match="Patch-seq data are needed here: no network"):
        absent.store_pictures()
    names = {path.name for path in chapter.store_pictures()}
    assert names == {path.name for path in (ROOT / "book" / "figures").glob("patchseq_*.png")}
    assert absent.bibiplot(1, 3) == chapter.bibiplot(1, 3)
    assert absent.overlays().startswith(b"\x89PNG")


def test_chapter_falls_back_loudly(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path / "nowhere"))
    chapter = Chapter.load(tmp_path)
    assert chapter.data is None
    assert "THE DATA ARE NOT HERE" in chapter.notice()
    assert "nowhere" in chapter.notice()
    monkeypatch.delenv(DATA_VARIABLE)
    monkeypatch.setattr("pooch.os_cache", lambda _: tmp_path)
    monkeypatch.setattr("steinsdr.paper.patchseq.PATCHSEQ_URL", "http://localhost:9/")
    assert "Could not download" in Chapter.load(tmp_path).reason
    assert capfd.readouterr().err == "", "the book takes it for a warning"
