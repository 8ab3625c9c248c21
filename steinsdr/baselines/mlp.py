"""Directions from the first layer of a neural network."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import svd_flip

from .._base import SequenceOf, check_argument, needs_extra, varying_columns
from ..rank import DirectionTransformer, DominanceRank, RankRule

_SINGLE_LIMIT = 1e15  # sums of squares of larger values overflow in single precision


class MLPDirections(DirectionTransformer):
    r"""The neural network baseline: top right singular vectors of the first-layer weights.

    A network :math:`p \to 256 \to 128 \to q` with ReLU learns :math:`E(y \mid x)` on standardized
    x. If y depends on :math:`B^\top x` alone, so should its first layer; the directions come from
    :math:`W_1 \operatorname{diag}(\mathrm{sd}(x))^{-1}`, the weights in the raw scale. Every
    default is a number of the paper's appendix.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Dimension r. "auto" selects it with ``rank``.
    hidden : sequence of int, default=(256, 128)
        Widths of the hidden layers.
    epochs, batch_size : int, default=100, 64
        Length of training; no early stopping.
    learning_rate : float, default=1e-3
        Adam's; no weight decay.
    scale : {"raw", "standardized"}, default="raw"
        "raw" decomposes weights that apply to X, as the appendix says; "standardized" those that
        apply to X divided by its standard deviations, as the paper's numbers under heavy tails do.
    standardize_responses : bool, default=False
        Standardize Y first. The paper does not say, and its tables fit raw responses only.
    rank : "adaptive" or object, default="adaptive"
        Rank rule for ``n_components="auto"``: Algorithm 4 with its defaults, or an object such as
        ``DominanceRank(max_rank=12)``.
    random_state : int, RandomState or None, default=None
        Fixes initial weights and batches: same seed, same machine, same directions.

    Attributes
    ----------
    components_ : ndarray of shape (r, p)
        Orthonormal rows, the top right singular vectors of ``weights_``.
    singular_values_ : ndarray
        Singular values of ``weights_``.
    weights_ : ndarray of shape (hidden[0], p)
        First-layer weights in the chosen scale.
    loss_curve_ : ndarray of shape (epochs,)
        Mean training loss of each epoch.
    n_components_ : int
        Dimension used.
    rank_ : RankSelection or None
        How it was selected; None if ``n_components`` is an integer.

    Raises
    ------
    FloatingPointError
        If training diverges.

    Notes
    -----
    The weights keep their random start where training does not move them: with few rows the
    directions are mostly noise, and the spectrum is flat, so that Algorithm 4 returns (nearly) its
    largest candidate. In the raw scale columns of small spread have large weights, noise included,
    and lead the decomposition. Constant columns get zero loadings.

    Examples
    --------
    >>> from steinsdr.simulation import simulate
    >>> data = simulate("isotropic", n=200, p=10)
    >>> mlp = MLPDirections(3, epochs=20, random_state=0)
    >>> B, again = (mlp.fit(data.X, data.Y).components_ for _ in range(2))
    >>> bool((B == again).all() and np.allclose(B @ B.T, np.eye(3)))
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DirectionTransformer._parameter_constraints,
        "hidden": [SequenceOf(Interval(Integral, 1, None, closed="left"))],
        "epochs": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "scale": [StrOptions({"raw", "standardized"})],
        "standardize_responses": ["boolean"],
    }

    def __init__(
        self,
        n_components: int | Literal["auto"] = "auto",
        *,
        hidden: Sequence[int] = (256, 128),
        epochs: int = 100,
        batch_size: int = 64,
        learning_rate: float = 1e-3,
        scale: str = "raw",
        standardize_responses: bool = False,
        rank: str | RankRule = "adaptive",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.hidden = hidden
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.scale = scale
        self.standardize_responses = standardize_responses
        self.rank = rank
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Train the network on X (n, p), n >= 2, and y (n,) or (n, q); decompose its first layer.

        Raises
        ------
        ValueError
            If no column of X or y varies, or one holds NaN or infinity; if a parameter is out of
            range, or ``n_components`` exceeds the columns that vary.
        """
        self._validate_params()
        check_argument(self.batch_size, "batch_size", int)  # PyTorch takes no integer of NumPy
        points, responses = self._check_complete(X, y, min_rows=2)
        varies = varying_columns(points)
        spread = points[:, varies].std(axis=0)
        inputs = (points[:, varies] - points[:, varies].mean(axis=0)) / spread
        if self.standardize_responses:
            responses = responses - responses.mean(axis=0)
            responses = responses / np.where(varying_columns(responses), responses.std(axis=0), 1.0)
        if np.abs(responses).max() > _SINGLE_LIMIT:
            raise ValueError(
                f"y holds values of size {np.abs(responses).max():.1e}, too large for a network in "
                "single precision; rescale it or use standardize_responses=True."
            )
        W, self.loss_curve_ = self._train(inputs, responses)
        self.weights_ = np.zeros((len(W), points.shape[1]))
        self.weights_[:, varies] = W / spread if self.scale == "raw" else W
        _, self.singular_values_, Vt = np.linalg.svd(self.weights_, full_matrices=False)
        limit = min(len(W), int(varies.sum()))
        self._check_limit(
            limit, f"the least of {len(W)} hidden units and {varies.sum()} column(s) that vary"
        )
        self.n_components_ = self._select_dimension(
            DominanceRank() if isinstance(self.rank, str) else self.rank,
            self.weights_,
            limit=limit,
            X=points,
        )
        self.components_ = svd_flip(Vt[: self.n_components_].T, None)[0].T
        return self

    def _train(self, inputs: NDArray, responses: NDArray) -> tuple[NDArray, NDArray]:
        """Return first-layer weights (h, p) for standardized inputs, and the loss of each epoch."""
        with needs_extra("nn", "MLPDirections"):  # deferred: torch takes seconds, and is optional
            import torch
        from ._networks import ReluNetworks, train

        seed = int(check_random_state(self.random_state).randint(2**31))
        x = torch.as_tensor(inputs, dtype=torch.float32)[None]
        y = torch.tensor(responses, dtype=torch.float32)  # a copy: a frame's values are read-only
        sizes = [*self.hidden, y.shape[1]]
        network = ReluNetworks([x.shape[2]], sizes, seed=seed, dtype=torch.float32)
        losses = train(
            network,
            x,
            y,
            epochs=self.epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            seed=seed,
        )
        curve = np.concatenate(list(losses))
        return network.weights[0].detach()[0].T.double().numpy(), curve
