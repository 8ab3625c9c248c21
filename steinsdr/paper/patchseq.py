"""The paper's real data: Patch-seq recordings of 1213 neurons of the mouse motor cortex.

From the files to the test errors of Table 3. The files are fetched at a pinned commit, checked and
kept in the user's cache. The environment variable ``STEINSDR_DATA`` names a folder to read instead.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.preprocessing import StandardScaler

from .._base import check_argument, check_choice, check_matrix, varying_columns
from ..estimator import SteinSDR
from ..simulation import BASE_SEED, stream, stream_seed
from .network import errors_by_epoch
from .reduced_rank import ReducedRankRegression, select_features

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

N_GENES = 100
"""Genes that the paper selects."""

REFERENCE_RANK = 10
"""The fixed rank of the last columns of Table 3."""

MAX_RANK = 12
"""Largest candidate rank. The paper gives it for csOPG and KSIR; its ranks of the other methods fit
12 as well, and neither 10 nor 16."""

_FOLDER = "m1_patchseq"
_LABELS = {
    "RNA family": "family",
    "RNA type": "type",
    "RNA type confidence": "confidence",
    "Targeted layer": "layer",
    "Cre": "cre",
}


@dataclass(frozen=True)
class PatchSeq:
    """Gene counts, electrophysiology and cell types of the same 1213 cells, in the same order.

    ``counts`` are exon reads of the 1000 most variable genes, ``ephys`` 16 electrophysiological
    properties in their own units (two are logarithms of a CV). ``cells`` has the transcriptomic
    ``family`` (9 of them) and ``type`` (77), the ``confidence`` of the type, ``layer`` and ``cre``
    line.
    """

    counts: pd.DataFrame
    ephys: pd.DataFrame
    cells: pd.DataFrame


def load_patchseq(folder: str | Path | None = None, *, verify: bool = True) -> PatchSeq:
    """Load the M1 Patch-seq data of Scala et al. (2021).

    Without ``folder`` the three files are read from ``m1_patchseq`` in the folder that
    ``STEINSDR_DATA`` names; without that variable, from the user's cache, filled by a download of
    4 MB at first use. ``verify=False`` admits other data in the same format. OSError if a file is
    missing in a folder that was named, or can not be downloaded; ValueError if a checksum is wrong,
    or the three files do not describe the same cells.

    References
    ----------
    F. Scala et al., "Phenotypic variation of transcriptomic cell types in mouse motor
    cortex", Nature 598 (2021), 144-150.
    """
    check_argument(verify, "verify", "boolean")
    check_argument(folder, "folder", str, os.PathLike, None)
    if folder is None and os.environ.get(DATA_VARIABLE):
        folder = Path(os.environ[DATA_VARIABLE]) / _FOLDER
    if folder is None:
        return _read(*[_fetch(name) for name in PATCHSEQ_FILES])
    paths = {name: Path(folder) / name for name in PATCHSEQ_FILES}
    missing = [name for name, path in paths.items() if not path.is_file()]
    if missing:
        raise FileNotFoundError(
            f"{', '.join(missing)} not found in {folder}; expected {', '.join(PATCHSEQ_FILES)}. "
            f"Put the files there, name the folder that holds {_FOLDER}/ in {DATA_VARIABLE}, or "
            f"unset it to download them from {PATCHSEQ_URL}."
        )
    for name, expected in PATCHSEQ_FILES.items() if verify else ():
        path = paths[name]
        if (found := file_sha256(path)) != expected:
            raise ValueError(
                f"{path} has SHA-256 {found}; expected {expected}. It is damaged or another "
                f"version: replace it by {PATCHSEQ_URL}{name}, or pass verify=False to read it as "
                "it is."
            )
    return _read(*paths.values())


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, as hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def imported_pooch() -> Any:
    """Return the package pooch; in a notebook its progress bar would warn of missing widgets."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pooch  # deferred: most users of the package never download these data
    return pooch


def _fetch(name: str) -> Path:
    """Return the cached file, downloaded at first use."""
    pooch = imported_pooch()
    cache = Path(pooch.os_cache("steinsdr")) / _FOLDER
    url, expected = PATCHSEQ_URL + name, PATCHSEQ_FILES[name]
    by_hand = (
        f"Fetch the files by hand into a folder named {_FOLDER} and name its parent in the "
        f"environment variable {DATA_VARIABLE}: {', '.join(PATCHSEQ_FILES)} from {PATCHSEQ_URL}"
    )
    try:
        return Path(pooch.retrieve(url, known_hash=f"sha256:{expected}", fname=name, path=cache))
    except OSError as error:  # no network, no such page, no right to write
        # Its first cause says enough; the chain above it is a hundred lines of sockets and retries.
        cause: BaseException = error
        while inner := cause.__cause__ or cause.__context__:
            cause = inner
        raise ConnectionError(
            f"Could not download {url} into {cache} ({cause}). {by_hand}"
        ) from None
    except ValueError as error:  # pooch's word for a wrong checksum; it removes the file itself
        raise ValueError(
            f"{url} does not have the expected SHA-256 {expected}: the download was cut short or "
            f"altered on its way. Try again. {by_hand}"
        ) from error


def _read(counts_path: Path, ephys_path: Path, meta_path: Path) -> PatchSeq:
    """Read the three files and bring the cells into the order of the counts."""
    counts = pd.read_csv(counts_path, index_col=0).T.rename_axis(index="cell", columns="gene")
    ephys = pd.read_csv(ephys_path, index_col=0).rename_axis(index="cell", columns="property")
    meta = pd.read_csv(meta_path, sep="\t")
    absent = sorted({"Cell", *_LABELS} - set(meta.columns))
    if absent:
        raise ValueError(f"{meta_path} lacks the column(s) {', '.join(absent)}.")
    # Cells are called 20171204_sample_2 here and 20171204sample2 in the other two files.
    meta.index = pd.Index(meta["Cell"].str.replace("_", ""), name="cell")
    for path, frame in ((counts_path, counts), (ephys_path, ephys), (meta_path, meta)):
        if not frame.index.is_unique:
            raise ValueError(f"{path} names a cell twice; expected one entry per cell.")
        unknown = counts.index.difference(frame.index)
        if len(unknown):
            raise ValueError(
                f"{path} lacks {len(unknown)} of the {len(counts)} cells in {counts_path.name} "
                f"(first: {unknown[0]}); expected the same cells."
            )
    ephys, meta = ephys.loc[counts.index], meta.loc[counts.index]
    for path, frame in ((counts_path, counts), (ephys_path, ephys)):
        numeric = all(pd.api.types.is_numeric_dtype(kind) for kind in frame.dtypes)
        if not numeric or frame.isna().to_numpy().any():
            raise ValueError(f"{path} holds missing or non-numeric values; expected numbers.")
    if (counts.to_numpy() < 0).any():
        raise ValueError(f"{counts_path} holds negative values; expected read counts.")
    return PatchSeq(counts, ephys, meta[list(_LABELS)].rename(columns=_LABELS))


def log_cpm(counts: pd.DataFrame) -> pd.DataFrame:
    r"""Return :math:`\log_2(10^6\, c_{ij} / \sum_j c_{ij} + 1)`: logarithms of counts per million.

    The sum runs over the columns given, so select genes after this step, not before. Each row is
    transformed by itself: nothing is learned, hence nothing leaks.
    """
    values = check_matrix(counts, "counts")
    depth = values.sum(axis=1, keepdims=True)
    if (values < 0).any() or (depth == 0).any():
        raise ValueError(
            f"counts has {np.sum(values < 0)} negative entries and {np.sum(depth == 0)} row(s) "
            "without any count; expected read counts, and cells that have some."
        )
    logs = np.log2(values / depth * 1e6 + 1)
    return pd.DataFrame(logs, index=counts.index, columns=counts.columns)


def select_genes(
    data: PatchSeq, n_genes: int = N_GENES, *, rows: NDArray | None = None
) -> tuple[str, ...]:
    """Return the names of ``n_genes`` genes that sparse reduced-rank regression selects.

    ``rows`` are the numbers of the cells that take part; all by default, as in the paper.
    """
    X, Y = log_cpm(data.counts).to_numpy(), data.ephys.to_numpy()
    rows = np.arange(len(X)) if rows is None else rows
    return tuple(data.counts.columns[select_features(X[rows], Y[rows], n_genes)])


class Partition(NamedTuple):
    r"""Row numbers of the four disjoint parts of the paper's real-data section.

    ``labeled``, :math:`\mathcal T_\ell`, estimates the subspace, with the help of ``unlabeled``,
    :math:`\mathcal T_u`, whose responses are not to be looked at. ``fit``, :math:`\mathcal T_f`,
    fits the link function and ``test``, :math:`\mathcal V`, tests it.
    """

    labeled: NDArray
    unlabeled: NDArray
    fit: NDArray
    test: NDArray


def random_partition(
    n: int, train_ratio: float, gamma: float, rng: np.random.Generator, *, fill: bool
) -> Partition:
    r"""Split n rows at random into :math:`\mathcal T_\ell, \mathcal T_u, \mathcal T_f, \mathcal V`.

    Sizes are rounded shares of n: ``train_ratio``, at most 0.8, of :math:`\mathcal T_\ell \cup
    \mathcal T_u`, the share ``gamma`` of these labeled, and the paper's 0.15 and 0.05 of the other
    two. ``fill`` divides the shares by their sum, so that every row belongs to a part. The parts
    are consecutive pieces of one permutation, test first: with an equal ``rng``, another ``gamma``
    keeps the test and fitting rows and takes nested labeled rows, and so does another
    ``train_ratio`` (with ``fill`` its test rows are nested), so that columns of a table can be
    compared pair by pair. ValueError if a share is out of range or a part would be empty.

    Examples
    --------
    >>> for fill in (False, True):
    ...     parts = random_partition(1213, 0.6, 0.1, np.random.default_rng(0), fill=fill)
    ...     print([len(rows) for rows in parts])
    [73, 655, 182, 61]
    [91, 819, 227, 76]
    """
    total = train_ratio + 0.15 + 0.05
    if total > 1 + 1e-9:
        raise ValueError(f"train_ratio={train_ratio:g}; expected at most 0.8.")
    unit = n / total if fill else n
    n_test, n_fit = round(0.05 * unit), round(0.15 * unit)
    n_train = n - n_test - n_fit if fill else min(round(train_ratio * n), n - n_test - n_fit)
    n_labeled = round(gamma * n_train)
    sizes = (n_test, n_fit, n_labeled, n_train - n_labeled)
    if min(sizes) < 1:
        raise ValueError(
            f"n={n} leaves a part empty: test, fit, labeled and unlabeled rows would number "
            f"{sizes}; expected at least 1 each."
        )
    test, fit, labeled, unlabeled, _ = np.split(rng.permutation(n), np.cumsum(sizes))
    return Partition(labeled, unlabeled, fit, test)


@dataclass(frozen=True)
class Split:
    """One random partition of the cells, ready for a method.

    X has the genes (., 100) of the four parts, Y the properties (., 16) of all but the unlabeled
    one. ``genes`` names the columns of X, and ``seed``, 42 + repetition, every random stream.
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


def table3_split(
    rep: int,
    train_ratio: float,
    gamma: float,
    *,
    data: PatchSeq,
    selection: str = "all",
    scaling: str = "all",
    shares: str = "filled",
    genes: Sequence[str] | None = None,
    n_genes: int = N_GENES,
) -> Split:
    """Split the Patch-seq data as repetition ``rep`` of the paper's Table 3.

    The other arguments are readings of the paper, its own by default, and genes to use without
    selection. ``selection``: all cells select the genes, as the paper words it, or the "labeled"
    and fitting ones, the honest choice. ``scaling``: all cells standardize, or "train", all but the
    test cells for the genes and the labeled and fitting ones for the properties. ``shares``: at a
    train ratio of 0.6 the shares of :func:`random_partition` add up to 0.8. "filled" uses all
    cells, which agrees with the paper's numbers; "literal" leaves a fifth of them unused, which
    agrees with its words.
    """
    check_choice(selection, "selection", ("all", "labeled"))
    check_choice(scaling, "scaling", ("all", "train"))
    check_choice(shares, "shares", ("filled", "literal"))
    seed = BASE_SEED + rep
    rng = stream(seed, "patchseq", "partition")
    parts = random_partition(len(data.counts), train_ratio, gamma, rng, fill=shares == "filled")
    labeled = np.concatenate([parts.labeled, parts.fit])
    known = np.concatenate([labeled, parts.unlabeled])
    if genes is None:
        genes = select_genes(data, n_genes, rows=None if selection == "all" else labeled)
    X = log_cpm(data.counts)[list(genes)].to_numpy()
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


@dataclass(frozen=True)
class Directions:
    """Directions of one method at the rank r that it selects, (p, r), and at the reference rank."""

    selected: NDArray
    reference: NDArray


def fit_reduction(estimator: Any, split: Split, *, reference: int = REFERENCE_RANK) -> Directions:
    """Fit a reducer on the training part of a split, at the rank it selects and at ``reference``.

    Genes that do not vary among the labeled or among the unlabeled cells get zero loadings. The
    estimator is cloned; "auto" as its ``n_components`` selects the rank.
    """
    vary = varying_columns(split.X_labeled) & varying_columns(split.X_unlabeled)
    semisupervised = isinstance(estimator, SteinSDR) and estimator.config != "sup"
    extra = {"X_unlabeled": split.X_unlabeled[:, vary]} if semisupervised else {}

    def directions(**rank: int) -> NDArray:
        fitted = clone(estimator).set_params(**rank)
        fitted.fit(split.X_labeled[:, vary], split.Y_labeled, **extra)
        whole = np.zeros((len(vary), len(fitted.components_)))
        whole[vary] = fitted.components_.T
        return whole

    return Directions(directions(), directions(n_components=reference))


def evaluate_methods(
    split: Split, found: Mapping[str, Directions], *, trained_on: str = "labeled", **settings: Any
) -> pd.DataFrame:
    r"""Train a network on the reductions of every method and return its errors on the test cells.

    Initial weights and batches are those of the split's seed, the same for all. ``trained_on``
    names the cells that train the network. "labeled" takes :math:`\mathcal T_\ell` again, as the
    paper's appendix says and its numbers show, and :math:`\mathcal T_f` stops the honest network.
    "fit" takes :math:`\mathcal T_f`, as Section 5 says; a fifth of it stops the honest network.
    ``settings`` are those of :func:`steinsdr.paper.network.train_networks`.

    The frame is indexed by method. ``mse_rhat`` and ``mse_r10`` are as in the paper the smallest
    test error of any epoch; ``mse_rhat_honest`` and ``mse_r10_honest`` the test error at the epoch
    with the smallest error on the cells that stop.
    """
    check_choice(trained_on, "trained_on", ("labeled", "fit"))
    p = split.X_labeled.shape[1]
    bases = [B for one in found.values() for B in (one.selected, one.reference)]
    for B in bases:
        if len(B) != p:
            raise ValueError(f"found has directions with {len(B)} rows; expected {p}.")
    random = np.random.RandomState(stream_seed(split.seed, "patchseq", "evaluation"))
    settings["seed"] = int(random.randint(2**31))

    def part(name: str, rows: Any = slice(None)) -> tuple[list[NDArray], NDArray]:
        X, Y = getattr(split, f"X_{name}"), getattr(split, f"Y_{name}")
        return [(X @ B)[rows] for B in bases], Y[rows]

    if trained_on == "labeled":
        watched = [part("test"), part("fit")]
        test, stop = errors_by_epoch(*part("labeled"), watched, **settings)
        paper = test.min(axis=0)
    else:
        (whole,) = errors_by_epoch(*part("fit"), [part("test")], **settings)
        paper = whole.min(axis=0)
        n = len(split.Y_fit)
        n_stop = int(np.clip(round(0.2 * n), 2, n - 2))
        stopping, rest = np.split(random.permutation(n), [n_stop])
        watched = [part("test"), part("fit", stopping)]
        test, stop = errors_by_epoch(*part("fit", rest), watched, **settings)
    honest = np.take_along_axis(test, stop.argmin(axis=0)[None], axis=0)[0]
    table = {
        "rank": [one.selected.shape[1] for one in found.values()],
        "mse_rhat": paper[::2],
        "mse_r10": paper[1::2],
        "mse_rhat_honest": honest[::2],
        "mse_r10_honest": honest[1::2],
    }
    return pd.DataFrame(table, index=pd.Index(list(found), name="method"))


# What a practitioner would try first: ridge, reduced-rank regression, PLS and PCA.

_PENALTIES = tuple(np.logspace(-2, 1, 7))  # per row of standardized X


def linear_errors(
    model: str, split: Split, *, reference: int = REFERENCE_RANK
) -> tuple[int, float, float]:
    r"""Return rank and test error of a linear prediction, and its error at the reference rank.

    It is trained on :math:`\mathcal T_\ell`, and its settings are chosen by cross-validation. The
    model is "mean", which predicts the training mean and has rank 0, "ridge", a full regression
    with the rank of Y, "RRR" or "PLS". The first two have no other rank, so that the errors are the
    same.
    """
    X, Y = split.X_labeled, split.Y_labeled
    check_choice(model, "model", ("mean", "ridge", "RRR", "PLS"))
    if model == "mean":
        best = other = DummyRegressor().fit(X, Y)
        rank = 0
    elif model == "ridge":
        best = other = RidgeCV(alphas=len(X) * np.asarray(_PENALTIES)).fit(X, Y)
        rank = min(X.shape[1], Y.shape[1])
    else:
        best, other = _at_both_ranks(model, split, reference)
        rank = best.n_components
    errors = [
        float(np.mean((split.Y_test - fitted.predict(split.X_test)) ** 2))
        for fitted in (best, other)
    ]
    return rank, errors[0], errors[1]


def linear_reductions(model: str, split: Split, *, reference: int = REFERENCE_RANK) -> Directions:
    r"""Return the directions of RRR or PLS, on :math:`\mathcal T_\ell`, or of PCA.

    Ranks of RRR and PLS are chosen by cross-validation of their linear predictions; PCA, which
    looks at no response, uses the unlabeled cells too and takes the reference rank.
    """
    check_choice(model, "model", ("RRR", "PLS", "PCA"))
    if model == "PCA":
        points = np.vstack([split.X_labeled, split.X_unlabeled])
        components = PCA(reference, svd_solver="full").fit(points).components_.T
        return Directions(components, components)
    best, other = _at_both_ranks(model, split, reference)
    if model == "RRR":
        return Directions(best.components_.T, other.components_.T)
    return Directions(best.x_rotations_, other.x_rotations_)


def _at_both_ranks(model: str, split: Split, reference: int) -> tuple[Any, Any]:
    """Return RRR or PLS fitted at its best rank and at the reference rank."""
    X, Y = split.X_labeled, split.Y_labeled
    ranks = [r for r in (2, 4, 6, 8, 10) if r <= min(len(X) // 2, X.shape[1], Y.shape[1])]
    folds = KFold(5, shuffle=True, random_state=stream_seed(split.seed, "patchseq", "folds"))
    grid: dict[str, Any] = {"n_components": ranks}
    estimator: Any = PLSRegression(scale=False)
    if model == "RRR":
        estimator, grid["alpha"] = ReducedRankRegression(), _PENALTIES
    search = GridSearchCV(estimator, grid, cv=folds, scoring="neg_mean_squared_error").fit(X, Y)
    other = clone(estimator).set_params(**{**search.best_params_, "n_components": reference})
    return search.best_estimator_, other.fit(X, Y)
