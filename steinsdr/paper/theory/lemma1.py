r"""Lemma 1 in numbers: :math:`E\{f(B^\top x)\, s(x)\} = B\, E\{\nabla f(B^\top x)\}`.

Both sides are averages over the same draws of x, so their difference
:math:`d(x) = f(B^\top x)\, s(x) - B \nabla f(B^\top x)` must average to zero. Where the lemma
breaks it averages to something else: for a density that jumps at the edge of its support, to the
boundary term that integration by parts leaves behind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import chi2

from ..._base import check_choice, check_integer
from ...baselines import SIR
from ...estimator import SteinSDR
from ...moments import cross_moment
from ...scores import TikhonovScore
from ...scores.analytic import GaussianMixtureScore, LaplaceScore, StudentScore
from ...simulation import LAWS, Law, links, stream
from ...subspace import procrustes_distance

__all__ = [
    "BROKEN_LAWS",
    "COMPARED_LAWS",
    "LINKS",
    "SCORED_LAWS",
    "Link",
    "ScoredLaw",
    "boundary_term",
    "discrete_distances",
    "even_link_spectrum",
    "gap_by_size",
    "gaussian_moment",
    "identity_gap",
    "linearity_distances",
    "mean_gradients",
    "paper_law",
    "random_basis",
]


Draw = Callable[[int, int, np.random.Generator], NDArray]  # (n, p, rng) -> (n, p)


@dataclass(frozen=True)
class ScoredLaw:
    """A law of x with draws (n, p) and its score at the rows of x."""

    label: str
    draw: Draw
    score: Callable[[NDArray], NDArray]


@dataclass(frozen=True)
class Link:
    """A link of r indices t, its gradient (n, r), and whether the lemma covers it."""

    label: str
    value: Callable[[NDArray], NDArray]
    gradient: Callable[[NDArray], NDArray]
    smooth: bool = True


def _first(t: NDArray, g: NDArray) -> NDArray:
    """Return a gradient (n, r) that is g in the first index and zero elsewhere."""
    out = np.zeros_like(t)
    out[:, 0] = g
    return out


LINKS: dict[str, Link] = {
    "linear": Link("t1", lambda t: t[:, 0], lambda t: _first(t, np.ones(len(t)))),
    "tanh": Link(
        "tanh t1", lambda t: np.tanh(t[:, 0]), lambda t: _first(t, 1 / np.cosh(t[:, 0]) ** 2)
    ),
    "sine": Link("sin t1", lambda t: np.sin(t[:, 0]), lambda t: _first(t, np.cos(t[:, 0]))),
    "product": Link(
        "t2 / (1 + t1^2)",
        lambda t: t[:, 1] / (1 + t[:, 0] ** 2),
        lambda t: np.column_stack(
            [
                -2 * t[:, 0] * t[:, 1] / (1 + t[:, 0] ** 2) ** 2,
                1 / (1 + t[:, 0] ** 2),
                np.zeros((len(t), t.shape[1] - 2)),
            ]
        ),
    ),
    "square": Link("t1^2 (even)", lambda t: t[:, 0] ** 2, lambda t: _first(t, 2 * t[:, 0])),
    "kink": Link(
        "max(t1, 0): a kink",
        lambda t: np.maximum(t[:, 0], 0),
        lambda t: _first(t, (t[:, 0] > 0).astype(float)),
    ),
    "jump": Link(
        "1(t1 > 0): a jump",
        lambda t: (t[:, 0] > 0).astype(float),
        lambda t: np.zeros_like(t),
        smooth=False,
    ),
}
"""Links with gradients; "jump" is not differentiable, and its gradient almost everywhere is 0."""


def paper_law(law: Law) -> ScoredLaw:
    """Return a law of the simulations with its score."""
    return ScoredLaw(law.label, law.draw, lambda X: law.score(X.shape[1]).evaluate(X))


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


def _laplace(n: int, p: int, rng: np.random.Generator) -> NDArray:
    return rng.laplace(size=(n, p))


SCORED_LAWS: dict[str, ScoredLaw] = {
    "gaussian": paper_law(LAWS["isotropic"]),
    "ar1": paper_law(LAWS["ar1"]),
    "lognormal": paper_law(Law("Log-normal, log sd 0.5", log_scale=0.5)),
    "student": ScoredLaw("Student t, 5 df", _student, _student_score),
    "mixture": ScoredLaw("Normal mixture", _mixture, _mixture_score),
    "laplace": ScoredLaw("Laplace", _laplace, lambda X: LaplaceScore(0.0, 1.0).evaluate(X)),
}
"""Laws to which the lemma applies, with their scores in closed form."""

BROKEN_LAWS: dict[str, ScoredLaw] = {
    "uniform": ScoredLaw(
        "Uniform on a cube", lambda n, p, rng: rng.uniform(size=(n, p)), np.zeros_like
    ),
    "exponential": ScoredLaw(
        "Exponential", lambda n, p, rng: rng.exponential(size=(n, p)), np.ones_like
    ),
}
"""Laws whose density jumps at the edge of the support: smooth inside, and the lemma fails."""


def random_basis(p: int, r: int, rng: np.random.Generator) -> NDArray:
    """Return a random orthonormal basis (p, r)."""
    return np.linalg.qr(rng.standard_normal((p, r)))[0]


def _law(name: str) -> ScoredLaw:
    known = SCORED_LAWS | BROKEN_LAWS
    return known[check_choice(name, "law", known)]


def _differences(law: ScoredLaw, link: Link, X: NDArray, B: NDArray) -> NDArray:
    t = X @ B
    return link.value(t)[:, None] * law.score(X) - link.gradient(t) @ B.T


def identity_gap(
    law: str, link: str, B: NDArray, n: int, rng: np.random.Generator
) -> tuple[NDArray, float]:
    r"""Mean of :math:`d(x)` over n draws, shape (p,), and the p-value of its being zero.

    The p-value is that of Hotelling's statistic :math:`n \bar d^\top S^{-1} \bar d` against its
    limit :math:`\chi^2_p`; the lemma's claim is the null hypothesis.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> gap, p_value = identity_gap("gaussian", "tanh", random_basis(4, 2, rng), 20_000, rng)
    >>> bool(np.abs(gap).max() < 0.05)
    True
    """
    check_integer(n, "n", low=B.shape[0] + 2)
    chosen = LINKS[check_choice(link, "link", LINKS)]
    scored = _law(law)
    d = _differences(scored, chosen, scored.draw(n, B.shape[0], rng), B)
    mean = d.mean(axis=0)
    statistic = n * mean @ np.linalg.lstsq(np.cov(d, rowvar=False), mean)[0]
    return mean, float(chi2.sf(statistic, len(mean)))


def gap_by_size(
    laws: list[str],
    link_names: list[str],
    sizes: list[int],
    *,
    p: int = 5,
    r: int = 2,
    n_reps: int = 20,
    seed: int = 42,
) -> pd.DataFrame:
    r"""Norm of the mean of :math:`d(x)` for every law, link, size and repetition.

    Returns a frame with columns law, link, n, rep, gap, p_value.
    """
    B = random_basis(p, r, stream(seed, "identity", "basis"))
    rows = []
    for law in laws:
        for link in link_names:
            for n in sizes:
                rng = stream(seed, "identity", law, link, n)
                for rep in range(n_reps):
                    gap, p_value = identity_gap(law, link, B, n, rng)
                    rows.append((law, link, n, rep, float(np.linalg.norm(gap)), p_value))
    return pd.DataFrame(rows, columns=["law", "link", "n", "rep", "gap", "p_value"])


def boundary_term(law: str, link: str, B: NDArray, n: int, rng: np.random.Generator) -> NDArray:
    r"""What integration by parts leaves at the edge, shape (p,), from n draws.

    For coordinate i the mean gap is :math:`[-f p]` across the support of :math:`x_i`, averaged
    over the other coordinates: :math:`E f|_{x_i = 0}` for the exponential law, and
    :math:`E f|_{x_i = 0} - E f|_{x_i = 1}` for the uniform one.
    """
    check_choice(law, "law", BROKEN_LAWS)
    value = LINKS[check_choice(link, "link", LINKS)].value
    X = BROKEN_LAWS[law].draw(n, B.shape[0], rng)
    out = np.empty(B.shape[0])
    for i in range(B.shape[0]):
        edge = X.copy()
        edge[:, i] = 0.0
        out[i] = value(edge @ B).mean()
        if law == "uniform":
            edge[:, i] = 1.0
            out[i] -= value(edge @ B).mean()
    return out


# Where the method is blind: even links (limitation 1), discrete covariates (limitation 2).


DISCRETE = ("normal", "signs", "counts", "rounded")


def even_link_spectrum(
    shifts: list[float], *, n: int = 20_000, p: int = 10, seed: int = 42
) -> pd.DataFrame:
    r"""Singular values of :math:`\hat M` for :math:`y = (t_1, t_2^2)` as x is moved off centre.

    x is normal with mean shift times :math:`B (1, 1)^\top` and identity covariance, the score is
    the true one. :math:`E\{\nabla t_2^2\} = 2 \cdot \text{shift}`: at shift 0 the square is even
    about the centre and the second singular value is noise. Columns shift, sigma_1, sigma_2,
    expected_2.
    """
    rng = stream(seed, "even")
    B = random_basis(p, 2, rng)
    Z = rng.standard_normal((n, p))
    noise = rng.standard_normal((n, 2))
    rows = []
    for shift in shifts:
        t = Z @ B + shift
        M_hat = cross_moment(Z, np.column_stack([t[:, 0], t[:, 1] ** 2]) + noise)
        first, second = np.linalg.svd(M_hat, compute_uv=False)[:2]
        expected = np.sort([1.0, 2 * shift])[::-1]
        rows.append((shift, first, second, expected[0], expected[1]))
    columns = ["shift", "sigma_1", "sigma_2", "expected_1", "expected_2"]
    return pd.DataFrame(rows, columns=columns)


def discrete_distances(
    kinds: list[str], *, n: int = 400, p: int = 10, n_reps: int = 5, seed: int = 42
) -> pd.DataFrame:
    """Distance of TRE-sup from the truth when x is discrete and has no score at all.

    Kinds: "normal" for comparison; "signs" (fair coins, so that almost no two rows agree);
    "counts" (Poisson of mean 0.2, standardized: skewed, mostly zeros); "rounded" normals. Two
    responses, tanh of either direction, and noise of half their size. Columns kind, rep,
    distance, chance.
    """
    rows = []
    for kind in kinds:
        check_choice(kind, "kinds", DISCRETE)
        for rep in range(n_reps):
            rng = stream(seed, "discrete", rep)
            B = random_basis(p, 2, rng)
            Z = rng.standard_normal((n, p))
            X = {
                "normal": Z,
                "signs": np.sign(Z),
                "rounded": np.round(Z),
                "counts": (rng.poisson(0.2, (n, p)) - 0.2) / np.sqrt(0.2),
            }[kind]
            Y = np.tanh(X @ B) + 0.5 * rng.standard_normal((n, 2))
            fit = SteinSDR(2, score=TikhonovScore(1e-3, tol=1e-3)).fit(X, Y)
            chance = procrustes_distance(random_basis(p, 2, rng), B)
            rows.append((kind, rep, procrustes_distance(fit.components_.T, B), chance))
    return pd.DataFrame(rows, columns=["kind", "rep", "distance", "chance"])


# Stein's lemma against sliced inverse regression where :math:`E(x \mid B^\top x)` is not linear.
#
# SIR needs the linearity condition and the lemma does not; but heavy-tailed scores make its average
# noisy, so that the biased method may be nearer for long.


COMPARED_LAWS: dict[str, ScoredLaw] = {
    **SCORED_LAWS,
    "lognormal-1.5": replace(paper_law(LAWS["lognormal"]), label="Log-normal, log sd 1.5"),
}
"""Laws with exact scores, and the log-normal one of the paper's simulations."""


def linearity_distances(
    laws: list[str], sizes: list[int], *, p: int = 5, n_reps: int = 6, seed: int = 42
) -> pd.DataFrame:
    r"""Distance from the truth of Stein's lemma with the true score, and of SIR, by sample size.

    The links of Section 4.1, ten responses, three directions, another B in each repetition;
    ``laws`` are keys of :data:`COMPARED_LAWS`. SIR is consistent if :math:`E(x \mid B^\top x)` is
    linear, as it is for normal x and not for log-normal x or a mixture. Columns law, method, n,
    rep, distance.

    Examples
    --------
    >>> frame = linearity_distances(["lognormal"], [4000], n_reps=1)
    >>> stein, sir = frame.distance
    >>> stein < sir
    True
    """
    check_integer(p, "p", low=3)
    rows = []
    for law in laws:
        scored = COMPARED_LAWS[check_choice(law, "law", COMPARED_LAWS)]
        for rep in range(n_reps):
            rng = stream(seed, "linearity", law, rep)
            B = random_basis(p, 3, rng)
            X = scored.draw(max(sizes), p, rng)
            Y = links(X @ B) + rng.standard_normal((len(X), 10))
            S = scored.score(X)
            for n in sizes:  # growing parts of one sample
                M_hat = cross_moment(S[:n], Y[:n])
                found = {
                    "Stein": np.linalg.svd(M_hat, full_matrices=False)[0][:, :3],
                    "SIR": SIR(3).fit(X[:n], Y[:n]).components_.T,
                }
                for method, U in found.items():
                    rows.append((law, method, n, rep, procrustes_distance(U, B)))
    return pd.DataFrame(rows, columns=["law", "method", "n", "rep", "distance"])


# The population cross-moment M of the paper's designs with normal x, by quadrature.


def mean_gradients(
    cov: NDArray, q: int = 10, *, version: str = "section41", n_nodes: int = 24
) -> NDArray:
    r"""Return :math:`M_1` with columns :math:`E\{\nabla f_j(t)\}`, t normal (0, C), shape (r, q).

    Stein's lemma again: :math:`E\{\nabla f(t)\} = C^{-1} E\{t f(t)^\top\}`, and the right side
    needs no derivatives. Gauss-Hermite quadrature with ``n_nodes`` nodes in each of r directions.

    Parameters
    ----------
    cov : ndarray of shape (r, r)
        Covariance C of the indices :math:`B^\top x`.

    Examples
    --------
    The first link of Section 4.1 has slope 1 in its first index, and the fifth is a sine:

    >>> M1 = mean_gradients(np.eye(3))
    >>> bool(np.isclose(M1[0, 0], 1.0)), bool(np.isclose(M1[1, 4], np.exp(-0.5)))
    (True, True)
    """
    C = np.atleast_2d(np.asarray(cov, dtype=float))
    r = C.shape[0]
    check_integer(n_nodes, "n_nodes", low=2)
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    weights = weights / weights.sum()
    z = np.stack(np.meshgrid(*[nodes] * r, indexing="ij"), axis=-1).reshape(-1, r)
    w = np.stack(np.meshgrid(*[weights] * r, indexing="ij"), axis=-1).reshape(-1, r).prod(axis=1)
    t = z @ np.linalg.cholesky(C).T
    return np.linalg.solve(C, (t * w[:, None]).T @ links(t, q, version=version))


def gaussian_moment(
    B: NDArray, cov: NDArray | None = None, q: int = 10, *, version: str = "section41"
) -> NDArray:
    r"""Return :math:`M = B M_1` (p, q) for :math:`x \sim N(0, \Sigma)` and a basis B (p, r)."""
    index_cov = B.T @ B if cov is None else B.T @ cov @ B
    return B @ mean_gradients(index_cov, q, version=version)
