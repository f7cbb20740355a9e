"""What a check of responsiveness starts from: the people, what they can reach, and which points have the target.

All of it is built on demand. A check that finds everything in its journal builds nothing: then no row is looked at and
no model is queried.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import inf
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.people import refuse_absent_values, refuse_class
from isonomia.audits.protocol import Check
from isonomia.audits.responsiveness.points import (
    TargetTest,
    enumerate_by_workers,
    numbered,
    own_answers,
    shared_context,
)
from isonomia.errors import DataError, SpecError, UsageError, nearest
from isonomia.executors import TaskContext
from isonomia.interventions import Memory, ReachableSets
from isonomia.interventions.blocks import Enumerated
from isonomia.interventions.features import PersonError, encoded
from isonomia.models.meter import BudgetSpentError, current_meter
from isonomia.models.protocol import Answer
from isonomia.models.session import ModelSession
from isonomia.populations.finite import Census, Sample
from isonomia.populations.table import Table
from isonomia.records.journal import Entry, Journal, NamespacedJournal
from isonomia.spec.evaluate import Batch, truth
from isonomia.spec.responsiveness import OWN, OWN_SCORE, Responsiveness
from isonomia.spec.tree import Row, columns_of, nodes, outputs_of

Value = TypeVar("Value")


@dataclass
class ResponsivenessSetup:
    """The people, what they can reach, and the model, each built when it is first needed."""

    check: Check[Responsiveness]

    @cached_property
    def members(self) -> AuditedPeople:
        """The people that the property is about."""
        journal = self.check.journal

        def choose() -> AuditedPeople:
            return _choose_members(self.check, self._recorded("members"))

        return recalled_or_measured(journal, "members", choose, AuditedPeople.pack, AuditedPeople.unpack)

    @cached_property
    def reach(self) -> ReachSizes:
        """How much they can reach."""
        unpack = partial(ReachSizes.unpack, people=len(self.members.rows))
        check = self.check

        def measure() -> ReachSizes:
            return ReachSizes.of(self.sets, check.random_model)

        return recalled_or_measured(check.journal, "reach", measure, ReachSizes.pack, unpack)

    @cached_property
    def few(self) -> NDArray[np.bool_]:
        """Whose points are all looked at."""
        return self.reach.listable(self.check.prop.most_listed)

    @cached_property
    def people(self) -> Table:
        """Their rows."""
        return _rows_of(self.check.prop, table_of(self.check), self.members.rows)

    @cached_property
    def sets(self) -> ReachableSets:
        """What they can reach."""
        prop, pool, memory = self.check.prop, self.check.pool, self.check.prop.memory
        if pool is not None and not pool.executing.here:
            memory = replace(memory or Memory(), enumerate=partial(enumerate_by_workers, pool))
        if self.check.budget.seconds < inf:
            memory = memory or Memory()
            memory = replace(memory, enumerate=partial(_in_time, memory.enumerate))
        with errors_by_row_of_table(self.members.rows):
            sets: ReachableSets = prop.actions.reach(self.people, memory)
        return replace(sets, keeps_bounds=True)

    @cached_property
    def shared(self) -> TaskContext | None:
        """What workers in other processes need to draw points; ``None`` where they are not to draw."""
        if self.check.pool is None or self.check.pool.executing.here:
            return None
        return shared_context(self.check.required_model, self.sets, self.target, self.check.seed)

    @cached_property
    def target(self) -> TargetTest:
        """Says which points have the target prediction.

        Answers for points are not kept; their counts are, portion by portion.
        """
        prop, people = self.check.prop, self.people
        own = own_answers(
            prop.condition,
            self._recorded("people as they are"),
            people,
        )
        others = [name for name in people.names if name not in prop.actions.names]
        profile = numbered(people, others)[1] if others else np.zeros(people.rows, dtype=np.intp)
        return TargetTest(prop.condition, self.check.required_model, people, self.members.rows, own, profile)

    def _recorded(self, purpose: str) -> ModelSession:
        return self.check.required_model.recorded(NamespacedJournal(self.check.journal, purpose))

    def close(self) -> None:
        """Close the session with the model."""
        self.check.required_model.close()


@dataclass(frozen=True, slots=True, eq=False)
class AuditedPeople:
    """The people that a property is about.

    Attributes
    ----------
    rows
        Which rows of the population's table they are.
    groups
        The groups that they are counted by, as the values of the columns that define them.
    group
        Which of the groups each of them is in.
    skipped
        How many others were left out, because their values are missing, impossible or break a rule.
    """

    rows: NDArray[np.intp]
    groups: tuple[tuple[Any, ...], ...]
    group: NDArray[np.intp]
    skipped: int = 0

    def pack(self) -> Entry:
        """As plain values."""
        steps = np.diff(self.rows, prepend=0)  # for rows in order these are all equal, and take little room
        rows = {"steps": packed(steps)} if (steps >= 0).all() else {"rows": packed(self.rows)}
        grouped = {"groups": list(map(list, self.groups)), "group": packed(self.group)} if self.groups else {}
        return rows | grouped | ({"skipped": self.skipped} if self.skipped else {})

    @classmethod
    def unpack(cls, entry: Entry) -> AuditedPeople:
        """From plain values; a record with a person in a group that does not exist is refused."""
        rows = np.cumsum(unpacked(entry["steps"])) if "steps" in entry else unpacked(entry["rows"])
        skipped = int(entry.get("skipped", 0))
        if "groups" not in entry:
            return cls(rows, (), np.zeros(len(rows), dtype=np.intp), skipped)
        groups, group = tuple(map(tuple, entry["groups"])), unpacked(entry["group"], len(rows))
        if not (group < len(groups)).all():
            raise DataError(f"expected {len(groups):,} groups of people in the record, but some are in another")
        return cls(rows, groups, group, skipped)


@dataclass(frozen=True, slots=True, eq=False)
class ReachSizes:
    """How much people can reach: all that a replay, which cannot look at people, has to know about it.

    Attributes
    ----------
    counts
        How many points each person can reach by actions; infinite where they are not counted.
    by_chance
        Whether effects come after an action, or the model answers at random: then no list of points is all there is.
    approximate
        Whether any draws are only nearly uniform.
    """

    counts: NDArray[np.float64]
    by_chance: bool
    approximate: bool

    @classmethod
    def of(cls, sets: ReachableSets, at_random: bool = False) -> ReachSizes:
        """The sizes of reachable sets; ``at_random`` where the model may answer at random."""
        return cls(sets.counts(), sets.by_chance or at_random, bool(sets.approximate().any()))

    def listable(self, max_n: int) -> NDArray[np.bool_]:
        """Whose points can all be looked at: at most ``max_n``, and without chance after an action."""
        if self.by_chance:
            return np.zeros(len(self.counts), dtype=bool)
        return self.counts <= max_n

    def pack(self) -> Entry:
        """As plain values."""
        return {"counts": packed(self.counts), "by_chance": self.by_chance, "approximate": self.approximate}

    @classmethod
    def unpack(cls, entry: Entry, people: int) -> ReachSizes:
        """From plain values."""
        counts = unpacked(entry["counts"], people).astype(np.float64)
        return cls(counts, entry["by_chance"], entry["approximate"])


def recalled_or_measured(
    journal: Journal,
    key: str,
    measure: Callable[[], Value],
    pack: Callable[[Value], Entry],
    unpack: Callable[[Entry], Value],
) -> Value:
    """A value from the journal, or else measured and kept there; nothing is packed where nothing is kept."""
    entry = journal.recall(key)
    if entry is not None:
        return unpack(entry)
    value = measure()
    journal.keep(key, lambda: pack(value))
    return value


def _in_time(enumerate_all: Callable[..., Enumerated], *arguments: Any) -> Enumerated:
    """List the moves of a block, unless the time is up."""
    if current_meter().is_late:
        raise BudgetSpentError("time")
    return enumerate_all(*arguments)


def table_of(check: Check[Responsiveness]) -> Table:
    """The people of the population, which must be a table."""
    population = check.population
    if not isinstance(population, Sample | Census):
        raise UsageError(
            f"responsiveness is about identifiable people: expected a table of them, Census(table) or "
            f"Sample(table), but got a population of kind {population.kind!r}",
            name="population",
        )
    return population.table


def check_property(check: Check[Responsiveness]) -> None:
    """Refuse a property that speaks of columns or classes that do not exist. No row is looked at."""
    prop = check.prop
    _check_columns(prop, table_of(check))
    for row in (prop.condition, prop.members):
        for node in nodes(row) if row is not None else ():
            refuse_class(node, check.required_model)


def _check_columns(prop: Responsiveness, table: Table) -> None:
    taken = [name for name in (OWN, OWN_SCORE) if name in table.names and name in columns_of(prop.condition)]
    if taken:
        raise DataError(
            f"the table has a column {taken[0]!r}, which in a target means the model's answer for the person as they "
            "are: rename the column"
        )
    for name in columns_of(prop.condition):
        if name not in (OWN, OWN_SCORE, *table.names):
            message = f"the target uses {name!r}, which is not a column.{nearest(name, table.names)}"
            raise SpecError(message, name=name)
    for name in (*prop.by, *(columns_of(prop.members) if prop.members is not None else ())):
        if name not in table.names:
            message = f"there is no column {name!r}.{nearest(name, (*table.names, 'prediction', 'score'))}"
            raise SpecError(message, name=name)


def _choose_members(check: Check[Responsiveness], session: ModelSession) -> AuditedPeople:
    """The people that a property is about."""
    prop, table = check.prop, table_of(check)
    check_property(check)
    refuse_absent_values((prop.members,), check.population)
    rows = _stated_rows(prop, table)
    skipped = 0
    if prop.skip_invalid:
        invalid = prop.actions.invalid(table.take(rows))
        rows, skipped = rows[~invalid], int(invalid.sum())
    if prop.members is not None:
        some = table if prop.rows is None and not skipped else table.take(rows)
        with errors_by_row_of_table(rows):
            if outputs_of(prop.members):
                encoded(prop.actions.features, some)  # a missing value is better reported than a failing model
            rows = rows[np.flatnonzero(holds_for(prop.members, some, session))]
    if not prop.by or not len(rows):
        return AuditedPeople(rows, (), np.zeros(len(rows), dtype=np.intp), skipped)
    return AuditedPeople(rows, *numbered(_rows_of(prop, table, rows), prop.by), skipped)


def _stated_rows(prop: Responsiveness, table: Table) -> NDArray[np.intp]:
    if prop.rows is None:
        return np.arange(table.rows)
    rows = np.atleast_1d(np.asarray(prop.rows, dtype=np.intp))
    if rows.max() >= table.rows:
        raise UsageError(
            f"expected rows from 0 to {table.rows - 1:,}, since the table has {table.rows:,}, but got {rows.max()}"
        )
    return rows


def holds_for(row: Row, table: Table, session: ModelSession) -> NDArray[np.bool_]:
    """Whether a condition is true of each person as they are; the model is queried where it speaks of answers."""
    outputs = {output.name for output in outputs_of(row)}
    answer = session(table, "score" in outputs, "prediction" in outputs) if outputs else Answer()
    columns: dict[str, Any] = {name: table.column(name) for name in columns_of(row)}
    batch = Batch(table.rows, columns, answer.prediction, answer.score, answer.classes)
    return np.broadcast_to(truth(row, batch), (table.rows,))


def _rows_of(prop: Responsiveness, table: Table, rows: NDArray[np.intp]) -> Table:
    return table if len(rows) == table.rows and prop.rows is None else table.take(rows)


@contextmanager
def errors_by_row_of_table(rows: NDArray[np.intp]) -> Iterator[None]:
    """Make errors about one of some people, who are these rows of the table, name the row of the table."""
    try:
        yield
    except PersonError as error:
        raise error.at(int(rows[error.row])) from error


_TYPES = ("u1", "u2", "u4", "u8", "f8")
"""Non-negative integers, in as few bytes as the largest takes; and floats for all else."""

_MAX_COUNT = 50_000_000
"""The maximum number of numbers that are unpacked: a few bytes of a record may claim to be any number of them."""


def packed(numbers: NDArray[Any]) -> Entry:
    """Numbers as one text; every bit of them is kept."""
    kind = _smallest(numbers)
    squeezed = zlib.compress(numbers.astype(f"<{kind}").tobytes(), level=6)
    return {"count": len(numbers), "type": kind, "bytes": base64.b64encode(squeezed).decode("ascii")}


def _smallest(numbers: NDArray[Any]) -> str:
    largest = numbers.max(initial=0)
    whole = numbers.dtype.kind != "f" or (largest < 2.0**53 and bool((numbers == np.floor(numbers)).all()))
    return next((kind for kind in _TYPES[:-1] if whole and largest <= np.iinfo(kind).max), _TYPES[-1])


def unpacked(entry: Entry, count: int | None = None) -> NDArray[Any]:
    """The numbers that were packed, ``count`` of them where that is known; a record that was changed is refused."""
    try:
        stated, kind = int(entry["count"]), _TYPES[_TYPES.index(entry["type"])]
        size = stated * np.dtype(kind).itemsize
        if not 0 <= stated <= _MAX_COUNT:
            raise ValueError(f"at most {_MAX_COUNT:,} are read")
        # No more is unpacked than was stated, whatever the text would expand to.
        data = zlib.decompressobj().decompress(base64.b64decode(entry["bytes"], validate=True), size + 1)
    except (KeyError, TypeError, ValueError, zlib.error) as error:
        raise DataError(f"expected numbers of people in the record, but got {str(entry)[:80]}: {error}") from error
    if len(data) != size or (count is not None and stated != count):
        wanted = stated if count is None else count
        raise DataError(f"expected numbers of {wanted:,} people in the record, but there are others: {str(entry)[:80]}")
    return np.frombuffer(data, dtype=f"<{kind}").astype(np.float64 if kind == "f8" else np.intp)
