"""Closed testing by its short cut against the definition: the mean over every set of hypotheses."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from isonomia.evidence.multiple import closed_average, locked

DELTA = 0.1


def by_definition(e_values, delta, together=None):
    count = len(e_values)
    sets = [set(chosen) for size in range(1, count + 1) for chosen in combinations(range(count), size)]

    def refuted(chosen):
        if together is not None and len(chosen) == count:
            return together
        return np.mean([e_values[k] for k in chosen]) >= 1.0 / delta

    return [all(refuted(chosen) for chosen in sets if k in chosen) for k in range(count)]


@pytest.mark.parametrize("together", [None, True, False])
def test_the_short_cut_is_the_definition(together):
    rng = np.random.default_rng(5)
    found = {True: 0, False: 0}
    for _ in range(400):
        count = int(rng.integers(1, 7))
        e_values = rng.choice([0.0, 0.5, 3.0, 9.0, 11.0, 19.0, 25.0, 40.0, 70.0], size=count) * rng.uniform(0.9, 1.1)
        expected = by_definition(e_values, DELTA, together)
        with np.errstate(divide="ignore"):
            assert closed_average(np.log(e_values), DELTA, together=together).tolist() == expected
        for answer in expected:
            found[answer] += 1
    assert found[False] > 100
    assert (found[True] == 0) if together is False else (found[True] > 100)


def test_families_side_by_side_are_judged_each_by_itself():
    logs = np.log(np.random.default_rng(6).uniform(1.0, 80.0, size=(50, 4)))
    together = closed_average(logs, DELTA)
    assert together.tolist() == [closed_average(row, DELTA).tolist() for row in logs]


@pytest.mark.parametrize("count", [1, 2, 20])
def test_one_alone_needs_exactly_as_much_as_its_family_is_large(count):
    # E-values that are K/delta with probability delta/K each, and never two at once, err with probability delta. A
    # bound that asked for a fifth less would err a quarter more often.
    others = np.full(count - 1, -np.inf)
    for factor, expected in ((0.8, False), (0.999, False), (1.001, True)):
        logs = np.concatenate([[np.log(factor * count / DELTA)], others])
        assert closed_average(logs, DELTA)[0] == expected


def test_all_that_reached_the_limit_are_rejected_whatever_their_number():
    assert closed_average(np.full(1000, np.log(1.0001 / DELTA)), DELTA).all()
    assert not closed_average(np.full(1000, np.log(0.9999 / DELTA)), DELTA).any()


def test_a_wealth_laid_aside_is_kept_and_what_exceeds_it_bets_on():
    least = np.log(1.0 / DELTA)
    assert locked(np.asarray([0.3]), np.asarray([np.inf]), DELTA) == pytest.approx([0.3])
    # It crossed at 15: ten are kept, five are bet. Half of it lost, and all of it doubled.
    crossed = np.log(np.asarray([15.0, 15.0, 15.0]))
    now = np.exp(locked(np.log(np.asarray([15.0, 7.5, 30.0])), crossed, DELTA))
    assert now == pytest.approx([15.0, 12.5, 20.0])
    assert locked(np.asarray([-np.inf]), np.asarray([least + 1.0]), DELTA) == pytest.approx([least])
