"""Checking a property about rates, from the call to the verdict."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from time import monotonic
from typing import Any
from typing import Literal as OneOf

from isonomia.audits.journaled import introduce
from isonomia.audits.rates.asking import Asker
from isonomia.audits.rates.census import count_everybody
from isonomia.audits.rates.everybody import census_of, countable
from isonomia.audits.rates.known import compared
from isonomia.audits.rates.possible import refuse_counting
from isonomia.audits.rates.prepare import Prepared, prepare
from isonomia.audits.rates.question import Question, ask_about
from isonomia.audits.rates.remarks import (
    EVERYBODY,
    ahead_of_intervals,
    assumptions,
    remarks_on_draws,
    remarks_on_everybody,
    why_counting_stopped,
    zero_denominator,
)
from isonomia.audits.rates.request import Request
from isonomia.audits.rates.sampling import Progressed, Sampling
from isonomia.audits.stating import ANSWERS, model_stated, population_stated, why_stopped
from isonomia.engine.journal import Keeping, once
from isonomia.engine.loop import Outcome, run
from isonomia.engine.observer import Observer
from isonomia.evidence.exact import exact_truth
from isonomia.populations.protocol import Directable, Population
from isonomia.records.verdict import Expression, LeafRecord, Verdict
from isonomia.spec.versions import Other
from isonomia.version import __version__

__all__ = ["check_rates"]


def check_rates(request: Request, observer: Observer) -> Verdict:
    """Check a property about rates.

    Raises
    ------
    IsonomiaError
        Where the property, the data or the model is not what the check needs.
    """
    question = ask_about(request.prop, request.population, request.model, request.ranges, request.journal)
    if not question.leaves:
        introduce(request.population, request.model, request.journal)
        remark = "the property compares constants only: neither the model nor the population matters"
        answer = ANSWERS[exact_truth(question.formula, {})]
        return _verdict(request, question, answer, "exact", stopped="nothing to ask", remarks=(remark,))
    exact = once(request.journal, "exact", lambda: {"exact": _is_counted(question, request.population)})["exact"]
    # A second person is drawn from everybody, so a stream of one group has none to offer.
    if not exact and isinstance(request.population, Directable) and Other() not in question.asked:
        request = replace(request, population=request.population.focused(question.groups), sharing=None)
    introduce(request.population, request.model, request.journal)
    refuse_counting(request.population, exact)
    return _exact(request, question, observer) if exact else _sampled(request, question, observer)


def _is_counted(question: Question, population: Population) -> bool:
    """Whether everybody is asked, so that nothing has to be estimated."""
    census = census_of(population)
    return census is not None and census.exact and countable(question, census.size)


def _exact(request: Request, question: Question, observer: Observer, before: int = 0) -> Verdict:
    began = monotonic()
    observer.begin(str(request.prop))
    alike = request.sharing is not None and set(question.asked) <= {None, Other()}
    memory = request.sharing.memory if request.sharing is not None and alike else None
    asker = None if request.model is None else Asker(request.model, request.workers, request.journal, memory)
    try:
        counted = count_everybody(question, asker, request.population, observer, request.journal)
    finally:
        observer.end()
        if asker is not None:
            asker.close()
    return _verdict(
        request,
        question,
        ANSWERS[counted.answer],
        "exact",
        samples=before + counted.asked,
        leaves=counted.leaves,
        expressions=counted.expressions,
        remarks=remarks_on_everybody(question, counted),
        stopped=why_counting_stopped(counted),
        seconds=monotonic() - began,
    )


def _sampled(request: Request, question: Question, observer: Observer) -> Verdict:
    began = monotonic()
    prepared = prepare(request, question)
    work, outcome = prepared.work, _drawn(request, question, prepared, observer)
    if outcome.reason == "exhausted" and request.population.kind == "census" and work.sizes is None:
        # Independent draws as many as there are rows did not decide it: everybody is asked after all.
        return _exact(request, question, observer, before=outcome.samples)
    answer, method = _answer(work, question, outcome)
    knowledge = work.knowledge(outcome.state)
    expressions = tuple(knowledge.expression(*item) for item in compared(question.formula))
    leaves = tuple(knowledge.leaf(leaf) for leaf in question.leaves)
    return _verdict(
        request,
        question,
        ANSWERS[answer],
        method,
        samples=outcome.samples,
        leaves=leaves,
        expressions=expressions,
        remarks=(*remarks_on_draws(request, work, outcome, leaves), *ahead_of_intervals(answer, method, expressions)),
        stopped=why_stopped(outcome.reason, question.counted) if method != "exact" else EVERYBODY,
        seconds=monotonic() - began,
    )


def _drawn(request: Request, question: Question, prepared: Prepared, observer: Observer) -> Outcome[Progressed[Any]]:
    """Draw batch after batch, until it is decided or there is no more to draw."""
    work = prepared.work
    observer.begin(str(request.prop))
    try:
        return run(
            work,
            prepared.schedule,
            prepared.budget,
            observer,
            available=prepared.available,
            counted=question.counted,
            keeping=Keeping(request.journal, work.pack, work.unpack),
        )
    finally:
        observer.end()
        if work.asker is not None:
            work.asker.close()


def _answer(work: Sampling[Any], question: Question, outcome: Outcome[Progressed[Any]]) -> tuple[bool | None, str]:
    """What the draws come to, and by which method: exact where they came to everybody.

    Raises
    ------
    DataError
        Where everybody was drawn, and a denominator is zero.
    """
    tallies = work.leaf_tallies(outcome.state)
    exhausted, seen = outcome.reason == "exhausted", {leaf: tally for leaf, tally in tallies.items() if tally.n}
    zero = bool(work.zero_denominators(outcome.state))
    if zero and exhausted and len(seen) == len(tallies):
        raise zero_denominator(work.named_denominator(outcome.state), outcome.samples)
    answer = None if zero else work.evidence.decision(outcome.state.evidence)
    if answer is not None or not exhausted or work.sizes is None:
        return answer, work.evidence.method
    values = {leaf: Fraction(round(tally.weights[-1]), round(tally.n)) for leaf, tally in seen.items()}
    return exact_truth(question.formula, values), "exact"


def _verdict(
    request: Request,
    question: Question,
    answer: OneOf["holds", "violated", "undecided"],
    method: str,
    *,
    stopped: str,
    remarks: tuple[str, ...] = (),
    samples: int = 0,
    leaves: tuple[LeafRecord, ...] = (),
    expressions: tuple[Expression, ...] = (),
    seconds: float = 0.0,
) -> Verdict:
    return Verdict(
        text=str(request.prop),
        answer=answer,
        delta=request.delta,
        risk=0.0 if method == "exact" or answer == "undecided" else request.delta,
        method=method,
        samples=samples,
        leaves=leaves,
        expressions=expressions,
        stopped=stopped,
        assumptions=assumptions(request),
        remarks=remarks,
        seed=request.seed,
        seconds=seconds,
        population=population_stated(request.population),
        model=model_stated(request.model),
        name=request.prop.name,
        version=__version__,
        counted=question.counted,
    )
