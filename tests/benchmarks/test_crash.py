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
from isonomia.records.sqlite import Database
from isonomia.records.store import RUNS

die_inside({steps})
with Database(Path("records") / "runs.sqlite", RUNS).writing("count") as connection:
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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_life_prints_ends_and_is_killed_as_any_process(tmp_path: Path) -> None:
    program = """
import sys
from benchmarks.crash_audit import Forked
from pathlib import Path
ended = Forked(Path(sys.argv[1]), ["a"], "import os, sys; print(os.getcwd(), sys.argv); sys.exit(3)")
print(ended.communicate()[0].strip(), ended.returncode)
killed = Forked(Path(sys.argv[1]), [], "import time; time.sleep(60)")
killed.kill()
print(killed.communicate(), killed.returncode)
raised = Forked(Path(sys.argv[1]), [], "1 / 0")
print("ZeroDivisionError" in raised.communicate()[1], raised.returncode)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == [f"{tmp_path} ['-c', 'a'] 3", "('', '') -9", "True 1"], done.stderr
