"""Table over data-frame libraries.

Data frames of every library that narwhals knows: pandas, polars, pyarrow and more.

Tables of pyarrow as frames of pandas, in which every batch of a table has the same column types.

pandas turns whole numbers with missing values into floats and truth values with missing ones into objects. Which
columns have missing values somewhere, and all categories of a column, must therefore be known before the first batch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError
from isonomia.populations.columns import column_from_series
from isonomia.spec.columns import EXACT

__all__ = ["FrameStore", "PandasForm", "frame_store", "is_large", "ordinary_names", "whole_frame"]


@dataclass(frozen=True, slots=True, eq=False)
class FrameStore:
    """A data frame in its owner's own library."""

    native: Any
    names: tuple[str, ...]
    rows: int
    kind: str

    def column(self, name: str) -> NDArray[Any]:
        """One column."""
        import narwhals as nw

        if self.kind == "pandas":  # without wrapping every other column
            return column_from_series(nw.from_native(self.native[name], series_only=True))
        return column_from_series(self._frame().get_column(name))

    def order(self, name: str) -> tuple[str, ...]:
        """The order declared for a column of categories; empty where there is none."""
        import narwhals as nw

        kind = self._frame().schema[name]
        return tuple(kind.categories) if isinstance(kind, nw.Enum) else ()

    def take(self, indices: NDArray[np.intp]) -> FrameStore:
        """The rows at these positions, numbered anew."""
        if self.kind == "pandas":
            return self._rows(_renumbered(self.native.take(indices)), len(indices))
        return self._rows(self._frame()[indices].to_native(), len(indices))

    def slice(self, start: int, stop: int) -> FrameStore:
        """The rows from ``start`` up to ``stop``, numbered anew."""
        if self.kind == "pandas":
            return self._rows(_own(_renumbered(self.native.iloc[start:stop])), stop - start)
        return self._rows(_own(self._frame()[start:stop].to_native()), stop - start)

    def copy(self) -> FrameStore:
        """All rows in memory of their own, numbered anew, for one who may write into it by whatever means."""
        if self.kind == "pandas":
            return self._rows(_renumbered(self.native).copy(), self.rows)
        return self.slice(0, self.rows)

    def select(self, names: Sequence[str]) -> FrameStore:
        """These columns, in this order."""
        native = self.native[list(names)] if self.kind == "pandas" else self._frame().select(list(names)).to_native()
        return FrameStore(native, tuple(names), self.rows, self.kind)

    def _frame(self) -> Any:
        import narwhals as nw

        return nw.from_native(self.native, eager_only=True)

    def _rows(self, native: Any, rows: int) -> FrameStore:
        return FrameStore(native, self.names, rows, self.kind)


def _renumbered(frame: Any) -> Any:
    """Drop row labels, which would otherwise leak into how a model joins columns."""
    import pandas as pd

    return frame.set_axis(pd.RangeIndex(len(frame)), axis=0)


def _own(native: Any) -> Any:
    """Keep a model that writes into its batch from writing into the population."""
    if not hasattr(native, "reset_index"):
        return native  # polars and pyarrow never write in place
    if type(native).__module__.startswith("pandas"):
        import pandas as pd

        if int(pd.__version__.split(".")[0]) >= 3:
            return native  # copied by pandas itself, at the first write that goes through pandas
        return native.copy()
    return native.reset_index(drop=True).copy()


def frame_store(data: object) -> FrameStore | None:
    """Hold a data frame; a lazy one is collected, which gives what its library gives: a relation of DuckDB pyarrow.

    ``None`` for what is no data frame.

    Raises
    ------
    DataError
        When a column's name occurs twice, or when collecting fails.
    """
    import narwhals as nw

    try:
        frame: Any = nw.from_native(_as_arrow(data), pass_through=True)
        if isinstance(frame, nw.LazyFrame):
            frame = _collected(frame)
        if not isinstance(frame, nw.DataFrame):
            return None
        return FrameStore(frame.to_native(), tuple(frame.columns), len(frame), frame.implementation.name.lower())
    except nw.exceptions.DuplicateError as error:
        told = " ".join(str(error).split())
        raise DataError(f"every column needs a name of its own. {told}. Rename or drop the others.") from error


def _collected(frame: Any) -> Any:
    try:
        return frame.collect()
    except Exception as error:  # each library has its own kinds of error
        raise DataError(
            f"the lazy table cannot be collected: {type(error).__name__}: {str(error).strip()}. Mend the query, or "
            "collect it yourself and hand over the result."
        ) from error


def _as_arrow(data: object) -> object:
    """Read what only pyarrow knows how to read, a dataset or a reader of batches, into a table of pyarrow."""
    if not type(data).__module__.startswith("pyarrow"):
        return data
    for name in ("read_all", "to_table"):
        if hasattr(data, name):
            return getattr(data, name)()
    return data


_ROW_LABELS = re.compile(r"__index_level_\d+__")  # what pandas calls labels without a name when it writes a file


def ordinary_names(schema: Any) -> tuple[str, ...]:
    """The columns of a schema, without the nameless row labels that pandas adds to a file."""
    return tuple(name for name in schema.names if not _ROW_LABELS.fullmatch(name))


@dataclass(frozen=True, slots=True, eq=False)
class PandasForm:
    """What must be known of all rows to convert some of them.

    Attributes
    ----------
    gaps
        The columns of whole numbers or truth values that have a missing value somewhere.
    large
        Those among them with whole numbers so large that a float would round them: they become ``Int64``.
    categories
        All categories of each column of categories, in the order of their codes.
    """

    gaps: frozenset[str] = frozenset()
    large: frozenset[str] = frozenset()
    categories: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def frame(self, table: Any) -> Any:
        """Make a pandas frame of some rows."""
        import pyarrow as pa

        for name in (self.gaps - self.large).intersection(table.column_names):
            if pa.types.is_integer(table.schema.field(name).type) and not _restored(table.schema, name):
                table = _with(table, name, table[name].cast(pa.float64(), safe=False))
        frame = table.replace_schema_metadata(_without_labels(table.schema.metadata)).to_pandas()
        for name in self.gaps.intersection(table.column_names):
            if pa.types.is_boolean(table.schema.field(name).type) and frame[name].dtype == bool:
                frame[name] = frame[name].astype(object)
        for name in self.large.intersection(table.column_names):
            frame[name] = table[name].to_pandas(types_mapper=_nullable)
        for name, known in self.categories.items():
            if name in table.column_names:
                frame[name] = frame[name].cat.set_categories(list(known))
        return frame


def whole_frame(table: Any) -> Any:
    """Make a pandas frame of all rows of a table."""
    large = frozenset(name for name in table.column_names if table[name].null_count and is_large(table[name]))
    return PandasForm(large, large).frame(table)


def is_large(column: Any) -> bool:
    """Whether a column of pyarrow has whole numbers that a float would round."""
    import pyarrow.compute as pc
    import pyarrow.types as types

    if not types.is_integer(column.type) or column.type.bit_width < 64:
        return False
    ends = pc.min_max(column).as_py()
    return any(end is not None and abs(end) > EXACT for end in ends.values())


def _nullable(kind: Any) -> Any:
    import pandas as pd
    import pyarrow as pa

    return pd.UInt64Dtype() if kind == pa.uint64() else pd.Int64Dtype()


def _with(table: Any, name: str, column: Any) -> Any:
    return table.set_column(table.column_names.index(name), name, column)


def _described(metadata: Mapping[bytes, bytes] | None) -> dict[str, Any]:
    """What pandas wrote into a file about its own types."""
    found: dict[str, Any] = json.loads((metadata or {}).get(b"pandas", b"{}"))
    return found


def _restored(schema: Any, name: str) -> bool:
    """Whether pandas will restore a type of its own that has room for missing values, such as Int64."""
    columns = _described(schema.metadata).get("columns", [])
    return any(item.get("name") == name and str(item.get("numpy_type", ""))[:1] in "IU" for item in columns)


def _without_labels(metadata: Mapping[bytes, bytes] | None) -> dict[bytes, bytes] | None:
    """Keep what pandas wrote about types, but let columns that served as row labels be ordinary ones."""
    told = _described(metadata)
    return {b"pandas": json.dumps({**told, "index_columns": []}).encode()} if told else None
