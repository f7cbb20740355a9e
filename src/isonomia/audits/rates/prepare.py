"""Preparing a sampled check: which evidence, from which source, within which budget."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from isonomia.audits.answers import Asker, Asks
from isonomia.audits.protocol import Check
from isonomia.audits.rates.census import census_of, countable
from isonomia.audits.rates.counting import Reader
from isonomia.audits.rates.question import Question, need_ranges, need_streams
from isonomia.audits.rates.sampling import Sampling
from isonomia.engine.budget import Budget
from isonomia.engine.journal import Entry, once
from isonomia.engine.loop import Schedule
from isonomia.engine.seeds import root
from isonomia.errors import UsageError
from isonomia.evidence.bet_evidence import BetEvidence, bets_for
from isonomia.evidence.protocol import Evidence
from isonomia.evidence.region import RegionEvidence, region_for
from isonomia.evidence.verifair import VerifairEvidence, verifair_for
from isonomia.populations.abducted import Abducted, AbductedSource
from isonomia.populations.finite import Census, WithReplacement
from isonomia.populations.protocol import Population, Source
from isonomia.spec.evaluate import Batch
from isonomia.spec.property import Property
from isonomia.spec.tree import Leaf, Other, Rate
from isonomia.spec.walk import outputs_of

__all__ = ["UNLIMITED", "Prepared", "prepare"]

AnyEvidence: TypeAlias = BetEvidence | RegionEvidence | VerifairEvidence

UNLIMITED = 10_000_000
"""The people asked about at most when the population is unlimited and no budget was given."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A check that is ready to run."""

    work: Sampling[Any]
    budget: Budget
    schedule: Schedule
    available: float


def prepare(check: Check[Property], question: Question) -> Prepared:
    """Choose how a property is decided by sampling.

    Raises
    ------
    SpecError
        Where a mean has no known range, or where no stream can give a leaf's group.
    UsageError
        Where bets are demanded for a property that is not linear in the rates.
    """
    need_ranges(question)
    need_streams(question.leaves, check.population.streams)
    population = check.population
    sizes = _kept_sizes(check, question)
    evidence: AnyEvidence | None = None if sizes is None else _bets(check, question, sizes)
    if evidence is None:
        # Groups that overlap, and regions, need independent draws: rows of a census may then come twice.
        sizes, evidence = None, _evidence(check, question)
    source, asker = _drawn_and_asked(check, question, replaced=sizes is None)
    work: Sampling[Any] = Sampling(
        question,
        population,
        source,
        asker,
        evidence,
        check.delta,
        check.seed,
        sizes,
        evidence if isinstance(evidence, BetEvidence) else None,
    )
    limit = once(check.journal, "available", lambda: {"people": _available(check, question, sizes is None)})
    available, budget = float("inf") if limit["people"] is None else float(limit["people"]), check.budget
    if available == float("inf") and budget == Budget():
        budget = Budget(samples=UNLIMITED)
    return Prepared(work, budget, _schedule(check, evidence), available)


def _drawn_and_asked(check: Check[Property], question: Question, *, replaced: bool) -> tuple[Source, Asks | None]:
    """Where people are drawn and who is asked: shared with other checks where all of them see people as they are."""
    alone = set(question.asked) == {None} and len(check.population.streams) == 1
    again = replaced and census_of(check.population) is not None
    if check.sharing is not None and alone and not again:
        shared = check.sharing.shared()
        return shared, None if check.model is None else shared
    asker = None if check.model is None else Asker(check.model, check.workers)
    return _source(check, question, replaced=replaced), asker


def _available(check: Check[Property], question: Question, replaced: bool) -> int | None:
    """How many draws there can be: one a row, one a pair of rows, or infinitely many, ``None``."""
    size: int | None = check.population.size
    if size is None:
        return None
    if census_of(check.population) is None:
        return size // 2 if Other() in question.asked else size
    # Once as many draws were made as there are rows, asking everybody is cheaper than drawing on, budget permitting.
    counted_in_the_end = countable(question, size) and check.budget.samples >= 2 * size
    return size if counted_in_the_end or not replaced else None


def _source(check: Check[Property], question: Question, *, replaced: bool) -> Source:
    """Open the population; the rows of a census may come twice where independent draws are needed."""
    population: Population = check.population
    census = census_of(population)
    if census is None or not replaced:
        return population.open(root(check.seed), question.wanted)
    rows = WithReplacement(census.table)
    if isinstance(population, Abducted):
        return AbductedSource(population.model, rows, question.wanted, census.table)
    return rows


def _kept_sizes(check: Check[Property], question: Question) -> dict[Leaf, float] | None:
    def measured() -> Entry:
        found = _group_sizes(check, question)
        return {"sizes": None if found is None else [found[leaf] for leaf in question.leaves]}

    sizes = once(check.journal, "group sizes", measured)["sizes"]
    if sizes is None:
        return None
    return dict(zip(question.leaves, map(float, sizes), strict=True))


def _group_sizes(check: Check[Property], question: Question) -> dict[Leaf, float] | None:
    """How many rows each leaf's group has, where rows can be drawn without replacement and that can be known.

    It can for a census whose groups do not depend on the model, and for yes/no leaves.
    """
    population = check.population
    if not isinstance(population, Census) or check.method not in {"auto", "bets"} or len(question.asked) > 1:
        return None
    if any(
        not isinstance(leaf, Rate) or (leaf.given is not None and outputs_of(leaf.given)) for leaf in question.leaves
    ):
        return None
    columns = {name: population.table.column(name) for name in question.asked[None].columns if name in population.names}
    reader = Reader(Batch(population.size, columns), lambda row: f"row {row}")
    members = {leaf: reader.members(leaf.given) for leaf in question.leaves}
    return {
        leaf: float(population.size if chosen is None else np.count_nonzero(chosen)) for leaf, chosen in members.items()
    }


def _evidence(check: Check[Property], question: Question) -> AnyEvidence:
    formula, leaves, ranges = question.formula, question.leaves, question.ranges
    streams, delta = check.population.streams, check.delta
    if check.method == "verifair":
        return verifair_for(formula, leaves, ranges, streams, delta)
    bets = None if check.method == "region" else _bets(check, question, None)
    if bets is None and check.method == "bets":
        raise UsageError(
            f"expected a property that is linear in the rates for method='bets', but {check.prop} came: use "
            "method='auto', which takes a confidence region where bets cannot be made"
        )
    return bets or region_for(formula, leaves, ranges, streams, delta)


def _bets(check: Check[Property], question: Question, sizes: dict[Leaf, float] | None) -> BetEvidence | None:
    return bets_for(question.formula, question.ranges, check.population.streams, check.delta, sizes)


def _schedule(check: Check[Property], evidence: AnyEvidence) -> Schedule:
    """The schedule asked for, with smaller batches where they cost nothing or where fidelity asks for them.

    Where every draw informs every channel, the first batches may be as small as can be. The paper's rule looks after
    every draw; batches that grow by half a percent stop within half a percent of it.
    """
    schedule = check.schedule
    fresh: Evidence[Any] = evidence
    if fresh.decision(fresh.begin()) is None:
        schedule = replace(schedule, first=max(schedule.first, min(_soonest(check.delta), 64)))
    if check.method == "verifair":
        growth = min(schedule.growth, 1.005)
        schedule = replace(check.schedule, growth=growth, early=growth)
    groups = {(channel.stream, channel.given, channel.ticket) for channel in evidence.channels}
    streams = {stream for stream, _, _ in groups}
    if 0 < len(groups) == len(streams):
        return replace(schedule, first=len(streams))
    return schedule


def _soonest(delta: float) -> int:
    """A draw seldom brings more than half a nat, so hardly anything is decided by fewer draws than this."""
    return int(np.ceil(2.0 * np.log(1.0 / delta)))
