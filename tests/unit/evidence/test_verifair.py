"""The rules of VeriFair: what each infers, and the risk that it adds up."""

from __future__ import annotations

from math import inf

import pytest

from isonomia.errors import SpecError
from isonomia.evidence.verifair import Lemma, count_leaves, infer, judge_formula, verifair_for
from isonomia.spec.parser import parse_formula
from isonomia.spec.tree import Column, Comparison, Constant, Power, Rate
from raising import raises

A, B = (Rate(Column("x"), Column(name)) for name in "ab")
LEMMAS = {A: Lemma(0.5, 0.1, 0.01), B: Lemma(0.4, 0.2, 0.02)}


def lemma(text: str) -> Lemma:
    formula = parse_formula(f"{text} > 0")
    assert isinstance(formula, Comparison)
    return infer(formula.first, LEMMAS)


@pytest.mark.parametrize(
    ("text", "estimate", "error", "risk"),
    [
        ("P[x | a] + P[x | b]", 0.9, 0.3, 0.03),
        ("P[x | a] - P[x | b]", 0.1, 0.3, 0.03),
        ("P[x | a] * P[x | b]", 0.2, 0.5 * 0.2 + 0.4 * 0.1 + 0.02, 0.03),
        ("P[x | a] / P[x | b]", 1.25, 0.5 * 2.5 + 2.5 * 0.1 + 0.1 * 2.5, 0.03),
        ("1 / P[x | a]", 2.0, 0.1 / (0.5 * 0.4), 0.01),
        ("-P[x | a]", -0.5, 0.1, 0.01),
        ("-0.25", -0.25, 0.0, 0.0),
        ("P[x | a] ** 2", 0.25, 0.5 * 0.1 + 0.5 * 0.1 + 0.01, 0.02),
        ("P[x | a] ** -1", 2.0, 0.5, 0.01),
        ("2 ** 0.5", 2.0**0.5, 0.0, 0.0),
        ("abs(P[x | b] - P[x | a])", 0.1, 0.3, 0.03),
        ("min(P[x | a], P[x | b])", 0.4, 0.2, 0.03),
        ("max(P[x | a], P[x | b])", 0.5, 0.2, 0.03),
    ],
)
def test_each_rule_gives_its_estimate_its_error_and_its_risk(
    text: str, estimate: float, error: float, risk: float
) -> None:
    found = lemma(text)
    assert (found.estimate, found.error, found.risk) == pytest.approx((estimate, error, risk))


def test_a_divisor_that_may_be_zero_gives_no_bound() -> None:
    found = infer(parse_quantity("P[x | a] / P[x | b]"), {A: LEMMAS[A], B: Lemma(0.2, 0.2, 0.02)})
    assert (found.error, found.risk) == (inf, pytest.approx(0.03))
    assert judge_formula(parse_formula("1 / P[x | b] > 0"), {B: Lemma(0.1, 0.2, 0.02)}) == (None, 0.02)


def parse_quantity(text: str) -> object:
    formula = parse_formula(f"{text} > 0")
    assert isinstance(formula, Comparison)
    return formula.first


def test_a_fractional_power_of_what_is_not_constant_is_refused() -> None:
    assert infer(Power(Constant(4.0), 0.5), {}) == Lemma(2.0, 0.0, 0.0)
    with raises(SpecError, 0.5):
        infer(Power(A, 0.5), LEMMAS)


@pytest.mark.parametrize(
    ("text", "truth", "risk"),
    [
        ("P[x | a] > 0.3", True, 0.01),
        ("P[x | a] > 0.45", None, 0.01),
        ("P[x | a] > 0.61", False, 0.01),
        ("0.3 < P[x | a]", True, 0.01),
        ("P[x | a] <= 0.7", True, 0.01),
        ("not P[x | a] > 0.3", False, 0.01),
        ("not P[x | a] > 0.45", None, 0.01),
        ("0.3 < P[x | a] < 0.9", True, 0.02),
        ("0.3 < P[x | a] < 0.35", False, 0.02),
        ("P[x | a] > 0.3 and P[x | b] > 0.1", True, 0.03),
        ("P[x | a] > 0.61 and P[x | b] > 0.4", None, 0.03),
        ("P[x | a] > 0.3 or P[x | b] > 0.9", True, 0.03),
        ("P[x | a] > 0.61 or P[x | b] > 0.9", False, 0.03),
        ("P[x | a] > 0.3 or P[x | b] > 0.4", None, 0.03),
        ("P[x | a] > 0.61 ==> P[x | b] > 0.9", True, 0.03),
        ("P[x | a] > 0.3 ==> P[x | b] > 0.9", False, 0.03),
        ("P[x | a] > 0.3 ==> P[x | b] > 0.4", None, 0.03),
    ],
)
def test_a_formula_is_judged_where_every_part_is_and_the_risks_add_up(
    text: str, truth: bool | None, risk: float
) -> None:
    assert judge_formula(parse_formula(text), LEMMAS) == (truth, pytest.approx(risk))


def test_what_the_error_just_reaches_is_true_and_not_false() -> None:
    lemmas = {A: Lemma(0.5, 0.125, 0.01)}
    assert judge_formula(parse_formula("P[x | a] >= 0.375"), lemmas)[0] is True
    assert judge_formula(parse_formula("P[x | a] >= 0.625"), lemmas)[0] is None
    assert judge_formula(parse_formula("P[x | a] >= 0.626"), lemmas)[0] is False


@pytest.mark.parametrize(
    ("text", "leaves"),
    [
        ("P[x | a] > 0.3", 1),
        ("0.1 < P[x | a] < 0.3", 2),
        ("P[x | a] / P[x | a] > P[x | b]", 3),
        ("not (P[x | a] > 0.3 and -P[x | b] > 0.3)", 2),
        ("P[x | a] > 0.3 ==> max(P[x | b], P[x | a], 0.1) > 0", 3),
        ("P[x | a] ** 3 + (P[x | a] - P[x | b]) ** -2 > 0", 7),
        ("P[x | a] ** 0 > 0", 1),
        ("0.5 > 0.3", 0),
    ],
)
def test_leaves_are_counted_as_often_as_they_stand(text: str, leaves: int) -> None:
    assert count_leaves(parse_formula(text)) == leaves


def test_a_quantifier_must_be_written_out_first() -> None:
    formula = parse_formula("for g in {1, 2}: P[x == g] > 0.5")
    with pytest.raises(TypeError, match="before its comparisons are listed"):
        count_leaves(formula)
    with pytest.raises(TypeError, match="before it is judged"):
        judge_formula(formula, {})


def test_the_way_of_deciding_says_where_it_comes_from() -> None:
    evidence = verifair_for(parse_formula("P[x | a] > 0.3"), (A,), {A: (0.0, 1.0)}, (None,), 0.05)
    assert evidence.method == "verifair"
    assert "Bastani, Zhang and Solar-Lezama (2019)" in evidence.remarks[0]
