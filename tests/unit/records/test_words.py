"""Numbers as people read them."""

from __future__ import annotations

from dataclasses import replace
from math import nextafter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isonomia.records import Verdict
from isonomia.records.display.view import guarantee, interval, level, risk
from isonomia.records.verdict import Expression
from isonomia.wording import alongside, brief, chance, change

VERDICT = Verdict(
    text="P[hired] >= 0.5",
    answer="holds",
    delta=0.01 / 3,
    risk=0.01 / 3,
    method="bets",
    samples=10,
    leaves=(),
    expressions=(),
    stopped="decided",
    assumptions=(),
    remarks=(),
    seed=1,
    seconds=0.0,
)


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.0033333333333333335, "0.00334"), (0.0025, "0.0025"), (0.05, "0.05"), (1e-10, "1e-10"), (0.01 / 7, "0.00143")],
)
def test_a_risk_is_short(value: float, words: str) -> None:
    assert chance(value) == words


@given(st.floats(1e-300, nextafter(1.0, 0.0)))
def test_a_risk_is_never_told_too_small(value: float) -> None:
    assert float(chance(value)) >= value * (1 - 1e-8)
    assert float(chance(value)) <= value * 1.02
    assert len(chance(value)) <= 9


def test_the_risk_of_a_third_of_a_hundredth_is_told_the_same_everywhere() -> None:
    assert risk(VERDICT) == "0.00334"
    assert "at most 0.00334," in guarantee(VERDICT)
    known = replace(VERDICT, answer="undecided", expressions=(Expression("P[hired]", ">=", 0.5, 0.5, 0.4, 0.6),))
    assert "probability at most 0.00334, both limits with at most 0.00667," in level(known)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (3089.3993553564183, "3089.4"),
        (0.1 + 0.2, "0.3"),
        (1234567.891, "1234568"),
        (1e-7 / 3, "3.33333e-08"),
        (2, "2"),
        (10**30, str(10**30)),
        ("a b", "'a b'"),
        (True, "True"),
        (None, "None"),
        (float("nan"), "nan"),
    ],
)
def test_a_drawn_value_has_as_many_digits_as_people_read(value: object, words: str) -> None:
    assert brief(value) == words


def test_a_change_that_rounding_would_hide_is_told_in_full() -> None:
    assert change(3089.3993553564183, 3100.5) == "3089.4 -> 3100.5"
    assert change(0.1 + 0.2, 0.3) == "0.30000000000000004 -> 0.3"
    assert change("a", "b") == "'a' -> 'b'"


def test_values_that_are_compared_are_short_unless_they_would_look_the_same() -> None:
    assert alongside([1 / 3, 2 / 3, "a"]) == ["0.333333", "0.666667", "'a'"]
    assert alongside([0.1 + 0.2, 0.3]) == ["0.30000000000000004", "0.3"]
    assert alongside([1 / 3, 1 / 3]) == ["0.333333", "0.333333"]


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (0.56, 0.79998, "[0.56, 0.79998]"),
        (0.79998, 0.93, "[0.79998, 0.93]"),
        (0.8000002, 0.93, "[0.8000002, 0.93]"),
        (0.56, nextafter(0.8, 0.0), "[0.56, 0.8)"),
        (nextafter(0.8, 1.0), 0.93, "(0.8, 0.93]"),
        (nextafter(0.8, 0.0), 0.93, "[0.8, 0.93]"),
        (0.56, 0.8, "[0.56, 0.8]"),
        (0.56, 0.7955, "[0.56, 0.7955]"),
    ],
)
def test_an_end_close_beside_the_threshold_is_not_shown_as_it(low: float, high: float, shown: str) -> None:
    assert interval(Expression("P[y]", ">=", 0.8, None, low, high)) == shown


def test_an_end_just_above_a_threshold_of_0_has_a_round_bracket() -> None:
    assert interval(Expression("P[y]", "==", 0.0, None, nextafter(0.0, 1.0), 0.4888)) == "(0, 0.4888]"


def test_an_end_close_beside_a_large_threshold_has_the_digits_that_tell_them_apart() -> None:
    assert interval(Expression("E[x]", "<=", 12_345.0, None, 12_000.0, 12_345.4)) == "[12,000, 12,345.4]"
