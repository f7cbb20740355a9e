"""Carrying out one check of an audit: what it comes to is written down, also where it could not be checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import TypeAlias

from isonomia.audits.audit_file.planned import Planned
from isonomia.audits.check import carry_out
from isonomia.audits.knowing import remember, with_known
from isonomia.audits.rates.request import Request
from isonomia.engine.observer import Observer, Progress
from isonomia.errors import ChangingModelError, IsonomiaError, RecordError
from isonomia.records.known import Known
from isonomia.records.store import Store
from isonomia.records.verdict import Verdict

__all__ = ["INTERRUPTED", "Carrier", "Failed", "Outcome"]

INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Failed:
    """A property that could not be checked: the kind of error, and what it says."""

    kind: str
    message: str


Outcome: TypeAlias = Verdict | Failed
"""What comes of a check."""


@dataclass(slots=True)
class Carrier:
    """Carries out the checks of a run, each when it is called with its number; lanes may call it side by side.

    An error that Isonomia raises on purpose belongs to the check and is written down. One of the store belongs to the
    whole run, since nothing can be kept, and is raised; so is anything unforeseen.

    Attributes
    ----------
    store, run, planned
        Where what is written; of which run; and all its checks.
    observe
        Who watches a check, by its number.
    known_first
        Whether counterexamples that earlier runs found are tried before anything else. They are kept in any case.
    stop
        When it is set, checks that run stop after the batch in flight.
    """

    store: Store
    run: str
    planned: Sequence[Planned]
    observe: Callable[[int], Observer]
    known_first: bool = False
    stop: Event = field(default_factory=Event)
    _spoilt: dict[int, str] = field(default_factory=dict, repr=False)

    def __call__(self, number: int) -> Outcome:
        """Carry out a check, and write down what came of it.

        Raises
        ------
        RecordError
            Where it cannot be written down.
        """
        pool = _pool(self.planned[number])
        try:
            self._refuse_spoilt(pool)
            verdict = self._verdict(number)
        except RecordError:
            raise
        except IsonomiaError as error:
            failed = Failed(type(error).__name__, str(error))
            changed = isinstance(error, ChangingModelError)
            if changed and pool is not None:
                self._spoilt.setdefault(pool, self.planned[number].name)
            # What a model said that changes its answers must not be gone on from.
            self.store.fail(self.run, number, failed.kind, failed.message, forget=changed)
            return failed
        if verdict.stopped != INTERRUPTED:
            self.store.conclude(self.run, number, verdict)
        return verdict

    def _verdict(self, number: int) -> Verdict:
        known, arranged = Known(self.store.folder), self.planned[number].arranged
        if self.known_first:
            arranged = with_known(arranged, known)
        journal = self.store.journal(self.run, number)
        try:
            watching = _Stoppable(self.observe(number), self.stop)
            verdict = carry_out(arranged.with_journal(journal), watching)
        finally:
            journal.close()
        # What it says of a store that cannot be written is left out: the record must follow from what was measured.
        remember(known, arranged, verdict)
        return verdict

    def _refuse_spoilt(self, pool: int | None) -> None:
        if pool in self._spoilt:
            raise ChangingModelError(
                f"the model changed its answers while {self._spoilt[pool]!r} was checked, with which this property "
                "shares them: nothing can be said about either. Mend the model, then begin a new run"
            )


@dataclass(frozen=True, slots=True)
class _Stoppable:
    """An observer that lets a check end as by Ctrl-C, which reaches the main thread only."""

    observer: Observer
    stop: Event

    def begin(self, text: str) -> None:
        self.observer.begin(text)

    def advance(self, progress: Progress) -> None:
        self.observer.advance(progress)
        if self.stop.is_set():
            raise KeyboardInterrupt

    def end(self) -> None:
        self.observer.end()


def _pool(each: Planned) -> int | None:
    request = each.arranged.request
    shared = request.sharing if isinstance(request, Request) else None
    return None if shared is None else id(shared)
