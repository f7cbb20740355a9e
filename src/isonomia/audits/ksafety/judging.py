"""Asking the model about a batch of cases, and judging what it answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.asking import Questioner
from isonomia.audits.ksafety.evaluate import Batch, evaluate, joined, tested
from isonomia.audits.ksafety.preparing import Prepared
from isonomia.audits.ksafety.program import Program
from isonomia.audits.ksafety.values import Booleans, Value, is_column
from isonomia.populations.domains import Domain
from isonomia.spec.nomos.tree import Binary, Ensures

__all__ = ["Judged", "RunBlock", "judge"]

RunBlock = Callable[[Batch, NDArray[np.int64]], None]
"""Runs a block that is code for every case of a batch, and notes its outputs; the numbers seed its draws."""


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """What came of the accepted cases of a batch.

    Attributes
    ----------
    batch
        Every value that was computed.
    violates
        For each ``ensures``, the cases in which it is false.
    failed
        Cases in which something that was needed could not be computed: the model raised, a number was divided by zero.
        With several ``ensures``, one can be false where another has no value.
    vacuous
        Cases in which every ``ensures`` is an implication whose condition is false, so that nothing was tested.
    reasons
        Why cases failed, and how many.
    changed
        For each case that violates, how many features its records differ in and how far, all that were put to the
        model together.
    """

    batch: Batch
    violates: NDArray[np.bool_]
    failed: Booleans
    vacuous: Booleans
    reasons: Counter[str]
    changed: NDArray[np.float64]

    @property
    def violating(self) -> Booleans:
        """Cases in which some ``ensures`` is false."""
        return np.asarray(self.violates.any(axis=0))


def judge(
    program: Program,
    prepared: Prepared,
    questioner: Questioner,
    run_block: RunBlock | None,
    seeds: NDArray[np.int64],
) -> Judged:
    """Ask the model about every accepted case, and say what is true of its answers."""
    keep = np.flatnonzero(prepared.accepted)
    batch = _accepted(prepared, keep)
    domain = batch.domain
    if not len(keep):
        return _nothing(program, batch)
    batch.ask = lambda what, records: questioner(what, domain, records)
    unclear = prepared.unclear[keep]
    failed = unclear.copy()
    if program.code is not None:
        assert run_block is not None
        run_block(batch, seeds)
    for step in program.finish:
        batch.known[step.name] = evaluate(step.value, batch)
    violates, vacuous = [], []
    for item in program.ensures:
        met, no_value, idle = _met(item, batch)
        failed |= no_value
        violates.append(~met & ~no_value & ~unclear)
        vacuous.append(idle)
    bad = np.stack(violates)
    nothing = np.logical_and.reduce(vacuous) & ~failed
    changed = _changes(program, domain, batch, np.logical_or.reduce(bad))
    return Judged(batch, bad, failed, nothing, _reasons(batch, failed), changed)


def _accepted(prepared: Prepared, keep: NDArray[np.intp]) -> Batch:
    before = prepared.batch
    known = {name: value.take(keep) for name, value in before.known.items()}
    batch = Batch(len(keep), before.domain, known, before.supply, before.call)
    batch.faults = [(why, bad[keep]) for why, bad in before.faults]
    return batch


def _nothing(program: Program, batch: Batch) -> Judged:
    none = np.zeros(0, dtype=bool)
    return Judged(batch, np.zeros((len(program.ensures), 0), dtype=bool), none, none, Counter(), np.zeros((2, 0)))


def _met(item: Ensures, batch: Batch) -> tuple[Booleans, Booleans, Booleans]:
    """Where it is true, where it has no value, and where an implication is true for want of its condition."""
    condition = item.condition
    if isinstance(condition, Binary) and condition.operator == "==>":
        left, right = evaluate(condition.left, batch), evaluate(condition.right, batch)
        told, none = tested(left, batch, item.place)
        met, no_value = tested(joined("==>", Value(told, none), right), batch, item.place)
        return met, no_value, ~told & ~none
    met, no_value = tested(evaluate(condition, batch), batch, item.place)
    return met, no_value, np.zeros(batch.n, dtype=bool)


def _reasons(batch: Batch, failed: Booleans) -> Counter[str]:
    """How many cases failed for each reason; one may have failed for the same reason twice, and counts once."""
    where: dict[str, Booleans] = {}
    for why, bad in batch.faults:
        where[why] = where[why] | bad if why in where else bad
    return Counter({why: hit for why, bad in where.items() if (hit := int(np.count_nonzero(bad & failed)))})


def _changes(program: Program, domain: Domain, batch: Batch, violating: Booleans) -> NDArray[np.float64]:
    """How far the records that were put to the model are from the first input; all records where none has a name.

    Only for cases that violate, since comparing records, such as images, can cost more than asking the model.
    """
    first = program.spec.inputs[0]
    others = [name for name, value in batch.known.items() if name != first and not is_column(value)]
    compared = [name for name in others if name in program.compared] or others
    total, which = np.zeros((2, batch.n)), np.flatnonzero(violating)
    for name in compared if len(which) else ():
        pair = (batch.known[record].take(which).data for record in (first, name))
        total[:, which] += np.stack(domain.distance(*pair))
    return total
