"""The paper's real data: Patch-seq recordings of 1213 neurons of the mouse motor cortex.

The files are fetched at a pinned commit, checked and kept in the user's cache; they are not part of
the package. The environment variable ``STEINSDR_DATA`` names a folder to read instead.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

__all__ = ["DATA_VARIABLE", "PATCHSEQ_FILES", "PATCHSEQ_URL", "PatchSeq", "load_patchseq"]

DATA_VARIABLE = "STEINSDR_DATA"
"""Environment variable with a folder that contains ``m1_patchseq/``; it wins over a download."""

PATCHSEQ_URL = (
    "https://raw.githubusercontent.com/berenslab/sBNN/"
    "4ff8ba81123051419c6da0db9215d45e9a4e02c3/data/scala_2020/"
)
"""Where the files come from: a fixed commit of the repository of Bernaerts, Berens and Kobak."""

PATCHSEQ_FILES = {
    "gene_counts.csv": "1cbaac7273f868c13e3ab15a12b32c5fd2ad23e88e11e6776d2bc18ce3d65eaa",
    "ephys_values.csv": "026f8624f3bb0921c32a02ae23b4c7e7979f9819debea1d1c80e646c157e07d1",
    "mini-atlas-meta-data.csv": "f51e524992eb1f30e249797fe65e30655dbad0a11563df7c0d10f179ad64557f",
}
"""The three files and their SHA-256 sums."""

FOLDER = "m1_patchseq"
LABELS = {
    "RNA family": "family",
    "RNA type": "type",
    "RNA type confidence": "confidence",
    "Targeted layer": "layer",
    "Cre": "cre",
}


@dataclass(frozen=True)
class PatchSeq:
    """Gene counts, electrophysiology and cell types of the same cells, in the same order.

    Attributes
    ----------
    counts : DataFrame of shape (1213, 1000)
        Exon read counts of the 1000 most variable genes, one row per cell.
    ephys : DataFrame of shape (1213, 16)
        Electrophysiological properties, in their own units (two are logarithms of a CV).
    cells : DataFrame of shape (1213, 5)
        Transcriptomic ``family`` (9 of them) and ``type`` (77), the ``confidence`` of the type,
        targeted ``layer`` and ``cre`` line. The source has no colours: see
        :data:`steinsdr.plotting_patchseq.FAMILY_COLORS`.
    """

    counts: pd.DataFrame
    ephys: pd.DataFrame
    cells: pd.DataFrame


def load_patchseq(folder: str | Path | None = None, *, verify: bool = True) -> PatchSeq:
    """Load the M1 Patch-seq data of Scala et al. (2021).

    Parameters
    ----------
    folder : path, optional
        Folder with the three files. Without it, ``m1_patchseq`` inside the folder that
        ``STEINSDR_DATA`` names; without that variable, the user's cache, filled by a download of
        4 MB at first use.
    verify : bool, default=True
        Compare the files with their checksums. False admits other data in the same format.

    Returns
    -------
    PatchSeq

    Raises
    ------
    FileNotFoundError
        If a folder was named and a file is missing there.
    ConnectionError
        If the files can not be downloaded.
    ValueError
        If a checksum is wrong, or the three files do not describe the same cells.

    References
    ----------
    F. Scala et al., "Phenotypic variation of transcriptomic cell types in mouse motor
    cortex", Nature 598 (2021), 144-150.

    Examples
    --------
    >>> data = load_patchseq()  # doctest: +SKIP
    >>> data.counts.shape, data.ephys.shape  # doctest: +SKIP
    ((1213, 1000), (1213, 16))
    """
    if folder is None and os.environ.get(DATA_VARIABLE):
        folder = Path(os.environ[DATA_VARIABLE]) / FOLDER
    local = folder is not None
    paths = {name: Path(folder) / name if folder else _fetch(name) for name in PATCHSEQ_FILES}
    missing = [name for name, path in paths.items() if not path.is_file()]
    if missing:
        raise FileNotFoundError(
            f"{', '.join(missing)} not found in {folder}; expected {', '.join(PATCHSEQ_FILES)}. "
            f"Put the files there, name the folder that holds {FOLDER}/ in {DATA_VARIABLE}, or "
            f"unset it to download them from {PATCHSEQ_URL}."
        )
    if verify and local:  # a download has been verified already
        for name, path in paths.items():
            _check_sum(path, PATCHSEQ_FILES[name])
    return _read(*paths.values())


def _check_sum(path: Path, expected: str) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != expected:
        raise ValueError(
            f"{path} has SHA-256 {found}; expected {expected}. It is damaged or another version: "
            f"replace it by {PATCHSEQ_URL}{path.name}, or pass verify=False to read it as it is."
        )


def _fetch(name: str) -> Path:
    """Return the cached file, downloaded at first use."""
    import pooch  # deferred: most users of the package never download

    cache = Path(pooch.os_cache("steinsdr")) / FOLDER
    url, expected = PATCHSEQ_URL + name, PATCHSEQ_FILES[name]
    by_hand = (
        f"Fetch the files by hand into a folder named {FOLDER} and name its parent in the "
        f"environment variable {DATA_VARIABLE}: {', '.join(PATCHSEQ_FILES)} from {PATCHSEQ_URL}"
    )
    try:
        return Path(pooch.retrieve(url, known_hash=f"sha256:{expected}", fname=name, path=cache))
    except OSError as error:  # no network, no such page, no right to write
        # Its first cause says enough; the chain above it is a hundred lines of sockets and retries.
        raise ConnectionError(
            f"Could not download {url} into {cache} ({_first_cause(error)}). {by_hand}"
        ) from None
    except ValueError as error:  # pooch's word for a wrong checksum; it removes the file itself
        raise ValueError(
            f"{url} does not have the expected SHA-256 {expected}: the download was cut short or "
            f"altered on its way. Try again. {by_hand}"
        ) from error


def _first_cause(error: BaseException) -> BaseException:
    """Return what an exception was raised because of, at the end of the chain."""
    while inner := error.__cause__ or error.__context__:
        error = inner
    return error


def _read(counts_path: Path, ephys_path: Path, meta_path: Path) -> PatchSeq:
    """Read the three files and bring the cells into the order of the counts."""
    counts = pd.read_csv(counts_path, index_col=0).T
    counts = counts.rename_axis(index="cell", columns="gene")
    ephys = pd.read_csv(ephys_path, index_col=0).rename_axis(index="cell", columns="property")
    meta = pd.read_csv(meta_path, sep="\t")
    absent = sorted({"Cell", *LABELS} - set(meta.columns))
    if absent:
        raise ValueError(f"{meta_path} lacks the column(s) {', '.join(absent)}.")
    # Cells are called 20171204_sample_2 here and 20171204sample2 in the other two files.
    meta.index = pd.Index(meta["Cell"].str.replace("_", ""), name="cell")

    for path, frame in ((counts_path, counts), (ephys_path, ephys), (meta_path, meta)):
        if not frame.index.is_unique:
            raise ValueError(f"{path} names a cell twice; expected one entry per cell.")
    for path, frame in ((ephys_path, ephys), (meta_path, meta)):
        unknown = counts.index.difference(frame.index)
        if len(unknown):
            raise ValueError(
                f"{path} lacks {len(unknown)} of the {len(counts)} cells in {counts_path.name} "
                f"(first: {unknown[0]}); expected the same cells."
            )
    ephys, cells = ephys.loc[counts.index], meta.loc[counts.index, list(LABELS)]
    for path, frame in ((counts_path, counts), (ephys_path, ephys)):
        numeric = all(pd.api.types.is_numeric_dtype(kind) for kind in frame.dtypes)
        if not numeric or frame.isna().to_numpy().any():
            raise ValueError(f"{path} holds missing or non-numeric values; expected numbers.")
    if (counts.to_numpy() < 0).any():
        raise ValueError(f"{counts_path} holds negative values; expected read counts.")
    return PatchSeq(counts, ephys, cells.rename(columns=LABELS))
