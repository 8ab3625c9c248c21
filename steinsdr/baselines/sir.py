"""Sliced inverse regression for several responses, and its rank by Algorithm 3."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import svd_flip

from .._base import varying_columns
from ..moments import cross_moment
from ..rank import AdaptiveRank, DirectionTransformer, RankRule
from ..subspace import orthonormalize


@dataclass(eq=False, repr=False)  # the constructor; all else is scikit-learn's
class SIR(DirectionTransformer):
    r"""Sliced inverse regression, with the slices of all responses pooled.

    With x whitened to z, the slice means :math:`\bar z_{kh}` of response k lie in the whitened
    central subspace if :math:`E(x \mid B^\top x)` is linear. The estimate is spanned by
    :math:`\hat\Sigma^{-1/2}` times the top eigenvectors of the mean over the responses of
    :math:`\sum_h (n_h/n)\, \bar z_{kh} \bar z_{kh}^\top`. That is :class:`steinsdr.SteinSDR` with
    the score of a normal x and slice indicators for responses.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Dimension r. "auto" selects it with ``rank``.
    slicing : {"marginal", "projective"}, default="marginal"
        "marginal" slices each response, as the paper does. "projective" slices random combinations
        :math:`t^\top y` of the standardized responses (Li, Wen and Zhu 2008), and sees what only
        the joint law of y shows.
    n_slices : int, default=10
        Slices H of a response, at most n // 2. Ten reproduce the paper's Table 1; it uses 12 for
        its real data.
    n_projections : int, default=200
        Random directions t of "projective".
    rank : "adaptive" or object, default="adaptive"
        Rank rule for ``n_components="auto"``: Algorithm 3 with its defaults, or an object such as
        ``AdaptiveRank(max_rank=12)``.
    null : {"pooled", "projected", "projected-sum"}, default="pooled"
        Null of Algorithm 3's permutation test. "pooled" treats permuted data as it treats data,
        and reproduces the paper's Table 2. The others follow the letter of Algorithm 3: permuted
        responses are projected onto one random direction, while the observed matrix is the mean
        ("projected") or the sum ("projected-sum") over responses. None keeps the level of the test.
    random_state : int, RandomState or None, default=None
        Projections, and permutations of the rank rule.

    Attributes
    ----------
    eigenvalues_ : ndarray
        Eigenvalues of the pooled matrix, in [0, 1], largest first.
    n_slices_ : int
        Slices used.
    components_, n_components_, rank_
        As in :class:`steinsdr.SteinSDR`; the rule is given roots of the eigenvalues.

    Notes
    -----
    Blind to links that are even in a symmetric index, and biased where
    :math:`E(x \mid B^\top x)` is not linear, as for skewed x. Where p approaches n, whitening turns
    noise into signal: p = n is the worst case. With p >= n the pseudo-inverse keeps everything
    finite, but the estimate depends on the units of X. Constant columns get zero loadings. Under
    light tails Algorithm 3 overestimates r >= 3: it permutes without removing the directions
    already found.

    References
    ----------
    K.-C. Li (1991). Sliced inverse regression for dimension reduction. Journal of the American
    Statistical Association 86, 316-327.

    B. Li, S. Wen, L. Zhu (2008). On a projective resampling method for dimension reduction with
    multivariate responses. Journal of the American Statistical Association 103, 1177-1186.

    Examples
    --------
    Monotone transformations of the responses change nothing:

    >>> from steinsdr.simulation import simulate
    >>> data = simulate("ar1", n=300, p=20)
    >>> plain, transformed = (SIR(3).fit(data.X, Y) for Y in (data.Y, np.exp(data.Y)))
    >>> bool((plain.components_ == transformed.components_).all())
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DirectionTransformer._parameter_constraints,
        "slicing": [StrOptions({"marginal", "projective"})],
        "n_slices": [Interval(Integral, 2, None, closed="left")],
        "n_projections": [Interval(Integral, 1, None, closed="left")],
        "null": [StrOptions({"pooled", "projected", "projected-sum"})],
    }

    n_components: int | Literal["auto"] = "auto"
    _: KW_ONLY
    slicing: str = "marginal"
    n_slices: int = 10
    n_projections: int = 200
    rank: str | RankRule = "adaptive"
    null: str = "pooled"
    random_state: Any = None

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Estimate the central subspace from X (n, p), n >= 4, and y (n,) or (n, q), without NaN.

        It is a ValueError if ``n_components`` exceeds the directions in which slice means differ.
        """
        self._validate_params()
        points, responses = self._check_complete(X, y, min_rows=4)  # two slices of two points
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))

        sliced = responses[:, varying_columns(responses)]
        if self.slicing == "projective":
            # Divide, not whiten: whitening would give a response that repeats another no weight.
            standardized = (sliced - sliced.mean(axis=0)) / sliced.std(axis=0)
            # Uniform on the sphere but for their length, which ranks do not see.
            directions = rng.standard_normal((sliced.shape[1], int(self.n_projections)))
            sliced = standardized @ directions
        self.n_slices_ = min(self.n_slices, len(points) // 2)
        G = slice_indicators(sliced, self.n_slices_)
        if G.shape[1] > len(G):
            # A square L with L L' = G G' has the same cross-moments, with rows permuted too, up to
            # a rotation from the right.
            G = cast(NDArray, np.linalg.qr(G.T, mode="r")).T
        Z, root = whiten(points)
        M = cross_moment(Z, G)
        U, s, _ = np.linalg.svd(M, full_matrices=False)
        self.eigenvalues_ = s**2
        visible = int(np.sum(s > max(M.shape) * np.finfo(float).eps))
        if not visible:
            raise ValueError("y: all slices have the same mean of X, so SIR shows no direction.")
        self._check_limit(visible, "the number of directions in which the slice means of X differ")
        self.n_components_ = self._select_dimension(
            self._rule(sliced), M, limit=visible, scores=Z, Y=G, X=points, rng=rng
        )
        basis = orthonormalize(root @ U[:, : self.n_components_])
        self.components_ = svd_flip(basis, None)[0].T
        return self

    def _rule(self, sliced: NDArray) -> RankRule:
        """Return Algorithm 3 with the null of ``null``, or the rule that ``rank`` is."""
        rule = AdaptiveRank() if isinstance(self.rank, str) else self.rank
        if self.null == "pooled" or self.n_components != "auto":
            return rule
        if not isinstance(rule, AdaptiveRank):
            raise ValueError(f"null={self.null!r} needs an AdaptiveRank as rank; got {rule!r}.")
        return _ProjectedNull(rule, sliced, self.n_slices_, summed=self.null == "projected-sum")


class _ProjectedNull(AdaptiveRank):
    """Algorithm 3 to the letter: the null slices one random projection of permuted responses."""

    def __init__(
        self, rule: AdaptiveRank, responses: NDArray, n_slices: int, *, summed: bool
    ) -> None:
        super().__init__(**rule.get_params())
        self.rule = rule
        self.responses = responses
        self.n_slices = n_slices
        self.summed = summed

    def _null(
        self, scores: ArrayLike, Y: ArrayLike, *, k: int, m: int, rng: np.random.Generator
    ) -> NDArray:
        n, q = self.responses.shape
        projected = self.responses @ rng.standard_normal((q, m))
        # Projecting permuted rows is permuting projected ones, another order for each column.
        G = slice_indicators(rng.permuted(projected, axis=0), self.n_slices) * np.sqrt(m)
        M = (np.asarray(scores).T @ G / n).reshape(-1, m, self.n_slices).transpose(1, 0, 2)
        values = np.linalg.svd(M, compute_uv=False)[:, :k]
        # The observed matrix has the scale of a mean; under a sum it would be q times as large.
        values = values / np.sqrt(q) if self.summed else values
        return np.pad(values, ((0, 0), (0, k - values.shape[1])))


def whiten(X: NDArray) -> tuple[NDArray, NDArray]:
    r"""Return whitened rows Z (n, k) and the root (p, k) with :math:`Z = (X - \bar x)\, root`.

    k is the rank of the covariance :math:`\hat\Sigma` and root root' its pseudo-inverse.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((5, 8))
    >>> Z, root = whiten(X)
    >>> root.shape, bool(np.allclose(Z.T @ Z / 5, np.eye(4)))
    ((8, 4), True)
    """
    n = len(X)
    # A constant column centres to rounding noise, which would otherwise be blown up to unit size.
    centred = np.where(varying_columns(X), X - X.mean(axis=0), 0.0)
    U, s, Vt = np.linalg.svd(centred, full_matrices=False)
    kept = s > s[0] * max(X.shape) * np.finfo(float).eps
    return np.sqrt(n) * U[:, kept], np.sqrt(n) * Vt[kept].T / s[kept]


def slice_indicators(Y: NDArray, n_slices: int) -> NDArray:
    r"""Return the slices' indicators as responses G, shape (n, q H).

    Each column of Y (n, q) is cut by its ranks into H slices of equal count (up to one). Equal
    values stay together; of at most H different values each is a slice, however rare. Column h is
    :math:`(n/n_h)^{1/2} 1\{i \in h\} / q^{1/2}`, so that for whitened Z the cross-moment M of Z and
    G has :math:`M M^\top = q^{-1} \sum_k \sum_h (n_h/n) \bar z_{kh} \bar z_{kh}^\top`.

    Examples
    --------
    >>> G = slice_indicators(np.array([[3.0], [1.0], [2.0], [9.0]]), 2)
    >>> (G > 0).astype(int).tolist()
    [[0, 1], [1, 0], [1, 0], [0, 1]]
    """
    n, q = Y.shape
    place = rankdata(Y, method="dense", axis=0).astype(int) - 1
    label = ((rankdata(Y, axis=0) - 0.5) * n_slices / n).astype(int)
    label = np.where(place.max(axis=0) < n_slices, place, label)
    member = label[:, :, None] == np.arange(n_slices)
    weight = np.sqrt(n / (np.maximum(member.sum(axis=0), 1) * q))
    return (member * weight).reshape(n, q * n_slices)
