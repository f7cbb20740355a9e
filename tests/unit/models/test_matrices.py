from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from isonomia.errors import ModelError
from isonomia.models.inputs import columns_for, converted, matrix
from isonomia.populations import Table
from raising import raises

COLUMNS = {"a": [1, 2, 3], "b": [0.5, 1.5, 2.5], "c": [True, False, True]}
KINDS = [pd.DataFrame, pl.DataFrame, pa.table, dict, lambda columns: pa.table(columns).to_pylist()]


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("names", [["a", "b"], ["b", "a"], ["c", "a"], ["b"]])
def test_columns_stand_side_by_side_in_the_order_asked_for(make, names):
    found = matrix("model", Table.of(make(COLUMNS)), names, "float32")
    assert found.dtype == np.float32
    assert found.flags.c_contiguous
    assert found.tolist() == [[float(COLUMNS[name][row]) for name in names] for row in range(3)]


def test_an_array_gives_its_own_columns():
    table = Table.of(np.arange(6.0).reshape(3, 2), names=["p", "q"])
    assert matrix("model", table, ["q", "p"], "float64").tolist() == [[1, 0], [3, 2], [5, 4]]


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table, dict])
def test_what_is_missing_is_nan(make):
    found = matrix("model", Table.of(make({"a": [1, None, 3], "b": [0.5, 1.5, None]})), ["a", "b"], "float64")
    assert np.isnan(found).tolist() == [[False, False], [True, False], [False, True]]


@pytest.mark.parametrize("make", KINDS)
def test_a_number_that_does_not_fit_is_named_with_its_column(make):
    table = Table.of(make({"a": [1.0, 2.0], "b": [1.0, 1e300]}))
    with raises(ModelError, "b", 300, "float32"):
        matrix("model", table, ["a", "b"], "float32")
    assert np.isinf(matrix("model", Table.of(make({"a": [np.inf]})), ["a"], "float32")).all()


@pytest.mark.parametrize(
    ("values", "dtype", "message"),
    [
        (np.array(["F", "M"], object), "float32", "takes numbers in column 'x', but row 0 of the batch has 'F'"),
        (np.array([1.5, 2.0]), "int64", r"whole numbers that fit into int64 in column 'x', but row 0 .* has 1.5"),
        (np.array([1.0, np.nan]), "int64", "row 1 of the batch has None"),
        (np.array([300, 1]), "int8", "fit into int8 .* has 300"),
        (np.array([2, 1]), "bool", "truth values, or 0 and 1, .*|truth values, or 0 and 1 in column 'x'"),
        (np.array([1, 2]), "object", "takes text in column 'x', but the column is int64"),
        (np.array(["F", None], object), "object", "text and not missing in column 'x', but row 1"),
        (np.array(["2024-01-01"], "datetime64[us]"), "float64", "holds dates or times"),
    ],
)
def test_what_cannot_be_converted_is_refused_by_name(values, dtype, message):
    with pytest.raises(ModelError, match=message), np.errstate(invalid="ignore"):
        converted("model", "x", values, dtype)


def test_truth_values_with_some_missing_become_numbers():
    found = converted("model", "x", np.array([True, None, False], object), "float32")
    assert found[[0, 2]].tolist() == [1.0, 0.0]
    assert np.isnan(found[1])


def test_columns_are_chosen_by_name_or_by_number():
    table = Table.of(COLUMNS)
    assert columns_for("model", table, ["b"], 1) == ("b",)
    assert columns_for("model", table, None, 3) == ("a", "b", "c")
    assert columns_for("model", table, None, None) == ("a", "b", "c")
    with raises(ModelError, 2, 3, "a", "b", "c"):
        columns_for("model", table, None, 2)
    with raises(ModelError, "bb", meant="b"):
        columns_for("model", table, ["bb"], None)
    with raises(ModelError, 2, 1, "a"):
        columns_for("model", table, ["a"], 2)
