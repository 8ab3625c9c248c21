r"""Denoising score matching with the residual network of the paper's appendix."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._base import (
    check_argument,
    check_not_constant,
    check_points,
    check_result,
    mean_and_scale,
    needs_extra,
)

_SINGLE_LIMIT = 1e15  # sums of squares of larger values overflow in single precision


@dataclass(kw_only=True, eq=False, repr=False)  # the constructor; all else is scikit-learn's
class DenoisingScore(BaseEstimator):
    r"""Denoising score matching network, the paper's NN estimator.

    The network :math:`g_\theta` is trained on noisy points :math:`x + \epsilon`,
    :math:`\epsilon \sim N(0, \sigma^2 I)`, to minimize
    :math:`E\|g_\theta(x + \epsilon) + \epsilon/\sigma^2\|^2`; its minimizer is the gradient of the
    log density of the noisy points, so :math:`\hat s(x) = -g_\theta(x)`. Every default is a number
    of the paper's appendix (its table of training parameters).

    Parameters
    ----------
    sigma : float, default=0.1
        Noise standard deviation :math:`\sigma`.
    sigma_units : {"sd", "x"}, default="sd"
        Units of ``sigma`` where columns are standardized: those of the standardized points, or
        those of X, to which noise is then added first. The paper does not say which. "x" is closest
        to its numbers under heavy tails, but makes the result depend on the units of X.
    hidden, n_blocks, dropout : int, int, float, default=256, 2, 0.3
        Width of the hidden layers, number of residual blocks, dropout rate inside the blocks.
    epochs, batch_size : int, default=150, 256
        Number of epochs, without early stopping, and rows in a batch. The last, smaller batch of an
        epoch is used.
    learning_rate, weight_decay : float, default=1e-3, 1e-5
        Settings of the optimizer AdamW. The learning rate falls to zero over all epochs along a
        cosine.
    standardize : bool, default=True
        Train on standardized columns and scale the scores back.
    device : str, default="cpu"
        Torch device.
    random_state : int, RandomState or None, default=None
        Seed of initial weights, batches, noise and dropout. On one machine equal seeds give equal
        scores.

    Attributes
    ----------
    network_ : torch.nn.Module
        The trained :math:`g_\theta` of standardized points, with the score in units of ``sigma``.
    loss_curve_ : ndarray of shape (epochs,)
        Mean training loss of each epoch.
    train_scores_ : ndarray of shape (n, p)
        :math:`\hat s(x_i)` at the training points.

    Notes
    -----
    It needs torch, which the extra ``nn`` brings, and thousands of points: with a few hundred it
    mostly learns the noise. A loss that is not finite is a FloatingPointError. The score it aims at
    is that of the noisy law, so a density with features finer than :math:`\sigma` is blurred.

    References
    ----------
    P. Vincent (2011). A connection between score matching and denoising autoencoders.
    Neural Computation 23(7).

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((200, 2))
    >>> first = DenoisingScore(epochs=2, random_state=0).fit(X)
    >>> second = DenoisingScore(epochs=2, random_state=0).fit(X)
    >>> bool((first.evaluate(X) == second.evaluate(X)).all())
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "sigma": [Interval(Real, 0, None, closed="neither")],
        "sigma_units": [StrOptions({"sd", "x"})],
        "hidden": [Interval(Integral, 1, None, closed="left")],
        "n_blocks": [Interval(Integral, 1, None, closed="left")],
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "epochs": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
        "standardize": ["boolean"],
        "device": [str],
        "random_state": ["random_state"],
    }

    sigma: float = 0.1
    sigma_units: str = "sd"
    hidden: int = 256
    n_blocks: int = 2
    dropout: float = 0.3
    epochs: int = 150
    batch_size: int = 256
    learning_rate: float = 1e-3
    weight_decay: float = 1e-5
    standardize: bool = True
    device: str = "cpu"
    random_state: Any = None

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Train on the rows of X, shape (n, p); y is ignored."""
        self._validate_params()
        check_argument(self.batch_size, "batch_size", int)  # PyTorch takes no integer of NumPy
        check_argument(self.sigma, "sigma", int, float)
        check_argument(self.sigma, "sigma", Interval(Real, 1e-15, 1e15, closed="neither"))
        with needs_extra("nn", "DenoisingScore"):  # deferred: torch is optional, and takes seconds
            import torch

        from ._network import ScoreNetwork

        try:
            torch.empty(0, device=self.device)
        except (RuntimeError, AssertionError) as error:
            raise ValueError(f"device={self.device!r} is not available: {error}") from error
        points = check_points(self, X, min_rows=2)
        check_not_constant(points, "X", getattr(self, "feature_names_in_", None))
        self._mean, self._scale = mean_and_scale(points, self.standardize)
        # With noise in units of X the network gives the score of X, not of standardized points.
        self._divisor = self._scale if self.sigma_units == "sd" else 1.0
        data = self._tensor(points)
        if not data.abs().max() < _SINGLE_LIMIT:
            raise ValueError(
                f"X holds values of size {data.abs().max():.1e}, too large for a network in single "
                "precision; rescale its columns or use standardize=True."
            )
        seed = int(check_random_state(self.random_state).randint(2**31))
        with torch.device("meta"):  # no weights yet: they would come from the global stream
            network = ScoreNetwork(data.shape[1], self.hidden, self.n_blocks, self.dropout)
        network = network.to_empty(device="cpu")
        network.draw_weights(torch.Generator().manual_seed(seed))
        self.network_ = network.to(self.device)
        self.loss_curve_ = self._train(data, seed)
        self.network_.eval()
        self.train_scores_ = self.evaluate(X)
        return self

    def evaluate(self, X: ArrayLike) -> NDArray:
        r"""Return :math:`\hat s(x) = -g_\theta(x)` at every row, shape (m, p)."""
        check_is_fitted(self, "network_")
        import torch

        data = self._tensor(check_points(self, X, reset=False))
        with torch.no_grad():
            parts = [-self.network_(part).cpu().double() for part in data.split(8192)]
        return check_result(torch.cat(parts).numpy() / self._divisor, "the scores")

    def _tensor(self, points: NDArray) -> Any:
        """Return the standardized points in single precision, on the device."""
        import torch

        with np.errstate(over="ignore"):
            scaled = (points - self._mean) / self._scale
        return torch.as_tensor(scaled, dtype=torch.float32, device=self.device)

    def _train(self, data: Any, seed: int) -> NDArray:
        """Train ``network_`` on the rows of ``data`` and return the mean loss of every epoch."""
        import torch

        from ._network import DenoisingStep, dropout_masks

        generator = torch.Generator(device=data.device).manual_seed(seed)
        in_units_of_x = self.sigma_units == "x" and self.standardize
        scale = data.new_tensor(1.0 / self._scale) if in_units_of_x else None
        step = DenoisingStep(self.network_, self.sigma, scale)
        optimizer = torch.optim.AdamW(
            self.network_.parameters(),
            lr=self.learning_rate,
            weight_decay=self.weight_decay,
            fused=True,
        )
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=self.epochs)
        losses = np.empty(self.epochs)
        for epoch in range(self.epochs):
            order = torch.randperm(len(data), generator=generator, device=data.device)
            total = torch.zeros((), device=data.device)
            for batch in order.split(self.batch_size):
                x = data[batch]
                noise = torch.empty_like(x).normal_(0.0, self.sigma, generator=generator)
                masks = dropout_masks(self.n_blocks, len(x), self.hidden, self.dropout, generator)
                total += step(x, noise, masks) * len(x)
                optimizer.step()
            schedule.step()
            losses[epoch] = total.item() / len(data)
            if not np.isfinite(losses[epoch]):
                raise FloatingPointError(
                    f"DenoisingScore: the loss is {losses[epoch]} after epoch {epoch + 1}; "
                    "lower learning_rate, or standardize the data."
                )
        return losses
