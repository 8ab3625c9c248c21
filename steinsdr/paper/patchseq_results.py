"""Stored results of the real-data chapter, beside the rows of Table 3.

The chapter must read well where the data can not be had. What its figures need is therefore kept as
small tables; ``python -m steinsdr patchseq`` makes them again from the data:

- ``patchseq_genes.csv``: the genes, how often partitions select them, loadings with intervals;
- ``patchseq_r2.csv``: test R² per property, method and partition;
- ``patchseq_spectrum.csv``: singular values and what permuted responses give;
- ``patchseq_rrr.csv``: cross-validated sparse reduced-rank regression by rank and penalty;
- ``patchseq_leak.csv``: test errors with genes selected on all cells and on training cells;
- ``patchseq_silent.csv``: partitions in which a selected gene does not vary among labeled cells.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import RidgeCV
from sklearn.preprocessing import StandardScaler
from tqdm import tqdm

from ..baselines import KSIR, SIR
from ..estimator import SteinSDR
from ..rank import AdaptiveRank, permutation_null
from ..report.bootstrap import bootstrap
from ..report.reduction import Reduction
from ..scores import TikhonovScore
from ..simulation import BASE_SEED, stream, stream_seed
from .fingerprint import code_hash
from .network import predict_from_reductions, r2_table
from .patchseq import (
    MAX_RANK,
    CPMLog,
    PatchSeq,
    Split,
    fit_reduction,
    linear_reductions,
    select_genes,
    table3_split,
)
from .reduced_rank import cross_validate_rrr, largest_penalty, selection_leak
from .store import atomic_write

__all__ = [
    "FILES",
    "STEPS",
    "gene_table",
    "leak",
    "make",
    "property_r2",
    "read",
    "rrr_path",
    "silent",
    "spectrum",
]


LAMBDA = 1e-4
N_LOADINGS = 3
TRAIN_RATIO, GAMMA = 0.8, 0.5  # the column of Table 3 with the most labels


def _standard(data: PatchSeq, genes: Iterable[str]) -> tuple[Any, Any]:
    """Return standardized genes (n, p) and properties (n, q) of all cells."""
    X = pd.DataFrame(CPMLog().fit_transform(data.counts), columns=data.counts.columns)
    scale = StandardScaler().fit_transform
    return scale(X[list(genes)].to_numpy()), scale(data.ephys.to_numpy())


def gene_table(data: PatchSeq, genes: tuple[str, ...], reps: int) -> pd.DataFrame:
    """Return for every gene that is ever selected: how often, and its loadings.

    ``frequency`` is the share of partitions whose labeled and fitting cells select it; ``selected``
    says whether all cells do. ``loading_k``, ``low_k``, ``high_k`` are the k-th direction of
    TRE-sup on all cells with 95% bootstrap intervals.
    """
    counts = pd.Series(0, index=data.counts.columns)
    for rep in tqdm(range(reps), desc="genes", leave=False):
        split = table3_split(rep, TRAIN_RATIO, GAMMA, data=data, selection="labeled")
        counts[list(split.genes)] += 1
    X, Y = _standard(data, genes)
    reduction = Reduction(10, scale="standardize", lam=LAMBDA, random_state=BASE_SEED).fit(X, Y)
    resampled = bootstrap(reduction, X, Y, n_resamples=max(10, 5 * reps), seed=BASE_SEED)
    table = pd.DataFrame({"frequency": counts / reps, "selected": False})
    table.loc[list(genes), "selected"] = True
    for k in range(N_LOADINGS):
        parts = (reduction.loadings_, resampled.low, resampled.high)
        for name, values in zip(("loading", "low", "high"), parts, strict=True):
            table.loc[list(genes), f"{name}_{k + 1}"] = values[:, k]
    kept = table["selected"] | (table["frequency"] > 0)
    return table[kept].rename_axis("gene").reset_index()


def property_r2(data: PatchSeq, genes: tuple[str, ...], reps: int) -> pd.DataFrame:
    """Return test R² per property, method and partition.

    Reductions to ten directions and the paper's network, trained on the labeled and stopped on the
    fitting cells; ridge on all genes for comparison.
    """
    frames = []
    for rep in tqdm(range(reps), desc="R²", leave=False):
        split = table3_split(rep, TRAIN_RATIO, GAMMA, data=data, genes=genes)
        ridge = RidgeCV(alphas=len(split.X_labeled) * np.logspace(-2, 1, 7))
        ridge.fit(split.X_labeled, split.Y_labeled)
        predictions = {**_network_predictions(split), "ridge": ridge.predict(split.X_test)}
        table = r2_table(split.Y_test, predictions, list(data.ephys.columns))
        long = table.rename_axis(columns="method").stack().rename("r2").reset_index()
        frames.append(long.assign(rep=rep))
    return pd.concat(frames, ignore_index=True)


def _network_predictions(split: Split) -> dict[str, Any]:
    rank = AdaptiveRank(max_rank=MAX_RANK)
    estimators = {
        "TRE-sup": SteinSDR("auto", score=TikhonovScore(lam=LAMBDA), rank=rank, random_state=0),
        "SIR": SIR("auto", n_slices=12, rank=rank, random_state=0),
        "KSIR": KSIR("auto", max_dim=MAX_RANK),
    }
    bases = {name: fit_reduction(e, split).reference for name, e in estimators.items()}
    bases["PCA+network"] = linear_reductions(split, models=("PCA",))["PCA"].reference
    parts = ([X @ B for B in bases.values()] for X in (split.X_labeled, split.X_fit, split.X_test))
    train, stop, new = parts
    seed = stream_seed(split.seed, "patchseq", "evaluation")
    found = predict_from_reductions(train, split.Y_labeled, stop, split.Y_fit, new, seed=seed)
    return dict(zip(bases, found, strict=True))


def spectrum(data: PatchSeq, genes: tuple[str, ...], reps: int) -> pd.DataFrame:
    """Return singular values of the cross-moment on all cells, and quantiles of the null."""
    X, Y = _standard(data, genes)
    sdr = SteinSDR(10, score=TikhonovScore(lam=LAMBDA), random_state=BASE_SEED).fit(X, Y)
    values = sdr.singular_values_
    rng = stream(BASE_SEED, "patchseq", "null")
    null = permutation_null(sdr.scores_, Y, k=len(values), m=20 * reps, rng=rng)
    energy = np.cumsum(values**2) / np.sum(values**2)
    low, middle, high = np.quantile(null, [0.05, 0.5, 0.95], axis=0)
    return pd.DataFrame(
        {
            "k": np.arange(1, len(values) + 1),
            "singular_value": values,
            "energy": energy,
            "null_low": low,
            "null_median": middle,
            "null_high": high,
        }
    )


def rrr_path(data: PatchSeq, genes: tuple[str, ...], reps: int) -> pd.DataFrame:
    """Return cross-validated R² of sparse RRR on all 1000 genes by rank and penalty."""
    X, Y = _standard(data, data.counts.columns)
    top = largest_penalty(X, Y, 2)
    alphas = [float(alpha) for alpha in top * np.logspace(-0.1, -1.3, 7)]
    seed = stream_seed(BASE_SEED, "patchseq", "folds") % 2**31
    folds = 5 if reps >= 5 else 2
    ranks = (1, 2, 5, 10)
    path = cross_validate_rrr(X, Y, ranks=ranks, alphas=alphas, n_folds=folds, random_state=seed)
    return path.assign(alpha=path["alpha"].round(6))


def leak(data: PatchSeq, genes: tuple[str, ...], reps: int) -> pd.DataFrame:
    """Return test errors of RRR with genes selected on all and on the training cells.

    Also with the responses of the cells shuffled, where nothing is to be found: any advantage of
    the first selection there is leakage.
    """
    X = np.asarray(CPMLog().fit_transform(data.counts))
    Y = data.ephys.to_numpy()
    rows = []
    for rep in tqdm(range(reps), desc="leak", leave=False):
        split = table3_split(rep, TRAIN_RATIO, GAMMA, data=data, genes=genes)
        train = np.concatenate([split.partition.labeled, split.partition.fit])
        order = stream(BASE_SEED + rep, "patchseq", "shuffle").permutation(len(Y))
        for responses, kind in ((Y, "as measured"), (Y[order], "shuffled")):
            found = selection_leak(X, responses, train, split.partition.test)
            rows.append((rep, kind, found.everywhere, found.inside, found.shared))
    return pd.DataFrame(rows, columns=["rep", "responses", "everywhere", "inside", "shared"])


def silent(data: PatchSeq, genes: tuple[str, ...], reps: int) -> pd.DataFrame:
    """Return for every partition how many selected genes do not vary among its labeled cells."""
    rows = []
    for rep in range(5 * reps):
        for train_ratio in (0.6, 0.8):
            for gamma in (0.1, 0.3, 0.5):
                split = table3_split(rep, train_ratio, gamma, data=data, genes=genes)
                constant = int((np.ptp(split.X_labeled, axis=0) == 0).sum())
                rows.append((train_ratio, gamma, rep, constant))
    return pd.DataFrame(rows, columns=["train_ratio", "gamma", "rep", "constant_genes"])


STEPS: dict[str, Callable[[PatchSeq, tuple[str, ...], int], pd.DataFrame]] = {
    "genes": gene_table,
    "r2": property_r2,
    "spectrum": spectrum,
    "rrr": rrr_path,
    "leak": leak,
    "silent": silent,
}
FILES = {name: f"patchseq_{name}.csv" for name in STEPS}
MANIFEST = "patchseq.manifest.json"
ROOTS = ("steinsdr.paper.patchseq_results:make",)
"""Where the code behind the stored tables begins, see :func:`.code_hash`."""


def make(data: PatchSeq, folder: str | Path, *, reps: int = 20) -> dict[str, Path]:
    """Compute all tables from the data and write them, with a manifest, into ``folder``.

    Parameters
    ----------
    data : PatchSeq
    folder : path
    reps : int, default=20
        Partitions; resamples and permutations are multiples of it.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    genes = select_genes(data)
    written = {}
    for name, step in STEPS.items():
        written[name] = folder / FILES[name]
        text = step(data, genes, reps).to_csv(index=False, float_format="%.6g", lineterminator="\n")
        atomic_write(written[name], text.encode())
    content = {
        "made_by": "python -m steinsdr patchseq",
        "partitions": reps,
        "train_ratio": TRAIN_RATIO,
        "gamma": GAMMA,
        "lambda": LAMBDA,
        "seconds": round(time.perf_counter() - start, 1),
        "code": code_hash(ROOTS),
    }
    atomic_write(folder / MANIFEST, (json.dumps(content, indent=1) + "\n").encode())
    return written


def read(name: str, folder: str | Path) -> pd.DataFrame:
    """Return a stored table.

    Raises
    ------
    ValueError
        If there is no such table.
    """
    if name not in FILES:
        raise ValueError(f"name must be one of {', '.join(FILES)}; got {name!r}.")
    return pd.read_csv(Path(folder) / FILES[name])
