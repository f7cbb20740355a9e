"""Whether eight kinds of tables give the same counts and exact values, to the last bit, on random tables.

    python -m benchmarks.backends [--tables 200] [--without pyspark] [--json benchmarks/results/backends.json]

Each table has missing values of every kind: nulls, NaN next to nulls, empty groups, whole numbers beyond 2**53, -0.0,
categories, dates, small integers and single precision. Rates, means, medians, calibration and census checks of it are
counted by the engine of each kind; what they should be is counted by plain Python from a list of rows. Then the
controls: tables that differ in one value, and an engine without one of the rules; each must be noticed.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

import isonomia as iso
from isonomia.populations import cells, expressions
from isonomia.populations.streaming import LongTable

BY = ("sex", "grade", "born", "age", ("sex", "age"))
CHECKS = (
    "P[hired == 1 | sex == 'F'] - P[hired == 1 | sex != 'F'] >= 0",
    "P[age + small >= 2 | weight > 0.1 and not (score < 0.5)] >= 0.5",
    "P[score is missing or big == 1] <= 0.5",
    "E[score * 2 - age | score is not missing and age is not missing] <= 0.5",
)


def people(rng: np.random.Generator) -> pa.Table:
    """A small table, some of whose columns are almost empty."""
    n = int(rng.integers(5, 90))

    def some(values: Any, share: float = 0.15) -> list[Any]:
        lost = rng.random(n) < (0.97 if rng.random() < 0.05 else share)
        return [None if gone else value for gone, value in zip(lost, values, strict=True)]

    scores = rng.random(n) if rng.random() < 0.5 else rng.random(n).round(1)
    scores[rng.random(n) < 0.1] = np.nan
    scores[rng.random(n) < 0.05] = -0.0
    weight = np.asarray(rng.choice([0.1, 0.2, np.nan], n), dtype=np.float32)
    days = [date(1969, 12, 30) + timedelta(days=int(day)) for day in rng.integers(0, 4, n)]
    big = rng.choice([1, 2**53 + 1, 2**62], n) if rng.random() < 0.3 else rng.integers(0, 2, n)
    return pa.table(
        {
            "sex": pa.array(some(rng.choice(["F", "M", "", "é"], n).tolist()), pa.string()),
            "grade": pa.array(some(rng.choice(["low", "high"], n).tolist()), pa.string()).dictionary_encode(),
            "born": pa.array(some(days), pa.date32()),
            "age": pa.array(some(rng.integers(0, 3, n).tolist()), pa.int64()),
            "small": pa.array(some(rng.integers(-128, 127, n).tolist()), pa.int8()),
            "big": pa.array(some(big.tolist()), pa.int64()),
            "hired": pa.array(some(rng.integers(0, 2, n).tolist()), pa.int8()),
            "paid": pa.array(some([bool(value) for value in rng.integers(0, 2, n)]), pa.bool_()),
            "score": pa.array(some(scores.tolist()), pa.float64()),
            "weight": pa.array(some(weight.tolist()), pa.float32()),
        }
    )


# ---------------------------------------------------------------------------------------------------------------- forms


def plain(table: pa.Table) -> pa.Table:
    """The table with categories as text."""
    return table.set_column(1, "grade", table["grade"].cast(pa.string()))


def forms(folder: Path, without: tuple[str, ...] = ()) -> dict[str, Callable[[pa.Table], Any]]:
    """Every kind of table; some may be left out."""
    import duckdb
    import polars as pl

    def in_file(table: pa.Table) -> str:
        (folder / "people").mkdir(exist_ok=True)
        parquet.write_table(table, folder / "people" / "people.parquet")
        return str(folder / "people")

    def in_pandas(table: pa.Table) -> Any:
        import pandas as pd

        whole = table["big"].to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
        return table.to_pandas().assign(big=whole)  # as floats they would be rounded

    def in_ibis(table: pa.Table) -> Any:
        import ibis

        return ibis.memtable(plain(table))

    made: dict[str, Callable[[pa.Table], Any]] = {
        "duckdb": lambda table: duckdb.connect().from_arrow(table),
        "parquet": in_file,
        "polars": pl.from_arrow,
        "lazy": lambda table: pl.from_arrow(table).lazy(),
        "arrow": lambda table: table,
        "pandas": in_pandas,
        "ibis": in_ibis,
        "pyspark": lambda table: spark().createDataFrame(plain(table)),
    }
    return {name: form for name, form in made.items() if name not in without}


def spark() -> Any:
    """One local Spark session for all tables."""
    from pyspark.sql import SparkSession

    options = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.default.parallelism": "1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    builder = SparkSession.builder.master("local[1]").appName("isonomia")
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


# -------------------------------------------------------------------------------------------------------------- answers


@contextmanager
def by_engines() -> Iterator[None]:
    """Tables of every size are counted by engines."""
    most = cells.MANY_ROWS
    cells.MANY_ROWS = 0
    try:
        yield
    finally:
        cells.MANY_ROWS = most


def answers(data: Any) -> dict[str, Any]:
    """All counts and exact values of a table, or why it was refused."""
    census = iso.Census(data)
    found: dict[str, Any] = {}
    try:
        table = iso.measure(census, by=BY, decision="hired", outcome="paid", score="score")
        found["table"] = {(row.by, row.values): (row.n, row.estimates, row.counts, row.missing) for row in table.rows}
        found["bins"] = [row.reliability for row in table.rows]
        found["median"] = table.median
    except iso.errors.DataError as error:
        found["table"] = str(error)
    for text in CHECKS:
        try:
            verdict = _checked(text, census)
            found[text] = (verdict.answer, verdict.leaves)
        except iso.errors.IsonomiaError:
            found[text] = "refused"
    return found


def _checked(text: str, census: iso.Census) -> Any:
    fingerprint = LongTable.fingerprint
    LongTable.fingerprint = lambda _: ""  # type: ignore[method-assign]
    try:
        return iso.check(text, population=census)
    finally:
        LongTable.fingerprint = fingerprint  # type: ignore[method-assign]


def by_hand(table: pa.Table) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """Of every group by plain Python: people, the favourable share, the exact mean score, and calibration."""
    rows = [{name: None if value != value else value for name, value in row.items()} for row in table.to_pylist()]
    found: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for by in ((), *((each,) if isinstance(each, str) else each for each in BY)):
        groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        for row in rows:
            values = tuple(_shown(row[name]) for name in by)
            groups.setdefault((None,) * len(by) if None in values else values, []).append(row)
        for values, members in groups.items():
            hired = [Fraction(row["hired"]) for row in members if row["hired"] is not None]
            scores = [Fraction(row["score"]) for row in members if row["score"] is not None]
            gaps = [
                Fraction(row["paid"]) - Fraction(row["score"])
                for row in members
                if row["paid"] is not None and row["score"] is not None
            ]
            found[by, values] = (len(members), *map(_mean, (hired, scores, gaps)))
    return found


def _shown(value: Any) -> Any:
    if value == "":
        return None
    return f"{value}T00:00:00" if isinstance(value, date) else value


def _mean(numbers: list[Fraction]) -> float | None:
    return float(sum(numbers, Fraction(0)) / len(numbers)) if numbers else None


def against_hand(found: Mapping[str, Any], expected: Mapping[tuple[Any, ...], tuple[Any, ...]]) -> list[Any]:
    """The groups that differ."""
    table = found["table"]
    if isinstance(table, str):
        return [table]
    shown = {
        group: (n, *(each[name].value for name in ("selection_rate", "mean_score", "calibration")))
        for group, (n, each, _, _) in table.items()
        if n
    }
    return [group for group in {*shown, *expected} if shown.get(group) != expected.get(group)]


def compared(table: pa.Table, kinds: Mapping[str, Callable[[pa.Table], Any]]) -> tuple[int, list[str]]:
    """How many values were compared, and those that differ from rows counted one by one."""
    expected, wrong, n = answers(table.to_pylist()), [], 0
    hand = by_hand(table)
    wrong += [f"rows, {each}" for each in against_hand(expected, hand)]
    for name, form in kinds.items():
        with by_engines():
            found = answers(form(table))
        n += 7 * len(hand) + len(CHECKS)
        large = max(abs(value or 0) for value in table["big"].to_pylist()) > 2**53
        wrong += [
            f"{name}, {what}: {found[what]} and not {expected[what]}"
            for what in expected
            if found[what] != expected[what] and not (large and "big" in what and found[what] == "refused")
        ]
        wrong += [f"{name}, {each}" for each in against_hand(found, hand)]
    return n, wrong


# ------------------------------------------------------------------------------------------------------------- controls


def controls(table: pa.Table, kinds: Mapping[str, Callable[[pa.Table], Any]]) -> dict[str, bool]:
    """Whether each deliberate mistake is noticed."""
    expected = answers(table.to_pylist())
    form = next(iter(kinds.values()))
    place = table.schema.get_field_index("score")
    first = next(row for row, value in enumerate(table["score"].to_pylist()) if value and value == value)
    scores = table["score"].to_pylist()
    scores[first] = float(np.nextafter(scores[first], 2.0))
    changed = {
        "one score is the next float": table.set_column(place, "score", pa.array(scores, pa.float64())),
        "a row is lost": table.slice(1),
        "a row occurs twice": pa.concat_tables([table, table.slice(0, 1)]),
        "a missing decision is a refusal": table.set_column(
            6, "hired", pa.array([value or 0 for value in table["hired"].to_pylist()], pa.int8())
        ),
    }
    noticed = {}
    with by_engines():
        for name, other in changed.items():
            noticed[name] = answers(form(other)) != expected
    for name, rule, broken in (
        ("NaN stays", "_without_nan", lambda number: number),
        ("a comparison with null is null", "_where_known", lambda result, *_: ~(~result).fill_null(value=False)),
    ):
        kept = getattr(expressions, rule)
        setattr(expressions, rule, broken)
        try:
            with by_engines():
                noticed[name] = answers(form(table)) != expected
        except Exception:
            noticed[name] = True
        finally:
            setattr(expressions, rule, kept)
    return noticed


def run(tables: int, without: tuple[str, ...] = (), seed: int = 0) -> dict[str, Any]:
    """Compare so many tables, and try the controls."""
    with tempfile.TemporaryDirectory() as folder:
        kinds, n, wrong = forms(Path(folder), without), 0, []
        for number in range(tables):
            compared_now, found = compared(people(np.random.default_rng([seed, number])), kinds)
            n += compared_now
            wrong += [f"table {number}: {each}" for each in found]
            if number % 10 == 9:
                print(f"{number + 1} tables, {n:,} values, {len(wrong)} differ", flush=True)
        noticed = controls(people(np.random.default_rng([seed, 3])), kinds)
    return {"tables": tables, "kinds": [*kinds], "values": n, "wrong": wrong, "controls": noticed}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--without", nargs="*", default=[])
    arguments = parser.parse_args()
    found = run(arguments.tables, tuple(arguments.without))
    for each in found["wrong"]:
        print(each)
    print(
        f"{found['tables']} tables of {len(found['kinds'])} kinds: {len(found['wrong'])} of {found['values']:,} differ"
    )
    for name, noticed in found["controls"].items():
        print(f"control: {name}: {'noticed' if noticed else 'NOT NOTICED'}")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
