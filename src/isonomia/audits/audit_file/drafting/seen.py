"""Everything that a draft rests on: the table, the model's answers, and what was guessed from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from isonomia.audits.audit_file.drafting.asking import Asked
from isonomia.audits.audit_file.drafting.columns import Column
from isonomia.audits.audit_file.drafting.decisions import Decision
from isonomia.audits.audit_file.drafting.groups import Attribute
from isonomia.models.protocol import Answer
from isonomia.populations.table import Table
from isonomia.spec.batch import Batch
from isonomia.spec.lexemes import name_text, value_text
from isonomia.spec.names import columns_of
from isonomia.spec.parse import parse_condition
from isonomia.spec.rows import truth

__all__ = ["Outcome", "Seen"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The column with what turned out.

    Attributes
    ----------
    column
        The column.
    positive
        Its value for those who deserve the favourable answer; ``None`` where it holds numbers.
    sure
        Whether the user named it, or its name says outright what it is.
    why
        What speaks for it.
    """

    column: Column
    positive: Any
    sure: bool
    why: str

    @property
    def event(self) -> str:
        """The condition that a person deserves it."""
        return f"{name_text(self.column.name)} == {value_text(self.positive)}"


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """What was seen and guessed.

    Attributes
    ----------
    table, columns
        The people, or as many as were looked at.
    asked
        What the model answered; ``None`` where the table holds the answers.
    decision
        The favourable answer.
    decided
        The column that holds the answers, where there is no model.
    outcome
        What turned out; ``None`` where no column looks like it.
    attributes
        Protected attributes.
    long
        Whether the table is too long to be held.
    """

    table: Table
    columns: Mapping[str, Column]
    asked: Asked | None
    decision: Decision
    decided: str | None
    outcome: Outcome | None
    attributes: tuple[Attribute, ...]
    long: bool

    def reads(self, name: str) -> bool:
        """Whether the model reads a column, as far as it says so."""
        return self.asked is not None and (self.asked.reads is None or name in self.asked.reads)

    def people(self, condition: str) -> int:
        """How many of the people meet a condition."""
        return _meeting(condition, self.table, Answer())

    def favoured(self, condition: str) -> int:
        """How many people with the favourable answer were seen among those who meet a condition."""
        both = f"{self.decision.event} and {condition}"
        if self.asked is not None:
            return _meeting(both, self.asked.rows, self.asked.answer)
        stored = self.table.column(self.decided) if self.decided is not None else None
        return _meeting(both, self.table, Answer(stored))


def _meeting(condition: str, table: Table, answer: Answer) -> int:
    row = parse_condition(condition)
    columns = {name: table.column(name) for name in columns_of(row)}
    batch = Batch(table.rows, columns, answer.prediction, answer.score, answer.classes)
    return int(np.broadcast_to(truth(row, batch), (table.rows,)).sum())
