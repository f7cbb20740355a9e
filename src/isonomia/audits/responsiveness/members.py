"""Whom it is about; their numbers, packed.

Numbers of many people as plain values that JSON can hold: small and exact.

Whom a property is about: the rows that meet its condition, with the model's answer for them as they are.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.answers import Asker
from isonomia.audits.protocol import Check
from isonomia.audits.rates.question import refuse_class
from isonomia.engine.journal import Entry
from isonomia.errors import DataError, SpecError, UsageError, nearest
from isonomia.interventions.features import encoded
from isonomia.models.protocol import Answer
from isonomia.populations.columns import plain_value
from isonomia.populations.finite import Census, Sample
from isonomia.populations.table import Table
from isonomia.spec.evaluate import Batch, truth
from isonomia.spec.responsiveness import OWN, OWN_SCORE, Responsiveness
from isonomia.spec.tree import Row
from isonomia.spec.walk import columns_of, nodes, outputs_of

__all__ = ["Members", "by_row_of_the_table", "check_names", "members_of", "packed", "people_of", "table_of", "unpacked"]


_TYPES = ("u1", "u2", "u4", "u8", "f8")
"""Whole numbers that are not negative, in as few bytes as the largest takes; and others."""

_MOST = 50_000_000
"""How many numbers are unpacked at most: a few bytes of a record may say that they are any number."""


def packed(numbers: NDArray[Any]) -> Entry:
    """Numbers in one text; every bit of them is kept."""
    kind = _smallest(numbers)
    squeezed = zlib.compress(numbers.astype(f"<{kind}").tobytes(), level=6)
    return {"count": len(numbers), "type": kind, "bytes": base64.b64encode(squeezed).decode("ascii")}


def _smallest(numbers: NDArray[Any]) -> str:
    most = numbers.max(initial=0)
    whole = numbers.dtype.kind != "f" or (most < 2.0**53 and bool((numbers == np.floor(numbers)).all()))
    return next((kind for kind in _TYPES[:-1] if whole and most <= np.iinfo(kind).max), _TYPES[-1])


def unpacked(entry: Entry, count: int | None = None) -> NDArray[Any]:
    """The numbers that were packed.

    Parameters
    ----------
    entry
        What they were packed to.
    count
        How many there must be, where that is known.

    Raises
    ------
    DataError
        Where it is something else, as in a record that was changed.
    """
    try:
        told, kind = int(entry["count"]), _TYPES[_TYPES.index(entry["type"])]
        size = told * np.dtype(kind).itemsize
        if not 0 <= told <= _MOST:
            raise ValueError(f"at most {_MOST:,} are read")
        # No more is unpacked than was told, however little text it came from.
        data = zlib.decompressobj().decompress(base64.b64decode(entry["bytes"], validate=True), size + 1)
    except (KeyError, TypeError, ValueError, zlib.error) as error:
        raise DataError(f"expected numbers of people in the record, but {str(entry)[:80]} came: {error}") from error
    if len(data) != size or (count is not None and told != count):
        wanted = told if count is None else count
        raise DataError(f"expected numbers of {wanted:,} people in the record, but there are others: {str(entry)[:80]}")
    return np.frombuffer(data, dtype=f"<{kind}").astype(np.float64 if kind == "f8" else np.intp)


_ROW = re.compile(r"\bin row (\d+)")
"""How a message about people tells whose row it is about."""


@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """The people that a property is about.

    Attributes
    ----------
    rows
        Which rows of the population's table they are.
    groups
        The groups that they are counted by, as the values of the columns that make them.
    group
        Which of the groups each of them is in.
    """

    rows: NDArray[np.intp]
    groups: tuple[tuple[Any, ...], ...]
    group: NDArray[np.intp]

    def pack(self) -> Entry:
        """As plain values."""
        steps = np.diff(self.rows, prepend=0)  # of rows in order these are all alike, and take little room
        rows = {"steps": packed(steps)} if (steps >= 0).all() else {"rows": packed(self.rows)}
        grouped = {"groups": list(map(list, self.groups)), "group": packed(self.group)} if self.groups else {}
        return rows | grouped

    @classmethod
    def unpack(cls, entry: Entry) -> Members:
        """From plain values.

        Raises
        ------
        DataError
            Where somebody is in a group that is none, as in a record that was changed.
        """
        rows = np.cumsum(unpacked(entry["steps"])) if "steps" in entry else unpacked(entry["rows"])
        if "groups" not in entry:
            return cls(rows, (), np.zeros(len(rows), dtype=np.intp))
        groups, group = tuple(map(tuple, entry["groups"])), unpacked(entry["group"], len(rows))
        if not (group < len(groups)).all():
            raise DataError(f"expected {len(groups):,} groups of people in the record, but some are in another")
        return cls(rows, groups, group)


def members_of(request: Check[Responsiveness], asker: Asker) -> Members:
    """Choose the people that a property is about.

    Raises
    ------
    UsageError
        Where the population is no table.
    SpecError, DataError
        Where a condition or a count speaks of a column that is not there, or a person's value is missing.
    """
    prop, table = request.prop, table_of(request)
    check_names(request)
    rows = _rows(prop, table)
    if prop.members is not None:
        some = table if prop.rows is None else table.take(rows)
        with by_row_of_the_table(rows):
            rows = rows[np.flatnonzero(_holds_for(prop.members, prop, some, asker))]
    if not prop.by or not len(rows):
        return Members(rows, (), np.zeros(len(rows), dtype=np.intp))
    return Members(rows, *_grouped(prop, _of_rows(prop, table, rows)))


def check_names(request: Check[Responsiveness]) -> None:
    """Refuse a property that speaks of columns or classes that there are not. Nobody is looked at.

    Raises
    ------
    UsageError
        Where the population is no table.
    SpecError, DataError
        For the first name that is not there, with the nearest one that is.
    """
    prop = request.prop
    _check_columns(prop, table_of(request))
    for row in (prop.condition, prop.members):
        for node in nodes(row) if row is not None else ():
            refuse_class(node, request.required_model)


@contextmanager
def by_row_of_the_table(rows: NDArray[np.intp]) -> Iterator[None]:
    """Let messages about somebody among some people name their row of the table.

    Parameters
    ----------
    rows
        Which rows of the table the people are.
    """
    try:
        yield
    except DataError as error:
        told = _ROW.sub(lambda found: f"in row {rows[int(found[1])]}", str(error), count=1)
        raise DataError(told) from error


def people_of(request: Check[Responsiveness], members: Members) -> Table:
    """The rows of the people that a property is about."""
    return _of_rows(request.prop, table_of(request), members.rows)


def _of_rows(prop: Responsiveness, table: Table, rows: NDArray[np.intp]) -> Table:
    return table if prop.rows is None and prop.members is None else table.take(rows)


def _grouped(prop: Responsiveness, people: Table) -> tuple[tuple[tuple[Any, ...], ...], NDArray[np.intp]]:
    """The groups in the order in which they occur, and which of them each person is in."""
    columns = [[plain_value(value) for value in people.column(name)] for name in prop.by]
    known: dict[tuple[Any, ...], int] = {}
    places = [known.setdefault(key, len(known)) for key in zip(*columns, strict=True)]
    return tuple(known), np.asarray(places, dtype=np.intp)


def _rows(prop: Responsiveness, table: Table) -> NDArray[np.intp]:
    if prop.rows is None:
        return np.arange(table.rows)
    rows = np.atleast_1d(np.asarray(prop.rows, dtype=np.intp))
    if rows.max() >= table.rows:
        raise UsageError(
            f"expected rows from 0 to {table.rows - 1:,}, since the table has {table.rows:,}, but {rows.max()} came"
        )
    return rows


def answers_for(row: Row, table: Table, asker: Asker) -> Answer:
    """What a condition needs of the model's answers."""
    outputs = {output.name for output in outputs_of(row)}
    return asker(table, "score" in outputs, "prediction" in outputs) if outputs else Answer()


def _holds_for(row: Row, prop: Responsiveness, table: Table, asker: Asker) -> NDArray[np.bool_]:
    if outputs_of(row):
        encoded(prop.actions.features, table)  # a missing value is better told as such than by a model that fails
    answer = answers_for(row, table, asker)
    columns: dict[str, Any] = {name: table.column(name) for name in columns_of(row)}
    batch = Batch(table.rows, columns, answer.prediction, answer.score, answer.classes)
    return np.broadcast_to(truth(row, batch), (table.rows,))


def table_of(request: Check[Responsiveness]) -> Table:
    """The people of the population.

    Raises
    ------
    UsageError
        Where it is no table.
    """
    population = request.population
    if not isinstance(population, Sample | Census):
        raise UsageError(
            f"responsiveness is about people who can be pointed at: expected a table of them, Census(table) or "
            f"Sample(table), but a population of kind {population.kind!r} came"
        )
    return population.table


def _check_columns(prop: Responsiveness, table: Table) -> None:
    taken = [name for name in (OWN, OWN_SCORE) if name in table.names and name in columns_of(prop.condition)]
    if taken:
        raise DataError(
            f"the table has a column {taken[0]!r}, which in a target means the model's answer for the person as they "
            "are: rename the column"
        )
    for name in columns_of(prop.condition):
        if name not in (OWN, OWN_SCORE, *table.names):
            message = f"the target speaks of {name!r}, which is no column.{nearest(name, table.names)}"
            raise SpecError(message, name=name)
    for name in (*prop.by, *(columns_of(prop.members) if prop.members is not None else ())):
        if name not in table.names:
            message = f"there is no column {name!r}.{nearest(name, (*table.names, 'prediction', 'score'))}"
            raise SpecError(message, name=name)
