from __future__ import annotations

import gzip
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import isonomia as iso
from isonomia.errors import DataError
from isonomia.populations import read_table
from isonomia.populations.fingerprint import table_fingerprint
from isonomia.populations.finite import rows_from
from raising import raises

CSV = """\
whole,number,gap,truth,maybe,text,code,words
1,0.5,3,true,True,a,NA,NA
2,1e3,,false,,"b, c",2,none
-3,2,NA,TRUE,False,,7.5,
"""


@pytest.fixture
def without(monkeypatch):
    def remove(*packages):
        for package in packages:
            monkeypatch.setitem(sys.modules, package, None)

    return remove


def write(folder, name, text):
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("absent", "kind"),
    [((), "pandas"), (("pandas",), "polars"), (("pandas", "polars"), "pyarrow")],
)
def test_a_csv_file_means_the_same_whatever_is_installed(tmp_path, without, absent, kind):
    without(*absent)
    table = read_table(write(tmp_path, "a.csv", CSV))
    assert table.kind == kind
    assert table.column("whole").tolist() == [1, 2, -3]
    assert table.column("number").tolist() == [0.5, 1000.0, 2.0]
    np.testing.assert_array_equal(table.column("gap"), [3.0, np.nan, np.nan])
    assert table.column("truth").dtype == bool
    assert table.column("truth").tolist() == [True, False, True]
    assert table.column("maybe").tolist() == [True, None, False]
    assert table.column("text").tolist() == ["a", "b, c", None]
    np.testing.assert_array_equal(table.column("code"), [np.nan, 2.0, 7.5])
    assert table.column("words").tolist() == ["NA", "none", None]


CODES = """\
postal,mixed,signed,spaced,gap,missing,real,half,time,zero,number
00123,1,+07, 01,,NA,0.5,01.5,08:30,0,-0.5
45678,02,8,2,007,010,0,2,9:00,0,0e3
01000,"03",-09,3,8,5,00.5,3,10:15,-0,+0
"""


@pytest.mark.parametrize("absent", [(), ("pandas",), ("pandas", "polars")])
@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_a_column_with_a_leading_zero_is_text_whatever_is_installed(tmp_path, without, absent, ending):
    without(*absent)
    file = write(tmp_path, "a.csv", CODES)
    if ending == ".csv.gz":
        file = tmp_path / "a.csv.gz"
        file.write_bytes(gzip.compress(CODES.encode()))
    table = read_table(file)
    assert table.column("postal").tolist() == ["00123", "45678", "01000"]
    assert table.column("mixed").tolist() == ["1", "02", "03"]
    assert table.column("signed").tolist() == ["+07", "8", "-09"]
    assert table.column("spaced").tolist() == [" 01", "2", "3"]
    assert table.column("gap").tolist() == [None, "007", "8"]
    assert table.column("missing").tolist() == ["NA", "010", "5"]
    assert table.column("real").tolist() == ["0.5", "0", "00.5"]
    assert table.column("half").tolist() == ["01.5", "2", "3"]
    assert table.column("zero").tolist() == [0, 0, 0]
    assert table.column("number").tolist() == [-0.5, 0.0, 0.0]


def test_a_leading_zero_is_seen_wherever_a_line_begins(tmp_path):
    for text in ("a,b\n1,2\n007,3\n", "a,b\r\n1,2\r\n007,3\r\n", "a,b\r1,2\r007,3\r", 'a,b\n1,2\n"007",3\n'):
        assert read_table(write(tmp_path, "a.csv", text)).column("a").tolist() == ["1", "007"]
    assert read_table(write(tmp_path, "a.tsv", "a\tb\n3\t1\n4\t007\n")).column("b").tolist() == ["1", "007"]


def test_separators_compression_and_a_mark_at_the_front_are_understood(tmp_path):
    plain = table_fingerprint(read_table(write(tmp_path, "a.csv", CSV)))
    with gzip.open(tmp_path / "b.csv.gz", "wt", encoding="utf-8-sig") as file:
        file.write(CSV)
    assert table_fingerprint(read_table(tmp_path / "b.csv.gz")) == plain
    frame = pl.DataFrame({"a": [1, 2], "b": ["x", None]})
    frame.write_csv(tmp_path / "c.tsv", separator="\t")
    assert read_table(str(tmp_path / "c.tsv")).column("b").tolist() == ["x", None]


@pytest.mark.parametrize("ending", ["parquet", "feather", "arrow", "jsonl", "ndjson", "json"])
@pytest.mark.parametrize(("absent", "kind"), [((), "pandas"), (("pandas",), "polars")])
def test_other_endings_are_read(tmp_path, without, ending, absent, kind):
    frame = pl.DataFrame({"a": [1, 2], "b": ["x", None], "c": [0.5, None]})
    file = tmp_path / f"people.{ending}"
    match ending:
        case "parquet":
            frame.write_parquet(file)
        case "feather" | "arrow":
            frame.write_ipc(file)
        case "json":
            frame.write_json(file)
        case _:
            frame.write_ndjson(file)
    without(*absent)
    table = read_table(file)
    assert table.kind == kind
    assert table.column("a").tolist() == [1, 2]
    assert table.column("b").tolist() == ["x", None]
    np.testing.assert_array_equal(table.column("c"), [0.5, np.nan])


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_pyarrow_alone_reads_columnar_files(tmp_path, without, ending):
    frame = pd.DataFrame({"a": [1, 2]})
    getattr(frame, f"to_{ending}")(tmp_path / f"a.{ending}")
    without("pandas", "polars")
    assert read_table(tmp_path / f"a.{ending}").kind == "pyarrow"


def test_json_may_be_a_mapping_of_columns(tmp_path):
    pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}).to_json(tmp_path / "a.json")
    assert read_table(tmp_path / "a.json").column("b").tolist() == ["x", "y"]
    assert read_table(write(tmp_path, "b.json", '{"a": [1, 2]}')).column("a").tolist() == [1, 2]


@pytest.mark.parametrize(
    ("name", "text", "named", "shown"),
    [
        ("a.csv", "", "a.csv", ["bytes"]),
        ("a.csv", "\n", "a.csv", ["line"]),
        ("a.csv", "a,b\n", "a.csv", [("a", "b")]),
        ("a.csv", "a,a\n1,2\n", "a.csv", ["a", 1]),
        ("a.csv", "a,\n1,2\n", "a.csv", [2]),
        ("a.csv", "a,b\n1,2,3\n", "a.csv", [3, 2]),
        ("a.json", "{", "a.json", ["JSONDecodeError"]),
        ("a.jsonl", "3\n", "a.jsonl", [1, "object"]),
        ("a.json", "[]", "a.json", ["rows"]),
        ("a.parquet", "nonsense", "a.parquet", [".parquet", "ArrowInvalid"]),
        ("a.xlsx", "x", "a.xlsx", [(".csv", ".tsv")]),
        ("a.parquet.gz", "x", "a.parquet.gz", [(".csv", ".tsv")]),
        ("people", "x", "people", [(".csv", ".tsv")]),
    ],
)
def test_a_bad_file_is_refused_by_name(tmp_path, name, text, named, shown):
    with raises(DataError, *shown, name=named):
        read_table(write(tmp_path, name, text))


def test_a_row_with_too_many_or_too_few_cells_is_refused(tmp_path):
    with raises(DataError, 3, 2, name="a.csv", line=3):
        read_table(write(tmp_path, "a.csv", "a,b\n1,2\n1,2,3\n"))
    with raises(DataError, "b.csv", 3, 1, 2):
        read_table(write(tmp_path, "b.csv", "a,b\n1,x\n2\n"))


def test_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a,b\n\xff\xfe,1\n")
    with raises(DataError, "a.csv", 2, cause=UnicodeDecodeError):
        read_table(tmp_path / "a.csv")


def test_a_missing_file_is_named_with_the_nearest_one(tmp_path):
    write(tmp_path, "applicants.csv", CSV)
    with raises(DataError, "aplicants.csv", meant="applicants.csv"):
        read_table(tmp_path / "aplicants.csv")
    with raises(DataError, "applicants.data", meant="applicants.csv"):
        read_table(tmp_path / "applicants.data")  # whatever it ends in
    with raises(DataError, f"{tmp_path}/none", name="a.csv"):
        read_table(tmp_path / "none" / "a.csv")
    (tmp_path / "folder.csv").mkdir()
    with raises(DataError, (".parquet", ".arrow", ".feather", ".csv"), f"{tmp_path}/folder.csv"):
        read_table(tmp_path / "folder.csv")


def test_a_path_and_a_table_are_both_welcome(tmp_path):
    assert rows_from(write(tmp_path, "a.csv", CSV)).rows == 3
    assert rows_from({"a": [1]}).rows == 1


def test_underscores_and_long_digits_stay_text(tmp_path, without):
    without("pandas", "polars")
    table = read_table(write(tmp_path, "a.csv", "a,b\n1_000,123456789012345678901234\n2,1\n"))
    assert table.column("a").tolist() == ["1_000", "2"]
    assert table.column("b").dtype.kind == "f"


LARGE = "id,x\n9007199254740993,1\n,2\n9007199254740995,3\n"


@pytest.mark.parametrize("absent", [(), ("pandas",)])
def test_large_whole_numbers_with_gaps_are_read_exactly(tmp_path, without, absent):
    without(*absent)
    table = read_table(write(tmp_path, "a.csv", LARGE))
    assert table.column("id").tolist() == [2**53 + 1, None, 2**53 + 3]
    assert table.column("x").tolist() == [1, 2, 3]


@pytest.mark.parametrize("ending", ["parquet", "arrow", "jsonl"])
def test_large_whole_numbers_with_gaps_are_stored_exactly(tmp_path, ending):
    frame = pl.DataFrame({"id": [2**53 + 1, None, 2**63 - 1], "n": [1, None, 2]})
    file = tmp_path / f"a.{ending}"
    {"parquet": frame.write_parquet, "arrow": frame.write_ipc, "jsonl": frame.write_ndjson}[ending](file)
    table = read_table(file)
    assert table.column("id").tolist() == [2**53 + 1, None, 2**63 - 1]
    np.testing.assert_array_equal(table.column("n"), [1.0, np.nan, 2.0])


@pytest.mark.parametrize("absent", [(), ("pandas",), ("pandas", "polars")])
def test_a_row_with_too_many_cells_is_told_by_its_line(tmp_path, without, absent):
    without(*absent)
    text = 'a,b\n1,"two\nlines"\n3,4\n5,6,7\n'
    with raises(DataError, 5, 3, 2, "a.csv"):
        read_table(write(tmp_path, "a.csv", text))


@pytest.mark.parametrize("absent", [(), ("pandas",), ("pandas", "polars")])
@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_a_byte_that_is_no_text_is_told_by_its_line(tmp_path, without, absent, ending):
    without(*absent)
    content = "name,n\nAda,1\nGöran,2\n".encode("latin-1")
    file = tmp_path / f"a{ending}"
    file.write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    with raises(DataError, 2, 3, "latin-1", cause=UnicodeDecodeError):
        read_table(file)


def test_a_broken_line_of_json_is_told_by_its_number(tmp_path):
    with raises(DataError, "a.jsonl", 2, 7):
        read_table(write(tmp_path, "a.jsonl", '{"a": 1}\n{"a":\n'))


@pytest.mark.parametrize("absent", [(), ("pandas",)])
def test_row_labels_that_pandas_stored_are_no_column_unless_they_have_a_name(tmp_path, without, absent):
    pd.DataFrame({"a": [1, 2]}, index=[7, 9]).to_parquet(tmp_path / "a.parquet")
    pd.DataFrame({"a": [1, 2]}, index=pd.Index([7, 9], name="id")).to_parquet(tmp_path / "b.parquet")
    without(*absent)
    assert read_table(tmp_path / "a.parquet").names == ("a",)
    assert read_table(tmp_path / "b.parquet").names == ("a", "id")


def test_types_of_pandas_come_back_from_a_file(tmp_path):
    frame = pd.DataFrame({"n": pd.array([1, None], dtype="Int64"), "g": pd.Categorical(["a", "b"]), "t": ["x", None]})
    frame.to_parquet(tmp_path / "a.parquet")
    pd.testing.assert_frame_equal(read_table(tmp_path / "a.parquet").native, frame)


def test_two_columns_with_one_name_are_refused_in_a_file(tmp_path):
    parquet.write_table(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "a.parquet")
    with raises(DataError, "a.parquet", "a"):
        read_table(tmp_path / "a.parquet")


@pytest.mark.parametrize("stream", [True, False])
def test_an_arrow_file_whose_places_point_elsewhere_is_refused(tmp_path, stream):
    codes = pa.DictionaryArray.from_arrays(pa.array([0, 5], pa.int32()), pa.array(["x", "y"]), safe=False)
    table = pa.table({"sex": codes, "hired": [1, 0]})
    path = tmp_path / "people.arrow"
    with pa.OSFile(str(path), "wb") as sink:
        writer = pa.ipc.new_stream(sink, table.schema) if stream else pa.ipc.new_file(sink, table.schema)
        with writer:
            writer.write_table(table)
    with raises(DataError, "people.arrow", 0, 1, 5):
        iso.check("for g in sex: P[hired | sex == g] >= 0.1", population=iso.Census(path))


def test_a_small_parquet_file_with_rows_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("isonomia.populations.datasets._HARMLESS", 2**20)
    file = tmp_path / "same.parquet"
    parquet.write_table(pa.table({"a": np.zeros(1_000_000, dtype=np.int8)}), file, compression="zstd")
    with raises(DataError, "same.parquet", 1_000_000):
        read_table(file)
    parquet.write_table(pa.table({"a": np.random.default_rng(1).random(200_000)}), file)
    assert read_table(file).rows == 200_000
