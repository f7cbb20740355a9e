"""Checking principal fairness, from the call to the verdict."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic
from typing import Any

import numpy as np

from isonomia.audits.people import UNLIMITED, census_of
from isonomia.audits.pipeline import Sampling, Steps, decide
from isonomia.audits.principal.census import PrincipalCensus, ProvedTables, count_census, prove_tables
from isonomia.audits.principal.findings import SubgroupFinding, SubgroupWealth, find, largest_effect
from isonomia.audits.principal.question import Key, PrincipalQuestion, ask_about, refuse_many, subgroups_in
from isonomia.audits.principal.sampling import PrincipalSampling, PrincipalState, check_table
from isonomia.audits.principal.view import assumptions, exact_remarks, sampled_remarks
from isonomia.audits.proofs import EVERY_WAY, proved_by
from isonomia.audits.protocol import Check
from isonomia.audits.verdicts import earlier_looks, new_verdict, why_stopped
from isonomia.engine.loop import Outcome
from isonomia.engine.parameters import Budget, Observer, root
from isonomia.errors import NumericalError
from isonomia.evidence.fair_worlds import fair_worlds
from isonomia.populations.causal import Abducted
from isonomia.populations.finite import Census, Sample, WithReplacement
from isonomia.populations.protocol import Population, Source, Wanted
from isonomia.populations.streaming import LongTable
from isonomia.populations.table import Table
from isonomia.records.journal import once
from isonomia.records.verdict import Expression, Verdict
from isonomia.spec.principal import PrincipalFairness

WIDE = "the proof is inconclusive"

PILOTS = 10_000
"""Draws that list the subgroups of an unlimited population; others may still first appear later."""


def check_principal(check: Check[PrincipalFairness], observer: Observer) -> Verdict:
    """Check principal fairness."""
    question, table = ask_about(check.prop, check.population, check.model, check.journal), _table_of(check)
    if table is not None:
        check_table(question, table)
    return decide(STEPS, check, question, observer)


def _is_open(question: PrincipalQuestion, proof: ProvedTables) -> bool:
    return not proof.narrow and proof.holds(question) is None


def _is_counted(check: Check[PrincipalFairness], question: PrincipalQuestion) -> bool:  # noqa: ARG001
    census = census_of(check.population)
    if census is None:
        return False
    covered = check.model is None or check.budget.affords(1) >= census.size
    return (census.exact and covered) or check.method == "exact"


def _interrupted(check: Check[PrincipalFairness], question: PrincipalQuestion) -> Verdict:
    stopped = why_stopped("interrupted")
    return _verdict(check, question, None, (), method="exact", overall={}, stopped=stopped, remarks=())


def _proved(
    check: Check[PrincipalFairness], question: PrincipalQuestion, proof: ProvedTables, began: float
) -> Verdict | str:
    try:
        counted = proof.census(question)
    except NumericalError as error:
        return f"its bounds cannot be computed: {error}"
    return _verdict(
        check,
        question,
        counted.holds,
        counted.findings,
        method="exact",
        stopped=EVERY_WAY if proof.narrow or counted.holds is not None else WIDE,
        remarks=(proved_by(proof.ways), *exact_remarks(question, counted.holds, counted.findings)),
        seconds=monotonic() - began,
        overall=_exact_overall(counted),
        ways=proof.ways,
    )


def _table_of(check: Check[PrincipalFairness]) -> Table | None:
    """The people where they are in memory; ``None`` where they are drawn, or read from files as needed."""
    people = check.population.people if isinstance(check.population, Abducted) else check.population
    return people.rows if isinstance(people, Sample | Census) and isinstance(people.rows, Table) else None


def _exact(check: Check[PrincipalFairness], question: PrincipalQuestion, observer: Observer, before: int) -> Verdict:
    began = monotonic()
    counted = count_census(check, question, observer)
    return _verdict(
        check,
        question,
        counted.holds,
        counted.findings,
        method="exact",
        samples=before + counted.people,
        stopped="interrupted" if counted.interrupted else "all rows were counted",
        remarks=exact_remarks(question, counted.holds, counted.findings),
        seconds=monotonic() - began,
        overall=_exact_overall(counted),
    )


def _exact_overall(counted: PrincipalCensus) -> dict[str, Any]:
    return {"violating": sum(finding.holds is False for finding in counted.findings)}


def _prepare(check: Check[PrincipalFairness], question: PrincipalQuestion) -> Sampling[PrincipalSampling]:
    work = _work(check, question)
    limit = once(check.journal, "available", lambda: {"people": _available(check)})["people"]
    budget, available = check.budget, float("inf") if limit is None else float(limit)
    if check.population.size is None and budget == Budget():
        budget = Budget(samples=UNLIMITED)
    first = max(check.schedule.first, min(8 * len(work.listed), 256))
    looks, order = earlier_looks(check.population)
    schedule = replace(check.schedule, first=first).along(looks, whole=order == "file")
    return Sampling(work, budget, schedule, available)


def _available(check: Check[PrincipalFairness]) -> int | None:
    """How many draws there can be: one per row, or infinitely many; a census must leave room to count all rows."""
    size, census = check.population.size, census_of(check.population)
    return None if size is None or (census is not None and check.budget.samples < 2 * size) else size


def _sampled(
    check: Check[PrincipalFairness],
    question: PrincipalQuestion,
    sampling: Sampling[PrincipalSampling],
    outcome: Outcome[PrincipalState],
    remarks: tuple[str, ...],
) -> Verdict:
    began, state, work = monotonic(), outcome.state, sampling.work
    answer, refuted = work.answer(state), work.contradicted(state)
    unfair, fair, against = work.unfair(state), work.fair(state), state.evidence.fair
    holds = [False if bad else True if good else None for bad, good in zip(unfair, fair, strict=True)]
    for_fairness = work.for_fairness(state).tolist() if question.prop.within else [None] * len(state.keys)
    bets = [
        SubgroupWealth(*row)
        for row in zip(against.log_wealth.tolist(), against.peak.tolist(), for_fairness, strict=True)
    ]
    findings = find(question, state.keys, against.tally, holds, bets, check.delta)
    return _verdict(
        check,
        question,
        answer,
        tuple(findings),
        method="bets",
        samples=outcome.samples,
        stopped="the assumptions are refuted" if refuted else why_stopped(outcome.reason),
        remarks=(*remarks, *sampled_remarks(question, answer, findings, check.delta, refuted)),
        seconds=outcome.seconds + monotonic() - began,
        overall={"now": state.fair.log_wealth, "peak": state.fair.peak, "need": work.need},
    )


def _work(check: Check[PrincipalFairness], question: PrincipalQuestion) -> PrincipalSampling:
    prop = check.prop
    worlds = fair_worlds(
        question.shape,
        prop.definition,
        check.delta,
        margin=prop.within,
        normalised=prop.normalised,
        assumptions=question.constraints,
    )
    streams = len(check.population.streams)
    entry = once(check.journal, "subgroups", lambda: {"keys": [list(key) for key in _listed(check, question)]})
    listed = tuple(tuple(key) for key in entry["keys"])
    closed = check.population.kind in {"sample", "census"} or not question.given
    return PrincipalSampling(
        question, _source(check, question), streams, check.model, worlds, listed, closed, check.seed
    )


def _source(check: Check[PrincipalFairness], question: PrincipalQuestion) -> Source:
    """Open the population; the bets need independent draws, so the rows of a census may come twice."""
    census = census_of(check.population)
    if census is not None:
        return WithReplacement(census.table)
    population: Population = check.population
    return population.open(root(check.seed), question.wanted)


def _listed(check: Check[PrincipalFairness], question: PrincipalQuestion) -> tuple[Key, ...]:
    """The subgroups known beforehand: those of a table, or of pilot draws, from which nothing else is read."""
    table, given = _table_of(check), question.given
    if table is not None or not given:
        return ((),) if table is None else subgroups_in(table, given)
    if isinstance(check.population, Sample) and isinstance(check.population.rows, LongTable):
        return _listed_in(check.population.rows, given)
    source = check.population.open(root(0), Wanted(given))
    streams = range(len(check.population.streams))
    pilots = [source.batch(0, PILOTS, np.random.default_rng([0, stream]), stream) for stream in streams]
    keys = tuple(dict.fromkeys(key for pilot in pilots for key in subgroups_in(pilot, given)))
    refuse_many(len(keys), given)
    return keys


def _listed_in(people: LongTable, given: tuple[str, ...]) -> tuple[Key, ...]:
    """The subgroups of a table in files, by a pass over the columns that define them, in the order of their values."""
    keys = {key for part in people.batches(given) for key in subgroups_in(part, given)}
    refuse_many(len(keys), given)
    return tuple(sorted(keys, key=lambda key: [(isinstance(value, str), value) for value in key]))


def _verdict(
    check: Check[PrincipalFairness],
    question: PrincipalQuestion,
    answer: bool | None,
    findings: tuple[SubgroupFinding, ...],
    *,
    overall: dict[str, Any],
    ways: int = 0,
    **content: Any,
) -> Verdict:
    return new_verdict(
        check,
        answer,
        expressions=_expressions(question, answer, findings),
        assumptions=assumptions(check, question, findings),
        details={**_details(question, findings, overall), **({"ways": ways} if ways else {})},
        **content,
    )


def _expressions(
    question: PrincipalQuestion, answer: bool | None, findings: tuple[SubgroupFinding, ...]
) -> tuple[Expression, ...]:
    """The size of the largest effect, which the answer is about, then each effect; a single effect may suffice."""
    each = tuple(item for finding in findings for item in finding.expressions(question))
    if answer is True or (len(each) == 1 and question.prop.within > 0):
        each = tuple(item.agreeing(answer) if item.relation == "<=" else item for item in each)
    if len(each) == 1 and each[0].settled is answer:
        return each
    return (*largest_effect(question, answer, findings), *each)


def _details(
    question: PrincipalQuestion, findings: tuple[SubgroupFinding, ...], overall: dict[str, Any]
) -> dict[str, Any]:
    codings = {"attribute": question.attribute, "prediction": question.prediction, "outcome": question.outcome}
    return {
        "audit": "principal fairness",
        "definition": question.prop.definition,
        "within": question.prop.within,
        "normalised": question.prop.normalised,
        **{role: {"name": coding.name, "values": list(coding.values)} for role, coding in codings.items()},
        "given": list(question.given),
        "overall": overall,
        "subgroups": [finding.plain(question) for finding in findings],
    }


STEPS = Steps(
    prove=prove_tables,
    unpack=ProvedTables.unpack,
    failed=lambda reason: ProvedTables(reason=reason),
    is_open=_is_open,
    proved=_proved,
    is_counted=_is_counted,
    exact=_exact,
    prepare=_prepare,
    sampled=_sampled,
    interrupted=_interrupted,
)
