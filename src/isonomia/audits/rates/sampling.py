"""The sampled check: choose the evidence and the source, then draw, query the model, count and bet, batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isinf
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from isonomia.audits.people import UNLIMITED, census_of, in_random_order
from isonomia.audits.pipeline import Sampling
from isonomia.audits.protocol import Check
from isonomia.audits.rates.by_row import MOST_ROWS, Floats, keeps_rows, leaf_values, rows_entry
from isonomia.audits.rates.clusters import cluster_schedule, cluster_work
from isonomia.audits.rates.counting import (
    BatchCounts,
    BatchReader,
    DeclaredFacts,
    batch_of,
    group_sizes,
    groups_apart,
    indexed_columns,
    need_streams,
    refuse_known_outside,
    whole_table_counts,
)
from isonomia.audits.rates.groups import FamilyTests, family_for, region_answers, verifair_answers
from isonomia.audits.rates.histories import HistorySampling
from isonomia.audits.rates.intervals import LeafKnowledge, inversions_for, progress_text
from isonomia.audits.rates.labels import label_work, reads_labels
from isonomia.audits.rates.looks import LookKnowledge, looks_of, no_look_remark
from isonomia.audits.rates.question import RatesQuestion, countable, need_ranges, rows_each
from isonomia.audits.verdicts import earlier_looks
from isonomia.engine.lookahead import BatchGroup
from isonomia.engine.loop import Plan, Schedule
from isonomia.engine.parameters import Budget, batch_rng, fold_rng, root
from isonomia.errors import UsageError
from isonomia.evidence.bet_evidence import BetEvidence, bets_for
from isonomia.evidence.hypotheses import denominators_of, settled
from isonomia.evidence.inversion import Inversion
from isonomia.evidence.looks import LookEvidence, LookState, NoLookError
from isonomia.evidence.normal_form import Polynomial, compared, value_at
from isonomia.evidence.planning import best_shares
from isonomia.evidence.protocol import Channel, Evidence, LeafTally, Tallies, leaf_channel
from isonomia.evidence.region import RegionEvidence, RegionState, region_for
from isonomia.evidence.verifair import VerifairEvidence, verifair_for
from isonomia.models.protocol import model_facts
from isonomia.models.session import ModelSession
from isonomia.populations.causal import Abducted, AbductedSource
from isonomia.populations.finite import WithReplacement
from isonomia.populations.protocol import People, Population, Source, facts_of, people_in_parts
from isonomia.records.journal import Entry, once
from isonomia.records.verdict import Expression
from isonomia.spec.property import Property
from isonomia.spec.tree import Column, Comparison, Formula, Leaf, Other, Quantity

AnyWork: TypeAlias = "RatesSampling[Any] | HistorySampling"
AnyEvidence: TypeAlias = BetEvidence | RegionEvidence | VerifairEvidence


MANY = 2**20
"""The largest batch where the population has no end and there is no time limit: large, since each batch costs a step of
the evidence. People are drawn, queried and counted in parts, so memory does not limit it."""


def prepare(check: Check[Property], question: RatesQuestion) -> Sampling[AnyWork]:
    """Choose how a property is decided by sampling."""
    if check.population.size is None and isinf(check.budget.seconds):
        check = replace(check, schedule=replace(check.schedule, most=MANY))
    need_ranges(question)
    labelled = reads_labels(question, check.population)
    if labelled is not None:
        question = labelled
    refuse_known_outside(question, check.population, check.model is not None)
    need_streams(question.leaves, check.population.streams)
    if question.in_clusters:
        clusters, count, deadline = cluster_work(check, question, *_drawn_and_asked(check, question, replaced=False))
        return _sampling(check, clusters, check.budget, cluster_schedule(check, deadline), count)
    if labelled is not None:
        available = _available(check, question, replaced=False)
        labels, schedule = label_work(check, question, *_drawn_and_asked(check, question, replaced=False), available)
        return _sampling(check, labels, check.budget, schedule, available)
    notes: tuple[str, ...] = ()
    if check.looks != "any":
        try:
            return _with_planned_looks(check, question)
        except NoLookError as error:
            notes = (no_look_remark(check.looks, str(error)),)
    population = check.population
    sizes, arithmetic = _kept_sizes(check, question), settled(question.formula, question.ranges)
    evidence: AnyEvidence | None = None
    if sizes is not None:
        evidence = bets_for(arithmetic.formula, question.ranges, population.streams, check.delta, sizes)
    if evidence is None:
        # Overlapping groups and regions need independent draws: rows of a census may then come twice.
        sizes, evidence = None, _evidence(check, question, arithmetic.formula)
    source, session = _drawn_and_asked(check, question, replaced=sizes is None)
    work: RatesSampling[Any] = RatesSampling(
        question,
        population,
        source,
        session,
        evidence,
        check.delta,
        check.seed,
        sizes,
        evidence if isinstance(evidence, BetEvidence) else None,
        arithmetic.vanished,
        notes,
        evidence if isinstance(evidence, RegionEvidence) else None,
        family_for(question.claims, question.ranges, population.streams, check.delta, sizes, check.control)
        if question.claims and isinstance(evidence, BetEvidence)
        else None,
        check.stop,
        check.width,
        keeps_rows(check, question),
    )
    available, budget = _available(check, question, replaced=sizes is None), check.budget
    if available == inf and budget == Budget():
        if check.stop == "all":
            raise UsageError(
                "stop='all' counts all rows, but this population is infinite: give a budget too", name="stop"
            )
        budget = Budget(samples=UNLIMITED)
    return _sampling(check, work, budget, _schedule(check, question, evidence), available)


def _sampling(
    check: Check[Property], work: AnyWork, budget: Budget, schedule: Schedule, available: float
) -> Sampling[AnyWork]:
    counted, rows = work.question.counted, max(rows_each(check, work.question), 1)
    return Sampling(work, budget, schedule, available, counted, rows, replaced=work.sizes is None)


def _with_planned_looks(check: Check[Property], question: RatesQuestion) -> Sampling[AnyWork]:
    """Draw as many people as the population or the budget has, and look at the planned times."""
    # People of a census are drawn with replacement: the exact tests are for independent draws.
    available = _available(check, question, replaced=True)
    evidence, schedule = looks_of(check, question, min(available, check.budget.affords(rows_each(check, question))))
    source, session = _drawn_and_asked(check, question, replaced=True)
    known = question, check.population, source, session, evidence, check.delta, check.seed
    return _sampling(check, RatesSampling(*known, kept=keeps_rows(check, question)), check.budget, schedule, available)


def _drawn_and_asked(
    check: Check[Property], question: RatesQuestion, *, replaced: bool
) -> tuple[Source, ModelSession | None]:
    """The source of people and the session: shared with other checks where the check only sees people as they are."""
    on_device = facts_of(check.population).device is not None
    alone = set(question.asked) == {None} and len(check.population.streams) == 1 and not on_device
    again = replaced and census_of(check.population) is not None
    if check.sharing is not None and alone and not again:
        return check.sharing, check.sharing.model
    return _source(check, question, replaced=replaced), check.model


def _available(check: Check[Property], question: RatesQuestion, *, replaced: bool) -> float:
    """How many draws there can be: one per row or per pair of rows, or infinitely many."""
    limit = once(check.journal, "available", lambda: {"people": _limit(check, question, replaced)})["people"]
    return inf if limit is None else float(limit)


def _limit(check: Check[Property], question: RatesQuestion, replaced: bool) -> int | None:
    size: int | None = check.population.size
    if size is None:
        return None
    if census_of(check.population) is None:
        return size // 2 if Other() in question.asked else size
    # After as many draws as there are rows, counting all rows is cheaper than more draws, if the budget allows it.
    counted_in_the_end = countable(question, size) and check.budget.samples >= 2 * size
    return size if counted_in_the_end or not replaced else None


def _source(check: Check[Property], question: RatesQuestion, *, replaced: bool) -> Source:
    """Open the population; the rows of a census may come twice where independent draws are needed."""
    population: Population = check.population
    census = census_of(population)
    if census is None or not replaced:
        return in_random_order(population).open(root(check.seed), question.wanted)
    rows = WithReplacement(census.table)
    if isinstance(population, Abducted):
        return AbductedSource(population.model, rows, question.wanted, census.table)
    return rows


def _kept_sizes(check: Check[Property], question: RatesQuestion) -> dict[Leaf, float] | None:
    def measured() -> Entry:
        by_leaf = group_sizes(check, question)
        return {"sizes": None if by_leaf is None else [by_leaf[leaf] for leaf in question.leaves]}

    sizes = once(check.journal, "group sizes", measured)["sizes"]
    return None if sizes is None else dict(zip(question.leaves, map(float, sizes), strict=True))


def _evidence(check: Check[Property], question: RatesQuestion, formula: Formula) -> AnyEvidence:
    """The evidence that decides the question's formula, after arithmetic has decided what it can."""
    leaves, ranges = question.leaves, question.ranges
    streams, delta = check.population.streams, check.delta
    if check.method == "verifair":
        return verifair_for(question.formula, leaves, ranges, streams, delta)
    bets = None if check.method == "region" else bets_for(formula, ranges, streams, delta, cover=True)
    if bets is None and check.method == "bets":
        raise UsageError(
            f"expected a property that is linear in the rates for method='bets', but got {check.prop}: use "
            "method='auto', which uses a confidence region where bets are impossible"
        )
    return bets or region_for(formula, leaves, ranges, streams, delta)


def _schedule(check: Check[Property], question: RatesQuestion, evidence: Evidence[Any]) -> Schedule:
    """The requested schedule, with smaller batches where they cost nothing or where VeriFair's rule needs them.

    Where every draw informs every channel, the first batches may be as small as possible. VeriFair's rule looks after
    every draw; batches that grow by half a percent stop as near. Where more rows may come, earlier batches come first.
    """
    schedule = check.schedule
    sizes = facts_of(check.population).batch_sizes
    sizes = sizes if sizes is None or check.model is None else sizes.asked()
    if sizes is not None and check.method != "verifair":
        return schedule.of_sizes(sizes)
    if evidence.decision(evidence.begin()) is None:
        schedule = replace(schedule, first=max(schedule.first, min(_soonest(check.delta), 64)))
    if isinstance(evidence, BetEvidence) and evidence.covered:  # a look takes as long as a hundred rows
        schedule = replace(schedule, growth=max(schedule.growth, 1.1), early=max(schedule.early, 1.25))
    if check.method == "verifair":
        growth = min(schedule.growth, 1.005)
        schedule = replace(check.schedule, growth=growth, early=growth)
    groups = {(channel.stream, channel.given, channel.fold) for channel in evidence.channels}
    if 0 < len(groups) == len(streams := {stream for stream, _, _ in groups}):
        schedule = replace(schedule, first=max(len(streams), model_facts(check.model).least_batch))
    looks, order = earlier_looks(check.population)
    each, whole = 2 if Other() in question.asked else 1, order == "file"
    whole = whole and not _bets_row_by_row(check, question, evidence)
    return schedule.along([rows // each for rows in looks], whole=whole)


def _bets_row_by_row(check: Check[Property], question: RatesQuestion, evidence: Evidence[Any]) -> bool:
    """Whether the wealth within a batch is that of bets on one row after the other, wherever the batch ends.

    Stakes on several groups depend on how many rows of the batch each group has, and folds and causal models draw
    for a batch as a whole. With one channel, and rows as they are, stakes depend on earlier batches alone.
    """
    alone = len(evidence.channels) == 1 and evidence.channels[0].fold is None
    return isinstance(evidence, BetEvidence) and alone and set(question.asked) == {None} and not check.random_model


def _soonest(delta: float) -> int:
    """A draw rarely yields more than half a nat, so hardly anything is decided by fewer draws than this."""
    return int(np.ceil(2.0 * np.log(1.0 / delta)))


S = TypeVar("S")
Drawn: TypeAlias = tuple[int, People]
"""Some people of a batch, and the stream they are from."""


@dataclass(frozen=True, slots=True)
class SamplingState(Generic[S]):
    """The result of all batches so far: the evidence's own state, the counts of each leaf, and those of each batch.

    There are few batches: except for the first ones and the last, each is some percent of all draws before it.
    """

    evidence: S
    leaves: Mapping[Channel, Floats]
    history: tuple[Tallies, ...] = ()


@dataclass(frozen=True)
class RatesSampling(Generic[S]):
    """A sampled check, as the engine's loop needs it.

    Attributes
    ----------
    question, population, source, session
        What to decide, about which population, where people are drawn, and what answers for the model.
    evidence
        How it is decided.
    delta, seed
        The risk, and the seed of all randomness.
    sizes
        For draws without replacement, how many people each leaf's group has.
    bets
        The same evidence where it consists of bets: their groups are checked and their draws allocated.
    vanished
        The leaves that arithmetic removed from a comparison, which still has no truth value without them.
    notes
        What a reader should know about how the evidence was chosen.
    region
        The same evidence where it is a confidence region.
    family
        The tests of each group, where the claim is about every group and bets can be made.
    stop, width, kept
        When it ends, as a :class:`~isonomia.audits.protocol.Check` says; and whether it keeps what each row said.
    """

    question: RatesQuestion
    population: Population
    source: Source
    session: ModelSession | None
    evidence: Evidence[S]
    delta: float
    seed: int
    sizes: Mapping[Leaf, float] | None = None
    bets: BetEvidence | None = None
    vanished: tuple[Leaf, ...] = ()
    notes: tuple[str, ...] = ()
    region: RegionEvidence | None = None
    family: FamilyTests | None = None
    stop: str = "decided"
    width: float | None = None
    kept: bool = False

    @cached_property
    def leaf_channels(self) -> tuple[Channel, ...]:
        """One channel for each leaf alone, from which intervals are made."""
        streams = self.population.streams
        return tuple(leaf_channel(leaf, streams, self.question.ranges) for leaf in self.question.leaves)

    @cached_property
    def inversions(self) -> dict[Quantity, Inversion]:
        """The bets on every value of each leaf and each compared quantity."""
        if self.bets is None:
            return {}
        question = self.question
        return inversions_for(question.formula, question.ranges, self.population.streams, self.sizes)

    @cached_property
    def _history_channels(self) -> tuple[Channel, ...]:
        """The channels whose counts are kept batch by batch, for intervals and for the answers of groups."""
        of_groups = () if self.family is None else self.family.channels
        inverted = (channel for each in self.inversions.values() for channel in each.channels)
        return tuple(dict.fromkeys((*inverted, *of_groups)))

    @cached_property
    def _channels(self) -> tuple[Channel, ...]:
        return tuple(dict.fromkeys((*self.leaf_channels, *self.evidence.channels, *self._history_channels)))

    @cached_property
    def _denominators(self) -> tuple[Polynomial, ...]:
        return denominators_of(self.question.formula, self.question.ranges)

    @cached_property
    def _indexed(self) -> frozenset[Column]:
        return indexed_columns(channel.given for channel in self._channels)

    @cached_property
    def _promises(self) -> DeclaredFacts:
        planned: object = self.evidence
        apart = planned.apart if isinstance(planned, LookEvidence) else ()
        return DeclaredFacts(self.question, self.population, apart if self.bets is None else groups_apart(self.bets))

    def begin(self) -> SamplingState[S]:
        """Nothing seen."""
        leaves = {channel: np.zeros(channel.grid.size) for channel in self.leaf_channels}
        return SamplingState(self.evidence.begin(), leaves)

    def measure(self, plan: Plan) -> BatchCounts:
        """Draw one batch from each stream, query the model about it, and count; an engine counts a whole table."""
        known = None if self.session else whole_table_counts(self._promises, plan.by_stream(), self._channels)
        return known or self._counted(plan, self._drawn(plan), self.session)

    def _drawn(self, plan: Plan) -> Iterator[Drawn]:
        """The people of a batch, stream by stream and part by part."""
        for stream, n in enumerate(plan.by_stream()):
            rng = batch_rng(self.seed, plan.index, stream)
            for drawn in people_in_parts(self.source, self.question.wanted, plan.start, n, rng, stream):
                yield stream, drawn

    def _counted(self, plan: Plan, drawn: Iterable[Drawn], session: ModelSession | None) -> BatchCounts:
        """The counts of the people of a batch."""
        tallies = {channel: np.zeros(channel.grid.size) for channel in self._channels}
        queried: dict[int, int] = {}
        folds: dict[tuple[int, int], np.random.Generator] = {}
        values: list[Floats] | None = [] if self.kept and plan.start + plan.n <= MOST_ROWS else None
        for stream, people in drawn:
            before = queried.setdefault(stream, 0)
            for channel, counts in self._count(people, (plan.index, stream, before), folds, session, values).items():
                tallies[channel] += counts
            queried[stream] += people[None].rows
        return BatchCounts(sum(queried.values()), tallies, rows_entry(values, self.question) if values else {})

    def together(self, plans: Sequence[Plan]) -> BatchGroup[BatchCounts]:
        """Draw several batches, and let workers start on all of them."""
        assert self.session is not None, "it has workers"
        drawn = [list(self._drawn(plan)) for plan in plans]
        questions = [
            (table, asked.score, asked.prediction)
            for batch in drawn
            for _, versions in batch
            for version, table in versions.items()
            if (asked := self.question.asked[version]).model
        ]
        session = self.session.together(questions)
        return BatchGroup(lambda number: self._counted(plans[number], drawn[number], session), session.close)

    @property
    def ahead(self) -> RatesSampling[S] | None:
        """Itself, where there are workers that can be asked ahead."""
        return self if self.session is not None and self.session.looks_ahead else None

    def pack(self, reading: BatchCounts) -> Entry:
        """The counts, channel by channel."""
        counts = {"counts": [reading.tallies[channel].tolist() for channel in self._channels]}
        return {"people": reading.people, **counts, **reading.kept}

    def unpack(self, entry: Entry) -> BatchCounts:
        """The counts again."""
        counts = zip(self._channels, entry["counts"], strict=True)
        return BatchCounts(entry["people"], {channel: np.asarray(cells, dtype=float) for channel, cells in counts})

    def absorb(self, state: SamplingState[S], reading: BatchCounts) -> SamplingState[S]:
        """Let the evidence take in the batch, and add up the leaves' counts."""
        leaves = {channel: before + reading.tallies[channel] for channel, before in state.leaves.items()}
        batch = {channel: reading.tallies[channel] for channel in self._history_channels}
        history = (*state.history, batch) if batch else ()
        return SamplingState(self.evidence.step(state.evidence, reading.tallies), leaves, history)

    def shares(self, state: SamplingState[S]) -> tuple[float, ...]:
        """Equal shares at first; once every leaf was seen, more where the missing evidence grows fastest.

        Tests that have refuted their polytope need no more draws. A stream that no leaf needs gets none.
        """
        streams = len(self.population.streams)
        if streams == 1:
            return (1.0,)
        shares = np.ones(streams)
        if self.bets is not None and all(map(np.any, state.leaves.values())):
            means = {
                channel.leaves[0]: LeafTally.of(channel, counts + channel.grid.prior()).mean
                for channel, counts in state.leaves.items()
            }
            missing = self.bets.unsettled(state.evidence) if isinstance(state.evidence, tuple) else self.bets
            shares = best_shares(missing, means, streams)
        asked_for = {channel.stream for channel in self._channels}
        shares = np.where([stream in asked_for for stream in range(streams)], shares, 0.0)
        return tuple((shares / shares.sum()).tolist())

    def asked(self, reading: BatchCounts) -> int:
        """How many people the batch had."""
        return reading.people

    def decided(self, state: SamplingState[S]) -> bool:
        """Whether there is an answer, and the condition of ``stop`` is met."""
        if self.stop == "all" or self.answer(state) is None:
            return False
        if self.width is None:
            return True
        known = self.compared(state)
        return known is not None and known.high - known.low <= self.width

    def answer(self, state: SamplingState[S]) -> bool | None:
        """What the evidence says; ``None`` while a comparison that it relies on may have no truth value.

        An empty group has no rate: a comparison has no truth value while one of its groups has not been seen, or
        while it divides by what may be zero. The evidence leaves such comparisons out by itself, so that other parts of
        the formula may decide it alone. It cannot see leaves that arithmetic removed, so this waits for those.
        """
        answer = self.evidence.decision(state.evidence)
        if answer is None or self.zero_denominators(state):
            return None
        observed = {channel.leaves[0] for channel, counts in state.leaves.items() if counts.any()}
        return answer if observed.issuperset(self.vanished) else None

    def share(self, state: SamplingState[S]) -> float:
        """How far the evidence has come; 0 where the check continues after a decision, whose end it cannot tell."""
        return self.evidence.progress(state.evidence) if self.stop == "decided" else 0.0

    def progress_text(self, state: SamplingState[S]) -> str:
        """The first compared quantity with its interval and threshold."""
        known = self.compared(state)
        return "no look before the planned one" if known is None else progress_text(known)

    def compared(self, state: SamplingState[S]) -> Expression | None:
        """The record of the first compared quantity, or of the worst of many groups; ``None`` between planned looks.

        The worst is judged by its estimate.
        """
        if isinstance(state.evidence, LookState) and state.evidence.findings is None:
            return None
        known, items = self.knowledge(state, rough=True), list(compared(self.question.formula))
        if not self.question.claims or not isinstance(known, LeafKnowledge):
            return known.expression(*items[0])
        worst = min(items, key=lambda item: known.point(*item).margin)
        return replace(known, delta=self.delta / len(items)).expression(*worst)

    def knowledge(self, state: SamplingState[S], *, rough: bool = False) -> LeafKnowledge | LookKnowledge:
        """The intervals of every leaf and every compared quantity."""
        tallies, streams = self.leaf_tallies(state), self.population.streams
        if isinstance(state.evidence, LookState):
            order = tuple(compared(self.question.formula))
            return LookKnowledge(tallies, self.question.ranges, state.evidence.findings, order)
        return LeafKnowledge(tallies, streams, self.delta, self.sizes, state.history, self.inversions, rough)

    def by_group(
        self, state: SamplingState[S], whole: bool | None, known: LeafKnowledge | LookKnowledge
    ) -> list[tuple[bool | None, Expression]]:
        """Whether each comparison of each group holds, given the answer to all of them, and its interval.

        In ``known``, each interval is at the whole risk. The intervals returned are valid for all comparisons at once,
        and agree with the answers. Empty for a claim that is not about every group, or on which no bets can be made.
        """
        claims, question, own = self.question.claims, self.question, state.evidence
        comparisons = [comparison for claim in claims for comparison in claim.comparisons]
        if not comparisons:
            return []
        if isinstance(own, LookState):
            return self._at_look(own, comparisons, whole)
        rule: object = self.evidence
        if self.family is not None:
            answers = self.family.answers(state.history, whole)
        elif self.region is not None and isinstance(state.evidence, RegionState):
            streams = self.population.streams
            answers = region_answers(claims, self.region, state.evidence, question.ranges, streams, whole)
        elif isinstance(rule, VerifairEvidence) and isinstance(own, dict):
            answers = verifair_answers(claims, rule, own, whole)
        else:
            return []
        assert isinstance(known, LeafKnowledge), "tests of groups and regions need intervals at any time"
        # Intervals that are valid for all groups at once divide the risk.
        known = replace(known, delta=self.delta / len(comparisons))
        items = [known.expression(*item) for each in comparisons for item in compared(each)]
        return self._with_defined_answers(comparisons, answers, items, known.tallies)

    def _at_look(
        self, state: LookState, comparisons: Sequence[Comparison], whole: bool | None
    ) -> list[tuple[bool | None, Expression]]:
        """The same at a planned look; nothing between looks."""
        planned: object = self.evidence
        if not isinstance(planned, LookEvidence) or state.findings is None:
            return []
        results = planned.by_comparison(state, comparisons, whole)
        order = tuple(next(compared(each)) for each in comparisons)
        alone = {channel: batches for channel, batches in state.tallies.items() if not channel.crossing}
        tallies = {each.leaves[0]: LeafTally.of(each, np.sum(batches, axis=0)) for each, batches in alone.items()}
        known = LookKnowledge(
            tallies,
            self.question.ranges,
            replace(state.findings, compared=tuple(ends for _, ends in results)),
            order,
        )
        answers, items = [answer for answer, _ in results], [known.expression(*item) for item in order]
        return self._with_defined_answers(comparisons, answers, items, tallies)

    def _with_defined_answers(
        self,
        comparisons: Sequence[Comparison],
        answers: Sequence[bool | None],
        items: Sequence[Expression],
        tallies: Mapping[Leaf, LeafTally],
    ) -> list[tuple[bool | None, Expression]]:
        """The answers, ``None`` where a comparison divides by what may be zero, with intervals that agree with them."""
        means, ranges = {leaf: tally.mean for leaf, tally in tallies.items()}, self.question.ranges
        zero = [any(value_at(p, means) == 0 for p in denominators_of(each, ranges)) for each in comparisons]
        defined = [None if nothing else answer for answer, nothing in zip(answers, zero, strict=True)]
        return [(answer, item.agreeing(answer)) for answer, item in zip(defined, items, strict=True)]

    def leaf_tallies(self, state: SamplingState[S]) -> dict[Leaf, LeafTally]:
        """The counts of each leaf."""
        return {channel.leaves[0]: LeafTally.of(channel, counts) for channel, counts in state.leaves.items()}

    def zero_denominators(self, state: SamplingState[S]) -> tuple[Polynomial, ...]:
        """The denominators that no draw so far has shown to differ from zero."""
        means = {leaf: tally.mean for leaf, tally in self.leaf_tallies(state).items()}
        return tuple(polynomial for polynomial in self._denominators if value_at(polynomial, means) == 0)

    def _count(
        self,
        drawn: People,
        where: tuple[int, int, int],
        rngs: dict[tuple[int, int], np.random.Generator],
        session: ModelSession | None,
        values: list[Floats] | None,
    ) -> dict[Channel, Floats]:
        """The counts of some of one stream's people, in every channel that reads from it; ``values`` gets each row's.

        ``where`` is the batch, the stream, and how many people of the batch came before these; ``rngs`` draw folds.
        """
        table = drawn[None]
        index, stream, before = where
        batch = batch_of(self.question, session, drawn)
        reader = BatchReader(
            batch, lambda row: f"row {before + row} of batch {index}: {{{table.shown(row)}}}", self._indexed
        )
        self._promises.refuse(reader, table, stream)
        if values is not None:
            values.append(leaf_values(reader, self.question))
        served = [channel for channel in self._channels if channel.stream == stream]
        folds = {}
        for of in {channel.fold.of for channel in served if channel.fold is not None}:
            if (stream, of) not in rngs:
                rngs[stream, of] = fold_rng(self.seed, index, stream, of)
            folds[of] = rngs[stream, of].integers(0, of, size=table.rows)
        return {
            channel: reader.tally(channel, None if channel.fold is None else folds[channel.fold.of])
            for channel in served
        }
