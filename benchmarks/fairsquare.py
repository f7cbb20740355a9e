"""The FairSquare benchmark: 39 programs and three causal ones, at a risk of 1e-10.

    python -m benchmarks.fairsquare [--seeds 10] [--json benchmarks/results/fairsquare.json]

Each instance of the case file is written out as a ``.fr`` program and checked as the command would check it. The table
compares people drawn with the least that any method with this risk can draw on average where one stream serves both
groups, and with what VeriFair drew; and processor time with VeriFair's, which was measured beforehand on the same kind
of machine and is quoted, not measured again. The case file is looked for beside ``ISONOMIA_DATA``.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import isonomia as iso
from benchmarks.fairsquare_programs import cases, program_text
from isonomia.cli.check import ratio_property

RATIO, DELTA = 0.85, 1e-10
CAUSAL = ("DT_V3_D2_N44", "SVM_V6", "NN_V3_H2")
CAUSAL_DRAWS = (26_513, 337_324, 15_362)
CAUSAL_SECONDS = (1.79, 4.55, 0.15)
COMPILED = {("ind", "DT_V2_D3_N14"): 0.12, ("bnc", "DT_V2_D3_N14"): 0.38}
"""Processor seconds of VeriFair's compiled C++, the lower of those measured."""


@dataclass(frozen=True)
class Row:
    """One instance, over all seeds."""

    population: str
    classifier: str
    right: int
    seeds: int
    draws: float
    seconds: float
    limit: float
    verifair_draws: float
    verifair_seconds: float


def check(program: iso.Program, prop: iso.Property | str, seed: int) -> tuple[iso.Verdict, float]:
    """A verdict, and the processor time that it took."""
    began = time.process_time()
    verdict = iso.check(prop, population=program, delta=DELTA, seed=seed, method="bets")
    return verdict, time.process_time() - began


def measured(program: iso.Program, prop: iso.Property | str, holds: bool, seeds: int) -> tuple[int, float, float]:
    """How many verdicts were right, the mean number of draws, and the mean processor time."""
    runs = [check(program, prop, seed) for seed in range(seeds)]
    right = sum(verdict.answer == ("holds" if holds else "violated") for verdict, _ in runs)
    return right, float(np.mean([verdict.samples for verdict, _ in runs])), float(np.mean([time for _, time in runs]))


def group_rows(found: dict[str, Any], folder: Path, seeds: int) -> list[Row]:
    """The 39 instances."""
    rows = []
    for instance in found["instances"]:
        population, classifier = instance["population"], instance["classifier"]
        program = written(found, folder, population, classifier)
        known = instance["verifair"]
        rows.append(
            Row(
                population,
                classifier,
                *_first(measured(program, ratio_property(program, RATIO), instance["fair"], seeds), seeds),
                instance["limit_draws_one_stream"],
                known["measured_draws"],
                known["measured_cpu_seconds"],
            )
        )
        show(rows[-1])
    return rows


def causal_rows(found: dict[str, Any], folder: Path, seeds: int) -> list[Row]:
    """The three causal instances: education_num drawn as for the majority, everything else as it is."""
    prop = (
        "P[do(education_num as if sex = 1.5).target | minority and qualified] "
        "- P[target | not minority and qualified] >= -0.15"
    )
    rows = []
    for classifier, draws, seconds in zip(CAUSAL, CAUSAL_DRAWS, CAUSAL_SECONDS, strict=True):
        program = written(found, folder, "bnc", classifier)
        result = _first(measured(program, prop, True, seeds), seeds)
        rows.append(Row("bnc causal", classifier, *result, float("nan"), draws, seconds))
        show(rows[-1])
    return rows


def _first(result: tuple[int, float, float], seeds: int) -> tuple[int, int, float, float]:
    right, draws, seconds = result
    return right, seeds, draws, seconds


def written(found: dict[str, Any], folder: Path, population: str, classifier: str) -> iso.Program:
    """An instance as a program on disk, read back."""
    path = folder / f"{population}_{classifier}.fr"
    path.write_text(program_text(found, population, classifier), encoding="utf-8")
    return iso.Program(path)


def show(row: Row) -> None:
    print(
        f"{row.population:<11}{row.classifier:<14}{row.right:>3}/{row.seeds:<3}{row.draws:>10,.0f}"
        f"{row.draws / row.limit:>9.2f}{row.verifair_draws / row.draws:>9.1f}{1e3 * row.seconds:>9.0f}"
        f"{row.verifair_seconds / row.seconds:>9.0f}",
        flush=True,
    )


def summary(rows: list[Row]) -> dict[str, float]:
    """The figures for all 39 together."""
    draws, limit = sum(row.draws for row in rows), sum(row.limit for row in rows)
    seconds, theirs = sum(row.seconds for row in rows), sum(row.verifair_seconds for row in rows)
    return {
        "right": sum(row.right for row in rows),
        "verdicts": sum(row.seeds for row in rows),
        "draws": draws,
        "over_limit": draws / limit,
        "geometric_mean_over_limit": float(np.exp(np.mean([np.log(row.draws / row.limit) for row in rows]))),
        "times_fewer_draws": sum(row.verifair_draws for row in rows) / draws,
        "seconds": seconds,
        "times_less_time": theirs / seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/fairsquare.json"))
    arguments = parser.parse_args()
    found = cases()
    if found is None:
        print("skipped: there is no cases/fairsquare.json beside ISONOMIA_DATA", file=sys.stderr)
        return
    print(
        f"{'population':<11}{'classifier':<14}{'right':>5}{'draws':>12}{'/limit':>9}{'fewer':>9}{'ms':>9}{'faster':>9}"
    )
    with tempfile.TemporaryDirectory() as folder:
        warm_up = written(found, Path(folder), "ind", "DT_A")
        check(warm_up, ratio_property(warm_up, RATIO), 99)
        rows = group_rows(found, Path(folder), arguments.seeds)
        causal = causal_rows(found, Path(folder), arguments.seeds)
    total = summary(rows)
    print(
        f"all 39: {total['right']:.0f} of {total['verdicts']:.0f} verdicts right, {total['draws']:,.0f} draws "
        f"({total['over_limit']:.3f} times the limit, {total['times_fewer_draws']:.1f} times fewer than VeriFair), "
        f"{total['seconds']:.2f} s of processor time ({total['times_less_time']:.0f} times less)"
    )
    compiled = {
        f"{row.population} {row.classifier}": {
            "seconds": row.seconds,
            "compiled": COMPILED[row.population, row.classifier],
        }
        for row in rows
        if (row.population, row.classifier) in COMPILED
    }
    for name, pair in compiled.items():
        print(f"{name}: {pair['seconds']:.3f} s; VeriFair's compiled C++ {pair['compiled']:.2f} s")
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "delta": DELTA,
        "ratio": RATIO,
        "summary": total,
        "compiled": compiled,
        "rows": [asdict(row) for row in rows],
        "causal": [{k: v for k, v in asdict(row).items() if k != "limit"} for row in causal],
    }
    arguments.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
