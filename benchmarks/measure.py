"""What a table by group takes of the processor and of memory, next to plain DuckDB, pandas, Polars and Fairlearn.

    python -m benchmarks.measure [--rows 5000000 50000000] [--file FILE] [--json benchmarks/results/measure.json]
    python -m benchmarks.measure --generated 1000000000

A Parquet file is made: twenty groups, two sexes, a decision, an outcome and a score. Every program runs in a fresh
process, which says how much memory it took at most; what it imports is not counted. The lines:

- *counts*: people, decisions and outcomes by group. *scores*: the same with mean scores, and for us also the median,
  scoring rates and calibration, all exact.
- *ratio*: one impact ratio, as a check of a census, with and without the fingerprint that a verdict records.
- *intervals*: the table of a sample, with an exact interval for each number and ratio; this takes as long for few rows.

With ``--generated`` a census of so many rows is counted that DuckDB makes as it goes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

FILE = 1_000_000
GROUPS = np.array([f"group {number:02}" for number in range(20)], dtype=object)
RATIO = "P[decision == 1 | group == 'group 01'] / P[decision == 1 | group == 'group 02'] >= 0.8"
GENERATED = (
    "SELECT i % 20 AS grp, hash(i) % 100 < 30 + i % 20 AS hired, (hash(i + 1) % 1024) / 1024 AS score "
    "FROM range({}) t(i)"
)


def people(rows: int, seed: int) -> Any:
    """Applicants of twenty groups, some of them unknown."""
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    group = rng.integers(0, 20, rows)
    score = rng.beta(2.0, 2.0 + 0.05 * group)
    return pa.table(
        {
            "group": pa.array(GROUPS[group], mask=rng.random(rows) < 0.01),
            "sex": np.where(rng.random(rows) < 0.5, "F", "M").astype(object),
            "score": score,
            "decision": (score > 0.5).astype(np.int8),
            "outcome": rng.random(rows) < score,
        }
    )


def write(file: Path, rows: int) -> None:
    """Write the rows as a Parquet file."""
    import pyarrow.parquet as parquet

    writer = None
    for number in range(max(rows // FILE, 1)):
        table = people(min(rows, FILE), number)
        writer = writer or parquet.ParquetWriter(file, table.schema)
        writer.write_table(table, row_group_size=2**17)
    assert writer is not None, "there are rows"
    writer.close()


# ------------------------------------------------------------------------------------------------------------- programs


def duckdb(path: str, kind: str) -> Any:
    """The same counts in SQL; sums of floats depend on threads there."""
    import duckdb

    queries = {
        "counts": "SELECT \"group\", decision, outcome, count(*) FROM '{}' GROUP BY ALL",
        "scores": "SELECT \"group\", decision, outcome, count(*), avg(score) FROM '{}' GROUP BY ALL",
        "scores and median": 'SELECT "group", decision, outcome, count(*), avg(score), '
        "(SELECT median(score) FROM '{}') FROM '{}' GROUP BY ALL",
        "ratio": "SELECT avg(decision) FILTER (\"group\" = 'group 01') / "
        "avg(decision) FILTER (\"group\" = 'group 02') FROM '{}'",
    }
    connection = duckdb.connect()
    return lambda: connection.execute(queries[kind].replace("{}", path)).fetchall()


def isonomia(path: str, kind: str) -> Any:
    """Our table, of a census or with intervals, and our check of one ratio."""
    import isonomia as iso
    from isonomia.populations.streaming import LongTable

    options: dict[str, Any] = {"by": "group", "decision": "decision", "outcome": "outcome"}
    if "scores" in kind:
        options["score"] = "score"
    with tempfile.TemporaryDirectory() as folder:  # imports everything
        write(Path(folder) / "people.parquet", 1_000)
        iso.measure(folder, **options)
        iso.check(RATIO, population=iso.Census(folder))
    if kind == "ratio without fingerprint":
        LongTable.fingerprint = lambda _: ""  # type: ignore[method-assign]
    if kind.startswith("ratio"):
        return lambda: iso.check(RATIO, population=iso.Census(path))
    return lambda: iso.measure(path if "intervals" in kind else iso.Census(path), **options)


def pandas(path: str, kind: str) -> Any:
    """The same counts of a frame in memory."""
    import pandas as pd

    def count() -> Any:
        grouped = pd.read_parquet(path).groupby(["group", "decision", "outcome"], dropna=False)
        return grouped.size() if kind == "counts" else grouped["score"].agg(["size", "mean"])

    return count


def polars(path: str, kind: str) -> Any:
    """The same counts of a lazy frame."""
    import polars as pl

    means = [] if kind == "counts" else [pl.col("score").mean()]
    query = pl.scan_parquet(path).group_by("group", "decision", "outcome").agg(pl.len(), *means)
    return lambda: query.collect(engine="streaming")


def fairlearn(path: str, kind: str) -> Any:
    """The selection rates of the groups, without intervals; it has neither scores nor medians."""
    import pandas as pd
    from fairlearn.metrics import MetricFrame, selection_rate

    del kind

    def count() -> Any:
        frame = pd.read_parquet(path)
        groups = frame["group"].fillna("unknown")  # it refuses missing ones
        return MetricFrame(
            metrics=selection_rate, y_true=frame["outcome"], y_pred=frame["decision"], sensitive_features=groups
        ).by_group

    return count


PROGRAMS: dict[str, tuple[Callable[[str, str], Any], tuple[str, ...]]] = {
    "duckdb": (duckdb, ("counts", "scores", "scores and median", "ratio")),
    "isonomia": (
        isonomia,
        ("counts", "scores", "ratio", "ratio without fingerprint", "counts, intervals", "scores, intervals"),
    ),
    "polars": (polars, ("counts", "scores")),
    "pandas": (pandas, ("counts", "scores")),
    "fairlearn": (fairlearn, ("counts",)),
}


def measured(path: str, program: str, kind: str) -> dict[str, Any]:
    """Run one program in this process, and say what it took."""
    work = PROGRAMS[program][0](path, kind)
    began, worked = time.perf_counter(), time.process_time()
    work()
    return {
        "program": program,
        "kind": kind,
        "seconds": time.perf_counter() - began,
        "cpu_seconds": time.process_time() - worked,
        "peak_mib": _peak() / 2**20,
    }


def generated(rows: int) -> None:
    """Count a census that DuckDB makes as it goes."""
    import duckdb

    import isonomia as iso

    relation = duckdb.connect().sql(GENERATED.format(rows))
    query = f"SELECT grp, hired, count(*), avg(score) FROM ({GENERATED.format(rows)}) GROUP BY ALL"
    for name, work in (
        ("DuckDB, counts and means", lambda: duckdb.connect().execute(query).fetchall()),
        ("counts", lambda: iso.measure(iso.Census(relation), by="grp", decision="hired")),
        (
            "counts, exact means and the median",
            lambda: iso.measure(iso.Census(relation), by="grp", decision="hired", score="score"),
        ),
    ):
        began, worked = time.perf_counter(), time.process_time()
        work()
        seconds, cpu = time.perf_counter() - began, time.process_time() - worked
        print(
            f"{rows:,} rows generated, {name}: {seconds:.0f} s, {cpu:.0f} s of CPU, {_peak() / 2**20:.0f} MiB",
            flush=True,
        )


def _peak() -> float:
    """The most memory that this process ever had."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return 1024.0 * float(line.split()[1])


def in_fresh_process(path: str, program: str, kind: str) -> dict[str, Any]:
    """Run one program by itself."""
    call = f"measured({path!r}, {program!r}, {kind!r})"
    done = subprocess.run(
        [sys.executable, "-c", f"import json; import benchmarks.measure as b; print(json.dumps(b.{call}))"],
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout[done.stdout.rindex('{"program"') :])  # after DuckDB's progress
    return found


def run(file: str, rows: int, repetitions: int, programs: Sequence[str]) -> list[dict[str, Any]]:
    """Run every program on one file, in turn; of each the least processor time counts."""
    best: dict[tuple[str, str], dict[str, Any]] = {}
    for _ in range(repetitions):
        for program, (_, kinds) in PROGRAMS.items():
            if program not in programs or find_spec(program) is None:
                continue
            for kind in kinds:
                found = {"rows": rows} | in_fresh_process(file, program, kind)
                held = best.setdefault((program, kind), found)
                held["cpu_seconds"] = min(held["cpu_seconds"], found["cpu_seconds"])
                held["peak_mib"] = max(held["peak_mib"], found["peak_mib"])
    for (_, kind), found in best.items():
        base = best["duckdb", kind.partition(",")[0].partition(" without")[0]]
        found["ratio_to_duckdb"] = found["cpu_seconds"] / base["cpu_seconds"]
    return [*best.values()]


def main() -> None:
    """Print one line a measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[5_000_000])
    parser.add_argument("--file", help="a file made before, with as many rows as --rows says")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--programs", nargs="+", default=[*PROGRAMS], help="duckdb is always needed")
    parser.add_argument("--generated", type=int)
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    if options.generated is not None:
        generated(options.generated)
        return
    found = []
    for rows in options.rows:
        with tempfile.TemporaryDirectory() as name:
            file = options.file or str(Path(name) / "people.parquet")
            if options.file is None:
                write(Path(file), rows)
            found += run(file, rows, options.repetitions, options.programs)
    for each in found:
        print(
            f"{each['rows']:>10,} rows  {each['program']:9} {each['kind']:26} {each['cpu_seconds']:7.2f} s of CPU, "
            f"{each['ratio_to_duckdb']:6.1f} times DuckDB  {each['peak_mib']:6.0f} MiB"
        )
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
