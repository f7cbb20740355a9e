"""What a check reads of population and model beforehand, kept in its journal."""

from __future__ import annotations

from typing import Any

from isonomia.engine.journal import Entry, Journal, once
from isonomia.errors import DataError
from isonomia.models.protocol import Model
from isonomia.populations.protocol import Population
from isonomia.spec.text import to_text
from isonomia.spec.tree import Value

__all__ = ["introduce", "values_in"]


def introduce(population: Population | Any, model: Model | None, journal: Journal) -> None:
    """Keep what population and model say of themselves; where that was kept before, make sure that they still do.

    Raises
    ------
    DataError
        Where the check would go on with other people or with another model than it began with.
    """
    for what, entry in (("population", _population(population)), ("model", _model(model))):
        before = once(journal, what, lambda entry=entry: entry)  # type: ignore[misc]
        if before.get("fingerprint") != entry.get("fingerprint"):
            raise DataError(
                f"expected the {what} that this run began with, but it has changed since: its fingerprint was "
                f"{str(before.get('fingerprint'))[:12]} and is {str(entry.get('fingerprint'))[:12]}. Begin a new run"
            )


def values_in(population: Population, column: str, journal: Journal) -> tuple[Value, ...]:
    """The values that occur in a column."""
    return tuple(once(journal, f"values of {column}", lambda: {"values": list(population.values(column))})["values"])


def _population(population: Any) -> Entry:
    if not hasattr(population, "streams"):  # a domain of a k-safety property
        known = {"fingerprint": population.fingerprint()} if hasattr(population, "fingerprint") else {}
        return {"kind": "domain", "name": population.name, "size": population.size, **known}
    return {
        "kind": population.kind,
        "size": population.size,
        "streams": [None if condition is None else to_text(condition) for condition in population.streams],
        "names": list(population.names),
        "assumptions": list(population.assumptions),
        "remarks": list(getattr(population, "remarks", ())),
        "fingerprint": population.fingerprint(),
    }


def _model(model: Model | None) -> Entry:
    if model is None:
        return {}
    return {
        "name": model.name,
        "score_range": None if model.score_range is None else list(model.score_range),
        "classes": list(model.classes),
        "fingerprint": model.fingerprint(),
    }
