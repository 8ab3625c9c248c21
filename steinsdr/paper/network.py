r"""The small networks that predict responses from reductions, trained side by side.

The paper's real-data section fits a network :math:`r \to 32 \to q` on projections
:math:`\hat B^\top x` and reports its error on test rows. Initial weights and batches depend on the
seed alone, so that each of many networks ends up as if it had been trained alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, validate_params

from .._base import check_matrix, varying_columns

_COUNT = [Interval(Integral, 1, None, closed="left")]
_POSITIVE = [Interval(Real, 0, None, closed="neither")]


@validate_params(
    {
        "hidden": _COUNT,
        "epochs": _COUNT,
        "batch_size": _COUNT,
        "learning_rate": _POSITIVE,
        "max_norm": _POSITIVE,
    },
    prefer_skip_nested_validation=True,
)
def train_networks(
    T_train: Sequence[ArrayLike],
    Y_train: ArrayLike,
    T_new: Sequence[Sequence[ArrayLike]],
    *,
    seed: int,
    hidden: int = 32,
    epochs: int = 200,
    batch_size: int = 64,
    learning_rate: float = 1e-3,
    max_norm: float = 1.0,
) -> Iterator[list[NDArray]]:
    """Train a network on each of B reductions; yield its predictions after every epoch.

    The defaults are those of the paper's appendix: Adam, with a bound ``max_norm`` on the norm of a
    step's gradient. ``T_train`` holds B reductions (n, r_b) of the training rows, ``Y_train`` (n,
    q) their responses, best standardized, and ``T_new`` sets of rows to predict, each B reductions
    (m, r_b). Inputs are standardized by the training rows. The list that is yielded has for each
    set the predictions (B, m, q). ValueError names what does not match or is out of range, and
    FloatingPointError says that training diverges.
    """
    import torch  # deferred: importing steinsdr should not take torch's seconds

    from ..baselines._networks import ReluNetworks, train

    training = [check_matrix(T, f"T_train[{b}]", min_rows=2) for b, T in enumerate(T_train)]
    y = torch.as_tensor(check_matrix(Y_train, "Y_train"))
    if any(len(T) != len(y) for T in training) or not training:
        rows = [len(T) for T in training]
        raise ValueError(f"T_train has {rows} rows; expected {len(y)} each, those of Y_train.")
    widths = [T.shape[1] for T in training]
    # Double precision: it costs little here, and rounding cannot depend on what is side by side.
    networks = ReluNetworks(widths, [hidden, y.shape[1]], seed=seed, dtype=y.dtype)
    inputs = torch.as_tensor(_standardized(training, training))
    new = [torch.as_tensor(_standardized(T, training)) for T in T_new]
    steps: dict[str, Any] = {"learning_rate": learning_rate, "max_norm": max_norm, "seed": seed}
    for _ in train(networks, inputs, y, epochs=epochs, batch_size=batch_size, **steps):
        yield [networks.layers(points)[-1].numpy() for points in new]


def _standardized(points: Sequence[ArrayLike], training: list[NDArray]) -> NDArray:
    """Return the points, scaled by their training rows, padded with zeros to (B, m, max r)."""
    if len(points) != len(training):
        raise ValueError(f"T_new holds {len(points)} reductions; expected {len(training)}.")
    width = max(T.shape[1] for T in training)
    stacked = []
    for b, (T, rows) in enumerate(zip(points, training, strict=True)):
        T = check_matrix(T, f"T_new[{b}]", n_columns=rows.shape[1])
        # A column that is constant in the training rows says nothing: only centre it.
        scale = np.where(varying_columns(rows), rows.std(axis=0), 1.0)
        stacked.append(np.pad((T - rows.mean(axis=0)) / scale, [(0, 0), (0, width - T.shape[1])]))
    return np.stack(stacked)


def errors_by_epoch(
    T_train: Sequence[ArrayLike],
    Y_train: ArrayLike,
    watched: Sequence[tuple[Sequence[ArrayLike], ArrayLike]],
    *,
    seed: int,
    **settings: Any,
) -> list[NDArray]:
    """Return for each watched set (T, Y) the mean squared errors (epochs, B) of B networks.

    Other arguments are those of :func:`train_networks`.

    Examples
    --------
    >>> T = np.random.default_rng(0).standard_normal((60, 2))
    >>> (curve,) = errors_by_epoch([T], np.tanh(T), [([T], np.tanh(T))], seed=0, epochs=30)
    >>> curve.shape, bool((np.diff(curve[:, 0]) < 0).all())
    ((30, 1), True)
    """
    targets = [check_matrix(Y, "Y") for _, Y in watched]
    epochs = train_networks(T_train, Y_train, [T for T, _ in watched], seed=seed, **settings)
    errors = [
        [_errors(found, Y) for found, Y in zip(predictions, targets, strict=True)]
        for predictions in epochs
    ]
    return list(np.array(errors).transpose(1, 0, 2))


def predict_at_best_epoch(
    T_train: Sequence[ArrayLike],
    Y_train: ArrayLike,
    T_stop: Sequence[ArrayLike],
    Y_stop: ArrayLike,
    T_new: Sequence[ArrayLike],
    *,
    seed: int,
    **settings: Any,
) -> NDArray:
    """Return predictions (B, m, q) of each network at the epoch of its smallest error on T_stop.

    Other arguments are those of :func:`train_networks`.
    """
    targets = check_matrix(Y_stop, "Y_stop")
    best = np.full(len(T_train), np.inf)
    chosen: dict[int, NDArray] = {}
    for stop, new in train_networks(T_train, Y_train, [T_stop, T_new], seed=seed, **settings):
        errors = _errors(stop, targets)
        for b in np.flatnonzero(errors < best).tolist():
            best[b], chosen[b] = errors[b], new[b]
    return np.stack([chosen[b] for b in range(len(best))])


def _errors(predicted: NDArray, Y: NDArray) -> NDArray:
    """Return the mean squared errors (B,) of predictions (B, m, q)."""
    if predicted.shape[1:] != Y.shape:
        raise ValueError(f"Y has shape {Y.shape}; expected {predicted.shape[1:]}.")
    import torch

    # Stored rows rest on the order in which torch adds up.
    return torch.from_numpy(predicted - Y).square_().mean(dim=(1, 2)).numpy()
