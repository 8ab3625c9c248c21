"""What the real-data chapter draws from the data, with stored pictures where they are absent.

``python -m steinsdr patchseq`` refreshes the stored pictures and ``patchseq_expression.csv``, which
describes the selected genes: on a machine without the data the chapter shows them, and says so.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.stats import kurtosis, skew
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import cross_val_predict

from ..estimator import SteinSDR
from ..rank import AdaptiveRank
from ..scores import TikhonovScore
from ..simulation import BASE_SEED
from .figures_patchseq import bibiplot, plot_overlays
from .patchseq import MAX_RANK, PatchSeq, load_patchseq, select_genes
from .patchseq_results import LAMBDA, _standard
from .store import atomic_write

__all__ = ["Chapter"]


OVERLAYS = ("AP width", "Max AP num", "R_input", "UDR")
EXPRESSION = "patchseq_expression.csv"


def _load_quietly() -> PatchSeq:
    """Load the data; what a download says on stderr the book would take for a warning."""
    with contextlib.redirect_stderr(io.StringIO()):
        import pooch  # here: its import may warn, too

        pooch.get_logger().setLevel("ERROR")
        return load_patchseq()


class Chapter:
    """The data if they can be had, and the chapter's figures either way.

    Parameters
    ----------
    figures : path
        Folder of the stored pictures.
    data : PatchSeq, optional
        Loaded by default; None if that fails, with the ``reason``.

    Examples
    --------
    >>> chapter = Chapter("book/figures", data=False)
    >>> chapter.available, "DATA ARE NOT HERE" in chapter.notice()
    (False, True)
    """

    def __init__(self, figures: str | Path, data: PatchSeq | bool | None = None) -> None:
        self.figures = Path(figures)
        self.data: PatchSeq | None = None
        self.reason = "not asked for"
        if isinstance(data, PatchSeq):
            self.data = data
        elif data is None:
            try:
                self.data = _load_quietly()
            except (OSError, ValueError) as error:
                self.reason = str(error)

    @property
    def available(self) -> bool:
        """Whether the data are there."""
        return self.data is not None

    def notice(self) -> str:
        """Return a sentence on where the figures below come from."""
        if self.data is not None:
            n, p = self.data.counts.shape
            q = self.data.ephys.shape[1]
            return (
                f"The data are here: {n} cells, {p} genes, {q} properties. Figures are drawn anew."
            )
        return (
            "*** THE DATA ARE NOT HERE *** Tables and figures below come from stored results, "
            f"pictures of single cells from stored pictures. Why: {self.reason}"
        )

    @cached_property
    def genes(self) -> tuple[str, ...]:
        """The genes that all cells select."""
        return select_genes(self._data)

    @cached_property
    def standardized(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Standardized genes and properties of all cells."""
        X, Y = _standard(self._data, self.genes)
        genes = pd.DataFrame(X, columns=list(self.genes))
        ephys = pd.DataFrame(Y, columns=self._data.ephys.columns)
        return genes, ephys

    @cached_property
    def latent(self) -> tuple[NDArray, NDArray, SteinSDR]:
        r"""Latent variables from genes and from properties, (n, r) each, and the fit.

        The singular vectors of the cross-moment pair them: :math:`X U` and :math:`Y V`.
        """
        genes, ephys = (frame.to_numpy() for frame in self.standardized)
        sdr = SteinSDR(
            "auto",
            score=TikhonovScore(lam=LAMBDA),
            rank=AdaptiveRank(max_rank=MAX_RANK),
            random_state=BASE_SEED,
        ).fit(genes, ephys)
        directions = sdr.components_.T
        partners = sdr.cross_moment_.T @ directions
        partners /= np.linalg.norm(partners, axis=0)
        return genes @ directions, ephys @ partners, sdr

    def expression(self, results: str | Path) -> pd.DataFrame:
        """Describe the selected genes (p rows), from the data or from the stored table.

        ``zeros`` is the share of cells in which a gene has no read; ``skewness`` and ``kurtosis``
        (in excess of three) are those of the logarithms that the method gets.

        Parameters
        ----------
        results : path
            Folder of the stored table.
        """
        if self.data is None:
            return pd.read_csv(Path(results) / EXPRESSION, index_col="gene")
        genes, _ = self.standardized
        described = {
            "zeros": (self.data.counts[list(self.genes)] == 0).mean().to_numpy(),
            "skewness": skew(genes.to_numpy()),
            "kurtosis": kurtosis(genes.to_numpy()),
        }
        return pd.DataFrame(described, index=pd.Index(self.genes, name="gene"))

    def store_expression(self, results: str | Path) -> Path:
        """Write the table of :meth:`expression` where the fallback finds it."""
        text = self.expression(results).to_csv(float_format="%.6g", lineterminator="\n")
        path = Path(results) / EXPRESSION
        atomic_write(path, text.encode())
        return path

    def bibiplot(self, components: tuple[int, int] = (1, 2)) -> Figure | None:
        """Draw cells from both sides in two latent dimensions, counted from 1, or the picture."""
        first, second = components

        def draw() -> Figure:
            scores_x, scores_y, _ = self.latent
            genes, ephys = self.standardized
            families = list(self._data.cells["family"])
            pair = (first - 1, second - 1)
            return bibiplot(scores_x, genes, scores_y, ephys, families, components=pair)

        return self._show(f"patchseq_bibiplot_{first}{second}.png", draw)

    def overlays(self, names: Sequence[str] = OVERLAYS) -> Figure | None:
        """Draw properties over the cells, measured and predicted out of fold, or the picture.

        Predictions are those of ridge regression on the latent variables, in ten folds.
        """

        def draw() -> Figure:
            scores, _, _ = self.latent
            _, ephys = self.standardized
            ridge = RidgeCV(alphas=np.logspace(-2, 3, 6))
            predicted = cross_val_predict(ridge, scores, ephys.to_numpy(), cv=10)
            return plot_overlays(scores[:, :2], ephys, predicted, names)

        return self._show("patchseq_overlays.png", draw)

    def store_pictures(self) -> list[Path]:
        """Draw the pictures from the data and write them where the fallback finds them."""
        draws: list[Callable[[], Any]] = [
            lambda: self.bibiplot((1, 2)),
            lambda: self.bibiplot((1, 3)),
            self.overlays,
        ]
        names = ["patchseq_bibiplot_12.png", "patchseq_bibiplot_13.png", "patchseq_overlays.png"]
        self.figures.mkdir(parents=True, exist_ok=True)
        paths = []
        if self.data is None:
            raise ValueError(f"the Patch-seq data are needed here: {self.reason}")
        for name, draw in zip(names, draws, strict=True):
            figure = draw()
            paths.append(self.figures / name)
            figure.savefig(paths[-1], dpi=110, metadata={"Software": None})
            plt.close(figure)
        return paths

    @property
    def _data(self) -> PatchSeq:
        if self.data is None:
            raise ValueError(f"the Patch-seq data are needed here: {self.reason}")
        return self.data

    def _show(self, stored: str, draw: Callable[[], Figure]) -> Figure | None:
        """Draw, or display the stored picture and return None."""
        if self.data is not None:
            return draw()
        from IPython.display import Image, display

        path = self.figures / stored
        if not path.is_file():
            raise FileNotFoundError(f"{path} is missing; python -m steinsdr patchseq draws it.")
        display(Image(filename=str(path), alt="stored picture"))
        return None
