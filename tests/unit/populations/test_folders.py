from __future__ import annotations

import os
import sys
import time

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest

import isonomia as iso
from isonomia.errors import DataError
from isonomia.populations import read_table
from isonomia.populations.files import is_many, long_files
from raising import raises


def write(file, **columns):
    file.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table(columns), file)
    return file


def rate(event, population, model=None, **options):
    verdict = iso.check(f"P[{event}] >= 0", model, population, **options)
    return verdict.leaves[0].estimate


def test_folders_named_key_and_value_give_a_column(tmp_path):
    for year, rows in ((2020, [1, 2]), (2021, [3])):
        for city in ("Lund", "Oulu"):
            write(tmp_path / f"year={year}" / f"city={city}" / "a.parquet", id=rows)
    table = long_files(str(tmp_path))
    assert table.names == ("id", "year", "city")
    assert table.rows == 6
    assert table.values("city") == ("Lund", "Oulu")
    assert table.values("year") == (2020, 2021)
    whole = table.table()
    assert whole.column("year").tolist() == [2020] * 4 + [2021] * 2
    assert whole.column("city").tolist() == ["Lund", "Lund", "Oulu", "Oulu", "Lund", "Oulu"]
    assert rate("id >= 2 | year == 2020 and city == 'Lund'", iso.Census(tmp_path)) == 0.5


def test_only_the_folder_names_may_be_asked_about(tmp_path):
    for group in ("a", "b"):
        write(tmp_path / f"group={group}" / "x.parquet", id=list(range(3)))
    assert rate("group == 'a'", iso.Census(tmp_path)) == 0.5


def test_files_come_in_the_order_of_their_paths_and_hidden_ones_are_passed_over(tmp_path):
    write(tmp_path / "b.parquet", id=[3])
    write(tmp_path / "a" / "z.parquet", id=[1, 2])
    write(tmp_path / "_temporary" / "x.parquet", id=[9])
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / "notes.txt").write_text("hello")
    assert read_table(tmp_path).column("id").tolist() == [1, 2, 3]


def test_a_pattern_chooses_files(tmp_path):
    for number in range(3):
        write(tmp_path / f"part-{number}.parquet", id=[number])
    write(tmp_path / "other.parquet", something=[1])
    table = long_files(str(tmp_path / "part-*.parquet"))
    assert table.table().column("id").tolist() == [0, 1, 2]
    assert is_many(str(tmp_path / "*.parquet"))
    assert not is_many(str(tmp_path / "other.parquet"))


def test_a_file_whose_name_looks_like_a_pattern_is_a_file(tmp_path):
    file = write(tmp_path / "a[1].parquet", id=[7])
    assert read_table(file).column("id").tolist() == [7]


def test_types_with_room_for_each_other_are_one_type(tmp_path):
    write(tmp_path / "a.parquet", n=pa.array([1], pa.int32()), x=pa.array([0.5], pa.float32()), t=pa.array(["u"]))
    write(tmp_path / "b.parquet", n=pa.array([2**40]), x=pa.array([1e300]), t=pa.array(["v"], pa.large_string()))
    write(tmp_path / "c.parquet", n=pa.array([3]), x=pa.array([None], pa.float64()), t=pa.nulls(1))
    table = read_table(tmp_path)
    assert table.column("n").tolist() == [1, 2**40, 3]
    np.testing.assert_array_equal(table.column("x"), [0.5, 1e300, np.nan])
    assert table.column("t").tolist() == ["u", "v", None]


def test_categories_of_several_files_are_one_set_in_every_batch(tmp_path):
    for number, words in enumerate((["b", "a"], ["c", "a"])):
        write(tmp_path / f"{number}.parquet", g=pa.array(words).dictionary_encode())
    source = iso.Census(tmp_path).open(np.random.SeedSequence(0))
    batches = [source.batch(start, 2, np.random.default_rng(0)).native["g"] for start in (0, 2)]
    assert [batch.tolist() for batch in batches] == [["b", "a"], ["c", "a"]]
    assert [batch.cat.categories.tolist() for batch in batches] == [["b", "a", "c"]] * 2


@pytest.mark.parametrize(
    ("other", "name", "meant"),
    [
        ({"id": [1]}, "sex", None),
        ({"id": [1], "sexe": ["F"]}, "sex", "sexe"),
        ({"id": [1], "sex": ["F"], "age": [3]}, "age", None),
        ({"id": ["x"], "sex": ["F"]}, "id", None),
    ],
)
def test_files_that_differ_are_named_with_the_column(tmp_path, other, name, meant):
    write(tmp_path / "a.parquet", id=[1], sex=["F"])
    write(tmp_path / "b.parquet", **other)
    with raises(DataError, f"{tmp_path}/b.parquet", f"{tmp_path}/a.parquet", name=name, meant=meant):
        iso.Census(tmp_path)


@pytest.mark.parametrize("name", ["b.csv", "year=2021/b.TSV", "b.csv.gz", "b.jsonl", "b.ipc"])
@pytest.mark.parametrize("where", ["", "**"])
def test_rows_of_another_format_are_not_left_out_in_silence(tmp_path, name, where):
    write(tmp_path / "a.parquet", id=[1])
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("id\n2\n")
    with raises(DataError, ".parquet", f"{tmp_path}/*.parquet"):
        iso.Census(str(tmp_path / where))
    assert read_table(str(tmp_path / "*.parquet")).column("id").tolist() == [1]


def test_files_that_are_no_rows_may_be_beside_them(tmp_path):
    write(tmp_path / "a.parquet", id=[1])
    for name in ("dataset_info.json", "readme.md", "LICENSE", "_notes.csv", "a.parquet.crc"):
        (tmp_path / name).write_text("{}")
    assert read_table(tmp_path).column("id").tolist() == [1]


@pytest.mark.parametrize("name", ["a.parquet", "c.parquet"])
def test_a_damaged_file_is_named(tmp_path, name):
    for each in ("a", "b", "c"):
        write(tmp_path / f"{each}.parquet", id=list(range(1000)))
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(content[: len(content) // 2])
    with raises(DataError, name=name):
        iso.Census(tmp_path)


def test_a_damaged_page_is_told_when_it_is_reached(tmp_path):
    file = write(tmp_path / "a.parquet", id=np.random.default_rng(0).random(10_000))
    content = bytearray(file.read_bytes())
    content[4:40] = b"\xff" * 36  # the header of the first page
    file.write_bytes(bytes(content))
    with pytest.raises(DataError, match="the rows cannot be read"):
        iso.check("P[id < 0.5] >= 0.1", None, iso.Census(tmp_path))


def test_what_is_no_folder_of_tables_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"but it is empty"):
        iso.Census(tmp_path)
    with pytest.raises(DataError, match=r"but what the pattern fits is empty"):
        iso.Census(str(tmp_path / "*.parquet"))
    (tmp_path / "readme.md").write_text("hello")
    with raises(DataError, "readme.md"):
        iso.Census(tmp_path)
    write(tmp_path / "a.parquet", id=[1])
    feather.write_feather(pa.table({"id": [1]}), tmp_path / "b.arrow")
    with raises(DataError, ".arrow", ".parquet"):
        iso.Census(tmp_path)
    (tmp_path / "b.arrow").unlink()
    write(tmp_path / "a.parquet", id=pa.array([], pa.int64()))
    with pytest.raises(DataError, match=r"the table has no rows \(columns: 'id'\)"):
        iso.Census(tmp_path)


def test_nested_columns_are_refused_by_name_only_if_they_are_used(tmp_path):
    write(tmp_path / "a.parquet", id=[1, 2], tags=[["x"], ["y", "z"]], place=[{"lat": 1.0}, {"lat": 2.0}])
    census = iso.Census(tmp_path)
    assert rate("id == 1", census) == 0.5
    assert rate("prediction == 2", census, lambda batch: [len(tags) for tags in batch["tags"]]) == 0.5
    with raises(DataError, "tags", "x"):
        iso.check("P[tags == 'x'] >= 0.5", None, census)


def test_columns_that_neither_property_nor_model_reads_are_not_read(tmp_path):
    write(tmp_path / "a.parquet", id=[1, 2], sex=["F", "M"], unread=["x", "y"], text=["u", "v"])
    seen = []

    def model(batch):
        seen.append(list(batch.columns))
        return batch["id"] > 1

    assert rate("prediction | sex == 'F'", iso.Census(tmp_path), model) == 0
    assert rate("prediction | sex == 'F'", iso.Census(tmp_path), model, features=["id"]) == 0
    assert seen[0] == ["id", "sex", "unread", "text"]
    assert seen[-1] == ["id"]


def test_without_pandas_the_folder_is_given_as_polars(tmp_path, monkeypatch):
    write(tmp_path / "year=2020" / "a.parquet", id=[1, 2])
    write(tmp_path / "year=2021" / "b.parquet", id=[3])
    monkeypatch.setitem(sys.modules, "pandas", None)
    census = iso.Census(tmp_path)
    assert census.rows.kind == "polars"
    assert isinstance(census.table.native, pl.DataFrame)
    assert rate("id <= 2 | year == 2020", census) == 1


def test_a_stream_inside_a_folder_is_named(tmp_path):
    with pa.ipc.new_stream(tmp_path / "a.arrow", pa.schema([("id", pa.int64())])) as writer:
        writer.write_table(pa.table({"id": [1]}))
    with raises(DataError, ".arrow", name="a.arrow"):
        iso.Census(tmp_path)
    assert read_table(tmp_path / "a.arrow").column("id").tolist() == [1]


def test_the_fingerprint_is_kept_until_a_file_changes(tmp_path):
    file = write(tmp_path / "a.parquet", id=[1, 2])
    census = iso.Census(tmp_path)
    before = census.fingerprint()
    assert census.fingerprint() == before
    write(file, id=[1, 3])
    os.utime(file, ns=(1, 1))
    assert census.fingerprint() == iso.Census({"id": [1, 3]}).fingerprint() != before


def test_a_folder_that_changes_while_it_is_open_is_noticed(tmp_path):
    file = write(tmp_path / "a.parquet", id=[1, 2])
    census = iso.Census(tmp_path)
    write(file, id=[1, 2, 3])
    with raises(DataError, 2, 3):
        census.fingerprint()


def test_nothing_is_decoded_before_it_is_wanted(tmp_path):
    rng = np.random.default_rng(0)
    whole = write(tmp_path / "a.parquet", x=rng.random(2_000_000), y=rng.random(2_000_000)).stat().st_size
    before = pa.total_allocated_bytes()
    batches = long_files(str(tmp_path)).batches(plain=True)
    next(batches)
    time.sleep(0.2)  # a slow model; pyarrow's scanner would have read on meanwhile
    assert pa.total_allocated_bytes() - before < 12e6 < whole / 2


NOWHERE = [("", "path"), ("  ", "path"), ("https://x.org/a.csv", "https://x.org/a.csv")]


@pytest.mark.parametrize(("path", "name"), NOWHERE)
def test_a_path_that_names_nothing_is_refused(path, name):
    with raises(DataError, name=name):
        iso.Census(path)
