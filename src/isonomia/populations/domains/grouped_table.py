"""A table whose groups of columns, and whose ordered categories, are single features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isonomia.errors import DataError, nearest
from isonomia.populations.domains.groups import Group, OneHot, Ordinal
from isonomia.populations.domains.protocol import Function
from isonomia.populations.domains.tables import TableDomain
from isonomia.populations.table import Table

__all__ = ["table_domain"]


def table_domain(
    table: Table,
    groups: Mapping[str, Sequence[str]],
    orders: Mapping[str, Sequence[Any]],
    label: str | None,
    functions: Mapping[str, Function],
) -> TableDomain:
    """A table with its groups; a column whose categories have a declared order is an ordinal feature by itself.

    Raises
    ------
    DataError
        Where a group or the label names a column that the table lacks, or a group's name is already that of a column.
    """
    made: dict[str, Group] = {}
    for name, columns in groups.items():
        if name in table.names:
            raise DataError(f"the group {name!r} has the name of a column: call it something else")
        made[name] = OneHot(tuple(columns))
    for name in table.names:
        levels = orders.get(name, table.order(name))
        if levels:
            made[name] = Ordinal(name, tuple(levels))
    unknown = [name for name in orders if name not in table.names]
    mentioned = [*unknown, *(() if label is None else (label,)), *(c for group in made.values() for c in group.columns)]
    for name in mentioned:
        if name not in table.names:
            raise DataError(f"the table has no column {name!r}.{nearest(name, table.names)}")
    return TableDomain(table, made, label, functions)
