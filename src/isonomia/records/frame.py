"""Columns of plain values as a frame of pandas, polars or pyarrow, whichever is requested or installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from isonomia.errors import UsageError, nearest

LIBRARIES = ("pandas", "polars", "pyarrow")
"""The libraries, in order of preference."""


def frame_of(columns: Mapping[str, Sequence[Any]], library: str | None = None) -> Any:
    """A frame of some columns of equal length.

    Parameters
    ----------
    columns
        Plain values by name; ``None`` where one is missing.
    library
        ``"pandas"``, ``"polars"`` or ``"pyarrow"``; by default the first of them that is installed.
    """
    import pyarrow as pa

    return as_frame(pa.table({name: one_type(values) for name, values in columns.items()}), library)


def as_frame(table: Any, library: str | None) -> Any:
    """A pyarrow table as a frame of a library: the requested one, or the first that is installed."""
    if library is None:
        library = next(name for name in LIBRARIES if find_spec(name) is not None)  # pyarrow always is
    if library not in LIBRARIES:
        raise UsageError(
            f"library should be one of {', '.join(LIBRARIES)}, but is {library!r}.{nearest(str(library), LIBRARIES)}",
            name="library",
        )
    try:
        module = import_module(library)
    except ImportError as error:
        raise UsageError(f"expected {library} for the frame, but it is not installed: pip install {library}") from error
    match library:
        case "pandas":
            return table.to_pandas()
        case "polars":
            return module.from_arrow(table)
        case _:
            return table


def one_type(values: Sequence[Any]) -> list[Any]:
    """Values of one type, as a column of a frame must have; values of mixed types become text."""
    types = {type(value) for value in values if value is not None}
    mixed = len(types) > 1 and not types <= {int, float}
    return [str(value) if mixed and value is not None else value for value in values]
