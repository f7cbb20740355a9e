"""The loop with a journal: cut off anywhere and resumed, it ends as if nothing had happened."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count

import pytest

from isonomia.engine.loop import Outcome, Plan, Schedule, run
from isonomia.engine.parameters import Budget, NullObserver, batch_rng
from isonomia.errors import DataError
from isonomia.records.journal import Entry, MissingEntryError, NullJournal, ReadOnlyJournal, once
from raising import raises


@dataclass
class Remembering:
    """A journal in memory; what it holds has been through JSON, as in a store."""

    kept: dict[str, str] = field(default_factory=dict)
    closed: bool = False

    def recall(self, key: str) -> Entry | None:
        if key not in self.kept and self.closed:
            raise MissingEntryError(key)
        return json.loads(self.kept[key]) if key in self.kept else None

    def keep(self, key: str, make: Callable[[], Entry]) -> None:
        assert key not in self.kept, "kept twice"
        self.kept[key] = json.dumps(make())


@dataclass
class Walk:
    """Work whose answer depends on every draw in order."""

    killed_at: int = -1
    measured: int = 0

    def begin(self) -> int:
        return 1

    def measure(self, plan: Plan) -> tuple[int, int]:
        if plan.index == self.killed_at:
            raise MemoryError("killed")
        self.measured += 1
        return plan.n, int(batch_rng(3, plan.index, 0).integers(0, 1000))

    def pack(self, reading: tuple[int, int]) -> Entry:
        return {"asked": reading[0], "drawn": reading[1]}

    def unpack(self, entry: Entry) -> tuple[int, int]:
        return entry["asked"], entry["drawn"]

    def absorb(self, state: int, reading: tuple[int, int]) -> int:
        return (state * 31 + reading[1]) % 1_000_003

    def shares(self, state: int) -> tuple[float, ...]:  # noqa: ARG002
        return (1.0,)

    def asked(self, reading: tuple[int, int]) -> int:
        return reading[0]

    def decided(self, state: int) -> bool:
        return state % 97 == 0

    def share(self, state: int) -> float:
        return (state % 10) / 10  # so that batch sizes depend on what was seen

    def progress_text(self, state: int) -> str:
        return str(state)

    def compared(self, state: int) -> None:  # noqa: ARG002
        return None


def _run(
    work: Walk, journal: Remembering | NullJournal, budget: Budget | None = None, **options: object
) -> Outcome[int]:
    return run(work, Schedule(), budget or Budget(samples=50_000), NullObserver(), journal=journal, **options)  # type: ignore[arg-type]


def test_a_run_cut_off_at_any_batch_ends_as_the_undisturbed_one() -> None:
    undisturbed = _run(Walk(), NullJournal())
    assert undisturbed.reason == "decided"
    whole = Remembering()
    _run(Walk(), whole)
    batches = len(whole.kept)
    assert batches > 20
    for cut in range(batches):
        journal = Remembering()
        with pytest.raises(MemoryError):
            _run(Walk(killed_at=cut), journal)
        again = Walk()
        resumed = _run(again, journal)
        assert (resumed.state, resumed.samples, resumed.reason) == (
            undisturbed.state,
            undisturbed.samples,
            undisturbed.reason,
        )
        assert again.measured == batches - cut, "what was kept is not measured again"
        assert {key: json.loads(entry)["drawn"] for key, entry in journal.kept.items()} == {
            key: json.loads(entry)["drawn"] for key, entry in whole.kept.items()
        }


def test_a_journal_that_is_only_read_repeats_the_run_and_ends_where_it_ended() -> None:
    journal = Remembering()
    first = _run(Walk(), journal)
    journal.closed = True
    silent = Walk(killed_at=0)  # whoever measures is killed
    again = _run(silent, journal)
    assert (again.state, again.samples, again.reason) == (first.state, first.samples, first.reason)
    journal.kept.popitem()
    assert _run(silent, journal).reason == "interrupted"


def test_the_time_of_a_resumed_run_counts_from_its_first_beginning() -> None:
    def ticking() -> Callable[[], float]:
        ticks: Iterator[int] = count()
        return lambda: float(next(ticks))

    journal = Remembering()
    whole = _run(Walk(), journal, Budget(seconds=40), clock=ticking())
    assert whole.reason == "time"
    journal.closed = True
    replayed = _run(Walk(killed_at=0), journal, Budget(seconds=40), clock=ticking())
    assert (replayed.state, replayed.samples, replayed.reason) == (whole.state, whole.samples, "time")
    cut = Remembering(dict(list(journal.kept.items())[:10]))
    resumed = _run(Walk(), cut, Budget(seconds=40), clock=ticking())
    assert resumed.reason == "time"
    assert resumed.samples <= whole.samples, "the time before the cut counts as well"


def test_a_journal_of_another_check_is_refused() -> None:
    journal = Remembering()
    _run(Walk(), journal)
    key = "batch 7"
    journal.kept[key] = json.dumps(json.loads(journal.kept[key]) | {"n": 1})
    with raises(DataError, 8, 7, 1):
        _run(Walk(), journal)


def test_once_measures_once() -> None:
    journal, calls = Remembering(), []

    def measure() -> Entry:
        calls.append(1)
        return {"value": [1, 0.1, "text", None, True]}

    first, second = once(journal, "step", measure), once(journal, "step", measure)
    assert first == second == {"value": [1, 0.1, "text", None, True]}
    assert len(calls) == 1
    assert once(NullJournal(), "step", measure) == first
    assert len(calls) == 2


def test_a_journal_that_is_over_refuses_what_it_does_not_have() -> None:
    journal = ReadOnlyJournal({"step": {"value": 1}})
    assert once(journal, "step", dict) == {"value": 1}
    with pytest.raises(MissingEntryError):
        once(journal, "another", dict)
    with pytest.raises(MissingEntryError):
        journal.keep("another", dict)
