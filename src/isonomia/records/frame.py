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
    library, module = frame_library(library)
    plain = {name: _one_type(values) for name, values in columns.items()}
    match library:
        case "pandas":
            return module.DataFrame(
                {name: module.Series(values, dtype=_kind(values)) for name, values in plain.items()}
            )
        case "polars":
            return module.DataFrame(plain, strict=False)
        case _:
            return module.table(plain)


def frame_library(library: str | None = None) -> tuple[str, Any]:
    """The name and the module of a library for frames: the requested one, or the first that is installed."""
    if library is None:
        library = next((name for name in LIBRARIES if find_spec(name) is not None), None)
        if library is None:
            raise UsageError("a frame takes pandas, polars or pyarrow, but none of them is installed: install one")
    if library not in LIBRARIES:
        raise UsageError(
            f"library should be one of {', '.join(LIBRARIES)}, but is {library!r}.{nearest(str(library), LIBRARIES)}",
            name="library",
        )
    try:
        return library, import_module(library)
    except ImportError as error:
        raise UsageError(f"expected {library} for the frame, but it is not installed: pip install {library}") from error


def _one_type(values: Sequence[Any]) -> list[Any]:
    """Values of one type, as a column of polars or pyarrow must have; values of mixed types become text."""
    types = {type(value) for value in values if value is not None}
    mixed = len(types) > 1 and not types <= {int, float}
    return [str(value) if mixed and value is not None else value for value in values]


def _kind(values: Sequence[Any]) -> str | None:
    """The type of a pandas column: numbers of which some are missing are floats, not objects."""
    types = {type(value) for value in values}
    return "float64" if float in types or (int in types and type(None) in types) else None
