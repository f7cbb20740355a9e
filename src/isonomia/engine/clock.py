"""The time that a budget allows, where an audit looks at the clock by itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from math import isinf

from isonomia.engine.journal import Journal, once

__all__ = ["Clock"]


@dataclass(slots=True)
class Clock:
    """Says whether the time is up; each answer is kept, so that who goes on from a journal stops where its writer did.

    Attributes
    ----------
    seconds
        The time that is allowed.
    journal, key
        Where answers are kept, and how their keys begin; a number follows.
    clock
        Where the time comes from.
    """

    seconds: float
    journal: Journal
    key: str
    clock: Callable[[], float] = time.monotonic
    _looks: int = 0
    _began: float = field(init=False)

    def __post_init__(self) -> None:
        self._began = self.clock()

    def spent(self) -> float:
        """The time taken, in this run and in those that it goes on from."""
        return self.clock() - self._began

    def is_up(self) -> bool:
        """Look at the clock; the next look has the next number."""
        if isinf(self.seconds):
            return False
        number, self._looks = self._looks, self._looks + 1
        told = float(once(self.journal, f"{self.key} {number}", lambda: {"seconds": self.spent()})["seconds"])
        self._began = self.clock() - told
        return told >= self.seconds
