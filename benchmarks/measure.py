"""How long ``measure`` takes, and how much memory, for millions of rows; and what Fairlearn takes for the same rates.

    python -m benchmarks.measure [--rows 1000000 5000000] [--json benchmarks/results/measure.json]

A folder of Parquet files, and the same rows as one CSV file, are made: twenty groups, two sexes, a decision, an outcome
and a score. Each is measured in a fresh process, which says how much memory it took at most: rates and ratios of the
twenty groups; the same with outcomes, sexes and intersections, 62 groups in all; and scores, of which 8 bytes a row are
held for their median. Fairlearn's ``MetricFrame``, where it is installed, has the rows in memory, and no intervals.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

FILE = 1_000_000
GROUPS = np.array([f"group {number:02}" for number in range(20)], dtype=object)
KINDS = ("rates", "outcomes", "scores")


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


def write(folder: Path, rows: int) -> None:
    """Write the rows as a folder of Parquet files and as one CSV file."""
    import pyarrow.csv as csv
    import pyarrow.parquet as parquet

    (folder / "parquet").mkdir()
    with (folder / "people.csv").open("wb") as file:
        for number in range(max(rows // FILE, 1)):
            table = people(min(rows, FILE), number)
            parquet.write_table(table, folder / "parquet" / f"part-{number:05}.parquet", row_group_size=2**17)
            csv.write_csv(table, file, csv.WriteOptions(include_header=number == 0))


def measured(path: str, kind: str) -> dict[str, Any]:
    """Measure in this process, and say what it took."""
    import isonomia as iso

    options: dict[str, Any] = {"by": ["group"], "decision": "decision"}
    if kind == "outcomes":
        options = {"by": ["group", "sex", ("group", "sex")], "decision": "decision", "outcome": "outcome"}
    if kind == "scores":
        options = {"by": ["group"], "score": "score", "outcome": "outcome"}
    began, worked = time.perf_counter(), time.process_time()
    table = iso.measure(path, **options)
    return {
        "rows": table.size,
        "file": Path(path).suffix or "parquet",
        "kind": kind,
        "groups": len(table) - 1,
        "peak_mib": _peak() / 2**20,
        "seconds": time.perf_counter() - began,
        "cpu_seconds": time.process_time() - worked,
    }


def fairlearn(path: str) -> dict[str, Any]:
    """The selection rates of the twenty groups by Fairlearn, of rows that are read into memory."""
    import pandas as pd
    from fairlearn.metrics import MetricFrame, selection_rate

    began, worked = time.perf_counter(), time.process_time()
    frame = pd.read_parquet(path)
    found = MetricFrame(
        metrics={"selection rate": selection_rate},
        y_true=frame["outcome"],
        y_pred=frame["decision"],
        sensitive_features=frame["group"].fillna("unknown"),  # it refuses missing ones
    )
    return {
        "rows": len(frame),
        "file": "parquet",
        "kind": "Fairlearn, rates without intervals",
        "groups": len(found.by_group),
        "peak_mib": _peak() / 2**20,
        "seconds": time.perf_counter() - began,
        "cpu_seconds": time.process_time() - worked,
    }


def _peak() -> float:
    """The most memory that this process ever had."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return 1024.0 * float(line.split()[1])


def in_fresh_process(call: str) -> dict[str, Any]:
    """Run a function of this module by itself."""
    program = f"import json; import benchmarks.measure as b; print(json.dumps(b.{call}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def run(sizes: list[int]) -> list[dict[str, Any]]:
    """Measure every size, of either kind of file."""
    found = []
    for rows in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write(folder, rows)
            for path in (folder / "parquet", folder / "people.csv"):
                found += [in_fresh_process(f"measured({str(path)!r}, {kind!r})") for kind in KINDS]
            if find_spec("fairlearn") is not None:
                found.append(in_fresh_process(f"fairlearn({str(folder / 'parquet')!r})"))
    return found


def main() -> None:
    """Print one line a measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 5_000_000])
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    found = run(options.rows)
    for each in found:
        print(
            f"{each['rows']:>10,} rows  {each['file']:8} {each['kind']:36} {each['groups']:3} groups  "
            f"{each['seconds']:7.1f} s  {each['cpu_seconds']:7.1f} s of CPU  {each['peak_mib']:6.0f} MiB"
        )
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
