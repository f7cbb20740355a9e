"""Checking principal fairness, from the call to the verdict."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic
from typing import Any

import numpy as np

from isonomia.audits.principal.census import Counted, count_everybody
from isonomia.audits.principal.counting import Key, check_table, refuse_many, subgroups_in
from isonomia.audits.principal.findings import Bet, Finding, find
from isonomia.audits.principal.question import Question, ask_about
from isonomia.audits.principal.remarks import assumptions, exact_remarks, sampled_remarks
from isonomia.audits.principal.request import Request
from isonomia.audits.principal.sampling import Progressed, Sampling
from isonomia.audits.rates.asking import Asker
from isonomia.audits.rates.check import ANSWERS, REASONS
from isonomia.audits.rates.everybody import census_of
from isonomia.audits.rates.prepare import UNLIMITED
from isonomia.engine.budget import Budget
from isonomia.engine.loop import Outcome, run
from isonomia.engine.observer import Observer
from isonomia.engine.seeds import root
from isonomia.evidence.fair_worlds import fair_worlds
from isonomia.populations.abducted import Abducted
from isonomia.populations.census import Census
from isonomia.populations.protocol import Source, Wanted
from isonomia.populations.rows import WithReplacement
from isonomia.populations.sample import Sample
from isonomia.populations.table import Table
from isonomia.records.verdict import Verdict
from isonomia.version import __version__

__all__ = ["check_principal"]

PILOTS = 10_000
"""Draws that list the subgroups of an unlimited population; others may still turn up later."""


def check_principal(request: Request, observer: Observer) -> Verdict:
    """Check principal fairness.

    Raises
    ------
    IsonomiaError
        Where the property, the data or the model is not what the check needs.
    """
    question = ask_about(request.prop, request.population, request.model)
    table, census = _table_of(request), census_of(request.population)
    if table is not None:
        check_table(question, table)
    if census is not None and census.exact:
        return _exact(request, question, census, observer)
    return _sampled(request, question, observer)


def _table_of(request: Request) -> Table | None:
    people = request.population.people if isinstance(request.population, Abducted) else request.population
    return people.table if isinstance(people, Sample | Census) else None


def _exact(request: Request, question: Question, census: Census, observer: Observer, before: int = 0) -> Verdict:
    began = monotonic()
    observer.begin(str(request.prop))
    asker = None if request.model is None else Asker(request.model, request.workers)
    try:
        counted = count_everybody(question, asker, census, observer)
    finally:
        observer.end()
        if asker is not None:
            asker.close()
    return _verdict(
        request,
        question,
        counted.holds,
        counted.findings,
        method="exact",
        samples=before + counted.people,
        stopped="interrupted" if counted.interrupted else "everybody was asked",
        remarks=exact_remarks(question, counted.holds, counted.findings),
        seconds=monotonic() - began,
        overall=_exact_overall(counted),
    )


def _exact_overall(counted: Counted) -> dict[str, Any]:
    return {"violating": sum(finding.holds is False for finding in counted.findings)}


def _sampled(request: Request, question: Question, observer: Observer) -> Verdict:
    work = _work(request, question)
    budget, available = request.budget, _available(request)
    if request.population.size is None and budget == Budget():
        budget = Budget(samples=UNLIMITED)
    first = max(request.schedule.first, min(8 * len(work.listed), 256))
    observer.begin(str(request.prop))
    try:
        outcome = run(work, replace(request.schedule, first=first), budget, observer, available=available)
    finally:
        observer.end()
        if work.asker is not None:
            work.asker.close()
    census = census_of(request.population)
    if census is not None and outcome.reason == "exhausted":
        # Independent draws as many as there are rows did not decide it: everybody is asked after all.
        return _exact(request, question, census, observer, before=outcome.samples)
    return _concluded(request, question, work, outcome)


def _available(request: Request) -> float:
    """How many draws there can be: infinitely many, or one a row; a census must leave room to ask everybody after."""
    size, census = request.population.size, census_of(request.population)
    if size is None or (census is not None and request.budget.samples < 2 * size):
        return float("inf")
    return float(size)


def _concluded(request: Request, question: Question, work: Sampling, outcome: Outcome[Progressed]) -> Verdict:
    began, state = monotonic(), outcome.state
    answer, refuted = work.answer(state), work.contradicted(state)
    unfair, fair, against = work.unfair(state), work.fair(state), state.evidence.fair
    holds = [False if bad else True if good else None for bad, good in zip(unfair, fair, strict=True)]
    for_fairness = work.for_fairness(state).tolist() if question.prop.within else [None] * len(state.keys)
    bets = [Bet(*row) for row in zip(against.log_wealth.tolist(), against.peak.tolist(), for_fairness, strict=True)]
    findings = find(question, state.keys, against.tally, holds, bets, request.delta)
    return _verdict(
        request,
        question,
        answer,
        tuple(findings),
        method="bets",
        samples=outcome.samples,
        stopped="the assumptions are refuted" if refuted else REASONS[outcome.reason],
        remarks=sampled_remarks(question, answer, findings, request.delta, refuted),
        seconds=outcome.seconds + monotonic() - began,
        overall={"now": state.fair.log_wealth, "peak": state.fair.peak, "need": work.need},
    )


def _work(request: Request, question: Question) -> Sampling:
    prop = request.prop
    worlds = fair_worlds(
        question.shape,
        prop.definition,
        request.delta,
        margin=prop.within,
        normalised=prop.normalised,
        assumptions=question.constraints,
    )
    asker = None if request.model is None else Asker(request.model, request.workers)
    streams = len(request.population.streams)
    listed, closed = _listed(request, question), _table_of(request) is not None or not question.given
    return Sampling(question, _source(request, question), streams, asker, worlds, listed, closed, request.seed)


def _source(request: Request, question: Question) -> Source:
    """Open the population; the bets need independent draws, so the rows of a census may come twice."""
    census = census_of(request.population)
    if census is not None:
        return WithReplacement(census.table)
    return request.population.open(root(request.seed), question.wanted)


def _listed(request: Request, question: Question) -> tuple[Key, ...]:
    """The subgroups known beforehand: those of a table, or those of pilot draws of which nothing else is read."""
    table, given = _table_of(request), question.given
    if table is not None or not given:
        return ((),) if table is None else subgroups_in(table, given)
    source = request.population.open(root(0), Wanted(given))
    streams = range(len(request.population.streams))
    pilots = [source.batch(0, PILOTS, np.random.default_rng([0, stream]), stream) for stream in streams]
    found = tuple(dict.fromkeys(key for pilot in pilots for key in subgroups_in(pilot, given)))
    refuse_many(len(found), given)
    return found


def _verdict(
    request: Request,
    question: Question,
    answer: bool | None,
    findings: tuple[Finding, ...],
    *,
    method: str,
    samples: int,
    stopped: str,
    remarks: tuple[str, ...],
    seconds: float,
    overall: dict[str, Any],
) -> Verdict:
    population, model = request.population, request.model
    return Verdict(
        text=str(request.prop),
        answer=ANSWERS[answer],
        delta=request.delta,
        risk=0.0 if method == "exact" or answer is None else request.delta,
        method=method,
        samples=samples,
        leaves=(),
        expressions=tuple(item for finding in findings for item in finding.expressions(question)),
        stopped=stopped,
        assumptions=assumptions(request, question),
        remarks=remarks,
        seed=request.seed,
        seconds=seconds,
        population={"kind": population.kind, "size": population.size, "fingerprint": population.fingerprint()},
        model={} if model is None else {"name": model.name, "fingerprint": model.fingerprint()},
        name=request.prop.name,
        version=__version__,
        details=_details(question, findings, overall),
    )


def _details(question: Question, findings: tuple[Finding, ...], overall: dict[str, Any]) -> dict[str, Any]:
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
