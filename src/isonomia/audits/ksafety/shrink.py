"""Shrinking and showing counterexamples.

Shrinking a violation to the smallest change that still violates: fewest features, then nearest values.

The inputs stay; the random choices are varied. Where all of them can be tried, the result is the smallest there is.
Elsewhere each choice is moved in turn to the best of many values, nearer and nearer, until nothing improves.

Counterexamples as plain values: inputs, choices, outputs, and what differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.cases import Cases, Counts, TooManyError, every_choice, joined_cases, prepare
from isonomia.audits.ksafety.evaluate import Given, ReachedError, is_column
from isonomia.audits.ksafety.runner import Judged, Runner
from isonomia.audits.ksafety.violations import Find
from isonomia.populations.columns import plain_value
from isonomia.populations.domains import Domain
from isonomia.spec.nomos.text import expression_text

__all__ = ["SHRUNK", "shown", "shown_finds", "shrink", "shrunk"]


SHRUNK = 5
"""How many violations are made smaller."""

ENOUGH = 20_000
"""How many choices of one input are all tried."""

GRID = 65
ROUNDS = 12


def shrunk(runner: Runner, finds: Sequence[Find]) -> list[tuple[Find, bool]]:
    """Violations with the first of them made smaller, the smallest first; and which are certain to be the smallest."""
    tried = [shrink(runner, find) if place < SHRUNK else (find, False) for place, find in enumerate(finds)]
    return sorted(tried, key=lambda item: item[0].cost)


def shrink(runner: Runner, find: Find) -> tuple[Find, bool]:
    """The smallest change of the same inputs that still violates, and whether it is certain to be the smallest."""
    if not find.case.choices:
        return find, True
    if runner.draws:
        return find, False
    begun = replace(find.case, choices=(), parts=np.ones(1, dtype=np.int64))
    try:
        for cases in list(every_choice(runner.program, find.domain, begun, [float(ENOUGH)], Counts())):
            find = _best(runner, find, cases)
    except TooManyError:
        return _moved(runner, find), False
    return find, True


def _best(runner: Runner, find: Find, cases: Cases) -> Find:
    """The least of some cases that violate and of the one at hand."""
    if not len(cases):
        return find
    judged, accepted = runner.run(find.domain, cases)
    bad = np.flatnonzero(judged.violating)
    if not len(bad):
        return find
    least = bad[np.lexsort((judged.changed[1, bad], judged.changed[0, bad]))[0]]
    cost = (float(judged.changed[0, least]), float(judged.changed[1, least]))
    return Find(find.domain, accepted.take(np.array([least])), cost) if cost < find.cost else find


def _moved(runner: Runner, find: Find) -> Find:
    for _ in range(ROUNDS):
        before = find.cost
        for site in range(len(find.case.choices)):
            find = _along(runner, find, site)
        if find.cost >= before:
            break
    return find


def _along(runner: Runner, find: Find, site: int) -> Find:
    """Move one choice, the others fixed: over its whole range first, then ever nearer to the best."""
    ends = _range(runner, find, site)
    if ends is None:
        return find
    low, high, whole = ends
    reach = high - low
    while True:
        here = float(find.case.choices[site][0])
        centre = (low, high) if reach >= high - low else (max(low, here - reach), min(high, here + reach))
        values = np.unique(np.append(np.linspace(*centre, GRID), np.clip(0.0, low, high)))
        values = np.unique(np.round(values)) if whole else values
        find = _best(runner, find, _varied(find.case, site, values.astype(np.int64) if whole else values))
        reach /= GRID // 4
        if reach < (1.0 if whole else 1e-9 * (high - low)):
            return find


def _range(runner: Runner, find: Find, site: int) -> tuple[float, float, bool] | None:
    """What could be chosen at a place; ``None`` where a seed is chosen."""
    try:
        prepare(runner.program, find.domain, find.case.inputs, Given(list(find.case.choices[:site])))
    except ReachedError as reached:
        if reached.way == "seed":
            return None
        low, high = float(reached.low[0]), float(reached.high[0])
        return (float(np.ceil(low)), float(np.floor(high)), True) if reached.way == "whole" else (low, high, False)
    return None


def _varied(case: Cases, site: int, values: NDArray[np.int64] | NDArray[np.float64]) -> Cases:
    again = case.take(np.zeros(len(values), dtype=np.intp))
    return replace(again, choices=(*again.choices[:site], values, *again.choices[site + 1 :]))


def shown_finds(runner: Runner, finds: Sequence[Find], minimal: Sequence[bool]) -> list[dict[str, Any]]:
    """Violations, computed once more from their inputs and choices; those of one domain together.

    One that does not occur again is left out: the model, a function or the block draws from something else than its
    seed.
    """
    found: dict[int, dict[str, Any]] = {}
    for domain in {id(find.domain): find.domain for find in finds}.values():
        places = [place for place, find in enumerate(finds) if find.domain is domain]
        cases = joined_cases([finds[place].case for place in places])
        judged, accepted = runner.run(domain, cases)
        if len(accepted) < len(cases):
            continue
        for index in np.flatnonzero(judged.violating).tolist():
            place = places[index]
            choices = [plain_value(column[index]) for column in cases.choices]
            inputs = zip(runner.program.spec.inputs, cases.inputs, strict=True)
            rows = {name: int(column[index]) for name, column in inputs}
            found[place] = shown(runner, judged, choices, rows, index) | {"minimal": minimal[place]}
    return [found[place] for place in sorted(found)]


def shown(runner: Runner, judged: Judged, choices: list[Any], rows: dict[str, int], index: int = 0) -> dict[str, Any]:
    """One case of a batch, as plain values that JSON can hold."""
    batch, program, domain = judged.batch, runner.program, judged.batch.domain
    first = program.spec.inputs[0]
    records, scalars = {}, {}
    for name, value in batch.known.items():
        if not is_column(value):
            records[name] = value.data
        elif name in {step.name for step in program.spec.variables}:
            scalars[name] = plain_value(value.data[index])
    return {
        "inputs": {name: domain.show(records[name], index) for name in program.spec.inputs},
        "rows": rows,
        "choices": choices,
        "variables": scalars,
        "outputs": {name: plain_value(batch.known[final].data[index]) for name, final in program.finals.items()},
        "differs": {
            name: changes
            for name, record in records.items()
            if name != first
            and ((changes := _difference(domain, records[first], record, index)) or name in program.compared)
        },
        "violates": [
            expression_text(item.condition)
            for item, bad in zip(program.spec.ensures, judged.violates, strict=True)
            if bad[index]
        ],
        "features_changed": int(judged.changed[0, index]),
        "distance": float(np.round(judged.changed[1, index], 12)),
    }


def _difference(domain: Domain, before: Any, after: Any, index: int) -> dict[str, list[Any]]:
    """What two records differ in: as the domain says it, or every value that is shown differently."""
    own = getattr(domain, "difference", None)
    if own is not None:
        return dict(own(before, after, index))
    old, new = domain.show(before, index), domain.show(after, index)
    return {name: [old[name], new[name]] for name in old if old[name] != new.get(name)}
