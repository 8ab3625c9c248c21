r"""How many directions: Algorithms 1, 2 and 4, the sequential test, and the check of the tails.

Algorithm 3, that of sliced inverse regression, uses the same parts (:mod:`steinsdr.baselines`).
:class:`DirectionTransformer` is the base of every estimator whose dimension a rule can select.
"""

from __future__ import annotations

import inspect
import math
import numbers
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.linear_model import RidgeCV
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ._base import (
    InstanceWith,
    check_argument,
    check_integer,
    check_matrix,
    check_parameters,
    check_points,
    check_products,
    check_responses,
    check_result,
    check_same_rows,
    check_spread,
    varying_columns,
)

SKEWNESS_LIMIT = 2.75
KURTOSIS_LIMIT = 10.0
_CLIP = 8.0  # robust standard deviations at which the sequential test clips responses
_BADLY = 2.0  # times the median response's error: beyond it a response counts less
_CHUNK = 1 << 24  # entries of permuted responses held at once

_SHARE = Interval(Real, 0, 1, closed="right")
_LIMIT = Interval(Real, -np.inf, np.inf, closed="both")  # nothing exceeds an infinite limit
_COUNT = Interval(Integral, 1, None, closed="left")


@dataclass(frozen=True)
class TailCheck:
    """Largest absolute skewness and largest excess kurtosis over the features, and the verdict."""

    skewness: float
    kurtosis: float
    heavy: bool


def tail_check(
    X: ArrayLike, *, skewness: float = SKEWNESS_LIMIT, kurtosis: float = KURTOSIS_LIMIT
) -> TailCheck:
    """Classify x as heavy-tailed if any feature exceeds a limit :math:`s_0` or :math:`k_0`.

    The limits are those of the absolute skewness and of the excess kurtosis. The paper gives none.
    These separate its four laws and its data at every sample size it uses, with a margin that the
    tests measure. Columns of X (n, p) that do not vary have no tails.

    Examples
    --------
    >>> z = np.random.default_rng(0).standard_normal((300, 5))
    >>> tail_check(z).heavy, tail_check(np.exp(1.5 * z)).heavy
    (False, True)
    """
    points = check_matrix(X, "X")
    check_spread(points, "X")
    check_argument(skewness, "skewness", _LIMIT)
    check_argument(kurtosis, "kurtosis", _LIMIT)
    points = points[:, varying_columns(points)]
    if not points.shape[1]:
        return TailCheck(0.0, 0.0, False)
    # Fourth powers must be numbers; a power of two scales without rounding.
    points = np.ldexp(points, -np.frexp(np.abs(points).max(axis=0))[1])
    s_max = float(np.abs(stats.skew(points, axis=0)).max())
    k_max = float(stats.kurtosis(points, axis=0).max())
    return TailCheck(s_max, k_max, s_max > skewness or k_max > kurtosis)


@dataclass(frozen=True)
class RankSelection:
    """The selected rank and what it was selected on, ready to be plotted.

    Attributes
    ----------
    rank : int
        The selected number of directions.
    method : {"sequential", "permutation", "energy", "threshold", "dominance"}
        The rule that decided.
    singular_values : ndarray of shape (k,)
        Leading singular values of the matrix.
    thresholds : ndarray of shape (k,) or None
        What they were compared with: null quantiles, or the constant of Algorithm 1.
    null : ndarray of shape (m, k) or None
        Singular values under permutation, one row each.
    tails : TailCheck or None
        The check that chose the rule.
    p_values : ndarray of shape (k,) or None
        Of the steps of the sequential test; k is the first step that was not rejected.
    """

    rank: int
    method: str
    singular_values: NDArray
    thresholds: NDArray | None = None
    null: NDArray | None = None
    tails: TailCheck | None = None
    p_values: NDArray | None = None

    @property
    def energy(self) -> NDArray:
        """Cumulative share of the squared singular values, shape (k,)."""
        return cumulative_energy(self.singular_values)


class RankRule(Protocol):
    """What ``SteinSDR(rank=...)`` accepts: an object with this method."""

    def select(
        self,
        cross_moment: NDArray,
        *,
        scores: NDArray,
        Y: NDArray,
        X: NDArray,
        rng: np.random.Generator,
    ) -> RankSelection:
        """Return the rank of ``cross_moment`` (p, q)."""
        ...


def cumulative_energy(values: NDArray) -> NDArray:
    """Return the cumulative share of the squared values; all ones if they vanish.

    Examples
    --------
    >>> bool(np.allclose(cumulative_energy(1e-200 * np.array([2.0, 1.0])), [0.8, 1.0]))
    True
    """
    largest = np.abs(values).max()
    if not largest > 0:
        return np.ones(len(values))
    # Their own squares may over- or underflow; a power of two scales without rounding.
    squared = np.cumsum(np.square(np.ldexp(values, -np.frexp(largest)[1])))
    return squared / squared[-1]


def energy_rank(values: NDArray, share: float) -> int:
    """Return the smallest k whose leading values reach ``share`` of the total energy.

    Examples
    --------
    >>> energy_rank(np.array([3.0, 1.0, 0.1]), 0.95)
    2
    """
    return min(int(np.searchsorted(cumulative_energy(values), share)) + 1, len(values))


def sequential_rank(values: NDArray, thresholds: NDArray) -> int:
    """Return how many leading values exceed their thresholds before one does not; at least 1.

    Examples
    --------
    >>> sequential_rank(np.array([3.0, 2.0, 0.5, 0.4]), np.array([1.0, 1.0, 1.0, 0.1]))
    2
    """
    above = np.asarray(values) > np.asarray(thresholds)
    return max(1, int(np.argmin(above)) if not above.all() else len(above))


def leading_singular_values(matrix: NDArray, k: int) -> NDArray:
    """Return the k largest singular values, padded with zeros; those that are rounding are zero.

    Examples
    --------
    >>> column = np.array([[0.1], [0.7]])
    >>> leading_singular_values(np.hstack([column, -column]), 3)[1:].tolist()
    [0.0, 0.0]
    """
    values = np.linalg.svd(matrix, compute_uv=False)[:k]
    rounding = max(matrix.shape) * np.finfo(float).eps * values[0]
    return np.pad(np.where(values > rounding, values, 0.0), (0, k - len(values)))


def permutation_null(
    scores: ArrayLike, Y: ArrayLike, *, k: int, m: int, rng: np.random.Generator
) -> NDArray:
    r"""Leading singular values of :math:`n^{-1} \hat S^\top Y_\pi` over m random permutations.

    The result has shape (m, k), padded with zeros if k exceeds min(p, q).
    """
    S, responses = check_matrix(scores, "scores"), check_matrix(Y, "Y")
    check_same_rows(S, responses, name="scores")
    check_integer(k, "k", low=1)
    check_integer(m, "m", low=1)
    check_argument(rng, "rng", np.random.Generator)
    n, p = S.shape
    q = responses.shape[1]
    null = np.zeros((m, k))
    step = max(1, _CHUNK // (n * q))
    for start in range(0, m, step):
        size = min(step, m - start)
        # (n, size, q): column block b holds the rows of Y in the order of permutation b
        permuted = responses[np.stack([rng.permutation(n) for _ in range(size)], axis=1)]
        # One product for the chunk. No Gram matrices: their rounding would hide small values.
        moments = (S.T @ permuted.reshape(n, size * q) / n).reshape(p, size, q)
        check_result(moments, "the moments", "scores and Y")
        values = np.linalg.svd(moments.transpose(1, 0, 2), compute_uv=False)[:, :k]
        null[start : start + size, : values.shape[1]] = values
    return null


@dataclass(eq=False, repr=False)  # the constructor; all else is scikit-learn's
class HardThreshold(BaseEstimator):
    r"""Algorithm 1: the number of singular values of :math:`\hat M` above :math:`\tau`.

    With :math:`\tau = C/2`, where C is a lower bound of :math:`\sigma_r(M)`, it finds the rank with
    probability tending to one (Theorem 3). Outside a simulation C is rarely known.

    Parameters
    ----------
    tau : float
        Threshold.

    Examples
    --------
    >>> HardThreshold(0.5).select(np.diag([2.0, 1.0, 0.1])).rank
    2
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "tau": [Interval(Real, 0, None, closed="neither")]
    }

    tau: float

    def select(self, cross_moment: ArrayLike, **_: Any) -> RankSelection:
        """Return the rank of ``cross_moment`` (p, q); it may be 0."""
        self._validate_params()
        check_parameters(self)
        values = np.linalg.svd(check_matrix(cross_moment, "cross_moment"), compute_uv=False)
        check_result(values, "the singular values", "cross_moment")
        rank = int(np.sum(values > self.tau))
        return RankSelection(rank, "threshold", values, np.full_like(values, self.tau))


@dataclass(eq=False, repr=False)
class AdaptiveRank(BaseEstimator):
    r"""Algorithm 2: permutation test under light tails of x, energy share under heavy ones.

    The permutation test keeps the leading singular values of :math:`\hat M` that exceed a quantile
    of their values after permutations of the responses. The energy rule keeps as many as have a
    given share of the sum of squares.

    Parameters
    ----------
    max_rank : int, default=10
        Largest possible rank :math:`r_{\max}`. The energy rule depends on it. The paper says 7, but
        its Table 2 has errors that only 10 can produce.
    energy : float, default=0.95
        Energy share :math:`\eta`.
    quantile : float, default=0.90
        Quantile :math:`\alpha` of the permuted values that the k-th singular value must exceed.
    n_permutations : int, default=200
        Number m of permutations.
    skewness, kurtosis : float
        Tail limits :math:`s_0, k_0`, see :func:`steinsdr.rank.tail_check`.
    branch : {"auto", "permutation", "energy"}, default="auto"
        "auto" chooses by the tails; the others force a rule.

    Notes
    -----
    The energy rule does not account for noise: of pure noise it returns several directions.
    The permutation rule always returns at least one.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> S, Y = rng.standard_normal((300, 5)), rng.standard_normal((300, 4))
    >>> given = {"scores": S, "Y": Y, "rng": rng}
    >>> [AdaptiveRank().select(S.T @ Y / 300, X=X, **given).method for X in (S, np.exp(2 * S))]
    ['permutation', 'energy']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_rank": [_COUNT],
        "energy": [_SHARE],
        "quantile": [_SHARE],
        "n_permutations": [_COUNT],
        "skewness": [_LIMIT],
        "kurtosis": [_LIMIT],
        "branch": [StrOptions({"auto", "permutation", "energy"})],
    }

    max_rank: int = 10
    _: KW_ONLY
    energy: float = 0.95
    quantile: float = 0.90
    n_permutations: int = 200
    skewness: float = SKEWNESS_LIMIT
    kurtosis: float = KURTOSIS_LIMIT
    branch: str = "auto"

    def select(
        self,
        cross_moment: ArrayLike,
        *,
        scores: ArrayLike,
        Y: ArrayLike,
        X: ArrayLike,
        rng: np.random.Generator,
    ) -> RankSelection:
        """Return the rank of ``cross_moment`` (p, q), the cross-moment of ``scores`` and ``Y``."""
        self._validate_params()
        check_parameters(self)
        check_matrix(scores, "scores")
        check_matrix(Y, "Y")
        check_argument(rng, "rng", np.random.Generator)
        k = self.max_rank
        values = leading_singular_values(check_matrix(cross_moment, "cross_moment"), k)
        check_result(values, "the singular values", "cross_moment")
        tails = tail_check(X, skewness=self.skewness, kurtosis=self.kurtosis)
        if self.branch == "energy" or (self.branch == "auto" and tails.heavy):
            return RankSelection(energy_rank(values, self.energy), "energy", values, tails=tails)
        null = self._null(scores, Y, k=k, m=self.n_permutations, rng=rng)
        thresholds = np.quantile(null, self.quantile, axis=0)
        rank = sequential_rank(values, thresholds)
        return RankSelection(rank, "permutation", values, thresholds, null, tails)

    def _null(
        self, scores: ArrayLike, Y: ArrayLike, *, k: int, m: int, rng: np.random.Generator
    ) -> NDArray:
        """Return null singular values (m, k); a subclass may have another null."""
        return permutation_null(scores, Y, k=k, m=m, rng=rng)


@dataclass(eq=False, repr=False)
class SequentialRank(BaseEstimator):
    r"""Sequential test for the rank of :math:`M = E\{s(x) y^\top\}`, with a p-value for each step.

    Step k tests that k - 1 directions are enough. It projects the k - 1 leading singular vectors
    off scores and responses, and subtracts from both what piecewise linear functions of the k - 1
    indices explain, because a biased score shows nonlinear links of a found index as further
    directions. With the remainders P and Q the statistics are the largest singular value of
    :math:`P^\top Q` and its largest column norm. They are compared with their values after random
    flips of the signs of the rows of Q, which keep each row of scores with its own response, so
    that the hypothesis is :math:`M = 0` and not independence. The smaller of the two p-values is
    calibrated on the same flips. The rank is the number of steps before the first whose p-value
    exceeds the level.

    Parameters
    ----------
    level : float, default=0.05
        Nominal level of each step. Under conditions it bounds, in the limit, the probability of too
        large a rank. The book's chapter on the theory of the new estimator states them.
    n_flips : int, default=199
        Number of random flips of the signs.
    max_rank : int, default=10
        Largest possible rank.

    Notes
    -----
    Responses are clipped at 8 robust standard deviations from their medians, so that one extreme
    row cannot decide. A response that a ridge regression predicts more than twice as badly as the
    median response counts less. Both constants were chosen on isotropic and log-normal designs of
    the paper's Table 2, and confirmed on its other two distributions. A link that is even in a
    symmetric index has no mean gradient, which the test would detect; with such links and few
    columns it is conservative. Noise may pass for signal if it is skewed and its spread depends on
    x.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 5))  # its own score
    >>> Y = X[:, :2] + rng.standard_normal((300, 2))
    >>> SequentialRank().select(X.T @ Y / 300, scores=X, Y=Y, X=X, rng=rng).rank
    2
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "level": [Interval(Real, 0, 1, closed="neither")],
        "n_flips": [_COUNT],
        "max_rank": [_COUNT],
    }

    level: float = 0.05
    _: KW_ONLY
    n_flips: int = 199
    max_rank: int = 10

    def select(
        self,
        cross_moment: ArrayLike,
        *,
        scores: ArrayLike,
        Y: ArrayLike,
        X: ArrayLike,
        rng: np.random.Generator,
    ) -> RankSelection:
        """Return the rank of ``cross_moment`` (p, q), of which only the shape is used; it may be 0.

        Scores and X (n, p) have the same comparable units.
        """
        self._validate_params()
        check_parameters(self)
        if 1 / (self.n_flips + 1) > self.level:
            raise ValueError(
                f"n_flips={self.n_flips}: no p-value can be below level={self.level}; "
                f"expected at least {math.ceil(1 / self.level) - 1}."
            )
        S, responses, points = (
            check_matrix(a, name) for a, name in ((scores, "scores"), (Y, "Y"), (X, "X"))
        )
        for name, array in (("scores", S), ("X", points)):
            check_same_rows(array, responses, name=name)
            check_spread(array, name)
        check_matrix(cross_moment, "cross_moment")
        check_spread(responses, "Y")
        check_products(S, responses, "scores and Y")
        check_argument(rng, "rng", np.random.Generator)
        S = S - S.mean(axis=0)
        responses = _bounded_responses(points, responses)
        check_result(responses, "the test's ridge regression", "X and Y")
        U, _, Vt = np.linalg.svd(S.T @ responses, full_matrices=False)
        values, thresholds, p_values = [], [], []
        for k in range(min(*np.shape(cross_moment), self.max_rank)):
            P, Q = S - S @ U[:, :k] @ U[:, :k].T, responses - responses @ Vt[:k].T @ Vt[:k]
            H = _piecewise_linear(points @ U[:, :k])
            P, Q = P - H @ (H.T @ P), Q - H @ (H.T @ Q)
            largest, norms = self._null(P, Q, np.sum(H**2, axis=1), rng)
            size = np.mean(norms[1:], axis=0)
            size = np.maximum(size, np.median(size))
            columns = np.max(
                np.divide(norms, size, out=np.zeros_like(norms), where=size > 0), axis=1
            )
            # p-values of the data (first) and of each draw, the smaller of the two statistics'
            smaller = np.minimum(*(np.mean(t >= t[:, None], axis=1) for t in (largest, columns)))
            p_values.append(float(np.mean(smaller <= smaller[0])))
            values.append(np.sqrt(largest[0]) / len(S))
            thresholds.append(np.quantile(np.sqrt(largest[1:]), 1 - self.level) / len(S))
            if p_values[-1] > self.level or not largest[0] > 0:
                break
        rank = int(np.sum(np.array(p_values) <= self.level))
        return RankSelection(
            rank, "sequential", np.array(values), np.array(thresholds), p_values=np.array(p_values)
        )

    def _null(
        self, P: NDArray, Q: NDArray, leverage: NDArray, rng: np.random.Generator
    ) -> tuple[NDArray, NDArray]:
        """Return largest squared singular value and squared column norms of P'Q, then of flips."""
        (n, p), q = P.shape, Q.shape[1]
        spread = np.sqrt(np.maximum(1 - leverage, 1e-9))[:, None]
        largest, norms = [], []
        step = max(1, _CHUNK // (max(n, p) * q))
        sizes = [min(step, self.n_flips - start) for start in range(0, self.n_flips, step)]
        for m in (0, *sizes):
            flips = rng.choice([-1.0, 1.0], size=(n, m)) / spread if m else np.ones((n, 1))
            flipped = (flips[:, :, None] * Q[:, None, :]).reshape(n, -1)
            moments = (P.T @ flipped).reshape(p, -1, q).swapaxes(0, 1)
            tall = moments if q <= p else moments.swapaxes(1, 2)
            largest.append(np.linalg.eigvalsh(tall.swapaxes(1, 2) @ tall)[:, -1])
            norms.append(np.sum(moments**2, axis=1))
        return np.clip(np.concatenate(largest), 0.0, None), np.concatenate(norms)


def _robust_scale(A: NDArray) -> NDArray:
    """Return 1.4826 times the median absolute deviation, or where it is 0 the spread, (q,)."""
    mad = 1.4826 * np.median(np.abs(A - np.median(A, axis=0)), axis=0)
    spread = A.std(axis=0)
    return np.where(mad > 0, mad, np.where(spread > 0, spread, 1.0))


def _bounded_responses(X: NDArray, Y: NDArray) -> NDArray:
    """Return centered responses, clipped, and weighed down if predicted badly, (n, q)."""
    centre, limit = np.median(Y, axis=0), _CLIP * _robust_scale(Y)
    ridge = RidgeCV(len(X) * np.logspace(-3, 3, 13), store_cv_results=True).fit(X, Y)
    squared = ridge.cv_results_.reshape(len(X), Y.shape[1], -1)  # (n, q, penalties)
    best = squared.mean(axis=0).argmin(axis=1)
    errors = np.sqrt(np.median(squared[:, np.arange(len(best)), best], axis=0))
    usual = np.median(errors)
    excess = errors / (_BADLY * usual) if usual > 0 else np.ones_like(errors)
    bounded = np.clip(Y, centre - limit, centre + limit) / np.maximum(1.0, excess)
    return bounded - bounded.mean(axis=0)


def _piecewise_linear(indices: NDArray) -> NDArray:
    """Return an orthonormal basis of piecewise linear functions of each index, (n, 1 + 3 k)."""
    columns = [np.ones((len(indices), 1))]
    for t in ((indices - np.median(indices, axis=0)) / _robust_scale(indices)).T:
        bends = np.maximum(t[:, None] - np.quantile(t, [0.25, 0.75]), 0.0)
        columns.append(np.column_stack([t, bends]))
    return np.linalg.qr(np.hstack(columns))[0]


@dataclass(eq=False, repr=False)
class DominanceRank(BaseEstimator):
    r"""Algorithm 4: an energy share, or one direction if it dominates under light tails.

    Parameters
    ----------
    max_rank : int, default=10
        Largest candidate :math:`r_{\max}`; the energy is that of the leading ``max_rank`` values.
    energy_heavy, energy_light : float, default=0.95, 0.90
        Energy shares :math:`\tau_h, \tau_l` under heavy and light tails.
    dominance : float, default=0.85
        Share :math:`\rho` beyond which the first direction is taken alone under light tails.
    skewness, kurtosis : float
        Tail limits :math:`s_0, k_0`, see :func:`steinsdr.rank.tail_check`.
    branch : {"auto", "heavy", "light"}, default="auto"
        "auto" chooses by the tails; the others force a rule.

    Notes
    -----
    No threshold accounts for noise: a flat spectrum gives nearly ``max_rank``, whatever the truth.
    Nine of ten falling values hold at least 0.9 of the energy, so the light rule never returns 10.
    Yet the paper's Table 2 has 10 in every light-tailed cell, which a light share of 0.95 gives.

    Examples
    --------
    >>> z = np.random.default_rng(0).standard_normal((300, 3))
    >>> DominanceRank().select(np.diag([3.0, 1.0, 1.0]), X=z).rank
    2
    >>> DominanceRank().select(np.diag([4.0, 1.0, 1.0]), X=z).rank
    1
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_rank": [_COUNT],
        "energy_heavy": [_SHARE],
        "energy_light": [_SHARE],
        "dominance": [_SHARE],
        "skewness": [_LIMIT],
        "kurtosis": [_LIMIT],
        "branch": [StrOptions({"auto", "heavy", "light"})],
    }

    max_rank: int = 10
    _: KW_ONLY
    energy_heavy: float = 0.95
    energy_light: float = 0.90
    dominance: float = 0.85
    skewness: float = SKEWNESS_LIMIT
    kurtosis: float = KURTOSIS_LIMIT
    branch: str = "auto"

    def select(self, matrix: ArrayLike, *, X: ArrayLike, **_: Any) -> RankSelection:
        """Return the rank of ``matrix`` (h, p), the first-layer weights, given X (n, p)."""
        self._validate_params()
        check_parameters(self)
        values = leading_singular_values(check_matrix(matrix, "matrix"), self.max_rank)
        check_result(values, "the singular values", "matrix")
        tails = tail_check(X, skewness=self.skewness, kurtosis=self.kurtosis)
        heavy = tails.heavy if self.branch == "auto" else self.branch == "heavy"
        # Values that all vanish have energy one throughout, hence rank 1 in every branch.
        if not heavy and cumulative_energy(values)[0] > self.dominance:
            return RankSelection(1, "dominance", values, tails=tails)
        rank = energy_rank(values, self.energy_heavy if heavy else self.energy_light)
        return RankSelection(rank, "energy", values, tails=tails)


class DirectionTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A transformer ``x -> components_ @ x`` with orthonormal rows ``components_`` (r, p)."""

    n_components: int | Literal["auto"]
    rank: str | RankRule
    components_: NDArray
    n_components_: int
    rank_: RankSelection | None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(numbers.Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "rank": [StrOptions({"adaptive"}), InstanceWith("select")],
        "random_state": ["random_state"],
    }

    def transform(self, X: ArrayLike) -> NDArray:
        r"""Return the reduced predictors :math:`\hat B^\top x`, shape (n, r)."""
        check_is_fitted(self, "components_")
        points = check_points(self, X, reset=False)
        with np.errstate(over="ignore", invalid="ignore"):
            return check_result(points @ self.components_.T, "the reduced predictors")

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags

    def _check_complete(
        self, X: ArrayLike, Y: ArrayLike, *, min_rows: int
    ) -> tuple[NDArray, NDArray]:
        """Return X (n, p) and Y (n, q) without NaN, each with a column that varies."""
        # One memory order, so that a frame and its array agree to the last bit.
        points = check_points(self, X, min_rows=min_rows, order="C")
        responses = check_responses(Y, n_rows=len(points))
        n_missing = int(np.isnan(responses).any(axis=1).sum())
        if n_missing:
            raise ValueError(
                f"y has {n_missing} row(s) with NaN; this method uses no unlabeled points, "
                "so leave those rows out of X and y."
            )
        for name, array in (("X", points), ("y", responses)):
            if not varying_columns(array).any():
                raise ValueError(
                    f"{name} has {array.shape[1]} column(s), all constant; at least one must vary."
                )
        return points, responses

    def _check_limit(self, limit: int, why: str) -> None:
        """Raise if ``n_components`` exceeds ``limit``, the largest dimension for reason ``why``."""
        if self.n_components != "auto" and self.n_components > limit:
            raise ValueError(f"n_components={self.n_components}; expected at most {limit}, {why}.")

    def _select_dimension(self, rule: RankRule, matrix: NDArray, *, limit: int, **data: Any) -> int:
        """Return ``n_components``, or by ``rule`` the rank of ``matrix``; set ``rank_``.

        ``data`` is what the rule is given beside the matrix. The rank is between 1 and ``limit``.
        """
        self.rank_ = None
        if self.n_components != "auto":
            return int(self.n_components)
        try:
            inspect.signature(rule.select).bind(matrix, **data)
        except TypeError as error:
            raise ValueError(
                f"rank={rule!r} does not fit {type(self).__name__}, which has {', '.join(data)} "
                f"for its select method ({error})."
            ) from error
        self.rank_ = rule.select(matrix, **data)
        return int(np.clip(self.rank_.rank, 1, limit))
