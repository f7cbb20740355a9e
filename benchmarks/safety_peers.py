"""Searching for a violated relation beside Hypothesis and Giskard: cases until one is found, and time of 5,000 tests.

    python -m benchmarks.safety_peers [--seeds 20] [--repetitions 3] [--peers-python PYTHON] [--json FILE]

The relation is that more priors never lower the risk class; a case is an age, priors, felonies and a rise of priors.
Both tools are given the ranges, of whole numbers: we try some edge cases of them and then draw uniformly, Hypothesis
draws in its own way. The models are a score with a defect: none, one inside the ranges, and one at an edge case. Both
tools have at most 5,000 cases; we ask in batches of rows, Hypothesis one case at a time, two rows in one call. Where an
edge case violates, we draw a first batch nevertheless, to say how frequent that is. For each defect: in how many
seeds it was found, the median of the cases that were asked until then, and of the milliseconds; and the seconds of
5,000 tests of the model without a defect. Times are of the processor. Giskard, where a Python of ``--peers-python`` or
ISONOMIA_PEERS_PYTHON has it, runs its metamorphic test on 5,000 cases that are drawn here; its count must be the one
that plain NumPy gives, or the program fails.

They are made for different things. Hypothesis looks for one example, tries the ends of ranges and small values early,
and then makes the example simpler; without one it says nothing about how rare violations are. We try the ends of ranges
once, draw the other cases from what is asked about, so that their share can be bounded, and list those found with the
simplest first. Giskard counts the
rows of a table whose prediction falls, without a guarantee about others.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import isonomia as iso
from benchmarks.peers.running import Absent, add_option, python_with, run_peer
from benchmarks.safety_models import MODELS, RANGES, RISE, Model, draw, raised, share

TESTS = 5_000
PEOPLE = iso.Generator(iso.Ranges(RANGES))
SPECIFICATION = f"""
input x1;
var v2 := getFeat(x1, "priors") + randInt({RISE[0]}, {RISE[1]});
var x2 := setFeat(x1, "priors", v2);
output d1;
output d2;
{{
    d1 = predict(x1)
    d2 = predict(x2)
}}
ensures d1 <= d2;
"""


def by_isonomia(model: Model, seed: int, stop_early: bool = True) -> tuple[bool, int, float]:
    """Whether a violation was found, after how many cases, and the processor seconds."""
    prop = iso.safety.property(SPECIFICATION, stop_early=stop_early)
    began = time.process_time()
    verdict = iso.check(prop, lambda table: model(table).astype(int), PEOPLE, budget=TESTS, seed=seed)
    return verdict.answer == "violated", verdict.samples, time.process_time() - began


def by_hypothesis(model: Model, number: int) -> tuple[bool, int, float]:
    """The same by Hypothesis, without making the example simpler, which comes after."""
    import hypothesis
    from hypothesis import strategies

    asked = 0
    ranges = {name: strategies.integers(*ends) for name, ends in RANGES.items()}

    @hypothesis.seed(number)
    @hypothesis.settings(
        max_examples=TESTS,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
        report_multiple_bugs=False,
    )
    @hypothesis.given(rise=strategies.integers(*RISE), **ranges)
    def relation(rise: int, **person: int) -> None:
        nonlocal asked
        asked += 1
        pair = {name: np.asarray([value, value]) for name, value in person.items()}
        pair["priors"][1] += rise
        before, after = model(pair)
        assert before <= after

    began = time.process_time()
    try:
        relation()
    except AssertionError:
        return True, asked, time.process_time() - began
    return False, asked, time.process_time() - began


def where_costly(model: Model, seed: int) -> tuple[bool, int, float]:
    """The same where queries cost something, so that few are asked at a time."""
    prop, began = iso.safety.property(SPECIFICATION), time.process_time()
    budget = f"{4 * TESTS} queries"
    verdict = iso.check(prop, lambda table: model(table).astype(int), PEOPLE, budget=budget, seed=seed)
    return verdict.answer == "violated", verdict.samples, time.process_time() - began


TOOLS: dict[str, Callable[[Model, int], tuple[bool, int, float]]] = {"ours": by_isonomia, "costly": where_costly}


def searched(defect: str, seeds: int) -> dict[str, Any]:
    """Both tools in turn on one defect."""
    row: dict[str, Any] = {"defect": defect, "share": share(MODELS[defect]), "seeds": seeds}
    runs: dict[str, list[tuple[bool, int, float]]] = {name: [] for name in TOOLS}
    for seed in range(seeds):
        for name, tool in TOOLS.items():
            runs[name].append(tool(MODELS[defect], seed))
    for name, found in runs.items():
        row[name] = {
            "found": sum(hit for hit, _, _ in found),
            "cases": statistics.median(cases for _, cases, _ in found),
            "seconds": statistics.median(seconds for _, _, seconds in found),
        }
    return row


def whole(repetitions: int, giskard: str | Absent) -> dict[str, float]:
    """Seconds of 5,000 tests of the model without a defect."""
    runs: dict[str, list[float]] = {name: [] for name in TOOLS}
    model = MODELS["none"]
    for seed in range(repetitions):
        for name, tool in TOOLS.items():
            if name == "costly":
                continue
            hit, cases, took = by_isonomia(model, seed, stop_early=False) if name == "ours" else tool(model, seed)
            assert not hit
            runs[name].append(took * TESTS / cases)
        if not isinstance(giskard, Absent):
            runs.setdefault("giskard", []).append(by_giskard(giskard, "none", seed))
    return {name: statistics.median(seconds) for name, seconds in runs.items()}


def by_giskard(python: str, defect: str, seed: int) -> float:
    """Giskard's metamorphic test of 5,000 cases: the processor seconds; its count is checked."""
    rng = np.random.default_rng(seed)
    people, rises = draw(TESTS, rng), rng.integers(RISE[0], RISE[1] + 1, TESTS)
    columns = {name: column.tolist() for name, column in people.items()}
    found = run_peer(python, "giskard_relation.py", {"columns": columns, "rises": rises.tolist(), "model": defect})
    model = MODELS[defect]
    fell = int(np.count_nonzero(model(people).astype(int) > model(raised(people, rises)).astype(int)))
    if found["fell"] != fell:
        raise SystemExit(f"Giskard counts {found['fell']} violations where there are {fell}")
    return float(found["seconds"])


def show(rows: list[dict[str, Any]], seconds: dict[str, float]) -> None:
    """A line for each defect and tool, and one for the time."""
    for row in rows:
        for tool in TOOLS:
            print(
                f"defect {row['defect']:<9} (1 case in {1 / row['share']:,.0f})   {tool:<10} found in "
                f"{row[tool]['found']} of {row['seeds']} seeds, {row[tool]['cases']:,.0f} cases, "
                f"{1000 * row[tool]['seconds']:.0f} ms"
            )
    print(f"{TESTS:,} tests: " + ", ".join(f"{tool} {1000 * took:.0f} ms" for tool, took in seconds.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/safety_peers.json"))
    add_option(parser)
    arguments = parser.parse_args()
    skipped = []
    if find_spec("hypothesis"):
        TOOLS["hypothesis"] = by_hypothesis
    else:
        skipped.append("hypothesis: it is not installed; pip install hypothesis")
    giskard = python_with("giskard", arguments.peers_python)
    if isinstance(giskard, Absent):
        skipped.append(f"giskard: {giskard.reason}")
    else:
        by_giskard(giskard, "inside", 0)  # its count is right where there is something to count
    by_isonomia(MODELS["none"], 0)  # once to warm up
    rows = [searched(defect, arguments.seeds) for defect in ("inside", "edge_case")]
    seconds = whole(arguments.repetitions, giskard)
    show(rows, seconds)
    for line in skipped:
        print(f"skipped {line}")
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    content = {"tests": TESTS, "rows": rows, "seconds": seconds, "skipped": skipped}
    arguments.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
