"""Counting people: by subgroup, attribute value, prediction and outcome. Rows go no further than here."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.principal.question import Question
from isonomia.audits.principal.subgroups import Key, refuse_many, sorted_into
from isonomia.audits.rates.asking import Asker
from isonomia.populations.table import Table

__all__ = ["Counts", "check_table", "count"]

Counts: TypeAlias = dict[Key, NDArray[np.float64]]
"""For each subgroup, how many people fell into each cell: shape ``(attributes, predictions * outcomes)``."""


def count(question: Question, table: Table, asker: Asker | None) -> Counts:
    """Ask the model about a batch, where there is one, and count it.

    Raises
    ------
    DataError
        Where a value is missing, or is none of those that were known beforehand.
    SpecError
        Where there are too many subgroups.
    """
    keys, places = sorted_into(table, question.given)
    refuse_many(len(keys), question.given)
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
