"""What a check has to know of its inputs to reason about them, when it cannot look at them any more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from isonomia.audits.ksafety.functions import RANDOM
from isonomia.audits.ksafety.offered import is_domain
from isonomia.audits.ksafety.request import Request
from isonomia.engine.journal import Entry
from isonomia.populations.domains import Domain
from isonomia.populations.sample import Sample

__all__ = ["Subject", "described", "subject_from"]


@dataclass(frozen=True, slots=True)
class Subject:
    """What is known of the inputs of a check.

    Attributes
    ----------
    population
        What a verdict says of them: kind, size, fingerprint.
    assumptions
        What an answer about them rests on, in words.
    sample
        Whether they are draws from others, each of which serves once.
    fresh
        Whether they are drawn anew without end.
    random, asking, own
        The functions that draw; those that ask the model; and those that a user brought along as ones that draw
        nothing.
    """

    population: Mapping[str, Any]
    assumptions: tuple[str, ...]
    sample: bool
    fresh: bool
    random: frozenset[str]
    asking: frozenset[str]
    own: frozenset[str]

    def cases(self, inputs: int) -> float:
        """How many cases a sample has, where each row serves one."""
        return float(self.population["size"] // inputs)


def described(request: Request, domain: Domain, fresh: bool) -> Entry:
    """What has to be known of the inputs, as plain values."""
    population: Any = request.population
    functions = domain.functions
    random = {name for name, function in functions.items() if function.random}
    brought = {name for name, function in functions.items() if function.single or name in request.prop.functions}
    return {
        "population": _told(population, domain),
        "assumptions": [] if is_domain(population) else list(population.assumptions),
        "sample": isinstance(population, Sample),
        "fresh": fresh,
        "random": sorted(RANDOM | random),
        "asking": sorted(name for name, function in functions.items() if function.asks),
        "own": sorted(brought - random),
    }


def subject_from(entry: Entry) -> Subject:
    """What was described."""
    names = (frozenset(entry[key]) for key in ("random", "asking", "own"))
    return Subject(entry["population"], tuple(entry["assumptions"]), entry["sample"], entry["fresh"], *names)


def _told(population: Any, domain: Domain) -> dict[str, Any]:
    if is_domain(population):
        told = {"kind": "domain", "size": domain.size, "name": domain.name, "what": getattr(domain, "what", "input")}
        return told | ({"fingerprint": population.fingerprint()} if hasattr(population, "fingerprint") else {})
    return {"kind": population.kind, "size": population.size, "fingerprint": population.fingerprint()}
