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

from .._base import check_choice
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


def load_multitarget(name: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return predictors (n, p) and responses (n, q) of a set in :data:`MULTITARGET`.

    A nominal column becomes an indicator column for each of its values but the first. Missing
    values stay NaN. The file is that of the folder ``multitarget`` in the folder that
    ``STEINSDR_DATA`` names; without that variable, of the user's cache, downloaded at first use.
    OSError if it is missing or can not be downloaded; ValueError if the name is unknown or the
    checksum is wrong.

    References
    ----------
    G. Tsoumakas, E. Spyromitros-Xioufis, J. Vilcek and I. Vlahavas, "Mulan: a Java library for
    multi-label learning", Journal of Machine Learning Research 12 (2011), 2411-2414.
    """
    entry = MULTITARGET[check_choice(name, "name", MULTITARGET)]
    file, expected = f"{name}.arff", entry["sha256"]
    by_hand = (
        f"Put {_URL}{file} into a folder named {_FOLDER} and name its parent in the environment "
        f"variable {DATA_VARIABLE}."
    )
    if parent := os.environ.get(DATA_VARIABLE):
        path = Path(parent) / _FOLDER / file
        if not path.is_file():
            raise FileNotFoundError(f"{path} not found. {by_hand}")
        if (found := file_sha256(path)) != expected:
            raise ValueError(
                f"{path} has SHA-256 {found}; expected {expected}. It is damaged or another "
                f"version. {by_hand}"
            )
        return _read(path, entry["targets"])
    pooch = imported_pooch()
    cache = Path(pooch.os_cache("steinsdr")) / _FOLDER
    try:  # pooch itself refuses a wrong checksum, and removes the file
        path = pooch.retrieve(_URL + file, f"sha256:{expected}", fname=file, path=cache)
    except OSError as error:  # no network, no such page, no right to write
        raise ConnectionError(f"Could not download {file} into {cache}. {by_hand}") from error
    return _read(path, entry["targets"])


def _read(path: str | Path, targets: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    records, meta = arff.loadarff(path)
    table = pd.DataFrame(records)
    X, Y = table.iloc[:, :-targets], table.iloc[:, -targets:]
    nominal = [column for column in X if meta[str(column)][0] == "nominal"]
    # One-hot codes know no missing value, so that they get a value of their own: "?".
    text = {column: X[column].str.decode("utf-8") for column in nominal}
    X = pd.get_dummies(X.assign(**text), columns=nominal, drop_first=True)
    return X.astype(np.float64), Y.astype(np.float64)
