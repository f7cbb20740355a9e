"""What surrounds an assertion: what a test runner says to every :func:`assert_holds` inside of one test.

Nothing heavy is imported here, because a test runner loads it for every suite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from isonomia.records.verdict import Verdict

__all__ = ["SETTINGS", "UNDECIDED", "Circumstances", "amid", "circumstances"]

UNDECIDED = ("fail", "pass", "skip")
"""What may become of a test whose property is undecided."""

SETTINGS = ("delta", "budget", "seed", "looks", "undecided")
"""What a test may say once for all of its assertions."""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What holds for every assertion of one test.

    Attributes
    ----------
    settings
        Values for those of ``SETTINGS`` that an assertion does not state itself.
    records
        The folder in which counterexamples are kept for the next time; ``None`` keeps none.
    skip
        Ends the test as skipped, for a reason; ``None`` where nobody can.
    tell
        Who is told every verdict, and why known counterexamples could not be read or written, where that was so.
    repeat
        Gives the command that repeats the test with a seed; ``None`` where there is none.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    records: Path | None = None
    skip: Callable[[str], NoReturn] | None = None
    tell: Callable[[Verdict, str | None], None] = lambda _, __: None
    repeat: Callable[[int], str] | None = None


_stack = [Circumstances()]
# A list of the process and no context variable: threads that a test starts are part of the test.


def circumstances() -> Circumstances:
    """Those of the test that is running; without defaults, records and skipping where none is."""
    return _stack[-1]


@contextmanager
def amid(given: Circumstances) -> Iterator[None]:
    """Let circumstances hold for a while."""
    _stack.append(given)
    try:
        yield
    finally:
        _stack.remove(given)
