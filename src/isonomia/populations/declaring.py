"""Values that a column is declared to have, where draws could miss a rare one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isonomia.errors import UsageError
from isonomia.populations.columns import column_from, distinct
from isonomia.spec.tree import Value

__all__ = ["declared_values"]


def declared_values(name: str, given: Sequence[Value]) -> tuple[Value, ...]:
    """The values that a column is declared to have, numbers before text, each ascending.

    Raises
    ------
    UsageError
        Where it is no list of at least one value.
    """
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray) or not len(given):
        raise UsageError(f"values[{name!r}] should be a list of at least one value, but is {given!r}.")
    return distinct([column_from(list(given), f"values[{name!r}]")], name)
