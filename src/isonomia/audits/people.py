"""What every audit asks of its population: kind, columns, values; and people that several checks share."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.engine.parameters import batch_rng, root
from isonomia.errors import SpecError, UsageError, nearest
from isonomia.models.parallel import joined_answers
from isonomia.models.protocol import Answer, Model
from isonomia.models.session import ModelSession, SharedAnswers
from isonomia.populations.causal import Abducted
from isonomia.populations.finite import Census, Sample
from isonomia.populations.protocol import Population, Source, Wanted, facts_of, is_population
from isonomia.populations.streaming import AT_ONCE as LONG_AT_ONCE
from isonomia.populations.streaming import LongTable
from isonomia.populations.table import Table, distinct, joined
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
"""The maximum number of people drawn when the population is unlimited and no budget was given."""

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
    """Refuse a group whose value no row has: it is usually misspelled, and an empty group has no rate.

    In a table in memory, a text that a condition compares a column with must occur in that column; so must a number
    that it must equal, or one of those that it may equal. Where all values of a column are known beforehand, from
    ``values=`` or as categories of a causal model, it must be one of them. A value that was declared, with ``values=``
    or as a category of the table's column, is not a mistake: the verdict is *undecided* where it turns on it. Where
    draws have no end, a value that was not declared may still come; where it does not, that is *undecided* too.

    A table that is read from files as needed is searched only with ``read``, after all of it was read and no such
    row was found.
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
        """The known values of a column; ``None`` if they are unknown, and for times, which have many spellings."""
        declared = facts_of(people).declared(name)
        if isinstance(people, Sample | Census) and isinstance(people.rows, Table):
            column = plain(people.rows.column(name), name)
            if kind_of(column) == "time":
                return None
            truths: tuple[Value, ...] = (False, True) if kind_of(column) == "truth" else ()
            return cls(people, column, (*declared, *people.rows.categories(name), *truths))
        if isinstance(people, Sample | Census):
            values = people.values(name) if read else ()
            return cls(people, None, values) if values else None
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
        """The message that no row has a value, with the nearest values that occur, and what to do."""
        known = self.declared if self.column is None else distinct([self.column], name)
        near = _nearest_first(value, known)
        listed = ", ".join(map(value_text, near[:SHOWN])) + (", ..." if len(near) > SHOWN else "")
        hint = nearest(value, [item for item in known if isinstance(item, str)]) if isinstance(value, str) else ""
        return (
            f"expected a value that occurs in {name!r}, {listed or 'which has none'}, but got {value_text(value)}: "
            f"no row has this value, so the group is empty.{hint} If rows of the population can have it, declare it "
            f"with the population: values={{{name!r}: [...]}}"
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


def in_random_order(population: Population) -> Population:
    """The population whose rows come in random order, also those of a census that is counted where that is affordable.

    In the order of its table the first rows of a census say nothing about the others: it may be sorted.
    """
    census = census_of(population)
    if census is None or not census.exact:
        return population
    shuffled = census.shuffled()
    return replace(population, people=shuffled) if isinstance(population, Abducted) else shuffled


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


FIRST, LARGEST = 64, 2**13
"""The size of the first block; each later one is as large as all before it together, up to the largest."""

KEPT = 128
"""Blocks of people kept in memory; others are drawn again when they are needed, and come out the same."""


@dataclass(slots=True)
class SharedPeople:
    """What the checks of one population and one model share: the people, and the model's answers about them.

    It is both a source of people and what stands in front of the session, for one check at a time. Shared draws are one
    sequence of people, numbered from 0. Every check sees the same people in the same order, as many as it needs. The
    guarantee of each verdict is untouched: to every single check the draws are as good as its own. What is true of all
    verdicts together follows by adding their risks: no independence is needed.

    Attributes
    ----------
    population, session, seed
        As every one of the checks has them; no session where no check has a model.
    want_prediction, want_score
        What the checks want of the model, all of them together, so that it is asked once.
    everybody
        The answers of a pass over a whole census.
    """

    population: Population
    session: ModelSession | None
    seed: int
    want_prediction: bool = True
    want_score: bool = False
    everybody: SharedAnswers = field(init=False, repr=False)
    _opened: Source | None = field(default=None, init=False, repr=False)
    _drawn: tuple[Table, int] | None = field(default=None, init=False, repr=False)
    _blocks: OrderedDict[int, Table] = field(default_factory=OrderedDict, init=False, repr=False)
    _answers: dict[int, tuple[int, Answer]] = field(default_factory=dict, init=False, repr=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, init=False, repr=False)

    def __post_init__(self) -> None:
        self.everybody = SharedAnswers(self.want_score, self.want_prediction)

    @property
    def source(self) -> Source:
        """Where people are drawn: one stream of them, as they are; opened when the first check needs it."""
        if self._opened is None:
            self._opened = in_random_order(self.population).open(root(self.seed))
        return self._opened

    @property
    def finite(self) -> bool:
        """Whether the people come to an end."""
        return self.source.finite

    @property
    def model(self) -> ModelSession | None:
        """The session of all checks, with the shared answers in front; ``None`` where no check has a model."""
        return None if self.session is None else replace(self.session, front=self)

    def batch(self, start: int, n: int, rng: np.random.Generator, stream: int = 0) -> Table:  # noqa: ARG002
        """The next people; the draws have their own randomness, so ``rng`` is not used."""
        table = self.people(start, n)
        self._drawn = table, start
        return table

    def answer(self, session: ModelSession, table: Table, want_score: bool, want_prediction: bool) -> Answer:
        """What the model says about the people drawn last; any other table goes to the model itself."""
        if self._drawn is None or self._drawn[0] is not table:
            return session.ask(table, want_score, want_prediction)
        return self.answers(session, self._drawn[1], table.rows).wanted(want_score, want_prediction)

    def people(self, start: int, n: int) -> Table:
        """The people numbered from ``start`` up to ``start + n``, or what is left of them."""
        with self._lock:
            parts = [self._block(number).slice(first, last) for number, first, last in _parts(start, n)]
            nonempty = [part for part in parts if part.rows]
            return joined(nonempty) if nonempty else parts[0]

    def answers(self, session: ModelSession, start: int, n: int) -> Answer:
        """What the model says about these people; it is asked only about those it has not answered yet."""
        with self._lock:
            parts = [self._answered(session, number, first, last) for number, first, last in _parts(start, n)]
        return joined_answers([part for part in parts if part is not None], session.name)

    def _block(self, number: int) -> Table:
        block = self._blocks.get(number)
        if block is None:
            start, stop = _edges(number)
            rng = batch_rng(self.seed, number, 0)
            block = self._blocks[number] = self.source.batch(start, stop - start, rng)
            while len(self._blocks) > KEPT:
                self._blocks.popitem(last=False)
        self._blocks.move_to_end(number)
        return block

    def _answered(self, session: ModelSession, number: int, first: int, last: int) -> Answer | None:
        block, (rows, known) = self._block(number), self._answers.get(number, (0, None))
        last = min(last, block.rows)
        if last > rows:
            new = session.ask(block.slice(rows, last), self.want_score, self.want_prediction)
            known = new if known is None else joined_answers([known, new], session.name)
            self._answers[number] = last, known
        return None if known is None or last <= first else known.about(slice(first, last))


def _edges(number: int) -> tuple[int, int]:
    """The first person of a block, and the one after its last."""
    doubling = int(np.log2(LARGEST // FIRST))
    if number == 0:
        return 0, FIRST
    if number <= doubling:
        return FIRST * 2 ** (number - 1), FIRST * 2**number
    start = LARGEST * (number - doubling)
    return start, start + LARGEST


def _parts(start: int, n: int) -> list[tuple[int, int, int]]:
    """Which blocks some people are in, and where in each."""
    number = 0
    if start >= LARGEST:
        number = start // LARGEST + int(np.log2(LARGEST // FIRST))
    elif start >= FIRST:
        number = int(np.log2(start // FIRST)) + 1
    parts, left = [], n
    while left > 0:
        first, stop = _edges(number)
        last = min(start + left, stop)
        parts.append((number, start - first, last - first))
        left -= last - start
        start, number = last, number + 1
    return parts
