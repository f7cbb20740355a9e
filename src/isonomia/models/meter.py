"""The meter of a check: every row that is sent to the model is counted here, and refused beyond the budget.

A check runs inside :func:`metering`. Whatever asks the model for it, be it a batch, an edge case, a step of shrinking
or a second question, reaches the model through :func:`send`, which charges the meter of the running check. Answers that
come from a cache, a journal or an earlier check are not sent and cost nothing. Beyond the budget the meter raises
:class:`BudgetSpentError`; the step that is running ends there and keeps what it has.

Worker processes have no meter of their own: the caller is charged when a table is sent to them
(:class:`~isonomia.models.parallel.Workers`), or when their results come back (:func:`count`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import accumulate
from math import inf
from types import MappingProxyType
from typing import Any

from isonomia.executors.pool import while_waiting
from isonomia.models.protocol import Answer, Model, PassesOn
from isonomia.populations.table import Table

FURTHER_SHARE, LEAST_FURTHER = 8, 40
"""With a budget of samples, shrinking and showing together send at most an eighth as many rows as the budget has
samples, or 40 where that is more: a number fixed in advance, so that workers and resumed runs show the same. With
second questions, of which there are at most 24 below 640 rows and 64 more for each quadrupling, that is at most a
quarter, or 64. It limits what is shown, never the answer."""


PATIENCE = 30.0
"""Seconds after the time is up in which workers that are at it may still answer; then they count as hung."""


class BudgetSpentError(BaseException):
    """The budget does not cover the next rows.

    It is no ``Exception``: code that turns every exception of a model into a failed case must not catch it.

    Attributes
    ----------
    reason
        ``"queries"``, ``"tokens"``, ``"USD"`` or ``"time"``.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(slots=True)
class QueryMeter:
    """What a check has queried its model, and what it may still ask.

    Guarantee: ``rows`` never exceeds ``queries``, and no rows are sent once ``seconds`` have passed, except for what is
    :meth:`untimed`: a first batch. A call that is running in this process is not cut off, so the time may be exceeded
    by one call; processes that have not answered :data:`PATIENCE` seconds after the time was up are ended.

    Attributes
    ----------
    queries, seconds
        The maximum number of rows, and the longest time.
    samples
        The maximum number of samples; where they are limited, :meth:`further` rows are, too.
    rows
        The rows sent so far, in this run and in the runs that it resumes.
    parent
        The meter of what this check is a part of, such as a draft; it is charged, too.
    promised
        How many more rows the batch that is running needs; second questions leave them alone.
    costs
        The most that may be spent besides rows: ``"tokens"``, ``"USD"``.
    spent
        What the model has reported of its answers: tokens, dollars, answers without a label.
    bounds
        The most that one row can have cost so far, from which the size of the next batch follows.
    """

    queries: float = inf
    seconds: float = inf
    samples: float = inf
    rows: int = 0
    promised: int = 0
    parent: QueryMeter | None = None
    costs: Mapping[str, float] = field(default_factory=dict)
    spent: dict[str, float] = field(default_factory=dict)
    bounds: dict[str, float] = field(default_factory=dict)
    _further: int = 0
    _again: int = 0
    _step: float = inf
    _untimed: int = 0
    _began: float = field(default_factory=lambda: time.monotonic())

    @property
    def left(self) -> float:
        """How many more rows may be sent; 0 once the time is up."""
        own = 0 if self.is_late else min(max(min(self.queries, self._step) - self.rows, 0), self.covered)
        return own if self.parent is None else min(own, self.parent.left)

    @property
    def is_late(self) -> bool:
        """Whether the time is up."""
        return not self._untimed and self._is_past(self.seconds)

    def _is_past(self, seconds: float) -> bool:
        return time.monotonic() - self._began >= seconds

    def refuse_overdue(self) -> None:
        """End the wait for workers that are long overdue.

        Raises
        ------
        BudgetSpentError
            Where the time was up :data:`PATIENCE` seconds ago.
        """
        if self._is_past(self.seconds + PATIENCE):
            raise BudgetSpentError("time")
        if self.parent is not None:
            self.parent.refuse_overdue()

    @property
    def limited(self) -> bool:
        """Whether the number of rows is limited, or what they cost."""
        return self.queries < inf or bool(self.costs)

    @property
    def covered(self) -> float:
        """How many more rows the costs allow if each is as expensive as the most expensive one so far."""
        bounds = [(limit - self.spent.get(unit, 0), self.bounds.get(unit, 0)) for unit, limit in self.costs.items()]
        return min((max(left, 0) // bound for left, bound in bounds if bound), default=inf)

    @property
    def unspent(self) -> dict[str, float]:
        """What is left of the costs."""
        return {unit: max(limit - self.spent.get(unit, 0.0), 0.0) for unit, limit in self.costs.items()}

    def covers(self, rows: int) -> bool:
        """Whether so many rows can be sent whatever they cost; rows four times as dear as any so far, with a price."""
        unknown = any(unit not in self.bounds for unit in self.costs)
        own = not unknown and self.left >= (4 * rows if self.costs else rows)
        return own and (self.parent is None or self.parent.covers(rows))

    def join(self, part: QueryMeter) -> None:
        """Add what was sent under another meter, at the same time as other rows; nothing is refused afterwards."""
        self.rows += part.rows
        self.promised = max(self.promised - part.rows, 0)
        for own, others in ((self.spent, part.spent), (self.bounds, part.bounds)):
            for what, amount in others.items():
                own[what] = own.get(what, 0) + amount if own is self.spent else max(own.get(what, 0), amount)
        if self.parent is not None:
            self.parent.join(part)

    @property
    def scarce(self) -> str:
        """What limits the rows most: ``"queries"``, ``"tokens"`` or ``"USD"``."""
        if self.covered > self.queries - self.rows:
            return "queries"
        known = [unit for unit in self.costs if self.bounds.get(unit)]
        return min(known, key=lambda unit: (self.costs[unit] - self.spent.get(unit, 0)) / self.bounds[unit])

    def reserve(self, rows: Sequence[Mapping[str, float]]) -> int:
        """How many of some rows the costs allow at once, given the most that each of them can cost; at least one.

        Raises
        ------
        BudgetSpentError
            Where even the first might cost more than is left.
        """
        covered = len(rows) if self.parent is None else self.parent.reserve(rows)
        for unit in rows[0]:
            each = [row[unit] for row in rows]
            self.bounds[unit] = max(self.bounds.get(unit, 0.0), *each)
            left = self.costs.get(unit, inf) - self.spent.get(unit, 0.0)
            covered = min(covered, sum(total <= left for total in accumulate(each)))
            if not covered:
                raise BudgetSpentError(unit)
        return covered

    def note(self, counts: Mapping[str, float]) -> None:
        """Add what was spent, or seen of the answers."""
        for what, amount in counts.items():
            self.spent[what] = self.spent.get(what, 0) + amount
        if self.parent is not None:
            self.parent.note(counts)

    @property
    def ledger(self) -> dict[str, dict[str, dict[str, float]]]:
        """What an entry of a journal keeps of it besides rows, for :meth:`was`."""
        return {"ledger": {"spent": dict(self.spent), "bounds": dict(self.bounds)}} if self.spent else {}

    def charge(self, rows: int) -> None:
        """Count rows before they are sent.

        Raises
        ------
        BudgetSpentError
            Where the budget does not cover them; nothing is counted then.
        """
        if self.rows + rows > min(self.queries, self._step):
            raise BudgetSpentError("queries")
        if self.is_late:
            raise BudgetSpentError("time")
        if self.parent is not None:
            self.parent.charge(rows)
        self.rows += rows
        self.promised = max(self.promised - rows, 0)

    @property
    def sent(self) -> tuple[int, int]:
        """The rows sent so far, and how many of them were second questions."""
        return self.rows, self._again

    @contextmanager
    def again(self, rows: int) -> Iterator[int]:
        """Ask second questions about at most ``rows`` rows; gives how many of them the budget covers.

        They do not count towards the limit of a step: after a resumption there are more of them.
        """
        promised, step, before = self.promised, self._step, self.rows
        self._step = inf
        try:
            yield int(min(max(self.left - promised, 0), rows))
        finally:
            sent = self.rows - before
            self.promised, self._step = promised, step + sent
            self._again += sent

    def was(self, rows: int, entry: Mapping[str, Any] = MappingProxyType({})) -> None:
        """Take over what a run that is resumed or replayed had sent by now, and what the entry says it had spent."""
        self.rows = max(self.rows, rows)
        ledger = entry.get("ledger", {})
        for own, name in ((self.spent, "spent"), (self.bounds, "bounds")):
            own |= {what: max(own.get(what, 0), amount) for what, amount in ledger.get(name, {}).items()}

    @contextmanager
    def untimed(self) -> Iterator[None]:
        """Send rows whatever the time."""
        self._untimed += 1
        try:
            yield
        finally:
            self._untimed -= 1

    @contextmanager
    def at_most(self, rows: float) -> Iterator[None]:
        """Lower the limit to this many more rows for one step."""
        before = self.queries
        self.queries = min(before, self.rows + rows)
        try:
            yield
        finally:
            self.queries = before

    @contextmanager
    def step(self, rows: float) -> Iterator[None]:
        """Lower the limit to this many more rows for one step, second questions aside."""
        before, again = self._step, self._again
        self._step = min(before, self.rows + rows)
        try:
            yield
        finally:
            self._step = before + self._again - again

    @contextmanager
    def further(self, rows: float = inf) -> Iterator[None]:
        """Send rows that are not samples: at most ``rows``, and where samples are limited, the stated share of them."""
        share = max(LEAST_FURTHER, self.samples / FURTHER_SHARE) - self._further
        began, again = self.rows, self._again
        try:
            with self.step(min(rows, share)):
                yield
        finally:
            self._further += self.rows - began - (self._again - again)


_CURRENT: ContextVar[QueryMeter | None] = ContextVar("meter", default=None)
_TIMING: ContextVar[QueryMeter | None] = ContextVar("timing", default=None)
"""The meter whose time counts while workers are waited for, also where rows are not charged."""


def current_meter() -> QueryMeter:
    """The meter of the running check; one without limits where no check is running."""
    return _CURRENT.get() or QueryMeter()


@contextmanager
def metering(meter: QueryMeter | None) -> Iterator[QueryMeter]:
    """Charge a meter for every row that is sent inside; ``None`` for a new one without limits."""
    if meter is not None:
        meter.parent = _CURRENT.get()
    meter = meter or QueryMeter()
    token, timing = _CURRENT.set(meter), _TIMING.set(meter)
    try:
        yield meter
    finally:
        _CURRENT.reset(token)
        _TIMING.reset(timing)


def _refuse_overdue() -> None:
    """End the wait for workers that are long overdue, if a check is running."""
    meter = _TIMING.get()
    if meter is not None:
        meter.refuse_overdue()


while_waiting(_refuse_overdue)


@contextmanager
def unmetered() -> Iterator[None]:
    """Charge nothing inside: these rows were charged when they were handed to a worker."""
    token = _CURRENT.set(None)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def charge(rows: int) -> None:
    """Charge the running check for rows, if there is one."""
    meter = _CURRENT.get()
    if meter is not None:
        meter.charge(rows)


def count(rows: int, again: int) -> None:
    """Count rows that workers have sent, ``again`` of them as second questions; they are not refused afterwards."""
    meter = _CURRENT.get()
    if meter is not None:
        with meter.again(again):
            meter.rows += again
        meter.rows += rows - again


def send(model: Model, table: Table, *, want_score: bool, want_prediction: bool) -> Answer:
    """Let a model answer. A wrapper passes the rows on by this function, so that they are charged once, where they end.

    Raises
    ------
    BudgetSpentError
        Where the budget of the running check does not cover the rows.
    """
    if not isinstance(model, PassesOn):
        charge(table.rows)
    return model.answer(table, want_score=want_score, want_prediction=want_prediction)
