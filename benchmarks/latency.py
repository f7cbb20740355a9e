"""Wrong answers that take longer: ``python -m benchmarks.latency [--runs 2000]``.

A clock of its own says when each answer is there; nothing sleeps. What schedules real requests is run as it is:

* *a service*: :func:`isonomia.models.http.in_parallel`, by which ``HttpModel`` and ``ChatModel`` send, with threads
  that wait for their turn; the rows of a check come in the batches of its schedule;
* *a task*: :class:`isonomia.StopEarly` for inspect_ai, told of each answer as it comes.

Both say which answers each look is about. The bets of a check are then made on these, for all runs together. The truth
is on the boundary of the claim, in each direction, so every decision against it is an error. A third column has the
same bets on answers in the order in which they came, as if either used that: it must err far too often.
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event, RLock
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import isonomia as iso
from isonomia.engine.loop import Schedule
from isonomia.evidence.bet_evidence import bets_for
from isonomia.evidence.bets import begin, step
from isonomia.models.http import in_parallel
from isonomia.spec.property import parse
from isonomia.spec.tree import leaves_of

DELTA = 0.05
Answers = NDArray[np.bool_]


@dataclass(frozen=True)
class World:
    """How often an answer is right, how many are asked, how many at once, and how much longer a wrong one takes."""

    rate: float
    questions: int
    at_once: int
    slower: float

    def right(self, run: int) -> Answers:
        """The answers of one run, in the order of the questions."""
        return np.random.default_rng(run).random(self.questions) < self.rate

    def seconds(self, run: int, right: Answers) -> list[float]:
        """How long each takes; no two the same."""
        spread = np.random.default_rng([run, 1]).uniform(0.9, 1.1, len(right))
        return list((spread * np.where(right, 1.0, self.slower)).tolist())


WORLDS = [World(0.7, 60, 40, 30.0), World(0.7, 60, 8, 30.0), World(0.9, 60, 40, 5.0), World(0.5, 60, 20, 30.0)]


@dataclass
class Clock:
    """Lets threads end one by one, in the order of a clock that nobody waits for.

    Whoever ends next is known once as many run as can: then time goes on to the first end among them.
    """

    seconds: list[float]
    at_once: int
    left: int
    now: float = 0.0
    running: list[tuple[float, int, Event]] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    lock: RLock = field(default_factory=RLock)

    def request(self, question: int, stop: Event) -> int:
        """Ask a question, and return when its answer is there."""
        del stop
        done = Event()
        with self.lock:
            heapq.heappush(self.running, (self.now + self.seconds[question], question, done))
            self._go_on()
        done.wait()
        with self.lock:
            self.now, ended, _ = heapq.heappop(self.running)
            assert ended == question, "one ends at a time"
            self.left -= 1
            self.ended.append(question)
            self._go_on()
        return question

    def _go_on(self) -> None:
        if self.running and len(self.running) == min(self.at_once, self.left):
            self.running[0][2].set()


def service(world: World, run: int) -> tuple[Answers, Answers]:
    """The answers as a check uses them, and as they came where all were asked together."""
    right, used, start = world.right(run), list[int](), 0
    seconds = world.seconds(run, right)
    for size in Schedule().along((), whole=True).sizes():
        part = list(range(start, min(start + size, world.questions)))
        if not part:
            break
        used += in_parallel(Clock(seconds, world.at_once, len(part)).request, part, world.at_once)
        start += size
    clock = Clock(seconds, world.at_once, world.questions)
    in_parallel(clock.request, list(range(world.questions)), world.at_once)
    return right[used], right[clock.ended]


class Looks(iso.StopEarly):
    """Says which answers each look is about, and decides nothing."""

    def _look(self, samples: list[dict[str, Any]]) -> None:
        self.used = [each["scores"]["match"]["value"] == "C" for each in samples]


def task(world: World, run: int) -> tuple[Answers, Answers]:
    """The answers as ``StopEarly`` uses them, and as they came."""
    right = world.right(run)
    seconds, stop = world.seconds(run, right), Looks(f"P[correct] >= {world.rate}", delta=DELTA)
    came = list[int]()

    async def whole() -> None:
        dataset: list[Any] = [SimpleNamespace(id=n, target="4", metadata={}) for n in range(world.questions)]
        await stop.start_task(SimpleNamespace(dataset=SimpleNamespace(shuffled=True)), dataset, 1)
        waiting, now, running = list(range(world.questions))[::-1], 0.0, list[tuple[float, int]]()
        while waiting or running:
            while waiting and len(running) < world.at_once:
                question = waiting.pop()
                heapq.heappush(running, (now + seconds[question], question))
            now, question = heapq.heappop(running)
            came.append(question)
            score: Any = SimpleNamespace(value="C" if right[question] else "I", answer=None)
            await stop.complete_sample(question, 1, {"match": SimpleNamespace(score=score)})
        await stop.complete_task()

    with ThreadPoolExecutor(1) as thread:  # a loop of its own, whatever runs in this thread
        thread.submit(lambda: asyncio.run(whole())).result()
    return np.asarray(stop.used), right[came]


def errors(claim: str, answers: NDArray[np.bool_]) -> float:
    """How often the bets of a check refute a claim at any look, over runs of answers in the order of their use."""
    formula = parse(claim).formula
    evidence = bets_for(formula, dict.fromkeys(leaves_of(formula), (0.0, 1.0)), (None,), DELTA)
    assert evidence is not None
    (test,) = evidence.in_favour
    state, start = begin(test.unsliced, len(answers)), 0
    most = np.zeros(len(answers))
    for size in Schedule().along((), whole=True).sizes():
        part = answers[:, start : start + size]
        if part.shape[1] < size:
            break
        state, start = (
            step(test.unsliced, state, np.stack([(~part).sum(axis=1), part.sum(axis=1)], -1)[:, None]),
            start + size,
        )
        most = np.maximum(most, state.log_wealth)
    return float((most >= np.log(1.0 / DELTA)).mean())


def measured(world: World, runs: int) -> dict[str, float]:
    """How often each way of using answers shows more, or less, than the true rate."""
    asked = {"service": [service(world, run) for run in range(runs)], "task": [task(world, run) for run in range(runs)]}
    found = {}
    for name, pairs in asked.items():
        for kind, answers in zip((name, f"{name}, as they come"), map(np.stack, zip(*pairs, strict=True)), strict=True):
            both = [errors(f"P[correct] {sign} {world.rate}", answers) for sign in ("<=", ">=")]
            found[f"{kind}: more"], found[f"{kind}: less"] = both
    return found


def main() -> None:
    """Print the errors of every world."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    runs = parser.parse_args().runs
    for world in WORLDS:
        print(world, flush=True)
        for name, rate in measured(world, runs).items():
            print(f"  {name:34}{rate:8.4f}", flush=True)


if __name__ == "__main__":
    main()
