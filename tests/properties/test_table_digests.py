"""The hash of a table does not depend on where it is cut, nor on who holds it; and it depends on everything else."""

from __future__ import annotations

import datetime as dt
from itertools import pairwise

import polars as pl
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from isonomia.populations import Table
from isonomia.populations.fingerprint import TableDigest

WHOLE = st.integers(-(2**63), 2**63 - 1)
SMALL = st.integers(-5, 5)
NUMBER = st.floats(allow_nan=False)
MOMENT = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1))
TEXT = st.text(max_size=4)
ONE = [(pl.Int64, WHOLE), (pl.Int64, SMALL), (pl.Float64, NUMBER), (pl.Boolean, st.booleans()), (pl.String, TEXT)]
KINDS = [*ONE, (pl.Datetime("us"), MOMENT)]


@st.composite
def columns(draw):
    kind, values = draw(st.sampled_from(KINDS))
    with_gaps = st.one_of(st.none(), values) if draw(st.booleans()) else values
    return pl.Series("c", draw(st.lists(with_gaps, min_size=1, max_size=12)), dtype=kind)


def digest(frame, cuts=(), form=lambda part: part):
    found = TableDigest(frame.columns)
    edges = [0, *sorted(cuts), len(frame)]
    for start, stop in pairwise(edges):
        if stop > start:
            found.add(Table.of(form(frame[start:stop])))
    return found.value()


@settings(deadline=None)
@given(columns(), st.lists(st.integers(0, 12), max_size=4))
def test_cuts_leave_no_trace(series, cuts):
    frame = series.to_frame()
    inside = [min(cut, len(frame)) for cut in cuts]
    whole = digest(frame)
    assert digest(frame, inside) == whole
    assert digest(frame, inside, pl.DataFrame.to_arrow) == whole
    assert digest(frame, inside, lambda part: part.to_arrow().cast(_large(part))) == whole


@settings(deadline=None)
@given(columns(), columns())
def test_other_values_have_another_hash(one, other):
    same = one.dtype == other.dtype and one.equals(other, null_equal=True)
    empty = len(one) == len(other) and one.is_null().all() and other.is_null().all()
    if same or empty:
        assert digest(one.to_frame()) == digest(other.to_frame())
    elif one.dtype == other.dtype:
        assert digest(one.to_frame()) != digest(other.to_frame())


def _large(part):
    schema = part.to_arrow().schema
    wide = [pa.large_string() if pa.types.is_string(field.type) else field.type for field in schema]
    return pa.schema(list(zip(schema.names, wide, strict=True)))


def test_empty_text_is_not_missing_and_parts_of_text_do_not_run_together():
    frames = [pl.DataFrame({"c": values}) for values in (["", None], [None, ""], ["ab", "c"], ["a", "bc"], ["abc", ""])]
    assert len({digest(frame) for frame in frames}) == len(frames)


def test_a_truth_value_is_not_its_word():
    assert digest(pl.DataFrame({"c": [True, None]})) != digest(pl.DataFrame({"c": ["T", None]}))
