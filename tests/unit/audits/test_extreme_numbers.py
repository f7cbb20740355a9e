"""Numbers at the ends of what a computer holds: an answer or a clear error, each, and the answer is right."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nextafter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import isonomia as iso
from isonomia.audits.rates.census import _Total
from isonomia.errors import DataError, SpecError
from isonomia.evidence.exact import TOGETHER, exact_sum
from isonomia.records import Verdict
from raising import raises

BIG = 2**53 + 1
"""The first whole number that is not a float."""


def census(prop: str, **columns: list[Any]) -> Verdict:
    return iso.check(prop, population=iso.Census(columns), seed=1)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_a_sum_is_exact_whatever_cancels(values: list[float]) -> None:
    assert exact_sum(np.asarray(values, dtype=float)) == sum(map(Fraction, values))


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_a_sum_of_whole_numbers_is_exact_and_does_not_wrap_around(values: list[int]) -> None:
    assert exact_sum(np.asarray(values, dtype=np.int64)) == sum(values)


@pytest.mark.parametrize("kind", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "bool"])
def test_the_mean_of_a_census_is_exact_for_numbers_of_every_width(kind: str) -> None:
    numbers = np.array([0, 1, 1, 1], dtype=kind)
    assert exact_sum(numbers) == 3
    verdict = iso.check("E[x] >= 0.75", population=iso.Census({"x": numbers}), seed=1)
    assert (verdict.answer, verdict.interval) == ("holds", (0.75, 0.75))


@pytest.mark.parametrize("kind", ["i1", "i8", "u8", "f4", "f8"])
def test_more_numbers_than_are_summed_together_have_the_same_sum(kind: str) -> None:
    numbers = np.full(2 * TOGETHER + 1, 100, dtype=kind)
    assert exact_sum(numbers) == 100 * (2 * TOGETHER + 1)
    assert exact_sum(numbers[:0]) == 0


@pytest.mark.parametrize("values", [[1.0, inf], [-inf, 1.0], [inf, -inf]])
def test_the_mean_of_an_infinite_number_is_refused_with_its_row(values: list[float]) -> None:
    with raises(DataError, str(values[np.isinf(values).argmax()]), int(np.isinf(values).argmax())):
        census("E[x] <= 5", x=values)
    assert census("P[x > 2] <= 0.5", x=values).answer == "holds", "whether it is larger is known"
    assert census("E[x | x < 1e300 and x > -1e300] <= 5", x=[*values, 0.0]).answer == "holds"


def test_a_term_that_becomes_infinite_is_refused() -> None:
    with raises(DataError, "inf", 0):
        census("E[x * x] <= 5", x=[1e200])


def test_sums_beyond_the_largest_float_are_no_matter() -> None:
    assert census("E[x] <= 1e308", x=[1e308] * 100).answer == "holds"
    assert census("E[x] < 1e308", x=[1e308] * 100).answer == "violated"
    both = census("E[x] + E[y] <= 5", x=[1e308] * 10, y=[1e308] * 10)
    assert both.answer == "violated"
    assert Verdict.from_dict(both.to_dict()).to_dict() == both.to_dict()
    assert census("E[x] / E[y] >= 1e300", x=[1e308], y=[1e-308]).answer == "holds"


def test_what_cancels_leaves_what_is_left() -> None:
    assert census("E[x] >= 0.3", x=[1e17, 1.0, -1e17]).answer == "holds"


def test_numbers_with_few_digits_near_zero_are_not_rounded() -> None:
    tiny = 5e-324
    assert census("E[x] / E[y] > 1.1", x=[tiny] * 10, y=[tiny] * 9 + [0.0]).answer == "holds"


def test_whole_numbers_are_not_read_as_decimals_of_15_digits() -> None:
    assert census(f"E[x] >= {2**53}", x=[float(2**53)]).answer == "holds"
    assert census(f"E[x] >= {BIG - 1}", x=[BIG]).answer == "holds"
    assert census(f"E[x] > {BIG - 1}", x=[BIG]).answer == "holds"
    assert census("5 <= 3 * E[x] <= 5", x=[1, 2, 2]).answer == "holds"
    assert census("1e30 <= E[x] <= 1e30", x=[1e30, 1e30, 1e30]).answer == "holds"
    assert census("E[x] <= 0.1", x=[0.1, 0.1, 0.1]).answer == "holds", "as people write it"


def test_the_record_of_a_census_keeps_a_sum_beyond_the_largest_float() -> None:
    total = _Total(3, Fraction(10) ** 309)
    assert _Total.unpack(total.pack()) == total


@pytest.mark.parametrize(
    ("prop", "holds"),
    [
        (f"P[x == {float(2**53)!r}] <= 0", True),
        (f"P[x > {float(2**53)!r}] >= 1", True),
        (f"P[x == {BIG}] >= 1", True),
        ("P[x == y] <= 0", True),
        ("P[y == x] <= 0", True),
        ("P[x != y] >= 1", True),
        ("P[x > y] >= 1", True),
        ("P[y < x] >= 1", True),
        ("P[x <= y] >= 1", False),
        (f"P[y == {BIG}] <= 0", True),
        (f"P[y < {BIG}] >= 1", True),
        (f"P[y in {{{BIG}}}] <= 0", True),
        (f"P[x in {{{float(2**53)!r}}}] <= 0", True),
    ],
)
def test_a_whole_number_beyond_2_to_the_53_is_not_the_float_beside_it(prop: str, holds: bool) -> None:
    assert census(prop, x=[BIG] * 3, y=[float(2**53)] * 3).answer == ("holds" if holds else "violated")


def test_whole_numbers_of_64_bits_are_exact_and_larger_ones_refused() -> None:
    assert census(f"P[x == {2**64 - 1}] <= 0.5", x=[2**64 - 1, 2**64 - 2]).answer == "holds"
    for prop in ("P[x > 1] >= 0.5", "E[x] >= 0.5"):
        with raises(DataError, 1328):
            census(prop, x=[int("1" * 400)])


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 5e-324), (-1e308, 1e308), (-1.7e308, 1.7e308), (0.0, 1e308), (5e-324, 1e-323)]
)
def test_a_range_that_cannot_be_computed_with_is_refused_for_samples_and_counted_exactly(
    low: float, high: float
) -> None:
    values = [low, high] * 50
    declared = iso.Sample({"x": values})
    with raises(SpecError, -1e100, 1e100, 1e-100, low, high):
        iso.check(f"E[x from {low!r} to {high!r}] >= {low!r}", population=declared, seed=1)
    with raises(SpecError, -1e100, 1e100, 1e-100, low, high):
        iso.check(f"E[x] >= {low!r}", population=declared, ranges={"x": (low, high)}, seed=1)
    assert census(f"E[x from {low!r} to {high!r}] > {low!r}", x=values).answer == "holds"


@pytest.mark.parametrize(("low", "high"), [(-1e100, 1e100), (0.0, 1e-100), (1.0, nextafter(1.0, 2.0))])
def test_a_range_at_the_limit_gets_an_answer_without_a_warning(low: float, high: float) -> None:
    people = iso.Sample({"x": [low, high] * 30})
    assert iso.check(f"E[x from {low!r} to {high!r}] < {low!r}", population=people, seed=1).answer != "holds"


def test_names_of_300_characters_work_and_are_suggested() -> None:
    name = "a" * 300
    assert census(f"P[{name} > 1] >= 0.5", **{name: [1, 2]}).answer == "holds"
    with raises(SpecError, meant=name):
        census(f"P[{name}b > 1] >= 0.5", **{name: [1, 2]})


@pytest.mark.parametrize("prop", ["P[x > 1] <= {}", "P[x > {}] <= 0.5", "E[x from 0 to {}] <= 1", "P[x > 1] <= 1e400"])
def test_a_bound_of_400_digits_is_refused_where_it_stands(prop: str) -> None:
    with pytest.raises(SpecError, match="too large to work with") as caught:
        census(prop.format("1" * 400), x=[1, 2])
    assert caught.value.place is not None


def test_a_bound_of_400_digits_after_the_point_is_a_number() -> None:
    assert census("P[x > 1] <= 0." + "7" * 400, x=[1, 2, 3]).answer == "holds"
    assert census("P[x > 1] <= 0." + "5" * 400, x=[1, 2, 3]).answer == "violated"
