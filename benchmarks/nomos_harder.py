"""What is right after it was made harder is right before: how such a property is tested and shown, for any records."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import isonomia as iso
from isonomia.populations.domains import Domain

DATA = Path(os.environ.get("ISONOMIA_DATA", Path(__file__).resolve().parents[1] / "../shared/data"))
TESTS, SEEDS = 5000, 10

SPECIFICATION = """input x1;
var x2 := {change};
var v1 := label(x1);
output d1;
output d2;
{{
    d1 = predict(x1)
    d2 = predict(x2)
}}
ensures d2==v1 ==> d1==v1;
"""

Row = dict[str, Any]
Model = Callable[[Any], NDArray[Any]]


@dataclass(frozen=True)
class Subject:
    """A benchmark: its inputs, the model by its short name, and the share that the model gets right."""

    name: str
    domain: Domain
    model_name: str
    model: Model
    accuracy: float


def tested(subject: Subject, name: str, change: str, tests: int, seeds: int, published: float | None) -> Row:
    """One row: every case where they are finitely many, then random tests for each seed."""
    text = SPECIFICATION.format(change=change)
    exact = _every_case(subject, text)
    prop = iso.safety.property(text, enumerate=False, stop_early=False)
    runs, seconds, cpu = [], [], []
    for seed in range(seeds):
        began, worked = time.perf_counter(), time.process_time()
        verdict = iso.check(prop, subject.model, subject.domain, budget=tests, seed=seed)
        seconds.append((time.perf_counter() - began) * 5000 / tests)
        cpu.append((time.process_time() - worked) * 5000 / tests)
        runs.append(verdict.details["violations"]["distinct"])
    return {
        "benchmark": subject.name,
        "property": name,
        "model": subject.model_name,
        "specified": 1,
        "violated": bool(exact or any(runs)),
        "distinct_mean": float(np.mean(runs)),
        "distinct_error": float(np.std(runs, ddof=1) / len(runs) ** 0.5) if len(runs) > 1 else None,
        "tests": tests,
        "seconds_5000": float(np.median(seconds)),
        "cpu_seconds_5000": float(np.median(cpu)),
        "exact_violations": exact,
        "published_distinct": published,
        "accuracy": subject.accuracy,
    }


def _every_case(subject: Subject, text: str) -> int | None:
    """How many cases violate; ``None`` where there are infinitely many."""
    try:
        verdict = iso.check(iso.safety.property(text, enumerate=True), subject.model, subject.domain, seed=0)
    except iso.UsageError:
        return None
    return int(verdict.details["violations"]["cases"])


def heading() -> str:
    return (
        f"{'property':<22} {'model':<5} {'all':>6} {'distinct':>9} {'paper':>6} {'s/5000':>7} {'cpu':>7} {'right':>7}"
    )


def told(row: Row) -> str:
    exact = "-" if row["exact_violations"] is None else row["exact_violations"]
    published = "-" if row["published_distinct"] is None else row["published_distinct"]
    return (
        f"{row['property']:<22} {row['model']:<5} {exact:>6} {row['distinct_mean']:>9.1f} {published:>6} "
        f"{row['seconds_5000']:>7.3f} {row['cpu_seconds_5000']:>7.3f} {row['accuracy']:>7.4f}"
    )


def command(description: str | None, needs: str, rows_of: Callable[[int, int], Iterable[Row]], target: str) -> None:
    """Run from the command line: show each row as it comes, and write them all."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", type=int, default=TESTS)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--json", type=Path, default=Path(target))
    arguments = parser.parse_args()
    if not (DATA / needs).exists():
        sys.exit(f"the data are not at {DATA / needs}; set ISONOMIA_DATA")
    print(heading(), flush=True)
    rows = []
    for row in rows_of(arguments.tests, arguments.seeds):
        print(told(row), flush=True)
        rows.append(row)
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps({"tests": arguments.tests, "rows": rows}, indent=1) + "\n", encoding="utf-8")
