"""Replacing columns, rows at the ends, differences.

A table with some columns replaced, in its owner's own form.

Which rows of a table lie at the ends of its columns: smallest, largest, zero, missing, and each of few values.

Where two columns of values differ, and how far texts are apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.populations.table import Table

__all__ = ["Gap", "differing", "replaced", "rows_at_ends", "text_gap"]


_WHOLE = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))


def replaced(table: Table, columns: Mapping[str, NDArray[Any]]) -> Table:
    """The same table with these columns instead of its own; the kind of table stays.

    A column of whole numbers stays one where the new values are whole, so that a model sees the types it knows.
    """
    if not columns:
        return table
    native = table.native
    match table.kind:
        case "array":
            return Table.of(_in_array(native, table.names, columns), names=table.names)
        case "columns":
            same = {name: _like(values, native[name].dtype) for name, values in columns.items()}
            return Table.of({**native, **same})
        case "rows":
            same = {name: _like(values, table.column(name).dtype) for name, values in columns.items()}
            return Table.of([_in_row(row, same, i) for i, row in enumerate(native)])
        case _:
            return Table.of(_in_frame(native, columns))


def _in_array(native: NDArray[Any], names: tuple[str, ...], columns: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    kinds = [native.dtype, *(_like(values, native.dtype).dtype for values in columns.values())]
    copied = native.astype(np.result_type(*kinds) if native.dtype != object else object)
    for name, values in columns.items():
        copied[:, names.index(name)] = values
    return copied


def _in_row(row: dict[str, Any], columns: Mapping[str, NDArray[Any]], index: int) -> dict[str, Any]:
    return {**row, **{name: values[index : index + 1].tolist()[0] for name, values in columns.items()}}


def _in_frame(native: Any, columns: Mapping[str, NDArray[Any]]) -> Any:
    import narwhals as nw

    frame: Any = nw.from_native(native, eager_only=True)
    series = []
    for name, values in columns.items():
        before = frame.get_column(name)
        alike = _like(values, _numpy_kind(before))
        listed = alike if alike.dtype.kind in "biuf" else alike.tolist()
        made = nw.new_series(name, listed, backend=frame.implementation)
        series.append(made.cast(before.dtype) if _castable(before.dtype, made.dtype, alike) else made)
    return frame.with_columns(*series).to_native()


def _castable(before: Any, made: Any, values: NDArray[Any]) -> bool:
    import narwhals as nw

    if before.is_integer():
        name = str(before).lower()
        return bool(made.is_integer()) and (name not in _WHOLE or _held(values, np.dtype(name)))
    if before.is_float():
        return bool(made.is_numeric())
    return isinstance(before, nw.Categorical | nw.Enum | nw.String) and made == nw.String


def _numpy_kind(series: Any) -> np.dtype[Any]:
    if series.dtype.is_integer():
        return np.dtype(np.int64)
    return np.dtype(np.float64) if series.dtype.is_float() else np.dtype(object)


def _held(values: NDArray[Any], dtype: np.dtype[Any]) -> bool:
    """Whether a type of whole numbers is wide enough: where it is not, values would turn into others unnoticed."""
    ends = np.iinfo(dtype)
    # As floats, the largest whole numbers of 64 bits are rounded up to one that no longer fits.
    return not len(values) or bool(values.min() >= ends.min and float(values.max()) < float(ends.max) + 1.0)


def _like(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The values in a type where they keep their meaning: the wished one where it can hold them."""
    if dtype.kind in "iu" and values.dtype.kind == "f" and np.isfinite(values).all() and (values % 1 == 0).all():
        wide = np.dtype(np.int64)
        return values.astype(dtype if _held(values, dtype) else wide) if _held(values, wide) else values
    if dtype.kind == "f" and values.dtype.kind in "biu":
        return values.astype(dtype)
    if dtype.kind == "b" and values.dtype.kind in "iuf" and np.isin(values, (0, 1)).all():
        return values.astype(dtype)
    if dtype.kind in "iu" and values.dtype.kind in "biu":
        return values.astype(np.result_type(dtype, values.dtype) if values.dtype.kind != "b" else dtype)
    return values


FEW = 8
"""As many different values as a column may have for each of them to count as an end."""

LOOKED_THROUGH = 2**15
"""Rows that are looked through; of a longer table so many at random, and those with a smallest or largest number."""

Booleans = NDArray[np.bool_]


def rows_at_ends(columns: Sequence[NDArray[Any]], most: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """The positions of at most ``most`` rows that are at ends of columns, those at many ends at once first.

    Every end that occurs has its turn: of the rows that are there, the one that is at most other ends as well. Of rows
    at the same ends one is taken, at random, and others only where there is room. What is frequent needs no such
    search, since whoever draws at random meets it.
    """
    if not columns or not len(columns[0]):
        return np.zeros(0, dtype=np.intp)
    looked = _looked_through(columns, rng)
    ends = [end for column in columns for end in _ends(column[looked])]
    if not ends:
        return np.asarray(looked[rng.permutation(len(looked))[:most]])
    marks = np.stack([ends[place] for place in rng.permutation(len(ends))])
    at = marks.sum(axis=0)
    order = np.lexsort((rng.random(len(looked)), -at))[: np.count_nonzero(at)]
    keys = rng.integers(0, 2**63, len(marks), dtype=np.uint64) @ marks.astype(np.uint64)  # one for each set of ends
    first = np.sort(np.unique(keys[order], return_index=True)[1])
    chosen = order[first][_in_turn(marks[:, order[first]], most)]
    return np.asarray(looked[np.concatenate([chosen, np.delete(order, first)])[:most]])


def _in_turn(marks: Booleans, most: int) -> NDArray[np.intp]:
    """One end after the other, the first row that is there and was not taken yet."""
    each = [np.flatnonzero(end)[:most].tolist() for end in marks]
    turns = (place for place in chain.from_iterable(zip_longest(*each)) if place is not None)
    return np.fromiter(dict.fromkeys(turns), dtype=np.intp)


def _looked_through(columns: Sequence[NDArray[Any]], rng: np.random.Generator) -> NDArray[np.intp]:
    n = len(columns[0])
    if n <= LOOKED_THROUGH:
        return np.arange(n)
    numbers = [column for column in columns if column.dtype.kind in "iuf" and not _missing(column).all()]
    outermost = [end(column) for column in numbers for end in (_smallest, _largest)]
    some = rng.choice(n, LOOKED_THROUGH, replace=False)
    return np.unique(np.concatenate([some, np.asarray(outermost, dtype=np.intp)]))


def _smallest(column: NDArray[Any]) -> int:
    return int(np.nanargmin(column) if column.dtype.kind == "f" else np.argmin(column))


def _largest(column: NDArray[Any]) -> int:
    return int(np.nanargmax(column) if column.dtype.kind == "f" else np.argmax(column))


def _ends(column: NDArray[Any]) -> list[Booleans]:
    """For each end of a column, which rows are there; none for a column that is the same everywhere."""
    missing = _missing(column)
    match column.dtype.kind:
        case "b":
            found = [column, ~column]
        case "i" | "u" | "f":
            found = [] if missing.all() else _of_numbers(column)
        case _:
            found = _of_values(column, missing)
    return [end for end in (*found, missing) if end.any() and not end.all()]


def _of_numbers(column: NDArray[Any]) -> list[Booleans]:
    ends = [column == column[_smallest(column)], column == column[_largest(column)]]
    inside = (column == 0) & ~ends[0] & ~ends[1]
    return [*ends, inside]


def _of_values(column: NDArray[Any], missing: Booleans) -> list[Booleans]:
    """Each of few values; of many texts, the shortest and the longest."""
    values = [value for value, gone in zip(column.tolist(), missing, strict=True) if not gone]
    known = dict.fromkeys(map(str, values))
    texts = np.array(["" if gone else str(value) for value, gone in zip(column.tolist(), missing, strict=True)])
    if len(known) <= FEW:
        return [(texts == value) & ~missing for value in known]
    lengths = np.where(missing, -1, np.char.str_len(texts))
    told = lengths[~missing]
    return [lengths == told.min(), lengths == told.max()]


def _missing(column: NDArray[Any]) -> Booleans:
    if column.dtype.kind == "f":
        return np.asarray(np.isnan(column))
    if column.dtype.kind in "biu":
        return np.zeros(len(column), dtype=bool)
    return np.array([value is None or value != value for value in column.tolist()], dtype=bool)


Gap: TypeAlias = Callable[[NDArray[Any], NDArray[Any]], NDArray[np.float64]]
"""How far apart the values of two columns are, one number for each pair; it counts only where they differ."""


def differing(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.bool_]:
    """Where two columns have different values; two missing numbers are the same."""
    unequal = np.asarray(left != right, dtype=bool)
    if left.dtype.kind == "f" and right.dtype.kind == "f":
        return np.asarray(unequal & ~(np.isnan(left) & np.isnan(right)))
    return unequal


def text_gap(longest: int) -> Gap:
    """How many characters have to be replaced at least, when one stretch of a text may be, in units of the longest.

    What two texts have in common at their beginnings and at their ends is not counted. So deleting or adding a stretch
    counts as its length.
    """

    def gap(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.float64]:
        pairs = zip(left.tolist(), right.tolist(), strict=True)
        return np.array([_changed(one or "", other or "") for one, other in pairs]) / max(longest, 1)

    return gap


def _changed(left: str, right: str) -> float:
    shorter, longer = sorted((left, right), key=len)
    head = _common(len(shorter), lambda n: left[:n] == right[:n])
    tail = _common(len(shorter) - head, lambda n: left[len(left) - n :] == right[len(right) - n :])
    return float(len(longer) - head - tail)


def _common(most: int, same: Callable[[int], bool]) -> int:
    """The largest length up to ``most`` for which two ends are the same, by halving."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if same(middle) else (low, middle - 1)
    return low
