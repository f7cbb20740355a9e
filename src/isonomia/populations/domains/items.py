"""Any Python objects as inputs; the user's functions say what can be done to them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError
from isonomia.populations.domains.arrays import packed, unpacked
from isonomia.populations.domains.protocol import Function, Kind, Marked
from isonomia.populations.table import Table, batch_table, described


@dataclass(frozen=True, slots=True, eq=False)
class ItemRecords:
    """A batch of objects.

    Attributes
    ----------
    rows
        Which input each object is; -1 if it is not an input, such as the result of a function.
    items
        The objects; ``None`` if they are the inputs themselves.
    """

    rows: NDArray[np.intp]
    items: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, indices: NDArray[np.intp]) -> ItemRecords:
        """The records at these positions."""
        return ItemRecords(self.rows[indices], None if self.items is None else self.items[indices])


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """Objects as inputs: numbers, arrays, graphs, anything. They have no features.

    The model is given an array if the inputs are one, and otherwise a list. A function of one case is given the object
    itself, and must not change it.

    Attributes
    ----------
    objects
        The inputs: a list, or an array with one input per row.
    labels
        Their right answers; ``None`` if they are unknown.
    functions
        Further functions that a specification may call.
    name
        What to call it in messages.
    """

    objects: Sequence[Any] | NDArray[Any]
    labels: NDArray[Any] | None = None
    functions: Mapping[str, Function] = field(default_factory=dict)
    name: str = "the inputs"

    def __post_init__(self) -> None:
        if not len(self.objects):
            raise DataError(f"expected at least one input, but {self.name} has none", name="inputs")
        if self.labels is not None and len(self.labels) != len(self.objects):
            raise DataError(
                f"expected a label for each of {len(self.objects):,} inputs, but got {len(self.labels):,}",
                name="labels",
            )

    @property
    def size(self) -> int:
        """How many inputs there are."""
        return len(self.objects)

    def inputs(self, indices: NDArray[np.intp]) -> ItemRecords:
        """The inputs at these positions."""
        return ItemRecords(indices)

    def one(self, records: ItemRecords, index: int) -> Any:
        """One object, for a function of one case."""
        return self.objects[int(records.rows[index])] if records.items is None else records.items[index]

    def many(self, items: Sequence[Any]) -> ItemRecords | None:
        """The results of a function of one case as records, if they have the inputs' type; else ``None``."""
        kind = type(next((each for each in self.objects if each is not None), None))
        if not all(isinstance(item, kind) for item in items):
            return None
        return ItemRecords(np.full(len(items), -1, dtype=np.intp), _column(items))

    def feature(self, feature: str | int) -> str:
        """Raises DataError: objects have no features."""
        raise self._lacking(feature)

    def kind(self, feature: str) -> Kind:
        """Raises DataError: objects have no features."""
        raise self._lacking(feature)

    def values(self, feature: str) -> tuple[Any, ...]:
        """Raises DataError: objects have no features."""
        raise self._lacking(feature)

    def get(self, records: ItemRecords, feature: str) -> Marked:
        """Raises DataError: objects have no features."""
        del records
        raise self._lacking(feature)

    def set(self, records: ItemRecords, feature: str, values: NDArray[Any]) -> Marked:
        """Raises DataError: objects have no features."""
        del records, values
        raise self._lacking(feature)

    def _lacking(self, feature: str | int) -> DataError:
        message = f"{self.name} have no features, so there is no {feature!r}: give a function that reads it"
        return DataError(message, name=str(feature))

    def label(self, records: ItemRecords) -> NDArray[Any]:
        """The right answer for each record, which must be an input."""
        if self.labels is None:
            raise DataError(
                f"label(...) needs the right answers of {self.name}: give labels, one per input", name="labels"
            )
        if (records.rows < 0).any():
            raise DataError("label(...) takes an input: what a function makes of one has no label", name="label")
        return self.labels[records.rows]

    def concatenate(self, parts: Sequence[ItemRecords]) -> ItemRecords:
        """Several batches as one."""
        rows = np.concatenate([part.rows for part in parts])
        if all(part.items is None for part in parts):
            return ItemRecords(rows)
        return ItemRecords(rows, _column([self.one(part, index) for part in parts for index in range(len(part))]))

    def equal(self, left: ItemRecords, right: ItemRecords) -> NDArray[np.bool_]:
        """Which objects are equal."""
        pairs = ((self.one(left, index), self.one(right, index)) for index in range(len(left)))
        return np.fromiter((_same(one, other) for one, other in pairs), dtype=bool, count=len(left))

    def distance(self, left: ItemRecords, right: ItemRecords) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """1 where the objects differ, else 0."""
        differs = (~self.equal(left, right)).astype(np.float64)
        return differs, differs

    def difference(self, before: ItemRecords, after: ItemRecords, index: int) -> dict[str, list[Any]]:
        """The two objects in a few words, if they differ."""
        old, new = self.one(before, index), self.one(after, index)
        return {} if _same(old, new) else {"input": [described(old), described(new)]}

    def show(self, records: ItemRecords, index: int) -> dict[str, Any]:
        """One object: as it is if JSON can hold it, an array as packed text, anything else in words."""
        item, row = self.one(records, index), int(records.rows[index])
        label = {} if self.labels is None or row < 0 else {"label": self.labels[row : row + 1].tolist()[0]}
        return {"input": row if row >= 0 else None, **_shown(item), **label}

    def restore(self, shown: Sequence[Mapping[str, Any]]) -> ItemRecords:
        """The objects that were shown; raises DataError if one was shown only in words."""
        items = [_restored(record) for record in shown]
        rows = [self._row(record, item) for record, item in zip(shown, items, strict=True)]
        return ItemRecords(np.array(rows, dtype=np.intp), _column(items))

    def _row(self, record: Mapping[str, Any], item: Any) -> int:
        row = record.get("input")
        same = isinstance(row, int) and 0 <= row < self.size and _same(self.objects[row], item)
        return int(row) if same and row is not None else -1

    def unique(self, records: ItemRecords) -> NDArray[np.intp] | None:
        """The inputs' numbers, if nothing was done to them."""
        return records.rows if records.items is None else None

    def table(self, records: ItemRecords) -> Table:
        """An array if the inputs are one, otherwise a list."""
        items = [self.one(records, index) for index in range(len(records))]
        return batch_table(np.stack(items) if isinstance(self.objects, np.ndarray) else items, "input")


def _column(items: Sequence[Any]) -> NDArray[Any]:
    return np.fromiter(items, dtype=object, count=len(items))


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return bool(np.array_equal(one, other))
    return bool(one == other)


def _shown(item: Any) -> dict[str, Any]:
    if isinstance(item, np.ndarray) and item.dtype.kind in "biuf":
        return {"shape": list(item.shape), "type": str(item.dtype), "array": packed(item)}
    plain = item.item() if isinstance(item, np.generic) else item
    try:
        again = json.loads(json.dumps(plain, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return {"words": described(item)}
    return {"value": plain} if again == plain else {"words": described(item)}


def _restored(record: Mapping[str, Any]) -> Any:
    if "value" in record:
        return record["value"]
    if "array" not in record:
        raise DataError("expected an input that was stored completely, but one was stored in words only")
    return unpacked(record["array"], tuple(record["shape"]), np.dtype(record["type"]))
