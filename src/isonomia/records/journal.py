"""Journals: what a check measured, kept so that it can be resumed, or repeated without the model.

Everything in a check is computed from its seed, except for what the population and the model say. Those steps are few:
the facts known about the population beforehand, and the reading of each batch. Each has a key, under which a journal
keeps its outcome. A check that finds an outcome in its journal takes it from there, so it continues exactly like the
check that wrote it; a check that finds every outcome needs neither population nor model.

:class:`TimeLimit` is for audits that watch the time budget themselves.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import isinf
from typing import Any, Protocol, TypeAlias

from isonomia.errors import DataError

Entry: TypeAlias = Mapping[str, Any]
"""The outcome of one step, as plain values that survive a round trip through JSON unchanged."""


BY_ROW = "by row"
"""The field of a batch with what each row said, from which two runs are paired. The store has it, no evidence file."""


class MissingEntryError(Exception):
    """A read-only journal has no such entry."""


class Journal(Protocol):
    """Keeps the outcomes of steps."""

    def recall(self, key: str) -> Entry | None:
        """The outcome that was stored under a key; ``None`` if there is no entry yet.

        Raises
        ------
        MissingEntryError
            If there is no entry, and the journal is read-only.
        """
        ...

    def keep(self, key: str, make: Callable[[], Entry]) -> None:
        """Keep an outcome durably: once this returns, it is not lost."""
        ...


@dataclass(frozen=True, slots=True)
class NullJournal:
    """A journal that keeps nothing."""

    def recall(self, key: str) -> Entry | None:  # noqa: ARG002
        """Nothing."""
        return None

    def keep(self, key: str, make: Callable[[], Entry]) -> None:
        """Do nothing; the outcome is not even made."""


@dataclass(frozen=True, slots=True)
class ReadOnlyJournal:
    """The journal of a finished check: nothing can be added."""

    entries: Mapping[str, Entry]

    def recall(self, key: str) -> Entry:
        """The outcome that was kept.

        Raises
        ------
        MissingEntryError
            If there is no entry.
        """
        if key not in self.entries:
            raise MissingEntryError(key)
        return self.entries[key]

    def keep(self, key: str, make: Callable[[], Entry]) -> None:  # noqa: ARG002
        """Refuse.

        Raises
        ------
        MissingEntryError
            Always.
        """
        raise MissingEntryError(key)


@dataclass(frozen=True, slots=True)
class NamespacedJournal:
    """A part of a journal with its own keys: the usual keys, followed by a purpose."""

    journal: Journal
    purpose: str

    def recall(self, key: str) -> Entry | None:
        """What was kept for this purpose."""
        return self.journal.recall(f"{key} of {self.purpose}")

    def keep(self, key: str, make: Callable[[], Entry]) -> None:
        """Keep it for this purpose."""
        self.journal.keep(f"{key} of {self.purpose}", make)


def once(journal: Journal, key: str, measure: Callable[[], Entry]) -> Entry:
    """The outcome of a step: recalled, or else measured and kept."""
    entry = journal.recall(key)
    if entry is not None:
        return entry
    measured = measure()
    journal.keep(key, lambda: measured)
    return measured


def recall_if_any(journal: Journal, key: str) -> Entry | None:
    """The outcome that was stored under a key; ``None`` if there is no entry, even if the journal is read-only."""
    try:
        return journal.recall(key)
    except MissingEntryError:
        return None


@dataclass(slots=True)
class TimeLimit:
    """Says whether the time is up; each answer is kept, so that a resumed or replayed run stops where the first did.

    Attributes
    ----------
    seconds
        The time allowed.
    journal, key
        Where answers are kept, and the prefix of their keys; a number follows.
    clock
        Where the time comes from.
    """

    seconds: float
    journal: Journal
    key: str
    clock: Callable[[], float] = lambda: time.monotonic()
    _looks: int = 0
    _began: float = field(init=False)

    def __post_init__(self) -> None:
        self._began = self.clock()

    def spent(self) -> float:
        """The time taken, in this run and in the runs that it resumes."""
        return self.clock() - self._began

    def is_up(self) -> bool:
        """Look at the clock; the next look has the next number."""
        if isinf(self.seconds):
            return False
        number, self._looks = self._looks, self._looks + 1
        told = float(once(self.journal, f"{self.key} {number}", lambda: {"seconds": self.spent()})["seconds"])
        self._began = self.clock() - told
        return told >= self.seconds


_WRITTEN = re.compile(r"-?[0-9]{1,4000}(/[0-9]{1,4000})?")
"""A fraction as Python writes it. ``Fraction`` also reads texts such as 1e999999999, and would compute all digits."""


def exact_fraction(text: Any) -> Fraction:
    """The exact fraction that was written to a record as text."""
    try:
        if isinstance(text, str) and _WRITTEN.fullmatch(text):
            return Fraction(text)
    except ZeroDivisionError:
        pass
    raise DataError(f"expected a fraction like 3/4 in the record, but got {text!r:.40}")
