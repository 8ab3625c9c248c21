r"""How good is a reduction? The test error of a small network fitted on the reduced data.

The paper's real-data section fits a network :math:`r \to 32 \to q` on projections
:math:`\hat B^\top x` of a fitting set and reports its error on a test set, "early stopping based on
validation MSE, best test MSE retained". Retaining the best *test* error uses the test set to stop;
:class:`Evaluation` gives that number and an honest one, which stops on a part of the fitting set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from .._base import (
    check_integer,
    check_matrix,
    check_positive,
    check_responses,
    check_share,
    varying_columns,
)

__all__ = [
    "Evaluation",
    "evaluate_reduction",
    "evaluate_reductions",
    "predict_from_reductions",
    "r2_table",
    "watch_reductions",
]


MIN_ROWS = 4  # a training and a validation part of two rows at least


@dataclass(frozen=True)
class Evaluation:
    """Test errors (MSE over all entries of Y) of one reduction.

    Attributes
    ----------
    paper : float
        Smallest test error over the epochs, network fitted on the whole fitting set. Optimistic:
        the test set chose the epoch.
    honest : float
        Test error at the epoch of smallest error on the validation part of the fitting set,
        network fitted on the rest.
    last : float
        Test error after the last epoch, network fitted on the whole fitting set.
    test_curve : ndarray of shape (epochs,)
        Test error of every epoch; ``paper`` is its minimum, ``last`` its end.
    validation_curve, stopped_curve : ndarray of shape (epochs,)
        Validation and test errors of the network behind ``honest``.
    """

    paper: float
    honest: float
    last: float
    test_curve: NDArray
    validation_curve: NDArray
    stopped_curve: NDArray


def evaluate_reduction(
    T_fit: ArrayLike, Y_fit: ArrayLike, T_test: ArrayLike, Y_test: ArrayLike, **settings: Any
) -> Evaluation:
    """Evaluate one reduction; see :func:`evaluate_reductions` for the settings.

    Examples
    --------
    >>> T = np.random.default_rng(0).standard_normal((120, 2))
    >>> result = evaluate_reduction(T[:90], np.tanh(T[:90]), T[90:], np.tanh(T[90:]), epochs=50)
    >>> result.paper <= min(result.last, np.tanh(T[90:]).var())
    True
    """
    return evaluate_reductions([T_fit], Y_fit, [T_test], Y_test, **settings)[0]


def evaluate_reductions(
    T_fit: Sequence[ArrayLike],
    Y_fit: ArrayLike,
    T_test: Sequence[ArrayLike],
    Y_test: ArrayLike,
    *,
    hidden: int = 32,
    epochs: int = 200,
    batch_size: int = 64,
    learning_rate: float = 1e-3,
    max_norm: float = 1.0,
    validation: float = 0.2,
    random_state: Any = None,
) -> list[Evaluation]:
    r"""Evaluate several reductions of the same rows, their networks trained side by side.

    Every default but ``validation`` is a number of the paper's appendix. Inputs are standardized on
    the rows that train the network. The results are those of one reduction at a time (initial
    weights and batches depend on the seed alone), many times faster.

    Parameters
    ----------
    T_fit, T_test : sequences of array-likes of shapes (n, r_i) and (m, r_i)
        Reduced predictors :math:`\hat B_i^\top x` of fitting and test set.
    Y_fit, Y_test : array-like of shape (n, q) and (m, q), or (n,) and (m,)
        Responses, best standardized.
    hidden : int
        Hidden units.
    epochs, batch_size : int
        Length of training.
    learning_rate, max_norm : float
        Adam's learning rate; bound on the norm of a step's gradient.
    validation : float
        Share of the fitting set that stops the network behind ``honest``; at least 2 rows.
    random_state : int, RandomState or None
        Fixes initial weights, batches and the validation part.

    Raises
    ------
    ValueError
        If shapes do not match, a value is NaN or infinite, the fitting set has fewer than
        4 rows or a setting is out of range.
    FloatingPointError
        If training diverges.
    """
    check_share(validation, "validation")
    pairs, responses, test_responses = _check_data(T_fit, Y_fit, T_test, Y_test)
    random = check_random_state(random_state)
    settings = _check_settings(hidden, epochs, batch_size, learning_rate, max_norm, random)

    fit, test = ([pair[side] for pair in pairs] for side in (0, 1))
    n = len(responses)
    n_stop = int(np.clip(round(validation * n), 2, n - 2))
    stop, rest = np.split(random.permutation(n), [n_stop])
    test_set = (test, test_responses)
    stop_set = ([T[stop] for T in fit], responses[stop])
    (whole,) = _error_curves(fit, responses, [test_set], **settings)
    watched, stopped = _error_curves(
        [T[rest] for T in fit], responses[rest], [stop_set, test_set], **settings
    )
    best = watched.argmin(axis=0)
    return [
        Evaluation(
            paper=float(whole[:, b].min()),
            honest=float(stopped[best[b], b]),
            last=float(whole[-1, b]),
            test_curve=whole[:, b],
            validation_curve=watched[:, b],
            stopped_curve=stopped[:, b],
        )
        for b in range(len(pairs))
    ]


def watch_reductions(
    T_train: Sequence[ArrayLike],
    Y_train: ArrayLike,
    watched: Sequence[tuple[Sequence[ArrayLike], ArrayLike]],
    *,
    hidden: int = 32,
    epochs: int = 200,
    batch_size: int = 64,
    learning_rate: float = 1e-3,
    max_norm: float = 1.0,
    random_state: Any = None,
) -> list[NDArray]:
    """Train the networks of :func:`evaluate_reductions` once, on all rows, and watch their errors.

    Parameters
    ----------
    T_train, Y_train : sequence of array-likes of shapes (n, r_i), array-like of shape (n, q)
        Reduced predictors and responses to train on.
    watched : sequence of pairs (T, Y)
        Sets of rows, in the same form, whose errors are wanted.
    hidden, epochs, batch_size, learning_rate, max_norm, random_state
        As in :func:`evaluate_reductions`; an equal seed trains the network behind its ``paper``.

    Returns
    -------
    list of ndarray of shape (epochs, number of reductions)
        For every watched set the error after each epoch.

    Examples
    --------
    >>> T = np.random.default_rng(0).standard_normal((60, 2))
    >>> new = T[40:], np.tanh(T[40:])
    >>> settings = {"epochs": 5, "random_state": 0}
    >>> (curve,) = watch_reductions([T[:40]], np.tanh(T[:40]), [([new[0]], new[1])], **settings)
    >>> one = evaluate_reduction(T[:40], np.tanh(T[:40]), *new, **settings)
    >>> bool((curve[:, 0] == one.test_curve).all())
    True
    """
    random = check_random_state(random_state)
    settings = _check_settings(hidden, epochs, batch_size, learning_rate, max_norm, random)
    sets = []
    for T, Y in watched:
        pairs, responses, watched_responses = _check_data(T_train, Y_train, T, Y)
        sets.append(([pair[1] for pair in pairs], watched_responses))
    if not sets:
        raise ValueError("watched is empty; expected at least one pair (T, Y).")
    return _error_curves([pair[0] for pair in pairs], responses, sets, **settings)


def _check_settings(
    hidden: int,
    epochs: int,
    batch_size: int,
    learning_rate: float,
    max_norm: float,
    random: np.random.RandomState,
) -> dict[str, Any]:
    """Return the settings of a training, its seed drawn from ``random``."""
    return {
        "hidden": check_integer(hidden, "hidden", low=1),
        "epochs": check_integer(epochs, "epochs", low=1),
        "batch_size": check_integer(batch_size, "batch_size", low=1),
        "learning_rate": check_positive(learning_rate, "learning_rate"),
        "max_norm": check_positive(max_norm, "max_norm"),
        "seed": int(random.randint(2**31)),
    }


def _error_curves(
    training: list[NDArray],
    targets: NDArray,
    sets: list[tuple[list[NDArray], NDArray]],
    *,
    hidden: int,
    seed: int,
    **settings: Any,
) -> list[NDArray]:
    """Train a network on each of B training sets; return for each set the errors (epochs, B)."""
    import torch  # deferred: importing steinsdr should not take torch's seconds

    from .._relu import ReluNetworks, train

    y = torch.as_tensor(targets)
    n_inputs = [T.shape[1] for T in training]
    # Double precision: it costs little here, and rounding cannot depend on what is side by side.
    networks = ReluNetworks(n_inputs, [hidden, y.shape[1]], seed=seed, dtype=y.dtype)
    inputs = torch.as_tensor(_standardized(training, training))
    data = [
        (torch.as_tensor(_standardized(points, training)), torch.as_tensor(Y)) for points, Y in sets
    ]
    epochs = train(networks, inputs, y, seed=seed, **settings)
    errors = [[networks.errors(points, Y) for points, Y in data] for _ in epochs]
    return list(np.array(errors).transpose(1, 0, 2))


def _standardized(points: list[NDArray], training: list[NDArray]) -> NDArray:
    """Return the points, scaled by their training rows, padded with zeros to (B, m, max r)."""
    width = max(T.shape[1] for T in points)
    stacked = np.zeros((len(points), len(points[0]), width))
    for out, T, train in zip(stacked, points, training, strict=True):
        # A column that is constant in the training rows says nothing: only centre it.
        scale = np.where(varying_columns(train), train.std(axis=0), 1.0)
        out[:, : T.shape[1]] = (T - train.mean(axis=0)) / scale
    return stacked


def _check_data(
    T_fit: Sequence[ArrayLike], Y_fit: ArrayLike, T_test: Sequence[ArrayLike], Y_test: ArrayLike
) -> tuple[list[tuple[NDArray, NDArray]], NDArray, NDArray]:
    """Return the pairs of reduced predictors and the two response matrices."""
    if not len(T_fit) or len(T_fit) != len(T_test):
        raise ValueError(
            f"T_fit holds {len(T_fit)} reduction(s) and T_test {len(T_test)}; expected as many, "
            "and at least one."
        )
    pairs = []
    for i, (first, second) in enumerate(zip(T_fit, T_test, strict=True)):
        fit = check_matrix(first, f"T_fit[{i}]", min_rows=MIN_ROWS)
        pairs.append((fit, check_matrix(second, f"T_test[{i}]", n_columns=fit.shape[1])))
    for name, side in (("T_fit", 0), ("T_test", 1)):
        rows = sorted({len(pair[side]) for pair in pairs})
        if len(rows) > 1:
            raise ValueError(f"{name} holds reductions with {rows} rows; they must be equal.")
    responses = check_responses(Y_fit, n_rows=len(pairs[0][0]), name="Y_fit")
    test_responses = check_responses(Y_test, n_rows=len(pairs[0][1]), name="Y_test")
    for name, Y in (("Y_fit", responses), ("Y_test", test_responses)):
        check_matrix(Y, name, n_columns=responses.shape[1])
    return pairs, responses, test_responses


# Predictions of the evaluation network, where :mod:`steinsdr.paper.network` gives its errors.


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
        As in :func:`steinsdr.paper.network.evaluate_reductions`.
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

    from .._relu import ReluNetworks, train

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
