"""Where wrong answers take longer, those that come first look better than the model is: order saves the verdict.

A task of inspect_ai is simulated with a clock of its own: so many questions are asked at once, right answers take a
second and wrong ones thirty. The claim is false, and all but true.
"""

from __future__ import annotations

import asyncio
import heapq
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
from simulation import most_errors

import isonomia as iso

TASKS, QUESTIONS, AT_ONCE = 6, 60, 40
CLAIM, TRUTH, DELTA = "P[correct] >= 0.7", 0.69, 0.05


def run(coroutine: Any) -> None:
    """Run a coroutine to its end in a thread, since another test may have left a loop running in this one."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, coroutine).result()


def task_of(right: list[bool]) -> tuple[iso.StopEarly, list[int]]:
    """A task up to its end, or to a decision; also the questions in the order in which they were answered."""
    stop = iso.StopEarly(CLAIM, delta=DELTA)
    dataset = [SimpleNamespace(id=n, target="4", metadata={}) for n in range(QUESTIONS)]
    run(stop.start_task(SimpleNamespace(dataset=SimpleNamespace(shuffled=True)), dataset, 1))  # type: ignore[arg-type]
    waiting = list(range(QUESTIONS))[::-1]
    running: list[tuple[float, int]] = []
    answered: list[int] = []
    now = 0.0
    while waiting or running:
        while waiting and len(running) < AT_ONCE:
            question = waiting.pop()
            heapq.heappush(running, (now + (1.0 if right[question] else 30.0), question))
        now, question = heapq.heappop(running)
        answered.append(question)
        score: Any = SimpleNamespace(score=SimpleNamespace(value="C" if right[question] else "I", answer=None))
        run(stop.complete_sample(question, 1, {"match": score}))
        if stop.verdict is not None and stop.verdict.answer != "undecided":
            break
    return stop, answered


def test_a_task_is_stopped_wrongly_with_at_most_the_risk_although_wrong_answers_come_late() -> None:
    wrong = wrong_by_arrival = 0
    for seed in range(TASKS):
        right = (np.random.default_rng(seed).random(QUESTIONS) < TRUTH).tolist()
        stop, answered = task_of(right)
        assert stop.verdict is not None
        wrong += stop.verdict.answer == "holds"
        if seed < 4:  # the same bets on the same answers, in the order in which they came
            arrived = iso.Sample({"correct": [int(right[question]) for question in answered]}, order="file")
            wrong_by_arrival += iso.check(CLAIM, population=arrived, delta=DELTA, seed=1).answer == "holds"
    assert wrong <= most_errors(TASKS, DELTA)
    assert wrong_by_arrival == 4
