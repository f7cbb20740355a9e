"""The context of an assertion: what a test runner sets for every :func:`assert_holds` inside one test.

Nothing heavy is imported here, because a test runner loads this module for every suite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from isonomia.records.verdict import Verdict

UNDECIDED = ("fail", "pass", "skip")
"""The possible outcomes of a test whose property is undecided."""

SETTINGS = ("delta", "budget", "seed", "looks", "undecided")
"""What a test may set once for all of its assertions."""


@dataclass(frozen=True, slots=True)
class TestContext:
    """What holds for every assertion of one test.

    Attributes
    ----------
    settings
        Values for those of ``SETTINGS`` that an assertion does not state itself.
    records
        The folder in which counterexamples are kept for the next time; ``None`` keeps none.
    skip
        Ends the test as skipped, with a reason; ``None`` where tests cannot be skipped.
    tell
        Receives every verdict, and the reason where known counterexamples could not be read or written.
    repeat
        Gives the command that repeats the test with a seed; ``None`` if no command can.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    records: Path | None = None
    skip: Callable[[str], NoReturn] | None = None
    tell: Callable[[Verdict, str | None], None] = lambda _, __: None
    repeat: Callable[[int], str] | None = None


_stack = [TestContext()]
# A process-wide list, not a context variable: threads that a test starts are part of the test.


def current_test() -> TestContext:
    """The context of the running test; outside of one, there are no settings, records or skipping."""
    return _stack[-1]


@contextmanager
def test_context(given: TestContext) -> Iterator[None]:
    """Apply a context inside a ``with`` block."""
    _stack.append(given)
    try:
        yield
    finally:
        _stack.remove(given)
