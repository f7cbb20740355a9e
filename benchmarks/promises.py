"""Measured errors of every probability that the program prints: ``python -m benchmarks.promises [--processes N]``.

Each line simulates whole checks where errors are most frequent, on the boundary of what is claimed, and counts how
often the promise was broken. A line passes where the errors are at most as many as a true rate of exactly the promised
level exceeds with probability 1%. ``--only TEXT`` picks lines, ``--runs N`` sets the runs of each (default: 1,000).
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from itertools import count
from typing import Any

import numpy as np
from scipy.stats import binom

import isonomia as iso
from isonomia.audits.repair.certificate import CaseCounts, lost_limits, share_limits
from isonomia.interventions import Feature, Interventions

DELTA = 0.1
"""The risk of most lines: large, so that a thousand runs tell."""

TOO_MANY = 0.01
"""How often a true rate of exactly the promised level has more errors than pass."""

RATE = "P[x] >= 0.3"
RATIO = "P[x | g == 'F'] / P[x | g == 'M'] >= 0.8"
TABLES = 1_000_000
"""Seeds of tables begin here, apart from those of checks."""


@dataclass(frozen=True)
class Promise:
    """What is promised, with which probability it may be broken, and one run, which gives an error between 0 and 1."""

    name: str
    level: float
    broken: Callable[[int], float]


@dataclass(frozen=True)
class Line:
    """A promise and its measured errors; ``allowed`` is the largest number that passes."""

    name: str
    level: float
    runs: int
    errors: float
    allowed: int

    @property
    def kept(self) -> bool:
        """Whether the errors are compatible with the promise."""
        return self.errors <= self.allowed


def one_group(run: int, rate: float, n: int) -> dict[str, Any]:
    """A table with one rate."""
    return {"x": np.random.default_rng(TABLES + run).random(n) < rate}


def two_groups(run: int, rates: tuple[float, float], n: int, share: float = 0.5) -> dict[str, Any]:
    """A table with two groups."""
    rng = np.random.default_rng(TABLES + run)
    women = rng.random(n) < share
    return {"g": np.where(women, "F", "M"), "x": rng.random(n) < np.where(women, *rates)}


# --------------------------------------------------------------------------------------------------- answers and limits


def wrong_answer(text: str, rows: Callable[[int], Any], wrong: str, run: int, **options: Any) -> float:
    """A check of a claim on its boundary; the seed is the default one unless it is among the options."""
    return iso.check(text, population=iso.Sample(rows(run)), delta=DELTA, **options).answer == wrong


def wrong_limit(
    text: str, quantity: str | None, truth: float, rows: Callable[[int], Any], side: str, looks: str, run: int
) -> float:
    """Whether one limit, of a rate or of what is compared, is wrong."""
    verdict = iso.check(text, population=iso.Sample(rows(run)), delta=DELTA, **_to_the_end(looks))
    low, high = verdict.interval if quantity is None else verdict.intervals[quantity]
    return low > truth if side == "lower" else high < truth


def _to_the_end(looks: str) -> dict[str, Any]:
    return {"looks": looks} if looks == "once" else {"looks": looks, "stop": "all"}


def answers_and_limits() -> Iterator[Promise]:
    """Rates and ratios, with default seeds, at any look, one look and planned looks."""
    edge, short = partial(one_group, rate=0.3, n=400), partial(one_group, rate=0.3 - 1e-9, n=400)
    ratio, less = partial(two_groups, rates=(0.4, 0.5), n=400), partial(two_groups, rates=(0.4 - 1e-9, 0.5), n=400)
    claims = (("a rate", RATE, edge, short), ("a ratio", RATIO, ratio, less))
    limits = (
        ("a rate", RATE, "P[x]", 0.3, edge),
        ("a ratio", RATIO, None, 0.8, ratio),
        ("a rate in a ratio", RATIO, "P[x | g == 'F']", 0.4, ratio),
    )
    for looks in ("any", "once"):
        for word, text, at, below in claims:
            for wrong, rows in (("violated", at), ("holds", below)):
                name = f"{word}, looks={looks!r}: {wrong}"
                yield Promise(name, DELTA, partial(wrong_answer, text, rows, wrong, looks=looks))
        for word, *about in limits:
            for side in ("lower", "upper"):
                name = f"{word}, looks={looks!r}: {side} limit"
                yield Promise(name, DELTA, partial(wrong_limit, *about, side, looks))
    yield Promise("a rate, three planned looks: ever violated", DELTA, planned)


def planned(run: int) -> float:
    """Whether any of three reports on a growing table is wrong."""
    rows = one_group(run, 0.3, 600)["x"]
    tables = [({"x": rows[:n]}, f"{look} of 3 after {after}") for look, (n, after) in enumerate(GROWN, start=1)]
    tables[0] = (tables[0][0], "1 of 3")
    return any(
        iso.check(RATE, population=iso.Sample(t), delta=DELTA, looks=looks).answer == "violated" for t, looks in tables
    )


GROWN = ((200, ""), (400, "200"), (600, "200, 400"))


# --------------------------------------------------------------------------------------------------------------- plans

PLANS: tuple[tuple[str, dict[str, float], float], ...] = (
    ("P[x] >= 0.9", {"P[x]": 0.999}, 1e-6),
    ("P[x] >= 0.9", {"P[x]": 0.999}, 0.05),
    ("P[x] >= 0.99", {"P[x]": 0.9999}, 1e-3),
    ("P[x] >= 0.001", {"P[x]": 0.01}, 0.05),
    ("P[x] <= 0.01", {"P[x]": 0.0001}, 1e-6),
    ("P[x] >= 0.3", {"P[x]": 0.4}, 0.05),
    (RATIO, {"P[x | g == 'F']": 0.5, "P[x | g == 'M']": 0.5}, 0.05),
    ("P[x | g == 'F'] - P[x | g == 'M'] >= -0.1", {"P[x | g == 'F']": 0.995, "P[x | g == 'M']": 0.998}, 1e-6),
)


@cache
def planned_people(index: int) -> int:
    """How many people a plan asks for."""
    text, guesses, delta = PLANS[index]
    return int(np.ceil(iso.plan(text, guesses, delta=delta).once))


def undecided(index: int, run: int) -> float:
    """Whether a table of as many people as planned, with the rates that were guessed, is not decided by one look."""
    text, guesses, delta = PLANS[index]
    n, rates = planned_people(index), tuple(guesses.values())
    rows = one_group(run, rates[0], n) if len(rates) == 1 else two_groups(run, rates, n)
    return iso.check(text, population=iso.Sample(rows), delta=delta, looks="once").answer == "undecided"


def another_table(rate: float, n: int, run: int) -> float:
    """Whether the table that a remark advises, with the rate that was estimated, leaves the claim undecided."""
    for table in count(10_000 * run):
        verdict = iso.check(RATE, population=iso.Sample(one_group(table, rate, n)), delta=DELTA)
        advice = re.search(r"another table of about ([\d,]+)", " ".join(verdict.remarks))
        if advice:
            break
    people, estimate = int(advice[1].replace(",", "")), float(verdict.leaves[0].estimate or 0.0)
    again = one_group(-run - 1, estimate, people)
    return iso.check(RATE, population=iso.Sample(again), delta=DELTA, looks="once").answer == "undecided"


def plans() -> Iterator[Promise]:
    """The power that a plan and a remark promise: 80%."""
    for index, (text, guesses, delta) in enumerate(PLANS):
        rates = "/".join(f"{rate:g}" for rate in guesses.values())
        yield Promise(
            f"plan for {text.replace('|', 'given')} at {rates}, risk {delta:g}: undecided",
            0.2,
            partial(undecided, index),
        )
    yield Promise(
        "the table that an undecided verdict advises, rate 0.4: undecided", 0.2, partial(another_table, 0.4, 40)
    )
    yield Promise(
        "the table that an undecided verdict advises, rate 0.02: undecided", 0.2, partial(another_table, 0.02, 8)
    )


# --------------------------------------------------------------------------------------------- groups, searches, scores

GROUPS = ["A", "B", "C", "D"]


def wrong_group(control: str, looks: str, run: int) -> float:
    """The share of wrong names among those said to be violated; with a family, whether there is one at all."""
    rng = np.random.default_rng(TABLES + run)
    g = rng.integers(0, 4, 600)
    rates = np.array([0.3, 0.3, 0.3, 0.15])
    rows = {"g": np.asarray(GROUPS)[g], "x": rng.random(600) < rates[g]}
    verdict = iso.check(
        "for v in g: P[x | g == v] >= 0.3",
        population=iso.Sample(rows),
        delta=DELTA,
        control=control,
        **_to_the_end(looks),
    )
    named = [each.group for each in verdict.groups if each.answer == "violated"]
    wrong = [name for name in named if "D" not in name]
    return bool(wrong) if control == "family" else len(wrong) / max(len(named), 1)


CELLS = {("F", "old"): 0.5, ("F", "young"): 0.35, ("M", "old"): 0.5, ("M", "young"): 0.5}


def searched(what: str, run: int) -> float:
    """Of the subgroups that a search names, the share that is wrong: by name, or by one of the limits."""
    rng, cells = np.random.default_rng(TABLES + run), list(CELLS)
    truth = {f"sex == '{sex}', age == '{age}'": rate for (sex, age), rate in CELLS.items()}
    truth |= {f"sex == '{sex}'": float(np.mean([CELLS[sex, age] for age in ("old", "young")])) for sex in "FM"}
    truth |= {f"age == '{age}'": float(np.mean([CELLS[sex, age] for sex in "FM"])) for age in ("old", "young")}
    who = np.repeat(np.arange(4), 60)
    hired = rng.random(len(who)) < np.asarray([CELLS[cell] for cell in cells])[who]
    rows = {"sex": [cells[k][0] for k in who], "age": [cells[k][1] for k in who], "x": hired}
    found = iso.groups.search(iso.Sample(rows), ["sex", "age"], "P[x | group] >= 0.5", depth=2, fdr=DELTA)
    wrong = {
        "name": [truth[each.group] >= 0.5 for each in found],
        "limits": [not each.low <= truth[each.group] <= each.high for each in found],
    }
    return float(np.mean(wrong[what])) if len(found) else 0.0


def miscalibrated(wrong: str, looks: str, run: int) -> float:
    """Scores that are a tenth too low in both groups, where a tenth is allowed."""
    rng = np.random.default_rng(TABLES + run)
    score = rng.choice([0.3, 0.7], 600)
    gap = 0.1 if wrong == "violated" else 0.1 + 1e-9
    rows = {"g": rng.choice(["F", "M"], 600), "score": score, "y": (rng.random(600) < score + gap).astype(int)}
    claim = iso.fairness.calibration("g", outcome="y", tolerance=0.1, bins=[0, 0.5, 1], score="score")
    return iso.check(claim, population=iso.Sample(rows), delta=DELTA, looks=looks).answer == wrong


def measured(name: str, truth: float, run: int) -> float:
    """Whether an interval of a table by group misses."""
    table = iso.measure(two_groups(run, (0.4, 0.5), 300), by="g", decision="x", reference="M", delta=DELTA)
    found = table.row("g", "F")[name]
    assert found.low is not None
    assert found.high is not None
    return not found.low <= truth <= found.high


def groups_and_scores() -> Iterator[Promise]:
    """Many groups, searched subgroups, calibration, tables by group."""
    for looks in ("any", "once"):
        yield Promise(
            f"four groups, family-wise, looks={looks!r}: any wrong name", DELTA, partial(wrong_group, "family", looks)
        )
    yield Promise(
        "four groups, false discovery rate: share of wrong names", DELTA, partial(wrong_group, "discovery", "any")
    )
    yield Promise("searched subgroups: share of wrong names", DELTA, partial(searched, "name"))
    yield Promise("searched subgroups: share of intervals that miss", 2 * DELTA, partial(searched, "limits"))
    for looks in ("once", "any"):
        for wrong in ("violated", "holds"):
            name = f"calibration in two groups and two bins, looks={looks!r}: {wrong}"
            yield Promise(name, DELTA, partial(miscalibrated, wrong, looks))
    yield Promise("measure: interval of a selection rate", DELTA, partial(measured, "selection_rate", 0.4))
    yield Promise("measure: interval of an impact ratio", DELTA, partial(measured, "impact_ratio", 0.8))


# ---------------------------------------------------------------------------------------- recourse, streams and repairs


def precluded(ways: int, run: int) -> float:
    """Somebody with some ways among 10^8 points, which only draws can find, is said to have none."""
    changes = Interventions((Feature("x", "integer", 0, 9_999), Feature("k", "integer", 0, 9_999)))
    prop = iso.responsiveness.preclusion(changes, 1, most_listed=100)
    person = iso.Census({"x": [9_999], "k": [9_999]})
    model = partial(hidden_ways, ways)
    return iso.check(prop, model, person, delta=DELTA, seed=run).answer == "violated"


def hidden_ways(ways: int, rows: Any) -> Any:
    """Approve some of the points, spread over the whole range: each point has one of as many numbers."""
    number = np.asarray(rows["x"]).astype(np.int64) * 10_000 + np.asarray(rows["k"]).astype(np.int64)
    return (number * 61_803_399 % 100_000_000 < ways).astype(int)


def several_parts(run: int) -> float:
    """A two-sided claim that is violated at every moment, by the one side and then by the other, is said to hold."""
    rng = np.random.default_rng(TABLES + run)
    watch = iso.Watch("P[x] >= 0.4 and P[x] <= 0.6", alpha=DELTA, delta=DELTA)
    for rate in (0.2, 0.8, 0.2, 0.8):
        watch.update({"x": rng.random(300) < rate})
    return watch.verdict.answer == "holds"


def false_alarm(run: int) -> float:
    """An alert within 2,000 samples although the claim holds, just so, at each."""
    rng = np.random.default_rng(TABLES + run)
    watch = iso.Watch(RATE, alpha=DELTA)
    return bool(watch.update({"x": rng.random(2_000) < 0.3}))


def certified(run: int) -> float:
    """Both claims of a repair on their boundaries, violated by the very same rows: any upper limit is wrong."""
    rng, n, edge = np.random.default_rng(TABLES + run), 150, 0.06
    violates = rng.random(n) < edge
    share = share_limits(CaseCounts(n, int(violates.sum()), 0), DELTA / 2)
    return share[1] < edge or lost_limits(violates.astype(np.int64), DELTA / 2, rng)[1] < edge


def others() -> Iterator[Promise]:
    """Recourse, streams, repairs."""
    yield Promise("preclusion by draws, a share of 0.01: said to have no way", DELTA, partial(precluded, 1_000_000))
    yield Promise("a watch of two sides, violated at every moment: holds", DELTA, several_parts)
    yield Promise("a watch on its boundary, 2,000 samples: false alarm", DELTA, false_alarm)
    yield Promise("a repair, both claims on the boundary: certified", DELTA, certified)


def promises() -> list[Promise]:
    """All of them."""
    return [*answers_and_limits(), *plans(), *groups_and_scores(), *others()]


# ------------------------------------------------------------------------------------------------------------- running


def measured_line(promise: Promise, runs: int, errors: float) -> Line:
    """A line of the table."""
    return Line(promise.name, promise.level, runs, errors, int(binom.ppf(1.0 - TOO_MANY, runs, promise.level)))


def errors_of(promise: Promise, runs: range) -> float:
    """The errors in some runs."""
    return float(sum(promise.broken(run) for run in runs))


def lines(runs: int, processes: int = 1, only: str = "") -> Iterator[Line]:
    """Measure the promises, one after the other."""
    chosen = [promise for promise in promises() if only in promise.name]
    if processes == 1:
        for promise in chosen:
            yield measured_line(promise, runs, errors_of(promise, range(runs)))
        return
    size = max(1, runs // (4 * processes))
    with ProcessPoolExecutor(processes) as pool:
        for promise in chosen:
            parts = [range(start, min(start + size, runs)) for start in range(0, runs, size)]
            yield measured_line(promise, runs, sum(pool.map(partial(errors_of, promise), parts)))


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    arguments.add_argument("--runs", type=int, default=1_000)
    arguments.add_argument("--processes", type=int, default=1)
    arguments.add_argument("--only", default="")
    given = arguments.parse_args()
    broken, began = 0, time.monotonic()
    print("| promise | level | runs | errors | rate | at most |\n|---|---|---|---|---|---|", flush=True)
    for line in lines(given.runs, given.processes, given.only):
        broken += not line.kept
        mark = "" if line.kept else " BROKEN"
        print(
            f"| {line.name} | {line.level:.0%} | {line.runs:,} | {line.errors:,.4g} | {line.errors / line.runs:.1%} | "
            f"{line.allowed}{mark} |",
            flush=True,
        )
    print(f"{broken} broken; {time.monotonic() - began:.0f} s", file=sys.stderr)
    sys.exit(broken > 0)


if __name__ == "__main__":
    main()
