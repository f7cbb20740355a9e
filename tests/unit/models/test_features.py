from __future__ import annotations

import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from isonomia.errors import ModelError
from isonomia.models.inputs import choose_features, fitted_names, input_for, quiet_about_names
from isonomia.populations import Table
from raising import raises

TABLE = Table.of({"age": [20, 40], "sex": ["F", "M"], "debt": [1.0, 2.0]})
NAMED = SimpleNamespace(feature_names_in_=np.array(["debt", "age"]), n_features_in_=2)
UNNAMED = SimpleNamespace(n_features_in_=3)


def test_an_estimator_gets_the_columns_it_was_fitted_with_in_its_order():
    assert choose_features(NAMED, TABLE, None).names == ("debt", "age")


def test_named_features_come_before_fitted_ones():
    assert choose_features(NAMED, TABLE, ("age", "debt")).names == ("age", "debt")


def test_without_names_the_number_of_columns_must_be_right():
    assert choose_features(UNNAMED, TABLE, None) is TABLE
    with raises(ModelError, 2, 3, ("age", "sex", "debt")):
        choose_features(SimpleNamespace(n_features_in_=2), TABLE, None)


def test_a_missing_column_is_named_with_the_nearest_one():
    estimator = SimpleNamespace(feature_names_in_=np.array(["dept", "age"]))
    with raises(ModelError, "dept", meant="debt"):
        choose_features(estimator, TABLE, None)


def test_names_that_a_library_made_up_count_as_none():
    assert fitted_names(SimpleNamespace(feature_names_in_=["Column_0", "Column_1"])) is None


@pytest.mark.parametrize("make", [dict, pa.table, lambda columns: pa.table(columns).to_pylist()])
def test_other_tables_become_pandas_frames_for_an_estimator_fitted_with_names(make):
    given = input_for(NAMED, Table.of(make({"a": [1], "b": [0.5]})))
    assert isinstance(given, pd.DataFrame)
    assert given["b"].tolist() == [0.5]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_pandas_and_polars_frames_are_given_as_they_are_to_one_fitted_with_names(make):
    frame = make({"a": [1], "b": [0.5]})
    assert input_for(NAMED, Table.of(frame)) is frame


@pytest.mark.parametrize("make", [dict, pa.table, pd.DataFrame, pl.DataFrame])
def test_an_estimator_fitted_without_names_gets_an_array(make):
    given = input_for(UNNAMED, Table.of(make({"a": [1, 2], "b": [0.5, 1.5]})))
    assert given.dtype == np.float64
    assert given.tolist() == [[1.0, 0.5], [2.0, 1.5]]


def test_text_columns_are_stacked_as_objects():
    assert input_for(UNNAMED, TABLE).tolist() == [[20, "F", 1.0], [40, "M", 2.0]]


def test_without_pandas_an_array_is_given_and_the_warning_about_names_is_silenced(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    given = input_for(NAMED, Table.of({"a": [1], "b": [0.5]}))
    assert isinstance(given, np.ndarray)
    with quiet_about_names(given):
        warnings.warn("X does not have valid feature names, but X was fitted with them", UserWarning, stacklevel=1)
    with pytest.warns(UserWarning, match="other"), quiet_about_names(given):
        warnings.warn("other", UserWarning, stacklevel=1)
