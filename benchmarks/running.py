"""Runs one benchmark in a process of its own, and reads its figures from what it wrote."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.catalogue import Benchmark
from benchmarks.figure import Figure
from benchmarks.peers.running import VARIABLE
from benchmarks.published import DATA

__all__ = ["Outcome", "absent_data", "run"]

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one benchmark: its figures, what it left out and why, or how it failed."""

    name: str
    figures: tuple[Figure, ...] = ()
    seconds: float = 0.0
    skipped: tuple[str, ...] = ()
    failed: str = ""

    @property
    def word(self) -> str:
        """One word, or a few, for the person who waits."""
        if self.failed:
            return f"FAILED after {self.seconds:.0f} s"
        return f"{self.seconds:.0f} s" if self.seconds else "skipped"


def absent_data(benchmark: Benchmark) -> str:
    """Why a benchmark has nothing to run on; empty where it has."""
    if not benchmark.data or (DATA / benchmark.data).exists():
        return ""
    return f"{benchmark.data} is not below ISONOMIA_DATA"


def run(benchmark: Benchmark, quick: bool, out: Path, charts: Path, pythons: str | None) -> Outcome:
    """Run it, keep what it prints in a file, and read its JSON.

    A benchmark that ends with an error but wrote its JSON in this run still gives its figures, beside the failure.
    """
    written = (out / f"{benchmark.name}.json").resolve()
    written.unlink(missing_ok=True)
    began = time.perf_counter()
    environment = {**os.environ, **({VARIABLE: pythons} if pythons else {})}
    done = subprocess.run(
        _command(benchmark, quick, written, charts.resolve()),
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    seconds = time.perf_counter() - began
    (out / f"{benchmark.name}.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
    failed = _last_line(done.stderr, done.returncode) if done.returncode else ""
    if not written.exists():
        return Outcome(benchmark.name, seconds=seconds, failed=failed or "it wrote no figures")
    try:
        found = json.loads(written.read_text("utf-8"))
        figures = tuple(benchmark.figures(found))
    except (KeyError, TypeError, ValueError, StopIteration) as error:
        return Outcome(benchmark.name, seconds=seconds, failed=f"its figures cannot be read: {error!r}")
    left_out = tuple(found.get("skipped", ())) if isinstance(found, dict) else ()
    return Outcome(benchmark.name, figures, seconds, left_out, failed)


def _command(benchmark: Benchmark, quick: bool, written: Path, charts: Path) -> list[str]:
    given = (benchmark.quick or "") if quick else benchmark.full
    command = [sys.executable, "-m", f"benchmarks.{benchmark.name}", *shlex.split(given), "--json", str(written)]
    return [*command, "--chart", str(charts / benchmark.chart)] if benchmark.chart else command


def _last_line(text: str, code: int) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else f"exit code {code}"
