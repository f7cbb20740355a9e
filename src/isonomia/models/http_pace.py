"""When the next request may be sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from random import Random
from threading import Event, Lock
from time import monotonic
from typing import Any

__all__ = ["Pace", "retry_after"]

_LONGEST_STEP = 30.0


@dataclass(slots=True, eq=False)
class Pace:
    """A rate limit and the waits between attempts, shared by all threads that ask one service.

    Attributes
    ----------
    rate
        The most requests a second, each attempt counted; ``None`` for no limit.
    first_wait
        Roughly how long to wait after the first failure, in seconds; it doubles with each further one, up to 30.
    """

    rate: float | None
    first_wait: float
    _free_at: float = 0.0
    _lock: Any = field(default_factory=Lock, repr=False)
    _random: Random = field(default_factory=Random, repr=False)

    def wait_for_turn(self, stop: Event) -> None:
        """Wait until a request may be sent, and take that turn; or until it is not needed any more."""
        with self._lock:
            now = monotonic()
            turn = max(now, self._free_at)
            self._free_at = turn + (1.0 / self.rate if self.rate else 0.0)
        if turn > now:
            stop.wait(turn - now)

    def hold(self, seconds: float) -> None:
        """Let nobody send anything for some time: the service asked for that."""
        with self._lock:
            self._free_at = max(self._free_at, monotonic() + seconds)

    def back_off(self, failures: int, stop: Event) -> None:
        """Wait after so many failures; by a random share, so that many clients do not come back together."""
        longest = min(_LONGEST_STEP, self.first_wait * 2.0 ** (failures - 1))
        stop.wait(longest * self._random.uniform(0.5, 1.0))


def retry_after(value: str | None) -> float | None:
    """The seconds that a ``Retry-After`` header asks for, written as a number or as a date; ``None`` without one."""
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
