"""Formulas and numbers that are too large end with a word, and not never."""

from __future__ import annotations

from isonomia.errors import SpecError
from isonomia.evidence.confidence_sequences import finite_interval
from isonomia.evidence.hypotheses import denominators_of
from isonomia.evidence.normal_form import normal_form
from isonomia.spec.parser import parse_formula
from isonomia.spec.tree import leaves_of
from raising import raises


def test_many_absolute_values_in_one_comparison_are_refused() -> None:
    formula = parse_formula(" + ".join(f"abs(P[a == {k}] - P[b == {k}])" for k in range(40)) + " <= 1")
    with raises(SpecError, 100000, 40, at="abs(P[a == 0] - P[b == 0])"):
        normal_form(formula, dict.fromkeys(leaves_of(formula), (0.0, 1.0)))


def test_a_product_of_many_sums_is_refused() -> None:
    formula = parse_formula(
        "1 / (" + " * ".join(f"(P[a == {k}] + P[b == {k}] + P[c == {k}])" for k in range(30)) + ") <= 1"
    )
    with raises(SpecError, 10000):
        denominators_of(formula, dict.fromkeys(leaves_of(formula), (0.0, 1.0)))


def test_an_interval_for_more_people_than_double_precision_counts_ends() -> None:
    low, high = finite_interval(5.0, 10.0, 1e30, 0.05)
    assert 0.0 <= low < 0.5 < high <= 1.0
