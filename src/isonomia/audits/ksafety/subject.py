"""What a property is about: the domain that its inputs come from, and the functions that it may call."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from isonomia.audits.ksafety.calling import as_function
from isonomia.audits.ksafety.extended import with_functions
from isonomia.audits.ksafety.functions import BUILT_IN
from isonomia.audits.ksafety.imports import Offer, no_inputs, offers_of
from isonomia.audits.ksafety.inputs import Fresh, Inputs, Once, WithReplacement, worth_drawing
from isonomia.audits.ksafety.offered import is_domain, population_of
from isonomia.audits.ksafety.program import Program
from isonomia.audits.ksafety.request import Request
from isonomia.engine.seeds import root
from isonomia.errors import SpecError, UsageError
from isonomia.populations.abducted import Abducted
from isonomia.populations.census import Census
from isonomia.populations.domains import Domain, Function
from isonomia.populations.domains.grouped_table import table_domain
from isonomia.populations.domains.items import Items
from isonomia.populations.protocol import Population
from isonomia.populations.rows import random_order
from isonomia.populations.sample import Sample
from isonomia.populations.table import Table
from isonomia.spec.nomos import Code, read_block
from isonomia.spec.nomos.scope import calls_in
from isonomia.spec.nomos.tree import Call, Var
from isonomia.spec.safety import Safety

__all__ = ["domain_of", "inputs_of", "is_domain", "offered_functions", "settled"]

PILOTS = 64
"""Draws that show what an unlimited population has."""


OVER = frozenset({"getFeat", "setFeat", "label"})
"""Functions of the language that an import may offer instead, for inputs that are objects without features."""


def settled(request: Request) -> Request:
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


def domain_of(request: Request, functions: dict[str, Function]) -> tuple[Domain, Callable[[Table], Domain] | None]:
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


def inputs_of(request: Request, program: Program, domain: Domain, make: Callable[[Table], Domain] | None) -> Inputs:
    """Where inputs are drawn from: a census with replacement, a sample once each, anything else without end."""
    population = request.population
    if make is not None:
        people: Population = population  # type: ignore[assignment]
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


def _called(prop: Safety) -> dict[str, list[Call]]:
    """Every function that is called and where; the names that code mentions may be functions too."""
    spec, block = prop.spec, read_block(prop.spec.block)
    steps = [*spec.before, *spec.after, *spec.ensures, *(() if isinstance(block, Code) else block.steps)]
    found: dict[str, list[Call]] = {}
    for step in steps:
        for call in calls_in(step.value if isinstance(step, Var) else step.condition):
            found.setdefault(call.function, []).append(call)
    if isinstance(block, Code):
        for name in sorted(block.reads - block.names - {*spec.imports, *dir(builtins)}):
            found.setdefault(name, [])
    return found


def _offered(name: str, offers: list[Offer]) -> Any:
    return next((offer.functions[name] for offer in offers if name in offer.functions), None)
