"""Text files, held or read as they go: a column's type depends on all of its cells, wherever they are."""

from __future__ import annotations

import bz2
import gzip
import json
import pickle
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import isonomia as iso
from effort import effort
from isonomia.errors import DataError
from isonomia.populations import Table, read_table
from isonomia.populations.finite import rows_from
from isonomia.populations.streaming import LongTable
from raising import raises

ROWS = 3000
COLUMNS = {
    "id": list(range(ROWS)),
    "late": ["" if i % 7 else "true" for i in range(ROWS)],
    "zip": ["1000"] * (ROWS - 1) + ["01000"],
    "gap": ["" if i == ROWS - 1 else str(i) for i in range(ROWS)],
    "large": ["" if i == 5 else str(2**53 + i) for i in range(ROWS)],
    "hash": [str(2**63 + i) for i in range(ROWS)],
    "half": ["1"] * (ROWS - 1) + ["0.5"],
    "word": ["NA"] * (ROWS - 1) + ["x"],
    "quoted": ['"a,\nb"'] * ROWS,
    "empty": [""] * ROWS,
}
TEXT = "\n".join([",".join(COLUMNS), *(",".join(map(str, row)) for row in zip(*COLUMNS.values(), strict=True))]) + "\n"


@pytest.fixture
def small_blocks(monkeypatch):
    """Every file is read as it goes, in many blocks."""
    monkeypatch.setattr("isonomia.populations.files.HELD", 10)
    monkeypatch.setattr("isonomia.populations.files.HELD_COUNTED", 10)
    monkeypatch.setattr("isonomia.populations.lines.BLOCK", 2**12)


def check_values(table):
    assert table.column("id").tolist() == COLUMNS["id"]
    assert table.column("late").tolist() == [None if cell == "" else True for cell in COLUMNS["late"]]
    assert table.column("zip").tolist() == COLUMNS["zip"]
    assert table.column("gap").dtype == float
    assert table.column("large").tolist() == [None if i == 5 else 2**53 + i for i in range(ROWS)]
    assert table.column("hash").tolist() == [2**63 + i for i in range(ROWS)]
    assert table.column("half").tolist() == [1.0] * (ROWS - 1) + [0.5]
    assert table.column("word").tolist() == COLUMNS["word"]
    assert set(table.column("quoted")) == {"a,\nb"}
    assert np.isnan(table.column("empty")).all()


def test_a_held_file_has_the_types_of_all_its_cells(tmp_path):
    (tmp_path / "a.csv").write_text(TEXT)
    table = read_table(tmp_path / "a.csv")
    check_values(table)
    assert table.native.dtypes[["gap", "large", "late"]].astype(str).tolist() == ["float64", "Int64", "object"]


@pytest.mark.parametrize(
    ("absent", "kind"), [((), "pandas"), (("pandas",), "polars"), (("pandas", "polars"), "pyarrow")]
)
@pytest.mark.usefixtures("small_blocks")
def test_a_file_that_is_read_as_it_goes_is_the_same_table(tmp_path, monkeypatch, absent, kind):
    for package in absent:
        monkeypatch.setitem(sys.modules, package, None)
    (tmp_path / "a.csv").write_text(TEXT)
    rows = rows_from(tmp_path / "a.csv")
    assert isinstance(rows, LongTable)
    assert rows.rows == ROWS
    assert {part.kind for part in rows.batches(size=700)} == {kind}
    assert rows.values("zip") == ("01000", "1000")
    check_values(rows.table())
    held = read_table(tmp_path / "a.csv")
    assert iso.Census(rows).fingerprint() == iso.Census(held).fingerprint()


@pytest.mark.usefixtures("small_blocks")
def test_every_batch_of_a_long_file_has_the_types_of_the_whole(tmp_path):
    (tmp_path / "a.csv").write_text(TEXT)
    census = iso.Census(tmp_path / "a.csv")
    source = census.open(np.random.SeedSequence(0))
    for start in (0, 1400, 700, 2999):
        batch = source.batch(start, 70, np.random.default_rng(0)).native
        pd.testing.assert_series_equal(batch.dtypes, census.table.native.dtypes)


@pytest.mark.usefixtures("small_blocks")
def test_only_the_columns_that_are_wanted_are_given(tmp_path):
    (tmp_path / "a.csv").write_text(TEXT)
    parts = list(rows_from(tmp_path / "a.csv").batches(["zip", "id"], start=10))
    assert parts[0].names == ("zip", "id")
    assert parts[0].column("id")[0] == 10


def test_a_folder_of_text_files_is_one_table(tmp_path):
    for year, text in ((2020, "id,code\n1,7\n2,8\n"), (2021, "code,id\n007,3\n")):
        folder = tmp_path / f"year={year}" / "city=S%C3%A3o"
        folder.mkdir(parents=True)
        (folder / "a.csv").write_text(text)
    (tmp_path / "_notes.csv").write_text("x\n")
    census = iso.Census(tmp_path)
    assert census.names == ("id", "code", "year", "city")
    assert census.table.column("id").tolist() == [1, 2, 3]
    assert census.table.column("code").tolist() == ["7", "8", "007"]
    assert census.table.column("year").tolist() == [2020, 2020, 2021]
    assert census.values("city") == ("São",)
    assert census.values("year") == (2020, 2021)
    assert iso.check("P[id >= 2 | year == 2020] >= 0.5", population=census).holds


def test_text_files_survive_pickling(tmp_path):
    (tmp_path / "a.csv").write_text("id\n1\n2\n")
    census = pickle.loads(pickle.dumps(iso.Census(str(tmp_path / "*.csv"))))
    assert census.table.column("id").tolist() == [1, 2]


@pytest.mark.parametrize(
    ("name", "text", "named", "line", "shown"),
    [
        ("b.csv", "id\n1\n", "x", None, ["lacks"]),
        ("b.csv", "id,x\n1\n", "b.csv", 2, [1, 2]),
        ("b.tsv", "id\tx\n", None, None, [".csv", ".tsv"]),
    ],
)
def test_text_files_that_do_not_fit_are_named(tmp_path, name, text, named, line, shown):
    (tmp_path / "a.csv").write_text("id,x\n1,2\n")
    (tmp_path / name).write_text(text)
    with raises(DataError, *shown, name=named, line=line):
        iso.Census(tmp_path)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("ending", ["gz", "bz2", "zst"])
def test_compressed_text_is_read(tmp_path, ending):
    file = tmp_path / f"a.csv.{ending}"
    if ending == "zst":
        with pa.CompressedOutputStream(str(file), "zstd") as stream:
            stream.write(TEXT.encode())
    else:
        file.write_bytes({"gz": gzip, "bz2": bz2}[ending].compress(TEXT.encode()))
    check_values(read_table(file))
    check_values(rows_from(str(tmp_path / f"*.{ending}")).table())


def test_a_compressed_file_that_is_cut_short_is_refused(tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(TEXT.encode())[:-20])
    with raises(DataError, "a.csv", "a.csv.gz", cause=OSError):
        read_table(tmp_path / "a.csv.gz")
    with raises(DataError, ".csv.gz", "OSError", name="a.csv.gz"):
        read_table(tmp_path)


def objects():
    for i in range(1000):
        late = {"late": True} if i > 500 else {}
        large = None if i == 3 else 2**53 + i
        yield {"id": i, "day": "2024-01-02", "x": i if i < 900 else 0.5, **late, "large": large}


@pytest.mark.parametrize("long", [False, True])
def test_json_lines_mean_the_same_held_or_read_as_they_go(tmp_path, request, long):
    if long:
        request.getfixturevalue("small_blocks")
    (tmp_path / "a.jsonl").write_text("\n\n".join(map(json.dumps, objects())))
    rows = rows_from(tmp_path / "a.jsonl")
    assert isinstance(rows, LongTable if long else Table)
    table = rows.table() if isinstance(rows, LongTable) else rows
    assert table.names == ("id", "day", "x", "large", "late")
    assert table.column("day").tolist() == ["2024-01-02"] * 1000
    assert table.column("x").tolist() == [float(row["x"]) for row in objects()]
    assert table.column("late").tolist() == [row.get("late") for row in objects()]
    assert table.column("large").tolist() == [row["large"] for row in objects()]
    assert rows_from(str(tmp_path / "*.jsonl")).values("late") == (True,)
    held = read_table(tmp_path / "a.jsonl")
    assert iso.Census(rows).fingerprint() == iso.Census(held).fingerprint()


@pytest.mark.parametrize("long", [False, True])
def test_json_lines_of_mixed_kinds_are_refused_with_both_lines(tmp_path, request, long):
    if long:
        request.getfixturevalue("small_blocks")
    lines = [{"a": 1}] * 900 + [{"a": "x"}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    with raises(DataError, "a", "x", 1, 901):
        rows_from(tmp_path / "a.jsonl")


def test_bytes_of_json_lines_that_are_no_text_are_told_by_their_line(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b'{"a": "x"}\n{"a": "\xf6"}\n')
    with raises(DataError, "a.jsonl", 8, 2, cause=UnicodeDecodeError):
        read_table(tmp_path / "a.jsonl")


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["0x1F", "2"], ["0x1F", "2"]),
        (["+5", " 6 "], [5, 6]),
        (["-5", str(2**63)], [-5.0, 2.0**63]),
        (["inf", "-inf", "1"], [np.inf, -np.inf, 1.0]),
        (["1e3", ".5", "5."], [1000.0, 0.5, 5.0]),
        (["true", "NA"], ["true", "NA"]),
        (["NA", "null"], ["NA", "null"]),
        (["TRUE", "False"], [True, False]),
        (["2024-01-02", "2024-01-03"], ["2024-01-02", "2024-01-03"]),
        (["0.1", "0.30000000000000004"], [0.1, 0.1 + 0.2]),
    ],
)
def test_cells_have_the_first_type_that_all_of_them_fit(tmp_path, cells, expected):
    (tmp_path / "a.csv").write_text("\n".join(["x", *cells]) + "\n")
    assert read_table(tmp_path / "a.csv").column("x").tolist() == expected


def test_a_cell_may_be_longer_than_pythons_own_reader_takes(tmp_path):
    (tmp_path / "a.csv").write_text(f"x,y\n{'a' * 200_000},1\n")
    assert len(read_table(tmp_path / "a.csv").column("x")[0]) == 200_000


def test_a_header_without_rows_is_refused_with_its_columns(tmp_path):
    for text in ("a,b", "a,b\n"):
        (tmp_path / "a.csv").write_text(text)
        with raises(DataError, "a.csv", ("a", "b")):
            read_table(tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        (b'[{"a": "\xf6"}]', [9, 1, "0xf6"]),
        (b"[1, 2]", ["row", "object"]),
        (b'{"a": [1, 2], "b": [1]}', ["a", 2, "b", 1]),
        (b'[{"a": 1}, {"a": "x"}]', ["ArrowInvalid", "x"]),
    ],
)
def test_a_json_document_that_is_no_table_is_refused_by_name(tmp_path, content, shown):
    (tmp_path / "a.json").write_bytes(content)
    with raises(DataError, *shown, name="a.json"):
        read_table(tmp_path / "a.json")


def test_a_line_of_json_that_is_nested_too_deep_is_an_error_and_not_the_end_of_python(tmp_path):
    path = tmp_path / "people.jsonl"
    path.write_text('{"a": 1}\n{"a": ' + "[" * 100_000 + "]" * 100_000 + "}\n")
    with raises(DataError, "people.jsonl", "a"):
        read_table(path)
    texts = [":[" * 600, "[{" * 300 + "x"]
    path.write_text("".join(json.dumps({"a": text}) + "\n" for text in texts))
    assert read_table(path).column("a").tolist() == texts


def test_a_line_of_names_without_end_is_refused_at_once(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"a{i}" for i in range(200_000)) + "\n" + ",".join("1" * 200_000) + "\n")
    with effort() as spent, raises(DataError, "wide.csv", 20000, 200_000):
        read_table(path)
    assert spent.seconds < 2  # it took minutes
