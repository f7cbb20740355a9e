"""Categories as their places in the feature's list."""

from __future__ import annotations

from isonomia.errors import UsageError, nearest
from isonomia.interventions.constraints.protocol import Levels

__all__ = ["place_of"]


def place_of(kind: str, name: str, value: object, levels: Levels) -> float:
    """A value as a number: the place of a category, or the number itself for any other feature.

    Raises
    ------
    UsageError
        Where the feature has no such category, or the value is no number.
    """
    if name in levels:
        if value not in levels[name]:
            near = nearest(str(value), [str(level) for level in levels[name]])
            raise UsageError(
                f"the {kind} constraint speaks of {name} == {value!r}, but the categories of {name!r} are "
                f"{', '.join(map(repr, levels[name]))}.{near}"
            )
        return float(levels[name].index(value))
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"the {kind} constraint should compare {name!r} with a number, but it has {value!r}")
    return float(value)
