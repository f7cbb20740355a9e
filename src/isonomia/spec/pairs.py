"""Numbers that a Python function makes of two people: evaluated once a batch, and believed only after checks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, SpecError
from isonomia.spec.batch import Batch, as_version
from isonomia.spec.columns import plain
from isonomia.spec.tree import Other, PairCall

__all__ = ["pair_values"]


def pair_values(node: PairCall, batch: Batch) -> NDArray[np.float64]:
    """What the function says of every pair: one finite number a row.

    The function sees read-only columns in the form that row expressions see them, so it cannot change what is audited.

    Raises
    ------
    SpecError
        Where the people of the batch are not paired, or a column is not there.
    DataError
        Where the function raises, or returns something other than one finite number a row.
    """
    second = as_version(node, Other(), batch)
    people = [_seen(node, person) for person in (batch, second)]
    try:
        returned = node.function(*people)
    except Exception as error:
        raise DataError(
            f"the function `{node.name}` of two people raised {type(error).__name__}: {error}. It is called with two "
            f"mappings, of the first and of the second person of {batch.rows:,} pairs, from a column's name to an array"
        ) from error
    return _checked(node, returned, batch.rows)


def _seen(node: PairCall, person: Batch) -> dict[str, NDArray[Any]]:
    absent = [name for name in node.columns if name not in person.columns]
    if absent:
        raise SpecError(f"there is no column `{absent[0]}`, which the function `{node.name}` needs", node.place)
    columns = {name: plain(person.columns[name], name).view() for name in node.columns}
    for column in columns.values():
        column.flags.writeable = False
    return columns


def _checked(node: PairCall, returned: Any, rows: int) -> NDArray[np.float64]:
    expected = f"expected the function `{node.name}` of two people to return {rows:,} finite numbers, one for each pair"
    try:
        found = np.asarray(returned)
    except ValueError:
        raise DataError(f"{expected}, but it returned {returned!r}") from None
    if not found.shape:
        raise DataError(f"{expected}, but it returned {returned!r} of type {type(returned).__name__}")
    if found.shape != (rows,) or found.dtype.kind not in "biuf":
        raise DataError(f"{expected}, but it returned an array of {found.dtype} of shape {found.shape}")
    values = found.astype(np.float64)
    odd = ~np.isfinite(values)
    if odd.any():
        raise DataError(f"{expected}, but for pair {int(np.argmax(odd)):,} of the batch it is {values[odd][0]}")
    return values
