"""The work of a sampled check: draw, ask, count, bet in every subgroup, and pool the bets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.principal.counting import Counts, count
from isonomia.audits.principal.findings import first_effect
from isonomia.audits.principal.pooling import Pool, named, pooled, weights_of
from isonomia.audits.principal.question import Question
from isonomia.audits.principal.subgroups import Key, refuse_many
from isonomia.audits.rates.asking import Asker
from isonomia.engine.journal import Entry
from isonomia.engine.loop import Plan
from isonomia.engine.seeds import batch_rng
from isonomia.evidence.allocation import split
from isonomia.evidence.fair_worlds import FairWorlds, FairWorldsState
from isonomia.evidence.shadows.wealth import State
from isonomia.populations.protocol import Source
from isonomia.records.verdict import Expression

__all__ = ["Progressed", "Reading", "Sampling"]

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Reading:
    """What one batch came to: how many people, and the counts of each subgroup that occurred."""

    people: int
    counts: Counts


@dataclass(frozen=True, slots=True, eq=False)
class Progressed:
    """What all batches so far came to.

    Attributes
    ----------
    keys
        The subgroups: those listed beforehand, then others in the order in which they turned up.
    evidence
        The bets, a row a subgroup.
    fair, assumed
        The pooled wealth against "fair in every subgroup", and against "the assumptions are true in every subgroup".
    """

    keys: tuple[Key, ...]
    evidence: FairWorldsState
    fair: Pool
    assumed: Pool


@dataclass(frozen=True)
class Sampling:
    """A sampled check, as the engine's loop needs it.

    Guarantee, under the assumptions that the verdict lists: the probability that the answer is ever the wrong one of
    *holds* and *violated* is at most ``delta``. *Violated* refutes "fair in every subgroup" by the pooled wealth;
    *holds* refutes, for each subgroup and each direction, "unfair here" at the full ``delta``, and if the property is
    false one of these is true. Subgroups are named one by one by :func:`~isonomia.audits.principal.pooling.named`.

    Attributes
    ----------
    question, source, streams, asker
        What is asked, of people drawn from where and in how many streams, answered by which model.
    worlds
        The bets.
    listed, closed
        The subgroups known beforehand, and whether no others can turn up.
    seed
        The seed of all randomness.
    """

    question: Question
    source: Source
    streams: int
    asker: Asker | None
    worlds: FairWorlds
    listed: tuple[Key, ...]
    closed: bool
    seed: int

    @cached_property
    def need(self) -> float:
        """The log-wealth that refutes."""
        return self.worlds.need

    def begin(self) -> Progressed:
        """Nothing seen."""
        return Progressed(self.listed, self.worlds.begin(len(self.listed)), Pool(), Pool())

    def measure(self, plan: Plan) -> Reading:
        """Draw one batch from each stream, ask the model about it, and count."""
        people, counts = 0, Counts()
        sizes = split(plan.n, np.asarray(plan.shares), plan.start)
        for stream, n in enumerate(sizes.tolist()):
            table = self.source.batch(plan.start, n, batch_rng(self.seed, plan.index, stream), stream) if n else None
            if table is not None and table.rows:
                people += table.rows
                for key, seen in count(self.question, table, self.asker).items():
                    counts[key] = counts[key] + seen if key in counts else seen
        return Reading(people, counts)

    def pack(self, reading: Reading) -> Entry:
        """The counts, subgroup by subgroup."""
        return {
            "people": reading.people,
            "counts": [[list(key), seen.tolist()] for key, seen in reading.counts.items()],
        }

    def unpack(self, entry: Entry) -> Reading:
        """The counts again."""
        counts = Counts({tuple(key): np.asarray(seen, dtype=float) for key, seen in entry["counts"]})
        return Reading(entry["people"], counts)

    def absorb(self, state: Progressed, reading: Reading) -> Progressed:
        """Make room for subgroups that are new, let every subgroup's bets settle, and pool them."""
        new = [key for key in reading.counts if key not in state.keys]
        keys = (*state.keys, *new)
        refuse_many(len(keys), self.question.given)
        before = _joined(state.evidence, self.worlds.begin(len(new))) if new else state.evidence
        none = np.zeros((self.question.shape.attributes, self.question.shape.cells))
        evidence = self.worlds.step(before, np.stack([reading.counts.get(key, none) for key in keys]))
        weights = self.weights(len(keys))
        assumed = state.assumed
        if evidence.assumed is not None:
            assumed = pooled(assumed, evidence.assumed.log_wealth, weights)
        return Progressed(keys, evidence, pooled(state.fair, evidence.fair.log_wealth, weights), assumed)

    def weights(self, found: int) -> Floats:
        """The subgroups' shares of the pooled wealth."""
        return weights_of(len(self.listed), found, self.closed)

    def shares(self, state: Progressed) -> tuple[float, ...]:  # noqa: ARG002
        """The same for every stream."""
        return (1.0 / self.streams,) * self.streams

    def asked(self, reading: Reading) -> int:
        """How many people the batch had."""
        return reading.people

    def decided(self, state: Progressed) -> bool:
        """Whether there is an answer, or none that could mean anything."""
        return self.answer(state) is not None or self.contradicted(state)

    def answer(self, state: Progressed) -> bool | None:
        """``True`` for holds, ``False`` for violated, ``None`` where it is open or the assumptions are refuted."""
        holds = len(state.keys) > 0 and bool(self.worlds.holds(state.evidence).all())
        violated = state.fair.peak >= self.need
        return None if holds == violated or self.contradicted(state) else holds

    def contradicted(self, state: Progressed) -> bool:
        """Whether the property's own assumptions are refuted."""
        return state.assumed.peak >= self.need

    def unfair(self, state: Progressed) -> Booleans:
        """The subgroups that are named as violating; none before the answer is *violated*."""
        if self.answer(state) is not False:
            return np.zeros(len(state.keys), dtype=bool)
        return named(state.evidence.fair.peak, self.weights(len(state.keys)), self.worlds.delta, together=True)

    def fair(self, state: Progressed) -> Booleans:
        """The subgroups that are named as fair: all where the answer is *holds*, else those that stand out."""
        if self.answer(state) is True:
            return np.ones(len(state.keys), dtype=bool)
        if self.worlds.unfair is None or self.contradicted(state):
            return np.zeros(len(state.keys), dtype=bool)
        return named(self.for_fairness(state), self.weights(len(state.keys)), self.worlds.delta)

    def for_fairness(self, state: Progressed) -> Floats:
        """For each subgroup the least log-wealth against a direction of unfairness, 0 without a margin."""
        if self.worlds.unfair is None:
            return np.zeros(len(state.keys))
        pieces = [piece.peak for piece in state.evidence.unfair]
        return np.asarray(np.min([np.full(len(state.keys), self.need + 50.0), *pieces], axis=0))

    def share(self, state: Progressed) -> float:
        """How far the nearer answer has come."""
        fairness = self.for_fairness(state).min(initial=self.need) if self.worlds.unfair is not None else 0.0
        return float(np.clip(max(state.fair.peak, fairness) / self.need, 0.0, 1.0))

    def closing_in(self, state: Progressed) -> str:
        """How strong the evidence against fairness is, of what is needed."""
        return f"against fairness {state.fair.peak:.1f} of {self.need:.1f} nats"

    def compared(self, state: Progressed) -> Expression | None:
        """What is known of the first effect in the first subgroup."""
        if not state.keys:
            return None
        return first_effect(self.question, state.keys[0], state.evidence.fair.tally[0], self.worlds.delta)


def _joined(first: FairWorldsState, second: FairWorldsState) -> FairWorldsState:
    """The same bets with the rows of both."""
    assumed = None if first.assumed is None or second.assumed is None else _rows(first.assumed, second.assumed)
    unfair = tuple(_rows(*pair) for pair in zip(first.unfair, second.unfair, strict=True))
    return FairWorldsState(_rows(first.fair, second.fair), unfair, assumed)


def _rows(first: State, second: State) -> State:
    return State(
        np.concatenate([first.log_wealth, second.log_wealth]),
        np.concatenate([first.peak, second.peak]),
        np.concatenate([first.tally, second.tally]),
    )
