"""Fit a table with SteinSDR, draw halves of its rows, and compare with simpler methods.

The comparison is held out. Everything that is learned (medians for gaps, units, the number of
directions, the directions, penalties) is learned from the training rows of a fold.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.linalg import orthogonal_procrustes
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from tqdm import tqdm

from .._base import check_choice, check_integer, varying_columns
from ..baselines import SIR
from ..estimator import CONFIGS, SteinSDR
from ..link import KernelLink, fit_link
from ..subspace import orthonormalize, procrustes_distance
from .read import Table, Units
from .rules import METHODS, PREDICTS, Analysis, Comparison, Stability

MOST_ROWS = 2_500  # of more rows a random subset is compared
MOST_DIRECTIONS = 4  # among which prediction chooses
CENTERS = 500  # rows that carry a kernel fit of the comparison
HALF = 1_000  # rows of a half-sample at most


def expected_seconds(table: Table, *, bootstrap: int = 50, folds: int = 5) -> float:
    """Return a rough time of a report: that of one fit of half the rows, and as many as it takes.

    The fit is timed here and now, so that a slow or busy machine and awkward columns count.
    """
    n = len(table.X)
    rows = np.random.default_rng(0).permutation(n)[: min(n // 2, HALF)]
    groups = table.groups.to_numpy(dtype=str)[rows]
    some = (part.to_numpy()[rows] for part in (table.X, table.Y))
    Z, Y = (Units(part, groups)(part, groups) for part in some)
    half = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):  # the first fit of a process loads what it needs
            started = time.perf_counter()
            SteinSDR(1, random_state=0).fit(Z[:, varying_columns(Z)], Y)
            half = time.perf_counter() - started
            if half > 1:
                break

    def fit(size: int) -> float:
        """Return the time of a fit that also selects the number of directions."""
        return 1.8 * half * (min(size, 5_000) / len(rows)) ** 1.5

    whole = fit(n) + 0.1 * half * n / len(rows)  # the moment is a mean over all rows
    return 4 + 2 * whole + bootstrap * half + folds * (0.4 + 4 * fit(min(n, MOST_ROWS)))


def half_samples(
    sdr: SteinSDR,
    Z: NDArray,
    Y: NDArray,
    more: NDArray,
    *,
    n_samples: int = 50,
    seed: int = 0,
    tick: Any = lambda _: None,
) -> Stability:
    r"""Fit random halves of the rows and collect how far the directions move.

    This is the bootstrap of m out of n rows without replacement. Rows drawn twice would spoil
    every choice by leave-one-out. An estimate from m of n rows differs from that of all rows by
    :math:`\sqrt{(n - m)/m}` of a standard error, which is one for halves; of more than 2,000 rows
    m = 1,000 are drawn and differences divided by that factor.

    Parameters
    ----------
    sdr : SteinSDR
        Fitted to Z (n, p), Y (n, q) and the unlabeled rows ``more`` (m, p).
    """
    rng = np.random.default_rng(seed)
    target = sdr.loadings_
    p, r = target.shape
    basis = sdr.coordinates_.basis
    settings = {"n_components": r, "scale": sdr.coordinates_.scale, "config": sdr.config_}
    settings["pca"] = None if basis is None else basis.shape[1]
    m = min(len(Z) // 2, HALF)
    factor = np.sqrt(m / (len(Z) - m))
    # Distances are those between the indices: loadings of collinear columns may trade places.
    points = Z[:HALF] - Z[:HALF].mean(axis=0)
    squares, distances = np.zeros((p, r)), []
    products, cosines = [], []
    for _ in range(n_samples):
        rows = rng.permutation(len(Z))[:m]
        keep = varying_columns(Z[rows])
        fit = clone(sdr).set_params(**settings)
        if settings["pca"] is not None:
            fit.set_params(pca=min(settings["pca"], int(keep.sum()), m - 1))
        fit.fit(*stacked(Z[rows][:, keep], Y[rows], more[:, keep]))
        loadings = np.zeros((p, r))
        loadings[keep] = (
            fit.loadings_ * (sdr.coordinates_.unit[keep] / fit.coordinates_.unit)[:, None]
        )
        found = orthonormalize(loadings)
        turned = found @ orthogonal_procrustes(found, target)[0]
        distances.append(factor * procrustes_distance(points @ found, points @ target))
        outside = turned - target @ (target.T @ turned)  # as in the formula's standard errors
        squares += np.square(factor * outside)
        products.append((turned * target).sum(axis=0))
        cosines.append(np.abs((found * target).sum(axis=0)))
        tick("halves")
    random = [[points @ rng.standard_normal((p, r)) for _ in range(2)] for _ in range(50)]
    chance = float(np.mean([procrustes_distance(*pair) for pair in random])) if r < p else 0.0
    errors = np.sqrt(squares / n_samples)
    return Stability(errors, np.array(distances), chance, np.array(products), np.array(cosines))


def analyze(
    table: Table,
    *,
    components: int | Literal["auto"] = "auto",
    scale: str = "auto",
    config: str = "auto",
    bootstrap: int = 50,
    folds: int = 5,
    seed: int = 0,
    progress: bool = False,
) -> Analysis:
    """Fit SteinSDR to a table, show how stable it is on halves of the rows, and compare it.

    The number of directions is that of the sequential test. If the test finds none and a rival
    predicts, it is the number that predicts best.

    Parameters
    ----------
    table : Table
        From :func:`read_table`.
    components : int or "auto"
        Number of directions.
    scale : {"auto", "robust", "sd"}
        Units of the columns, see :class:`steinsdr.SteinSDR`.
    config : {"auto", "sup", "split", "full"}
        Rows that the score is learned from; the last two need unlabeled rows.
    bootstrap : int
        Half-samples that show how stable the directions are; 0 leaves them out, else at least 10.
    folds : int
        Folds of the comparison, at least 2.
    seed : int
        Seed of every random draw.
    progress : bool
        Whether to show a progress bar.

    Raises
    ------
    ValueError
        If an argument is outside these ranges.

    Examples
    --------
    >>> import pandas as pd
    >>> from steinsdr.report import read_table
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((120, 4))
    >>> frame = pd.DataFrame(X, columns=list("abcd"))
    >>> frame["y"] = X[:, 0] + 0.3 * rng.standard_normal(120)
    >>> analysis = analyze(read_table(frame, "y"), bootstrap=0)
    >>> analysis.loadings()["loading"].abs().idxmax()
    ('direction 1', 'a')
    """
    if not isinstance(table, Table):
        raise ValueError(f"table must be that of read_table; got a {type(table).__name__}.")
    n, p = table.X.shape
    sizes = table.groups[:n].value_counts()
    check_integer(seed, "seed", low=0, high=2**32 - 1)
    check_integer(folds, "folds", low=2, high=int(sizes.min()))
    check_choice(config, "config", ("auto", *CONFIGS))
    check_choice(scale, "scale", ("auto", "robust", "sd"))
    if config in ("split", "full") and not len(table.X_unlabeled):
        raise ValueError(f"config: {config!r} needs unlabeled rows, and there are none.")
    if not isinstance(components, str) or components != "auto":
        check_integer(components, "components", low=1, high=p)
    check_integer(bootstrap, "bootstrap", low=0)
    if bootstrap:
        check_integer(bootstrap, "bootstrap", low=10)
    groups = table.groups.to_numpy(dtype=str)
    units, scaled = Units(table.X.to_numpy(), groups[:n]), Units(table.Y.to_numpy(), groups[:n])
    Z, Y = units(table.X.to_numpy(), groups[:n]), scaled(table.Y.to_numpy(), groups[:n])
    more = units(table.X_unlabeled.to_numpy(), groups[n:])
    total = 1 + bootstrap + folds * len(METHODS)
    with warnings.catch_warnings(), tqdm(total=total, disable=not progress, leave=False) as bar:
        warnings.simplefilter("ignore")  # the verdict says what matters in its own words

        def tick(name: str) -> None:
            bar.set_description(name)
            bar.update()

        sdr = SteinSDR(scale=scale, config=config, random_state=seed).fit(*stacked(Z, Y, more))
        test: Any = sdr.rank_
        number = "test"
        if sdr.n_components_ > max(1, test.rank):
            number = "nonlinear"
        if components != "auto":
            number = "given"
            sdr = clone(sdr).set_params(n_components=components).fit(*stacked(Z, Y, more))
        tick("fit")
        options: dict[str, Any] = {"folds": folds, "seed": seed, "tick": tick}
        comparison = compare(sdr, table, **options)
        gain, error = comparison.difference(comparison.rival, "mean")
        if number == "test" and test.rank == 0 and gain > max(2 * error, PREDICTS):
            number = "prediction"
            bar.total += folds * len(METHODS)
            comparison = compare(sdr, table, predictive=True, **options)
            some = np.random.default_rng(seed).permutation(n)[:MOST_ROWS]
            k = by_prediction(Z[some], Y[some], seed)
            sdr = clone(sdr).set_params(n_components=k).fit(*stacked(Z, Y, more))
        stability = None
        if bootstrap:
            stability = half_samples(sdr, Z, Y, more, n_samples=bootstrap, seed=seed, tick=tick)
    settings = {
        "components": components,
        "scale": scale,
        "config": config,
        "bootstrap": bootstrap,
        "folds": folds,
        "seed": seed,
    }
    return Analysis(table, sdr, units, test, number, comparison, stability, settings)


def by_prediction(Z: NDArray, Y: NDArray, seed: int) -> int:
    """Return the number of directions, 1 to 4, that predicts left-out rows best.

    The fewest whose error is within 2% of the smallest.
    """
    most = min(MOST_DIRECTIONS, Z.shape[1])
    errors = np.zeros(most)
    for train, test in KFold(3, shuffle=True, random_state=seed).split(Z):
        keep = varying_columns(Z[train])
        for k in range(most):
            sdr = SteinSDR(min(k + 1, int(keep.sum())), random_state=seed)
            sdr.fit(Z[train][:, keep], Y[train])
            T, T_test = (sdr.transform(Z[part][:, keep]) for part in (train, test))
            errors[k] += np.sum((Y[test] - _OnIndices().fit(T, Y[train]).predict(T_test)) ** 2)
    return int(np.argmax(errors <= 1.02 * errors.min())) + 1


class _OnIndices(RegressorMixin, BaseEstimator):
    """Predict from a few indices: for each response the best of ridge and two kernel fits.

    The best has the smallest leave-one-out error; at most 500 rows carry the kernel fits.
    """

    def fit(self, T: NDArray, Y: NDArray) -> _OnIndices:
        """Fit to indices T (n, r) and responses Y (n, q)."""
        self.unit_ = np.where(varying_columns(T), T.std(axis=0), 1.0)
        T = T / self.unit_
        self.fits_ = [fit_link("ridge", T, Y)]
        if np.median(pdist(T[:CENTERS])) > 0:
            rough = KernelLink(kernel="laplace", widths=(1.0, 2.0, 4.0, 8.0), max_centers=CENTERS)
            self.fits_ += [KernelLink(max_centers=CENTERS).fit(T, Y), rough.fit(T, Y)]
        self.best_ = np.argmin([fit.errors_ for fit in self.fits_], axis=0)
        return self

    def predict(self, T: NDArray) -> NDArray:
        """Return predictions (n, q)."""
        shape = len(T), len(self.best_)
        parts = np.array([fit.predict(T / self.unit_).reshape(shape) for fit in self.fits_])
        return parts[self.best_, :, np.arange(shape[1])].T


def compare(
    sdr: SteinSDR,
    table: Table,
    *,
    predictive: bool = False,
    folds: int = 5,
    seed: int = 0,
    tick: Callable[[str], Any] = lambda _: None,
) -> Comparison:
    """Predict every row from the folds it is not in, by every method.

    SteinSDR and SIR reduce to the same number of directions, from which ridge and kernel fits
    predict. The others see all predictors; PLS chooses its number of components by
    cross-validation. Of more than 2,500 rows a random subset is compared.

    Parameters
    ----------
    sdr : SteinSDR
        Its settings are used, not its fit.
    predictive : bool
        Whether the number of directions is chosen by prediction, in each fold.
    tick : callable
        Called with the name of every method that is done.
    """
    n = len(table.X)
    rows = np.sort(np.random.default_rng(seed).permutation(n)[:MOST_ROWS])
    X, Y = table.X.to_numpy()[rows], table.Y.to_numpy()[rows]
    groups = table.groups.to_numpy(dtype=str)
    more, other = table.X_unlabeled.to_numpy(), groups[n:]
    groups = groups[:n][rows]
    errors = {name: np.empty(Y.shape) for name in (*METHODS, "mean")}
    dimensions = []
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=seed).split(X, groups):
        units, scale = Units(X[train], groups[train]), Units(Y[train], groups[train])
        z, z_test, z_more = (
            units(values, g)[:, units.varies]
            for values, g in ((X[train], groups[train]), (X[test], groups[test]), (more, other))
        )
        y, y_test = (scale(Y[part], groups[part]) for part in (train, test))
        number = by_prediction(z, y, seed) if predictive else sdr.n_components
        if number != "auto":
            number = min(number, z.shape[1])
        stein = SteinSDR(**(sdr.get_params() | {"n_components": number}))
        stein.fit(*stacked(z, y, z_more))
        r = stein.n_components_
        dimensions.append(r)
        errors["mean"][test] = y_test**2
        for name in METHODS:
            model = _fitted(name, z, y, stein, r, seed)
            errors[name][test] = (y_test - np.reshape(model.predict(z_test), y_test.shape)) ** 2
            tick(name)
    total = np.maximum(errors["mean"].sum(axis=0), np.finfo(float).tiny)
    r2 = {name: 1.0 - error.sum(axis=0) / total for name, error in errors.items()}
    loss = {name: error.mean(axis=1) for name, error in errors.items()}
    return Comparison(
        pd.DataFrame(r2, pd.Index(table.Y.columns, name="response")),
        pd.DataFrame(loss, table.X.index[rows]),
        tuple(dimensions),
    )


def stacked(z: NDArray, y: NDArray, more: NDArray) -> tuple[NDArray, NDArray]:
    """Return labeled and unlabeled rows, and responses that are NaN for the latter."""
    return np.vstack([z, more]), np.pad(y, ((0, len(more)), (0, 0)), constant_values=np.nan)


def _fitted(name: str, z: NDArray, y: NDArray, stein: SteinSDR, r: int, seed: int) -> Any:
    """Return a method of ``METHODS``, fitted to standardized rows."""
    n, p = z.shape
    if name == "ridge":
        return fit_link("ridge", z, y)
    if name == "kernel ridge":
        return KernelLink(max_centers=2 * CENTERS).fit(z, y)
    if name == "random forest":
        forest = RandomForestRegressor(100, max_features=1 / 3, random_state=seed)
        return forest.fit(z, y[:, 0] if y.shape[1] == 1 else y)
    if name == "PLS":
        numbers = list(range(1, min(8, p, n // 2) + 1))
        search = GridSearchCV(
            PLSRegression(scale=False),
            {"n_components": numbers},
            cv=3,
            scoring="neg_mean_squared_error",
        )
        return search.fit(z, y)
    reduction: Any = stein
    if name == "SIR":
        # It inverts a covariance, and responses that repeat each other show it fewer directions.
        pca = PCA(min(p, max(r, n // 10)), svd_solver="full").fit(z)
        visible = SIR(1, random_state=seed).fit(pca.transform(z), y).eigenvalues_ > 1e-12
        sir = SIR(min(r, int(visible.sum())), random_state=seed)
        reduction = make_pipeline(pca, sir).fit(z, y)
    return make_pipeline(FrozenEstimator(reduction), _OnIndices()).fit(z, y)
