"""A census larger than memory: how much of it there is does not change how much memory its audit takes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

pytest.importorskip("pandas", reason="pandas is not installed")

FEW, MANY = 2, 12
COLUMNS = 8

AUDIT = """
import sys
import isonomia as iso

verdict = iso.check("P[prediction == 1 | group == 0] >= 0.4", lambda people: (people["x1"] > 0.5) * 1,
                    iso.Census(sys.argv[1]))
status = open("/proc/self/status").read().splitlines()
peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
print(verdict.answer, verdict.samples, peak * 1024)
"""


def audited(folder: Path, files: int, source: Path) -> tuple[str, int, int]:
    folder.mkdir()
    for number in range(files):
        os.link(source, folder / f"part-{number:02}{source.suffix}")
    done = subprocess.run([sys.executable, "-c", AUDIT, str(folder)], capture_output=True, text=True, check=True)
    answer, samples, peak = done.stdout.split()
    return answer, int(samples), int(peak)


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="there is no /proc to read the peak from")
@pytest.mark.parametrize(("ending", "rows"), [("parquet", 400_000), ("csv", 200_000)])
def test_six_times_the_people_take_hardly_more_memory(tmp_path, ending, rows):
    rng = np.random.default_rng(0)
    columns = {f"x{i}": rng.random(rows).round(4 if ending == "csv" else 16) for i in range(1, COLUMNS)}
    table = pa.table({"group": rng.integers(0, 2, rows), **columns})
    source = tmp_path / f"people.{ending}"
    if ending == "csv":
        csv.write_csv(table, source)
    else:
        parquet.write_table(table, source, row_group_size=100_000)
    answer, samples, few = audited(tmp_path / "few", FEW, source)
    assert (answer, samples) == ("holds", FEW * rows)
    answer, samples, many = audited(tmp_path / "many", MANY, source)
    assert (answer, samples) == ("holds", MANY * rows)
    # What the further files would take if they were held: 256 MB of Parquet as numbers alone, 128 MB of CSV.
    assert many - few < (MANY - FEW) * rows * COLUMNS * 8 / 4
