"""Lazy queries of polars and relations of DuckDB, read batch by batch.

The order of the rows is the query's own. A query that has none, such as a join, may give its rows in another order each
time: every rate stays the same, and the fingerprint does not. Sort it where that matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from isonomia.errors import DataError
from isonomia.populations.arrow import of_size
from isonomia.populations.streaming import LongTable

__all__ = ["LazyFrameReader", "RelationReader", "long_lazy", "long_relation"]


@dataclass(frozen=True, slots=True, eq=False)
class LazyFrameReader:
    """A lazy frame of polars. The model is given frames of polars."""

    query: Any
    names: tuple[str, ...]
    rows: int
    kind: str = "polars"
    stamp: None = None

    def order(self, name: str) -> tuple[str, ...]:
        """The order declared for a column of categories; empty where there is none."""
        import polars as pl

        kind = self.query.collect_schema()[name]
        return tuple(kind.categories) if isinstance(kind, pl.Enum) else ()

    def batches(self, columns: Sequence[str], size: int, start: int, *, plain: bool) -> Iterator[Any]:  # noqa: ARG002
        """Give these columns from row ``start`` on."""
        import polars as pl

        query = self.query.select(list(columns))
        parts = query.slice(start).collect_batches(chunk_size=min(size, 2**18), maintain_order=True)
        held: list[Any] = []
        for part in _told(parts):
            held.append(part)
            while sum(map(len, held)) >= size:
                whole = pl.concat(held)
                yield whole[:size]
                held = [whole[size:]]
        if any(map(len, held)):
            yield pl.concat(held)


@dataclass(frozen=True, slots=True, eq=False)
class RelationReader:
    """A relation of DuckDB. The model is given tables of pyarrow."""

    relation: Any
    names: tuple[str, ...]
    rows: int
    kind: str = "pyarrow"
    stamp: None = None

    def order(self, name: str) -> tuple[str, ...]:
        """The values of an enumeration, which DuckDB orders as they are declared; empty for other columns."""
        kind = self.relation.types[self.names.index(name)]
        return tuple(dict(kind.children)["values"]) if kind.id == "enum" else ()

    def batches(self, columns: Sequence[str], size: int, start: int, *, plain: bool) -> Iterator[Any]:  # noqa: ARG002
        """Give these columns from row ``start`` on."""
        # As text: an expression for a column called * would stand for all of them.
        chosen = self.relation.project(", ".join(map(_quoted, columns)))
        read = chosen.to_arrow_reader if hasattr(chosen, "to_arrow_reader") else chosen.fetch_arrow_reader
        yield from of_size(_told(_started(lambda: read(2**16))), size, start)


def long_lazy(query: Any) -> LongTable | None:
    """Make a table of a lazy frame of polars, which is then run batch by batch.

    ``None`` where the installed polars cannot give batches; it should be collected then.

    Raises
    ------
    DataError
        When the query fails.
    """
    import polars as pl

    if not hasattr(query, "collect_batches"):
        return None
    names = _run(lambda: tuple(query.collect_schema().names()))
    rows = _run(lambda: query.select(pl.len()).collect(engine="streaming").item())
    return LongTable(LazyFrameReader(query, names, int(rows)))


def long_relation(relation: Any) -> LongTable:
    """Make a table of a relation of DuckDB, which is then run batch by batch.

    Raises
    ------
    DataError
        When the query fails.
    """
    rows = _run(lambda: relation.aggregate("count(*)").fetchall()[0][0])
    return LongTable(RelationReader(relation, tuple(relation.columns), int(rows)))


def _quoted(name: str) -> str:
    """A name as SQL spells it, whatever signs it has."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _started(begin: Callable[[], Any]) -> Iterator[Any]:
    yield from begin()


def _told(parts: Iterator[Any]) -> Iterator[Any]:
    """Go through the parts of a result; a failure on the way is told as one of the data."""
    try:
        yield from parts
    except DataError:
        raise
    except Exception as error:  # each library has its own kinds of error
        raise _failed(error) from error


def _run(query: Callable[[], Any]) -> Any:
    try:
        return query()
    except Exception as error:  # each library has its own kinds of error
        raise _failed(error) from error


def _failed(error: Exception) -> DataError:
    return DataError(
        f"the lazy table cannot be collected: {type(error).__name__}: {str(error).strip()}. Mend the query, or collect "
        "it yourself and hand over the result."
    )
