"""Checking a k-safety property, from the call to the verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import monotonic
from typing import Any

from isonomia.audits.ksafety.asking import Questioner
from isonomia.audits.ksafety.checking import check_meaning
from isonomia.audits.ksafety.exact import Listed, exact_answer, list_cases, try_every_case
from isonomia.audits.ksafety.functions import RANDOM
from isonomia.audits.ksafety.inputs import Inputs
from isonomia.audits.ksafety.program import Program, lower
from isonomia.audits.ksafety.rates import RateEvidence, rate_evidence
from isonomia.audits.ksafety.remembering import still_violating
from isonomia.audits.ksafety.request import Request
from isonomia.audits.ksafety.running import Runner
from isonomia.audits.ksafety.sampling import Sampling
from isonomia.audits.ksafety.showing import shown_find
from isonomia.audits.ksafety.shrinking import shrink
from isonomia.audits.ksafety.subject import domain_of, inputs_of, offered_functions
from isonomia.audits.ksafety.tallies import Totals
from isonomia.audits.ksafety.verdicts import Outcome, verdict_of
from isonomia.audits.rates.asking import Asker
from isonomia.audits.rates.prepare import UNLIMITED
from isonomia.engine.budget import Budget
from isonomia.engine.loop import run
from isonomia.engine.observer import Observer
from isonomia.engine.schedule import Schedule
from isonomia.errors import SpecError, UsageError
from isonomia.populations.census import Census
from isonomia.populations.domains import Domain
from isonomia.populations.sample import Sample
from isonomia.populations.table import Table
from isonomia.records.verdict import Verdict

__all__ = ["ENUMERABLE", "check_safety"]

ENUMERABLE = 2_000_000
"""How many cases are all tried where no budget is given."""

SHOWN = 10
"""How many counterexamples a verdict holds."""

SHRUNK = 5
"""How many violations of a sampled check are shrunk."""

LARGE = 2**16
"""The largest batch of random cases."""

REASONS = {
    "decided": "decided",
    "budget": "the budget of cases is spent",
    "time": "the budget of time is spent",
    "exhausted": "every row is used up",
    "interrupted": "interrupted",
}

_RANDOM_WORDS = frozenset({"random", "default_rng", "rand", "randn", "randint", "shuffle", "choice", "secrets"})


def check_safety(request: Request, observer: Observer) -> Verdict:
    """Check a k-safety property.

    Every case is tried where there are few enough; otherwise cases are drawn at random.

    Raises
    ------
    IsonomiaError
        Where the specification, the data or the model is not what the check needs.
    """
    prop = request.prop
    functions = offered_functions(prop, request.population)
    domain, make = domain_of(request, functions)
    check_meaning(prop.spec, domain)
    random = RANDOM | {name for name, function in domain.functions.items() if function.random}
    program = lower(prop.spec, random)
    _ask_permission(program, prop.allow_code)
    asker = Asker(request.model, request.workers)
    draws = program.code is not None and bool(program.code.reads & (random | _RANDOM_WORDS))
    runner = Runner(program, Questioner(asker), prop.seconds, draws)
    evidence = rate_evidence([item.rate for item in prop.spec.ensures], prop.eps, request.delta)
    observer.begin(prop.name or str(prop))
    try:
        outcome = _checked(request, runner, domain, make, evidence, observer)
    finally:
        observer.end()
        asker.close()
    return verdict_of(request, program, domain, evidence, outcome)


def _ask_permission(program: Program, allowed: bool) -> None:
    if program.code is not None and not allowed:
        raise SpecError(
            f"the block is more than plain calls and arithmetic ({program.code.reason}), so it would be run as Python, "
            "which can do anything that you can do. Allow it with allow_code=True or --allow-code if you trust it",
            program.spec.block.place,
        )


def _checked(
    request: Request,
    runner: Runner,
    domain: Domain,
    make: Callable[[Table], Domain] | None,
    evidence: RateEvidence,
    observer: Observer,
) -> Outcome:
    began = monotonic()
    known = still_violating(runner, domain, request.prop.known)
    if known and evidence.strict and request.prop.stop_early:
        totals = Totals(len(runner.program.ensures))
        told = f"{len(known)} of {len(request.prop.known)} known counterexamples violate it still"
        return Outcome(False, totals, False, len(known), told, monotonic() - began, tuple(known), (told,))
    listed = _listed(request, runner, domain, make, evidence)
    if listed is not None:
        tried, early = try_every_case(runner, domain, listed, observer, request.budget.seconds)
        if early is not None:
            return _unfinished(runner, tried, evidence, REASONS[early], began)
        if not isinstance(request.population, Sample) or tried.violating:
            return _complete(request, runner, tried, began)
    inputs = inputs_of(request, runner.program, domain, make)
    before = 0 if listed is None else listed.size
    return _sampled(request, runner, inputs, evidence, observer, fresh=make is not None, before=before)


def _listed(
    request: Request,
    runner: Runner,
    domain: Domain,
    make: Callable[[Table], Domain] | None,
    evidence: RateEvidence,
) -> Listed | None:
    """Every case, where that is wanted and possible."""
    prop, population = request.prop, request.population
    sampled = isinstance(population, Sample) and evidence.rated
    drawn = isinstance(population, Census) and not population.exact
    if prop.enumerate is False or make is not None or sampled or drawn:
        if prop.enumerate:
            raise UsageError("expected a census to try every case of, but these inputs stand for others")
        return None
    limit = ENUMERABLE if request.budget.samples == float("inf") else request.budget.samples
    found = list_cases(runner, domain, float("inf") if prop.enumerate else limit)
    if found is None and prop.enumerate:
        raise UsageError("expected finitely many cases to try all of, but a choice is not from a finite range")
    return found


def _complete(request: Request, runner: Runner, totals: Totals, began: float) -> Outcome:
    rates = [item.rate for item in request.prop.spec.ensures]
    finds = [shown_find(runner, find, True) for find in totals.finds.ranked(SHOWN)]
    answer = exact_answer(totals, rates)
    return Outcome(answer, totals, True, totals.tested, "every case was tried", monotonic() - began, tuple(finds))


def _unfinished(runner: Runner, totals: Totals, evidence: RateEvidence, stopped: str, began: float) -> Outcome:
    """What is known when not every case could be tried: a violation is one all the same."""
    finds = [shown_find(runner, find, False) for find in totals.finds.ranked(SHOWN)]
    answer = False if any(totals.by_ensures[number] for number in evidence.strict) else None
    remark = "the cases were tried in order, so that what was seen is no random sample of them"
    return Outcome(answer, totals, False, totals.tested, stopped, monotonic() - began, tuple(finds), (remark,))


def _sampled(
    request: Request,
    runner: Runner,
    inputs: Inputs,
    evidence: RateEvidence,
    observer: Observer,
    *,
    fresh: bool,
    before: int,
) -> Outcome:
    began, prop = monotonic(), request.prop
    work = Sampling(runner, inputs, evidence, fresh, prop.stop_early, request.seed)
    schedule, budget = _pace(request, evidence, inputs.finite)
    outcome = run(work, schedule, budget, observer, available=_available(request, runner.program, inputs))
    totals = outcome.state.totals
    _refuse_nothing(runner.program, totals, outcome.reason)
    found = []
    for place, find in enumerate(totals.finds.ranked(SHOWN)):
        smaller, minimal = shrink(runner, find) if place < SHRUNK else (find, False)
        found.append((smaller.cost, shown_find(runner, smaller, minimal)))
    found.sort(key=lambda item: item[0])
    remarks: tuple[str, ...] = ()
    if before:
        remarks = (
            f"no case of these rows violates it: all {before:,} were tried. Of the population they are a sample",
        )
    return Outcome(
        evidence.decision(outcome.state.evidence),
        totals,
        False,
        before + outcome.samples,
        REASONS[outcome.reason],
        monotonic() - began,
        tuple(item for _, item in found),
        remarks,
    )


def _available(request: Request, program: Program, inputs: Inputs) -> float:
    size: Any = request.population.size
    return float(size // len(program.spec.inputs)) if inputs.finite else float("inf")


def _pace(request: Request, evidence: RateEvidence, finite: bool) -> tuple[Schedule, Budget]:
    """How large batches are, and when to stop at the latest.

    Bets on shares need many small batches to learn from. Without them there is nothing to learn: cases come in large
    batches, exactly as many as are needed. Rows that come to an end set a limit by themselves.
    """
    budget = request.budget
    if evidence.bets is not None:
        limit = budget if budget != Budget() else Budget(samples=UNLIMITED)
        return replace(request.schedule, first=64, most=LARGE), limit
    unlimited = budget.samples == float("inf")
    wanted = float(evidence.needed) if unlimited and not finite else budget.samples
    first = int(min(LARGE, wanted, evidence.needed if request.prop.stop_early else wanted))
    return Schedule(first=max(first, 1), growth=2.0, early=2.0, most=LARGE), replace(budget, samples=wanted)


def _refuse_nothing(program: Program, totals: Totals, reason: str) -> None:
    if totals.tested == 0 and reason == "exhausted":
        requires = program.spec.requires
        away = totals.turned_away
        raise SpecError(
            f"no case meets the preconditions: {away.rejected:,} were rejected and {away.without_choice:,} had nothing "
            "to choose from. Loosen what is required",
            requires[0].place if requires else None,
        )
