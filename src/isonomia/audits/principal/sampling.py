"""The sampled check of principal fairness: draw, query the model, count, bet in every subgroup, and pool the bets.

One answer is given over many subgroups, also where subgroups appear late. Everything is conditional on which subgroup
and which attribute value each draw belongs to: given those, the wealth of each subgroup against "fair here" is a
supermartingale that starts at 1, and those of different subgroups are independent. So weights may depend on the
subgroups' order of appearance, but a weight once given must not change: with a plain mean, a subgroup that appears
late with its wealth of 1 would raise the mean of those that have lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from isonomia.audits.principal.findings import first_effect
from isonomia.audits.principal.question import Key, PrincipalQuestion, refuse_many, sorted_into
from isonomia.engine.lookahead import BatchGroup
from isonomia.engine.loop import Plan
from isonomia.engine.parameters import batch_rng
from isonomia.evidence.bets import Wealth
from isonomia.evidence.fair_worlds import FairWorlds, FairWorldsState
from isonomia.models.session import ModelSession
from isonomia.populations.protocol import Source
from isonomia.populations.table import Table
from isonomia.records.journal import Entry
from isonomia.records.verdict import Expression

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]


Counts: TypeAlias = dict[Key, NDArray[np.float64]]
"""For each subgroup, how many people fell into each cell: shape ``(attributes, predictions * outcomes)``."""


@dataclass(frozen=True, slots=True)
class SubgroupCounts:
    """The result of one batch: how many people, and the counts of each subgroup that occurred."""

    people: int
    counts: Counts


@dataclass(frozen=True, slots=True, eq=False)
class PrincipalState:
    """The result of all batches so far.

    Attributes
    ----------
    keys
        The subgroups: those listed beforehand, then others in the order in which they turned up.
    evidence
        The bets, one row per subgroup.
    fair, assumed
        The pooled wealth against "fair in every subgroup", and against "the assumptions are true in every subgroup".
    """

    keys: tuple[Key, ...]
    evidence: FairWorldsState
    fair: PooledWealth
    assumed: PooledWealth


@dataclass(frozen=True)
class PrincipalSampling:
    """A sampled check, as the engine's loop needs it.

    Guarantee, under the assumptions that the verdict lists: the probability that the answer is ever the wrong one of
    *holds* and *violated* is at most ``delta``. *Violated* refutes "fair in every subgroup" by the pooled wealth;
    *holds* refutes, for each subgroup and each direction, "unfair here" at the full ``delta``, and if the property is
    false one of these is true. Subgroups are named one by one by :func:`~isonomia.audits.principal.sampling.named`.

    Attributes
    ----------
    question, source, streams, session
        What to decide, where people are drawn and in how many streams, and what answers for the model.
    worlds
        The bets.
    listed, closed
        The subgroups known beforehand, and whether no others can appear.
    seed
        The seed of all randomness.
    """

    question: PrincipalQuestion
    source: Source
    streams: int
    session: ModelSession | None
    worlds: FairWorlds
    listed: tuple[Key, ...]
    closed: bool
    seed: int

    @cached_property
    def need(self) -> float:
        """The log-wealth that refutes."""
        return self.worlds.need

    def begin(self) -> PrincipalState:
        """Nothing seen."""
        return PrincipalState(self.listed, self.worlds.begin(len(self.listed)), PooledWealth(), PooledWealth())

    def measure(self, plan: Plan) -> SubgroupCounts:
        """Draw one batch from each stream, query the model about it, and count."""
        return self._counted(self._drawn(plan), self.session)

    def _drawn(self, plan: Plan) -> list[Table]:
        """The people of a batch, stream by stream."""
        by_stream = enumerate(plan.by_stream())
        tables = [
            self.source.batch(plan.start, n, batch_rng(self.seed, plan.index, stream), stream)
            for stream, n in by_stream
            if n
        ]
        return [table for table in tables if table.rows]

    def _counted(self, tables: Sequence[Table], session: ModelSession | None) -> SubgroupCounts:
        people, counts = 0, Counts()
        for table in tables:
            people += table.rows
            for key, cells in count(self.question, table, session).items():
                counts[key] = counts[key] + cells if key in counts else cells
        return SubgroupCounts(people, counts)

    def together(self, plans: Sequence[Plan]) -> BatchGroup[SubgroupCounts]:
        """Draw several batches, and let workers start on all of them."""
        assert self.session is not None, "it has workers"
        drawn = [self._drawn(plan) for plan in plans]
        session = self.session.together([(table, False, True) for tables in drawn for table in tables])
        return BatchGroup(lambda number: self._counted(drawn[number], session), session.close)

    @property
    def ahead(self) -> PrincipalSampling | None:
        """Itself, where there are workers that can be asked ahead."""
        return self if self.session is not None and self.session.looks_ahead else None

    def pack(self, reading: SubgroupCounts) -> Entry:
        """The counts, subgroup by subgroup."""
        return {
            "people": reading.people,
            "counts": [[list(key), seen.tolist()] for key, seen in reading.counts.items()],
        }

    def unpack(self, entry: Entry) -> SubgroupCounts:
        """The counts again."""
        counts = Counts({tuple(key): np.asarray(seen, dtype=float) for key, seen in entry["counts"]})
        return SubgroupCounts(entry["people"], counts)

    def absorb(self, state: PrincipalState, reading: SubgroupCounts) -> PrincipalState:
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
        return PrincipalState(keys, evidence, pooled(state.fair, evidence.fair.log_wealth, weights), assumed)

    def weights(self, found: int) -> Floats:
        """The subgroups' shares of the pooled wealth."""
        return weights_of(len(self.listed), found, self.closed)

    def shares(self, state: PrincipalState) -> tuple[float, ...]:  # noqa: ARG002
        """The same for every stream."""
        return (1.0 / self.streams,) * self.streams

    def asked(self, reading: SubgroupCounts) -> int:
        """How many people the batch had."""
        return reading.people

    def decided(self, state: PrincipalState) -> bool:
        """Whether there is an answer, or the assumptions are refuted, so that no answer would mean anything."""
        return self.answer(state) is not None or self.contradicted(state)

    def answer(self, state: PrincipalState) -> bool | None:
        """``True`` for holds, ``False`` for violated, ``None`` where it is open or the assumptions are refuted."""
        holds = len(state.keys) > 0 and bool(self.worlds.holds(state.evidence).all())
        violated = state.fair.peak >= self.need
        return None if holds == violated or self.contradicted(state) else holds

    def contradicted(self, state: PrincipalState) -> bool:
        """Whether the property's own assumptions are refuted."""
        return state.assumed.peak >= self.need

    def unfair(self, state: PrincipalState) -> Booleans:
        """The subgroups that are named as violating; none before the answer is *violated*."""
        if self.answer(state) is not False:
            return np.zeros(len(state.keys), dtype=bool)
        return named(state.evidence.fair.peak, self.weights(len(state.keys)), self.worlds.delta, together=True)

    def fair(self, state: PrincipalState) -> Booleans:
        """The subgroups that are named as fair: all where the answer is *holds*, else those that stand out."""
        if self.answer(state) is True:
            return np.ones(len(state.keys), dtype=bool)
        if self.worlds.unfair is None or self.contradicted(state):
            return np.zeros(len(state.keys), dtype=bool)
        return named(self.for_fairness(state), self.weights(len(state.keys)), self.worlds.delta)

    def for_fairness(self, state: PrincipalState) -> Floats:
        """For each subgroup the least log-wealth against a direction of unfairness, 0 without a margin."""
        if self.worlds.unfair is None:
            return np.zeros(len(state.keys))
        pieces = [piece.peak for piece in state.evidence.unfair]
        return np.asarray(np.min([np.full(len(state.keys), self.need + 50.0), *pieces], axis=0))

    def share(self, state: PrincipalState) -> float:
        """How far the nearer answer has come."""
        fairness = self.for_fairness(state).min(initial=self.need) if self.worlds.unfair is not None else 0.0
        return float(np.clip(max(state.fair.peak, fairness) / self.need, 0.0, 1.0))

    def progress_text(self, state: PrincipalState) -> str:
        """How strong the evidence against fairness is, compared with what is needed."""
        return f"against fairness {state.fair.peak:.1f} of {self.need:.1f} nats"

    def compared(self, state: PrincipalState) -> Expression | None:
        """The first effect in the first subgroup, as far as it is known."""
        if not state.keys:
            return None
        return first_effect(self.question, state.keys[0], state.evidence.fair.tally[0], self.worlds.delta)


def _joined(first: FairWorldsState, second: FairWorldsState) -> FairWorldsState:
    """The same bets with the rows of both."""
    assumed = None if first.assumed is None or second.assumed is None else _rows(first.assumed, second.assumed)
    unfair = tuple(_rows(*pair) for pair in zip(first.unfair, second.unfair, strict=True))
    return FairWorldsState(_rows(first.fair, second.fair), unfair, assumed)


def _rows(first: Wealth, second: Wealth) -> Wealth:
    return Wealth(
        np.concatenate([first.log_wealth, second.log_wealth]),
        np.concatenate([first.peak, second.peak]),
        np.concatenate([first.tally, second.tally]),
    )


def count(
    question: PrincipalQuestion, table: Table, session: ModelSession | None, times: NDArray[np.int64] | None = None
) -> Counts:
    """Query the model about a batch, if there is a model, and count it; ``times`` says how many people each row is."""
    keys, places = sorted_into(table, question.given)
    refuse_many(len(keys), question.given)
    shape, prop = question.shape, question.prop
    if session is not None:
        decided = session(table, False, True).prediction
        assert decided is not None
    else:
        decided = table.column(prop.prediction)
    a = question.attribute.codes(table.column(prop.attribute))
    cells = question.prediction.codes(decided) * shape.outcomes + question.outcome.codes(table.column(prop.outcome))
    flat = (places * shape.attributes + a) * shape.cells + cells
    counted = np.bincount(flat, times, len(keys) * shape.attributes * shape.cells).astype(np.float64)
    return dict(zip(keys, counted.reshape(len(keys), shape.attributes, shape.cells), strict=True))


def check_table(question: PrincipalQuestion, table: Table) -> None:
    """Check a whole table before the model is queried, so that errors name the table's own rows."""
    question.attribute.codes(table.column(question.prop.attribute))
    question.outcome.codes(table.column(question.prop.outcome))
    if not question.asks_model:
        question.prediction.codes(table.column(question.prop.prediction))


@dataclass(frozen=True, slots=True)
class PooledWealth:
    """The wealth against "fair in every subgroup", as a logarithm: now, and its highest so far."""

    log_wealth: float = 0.0
    peak: float = 0.0


def weights_of(listed: int, found: int, closed: bool) -> Floats:
    """What share of the wealth each subgroup starts with.

    Parameters
    ----------
    listed
        How many subgroups were known before the draws; all have the same weight.
    found
        How many there are by now. Those that came later share one further weight: the first has half of it, the next a
        sixth, then a twelfth, ..., so that all weights sum to at most 1, however many come.
    closed
        Whether no others can come, as in a table; then there is no further weight.
    """
    one = 1.0 / (listed + (0 if closed else 1))
    late = np.arange(1, found - listed + 1)
    return np.concatenate([np.full(listed, one), one / (late * (late + 1.0))])


def pooled(before: PooledWealth, log_wealths: Floats, weights: Floats) -> PooledWealth:
    """Pool the subgroups' wealths after one more batch: half in their product, half in their weighted mean.

    Guarantee: while every subgroup is fair, ``P(there is a batch with peak >= log(1/delta)) <= delta``. The product of
    independent supermartingales is one, a mean with fixed weights is one, and so is the mean of the two. What is left
    of the weights belongs to subgroups not seen yet, whose wealth is 1. The product grows fast when many subgroups are
    a little unfair, the mean when one is very unfair; the product of *peaks* has no guarantee: the subgroups reach
    them at different times.
    """
    left = max(0.0, 1.0 - float(weights.sum()))
    mean = logsumexp(np.append(log_wealths, 0.0), b=np.append(weights, left))
    now = float(logsumexp([np.sum(log_wealths), mean]) - np.log(2.0))
    return PooledWealth(now, max(before.peak, now))


def named(peaks: Floats, weights: Floats, delta: float, *, together: bool = False) -> Booleans:
    """Name subgroups whose hypothesis is refuted, so that *any* wrong name has probability at most ``delta``.

    Guarantee: Holm's (1979) procedure with weights, on the p-values ``exp(-peak)``, which are valid at all times. The
    weights of subgroups not seen yet stay in the sum. With equal weights that sum to 1 it is the usual one.

    Parameters
    ----------
    peaks, weights
        The largest log-wealth of each subgroup, and its weight.
    delta
        The risk.
    together
        Whether the pool has refuted, at the same risk, that all hypotheses are true at once. Then only the other sets
        of hypotheses remain to be refuted (the closure principle of Marcus, Peritz and Gabriel 1976), and the largest
        of these leaves a subgroup out. All names and the pool's own answer have the risk ``delta`` together.
    """
    chosen, left = np.zeros(len(peaks), dtype=bool), 1.0
    for index in np.argsort(-(peaks + np.log(weights)), kind="stable").tolist():
        if together and not chosen.any():
            left = _largest_proper(weights, index)
        if peaks[index] + np.log(weights[index] / left) < np.log(1.0 / delta):
            break
        chosen[index] = True
        left = max(1.0 - float(weights[chosen].sum()), float(weights[~chosen].sum()), 1e-300)
    return chosen


def _largest_proper(weights: Floats, index: int) -> float:
    """The largest weight of a set with this subgroup, but not all; a set may lack just those not seen yet."""
    unseen = 1.0 - float(weights.sum())
    others = np.delete(weights, index)
    if unseen > 1e-12 or not len(others):
        return 1.0
    return 1.0 - float(others.min())
