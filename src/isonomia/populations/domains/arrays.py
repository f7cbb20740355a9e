"""Arrays as inputs: what images and sounds have in common.

Changes to a record are recorded, and computed only when its numbers are needed. So listing, rejecting and sorting cases
costs nothing, equal records are known to be equal without computing them, and only the needed ones are in memory.
"""

from __future__ import annotations

import binascii
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, UsageError
from isonomia.populations.domains.protocol import Function, Kind, Marked
from isonomia.populations.table import Table, batch_table, column_from, distinct, plain_value

Values: TypeAlias = "NDArray[Any] | list[NDArray[Any]]"
"""A batch of arrays: one array if all have the same shape, otherwise a list."""

MEMORY = 2**26
"""How many bytes of numbers, in double precision, are computed at once."""

LONGEST = 2**24
"""The largest dimension that a stored record may have."""


@dataclass(frozen=True, slots=True, eq=False)
class ArrayDomain:
    """Arrays as inputs. Nothing is computed until it is needed, and the inputs are never changed.

    Attributes
    ----------
    pool
        The inputs.
    limits
        The range and the type of their numbers.
    places
        The names of single numbers.
    functions
        Further functions that a specification may call.
    what, part
        What a record is, and what its numbers are: ``"image"`` and ``"pixels"``.
    name
        What to call it in messages.
    shape
        The shape that every record has; ``None`` if they may differ in length.
    stated
        What else is shown with every record, such as the rate of a sound.
    """

    pool: InputPool
    limits: Limits
    places: Places
    functions: Mapping[str, Function]
    what: str
    part: str
    name: str
    shape: tuple[int, ...] | None
    stated: Mapping[str, Any] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many inputs there are."""
        return len(self.pool.values)

    @property
    def together(self) -> int:
        """How many records are computed, and given to the model, at once."""
        longest = max(value.size for value in self.pool.values) if self.shape is None else np.prod(self.shape)
        return max(1, MEMORY // (8 * int(longest)))

    def inputs(self, indices: NDArray[np.intp]) -> ArrayRecords:
        """The inputs at these positions."""
        return ArrayRecords(self.pool, indices)

    def one(self, records: ArrayRecords, index: int) -> NDArray[Any]:
        """One array, for a function of one case; a copy, which it may change."""
        return np.array(self._computed(records.take(np.array([index], dtype=np.intp)))[0])

    def many(self, items: Sequence[Any]) -> ArrayRecords | None:
        """The results of a function of one case as records, if they are arrays like the inputs; else ``None``."""
        if not all(isinstance(item, np.ndarray) and item.dtype.kind in "biuf" for item in items):
            return None
        if self.shape is not None and any(item.shape != self.shape for item in items):
            return None
        for item in items:
            self.limits.check(item, f"the {self.part} that a function made")
        return self._pooled([item.astype(self.limits.dtype) for item in items])

    def _pooled(self, values: list[NDArray[Any]], labels: Any = None, numbers: Any = None) -> ArrayRecords:
        stacked: Values = np.stack(values) if isinstance(self.pool.values, np.ndarray) else values
        return ArrayRecords(InputPool(stacked, labels, numbers), np.arange(len(values), dtype=np.intp))

    def feature(self, feature: str | int) -> str:
        """The name of a feature: one number of the array."""
        return self.places.feature(feature)

    def kind(self, feature: str) -> Kind:
        """Always a number."""
        del feature
        return "number"

    def values(self, feature: str) -> tuple[Any, ...]:
        """The numbers that occur at one position."""
        column, bad = self.places.read(self.pool.values, feature)
        return distinct([column if bad is None else column[~bad]], feature)

    def get(self, records: ArrayRecords, feature: str) -> Marked:
        """One number of every record, in a type that is safe for arithmetic: bytes would wrap around."""
        column, bad = self.places.read(self._computed(records), feature)
        return column.astype(np.int64 if self.limits.whole else np.float64), bad

    def set(self, records: ArrayRecords, feature: str, values: NDArray[Any]) -> Marked:
        """The same records with one number set; impossible where the number is out of range."""
        bad = ~self.limits.fits(values)
        lacking = self.get(records, feature)[1]
        bad = bad if lacking is None else bad | lacking
        safe = np.where(bad, self.limits.low, values).astype(np.float64)
        step = Step(f"set {feature}", partial(self.places.write, feature), (safe,))
        return records.then(step), bad if bad.any() else None

    def label(self, records: ArrayRecords) -> NDArray[Any]:
        """The right answer of the input that each record comes from."""
        if records.pool.labels is None:
            raise DataError(f"label(...) needs the right answers: give labels, one for each {self.what}", name="labels")
        return records.pool.labels[records.rows]

    def concatenate(self, parts: Sequence[ArrayRecords]) -> ArrayRecords:
        """Several batches as one: still recorded if the same was done to all, otherwise computed."""
        first = parts[0]
        if all(part.pool is first.pool and _names(part) == _names(first) for part in parts):
            steps = tuple(
                Step(step.name, step.apply, _columns([part.steps[index].arguments for part in parts]))
                for index, step in enumerate(first.steps)
            )
            return ArrayRecords(first.pool, np.concatenate([part.rows for part in parts]), steps)
        arrays = [self._computed(part) for part in parts]
        same = all(isinstance(array, np.ndarray) for array in arrays)
        values: Values = np.concatenate(arrays) if same else [value for array in arrays for value in array]
        numbers = np.array([part.pool.number(row) for part in parts for row in part.rows.tolist()], dtype=np.intp)
        return ArrayRecords(InputPool(values, _labels(parts), numbers), np.arange(len(numbers), dtype=np.intp))

    def equal(self, left: ArrayRecords, right: ArrayRecords) -> NDArray[np.bool_]:
        """Which records have the same numbers."""
        return np.asarray(self.distance(left, right)[0] == 0)

    def distance(self, left: ArrayRecords, right: ArrayRecords) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How many numbers differ, and the sum of the gaps relative to the range; each extra number counts 1."""
        count, far = np.zeros(len(left)), np.zeros(len(left))
        for part in _chunks(len(left), self.together):
            pairs = zip(self._computed(left.take(part)), self._computed(right.take(part)), strict=True)
            for index, (before, after) in zip(part.tolist(), pairs, strict=True):
                count[index], far[index], _ = self._gap(before, after)
        return count, far

    def _gap(self, before: NDArray[Any], after: NDArray[Any]) -> tuple[int, float, float]:
        """How many numbers differ, the sum of the gaps relative to the range, and the largest gap in their own unit."""
        if before.shape != after.shape:  # only sounds can differ in length
            shared = min(len(before), len(after))
            more = max(len(before), len(after)) - shared
            count, far, largest = self._gap(before[:shared], after[:shared])
            return count + more, far + more, max(largest, self.limits.width)
        gap = np.abs(before.astype(np.float64) - after.astype(np.float64))
        return int(np.count_nonzero(gap)), float(gap.sum() / self.limits.width), float(gap.max(initial=0.0))

    def difference(self, before: ArrayRecords, after: ArrayRecords, index: int) -> dict[str, list[Any]]:
        """What differs between two records, in words instead of all the numbers; empty if they are the same."""
        one = np.array([index], dtype=np.intp)
        old, new = self._computed(before.take(one))[0], self._computed(after.take(one))[0]
        count, _, largest = self._gap(old, new)
        if not count:
            return {}
        number = before.pool.number(int(before.rows[index]))
        summary = f"{count:,} of {max(old.size, new.size):,} differ, by {largest:.4g} at most"
        return {self.part: [f"as in {self.what} {number}", summary]}

    def show(self, records: ArrayRecords, index: int) -> dict[str, Any]:
        """One record: its number, its shape and type, all its numbers as packed text, and its right answer."""
        value = self._computed(records.take(np.array([index], dtype=np.intp)))[0]
        row = int(records.rows[index])
        labels = records.pool.labels
        return {
            self.what: records.pool.number(row),
            "shape": list(value.shape),
            "type": str(value.dtype),
            self.part: packed(value),
            **self.stated,
            **({} if labels is None else {"label": plain_value(labels[row])}),
        }

    def restore(self, shown: Sequence[Mapping[str, Any]]) -> ArrayRecords:
        """The records that were shown, whether or not the domain still has them."""
        values = [self._restored(record) for record in shown]
        numbers = np.array([record[self.what] for record in shown], dtype=np.intp)
        labels = None if self.pool.labels is None else column_from([record["label"] for record in shown], "label")
        return self._pooled(values, labels, numbers)

    def _restored(self, record: Mapping[str, Any]) -> NDArray[Any]:
        keys = {self.what, "shape", "type", self.part, *self.stated, *(() if self.pool.labels is None else ("label",))}
        if set(record) != keys:
            raise DataError(
                f"expected a stored {self.what} with {', '.join(sorted(keys))}, but one has other entries",
                name=self.what,
            )
        shape, number = record["shape"], record[self.what]
        sizes = isinstance(shape, list | tuple) and all(type(size) is int and 0 <= size <= LONGEST for size in shape)
        fits = sizes and (tuple(shape) == self.shape if self.shape is not None else len(shape) == 1)
        same = all(record[key] == value for key, value in self.stated.items())
        if not fits or not same or type(number) is not int or record["type"] != str(self.limits.dtype):
            raise DataError(
                f"expected a stored {self.what} like those of {self.name}, but one has another form", name=self.what
            )
        value = unpacked(record[self.part], tuple(shape), self.limits.dtype)
        self.limits.check(value, f"the {self.part} of a stored {self.what}")
        return value

    def unique(self, records: ArrayRecords) -> NDArray[np.intp] | None:
        """A number for each record, the same only if the same was done to the same input; ``None`` if unknown."""
        columns = [column for step in records.steps for column in step.arguments]
        if not columns:
            return records.rows
        if any(column.dtype.kind not in "biuf" for column in columns):
            return None
        rows = np.stack([records.rows.astype(np.float64), *(column.astype(np.float64) for column in columns)], axis=1)
        return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1).astype(np.intp)

    def table(self, records: ArrayRecords) -> Table:
        """The arrays themselves: one array if all have the same shape, otherwise a list."""
        values = self._computed(records)
        if not isinstance(values, np.ndarray):
            values = [value.copy() for value in values] if self.shape is None else np.stack(values)
        return batch_table(values, self.what)

    def fingerprint(self) -> str:
        """Tell this domain from others by its numbers and right answers, as 64 hexadecimal digits."""
        digest = sha256(repr((self.what, self.size, self.limits, sorted(self.stated.items()))).encode())
        for value in self.pool.values:
            digest.update(repr(value.shape).encode() + np.ascontiguousarray(value).tobytes())
        if self.pool.labels is not None:
            digest.update(repr(self.pool.labels.tolist()).encode())
        return digest.hexdigest()

    def _computed(self, records: ArrayRecords) -> Any:
        return compute(records, self.together)


def labels_from(labels: object, n: int, what: str) -> NDArray[Any] | None:
    """Right answers as a column, one for each record."""
    if labels is None:
        return None
    column = column_from(labels, "labels")
    column = column.astype(np.int64) if column.dtype.kind in "iu" else column
    if len(column) != n:
        raise DataError(f"expected a label for each of {n:,} {what}s, but got {len(column):,}", name="labels")
    return column


class Places(Protocol):
    """How the numbers of an array are named as features."""

    def feature(self, feature: str | int) -> str:
        """The name of a feature, given by name or by number; raises DataError for an unknown one."""

    def read(self, values: Any, feature: str) -> Marked:
        """One number of every array, and which arrays have none at that position."""

    def write(self, feature: str, values: Any, column: NDArray[Any]) -> Values:
        """The same arrays with one number set, if they have one at that position."""


@dataclass(frozen=True, slots=True, eq=False)
class InputPool:
    """Inputs as they are, with their right answers if these are known.

    The number that people see is an input's position, unless ``numbers`` says otherwise.
    """

    values: Values
    labels: NDArray[Any] | None = None
    numbers: NDArray[np.intp] | None = None

    def number(self, row: int) -> int:
        """The number of an input, for people."""
        return row if self.numbers is None else int(self.numbers[row])


@dataclass(frozen=True, slots=True, eq=False)
class ArrayRecords:
    """A batch of records: rows of a pool, and the steps applied to them."""

    pool: InputPool
    rows: NDArray[np.intp]
    steps: tuple[Step, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, indices: NDArray[np.intp]) -> ArrayRecords:
        """The records at these positions."""
        return ArrayRecords(self.pool, self.rows[indices], tuple(step.take(indices) for step in self.steps))

    def then(self, step: Step) -> ArrayRecords:
        """The same records with one more step."""
        return ArrayRecords(self.pool, self.rows, (*self.steps, step))


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """Something done to every record of a batch; steps of one domain with the same name do the same.

    ``apply`` takes values and the columns of ``arguments``, and returns values. The result for a record depends only on
    that record and its entries in the columns, and the given values are not changed.
    """

    name: str
    apply: Callable[..., Values]
    arguments: tuple[NDArray[Any], ...] = ()

    def take(self, indices: NDArray[np.intp]) -> Step:
        """The step for the records at these positions."""
        return Step(self.name, self.apply, tuple(column[indices] for column in self.arguments))


def compute(records: ArrayRecords, together: int) -> Values:
    """The arrays themselves; ``together`` says how many are computed at once."""
    parts = [_compute_at_once(records.take(part)) for part in _chunks(len(records), together)]
    if len(parts) == 1:
        return parts[0]
    if isinstance(records.pool.values, np.ndarray):
        return np.concatenate(parts) if parts else records.pool.values[:0]
    return [value for part in parts for value in part]


def _compute_at_once(records: ArrayRecords) -> Values:
    values = _taken(records.pool.values, records.rows)
    for step in records.steps:
        values = step.apply(values, *step.arguments)
    return values


def _taken(values: Values, rows: NDArray[np.intp]) -> Values:
    return values[rows] if isinstance(values, np.ndarray) else [values[row] for row in rows.tolist()]


def _chunks(n: int, together: int) -> Iterator[NDArray[np.intp]]:
    """The positions of ``n`` records, ``together`` at a time."""
    for start in range(0, n, together):
        yield np.arange(start, min(start + together, n), dtype=np.intp)


def _labels(parts: Sequence[ArrayRecords]) -> NDArray[Any] | None:
    labels = [part.pool.labels[part.rows] for part in parts if part.pool.labels is not None]
    return np.concatenate(labels) if len(labels) == len(parts) else None


def _names(records: ArrayRecords) -> tuple[tuple[str, int], ...]:
    return tuple((step.name, len(step.arguments)) for step in records.steps)


def _columns(arguments: Sequence[tuple[NDArray[Any], ...]]) -> tuple[NDArray[Any], ...]:
    return tuple(np.concatenate(columns) for columns in zip(*arguments, strict=True))


@dataclass(frozen=True, slots=True)
class Limits:
    """Numbers of one type from ``low`` to ``high``."""

    dtype: np.dtype[Any]
    low: float
    high: float

    @property
    def width(self) -> float:
        """How far apart the ends are."""
        return self.high - self.low

    @property
    def whole(self) -> bool:
        """Whether only whole numbers occur."""
        return self.dtype.kind in "iu"

    def clip(self, values: NDArray[np.float64]) -> NDArray[Any]:
        """Computed numbers as they can be stored: clipped to the range, and rounded half to even if whole."""
        inside = np.clip(values, self.low, self.high)
        return (np.rint(inside) if self.whole else inside).astype(self.dtype)

    def fits(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Which numbers could occur."""
        if values.dtype.kind not in "biuf":
            return np.zeros(values.shape, dtype=bool)
        inside = (values >= self.low) & (values <= self.high)
        return np.asarray(inside & (values % 1 == 0) if self.whole and values.dtype.kind == "f" else inside)

    def check(self, values: NDArray[Any], what: str) -> None:
        """Refuse numbers that could not occur."""
        if values.size and not (values.min() >= self.low and values.max() <= self.high):  # a NaN fails too
            raise DataError(
                f"expected {what} between {self.low:g} and {self.high:g}, but they go from {values.min():g} to "
                f"{values.max():g}. Declare their range: between=(LOWEST, HIGHEST)",
                name=what,
            )


def limits_of(dtype: np.dtype[Any], between: tuple[float, float] | None, what: str, usual: str = "") -> Limits:
    """The declared range, or the default of the type.

    ``usual`` lists the types that have a default, by NumPy's letters and sizes: ``"u1 f4"``.
    """
    if dtype.kind not in "iuf":
        raise DataError(f"expected {what} as whole numbers or floats, but they are {dtype}", name=what)
    if between is None:
        if f"{dtype.kind}{dtype.itemsize}" not in usual.split():
            raise UsageError(f"{what} of type {dtype} need a declared range, such as between=(0, 1)", name="between")
        between = (-1.0, 1.0) if dtype.kind == "f" else (float(np.iinfo(dtype).min), float(np.iinfo(dtype).max))
    low, high = _ends(between)
    if dtype.kind == "f":  # round the ends to the type, or a 32-bit 0.1 would lie outside (0, 0.1)
        return Limits(dtype, float(dtype.type(low)), float(dtype.type(high)))
    fits = low >= np.iinfo(dtype).min and high <= np.iinfo(dtype).max and max(-low, high) <= 2**53
    if not fits or low % 1 or high % 1:
        raise UsageError(
            f"expected a range of whole numbers that {dtype} can hold, but got between={between!r}", name="between"
        )
    return Limits(dtype, low, high)


def _ends(between: tuple[float, float]) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in between)
    except (TypeError, ValueError):
        low, high = 0.0, 0.0
    if not (np.isfinite([low, high]).all() and low < high):
        raise UsageError(
            f"expected between as (LOWEST, HIGHEST), two finite numbers in order, but got {between!r}", name="between"
        )
    return low, high


def packed(array: NDArray[Any]) -> str:
    """The bytes of an array in little-endian order, compressed by zlib and written in base 64."""
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return b64encode(zlib.compress(little.tobytes(), 9)).decode("ascii")


def unpacked(text: object, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The array that was packed; anything of another size is refused."""
    expected = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    wrong = DataError(f"expected an array of shape {shape} and type {dtype} in base 64, but something else is stored")
    if not isinstance(text, str):
        raise wrong
    try:
        opener = zlib.decompressobj()
        # Never unpack more than the expected size, whatever the text contains.
        content = opener.decompress(b64decode(text.encode("ascii"), validate=True), expected + 1)
    except (zlib.error, binascii.Error, UnicodeEncodeError) as error:
        raise wrong from error
    if len(content) != expected or not opener.eof or opener.unused_data:
        raise wrong
    return np.frombuffer(content, dtype=dtype.newbyteorder("<")).reshape(shape).astype(dtype)
