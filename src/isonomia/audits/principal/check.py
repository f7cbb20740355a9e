"""Checking principal fairness, from the call to the verdict."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic
from typing import Any

import numpy as np

from isonomia.audits.people import UNLIMITED, census_of
from isonomia.audits.principal.census import PrincipalCensus, ProvedTables, count_census, prove_tables
from isonomia.audits.principal.findings import Finding, SubgroupWealth, find, largest_effect
from isonomia.audits.principal.question import Key, PrincipalQuestion, ask_about, refuse_many, subgroups_in
from isonomia.audits.principal.sampling import PrincipalSampling, PrincipalState, check_table
from isonomia.audits.principal.view import assumptions, exact_remarks, sampled_remarks
from isonomia.audits.proofs import EITHER, EVERY_WAY, ProofEffort, no_proof, proof_entry, proved_by, sampled_since
from isonomia.audits.protocol import Check
from isonomia.audits.verdicts import earlier_looks, introduce, new_verdict, why_stopped
from isonomia.engine.loop import Outcome, run
from isonomia.engine.parameters import Budget, Observer, root
from isonomia.errors import NumericalError
from isonomia.evidence.fair_worlds import fair_worlds
from isonomia.populations.causal import Abducted
from isonomia.populations.finite import Census, Sample, WithReplacement
from isonomia.populations.protocol import Population, Source, Wanted
from isonomia.populations.streaming import LongTable
from isonomia.populations.table import Table
from isonomia.records.journal import Entry, once
from isonomia.records.verdict import Expression, Verdict
from isonomia.spec.principal import PrincipalFairness

WIDE = "what could be proved leaves the table open"

PILOTS = 10_000
"""Draws that list the subgroups of an unlimited population; others may still turn up later."""


def check_principal(check: Check[PrincipalFairness], observer: Observer) -> Verdict:
    """Check principal fairness."""
    question = ask_about(check.prop, check.population, check.model, check.journal)
    table, census = _table_of(check), census_of(check.population)
    if table is not None:
        check_table(question, table)
    began = monotonic()
    try:
        proof = _proof(check, question, observer)
    except KeyboardInterrupt:  # a proof is kept only once it is complete
        introduce(check.population, check.model, check.journal)
        stopped = why_stopped("interrupted")
        return _verdict(check, question, None, (), method="exact", overall={}, stopped=stopped, remarks=())
    if proof is not None and not proof.reason:
        introduce(check.population, check.model, check.journal)
        try:
            return _proved(check, question, proof, began)
        except NumericalError as error:
            proof = ProvedTables(reason=f"its bounds cannot be computed: {error}")
    covered = census is not None and (check.model is None or check.budget.affords(1) >= census.size)
    counted = census is not None and ((census.exact and covered) or check.method == "exact")
    exact = once(check.journal, "exact", lambda: {"exact": counted})["exact"]
    if check.method == "exact" and not exact:
        raise no_proof(check, "" if proof is None else proof.reason)
    introduce(check.population, check.model, check.journal)
    if exact:
        return _exact(check, question, observer)
    return _sampled(check, question, observer, () if proof is None else (sampled_since(proof.reason),))


def _proof(check: Check[PrincipalFairness], question: PrincipalQuestion, observer: Observer) -> ProvedTables | None:
    """What is proved of a program or a causal model; ``None`` where no proof is to be tried."""

    def proved(effort: ProofEffort) -> Entry:
        """A proof that leaves the answer open does not count where draws could still decide it."""
        proof = prove_tables(check, question, observer, effort)
        if not proof.reason and not proof.narrow and check.method != "exact" and proof.holds(question) is None:
            proof = ProvedTables(reason=EITHER)
        return proof.pack()

    entry = proof_entry(check, observer, proved)
    return None if entry is None else ProvedTables.unpack(entry, question)


def _proved(check: Check[PrincipalFairness], question: PrincipalQuestion, proof: ProvedTables, began: float) -> Verdict:
    counted = proof.census(question)
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


def _exact(
    check: Check[PrincipalFairness], question: PrincipalQuestion, observer: Observer, before: int = 0
) -> Verdict:
    began = monotonic()
    counted = count_census(check, question, observer)
    return _verdict(
        check,
        question,
        counted.holds,
        counted.findings,
        method="exact",
        samples=before + counted.people,
        stopped="interrupted" if counted.interrupted else "everybody was counted",
        remarks=exact_remarks(question, counted.holds, counted.findings),
        seconds=monotonic() - began,
        overall=_exact_overall(counted),
    )


def _exact_overall(counted: PrincipalCensus) -> dict[str, Any]:
    return {"violating": sum(finding.holds is False for finding in counted.findings)}


def _sampled(
    check: Check[PrincipalFairness], question: PrincipalQuestion, observer: Observer, remarks: tuple[str, ...]
) -> Verdict:
    work = _work(check, question)
    limit = once(check.journal, "available", lambda: {"people": _available(check)})["people"]
    budget, available = check.budget, float("inf") if limit is None else float(limit)
    if check.population.size is None and budget == Budget():
        budget = Budget(samples=UNLIMITED)
    first = max(check.schedule.first, min(8 * len(work.listed), 256))
    observer.begin(str(check.prop))
    try:
        looks, order = earlier_looks(check.population)
        schedule = replace(check.schedule, first=first).along(looks, whole=order == "file")
        outcome = run(
            work,
            schedule,
            budget,
            observer,
            available=available,
            journal=check.journal,
            steady=check.steady,
            ahead=work.ahead,
        )
    finally:
        observer.end()
        if work.session is not None:
            work.session.close()
    if check.population.kind == "census" and outcome.reason == "exhausted":
        # As many independent draws as there are rows did not decide it: count everybody after all.
        return _exact(check, question, observer, before=outcome.samples)
    return _concluded(check, question, work, outcome, remarks)


def _available(check: Check[PrincipalFairness]) -> int | None:
    """How many draws there can be: one per row, or infinitely many; a census must leave room to count everybody."""
    size, census = check.population.size, census_of(check.population)
    return None if size is None or (census is not None and check.budget.samples < 2 * size) else size


def _concluded(
    check: Check[PrincipalFairness],
    question: PrincipalQuestion,
    work: PrincipalSampling,
    outcome: Outcome[PrincipalState],
    remarks: tuple[str, ...],
) -> Verdict:
    began, state = monotonic(), outcome.state
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
    found = once(check.journal, "subgroups", lambda: {"keys": [list(key) for key in _listed(check, question)]})
    listed = tuple(tuple(key) for key in found["keys"])
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
    found = tuple(dict.fromkeys(key for pilot in pilots for key in subgroups_in(pilot, given)))
    refuse_many(len(found), given)
    return found


def _listed_in(people: LongTable, given: tuple[str, ...]) -> tuple[Key, ...]:
    """The subgroups of a table in files, by a pass over the columns that define them, in the order of their values."""
    found = {key for part in people.batches(given) for key in subgroups_in(part, given)}
    refuse_many(len(found), given)
    return tuple(sorted(found, key=lambda key: [(isinstance(value, str), value) for value in key]))


def _verdict(
    check: Check[PrincipalFairness],
    question: PrincipalQuestion,
    answer: bool | None,
    findings: tuple[Finding, ...],
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
    question: PrincipalQuestion, answer: bool | None, findings: tuple[Finding, ...]
) -> tuple[Expression, ...]:
    """The size of the largest effect, which the answer is about, then each effect; a single effect may suffice."""
    each = tuple(item for finding in findings for item in finding.expressions(question))
    if answer is True or (len(each) == 1 and question.prop.within > 0):
        each = tuple(item.agreeing(answer) if item.relation == "<=" else item for item in each)
    if len(each) == 1 and each[0].settled is answer:
        return each
    return (*largest_effect(question, answer, findings), *each)


def _details(question: PrincipalQuestion, findings: tuple[Finding, ...], overall: dict[str, Any]) -> dict[str, Any]:
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
