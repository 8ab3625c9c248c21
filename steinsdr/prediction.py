"""Predictions of the evaluation network, where :mod:`steinsdr.evaluation` gives its errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ._validation import check_integer, check_matrix, check_responses
from .evaluation import _standardized

__all__ = ["predict_from_reductions", "r2_table"]


def predict_from_reductions(
    T_train: Sequence[ArrayLike],
    Y_train: ArrayLike,
    T_stop: Sequence[ArrayLike],
    Y_stop: ArrayLike,
    T_new: Sequence[ArrayLike],
    *,
    hidden: int = 32,
    epochs: int = 200,
    batch_size: int = 64,
    learning_rate: float = 1e-3,
    max_norm: float = 1.0,
    seed: int = 0,
) -> list[NDArray]:
    """Train a network on each reduction and predict at the epoch that one set of rows prefers.

    Parameters
    ----------
    T_train, T_stop, T_new : sequences of array-likes of shape (., r_i)
        Reduced predictors of the rows that train, that choose the epoch, and that are predicted.
    Y_train, Y_stop : array-likes of shape (n, q), (m, q)
        Responses of the first two.
    hidden, epochs, batch_size, learning_rate, max_norm
        As in :func:`steinsdr.evaluation.evaluate_reductions`.
    seed : int
        Fixes initial weights and batches.

    Returns
    -------
    list of ndarray of shape (k, q)
        Predictions for every reduction.

    Examples
    --------
    >>> T = np.random.default_rng(0).standard_normal((120, 2))
    >>> Y = np.tanh(T)
    >>> (guess,) = predict_from_reductions([T[:60]], Y[:60], [T[60:90]], Y[60:90], [T[90:]])
    >>> bool(np.mean((guess - Y[90:]) ** 2) < 0.5 * Y[90:].var())
    True
    """
    import torch  # deferred: importing steinsdr should not take torch's seconds

    from ._relu import ReluNetworks, train

    check_integer(hidden, "hidden", low=1)
    sets = []
    for name, T in (("T_train", T_train), ("T_stop", T_stop), ("T_new", T_new)):
        if len(T) != len(T_train) or not len(T):
            raise ValueError(f"{name} holds {len(T)} reduction(s); expected {len(T_train)} >= 1.")
        sets.append([check_matrix(points, f"{name}[{i}]") for i, points in enumerate(T)])
    targets = check_responses(Y_train, n_rows=len(sets[0][0]), name="Y_train")
    y = torch.as_tensor(check_matrix(targets, "Y_train"))
    targets = check_responses(Y_stop, n_rows=len(sets[1][0]), name="Y_stop")
    stop = torch.as_tensor(check_matrix(targets, "Y_stop", n_columns=y.shape[1]))
    widths = [T.shape[1] for T in sets[0]]
    networks = ReluNetworks(widths, [hidden, y.shape[1]], seed=seed, dtype=y.dtype)
    inputs, watched, new = (torch.as_tensor(_standardized(points, sets[0])) for points in sets)
    best = np.full(len(widths), np.inf)
    found = np.zeros((len(widths), new.shape[1], y.shape[1]))
    for _ in train(
        networks,
        inputs,
        y,
        epochs=check_integer(epochs, "epochs", low=1),
        batch_size=check_integer(batch_size, "batch_size", low=1),
        learning_rate=learning_rate,
        max_norm=max_norm,
        seed=seed,
    ):
        errors = networks.errors(watched, stop)
        better = errors < best
        if better.any():
            found[better] = networks.layers(new)[-1].numpy()[better]
            best[better] = errors[better]
    return list(found)


def r2_table(
    Y: ArrayLike, predictions: Mapping[str, ArrayLike], names: Sequence[str]
) -> pd.DataFrame:
    """Return R² per property (rows) and method (columns); 0 predicts the mean of these cells.

    Parameters
    ----------
    Y : array-like of shape (n, q)
        Responses of the test cells; each must vary.
    predictions : mapping of str to array-like of shape (n, q)
        By method.
    names : sequence of str
        Names of the properties.

    Examples
    --------
    >>> Y = np.arange(6.0).reshape(3, 2)
    >>> r2_table(Y, {"perfect": Y, "mean": 0 * Y + Y.mean(axis=0)}, ["a", "b"]).loc["a"].tolist()
    [1.0, 0.0]
    """
    responses = check_matrix(Y, "Y", n_columns=len(names))
    total = np.sum((responses - responses.mean(axis=0)) ** 2, axis=0)
    if not (total > 0).all():
        raise ValueError("Y has a constant column; R² needs responses that vary.")
    columns = {}
    for method, predicted in predictions.items():
        guess = check_matrix(predicted, f"predictions of {method}", n_columns=len(names))
        if len(guess) != len(responses):
            raise ValueError(
                f"predictions of {method} have {len(guess)} rows; expected {len(responses)}."
            )
        columns[method] = 1.0 - np.sum((responses - guess) ** 2, axis=0) / total
    return pd.DataFrame(columns, index=pd.Index(names, name="property"))
