"""What variables are set to: one value for everybody, or one for each person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, SpecError, UsageError
from isonomia.populations.columns import column_from
from isonomia.populations.programs.allowed import why_not_set
from isonomia.populations.programs.equations import settable
from isonomia.populations.programs.world import World

__all__ = ["settings_for"]


def settings_for(world: World, settings: Mapping[str, Any], rows: int) -> dict[str, Any]:
    """Check what variables are set to, and give it in the form that a world runs on.

    Raises
    ------
    UsageError
        Where it is neither a value that can be set nor one such value for each person.
    SpecError
        Where a category is set to what is none of its values.
    """
    return {name: _setting(world, name, given, rows) for name, given in settings.items()}


def _setting(world: World, name: str, given: Any, rows: int) -> Any:
    if isinstance(given, str) or not hasattr(given, "__len__"):
        value = settable(name, given)
        _need_category(world, name, value, "")
        return np.asarray(value, dtype=object) if isinstance(value, str) else value
    column = _column(name, given, rows)
    if world.categories(name) is not None:
        values = column.tolist()
        for value in dict.fromkeys(values):
            _need_category(world, name, value, f" It came for row {values.index(value)}.")
    return column


def _column(name: str, given: Any, rows: int) -> NDArray[Any]:
    """One value for each person, all of them values that can be set."""
    wanted = f"expected a text, a truth value or a number to set {name!r} to, or one for each of {rows:,} people"
    try:
        column = column_from(given, f"what {name!r} is set to")
    except DataError as error:
        raise UsageError(f"{wanted}, but: {error}") from error
    if len(column) != rows:
        raise UsageError(f"{wanted}, but {len(column):,} values came")
    if column.dtype.kind == "O":
        wrong = np.asarray([not isinstance(value, str | bool | int | float) for value in column])
    else:
        wrong = ~np.isfinite(column)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise UsageError(f"{wanted}, but {column[row]!r} came for row {row}")
    return column


def _need_category(world: World, name: str, value: Any, where: str) -> None:
    why = why_not_set(world, name, value)
    if why is not None:
        raise SpecError(f"{why}{where}")
