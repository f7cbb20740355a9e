"""Quantities as fractions: what clearing denominators keeps, and what it refuses."""

from __future__ import annotations

import pytest

from isonomia.errors import SpecError
from isonomia.evidence.hypotheses import denominators_of, hypothesis_of
from isonomia.evidence.polynomials import as_fraction, bounds_of, is_linear
from isonomia.spec.names import leaves_of
from isonomia.spec.parse import parse_formula
from isonomia.spec.tree import Comparison, Quantity

A, B = (leaves_of(parse_formula(f"P[{name}] >= 0"))[0] for name in "ab")
UNIT = {A: (0.0, 1.0), B: (0.0, 1.0)}


def quantity(text: str) -> Quantity:
    formula = parse_formula(f"{text} >= 0")
    assert isinstance(formula, Comparison)
    return formula.first


@pytest.mark.parametrize(
    ("text", "numerator", "denominator"),
    [
        ("2 * P[a] - P[b] / 4", {(A,): 2.0, (B,): -0.25}, {(): 1.0}),
        ("P[a] / P[b]", {(A,): 1.0}, {(B,): 1.0}),
        ("P[a] / P[b] - 0.8", {(A,): 1.0, (B,): -0.8}, {(B,): 1.0}),
        ("P[a] / P[a]", {(): 1.0}, {(): 1.0}),
        ("P[a] ** 0", {(): 1.0}, {(): 1.0}),
        ("P[a] ** 2", {(A, A): 1.0}, {(): 1.0}),
        ("P[a] ** -2", {(): 1.0}, {(A, A): 1.0}),
        ("0.5 ** 2 * P[a]", {(A,): 0.25}, {(): 1.0}),
        ("2 ** 0.5", {(): 2**0.5}, {(): 1.0}),
        ("-(P[a] - P[a])", {}, {(): 1.0}),
        ("1 / (1 / P[a])", {(A,): 1.0}, {(): 1.0}),
    ],
)
def test_a_quantity_is_one_fraction(text: str, numerator: object, denominator: object) -> None:
    fraction = as_fraction(quantity(text))
    assert fraction.numerator == numerator
    assert fraction.denominator == denominator


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 / (P[a] - P[a])", "always 0"),
        ("(P[a] - P[a]) ** -1", "no number"),
        ("P[a] ** 17", "at most 16"),
        ("(0 - 0.5) ** 0.5", "no real number"),
    ],
)
def test_what_is_no_number_is_refused(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        as_fraction(quantity(text))


def test_bounds_enclose_every_corner() -> None:
    polynomial = as_fraction(quantity("2 * P[a] * P[b] - P[a] - 0.5")).numerator
    assert bounds_of(polynomial, UNIT) == (-1.5, 1.5)
    assert not is_linear(polynomial)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("P[a] / P[b] >= 0.8", 1),
        ("P[a] / (1 + P[b]) >= 0.8", 0),
        ("P[a] / (1 - P[b]) >= 0.8", 1),
        ("P[a] / (P[a] - P[b]) >= 0.8", 0),
        ("P[a] / P[b] >= 0.8 and P[a] / P[b] <= 1.25", 1),
        ("P[a] >= 0.8 * P[b]", 0),
    ],
)
def test_only_a_denominator_of_known_sign_that_may_be_zero_must_be_seen_to_differ(text: str, count: int) -> None:
    assert len(denominators_of(parse_formula(text), UNIT)) == count


@pytest.mark.parametrize(
    ("text", "positive", "polytopes"),
    [
        ("P[a] / P[b] >= 0.8", False, 1),
        ("abs(P[a] - P[b]) <= 0.1", False, 2),
        ("abs(P[a] - P[b]) <= 0.1", True, 1),
        ("max(P[a], P[b]) - min(P[a], P[b]) <= 0.1", True, 1),
        ("0.2 <= P[a] <= 0.4", False, 2),
        ("P[a] >= 2", True, 0),
        ("P[a] >= -1", False, 0),
        ("P[a] / (P[a] - P[b]) >= 1", False, 2),
    ],
)
def test_the_pieces_of_a_hypothesis_are_as_few_as_they_can_be(text: str, positive: bool, polytopes: int) -> None:
    hypothesis = hypothesis_of(parse_formula(text), UNIT, positive=positive)
    assert hypothesis is not None
    assert len(hypothesis.polytopes) == polytopes


@pytest.mark.parametrize("text", ["P[a] * P[b] >= 0.1", "P[a] ** 2 >= 0.1", "P[a] / P[b] + P[b] / P[a] <= 3"])
def test_products_of_unknown_rates_are_left_to_the_region(text: str) -> None:
    assert hypothesis_of(parse_formula(text), UNIT, positive=True) is None
