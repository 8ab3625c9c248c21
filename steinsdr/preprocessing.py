r"""From read counts to predictors, and from one data set to the paper's four parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ._validation import check_integer, check_positive, check_share

__all__ = ["CPMLog", "Partition", "random_partition"]


class CPMLog(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Sequencing depth out, logarithm in: :math:`\log_2(10^6\, c_{ij} / \sum_j c_{ij} + 1)`.

    The sum runs over the columns given, so select genes after this step, not before. Each row is
    transformed by itself: nothing is learned, hence nothing leaks.

    Parameters
    ----------
    scale : float, default=1e6
        Counts per how many reads.

    Examples
    --------
    Depth does not matter:

    >>> counts = np.array([[1, 3, 4], [5, 0, 5]])
    >>> once, twice = (CPMLog().fit_transform(c) for c in (counts, 2 * counts))
    >>> bool(np.allclose(once, twice))
    True
    """

    def __init__(self, scale: float = 1e6) -> None:
        self.scale = scale

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Check the counts (n, p); there is nothing to learn."""
        check_positive(self.scale, "scale")
        self._check_counts(validate_data(self, X, dtype=np.float64))
        return self

    def transform(self, X: ArrayLike) -> NDArray:
        """Return the transformed counts (n, p)."""
        check_is_fitted(self, "n_features_in_")
        counts = validate_data(self, X, dtype=np.float64, reset=False)
        depth = self._check_counts(counts)
        return np.log2(counts / depth * self.scale + 1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    @staticmethod
    def _check_counts(counts: NDArray) -> NDArray:
        if (counts < 0).any():
            raise ValueError(
                f"Negative values in data passed to CPMLog: X has {np.sum(counts < 0)} of them; "
                "expected read counts."
            )
        depth = counts.sum(axis=1, keepdims=True)
        empty = np.flatnonzero(depth == 0)
        if empty.size:
            raise ValueError(
                f"X has {empty.size} row(s) without any count (first: row {empty[0]}); leave such "
                "cells out."
            )
        return depth


@dataclass(frozen=True)
class Partition:
    r"""Row numbers of the four disjoint parts of the paper's real-data section.

    Attributes
    ----------
    labeled : ndarray of int
        :math:`\mathcal T_\ell`: estimates the subspace.
    unlabeled : ndarray of int
        :math:`\mathcal T_u`: its responses are not to be looked at.
    fit : ndarray of int
        :math:`\mathcal T_f`: fits the link function.
    test : ndarray of int
        :math:`\mathcal V`.
    """

    labeled: NDArray
    unlabeled: NDArray
    fit: NDArray
    test: NDArray


def random_partition(
    n: int,
    train_ratio: float,
    gamma: float,
    rng: np.random.Generator,
    *,
    fit_ratio: float = 0.15,
    test_ratio: float = 0.05,
    fill: bool = False,
) -> Partition:
    r"""Split n rows at random into :math:`\mathcal T_\ell, \mathcal T_u, \mathcal T_f, \mathcal V`.

    Sizes are rounded shares of n; rows that no share claims stay unused unless ``fill`` is set. The
    parts are consecutive pieces of one permutation, test first: with an equal ``rng``, another
    ``gamma`` keeps the test and fitting rows and takes nested labeled rows, and so does another
    ``train_ratio`` (with ``fill`` its test rows are nested), so that columns of a table can be
    compared pair by pair.

    Parameters
    ----------
    n : int
        Number of rows.
    train_ratio : float
        Share of :math:`\mathcal T_{\ell,u} = \mathcal T_\ell \cup \mathcal T_u`.
    gamma : float
        Labeled share :math:`\gamma = |\mathcal T_\ell| / |\mathcal T_{\ell,u}|`.
    rng : numpy.random.Generator
    fit_ratio, test_ratio : float
        Shares of :math:`\mathcal T_f` and :math:`\mathcal V`.
    fill : bool, default=False
        Divide the three shares by their sum, so that every row belongs to a part.

    Raises
    ------
    ValueError
        If a share is outside (0, 1), all together exceed 1 or a part would be empty.

    Examples
    --------
    >>> parts = random_partition(1213, 0.6, 0.1, np.random.default_rng(0))
    >>> [len(rows) for rows in (parts.labeled, parts.unlabeled, parts.fit, parts.test)]
    [73, 655, 182, 61]
    >>> parts = random_partition(1213, 0.6, 0.1, np.random.default_rng(0), fill=True)
    >>> [len(rows) for rows in (parts.labeled, parts.unlabeled, parts.fit, parts.test)]
    [91, 819, 227, 76]
    """
    check_integer(n, "n", low=1)
    shares = {
        "train_ratio": train_ratio,
        "gamma": gamma,
        "fit_ratio": fit_ratio,
        "test_ratio": test_ratio,
    }
    for name, share in shares.items():
        check_share(share, name)
    total = train_ratio + fit_ratio + test_ratio
    if total > 1 + 1e-9:
        raise ValueError(f"train_ratio + fit_ratio + test_ratio is {total:g}; expected at most 1.")
    unit = n / total if fill else n
    n_test, n_fit = round(test_ratio * unit), round(fit_ratio * unit)
    n_train = n - n_test - n_fit if fill else min(round(train_ratio * n), n - n_test - n_fit)
    n_labeled = round(gamma * n_train)
    sizes = (n_test, n_fit, n_labeled, n_train - n_labeled)
    if min(sizes) < 1:
        raise ValueError(
            f"n={n} leaves a part empty: test, fit, labeled and unlabeled rows would number "
            f"{sizes}; expected at least 1 each."
        )
    pieces = np.split(rng.permutation(n), np.cumsum(sizes))
    test, fit, labeled, unlabeled = pieces[:4]
    return Partition(labeled=labeled, unlabeled=unlabeled, fit=fit, test=test)
