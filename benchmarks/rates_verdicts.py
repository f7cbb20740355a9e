"""Verdicts on the rates of two groups, beside vfairness and fairaudit, which promise verdicts too.

vfairness takes the percentile interval of the smaller rate over the larger one, from 5,000 resamples of each group, and
says *fair*, *unfair* or *insufficient evidence* by the side of a threshold on which it lies. What that ratio needs of a
resample are the yes of the two groups, which are binomial; drawing these two instead of all rows gives the same
distribution, hundreds of times faster. ``benchmarks.rates_peers`` holds it against vfairness itself on one table.
fairaudit's flags, and vfairness's sequential test of equal rates, are its own.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import isonomia as iso
from benchmarks.peers.running import Absent, run_peer
from benchmarks.rates_peeking import DELTA, QUANTILES

__all__ = ["GUARANTEES", "Trials", "ratio_bootstrap", "verdicts"]

Floats = NDArray[np.float64]
Groups = dict[str, NDArray[np.int64]]

PEOPLE, THRESHOLD = 2_000, 0.8
EQUAL, BOUNDARY = (0.3, 0.3), (0.24, 0.3)
LOOKS = tuple(range(200, 3_001, 100))
"""After how many people a stream is looked at: 29 times."""
RESAMPLES = 5_000
"""What vfairness recommends and takes by default."""
FIRST, SECOND = "P[yes == 1 | group == 0]", "P[yes == 1 | group == 1]"
RATIO = f"{FIRST} / {SECOND} >= {THRESHOLD}"
SAME = f"{FIRST} >= {SECOND} and {SECOND} >= {FIRST}"

GUARANTEES = {
    "Isonomia": "wrong with probability at most delta, for any number of people, at one look or at all of them",
    "vfairness": "the side of a 95% bootstrap interval: approximate, for many people and one look",
    "fairaudit": "a false-discovery rate of its flags: asymptotic, for many people and one look",
}
"""The kind of guarantee that each tool gives for its verdicts, in one phrase."""


@dataclass(frozen=True, slots=True)
class Trials:
    """How many tables and streams are drawn, and how often one verdict is timed."""

    tables: int
    streams: int
    repetitions: int


def drawn(rates: tuple[float, float], people: int, seed: list[int]) -> Groups:
    """People in two groups, 0 and 1, of about the same size."""
    rng = np.random.default_rng(seed)
    group = (rng.random(people) < 0.5).astype(np.int64)
    return {"group": group, "yes": (rng.random(people) < np.asarray(rates)[group]).astype(np.int64)}


def counts(table: Groups, people: int) -> tuple[Floats, Floats]:
    """The yes and the sizes of both groups among the first people."""
    group, yes = table["group"][:people], table["yes"][:people]
    return np.bincount(group, yes, minlength=2), np.bincount(group, minlength=2).astype(float)


def ratio_bootstrap(yes: Floats, sizes: Floats, resamples: int, rng: np.random.Generator) -> tuple[float, float]:
    """The interval of vfairness: of the smaller rate over the larger one, each group drawn again so many times."""
    rates = rng.binomial(sizes.astype(int), yes / sizes, size=(resamples, 2)) / sizes
    rates = rates[rates.max(axis=1) > 0]
    low, high = np.quantile(rates.min(axis=1) / rates.max(axis=1), QUANTILES)
    return float(low), float(high)


def verdicts(pythons: dict[str, str | Absent], trials: Trials) -> dict[str, Any]:
    """Coverage where rates are equal, wrong answers under many looks, flags, and the time of one verdict."""
    found = {"people": PEOPLE, "looks": len(LOOKS), "guarantees": GUARANTEES}
    equal = [drawn(EQUAL, PEOPLE, [0, index]) for index in range(trials.tables)]
    apart = [drawn(BOUNDARY, PEOPLE, [1, index]) for index in range(trials.tables)]
    found["coverage"] = _coverage(equal)
    found["streams"] = _streams(trials.streams)
    found["flags"] = _flags(pythons["fairaudit"], equal, apart)
    found["sequential"] = _sequential(pythons["vfairness"], trials.streams)
    found["timed"] = _timed(pythons["vfairness"], apart[0], trials.repetitions)
    return found


def _checked(claim: str, table: Groups, looks: str, delta: float = DELTA) -> Any:
    return iso.check(claim, population=iso.Sample(table, order="file"), delta=delta, seed=0, looks=looks)


def _coverage(equal: list[Groups]) -> dict[str, Any]:
    """How often the interval of the ratio holds 1, where both rates are the same.

    Ours has half the risk for each end, so that both kinds promise to hold in 95% of all tables.
    """
    ours = theirs = 0
    rng = np.random.default_rng(0)
    for table in equal:
        low, high = _checked(RATIO, table, "once", DELTA / 2).interval
        ours += low <= 1.0 <= high
        low, high = ratio_bootstrap(*counts(table, PEOPLE), RESAMPLES, rng)
        theirs += low <= 1.0 <= high
    return {"tables": len(equal), "ours": ours, "vfairness": theirs}


def _streams(streams: int) -> dict[str, Any]:
    """How often the first answer to the true claim "the ratio is at least 0.8" was *violated*.

    Ours is one check in the order of the stream, which looks after every batch, more often than 29 times.
    """
    ours = theirs = 0
    rng = np.random.default_rng(1)
    for index in range(streams):
        stream = drawn(BOUNDARY, LOOKS[-1], [2, index])
        ours += _checked(RATIO, stream, "any").answer == "violated"
        for people in LOOKS:
            low, high = ratio_bootstrap(*counts(stream, people), RESAMPLES, rng)
            if low >= THRESHOLD or high < THRESHOLD:
                theirs += high < THRESHOLD
                break
    return {"streams": streams, "ours": ours, "vfairness": theirs}


def _flags(python: str | Absent, equal: list[Groups], apart: list[Groups]) -> dict[str, Any]:
    """In how many tables some group is flagged, where rates are equal and where they are 0.24 and 0.3."""
    found: dict[str, Any] = {"tables": len(equal)}
    for name, tables in (("equal", equal), ("apart", apart)):
        found[name] = {"ours": sum(_checked(SAME, table, "once").answer == "violated" for table in tables)}
        if not isinstance(python, Absent):
            job = {"tables": [_plain(table) for table in tables], "risk": DELTA, "tools": ["fairaudit"]}
            flagged = run_peer(python, "group_rates.py", job)["fairaudit"]
            found[name] |= {"one_sided": sum(flagged["upper"]), "two_sided": sum(flagged["interval"])}
            found["fairaudit_seconds"] = flagged["seconds"]
    return found


def _sequential(python: str | Absent, streams: int) -> dict[str, Any]:
    """How often vfairness's sequential test found a difference at some look, where rates are equal, and ours."""
    equal = [drawn(EQUAL, LOOKS[-1], [3, index]) for index in range(streams)]
    found = {"streams": streams, "ours": sum(_checked(SAME, stream, "any").answer == "violated" for stream in equal)}
    if not isinstance(python, Absent):
        job = {"tables": [_plain(stream) for stream in equal], "looks": LOOKS, "risk": DELTA}
        answers = run_peer(python, "group_rates.py", {**job, "tools": ["vfairness_sequential"]})
        found["vfairness"] = sum(answers["vfairness_sequential"]["differ"])
    return found


def _timed(python: str | Absent, table: Groups, repetitions: int) -> dict[str, Any]:
    """Processor seconds of one verdict for one look, and how far vfairness's interval is from the one by counts."""
    seconds = []
    for _ in range(repetitions + 1):  # once to warm up
        began = time.process_time()
        verdict = _checked(RATIO, table, "once")
        seconds.append(time.process_time() - began)
    found: dict[str, Any] = {"seconds": statistics.median(seconds[1:]), "answer": verdict.answer}
    if not isinstance(python, Absent):
        job = {**_plain(table), "seed": 0, "risk": DELTA, "threshold": THRESHOLD, "tools": ["vfairness"]}
        theirs = [run_peer(python, "group_rates.py", job)["vfairness"] for _ in range(repetitions)]
        low, high = theirs[0]["interval"]
        counted = ratio_bootstrap(*counts(table, PEOPLE), 100_000, np.random.default_rng(0))
        found["vfairness_answer"] = theirs[0]["verdict"]
        found["vfairness_seconds"] = statistics.median(run["seconds"] for run in theirs)
        found["times_faster"] = found["vfairness_seconds"] / found["seconds"]
        found["off_by_widths"] = max(abs(low - counted[0]), abs(high - counted[1])) / (high - low)
    return found


def _plain(table: Groups) -> dict[str, list[int]]:
    return {name: column.tolist() for name, column in table.items()}
