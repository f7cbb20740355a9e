"""A limit of time for computing what a stranger wrote."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from isonomia.errors import RecordError

__all__ = ["PATIENCE", "within"]

PATIENCE = 120.0
"""Seconds that computing one property of a record may take, unless somebody says otherwise: most take some
milliseconds."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """End what is done inside where it takes longer.

    Only the main thread of a process can be interrupted, and not on Windows: elsewhere there is no limit.

    Raises
    ------
    RecordError
        When the time is up.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_: int, __: FrameType | None) -> NoReturn:
        raise RecordError(
            f"computing it took more than {seconds:g} seconds, which records seldom need. If you trust whoever made "
            "it, allow more with --seconds"
        )

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
