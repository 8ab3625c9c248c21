"""What every storey shares: checks of input, and advice on missing packages.

Every error names the argument, what was found and what was expected.
"""

from __future__ import annotations

import numbers
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, time, timedelta
from itertools import islice
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, cho_factor
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import _get_feature_names, check_array, validate_data


@contextmanager
def needs_extra(extra: str, user: str) -> Iterator[None]:
    """Say which extra of the package to install if an import inside the block fails.

    Parameters
    ----------
    extra : {"nn", "report", "paper"}
        Name of the extra that brings the package.
    user : str
        What needs the package, the beginning of the message.

    Raises
    ------
    ImportError
        If a package inside the block is not installed.

    Examples
    --------
    >>> with needs_extra("nn", "DenoisingScore"):
    ...     import a_package_that_nobody_has
    Traceback (most recent call last):
    ImportError: DenoisingScore needs a_package_that_nobody_has; in a copy of the repository: ...
    """
    try:
        yield
    except ModuleNotFoundError as error:
        advice = f"{user} needs {error.name}; in a copy of the repository: pip install '.[{extra}]'"
        raise ImportError(advice, name=error.name) from error


class InstanceWith(HasMethods):
    """Parameter constraint: an object with these methods, not the class of such objects."""

    def is_satisfied_by(self, val: Any) -> bool:
        """Return whether ``val`` is such an object."""
        return not isinstance(val, type) and super().is_satisfied_by(val)


def _as_number(value: Any) -> float:
    """Return a real number as a float, and anything else as NaN, which no range contains."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return np.nan
    try:
        return float(value)
    except OverflowError:  # an integer beyond all floats
        return np.inf if value == abs(value) else -np.inf


def check_positive(value: Any, name: str) -> float:
    """Return ``value`` as a float if it is a finite number above zero."""
    if not 0 < _as_number(value) < np.inf:
        raise ValueError(f"{name} must be a positive finite number; got {value!r}.")
    return float(value)


def check_nonnegative(value: Any, name: str) -> float:
    """Return ``value`` as a float if it is a finite number, zero or above."""
    if not 0 <= _as_number(value) < np.inf:
        raise ValueError(f"{name} must be a finite number, zero or above; got {value!r}.")
    return float(value)


def check_share(value: Any, name: str, *, one: bool = False) -> float:
    """Return ``value`` as a float if it is above 0 and below 1, or 1 if ``one`` is true.

    Examples
    --------
    >>> check_share(1, "energy", one=True)
    1.0
    """
    if not (0 < _as_number(value) < 1 or (one and _as_number(value) == 1)):
        raise ValueError(f"{name} must be in (0, 1{']' if one else ')'}; got {value!r}.")
    return float(value)


def check_integer(value: Any, name: str, *, low: int, high: int = sys.maxsize) -> int:
    """Return ``value`` as an int if it is an integer in [low, high], by default one for a size."""
    is_integer = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not is_integer or not low <= value <= high:
        either = high < sys.maxsize or (is_integer and value > high)
        bound = f"between {low} and {high}" if either else f"at least {low}"
        raise ValueError(f"{name} must be an integer {bound}; got {value!r}.")
    return int(value)


def check_boolean(value: Any, name: str) -> None:
    """Raise if ``value`` is neither True nor False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False; got {value!r}.")


def check_limit(value: Any, name: str) -> None:
    """Raise if ``value`` is no number to compare with; an infinite limit is never exceeded."""
    if np.isnan(_as_number(value)):
        raise ValueError(f"{name} must be a number; got {value!r}.")


def check_path(value: Any, name: str, *, optional: bool = False) -> None:
    """Raise if ``value`` is neither text nor a path, nor None if ``optional``."""
    if not isinstance(value, str | os.PathLike) and not (optional and value is None):
        raise ValueError(f"{name} must be a path; got {value!r}.")


def check_choice(value: Any, name: str, choices: Collection[str]) -> str:
    """Return ``value`` if it is one of the names in ``choices``."""
    if not isinstance(value, str) or value not in choices:
        known = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {known}; got {value!r}.")
    return value


def check_definite(matrix: NDArray, what: str, cause: str = "X") -> None:
    """Raise if rounding leaves a covariance without a Cholesky factor; name the argument."""
    try:
        cho_factor(matrix)
    except LinAlgError as error:
        raise ValueError(
            f"{cause}: columns are linear combinations of others but for rounding, so {what} is "
            "not positive definite; leave such columns out."
        ) from error


def check_divisor(value: float, what: str, cause: str = "X") -> None:
    """Raise if a number by which is divided is zero or not finite; name the argument at fault."""
    if not np.isfinite(value) or value == 0:
        raise ValueError(
            f"{cause}: {what} is {value}, because values are too far from 1 or vanish; rescale."
        )


def check_parameters(estimator: Any) -> None:
    """Raise if a parameter of an estimator is none that it declares, before one is used."""
    estimator._validate_params()


def check_number_parameters(estimator: Any) -> None:
    """Raise if a parameter lies in a declared range of numbers but cannot be calculated with.

    scikit-learn's ranges hold True, which it takes for 1, integers that are too large for a size
    or a float, and short integers of NumPy, whose products overflow.

    Examples
    --------
    >>> from sklearn.decomposition import PCA
    >>> check_number_parameters(PCA(n_components=True))
    Traceback (most recent call last):
    ValueError: n_components must be a number; got True.
    """
    declared = getattr(estimator, "_parameter_constraints", {})
    for name, value in estimator.get_params(deep=False).items():
        ranges = [c for c in declared.get(name, ()) if isinstance(c, Interval)]
        if not ranges or "boolean" in declared[name] or not isinstance(value, numbers.Integral):
            continue
        counts = all(c.type is numbers.Integral for c in ranges)
        if isinstance(value, bool):
            raise ValueError(f"{name} must be a number; got True.")
        if abs(int(value)) > (sys.maxsize if counts else sys.float_info.max):
            raise ValueError(f"{name} is too large for a {'size' if counts else 'float'}: {value}.")
        if isinstance(value, np.integer) and value.itemsize < 8:
            raise ValueError(
                f"{name} is {value!r}, an integer too short for products; expected int({name})."
            )


def check_plain_number(value: Any, name: str) -> None:
    """Raise if ``value`` is an integer of NumPy, which PyTorch does not take for one of Python."""
    if isinstance(value, np.integer):
        raise ValueError(f"{name} must be a number of Python for PyTorch; got {value!r}.")


def check_single_precision(value: float, name: str) -> None:
    """Raise if sums of the squares of a number or of its inverse exceed single precision."""
    if not 1e-15 < value < 1e15:
        raise ValueError(
            f"{name} must be between 1e-15 and 1e15 for a network in single precision; got {value}."
        )


def check_shape(value: Any, name: str, shape: tuple[int | str, ...]) -> None:
    """Raise if an array has another shape; text stands for a length that is free.

    Examples
    --------
    >>> check_shape(np.eye(2), "covs", ("k", 2, 2))
    Traceback (most recent call last):
    ValueError: covs has shape (2, 2); expected (k, 2, 2).
    """
    found = np.shape(value)
    fixed = (isinstance(e, str) or n == e for n, e in zip(found, shape, strict=False))
    if len(found) != len(shape) or not all(fixed):
        raise ValueError(f"{name} has shape {found}; expected ({', '.join(map(str, shape))}).")


def check_generator(value: Any, name: str = "rng") -> None:
    """Raise if ``value`` is no generator of random numbers."""
    if not isinstance(value, np.random.Generator):
        raise ValueError(f"{name} must be a numpy.random.Generator; got {value!r}.")


def check_matrix(
    value: ArrayLike, name: str, *, n_columns: int | None = None, min_rows: int = 1
) -> NDArray:
    """Return ``value`` as a finite float64 matrix (n, p).

    Raises
    ------
    ValueError
        If it is not numeric, not two-dimensional, holds NaN or infinity, has fewer
        than ``min_rows`` rows or another number of columns than ``n_columns``.
    """
    array = _numbers(value, name)
    if array.shape[0] < min_rows:
        raise ValueError(f"{name} has {array.shape[0]} row(s); at least {min_rows} are needed.")
    if n_columns is not None and array.shape[1] != n_columns:
        raise ValueError(f"{name} has {array.shape[1]} column(s); expected {n_columns}.")
    return array


def check_points(
    estimator: Any,
    X: ArrayLike,
    *,
    min_rows: int = 1,
    reset: bool = True,
    order: Literal["C"] | None = None,
) -> NDArray:
    """Return X as a finite float64 matrix (n, p), and record or compare names and columns.

    The gate of every ``fit`` (``reset=True``) and of every method of a fitted estimator. In a fit
    each column that varies has a variance that is a positive finite number, and parameters in a
    range of numbers are numbers to calculate with.
    """
    if reset:
        check_number_parameters(estimator)
    check_numeric_columns(X, "X")
    with _naming("X"):
        points = validate_data(
            estimator,
            X,
            dtype=np.float64,
            order=order,
            ensure_all_finite=False,
            ensure_min_samples=min_rows,
            reset=reset,
        )
    names = getattr(estimator, "feature_names_in_", None)
    _check_finite(points, "X", names)
    if reset:
        check_spread(points, "X", names)
    return points


def check_responses(Y: ArrayLike, *, n_rows: int, name: str = "y", missing: bool = True) -> NDArray:
    """Return Y as a float64 matrix (n, q); infinity is refused, and NaN unless ``missing``.

    A one-dimensional response becomes a single column.
    """
    if Y is None:
        raise ValueError(
            "requires y to be passed, but the target y is None: expected responses of shape (n, q)."
        )
    array = _numbers(Y, name, flat=True, missing=missing)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(f"{name} has shape {array.shape}; expected (n,) or (n, q) with q >= 1.")
    if array.shape[0] != n_rows:
        raise ValueError(f"{name} has {array.shape[0]} row(s) but X has {n_rows}; they must match.")
    check_spread(array, name)
    return array


def check_spread(array: NDArray, name: str, names: Sequence[str] | None = None) -> None:
    """Raise if the variance of a column that varies is too large or too small for a number."""
    known = np.where(np.isnan(array), 0.0, array)
    with np.errstate(all="ignore"):
        mean = known.sum(axis=0) / np.maximum(np.sum(~np.isnan(array), axis=0), 1)
        squares = np.nansum(np.square(array - mean), axis=0)
        sizes = np.square(known).sum(axis=0)
        bad = ~np.isfinite(squares) | ~np.isfinite(sizes)
        bad |= (squares < np.finfo(float).tiny) & varying_columns(
            np.where(np.isnan(array), mean, array)
        )
        total = sizes.sum()
    if bad.any() or not np.isfinite(total):
        columns = _named(bad if bad.any() else sizes == sizes.max(), names)
        raise ValueError(
            f"{name} holds values too large or too small for a variance that is a positive finite "
            f"number, in column(s) {columns}; rescale its columns."
        )


def check_result(result: NDArray, what: str, cause: str = "X") -> NDArray:
    """Return a result if it is finite; else say what is not, and which argument is at fault."""
    if not np.isfinite(result).all():
        raise ValueError(
            f"{cause}: the values are too far from 1 for {what} to be finite numbers; rescale."
        )
    return result


def check_numeric_columns(value: Any, name: str) -> None:
    """Raise if an array or a frame holds dates, text, complex or masked values, or repeats names.

    What is left, lists and objects that are numbers among them, is converted by scikit-learn.

    Examples
    --------
    >>> check_numeric_columns(np.array(["2020-01-01"], dtype="datetime64[D]"), "y")
    Traceback (most recent call last):
    ValueError: y: not numeric: dates or times in column(s) 0; ...
    """
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        masked = _named(np.atleast_2d(np.ma.getmaskarray(value)).any(axis=0))
        raise ValueError(
            f"{name} is a masked array with masked values in column(s) {masked}; fill them or "
            "leave their rows out, since the mask would be lost."
        )
    if hasattr(value, "columns") and hasattr(value, "iloc"):
        repeated = value.columns[value.columns.duplicated()]
        if len(repeated):
            raise ValueError(
                f"{name} has column names that repeat ({listed(map(repr, repeated))}); every "
                "column needs a name of its own."
            )
        kinds = {repr(c): _kind(value.iloc[:, j]) for j, c in enumerate(value.columns)}
    elif hasattr(value, "__dask_graph__") or not hasattr(value, "__array__"):
        if not isinstance(value, (list, tuple)) or hasattr(value, "__dask_graph__"):
            return
        try:
            array = np.asarray(value)
        except ValueError:  # ragged: scikit-learn says so
            return
        return check_numeric_columns(array, name) if array.dtype.kind not in "biuf" else None
    else:
        array = np.asarray(value)
        if array.dtype.kind in "biuf" or not array.size:
            return
        columns = array.reshape(-1, array.shape[-1] if array.ndim > 1 else 1)
        kinds = {str(j): _kind(column) for j, column in enumerate(columns.T)}
    wrong = {column: kind for column, kind in kinds.items() if kind}
    if wrong:
        found = ", ".join(dict.fromkeys(kind for kind in wrong.values() if kind))
        raise ValueError(
            f"{name}: not numeric: {found} in column(s) {listed(wrong)}; every column must be "
            "numbers. Leave such columns out; of dates, take differences in days."
        )


def check_numbers(value: Any, name: str) -> None:
    """Raise if an array of any shape, or a single value, cannot be converted to float64."""
    check_numeric_columns(value, name)
    with _naming(name):
        np.asarray(value, dtype=np.float64)


def check_names(value: Any, name: str) -> None:
    """Raise if a frame names only some of its columns by text, which scikit-learn refuses."""
    with _naming(name):
        _get_feature_names(value)


def check_groups(value: Any) -> None:
    """Raise if group labels are no array of single values, or are missing as in pandas."""
    with _naming("groups"):
        labels = np.asarray(value)
    if labels.dtype.kind == "V" or labels.ndim != 1:
        raise ValueError(
            f"groups is an array of shape {labels.shape} and type {labels.dtype}; expected one "
            "label for every row, numbers or text."
        )
    missing = sum(type(label).__name__ == "NAType" for label in labels)  # has no truth value
    if missing:
        raise ValueError(f"groups has {missing} missing value(s); every row needs a group.")


def check_weights(value: Any, *, n_rows: int) -> None:
    """Raise if sample weights are neither one number nor finite numbers (n,)."""
    check_numbers(value, "sample_weight")
    array = np.asarray(value, dtype=np.float64)
    _check_finite(np.atleast_1d(array), "sample_weight")
    if array.ndim and array.shape != (n_rows,):
        raise ValueError(
            f"sample_weight has shape {array.shape}; expected ({n_rows},), one for every row of X."
        )


def check_products(first: NDArray, second: NDArray, names: str) -> None:
    """Raise if the squares of the products of two matrices' columns are no numbers."""
    with np.errstate(all="ignore"):
        size = np.square(np.linalg.norm(first) * np.linalg.norm(second))
    if not np.isfinite(size) or (size < np.finfo(float).tiny and first.any() and second.any()):
        raise ValueError(
            f"{names}: the values are too far from 1 for the squares of their products to be "
            "numbers; rescale."
        )


def _kind(column: Any) -> str | None:
    """Return what a column holds in place of numbers, None if scikit-learn is to decide."""
    kind = getattr(column.dtype, "kind", "O")
    if kind in "mM":
        return "dates or times"
    if kind == "c":
        return "Complex data not supported"
    values = np.asarray(column, dtype=object) if kind in "OUST" else np.empty(0)
    if any(isinstance(v, (date, time, timedelta, np.datetime64, np.timedelta64)) for v in values):
        return "dates or times"
    if any(isinstance(v, complex) for v in values):
        return "Complex data not supported"
    for value in values:
        if isinstance(value, (str, bytes)):
            try:
                float(value)
            except ValueError:
                return f"text such as {value!r}"
    return None


def _numbers(value: Any, name: str, *, flat: bool = False, missing: bool = False) -> NDArray:
    """Return a float64 array, refused by type or by values with the argument's name."""
    check_numeric_columns(value, name)
    names = [repr(c) for c in value.columns] if hasattr(value, "columns") else None
    with _naming(name):
        array = check_array(
            value,
            dtype=np.float64,
            ensure_2d=not flat,
            ensure_all_finite=False,
            ensure_min_samples=1,
            input_name=name,
        )
    _check_finite(array, name, names, missing=missing)
    return array


class _BadData(ValueError, TypeError):
    """A ValueError as for all bad input, and the TypeError that scikit-learn's checks ask for."""


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Let every error of a conversion be a ValueError that begins with the argument's name."""
    try:
        with np.errstate(over="ignore"):  # of long doubles: infinity is refused afterwards
            yield
    except (ArithmeticError, TypeError, ValueError) as error:
        text = str(error)
        raise _BadData(text if text.startswith(f"{name} ") else f"{name}: {text}") from error


def _check_finite(
    array: NDArray, name: str, names: Sequence[str] | None = None, *, missing: bool = False
) -> None:
    """Raise if a column holds infinity, or NaN unless ``missing``; name both."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(array.sum()):  # the common case, in one pass
            return
    for found, bad in (("NaN", np.isnan(array) & (not missing)), ("infinity", np.isinf(array))):
        if bad.any():
            where = _named(bad.reshape(len(bad), -1).any(axis=0), names)
            raise ValueError(
                f"{name} contains {found} in column(s) {where}, first in row "
                f"{int(np.argmax(bad.reshape(len(bad), -1).any(axis=1)))}; expected finite numbers."
            )


def _named(mask: ArrayLike, names: Sequence[str] | None = None) -> str:
    """Return the names, or else the numbers, of the columns in a mask."""
    return listed(j if names is None else names[j] for j in np.flatnonzero(mask).tolist())


def check_same_rows(X: NDArray, Y: NDArray, *, name: str = "X") -> None:
    """Raise if Y has another number of rows than X, which the error calls ``name``."""
    if len(X) != len(Y):
        raise ValueError(f"{name} has {len(X)} row(s) but Y has {len(Y)}; they must match.")


def split_labeled(Y: NDArray, *, name: str = "y") -> NDArray:
    """Return the mask of labeled rows; a row that is all NaN has no label.

    Raises
    ------
    ValueError
        If a row is partly missing, since the method does not impute.
    """
    missing = np.isnan(Y)
    unlabeled = missing.all(axis=1)
    partly = np.flatnonzero(missing.any(axis=1) & ~unlabeled)
    if partly.size:
        raise ValueError(
            f"{name} has {partly.size} row(s) that are partly NaN (first: row {partly[0]}); "
            "a row must be complete, or all NaN to count as unlabeled."
        )
    return ~unlabeled


class SequenceOf(HasMethods):
    """Parameter constraint: a sequence of one value or more inside an interval.

    Examples
    --------
    >>> widths = SequenceOf(Interval(numbers.Integral, 1, None, closed="left"))
    >>> [widths.is_satisfied_by(value) for value in ((256, 128), (8, 0), (), 16)]
    [True, False, False, False]
    """

    def __init__(self, member: Interval) -> None:
        super().__init__("__len__")
        self.member = member

    def is_satisfied_by(self, val: Any) -> bool:
        """Return whether ``val`` is such a sequence."""
        return np.ndim(val) == 1 and len(val) > 0 and all(map(self.member.is_satisfied_by, val))

    def __str__(self) -> str:
        return f"a sequence whose values are each {self.member}"


def varying_columns(X: NDArray) -> NDArray:
    """Return the mask (p,) of columns that vary by more than the rounding of their values.

    Examples
    --------
    >>> varying_columns(np.array([[0.1, 1.0], [0.1, 2.0]])).tolist()
    [False, True]
    """
    # Compare with the column's own magnitude: a constant such as 0.1 is not exact in binary.
    return np.ptp(X, axis=0) > 1e-12 * np.abs(X).max(axis=0)


def check_not_constant(X: NDArray, name: str, feature_names: Sequence[str] | None = None) -> None:
    """Raise if a column of X has no variation: then x has no density, hence no score."""
    constant = np.flatnonzero(~varying_columns(X))
    if constant.size:
        labels: Any = range(X.shape[1]) if feature_names is None else feature_names
        shown = listed(labels[j] for j in constant)
        raise ValueError(
            f"{name} has {constant.size} constant column(s) ({shown}); every column must vary. "
            "Drop them first, for example with sklearn.feature_selection.VarianceThreshold."
        )


def listed(names: Iterable[Any]) -> str:
    """Return the first five names, with commas, for a message.

    Examples
    --------
    >>> listed(range(7))
    '0, 1, 2, 3, 4, ...'
    """
    shown = [str(name) for name in islice(names, 6)]
    return ", ".join(shown[:5] + ["..."] * (len(shown) > 5))


def mean_and_scale(X: NDArray, standardize: bool = True) -> tuple[NDArray, NDArray]:
    """Return mean and standard deviation (divisor n) of the columns, or 0 and 1, shape (p,) each.

    A score s of z = (x - mean) / scale is the score s / scale of x.
    """
    if not standardize:
        return np.zeros(X.shape[1]), np.ones(X.shape[1])
    return X.mean(axis=0), X.std(axis=0)


def is_dask(value: Any) -> bool:
    """Return whether a value is a Dask collection, without importing Dask."""
    return hasattr(value, "__dask_graph__")
