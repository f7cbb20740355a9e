"""What a property is about: the domain that its inputs come from, and the functions that it may call."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from isonomia.audits.ksafety.functions import BUILT_IN, as_function
from isonomia.audits.ksafety.inputs import Fresh, Inputs, Once, WithReplacement, worth_drawing
from isonomia.audits.ksafety.program import Program
from isonomia.audits.ksafety.request import Request
from isonomia.engine.seeds import root
from isonomia.errors import SpecError, UsageError
from isonomia.populations.census import Census
from isonomia.populations.domains import Domain, Function
from isonomia.populations.domains.tables import table_domain
from isonomia.populations.protocol import Population
from isonomia.populations.rows import random_order
from isonomia.populations.sample import Sample
from isonomia.populations.table import Table
from isonomia.spec.nomos import Code, read_block
from isonomia.spec.nomos.scope import calls_in
from isonomia.spec.nomos.tree import Var
from isonomia.spec.safety import Safety

__all__ = ["domain_of", "inputs_of", "is_domain", "offered_functions"]

PILOTS = 64
"""Draws that show what an unlimited population has."""


def is_domain(value: object) -> bool:
    """Whether something is a domain of its own rather than a population."""
    return all(hasattr(value, name) for name in ("inputs", "functions", "feature", "concatenate"))


def domain_of(request: Request, functions: dict[str, Function]) -> tuple[Domain, Callable[[Table], Domain] | None]:
    """The domain, and for an unlimited population how to make one of each batch."""
    prop, population = request.prop, request.population
    if is_domain(population):
        if prop.functions or prop.groups or prop.orders or prop.label:
            raise UsageError("expected functions, groups, orders and label from the domain itself: leave them out")
        domain: Any = population
        return domain, None
    make = partial(table_domain, groups=prop.groups, orders=prop.orders, label=prop.label, functions=functions)
    if isinstance(population, Sample | Census):
        return make(population.table), None
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
    """What the property brings along, and what its imports offer where code may be run.

    Raises
    ------
    SpecError
        Where a function is called that only an import could offer, without permission to run its code.
    """
    functions = {name: as_function(value) for name, value in prop.functions.items()}
    known = {*BUILT_IN, *functions, *(population.functions if is_domain(population) else ())}
    for name, place in _called(prop).items():
        if name in known or not prop.spec.imports:
            continue
        found = _imported(prop, name) if prop.allow_code else None
        if found is not None:
            functions[name] = as_function(found)
        elif not prop.allow_code:
            raise SpecError(
                f"`{name}` is no function of the language; the module {prop.spec.imports[0]!r} may offer it, but "
                "importing a module runs its code: give the function by functions={...}, or allow code "
                "(allow_code=True, --allow-code) if you trust it",
                place,
            )
    return functions


def _called(prop: Safety) -> dict[str, Any]:
    spec, block = prop.spec, read_block(prop.spec.block)
    steps = [*spec.before, *spec.after, *spec.ensures, *(() if isinstance(block, Code) else block.steps)]
    nodes = [step.value if isinstance(step, Var) else step.condition for step in steps]
    return {call.function: call.place or spec.block.place for node in nodes for call in calls_in(node)}


def _imported(prop: Safety, name: str) -> Any:
    for module in prop.spec.imports:
        try:
            found = getattr(import_module(module), name, None)
        except ImportError:
            continue
        if callable(found):
            return found
    return None
