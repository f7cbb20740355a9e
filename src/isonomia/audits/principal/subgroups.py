"""Subgroups: the combinations of values that occur in the columns of ``given``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.principal.coding import coding_of, refuse_missing
from isonomia.errors import SpecError
from isonomia.populations.table import Table
from isonomia.spec.tree import Value

__all__ = ["MOST_SUBGROUPS", "Key", "refuse_many", "sorted_into", "subgroups_in"]

Key: TypeAlias = tuple[Value, ...]
"""A subgroup: its value of each column of ``given``."""

MOST_SUBGROUPS = 200
"""How many subgroups there may be; columns with more combinations are hardly a grouping."""


def sorted_into(table: Table, given: Sequence[str]) -> tuple[list[Key], NDArray[np.intp]]:
    """The subgroups that occur, in the order of their values, and for each row the number of its subgroup.

    Raises
    ------
    DataError
        Where a value is missing.
    """
    for name in given:
        refuse_missing(name, table.column(name))
    codings = [coding_of(name, [table.column(name)], least=1) for name in given]
    codes = [coding.codes(table.column(coding.name)) for coding in codings]
    places, first = np.zeros(table.rows, dtype=np.intp), np.zeros(1, dtype=np.intp)
    for coding, code in zip(codings, codes, strict=True):
        # Numbered anew after each column: the number of all possible combinations may have no room in 64 bits.
        both = places * len(coding.values) + code
        _, first, places = np.unique(both, return_index=True, return_inverse=True)
    values = [[coding.values[n] for n in code[first].tolist()] for coding, code in zip(codings, codes, strict=True)]
    keys: list[Key] = list(zip(*values, strict=True)) if values else [()]
    return keys, places.astype(np.intp)


def subgroups_in(table: Table, given: tuple[str, ...]) -> tuple[Key, ...]:
    """The combinations of values that occur, in their order.

    Raises
    ------
    DataError
        Where a value is missing.
    SpecError
        Where there are more than ``MOST_SUBGROUPS``.
    """
    keys, _ = sorted_into(table, given)
    refuse_many(len(keys), given)
    return tuple(keys)


def refuse_many(number: int, given: tuple[str, ...]) -> None:
    """Refuse subgroups that are too many to say anything about."""
    if number > MOST_SUBGROUPS:
        raise SpecError(
            f"expected at most {MOST_SUBGROUPS} subgroups, but {', '.join(map(repr, given))} have {number:,} "
            "combinations of values: leave a column out of given, or put its values into bands"
        )
