"""Quantities as fractions: what clearing denominators keeps, and what it refuses."""

from __future__ import annotations

from fractions import Fraction as Rational
from itertools import product

import pytest

from isonomia.errors import DataError, SpecError
from isonomia.evidence.exact import exact_truth
from isonomia.evidence.hypotheses import Hypothesis, Polytope, denominators_of, hypothesis_of, settled
from isonomia.evidence.normal_form import as_fraction, bounds_of, compared, is_linear
from isonomia.spec.parser import parse_formula
from isonomia.spec.text import to_text
from isonomia.spec.tree import Arithmetic, Column, Comparison, Constant, Extreme, Power, Quantity, Rate, leaves_of
from raising import raises

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
        ("(P[a] - P[a]) ** -1", "not a number"),
        ("P[a] ** 17", "at most 16"),
        ("(0 - 0.5) ** 0.5", "not a real number"),
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


def test_a_point_lies_in_a_hypothesis_where_the_formula_is_true_or_tied() -> None:
    formula = parse_formula("P[x | a] / (P[x | b] - 2) >= -0.25 and P[x | a] >= 0.25")
    a, b = leaves_of(formula)
    found = hypothesis_of(formula, dict.fromkeys((a, b), (0.0, 1.0)), positive=True)
    assert found is not None
    # With a denominator below 0 the comparison turns round: a <= 0.25 (2 - b).
    assert found.contains({a: 0.375, b: 0.5})
    assert found.contains({a: 0.25, b: 1.0})
    assert not found.contains({a: 0.376, b: 0.5})
    assert not found.contains({a: 0.2, b: 0.5})
    assert not Hypothesis(()).contains({a: 0.5})
    assert Hypothesis((Polytope(()),)).contains({a: 0.5})


@pytest.mark.parametrize(
    "text",
    [
        " and ".join(f"abs(P[x | a] - 0.{k}) >= 0.01" for k in range(11, 23)),
        " or ".join(f"P[x == {k}] >= 0.5" for k in range(2_049)),
    ],
    ids=["and", "or"],
)
def test_a_hypothesis_of_too_many_pieces_is_left_to_the_region(text: str) -> None:
    formula = parse_formula(text)
    assert hypothesis_of(formula, dict.fromkeys(leaves_of(formula), (0.0, 1.0)), positive=True) is None


def test_a_comparison_that_overflows_is_refused_with_what_to_do() -> None:
    formula = parse_formula("1e308 * P[x | a] + 1e308 * P[x | b] >= 1")
    with pytest.raises(DataError, match="one overflows: rescale the property"):
        hypothesis_of(formula, dict.fromkeys(leaves_of(formula), (0.0, 1.0)), positive=True)


def test_what_cannot_become_a_fraction_is_refused() -> None:
    a = Rate(Column("x"), Column("a"))
    with raises(SpecError, -1, 0.5):
        as_fraction(Power(Constant(-1.0), 0.5))
    with raises(SpecError, 0.5):
        as_fraction(Power(a, 0.5))
    nothing = Arithmetic("/", Arithmetic("-", a, a), Rate(Column("x"), Column("b")))
    with pytest.raises(SpecError, match="0 to a negative power is not a number"):
        as_fraction(Power(nothing, -1.0))
    with pytest.raises(TypeError, match="resolved before fractions are made"):
        as_fraction(Extreme("abs", (a,)))


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("max(P[a], P[b]) ** -1 >= 2", [(0.3, 0.3), (0.5, 0.5)], [(0.3, 0.9), (0.9, 0.3)]),
        ("min(P[a], P[b]) ** -1 >= 2", [(0.3, 0.9), (0.9, 0.3)], [(0.6, 0.9)]),
        ("max(P[a], P[b]) ** 1 >= 0.5", [(0.3, 0.9), (0.9, 0.3)], [(0.3, 0.3)]),
        ("1 / max(P[a], P[b]) <= 2", [(0.3, 0.9), (0.5, 0.1)], [(0.3, 0.3)]),
        ("-max(P[a], P[b]) >= -0.5", [(0.3, 0.3)], [(0.3, 0.9), (0.9, 0.3)]),
        ("0.2 - min(P[a], P[b]) >= 0", [(0.1, 0.9), (0.9, 0.1)], [(0.3, 0.9)]),
        ("max(P[a], P[b]) / (P[b] - 2) >= -0.5", [(0.7, 0.4), (0.5, 0.6)], [(0.9, 0.4), (0.4, 0.9)]),
    ],
)
def test_an_extreme_is_resolved_by_whether_what_stands_around_it_rises_or_falls(
    text: str, inside: list[tuple[float, float]], outside: list[tuple[float, float]]
) -> None:
    found = hypothesis_of(parse_formula(text), UNIT, positive=True)
    assert found is not None
    assert all(found.contains(dict(zip((A, B), point, strict=True))) for point in inside)
    assert not any(found.contains(dict(zip((A, B), point, strict=True))) for point in outside)


@pytest.mark.parametrize(
    "text",
    [
        "P[a] / max(P[b] - 0.1, 0.01) >= 0.8",
        "1 / max(P[a] - 0.5, 0.1) <= 5",
        "1 / min(P[a] - 0.5, -0.1) >= -5",
        "1 / abs(P[a] - 0.5) <= 4",
        "P[a] / (abs(P[b] - 0.5) + 0.01) <= 3",
        "P[a] / (1 - 1.1 * min(P[b], 0.9)) <= 2.9",
        "max(P[a] - 0.5, 0.1) ** 1 >= 0.2",
        "max(P[a], -1) ** 1 >= 0.2",
    ],
)
def test_an_extreme_keeps_its_meaning_where_its_sign_is_known_and_that_of_its_arguments_is_not(text: str) -> None:
    formula = parse_formula(text)
    holds, fails = (hypothesis_of(formula, UNIT, positive=positive) for positive in (True, False))
    assert holds is not None
    assert fails is not None
    truths = set()
    for a, b in product((0.03, 0.07, 0.23, 0.37, 0.47, 0.63, 0.83, 0.97), repeat=2):
        true = exact_truth(formula, {A: Rational(a), B: Rational(b)})
        assert (holds.contains({A: a, B: b}), fails.contains({A: a, B: b})) == (true, not true)
        truths.add(true)
    assert truths == {True, False}


@pytest.mark.parametrize("text", ["max(P[a], P[b]) ** 1 >= 0.5", "max(P[a], P[b]) >= 0.5", "2 * max(P[a], P[b]) >= 1"])
def test_an_extreme_within_what_rises_needs_no_word_about_which_is_larger(text: str) -> None:
    found = hypothesis_of(parse_formula(text), UNIT, positive=True)
    assert found is not None
    assert [len(polytope.half_spaces) for polytope in found.polytopes] == [1, 1]


@pytest.mark.parametrize(
    ("text", "positive", "expected"),
    [
        ("0.3 >= 0.1 + 0.2", True, True),
        ("0.3 >= 0.1 + 0.2", False, False),
        ("0.3 > 0.1 + 0.2", True, False),
        ("0.3 > 0.1 + 0.2", False, True),
        ("0.1 * 3 <= 0.3", True, True),
        ("1 / 3 < 0.3334", True, True),
        ("max(0.1, 0.2) - 0.2 >= 0", False, False),
    ],
)
def test_constants_are_compared_as_decimals_ties_included(text: str, positive: bool, expected: bool) -> None:
    found = hypothesis_of(parse_formula(text), {}, positive=positive)
    assert found is not None
    assert found.contains({}) is expected


@pytest.mark.parametrize("rate", [0.25, 0.35])
def test_a_tie_of_constants_does_not_decide_a_claim_about_a_rate(rate: float) -> None:
    formula = parse_formula("min(P[a], 0.3) >= 0.1 + 0.2")
    holds, fails = (hypothesis_of(formula, UNIT, positive=positive) for positive in (True, False))
    assert holds is not None
    assert fails is not None
    assert holds.contains({A: rate}) is (rate >= 0.3)
    assert fails.contains({A: rate}) is (rate <= 0.3)


@pytest.mark.parametrize(
    ("text", "expected", "vanished"),
    [
        ("1 >= 2", "1 >= 2", ()),
        ("1 / (P[a] - P[b]) >= 0.5", "1 / (P[a] - P[b]) >= 0.5", ()),
        ("1e300 * P[a] * 1e300 >= 0.5", "1e+300 * P[a] * 1e+300 >= 0.5", ()),
        ("min(P[a], P[a] + 1) >= P[b]", "min(P[a], P[a] + 1) >= P[b]", (A, B)),
        ("P[a] * 0 >= 0.1", "0 > 0", (A,)),
        ("not (0 <= P[a] <= 0.5) ==> P[b] <= 1", "not (0 >= 0 and P[a] <= 0.5) ==> 0 >= 0", (A, B)),
    ],
)
def test_arithmetic_decides_what_it_can_and_names_the_leaves_that_vanish(
    text: str, expected: str, vanished: tuple[object, ...]
) -> None:
    found = settled(parse_formula(text), UNIT)
    assert (to_text(found.formula), found.vanished) == (expected, vanished)


def test_a_quantifier_is_expanded_before_arithmetic_decides() -> None:
    with pytest.raises(TypeError, match="a quantifier is expanded before arithmetic decides anything"):
        settled(parse_formula("for g in {1, 2}: P[a | b == g] >= 0"), UNIT)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("P[a] >= 0.8 * P[b]", ("P[a] / P[b]", ">=", 0.8)),
        ("P[a] >= P[b] * 0.8", ("P[a] / P[b]", ">=", 0.8)),
        ("P[b] * 0.8 < P[a]", ("P[a] / P[b]", ">", 0.8)),
        ("0.3 < P[a]", ("P[a]", ">", 0.3)),
        ("P[a] >= -0.8 * P[b]", ("P[a] - -0.8 * P[b]", ">=", 0.0)),
        ("P[a] <= P[b] + 0.1", ("P[a] - (P[b] + 0.1)", "<=", 0.0)),
    ],
)
def test_what_is_compared_is_the_ratio_or_the_difference_that_people_speak_of(text: str, expected: object) -> None:
    ((found, relation, threshold),) = compared(parse_formula(text))
    assert (to_text(found), relation, threshold) == expected
