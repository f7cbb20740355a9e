"""All benchmarks, one after the other, and one table of their figures beside the peers'.

    python -m benchmarks [--quick] [--only NAME ...] [--out FOLDER] [--peers-python PYTHON]

Each benchmark is a program that can be run alone; here each runs in a process of its own, and one that fails is told
and does not stop the others. A quick run (about three minutes on two cores) leaves the long ones out and repeats less;
its figures are rough, and its charts go to the folder of results instead of ``docs/images``. FOLDER gets what each
program wrote and printed, and ``benchmarks.json``: every line of the table, the machine and the versions.

Data are found through ISONOMIA_DATA; peers through ISONOMIA_PEERS_PYTHON, see ``benchmarks/peers/requirements.txt``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.catalogue import BENCHMARKS, Benchmark
from benchmarks.figure import Figure
from benchmarks.machine import facts
from benchmarks.peers.running import add_option
from benchmarks.running import Outcome, absent_data, run
from benchmarks.table import markdown, printed

ROOT = Path(__file__).resolve().parents[1]


def chosen(only: list[str] | None, quick: bool) -> list[Benchmark]:
    """The benchmarks to run."""
    names = [benchmark.name for benchmark in BENCHMARKS]
    for name in only or []:
        if name not in names:
            sys.exit(f"there is no benchmark {name!r}; there are {', '.join(names)}")
    return [
        benchmark
        for benchmark in BENCHMARKS
        if (benchmark.name in only if only else not quick or benchmark.quick is not None)
    ]


def measured(benchmark: Benchmark, arguments: argparse.Namespace) -> Outcome:
    """Run one, or say why not."""
    reason = absent_data(benchmark)
    if reason:
        return Outcome(benchmark.name, skipped=(reason,))
    charts = arguments.out if arguments.quick else ROOT / "docs" / "images"
    return run(benchmark, arguments.quick, arguments.out, charts, arguments.peers_python)


def content(outcomes: list[Outcome], arguments: argparse.Namespace, machine: dict[str, Any]) -> dict[str, Any]:
    """Everything for the JSON file."""
    commands = {benchmark.name: benchmark.command for benchmark in BENCHMARKS}
    return {
        "quick": arguments.quick,
        "machine": machine,
        "figures": [
            {"benchmark": outcome.name, **asdict(figure), "command": commands[outcome.name]}
            for outcome in outcomes
            for figure in outcome.figures
        ],
        "runs": [
            {"benchmark": o.name, "seconds": o.seconds, "skipped": o.skipped, "failed": o.failed} for o in outcomes
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="leave the long ones out and repeat less")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="run only these")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"), help="where results are written")
    add_option(parser)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    machine, began, outcomes = facts(arguments.peers_python), time.perf_counter(), []
    for benchmark in chosen(arguments.only, arguments.quick):
        print(f"{benchmark.name} ...", end=" ", file=sys.stderr, flush=True)
        outcomes.append(measured(benchmark, arguments))
        print(outcomes[-1].word, file=sys.stderr, flush=True)
    lines: list[tuple[Figure, str]] = [(figure, outcome.name) for outcome in outcomes for figure in outcome.figures]
    print(printed(lines))
    for outcome in outcomes:
        for reason in outcome.skipped:
            print(f"skipped in {outcome.name}: {reason}")
        if outcome.failed:
            print(f"FAILED: {outcome.name}: {outcome.failed}")
    print(
        f"{len(lines)} figures in {time.perf_counter() - began:.0f} s; {machine['cores']} cores, {machine['processor']}"
    )
    written = content(outcomes, arguments, machine)
    (arguments.out / "benchmarks.json").write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    (arguments.out / "benchmarks.md").write_text(markdown(lines) + "\n", encoding="utf-8")
    sys.exit(1 if any(outcome.failed for outcome in outcomes) else 0)


if __name__ == "__main__":
    main()
