"""Where inputs come from, and what is known of them.

Where the inputs of cases come from.

What a check has to know of its inputs to reason about them, when it cannot look at them any more.

A domain with more functions than its own.

What a property is about: the domain that its inputs come from, and the functions that it may call.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.cases import prepare
from isonomia.audits.ksafety.evaluate import Given, ReachedError
from isonomia.audits.ksafety.functions import BUILT_IN, RANDOM, as_function
from isonomia.audits.ksafety.imports import Offer, is_domain, no_inputs, offers_of, population_of
from isonomia.audits.ksafety.program import Program
from isonomia.audits.protocol import Check
from isonomia.engine.journal import Entry
from isonomia.engine.seeds import root
from isonomia.errors import SpecError, UsageError
from isonomia.populations.abducted import Abducted
from isonomia.populations.domains import Domain, Function
from isonomia.populations.domains.items import Items
from isonomia.populations.domains.tables import table_domain
from isonomia.populations.finite import Census, Sample
from isonomia.populations.protocol import Population, Source
from isonomia.populations.sources import random_order
from isonomia.populations.table import Table
from isonomia.spec.nomos import CodeBlock, read_block
from isonomia.spec.nomos.tree import FunctionCall, Var, calls_in
from isonomia.spec.safety import Safety

__all__ = [
    "Chosen",
    "Fresh",
    "Inputs",
    "Once",
    "Subject",
    "WithReplacement",
    "described",
    "domain_of",
    "inputs_of",
    "is_domain",
    "offered_functions",
    "settled",
    "subject_from",
    "with_functions",
    "worth_drawing",
]


Chosen: TypeAlias = tuple[Domain, tuple[NDArray[np.intp], ...]]


class Inputs(Protocol):
    """Draws inputs for a batch of cases."""

    @property
    def finite(self) -> bool:
        """Whether each input is used once, so that they come to an end."""
        ...

    def draw(self, start: int, n: int, k: int, rng: np.random.Generator) -> Chosen:
        """The inputs of ``n`` cases with ``k`` inputs each, before which ``start`` others came."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class WithReplacement:
    """Every draw is uniform over these inputs of a domain, independent of all others."""

    domain: Domain
    rows: NDArray[np.intp]

    @property
    def finite(self) -> bool:
        """Draws never end."""
        return False

    def draw(self, start: int, n: int, k: int, rng: np.random.Generator) -> Chosen:
        """Draw them."""
        del start
        return self.domain, tuple(self.rows[rng.integers(0, len(self.rows), size=n)] for _ in range(k))


@dataclass(frozen=True, slots=True, eq=False)
class Once:
    """Each input serves one case, in an order fixed beforehand."""

    domain: Domain
    order: NDArray[np.intp]

    @property
    def finite(self) -> bool:
        """They come to an end."""
        return True

    def draw(self, start: int, n: int, k: int, rng: np.random.Generator) -> Chosen:
        """The next ones."""
        del rng
        taken = self.order[start * k : (start + n) * k]
        whole = taken[: len(taken) // k * k].reshape(-1, k)
        return self.domain, tuple(whole[:, column] for column in range(k))


@dataclass(frozen=True, slots=True, eq=False)
class Fresh:
    """Each case has new inputs from an unlimited population."""

    source: Source
    domain_of: Callable[[Table], Domain]

    @property
    def finite(self) -> bool:
        """Draws never end."""
        return False

    def draw(self, start: int, n: int, k: int, rng: np.random.Generator) -> Chosen:
        """Draw a table of them."""
        domain = self.domain_of(self.source.batch(start * k, n * k, rng))
        numbers = np.arange(n * k).reshape(n, k)
        return domain, tuple(numbers[:, column].astype(np.intp) for column in range(k))


def worth_drawing(program: Program, domain: Domain) -> NDArray[np.intp]:
    """The inputs that are not certain to be rejected.

    Drawing from these only, and rejecting as before, gives every accepted case the same probability as drawing from
    all inputs would: what is left out could never have been accepted.
    """
    everyone = np.arange(domain.size, dtype=np.intp)
    if len(program.spec.inputs) > 1:
        return everyone
    try:
        return everyone[prepare(program, domain, (everyone,), Given([])).accepted]
    except ReachedError as reached:
        possible = ~reached.rejected
        if reached.way == "whole":
            possible &= np.ceil(reached.low) <= np.floor(reached.high)
        return everyone[possible]


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


def described(request: Check[Safety], domain: Domain, fresh: bool) -> Entry:
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


@dataclass(frozen=True, eq=False)
class _Extended:
    """Does what the domain does, and offers more functions."""

    domain: Domain
    functions: Mapping[str, Function]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.domain, name)


def with_functions(domain: Domain, functions: Mapping[str, Function]) -> Domain:
    """The domain with these functions besides its own, before which they go."""
    if not functions:
        return domain
    extended: Any = _Extended(domain, {**domain.functions, **functions})
    return extended  # type: ignore[no-any-return]


PILOTS = 64
"""Draws that show what an unlimited population has."""


OVER = frozenset({"getFeat", "setFeat", "label"})
"""Functions of the language that an import may offer instead, for inputs that are objects without features."""


def settled(request: Check[Safety]) -> Check[Safety]:
    """The request with inputs: those that were given, or else those of the first import that offers some.

    Raises
    ------
    SpecError
        Where there are none, or a module would have to be imported without permission.
    UsageError
        Where nothing was given and nothing is imported.
    """
    if request.population is not None:
        return request
    prop = request.prop
    if not prop.spec.imports:
        raise UsageError("expected a population, or a specification that imports a domain: try Census(table)")
    offers = offers_of(prop, needed=True)
    offer = next((item for item in offers if item.inputs is not None), None)
    if offer is None:
        raise no_inputs(prop.spec, offers, prop.allow_code)
    population, said = population_of(offer, prop)
    return replace(request, prop=said, population=population)


def domain_of(
    request: Check[Safety], functions: dict[str, Function]
) -> tuple[Domain, Callable[[Table], Domain] | None]:
    """The domain, and for an unlimited population how to make one of each batch."""
    prop, population = request.prop, request.population
    if is_domain(population):
        if prop.groups or prop.orders or prop.label:
            raise UsageError("expected groups, orders and label from the domain itself: leave them out")
        domain: Any = population
        return with_functions(domain, functions), None
    make = partial(table_domain, groups=prop.groups, orders=prop.orders, label=prop.label, functions=functions)
    if isinstance(population, Sample | Census):
        return make(population.table), None
    if isinstance(population, Abducted):
        raise UsageError(
            "a k-safety property changes people by itself, so that a causal model of them has no part in it: give the "
            "people alone, as Sample(table) or Census(table)"
        )
    people: Any = population
    if len(people.streams) != 1:
        raise UsageError("a k-safety property needs one stream of people, but this population has several")
    return make(people.open(root(0)).batch(0, PILOTS, np.random.default_rng(0))), make


def inputs_of(
    request: Check[Safety], program: Program, domain: Domain, make: Callable[[Table], Domain] | None
) -> Inputs:
    """Where inputs are drawn from: a census with replacement, a sample once each, anything else without end."""
    population = request.population
    if make is not None:
        people: Population = population
        return Fresh(people.open(root(request.seed)), make)
    if isinstance(population, Sample):
        order = random_order(domain.size, root(request.seed)) if population.shuffle else np.arange(domain.size)
        return Once(domain, order.astype(np.intp))
    rows = worth_drawing(program, domain)
    if not len(rows):
        requires = program.spec.requires
        raise SpecError(
            f"no case meets the preconditions: each of the {domain.size:,} inputs is rejected. Loosen what is required",
            requires[0].place if requires else None,
        )
    return WithReplacement(domain, rows)


def offered_functions(prop: Safety, population: Any) -> dict[str, Function]:
    """What the property brings along, and what its imports offer of what it calls.

    Raises
    ------
    SpecError
        Where a function is called that only a module could offer, without permission to import it.
    """
    functions = {name: as_function(value) for name, value in prop.functions.items()}
    known = {*BUILT_IN, *functions, *(population.functions if is_domain(population) else ())}
    if isinstance(population, Items):
        known -= OVER - set(functions)
    wanted = {name: calls for name, calls in _called(prop).items() if name not in known}
    if not wanted or not prop.spec.imports:
        return functions
    offers = offers_of(prop, needed=any(wanted.values()))
    for name, calls in wanted.items():
        found = _offered(name, offers)
        if found is not None:
            functions[name] = as_function(found, max((len(call.arguments) for call in calls), default=None))
        elif calls and name not in OVER and not prop.allow_code and not set(prop.spec.imports) <= set(prop.domains):
            raise SpecError(
                f"`{name}` is no function of the language; the module {prop.spec.imports[0]!r} may offer it, but "
                "importing a module runs its code: give the function by functions={...}, or allow code "
                "(allow_code=True, --allow-code) if you trust it",
                calls[0].place or prop.spec.block.place,
            )
    return functions


def _called(prop: Safety) -> dict[str, list[FunctionCall]]:
    """Every function that is called and where; the names that code mentions may be functions too."""
    spec, block = prop.spec, read_block(prop.spec.block)
    steps = [*spec.before, *spec.after, *spec.ensures, *(() if isinstance(block, CodeBlock) else block.steps)]
    found: dict[str, list[FunctionCall]] = {}
    for step in steps:
        for call in calls_in(step.value if isinstance(step, Var) else step.condition):
            found.setdefault(call.function, []).append(call)
    if isinstance(block, CodeBlock):
        for name in sorted(block.reads - block.names - {*spec.imports, *dir(builtins)}):
            found.setdefault(name, [])
    return found


def _offered(name: str, offers: list[Offer]) -> Any:
    return next((offer.functions[name] for offer in offers if name in offer.functions), None)
