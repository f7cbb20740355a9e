"""The sampled check of rows that belong together: each cluster is one draw, and one bet."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.protocol import Check
from isonomia.audits.rates.by_row import MOST_ROWS, keeps_rows, leaf_values, rows_entry
from isonomia.audits.rates.counting import BatchReader, DeclaredFacts, batch_of
from isonomia.audits.rates.histories import HistoryReading, HistorySampling
from isonomia.audits.rates.looks import no_look_remark
from isonomia.audits.rates.question import RatesQuestion, need_ranges
from isonomia.audits.verdicts import earlier_looks
from isonomia.engine.loop import Plan, Schedule
from isonomia.engine.parameters import batch_rng, root
from isonomia.errors import DataError, SpecError, UsageError
from isonomia.evidence.cluster_claims import ClusterEvidence
from isonomia.evidence.clusters import ClusterBatch
from isonomia.evidence.hypotheses import settled
from isonomia.models.session import ModelSession
from isonomia.populations.finite import Sample
from isonomia.populations.protocol import Clusters, Source, facts_of, people
from isonomia.records.journal import Entry
from isonomia.spec.property import Property

GROWTH = 1.03
"""Each batch makes the number of clusters this many times as large. Stakes are chosen once for a batch, and each batch
takes time; smaller ones save about one cluster in a hundred."""

BATCHES = 128
"""The batches of a check with one look. Changes power and cost only."""


def cluster_work(
    check: Check[Property], question: RatesQuestion, source: Source, session: ModelSession | None
) -> tuple[HistorySampling, float, int | None]:
    """Prepare a check of rows that belong together; also the number of clusters, and the deadline."""
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
    draws = ClusterDraws(check, question, clusters, source, session)
    work = HistorySampling(check, question, source, session, evidence, draws, arithmetic.vanished)
    return work, float(clusters.count), deadline


def cluster_schedule(check: Check[Property], deadline: int | None) -> Schedule:
    """Batches by number of clusters."""
    if deadline is None:
        schedule = Schedule(first=1, growth=GROWTH, early=max(GROWTH, check.schedule.early))
        return schedule.along((), whole=earlier_looks(check.population)[1] == "file")
    return Schedule(most=max(deadline // BATCHES, 1), ends=(deadline,))


@dataclass(frozen=True)
class ClusterDraws:
    """The rows of some clusters, added up within each; a sample is a cluster."""

    check: Check[Property]
    question: RatesQuestion
    clusters: Clusters
    source: Source
    session: ModelSession | None

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

    def measure(self, plan: Plan) -> HistoryReading:
        """Draw the rows of some clusters, query the model about them, and add them up within each cluster."""
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
        kept = (
            rows_entry([leaf_values(reader, self.question)], self.question, sizes)
            if start + n <= MOST_ROWS and keeps_rows(self.check, self.question)
            else {}
        )
        return HistoryReading(ClusterBatch.of(rows * weight[:, None], sums * weight[:, None]), count, total, kept=kept)

    def pack(self, reading: HistoryReading) -> Entry:
        """The clusters, as lists."""
        batch = reading.batch
        return {
            "people": reading.samples,
            "counts": [batch.times.tolist()],
            "rows": batch.rows.tolist(),
            "sums": batch.sums.tolist(),
            "leaf rows": list(reading.rows),
            **reading.kept,
        }

    def unpack(self, entry: Entry) -> HistoryReading:
        """The clusters again; what no clusters can be is refused."""
        leaves = len(self.question.leaves)
        times = np.asarray(entry["counts"][0], dtype=float)
        rows, sums = (np.asarray(entry[key], dtype=float).reshape(-1, leaves) for key in ("rows", "sums"))
        fits = rows.shape == sums.shape == (len(times), leaves) and len(entry["leaf rows"]) == leaves
        if not fits or not ((sums >= 0.0) & (sums <= rows) & (rows <= self.clusters.bound)).all():
            raise DataError("expected sums of clusters in the record, but no clusters can have these sums")
        batch = ClusterBatch(rows, sums, times)
        return HistoryReading(batch, batch.clusters, tuple(map(int, entry["leaf rows"])))
