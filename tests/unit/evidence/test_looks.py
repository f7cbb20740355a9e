"""Planned looks, and the limits behind them: what has no method and why, plans, and tables at the edge."""

from __future__ import annotations

from itertools import product
from math import inf

import numpy as np
import pytest

from isonomia.errors import DataError, UsageError
from isonomia.evidence.bet_evidence import bets_for
from isonomia.evidence.looks import LookEvidence, NoLookError, looks_for
from isonomia.evidence.one_look import RateFraction, lower_end, proves_above, upper_end
from isonomia.evidence.planning import people_for
from isonomia.evidence.tail_bounds import BoundedRates, SmoothTail
from isonomia.spec.parser import parse_formula
from isonomia.spec.tree import Comparison, Each, Junction, leaves_of
from raising import raises

DIFFERENCE = RateFraction(0.0, (1.0, -1.0))
RATIO = RateFraction(0.0, (1.0, 0.0), 0.0, (0.0, 1.0))


def looks(text: str, delta: float = 0.05, after: tuple[int, ...] = (1,)) -> LookEvidence:
    formula = parse_formula(text)
    return looks_for(formula, dict.fromkeys(leaves_of(formula), (0.0, 1.0)), (None,), delta, after)


def answered(evidence: LookEvidence, *counts: tuple[float, float]) -> bool | None:
    """The decision after one batch, with these numbers of no and yes for the leaves in their order."""
    tallies = {channel: np.asarray(count) for channel, count in zip(evidence.channels, counts, strict=True)}
    return evidence.decision(evidence.step(evidence.begin(), tallies))


def planned(text: str, *means: float) -> float:
    evidence = looks(text)
    leaves = leaves_of(evidence.formula)
    bets = bets_for(evidence.formula, evidence.ranges, (None,), evidence.delta, slices=False)
    assert bets is not None
    return people_for(bets, evidence, dict(zip(leaves, means, strict=True)), dict.fromkeys(leaves, 0.5), 0.9)


# --------------------------------------------------------------------------------------------------- what has a method


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1 / (P[a | g == 1] - P[a | g == 2]) >= 0.5", "the denominator of .* may have either sign"),
        ("min(P[a | g == 1], 0.5) * (P[a | g == 2] - P[a | g == 3]) >= 0.1", "is not monotone in it"),
        (" + ".join(f"P[a | g == {k}]" for k in range(9)) + " >= 1", "has more than 8 rates"),
        (" + ".join(f"P[a | g{k} == 1]" for k in range(7)) + " >= 1", "has more than 6 rates or means"),
        (" + ".join(f"P[a{k} | g{k} == 1]" for k in range(6)) + " >= 1", "overlap"),
    ],
)
def test_a_quantity_without_limits_says_which_it_is_and_why(text: str, why: str) -> None:
    with pytest.raises(NoLookError, match=why):
        looks(text)


@pytest.mark.parametrize("text", ["1e300 * P[a] * 1e300 >= 0.5", "1e308 * P[a | g == 1] + 1e308 * P[a | g == 2] >= 1"])
def test_a_number_that_overflows_is_refused_with_what_to_do(text: str) -> None:
    with pytest.raises(DataError, match="one overflows: rescale the property"):
        looks(text)


def test_a_power_of_a_fraction_is_the_fraction_turned_over() -> None:
    for counts, answer in (((40.0, 60.0), True), ((95.0, 5.0), False), ((70.0, 30.0), None)):
        assert answered(looks("(2 / P[a]) ** -1 >= 0.15"), counts) is answer
        assert answered(looks("P[a] >= 0.3"), counts) is answer


def test_a_quantifier_is_written_out_before_anything_is_looked_at() -> None:
    each = parse_formula("for g in {1, 2}: P[a | b == g] >= 0.1")
    assert isinstance(each, Each)
    ready = looks("P[a] >= 0.1")
    evidence = LookEvidence(each, ready.parts, ready.ranges, ready.streams, 0.05, (1,))
    with pytest.raises(TypeError, match="a quantifier is expanded before a claim is judged"):
        evidence.step(ready.begin(), {ready.channels[0]: np.asarray([4.0, 6.0])})


# ------------------------------------------------------------------------------------------------------ by comparison


def test_every_comparison_of_a_claim_is_answered_where_all_are_violated() -> None:
    evidence = looks("P[a | g == 1] >= 0.8 and P[a | g == 2] >= 0.9")
    assert isinstance(evidence.formula, Junction)
    parts = [part for part in evidence.formula.operands if isinstance(part, Comparison)]
    tallies = {channel: np.asarray([60.0, 40.0]) for channel in evidence.channels}
    state = evidence.step(evidence.begin(), tallies)
    assert evidence.decision(state) is False
    answers = evidence.by_comparison(state, parts, whole=False)
    assert [answer for answer, _ in answers] == [False, False]
    assert all(0.2 < low < 0.4 < high < 0.6 for _, (low, high) in answers)


def test_between_looks_no_comparison_has_an_answer() -> None:
    evidence = looks("P[a | g == 1] >= 0.1 and P[a | g == 2] >= 0.1", after=(2,))
    assert isinstance(evidence.formula, Junction)
    parts = [part for part in evidence.formula.operands if isinstance(part, Comparison)]
    state = evidence.step(evidence.begin(), {channel: np.asarray([10.0, 90.0]) for channel in evidence.channels})
    assert evidence.decision(state) is None
    assert [answer for answer, _ in evidence.by_comparison(state, parts, whole=None)] == [None, None]


# --------------------------------------------------------------------------------------------------------------- plans


def test_a_plan_for_a_claim_in_other_words_is_the_same() -> None:
    assert planned("not P[a | g == 1] <= 0.3", 0.5) == planned("P[a | g == 1] > 0.3", 0.5)
    either = planned("not P[a | g == 1] > 0.3 or P[a | g == 2] >= 0.4", 0.5, 0.6)
    assert planned("P[a | g == 1] > 0.3 ==> P[a | g == 2] >= 0.4", 0.5, 0.6) == either
    assert planned("P[a | g == 1] > 0.3 ==> P[a | g == 2] >= 0.7", 0.5, 0.7) == inf, "on the boundary"


def test_a_mean_of_numbers_takes_more_people_than_a_rate_and_fewer_the_farther_it_lies() -> None:
    near, far = planned("E[x] >= 0.4", 0.5), planned("E[x] >= 0.3", 0.5)
    assert near > planned("P[x] >= 0.4", 0.5)
    assert near == pytest.approx(4 * far, rel=0.15)


# -------------------------------------------------------------------------------------------------------------- limits


def test_a_rate_that_a_quantity_rises_with_or_falls_has_no_limits() -> None:
    either = RateFraction(0.0, (1.0, -1.0, 0.0), 1.0, (1.0, 0.0, 1.0))
    assert either.rising() is None
    with raises(UsageError, name="fraction"):
        lower_end(either, (1, 1, 1), (3, 3, 3), 0.05)


@pytest.mark.parametrize(("successes", "n"), [((4, 1), (3, 3)), ((-1, 1), (3, 3)), ((1,), (3, 3)), ((1, 1), (3,))])
def test_counts_that_are_none_are_refused(successes: tuple[int, ...], n: tuple[int, ...]) -> None:
    with raises(UsageError, str(successes) if len(successes) == 1 else successes, str(n) if len(n) == 1 else n):
        lower_end(DIFFERENCE, successes, n, 0.05)


@pytest.mark.parametrize("delta", [0.5, 0.6, 0.9])
@pytest.mark.parametrize(
    ("fraction", "successes", "n"),
    [
        (DIFFERENCE, (5, 0), (5, 1)),
        (DIFFERENCE, (0, 0), (10, 50)),
        (RATIO, (1, 43), (1, 50)),
        (RATIO, (43, 0), (50, 1)),
        (RateFraction(1.0, (0.5, 0.0), 1.0, (1.0, 1.0)), (5, 0), (5, 1)),
    ],
)
def test_a_large_risk_has_limits_where_everybody_or_nobody_said_yes(
    fraction: RateFraction, successes: tuple[int, int], n: tuple[int, int], delta: float
) -> None:
    careful, bold = (lower_end(fraction, successes, n, risk) for risk in (0.4, delta))
    least, greatest = fraction.span()
    assert least <= careful <= bold + 0.01
    assert bold <= greatest


def test_limits_of_a_quantity_that_is_constant_are_its_value() -> None:
    """Where rounding leaves a spread of nothing, no step leads anywhere."""
    for fraction, value in (
        (RateFraction(0.1, (0.3, 0.3), 0.3, (0.9, 0.9)), 1 / 3),
        (RateFraction(0.7, (0.0, 0.0)), 0.7),
        (RateFraction(0.0, (-1.0, 0.0, -1.0), 0.0, (1.0, 0.0, 1.0)), -1.0),
    ):
        counts, n = (3,) * len(fraction.top), (10,) * len(fraction.top)
        assert lower_end(fraction, counts, n, 0.05) == pytest.approx(value, abs=1e-12)
        assert upper_end(fraction, counts, n, 0.05) == pytest.approx(value, abs=1e-12)
        assert not proves_above(fraction, counts, n, 0.05, value + 0.1)


def test_nothing_is_known_from_below_of_what_is_divided_by_rates_that_may_be_none() -> None:
    assert lower_end(RateFraction(-1.0, (0.0, 0.0), 0.0, (1.0, 1.0)), (0, 0), (2, 50), 1e-6) == -inf


def test_a_search_ends_where_its_steps_are_below_rounding() -> None:
    plain = lower_end(DIFFERENCE, (50, 30), (100, 100), 0.05)
    moved = lower_end(RateFraction(2.0**46, (1.0, -1.0)), (50, 30), (100, 100), 0.05) - 2.0**46
    assert plain - 0.1 < moved < plain + 2.0**-6


def test_the_bound_on_a_tail_over_nearly_the_whole_box_is_that_over_all_of_it() -> None:
    low, high, n = np.asarray([0.2, 0.3, 0.4]), np.asarray([0.6, 0.33, 0.43]), np.asarray([20.0, 20.0, 20.0])
    ones = np.ones(3)
    all_of_it, edge = BoundedRates(low, high, ones, 3.0), float(ones @ high)
    assert all_of_it.whole
    nearly = BoundedRates(low, high, ones, edge - 1e-6)
    flat = BoundedRates(low, high, np.zeros(3), 0.0)
    for reached, level in product((1.6, 1.9, 2.2), (0.01, 0.1, 0.3, 0.6)):
        tail = SmoothTail(ones, n, reached, low, high, level)
        assert tail.refutes(nearly) == tail.refutes(all_of_it) == tail.refutes(flat)
        assert tail.likely_refutes(flat) == tail.likely_refutes(all_of_it)


def test_a_table_that_speaks_against_a_value_as_much_as_any_proves_nothing_above_it() -> None:
    assert not proves_above(DIFFERENCE, (0, 5), (1_000, 5), 0.05, -0.99)
    assert lower_end(DIFFERENCE, (0, 5), (1_000, 5), 0.05) == -1.0
