from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import isonomia as iso
from isonomia.errors import DataError
from isonomia.populations import Table
from isonomia.populations.fingerprint import table_fingerprint
from isonomia.populations.frames import replaced_in_frame
from raising import raises

COLUMNS = {"age": [31, 45, 28], "sex": ["F", "M", None], "debt": [0.5, None, 2.0]}
MAKERS = {
    "pandas": lambda: pd.DataFrame(COLUMNS, index=[7, 7, 9]),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "pyarrow": lambda: pa.table(COLUMNS),
    "columns": lambda: {name: np.array(values, dtype=object) for name, values in COLUMNS.items()},
    "rows": lambda: [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)],
    "array": lambda: np.array(list(zip(*COLUMNS.values(), strict=True)), dtype=object),
}


@pytest.fixture(params=MAKERS)
def table(request):
    names = list(COLUMNS) if request.param == "array" else None
    made = Table.of(MAKERS[request.param](), names)
    assert made.kind == request.param
    return made


def test_every_kind_of_table_has_the_same_columns(table):
    assert (table.rows, table.names) == (3, ("age", "sex", "debt"))
    assert table.column("age").tolist() == [31, 45, 28]
    assert table.column("sex").tolist() == ["F", "M", None]
    np.testing.assert_array_equal(table.column("debt"), [0.5, np.nan, 2.0])


def test_every_kind_of_table_has_the_same_fingerprint(table):
    assert table_fingerprint(table) == table_fingerprint(Table.of(COLUMNS))


def test_take_gives_the_rows_in_the_order_asked_for(table):
    taken = table.take(np.array([2, 0], dtype=np.intp))
    assert taken.rows == 2
    assert taken.column("age").tolist() == [28, 31]
    assert taken.column("sex").tolist() == [None, "F"]
    assert type(taken.native) is type(table.native)


def test_slice_gives_a_stretch_and_leaves_out_what_lies_past_the_end(table):
    assert table.slice(1, 3).column("age").tolist() == [45, 28]
    assert table.slice(2, 9).column("age").tolist() == [28]
    assert table.slice(3, 9).rows == 0


def test_select_keeps_columns_in_the_order_asked_for(table):
    selected = table.select(["debt", "age"])
    assert selected.names == ("debt", "age")
    assert selected.rows == 3
    assert selected.column("age").tolist() == [31, 45, 28]


def test_a_row_is_plain_values(table):
    assert table.row(1) == {"age": 45, "sex": "M", "debt": None}


def test_a_table_survives_pickling(table):
    again = pickle.loads(pickle.dumps(table))
    assert again.column("sex").tolist() == ["F", "M", None]


def test_a_column_cannot_be_written_to(table):
    with pytest.raises(ValueError, match="read-only"):
        table.column("age")[0] = 1


def test_a_table_of_a_table_is_itself(table):
    assert Table.of(table) is table


def test_a_missing_column_is_named_with_the_nearest_one(table):
    with raises(DataError, name="agee", meant="age"):
        table.column("agee")
    with raises(DataError, name="agee"):
        table.select(["agee"])


@pytest.mark.parametrize("kind", ["pandas", "columns", "array", "rows"])
def test_writing_into_a_cut_leaves_the_table_alone(kind):
    table = Table.of(MAKERS[kind](), list(COLUMNS) if kind == "array" else None)
    for cut in (table.slice(0, 3), table.take(np.arange(3)), table.copy()):
        match kind:
            case "pandas":
                cut.native.loc[0, "age"] = 0
            case "columns":
                cut.native["age"][0] = 0
            case "array":
                cut.native[0, 0] = 0
            case _:
                cut.native[0]["age"] = 0
    assert table.column("age")[0] == 31


def test_a_cut_of_a_pandas_frame_is_numbered_anew():
    cut = Table.of(MAKERS["pandas"]()).take(np.array([2, 1], dtype=np.intp))
    assert cut.native.index.tolist() == [0, 1]


def test_a_lazy_frame_is_collected():
    assert isinstance(Table.of(pl.LazyFrame(COLUMNS)).native, pl.DataFrame)


def test_the_whole_table_is_handed_back_as_it_came():
    frame = pd.DataFrame(COLUMNS)
    assert Table.of(frame).native is frame


def test_an_array_without_names_has_numbered_ones():
    assert Table.of(np.zeros((2, 2))).names == ("x0", "x1")


def test_a_name_that_a_row_lacks_is_missing_there():
    table = Table.of([{"a": 1, "b": "x"}, {"a": 2}])
    assert table.column("b").tolist() == ["x", None]


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), ["unique", "a", 2]),
        (pa.table([[1], [2]], names=["a", "a"]), ["unique", "a", 2]),
        (pd.DataFrame([[1, 2]]), [0, "int"]),
        ({3: [1]}, [3, "int"]),
        ({}, ["columns", "one"]),
        (pl.DataFrame(), ["columns", "one"]),
        ({"a": []}, ["rows", ("a",)]),
        (pd.DataFrame({"a": []}), ["rows", ("a",)]),
        (np.zeros((0, 2)), ["rows", ("x0", "x1")]),
        ({"a": [1], "b": [1, 2]}, ["rows", "a", 1, "b", 2]),
        ({"a": 3}, ["a", "int", 3]),
        ({"a": "text"}, ["a", "str", "text"]),
        ({"a": np.zeros((2, 2))}, ["a", 2, (2, 2)]),
        (np.zeros(3), ["NumPy", "(3,)"]),
        ("people.csv", ["str", "people.csv"]),
        ([1, 2], ["list", (1, 2)]),
        (None, ["NoneType", "None"]),
        (pd.Series([1]), ["Series"]),
    ],
)
def test_what_is_no_table_is_refused_with_what_came(data, shown):
    with raises(DataError, *shown):
        Table.of(data)


def test_repeated_and_wrongly_counted_names_of_an_array_are_refused():
    with raises(DataError, name="a"):
        Table.of(np.zeros((1, 2)), ["a", "a"])
    with raises(DataError, 2, "a", name="names"):
        Table.of(np.zeros((1, 2)), ["a"])
    with raises(DataError, "dict", name="names"):
        Table.of({"a": [1]}, ["b"])


def test_a_table_holds_a_dict_of_arrays_without_a_data_frame_library():
    array = np.arange(3)
    assert Table.of({"a": array}).native["a"] is array


def _text_of_pyarrow(data: bytes, ends: list[int]) -> object:
    return pa.Array.from_buffers(
        pa.string(), len(ends) - 1, [None, pa.array(ends, pa.int32()).buffers()[1], pa.py_buffer(data)]
    )


@pytest.mark.parametrize("wrong", ["bytes", "ends", "categories"])
def test_an_invalid_table_of_pyarrow_is_refused_by_the_name_of_its_column(wrong):
    column = {
        "bytes": lambda: _text_of_pyarrow(b"\xff\xfe\xffde", [0, 2, 5]),
        "ends": lambda: _text_of_pyarrow(b"abcde", [0, 4, 2]),
        "categories": lambda: pa.DictionaryArray.from_arrays(pa.array([0, 7]), pa.array(["x", "y"]), safe=False),
    }[wrong]()
    with raises(DataError, 0, name="sex"):
        iso.check("P[sex == 'x'] >= 0.5", population=iso.Census(pa.table({"age": [1, 2], "sex": column})))


def test_replacing_numbers_in_pandas_takes_the_quick_way(monkeypatch) -> None:
    monkeypatch.setattr("narwhals.from_native", None)  # the slow way goes through it
    assert replaced_in_frame(pd.DataFrame({"x": [1, 2], "s": ["a", "b"]}), {"x": np.asarray([3, 4])})["x"].tolist() == [
        3,
        4,
    ]


@pytest.mark.parametrize("before", ["int8", "uint8", "int64", "float32", "float64"])
@pytest.mark.parametrize("values", [[0.0, 1.0, 2.0], [0.5, 1.0, 2.0], [0, 1, 300], [-1, 0, 1], [np.nan, 1.0, 2.0]])
def test_numbers_are_replaced_in_pandas_as_in_any_frame(before: str, values: list[float]) -> None:
    frame = pd.DataFrame({"x": np.zeros(3, dtype=before), "s": ["a", "b", "c"]}, index=[7, 5, 9])
    quick = replaced_in_frame(frame, {"x": np.asarray(values)})
    # A column of text beside it keeps the quick way from being taken.
    slow = replaced_in_frame(frame, {"x": np.asarray(values), "s": np.asarray(["a", "b", "c"], dtype=object)})
    pd.testing.assert_series_equal(quick["x"], slow["x"])
    assert quick.index.tolist() == [7, 5, 9]
    assert frame["x"].tolist() == [0, 0, 0]
