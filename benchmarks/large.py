"""Whether a census larger than memory is really read in constant memory, and how fast.

    python -m benchmarks.large [--json benchmarks/results/large.json] [--rows 1000000 3000000 10000000]

A folder of Parquet files of a million rows each is made, and an exact check of it is run in a fresh process: without a
model (the property reads a stored column), with a trivial one that is a line of code, and with a pipeline of
scikit-learn. Each process says how much memory it took at most, and the folder's fingerprint.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import isonomia as iso

FILE = 1_000_000
CITIES = np.array(["Aarhus", "Bergen", "Lund", "Oulu", "Tartu"], dtype=object)
PROPERTY = "for c in city: P[hired | sex == 'F' and city == c] / P[hired | sex == 'M' and city == c] >= 0.5"
MODELS = ("stored", "trivial", "scikit-learn")


def people(rows: int, seed: int) -> Any:
    """Applicants, with text, a date, whole numbers with gaps, and numbers."""
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    income = rng.gamma(3.0, 12_000.0, rows)
    return pa.table(
        {
            "id": np.arange(rows) + seed * FILE,
            "sex": np.where(rng.random(rows) < 0.5, "F", "M").astype(object),
            "city": CITIES[rng.integers(0, 5, rows)],
            "age": pa.array(rng.integers(18, 67, rows), mask=rng.random(rows) < 0.02),
            "income": income,
            "debt": income * rng.random(rows),
            "applied": np.datetime64("2020-01-01") + rng.integers(0, 1800, rows).astype("timedelta64[D]"),
            "hired": rng.random(rows) < 0.3,
        }
    )


def write(folder: Path, rows: int) -> int:
    """Write a folder of files, and say how many bytes it takes."""
    import pyarrow.parquet as parquet

    for number in range(rows // FILE):
        parquet.write_table(people(FILE, number), folder / f"part-{number:05}.parquet", row_group_size=2**17)
    return sum(file.stat().st_size for file in folder.iterdir())


def trivial(batch: Any) -> Any:
    """Offer a place to those with little debt."""
    return batch["debt"] < 0.4 * batch["income"]


def pipeline() -> Any:
    """A pipeline that fills gaps, scales, and predicts."""
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    table = people(20_000, 99).to_pandas()
    model = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression())
    return model.fit(table[["age", "income", "debt"]], table["debt"] < 0.4 * table["income"])


def audit(folder: str, kind: str) -> dict[str, Any]:
    """Check a folder in this process, and say what it took."""
    model = {"stored": lambda: None, "trivial": lambda: trivial, "scikit-learn": pipeline}[kind]()
    text = PROPERTY if model is None else PROPERTY.replace("hired", "prediction == true")
    census = iso.Census(folder)
    began, worked = time.perf_counter(), time.process_time()
    verdict = iso.check(text, model, census, seed=0)
    seconds, cpu = time.perf_counter() - began, time.process_time() - worked
    began = time.perf_counter()
    census.rows.fingerprint()
    assert time.perf_counter() - began < 1.0  # it was computed for the verdict, and kept
    return {
        "rows": census.size,
        "model": kind,
        "answer": verdict.answer,
        "peak_mib": _peak() / 2**20,
        "seconds": seconds,
        "cpu_seconds": cpu,
        "rows_a_second": census.size / seconds,
    }


def _peak() -> float:
    """The most memory that this process ever had; other than ``ru_maxrss`` it knows nothing of the parent's."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return 1024.0 * float(line.split()[1])


def measured(folder: Path, kind: str) -> dict[str, Any]:
    """Check a folder in a fresh process."""
    program = f"import json; from benchmarks.large import audit; print(json.dumps(audit({str(folder)!r}, {kind!r})))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def run(sizes: list[int]) -> list[dict[str, Any]]:
    """Measure every size with every model."""
    found = []
    for rows in sizes:
        with tempfile.TemporaryDirectory() as name:
            size = write(Path(name), rows)
            found += [{**measured(Path(name), kind), "folder_mib": size / 2**20} for kind in MODELS]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 3_000_000, 10_000_000])
    arguments = parser.parse_args()
    found = run(arguments.rows)
    heads = f"{'rows':>12} {'folder':>10} {'model':14} {'answer':10} {'peak memory':>12}"
    print(f"{heads} {'time':>8} {'of CPU':>8} {'rows a second':>14}")
    for item in found:
        print(
            f"{item['rows']:>12,} {item['folder_mib']:>6.0f} MiB {item['model']:14} {item['answer']:10} "
            f"{item['peak_mib']:>8.0f} MiB {item['seconds']:>6.1f} s {item['cpu_seconds']:>6.1f} s "
            f"{item['rows_a_second']:>14,.0f}"
        )
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
