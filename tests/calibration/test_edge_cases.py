"""Edge cases leave error rates alone: a violation that lies at no edge case is missed as often as without them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom
from simulation import FALSE_ALARM

import isonomia as iso
from isonomia.audits.ksafety.evidence import rate_evidence
from isonomia.populations.ranges import Ranges

TEXT = "input x1;\noutput d1;\n{ d1 = predict(x1) }\nensures d1 == 0;\n"
PEOPLE = iso.Generator(Ranges({"a": (0, 99), "b": (0.0, 1.0)}))
SHARE, DELTA, REPETITIONS = 0.04, 0.3, 300


def inside(table: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """A violation in 4 of 100 cases, at no end of anything."""
    return ((table["a"] >= 40) & (table["a"] < 44)).astype(int)


def at_the_end(table: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """A violation in 4 of 100 cases, at an end."""
    return (table["a"] < 4).astype(int)


def test_holds_is_said_at_the_boundary_with_the_chance_that_is_computed_although_edge_cases_are_tried() -> None:
    prop = iso.safety.property(TEXT, eps=SHARE)
    verdicts = [iso.check(prop, inside, PEOPLE, delta=DELTA, seed=seed) for seed in range(REPETITIONS)]
    assert all(verdict.details["edge_cases"] == {"tried": 4, "violating": 0, "failed": 0} for verdict in verdicts)
    chance = (1 - SHARE) ** rate_evidence([None], SHARE, DELTA).needed
    assert chance <= DELTA
    low, high = binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], REPETITIONS, chance)
    assert low <= sum(verdict.answer == "holds" for verdict in verdicts) <= high


def test_the_interval_of_the_share_is_missed_no_more_often_where_edge_cases_find_the_violation() -> None:
    """Were edge cases counted, two of four of them would violate, and the share would seem twelve times as large."""
    prop = iso.safety.property(TEXT, eps=SHARE)
    verdicts = [iso.check(prop, at_the_end, PEOPLE, delta=DELTA, seed=seed) for seed in range(REPETITIONS)]
    assert all(verdict.answer == "violated" and verdict.risk == 0.0 for verdict in verdicts)
    missed = sum(not verdict.leaves[0].low <= SHARE <= verdict.leaves[0].high for verdict in verdicts)
    assert missed <= binom.ppf(1 - FALSE_ALARM, REPETITIONS, DELTA)
    estimates = np.mean([verdict.leaves[0].estimate or 0.0 for verdict in verdicts])
    cases = verdicts[0].leaves[0].n * REPETITIONS
    low, high = binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], cases, SHARE) / cases
    assert low <= estimates <= high
