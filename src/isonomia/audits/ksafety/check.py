"""Checking a k-safety property, from the call to the verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import monotonic

from isonomia.audits.journaled import introduce
from isonomia.audits.ksafety.asking import Questioner
from isonomia.audits.ksafety.checking import check_meaning
from isonomia.audits.ksafety.exact import Listed, exact_answer, list_cases, try_every_case
from isonomia.audits.ksafety.functions import RANDOM
from isonomia.audits.ksafety.inputs import Inputs
from isonomia.audits.ksafety.pacing import LARGE, pace_of, rows_of
from isonomia.audits.ksafety.program import Program, lower
from isonomia.audits.ksafety.rates import RateEvidence, rate_evidence
from isonomia.audits.ksafety.remembering import gone_elsewhere, still_violating
from isonomia.audits.ksafety.request import Request
from isonomia.audits.ksafety.running import Runner
from isonomia.audits.ksafety.sampling import Sampling
from isonomia.audits.ksafety.showing import shown_finds
from isonomia.audits.ksafety.shrinking import shrink
from isonomia.audits.ksafety.subject import domain_of, inputs_of, offered_functions, settled
from isonomia.audits.ksafety.tallies import Totals
from isonomia.audits.ksafety.verdicts import SHOWN, Outcome, is_proof, verdict_of
from isonomia.audits.rates.asking import Asker
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

SHRUNK = 5
"""How many violations of a sampled check are shrunk."""

REASONS = {
    "decided": "decided",
    "budget": "the budget of cases is spent",
    "time": "the budget of time is spent",
    "exhausted": "every row is used up",
    "interrupted": "interrupted",
}

_RANDOM_WORDS = frozenset(
    {"random", "default_rng", "rand", "randn", "randint", "shuffle", "choice", "secrets", "urandom", "uuid"}
)


def check_safety(request: Request, observer: Observer) -> Verdict:
    """Check a k-safety property.

    Every case is tried where there are few enough; otherwise cases are drawn at random.

    Raises
    ------
    IsonomiaError
        Where the specification, the data or the model is not what the check needs.
    """
    request = settled(request)
    introduce(request.population, request.model, request.journal)
    prop = request.prop
    functions = offered_functions(prop, request.population)
    domain, make = domain_of(request, functions)
    check_meaning(prop.spec, domain)
    random = RANDOM | {name for name, function in domain.functions.items() if function.random}
    plays = frozenset(name for name, function in domain.functions.items() if function.asks)
    program = lower(prop.spec, random, plays)
    _ask_permission(program, prop.allow_code)
    asker = Asker(request.model, request.workers, request.journal)
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
            program.code.place or program.spec.block.place,
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
    known = [item for item in still_violating(runner, domain, request.prop.known) if is_proof(runner.program, item)]
    if known and request.prop.stop_early:
        totals = Totals(len(runner.program.ensures))
        told = f"{len(known)} of {len(request.prop.known)} known counterexamples violate it still"
        remarks = (told, *gone_elsewhere(domain, known))
        return Outcome(False, totals, False, len(known), told, monotonic() - began, tuple(known), remarks)
    listed = _listed(request, runner, domain, make, evidence)
    if listed is not None:
        tried, early = try_every_case(runner, domain, listed, observer, request.budget.seconds)
        if early is not None:
            return _unfinished(runner, tried, evidence, REASONS[early], began)
        if not isinstance(request.population, Sample):
            return _complete(request, runner, tried, began)
        if tried.violating:
            return _found_in_sample(request, runner, domain, tried, evidence, observer)
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
    best = totals.finds.ranked(SHOWN)
    finds = shown_finds(runner, best, [True] * len(best))
    answer = exact_answer(totals, rates)
    return Outcome(answer, totals, True, totals.tested, "every case was tried", monotonic() - began, tuple(finds))


def _found_in_sample(
    request: Request, runner: Runner, domain: Domain, totals: Totals, evidence: RateEvidence, observer: Observer
) -> Outcome:
    """A violation among the rows of a sample; how frequent they are elsewhere, one random case of each row tells."""
    began = monotonic()
    work = Sampling(runner, inputs_of(request, runner.program, domain, None), evidence, False, False, request.seed)
    outcome = run(
        work, Schedule(first=LARGE, most=LARGE), Budget(), observer, available=rows_of(request), counted="cases"
    )
    found = _complete(request, runner, totals, began)
    return replace(
        found,
        complete=False,
        tested=totals.tested + outcome.samples,
        stopped="every case of these rows was tried",
        remarks=("the share of cases in the population is estimated from one random case of each row",),
        drawn=outcome.state.totals,
    )


def _unfinished(runner: Runner, totals: Totals, evidence: RateEvidence, stopped: str, began: float) -> Outcome:
    """What is known when not every case could be tried: a violation is one all the same."""
    best = totals.finds.ranked(SHOWN)
    finds = shown_finds(runner, best, [False] * len(best))
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
    work = Sampling(runner, inputs, evidence, fresh, prop.stop_early, request.seed, began + request.budget.seconds)
    schedule, budget = pace_of(request, evidence, inputs.finite, coded=runner.program.code is not None)
    available = rows_of(request) if inputs.finite else float("inf")
    outcome = run(work, schedule, budget, observer, available=available, counted="cases")
    totals = outcome.state.totals
    _refuse_nothing(runner.program, totals, outcome.reason)
    best = totals.finds.ranked(SHOWN)
    tried = [shrink(runner, find) if place < SHRUNK else (find, False) for place, find in enumerate(best)]
    tried.sort(key=lambda item: item[0].cost)
    found = shown_finds(runner, [find for find, _ in tried], [minimal for _, minimal in tried])
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
        tuple(found),
        remarks,
    )


def _refuse_nothing(program: Program, totals: Totals, reason: str) -> None:
    if totals.tested == 0 and reason == "exhausted":
        requires = program.spec.requires
        away = totals.turned_away
        raise SpecError(
            f"no case meets the preconditions: {away.rejected:,} were rejected and {away.without_choice:,} had nothing "
            "to choose from. Loosen what is required",
            requires[0].place if requires else None,
        )
