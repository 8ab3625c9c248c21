r"""Lemma 1 in numbers: :math:`E\{f(B^\top x)\, s(x)\} = B\, E\{\nabla f(B^\top x)\}`.

Both sides are averages over the same draws of x, so their difference
:math:`d(x) = f(B^\top x)\, s(x) - B \nabla f(B^\top x)` must average to zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import chi2

from ..._base import check_choice
from ...baselines import SIR, RidgeDirections
from ...estimator import SteinSDR
from ...moments import cross_moment
from ...scores import TikhonovScore
from ...scores.analytic import GaussianMixtureScore, LaplaceScore, StudentScore
from ...simulation import LAWS, Law, links, stream
from ...subspace import procrustes_distance


@dataclass(frozen=True)
class _ScoredLaw:
    """A law of x: draws (n, p), and scores at the rows of x."""

    draw: Callable[[int, int, np.random.Generator], NDArray]
    score: Callable[[NDArray], NDArray]


@dataclass(frozen=True)
class _Link:
    """A link of r indices t (n, r), its gradient (n, r), and whether the lemma covers it."""

    value: Callable[[NDArray], NDArray]
    gradient: Callable[[NDArray], NDArray]
    smooth: bool = True


def _univariate(
    f: Callable[[NDArray], NDArray], slope: Callable[[NDArray], NDArray], *, smooth: bool = True
) -> _Link:
    """Return a link of the first index alone."""

    def gradient(t: NDArray) -> NDArray:
        return np.column_stack([slope(t[:, 0]), np.zeros_like(t[:, 1:])])

    return _Link(lambda t: f(t[:, 0]), gradient, smooth)


LINKS: dict[str, _Link] = {
    "linear": _univariate(lambda t: t, np.ones_like),
    "tanh": _univariate(np.tanh, lambda t: 1 / np.cosh(t) ** 2),
    "sine": _univariate(np.sin, np.cos),
    "product": _Link(
        lambda t: t[:, 1] / (1 + t[:, 0] ** 2),
        lambda t: np.column_stack(
            [
                -2 * t[:, 0] * t[:, 1] / (1 + t[:, 0] ** 2) ** 2,
                1 / (1 + t[:, 0] ** 2),
                np.zeros_like(t[:, 2:]),
            ]
        ),
    ),
    "square": _univariate(lambda t: t**2, lambda t: 2 * t),
    "kink": _univariate(lambda t: np.maximum(t, 0), lambda t: (t > 0).astype(float)),
    "jump": _univariate(lambda t: (t > 0).astype(float), np.zeros_like, smooth=False),
}
"""Links with gradients; "jump" is not differentiable, and its gradient almost everywhere is 0."""


def _simulation_law(law: Law) -> _ScoredLaw:
    return _ScoredLaw(law.draw, lambda X: law.score(X.shape[1]).evaluate(X))


def _student(n: int, p: int, rng: np.random.Generator) -> NDArray:
    return rng.standard_normal((n, p)) / np.sqrt(rng.chisquare(5, (n, 1)) / 5)


def _student_score(X: NDArray) -> NDArray:
    p = X.shape[1]
    return StudentScore(df=5.0, mean=np.zeros(p), cov=np.eye(p)).evaluate(X)


def _mixture(n: int, p: int, rng: np.random.Generator) -> NDArray:
    return rng.standard_normal((n, p)) + np.where(rng.random((n, 1)) < 0.3, 2.0, -1.0)


def _mixture_score(X: NDArray) -> NDArray:
    ones, eye = np.ones(X.shape[1]), np.eye(X.shape[1])
    return GaussianMixtureScore([0.3, 0.7], [2 * ones, -ones], [eye, eye]).evaluate(X)


SCORED_LAWS: dict[str, _ScoredLaw] = {
    "gaussian": _simulation_law(LAWS["isotropic"]),
    "ar1": _simulation_law(LAWS["ar1"]),
    "lognormal": _simulation_law(Law("Log-normal, log sd 0.5", log_scale=0.5)),
    "student": _ScoredLaw(_student, _student_score),
    "mixture": _ScoredLaw(_mixture, _mixture_score),
    "laplace": _ScoredLaw(
        lambda n, p, rng: rng.laplace(size=(n, p)), lambda X: LaplaceScore(0.0, 1.0).evaluate(X)
    ),
}
"""Laws to which the lemma applies, with their scores in closed form."""

BROKEN_LAWS: dict[str, _ScoredLaw] = {
    "uniform": _ScoredLaw(lambda n, p, rng: rng.uniform(size=(n, p)), np.zeros_like),
    "exponential": _ScoredLaw(lambda n, p, rng: rng.exponential(size=(n, p)), np.ones_like),
}
"""Laws whose density jumps at the edge of the support: smooth inside, and the lemma fails."""


def random_basis(p: int, r: int, rng: np.random.Generator) -> NDArray:
    """Return a random orthonormal basis (p, r)."""
    return np.linalg.qr(rng.standard_normal((p, r)))[0]


def identity_gap(
    law: str, link: str, B: NDArray, n: int, rng: np.random.Generator
) -> tuple[NDArray, float]:
    r"""Mean of :math:`d(x)` over n draws, shape (p,), and the p-value of its being zero.

    The p-value is that of Hotelling's statistic :math:`n \bar d^\top S^{-1} \bar d` against its
    limit :math:`\chi^2_p`. ``law`` is a key of :data:`SCORED_LAWS` or :data:`BROKEN_LAWS`, ``link``
    one of :data:`LINKS`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> gap, p_value = identity_gap("gaussian", "tanh", random_basis(4, 2, rng), 20_000, rng)
    >>> bool(np.abs(gap).max() < 0.05)
    True
    """
    known = SCORED_LAWS | BROKEN_LAWS
    scored, chosen = known[check_choice(law, "law", known)], LINKS[link]
    X = scored.draw(n, B.shape[0], rng)
    t = X @ B
    d = chosen.value(t)[:, None] * scored.score(X) - chosen.gradient(t) @ B.T
    mean = d.mean(axis=0)
    statistic = n * mean @ np.linalg.lstsq(np.cov(d, rowvar=False), mean)[0]
    return mean, float(chi2.sf(statistic, len(mean)))


def gap_by_size(
    laws: list[str],
    link_names: list[str],
    sizes: list[int],
    *,
    p: int = 5,
    n_reps: int,
    seed: int = 42,
) -> pd.DataFrame:
    """Norm of the mean of :math:`d(x)` for every law, link of two indices, size and repetition.

    Columns law, link, n, rep, gap, p_value.
    """
    B = random_basis(p, 2, stream(seed, "identity", "basis"))
    rows = []
    for law, link, n in product(laws, link_names, sizes):
        rng = stream(seed, "identity", law, link, n)
        for rep in range(n_reps):
            gap, p_value = identity_gap(law, link, B, n, rng)
            rows.append((law, link, n, rep, float(np.linalg.norm(gap)), p_value))
    return pd.DataFrame(rows, columns=["law", "link", "n", "rep", "gap", "p_value"])


def boundary_term(law: str, link: str, B: NDArray, n: int, rng: np.random.Generator) -> NDArray:
    r"""Boundary term of the integration by parts behind Lemma 1, shape (p,), from n draws.

    ``law`` is a key of :data:`BROKEN_LAWS`. For coordinate i the mean gap is :math:`[-f p]` across
    the support of :math:`x_i`, averaged over the other coordinates: :math:`E f|_{x_i = 0}` for
    the exponential law, and :math:`E f|_{x_i = 0} - E f|_{x_i = 1}` for the uniform one.
    """
    p = len(B)
    X = BROKEN_LAWS[law].draw(n, p, rng)

    def at_edge(place: float) -> NDArray:
        edges = (np.where(axis, place, X) for axis in np.eye(p))  # x_i = place, one i at a time
        return np.array([LINKS[link].value(edge @ B).mean() for edge in edges])

    return at_edge(0.0) - at_edge(1.0) if law == "uniform" else at_edge(0.0)


def even_link_spectrum(shifts: list[float], *, n: int, seed: int = 42) -> pd.DataFrame:
    r"""Limitation 1: singular values of :math:`\hat M` for :math:`y = (t_1, t_2^2)`.

    The ten predictors are normal with mean shift times :math:`B (1, 1)^\top`. At shift 0 the square
    is even about the center and the second singular value is noise. Columns shift, sigma_2 (the
    smaller singular value), expected_2.
    """
    rng = stream(seed, "even")
    B = random_basis(10, 2, rng)
    Z = rng.standard_normal((n, 10))
    noise = rng.standard_normal((n, 2))
    rows = []
    for shift in shifts:
        t = Z @ B + shift
        M_hat = cross_moment(Z, np.column_stack([t[:, 0], t[:, 1] ** 2]) + noise)
        second = np.linalg.svd(M_hat, compute_uv=False)[1]
        rows.append({"shift": shift, "sigma_2": second, "expected_2": min(1.0, 2 * shift)})
    return pd.DataFrame(rows)


def discrete_distances(kinds: list[str], *, n_reps: int, seed: int = 42) -> pd.DataFrame:
    """Limitation 2: distance of TRE-sup from the truth when x is discrete and has no score.

    Kinds: "normal" for comparison; "signs" (fair coins, so that almost no two rows agree);
    "counts" (Poisson of mean 0.2, standardized: skewed, mostly zeros); "rounded" normals. 400 rows
    of ten predictors, two responses, tanh of either direction, and noise of half their size.
    Columns kind, rep, distance, chance (the distance of a random subspace).
    """
    rows = []
    for kind, rep in product(kinds, range(n_reps)):
        rng = stream(seed, "discrete", rep)
        B = random_basis(10, 2, rng)
        Z = rng.standard_normal((400, 10))
        counts = (rng.poisson(0.2, Z.shape) - 0.2) / np.sqrt(0.2)
        drawn = {"normal": Z, "signs": np.sign(Z), "rounded": np.round(Z), "counts": counts}
        X = drawn[kind]
        Y = np.tanh(X @ B) + 0.5 * rng.standard_normal((len(X), 2))
        fit = SteinSDR.paper(2, score_estimator=TikhonovScore(1e-3, tol=1e-3)).fit(X, Y)
        chance = procrustes_distance(random_basis(10, 2, rng), B)
        distance = procrustes_distance(fit.components_.T, B)
        rows.append({"kind": kind, "rep": rep, "distance": distance, "chance": chance})
    return pd.DataFrame(rows)


def linearity_distances(
    laws: list[str], sizes: list[int], *, n_reps: int, seed: int = 42
) -> pd.DataFrame:
    """Distance from the truth of Stein's lemma with the true score, of SIR and of ridge.

    The links of Section 4.1, five predictors, ten responses, three directions, another B in each
    repetition; ``laws`` are keys of :data:`SCORED_LAWS`, or "lognormal-1.5", that of the
    paper's simulations. Columns law, method, n, rep, distance.
    """
    known = SCORED_LAWS | {"lognormal-1.5": _simulation_law(LAWS["lognormal"])}
    rows = []
    for law, rep in product(laws, range(n_reps)):
        scored, rng = known[law], stream(seed, "linearity", law, rep)
        B = random_basis(5, 3, rng)
        X = scored.draw(max(sizes), 5, rng)
        Y = links(X @ B) + rng.standard_normal((len(X), 10))
        S = scored.score(X)
        for n in sizes:  # growing parts of one sample
            M_hat = cross_moment(S[:n], Y[:n])
            found = {
                "Stein": np.linalg.svd(M_hat, full_matrices=False)[0][:, :3],
                "SIR": SIR(3).fit(X[:n], Y[:n]).components_.T,
                "ridge": RidgeDirections(3).fit(X[:n], Y[:n]).components_.T,
            }
            for method, U in found.items():
                rows.append((law, method, n, rep, procrustes_distance(U, B)))
    return pd.DataFrame(rows, columns=["law", "method", "n", "rep", "distance"])


def gaussian_moment(B: NDArray, q: int = 10) -> NDArray:
    r"""Return M with columns :math:`B\,E\{\nabla f_j(B^\top x)\}` for standard normal x, (p, q).

    Links are those of Section 4.1. The indices :math:`t = B^\top x` have covariance
    :math:`C = B^\top B`, and by Stein's lemma
    :math:`E\{\nabla f(t)\} = C^{-1} E\{t f(t)^\top\}`, here by Gauss-Hermite quadrature with 24
    nodes in each direction.
    """
    cov, r = B.T @ B, B.shape[1]
    nodes, weights = np.polynomial.hermite_e.hermegauss(24)
    weights = weights / weights.sum()
    z, w = (
        np.stack(np.meshgrid(*[values] * r, indexing="ij"), axis=-1).reshape(-1, r)
        for values in (nodes, weights)
    )
    t = z @ np.linalg.cholesky(cov).T
    return B @ np.linalg.solve(cov, (t * w.prod(axis=1)[:, None]).T @ links(t, q))
