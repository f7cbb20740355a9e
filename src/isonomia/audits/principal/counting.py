"""Counting people: by subgroup, attribute value, prediction and outcome. Rows go no further than here."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.principal.coding import coding_of
from isonomia.audits.principal.question import Question
from isonomia.audits.rates.asking import Asker
from isonomia.errors import DataError, SpecError
from isonomia.populations.table import Table
from isonomia.spec.columns import missing, plain
from isonomia.spec.tree import Value

__all__ = ["MOST_SUBGROUPS", "Counts", "Key", "check_table", "count", "refuse_many", "subgroups_in"]

Key: TypeAlias = tuple[Value, ...]
"""A subgroup: its value of each column of ``given``."""

Counts: TypeAlias = dict[Key, NDArray[np.float64]]
"""For each subgroup, how many people fell into each cell: shape ``(attributes, predictions * outcomes)``."""

MOST_SUBGROUPS = 200
"""How many subgroups there may be; columns with more combinations are hardly a grouping."""


def count(question: Question, table: Table, asker: Asker | None) -> Counts:
    """Ask the model about a batch, where there is one, and count it.

    Raises
    ------
    DataError
        Where a value is missing, or is none of those that were known beforehand.
    """
    keys, places = _sorted_into(table, question.given)
    shape, prop = question.shape, question.prop
    if asker is not None:
        decided = asker(table, False, True).prediction
        assert decided is not None
    else:
        decided = table.column(prop.prediction)
    a = question.attribute.codes(table.column(prop.attribute))
    cells = question.prediction.codes(decided) * shape.outcomes + question.outcome.codes(table.column(prop.outcome))
    flat = (places * shape.attributes + a) * shape.cells + cells
    counted = np.bincount(flat, minlength=len(keys) * shape.attributes * shape.cells).astype(np.float64)
    return dict(zip(keys, counted.reshape(len(keys), shape.attributes, shape.cells), strict=True))


def check_table(question: Question, table: Table) -> None:
    """Look through a whole table before anything is asked, so that a complaint names the table's own rows."""
    question.attribute.codes(table.column(question.prop.attribute))
    question.outcome.codes(table.column(question.prop.outcome))
    if not question.asks_model:
        question.prediction.codes(table.column(question.prop.prediction))


def subgroups_in(table: Table, given: tuple[str, ...]) -> tuple[Key, ...]:
    """The combinations of values that occur, in their order.

    Raises
    ------
    DataError
        Where a value is missing.
    SpecError
        Where there are more than ``MOST_SUBGROUPS``.
    """
    return tuple(_sorted_into(table, given)[0])


def refuse_many(number: int, given: tuple[str, ...]) -> None:
    """Refuse subgroups that are too many to say anything about."""
    if number > MOST_SUBGROUPS:
        raise SpecError(
            f"expected at most {MOST_SUBGROUPS} subgroups, but {', '.join(map(repr, given))} have {number:,} "
            "combinations of values: leave a column out of given, or put its values into bands"
        )


def _sorted_into(table: Table, given: tuple[str, ...]) -> tuple[list[Key], NDArray[np.intp]]:
    """The subgroups that occur, in the order of their values, and for each row the number of its subgroup."""
    if not given:
        return [()], np.zeros(table.rows, dtype=np.intp)
    codings = [coding_of(name, [_present(table, name)], least=1) for name in given]
    codes = np.stack([coding.codes(table.column(coding.name)) for coding in codings])
    sizes = [len(coding.values) for coding in codings]
    found, places = np.unique(np.ravel_multi_index(tuple(codes), sizes), return_inverse=True)
    refuse_many(len(found), given)
    numbers = np.stack(np.unravel_index(found, sizes), axis=1)
    keys = [tuple(coding.values[n] for coding, n in zip(codings, row, strict=True)) for row in numbers.tolist()]
    return keys, places.astype(np.intp)


def _present(table: Table, name: str) -> NDArray[np.generic]:
    column = table.column(name)
    gone = missing(plain(column, name))
    if gone.any():
        raise DataError(
            f"expected a value of {name} in every row, but it is missing in {int(gone.sum())} of {len(gone)} rows, "
            f"first in row {int(np.flatnonzero(gone)[0])}: drop these rows, or fill them in"
        )
    return column
