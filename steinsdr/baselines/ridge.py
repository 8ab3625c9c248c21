"""Directions of a ridge regression: the linear method that any other should beat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.linear_model import RidgeCV
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.extmath import svd_flip

from .._base import SequenceOf, varying_columns
from ..moments import cross_moment
from ..rank import AdaptiveRank, DirectionTransformer, RankRule


@dataclass(eq=False, repr=False)  # the constructor; all else is scikit-learn's
class RidgeDirections(DirectionTransformer):
    r"""Leading left singular vectors of the coefficients of a ridge regression of y on x.

    With z the standardized predictors and D their standard deviations, the coefficients are

    .. math::
        \hat M = n^{-1} \sum_i \hat s(x_i) (y_i - \bar y)^\top, \qquad
        \hat s(x) = D^{-1} (\hat\Sigma_z + \alpha I)^{-1} z ,

    which is the estimate of :class:`steinsdr.SteinSDR` with the score of a normal law, its
    covariance shrunk. Unlike a score, :math:`\alpha` is chosen with the responses, by
    leave-one-out cross-validation. For normal x the coefficients estimate :math:`M`, whatever the
    links (Brillinger 1983); for other x they span directions of B if
    :math:`E(x \mid B^\top x)` is linear.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Dimension r. "auto" selects it with ``rank``.
    alphas : sequence of float, optional
        Penalties per row of x; scikit-learn's ``Ridge`` has n times them. By default 13 values from
        1e-3 to 10.
    rank : "adaptive" or object, default="adaptive"
        Rank rule for ``n_components="auto"``: Algorithm 2 with its defaults, or an object such as
        ``AdaptiveRank(max_rank=12)``.
    random_state : int, RandomState or None, default=None
        Permutations of the rank rule.

    Attributes
    ----------
    cross_moment_ : ndarray of shape (p, q)
        The coefficients, in the raw scale of X.
    alpha_ : float
        The chosen penalty, per row.
    components_, singular_values_, n_components_, rank_
        As in :class:`steinsdr.SteinSDR`.

    Notes
    -----
    Blind to links that are even in a symmetric index, like every method of first moments. Constant
    columns get zero loadings. Responses in larger units count for more.

    References
    ----------
    D. R. Brillinger (1983). A generalized linear model with "Gaussian" regressor variables. In: A
    Festschrift for Erich L. Lehmann, Wadsworth, 97-114.

    Examples
    --------
    The coefficients are those of scikit-learn:

    >>> from sklearn.linear_model import Ridge
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.standard_normal((50, 4)), rng.standard_normal((50, 3))
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> fit = RidgeDirections(2).fit(X, Y)
    >>> bool(np.allclose(fit.cross_moment_.T, Ridge(50 * fit.alpha_).fit(X, Y).coef_))
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DirectionTransformer._parameter_constraints,
        "alphas": [None, SequenceOf(Interval(Real, 0, None, closed="neither"))],
    }

    n_components: int | Literal["auto"] = "auto"
    _: KW_ONLY
    alphas: Sequence[float] | None = None
    rank: str | RankRule = "adaptive"
    random_state: Any = None

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Estimate the central subspace from X (n, p), n >= 4, and y (n,) or (n, q), without NaN.

        It is a ValueError if ``n_components`` exceeds the rank of the coefficients.
        """
        self._validate_params()
        points, responses = self._check_complete(X, y, min_rows=4)
        n = len(points)
        alphas = np.logspace(-3, 1, 13) if self.alphas is None else np.asarray(self.alphas)
        varying = varying_columns(points)
        scale = points[:, varying].std(axis=0)
        Z = (points[:, varying] - points[:, varying].mean(axis=0)) / scale
        Y = responses - responses.mean(axis=0)

        # With an intercept: leaving a row out moves the means, which counts where n is small.
        self.alpha_ = float(RidgeCV(alphas=n * alphas).fit(Z, Y).alpha_) / n
        P, d, Qt = np.linalg.svd(Z, full_matrices=False)
        scores = np.zeros_like(points)
        scores[:, varying] = (P * (d / (d**2 / n + self.alpha_))) @ Qt / scale
        self.cross_moment_ = cross_moment(scores, Y)
        U, s, _ = np.linalg.svd(self.cross_moment_, full_matrices=False)
        self.singular_values_ = s
        visible = int(np.sum(s > max(self.cross_moment_.shape) * np.finfo(float).eps * s[0]))
        self._check_limit(visible, "the rank of the coefficients")
        self.n_components_ = self._select_dimension(
            AdaptiveRank() if isinstance(self.rank, str) else self.rank,
            self.cross_moment_,
            limit=visible,
            scores=scores,
            Y=Y,
            X=points,
            rng=np.random.default_rng(check_random_state(self.random_state).randint(2**31)),
        )
        self.components_ = svd_flip(U[:, : self.n_components_], None)[0].T
        return self
