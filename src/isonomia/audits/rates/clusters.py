"""The sampled check of rows that belong together: each cluster is one draw, and one bet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.protocol import Check
from isonomia.audits.rates.counting import BatchReader, DeclaredFacts, batch_of
from isonomia.audits.rates.looks import no_look_remark
from isonomia.audits.rates.question import RatesQuestion, need_ranges
from isonomia.audits.verdicts import earlier_looks
from isonomia.engine.loop import Plan, Schedule
from isonomia.engine.parameters import batch_rng, root
from isonomia.errors import DataError, SpecError, UsageError
from isonomia.evidence.cluster_claims import ClusterEvidence, ClusterState
from isonomia.evidence.clusters import ClusterBatch
from isonomia.evidence.exact import BoxIntervals, enclose
from isonomia.evidence.hypotheses import denominators_of, settled
from isonomia.evidence.normal_form import Polynomial, compared, value_at
from isonomia.evidence.protocol import LeafTally
from isonomia.models.session import ModelSession
from isonomia.populations.finite import Sample
from isonomia.populations.protocol import Clusters, Source, facts_of, people
from isonomia.records.journal import Entry
from isonomia.records.verdict import Expression, LeafRecord
from isonomia.spec.property import Property
from isonomia.spec.text import to_text
from isonomia.spec.tree import Leaf, Quantity, leaves_of

GROWTH = 1.03
"""Each batch makes the number of clusters this many times as large. Stakes are chosen once for a batch, and each batch
takes time; smaller ones save about one cluster in a hundred."""

BATCHES = 128
"""The batches of a check with one look. Changes power and cost only."""


@dataclass(frozen=True, slots=True)
class ClusterReading:
    """The result of one batch: its clusters, and how many rows each leaf had."""

    batch: ClusterBatch
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ClusterSamplingState:
    """All batches so far: the evidence's own state, and how many rows informed each leaf."""

    evidence: ClusterState
    rows: tuple[int, ...]


def cluster_work(
    check: Check[Property], question: RatesQuestion, source: Source, session: ModelSession | None
) -> ClusterSampling:
    """Prepare a check of rows that belong together."""
    need_ranges(question)
    clusters = facts_of(check.population).clusters
    assert clusters is not None, "it has clusters"
    if set(question.asked) != {None}:
        raise SpecError(
            f"{check.prop} speaks of a second person or of an intervention, but the rows of each "
            f"{clusters.column!r} belong together, and no method for both is known: leave out one of them"
        )
    if check.method == "verifair":
        raise UsageError("method='verifair' is for independent rows: use method='auto' where rows belong together")
    # Constants are settled by arithmetic, as for independent rows.
    arithmetic = settled(question.formula, question.ranges)
    deadline = int(min(clusters.count, check.budget.samples)) if check.looks == "once" else None
    evidence = ClusterEvidence(
        arithmetic.formula, question.leaves, question.ranges, check.delta, clusters.bound, deadline
    )
    return ClusterSampling(check, question, clusters, source, session, evidence, arithmetic.vanished)


def cluster_schedule(work: ClusterSampling) -> Schedule:
    """Batches by number of clusters."""
    deadline = work.evidence.deadline
    if deadline is None:
        schedule = Schedule(first=1, growth=GROWTH, early=max(GROWTH, work.check.schedule.early))
        return schedule.along((), whole=earlier_looks(work.check.population)[1] == "file")
    return Schedule(most=max(deadline // BATCHES, 1), ends=(deadline,))


@dataclass(frozen=True)
class ClusterSampling:
    """A sampled check of rows that belong together, as the engine's loop needs it; a sample is a cluster."""

    check: Check[Property]
    question: RatesQuestion
    clusters: Clusters
    source: Source
    session: ModelSession | None
    evidence: ClusterEvidence
    vanished: tuple[Leaf, ...] = ()

    sizes = None
    ahead = None

    @property
    def notes(self) -> tuple[str, ...]:
        """How the rows were used."""
        weighed = ""
        if self.clusters.weigh == "clusters":
            weighed = f"; each {self.clusters.column!r} weighs the same, and so do its rows"
        looks = self.check.looks
        planned = () if looks in ("any", "once") else (no_look_remark(looks, "its rows belong together"),)
        return (
            f"rows with the same {self.clusters.column!r} belong together, so each of them was one draw{weighed}",
            *planned,
        )

    @cached_property
    def _edges(self) -> NDArray[np.intp]:
        assert isinstance(self.check.population, Sample), "only samples have clusters"
        return self.check.population.cluster_edges(root(self.check.seed))

    @cached_property
    def _denominators(self) -> tuple[Polynomial, ...]:
        return denominators_of(self.question.formula, self.question.ranges)

    # ------------------------------------------------------------------------------------------------- the loop

    def begin(self) -> ClusterSamplingState:
        """Nothing seen."""
        return ClusterSamplingState(self.evidence.begin(), (0,) * len(self.question.leaves))

    def measure(self, plan: Plan) -> ClusterReading:
        """Draw the rows of some clusters, ask the model about them, and add them up within each cluster."""
        edges = self._edges[plan.start : plan.start + plan.n + 1]
        start, n = int(edges[0]), int(edges[-1] - edges[0])
        rng = batch_rng(self.check.seed, plan.index, 0)
        drawn = people(self.source, self.question.wanted, start, n, rng, 0)
        table = drawn[None]
        reader = BatchReader(
            batch_of(self.question, self.session, drawn),
            lambda row: f"row {row} of batch {plan.index}: {{{table.shown(row)}}}",
        )
        DeclaredFacts(self.question, self.check.population, ()).refuse(reader, table, 0)
        sizes = np.diff(edges)
        codes, count = np.repeat(np.arange(len(sizes)), sizes), len(sizes)
        weight = 1.0 / sizes if self.clusters.weigh == "clusters" else np.ones(count)
        rows, sums = np.zeros((count, len(self.question.leaves))), np.zeros((count, len(self.question.leaves)))
        for k, leaf in enumerate(self.question.leaves):
            low, high = self.question.ranges[leaf]
            members = reader.members(leaf.given)
            chosen = np.ones(n, dtype=bool) if members is None else np.asarray(members)
            values = (reader.numbers(leaf, chosen, (low, high)) - low) / (high - low)
            rows[:, k] = np.bincount(codes[chosen], minlength=count)
            sums[:, k] = np.bincount(codes[chosen], weights=values, minlength=count)
        total = tuple(int(n) for n in rows.sum(axis=0))
        sums = np.clip(sums, 0.0, rows)
        return ClusterReading(ClusterBatch.of(rows * weight[:, None], sums * weight[:, None]), total)

    def pack(self, reading: ClusterReading) -> Entry:
        """The clusters, as lists."""
        batch = reading.batch
        return {
            "people": batch.clusters,
            "counts": [batch.times.tolist()],
            "rows": batch.rows.tolist(),
            "sums": batch.sums.tolist(),
            "leaf rows": list(reading.rows),
        }

    def unpack(self, entry: Entry) -> ClusterReading:
        """The clusters again; what no clusters can be is refused."""
        leaves = len(self.question.leaves)
        times = np.asarray(entry["counts"][0], dtype=float)
        rows, sums = (np.asarray(entry[key], dtype=float).reshape(-1, leaves) for key in ("rows", "sums"))
        fits = rows.shape == sums.shape == (len(times), leaves) and len(entry["leaf rows"]) == leaves
        if not fits or not ((sums >= 0.0) & (sums <= rows) & (rows <= self.clusters.bound)).all():
            raise DataError("expected sums of clusters in the record, but they are none that clusters can have")
        return ClusterReading(ClusterBatch(rows, sums, times), tuple(map(int, entry["leaf rows"])))

    def absorb(self, state: ClusterSamplingState, reading: ClusterReading) -> ClusterSamplingState:
        """Let the evidence take in the batch."""
        rows = tuple(before + new for before, new in zip(state.rows, reading.rows, strict=True))
        return ClusterSamplingState(self.evidence.step(state.evidence, reading.batch), rows)

    def shares(self, state: ClusterSamplingState) -> tuple[float, ...]:
        """One stream."""
        del state
        return (1.0,)

    def asked(self, reading: ClusterReading) -> int:
        """How many clusters the batch had."""
        return reading.batch.clusters

    def decided(self, state: ClusterSamplingState) -> bool:
        """Whether there is an answer, and the condition of ``stop`` is met; one look waits for its last cluster."""
        if self.check.stop == "all" or self._said(state) is None:
            return False
        if self.evidence.deadline is not None:
            return state.evidence.clusters >= self.evidence.deadline
        if self.check.width is None:
            return True
        low, high = self.evidence.interval(state.evidence.history, next(compared(self.question.formula))[0])
        return high - low <= self.check.width

    def answer(self, state: ClusterSamplingState) -> bool | None:
        """What the evidence says at the end; nothing is said about groups that were not seen, or of ``x / 0``."""
        return self._said(replace(state, evidence=self.evidence.looked(state.evidence)))

    def _said(self, state: ClusterSamplingState) -> bool | None:
        answer = self.evidence.decision(state.evidence)
        seen = {leaf for leaf, rows in zip(self.question.leaves, state.rows, strict=True) if rows}
        return None if self.zero_denominators(state) or not seen.issuperset(self.vanished) else answer

    def share(self, state: ClusterSamplingState) -> float:
        """How far the evidence has come."""
        return self.evidence.progress(state.evidence) if self.check.stop == "decided" else 0.0

    def progress_text(self, state: ClusterSamplingState) -> str:
        """The estimate of the first compared quantity, and its threshold."""
        quantity, relation, threshold = next(compared(self.question.formula))
        estimate = self.knowledge(state).estimate(quantity)
        return f"{'unknown' if estimate is None else format(estimate, '.3g')} {relation} {threshold:.3g}?"

    def compared(self, state: ClusterSamplingState) -> Expression | None:
        """Nothing along the way: intervals of clusters take a second."""
        del state
        return None

    # ------------------------------------------------------------------------------------------------- the verdict

    def knowledge(self, state: ClusterSamplingState) -> ClusterKnowledge:
        """What is known of every leaf and every compared quantity."""
        return ClusterKnowledge(self.evidence, state.evidence.history, self.leaf_tallies(state))

    def leaf_tallies(self, state: ClusterSamplingState) -> dict[Leaf, LeafTally]:
        """The rows of each leaf, and their mean."""
        means, tallies = self.evidence.means(state.evidence.history), {}
        for leaf, n in zip(self.question.leaves, state.rows, strict=True):
            low, high = self.question.ranges[leaf]
            share = (means[leaf] - low) / (high - low) if leaf in means else 0.0
            tallies[leaf] = LeafTally((low, high), (n * (1.0 - share), n * share))
        return tallies

    def by_group(
        self, state: ClusterSamplingState, whole: bool | None, known: ClusterKnowledge
    ) -> list[tuple[bool | None, Expression]]:
        """Whether each comparison of each group holds, each at its part of the risk, and what is known of it."""
        comparisons = [comparison for claim in self.question.claims for comparison in claim.comparisons]
        answers: list[tuple[bool | None, Expression]] = []
        for comparison in comparisons:
            own = replace(self.evidence, formula=comparison, delta=self.check.delta / len(comparisons))
            means = {leaf: tally.mean for leaf, tally in known.tallies.items()}
            zero = any(value_at(each, means) == 0 for each in denominators_of(comparison, self.question.ranges))
            answer = None if zero else True if whole else own.run(state.evidence.history)
            narrow = replace(known, evidence=own)
            answers += [(answer, narrow.expression(*item).agreeing(answer)) for item in compared(comparison)]
        return answers

    def zero_denominators(self, state: ClusterSamplingState) -> tuple[Polynomial, ...]:
        """The denominators that no draw so far has shown to differ from zero."""
        means = {leaf: tally.mean for leaf, tally in self.leaf_tallies(state).items()}
        return tuple(polynomial for polynomial in self._denominators if value_at(polynomial, means) == 0)


@dataclass(frozen=True, slots=True)
class ClusterKnowledge:
    """Estimates and intervals from clusters."""

    evidence: ClusterEvidence
    history: Sequence[ClusterBatch]
    tallies: Mapping[Leaf, LeafTally]

    def leaf(self, leaf: Leaf) -> LeafRecord:
        """What is known of one leaf."""
        tally, (low, high) = self.tallies[leaf], self.evidence.interval(self.history, leaf)
        n = round(tally.n)
        return LeafRecord(to_text(leaf), n, tally.mean if n else None, low, high)

    def expression(self, quantity: Quantity, relation: str, threshold: float) -> Expression:
        """What is known of one compared quantity."""
        low, high = self.evidence.interval(self.history, quantity)
        return Expression(to_text(quantity), relation, threshold, self.estimate(quantity), low, high)

    def estimate(self, quantity: Quantity) -> float | None:
        """Its value at the estimates of its leaves; ``None`` where there is none."""
        box = {
            leaf: BoxIntervals(np.asarray([tally.mean]), np.asarray([tally.mean]))
            for leaf, tally in self.tallies.items()
            if tally.n
        }
        value = float(enclose(quantity, box).low[0]) if set(leaves_of(quantity)) <= set(box) else np.nan
        return value if np.isfinite(value) else None
