"""Tables of eight kinds, some of them elsewhere: the same counts and exact values, and no row leaves its engine."""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import ibis
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import isonomia as iso
from benchmarks import backends
from isonomia.audits.measure import one_pass
from isonomia.errors import DataError
from isonomia.populations.streaming import LongTable

pytestmark = pytest.mark.filterwarnings("ignore")  # of Spark about pandas and its own sockets; of Ibis about DuckDB 2

PROPERTY = "P[hired == 1 | sex == 'F'] / P[hired == 1 | sex == 'M'] >= 0.8"


@pytest.fixture(scope="module", autouse=True)
def spark_ends() -> Iterator[None]:
    """End Spark with the module: its handler of Ctrl-C and its open sockets would trouble the tests that follow."""
    handler = signal.getsignal(signal.SIGINT)
    yield
    if "pyspark" in sys.modules:
        from pyspark import SparkContext

        if SparkContext._gateway is not None:
            backends.spark().stop()
            SparkContext._gateway.shutdown()
            SparkContext._gateway = SparkContext._jvm = None
    signal.signal(signal.SIGINT, handler)
    gc.collect()


@pytest.fixture(scope="module")
def people() -> pa.Table:
    rng, n = np.random.default_rng(1), 300
    return pa.table(
        {
            "sex": pa.array(rng.choice(["F", "M", None], n).tolist()),
            "hired": pa.array(rng.integers(0, 2, n), pa.int8()),
            "score": rng.random(n),
        }
    )


def elsewhere(kind: str, table: pa.Table) -> object:
    if kind == "ibis":
        return ibis.memtable(table)
    pytest.importorskip("pyspark")
    return backends.spark().createDataFrame(table)


def test_every_kind_of_table_has_the_same_counts_and_exact_values(tmp_path):
    kinds, seeds = backends.forms(tmp_path), (0, 3)
    for seed in seeds:
        some = kinds if seed == seeds[0] else {name: form for name, form in kinds.items() if name != "pyspark"}
        n, wrong = backends.compared(backends.people(np.random.default_rng([0, seed])), some)
        assert not wrong
        assert n > 500


def test_every_deliberate_mistake_is_noticed(tmp_path):
    noticed = backends.controls(backends.people(np.random.default_rng([0, 3])), backends.forms(tmp_path))
    assert noticed == dict.fromkeys(noticed, True)
    assert len(noticed) == 6


@pytest.mark.parametrize("kind", ["ibis", "pyspark"])
def test_counts_leave_an_engine_elsewhere_and_rows_only_for_a_model(kind, people, monkeypatch):
    table, read = elsewhere(kind, people), []
    batches = LongTable.batches
    monkeypatch.setattr(LongTable, "batches", lambda *_, **__: read.append(1) or batches(*_, **__))
    here = iso.check(PROPERTY, population=iso.Census(people))
    verdict = iso.check(PROPERTY, population=iso.Census(table))
    assert (verdict.answer, verdict.leaves) == (here.answer, here.leaves)
    assert any("weaker" in remark for remark in verdict.remarks)
    assert iso.measure(table, by="sex", decision="hired").rows == iso.measure(people, by="sex", decision="hired").rows
    assert read == []
    with pytest.raises(DataError) as refused:
        iso.check("P[hired / 3 > 0.1] >= 0", population=iso.Census(table))
    assert "engine" in str(refused.value)
    assert read == []
    prop, model = PROPERTY.replace("hired == 1", "prediction == true"), lambda batch: np.asarray(batch["score"]) > 0.5
    asked = iso.check(prop, model, iso.Census(table))
    assert asked.leaves == iso.check(prop, model, iso.Census(people)).leaves
    assert read


def test_a_fingerprint_by_an_engine_is_that_of_the_rows_in_any_order(people):
    order = np.random.default_rng(0).permutation(people.num_rows)
    one, other = (iso.Census(ibis.memtable(table)).fingerprint() for table in (people, people.take(order)))
    assert one == other
    assert iso.Census(ibis.memtable(people.slice(1))).fingerprint() != one
    doubled = pa.concat_tables([people, people, people])
    assert iso.Census(ibis.memtable(doubled)).fingerprint() != one  # an exclusive or would cancel


def test_rows_of_a_connection_that_does_not_keep_their_order_are_counted_but_not_read(people):
    connection = duckdb.connect()
    relation = connection.from_arrow(people)
    connection.execute("SET preserve_insertion_order = false")
    expected = iso.measure(iso.Census(people), by="sex", decision="hired")
    assert iso.measure(iso.Census(relation), by="sex", decision="hired").rows == expected.rows
    with pytest.raises(DataError) as refused:
        iso.check(PROPERTY, population=iso.Sample(relation, order="file"))
    assert "preserve_insertion_order" in str(refused.value)


def test_a_table_that_changes_between_two_passes_is_read_in_one(monkeypatch, people):
    connection = duckdb.connect()
    connection.register("rows", people)
    connection.execute("CREATE TABLE people AS SELECT * FROM rows")
    census, passes = iso.Census(connection.table("people")), []
    group = one_pass.group_cells

    def changing(*arguments, **options):
        passes.append(group(*arguments, **options))
        connection.execute("UPDATE people SET sex = 'F' WHERE sex = 'M' AND score < 0.01")
        return passes[-1]

    monkeypatch.setattr(one_pass, "group_cells", changing)
    by = {"by": "sex", "decision": "score", "outcome": "hired"}
    found = iso.measure(census, **by)
    assert len(passes) == 2
    assert found.rows == iso.measure(iso.Census(connection.table("people").to_arrow_table()), **by).rows


@pytest.mark.parametrize("kind", ["relation", "lazy"])
def test_a_change_that_leaves_the_counts_alone_is_noticed_too(kind, monkeypatch, people, tmp_path):
    """Each mean has a pass of its own: the table's numbers change after the first one."""
    rows = people.filter(pc.is_valid(people["score"]))
    pq.write_table(rows, tmp_path / "people.parquet")
    connection = duckdb.connect()
    connection.register("rows", rows)
    connection.execute("CREATE TABLE people AS SELECT * FROM rows")
    group, passes = one_pass.group_cells, []

    def changing(*arguments, **options):
        passes.append(group(*arguments, **options))
        if len(passes) == 1:
            connection.execute("UPDATE people SET score = score / 2")
            pq.write_table(connection.table("people").to_arrow_table(), tmp_path / "people.parquet")
        return passes[-1]

    monkeypatch.setattr(one_pass, "group_cells", changing)
    lazy = pl.scan_parquet(tmp_path / "people.parquet", glob=False)
    census = iso.Census(connection.table("people") if kind == "relation" else lazy)
    by = {"by": "sex", "decision": "score", "outcome": "hired"}
    found = iso.measure(census, **by)
    assert len(passes) == 4
    assert found.rows == iso.measure(iso.Census(connection.table("people").to_arrow_table()), **by).rows


def test_nan_in_parquet_is_missing_in_a_users_own_relation_and_in_ibis(tmp_path: Path) -> None:
    x = np.where(np.arange(40_000) % 4 == 0, np.nan, 0.5)
    pq.write_table(pa.table({"x": pa.array(x, from_pandas=False)}), tmp_path / "x.parquet")
    relation = duckdb.connect().read_parquet(str(tmp_path / "x.parquet"))
    table = ibis.duckdb.connect().read_parquet(tmp_path / "x.parquet")
    for rows in (tmp_path / "x.parquet", relation, table):
        verdict = iso.check("P[x is missing] >= 0.2", population=iso.Census(rows))
        assert verdict.leaves[0].estimate == 0.25
