"""Stored decisions are counted by the engine that holds their table, with the verdict that reading rows gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import isonomia as iso
from isonomia.audits.measure import ordered
from isonomia.audits.measure.one_pass import OnePass
from isonomia.audits.rates import subgroups
from isonomia.audits.rates.counting import BatchReader
from isonomia.errors import DataError, SpecError, UsageError
from isonomia.populations import cells
from isonomia.populations.streaming import LongTable
from isonomia.populations.table import Table

FORMS = {
    "duckdb": lambda table: duckdb.connect().from_arrow(table),
    "polars": pl.from_arrow,
    "lazy": lambda table: pl.from_arrow(table).lazy(),
    "arrow": lambda table: table,
    "pandas": lambda table: table.to_pandas(),
    "columns": lambda table: {
        "sex": np.array(table["sex"].to_pylist(), dtype=object),
        "race": table["race"].to_pylist(),
        "age": table["age"].to_numpy(),
        "paid": table["paid"].to_pylist(),
        "hired": table["hired"].to_pylist(),
        "score": table["score"].to_pylist(),
    },
}


@pytest.fixture(scope="module")
def people() -> pa.Table:
    rng = np.random.default_rng(7)
    n = 3_000
    hired = rng.random(n) < 0.5
    return pa.table(
        {
            "sex": pa.array(rng.choice(["F", "M", None], n, p=[0.45, 0.5, 0.05]).tolist()),
            "race": pa.array(rng.choice(["a", "b", "c"], n).tolist()),
            "age": rng.integers(18, 80, n),
            "paid": pa.array([None if rng.random() < 0.1 else float(value) for value in rng.integers(0, 2, n)]),
            "hired": pa.array([None if rng.random() < 0.1 else bool(value) for value in hired]),
            "score": pa.array(rng.random(n).round(3)),
        }
    )


Run = Callable[[], object]


def first_rows_only(table: LongTable, columns=None, size: int = 0, start: int = 0, *, plain: bool = False) -> Iterator:
    """The batches of a table, of which only the first may be read, for signs that rows are not independent."""
    del columns, start, plain
    yield Table.of(table.frame().head(size).collect().to_arrow())
    pytest.fail("a second batch was read")


@pytest.fixture
def both_ways(monkeypatch: pytest.MonkeyPatch) -> Callable[[Run], tuple[object, object]]:
    """What a function returns where rows are read, and where an engine counts and none may be read."""
    monkeypatch.setattr(LongTable, "fingerprint", lambda _: "not needed")

    def run(of: Run) -> tuple[object, object]:
        with monkeypatch.context() as patched:
            for room in ("rates.counting", "rates.subgroups", "principal.census"):
                patched.setattr(f"isonomia.audits.{room}.cell_batch", lambda *_, **__: None)
            by_rows = of()
        with monkeypatch.context() as patched:
            patched.setattr(cells, "MANY_ROWS", 0)
            patched.setattr(LongTable, "batches", first_rows_only)
            patched.setattr(LongTable, "table", None)
            patched.setattr(BatchReader, "exact", None)
            return by_rows, of()

    return run


PROPERTIES = [
    "P[hired | sex == 'F'] / P[hired | sex == 'M'] >= 0.8",
    "for r in race: P[hired | race == r and age >= 40] >= 0.3",
    "P[hired == true | paid == 1] - P[hired | not (paid == 1)] >= -0.1",
    "P[paid is missing or hired is missing] <= 0.5",
    "P[score > 0.25 and abs(age - 50) < 10] >= 0.05",
]
MEAN = "E[score | sex == 'F'] - E[score | sex == 'M'] <= 0.1"


def outcome(verdict: iso.Verdict) -> object:
    return verdict.answer, verdict.samples, verdict.leaves, verdict.expressions, verdict.groups


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("prop", [*PROPERTIES, MEAN])
def test_a_census_is_the_same_however_it_is_counted(both_ways, form, prop, people):
    by_rows, by_engine = both_ways(lambda: outcome(iso.check(prop, population=iso.Census(FORMS[form](people)))))
    assert by_engine == by_rows


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("prop", [PROPERTIES[0], PROPERTIES[1], PROPERTIES[3]])
def test_one_look_is_the_same_however_it_is_counted(both_ways, form, prop, people):
    sample = iso.Sample(FORMS[form](people))
    by_rows, by_engine = both_ways(lambda: outcome(iso.check(prop, population=sample, looks="once")))
    assert by_engine == by_rows


@pytest.mark.parametrize("order", ["random", "file"])
@pytest.mark.parametrize("form", ["duckdb", "lazy"])
def test_one_look_reads_no_row_but_the_first_ones(form, order, people, monkeypatch):
    monkeypatch.setattr(LongTable, "batches", first_rows_only)
    monkeypatch.setattr(LongTable, "table", None)
    monkeypatch.setattr(LongTable, "fingerprint", lambda _: "not needed")
    sample = iso.Sample(FORMS[form](people), order=order)
    assert iso.check(PROPERTIES[0], population=sample, looks="once", seed=1).samples == people.num_rows


@pytest.mark.parametrize("form", FORMS)
def test_subgroups_are_the_same_however_they_are_counted(both_ways, form, people):
    claim = "P[hired | group and age >= 30] >= 0.5"
    by_rows, by_engine = both_ways(
        lambda: iso.groups.search(iso.Census(FORMS[form](people)), ["sex", "race"], claim, depth=2).rows()
    )
    assert by_engine == by_rows
    assert by_rows


def test_several_workers_leave_a_census_without_a_model_to_the_engine(people, tmp_path, monkeypatch):
    import pyarrow.parquet as parquet

    (tmp_path / "people").mkdir()
    parquet.write_table(people, tmp_path / "people" / "part.parquet")
    monkeypatch.setattr(LongTable, "batches", first_rows_only)
    monkeypatch.setattr(LongTable, "fingerprint", lambda _: "not needed")
    verdict = iso.check(PROPERTIES[0], population=iso.Census(tmp_path / "people"), workers=2)
    assert verdict.samples == people.num_rows


@pytest.mark.parametrize(
    "prop",
    ["E[paid] >= 0.1", "E[score in [0, 0.5]] >= 0.1", "P[sex == 1] >= 0.1", "P[age] >= 0.1", "P[nobody == 1] <= 1"],
)
def test_what_rows_refuse_is_refused_by_the_engine(prop, people, monkeypatch):
    def refusal(least: int) -> tuple[type, str]:
        monkeypatch.setattr(cells, "MANY_ROWS", least)
        with pytest.raises((DataError, SpecError)) as caught:
            iso.check(prop, population=iso.Census(people))
        return caught.type, str(caught.value)

    assert refusal(0) == refusal(10**9)


def test_a_relation_that_changes_is_refused():
    connection = duckdb.connect()
    connection.execute("CREATE TABLE people AS SELECT range % 2 AS hired FROM range(1000)")
    census = iso.Census(connection.table("people"))
    connection.execute("INSERT INTO people VALUES (1)")
    with pytest.raises(DataError):
        iso.check("P[hired == 1] >= 0.4", population=census)


def test_missing_attributes_belong_to_no_subgroup(people, monkeypatch):
    monkeypatch.setattr(cells, "MANY_ROWS", 0)
    claim = subgroups._Claim.of(iso.parse("P[hired | group] >= 0.5"))
    coded = subgroups._read(iso.Census(people), claim, ("sex",), None)
    assert coded.people == people.num_rows
    assert int(coded.times[coded.codes["sex"] < 0].sum()) == people["sex"].null_count


def test_pandas_integers_beside_missing_values_are_numbers(monkeypatch):
    monkeypatch.setattr(cells, "MANY_ROWS", 0)
    frame = pd.DataFrame({"hired": pd.array([1, 0, None, 1], dtype="Int64"), "sex": ["F", "M", "F", None]})
    assert iso.check("P[hired == 1 | sex == 'F'] >= 0.5", population=iso.Census(frame)).interval == (0.5, 0.5)


@pytest.mark.parametrize("form", FORMS)
def test_a_census_of_principal_fairness_is_the_same_however_it_is_counted(both_ways, form, people):
    table = people.drop_columns(["age", "score", "paid"])
    table = table.filter(pc.and_(pc.is_valid(table["sex"]), pc.is_valid(table["hired"])))
    table = table.append_column("good", pa.array(np.arange(table.num_rows) % 3 == 0))
    prop = iso.PrincipalFairness(attribute="sex", outcome="good", prediction="hired", given=["race"])
    census = iso.Census(table if form == "columns" else FORMS[form](table))
    by_rows, by_engine = both_ways(lambda: outcome(iso.check(prop, population=census)))
    assert by_engine == by_rows


MEASURED = {
    "decisions": {"by": ["sex", "race", ("sex", "race")], "decision": "hired", "outcome": "paid"},
    "scores": {"by": ["sex", ("sex", "race")], "decision": "hired", "outcome": "paid", "score": "score"},
    "declared scores": {"by": "sex", "score": "score", "ranges": {"score": (0, 2)}},
    "numbers": {"by": "sex", "decision": "age", "outcome": "score", "ranges": {"age": (0, 99), "score": (0, 1)}},
    "scores that are no probabilities": {"by": "sex", "score": "age"},
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("what", MEASURED)
def test_a_table_by_group_is_the_same_however_it_is_counted(form, what, people, monkeypatch):
    """Means, medians and reliability included, to the last bit."""
    table, options = FORMS[form](people), {"looks": "any"} if what == "scores" else {}
    monkeypatch.setattr(cells, "MANY_ROWS", 0)
    with monkeypatch.context() as patched:
        patched.setattr(OnePass, "_by_engine", lambda *_: False)
        by_rows = iso.measure(table, **MEASURED[what], **options)
    monkeypatch.setattr(LongTable, "batches", first_rows_only)
    monkeypatch.setattr(OnePass, "_add", None)
    by_engine = iso.measure(table, **MEASURED[what], **options)
    assert (by_engine.rows, by_engine.median) == (by_rows.rows, by_rows.median)


@pytest.mark.parametrize(
    "options",
    [
        {"decision": "sex", "favourable": "f"},
        {"decision": "hired", "score": "sex"},
        {"decision": "age", "ranges": {"age": (20, 60)}},
        {"score": "score", "ranges": {"score": (0, 0.5)}},
    ],
)
def test_what_rows_refuse_is_refused_in_a_table_by_group_too(options, people, monkeypatch):
    def refusal(least: int) -> tuple[type, str]:
        monkeypatch.setattr(cells, "MANY_ROWS", least)
        with pytest.raises((DataError, UsageError)) as caught:
            iso.measure(people, by="race", **options)
        return caught.type, str(caught.value)

    assert refusal(0) == refusal(10**9)


@pytest.mark.parametrize("few", [1, 10**9])
def test_medians_are_found_by_counting_ever_finer(few, people, monkeypatch):
    monkeypatch.setattr(cells, "MANY_ROWS", 0)
    monkeypatch.setattr(ordered, "FEW", few)
    for name in ("score", "age"):
        table = iso.measure(people, by="sex", score=name)
        assert table.median == np.median(people[name].to_numpy())


def test_numbers_that_are_not_a_number_are_missing_also_in_parquet_files_whose_statistics_hide_them(tmp_path):
    """DuckDB 2.0 takes the least and the greatest number of a file for those of all rows, and folds comparisons."""
    import pyarrow.parquet as parquet

    for number, scores in enumerate(([0.3, np.nan, 0.8, 0.9], [0.4, np.nan, 0.4, 0.4])):
        folder = tmp_path / str(number)
        folder.mkdir()
        table = pa.table({"sex": ["F", "F", "M", "M"], "score": scores})
        parquet.write_table(table, folder / "people.parquet")
        for prop in ("P[score > 0.25 | sex == 'F'] >= 0.4", "P[score is missing | sex == 'F'] <= 0.6"):
            verdict = iso.check(prop, population=iso.Census(folder))
            assert verdict.leaves == iso.check(prop, population=iso.Census(table)).leaves
            assert verdict.interval == (0.5, 0.5)
        found, held = (iso.measure(iso.Census(data), by="sex", score="score") for data in (folder, table))
        assert (found.rows, found.median) == (held.rows, held.median)


def test_a_column_without_a_value_is_the_same_in_files(tmp_path):
    import pyarrow.parquet as parquet

    table = pa.table({"sex": pa.array([None, None], pa.string()), "hired": [1, 0]})
    parquet.write_table(table, tmp_path / "people.parquet")
    for data in (table, str(tmp_path)):
        assert iso.check("P[hired == 1 | sex == 'F'] >= 0.4", population=iso.Census(data)).answer == "undecided"


HOSTILE = {
    "groups without a value": {"g": pa.array([None] * 6, pa.string()), "d": [0, 1] * 3},
    "a column without a type": {"g": pa.nulls(6), "d": [0, 1] * 3},
    "large scores": {"g": ["a", "b"] * 3, "d": [0, 1] * 3, "s": [2**53 + 1, 2**60] * 3},
    "keys that are not a number": {"g": [float("nan"), 1.5, None] * 2, "d": [0, 1] * 3},
    "decimals": {"g": pa.array([Decimal("1.10"), None, Decimal("2.00")] * 2), "d": [0, 1] * 3},
    "zones": {"g": pa.array([datetime(2020, 1, 1), None] * 3, pa.timestamp("us", "Europe/Berlin")), "d": [0, 1] * 3},
    "signed zeros": {"g": [0.0, -0.0] * 3, "d": [0, 1] * 3, "s": [-0.0, 0.0, 1.0] * 2},
    "subnormal": {"g": ["a", "b"] * 3, "d": [0, 1] * 3, "s": [5e-324, 0.5] * 3},
    "huge": {"g": ["a", "b"] * 3, "d": [0, 1] * 3, "s": [1e308, -1e308, 1e-300] * 2},
    "infinite": {"g": ["a", "b"] * 3, "d": [0, 1] * 3, "s": [float("inf"), 0.5] * 3},
    "no score": {"g": ["a", "b"] * 3, "d": [0, 1] * 3, "s": pa.array([None] * 6, pa.float64())},
    "two numbers": {"g": ["a", "b"] * 3, "d": [1, 2] * 3},
    "a name that stands for all columns": {"g": ["a", "b"] * 3, "d": [0, 1] * 3, "*": [1, 2] * 3},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_columns_have_the_same_numbers_or_the_same_refusal(name, monkeypatch):
    table = pa.table(HOSTILE[name])
    by, score = ["g", *({"*"} & set(table.column_names))], "s" if "s" in table.column_names else None

    def found(data: object, least: int) -> object:
        monkeypatch.setattr(cells, "MANY_ROWS", least)
        try:
            measured = iso.measure(iso.Census(data), by=by, decision="d", score=score)
        except (DataError, UsageError) as error:
            return type(error), str(error)
        return measured.rows, measured.median

    expected = found(table, 10**9)
    for data in (table, duckdb.connect().from_arrow(table)):
        assert found(data, 0) == expected


@pytest.mark.parametrize("form", ["duckdb", "lazy", "arrow", "pandas"])
def test_a_column_whose_first_rows_are_0_and_1_is_averaged_if_others_are_not(form, monkeypatch):
    """However it is counted: an engine knows all rows at once, and batches of rows do not."""
    late = np.concatenate([np.arange(70_000) % 2, [0.5, 0.25, 0.75] * 4])
    table = FORMS[form](pa.table({"sex": ["F", "M"] * 35_006, "paid": late}))
    found = []
    for least in (0, 10**9):
        monkeypatch.setattr(cells, "MANY_ROWS", least)
        if least:
            monkeypatch.setattr(OnePass, "_by_engine", lambda *_: False)
        found.append(iso.measure(iso.Census(table), by="sex", decision="paid"))
    assert found[0].rows == found[1].rows
    assert found[0].rows[0]["mean_decision"].value == float(late.mean())
