"""Random cases of a k-safety property, judged outside a check: a repair searches violations with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.check import new_check
from isonomia.audits.ksafety.cases import CaseResults
from isonomia.audits.ksafety.compiler import CompiledSpec
from isonomia.audits.ksafety.sampling import SampledCases
from isonomia.audits.ksafety.setup import FiniteInputs, SafetySetup
from isonomia.engine.loop import Plan
from isonomia.errors import UsageError
from isonomia.models.protocol import Model
from isonomia.populations.domains.tables import TableRecords
from isonomia.populations.finite import Census
from isonomia.populations.protocol import Population
from isonomia.spec.safety import Safety


@dataclass(frozen=True, slots=True)
class RandomSearch:
    """Random cases: the program, their judgements and, for a census, the rows that have cases at all."""

    program: CompiledSpec
    judgements: list[CaseResults]
    rows: NDArray[np.intp]


def judged(prop: Safety, model: Model, population: Population, cases: int, seed: int) -> RandomSearch:
    """Draw random cases and judge them."""
    setup = SafetySetup(new_check(counting(prop), model, population, seed=seed))
    try:
        setup.compile()
        _, judgements = SampledCases(setup, stop_early=False, noted=False).draw(Plan(0, 0, cases, (1.0,)))
        rows = setup.inputs.rows if isinstance(setup.inputs, FiniteInputs) else np.zeros(0, dtype=np.intp)
        return RandomSearch(setup.program, judgements, rows)
    finally:
        setup.close()


def rows_per_case(prop: Safety, model: Model, people: Census) -> int:
    """How many rows a case of a property sends to the model."""
    setup = SafetySetup(new_check(counting(prop), model, people))
    try:
        setup.compile()
        if not setup.program.k:
            raise UsageError(
                f"expected no budget with {called(prop)}, whose block is code: how many rows a case sends to the "
                "model is not known beforehand"
            )
        return setup.program.k
    finally:
        setup.close()


def counting(prop: Safety) -> Safety:
    """The property, tried on random cases only, however many violate."""
    return replace(prop, enumerate=False, stop_early=False, edge_cases=False, known=())


def related_records(program: CompiledSpec, values: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The first input, and the other records that are sent to the model."""
    first = program.spec.inputs[0]
    put = [name for name in values if name in program.compared and isinstance(values[name].data, TableRecords)]
    others = [name for name in put if name != first]
    if not others:
        raise UsageError(
            f"expected a property that sends a record other than {first} to the model, under its own name, but "
            f"it has none: write `var x2 := ...` before the block and predict(x2) in it"
        )
    return first, others


def called(prop: Safety) -> str:
    """The name of a property, in words."""
    return prop.name or "the property"
