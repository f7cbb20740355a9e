"""Values of a whole batch: a column or records, and for which cases there is no value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Answered", "Value", "either", "is_column", "joined", "truth"]

Booleans = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """One value a case.

    Attributes
    ----------
    data
        A column, or the records of a domain.
    bad
        For which cases it could not be computed; what ``data`` holds there means nothing. ``None`` where it always
        could.
    """

    data: Any
    bad: Booleans | None = None

    def take(self, indices: NDArray[np.intp]) -> Value:
        """The values of these cases."""
        data = self.data[indices] if isinstance(self.data, np.ndarray) else self.data.take(indices)
        return Value(data, None if self.bad is None else self.bad[indices])


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """What the model answered for some records.

    Attributes
    ----------
    data
        The answers.
    why
        For each record why there is no answer, ``None`` where there is one; ``None`` where there always is.
    """

    data: NDArray[Any]
    why: NDArray[Any] | None = None

    @property
    def bad(self) -> Booleans | None:
        """For which records there is no answer."""
        return None if self.why is None else np.array([reason is not None for reason in self.why], dtype=bool)

    def take(self, indices: NDArray[np.intp]) -> Answered:
        """The answers for these records."""
        return Answered(self.data[indices], None if self.why is None else self.why[indices])


def joined(parts: Sequence[Answered]) -> Answered:
    """The answers of several batches as those of one."""
    data = np.concatenate([part.data for part in parts])
    if all(part.why is None for part in parts):
        return Answered(data)
    reasons = [np.full(len(part.data), None) if part.why is None else part.why for part in parts]
    return Answered(data, np.concatenate(reasons))


def is_column(value: Value) -> bool:
    """Whether it is a column and not records."""
    return isinstance(value.data, np.ndarray)


def either(*masks: Booleans | None) -> Booleans | None:
    """Where one of the masks is set."""
    present = [mask for mask in masks if mask is not None]
    if not present:
        return None
    return np.asarray(np.logical_or.reduce(present))


def truth(value: Value) -> Booleans:
    """A column as truth values: numbers are true unless they are 0, missing values are false."""
    column = value.data
    if column.dtype == np.bool_:
        return np.asarray(column)
    if column.dtype.kind == "f":
        return np.asarray((column != 0) & ~np.isnan(column))
    if column.dtype == object:
        return np.asarray([item == item and bool(item) for item in column.tolist()], dtype=bool)
    return np.asarray(column != 0)
