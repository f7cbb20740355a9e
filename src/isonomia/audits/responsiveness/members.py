"""Whom a property is about: the rows that meet its condition, with the model's answer for them as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.rates.asking import Asker
from isonomia.audits.rates.refusals import refuse_class
from isonomia.audits.responsiveness.request import Request
from isonomia.errors import DataError, SpecError, UsageError, nearest
from isonomia.interventions.coding import encoded
from isonomia.models.protocol import Answer
from isonomia.populations.census import Census
from isonomia.populations.sample import Sample
from isonomia.populations.table import Table
from isonomia.spec.batch import Batch
from isonomia.spec.names import columns_of, outputs_of
from isonomia.spec.responsiveness import OWN, OWN_SCORE, Responsiveness
from isonomia.spec.rows import truth
from isonomia.spec.tree import Row
from isonomia.spec.walk import nodes

__all__ = ["Members", "members_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """The people that a property is about.

    Attributes
    ----------
    table
        Their rows; ``None`` where there is nobody.
    rows
        Which rows of the population's table they are.
    """

    table: Table | None
    rows: NDArray[np.intp]


def members_of(request: Request, asker: Asker) -> Members:
    """Choose the people that a property is about.

    Raises
    ------
    UsageError
        Where the population is no table.
    SpecError, DataError
        Where a condition or a count speaks of a column that is not there, or a person's value is missing.
    """
    prop, table = request.prop, _table(request)
    _check_columns(prop, table)
    for row in (prop.condition, prop.members):
        for node in nodes(row) if row is not None else ():
            refuse_class(node, request.model)
    rows = _rows(prop, table)
    some = table if prop.rows is None else table.take(rows)
    if prop.members is None:
        return Members(some, rows)
    kept = np.flatnonzero(_holds_for(prop.members, prop, some, asker))
    return Members(some.take(kept) if len(kept) else None, rows[kept])


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


def _table(request: Request) -> Table:
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
            raise SpecError(f"the target speaks of {name!r}, which is no column.{nearest(name, table.names)}")
    for name in (*prop.by, *(columns_of(prop.members) if prop.members is not None else ())):
        if name not in table.names:
            raise SpecError(f"there is no column {name!r}.{nearest(name, (*table.names, 'prediction', 'score'))}")
