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
from isonomia.audits.rates.prepare import prepare
from isonomia.audits.rates.question import Question, ask_about
from isonomia.audits.rates.request import Request
from isonomia.audits.rates.sampling import Progressed, Sampling
from isonomia.engine.journal import Keeping, once
from isonomia.engine.loop import Outcome, run
from isonomia.engine.observer import Observer
from isonomia.errors import DataError
from isonomia.evidence.exact import exact_truth
from isonomia.populations.protocol import Directable, Population
from isonomia.records.verdict import Expression, LeafRecord, Verdict
from isonomia.spec.text import to_text
from isonomia.spec.tree import Leaf
from isonomia.spec.versions import Other
from isonomia.version import __version__

__all__ = ["check_rates"]

ANSWERS: dict[bool | None, OneOf["holds", "violated", "undecided"]] = {
    True: "holds",
    False: "violated",
    None: "undecided",
}

REASONS = {
    "decided": "decided",
    "budget": "the budget of people is spent",
    "time": "the budget of time is spent",
    "exhausted": "every row is used up",
    "interrupted": "interrupted",
}


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
    asked = counted.asked
    stopped = "everybody was asked" if counted.answer is not None else "a group is empty"
    stopped = "interrupted" if counted.interrupted else stopped
    return _verdict(
        request,
        question,
        ANSWERS[counted.answer],
        "exact",
        samples=before + asked,
        leaves=counted.leaves,
        expressions=counted.expressions,
        remarks=() if counted.interrupted else (*_nobody(counted.empty, asked, question), *_never(counted.leaves)),
        stopped=stopped,
        seconds=monotonic() - began,
    )


def _sampled(request: Request, question: Question, observer: Observer) -> Verdict:
    began = monotonic()
    prepared = prepare(request, question)
    work = prepared.work
    observer.begin(str(request.prop))
    try:
        outcome = run(
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
    if outcome.reason == "exhausted" and request.population.kind == "census" and work.sizes is None:
        # Independent draws as many as there are rows did not decide it: everybody is asked after all.
        return _exact(request, question, observer, before=outcome.samples)
    tallies = work.leaf_tallies(outcome.state)
    empty = tuple(leaf for leaf in question.leaves if tallies[leaf].n == 0)
    zero = work.zero_denominators(outcome.state)
    if zero and not empty and outcome.reason == "exhausted":
        raise _zero_denominator(work, outcome)
    counted_out = outcome.reason == "exhausted" and work.sizes is not None
    answer, method = work.evidence.decision(outcome.state.evidence), work.evidence.method
    if zero:
        answer = None
    if answer is None and counted_out:
        seen = {leaf: tally for leaf, tally in tallies.items() if tally.n}
        values = {leaf: Fraction(round(tally.weights[-1]), round(tally.n)) for leaf, tally in seen.items()}
        answer, method = exact_truth(question.formula, values), "exact"
    knowledge = work.knowledge(outcome.state)
    expressions = tuple(knowledge.expression(*item) for item in compared(question.formula))
    leaves = tuple(knowledge.leaf(leaf) for leaf in question.leaves)
    remarks = (
        *getattr(request.population, "remarks", ()),
        *work.evidence.remarks,
        *_nobody(empty, outcome.samples, question),
        *_never(leaves),
        *_never_seen(work, outcome, bool(zero)),
        *_ahead_of_intervals(answer, method, expressions),
    )
    return _verdict(
        request,
        question,
        ANSWERS[answer],
        method,
        samples=outcome.samples,
        leaves=leaves,
        expressions=expressions,
        remarks=remarks,
        stopped=_stopped(question, outcome.reason) if method != "exact" else "everybody was asked",
        seconds=monotonic() - began,
    )


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
    population, model = request.population, request.model
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
        assumptions=_assumptions(request),
        remarks=remarks,
        seed=request.seed,
        seconds=seconds,
        population={"kind": population.kind, "size": population.size, "fingerprint": population.fingerprint()},
        model={} if model is None else {"name": model.name, "fingerprint": model.fingerprint()},
        name=request.prop.name,
        version=__version__,
        counted=question.counted,
    )


def _stopped(question: Question, reason: str) -> str:
    return f"the budget of {question.counted} is spent" if reason == "budget" else REASONS[reason]


def _assumptions(request: Request) -> tuple[str, ...]:
    words = list(request.population.assumptions)
    if request.model is not None:
        words.append("the model gives the same answer for the same person")
    return tuple(words)


def _nobody(empty: tuple[Leaf, ...], asked: int, question: Question) -> tuple[str, ...]:
    conditions = dict.fromkeys("everybody" if leaf.given is None else to_text(leaf.given) for leaf in empty)
    return tuple(
        f"nobody with {condition} appeared among {asked:,} {question.counted}, so nothing is known about them"
        for condition in conditions
    )


def _never(leaves: tuple[LeafRecord, ...]) -> tuple[str, ...]:
    """An event that never happens is more often misspelled than impossible."""
    silent = [leaf for leaf in leaves if leaf.n and leaf.estimate == 0 and leaf.text.startswith("P[")]
    return tuple(
        f"{leaf.text} was 0: nobody among {leaf.n:,} had the event; is its value spelled as the model gives it?"
        for leaf in silent
    )


def _never_seen(work: Sampling[Any], outcome: Outcome[Progressed[Any]], zero: bool) -> tuple[str, ...]:
    if not zero:
        return ()
    return (f"{work.named_denominator(outcome.state)} was 0 in every draw so far, so the ratio may have no value",)


def _ahead_of_intervals(answer: bool | None, method: str, expressions: tuple[Expression, ...]) -> tuple[str, ...]:
    if answer is None or method != "bets" or not any(item.low < item.threshold < item.high for item in expressions):
        return ()
    return (
        "the bets settle this one claim sooner than the intervals, which speak of every threshold at once, leave it",
    )


def _zero_denominator(work: Sampling[Any], outcome: Outcome[Progressed[Any]]) -> DataError:
    return DataError(
        f"expected a denominator that is not zero, but {work.named_denominator(outcome.state)} was 0 in all "
        f"{outcome.samples:,} draws: the ratio has no value. Compare a difference instead, or multiply out: "
        "a >= 0.8 * b."
    )
