"""The part of a case that needs no model: variables and preconditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.evaluate import Batch, evaluate, tested
from isonomia.audits.ksafety.functions import call_function
from isonomia.audits.ksafety.program import Program
from isonomia.audits.ksafety.supply import ReachedError, Supply
from isonomia.audits.ksafety.values import Booleans, Value
from isonomia.populations.domains import Domain
from isonomia.spec.nomos.tree import Requires, Var

__all__ = ["Prepared", "prepare", "prepare_known"]


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A batch whose inputs, variables and preconditions are known.

    Attributes
    ----------
    batch
        The values.
    accepted
        Cases that no precondition rejects, although one may have had no value.
    unclear
        Of the accepted ones, those in which a precondition could not be computed.
    empty
        Cases in which a random choice had nothing to choose from; they are not accepted.
    """

    batch: Batch
    accepted: Booleans
    unclear: Booleans
    empty: Booleans


def prepare(program: Program, domain: Domain, inputs: Sequence[NDArray[np.intp]], supply: Supply) -> Prepared:
    """Compute everything that needs no model, for cases with these inputs."""
    known = {name: Value(domain.inputs(rows)) for name, rows in zip(program.spec.inputs, inputs, strict=True)}
    return prepare_known(program, domain, known, supply)


def prepare_known(program: Program, domain: Domain, known: dict[str, Value], supply: Supply) -> Prepared:
    """The same for inputs that are at hand."""
    n = len(next(iter(known.values())).data)
    batch = Batch(n, domain, known, supply, call_function)
    accepted, unclear = np.ones(n, dtype=bool), np.zeros(n, dtype=bool)
    try:
        for step in program.preparation:
            _take(step, batch, accepted, unclear)
    except ReachedError as reached:
        reached.rejected = ~accepted
        raise
    accepted &= ~batch.empty
    return Prepared(batch, accepted, unclear & accepted, batch.empty)


def _take(step: Var | Requires, batch: Batch, accepted: Booleans, unclear: Booleans) -> None:
    if isinstance(step, Var):
        batch.known[step.name] = evaluate(step.value, batch)
        return
    met, no_value = tested(evaluate(step.condition, batch), batch, step.place)
    accepted &= met | no_value
    unclear |= no_value
