"""Which part of a table a model is given, and in which form.

A scikit-learn estimator gets the columns that it was fitted with, as a frame or an array (:func:`choose_features`,
:func:`input_for`). A compiled model gets arrays of its own type: columns are chosen (:func:`columns_for`), converted
with errors that name column and value (:func:`converted`, :func:`matrix`), and cut into portions of the size that the
model can take (:func:`in_portions`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from isonomia.errors import ModelError, nearest
from isonomia.populations.table import RECORDS, Table, plain_value


def fitted_names(estimator: Any) -> tuple[str, ...] | None:
    """The names of the columns that an estimator was fitted with; ``None`` if it knows none.

    ``Column_0``, ``Column_1``, ... do not count: some libraries make them up for arrays.
    """
    fitted = getattr(estimator, "feature_names_in_", None)
    if fitted is None:
        return None
    names = tuple(str(name) for name in fitted)
    return None if names == tuple(f"Column_{i}" for i in range(len(names))) else names


def _fitted_width(estimator: Any) -> int | None:
    """How many columns an estimator was fitted with; ``None`` if it does not say."""
    width: int | None = getattr(estimator, "n_features_in_", None)
    return width


def steps_of(estimator: Any) -> list[tuple[str, Any]]:
    """The named steps of a pipeline; empty for another estimator."""
    steps = getattr(estimator, "steps", None)
    return steps if isinstance(steps, list) else []


def choose_features(estimator: Any, table: Table, features: tuple[str, ...] | None) -> Table:
    """Keep the columns that an estimator takes, in its order.

    They are those that the user named, else those it was fitted with, else all of them if their number is right.
    """
    if table.kind == RECORDS:
        if features is not None:
            raise ModelError(
                f"a batch of {table.names[0]}s has no columns to choose from. Leave features out.", name="features"
            )
        return table
    wanted = features or fitted_names(estimator)
    if wanted is not None:
        _check_present(type(estimator).__name__, wanted, table.names)
        return table.select(wanted)
    expected = _fitted_width(estimator)
    if expected is not None and expected != len(table.names):
        raise ModelError(
            f"{type(estimator).__name__} was fitted on {expected} columns without names, but the table has "
            f"{len(table.names)}: {', '.join(map(repr, table.names))}. Say which ones to give it, in its order: "
            "features=[...]."
        )
    return table


def _check_present(name: str, wanted: Sequence[str], columns: Sequence[str]) -> None:
    missing = [column for column in wanted if column not in columns]
    if missing:
        raise ModelError(
            f"{name} needs columns that the table does not have: {', '.join(map(repr, missing))}."
            f"{nearest(missing[0], columns)} Add them to the table, or name the right ones: features=[...].",
            name=missing[0],
        )


def input_for(estimator: Any, table: Table) -> Any:
    """A table in the form that an estimator was fitted on.

    Fitted with names: a pandas or polars frame as it is, any other kind as a pandas frame if pandas is installed.
    Fitted without: a two-dimensional array. An estimator that says neither gets the user's own kind of table. In a
    batch of arrays that is not a table, each array is flattened to one row, if the estimator takes as many numbers.
    """
    if table.kind == RECORDS:
        return _flattened(estimator, table)
    if _reads_texts(estimator):
        return _texts(estimator, table)
    if fitted_names(estimator) is None:
        says_number = _fitted_width(estimator) is not None
        return _stacked(table) if says_number or table.kind in {"columns", "rows"} else table.native
    if table.kind in {"pandas", "polars"}:
        return table.native
    if find_spec("pandas") is None:
        return _stacked(table)
    import pandas as pd

    return pd.DataFrame({name: table.column(name) for name in table.names})


_READ_TEXTS = ("CountVectorizer", "HashingVectorizer", "TfidfVectorizer")
"""Steps of scikit-learn that take a list of texts instead of a table."""


def _reads_texts(estimator: Any) -> bool:
    steps = steps_of(estimator)
    return bool(steps) and type(steps[0][1]).__name__ in _READ_TEXTS


def _texts(estimator: Any, table: Table) -> list[Any]:
    """The single column of texts that such an estimator takes."""
    if len(table.names) == 1:
        return list(table.column(table.names[0]))
    first = type(estimator.steps[0][1]).__name__
    raise ModelError(
        f"{type(estimator).__name__} takes texts, since its first step is {first}, but the table has "
        f"{len(table.names)} columns: {', '.join(map(repr, table.names[:8]))}. Name the one with the text, "
        "features=[...]; for properties of texts that are changed, use iso.Texts(texts)."
    )


def _flattened(estimator: Any, table: Table) -> Any:
    """A batch in the form that an estimator was fitted on, if it says how many numbers per row had."""
    native, expected = table.native, _fitted_width(estimator)
    if expected is None:
        return native
    arrays = native if isinstance(native, np.ndarray) else [np.asarray(record) for record in native]
    sizes = sorted({record.size for record in arrays})
    if sizes == [expected] and all(record.dtype.kind in "biuf" for record in arrays):
        return np.stack([record.reshape(-1) for record in arrays])
    if isinstance(native, np.ndarray) and native.ndim > 2 and native.shape[1] == expected:
        return native  # fitted on such arrays: scikit-learn counts along the second dimension
    size_text = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    raise ModelError(
        f"{type(estimator).__name__} was fitted on rows of {expected:,} numbers, but each {table.names[0]} has "
        f"{size_text}. Wrap it in a function that computes its features first."
    )


def _stacked(table: Table) -> Any:
    if table.kind == "array":
        return table.native
    columns = [table.column(name) for name in table.names]
    numeric = all(column.dtype.kind in "biuf" for column in columns)
    return np.column_stack([column.astype(np.float64 if numeric else object) for column in columns])


@contextmanager
def quiet_about_names(given: Any) -> Iterator[None]:
    """Silence the warning that an array has no column names, which is expected without pandas."""
    if not isinstance(given, np.ndarray):
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


def columns_for(name: str, table: Table, wanted: Sequence[str] | None, width: int | None) -> tuple[str, ...]:
    """Choose the columns that a model takes, in its order: those wanted, or all if their number is right."""
    if wanted is None:
        if width is not None and width != len(table.names):
            raise ModelError(
                f"{name} takes {width} columns and does not know their names, but the table has {len(table.names)}: "
                f"{', '.join(map(repr, table.names))}. Say which ones to give it, in its order: features=[...]."
            )
        return table.names
    _check_present(name, wanted, table.names)
    if width is not None and len(wanted) != width:
        raise ModelError(
            f"{name} takes {width} columns, but features names {len(wanted)}: {', '.join(map(repr, wanted))}."
        )
    return tuple(wanted)


def matrix(name: str, table: Table, columns: Sequence[str], dtype: DTypeLike) -> NDArray[Any]:
    """Put columns of numbers side by side, as rows of one array in C order."""
    whole = _at_once(table, columns)
    if whole is not None and np.dtype(dtype).kind == "f":
        return _narrowed(name, table, columns, whole, np.dtype(dtype))
    by_column = np.empty((len(columns), table.rows), dtype)
    for index, column in enumerate(columns):
        by_column[index] = converted(name, column, table.column(column), dtype)
    return np.ascontiguousarray(by_column.T)


def _at_once(table: Table, columns: Sequence[str]) -> NDArray[Any] | None:
    """All columns in one conversion, if the table's library can do it and every column is plain numbers."""
    match table.kind:
        case "array":
            return np.asarray(table.select(columns).native) if table.native.dtype.kind in "biuf" else None
        case "pandas":
            return _of_pandas(table.native if tuple(columns) == table.names else table.native[list(columns)])
        case "polars":
            frame = table.native.select(columns)
            plain = all(kind.is_integer() or kind.is_float() for kind in frame.dtypes)
            return np.asarray(frame.to_numpy()) if plain else None
        case "pyarrow":
            return _of_arrow([table.native.column(column) for column in columns])
        case _:
            return None


def _of_pandas(frame: Any) -> NDArray[Any] | None:
    plain = all(isinstance(kind, np.dtype) and kind.kind in "biuf" for kind in frame.dtypes)
    return np.asarray(frame.to_numpy()) if plain else None


def _of_arrow(columns: Sequence[Any]) -> NDArray[Any] | None:
    numbers = ("int", "uint", "float", "double", "halffloat")
    plain = all(str(column.type).startswith(numbers) and not column.null_count for column in columns)
    return np.column_stack([column.to_numpy() for column in columns]) if plain and columns else None


def _narrowed(
    name: str, table: Table, columns: Sequence[str], whole: NDArray[Any], dtype: np.dtype[Any]
) -> NDArray[Any]:
    with np.errstate(over="ignore"):
        # Narrow first, in memory order: data frames hold columns, and rows are gathered much faster from the narrower
        # numbers.
        result = whole.astype(dtype, order="K", copy=False)
    if dtype.itemsize < whole.dtype.itemsize and np.isinf(result).any():
        for column in columns:
            converted(name, column, table.column(column), dtype)
    return np.ascontiguousarray(result)


def converted(name: str, column: str, values: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    """Convert one column to the type that a model takes.

    A number is rounded to the width of the type. Whole numbers must be whole, truth values 0 or 1. A missing value
    becomes NaN if the type has it.
    """
    target = np.dtype(dtype)
    match target.kind:
        case "O" | "U":
            return _text(name, column, values)
        case "f":
            return _floats(name, column, values, target)
        case _:
            return _whole(name, column, values, target)


def _floats(name: str, column: str, values: NDArray[Any], target: np.dtype[Any]) -> NDArray[Any]:
    if values.dtype.kind not in "biuf":
        values = _from_truth_values(name, column, values)
    with np.errstate(over="ignore"):
        result = values.astype(target)
    if target.itemsize < 8:
        refuse(name, column, values, np.isinf(result) & ~np.isinf(values), f"numbers that fit into {target}")
    return result


def _whole(name: str, column: str, values: NDArray[Any], target: np.dtype[Any]) -> NDArray[Any]:
    expected = "truth values, or 0 and 1" if target.kind == "b" else f"whole numbers that fit into {target}"
    if values.dtype.kind not in "biuf":
        values = _from_truth_values(name, column, values)
    with np.errstate(invalid="ignore"):
        result = values.astype(target)
    refuse(name, column, values, result != values, expected)
    return result


def _text(name: str, column: str, values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind in "biufMm":
        raise ModelError(
            f"{name} takes text in column {column!r}, but the column is {values.dtype}: convert it to text.",
            name=column,
        )
    refuse(name, column, values, np.array([not isinstance(value, str) for value in values]), "text and not missing")
    return values.astype(object)


def _from_truth_values(name: str, column: str, values: NDArray[Any]) -> NDArray[Any]:
    """Numbers from a column of objects, such as truth values of which some are missing."""
    if values.dtype.kind in "Mm":
        raise ModelError(f"{name} takes numbers in column {column!r}, but the column holds dates or times.")
    refused = np.array([not (value is None or isinstance(value, bool | int | float)) for value in values])
    refuse(name, column, values, refused, "numbers")
    return np.array([np.nan if value is None else float(value) for value in values])


def refuse(name: str, column: str, values: NDArray[Any], refused: NDArray[Any], expected: str) -> None:
    """Raise if any value is refused, naming the column and the first such value."""
    if refused.any():
        first = int(np.argmax(refused))
        raise ModelError(
            f"{name} takes {expected} in column {column!r}, but row {first} of the batch has "
            f"{plain_value(values[first])!r} ({int(refused.sum()):,} of {len(values):,} rows are like that)."
        )


def in_portions(
    run: Callable[[Mapping[str, NDArray[Any]]], Any], inputs: Mapping[str, NDArray[Any]], size: int, *, fixed: bool
) -> list[Any]:
    """Run a model on a batch of arrays with one entry per row, a portion at a time, and return the result of each.

    A portion has at most ``size`` rows. If ``fixed``, it has exactly as many: the last one is padded with its last row,
    so it has surplus answers at its end.
    """
    rows = len(next(iter(inputs.values())))
    if rows <= size and not (fixed and rows < size):
        return [run(inputs)]
    portions = []
    for start in range(0, rows, size):
        portion = {name: values[start : start + size] for name, values in inputs.items()}
        short = size - min(size, rows - start)
        if fixed and short:
            portion = {name: np.concatenate([v, np.repeat(v[-1:], short, axis=0)]) for name, v in portion.items()}
        portions.append(run(portion))
    return portions
