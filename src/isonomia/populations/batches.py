"""A batch that is no table: images, sounds, texts, states. The model is given it as it is."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError
from isonomia.populations.columns import column_from
from isonomia.populations.table import Table

__all__ = ["BATCH", "Batch", "BatchStore", "batch_table", "described"]

Batch: TypeAlias = "NDArray[Any] | list[Any]"
"""Records side by side: an array with one a row, whatever its other dimensions, or a list."""

BATCH = "batch"
"""The kind of such a table."""


@dataclass(frozen=True, slots=True, eq=False)
class BatchStore:
    """Records that have no columns, behind the face of a table.

    The one column, called after what the records are, is for messages: texts as they are, anything else in a few words.

    Attributes
    ----------
    native
        The batch, as the model is given it.
    what
        What one record is, such as ``"image"``.
    """

    native: Batch
    what: str = "record"
    kind: str = BATCH

    @property
    def names(self) -> tuple[str, ...]:
        """The one column."""
        return (self.what,)

    @property
    def rows(self) -> int:
        """How many records there are."""
        return len(self.native)

    def column(self, name: str) -> NDArray[Any]:
        """Texts as they are, every other record described."""
        texts = [record if isinstance(record, str) else described(record) for record in self.native]
        return column_from(texts, f"column {name!r}")

    def take(self, indices: NDArray[np.intp]) -> BatchStore:
        """The records at these positions, as a copy."""
        if isinstance(self.native, np.ndarray):
            return BatchStore(self.native[indices], self.what)
        return BatchStore([_copied(self.native[index]) for index in indices.tolist()], self.what)

    def slice(self, start: int, stop: int) -> BatchStore:
        """The records from ``start`` up to ``stop``, as a copy."""
        if isinstance(self.native, np.ndarray):
            return BatchStore(self.native[start:stop].copy(), self.what)
        return BatchStore([_copied(record) for record in self.native[start:stop]], self.what)

    def select(self, names: Sequence[str]) -> BatchStore:
        """The same: there is no more than one column."""
        del names
        return self


def batch_table(native: Batch, what: str = "record") -> Table:
    """Hold a batch of records that are no rows of a table.

    Parameters
    ----------
    native
        An array of at least one dimension, or a list.
    what
        What one record is, in the singular, for messages.

    Raises
    ------
    DataError
        Where something else came.
    """
    if not isinstance(native, list) and not (isinstance(native, np.ndarray) and native.ndim):
        raise DataError(f"expected a batch of {what}s as an array or a list, but a {type(native).__name__} came")
    return Table(BatchStore(native, what))


def described(record: object) -> str:
    """A record in a few words, never all of its numbers."""
    if not isinstance(record, np.ndarray | np.generic):
        text = repr(record)
        return text if len(text) <= 80 else f"{text[:77]}..."
    shape = " x ".join(map(str, record.shape)) or "a single number"
    if not record.size or record.dtype.kind not in "biuf":
        return f"{shape} of {record.dtype}"
    return f"{shape} of {record.dtype}, from {record.min():g} to {record.max():g}"


def _copied(record: Any) -> Any:
    """A record that may be written into; text cannot be."""
    if isinstance(record, np.ndarray):
        return record.copy()
    return record if isinstance(record, str | bytes | int | float | None) else deepcopy(record)
