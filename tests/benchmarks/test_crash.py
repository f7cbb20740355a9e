"""The benchmark of crashes kills where it says that it does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
from pathlib import Path

from benchmarks.crash import die_inside
from isonomia.records.database import Database

die_inside({steps})
with Database(Path("records"), reading=False).writing("count") as connection:
    connection.execute("CREATE TABLE numbers (number)")
    connection.executemany("INSERT INTO numbers VALUES (?)", [(number,) for number in range(100)])
print("it lives")
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system cannot kill so")
@pytest.mark.parametrize(("steps", "code"), [(1, -9), (10**9, 0)])
def test_a_process_dies_inside_a_transaction_after_so_many_steps(tmp_path: Path, steps: int, code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(steps=steps)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert ("it lives" in done.stdout) is (code == 0)
