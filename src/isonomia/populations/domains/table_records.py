"""Rows of a table, changed here and there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["TableRecords"]


@dataclass(frozen=True, slots=True, eq=False)
class TableRecords:
    """Rows of a table, some columns of which may have other values than in the table.

    Attributes
    ----------
    rows
        Which row each record comes from.
    changed
        The columns that are not as in the table.
    """

    rows: NDArray[np.intp]
    changed: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, indices: NDArray[np.intp]) -> TableRecords:
        """The records at these positions."""
        return TableRecords(self.rows[indices], {name: values[indices] for name, values in self.changed.items()})
