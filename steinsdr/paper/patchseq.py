"""The paper's real data: Patch-seq recordings of 1213 neurons of the mouse motor cortex.

The files are fetched at a pinned commit, checked and kept in the user's cache; they are not part of
the package. The environment variable ``STEINSDR_DATA`` names a folder to read instead.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.preprocessing import StandardScaler
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import check_is_fitted, validate_data

from .._base import check_choice, check_integer, check_matrix, check_positive, check_share
from ..baselines._base import fixed_signs, varying_columns
from ..estimator import SteinSDR
from ..simulation import BASE_SEED, stream, stream_seed
from ..subspace import orthonormalize
from .network import evaluate_reductions, watch_reductions
from .reduced_rank import ReducedRankRegression, select_features

__all__ = [
    "DATA_VARIABLE",
    "LINKS",
    "MAX_RANK",
    "N_GENES",
    "PATCHSEQ_FILES",
    "PATCHSEQ_URL",
    "REFERENCE_RANK",
    "CPMLog",
    "Partition",
    "PatchSeq",
    "Reduction",
    "Split",
    "evaluate_methods",
    "fit_reduction",
    "linear_errors",
    "linear_reductions",
    "load_patchseq",
    "random_partition",
    "select_genes",
    "table3_split",
]


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
        :data:`steinsdr.paper.figures_patchseq.FAMILY_COLORS`.
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


# From read counts to predictors, and from one data set to the paper's four parts.


class CPMLog(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Sequencing depth out, logarithm in: :math:`\log_2(10^6\, c_{ij} / \sum_j c_{ij} + 1)`.

    The sum runs over the columns given, so select genes after this step, not before. Each row is
    transformed by itself: nothing is learned, hence nothing leaks.

    Parameters
    ----------
    scale : float, default=1e6
        Counts per how many reads.

    Examples
    --------
    Depth does not matter:

    >>> counts = np.array([[1, 3, 4], [5, 0, 5]])
    >>> once, twice = (CPMLog().fit_transform(c) for c in (counts, 2 * counts))
    >>> bool(np.allclose(once, twice))
    True
    """

    def __init__(self, scale: float = 1e6) -> None:
        self.scale = scale

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Check the counts (n, p); there is nothing to learn."""
        check_positive(self.scale, "scale")
        self._check_counts(validate_data(self, X, dtype=np.float64))
        return self

    def transform(self, X: ArrayLike) -> NDArray:
        """Return the transformed counts (n, p)."""
        check_is_fitted(self, "n_features_in_")
        counts = validate_data(self, X, dtype=np.float64, reset=False)
        depth = self._check_counts(counts)
        return np.log2(counts / depth * self.scale + 1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    @staticmethod
    def _check_counts(counts: NDArray) -> NDArray:
        if (counts < 0).any():
            raise ValueError(
                f"Negative values in data passed to CPMLog: X has {np.sum(counts < 0)} of them; "
                "expected read counts."
            )
        depth = counts.sum(axis=1, keepdims=True)
        empty = np.flatnonzero(depth == 0)
        if empty.size:
            raise ValueError(
                f"X has {empty.size} row(s) without any count (first: row {empty[0]}); leave such "
                "cells out."
            )
        return depth


@dataclass(frozen=True)
class Partition:
    r"""Row numbers of the four disjoint parts of the paper's real-data section.

    Attributes
    ----------
    labeled : ndarray of int
        :math:`\mathcal T_\ell`: estimates the subspace.
    unlabeled : ndarray of int
        :math:`\mathcal T_u`: its responses are not to be looked at.
    fit : ndarray of int
        :math:`\mathcal T_f`: fits the link function.
    test : ndarray of int
        :math:`\mathcal V`.
    """

    labeled: NDArray
    unlabeled: NDArray
    fit: NDArray
    test: NDArray


def random_partition(
    n: int,
    train_ratio: float,
    gamma: float,
    rng: np.random.Generator,
    *,
    fit_ratio: float = 0.15,
    test_ratio: float = 0.05,
    fill: bool = False,
) -> Partition:
    r"""Split n rows at random into :math:`\mathcal T_\ell, \mathcal T_u, \mathcal T_f, \mathcal V`.

    Sizes are rounded shares of n; rows that no share claims stay unused unless ``fill`` is set. The
    parts are consecutive pieces of one permutation, test first: with an equal ``rng``, another
    ``gamma`` keeps the test and fitting rows and takes nested labeled rows, and so does another
    ``train_ratio`` (with ``fill`` its test rows are nested), so that columns of a table can be
    compared pair by pair.

    Parameters
    ----------
    n : int
        Number of rows.
    train_ratio : float
        Share of :math:`\mathcal T_{\ell,u} = \mathcal T_\ell \cup \mathcal T_u`.
    gamma : float
        Labeled share :math:`\gamma = |\mathcal T_\ell| / |\mathcal T_{\ell,u}|`.
    rng : numpy.random.Generator
    fit_ratio, test_ratio : float
        Shares of :math:`\mathcal T_f` and :math:`\mathcal V`.
    fill : bool, default=False
        Divide the three shares by their sum, so that every row belongs to a part.

    Raises
    ------
    ValueError
        If a share is outside (0, 1), all together exceed 1 or a part would be empty.

    Examples
    --------
    >>> parts = random_partition(1213, 0.6, 0.1, np.random.default_rng(0))
    >>> [len(rows) for rows in (parts.labeled, parts.unlabeled, parts.fit, parts.test)]
    [73, 655, 182, 61]
    >>> parts = random_partition(1213, 0.6, 0.1, np.random.default_rng(0), fill=True)
    >>> [len(rows) for rows in (parts.labeled, parts.unlabeled, parts.fit, parts.test)]
    [91, 819, 227, 76]
    """
    check_integer(n, "n", low=1)
    shares = {
        "train_ratio": train_ratio,
        "gamma": gamma,
        "fit_ratio": fit_ratio,
        "test_ratio": test_ratio,
    }
    for name, share in shares.items():
        check_share(share, name)
    total = train_ratio + fit_ratio + test_ratio
    if total > 1 + 1e-9:
        raise ValueError(f"train_ratio + fit_ratio + test_ratio is {total:g}; expected at most 1.")
    unit = n / total if fill else n
    n_test, n_fit = round(test_ratio * unit), round(fit_ratio * unit)
    n_train = n - n_test - n_fit if fill else min(round(train_ratio * n), n - n_test - n_fit)
    n_labeled = round(gamma * n_train)
    sizes = (n_test, n_fit, n_labeled, n_train - n_labeled)
    if min(sizes) < 1:
        raise ValueError(
            f"n={n} leaves a part empty: test, fit, labeled and unlabeled rows would number "
            f"{sizes}; expected at least 1 each."
        )
    pieces = np.split(rng.permutation(n), np.cumsum(sizes))
    test, fit, labeled, unlabeled = pieces[:4]
    return Partition(labeled=labeled, unlabeled=unlabeled, fit=fit, test=test)


# The random partitions of Table 3, with their genes selected and standardized.


N_GENES = 100
SELECTIONS = ("all", "nontest", "labeled")
SCALINGS = ("all", "train")
SHARES = ("filled", "literal")


@dataclass(frozen=True)
class Split:
    """One random partition of the cells, ready for a method.

    Attributes
    ----------
    X_labeled, X_unlabeled, X_fit, X_test : ndarray of shape (., 100)
        Genes of the four parts.
    Y_labeled, Y_fit, Y_test : ndarray of shape (., 16)
        Properties; those of the unlabeled part are not here.
    genes : tuple of str
        Names of the columns of X.
    partition : Partition
        Row numbers of the parts.
    seed : int
        42 + repetition; names every random stream of the cell.
    """

    X_labeled: NDArray
    X_unlabeled: NDArray
    X_fit: NDArray
    X_test: NDArray
    Y_labeled: NDArray
    Y_fit: NDArray
    Y_test: NDArray
    genes: tuple[str, ...]
    partition: Partition
    seed: int


def select_genes(
    data: PatchSeq, n_genes: int = N_GENES, *, rows: NDArray | None = None, **settings: Any
) -> tuple[str, ...]:
    """Return the names of ``n_genes`` genes that sparse reduced-rank regression selects.

    Parameters
    ----------
    data : PatchSeq
    n_genes : int
    rows : ndarray of int, optional
        Cells that take part; all by default, as in the paper.
    **settings
        Of :func:`steinsdr.paper.reduced_rank.select_features`.
    """
    X, Y = CPMLog().fit_transform(data.counts), data.ephys.to_numpy()
    rows = np.arange(len(X)) if rows is None else rows
    chosen = select_features(np.asarray(X)[rows], Y[rows], n_genes, **settings)
    return tuple(data.counts.columns[chosen.indices])


def table3_split(
    rep: int,
    train_ratio: float,
    gamma: float,
    *,
    data: PatchSeq | None = None,
    selection: str = "all",
    scaling: str = "all",
    shares: str = "filled",
    genes: Sequence[str] | None = None,
    n_genes: int = N_GENES,
) -> Split:
    r"""Split the Patch-seq data as repetition ``rep`` of the paper's Table 3.

    Parameters
    ----------
    rep : int
        Repetition, from 0. Its partitions share test and fitting cells, see
        :func:`steinsdr.paper.patchseq.random_partition`.
    train_ratio, gamma : float
        Share of :math:`\mathcal T_{\ell,u}` and the labeled share of it; those of
        :math:`\mathcal T_f` and :math:`\mathcal V` are 0.15 and 0.05.
    data : PatchSeq, optional
        Loaded if not given.
    selection : {"all", "nontest", "labeled"}, default="all"
        Cells that select the genes: all of them, as the paper words it, which lets the test cells
        and the responses of the unlabeled cells take part; all but the test cells; or
        :math:`\mathcal T_\ell \cup \mathcal T_f`, the honest choice.
    scaling : {"all", "train"}, default="all"
        Cells that standardize: all, as the paper words it; or all but the test cells for the
        genes and :math:`\mathcal T_\ell \cup \mathcal T_f` for the properties.
    shares : {"filled", "literal"}, default="filled"
        At a train ratio of 0.6 the shares add up to 0.8. They are divided by their sum, so that all
        cells are used, as the paper's numbers show; or a fifth of the cells stays unused, as its
        words say.
    genes : sequence of str, optional
        Genes to use; no selection then. ``select_genes(data)`` is worth keeping for "all".
    n_genes : int, default=100
        How many to select.

    Raises
    ------
    ValueError
        If an option or a share is out of range or a gene is unknown.
    """
    check_integer(rep, "rep", low=0)
    check_choice(selection, "selection", SELECTIONS)
    check_choice(scaling, "scaling", SCALINGS)
    check_choice(shares, "shares", SHARES)
    data = load_patchseq() if data is None else data
    seed = BASE_SEED + rep
    rng = stream(seed, "patchseq", "partition")
    parts = random_partition(len(data.counts), train_ratio, gamma, rng, fill=shares == "filled")
    labeled = np.concatenate([parts.labeled, parts.fit])
    known = np.concatenate([labeled, parts.unlabeled])
    if genes is None:
        rows = {"all": None, "nontest": known, "labeled": labeled}[selection]
        genes = select_genes(data, n_genes, rows=rows)
    unknown = [gene for gene in genes if gene not in data.counts.columns]
    if unknown:
        raise ValueError(f"genes: {unknown[0]!r} (of {len(unknown)}) is not in the data.")
    columns = data.counts.columns.get_indexer(list(genes))
    X = np.asarray(CPMLog().fit_transform(data.counts))[:, columns]
    Y = data.ephys.to_numpy(dtype=np.float64)
    X = StandardScaler().fit(X if scaling == "all" else X[known]).transform(X)
    Y = StandardScaler().fit(Y if scaling == "all" else Y[labeled]).transform(Y)
    return Split(
        X_labeled=X[parts.labeled],
        X_unlabeled=X[parts.unlabeled],
        X_fit=X[parts.fit],
        X_test=X[parts.test],
        Y_labeled=Y[parts.labeled],
        Y_fit=Y[parts.fit],
        Y_test=Y[parts.test],
        genes=tuple(genes),
        partition=parts,
        seed=seed,
    )


# Ranks and test errors of methods on one split.


REFERENCE_RANK = 10
"""The fixed rank of the table's last columns."""

MAX_RANK = 12
"""Largest candidate rank. The paper gives it for csOPG and KSIR; its ranks of the other methods fit
12 as well, and neither 10 nor 16."""

LINKS = ("labeled", "fit")
"""Cells that train the network behind an error: the labeled training cells, or the fitting set."""


@dataclass(frozen=True)
class Reduction:
    """Directions of one method: at the rank it selects, and at the reference rank.

    Attributes
    ----------
    rank : int
        Selected rank.
    selected : ndarray of shape (p, rank)
    reference : ndarray of shape (p, r)
        At the reference rank, 10 in the paper.
    """

    rank: int
    selected: NDArray
    reference: NDArray


def fit_reduction(estimator: Any, split: Split, *, reference: int = REFERENCE_RANK) -> Reduction:
    """Fit a reducer on the training part of a split, at the rank it selects and at ``reference``.

    Genes that do not vary among the labeled or among the unlabeled cells get zero loadings.

    Parameters
    ----------
    estimator : SteinSDR or baseline
        With parameter ``n_components`` and attribute ``components_``; cloned, not modified. Its
        own ``n_components`` counts as the choice: "auto" selects the rank.
    split : Split
    reference : int, default=10
        The other rank.
    """
    check_integer(reference, "reference", low=1)
    vary = varying_columns(split.X_labeled) & varying_columns(split.X_unlabeled)
    X, X_unlabeled = split.X_labeled[:, vary], split.X_unlabeled[:, vary]

    def embedded(directions: NDArray) -> NDArray:
        whole = np.zeros((len(vary), directions.shape[1]))
        whole[vary] = directions
        return whole

    fitted = clone(estimator)
    extra = {}
    if isinstance(fitted, SteinSDR) and fitted.config != "sup":
        extra = {"X_unlabeled": X_unlabeled}
    fitted.fit(X, split.Y_labeled, **extra)
    other = _directions(fitted, reference)
    if other is None:
        again = clone(estimator).set_params(n_components=reference)
        other = again.fit(X, split.Y_labeled).components_.T
    selected = fitted.components_.T
    return Reduction(selected.shape[1], embedded(selected), embedded(other))


def _directions(fitted: Any, r: int) -> NDArray | None:
    """Return r directions (p, r) of a fit that holds those of every rank; None if it does not."""
    if hasattr(fitted, "directions_path_"):  # csOPG, KSIR: not nested
        path = fitted.directions_path_
        _check_reference(r, max(path))
        directions = np.zeros_like(path[r])
        kept = orthonormalize(path[r][fitted.selected_])
        directions[fitted.selected_] = fixed_signs(kept.T).T
        return directions
    if hasattr(fitted, "cross_moment_"):  # SteinSDR
        U, _, Vt = np.linalg.svd(fitted.cross_moment_, full_matrices=False)
        _check_reference(r, U.shape[1])
        return svd_flip(U, Vt)[0][:, :r]
    if hasattr(fitted, "weights_"):  # MLPDirections
        _, _, Vt = np.linalg.svd(fitted.weights_, full_matrices=False)
        _check_reference(r, len(Vt))
        return fixed_signs(Vt[:r]).T
    return None


def _check_reference(r: int, limit: int) -> None:
    if r > limit:
        raise ValueError(f"reference={r}; expected at most {limit}, the directions there are.")


def evaluate_methods(
    split: Split, reductions: Mapping[str, Reduction], *, link: str = "labeled", **settings: Any
) -> pd.DataFrame:
    r"""Train a network on every reduction and return its errors on the test cells.

    Parameters
    ----------
    split : Split
    reductions : mapping of str to Reduction
        By method. Initial weights and batches are those of the split's seed, the same for all.
    link : {"labeled", "fit"}, default="labeled"
        Cells that train the network. "labeled" takes :math:`\mathcal T_\ell` again, as the paper's
        appendix says and its numbers show, and :math:`\mathcal T_f` stops the honest network.
        "fit" takes :math:`\mathcal T_f`, as Section 5 says; a part of it stops the honest network.
    **settings
        Of :func:`steinsdr.paper.network.evaluate_reductions`, for example ``epochs``.

    Returns
    -------
    DataFrame indexed by method
        ``rank``; ``mse_rhat`` and ``mse_r10`` as the paper (best epoch by test error);
        ``mse_rhat_honest`` and ``mse_r10_honest`` (epoch chosen without the test cells).
    """
    check_choice(link, "link", LINKS)
    p = split.X_labeled.shape[1]
    bases = []
    for name, reduction in reductions.items():
        for kind in ("selected", "reference"):
            B = check_matrix(getattr(reduction, kind), f"{kind} directions of {name}")
            if len(B) != p:
                raise ValueError(f"{kind} directions of {name} have {len(B)} rows; expected {p}.")
            bases.append(B)
    settings.setdefault("random_state", stream_seed(split.seed, "patchseq", "evaluation"))

    def part(name: str) -> tuple[list[NDArray], NDArray]:
        return [getattr(split, f"X_{name}") @ B for B in bases], getattr(split, f"Y_{name}")

    if link == "labeled":
        test, fit = watch_reductions(*part("labeled"), [part("test"), part("fit")], **settings)
        paper = test.min(axis=0)
        honest = np.take_along_axis(test, fit.argmin(axis=0)[None], axis=0)[0]
    else:
        found = evaluate_reductions(*part("fit"), *part("test"), **settings)
        paper = np.array([one.paper for one in found])
        honest = np.array([one.honest for one in found])
    rows = {
        name: {
            "rank": reduction.rank,
            "mse_rhat": paper[2 * i],
            "mse_r10": paper[2 * i + 1],
            "mse_rhat_honest": honest[2 * i],
            "mse_r10_honest": honest[2 * i + 1],
        }
        for i, (name, reduction) in enumerate(reductions.items())
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")


# What a practitioner would try first: ridge, reduced-rank regression, PLS and PCA.


LINEAR = ("mean", "ridge", "RRR", "PLS")
REDUCTIONS = ("RRR", "PLS", "PCA")
RANKS = (2, 4, 6, 8, 10)
PENALTIES = tuple(np.logspace(-2, 1, 7))  # per row of standardized X


def linear_errors(
    split: Split,
    *,
    with_fit: bool = False,
    reference: int = REFERENCE_RANK,
    models: Sequence[str] = LINEAR,
) -> pd.DataFrame:
    r"""Return the test errors of linear predictions, their settings chosen by cross-validation.

    Parameters
    ----------
    split : Split
    with_fit : bool, default=False
        Train on :math:`\mathcal T_\ell \cup \mathcal T_f`, every labeled cell, instead of
        :math:`\mathcal T_\ell`.
    reference : int, default=10
        The other rank.
    models : sequence of str
        Which of mean, ridge, RRR, PLS.

    Returns
    -------
    DataFrame indexed by model with columns rank, mse, mse_reference
        "mean" predicts the training mean and has rank 0; ridge is a full regression, its rank that
        of Y. ``mse_reference`` is the error at the reference rank, where a model has ranks.
    """
    X, Y = split.X_labeled, split.Y_labeled
    if with_fit:
        X, Y = np.vstack([X, split.X_fit]), np.vstack([Y, split.Y_fit])
    rows = {}
    for name in models:
        check_choice(name, "models", LINEAR)
        if name in ("mean", "ridge"):
            alphas = len(X) * np.asarray(PENALTIES)
            model = DummyRegressor() if name == "mean" else RidgeCV(alphas=alphas)
            error = _test_error(model.fit(X, Y), split)
            rank = 0 if name == "mean" else min(X.shape[1], Y.shape[1])
            rows[name] = {"rank": rank, "mse": error, "mse_reference": error}
        else:
            best, other = _at_both_ranks(name, split, X, Y, reference)
            rows[name] = {
                "rank": best.n_components,
                "mse": _test_error(best, split),
                "mse_reference": _test_error(other, split),
            }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")


def _test_error(model: Any, split: Split) -> float:
    return float(np.mean((split.Y_test - model.predict(split.X_test)) ** 2))


def linear_reductions(
    split: Split, *, reference: int = REFERENCE_RANK, models: Sequence[str] = REDUCTIONS
) -> dict[str, Reduction]:
    r"""Return the reductions of RRR, PLS (on :math:`\mathcal T_\ell`) and PCA (with the unlabeled).

    Ranks of RRR and PLS are chosen by cross-validation of their linear predictions; PCA, which
    looks at no response, takes the reference rank. ``models`` says which of them are wanted.
    """
    check_integer(reference, "reference", low=1)
    X, Y = split.X_labeled, split.Y_labeled
    found = {}
    for name in models:
        check_choice(name, "models", REDUCTIONS)
        if name == "PCA":
            both = np.vstack([X, split.X_unlabeled])
            components = PCA(reference, svd_solver="full").fit(both).components_.T
            found[name] = Reduction(reference, components, components)
        else:
            best, other = _at_both_ranks(name, split, X, Y, reference)
            found[name] = Reduction(
                best.n_components, _directions_references(best), _directions_references(other)
            )
    return found


def _at_both_ranks(
    name: str, split: Split, X: NDArray, Y: NDArray, reference: int
) -> tuple[Any, Any]:
    """Return the model fitted at its best rank and at the reference rank."""
    search = _search(name, split, X, Y).fit(X, Y)
    other = clone(search.estimator).set_params(**{**search.best_params_, "n_components": reference})
    return search.best_estimator_, other.fit(X, Y)


def _search(name: str, split: Split, X: NDArray, Y: NDArray) -> GridSearchCV:
    """Return a cross-validated RRR or PLS, over ranks that the data allow."""
    ranks = [r for r in RANKS if r <= min(len(X) // 2, X.shape[1], Y.shape[1])]
    folds = KFold(5, shuffle=True, random_state=stream_seed(split.seed, "patchseq", "folds"))
    grid: dict[str, Any] = {"n_components": ranks}
    if name == "RRR":
        model: Any = ReducedRankRegression()
        grid["alpha"] = PENALTIES
    else:
        model = PLSRegression(scale=False)
    return GridSearchCV(model, grid, cv=folds, scoring="neg_mean_squared_error")


def _directions_references(model: ReducedRankRegression | PLSRegression) -> NDArray:
    """Return the directions (p, r) whose projections the model predicts from."""
    return model.components_.T if hasattr(model, "components_") else model.x_rotations_
