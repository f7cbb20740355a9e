"""Shrinking a violation to the smallest change that still violates: fewest features, then nearest values.

The inputs stay; the random choices are varied. Where all of them can be tried, the result is the smallest there is.
Elsewhere each choice is moved in turn to the best of many values, nearer and nearer, until nothing improves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.cases import Cases, Counts, TooManyError, every_choice
from isonomia.audits.ksafety.found import Find
from isonomia.audits.ksafety.preparing import prepare
from isonomia.audits.ksafety.running import Runner
from isonomia.audits.ksafety.supply import Given, ReachedError

__all__ = ["SHRUNK", "shrink", "shrunk"]

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
