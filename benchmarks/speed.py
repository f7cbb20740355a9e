"""How fast checks run, and how much memory they take.

    python -m benchmarks.speed [--rounds 5] [--json benchmarks/results/speed.json]

Three measurements, each beside the plain NumPy work that no audit could avoid: an exact check of a census of a million
rows, a hundred million draws of a generator with a trivial model, and the cost of one step of the bets.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import isonomia as iso
from isonomia.evidence.bets import EProcess, begin, step

ROOT = Path(__file__).resolve().parents[1]


def census(rows: int) -> dict[str, Any]:
    """An exact check of a table with a text column."""
    rng = np.random.default_rng(0)
    table = {"sex": np.where(rng.random(rows) < 0.5, "F", "M").astype(object), "x": rng.random(rows)}

    def checked(people: iso.Census) -> iso.Verdict:
        return iso.check(
            "P[prediction == 1 | sex == 'F'] / P[prediction == 1 | sex == 'M'] >= 0.8",
            lambda batch: (batch["x"] < 0.3).astype(int),
            people,
        )

    checked(iso.Census({name: column[:1000] for name, column in table.items()}))  # what is imported at the first use
    population = iso.Census(table)
    began = time.perf_counter()
    verdict = checked(population)
    seconds = time.perf_counter() - began
    began = time.perf_counter()
    hired = (table["x"] < 0.3).astype(int) == 1
    for sex in ("F", "M"):
        group = table["sex"] == sex
        np.count_nonzero(group), np.count_nonzero(group & hired)
    plain = time.perf_counter() - began
    return {"what": f"census of {rows:,} rows", "answer": verdict.answer, "seconds": seconds, "plain": plain}


def draw(n: int, rng: np.random.Generator) -> dict[str, Any]:
    """Two numeric columns."""
    return {"group": rng.random(n), "x": rng.random(n)}


def ours(draws: int) -> dict[str, Any]:
    """A claim on the boundary, so that every draw of the budget is made."""

    def checked(budget: int) -> Any:
        return iso.check(
            "P[prediction | group < 0.5] / P[prediction | group >= 0.5] >= 0.99999",
            lambda batch: batch["x"] < 0.3,
            iso.Generator(draw),
            delta=1e-10,
            budget=budget,
            seed=1,
        )

    checked(10_000)  # what is imported when it is first used is not counted
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began, worked = time.perf_counter(), time.process_time()
    verdict = checked(draws)
    return {
        "seconds": time.perf_counter() - began,
        "processor": time.process_time() - worked,
        "answer": verdict.answer,
        "samples": verdict.samples,
        "memory_grown_mib": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024,
    }


def plain(draws: int, block: int) -> dict[str, Any]:
    """The random numbers of the generator alone."""
    rng, began, worked = np.random.default_rng(0), time.perf_counter(), time.process_time()
    for _ in range(draws // block):
        rng.random(block), rng.random(block)
    return {"seconds": time.perf_counter() - began, "processor": time.process_time() - worked}


def generator(draws: int, rounds: int) -> dict[str, Any]:
    """A hundred million draws beside their random numbers alone, in blocks of 2**18; medians of rounds in turn.

    Each in a fresh process, as a script would do it: what a process did before decides what memory costs it. In blocks
    that stay in the cache (``plain_in_cache``) plain numbers take less still.
    """
    calls = (f"ours({draws})", f"plain({draws}, 2**18)", f"plain({draws}, 2**15)")
    taken = [[_fresh(call) for call in calls] for _ in range(rounds)]
    mine, blocks, cached = (_median(column) for column in zip(*taken, strict=True))
    return {
        "what": f"{taken[0][0]['samples']:,} draws of a generator",
        "answer": taken[0][0]["answer"],
        "seconds": mine["seconds"],
        "plain": blocks["seconds"],
        "plain_in_cache": cached["seconds"],
        "processor": mine["processor"],
        "plain_processor": blocks["processor"],
        "plain_in_cache_processor": cached["processor"],
        "million_draws_a_second": draws / mine["seconds"] / 1e6,
        "memory_grown_mib": mine["memory_grown_mib"],
    }


def _fresh(call: str) -> dict[str, Any]:
    program = f"import json; from benchmarks.speed import ours, plain; print(json.dumps({call}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _median(rows: tuple[dict[str, Any], ...]) -> dict[str, float]:
    return {key: median(row[key] for row in rows) for key, value in rows[0].items() if isinstance(value, int | float)}


def bets(steps: int) -> dict[str, Any]:
    """One step of a two-group ratio claim."""
    rng = np.random.default_rng(0)
    process = EProcess.of([[np.asarray([0.0, 1.0]), np.asarray([0.0, -0.8])]], [0.0], [np.ones(2), np.ones(2)])
    batches = [
        np.stack([100 - yes, yes], axis=-1)[None].astype(float) for yes in rng.binomial(100, 0.3, size=(steps, 2))
    ]
    state, began = begin(process), time.perf_counter()
    for counts in batches:
        state = step(process, state, counts)
    seconds = time.perf_counter() - began
    return {"what": f"{steps:,} steps of a bet", "seconds": seconds, "microseconds_a_step": seconds / steps * 1e6}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/speed.json"))
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    rows = [generator(100_000_000, arguments.rounds), census(1_000_000), bets(2000)]
    for row in rows:
        extra = {key: value for key, value in row.items() if key not in {"what", "answer", "seconds", "plain"}}
        plain = f", plain NumPy {row['plain']:.2f} s" if "plain" in row else ""
        print(
            f"{row['what']:<40} {row['seconds']:.2f} s{plain}  " + ", ".join(f"{k} {v:.1f}" for k, v in extra.items())
        )
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
