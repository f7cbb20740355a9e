"""Interval arithmetic: sharp but for rounding, and three-valued truth at the ties."""

from __future__ import annotations

import numpy as np
import pytest

from isonomia.evidence.exact import BoxIntervals, enclose, judge
from isonomia.spec.parser import parse_formula
from isonomia.spec.tree import Column, Comparison, Rate

A, B = (Rate(Column("x"), Column(name)) for name in "ab")


def box(a: tuple[float, float], b: tuple[float, float] = (0.0, 0.0)) -> dict[Rate, BoxIntervals]:
    return {
        leaf: BoxIntervals(np.asarray([low]), np.asarray([high]))
        for leaf, (low, high) in zip((A, B), (a, b), strict=True)
    }


def ends(text: str, a: tuple[float, float], b: tuple[float, float] = (0.0, 0.0)) -> tuple[float, float]:
    formula = parse_formula(f"{text} > 0")
    assert isinstance(formula, Comparison)
    found = enclose(formula.first, box(a, b))
    return float(found.low[0]), float(found.high[0])


@pytest.mark.parametrize(
    ("text", "a", "b", "expected"),
    [
        ("P[x | a] + P[x | b]", (0.1, 0.2), (0.3, 0.5), (0.4, 0.7)),
        ("P[x | a] - P[x | b]", (0.1, 0.2), (0.3, 0.5), (-0.4, -0.1)),
        ("P[x | a] * P[x | b]", (-2.0, 3.0), (-5.0, 7.0), (-15.0, 21.0)),
        ("P[x | a] * P[x | b]", (-3.0, -2.0), (5.0, 7.0), (-21.0, -10.0)),
        ("P[x | a] / P[x | b]", (1.0, 2.0), (4.0, 5.0), (0.2, 0.5)),
        ("P[x | a] / P[x | b]", (1.0, 2.0), (-5.0, -4.0), (-0.5, -0.2)),
        ("P[x | a] / P[x | b]", (1.0, 2.0), (0.0, 4.0), (-np.inf, np.inf)),
        ("P[x | a] / P[x | b]", (1.0, 2.0), (-4.0, 0.0), (-np.inf, np.inf)),
        ("P[x | a] / P[x | b]", (1.0, 2.0), (-1.0, 4.0), (-np.inf, np.inf)),
        ("-P[x | a]", (-1.0, 3.0), (0.0, 0.0), (-3.0, 1.0)),
        ("P[x | a] ** 2", (-3.0, 2.0), (0.0, 0.0), (0.0, 9.0)),
        ("P[x | a] ** 2", (2.0, 3.0), (0.0, 0.0), (4.0, 9.0)),
        ("P[x | a] ** 2", (-3.0, -2.0), (0.0, 0.0), (4.0, 9.0)),
        ("P[x | a] ** 3", (-3.0, 2.0), (0.0, 0.0), (-27.0, 8.0)),
        ("P[x | a] ** -1", (2.0, 4.0), (0.0, 0.0), (0.25, 0.5)),
        ("P[x | a] ** -1", (0.0, 4.0), (0.0, 0.0), (-np.inf, np.inf)),
        ("P[x | a] ** -2", (-4.0, 0.0), (0.0, 0.0), (-np.inf, np.inf)),
        ("P[x | a] ** 0", (-4.0, 4.0), (0.0, 0.0), (1.0, 1.0)),
        ("abs(P[x | a])", (-3.0, 2.0), (0.0, 0.0), (0.0, 3.0)),
        ("abs(P[x | a])", (-3.0, -2.0), (0.0, 0.0), (2.0, 3.0)),
        ("abs(P[x | a])", (1.0, 2.0), (0.0, 0.0), (1.0, 2.0)),
        ("min(P[x | a], P[x | b])", (0.1, 0.9), (0.3, 0.5), (0.1, 0.5)),
        ("max(P[x | a], P[x | b])", (0.1, 0.9), (0.3, 0.5), (0.3, 0.9)),
    ],
)
def test_an_enclosure_holds_the_exact_ends_and_hardly_more(
    text: str, a: tuple[float, float], b: tuple[float, float], expected: tuple[float, float]
) -> None:
    low, high = ends(text, a, b)
    assert low <= expected[0]
    assert high >= expected[1]
    assert (low, high) == pytest.approx(expected, rel=1e-14, abs=1e-300)


def test_an_end_without_end_times_zero_is_zero() -> None:
    low, high = ends("(P[x | a] / P[x | b]) * 0", (1.0, 1.0), (0.0, 0.0))
    assert low <= 0.0 <= high
    assert max(-low, high) < 1e-300


@pytest.mark.parametrize(
    ("text", "a", "true", "false"),
    [
        ("P[x | a] >= 0.5", (0.5, 0.7), True, False),
        ("P[x | a] > 0.5", (0.5, 0.7), False, False),
        ("P[x | a] > 0.4", (0.5, 0.7), True, False),
        ("P[x | a] <= 0.5", (0.3, 0.5), True, False),
        ("P[x | a] < 0.5", (0.3, 0.5), False, False),
        ("P[x | a] < 0.5", (0.5, 0.7), False, True),
        ("P[x | a] <= 0.5", (0.5, 0.7), False, False),
        ("P[x | a] <= 0.5", (0.6, 0.7), False, True),
        ("P[x | a] >= 0.5", (0.3, 0.5), False, False),
        ("P[x | a] > 0.5", (0.3, 0.5), False, True),
        ("0.2 <= P[x | a] <= 0.8", (0.2, 0.8), True, False),
        ("0.2 <= P[x | a] <= 0.8", (0.1, 0.8), False, False),
        ("0.2 <= P[x | a] <= 0.8", (0.0, 0.1), False, True),
        ("not P[x | a] >= 0.5", (0.5, 0.7), False, True),
        ("P[x | a] >= 0.5 and P[x | a] <= 0.7", (0.5, 0.7), True, False),
        ("P[x | a] >= 0.5 and P[x | a] > 0.7", (0.5, 0.7), False, True),
        ("P[x | a] > 0.9 or P[x | a] >= 0.5", (0.5, 0.7), True, False),
        ("P[x | a] > 0.9 or P[x | a] > 0.6", (0.5, 0.7), False, False),
        ("P[x | a] > 0.9 or P[x | a] < 0.4", (0.5, 0.7), False, True),
        ("P[x | a] >= 0.5 ==> P[x | a] > 0.9", (0.5, 0.7), False, True),
        ("P[x | a] > 0.9 ==> P[x | a] > 0.6", (0.5, 0.7), True, False),
        ("P[x | a] > 0.6 ==> P[x | a] >= 0.5", (0.5, 0.7), True, False),
        ("P[x | a] > 0.6 ==> P[x | a] > 0.9", (0.5, 0.7), False, False),
    ],
)
def test_a_judgement_is_certain_where_every_point_agrees_and_open_elsewhere(
    text: str, a: tuple[float, float], true: bool, false: bool
) -> None:
    found = judge(parse_formula(text), box(a))
    assert (bool(found.true[0]), bool(found.false[0])) == (true, false)


def test_a_quantifier_must_be_written_out_first() -> None:
    with pytest.raises(TypeError, match="expanded before it is judged"):
        judge(parse_formula("for g in {1, 2}: P[x == g] > 0.5"), {})
