"""What every audit asks of its population: which kind it is, the columns it needs, and which values it has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import SpecError, UsageError, nearest
from isonomia.models.protocol import Model
from isonomia.populations.causal import Abducted
from isonomia.populations.finite import Census, Sample
from isonomia.populations.protocol import Population, Wanted, facts_of, is_population
from isonomia.populations.streaming import AT_ONCE as LONG_AT_ONCE
from isonomia.populations.streaming import LongTable
from isonomia.populations.table import Table, distinct
from isonomia.spec.columns import kind_of, plain
from isonomia.spec.text import value_text
from isonomia.spec.tree import (
    Column,
    Compare,
    Do,
    Literal,
    Member,
    Node,
    Output,
    Row,
    Value,
    Variable,
    nodes,
)

SHOWN = 12
"""How many of a column's values a message lists, the nearest first."""

UNLIMITED = 10_000_000
"""The most people drawn when the population is unlimited and no budget was given."""

AT_ONCE = 2**18
"""People, or pairs, in one batch."""


def need_people(population: object) -> None:
    """Refuse a domain of inputs where a population of people is needed."""
    if not is_population(population):
        raise UsageError("expected people, but this population has inputs for k-safety properties (nomos, safety)")


def refuse_class(node: Node, model: Model) -> None:
    """Refuse a comparison of the prediction with a value that is not among the classes that the model states."""
    for item in predicted_values(node) if model.classes else ():
        if isinstance(item, Literal) and item.value not in model.classes:
            known = ", ".join(repr(label) for label in model.classes[:8])
            hint = nearest(str(item.value), [str(label) for label in model.classes])
            message = f"expected a class that {model.name} predicts, {known}, but got {item.value!r}.{hint}"
            raise SpecError(message, item.place, name=str(item.value))


def predicted_values(node: Node) -> tuple[Literal | Variable, ...]:
    """The values that a prediction is compared with."""
    match node:
        case Compare("==" | "!=", Output(name="prediction"), Literal() as value):
            return (value,)
        case Compare("==" | "!=", Literal() as value, Output(name="prediction")):
            return (value,)
        case Member(Output(name="prediction"), values):
            return values
        case _:
            return ()


def refuse_absent_values(conditions: Iterable[Row | None], population: Population, *, read: bool = False) -> None:
    """Refuse a group whose value nobody has: it is more often misspelt than meant, and nothing is known about nobody.

    In a table in memory, a text that a condition compares a column with must occur in that column; so must a number
    that it must equal, or one of those that it may equal. Where all values of a column are known beforehand, from
    ``values=`` or as categories of a causal model, it must be one of them. A value that was declared, with ``values=``
    or as a category of the table's column, is not a mistake: the verdict is *undecided* where it turns on it. Where
    draws have no end, a value that was not declared may still come; where it does not, that is *undecided* too.

    A table that is read from files as needed is searched only with ``read``, after all of it was read and nobody was
    found.
    """
    people = population.people if isinstance(population, Abducted) else population
    by_name: dict[str, _KnownValues | None] = {}
    for condition in conditions:
        for node in () if condition is None else nodes(condition):
            for column, values, every in _compared_values(node):
                if column.name not in by_name:
                    by_name[column.name] = _KnownValues.of(people, column.name, read)
                known = by_name[column.name]
                absent = [item for item in values if known is not None and not known.has(item.value)]
                # Any text must be right; of several numbers one is enough, as in age in {17, 18, 19}.
                absent = absent if every or len(absent) == len(values) else []
                if absent and known is not None:
                    raise SpecError(known.message(column.name, absent[0].value), absent[0].place or column.place)


def _compared_values(node: Node) -> Iterator[tuple[Column, tuple[Literal, ...], bool]]:
    """A column of a person as they are, the values that it is compared with, and whether every one must occur."""
    match node:
        case Compare("==" | "!=", Column() as column, Literal() as value) if not isinstance(column.version, Do):
            items: tuple[Literal, ...] = (value,)
        case Compare("==" | "!=", Literal() as value, Column() as column) if not isinstance(column.version, Do):
            items = (value,)
        case Member(Column() as column, values) if not isinstance(column.version, Do):
            items = tuple(item for item in values if isinstance(item, Literal))
        case _:
            return
    text = tuple(item for item in items if isinstance(item.value, str))
    if text:
        yield column, text, True
    elif not isinstance(node, Compare) or node.relation == "==":
        yield column, items, False


@dataclass(frozen=True, slots=True)
class _KnownValues:
    """The values of a column that are known beforehand: the column itself, if in memory, and what is declared."""

    people: Population
    column: NDArray[Any] | None
    declared: tuple[Value, ...]

    @classmethod
    def of(cls, people: Population, name: str, read: bool) -> _KnownValues | None:
        """What is known of a column; ``None`` where nothing is, and where it holds times, which have many spellings."""
        declared = facts_of(people).declared(name)
        if isinstance(people, Sample | Census) and isinstance(people.rows, Table):
            column = plain(people.rows.column(name), name)
            if kind_of(column) == "time":
                return None
            truths: tuple[Value, ...] = (False, True) if kind_of(column) == "truth" else ()
            return cls(people, column, (*declared, *people.rows.categories(name), *truths))
        if isinstance(people, Sample | Census):
            return cls(people, None, people.values(name)) if read else None
        return cls(people, None, declared) if declared else None

    def has(self, value: Value) -> bool:
        """Whether a value is declared, or occurs; one of another kind than the column's is refused elsewhere."""
        if value in self.declared:
            return True
        if self.column is None:
            return False
        if isinstance(value, str) != (kind_of(self.column) == "text"):
            return True
        return bool(np.any(self.column == value))

    def message(self, name: str, value: Value) -> str:
        """The message that nobody has a value, with the nearest ones that occur, and what to do."""
        known = self.declared if self.column is None else distinct([self.column], name)
        near = _nearest_first(value, known)
        listed = ", ".join(map(value_text, near[:SHOWN])) + (", ..." if len(near) > SHOWN else "")
        hint = nearest(value, [item for item in known if isinstance(item, str)]) if isinstance(value, str) else ""
        return (
            f"expected a value that occurs in {name!r}, {listed or 'which has none'}, but got {value_text(value)}: "
            f"nobody has it, and a claim about nobody says nothing.{hint} If somebody could have it, declare it with "
            f"the population: values={{{name!r}: [...]}}"
        )


def _nearest_first(value: Value, known: Sequence[Value]) -> list[Value]:
    """Known values, the nearest first: numbers by their distance, text by similarity."""
    if isinstance(value, str):
        return sorted(known, key=lambda item: -SequenceMatcher(None, str(item).lower(), value.lower()).ratio())
    numbers = [item for item in known if not isinstance(item, str)]
    return sorted(numbers, key=lambda item: abs(float(item) - float(value)))


def census_of(population: Population) -> Census | None:
    """The census that a population is, with or without a causal model; ``None`` for every other kind."""
    people_of = population.people if isinstance(population, Abducted) else population
    return people_of if isinstance(people_of, Census) else None


def narrowed(wanted: Wanted, named: tuple[str, ...], model: Model | None, known: tuple[str, ...]) -> Wanted:
    """Leave out columns that neither the property names nor the model reads.

    Parameters
    ----------
    wanted
        What the question needs: all columns, where there is a model to query.
    named
        The columns that the property names.
    model
        The model; ``None`` without one.
    known
        The columns that exist. A model that reads others is given everything, and reports what is missing.
    """
    own = None if model is None else model.reads
    if wanted.columns is not None or own is None or not set(own) <= set(known):
        return wanted
    return replace(wanted, columns=tuple(name for name in known if name in {*own, *named}))


def batch_size(population: Population) -> int:
    """How many people form one batch: fewer for a table that is read from files as needed, to save memory."""
    census = census_of(population)
    return LONG_AT_ONCE if census is not None and isinstance(census.rows, LongTable) else AT_ONCE
