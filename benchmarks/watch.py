"""Alerts on streams: how often they are false, how soon they come, and how quick a watch is.

    python -m benchmarks.watch [--streams 1000] [--length 20000] [--workers N] [--only alerts delay peers speed]

*alerts*: streams with the truth on the boundary. With ``alpha`` at most that share may ever give an alert; with
``run_length`` the mean number of samples to one is at least that (what is printed is the number of samples that were
seen up to alerts, or to the end of streams, for each alert). *delay*: samples from a change to the alert, over that of
the CUSUM which knows the laws before and after it, with its threshold set, by simulation, so that its run length is the
one that ours promises. *peers* (where they are installed, ``watch_peers.py``): river's ADWIN and Page-Hinkley, MAPIE's
RiskMonitoring and CUSUMs on the same streams of one rate. *speed*: samples a second, a single sample, and memory.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import isonomia as iso
from benchmarks.watch_peers import chart, cusum, peers
from benchmarks.watch_streams import first_alerts
from isonomia.evidence.detectors import Detector, RestartWeights

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

BEFORE = 1_000
"""Samples before a change."""

RATES = (
    *((0.3, 0.2), (0.3, 0.24), (0.5, 0.4), (0.1, 0.2), (0.05, 0.1)),
    *((0.2, 0.3), (0.7, 0.6), (0.9, 0.8), (0.02, 0.05), (0.3, 0.4)),
)
"""One rate, at its threshold and after the change."""

RATIOS = (
    *(
        (0.24, 0.3, 0.16, 0.3, 0.3),
        (0.24, 0.3, 0.16, 0.3, 0.05),
        (0.24, 0.3, 0.12, 0.3, 0.3),
        (0.4, 0.5, 0.3, 0.5, 0.3),
    ),
    *(
        (0.4, 0.5, 0.3, 0.5, 0.05),
        (0.56, 0.7, 0.45, 0.7, 0.3),
        (0.56, 0.7, 0.45, 0.7, 0.05),
        (0.08, 0.1, 0.04, 0.1, 0.3),
    ),
    *((0.08, 0.1, 0.04, 0.1, 0.05), (0.72, 0.9, 0.6, 0.9, 0.3)),
)
"""A group's rate that must be four fifths of another's: both before, both after the change, and the group's share."""


@dataclass(frozen=True, slots=True)
class World:
    """A stream of yes/no samples of groups: their shares, their rates, and what is claimed of them.

    With ``feedback`` there are two groups, and a sample is of the first with these probabilities: after a no, after a
    yes.
    """

    name: str
    shares: tuple[float, ...]
    rates: tuple[float, ...]
    detectors: tuple[tuple[tuple[int, ...], tuple[float, ...], float], ...]
    uniform: bool = False
    feedback: tuple[float, float] | None = None

    def draw(
        self, rng: np.random.Generator, rows: int, rates: Sequence[float] | None = None
    ) -> tuple[Integers, Floats]:
        """The group and the value of each sample."""
        now = self.rates if rates is None else rates
        if self.feedback is not None:
            return _answering(rng, rows, now, self.feedback)
        groups = rng.choice(len(self.shares), rows, p=self.shares)
        mean = np.asarray(now)[groups]
        values = mean + rng.uniform(-0.25, 0.25, rows) if self.uniform else (rng.random(rows) < mean).astype(float)
        return groups.astype(np.int64), values

    def part(self, number: int, groups: Integers, values: Floats) -> tuple[Detector, Integers, Floats]:
        """A detector, with the group among its own (-1 for none) and the payoff of each sample."""
        members, factors, bound = self.detectors[number]
        label = np.full(len(groups), -1, dtype=np.int64)
        payoff = np.zeros(len(groups))
        for index, (group, factor) in enumerate(zip(members, factors, strict=True)):
            chosen = groups == group
            label[chosen], payoff[chosen] = index, factor * values[chosen]
        lows, highs = tuple(min(f, 0.0) for f in factors), tuple(max(f, 0.0) for f in factors)
        return Detector(lows, highs, bound, RestartWeights(run_length=False)), label, payoff

    def alert(self, groups: Integers, values: Floats, *, run_length: bool, enough: float) -> int | None:
        """When the first detector gives an alert; each has its part of the promise."""
        first = None
        for number in range(len(self.detectors)):
            plain, label, payoff = self.part(number, groups, values)
            detector = replace(plain, restarts=RestartWeights(run_length))
            _, found = detector.observe(detector.begin(), label, payoff, enough + np.log(len(self.detectors)))
            if found is not None:
                first = found[1] if first is None else min(first, found[1])
        return first

    def alerts(self, streams: Sequence[tuple[Integers, Floats]], enough: Sequence[Sequence[float]]) -> Integers:
        """The same for many streams, both promises and several thresholds; 0 for never."""
        more = np.log(len(self.detectors))
        wanted = [[each + more for each in some] for some in enough]
        never = np.iinfo(np.int64).max
        found = []
        for number in range(len(self.detectors)):
            parts = [self.part(number, groups, values) for groups, values in streams]
            found.append(first_alerts(parts[0][0], [(label, payoff) for _, label, payoff in parts], wanted))
        first = np.minimum.reduce([np.where(each == 0, never, each) for each in found])
        return np.asarray(np.where(first == never, 0, first))


def _answering(
    rng: np.random.Generator, rows: int, rates: Sequence[float], feedback: tuple[float, float]
) -> tuple[Integers, Floats]:
    """The group and the value of each sample, where a value decides how likely each group is to come next."""
    group, yes, groups, values = 0, False, [], []
    for coin, value in rng.random((rows, 2)).tolist():
        group = 0 if coin < feedback[yes] else 1
        yes = value < rates[group]
        groups.append(group)
        values.append(yes)
    return np.asarray(groups, dtype=np.int64), np.asarray(values, dtype=float)


def rate_world(before: float, after: float = 1.0) -> World:
    """One rate at its threshold, which it must not pass in the direction of the change."""
    sign = 1.0 if after > before else -1.0
    return World(f"a rate of {before}", (1.0,), (before,), (((0,), (sign,), sign * before),))


def ratio_world(rate: float, other: float, share: float) -> World:
    """A group whose rate is four fifths of the other's, as it must at least be."""
    name = f"a ratio, {share:.0%} in the group"
    return World(name, (share, 1.0 - share), (rate, other), (((0, 1), (-1.0, 0.8), 0.0),))


WORLDS = (
    rate_world(0.3),
    rate_world(0.05),
    ratio_world(0.24, 0.3, 0.3),
    ratio_world(0.24, 0.3, 0.05),
    replace(ratio_world(0.24, 0.3, 0.3), name="a ratio, mild feedback", feedback=(0.25, 0.4)),
    replace(ratio_world(0.24, 0.3, 0.3), name="a ratio, strong feedback", feedback=(0.1, 0.9)),
    replace(ratio_world(0.24, 0.3, 0.3), name="a ratio, the other way round", feedback=(0.9, 0.1)),
    World("a mean", (1.0,), (0.5,), (((0,), (1.0,), 0.5),), uniform=True),
    World("20 groups", (0.05,) * 20, (0.3,) * 20, tuple(((g,), (-1.0,), -0.3) for g in range(20))),
)


ALPHAS, RUN_LENGTHS = (0.05, 0.01), (1_000, 10_000)
THRESHOLDS = (tuple(np.log(1.0 / np.asarray(ALPHAS)).tolist()), tuple(np.log(np.asarray(RUN_LENGTHS)).tolist()))
TOGETHER = 500
"""Streams that go side by side."""
ALONE = 40
"""Streams of each world whose alerts the library finds again, one stream at a time."""


def _together(world: World, length: int, first: int) -> Integers:
    streams = [world.draw(np.random.default_rng([7, first + k]), length) for k in range(TOGETHER)]
    return world.alerts(streams, THRESHOLDS)


def _alone(world: World, length: int, stream: int) -> Integers:
    """The alerts of one stream, each by a detector of the library of its own; 0 for never."""
    groups, values = world.draw(np.random.default_rng([7, stream]), length)
    found = [
        [world.alert(groups, values, run_length=bool(kind), enough=enough) or 0 for enough in THRESHOLDS[kind]]
        for kind in (0, 1)
    ]
    return np.asarray(found, dtype=np.int64)


def alerts(
    streams: int, length: int, pool: ProcessPoolExecutor, only: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """False alarms with the truth on the boundary."""
    rows: list[dict[str, Any]] = []
    print(f"{'on the boundary':<28}{'promise':>22}{'seen':>12}   ({streams:,} streams of {length:,})")
    for world in WORLDS:
        if only is not None and world.name not in only:
            continue
        found = np.concatenate(list(pool.map(partial(_together, world, length), range(0, streams, TOGETHER))))
        found = found[:streams]
        for index, alpha in enumerate(ALPHAS):
            share = float((found[:, 0, index] > 0).mean())
            rows.append({"world": world.name, "alpha": alpha, "false alarms": share, "streams": streams})
            print(f"{world.name:<28}{f'ever at most {alpha:.0%}':>22}{share:>12.2%}", flush=True)
        for index, run_length in enumerate(RUN_LENGTHS):
            at = found[:, 1, index]
            seen = np.where(at > 0, at, length)
            mean, least = float(seen.sum() / max(int((at > 0).sum()), 1)), float(seen.mean())
            rows.append({"world": world.name, "run length": run_length, "mean": mean, "least": least})
            print(f"{world.name:<28}{f'at least {run_length:,}':>22}{mean:>12,.0f}   (up to {length:,}: {least:,.0f})")
        some = min(ALONE, streams)
        alone = np.asarray(list(pool.map(partial(_alone, world, length), range(some))))
        same = bool((alone == found[:some]).all())
        rows.append({"world": world.name, "streams alone": some, "the same": same})
        print(f"{world.name:<28}{some} streams, one at a time: {'the same' if same else 'OTHERS'}", flush=True)
    return rows


def _threshold(world: World, logs: Floats, run_length: float, seed: int) -> float:
    """The threshold at which the CUSUM has the run length, by one long stream that starts again after each alert."""
    rng = np.random.default_rng(seed)
    groups, values = world.draw(rng, int(400 * run_length))
    steps = logs[groups, values.astype(int)]

    def length(threshold: float) -> float:
        count, start = 0, 0
        while start < len(steps):
            part = cusum(steps[start : start + int(20 * run_length)])
            over = np.flatnonzero(part >= threshold)
            if not len(over):
                break
            count, start = count + 1, start + int(over[0]) + 1
        return start / count if count else np.inf

    low, high = 0.0, float(np.log(run_length)) + 2.0
    for _ in range(12):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if length(middle) < run_length else (low, middle)
    return high


def _delays(world: World, after: Sequence[float], run_length: float, streams: int, seed: int) -> tuple[float, float]:
    """The mean samples from the change to the alert of the CUSUM and ours, where neither came before."""
    logs = np.log([[(1 - q) / (1 - p), q / p] for p, q in zip(world.rates, after, strict=True)])
    threshold = _threshold(world, logs, run_length, seed)
    drawn = []
    for stream in range(streams):
        rng = np.random.default_rng([seed, stream])
        parts = [world.draw(rng, BEFORE), world.draw(rng, int(12 * run_length), after)]
        groups, values = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
        drawn.append((groups, values))
    over = [cusum(logs[groups, values.astype(int)]) >= threshold for groups, values in drawn]
    theirs = np.asarray([int(each.argmax()) + 1 if each.any() else 0 for each in over])
    ours = world.alerts(drawn, [[float(np.log(run_length))]] * 2)[:, 1, 0]
    late = [each[each > BEFORE] - BEFORE for each in (theirs, ours)]
    return float(late[0].mean()), float(late[1].mean())


def _delay_row(run_length: float, streams: int, item: tuple[World, tuple[float, ...]]) -> dict[str, Any]:
    world, after = item
    theirs, ours = _delays(world, after, run_length, streams, 11)
    return {"world": world.name, "before": world.rates, "after": after, "CUSUM": theirs, "watch": ours}


def delay(streams: int, pool: ProcessPoolExecutor) -> list[dict[str, Any]]:
    """How soon a change is seen."""
    rates = [(rate_world(p, q), (q,)) for p, q in RATES]
    ratios = [(ratio_world(a, b, share), (c, d)) for a, b, c, d, share in RATIOS]
    rows: list[dict[str, Any]] = []
    for name, items in (("rates", rates), ("ratios", ratios)):
        part = list(pool.map(partial(_delay_row, 1_000.0, streams), items))
        print(f"{name:<30}{'before':>14}{'after':>14}{'CUSUM':>9}{'watch':>9}{'ratio':>8}")
        for row in part:
            ratio = row["watch"] / row["CUSUM"]
            print(
                f"{row['world']:<30}{row['before']!s:>14}{row['after']!s:>14}{row['CUSUM']:>9.1f}{row['watch']:>9.1f}"
                f"{ratio:>8.3f}"
            )
        mean = float(np.exp(np.mean([np.log(row["watch"] / row["CUSUM"]) for row in part])))
        print(f"geometric mean of {name}: {mean:.3f}", flush=True)
        rows += [*part, {"world": f"geometric mean of {name}", "ratio": mean}]
    return rows


def speed() -> list[dict[str, Any]]:
    """Samples a second in batches of 1,000, one sample at a time, and memory over ten million."""
    rng = np.random.default_rng(1)

    def people(rows: int) -> dict[str, Any]:
        sex = rng.choice(["F", "M"], rows, p=[0.3, 0.7])
        return {"sex": sex, "hired": rng.random(rows) < np.where(sex == "F", 0.28, 0.3)}

    rows = []
    for text in ("P[hired] >= 0.25", "P[hired | sex == 'F'] >= 0.8 * P[hired | sex == 'M']"):
        watch = iso.Watch(text, alpha=0.01)
        tables = [people(1_000) for _ in range(100)]
        for table in tables[:50]:
            watch.update(table)
        began = time.process_time()
        for table in tables[50:]:
            watch.update(table)
        batches = 50_000 / (time.process_time() - began)
        singles = [{name: column[row] for name, column in tables[0].items()} for row in range(500)]
        began = time.process_time()
        for single in singles:
            watch.update(single)
        one = (time.process_time() - began) / len(singles)
        middle = 0
        for count in range(1_000):
            if count == 100:
                middle = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            watch.update({name: np.tile(column, 10) for name, column in tables[count % 100].items()})
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - middle) / 1024
        rows.append({"property": text, "a second": batches, "single ms": 1e3 * one, "grown MiB": grown})
        print(
            f"{text}: {batches:,.0f} samples a second, {1e3 * one:.2f} ms for one; memory grew by {grown:.1f} MiB from "
            f"the 1 millionth to the 10 millionth; state {len(watch.state) / 1024:.0f} KiB",
            flush=True,
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=1_000)
    parser.add_argument("--length", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", nargs="*", choices=("alerts", "delay", "peers", "speed"))
    parser.add_argument("--worlds", nargs="*", choices=[world.name for world in WORLDS], help="for alerts")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/watch.json"))
    parser.add_argument("--chart", type=Path, help="for the alerts of peers, such as docs/images/watch-peers.svg")
    arguments = parser.parse_args()
    wanted = arguments.only or ("alerts", "delay", "peers", "speed")
    found: dict[str, Any] = {}
    with ProcessPoolExecutor(arguments.workers, get_context("spawn")) as pool:
        if "alerts" in wanted:
            found["alerts"] = alerts(arguments.streams, arguments.length, pool, arguments.worlds)
        if "delay" in wanted:
            found["delay"] = delay(min(arguments.streams, 400), pool)
    if "peers" in wanted:
        found["peers"] = peers(min(arguments.streams, 1_000), arguments.length)
        if arguments.chart is not None:
            chart(found["peers"]).save(str(arguments.chart))
    if "speed" in wanted:
        found["speed"] = speed()
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(found, indent=1) + "\n")
    sys.exit(_broken(found))


def _broken(found: dict[str, Any]) -> int:
    """1 where a promise was not kept, beyond what chance explains; the worlds are said, so that one can look."""
    for row in found.get("alerts", ()):
        if "alpha" in row:
            alpha = row["alpha"]
            if row["false alarms"] > alpha + 4.0 * np.sqrt(alpha * (1.0 - alpha) / row["streams"]):
                return 1
        if not row.get("the same", True):
            return 1
        if "run length" in row and row["mean"] < 0.9 * row["run length"]:
            return 1
    return 0


if __name__ == "__main__":
    main()
