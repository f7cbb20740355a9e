"""A generator opened for one run: draws by functions of the user's, checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from isonomia.errors import DataError, IsonomiaError
from isonomia.populations.fingerprint import callable_name
from isonomia.populations.rows import check_request
from isonomia.populations.table import Table

__all__ = ["Draw", "GeneratorSource", "check_columns_of"]

Draw: TypeAlias = Callable[[int, np.random.Generator], Any]
"""Gives a table of so many rows, drawn with a generator of random numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class GeneratorSource:
    """An opened generator.

    Attributes
    ----------
    draws
        The callable of each stream.
    names
        The columns that every batch must have; ``None`` while they are being found out.
    array_names
        What to call the columns of a NumPy array; ``None`` for ``x0``, ``x1``, ...
    """

    draws: tuple[Draw, ...]
    names: tuple[str, ...] | None
    array_names: tuple[str, ...] | None

    @property
    def finite(self) -> bool:
        """Whether each row counts once."""
        return False

    def batch(self, start: int, n: int, rng: np.random.Generator, stream: int = 0) -> Table:
        """Draw ``n`` people from a stream with the batch's own randomness."""
        check_request(start, n, stream, len(self.draws))
        draw = self.draws[stream]
        table = _drawn(draw, n, rng, self.array_names)
        if table.rows != n:
            raise DataError(
                f"{callable_name(draw)}({n}, rng) should give {n:,} rows, but gave {table.rows:,}. "
                "Make it give as many rows as its first argument says."
            )
        if self.names is not None:
            check_columns_of(draw, table, self.names)
        return table

    def corners(self, most: int, rng: np.random.Generator) -> Table | None:
        """At most so many people at the ends of what the first stream can draw; ``None`` where it does not say."""
        own = getattr(self.draws[0], "corners", None)
        if own is None:
            return None
        table = _drawn(own, most, rng, self.array_names)
        if self.names is not None:
            check_columns_of(own, table, self.names)
        return table


def _drawn(draw: Draw, n: int, rng: np.random.Generator, names: tuple[str, ...] | None) -> Table:
    told = f"{callable_name(draw)}({n}, rng)"
    try:
        data = draw(n, rng)
    except IsonomiaError as error:
        raise DataError(f"{told}: {error}") from error
    except (Exception, SystemExit) as error:
        raise DataError(
            f"{told} should give a table of {n:,} rows, but raised {type(error).__name__}: {error}"
        ) from error
    try:
        return Table.of(data, names if isinstance(data, np.ndarray) else None)
    except DataError as error:
        raise DataError(f"{told} should give a table of {n:,} rows: {error}") from error


def check_columns_of(draw: Draw, table: Table, names: tuple[str, ...]) -> None:
    """Refuse a draw that lacks a column which every draw should have.

    Raises
    ------
    DataError
        With the names.
    """
    missing = [name for name in names if name not in table.names]
    if missing:
        raise DataError(
            f"every draw should have the columns {', '.join(map(repr, names))}, "
            f"but {callable_name(draw)} gave one without {', '.join(map(repr, missing))}. "
            "Make every draw give the same columns."
        )
