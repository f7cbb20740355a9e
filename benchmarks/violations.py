"""A million violations: kept in constant memory, exported at how many a second.

    python -m benchmarks.violations [--violations 1000000] [--folder FOLDER]

People are drawn without end, and every case violates. The memory is the most that the process had at any time: once
it has drawn as many as it holds at once, it should not grow with the number of violations. Each format is written, and
its rows are counted: there have to be as many as violations, at least 100,000 in a second of the processor.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv as pc
import pyarrow.parquet as pq

import isonomia as iso
from isonomia.report.files import write_violations

SPEC = """input x1;
var v1 := randInt(1, 10);
var x2 := x1[age := x1.age + v1];
output d1; output d2;
{
d1 = predict(x1)
d2 = predict(x2)
}
ensures d1 < d2;
"""
TARGET = 100_000
"""Violations that each format should write in a second."""

MORE = 32
"""By how many MiB memory may grow from a quarter of the violations to all of them."""


def model(table: Any) -> Any:
    return -(np.asarray(table["age"]) // 10)


def people(n: int, rng: np.random.Generator) -> dict[str, Any]:
    return {
        "age": rng.integers(18, 90, n),
        "income": rng.normal(40_000, 9_000, n).round(2),
        "town": np.array(["Athens", "Argos", "Corinth", "Thebes"], dtype=object)[rng.integers(0, 4, n)],
        "priors": rng.integers(0, 9, n),
    }


def checked(n: int) -> iso.Verdict:
    prop = iso.safety.property(SPEC, stop_early=False, edge_cases=False)
    return iso.check(prop, model, iso.Generator(people), budget=n, seed=0)


def peak() -> float:
    """The most memory that the process had so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def written(path: Path) -> int:
    """How many violations a file has."""
    match path.suffix:
        case ".csv":
            with pc.open_csv(path) as reader:
                return sum(batch.num_rows for batch in reader)
        case ".parquet":
            return int(pq.read_metadata(path).num_rows)
        case _:
            with path.open("rb") as file:
                return sum(1 for _ in file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--violations", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, default=None)
    arguments = parser.parse_args()
    fine, memory = True, []
    for n in (arguments.violations // 4, arguments.violations):
        began = time.perf_counter()
        verdict = checked(n)
        spent, count = time.perf_counter() - began, len(verdict.violations())
        memory.append(peak())
        print(
            f"{count:>9,} violations found and kept in {spent:6.2f} s, memory at most {memory[-1]:6.0f} MiB", flush=True
        )
        fine &= count == verdict.details["violations"]["distinct"] == n
    fine &= memory[1] - memory[0] < MORE
    violations = verdict.violations()
    with tempfile.TemporaryDirectory() as own:
        folder = arguments.folder or Path(own)
        for ending in ("csv", "parquet", "jsonl"):
            path = folder / f"violations.{ending}"
            began, busy = time.perf_counter(), time.process_time()
            write_violations(violations, path)
            spent, busy = time.perf_counter() - began, time.process_time() - busy
            good = written(path) == len(violations) and len(violations) / busy >= TARGET
            fine &= good
            print(
                f"{ending:>9}: {len(violations) / spent:>11,.0f} a second, {len(violations) / busy:>11,.0f} a second "
                f"of the processor, memory at most {peak():6.0f} MiB  {'fine' if good else 'TOO SLOW, OR NOT ALL'}",
                flush=True,
            )
        began = time.perf_counter()
        seen = sum(1 for _ in violations)
        print(f"iterating: {seen / (time.perf_counter() - began):>11,.0f} a second, memory at most {peak():6.0f} MiB")
        fine &= seen == len(violations)
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
