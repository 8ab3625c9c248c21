"""Ten sets of real data with several responses, for the benchmark.

They are those of the Mulan project (Tsoumakas et al. 2011), at a pinned commit. Download, checks
and folder are as for :mod:`steinsdr.paper.patchseq`.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.io import arff

from .._base import check_argument, check_choice
from .patchseq import DATA_VARIABLE, file_sha256, imported_pooch

MULTITARGET: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
"""Sizes, number of responses (``targets``), checksum and subject of each set, by name."""

_URL = (
    "https://raw.githubusercontent.com/tsoumakas/mulan/"
    "43f6389095ad71984264db4387a8074b22bc7d4a/data/multi-target/"
)
_FOLDER = "multitarget"


def load_multitarget(
    name: str, folder: str | Path | None = None, *, verify: bool = True
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return predictors (n, p) and responses (n, q) of a set in :data:`MULTITARGET`.

    A nominal column becomes an indicator column for each of its values but the first. Missing
    values stay NaN. Folder, check and errors are those of
    :func:`steinsdr.paper.patchseq.load_patchseq`, with a folder ``multitarget``.

    References
    ----------
    G. Tsoumakas, E. Spyromitros-Xioufis, J. Vilcek and I. Vlahavas, "Mulan: a Java library for
    multi-label learning", Journal of Machine Learning Research 12 (2011), 2411-2414.
    """
    check_argument(verify, "verify", "boolean")
    check_argument(folder, "folder", str, os.PathLike, None)
    entry = MULTITARGET[check_choice(name, "name", MULTITARGET)]
    file = f"{name}.arff"
    given = folder
    if given is None and os.environ.get(DATA_VARIABLE):
        given = Path(os.environ[DATA_VARIABLE]) / _FOLDER
    if given is None:
        return _read(_fetch(file, entry["sha256"]), entry["targets"])
    path = Path(given) / file
    if not path.is_file():
        raise FileNotFoundError(
            f"{file} not found in {given}. Put it there from {_URL}, or unset {DATA_VARIABLE} to "
            "download it."
        )
    if verify and (found := file_sha256(path)) != entry["sha256"]:
        raise ValueError(
            f"{path} has SHA-256 {found}; expected {entry['sha256']}. It is damaged or another "
            f"version: replace it by {_URL}{file}, or pass verify=False to read it as it is."
        )
    return _read(path, entry["targets"])


def _fetch(file: str, sha256: str) -> Path:
    """Return the cached file, downloaded at first use."""
    pooch = imported_pooch()
    cache = Path(pooch.os_cache("steinsdr")) / _FOLDER
    by_hand = (
        f"Fetch it by hand into a folder named {_FOLDER} and name its parent in the environment "
        f"variable {DATA_VARIABLE}."
    )
    try:
        return Path(pooch.retrieve(_URL + file, f"sha256:{sha256}", fname=file, path=cache))
    except OSError as error:  # no network, no such page, no right to write
        raise ConnectionError(f"Could not download {_URL}{file} into {cache}. {by_hand}") from error
    except ValueError as error:  # pooch's word for a wrong checksum; it removes the file itself
        raise ValueError(
            f"{_URL}{file} does not have the expected SHA-256 {sha256}. Try again. {by_hand}"
        ) from error


def _read(path: Path, targets: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    records, meta = arff.loadarff(path)
    table = pd.DataFrame(records)
    X, Y = table.iloc[:, :-targets], table.iloc[:, -targets:]
    nominal = [column for column in X if meta[str(column)][0] == "nominal"]
    # One-hot codes know no missing value, so that they get a value of their own: "?".
    text = {column: X[column].str.decode("utf-8") for column in nominal}
    X = pd.get_dummies(X.assign(**text), columns=nominal, drop_first=True)
    return X.astype(np.float64), Y.astype(np.float64)
