r"""csOPG and KSIR, as the R package MAVE 1.3.11 computes them.

X is standardized, screened by distance correlation with Y and whitened. Y is replaced by indicators
:math:`1\{y_k < c\}`, whose conditional means carry the whole conditional distribution of each
:math:`y_k`. At anchors :math:`x_j` local linear regressions give the gradients :math:`G_j` of all
indicators; their directions, the leading eigenvectors of :math:`\sum_j G_j G_j^\top`, span the
central subspace (Xia, 2007). The dimension is that of least cross-validation error, as ``mave.dim``
of the package selects it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import qr
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import svd_flip

from .._base import varying_columns
from ..rank import DirectionTransformer
from ..subspace import orthonormalize

_KEPT_SHARE = 0.99  # of the squared singular values of the indicators
_TABLE_LIMIT = 2**25  # doubles in a table that is kept between steps (256 MB)
_RESPONSES_PER_BLOCK = 24
_MEMORY_LIMIT = 8e9  # bytes of a fit
_SQUARE_MATRICES = 4  # n x n, held at once by the cross-validation
_TIE = 1e-12  # reduced points closer than this are tied in the cross-validation


@dataclass(eq=False, repr=False)  # the constructor; all else is scikit-learn's
class _MaveTransformer(DirectionTransformer):
    """What :class:`CSOPG` and :class:`KSIR` share: everything but the weights of neighbours."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": DirectionTransformer._parameter_constraints["n_components"],
        "max_dim": [Interval(Integral, 1, None, closed="left")],
        "screen": [Interval(Integral, 1, None, closed="left"), StrOptions({"default"}), None],
        "scale": [StrOptions({"raw", "standardized"})],
    }

    n_components: int | Literal["auto"] = "auto"
    _: KW_ONLY
    max_dim: int = 10
    screen: int | Literal["default"] | None = "default"
    scale: Literal["raw", "standardized"] = "raw"

    def _bases(
        self, x: NDArray, F: NDArray, Y: NDArray, *, null: NDArray, max_dim: int
    ) -> dict[int, NDArray]:
        """Return bases (s, d) of whitened x (n, s) for all d; x does not vary along ``null``."""
        raise NotImplementedError

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Estimate the directions of every dimension from X (n, p), n >= 3, and y (n,) or (n, q).

        It is a ValueError if values are NaN, or if ``n_components`` exceeds ``max_dim`` or the rank
        of the columns kept.
        """
        self._validate_params()
        X, Y = self._check_complete(X, y, min_rows=3)
        self._check_memory(*Y.shape)
        scale = np.where(varying_columns(X), X.std(axis=0, ddof=1), 1.0)
        self.selected_, standardized = _screened(X, Y, scale, self.screen)
        root, null = _whitening(standardized)
        rank = len(null) - null.shape[1]
        max_dim = min(self.max_dim, rank)
        self._check_limit(
            max_dim,
            f"the least of max_dim ({self.max_dim}) and the rank of the {len(null)} column(s) of X "
            f"that were kept ({rank})",
        )
        working, smooth = indicator_responses(Y)
        bases = self._bases(standardized @ root, working, Y, null=null, max_dim=max_dim)
        standardized_path, raw_path = {}, {}
        for d in range(1, max_dim + 1):
            loadings = np.zeros((X.shape[1], d))
            loadings[self.selected_] = root @ bases[d]
            # Unit length before the division, which might underflow by a large scale.
            standardized_path[d] = loadings / np.linalg.norm(loadings, axis=0)
            raw = standardized_path[d] / scale[:, None]
            raw_path[d] = raw / np.linalg.norm(raw, axis=0)
        self.directions_path_ = raw_path if self.scale == "raw" else standardized_path

        # The package's choice, whatever scale the directions are reported in.
        self.cv0_ = (1 + 1 / len(X)) * float(np.mean(np.abs(smooth)))
        self.cv_ = np.array([_cross_validation(X @ raw, smooth) for raw in raw_path.values()])
        self.selected_dim_ = int(np.argmin(np.append(self.cv0_, self.cv_)))
        self.n_components_ = (
            max(1, self.selected_dim_) if self.n_components == "auto" else int(self.n_components)
        )
        self.directions_ = self.directions_path_[self.n_components_]
        # Selected rows only, so that the other loadings stay exactly zero.
        self.components_ = np.zeros(self.directions_.T.shape)
        kept = orthonormalize(self.directions_[self.selected_])
        self.components_[:, self.selected_] = svd_flip(kept, None)[0].T
        return self

    def _check_memory(self, n: int, q: int) -> None:
        """Raise if n x n matrices and indicators would take more than the limit."""
        needed = 8.0 * (_SQUARE_MATRICES * n**2 + 4 * n * q * _n_levels(n))
        if needed > _MEMORY_LIMIT:
            raise ValueError(
                f"X has n = {n} rows: {type(self).__name__} holds n x n matrices and indicators of "
                f"about {needed / 1e9:.1f} GB, and the limit is {_MEMORY_LIMIT / 1e9:.0f} GB. Pass "
                "a random subset of the rows."
            )


class CSOPG(_MaveTransformer):
    r"""Outer product of gradients for the central subspace, as R package MAVE 1.3.11 computes it.

    Local linear fits of indicators :math:`1\{y_k < c\}` at about 100 anchors estimate gradients
    G, the leading eigenvectors of :math:`\sum_j G_j G_j^\top` estimate B, and the fits are repeated
    with neighbours weighed in the estimated :math:`\hat B^\top x`, while the dimension falls from
    that of x to 1.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Dimension r. "auto" takes the one with the least cross-validation error, as
        ``mave.dim`` does, but never 0.
    max_dim : int, default=10
        Largest dimension fitted; 10 is the package's default. If more than 20 columns are kept, the
        dimensions visited on the way down depend on it, and so do **all directions**. The paper
        does not give it: its Table 1 agrees with 3, 7 and 10 alike, its Table 2 with 10.
    screen : "default", int or None, default="default"
        How many columns of X to keep, by distance correlation with Y:
        :math:`\lceil n/\ln n\rceil`, a number, or all. The others get loadings of zero.
    scale : {"raw", "standardized"}, default="raw"
        "raw" directions apply to X, as the package returns them. "standardized" ones apply to
        X divided by its standard deviations and are not mapped back: a misreading, but the
        one that reproduces the paper's distances under heavy tails.

    Attributes
    ----------
    components_ : ndarray of shape (r, p)
        Orthonormal rows that span the same space as ``directions_``.
    directions_ : ndarray of shape (p, r)
        The package's directions: columns of unit length, not orthogonal.
    directions_path_ : dict of int to ndarray
        For every d = 1..max_dim the directions (p, d). They are not nested.
    n_components_, selected_dim_ : int
        Dimension used, and the one that cross-validation selects; 0 if none beats the mean.
    cv_, cv0_ : ndarray of shape (max_dim,), float
        Cross-validation error of the raw directions for d = 1..max_dim, and for d = 0.
    selected_ : ndarray of int
        Columns of X kept, by decreasing distance correlation if some were not.

    Notes
    -----
    - Screening is on by default. At p = 100 only 13, 22, 53, 81 columns survive n = 50, 100,
      300, 500, so a dense B cannot be recovered however good the rest.
    - The cross-validation does not refit without the held-out point, and overfits: of responses
      independent of x it selects several dimensions (the competitors' chapter shows it). Like the
      package's it takes distances below about 1e-12 for ties, so X in such units selects too few.
    - Where the package decides ties between anchors by rounding (200 <= n < 300), the first of two
      tied points is taken. Where it returns NaN, for a constant column, loadings are zero; so are
      those of directions in which the kept columns do not vary.

    References
    ----------
    Y. Xia (2007). A constructive approach to the estimation of dimension reduction directions.
    Annals of Statistics 35, 2654-2690.

    W. Hang, Y. Xia (2021). MAVE: Methods for Dimension Reduction. R package 1.3.11.

    Examples
    --------
    The order of the responses does not matter:

    >>> from steinsdr.simulation import simulate
    >>> from steinsdr.subspace import procrustes_distance
    >>> data = simulate("isotropic", n=100, p=10)
    >>> one = CSOPG(n_components=3).fit(data.X, data.Y)
    >>> two = CSOPG(n_components=3).fit(data.X, data.Y[:, ::-1])
    >>> procrustes_distance(one.components_.T, two.components_.T) < 1e-6
    True
    """

    def _bases(
        self, x: NDArray, F: NDArray, Y: NDArray, *, null: NDArray, max_dim: int
    ) -> dict[int, NDArray]:
        n, p = x.shape
        gradients = LocalGradients(x, F)
        basis = np.eye(p)
        bases = {}
        for d in _dimension_sequence(p, max_dim):
            basis = basis[:, :d]
            for _ in range(5 if d <= 10 else 2 if d < 20 else 1):
                M = gradients.outer_product(x @ basis, min(d, n // 2))
                basis = _leading_eigenvectors(M, d, null=null)
            bases[d] = basis
        return bases


def _dimension_sequence(p: int, max_dim: int) -> list[int]:
    """Return the falling dimensions that are visited; max_dim may come twice, as in the package."""
    if p <= 20:
        return list(range(p, 0, -1))
    shrunk = [0.8**t * p for t in range(51)]
    return [int(d) for d in shrunk if d >= max_dim] + list(range(max_dim, 0, -1))


@dataclass(kw_only=True, eq=False, repr=False)
class KSIR(_MaveTransformer):
    r"""Kernel sliced inverse regression, as R package MAVE 1.3.11 computes it.

    One step of :class:`CSOPG` with neighbours weighed by the responses instead of
    :math:`\hat B^\top x`: a slice with soft edges.

    Parameters
    ----------
    n_components, screen, scale
        As of :class:`CSOPG`.
    max_dim : int, default=10
        Largest dimension fitted. The directions do not depend on it, but the selected dimension
        does. 10 fits the paper's Table 2; 7 cannot give its mean error of 4.11 at r = 3.
    weigh : {"first", "all"}, default="first"
        Which responses measure the distance between points. The package uses **the first
        response only**, with a bandwidth and anchors from all, all in raw units, so that the result
        depends on which comes first and on the units of the others. "all" repairs that: all
        responses, each divided by its standard deviation.

    Attributes
    ----------
    components_, directions_, directions_path_, n_components_, selected_dim_, cv_, cv0_, selected_
        As those of :class:`CSOPG`. The directions of d + 1 dimensions contain those of d.

    Notes
    -----
    Like all inverse regression (:class:`SIR`) it is blind to links that are even in a symmetric
    index; :class:`CSOPG` sees them, and its other notes hold here too.

    Examples
    --------
    Unlike those of csOPG, the directions are nested:

    >>> from steinsdr.simulation import simulate
    >>> data = simulate("isotropic", n=100, p=10)
    >>> path = KSIR().fit(data.X, data.Y).directions_path_
    >>> all(np.allclose(path[d], path[10][:, :d]) for d in path)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_MaveTransformer._parameter_constraints,
        "weigh": [StrOptions({"first", "all"})],
    }

    weigh: Literal["first", "all"] = "first"

    def _bases(
        self, x: NDArray, F: NDArray, Y: NDArray, *, null: NDArray, max_dim: int
    ) -> dict[int, NDArray]:
        V, m = Y, 1
        if self.weigh == "all":
            V = Y[:, varying_columns(Y)]
            V = V / np.std(V, axis=0, ddof=1)
            m = min(V.shape[1], len(V) // 2)
        M = LocalGradients(x, F).outer_product(V, m)
        basis = _leading_eigenvectors(M, max_dim, null=null)
        return {d: basis[:, :d] for d in range(1, max_dim + 1)}


def _screened(
    X: NDArray, Y: NDArray, scale: NDArray, screen: int | Literal["default"] | None
) -> tuple[NDArray, NDArray]:
    """Return the columns (s,) of X (n, p) that are kept, and these standardized (n, s)."""
    selected = np.flatnonzero(varying_columns(X))
    standardized = (X[:, selected] - X.mean(axis=0)[selected]) / scale[selected]
    if screen == "default":
        screen = int(np.ceil(len(X) / np.log(len(X))))
    if screen is not None and screen < selected.size:
        order = np.argsort(-distance_correlations(standardized, Y), kind="stable")[:screen]
        selected, standardized = selected[order], standardized[:, order]
    return selected, standardized - standardized.mean(axis=0)


def _whitening(centred: NDArray) -> tuple[NDArray, NDArray]:
    """Return the inverse root (s, s) of the covariance, zero on the null space, and its basis."""
    n, s = centred.shape
    eigenvalues, vectors = np.linalg.eigh(centred.T @ centred / n)
    # Rounding leaves null eigenvalues at this size, of either sign. The package compares
    # 1 / (eigenvalue + n^-5) with n^5, which lets the sign decide.
    null = eigenvalues <= s * np.finfo(float).eps * eigenvalues[-1]
    inverse = np.where(null, 0.0, 1.0 / np.where(null, 1.0, eigenvalues + float(n) ** -5))
    return (vectors * np.sqrt(inverse)) @ vectors.T, vectors[:, null]


def distance_correlations(columns: NDArray, Y: NDArray) -> NDArray:
    r"""Distance correlation of every column of X (n, p) with the whole of Y (n, q), shape (p,).

    The V-statistic of Székely, Rizzo and Bakirov (2007): with a, b the doubly centred
    distance matrices, :math:`\{\sum ab / (\sum a^2 \sum b^2)^{1/2}\}^{1/2}`. Only b is
    formed: :math:`\sum ab` needs a uncentred, and :math:`\sum a^2` follows from its row sums.

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [4.0], [6.0]])
    >>> bool(np.allclose(distance_correlations(x, 3 - 2 * x), 1.0))
    True
    """
    n = len(columns)
    b = squareform(pdist(Y))
    b -= b.mean(axis=0)
    b -= b.mean(axis=1, keepdims=True)
    b_norm = np.linalg.norm(b)
    b_pairs = 2.0 * squareform(b, checks=False)
    # |x_(i) - x_(k)| summed over k, from the sorted column alone.
    ordered = np.sort(columns, axis=0)
    position = np.arange(1, n + 1)[:, None]
    total = np.cumsum(ordered, axis=0)
    row_sums = (2 * position - n) * ordered - 2 * total + total[-1]
    squares = 2 * n * np.sum(columns**2, axis=0) - 2 * np.sum(columns, axis=0) ** 2
    a_norm2 = squares - 2 * np.sum(row_sums**2, axis=0) / n + (row_sums.sum(axis=0) / n) ** 2
    # One column at a time, so that equal columns get equal values to the last bit.
    cross = np.array([pdist(x[:, None], "cityblock") @ b_pairs for x in columns.T])
    squared = cross / np.maximum(np.sqrt(np.maximum(a_norm2, 0.0)) * b_norm, np.finfo(float).tiny)
    return np.sqrt(np.maximum(squared, 0.0))


def indicator_responses(Y: NDArray) -> tuple[NDArray, NDArray]:
    r"""Return the indicators of Y (n, q), cut to 99 % of their variance, in two forms.

    The first is :math:`U \Sigma` (n, k) of their singular value decomposition, for the regressions;
    the second their projection (n, N) on the span of U, which cross-validation predicts.
    """
    indicators = np.hstack([_indicators(y) for y in Y.T])
    n, n_columns = indicators.shape
    if n > n_columns:
        vectors, values, _ = np.linalg.svd(indicators, full_matrices=False)
        eigenvalues = np.square(values)
    else:  # the n x n Gram matrix is the smaller problem
        eigenvalues, vectors = np.linalg.eigh(indicators @ indicators.T)
        eigenvalues, vectors = np.maximum(eigenvalues[::-1], 0.0), vectors[:, ::-1]
    share = np.cumsum(eigenvalues) / np.sum(eigenvalues)
    kept = int(np.argmax(share >= _KEPT_SHARE)) + 1
    U = vectors[:, :kept]
    return U * np.sqrt(eigenvalues[:kept]), U @ (U.T @ indicators)


def _n_levels(n: int) -> int:
    """Return the number of quantiles of a response."""
    return max(min(99, n), int(n**0.6))


def _indicators(y: NDArray) -> NDArray:
    """Return centred indicators of y < c at its quantiles c, and the same less their row means."""
    n = y.size
    n_levels = _n_levels(n)
    # Kept in this order of operations: where n p is a half-integer, the quantile is a data
    # point and the comparison below turns on the last bit.
    rank = ((100 * (np.arange(1, n_levels + 1) / (n_levels + 1))) / 100) * n
    lower = np.floor(rank + 0.5)
    fraction = rank - lower
    below = np.clip(lower.astype(int) - 1, 0, n - 1)
    above = np.clip(lower.astype(int), 0, n - 1)
    ordered = np.sort(y)
    between = (0.5 - fraction) * ordered[below] + (0.5 + fraction) * ordered[above]
    levels = np.unique(np.where(below == above, ordered[below], between))
    first = (y[:, None] - levels < 0).astype(float)
    first -= first.mean(axis=0)
    second = first - first.mean(axis=1, keepdims=True)
    second -= second.mean(axis=0)
    return np.hstack([first, second])


class LocalGradients:
    r"""Local linear regressions of responses F (n, k) on whitened x (n, p), for any weighing space.

    The regression at anchor j has design :math:`Z_i = (x_i - x_j, 1)`, weights :math:`w_i`
    and ridge I/n. Three identities make it cheap.

    - Write :math:`u_i = (x_i, 1)`. The gradients are the first p rows of
      :math:`(U^\top W U + P_j/n)^{-1} U^\top W F`, where :math:`P_j = I_p \oplus 0 + u_j
      u_j^\top`. Nothing is centred at the anchor, so the products :math:`u_i u_i^\top` and
      :math:`u_i F_i^\top` are formed once, and the moments of all anchors are one matrix
      product of the weights with each.
    - M needs F only through :math:`FF^\top`, so F may be rotated to be lower trapezoidal.
      About a third of the products vanish and are skipped.
    - The moment matrices are positive definite: one Cholesky factor serves all k responses.
    """

    def __init__(self, x: NDArray, F: NDArray) -> None:
        n, p = x.shape
        self._u = np.hstack([x, np.ones((n, 1))])
        self._F = np.ascontiguousarray(qr(F.T, mode="r")[0].T)
        # Symmetric products u_i u_i', packed; None where they would not fit.
        self._pairs: NDArray | None = None
        if n * (p + 1) ** 2 <= 2 * _TABLE_LIMIT:
            row, column = np.tril_indices(p + 1)
            self._pairs = self._u[:, row] * self._u[:, column]
            self._unpack = np.empty((p + 1, p + 1), dtype=int)
            self._unpack[row, column] = self._unpack[column, row] = np.arange(row.size)
        fits = n * (p + 1) * F.shape[1] <= _TABLE_LIMIT
        self._products = list(self._build_products()) if fits else None
        self._buffer = np.empty((0, F.shape[1] * (p + 1)))

    def _build_products(self) -> Iterator[NDArray]:
        """Yield the products F_i u_i' for blocks of responses, without leading rows of zeros."""
        for start in range(0, self._F.shape[1], _RESPONSES_PER_BLOCK):
            block = self._F[start:, start : start + _RESPONSES_PER_BLOCK]
            yield (block[:, :, None] * self._u[start:, None, :]).reshape(len(block), -1)

    def outer_product(self, V: NDArray, m: int) -> NDArray:
        r"""Return :math:`M = \sum_j G_j G_j^\top` (p, p), with neighbours weighed in V (n, c).

        Distances use the first m columns of V; anchors and bandwidth use all.
        """
        anchors = anchor_points(V)
        weights = _kernel_weights(V, anchors, m)
        k, size = self._F.shape[1], self._u.shape[1]
        at_once = max(1, _TABLE_LIMIT // (size * (size + k)))
        M = np.zeros((size, size))
        for start in range(0, len(anchors), at_once):
            chunk = slice(start, start + at_once)
            gradients = self._response_moments(weights[chunk])
            for moment, right in zip(
                self._moments(weights[chunk], anchors[chunk]), gradients, strict=True
            ):
                # LAPACK is column-major: transposes of these C-ordered arrays are solved in place.
                factor, info = dpotrf(moment.T, lower=True, overwrite_a=True)
                if info:
                    raise np.linalg.LinAlgError("a local regression is singular")
                dpotrs(factor, right.T, lower=True, overwrite_b=True)
            flat = gradients.reshape(-1, size)
            M += flat.T @ flat
        return M[:-1, :-1]

    def _moments(self, weights: NDArray, anchors: NDArray) -> NDArray:
        """Return U' W U + P_j / n for every anchor, shape (a, p + 1, p + 1)."""
        u = self._u
        if self._pairs is None:
            moments = np.stack([(u.T * w) @ u for w in weights])
        else:
            moments = np.take(weights @ self._pairs, self._unpack, axis=1)
        at_anchor = u[anchors]
        moments += (at_anchor / len(u))[:, :, None] * at_anchor[:, None, :]
        diagonal = np.arange(u.shape[1] - 1)
        moments[:, diagonal, diagonal] += 1.0 / len(u)
        return moments

    def _response_moments(self, weights: NDArray) -> NDArray:
        """Return (U' W F)' for every anchor, shape (a, k, p + 1), in a buffer that is reused."""
        n, size = self._u.shape
        # Fresh memory at every call would cost more in page faults than it is worth.
        if len(self._buffer) < len(weights):
            self._buffer = np.empty((len(weights), self._buffer.shape[1]))
        moments = self._buffer[: len(weights)]
        stop = 0
        for block in self._build_products() if self._products is None else self._products:
            start, stop = stop, stop + block.shape[1]
            np.matmul(weights[:, n - len(block) :], block, out=moments[:, start:stop])
        return moments.reshape(len(weights), -1, size)


def _kernel_weights(V: NDArray, anchors: NDArray, m: int) -> NDArray:
    """Gaussian weights (anchors, n); the width reaches the 2m-th neighbour at least."""
    n = len(V)
    h = 1.2 * np.mean(np.std(V, axis=0, ddof=1)) / n ** (1.0 / (m + 4))
    distance = cdist(V[anchors, :m], V[:, :m], "sqeuclidean")
    neighbour = np.partition(distance, 2 * m - 1, axis=1)[:, 2 * m - 1 : 2 * m]
    return np.exp(-distance / np.maximum(2 * h**2, neighbour))


def anchor_points(V: NDArray) -> NDArray:
    """Return the rows of V (n, c) at which gradients are estimated: about 100, well spread.

    All rows if n <= 100. Otherwise the first row left and its nearest neighbours, n // 100
    points together, form a group, whose member nearest to its centroid is an anchor; and so on.
    A single row left over is dropped. A group of two is a tie, which its first row wins.
    """
    n = len(V)
    if n <= 100:
        return np.arange(n)
    size = n // max(100, int(np.sqrt(n)))
    taken = np.zeros(n)  # 0, or infinity once the row is in a group
    groups = []
    n_left = n
    while n_left > 1:
        head = int(np.argmin(taken))
        distance = cdist(V[head : head + 1], V, "sqeuclidean")[0] + taken
        group = []
        for _ in range(min(size, n_left)):
            nearest = int(np.argmin(distance))
            distance[nearest] = taken[nearest] = np.inf
            group.append(nearest)
        groups.append(group)
        n_left -= len(group)
    last = groups.pop() if len(groups[-1]) < size else None
    anchors = [_nearest_to_centroid(V, np.array(groups))]
    if last:
        anchors.append(_nearest_to_centroid(V, np.array([last])))
    return np.concatenate(anchors)


def _nearest_to_centroid(V: NDArray, groups: NDArray) -> NDArray:
    """Return, for each row of ``groups``, the member nearest to the centroid; ties go first."""
    if groups.shape[1] == 2:
        return groups[:, 0]
    points = V[groups]
    distance = np.sum((points - points.mean(axis=1, keepdims=True)) ** 2, axis=2)
    return groups[np.arange(len(groups)), np.argmin(distance, axis=1)]


def _leading_eigenvectors(M: NDArray, k: int, *, null: NDArray) -> NDArray:
    """Return k leading eigenvectors (p, k) of M, those in ``null`` last: none maps back to X."""
    last = (1.0 + np.trace(M)) * (null @ null.T)
    return np.linalg.eigh(M - last)[1][:, ::-1][:, :k]


def _cross_validation(T: NDArray, responses: NDArray) -> float:
    """Return the mean absolute leave-one-out error of a kernel smoother on ranks of T (n, d)."""
    n, d = T.shape
    ranks = _average_ranks(T) / (n + 1)
    h = np.mean(np.std(ranks, axis=0, ddof=1)) / n ** (1.0 / (d + 4))
    # All reduced points tied: every weight is one.
    spread = squareform(pdist(ranks, "cityblock")) / h if h > 0 else np.zeros((n, n))
    weights = 1.0 / np.square(np.square(1.0 + spread))
    np.fill_diagonal(weights, 0.0)
    weights /= weights.sum(axis=1, keepdims=True) + 1e-6
    # Subtracting the identity turns prediction and residual into one product.
    np.fill_diagonal(weights, -1.0)
    return float(np.mean(np.abs(weights @ responses)))


def _average_ranks(T: NDArray) -> NDArray:
    """Return zero-based ranks by column; values within 1e-12 of a run's first share their mean."""
    order = np.argsort(T, axis=0, kind="stable")
    ordered = np.take_along_axis(T, order, axis=0)
    position = np.repeat(np.arange(len(T), dtype=float)[:, None], T.shape[1], axis=1)
    for c in np.flatnonzero((np.diff(ordered, axis=0) <= _TIE).any(axis=0)):
        start = 0
        while start < len(T):
            stop = int(np.searchsorted(ordered[:, c] - ordered[start, c], _TIE, side="right"))
            position[start:stop, c] = (start + stop - 1) / 2
            start = stop
    ranks = np.empty_like(position)
    np.put_along_axis(ranks, order, position, axis=0)
    return ranks
