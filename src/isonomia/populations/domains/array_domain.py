"""A domain whose inputs are arrays: what images and sounds have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError
from isonomia.populations.batches import batch_table
from isonomia.populations.columns import column_from, distinct, plain_value
from isonomia.populations.domains.arrays import ArrayRecords, Pool, Step, Values, computed, joined, numbered, pieces
from isonomia.populations.domains.limits import Limits
from isonomia.populations.domains.packing import packed, unpacked
from isonomia.populations.domains.protocol import Function, Kind, Marked
from isonomia.populations.table import Table

__all__ = ["ArrayDomain", "Places", "labels_from"]

MEMORY = 2**26
"""How many bytes of numbers, in double precision, are computed at once."""

LONGEST = 2**24
"""The most numbers that a stored record is believed to have."""


class Places(Protocol):
    """How the numbers of an array are called as features."""

    def feature(self, feature: str | int) -> str:
        """The name of a feature, given by name or by number; raises DataError where there is none."""
        ...

    def read(self, values: Any, feature: str) -> Marked:
        """One number of every array, and which arrays have none there."""
        ...

    def write(self, feature: str, values: Any, column: NDArray[Any]) -> Values:
        """The same arrays with one number set, where they have one there."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class ArrayDomain:
    """Arrays as inputs. Nothing is computed until somebody looks, and the inputs are never written into.

    Attributes
    ----------
    pool
        The inputs.
    limits
        The range and the type of their numbers.
    places
        How single numbers are called.
    functions
        What a specification may call besides.
    what, part
        What a record is, and what its numbers are: ``"image"`` and ``"pixels"``.
    name
        What to call it in messages.
    shape
        The shape that every record has; ``None`` where they differ in length.
    stated
        What is shown with every record besides, such as the rate of a sound.
    """

    pool: Pool
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
        """How many records are computed, and put to the model, at once."""
        longest = max(value.size for value in self.pool.values) if self.shape is None else np.prod(self.shape)
        return max(1, MEMORY // (8 * int(longest)))

    def inputs(self, indices: NDArray[np.intp]) -> ArrayRecords:
        """The inputs at these positions."""
        return ArrayRecords(self.pool, indices)

    def feature(self, feature: str | int) -> str:
        """The name of a feature: one number of the array."""
        return self.places.feature(feature)

    def kind(self, feature: str) -> Kind:
        """Always a number."""
        del feature
        return "number"

    def values(self, feature: str) -> tuple[Any, ...]:
        """The numbers that occur at a place."""
        column, bad = self.places.read(self.pool.values, feature)
        return distinct([column if bad is None else column[~bad]], feature)

    def get(self, records: ArrayRecords, feature: str) -> Marked:
        """One number of every record, in a type that can be computed with: bytes would wrap around."""
        column, bad = self.places.read(self._computed(records), feature)
        return column.astype(np.int64 if self.limits.whole else np.float64), bad

    def set(self, records: ArrayRecords, feature: str, values: NDArray[Any]) -> Marked:
        """The same records with one number set; that cannot be where it is out of range."""
        bad = ~self.limits.fits(values)
        lacking = self.get(records, feature)[1]
        bad = bad if lacking is None else bad | lacking
        safe = np.where(bad, self.limits.low, values).astype(np.float64)
        step = Step(f"set {feature}", partial(self.places.write, feature), (safe,))
        return records.then(step), bad if bad.any() else None

    def label(self, records: ArrayRecords) -> NDArray[Any]:
        """The right answer of the input that each record comes from."""
        if records.pool.labels is None:
            raise DataError(f"label(...) needs the right answers: give labels, one for each {self.what}")
        return records.pool.labels[records.rows]

    def concatenate(self, parts: Sequence[ArrayRecords]) -> ArrayRecords:
        """Several batches as one."""
        return joined(parts, self.together)

    def equal(self, left: ArrayRecords, right: ArrayRecords) -> NDArray[np.bool_]:
        """Which records have the same numbers."""
        return np.asarray(self.distance(left, right)[0] == 0)

    def distance(self, left: ArrayRecords, right: ArrayRecords) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How many numbers differ, and how far in all, in ranges; where one is longer, each extra number counts 1."""
        count, far = np.zeros(len(left)), np.zeros(len(left))
        for part in pieces(len(left), self.together):
            pairs = zip(self._computed(left.take(part)), self._computed(right.take(part)), strict=True)
            for place, (before, after) in zip(part.tolist(), pairs, strict=True):
                count[place], far[place], _ = self._gap(before, after)
        return count, far

    def _gap(self, before: NDArray[Any], after: NDArray[Any]) -> tuple[int, float, float]:
        """How many numbers differ, by how many ranges in all, and the largest gap in their own unit."""
        if before.shape != after.shape:  # only sounds can differ in length
            shared = min(len(before), len(after))
            more = max(len(before), len(after)) - shared
            count, far, most = self._gap(before[:shared], after[:shared])
            return count + more, far + more, max(most, self.limits.width)
        gap = np.abs(before.astype(np.float64) - after.astype(np.float64))
        return int(np.count_nonzero(gap)), float(gap.sum() / self.limits.width), float(gap.max(initial=0.0))

    def difference(self, before: ArrayRecords, after: ArrayRecords, index: int) -> dict[str, list[Any]]:
        """What differs between two records, in words instead of all the numbers; nothing where they are the same."""
        one = np.array([index], dtype=np.intp)
        old, new = self._computed(before.take(one))[0], self._computed(after.take(one))[0]
        count, _, most = self._gap(old, new)
        if not count:
            return {}
        number = before.pool.number(int(before.rows[index]))
        told = f"{count:,} of {max(old.size, new.size):,} differ, by {most:.4g} at most"
        return {self.part: [f"as in {self.what} {number}", told]}

    def show(self, records: ArrayRecords, index: int) -> dict[str, Any]:
        """One record: its number, its shape and type, all its numbers in a short text, and its right answer."""
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
        stacked: Values = np.stack(values) if isinstance(self.pool.values, np.ndarray) else values
        return ArrayRecords(Pool(stacked, labels, numbers), np.arange(len(values), dtype=np.intp))

    def _restored(self, record: Mapping[str, Any]) -> NDArray[Any]:
        keys = {self.what, "shape", "type", self.part, *self.stated, *(() if self.pool.labels is None else ("label",))}
        if set(record) != keys:
            raise DataError(f"expected a stored {self.what} with {', '.join(sorted(keys))}, but one has other entries")
        shape, number = record["shape"], record[self.what]
        sizes = isinstance(shape, list | tuple) and all(type(size) is int and 0 <= size <= LONGEST for size in shape)
        fits = sizes and (tuple(shape) == self.shape if self.shape is not None else len(shape) == 1)
        same = all(record[key] == value for key, value in self.stated.items())
        if not fits or not same or type(number) is not int or record["type"] != str(self.limits.dtype):
            raise DataError(f"expected a stored {self.what} like those of {self.name}, but one has another form")
        value = unpacked(record[self.part], tuple(shape), self.limits.dtype)
        self.limits.check(value, f"the {self.part} of a stored {self.what}")
        return value

    def unique(self, records: ArrayRecords) -> NDArray[np.intp] | None:
        """The same number where the same was done to the same input."""
        return numbered(records)

    def table(self, records: ArrayRecords) -> Table:
        """The arrays themselves: one array where all have the same shape, otherwise a list."""
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
        return computed(records, self.together)


def labels_from(labels: object, n: int, what: str) -> NDArray[Any] | None:
    """Right answers as a column, one for each record.

    Raises
    ------
    DataError
        Where there are more or fewer.
    """
    if labels is None:
        return None
    column = column_from(labels, "labels")
    column = column.astype(np.int64) if column.dtype.kind in "iu" else column
    if len(column) != n:
        raise DataError(f"expected a label for each of {n:,} {what}s, but {len(column):,} came")
    return column
