"""What the verdicts of all audits state alike: the answer in a word, why it stopped, and of whom and what it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from typing import Literal as OneOf

from isonomia.models.protocol import Model
from isonomia.populations.protocol import Population

__all__ = ["ANSWERS", "model_stated", "population_stated", "why_stopped"]

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
