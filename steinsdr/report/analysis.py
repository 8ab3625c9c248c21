"""From a table to everything the report says about it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._base import check_choice, check_integer
from ..estimator import CONFIGS
from ..moments import SteinDiagnostics, stein_diagnostics
from ..rank import RankSelection, cumulative_energy, leading_singular_values, permutation_null
from .bootstrap import Bootstrap, bootstrap
from .checks import DataChecks, check_data
from .comparison import Comparison, compare
from .reduction import PERMUTATIONS, QUANTILE, SCALES, Reduction, standardized
from .table import Table
from .verdict import Verdict, judge

__all__ = ["Analysis", "analyze"]


@dataclass(frozen=True)
class Analysis:
    """A fit and what is known about it.

    Attributes
    ----------
    table : Table
    checks : DataChecks
    reduction : steinsdr.report.Reduction
        The fit on all rows.
    diagnostics : SteinDiagnostics
        Stein's lemma applied to the predictors themselves.
    spectrum : RankSelection
        Singular values with their permutation null, and the number of directions that was used.
    pvalues : ndarray of shape (k,)
        Share of permutations whose k-th singular value is as large.
    comparison : Comparison
    bootstrap : Bootstrap or None
    verdict : Verdict
    settings : dict
        What was asked for.
    """

    table: Table
    checks: DataChecks
    reduction: Reduction
    diagnostics: SteinDiagnostics
    spectrum: RankSelection
    pvalues: NDArray
    comparison: Comparison
    bootstrap: Bootstrap | None
    verdict: Verdict
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def n_components(self) -> int:
        """Number of directions."""
        return self.reduction.loadings_.shape[1]

    def reduced(self) -> pd.DataFrame:
        """Return the reduced predictors of all rows, labeled first, indexed by file and row."""
        frames = []
        for X, labeled in ((self.table.X, True), (self.table.X_unlabeled, False)):
            if len(X):
                Z = self.reduction.transform(X)
                frame = pd.DataFrame(Z, index=X.index, columns=self.directions)
                frame.insert(0, "labeled", labeled)
                frames.append(frame)
        return pd.concat(frames)

    @property
    def directions(self) -> list[str]:
        """Names of the directions."""
        return [f"direction {k + 1}" for k in range(self.n_components)]

    def loadings(self) -> pd.DataFrame:
        """Return one row per direction and predictor, with intervals if there was a bootstrap.

        ``loading`` is the weight of the standardized predictor, ``correlation`` the predictor's
        correlation with the direction over the labeled rows.
        """
        Z = self.reduction.transform(self.table.X)
        X = self.table.X.to_numpy()
        correlation = standardized(X).T @ standardized(Z) / len(X)
        columns: dict[str, Any] = {
            "loading": self.reduction.loadings_,
            "correlation": correlation,
        }
        if self.bootstrap is not None:
            columns |= {"low": self.bootstrap.low, "high": self.bootstrap.high}
        index = pd.MultiIndex.from_product(
            [self.directions, self.table.X.columns], names=["direction", "predictor"]
        )
        table = pd.DataFrame({name: value.T.ravel() for name, value in columns.items()}, index)
        table["mean"] = np.tile(self.reduction.coordinates_.mean, self.n_components)
        table["sd"] = np.tile(self.reduction.coordinates_.sd, self.n_components)
        return table


def analyze(
    table: Table,
    *,
    components: int | Literal["auto"] = "auto",
    scale: str = "auto",
    config: str = "sup",
    n_bootstrap: int = 200,
    folds: int = 5,
    seed: int = 0,
    progress: bool = False,
) -> Analysis:
    """Check the data, fit, resample, compare and judge.

    Parameters
    ----------
    table : Table
        From :func:`read_table`.
    components : int or "auto"
        Number of directions.
    scale : {"auto", "standardize", "whiten"}
        See :class:`Reduction`.
    config : {"sup", "split", "full"}
        Rows that the score is learned from; the last two need unlabeled rows.
    n_bootstrap : int
        Resamples behind the intervals; 0 leaves them out, else at least 10.
    folds : int
        Folds of the comparison.
    seed : int
        Every draw follows from it.
    progress : bool
        Whether to show progress bars.

    Examples
    --------
    >>> from steinsdr.report import read_table
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((120, 4))
    >>> frame = pd.DataFrame(X, columns=list("abcd"))
    >>> frame["y"] = X[:, 0] + 0.3 * rng.standard_normal(120)
    >>> analysis = analyze(read_table(frame, "y"), n_bootstrap=0)
    >>> analysis.loadings()["loading"].abs().idxmax()
    ('direction 1', 'a')
    """
    check_choice(scale, "scale", SCALES)
    check_choice(config, "config", CONFIGS)
    seed = check_integer(seed, "seed", low=0, high=2**32 - 1)
    if n_bootstrap:
        check_integer(n_bootstrap, "n_bootstrap", low=10)
    X, Y, more = table.X, table.Y, table.X_unlabeled
    if config != "sup" and len(more) < 2:
        raise ValueError(
            f"config={config!r} needs unlabeled rows, and the data hold {len(more)}: give a file "
            "of them, or rows whose responses are all missing."
        )
    checks = check_data(X)
    reduction = Reduction(components, scale=scale, config=config, random_state=seed)
    points, responses = X.to_numpy(), Y.to_numpy()
    with warnings.catch_warnings():
        # The verdict says so in its own words; folds may say it five times more.
        warnings.filterwarnings("ignore", "rank: no direction stands out", UserWarning)
        reduction.fit(X, responses, more)
        comparison = compare(reduction, X, Y, more, folds=folds, seed=seed, progress=progress)
    spectrum, pvalues = _spectrum(reduction, standardized(responses), seed)
    diagnostics = stein_diagnostics(reduction.sdr_.scores_, reduction.points_)
    resampled = None
    if n_bootstrap:
        resampled = bootstrap(
            reduction,
            points,
            responses,
            more.to_numpy(),
            n_resamples=n_bootstrap,
            seed=seed,
            progress=progress,
        )
    verdict = judge(table, checks, reduction, diagnostics, spectrum, pvalues, comparison, resampled)
    settings = {
        "components": components,
        "scale": scale,
        "config": config,
        "bootstrap": n_bootstrap,
        "folds": folds,
        "seed": seed,
    }
    return Analysis(
        table,
        checks,
        reduction,
        diagnostics,
        spectrum,
        pvalues,
        comparison,
        resampled,
        verdict,
        settings,
    )


def _spectrum(reduction: Reduction, Y: NDArray, seed: int) -> tuple[RankSelection, NDArray]:
    """Compare the singular values with permuted responses, whatever rule chose the rank."""
    sdr, chosen = reduction.sdr_, reduction.sdr_.rank_
    values = (
        leading_singular_values(sdr.cross_moment_, len(sdr.singular_values_))
        if chosen is None
        else chosen.singular_values
    )
    null = None if chosen is None else chosen.null
    if null is None:
        rng = np.random.default_rng([seed, 1])
        null = permutation_null(sdr.scores_, Y, k=len(values), m=PERMUTATIONS, rng=rng)
    spectrum = RankSelection(
        rank=sdr.n_components_,
        method="given" if chosen is None else chosen.method,
        singular_values=values,
        energy=cumulative_energy(values),
        thresholds=np.quantile(null, QUANTILE, axis=0),
        null=null,
        tails=None if chosen is None else chosen.tails,
    )
    return spectrum, (1 + (null >= values).sum(axis=0)) / (1 + len(null))
