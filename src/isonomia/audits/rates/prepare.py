"""Preparing a sampled check: which evidence, from which source, within which budget."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from isonomia.audits.answers import Asker, Asks
from isonomia.audits.rates.census import census_of, countable
from isonomia.audits.rates.counting import Reader
from isonomia.audits.rates.plausible import possible_sizes
from isonomia.audits.rates.question import Question, need_ranges, need_streams
from isonomia.audits.rates.sampling import Sampling
from isonomia.audits.requests import RatesRequest
from isonomia.engine.budget import Budget
from isonomia.engine.journal import Entry, once
from isonomia.engine.loop import Schedule
from isonomia.engine.seeds import root
from isonomia.errors import DataError, UsageError
from isonomia.evidence.bet_evidence import BetEvidence, bets_for
from isonomia.evidence.protocol import Evidence
from isonomia.evidence.region import RegionEvidence, region_for
from isonomia.evidence.verifair import VerifairEvidence, verifair_for
from isonomia.populations.abducted import Abducted, AbductedSource
from isonomia.populations.finite import Census
from isonomia.populations.protocol import Population, Source
from isonomia.populations.sources import WithReplacement
from isonomia.spec.evaluate import Batch
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


def prepare(request: RatesRequest, question: Question) -> Prepared:
    """Choose how a property is decided by sampling.

    Raises
    ------
    SpecError
        Where a mean has no known range, or where no stream can give a leaf's group.
    UsageError
        Where bets are demanded for a property that is not linear in the rates.
    """
    need_ranges(question)
    need_streams(question.leaves, request.population.streams)
    population = request.population
    sizes = _kept_sizes(request, question)
    evidence: AnyEvidence | None = None if sizes is None else _bets(request, question, sizes)
    if evidence is None:
        # Groups that overlap, and regions, need independent draws: rows of a census may then come twice.
        sizes, evidence = None, _evidence(request, question)
    source, asker = _drawn_and_asked(request, question, replaced=sizes is None)
    work: Sampling[Any] = Sampling(
        question,
        population,
        source,
        asker,
        evidence,
        request.delta,
        request.seed,
        sizes,
        evidence if isinstance(evidence, BetEvidence) else None,
    )
    limit = once(request.journal, "available", lambda: {"people": _available(request, question, sizes is None)})
    _refuse_other_limit(limit["people"], request.population, Other() in question.asked, sizes is not None)
    available, budget = float("inf") if limit["people"] is None else float(limit["people"]), request.budget
    if available == float("inf") and budget == Budget():
        budget = Budget(samples=UNLIMITED)
    return Prepared(work, budget, _schedule(request, evidence), available)


def _drawn_and_asked(request: RatesRequest, question: Question, *, replaced: bool) -> tuple[Source, Asks | None]:
    """Where people are drawn and who is asked: shared with other checks where all of them see people as they are."""
    alone = set(question.asked) == {None} and len(request.population.streams) == 1
    again = replaced and census_of(request.population) is not None
    if request.sharing is not None and alone and not again:
        shared = request.sharing.shared()
        return shared, None if request.model is None else shared
    asker = None if request.model is None else Asker(request.model, request.workers)
    return _source(request, question, replaced=replaced), asker


def _available(request: RatesRequest, question: Question, replaced: bool) -> int | None:
    """How many draws there can be: one a row, one a pair of rows, or infinitely many, ``None``."""
    size = request.population.size
    if size is None:
        return None
    if census_of(request.population) is None:
        return size // 2 if Other() in question.asked else size
    # Once as many draws were made as there are rows, asking everybody is cheaper than drawing on, budget permitting.
    counted_in_the_end = countable(question, size) and request.budget.samples >= 2 * size
    return size if counted_in_the_end or not replaced else None


def _refuse_other_limit(people: int | None, population: Population, paired: bool, once_each: bool) -> None:
    """Refuse a limit of draws that this population never has, as in a record that was changed."""
    size = population.size
    allowed = {size} if population.kind != "census" or once_each else {size, None}
    if population.kind == "sample" and size is not None and paired:
        allowed = {size // 2}
    if people not in allowed:
        raise DataError(
            f"expected a limit of draws for a {population.kind} of {size!r} people, but the record has {people!r:.40}"
        )


def _source(request: RatesRequest, question: Question, *, replaced: bool) -> Source:
    """Open the population; the rows of a census may come twice where independent draws are needed."""
    population, census = request.population, census_of(request.population)
    if census is None or not replaced:
        return population.open(root(request.seed), question.wanted)
    rows = WithReplacement(census.table)
    if isinstance(population, Abducted):
        return AbductedSource(population.model, rows, question.wanted, census.table)
    return rows


def _kept_sizes(request: RatesRequest, question: Question) -> dict[Leaf, float] | None:
    def measured() -> Entry:
        found = _group_sizes(request, question)
        return {"sizes": None if found is None else [found[leaf] for leaf in question.leaves]}

    sizes = once(request.journal, "group sizes", measured)["sizes"]
    if sizes is None:
        return None
    found = dict(zip(question.leaves, map(float, sizes), strict=True))
    if not possible_sizes(found, request.population.size):
        raise DataError(
            f"expected sizes of groups among {request.population.size!r} people, but {sizes!r:.80} are in the record"
        )
    return found


def _group_sizes(request: RatesRequest, question: Question) -> dict[Leaf, float] | None:
    """How many rows each leaf's group has, where rows can be drawn without replacement and that can be known.

    It can for a census whose groups do not depend on the model, and for yes/no leaves.
    """
    population = request.population
    if not isinstance(population, Census) or request.method not in {"auto", "bets"} or len(question.asked) > 1:
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


def _evidence(request: RatesRequest, question: Question) -> AnyEvidence:
    formula, leaves, ranges = question.formula, question.leaves, question.ranges
    streams, delta = request.population.streams, request.delta
    if request.method == "verifair":
        return verifair_for(formula, leaves, ranges, streams, delta)
    bets = None if request.method == "region" else _bets(request, question, None)
    if bets is None and request.method == "bets":
        raise UsageError(
            f"expected a property that is linear in the rates for method='bets', but {request.prop} came: use "
            "method='auto', which takes a confidence region where bets cannot be made"
        )
    return bets or region_for(formula, leaves, ranges, streams, delta)


def _bets(request: RatesRequest, question: Question, sizes: dict[Leaf, float] | None) -> BetEvidence | None:
    return bets_for(question.formula, question.ranges, request.population.streams, request.delta, sizes)


def _schedule(request: RatesRequest, evidence: AnyEvidence) -> Schedule:
    """The schedule asked for, with smaller batches where they cost nothing or where fidelity asks for them.

    Where every draw informs every channel, the first batches may be as small as can be. The paper's rule looks after
    every draw; batches that grow by half a percent stop within half a percent of it.
    """
    schedule = request.schedule
    fresh: Evidence[Any] = evidence
    if fresh.decision(fresh.begin()) is None:
        schedule = replace(schedule, first=max(schedule.first, min(_soonest(request.delta), 64)))
    if request.method == "verifair":
        growth = min(schedule.growth, 1.005)
        schedule = replace(request.schedule, growth=growth, early=growth)
    groups = {(channel.stream, channel.given, channel.ticket) for channel in evidence.channels}
    streams = {stream for stream, _, _ in groups}
    if 0 < len(groups) == len(streams):
        return replace(schedule, first=len(streams))
    return schedule


def _soonest(delta: float) -> int:
    """A draw seldom brings more than half a nat, so hardly anything is decided by fewer draws than this."""
    return int(np.ceil(2.0 * np.log(1.0 / delta)))
