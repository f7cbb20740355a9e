"""A model of which only the record is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from isonomia.errors import DataError, UsageError
from isonomia.models.protocol import Answer
from isonomia.populations.table import Table
from isonomia.spec.tree import Value

__all__ = ["RecordedModel"]


@dataclass(frozen=True, slots=True)
class RecordedModel:
    """What a finished check kept of a model: it is known by name, but cannot be asked.

    Attributes
    ----------
    name, score_range, classes
        As the model said of itself.
    stored_fingerprint
        Its fingerprint.
    remark
        What a cache of its answers had to say at the end; ``None`` where there was no cache.
    """

    name: str
    score_range: tuple[float, float] | None
    classes: tuple[Value, ...]
    stored_fingerprint: str
    remark: str | None = None

    @classmethod
    def of(cls, entry: Mapping[str, Any], remark: str | None = None) -> RecordedModel | None:
        """The model that a journal tells of; ``None`` where the check had none.

        Raises
        ------
        DataError
            Where no model says that of itself, as in a record that was changed.
        """
        if not entry:
            return None
        span, classes = entry["score_range"], entry["classes"]
        names = isinstance(entry["name"], str) and isinstance(entry["fingerprint"], str)
        if not names or len({(type(value), value) for value in classes}) < len(classes):
            raise DataError(f"expected in the record what a model said of itself, but this is there: {str(entry)[:80]}")
        ends = None if span is None else (float(span[0]), float(span[1]))
        return cls(entry["name"], ends, tuple(classes), entry["fingerprint"], remark)

    def answer(self, table: Table, *, want_score: bool, want_prediction: bool) -> Answer:  # noqa: ARG002
        """Refuse.

        Raises
        ------
        UsageError
            Always.
        """
        raise UsageError(f"only the record of {self.name} is here: it cannot be asked")

    def fingerprint(self) -> str:
        """The fingerprint that the model had."""
        return self.stored_fingerprint
