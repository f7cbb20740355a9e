"""Sampled checks whose evidence keeps every batch: rows that belong together, and rows of which few have a label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from isonomia.audits.protocol import Check
from isonomia.audits.rates.question import RatesQuestion
from isonomia.engine.loop import Plan
from isonomia.evidence.exact import BoxIntervals, enclose
from isonomia.evidence.hypotheses import denominators_of
from isonomia.evidence.normal_form import Polynomial, compared, value_at
from isonomia.evidence.protocol import LeafTally
from isonomia.models.session import ModelSession
from isonomia.populations.protocol import Source
from isonomia.records.journal import Entry
from isonomia.records.verdict import Expression, LeafRecord
from isonomia.spec.property import Property
from isonomia.spec.text import to_text
from isonomia.spec.tree import Formula, Leaf, Quantity, leaves_of


class HistoryEvidence(Protocol):
    """Evidence that decides a claim from all batches so far, and can decide others from them.

    Its states have a ``history``, all batches; what a state or a batch is besides is its own affair.
    """

    @property
    def method(self) -> str:
        """How it is decided."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader should know of that."""

    def about(self, formula: Formula, delta: float) -> HistoryEvidence:
        """The same of another claim about these leaves, at another risk."""

    def begin(self) -> Any:
        """Nothing seen."""

    def step(self, state: Any, batch: Any) -> Any:
        """Take in one batch."""

    def looked(self, state: Any) -> Any:
        """The state after all that is looked at only occasionally was looked at."""

    def complete(self, state: Any) -> bool:
        """Whether the planned look has come; always so without one."""

    def decision(self, state: Any) -> bool | None:
        """The answer, if there is one."""

    def progress(self, state: Any) -> float:
        """How close it is, from 0 to 1."""

    def run(self, history: Sequence[Any]) -> bool | None:
        """The answer that some batches give."""

    def means(self, history: Sequence[Any]) -> dict[Leaf, float]:
        """The estimate of each leaf that was seen."""

    def interval(self, history: Sequence[Any], quantity: Quantity) -> tuple[float, float]:
        """The limits of a quantity."""


@dataclass(frozen=True, slots=True)
class HistoryReading:
    """The result of one batch: what is bet on, how many samples it is, and how many rows each leaf had.

    ``judged`` has sums over labels and the judge's answers for each leaf, and ``kept`` what is kept of each row; both
    may be empty.
    """

    batch: Any
    samples: int
    rows: tuple[int, ...]
    judged: tuple[tuple[float, ...], ...] = ()
    kept: Entry = field(default_factory=dict)


class Draws(Protocol):
    """How a batch is drawn and read."""

    @property
    def notes(self) -> tuple[str, ...]:
        """How the rows were used."""

    def measure(self, plan: Plan) -> HistoryReading:
        """Draw the rows of a batch, query the model about them, and count."""

    def pack(self, reading: HistoryReading) -> Entry:
        """The reading as plain values."""

    def unpack(self, entry: Entry) -> HistoryReading:
        """The reading again; what no rows can give is refused."""


@dataclass(frozen=True, slots=True)
class HistorySamplingState:
    """The evidence's own state, how many rows informed each leaf, and the sums of ``judged`` so far."""

    evidence: Any
    rows: tuple[int, ...]
    judged: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True)
class HistorySampling:
    """A sampled check whose evidence keeps every batch, as the engine's loop needs it."""

    check: Check[Property]
    question: RatesQuestion
    source: Source
    session: ModelSession | None
    evidence: HistoryEvidence
    draws: Draws
    vanished: tuple[Leaf, ...] = ()

    sizes = None
    ahead = None

    @property
    def notes(self) -> tuple[str, ...]:
        """How the rows were used."""
        return self.draws.notes

    @cached_property
    def _denominators(self) -> tuple[Polynomial, ...]:
        return denominators_of(self.question.formula, self.question.ranges)

    # ------------------------------------------------------------------------------------------------- the loop

    def begin(self) -> HistorySamplingState:
        """Nothing seen."""
        return HistorySamplingState(self.evidence.begin(), (0,) * len(self.question.leaves))

    def measure(self, plan: Plan) -> HistoryReading:
        """Draw and read one batch."""
        return self.draws.measure(plan)

    def pack(self, reading: HistoryReading) -> Entry:
        """The reading as plain values."""
        return self.draws.pack(reading)

    def unpack(self, entry: Entry) -> HistoryReading:
        """The reading again."""
        return self.draws.unpack(entry)

    def absorb(self, state: HistorySamplingState, reading: HistoryReading) -> HistorySamplingState:
        """Let the evidence take in the batch."""
        rows = tuple(before + new for before, new in zip(state.rows, reading.rows, strict=True))
        before = state.judged or ((0.0,) * 4,) * len(reading.judged)
        judged = tuple(tuple(map(sum, zip(*pair, strict=True))) for pair in zip(before, reading.judged, strict=True))
        return HistorySamplingState(self.evidence.step(state.evidence, reading.batch), rows, judged)

    def shares(self, state: HistorySamplingState) -> tuple[float, ...]:
        """One stream."""
        del state
        return (1.0,)

    def asked(self, reading: HistoryReading) -> int:
        """How many samples the batch had."""
        return reading.samples

    def decided(self, state: HistorySamplingState) -> bool:
        """Whether there is an answer, and the condition of ``stop`` is met; a planned look waits for its time."""
        if self.check.stop == "all" or self._said(state) is None:
            return False
        if not self.evidence.complete(state.evidence):
            return False
        if self.check.width is None:
            return True
        low, high = self.evidence.interval(state.evidence.history, next(compared(self.question.formula))[0])
        return high - low <= self.check.width

    def answer(self, state: HistorySamplingState) -> bool | None:
        """What the evidence says at the end; nothing is said about groups that were not seen, or of ``x / 0``."""
        return self._said(replace(state, evidence=self.evidence.looked(state.evidence)))

    def _said(self, state: HistorySamplingState) -> bool | None:
        answer = self.evidence.decision(state.evidence)
        observed = {leaf for leaf, rows in zip(self.question.leaves, state.rows, strict=True) if rows}
        return None if self.zero_denominators(state) or not observed.issuperset(self.vanished) else answer

    def share(self, state: HistorySamplingState) -> float:
        """How far the evidence has come."""
        return self.evidence.progress(state.evidence) if self.check.stop == "decided" else 0.0

    def progress_text(self, state: HistorySamplingState) -> str:
        """The estimate of the first compared quantity, and its threshold."""
        quantity, relation, threshold = next(compared(self.question.formula))
        estimate = self.knowledge(state).estimate(quantity)
        return f"{'unknown' if estimate is None else format(estimate, '.3g')} {relation} {threshold:.3g}?"

    def compared(self, state: HistorySamplingState) -> Expression | None:
        """Nothing along the way: these intervals take a second."""
        del state
        return None

    # ------------------------------------------------------------------------------------------------- the verdict

    def knowledge(self, state: HistorySamplingState) -> HistoryKnowledge:
        """The intervals of every leaf and every compared quantity."""
        return HistoryKnowledge(self.evidence, state.evidence.history, self.leaf_tallies(state))

    def leaf_tallies(self, state: HistorySamplingState) -> dict[Leaf, LeafTally]:
        """The rows of each leaf, and their mean."""
        means, tallies = self.evidence.means(state.evidence.history), {}
        for leaf, n in zip(self.question.leaves, state.rows, strict=True):
            low, high = self.question.ranges[leaf]
            share = (means[leaf] - low) / (high - low) if leaf in means else 0.0
            tallies[leaf] = LeafTally((low, high), (n * (1.0 - share), n * share))
        return tallies

    def by_group(
        self, state: HistorySamplingState, whole: bool | None, known: HistoryKnowledge
    ) -> list[tuple[bool | None, Expression]]:
        """Whether each comparison of each group holds, each at its part of the risk, and its interval."""
        comparisons = [comparison for claim in self.question.claims for comparison in claim.comparisons]
        answers: list[tuple[bool | None, Expression]] = []
        for comparison in comparisons:
            own = self.evidence.about(comparison, self.check.delta / len(comparisons))
            means = {leaf: tally.mean for leaf, tally in known.tallies.items()}
            zero = any(value_at(each, means) == 0 for each in denominators_of(comparison, self.question.ranges))
            answer = None if zero else True if whole else own.run(state.evidence.history)
            narrow = replace(known, evidence=own)
            answers += [(answer, narrow.expression(*item).agreeing(answer)) for item in compared(comparison)]
        return answers

    def zero_denominators(self, state: HistorySamplingState) -> tuple[Polynomial, ...]:
        """The denominators that no draw so far has shown to differ from zero."""
        if not self._denominators:
            return ()
        means = {leaf: tally.mean for leaf, tally in self.leaf_tallies(state).items()}
        return tuple(polynomial for polynomial in self._denominators if value_at(polynomial, means) == 0)


@dataclass(frozen=True, slots=True)
class HistoryKnowledge:
    """Estimates and intervals from all batches."""

    evidence: HistoryEvidence
    history: Sequence[Any]
    tallies: Mapping[Leaf, LeafTally]

    def leaf(self, leaf: Leaf) -> LeafRecord:
        """The record of one leaf."""
        tally, (low, high) = self.tallies[leaf], self.evidence.interval(self.history, leaf)
        n = round(tally.n)
        return LeafRecord(to_text(leaf), n, tally.mean if n else None, low, high)

    def expression(self, quantity: Quantity, relation: str, threshold: float) -> Expression:
        """The record of one compared quantity."""
        low, high = self.evidence.interval(self.history, quantity)
        return Expression(to_text(quantity), relation, threshold, self.estimate(quantity), low, high)

    def estimate(self, quantity: Quantity) -> float | None:
        """Its value at the estimates of its leaves; ``None`` where it has no value."""
        box = {
            leaf: BoxIntervals(np.asarray([tally.mean]), np.asarray([tally.mean]))
            for leaf, tally in self.tallies.items()
            if tally.n
        }
        value = float(enclose(quantity, box).low[0]) if set(leaves_of(quantity)) <= set(box) else np.nan
        return value if np.isfinite(value) else None
