"""Data frames of every library that narwhals knows: pandas, polars, pyarrow and more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError
from isonomia.populations.columns import column_from_series

__all__ = ["FrameStore", "frame_store"]


@dataclass(frozen=True, slots=True, eq=False)
class FrameStore:
    """A data frame in its owner's own library."""

    native: Any
    names: tuple[str, ...]
    rows: int
    kind: str

    def column(self, name: str) -> NDArray[Any]:
        """One column."""
        return column_from_series(self._frame().get_column(name))

    def order(self, name: str) -> tuple[str, ...]:
        """The order declared for a column of categories; empty where there is none."""
        import narwhals as nw

        kind = self._frame().schema[name]
        return tuple(kind.categories) if isinstance(kind, nw.Enum) else ()

    def take(self, indices: NDArray[np.intp]) -> FrameStore:
        """The rows at these positions, numbered anew."""
        return self._rows(self._frame()[indices], len(indices))

    def slice(self, start: int, stop: int) -> FrameStore:
        """The rows from ``start`` up to ``stop``, numbered anew."""
        return self._rows(self._frame()[start:stop], stop - start)

    def select(self, names: Sequence[str]) -> FrameStore:
        """These columns, in this order."""
        native = self._frame().select(list(names)).to_native()
        return FrameStore(native, tuple(names), self.rows, self.kind)

    def _frame(self) -> Any:
        import narwhals as nw

        return nw.from_native(self.native, eager_only=True)

    def _rows(self, frame: Any, rows: int) -> FrameStore:
        native = frame.to_native()
        if hasattr(native, "reset_index"):
            # pandas and its like carry row labels, which would otherwise leak into how a model joins columns;
            # the copy keeps a model that writes into its batch from writing into the population.
            native = native.reset_index(drop=True).copy()
        return FrameStore(native, self.names, rows, self.kind)


def frame_store(data: object) -> FrameStore | None:
    """Hold a data frame; a lazy one is collected. ``None`` for what is no data frame.

    Raises
    ------
    DataError
        When a column's name occurs twice.
    """
    import narwhals as nw

    try:
        frame: Any = nw.from_native(data, pass_through=True)
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect()
        if not isinstance(frame, nw.DataFrame):
            return None
        return FrameStore(frame.to_native(), tuple(frame.columns), len(frame), frame.implementation.name.lower())
    except nw.exceptions.DuplicateError as error:
        told = " ".join(str(error).split())
        raise DataError(f"every column needs a name of its own. {told}. Rename or drop the others.") from error
