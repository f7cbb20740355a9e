"""The time that a budget allows, and parts of a journal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from isonomia.records.journal import NamespacedJournal, NullJournal, TimeLimit


class Remembering:
    """A journal in memory."""

    def __init__(self) -> None:
        self.entries: dict[str, Any] = {}

    def recall(self, key: str) -> Any:
        return self.entries.get(key)

    def keep(self, key: str, make: Callable[[], Mapping[str, Any]]) -> None:
        self.entries[key] = make()


class Hand:
    """The hand of a clock, moved by the test."""

    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


def test_the_time_is_up_once_it_is_spent() -> None:
    hand = Hand()
    clock = TimeLimit(10.0, NullJournal(), "time", hand)
    hand.at += 9.0
    assert (clock.is_up(), clock.spent()) == (False, 9.0)
    hand.at += 1.0
    assert clock.is_up()


def test_who_goes_on_has_the_time_that_is_left_and_stops_where_the_writer_did() -> None:
    journal, hand = Remembering(), Hand()
    first = TimeLimit(10.0, journal, "time", hand)
    hand.at += 6.0
    assert not first.is_up()
    hand.at += 1000.0  # nobody was at work
    again = TimeLimit(10.0, journal, "time", hand)
    hand.at += 50.0  # slower than the first to come to the same point
    assert (again.is_up(), again.spent()) == (False, 6.0)
    hand.at += 4.0
    assert again.is_up()
    assert journal.entries == {"time 0": {"seconds": 6.0}, "time 1": {"seconds": 10.0}}
    late = TimeLimit(10.0, journal, "time", hand)
    assert [late.is_up(), late.is_up()] == [False, True]


def test_a_clock_without_a_limit_keeps_nothing() -> None:
    journal = Remembering()
    assert not TimeLimit(float("inf"), journal, "time").is_up()
    assert journal.entries == {}


def test_a_part_of_a_journal_has_keys_of_its_own() -> None:
    journal = Remembering()
    part = NamespacedJournal(journal, "known counterexamples")
    part.keep("answer 0", lambda: {"a": 1})
    assert journal.recall("answer 0") is None
    assert part.recall("answer 0") == {"a": 1}
    assert list(journal.entries) == ["answer 0 of known counterexamples"]
