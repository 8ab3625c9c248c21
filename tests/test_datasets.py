"""The loader: where it looks, what it refuses, and that it never guesses. No network here."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pooch
import pytest
from conftest import ROOT
from patchseq_miniature import DRIVERS, FAMILIES, write_miniature

from steinsdr.paper import patchseq
from steinsdr.paper.figures_patchseq import FAMILY_COLORS
from steinsdr.paper.patchseq import DATA_VARIABLE, PATCHSEQ_FILES, PATCHSEQ_URL, load_patchseq

REAL = Path(os.environ.get(DATA_VARIABLE, ROOT.parent / "shared" / "data")) / "m1_patchseq"


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """Fail loudly if anything tries to download without being told how."""

    def refuse(*_, **__):
        raise AssertionError("a test tried to download")

    monkeypatch.setattr(pooch, "retrieve", refuse)
    monkeypatch.delenv(DATA_VARIABLE, raising=False)


@pytest.fixture
def folder(tmp_path):
    return write_miniature(tmp_path / "m1_patchseq", seed=1)


@pytest.fixture
def known_sums(folder, monkeypatch):
    """Let the miniature's files be the expected ones."""
    sums = {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in PATCHSEQ_FILES
    }
    monkeypatch.setattr(patchseq, "PATCHSEQ_FILES", sums)
    return sums


def test_files_are_joined_by_cell(folder):
    data = load_patchseq(folder, verify=False)
    assert data.counts.shape == (80, 40)
    assert data.ephys.shape == (80, 16)
    assert data.counts.index.equals(data.ephys.index)
    assert data.counts.index.equals(data.cells.index)
    assert set(data.cells.columns) == {"family", "type", "confidence", "layer", "cre"}
    # Types begin with their family, so labels of another row would show.
    assert all(t.startswith(f) for t, f in zip(data.cells["type"], data.cells.family, strict=True))
    raw = pd.read_csv(folder / "ephys_values.csv", index_col=0)
    assert not raw.index.equals(data.counts.index)
    pd.testing.assert_frame_equal(data.ephys, raw.loc[data.counts.index], check_names=False)
    assert set(data.cells.family) <= set(FAMILIES) <= set(FAMILY_COLORS)
    # Genes and properties of a row belong together: a driver predicts what it drives.
    logs = np.log(data.counts.iloc[:, :DRIVERS].to_numpy() + 1.0)
    fitted = np.linalg.lstsq(np.c_[np.ones(80), logs], data.ephys.to_numpy(), rcond=None)[1]
    assert np.mean(fitted / (80 * data.ephys.to_numpy().var(axis=0))) < 0.6


def test_variable_wins_over_download(folder, known_sums, monkeypatch):
    monkeypatch.setenv(DATA_VARIABLE, str(folder.parent))
    assert load_patchseq().counts.shape == (80, 40)


def test_missing_file_names_it_and_the_way_out(folder, monkeypatch):
    (folder / "ephys_values.csv").unlink()
    monkeypatch.setenv(DATA_VARIABLE, str(folder.parent))
    with pytest.raises(FileNotFoundError, match=rf"^ephys_values.csv not found.*{DATA_VARIABLE}"):
        load_patchseq()
    with pytest.raises(FileNotFoundError, match=r"gene_counts.csv, ephys_values.csv, mini-atlas"):
        load_patchseq(folder / "nowhere")


def test_wrong_checksum_is_refused(folder, known_sums):
    load_patchseq(folder)
    with (folder / "gene_counts.csv").open("a") as file:
        file.write("\n")
    with pytest.raises(ValueError, match=r"gene_counts.csv has SHA-256 .*verify=False"):
        load_patchseq(folder)
    load_patchseq(folder, verify=False)


def test_download_asks_for_the_pinned_files(folder, monkeypatch):
    asked = []

    def retrieve(url, known_hash, fname, path):
        asked.append((url, known_hash))
        assert path == Path(pooch.os_cache("steinsdr")) / "m1_patchseq"
        return str(folder / fname)

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    assert load_patchseq().counts.shape == (80, 40)
    assert asked == [(PATCHSEQ_URL + name, f"sha256:{s}") for name, s in PATCHSEQ_FILES.items()]
    assert "4ff8ba81123051419c6da0db9215d45e9a4e02c3" in PATCHSEQ_URL


def test_no_network_says_what_to_do(monkeypatch):
    def retrieve(*_, **__):
        import requests

        try:
            raise OSError("name resolution failed")
        except OSError as error:
            raise requests.exceptions.ConnectionError("retries, pools and hosts") from error

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    with pytest.raises(ConnectionError, match=rf"name resolution failed.*{DATA_VARIABLE}") as info:
        load_patchseq()
    assert "pools" not in str(info.value)
    assert info.value.__suppress_context__  # and none of their traceback


def test_damaged_download_says_what_to_do(tmp_path, monkeypatch):
    """Pooch itself finds the wrong sum, of a file that a fake downloader wrote."""
    monkeypatch.undo()
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    monkeypatch.setattr(pooch, "os_cache", lambda _: tmp_path)

    class Downloader:
        def __call__(self, url, output_file, pooch, check_only=False):
            Path(output_file).write_text("cut sho")

    monkeypatch.setattr(pooch.core, "choose_downloader", lambda *_, **__: Downloader())
    with pytest.raises(ValueError, match=r"gene_counts.csv does not have the expected SHA-256"):
        load_patchseq()
    assert not (tmp_path / "m1_patchseq" / "gene_counts.csv").exists()


def corrupt(name):
    def edit(path):
        text = path.read_text()
        lines = text.splitlines(keepends=True)
        if name == "ephys_values.csv":
            path.write_text("".join(lines[:-1]))  # a cell is gone
        elif name == "gene_counts.csv":
            cells = lines[1].split(",")
            path.write_text("".join([lines[0], ",".join([cells[0], "-3", *cells[2:]]), *lines[2:]]))
        else:
            path.write_text(text.replace("RNA family", "family"))

    return edit


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ephys_values.csv", "lacks 1 of the 80 cells"),
        ("gene_counts.csv", "negative values"),
        ("mini-atlas-meta-data.csv", "RNA family"),
    ],
)
def test_inconsistent_files_are_refused(folder, name, message):
    corrupt(name)(folder / name)
    with pytest.raises(ValueError, match=message):
        load_patchseq(folder, verify=False)


def test_gaps_and_repeated_cells_are_refused(folder):
    path = folder / "ephys_values.csv"
    frame = pd.read_csv(path, index_col=0)
    frame.iloc[3, 2] = np.nan
    frame.to_csv(path)
    with pytest.raises(ValueError, match="missing or non-numeric"):
        load_patchseq(folder, verify=False)
    pd.concat([frame.fillna(0), frame.iloc[:1]]).to_csv(path)
    with pytest.raises(ValueError, match="names a cell twice"):
        load_patchseq(folder, verify=False)


@pytest.mark.skipif(not REAL.is_dir(), reason="the Patch-seq data are not here")
def test_real_data_are_what_the_paper_describes():
    data = load_patchseq(REAL)
    assert data.counts.shape == (1213, 1000)
    assert data.ephys.shape == (1213, 16)
    assert data.cells.family.nunique() == 9
    assert set(data.cells.family) == set(FAMILY_COLORS)
    # The marker gene of a family is highest there, so labels are in the right rows.
    markers = data.counts[["Pvalb", "Sst", "Vip"]].groupby(data.cells.family.to_numpy()).median()
    assert markers.idxmax().tolist() == ["Pvalb", "Sst", "Vip"]
