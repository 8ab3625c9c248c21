"""Score fits that cells share, and their cache on disk."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..scores import DenoisingScore, TikhonovScore
from ..simulation import LAWS, simulate
from ..streams import BASE_SEED, stream_seed
from .fingerprint import fingerprint

__all__ = ["KnownScores", "ScoreCache", "ScoreFit"]


@dataclass(frozen=True)
class ScoreFit:
    """Everything that determines estimated scores at labeled rows.

    ``n`` labeled and ``n_unlabeled`` unlabeled rows are trained on; the scores are those of the
    first ``n_evaluated`` labeled rows.
    """

    family: str
    config: str
    law: str
    rep: int
    p: int
    n: int
    n_unlabeled: int
    n_evaluated: int
    settings: str  # JSON, which is hashable

    def describe(self) -> str:
        """Return all of it as text."""
        return json.dumps(asdict(self), sort_keys=True)

    def compute(self) -> NDArray:
        """Return the scores, shape (n_evaluated, p)."""
        seed = BASE_SEED + self.rep
        data = simulate(
            self.law, self.n_evaluated, p=self.p, n_unlabeled=self.n_unlabeled, seed=seed
        )
        if self.family == "analytic":
            return LAWS[self.law].score(self.p).evaluate(data.X)
        settings = json.loads(self.settings)
        if self.family == "tikhonov":
            estimator: Any = TikhonovScore(**settings)
        else:
            network = stream_seed(seed, "network", self.law, self.config, self.n)
            estimator = DenoisingScore(random_state=network, **settings)
        if self.config == "split":
            return estimator.fit(data.X_unlabeled).evaluate(data.X)
        train = data.X if self.config == "sup" else np.vstack([data.X, data.X_unlabeled])
        return estimator.fit(train).train_scores_[: self.n_evaluated]


class KnownScores:
    """Hands :class:`steinsdr.SteinSDR` scores that were estimated before."""

    def __init__(self, scores: NDArray) -> None:
        self.scores = scores

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Do nothing."""
        return self

    def evaluate(self, X: ArrayLike) -> NDArray:
        """Return the scores of the first rows."""
        return self.scores[: np.shape(X)[0]]


class ScoreCache:
    """Scores at labeled rows, in one ``.npz`` file per fit; absent ones are computed and kept.

    A file's name is a hash of everything that determines the fit, the code of the score included,
    and it appears whole or not at all: concurrent processes at worst do the same work twice.

    Parameters
    ----------
    folder : path or None
        Where the files are; None computes every time.
    """

    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        self.folder = None if folder is None else Path(folder)

    def path(self, fit: ScoreFit) -> Path | None:
        """Return where the scores of a fit are, or would be."""
        if self.folder is None:
            return None
        code = fingerprint(fit.family, "scores")
        name = hashlib.sha256(f"{fit.describe()} {code}".encode()).hexdigest()[:32]
        return self.folder / f"{name}.npz"

    def __call__(self, fit: ScoreFit) -> NDArray:
        """Return the scores of a fit, shape (n_evaluated, p)."""
        path = self.path(fit)
        if path is None:
            return fit.compute()
        try:
            with np.load(path, allow_pickle=False) as stored:
                if str(stored["fit"]) == fit.describe():
                    return stored["scores"]
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            pass  # absent or damaged: compute it
        scores = fit.compute()
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        try:
            with os.fdopen(descriptor, "wb") as file:
                np.savez(file, scores=scores, fit=np.array(fit.describe()))
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        return scores
