"""What every storey shares: checks of input, and advice on missing packages.

Every error names the argument, what was found and what was expected.
"""

from __future__ import annotations

import numbers
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, time, timedelta
from itertools import islice
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import HasMethods, Interval, make_constraint
from sklearn.utils.validation import _get_feature_names, check_array, validate_data

_KINDS = {"M": "dates or times", "m": "dates or times", "c": "Complex data not supported"}


@contextmanager
def needs_extra(extra: str, user: str) -> Iterator[None]:
    """Say which extra of the package to install if an import inside the block fails.

    ``user`` is what needs the package, the beginning of the ImportError's text.

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


def check_argument(value: Any, name: str, *allowed: Any) -> None:
    """Raise if ``value`` meets none of the constraints ``allowed``, which are scikit-learn's.

    Neither does a number in a range that cannot be calculated with: True, an integer that is too
    large for a size or a float, and a short integer of NumPy, whose products overflow.

    Examples
    --------
    >>> check_argument(1.5, "level", Interval(numbers.Real, 0, 1, closed="neither"))
    Traceback (most recent call last):
    ValueError: level must be a float in the range (0.0, 1.0); got 1.5.
    """
    constraints = [make_constraint(one) for one in allowed]
    ranges = [one for one in constraints if isinstance(one, Interval)]
    expected = " or ".join(map(str, constraints))
    if ranges and isinstance(value, numbers.Integral):
        sizes = all(one.type is numbers.Integral for one in ranges)
        too_large = abs(int(value)) > (sys.maxsize if sizes else sys.float_info.max)
        if isinstance(value, bool) or too_large or getattr(value, "itemsize", 8) < 8:
            raise ValueError(
                f"{name} is {value!r}, with which one cannot calculate; expected {expected}."
            )
    if not any(one.is_satisfied_by(value) for one in constraints):
        raise ValueError(f"{name} must be {expected}; got {value!r}.")


def check_parameters(estimator: Any) -> None:
    """Raise if a parameter with a declared range of numbers cannot be calculated with."""
    declared = getattr(estimator, "_parameter_constraints", {})
    for name, value in estimator.get_params(deep=False).items():
        if any(isinstance(one, Interval) for one in declared.get(name, ())):
            check_argument(value, name, *declared[name])


def check_integer(value: Any, name: str, *, low: int, high: int = sys.maxsize) -> int:
    """Return ``value`` as an int if it is an integer in [low, high], by default one for a size."""
    is_integer = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not is_integer or not low <= value <= high:
        either = high < sys.maxsize or (is_integer and value > high)
        bound = f"between {low} and {high}" if either else f"at least {low}"
        raise ValueError(f"{name} must be an integer {bound}; got {value!r}.")
    return int(value)


def check_choice(value: Any, name: str, choices: Collection[str]) -> str:
    """Return ``value`` if it is one of the names in ``choices``."""
    if not isinstance(value, str) or value not in choices:
        known = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {known}; got {value!r}.")
    return value


def check_shape(value: Any, name: str, shape: tuple[int, ...]) -> None:
    """Raise if ``value`` is no array of k arrays of this shape."""
    found = np.shape(value)
    if found[1:] != shape or len(found) < 2:
        raise ValueError(f"{name} has shape {found}; expected (k, {', '.join(map(str, shape))}).")


def check_matrix(
    value: ArrayLike, name: str, *, n_columns: int | None = None, min_rows: int = 1
) -> NDArray:
    """Return ``value`` as a finite float64 matrix (n, p) with at least ``min_rows`` rows."""
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
        check_parameters(estimator)
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
    elif is_dask(value) or not (hasattr(value, "__array__") or isinstance(value, list | tuple)):
        return
    else:
        try:
            array = np.asarray(value)
        except ValueError:  # ragged: scikit-learn says so
            return
        if array.dtype.kind in "biuf" or not array.size:
            return
        columns = array.reshape(-1, array.shape[-1] if array.ndim > 1 else 1)
        kinds = {str(j): _kind(column) for j, column in enumerate(columns.T)}
    wrong = {column: kind for column, kind in kinds.items() if kind}
    if wrong:
        found = ", ".join(dict.fromkeys(wrong.values()))
        raise ValueError(
            f"{name}: not numeric: {found} in column(s) {listed(wrong)}; every column must be "
            "numbers. Leave such columns out; of dates, take differences in days."
        )


def _kind(column: Any) -> str:
    """Return what a column holds in place of numbers, "" if scikit-learn is to decide."""
    kind = getattr(column.dtype, "kind", "O")
    for value in np.asarray(column, dtype=object) if kind in "OUST" else ():
        if isinstance(value, date | time | timedelta | np.datetime64 | np.timedelta64):
            return _KINDS["M"]
        if isinstance(value, complex):
            return _KINDS["c"]
        if isinstance(value, str | bytes):
            try:
                float(value)
            except ValueError:
                return f"text such as {value!r}"
    return _KINDS.get(kind, "")


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


def check_products(first: NDArray, second: NDArray, names: str) -> None:
    """Raise if the squares of the products of two matrices' columns are no numbers."""
    with np.errstate(all="ignore"):
        size = np.square(np.linalg.norm(first) * np.linalg.norm(second))
    if not np.isfinite(size) or (size < np.finfo(float).tiny and first.any() and second.any()):
        raise ValueError(
            f"{names}: the values are too far from 1 for the squares of their products to be "
            "numbers; rescale."
        )


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

    It is a ValueError if a row is partly missing, since the method does not impute.
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
