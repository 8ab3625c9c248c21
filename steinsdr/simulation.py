r"""The paper's simulation designs: four laws of x, the links of Section 4, and their draws.

Data follow :math:`y = \mathcal F(B^\top x) + \varepsilon` with standard normal noise. Every
part of a data set comes from its own named stream (:func:`stream`), and rows are drawn in order, so

- any single draw can be replayed, whatever was drawn before it;
- the covariates do not depend on r, B or Y: one score fit serves every r;
- n = 50 labeled rows are the first 50 of the n = 500 rows of the same seed, and 3,500
  unlabeled rows the first of 10,000.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, toeplitz
from scipy.special import erf, expit
from sklearn.utils._param_validation import Interval

from ._base import check_argument, check_choice, check_integer, check_matrix
from .scores.analytic import GaussianScore, LogNormalScore

BASE_SEED = 42
"""The paper seeds repetition k with 42 + k."""


def _sequence(seed: int, names: tuple[str | int, ...]) -> np.random.SeedSequence:
    # CRC-32 of the text form is stable across processes and versions, unlike hash().
    key = tuple(zlib.crc32(str(name).encode()) for name in names)
    return np.random.SeedSequence(entropy=seed, spawn_key=key)


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """Return the generator of the stream ``names`` under ``seed``.

    Streams with different names are independent, and a stream's draws depend on
    nothing but its seed and names: not on the order of calls, nor on the process.

    Examples
    --------
    >>> a = stream(42, "noise").normal(size=3)
    >>> _ = stream(42, "basis").normal(size=1000)
    >>> bool((a == stream(42, "noise").normal(size=3)).all())
    True
    """
    return np.random.default_rng(_sequence(seed, names))


def stream_seed(seed: int, *names: str | int) -> int:
    """Return a 31-bit integer seed of the stream, for libraries that want an int."""
    return int(_sequence(seed, names).generate_state(1, np.uint32)[0] >> 1)


@dataclass(frozen=True)
class Law:
    """A law of x by the paper's name: z is normal with cov(z_i, z_j) = rho^|i-j|.

    x is z if ``log_scale`` is None, else exp(log_scale * z) componentwise.
    """

    label: str
    rho: float = 0.0
    log_scale: float | None = None

    def covariance(self, p: int) -> NDArray:
        """Return the covariance (p, p) of the normal vector behind x, log scale included."""
        scale = 1.0 if self.log_scale is None else self.log_scale
        return scale**2 * toeplitz(np.r_[1.0, self.rho ** np.arange(1, p)])

    def draw(self, n: int, p: int, rng: np.random.Generator) -> NDArray:
        """Draw n rows of x, shape (n, p); a shorter draw is a prefix of a longer one."""
        z = rng.standard_normal((n, p))
        if self.rho or self.log_scale is not None:
            z = z @ cholesky(self.covariance(p))
        return z if self.log_scale is None else np.exp(z)

    def score(self, p: int) -> GaussianScore | LogNormalScore:
        """Return the true score of this law in dimension p."""
        kind = GaussianScore if self.log_scale is None else LogNormalScore
        return kind(mean=np.zeros(p), cov=self.covariance(p))


LAWS: dict[str, Law] = {
    "isotropic": Law("Isotropic Gaussian"),
    "ar1": Law("AR(1) Gaussian", rho=0.5),
    "lognormal": Law("Log-normal", log_scale=1.5),
    # The paper's words give exp(z); its numbers fit exp(1.5 z), as in its case (c).
    "exp_ar1": Law("Exp-trans AR(1)", rho=0.5, log_scale=1.5),
    "exp_ar1_literal": Law("Exp-trans AR(1), as worded", rho=0.5, log_scale=1.0),
}

_ALLOWED_RANKS = {"section41": (3,), "section42": (1, 3, 5)}

Link = Callable[[NDArray], NDArray]  # (n, r) index values -> (n,) responses


def _leading_links(r: int, version: str) -> list[Link]:
    """The links that are not a plain sine; argument t of shape (n, r), columns x_1, ..., x_r."""
    if r == 1:
        return [lambda t: t[:, 0] + 0.2 * expit(t[:, 0]), lambda t: t[:, 0] ** 2]
    if version == "section41":
        return [
            lambda t: t[:, 0] + 0.2 * expit(t[:, 1]),
            lambda t: t[:, 1] / (0.5 + (t[:, 2] + 1.5) ** 2),
            lambda t: np.tanh(0.8 * t[:, 2]) + erf(1.2 * t[:, 0]),
            lambda t: np.tanh(0.8 * t[:, 0]) + expit(t[:, 2]) + 0.8 * erf(1.2 * t[:, 1]),
        ]
    # The index i_1 of f_1 is not defined on its own; the rule for i_k at k = 1 gives 1.
    shared: list[Link] = [
        lambda t: t[:, 0] + 0.2 * expit(t[:, 0]),
        lambda t: t[:, 1] / (0.5 + (t[:, 0] + 1.5) ** 2),
    ]
    if r == 3:
        return [
            *shared,
            lambda t: np.tanh(0.8 * t[:, 2]) + 0.8 * erf(1.2 * t[:, 0]),
            lambda t: np.tanh(0.8 * t[:, 0]) + expit(t[:, 2]) + 0.8 * erf(1.2 * t[:, 1]),
        ]
    return [
        *shared,
        lambda t: 1.5 * np.tanh(t[:, 2]) + 0.8 * erf(1.2 * t[:, 0]),
        lambda t: 2.0 * np.tanh(t[:, 3]) + 0.8 * expit(t[:, 0]),
        lambda t: 2.0 * np.sin(t[:, 4]) + 1.5 * erf(1.5 * t[:, 4]) + 0.5 * np.sin(t[:, 1]),
    ]


def links(indices: NDArray, q: int = 10, *, version: str = "section41") -> NDArray:
    r"""Return :math:`\mathcal F(B^\top x)`, shape (n, q), of index values (n, r).

    Rows are :math:`B^\top x_i`, with r = 3 in "section41" and 1, 3 or 5 in "section42": the paper
    announces the same links for r = 3 in both sections but prints others. Responses after the
    listed links are :math:`f_k(x) = \sin(x_{i_k})` with :math:`i_k = \{(k-1) \bmod r\} + 1`.
    """
    allowed = _ALLOWED_RANKS[check_choice(version, "version", _ALLOWED_RANKS)]
    indices = check_matrix(indices, "indices")
    check_integer(q, "q", low=1)
    r = indices.shape[1]
    if r not in allowed:
        raise ValueError(f"indices has r = {r} column(s); {version!r} links need r in {allowed}.")
    functions = _leading_links(r, version)[:q]
    values = [f(indices) for f in functions]
    values += [np.sin(indices[:, k % r]) for k in range(len(functions), q)]
    return np.column_stack(values)


@dataclass(frozen=True)
class Simulation:
    """One simulated data set; ``B`` (p, r) is the truth, ``signal`` the noiseless responses."""

    law: Law
    X: NDArray
    Y: NDArray
    B: NDArray
    signal: NDArray
    X_unlabeled: NDArray


def simulate(
    law: str = "isotropic",
    n: int = 300,
    *,
    p: int = 100,
    q: int = 10,
    r: int = 3,
    n_unlabeled: int = 0,
    version: str = "section41",
    noise: float = 1.0,
    seed: int = BASE_SEED,
) -> Simulation:
    """Draw a data set of the paper's design.

    Parameters
    ----------
    law : str
        A key of ``LAWS``.
    n, n_unlabeled : int
        Labeled and unlabeled rows.
    p, q, r : int
        Dimensions of x, y and the central subspace.
    version : {"section41", "section42"}
        See :func:`links`.
    noise : float
        Standard deviation of the additive noise.
    seed : int
        Repetition k of the paper is ``42 + k``.

    Examples
    --------
    >>> small, large = simulate(n=50, seed=43), simulate(n=300, seed=43)
    >>> np.allclose(small.X, large.X[:50]) and np.allclose(small.Y, large.Y[:50])
    True
    """
    chosen = LAWS[check_choice(law, "law", LAWS)]
    for name, value in (("n", n), ("p", p), ("q", q)):
        check_integer(value, name, low=1)
    check_integer(n_unlabeled, "n_unlabeled", low=0)
    check_integer(r, "r", low=1, high=p)
    check_integer(seed, "seed", low=0, high=2**128 - 1)  # as NumPy draws one
    check_argument(noise, "noise", Interval(Real, 0, None, closed="left"))
    X = chosen.draw(n, p, stream(seed, law, "covariates", "labeled"))
    X_unlabeled = chosen.draw(n_unlabeled, p, stream(seed, law, "covariates", "unlabeled"))
    B = np.linalg.qr(stream(seed, law, "basis", r).standard_normal((p, r)))[0]
    signal = links(X @ B, q, version=version)
    Y = signal + noise * stream(seed, law, "noise").standard_normal((n, q))
    return Simulation(law=chosen, X=X, Y=Y, B=B, signal=signal, X_unlabeled=X_unlabeled)
