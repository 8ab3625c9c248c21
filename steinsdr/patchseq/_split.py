"""The random partitions of Table 3, with their genes selected and standardized."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from .._validation import check_choice, check_integer
from ..datasets import PatchSeq, load_patchseq
from ..preprocessing import CPMLog, Partition, random_partition
from ..selection import select_features
from ..streams import BASE_SEED, stream

__all__ = ["N_GENES", "Split", "select_genes", "table3_split"]

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
        Of :func:`steinsdr.selection.select_features`.
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
        :func:`steinsdr.preprocessing.random_partition`.
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
