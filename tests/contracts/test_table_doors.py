"""The same people through every door: the same rows, fingerprint, samples, interval and verdict."""

from __future__ import annotations

import datetime as dt
import pickle
from decimal import Decimal
from functools import cache

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest

import isonomia as iso
from isonomia.populations.table import plain_value

ROWS = 240
RNG = np.random.default_rng(5)
COLUMNS = {
    "id": list(range(ROWS)),
    "sex": [("F", "M", None)[i] for i in RNG.choice(3, ROWS, p=[0.45, 0.5, 0.05])],
    "grade": [("low", "mid", "high")[i] for i in RNG.integers(0, 3, ROWS)],
    "debt": [None if i % 7 == 0 else float(x) for i, x in enumerate(RNG.random(ROWS))],
    "children": [None if i % 11 == 0 else int(x) for i, x in enumerate(RNG.integers(0, 4, ROWS))],
    "late": [None if i % 13 == 0 else bool(x) for i, x in enumerate(RNG.random(ROWS) < 0.3)],
    "member": [bool(x) for x in RNG.random(ROWS) < 0.5],
    "born": [dt.date(1960, 1, 1) + dt.timedelta(days=int(x)) for x in RNG.integers(0, 12_000, ROWS)],
    "seen": [dt.datetime(2024, 1, 1) + dt.timedelta(seconds=int(x)) for x in RNG.integers(0, 10**7, ROWS)],
    "account": [None if i % 17 == 0 else 2**53 + 1 + i for i in range(ROWS)],
    "price": [Decimal(int(x)) / 4 for x in RNG.integers(0, 400, ROWS)],
    "score": RNG.random(ROWS).tolist(),
}


def as_polars():
    return pl.DataFrame(COLUMNS, schema_overrides={"price": pl.Decimal(10, 2), "grade": pl.Categorical})


def as_arrow():
    return as_polars().to_arrow()


def as_pandas():
    frame = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in COLUMNS.items()})
    plain = {"id": "int64", "member": "bool", "debt": "float64", "children": "float64", "account": "Int64"}
    return frame.astype(plain | {"score": "float64", "grade": "category", "seen": "datetime64[us]", "sex": "str"})


def as_nullable_pandas():
    return as_pandas().astype({"children": "Int64", "late": "boolean", "debt": "Float64"})


def parquet_file(folder):
    parquet.write_table(as_arrow(), folder / "people.parquet")
    return folder / "people.parquet"


def parquet_of_pandas(folder):
    as_pandas().sort_values("id").to_parquet(folder / "people.parquet")
    return folder / "people.parquet"


def parquet_folder(folder):
    for number, start in enumerate(range(0, ROWS, 65)):
        parquet.write_table(as_arrow().slice(start, 65), folder / f"part-{number}.parquet", row_group_size=20)
    return folder


def arrow_file(folder):
    feather.write_feather(as_arrow(), folder / "people.arrow")
    return folder / "people.arrow"


def arrow_stream(folder):
    with pa.ipc.new_stream(folder / "people.arrows", as_arrow().schema) as writer:
        writer.write_table(as_arrow())
    return folder / "people.arrows"


def arrow_folder(folder):
    for number, start in enumerate(range(0, ROWS, 100)):
        feather.write_feather(as_arrow().slice(start, 100), folder / f"part-{number}.feather")
    return str(folder / "*.feather")


def relation(folder):
    return duckdb.sql(f"SELECT * FROM '{parquet_file(folder)}'")


DOORS = {
    "pandas": lambda _: as_pandas(),
    "nullable pandas": lambda _: as_nullable_pandas(),
    "polars": lambda _: as_polars(),
    "lazy polars": lambda _: as_polars().lazy(),
    "scan of polars": lambda folder: pl.scan_parquet(parquet_folder(folder) / "*.parquet"),
    "pyarrow": lambda _: as_arrow(),
    "reader of pyarrow": lambda _: as_arrow().to_reader(),
    "dataset of pyarrow": lambda folder: ds.dataset(parquet_folder(folder)),
    "duckdb": relation,
    "duckdb in memory": lambda _: duckdb.from_arrow(as_arrow()),
    "columns": lambda _: dict(COLUMNS),
    "rows": lambda _: [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)],
    "parquet": parquet_file,
    "parquet of pandas": parquet_of_pandas,
    "folder of parquet": parquet_folder,
    "arrow": arrow_file,
    "arrow stream": arrow_stream,
    "pattern of arrow": arrow_folder,
}
KIND = {
    "lazy polars": "polars",
    "scan of polars": "polars",
    "dataset of pyarrow": "pyarrow",
    "duckdb": "pyarrow",
    "folder of parquet": "pandas",
    "pattern of arrow": "pandas",
    "parquet": "pandas",
}
POPULATIONS = {
    "sample": iso.Sample,
    "sample in order": lambda data: iso.Sample(data, order="file"),
    "census": iso.Census,
    "sampled census": lambda data: iso.Census(data, exact=False),
}
PROPERTIES = [
    "P[score > 0.4 | sex == 'F'] / P[score > 0.4 | sex == 'M'] >= 0.5",
    "for g in grade: P[late | grade == g] <= 0.9",
    "P[debt < 0.5 | children >= 2] >= 0.1",
    "P[member | born >= '1975-06-30' and seen < '2024-03-01T12:00'] >= 0.2",
    "E[price from 0 to 100 | late is not missing] <= 80",
]


def expected(value):
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return f"{value.isoformat()}T00:00:00"  # a day is its first instant
    return float(value) if isinstance(value, Decimal) else plain_value(value)


@cache
def plainly(kind, text):
    """The verdict through the first door."""
    return told(iso.check(text, None, POPULATIONS[kind](as_polars()), seed=3))


def through(door, kind, folder):
    return POPULATIONS[kind](DOORS[door](folder))


def told(verdict):
    keys = ("text", "answer", "samples", "leaves", "expressions", "stopped", "population", "method")
    return {key: getattr(verdict, key) for key in keys}


@pytest.mark.parametrize("door", DOORS)
def test_every_door_gives_the_same_values(door, tmp_path):
    source = through(door, "sample in order", tmp_path).open(np.random.SeedSequence(0))
    table = source.batch(0, ROWS, np.random.default_rng(0))
    assert table.names == tuple(COLUMNS)
    for name, values in COLUMNS.items():
        assert [plain_value(value) for value in table.column(name)] == [expected(value) for value in values], name


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("kind", POPULATIONS)
def test_every_door_has_the_same_fingerprint(door, kind, tmp_path):
    assert through(door, kind, tmp_path).fingerprint() == POPULATIONS[kind](as_arrow()).fingerprint()


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("kind", POPULATIONS)
def test_every_door_leads_to_the_same_verdicts(door, kind, tmp_path):
    population = through(door, kind, tmp_path)
    for text in PROPERTIES if kind == "census" else PROPERTIES[:4:3]:
        assert told(iso.check(text, None, population, seed=3)) == plainly(kind, text)


@pytest.mark.parametrize("door", KIND)
def test_a_model_is_given_the_kind_of_table_that_is_stated(door, tmp_path):
    seen = set()

    def model(batch):
        seen.add((type(batch).__module__.split(".")[0], len(batch)))
        return np.zeros(len(batch))

    iso.check("P[prediction == 0] >= 0.5", model, through(door, "census", tmp_path))
    assert {kind for kind, _ in seen} == {KIND[door]}


@pytest.mark.parametrize("door", ["folder of parquet", "pattern of arrow", "scan of polars", "duckdb"])
def test_what_is_read_as_it_goes_is_cut_anywhere_and_asked_in_any_order(door, tmp_path):
    population = through(door, "sample in order", tmp_path)
    source = population.open(np.random.SeedSequence(0))
    for start, n in [(0, 1), (1, 7), (8, 120), (200, 3), (100, 60), (235, 50), (240, 5), (0, 240)]:
        batch = source.batch(start, n, np.random.default_rng(0))
        assert batch.column("id").tolist() == list(range(start, min(start + n, ROWS)))
        assert batch.names == tuple(COLUMNS)


@pytest.mark.parametrize("door", ["folder of parquet", "pattern of arrow", "dataset of pyarrow"])
def test_what_is_read_from_files_survives_pickling(door, tmp_path):
    population = pickle.loads(pickle.dumps(through(door, "census", tmp_path)))
    source = population.open(np.random.SeedSequence(0))
    source.batch(0, 10, np.random.default_rng(0))
    again = pickle.loads(pickle.dumps(source))
    assert again.batch(5, 2, np.random.default_rng(0)).column("id").tolist() == [5, 6]


def test_every_batch_of_a_folder_has_the_types_of_the_whole(tmp_path):
    population = iso.Census(parquet_folder(tmp_path))
    whole = population.table.native
    source = population.open(np.random.SeedSequence(0))
    for start in range(0, ROWS, 7):
        batch = source.batch(start, 7, np.random.default_rng(0)).native
        pd.testing.assert_series_equal(batch.dtypes, whole.dtypes)
