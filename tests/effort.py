"""Processor time in a unit that slow and busy machines share: that of a fixed piece of work, done right before."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

UNIT = 0.0065
"""Seconds that :func:`_fixed_work` takes on the machine on which the limits in the tests were set."""


@dataclass
class Effort:
    """What a block of code took, in seconds of the machine on which the limits were set."""

    seconds: float = 0.0


@contextmanager
def effort() -> Iterator[Effort]:
    """Measure the processor time of a block, relative to fixed work before and after it."""
    spent, before = Effort(), _fixed_work()
    began = time.process_time()
    yield spent
    took = time.process_time() - began
    spent.seconds = took * UNIT / max(before, _fixed_work())


def _fixed_work() -> float:
    began = time.process_time()
    total = 0
    for number in range(200_000):
        total += number % 7
    np.sort(np.random.default_rng(0).random(100_000))
    return time.process_time() - began
