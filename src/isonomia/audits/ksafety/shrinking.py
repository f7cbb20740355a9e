"""Shrinking: a violation is made as small as the budget allows.

A violation is shrunk to the smallest change that still violates: fewest features, then nearest values. The inputs stay;
the random choices are varied. Where there are few, all of them are tried, and the result is the smallest there is.
Elsewhere each choice is moved in turn, by steps that are halved each time, which takes logarithmically many cases. All
of it ends where the budget does, with the smallest change found by then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.cases import CaseRunner, Cases, every_choice, prepare
from isonomia.audits.ksafety.evaluate import GivenChoices, OpenChoiceError
from isonomia.audits.ksafety.evidence import CaseTally
from isonomia.audits.ksafety.functions import FunctionAlwaysRaisedError
from isonomia.audits.ksafety.violations import Violation
from isonomia.errors import ModelError, UnreliableModelError
from isonomia.models.meter import BudgetSpentError, current_meter

SHRUNK = 5
"""How many violations are shrunk."""

ENOUGH = 1_000
"""The maximum number of choices of one input that are all tried."""

ROUNDS = 4
"""How many times every choice is moved at most. Together with ``PRECISION`` it limits the cases of one violation to 250
for each choice."""

PRECISION = 1e-9
"""A real choice is moved by no less than this share of its range."""


def shrink_all(runner: CaseRunner, violations: Sequence[Violation]) -> list[Violation]:
    """The violations, with the first ``SHRUNK`` of them shrunk, the smallest first.

    Each gets an equal part of the rows that are left, without those that showing them takes.
    """
    meter, tried = current_meter(), list(violations)
    shown = (runner.program.k or 1) * len(tried)
    for index in range(min(SHRUNK, len(tried))):
        with meter.step(max(meter.left - shown, 0) / (min(SHRUNK, len(tried)) - index)):
            tried[index] = _shrunk(runner, tried[index])
    return sorted(tried, key=lambda violation: violation.cost)


def _shrunk(runner: CaseRunner, violation: Violation) -> Violation:
    """The smallest change of the same inputs that still violates, as far as the budget allows."""
    if not violation.case.choices:
        return replace(violation, minimal=True)
    if runner.draws:
        return violation
    begun = replace(violation.case, choices=(), parts=np.ones(1, dtype=np.int64))
    tally = CaseTally.empty(len(runner.program.ensures))
    max_n = min(ENOUGH, current_meter().left / (runner.program.k or 1))
    try:
        choices = every_choice(runner, violation.domain, begun, max_n, tally)
    except FunctionAlwaysRaisedError:
        choices = None
    if choices is None:
        return _moved(runner, violation)
    for cases in choices:
        smaller = _best(runner, violation, cases)
        if smaller is None:
            return violation
        violation = smaller
    return replace(violation, minimal=True)


def _best(runner: CaseRunner, violation: Violation, cases: Cases) -> Violation | None:
    """The smallest among a violation and those of some cases that violate; ``None`` where the budget is spent."""
    if not len(cases):
        return violation
    try:
        judgement = runner.run(violation.domain, cases)
    except UnreliableModelError:
        raise
    except BudgetSpentError:
        return None
    except (ModelError, FunctionAlwaysRaisedError):
        return violation  # nothing is known about any of these
    changed, bad = judgement.changed, np.flatnonzero(judgement.violating)
    if not len(bad):
        return violation
    least = bad[np.lexsort((changed[1, bad], changed[0, bad]))[0]]
    cost = (float(changed[0, least]), float(changed[1, least]))
    if cost < violation.cost:
        return Violation(violation.domain, judgement.cases.take(np.array([least])), cost)
    return violation


def _moved(runner: CaseRunner, violation: Violation) -> Violation:
    for _ in range(ROUNDS):
        before = violation.cost
        for site in range(len(violation.case.choices)):
            violation = _along(runner, violation, site)
        if violation.cost >= before or len(violation.case.choices) == 1:
            break
    return violation


def _along(runner: CaseRunner, violation: Violation, site: int) -> Violation:
    """Move one choice, the others fixed: to zero, then by steps from half its range on, each half as long as the last.

    While no step has made the change smaller, both directions are tried; then only the one that did.
    """
    ends = _range(runner, violation, site)
    if ends is None:
        return violation
    low, high, whole = ends
    step, signs = high - low, [-1.0, 1.0]
    values = np.clip([0.0], low, high)
    while True:
        here = float(violation.case.choices[site][0])
        values = np.unique(np.round(values) if whole else values)
        values = values[(values != here) & (values >= low) & (values <= high)]
        varied = _varied(violation.case, site, values.astype(np.int64) if whole else values)
        smaller = _best(runner, violation, varied)
        if smaller is None:
            return violation
        if smaller is not violation and step < high - low:
            signs = [float(np.sign(float(smaller.case.choices[site][0]) - here))]
        violation, here = smaller, float(smaller.case.choices[site][0])
        step = np.ceil(step / 2.0) if whole and step > 1.0 else step / 2.0
        if step < (1.0 if whole else PRECISION * (high - low)):
            return violation
        values = here + step * np.asarray(signs)


def _range(runner: CaseRunner, violation: Violation, site: int) -> tuple[float, float, bool] | None:
    """What could be chosen here; ``None`` where a seed is chosen."""
    try:
        prepare(runner.program, violation.domain, violation.case.inputs, GivenChoices(violation.case.choices[:site]))
    except OpenChoiceError as choice:
        if choice.kind == "seed":
            return None
        low, high = float(choice.low[0]), float(choice.high[0])
        return (float(np.ceil(low)), float(np.floor(high)), True) if choice.kind == "whole" else (low, high, False)
    return None


def _varied(case: Cases, site: int, values: NDArray[np.int64] | NDArray[np.float64]) -> Cases:
    again = case.take(np.zeros(len(values), dtype=np.intp))
    return replace(again, choices=(*again.choices[:site], values, *again.choices[site + 1 :]))
