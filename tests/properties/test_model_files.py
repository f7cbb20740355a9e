"""Telling files apart never fails, and columns become matrices exactly."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isonomia.errors import ModelError
from isonomia.models.inputs import matrix
from isonomia.models.loader import Kind, kind_of
from isonomia.models.onnx import open_onnx
from isonomia.populations import Table

HEADS = [b"", b"\x80\x04", b"PK\x03\x04", b"\x08\x08:", b"tree\nversion=", b'{"learner":', b"#!/bin/sh", b"\x1f\x8b"]
NAMES = ["m", "m.onnx", "m.pkl", "m.joblib.gz", "m.pt", "m.json", "m.txt", "m.skops", "m.keras"]


@given(head=st.sampled_from(HEADS), tail=st.binary(max_size=200), name=st.sampled_from(NAMES))
def test_every_file_is_of_some_kind_or_of_none(tmp_path_factory, head, tail, name):
    path = tmp_path_factory.mktemp("file") / name
    path.write_bytes(head + tail)
    kind = kind_of(path)
    assert kind is None or isinstance(kind, Kind)
    if head == b"\x80\x04":
        assert kind is Kind.PICKLE


@given(st.binary(max_size=300))
def test_bytes_that_are_no_onnx_model_are_refused_with_the_error_for_that(content):
    pytest.importorskip("onnxruntime")
    with pytest.raises(ModelError, match="is not an ONNX model"):
        open_onnx(content)


@given(
    columns=st.integers(1, 4).flatmap(
        lambda width: st.integers(1, 6).flatmap(
            lambda rows: st.lists(
                st.one_of(
                    st.lists(st.integers(-(2**40), 2**40), min_size=rows, max_size=rows),
                    st.lists(st.floats(-1e30, 1e30), min_size=rows, max_size=rows),
                    st.lists(st.booleans(), min_size=rows, max_size=rows),
                ),
                min_size=width,
                max_size=width,
            )
        )
    ),
    dtype=st.sampled_from(["float32", "float64"]),
    seed=st.integers(0, 100),
)
def test_every_kind_of_table_gives_the_same_matrix(columns, dtype, seed):
    named = {f"c{place}": values for place, values in enumerate(columns)}
    order = np.random.default_rng(seed).permutation(list(named)).tolist()
    expected = np.column_stack([np.array(named[name], dtype=np.float64).astype(dtype) for name in order])
    for make in (pd.DataFrame, pl.DataFrame, pa.table, dict):
        np.testing.assert_array_equal(matrix("model", Table.of(make(named)), order, dtype), expected)
