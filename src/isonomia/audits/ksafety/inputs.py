"""Where the inputs of cases come from, and which functions a property may call."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.cases import prepare
from isonomia.audits.ksafety.compiler import CompiledSpec
from isonomia.audits.ksafety.evaluate import GivenChoices, OpenChoiceError
from isonomia.audits.ksafety.functions import BUILT_IN, RANDOM, as_function
from isonomia.audits.ksafety.imports import imported_domains, is_domain, no_inputs, population_of
from isonomia.audits.protocol import Check
from isonomia.engine.journal import Entry
from isonomia.engine.seeds import root
from isonomia.errors import SpecError, UsageError
from isonomia.populations.abducted import Abducted
from isonomia.populations.domains import Domain, Function
from isonomia.populations.domains.items import Items
from isonomia.populations.domains.tables import table_domain
from isonomia.populations.finite import Census, Sample, random_order
from isonomia.populations.protocol import Source
from isonomia.populations.table import Table
from isonomia.spec.nomos import CodeBlock, read_block
from isonomia.spec.nomos.tree import FunctionCall, Var, calls_in
from isonomia.spec.safety import Safety

__all__ = [
    "FiniteInputs",
    "FreshInputs",
    "Inputs",
    "Subject",
    "domain_of",
    "inputs_of",
    "offered_functions",
    "with_inputs",
    "worth_drawing",
]

PILOTS = 64
"""Draws that show what an unlimited population has."""

REPLACEABLE = frozenset({"getFeat", "setFeat", "label"})
"""Functions of the language that an import may offer instead, for inputs that are objects without features."""

Chosen: TypeAlias = tuple[Domain, tuple[NDArray[np.intp], ...]]
"""A domain, and for each input of the specification which of the domain's inputs each case has."""


@dataclass(frozen=True, slots=True, eq=False)
class FiniteInputs:
    """Some inputs of a domain: drawn uniformly and independently, or each for one case, in this order."""

    domain: Domain
    rows: NDArray[np.intp]
    once: bool

    def draw(self, start: int, n: int, k: int, rng: np.random.Generator) -> Chosen:
        """The inputs of ``n`` cases with ``k`` inputs each, before which ``start`` others came."""
        if not self.once:
            return self.domain, tuple(self.rows[rng.integers(0, len(self.rows), size=n)] for _ in range(k))
        taken = self.rows[start * k : (start + n) * k]
        whole = taken[: len(taken) // k * k].reshape(-1, k)
        return self.domain, tuple(whole[:, column] for column in range(k))


@dataclass(frozen=True, slots=True, eq=False)
class FreshInputs:
    """Each case has new inputs from an unlimited population."""

    source: Source
    domain_of: Callable[[Table], Domain]

    def draw(self, start: int, n: int, k: int, rng: np.random.Generator) -> Chosen:
        """Draw a table of them, and make a domain of it."""
        domain = self.domain_of(self.source.batch(start * k, n * k, rng))
        numbers = np.arange(n * k).reshape(n, k)
        return domain, tuple(numbers[:, column].astype(np.intp) for column in range(k))


Inputs: TypeAlias = FiniteInputs | FreshInputs


def worth_drawing(program: CompiledSpec, domain: Domain) -> NDArray[np.intp]:
    """The inputs that are not certain to be rejected.

    Drawing from these only, and rejecting as before, gives every accepted case the same probability as drawing from
    all inputs would: what is left out could never have been accepted.
    """
    everyone = np.arange(domain.size, dtype=np.intp)
    if len(program.spec.inputs) > 1:
        return everyone
    try:
        return everyone[prepare(program, domain, (everyone,), GivenChoices([])).accepted]
    except OpenChoiceError as choice:
        possible = ~choice.rejected
        if choice.kind == "whole":
            possible &= np.ceil(choice.low) <= np.floor(choice.high)
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

    @staticmethod
    def pack(check: Check[Safety], domain: Domain, *, fresh: bool) -> Entry:
        """What there is to know of the inputs of a check, as plain values."""
        functions = domain.functions
        random = {name for name, function in functions.items() if function.random}
        brought = {name for name, function in functions.items() if function.single or name in check.prop.functions}
        return {
            "population": _stated(check.population, domain),
            "assumptions": [] if is_domain(check.population) else list(check.population.assumptions),
            "sample": isinstance(check.population, Sample),
            "fresh": fresh,
            "random": sorted(RANDOM | random),
            "asking": sorted(name for name, function in functions.items() if function.asks),
            "own": sorted(brought - random),
        }

    @classmethod
    def unpack(cls, entry: Entry) -> Subject:
        """What was packed."""
        names = (frozenset(entry[key]) for key in ("random", "asking", "own"))
        return cls(entry["population"], tuple(entry["assumptions"]), entry["sample"], entry["fresh"], *names)


def _stated(population: Any, domain: Domain) -> dict[str, Any]:
    if not is_domain(population):
        return {"kind": population.kind, "size": population.size, "fingerprint": population.fingerprint()}
    stated = {"kind": "domain", "size": domain.size, "name": domain.name, "what": getattr(domain, "what", "input")}
    return stated | ({"fingerprint": population.fingerprint()} if hasattr(population, "fingerprint") else {})


def with_inputs(check: Check[Safety]) -> Check[Safety]:
    """The check with inputs: those that were given, or else those of the first import that offers some."""
    if check.population is not None:
        return check
    prop = check.prop
    if not prop.spec.imports:
        raise UsageError("expected a population, or a specification that imports a domain: try Census(table)")
    imported = imported_domains(prop, needed=True)
    first = next((item for item in imported if item.inputs is not None), None)
    if first is None:
        raise no_inputs(prop.spec, imported, prop.allow_code)
    population, prop = population_of(first, prop)
    return replace(check, prop=prop, population=population)


def domain_of(check: Check[Safety]) -> tuple[Domain, Callable[[Table], Domain] | None]:
    """The domain, and for an unlimited population how to make one of each batch."""
    prop, population = check.prop, check.population
    functions = offered_functions(prop, population)
    if is_domain(population):
        if prop.groups or prop.orders or prop.label:
            raise UsageError("expected groups, orders and label from the domain itself: leave them out")
        domain: Any = population
        if functions:
            domain = _ExtendedDomain(domain, {**domain.functions, **functions})
        return domain, None
    make = partial(table_domain, groups=prop.groups, orders=prop.orders, label=prop.label, functions=functions)
    if isinstance(population, Sample | Census):
        return make(population.table), None
    if isinstance(population, Abducted):
        raise UsageError(
            "a k-safety property changes people by itself, so that a causal model of them has no part in it: give the "
            "people alone, as Sample(table) or Census(table)"
        )
    if len(population.streams) != 1:
        raise UsageError("a k-safety property needs one stream of people, but this population has several")
    return make(population.open(root(0)).batch(0, PILOTS, np.random.default_rng(0))), make


@dataclass(frozen=True, eq=False)
class _ExtendedDomain:
    """Does what the domain does, and offers more functions."""

    domain: Domain
    functions: Mapping[str, Function]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.domain, name)


def inputs_of(
    check: Check[Safety], program: CompiledSpec, domain: Domain, make: Callable[[Table], Domain] | None
) -> Inputs:
    """Where inputs are drawn from: a census with replacement, a sample once each, anything else without end."""
    population = check.population
    if make is not None:
        return FreshInputs(population.open(root(check.seed)), make)
    if isinstance(population, Sample):
        order = random_order(domain.size, root(check.seed)) if population.shuffle else np.arange(domain.size)
        return FiniteInputs(domain, order.astype(np.intp), once=True)
    rows = worth_drawing(program, domain)
    if not len(rows):
        requires = program.spec.requires
        raise SpecError(
            f"no case meets the preconditions: each of the {domain.size:,} inputs is rejected. Loosen what is required",
            requires[0].place if requires else None,
        )
    return FiniteInputs(domain, rows, once=False)


def offered_functions(prop: Safety, population: Any) -> dict[str, Function]:
    """What the property brings along, and what its imports offer of what it calls."""
    functions = {name: as_function(value) for name, value in prop.functions.items()}
    known = {*BUILT_IN, *functions, *(population.functions if is_domain(population) else ())}
    if isinstance(population, Items):
        known -= REPLACEABLE - set(functions)
    wanted = {name: calls for name, calls in _called(prop).items() if name not in known}
    if not wanted or not prop.spec.imports:
        return functions
    imported = imported_domains(prop, needed=any(wanted.values()))
    given = set(prop.spec.imports) <= set(prop.domains)
    for name, calls in wanted.items():
        offered = next((item.functions[name] for item in imported if name in item.functions), None)
        if offered is not None:
            functions[name] = as_function(offered, max((len(call.arguments) for call in calls), default=None))
        elif calls and name not in REPLACEABLE and not prop.allow_code and not given:
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
    called: dict[str, list[FunctionCall]] = {}
    for step in steps:
        for call in calls_in(step.value if isinstance(step, Var) else step.condition):
            called.setdefault(call.function, []).append(call)
    if isinstance(block, CodeBlock):
        for name in sorted(block.reads - block.names - {*spec.imports, *dir(builtins)}):
            called.setdefault(name, [])
    return called
