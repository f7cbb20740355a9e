"""Tables of pyarrow as frames of pandas, in which every batch of a table has the same column types.

pandas turns whole numbers with missing values into floats and truth values with missing ones into objects. Which
columns have missing values somewhere, and all categories of a column, must therefore be known before the first batch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from isonomia.populations.columns import EXACT

__all__ = ["PandasForm", "is_large", "ordinary_names", "whole_frame"]

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
