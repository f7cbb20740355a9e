"""What a check reads of population and model beforehand, kept in its journal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isonomia.engine.journal import Blank, Entry, Journal, once
from isonomia.errors import DataError, RecordError
from isonomia.models.protocol import Model
from isonomia.models.recorded import RecordedModel
from isonomia.populations.protocol import Population
from isonomia.populations.recorded import RecordedPopulation
from isonomia.spec.text import to_text
from isonomia.spec.tree import Value

__all__ = ["CACHE", "introduce", "recorded_model", "recorded_population", "values_in"]

VALUES = "values of "
"""What the keys of values begin with; the name of the column follows."""

CACHE = "cache"
"""The key of what a cache of answers had to say."""


def introduce(population: Population | Any, model: Model | None, journal: Journal) -> None:
    """Keep what population and model say of themselves; where that was kept before, make sure that they still do.

    Raises
    ------
    DataError
        Where the check would go on with other people or with another model than it began with.
    """
    if isinstance(journal, Blank):  # to tell them from others, all rows are read: not for a journal that keeps nothing
        return
    for what, entry in (("population", _population(population)), ("model", _model(model))):
        before = once(journal, what, lambda entry=entry: entry)  # type: ignore[misc]
        if before.get("fingerprint") != entry.get("fingerprint"):
            raise DataError(
                f"expected the {what} that this run began with, but it has changed since: its fingerprint was "
                f"{str(before.get('fingerprint'))[:12]} and is {str(entry.get('fingerprint'))[:12]}. Begin a new run"
            )


def values_in(population: Population, column: str, journal: Journal) -> tuple[Value, ...]:
    """The values that occur in a column."""
    found = once(journal, f"{VALUES}{column}", lambda: {"values": list(population.values(column))})
    return tuple(found["values"])


def recorded_population(entries: Mapping[str, Entry]) -> RecordedPopulation:
    """What a finished check's journal tells of its population.

    Raises
    ------
    RecordError
        Where it tells nothing.
    """
    if "population" not in entries:
        raise RecordError("expected in the journal what the population said of itself, but it is not there")
    known = {
        key.removeprefix(VALUES): tuple(entry["values"]) for key, entry in entries.items() if key.startswith(VALUES)
    }
    return RecordedPopulation.of(entries["population"], known)


def recorded_model(entries: Mapping[str, Entry]) -> RecordedModel | None:
    """What a finished check's journal tells of its model; ``None`` where there was none."""
    return RecordedModel.of(entries.get("model", {}), entries.get(CACHE, {}).get("remark"))


def _population(population: Any) -> Entry:
    if isinstance(population, RecordedPopulation):
        return {"fingerprint": population.stored_fingerprint}
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
