from __future__ import annotations

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest

import isonomia as iso
from isonomia.errors import DataError, SpecError
from isonomia.populations import Table
from isonomia.populations.files import HELD_COUNTED
from isonomia.populations.finite import rows_from
from isonomia.populations.streaming import LongTable, database, free_memory, long_lazy, long_relation, refuse_more_than
from raising import raises

ROWS = 150_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("people")
    rng = np.random.default_rng(0)
    for number in range(3):
        people = {
            "id": np.arange(50_000) + 50_000 * number,
            "a": rng.integers(0, 2, 50_000),
            "y": rng.integers(0, 2, 50_000),
            "x": rng.random(50_000),
            "city": np.array(["Lund", "Oulu"])[rng.integers(0, 2, 50_000)],
        }
        parquet.write_table(pa.table(people), made / f"{number}.parquet", row_group_size=7_000)
    return made


def test_an_exact_census_of_a_folder_never_holds_more_than_a_batch(folder):
    sizes = []

    def model(batch):
        sizes.append(len(batch))
        return batch["x"] < 0.5

    verdict = iso.check("for c in city: P[prediction | city == c] >= 0.4", model, iso.Census(folder))
    assert verdict.holds
    assert verdict.method == "exact"
    assert verdict.samples == ROWS
    assert max(sizes) == 2**16


def test_progress_is_told_batch_by_batch(folder):
    seen = []

    class Watcher:
        def begin(self, text): ...
        def advance(self, progress):
            seen.append((progress.samples, progress.most))

        def end(self): ...

    iso.check("P[prediction] >= 0.4", lambda batch: batch["x"] < 0.5, iso.Census(folder), observer=Watcher())
    assert seen == [(65_536, ROWS), (131_072, ROWS), (ROWS, ROWS)]


@pytest.mark.parametrize("exact", [True, False])
def test_principal_fairness_is_counted_as_it_is_in_memory(folder, exact):
    prop = iso.PrincipalFairness(attribute="a", outcome="y", given=["city"], values={"prediction": [0, 1]})
    held = iso.Census(pl.read_parquet(folder / "*.parquet").to_pandas(), exact=exact)
    read = iso.Census(folder, exact=exact)

    def model(batch):
        return (batch["x"] < 0.5).astype(int)

    one, other = (iso.check(prop, model, each, seed=1, budget=1_000) for each in (held, read))
    assert (one.answer, one.samples, one.expressions) == (other.answer, other.samples, other.expressions)
    assert one.population == other.population


def test_principal_fairness_of_a_sample_in_order_knows_every_subgroup(tmp_path):
    late = {"a": [0, 1] * 40_000, "y": [0, 1, 1, 0] * 20_000, "g": ["u"] * 70_000 + ["v"] * 10_000}
    people = {**late, "prediction": [1, 0, 1, 0] * 20_000}
    parquet.write_table(pa.table(people), tmp_path / "a.parquet")
    prop = iso.PrincipalFairness(attribute="a", outcome="y", given=["g"])
    one, other = (
        iso.check(prop, None, iso.Sample(data, order="file"), seed=1, budget=1_000) for data in (people, tmp_path)
    )
    assert one.details["subgroups"] == other.details["subgroups"]


def test_pairs_are_counted_over_a_folder(tmp_path):
    parquet.write_table(pa.table({"x": [1, 2, 3]}), tmp_path / "a.parquet")
    parquet.write_table(pa.table({"x": [4]}), tmp_path / "b.parquet")
    text = "P[x < other.x] >= 0.3"
    assert (
        iso.check(text, None, iso.Census(tmp_path)).leaves
        == iso.check(text, None, iso.Census({"x": [1, 2, 3, 4]})).leaves
    )


def test_a_sample_in_order_reads_only_as_far_as_it_goes(folder):
    asked = []

    def model(batch):
        asked.append(batch["id"].max())
        return batch["x"] < 0.5

    verdict = iso.check("P[prediction] >= 0.2", model, iso.Sample(folder, order="file"))
    assert verdict.holds
    assert max(asked) == verdict.samples - 1 < 1_000


def test_what_does_not_fit_is_refused_with_what_can_be_done(folder):
    table = rows_from(folder)
    assert isinstance(table, LongTable)
    with raises(DataError, 150_000, 0.0):
        table.table(free=1e6)
    assert table.table(free=1e8).rows == ROWS
    assert table.table(free=1e8) is table.table(free=1e8)


def test_free_memory_is_a_sensible_number():
    assert free_memory() > 1e6
    refuse_more_than(10.0, 1, 5.0)
    with pytest.raises(DataError):
        refuse_more_than(10.0, 1, 5.1)


def test_other_audits_read_the_whole_table(folder):
    assert isinstance(iso.Census(folder).table, Table)
    assert isinstance(iso.Sample(folder).table, Table)
    assert isinstance(iso.Census(folder, exact=False).rows, Table)


def test_a_single_file_is_held_unless_it_is_large(folder, monkeypatch):
    file = folder / "0.parquet"
    assert file.stat().st_size < HELD_COUNTED
    assert isinstance(rows_from(file), Table)
    monkeypatch.setattr("isonomia.populations.files.HELD_COUNTED", 1000)
    large = rows_from(file)
    assert isinstance(large, LongTable)
    assert large.kind == rows_from(folder).kind == "pandas"


@pytest.mark.parametrize(
    "query",
    [
        lambda folder: pl.scan_parquet(folder / "*.parquet").with_columns(z=pl.col("x") * 2),
        lambda folder: duckdb.sql(f"SELECT *, 2 * x AS z FROM '{folder}/*.parquet'"),
        lambda folder: ds.dataset(folder).filter(ds.field("x") < 0.25),
    ],
)
def test_a_lazy_query_is_read_batch_by_batch(folder, query):
    census = iso.Census(query(folder))
    assert isinstance(census.rows, LongTable)
    batches = list(census.rows.batches(["id"], size=40_000))
    assert sum(batch.rows for batch in batches) == census.size
    assert {batch.rows for batch in batches[:-1]} <= {40_000}
    names = "z" if "z" in census.names else "x"
    assert iso.check(f"P[{names} < 0.5] >= 0.1", None, census).holds


def test_columns_with_odd_names_are_read_from_a_relation():
    table = pa.table({'a "b"': [1, 2], "c d": ["x", "y"], "*": [3, 4], "a.b": [5, 6], "select": [True, False]})
    census = iso.Census(duckdb.from_arrow(table))
    assert census.names == ('a "b"', "c d", "*", "a.b", "select")
    for name in table.column_names:
        assert census.values(name) == tuple(sorted(table[name].to_pylist()))
    assert census.fingerprint() == iso.Census(table).fingerprint()


def test_a_lazy_query_that_fails_is_told_as_one():
    broken = pl.LazyFrame({"a": ["1", "x"]}).with_columns(pl.col("a").cast(pl.Int64))
    with raises(DataError, "lazy", cause=pl.exceptions.InvalidOperationError):
        iso.check("P[a > 0] >= 0.5", None, iso.Census(broken))
    with raises(DataError, "b", meant="a"):
        long_lazy(pl.LazyFrame({"a": [1]}).select("b"))
    with raises(DataError, "x", "1"):
        iso.check(
            "P[a > 0] >= 0.5",
            None,
            iso.Census(duckdb.sql("SELECT CAST(v AS INT) AS a FROM (VALUES ('1'), ('x')) t(v)")),
        )
    with raises(DataError, "lazy", "InvalidOperationError", "a"):
        Table.of(broken)
    with raises(DataError, ("a",), "rows"):
        long_relation(duckdb.sql("SELECT 1 AS a WHERE false"))


def test_an_unknown_column_is_refused_with_the_nearest_one(folder):
    with raises(DataError, name="citty", meant="city"):
        iso.Census(folder).values("citty")


def test_an_order_declared_in_a_file_is_respected(tmp_path):
    grades = pa.array(["low", "high"]).dictionary_encode()
    ordered = pa.DictionaryArray.from_arrays(grades.indices, grades.dictionary, ordered=True)
    parquet.write_table(pa.table({"grade": ordered}), tmp_path / "a.parquet")
    census = iso.Census(tmp_path)
    assert census.order("grade") == ("low", "high")
    with raises(iso.SpecError, "grade", at="grade < 'low'"):
        iso.check("P[grade < 'low'] >= 0.5", None, census)


@pytest.mark.parametrize(
    ("make", "order"),
    [
        (lambda: pl.LazyFrame({"g": ["a", "b"]}, schema={"g": pl.Enum(["b", "a"])}), ("b", "a")),
        (lambda: pl.LazyFrame({"g": ["a", "b"]}, schema={"g": pl.Categorical}), ()),
        (lambda: pl.LazyFrame({"g": ["a", "b"]}), ()),
        (lambda: duckdb.sql("SELECT 'a'::ENUM('b', 'a') AS g"), ("b", "a")),
        (lambda: duckdb.sql("SELECT 'a' AS g"), ()),
    ],
)
def test_an_order_declared_in_a_query_is_known(make, order):
    assert iso.Census(make()).order("g") == order
    assert iso.Census(make()).order("h") == ()


def test_a_file_that_is_gone_is_told(tmp_path):
    parquet.write_table(pa.table({"x": [1]}), tmp_path / "a.parquet")
    census = iso.Census(tmp_path)
    (tmp_path / "a.parquet").unlink()
    with raises(DataError, "a.parquet", cause=FileNotFoundError):
        census.fingerprint()


# ---------------------------------------------------------------------------- lazy frames


def write_folder(base, kind):
    base.mkdir()
    write = {"parquet": parquet.write_table, "feather": feather.write_feather}[kind]
    write(
        pa.table({"n": pa.array([1, 2], pa.int32()), "s": pa.array(["x", None]).dictionary_encode()}),
        base / f"a.{kind}",
    )
    write(pa.table({"s": pa.array(["y"]).dictionary_encode(), "n": pa.array([2**40])}), base / f"b.{kind}")
    return base


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_the_lazy_frame_of_files_has_their_common_types(tmp_path, kind):
    frame = rows_from(write_folder(tmp_path / "people", kind)).frame()
    assert frame.collect_schema() == {"n": nw.Int64, "s": nw.String}
    assert frame.collect().rows() == [(1, "x"), (2, None), (2**40, "y")]


@pytest.mark.parametrize("base", ["year=2020/people", "odd [1] *", "it's"])
def test_the_lazy_frame_has_the_columns_of_folders_below_the_path_only(tmp_path, base):
    for city, value in (("Lund", 1.5), ("Ou%20lu", 2.5)):
        (tmp_path / base / f"city={city}").mkdir(parents=True)
        parquet.write_table(pa.table({"x": [value]}), tmp_path / base / f"city={city}" / "part.parquet")
    frame = rows_from(tmp_path / base).frame()
    assert sorted(frame.collect().rows()) == [(1.5, "Lund"), (2.5, "Ou lu")]


@pytest.mark.parametrize(
    "values",
    [pa.array([None, None]), pa.array([1, None], pa.duration("s")), pa.array([1, None], pa.date64())],
    ids=["nothing", "duration", "date"],
)
def test_the_lazy_frame_of_a_file_has_columns_of_every_type(tmp_path, values):
    (tmp_path / "people").mkdir()
    parquet.write_table(pa.table({"x": values, '"odd" *': [1, 2]}), tmp_path / "people" / "a.parquet")
    long = rows_from(tmp_path / "people")
    assert long.frame().columns == list(long.names) == ["x", '"odd" *']
    assert [row[0] is None for row in long.frame().collect().rows()] == [value is None for value in values.to_pylist()]


def test_text_files_give_a_lazy_frame_that_can_be_read_twice(tmp_path):
    for number in range(2):
        (tmp_path / f"{number}.csv").write_text(f"id,code\n{number},0{number}\n")
    frame = rows_from(tmp_path).frame()
    assert frame.collect().rows() == frame.collect().rows() == [(0, "00"), (1, "01")]


@pytest.mark.parametrize(
    "query",
    [
        lambda folder: pl.scan_parquet(folder / "*.parquet"),
        lambda folder: duckdb.sql(f"FROM '{folder}/*.parquet'"),
        lambda folder: ds.dataset(folder).filter(ds.field("x") >= 0),
        lambda folder: folder,
    ],
)
def test_the_lazy_frame_of_a_query_is_the_query(folder, query):
    frame = rows_from(query(folder)).frame()
    assert frame.select(nw.len(), nw.col("id").sum().alias("sum")).collect().rows() == [(ROWS, ROWS * (ROWS - 1) // 2)]


@pytest.mark.parametrize("condition", ["id == 'a'", "x == 'a'", "id == -1"])
def test_a_condition_that_nobody_can_meet_is_refused_before_the_model_is_asked(folder, condition):
    with pytest.raises(SpecError):
        iso.check(f"P[prediction == 1 | {condition}] >= 0.5", lambda _: pytest.fail("asked"), iso.Census(folder))


def test_our_connections_neither_load_extensions_nor_draw_on_the_screen(monkeypatch):
    monkeypatch.delattr("__main__.__file__", raising=False)  # in a notebook, DuckDB draws its progress
    names = ("autoinstall_known_extensions", "autoload_known_extensions", "enable_progress_bar")
    settings = ", ".join(f"current_setting('{name}')" for name in names)
    assert database().sql(f"SELECT {settings}").fetchall() == [(False, False, False)]
