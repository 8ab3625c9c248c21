"""The real-data chapters: their stored tables, and pictures of single cells.

The chapters must read well where the data can not be had. What their figures need is therefore kept
as small tables and pictures; ``steinsdr patchseq`` makes them again from the data.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Self

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image
from scipy.stats import kurtosis, skew
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.preprocessing import StandardScaler
from tqdm import tqdm

from ..baselines import KSIR, SIR
from ..estimator import SteinSDR
from ..rank import AdaptiveRank, permutation_null
from ..scores import TikhonovScore
from ..simulation import BASE_SEED, stream, stream_seed
from .figures import plot_bibiplot, plot_overlays
from .fingerprint import code_hash
from .network import predict_at_best_epoch
from .patchseq import (
    MAX_RANK,
    N_GENES,
    PatchSeq,
    Split,
    fit_reduction,
    imported_pooch,
    linear_reductions,
    load_patchseq,
    log_cpm,
    select_genes,
    table3_split,
)
from .reduced_rank import cross_validate_rrr, largest_penalty, selection_leak
from .reduction import loading_intervals
from .store import atomic_write

_LAMBDA = 1e-4
_TRAIN_RATIO, _GAMMA = 0.8, 0.5  # the column of Table 3 with the most labels


def _standardized(data: PatchSeq, genes: Iterable[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return standardized genes (n, p) and properties (n, q) of all cells."""
    frames = log_cpm(data.counts)[list(genes)], data.ephys
    return tuple(StandardScaler().set_output(transform="pandas").fit_transform(f) for f in frames)


def _gene_table(data: PatchSeq, genes: tuple[str, ...], reps: int) -> pd.DataFrame:
    """Return for every gene that is ever selected: how often, and its loadings.

    ``frequency`` is the share of partitions whose labeled and fitting cells select it; ``selected``
    says whether all cells do. ``loading_k``, ``low_k``, ``high_k`` are the k-th direction of
    TRE-sup on all cells with 95% bootstrap intervals.
    """
    counts = pd.Series(0, index=data.counts.columns)
    for rep in tqdm(range(reps), desc="genes", leave=False):
        split = table3_split(rep, _TRAIN_RATIO, _GAMMA, data=data, selection="labeled")
        counts[list(split.genes)] += 1
    X, Y = (frame.to_numpy() for frame in _standardized(data, genes))
    loadings, low, high = loading_intervals(
        X, Y, 10, lam=_LAMBDA, n_resamples=max(10, 5 * reps), seed=BASE_SEED
    )
    table = pd.DataFrame({"frequency": counts / reps, "selected": False})
    table.loc[list(genes), "selected"] = True
    for k in range(3):
        table.loc[list(genes), f"loading_{k + 1}"] = loadings[:, k]
        table.loc[list(genes), f"low_{k + 1}"] = low[:, k]
        table.loc[list(genes), f"high_{k + 1}"] = high[:, k]
    kept = table["selected"] | (table["frequency"] > 0)
    return table[kept].rename_axis("gene").reset_index()


def _property_r2(data: PatchSeq, genes: tuple[str, ...], reps: int) -> pd.DataFrame:
    """Return test R² per property, method and partition.

    Reductions to ten directions and the paper's network, trained on the labeled and stopped on the
    fitting cells; ridge on all genes for comparison.
    """
    frames = []
    for rep in tqdm(range(reps), desc="R²", leave=False):
        split = table3_split(rep, _TRAIN_RATIO, _GAMMA, data=data, genes=genes)
        ridge = RidgeCV(alphas=len(split.X_labeled) * np.logspace(-2, 1, 7))
        ridge.fit(split.X_labeled, split.Y_labeled)
        predictions = {**_network_predictions(split), "ridge": ridge.predict(split.X_test)}
        r2 = {
            method: r2_score(split.Y_test, predicted, multioutput="raw_values")
            for method, predicted in predictions.items()
        }
        table = pd.DataFrame(r2, index=pd.Index(data.ephys.columns, name="property"))
        long = table.rename_axis(columns="method").stack().rename("r2").reset_index()
        frames.append(long.assign(rep=rep))
    return pd.concat(frames, ignore_index=True)


def _network_predictions(split: Split) -> dict[str, NDArray]:
    rank = AdaptiveRank(max_rank=MAX_RANK)
    estimators = {
        "TRE-sup": SteinSDR.paper(
            score_estimator=TikhonovScore(lam=_LAMBDA), rank=rank, random_state=0
        ),
        "SIR": SIR("auto", n_slices=12, rank=rank, random_state=0),
        "KSIR": KSIR("auto", max_dim=MAX_RANK),
    }
    bases = {name: fit_reduction(e, split).reference for name, e in estimators.items()}
    bases["PCA+network"] = linear_reductions("PCA", split).reference
    train, stop, new = (
        [X @ B for B in bases.values()] for X in (split.X_labeled, split.X_fit, split.X_test)
    )
    seed = stream_seed(split.seed, "patchseq", "evaluation")
    found = predict_at_best_epoch(train, split.Y_labeled, stop, split.Y_fit, new, seed=seed)
    return dict(zip(bases, found, strict=True))


def _spectrum(data: PatchSeq, genes: tuple[str, ...], reps: int) -> pd.DataFrame:
    """Return singular values of the cross-moment on all cells, and quantiles of the null."""
    X, Y = (frame.to_numpy() for frame in _standardized(data, genes))
    score = TikhonovScore(lam=_LAMBDA)
    sdr = SteinSDR.paper(10, score_estimator=score, random_state=BASE_SEED).fit(X, Y)
    values = sdr.singular_values_
    rng = stream(BASE_SEED, "patchseq", "null")
    null = permutation_null(sdr.scores_, Y, k=len(values), m=20 * reps, rng=rng)
    low, middle, high = np.quantile(null, [0.05, 0.5, 0.95], axis=0)
    return pd.DataFrame(
        {
            "k": np.arange(1, len(values) + 1),
            "singular_value": values,
            "energy": np.cumsum(values**2) / np.sum(values**2),
            "null_low": low,
            "null_median": middle,
            "null_high": high,
        }
    )


def _rrr_path(data: PatchSeq, genes: tuple[str, ...], reps: int) -> pd.DataFrame:
    """Return cross-validated R² of sparse RRR on all 1000 genes by rank and penalty."""
    X, Y = (frame.to_numpy() for frame in _standardized(data, data.counts.columns))
    alphas = [float(alpha) for alpha in largest_penalty(X, Y, 2) * np.logspace(-0.1, -1.3, 7)]
    seed = stream_seed(BASE_SEED, "patchseq", "folds") % 2**31
    folds = KFold(5 if reps >= 5 else 2, shuffle=True, random_state=seed)
    path = cross_validate_rrr(X, Y, ranks=(1, 2, 5, 10), alphas=alphas, folds=folds)
    return path.assign(alpha=path["alpha"].round(6))


def _leak(data: PatchSeq, genes: tuple[str, ...], reps: int) -> pd.DataFrame:
    """Return test errors of RRR with genes selected on all and on the training cells.

    Also with the responses of the cells shuffled, where nothing is to be found: any advantage of
    the first selection there is leakage.
    """
    X, Y = log_cpm(data.counts).to_numpy(), data.ephys.to_numpy()
    rows = []
    for rep in tqdm(range(reps), desc="leak", leave=False):
        parts = table3_split(rep, _TRAIN_RATIO, _GAMMA, data=data, genes=genes).partition
        train = np.concatenate([parts.labeled, parts.fit])
        order = stream(BASE_SEED + rep, "patchseq", "shuffle").permutation(len(Y))
        for responses, kind in ((Y, "as measured"), (Y[order], "shuffled")):
            found = selection_leak(X, responses, train, parts.test, n_features=N_GENES)
            rows.append({"rep": rep, "responses": kind, **found})
    return pd.DataFrame(rows)


def _silent(data: PatchSeq, genes: tuple[str, ...], reps: int) -> pd.DataFrame:
    """Return for every partition how many selected genes do not vary among its labeled cells."""
    rows = []
    for rep in range(5 * reps):
        for train_ratio in (0.6, 0.8):
            for gamma in (0.1, 0.3, 0.5):
                split = table3_split(rep, train_ratio, gamma, data=data, genes=genes)
                constant = int((np.ptp(split.X_labeled, axis=0) == 0).sum())
                rows.append((train_ratio, gamma, rep, constant))
    return pd.DataFrame(rows, columns=["train_ratio", "gamma", "rep", "constant_genes"])


def _expression(data: PatchSeq, genes: tuple[str, ...], reps: int) -> pd.DataFrame:
    """Describe the selected genes.

    ``zeros`` is the share of cells in which a gene has no read; ``skewness`` and ``kurtosis`` (in
    excess of three) are those of the logarithms that the method gets.
    """
    X = _standardized(data, genes)[0].to_numpy()
    return pd.DataFrame(
        {
            "gene": genes,
            "zeros": (data.counts[list(genes)] == 0).mean().to_numpy(),
            "skewness": skew(X),
            "kurtosis": kurtosis(X),
        }
    )


TABLES: dict[str, Callable[[PatchSeq, tuple[str, ...], int], pd.DataFrame]] = {
    "genes": _gene_table,
    "r2": _property_r2,
    "spectrum": _spectrum,
    "rrr": _rrr_path,
    "leak": _leak,
    "silent": _silent,
    "expression": _expression,
}
"""What makes each stored table from the data, the selected genes and a number of partitions."""

MANIFEST = "patchseq.manifest.json"
ROOTS = ("steinsdr.paper.patchseq_chapter:make",)
"""Where the code behind the stored tables begins, see :func:`.code_hash`."""


def make(data: PatchSeq, folder: str | Path, *, reps: int) -> list[Path]:
    """Compute all tables from the data; write them, with a manifest, and return their paths.

    ``reps`` counts the partitions; resamples and permutations are multiples of it.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    genes = select_genes(data)
    paths = []
    for name, table in TABLES.items():
        text = table(data, genes, reps).to_csv(
            index=False, float_format="%.6g", lineterminator="\n"
        )
        paths.append(folder / f"patchseq_{name}.csv")
        atomic_write(paths[-1], text.encode())
    content = {
        "made_by": "python -m steinsdr patchseq",
        "partitions": reps,
        "train_ratio": _TRAIN_RATIO,
        "gamma": _GAMMA,
        "lambda": _LAMBDA,
        "seconds": round(time.perf_counter() - start, 1),
        "code": code_hash(ROOTS),
    }
    atomic_write(folder / MANIFEST, (json.dumps(content, indent=1) + "\n").encode())
    return paths


@dataclass
class Chapter:
    """The data, or the reason why there are none, and pictures of single cells either way.

    ``figures`` is the folder of the stored pictures.

    Examples
    --------
    >>> print(Chapter("book/figures", None, reason="no network").notice()[:29])
    *** THE DATA ARE NOT HERE ***
    """

    figures: str | Path
    data: PatchSeq | None
    reason: str = ""

    @classmethod
    def load(cls, figures: str | Path) -> Self:
        """Load the data; if that fails, keep the reason."""
        # The book takes what a download says on stderr for a warning.
        imported_pooch().get_logger().setLevel("ERROR")
        try:
            return cls(figures, load_patchseq())
        except (OSError, ValueError) as error:
            return cls(figures, None, str(error))

    def notice(self) -> str:
        """Return a sentence on where the figures below come from."""
        if self.data is None:
            return (
                "*** THE DATA ARE NOT HERE *** Tables and figures below come from stored results, "
                f"pictures of single cells from stored pictures. Why: {self.reason}"
            )
        (n, p), q = self.data.counts.shape, self.data.ephys.shape[1]
        return f"The data are here: {n} cells, {p} genes, {q} properties. Figures are drawn anew."

    @cached_property
    def _standardized(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Standardized genes and properties of all cells."""
        assert self.data is not None
        return _standardized(self.data, select_genes(self.data))

    @cached_property
    def latent(self) -> tuple[NDArray, NDArray]:
        r"""Latent variables from genes and from properties, (n, r) each.

        The singular vectors of the cross-moment pair them: :math:`X U` and :math:`Y V`.
        """
        genes, ephys = (frame.to_numpy() for frame in self._standardized)
        sdr = SteinSDR.paper(
            score_estimator=TikhonovScore(lam=_LAMBDA),
            rank=AdaptiveRank(max_rank=MAX_RANK),
            random_state=BASE_SEED,
        ).fit(genes, ephys)
        directions = sdr.components_.T
        partners = sdr.cross_moment_.T @ directions
        partners /= np.linalg.norm(partners, axis=0)
        return genes @ directions, ephys @ partners

    def bibiplot(self, first: int, second: int) -> bytes:
        """Return a picture (PNG) of the cells from both sides in two latent dimensions, from 1."""
        if self.data is None:
            return self._stored_picture(f"bibiplot_{first}{second}")
        families = list(self.data.cells["family"])
        return _picture(plot_bibiplot(*self._standardized, self.latent, families, (first, second)))

    def overlays(self) -> bytes:
        """Return a picture (PNG) of four properties over the cells, measured and predicted.

        Predictions are those of ridge regression on the latent variables, in ten folds.
        """
        if self.data is None:
            return self._stored_picture("overlays")
        scores, measured = self.latent[0], self._standardized[1]
        ridge = RidgeCV(alphas=np.logspace(-2, 3, 6))
        found = cross_val_predict(ridge, scores, measured.to_numpy(), cv=10)
        predicted = pd.DataFrame(found, columns=measured.columns)
        names = ("AP width", "Max AP num", "R_input", "UDR")
        return _picture(plot_overlays(scores, measured, predicted, names))

    def _stored_picture(self, name: str) -> bytes:
        if not self._path(name).is_file():
            raise FileNotFoundError(f"{self._path(name)} is missing; steinsdr patchseq draws it.")
        return self._path(name).read_bytes()

    def _path(self, name: str) -> Path:
        return Path(self.figures) / f"patchseq_{name}.png"

    def store_pictures(self) -> list[Path]:
        """Draw the pictures from the data and write them where the fallback finds them."""
        if self.data is None:
            raise ValueError(f"the Patch-seq data are needed here: {self.reason}")
        drawn = {"bibiplot_12": self.bibiplot(1, 2), "bibiplot_13": self.bibiplot(1, 3)}
        drawn["overlays"] = self.overlays()
        Path(self.figures).mkdir(parents=True, exist_ok=True)
        for name, picture in drawn.items():
            self._path(name).write_bytes(picture)
        return list(map(self._path, drawn))


def _picture(figure: Figure) -> bytes:
    """Return a figure in 256 colors, as PNG: clouds of points in more take thrice the bytes."""
    drawn, small = BytesIO(), BytesIO()
    figure.savefig(drawn, format="png", dpi=200)
    plt.close(figure)
    Image.open(drawn).convert("RGB").quantize(256).save(small, "PNG", optimize=True)
    return small.getvalue()
