"""Reachable sets beside reachml: the same people, the same interventions, every point.

    python -m benchmarks.reach_peers [--people 100] [--repetitions 3] [--peers-python PYTHON] [--json FILE]

Every reachable point of so many people is listed by Isonomia and by reachml, with each of its two solvers, for
applicants that this program makes up, and for German credit with the intervention model of Table 3 of the
responsiveness paper where the data are found through ISONOMIA_DATA. The tools take turns, the second solver
only once. Seconds are of processor time, which other work on the machine disturbs least, and the median of the
repetitions; imports and reading files are not part of them. Both tools' sets are held against a plain loop over all
actions (``benchmarks/reach_plain.py``): where ours differ, the program fails; where reachml's differ, it says so.

reachml runs in the Python that ``--peers-python`` or ISONOMIA_PEERS_PYTHON names: see
``benchmarks/peers/requirements.txt``. Without it, only our own seconds are measured.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.running import Absent, add_option, python_with, run_peer
from benchmarks.reach import GERMAN, german_interventions
from benchmarks.reach_plain import digest, plain_points
from isonomia.interventions import Feature, Interventions, Linkage, OneHot, Thermometer
from isonomia.populations import Table, read_table

SOLVERS = ("cplex", "scip")
FIELDS = ("name", "kind", "low", "high", "actionable", "direction", "rise")


def applicants(people: int, seed: int = 0) -> tuple[Interventions, Table]:
    """People made up, and what they can change: years pass for age too, codes stay codes, one home at a time."""
    rng = np.random.default_rng(seed)
    savings, home = rng.integers(0, 4, people), rng.integers(0, 3, people)
    columns = {
        "age": rng.integers(19, 70, people),
        "years_at_address": rng.integers(0, 8, people),
        "employed": rng.integers(0, 2, people),
        "guarantor": rng.integers(0, 2, people),
        **{f"savings_{level}": (savings >= level).astype(int) for level in (1, 2, 3)},
        **{f"home_{name}": (home == number).astype(int) for number, name in enumerate(("rented", "owned", "free"))},
        "cards": rng.integers(0, 6, people),
        "foreign": rng.integers(0, 2, people),
    }
    binary = (*columns,)[2:10]
    features = (
        Feature("age", "integer", 19, 75, actionable=False, direction="up"),
        Feature("years_at_address", "integer", 0, 10, direction="up", rise=2),
        *(Feature(name, "binary", direction="both" if name.startswith("home") else "up") for name in binary),
        Feature("cards", "integer", 0, 6),
        Feature("foreign", "binary", actionable=False),
    )
    rules = (Linkage("years_at_address", ("age",)), Thermometer(binary[2:5], "up"), OneHot(binary[5:8]))
    return Interventions(features, rules), Table.of(columns)


def described(rules: Interventions, people: Table) -> dict[str, Any]:
    """Features, constraints and people in words that a peer's program reads."""
    names = [feature.name for feature in rules.features]
    return {
        "features": [{field: asdict(feature)[field] for field in FIELDS} for feature in rules.features],
        "constraints": [_words(constraint) for constraint in rules.constraints],
        "people": np.column_stack([people.column(name).astype(int) for name in names]).tolist(),
    }


def _words(constraint: Any) -> dict[str, Any]:
    match constraint:
        case Linkage(source=source, targets=targets):
            return {"kind": "linkage", "source": source, "targets": list(targets)}
        case Thermometer(names=names, direction=direction):
            return {"kind": "thermometer", "names": list(names), "direction": direction}
        case OneHot(names=names):
            return {"kind": "one hot", "names": list(names)}
    raise AssertionError(f"the peer's program has no word for {constraint!r}")


def ours(rules: Interventions, people: Table) -> tuple[list[Any], float]:
    """Each person's points, and the processor seconds that listing them took."""
    began = time.process_time()
    points = rules.reach(people).points()
    seconds = time.process_time() - began
    return np.split(points.values, np.flatnonzero(np.diff(points.owner)) + 1), seconds


def compared(name: str, rules: Interventions, people: Table, repetitions: int, python: str | Absent) -> dict[str, Any]:
    """All tools in turn, and where their sets differ from the plain loop's."""
    job = described(rules, people)
    began = time.process_time()
    truth = [plain_points(job, person) for person in job["people"]]
    plain, right = time.process_time() - began, [digest(points) for points in truth]
    mine: list[float] = []
    theirs: dict[str, list[dict[str, Any]]] = {solver: [] for solver in SOLVERS}
    for number in range(repetitions):
        sets, seconds = ours(rules, people)
        mine.append(seconds)
        if not isinstance(python, Absent):
            for solver in SOLVERS if number == 0 else SOLVERS[:1]:
                theirs[solver].append(run_peer(python, "reachml_sets.py", {**job, "solver": solver}))
    return {
        "data": name,
        "people": people.rows,
        "points": sum(map(len, truth)),
        "seconds": statistics.median(mine),
        "plain_seconds": plain,
        "wrong_sets": sum(digest(points) != one for points, one in zip(sets, right, strict=True)),
        "peers": [_peer(solver, runs, right, statistics.median(mine)) for solver, runs in theirs.items() if runs],
    }


def _peer(solver: str, runs: list[dict[str, Any]], right: list[str], mine: float) -> dict[str, Any]:
    """What reachml took with one solver, and in how many sets it is wrong or gives a point twice."""
    seconds = statistics.median(run["processor_seconds"] for run in runs)
    return {
        "solver": solver,
        "seconds": seconds,
        "wall_seconds": statistics.median(run["seconds"] for run in runs),
        "times_faster": seconds / mine,
        "wrong_sets": sum(one != other for one, other in zip(runs[-1]["digests"], right, strict=True)),
        "sets_with_doubles": sum(a != b for a, b in zip(runs[-1]["given"], runs[-1]["distinct"], strict=True)),
    }


def show(row: dict[str, Any]) -> None:
    """A line for ours and one for each solver."""
    head = f"{row['data']:<8}{row['people']:>4} people {row['points']:>7,} points"
    print(f"{head}   ours {row['seconds']:.4f} s   plain loop {row['plain_seconds']:.2f} s", flush=True)
    for peer in row["peers"]:
        print(
            f"{'':>28}   reachml, {peer['solver']:<6} {peer['seconds']:7.2f} s: {peer['times_faster']:,.0f} times ours"
        )
        if peer["wrong_sets"]:
            print(f"{'':>28}   REACHML WITH {peer['solver'].upper()} IS WRONG for {peer['wrong_sets']} people")
        if peer["sets_with_doubles"]:
            print(f"{'':>28}   and lists a point twice for {peer['sets_with_doubles']} people")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=100)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/reach_peers.json"))
    add_option(parser)
    arguments = parser.parse_args()
    python = python_with("reachml", arguments.peers_python)
    skipped = [f"reachml: {python.reason}"] if isinstance(python, Absent) else []
    subjects = {"made up": applicants(arguments.people)}
    if GERMAN.exists():
        people = read_table(str(GERMAN))
        subjects["german"] = (german_interventions(people), people.slice(0, arguments.people))
    else:
        skipped.append(f"german: {GERMAN.name} is not here; set ISONOMIA_DATA")
    rows = []
    for name, (rules, people) in subjects.items():
        rows.append(compared(name, rules, people, arguments.repetitions, python))
        show(rows[-1])
    for line in skipped:
        print(f"skipped {line}")
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps({"rows": rows, "skipped": skipped}, indent=1) + "\n", encoding="utf-8")
    sys.exit("our reachable sets are not the plain loop's" if any(row["wrong_sets"] for row in rows) else 0)


if __name__ == "__main__":
    main()
