"""One normalisation of columns: a property and a table mean the same by every value."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

import isonomia as iso
from isonomia.errors import DataError
from isonomia.populations import Table
from isonomia.spec.columns import normalise, plain
from isonomia.spec.evaluate import Batch, truth
from isonomia.spec.parser import parse_condition
from isonomia.spec.tree import Column, Compare, Literal

EAST = timezone(timedelta(hours=2))
NOON = np.datetime64("2024-01-01T12", "us")
SAME_INSTANT = [
    datetime(2024, 1, 1, 12),
    datetime(2024, 1, 1, 12, tzinfo=UTC),
    datetime(2024, 1, 1, 14, tzinfo=EAST),
    pd.Timestamp("2024-01-01T14:00+02:00"),
    pd.Timestamp("2024-01-01T12:00"),
    np.datetime64("2024-01-01T12", "ns"),
]


@pytest.mark.parametrize("value", SAME_INSTANT)
def test_a_property_and_a_table_agree_about_time_zones(value):
    raw = np.array([value, None], dtype=object)
    for column in (plain(raw, "x"), Table.of({"x": raw}).column("x"), Table.of([{"x": value}, {}]).column("x")):
        assert column.dtype == "datetime64[us]"
        assert column[0] == NOON
        assert np.isnat(column[1])


def test_times_of_several_zones_are_compared_as_instants():
    zoned = np.array(SAME_INSTANT[1:4], dtype=object)
    frame = pl.DataFrame({"x": [datetime(2024, 1, 1, 14, tzinfo=EAST)] * 3}).to_pandas()["x"].to_numpy(dtype=object)
    naive = np.array([datetime(2024, 1, 1, hour) for hour in (11, 12, 13)], dtype=object)
    batch = Batch(3, {"zoned": zoned, "frame": frame, "naive": naive})
    for text, expected in {
        "zoned == frame": [True, True, True],
        "zoned == naive": [False, True, False],
        "zoned <= naive": [False, True, True],
        "zoned == '2024-01-01T12:00'": [True, True, True],
    }.items():
        assert truth(parse_condition(text), batch).tolist() == expected, text


def test_a_model_of_zoned_times_gets_the_same_verdict_held_as_objects_or_by_a_library():
    times = [datetime(2024, 1, 1, hour, tzinfo=EAST) for hour in range(24)]
    tables = [{"x": times}, pl.DataFrame({"x": times}), pd.DataFrame({"x": times}), [{"x": time} for time in times]]
    columns = [Table.of(table).column("x").tolist() for table in tables]
    assert all(column == columns[0] for column in columns)
    assert columns[0][0] == datetime(2023, 12, 31, 22)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["a", None, float("nan")], ["a", None, None]),
        (np.array(["a", ""]), ["a", ""]),
        (np.array(["a", ""], np.dtypes.StringDType()), ["a", ""]),
        ([1, 2], [1, 2]),
        ([2**70, 1], [2**70, 1]),
        ([np.int64(1), np.int64(2)], [1, 2]),
        ([2**53 + 1, None], [2**53 + 1, None]),
        ([1, 0.5], [1.0, 0.5]),
        ([Decimal("0.5"), 1], [0.5, 1.0]),
        ([True, None], [True, None]),
        ([True, np.False_], [True, False]),
        ([date(2024, 1, 1)], [datetime(2024, 1, 1)]),
        (np.array([90], "timedelta64[s]"), [timedelta(seconds=90)]),
        ([[1], [2]], [[1], [2]]),
        ([None, None], [None, None]),
        ([1, pd.NA, pd.NaT, 2], [1.0, None, None, 2.0]),
    ],
)
def test_a_column_is_normalised_by_what_it_holds(values, expected):
    column = normalise(values)
    assert [None if value != value else value for value in column.tolist()] == expected


def test_numbers_of_other_types_can_be_compared():
    np.testing.assert_array_equal(plain(np.array([Fraction(1, 2), None], object), "x"), [0.5, np.nan])
    np.testing.assert_array_equal(plain(np.array([True, 3, None], object), "x"), [1.0, 3.0, np.nan])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["a", 1], r"values such as 1 \(int\) and 'a' \(str\), of different kinds"),
        ([b"a", None], r"values such as b'a' \(bytes\); expected numbers, truth values, text or times"),
    ],
)
def test_mixed_and_foreign_values_are_refused_with_examples(values, message):
    with pytest.raises(DataError, match=message):
        plain(np.array(values, object), "x")


def test_a_column_with_nothing_but_missing_values_of_any_kind_has_none_throughout():
    column = normalise(np.array([float("nan"), None, pd.NaT, pd.NA], dtype=object))
    assert column.dtype == object
    assert column.tolist() == [None] * 4


def test_the_character_zero_at_the_end_of_a_text_tells_values_apart():
    batch = Batch(3, {"b": np.array(["x\x00", "x", None], dtype=object)})
    assert truth(parse_condition("b == 'x'"), batch).tolist() == [False, True, False]
    assert truth(Compare("==", Column("b"), Literal("x\x00")), batch).tolist() == [True, False, False]
    assert truth(Compare(">=", Column("b"), Literal("x\x00")), batch).tolist() == [True, False, False]
    people = iso.Census({"b": ["x\x00", "x"] * 20, "y": [0, 1] * 20})
    verdict = iso.check("for g in b: P[y | b == g] >= 0.4", population=people)
    assert verdict.answer == "violated"  # it was said to hold: of both groups, those of the other were counted
