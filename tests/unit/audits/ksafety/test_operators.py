"""Arithmetic and comparisons on columns, against Python's own."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from isonomia.audits.ksafety.evaluate import arithmetic, compare, missing

SIGNS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}
NUMBERS = [0, 1, -3, 7, 2.5, -0.5, True, 10**10, 1e300]


@pytest.mark.parametrize("sign", SIGNS)
def test_arithmetic_is_pythons(sign: str) -> None:
    for left in NUMBERS:
        for right in NUMBERS:
            if sign == "**" and abs(right) > 400:
                continue  # Python would compute ten to the ten thousand million
            try:
                expected = SIGNS[sign](left, right)
            except (ZeroDivisionError, OverflowError):
                expected = None
            found, bad, why = arithmetic(sign, np.array([left]), np.array([right]))
            lost = bad is not None and bool(bad[0])
            if expected is None or isinstance(expected, complex) or abs(expected) == float("inf"):
                assert lost or np.isnan(found[0])
                assert why
            else:
                assert not lost
                assert float(found[0]) == pytest.approx(float(expected), rel=1e-12)


def test_whole_numbers_stay_whole_where_they_can() -> None:
    assert arithmetic("+", np.array([2**53 + 1]), np.array([1]))[0].tolist() == [2**53 + 2]
    assert arithmetic("*", np.array([3]), np.array([4]))[0].dtype.kind == "i"
    assert arithmetic("*", np.array([2**40]), np.array([2**40]))[0].tolist() == [2.0**80]


def test_text_can_only_be_joined() -> None:
    text = np.array(["a", None], dtype=object)
    found, bad, _ = arithmetic("+", text, np.array(["b", "c"], dtype=object))
    assert found[0] == "ab"
    assert bad is not None
    assert bad.tolist() == [False, True]


def test_an_order_between_kinds_has_no_answer() -> None:
    mixed = np.array([1, "a", None], dtype=object)
    found, bad, _ = compare("<", mixed, np.array([2, 2, 2]))
    assert found.tolist() == [True, False, False]
    assert bad is not None
    assert bad.tolist() == [False, True, True]
    assert compare("==", mixed, np.array([1, 1, 1]))[0].tolist() == [True, False, False]


def test_missing_values_are_found() -> None:
    assert missing(np.array([1.0, np.nan])).tolist() == [False, True]
    assert missing(np.array(["a", None, float("nan")], dtype=object)).tolist() == [False, True, True]
    assert missing(np.array([1, 2])).tolist() == [False, False]


@pytest.mark.parametrize("more", [[], [float("nan")], [np.arange(2)]], ids=["simple", "with NaN", "with an array"])
def test_objects_are_equal_whatever_else_is_in_the_column(more: list[object]) -> None:
    ones = [None, None, "a", "a", 1, 1, True, 0, "", "1", 10**30, *more]
    others = [None, "", "a", "A", 1, True, 2, None, "", 1, 10**30, *more]
    left, right = (np.fromiter(items, dtype=object, count=len(items)) for items in (ones, others))
    same, _, _ = compare("==", left, right)
    assert same.tolist() == [
        *(True, False, True, False, True, True, False, False, True, False, True),
        *(True for _ in more),
    ]
    assert (compare("!=", left, right)[0] == ~same).all()
