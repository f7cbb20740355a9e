"""Exact truth over a whole population: rational arithmetic, ties, and groups with nobody in them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from isonomia.errors import DataError
from isonomia.evidence.exact import exact_truth, exact_value
from isonomia.spec.parser import parse_formula
from isonomia.spec.tree import Column, Comparison, Rate

A, B, C = (Rate(Column("x"), Column(name)) for name in "abc")
VALUES = {A: Fraction(3, 10), B: Fraction(1, 5)}


def truth(text: str) -> bool | None:
    return exact_truth(parse_formula(text), VALUES)


def value(text: str) -> Fraction:
    formula = parse_formula(f"{text} > 0")
    assert isinstance(formula, Comparison)
    return exact_value(formula.first, VALUES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("P[x | a] + P[x | b]", Fraction(1, 2)),
        ("P[x | a] - P[x | b]", Fraction(1, 10)),
        ("P[x | a] * P[x | b]", Fraction(3, 50)),
        ("P[x | a] / P[x | b]", Fraction(3, 2)),
        ("-P[x | a]", Fraction(-3, 10)),
        ("P[x | a] ** 2", Fraction(9, 100)),
        ("P[x | a] ** -2", Fraction(100, 9)),
        ("P[x | a] ** 0", Fraction(1)),
        ("(P[x | a] - 0.3) ** 0", Fraction(1)),
        ("(P[x | a] - 0.3) ** 2", Fraction(0)),
        ("abs(P[x | b] - P[x | a])", Fraction(1, 10)),
        ("min(P[x | a], P[x | b], 0.25)", Fraction(1, 5)),
        ("max(P[x | a], P[x | b], 0.25)", Fraction(3, 10)),
        ("0.1", Fraction(1, 10)),
        ("1e-3", Fraction(1, 1000)),
    ],
)
def test_arithmetic_is_that_of_fractions(text: str, expected: Fraction) -> None:
    assert value(text) == expected


def test_a_root_of_a_constant_is_taken_in_floating_point() -> None:
    assert value("P[x | a] + 2 ** 0.5") == VALUES[A] + Fraction(2.0**0.5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("P[x | a] < 0.3", False),
        ("P[x | a] <= 0.3", True),
        ("P[x | a] > 0.3", False),
        ("P[x | a] >= 0.3", True),
        ("P[x | a] > 0.29", True),
        ("P[x | a] < 0.31", True),
        ("0.2 <= P[x | b] < P[x | a]", True),
        ("0.2 < P[x | b] < P[x | a]", False),
        ("not P[x | a] < 0.3", True),
        ("P[x | a] >= 0.3 and P[x | b] > 0.2", False),
        ("P[x | a] >= 0.3 and P[x | b] >= 0.2", True),
        ("P[x | a] > 0.3 or P[x | b] >= 0.2", True),
        ("P[x | a] > 0.3 or P[x | b] > 0.2", False),
        ("P[x | a] > 0.3 ==> P[x | b] > 0.2", True),
        ("P[x | a] >= 0.3 ==> P[x | b] > 0.2", False),
        ("P[x | a] >= 0.3 ==> P[x | b] >= 0.2", True),
    ],
)
def test_a_tie_is_a_tie(text: str, expected: bool) -> None:
    assert truth(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("P[x | c] > 0.5", None),
        ("not P[x | c] > 0.5", None),
        ("P[x | c] > 0.5 and P[x | a] > 0.5", False),
        ("P[x | c] > 0.5 and P[x | a] < 0.5", None),
        ("P[x | c] > 0.5 or P[x | a] < 0.5", True),
        ("P[x | c] > 0.5 or P[x | a] > 0.5", None),
        ("P[x | a] > 0.5 ==> P[x | c] > 0.5", True),
        ("P[x | a] < 0.5 ==> P[x | c] > 0.5", None),
        ("0.5 < P[x | a] < P[x | c]", False),
        ("P[x | a] / P[x | c] > 0.5", None),
    ],
)
def test_a_group_with_nobody_leaves_open_only_what_turns_on_it(text: str, expected: bool | None) -> None:
    assert truth(text) is expected


@pytest.mark.parametrize("text", ["1 / (P[x | a] - 0.3)", "(P[x | a] - 0.3) ** -1"])
def test_a_denominator_of_zero_is_refused_by_name(text: str) -> None:
    with pytest.raises(DataError, match=r"P\[x \| a\] - 0\.3 is 0 in this population"):
        value(text)


def test_a_quantifier_must_be_written_out_first() -> None:
    with pytest.raises(TypeError, match="expanded before"):
        truth("for g in {1, 2}: P[x == g] > 0.5")
