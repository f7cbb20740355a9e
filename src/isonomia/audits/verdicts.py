"""What all verdicts and journals state alike.

What a check reads of population and model beforehand, kept in its journal.

How a model answers in an audit: watched for changing its answers, or allowed to answer at random.

What the verdicts of all audits state alike: the answer in a word, why it stopped, and of whom and what it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from typing import Literal as OneOf

from isonomia.engine.journal import Blank, Entry, Journal, once
from isonomia.errors import DataError, RecordError
from isonomia.models.protocol import Model, RecordedModel
from isonomia.models.wrappers import Cached, unwrap, watch
from isonomia.populations.protocol import Population
from isonomia.populations.recorded import RecordedPopulation
from isonomia.records.verdict import Verdict
from isonomia.spec.text import to_text
from isonomia.spec.tree import Value

__all__ = [
    "ANSWERS",
    "CACHE",
    "SAME",
    "introduce",
    "model_stated",
    "population_stated",
    "recorded_model",
    "recorded_population",
    "stated",
    "values_in",
    "watched",
    "why_stopped",
]


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


SAME = frozenset(
    {
        "the model gives the same answer for the same person",
        "the model answers the same row alike every time",
        "the model answers the same whenever it is asked about the same input",
    }
)
"""How the audits say that a model answers alike, which is not assumed of one that may answer at random."""

_RANDOM = (
    "the model may answer at random, as you said: its answers are independent of each other, and rates are over that "
    "randomness too"
)
_FINITE = "of a finite population, the verdict speaks of the answers that the model happened to give this time"


def watched(model: Model, random_model: bool) -> Model:
    """Watch a model for changing its answers, unless it may do so."""
    if not random_model:
        return watch(model)
    return model.around(model.model) if isinstance(model, Cached) else model


def stated(verdict: Verdict, model: Model | None, random_model: bool, journal: Journal) -> Verdict:
    """Say in a verdict what was allowed to the model, and what a cache saved, which is kept in the journal."""
    remarks, assumptions = verdict.remarks, verdict.assumptions
    if model is not None and random_model:
        kept = tuple(sentence for sentence in assumptions if sentence not in SAME)
        finite = verdict.method == "exact" or verdict.population.get("kind") == "census"
        assumptions = (*kept, _RANDOM, *((_FINITE,) if finite else ()))
    if isinstance(model, Cached) and verdict.stopped != "interrupted":
        remarks = (*remarks, once(journal, CACHE, lambda: {"remark": model.remark})["remark"])
    elif isinstance(model, Cached):
        remarks = (*remarks, model.remark)
    recorded = None if model is None else unwrap(model)
    if isinstance(recorded, RecordedModel) and recorded.remark is not None:
        remarks = (*remarks, recorded.remark)
    return replace(verdict, remarks=remarks, assumptions=assumptions)


ANSWERS: Mapping[bool | None, OneOf["holds", "violated", "undecided"]] = {
    True: "holds",
    False: "violated",
    None: "undecided",
}

_REASONS = {
    "decided": "decided",
    "time": "the budget of time is spent",
    "exhausted": "every row is used up",
    "interrupted": "interrupted",
}


def why_stopped(reason: str, counted: str = "people") -> str:
    """Why the loop of the engine ended, in words; ``counted`` is what its budget counts."""
    return f"the budget of {counted} is spent" if reason == "budget" else _REASONS[reason]


def population_stated(population: Population) -> dict[str, Any]:
    """Of whom a verdict is."""
    return {"kind": population.kind, "size": population.size, "fingerprint": population.fingerprint()}


def model_stated(model: Model | None) -> dict[str, Any]:
    """Of which model a verdict is; empty where there was none."""
    return {} if model is None else {"name": model.name, "fingerprint": model.fingerprint()}
