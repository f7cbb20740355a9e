import pytest

from isonomia.errors import SpecError
from isonomia.spec.parser import parse_formula
from isonomia.spec.tree import Arithmetic, Comparison, Constant, Power, constant_value
from raising import raises


def quantity(text):
    formula = parse_formula(f"{text} > 0")
    assert isinstance(formula, Comparison)
    return formula.first


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3 - 4 / 2", 5),
        ("-(1 + 1) ** 2", -4),
        ("max(1, 2) + min(1, 2) + abs(-3)", 6),
        ("1 + P[a]", None),
        ("min(1, P[a])", None),
        ("-P[a] ** 2", None),
    ],
)
def test_a_constant_has_a_value_and_nothing_else_has(text, expected):
    assert constant_value(quantity(text)) == expected


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (Arithmetic("/", Constant(1), Constant(0)), "divides by zero"),
        (Arithmetic("*", Constant(1e300), Constant(1e300)), "too large"),
        (Power(Constant(10), 400), "too large"),
    ],
)
def test_a_constant_that_is_no_number_is_refused(node, message):
    with pytest.raises(SpecError, match=message):
        constant_value(node)


@pytest.mark.parametrize(
    ("text", "degree"),
    [
        ("max(P[a], P[b] ** 2) ** 51", 102),
        ("abs(P[a] * P[b]) ** 51", 102),
        ("(P[a] - min(P[b], P[c])) ** 60", 120),
        ("(-P[a]) ** 101", 101),
    ],
)
def test_a_power_of_what_is_itself_long_counts_what_is_multiplied(text, degree):
    with raises(SpecError, 100, degree):
        quantity(text)


def test_the_largest_power_of_a_larger_of_two_rates_is_the_one_of_a_rate():
    assert isinstance(quantity("max(P[a], P[b]) ** 100"), Power)
