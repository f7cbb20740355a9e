from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from isonomia.errors import DataError
from isonomia.populations.table import column_from, distinct
from raising import raises


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([1, 2], "i", [1, 2]),
        ([True, False], "b", [True, False]),
        ([True, None], "O", [True, None]),
        (["a", None], "O", ["a", None]),
        ([0.5, 2], "f", [0.5, 2.0]),
        ([Decimal("0.5"), 2], "f", [0.5, 2.0]),
        ([np.int64(3), np.int64(4)], "i", [3, 4]),
        (np.array(["a", "b"]), "O", ["a", "b"]),
        (np.array([b"a"]), "O", ["a"]),
        (np.array([1, "a", None, np.nan], dtype=object), "O", [1, "a", None, None]),
        (pl.Series(["a", None]), "O", ["a", None]),
        (pd.Series(["a", None]), "O", ["a", None]),
        (pd.Series([1, None], dtype="Int64").astype("Int64").dropna(), "i", [1]),
        (pa.chunked_array([[1, 2]]), "i", [1, 2]),
        (pl.Series([[1], [2]]), "O", [[1], [2]]),
        ([2**70, 1], "O", [2**70, 1]),
        ([None, None], "O", [None, None]),
        (range(2), "i", [0, 1]),
    ],
)
def test_a_column_has_the_type_of_its_values(values, kind, expected):
    column = column_from(values, "x")
    assert column.dtype.kind == kind
    assert column.tolist() == expected


@pytest.mark.parametrize(
    "values",
    [
        [1, None],
        [1.0, float("nan")],
        np.ma.masked_array([1, 2], mask=[False, True]),
        pd.Series([1, None], dtype="Int64"),
        pd.Series([1, pd.NA], dtype=object),
        pl.Series([1, None]),
        pa.chunked_array([[1, None]]),
    ],
)
def test_a_number_missing_makes_the_column_float_with_nan(values):
    np.testing.assert_array_equal(column_from(values, "x"), [1.0, np.nan])


@pytest.mark.parametrize(
    "values",
    [
        [datetime(2024, 1, 1, 12, tzinfo=UTC), None],
        [datetime(2024, 1, 1, 14, tzinfo=timezone(timedelta(hours=2))), None],
        np.array(["2024-01-01T12", "NaT"], dtype="datetime64[ns]"),
        [np.datetime64("2024-01-01T12", "ns"), None],
        pd.Series(pd.to_datetime(["2024-01-01T14:00+02:00", None])).dt.tz_convert("Europe/Berlin"),
        pl.Series([datetime(2024, 1, 1, 12), None]),
        pa.chunked_array([pa.array([datetime(2024, 1, 1, 12), None])]),
    ],
)
def test_moments_are_microseconds_in_utc_with_nat_where_missing(values):
    column = column_from(values, "x")
    assert column.dtype == "datetime64[us]"
    assert column[0] == np.datetime64("2024-01-01T12")
    assert np.isnat(column[1])


def test_dates_are_moments_at_midnight():
    assert column_from([date(2024, 1, 2)], "x")[0] == np.datetime64("2024-01-02")
    assert column_from(pl.Series([date(2024, 1, 2)]), "x")[0] == np.datetime64("2024-01-02")


def test_categories_become_what_they_stand_for():
    assert column_from(pd.Series(pd.Categorical(["a", None])), "x").tolist() == ["a", None]
    assert column_from(pd.Series(pd.Categorical([3, 1])), "x").tolist() == [3, 1]
    assert column_from(pl.Series(["a", None], dtype=pl.Categorical), "x").tolist() == ["a", None]
    assert column_from(pl.Series(["a"], dtype=pl.Enum(["a", "b"])), "x").tolist() == ["a"]


def test_a_matrix_is_no_column():
    with raises(DataError, "x", (2, 2)):
        column_from(np.zeros((2, 2)), "column 'x'")


def test_distinct_values_are_sorted_numbers_before_text_without_missing_ones():
    parts = [np.array(["b", None, 2], dtype=object), np.array([1.5, np.nan])]
    assert distinct(parts, "x") == (1.5, 2, "b")


def test_distinct_values_of_dates_are_refused_with_the_name_and_the_value():
    with raises(DataError, "born", 2024):
        distinct([np.array(["2024-01-01"], dtype="datetime64[us]")], "born")


@pytest.mark.parametrize("make", [pl.Series, lambda values: pd.Series(values, dtype="Int64"), list])
def test_large_whole_numbers_with_a_gap_are_not_rounded(make):
    column = column_from(make([2**53 + 1, None]), "ids")
    assert column.tolist() == [2**53 + 1, None]
    np.testing.assert_array_equal(column_from(make([2**53, None]), "ids"), [2.0**53, np.nan])


def test_values_given_in_parts_are_floats_where_one_part_has_them():
    values = distinct([np.array([1, 2]), np.array([3.0, np.nan])], "n")
    assert values == (1.0, 2.0, 3.0)
    assert {type(value) for value in values} == {float}


def test_the_character_zero_survives_in_text():
    for make in (pl.Series, pd.Series, list):
        assert column_from(make(["a\x00", "\x00", None]), "text").tolist() == ["a\x00", "\x00", None]
