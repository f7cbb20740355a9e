"""Tables of one kind, one below the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isonomia.populations.table import Table

__all__ = ["joined"]


def joined(tables: Sequence[Table]) -> Table:
    """The rows of several tables in order, as the kind of table that they are.

    Parameters
    ----------
    tables
        At least one; all of one kind, with the same columns.
    """
    if len(tables) == 1:
        return tables[0]
    natives = [table.native for table in tables]
    match tables[0].kind:
        case "columns":
            return Table.of({name: np.concatenate([native[name] for native in natives]) for name in tables[0].names})
        case "array":
            return Table.of(np.concatenate(natives), tables[0].names)
        case "rows":
            return Table.of([row for native in natives for row in native])
        case _:
            import narwhals as nw

            return Table.of(nw.concat([nw.from_native(native) for native in natives], how="vertical").to_native())
