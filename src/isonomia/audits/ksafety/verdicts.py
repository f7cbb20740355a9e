"""The verdict of a k-safety check: shares with intervals, counts, and counterexamples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isonomia.audits.ksafety.program import Program
from isonomia.audits.ksafety.rates import RateEvidence
from isonomia.audits.ksafety.request import Request
from isonomia.audits.ksafety.subject import is_domain
from isonomia.audits.ksafety.tallies import Totals
from isonomia.audits.rates.check import ANSWERS
from isonomia.evidence.mixture import mean_interval
from isonomia.populations.domains import Domain
from isonomia.records.verdict import Expression, LeafRecord, Verdict
from isonomia.spec.nomos.scope import calls_in
from isonomia.spec.nomos.text import expression_text
from isonomia.spec.nomos.tree import Ensures, Var
from isonomia.version import __version__

__all__ = ["AUDIT", "SHOWN", "Outcome", "is_proof", "verdict_of"]

AUDIT = "k-safety"
"""How the details of a verdict say that they are of this kind."""


SHOWN = 10
"""How many counterexamples a verdict holds."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a check ended.

    Attributes
    ----------
    answer
        ``True`` for holds, ``False`` for violated, ``None`` for undecided.
    totals
        What was counted.
    complete
        Whether every case was tried.
    tested
        How many cases were put to the model in all.
    stopped, seconds
        Why it stopped, and how long it took.
    counterexamples
        Violations, the smallest changes first.
    remarks
        What a reader should know besides.
    drawn
        Random cases from which shares are estimated, where they are not those of ``totals``.
    """

    answer: bool | None
    totals: Totals
    complete: bool
    tested: int
    stopped: str
    seconds: float
    counterexamples: tuple[dict[str, Any], ...]
    remarks: tuple[str, ...] = ()
    drawn: Totals | None = None


def verdict_of(request: Request, program: Program, domain: Domain, evidence: RateEvidence, outcome: Outcome) -> Verdict:
    """Seal the verdict."""
    prop, totals = request.prop, outcome.totals
    fact = outcome.complete or (
        outcome.answer is False and any(is_proof(program, found) for found in outcome.counterexamples)
    )
    return Verdict(
        text=str(prop).rstrip(),
        answer=ANSWERS[outcome.answer],
        delta=request.delta,
        risk=0.0 if fact or outcome.answer is None else request.delta,
        method="exact" if outcome.complete else "tests",
        samples=outcome.tested,
        leaves=tuple(_leaf(item, number, outcome, request.delta) for number, item in enumerate(program.spec.ensures)),
        expressions=tuple(
            _expression(item, number, outcome, request) for number, item in enumerate(program.spec.ensures)
        ),
        stopped=outcome.stopped,
        assumptions=_assumptions(request, program, domain, outcome),
        remarks=(*outcome.remarks, *_remarks(outcome, evidence, request, program)),
        seed=request.seed,
        seconds=outcome.seconds,
        population=_population(request, domain),
        model={"name": request.model.name, "fingerprint": request.model.fingerprint()},
        counterexamples=outcome.counterexamples,
        name=prop.name,
        version=__version__,
        details=_details(request, program, outcome, totals),
        counted="cases",
    )


def is_proof(program: Program, found: Mapping[str, Any]) -> bool:
    """Whether a counterexample settles it: it violates an ``ensures`` that must always be true."""
    strict = [item for item in program.spec.ensures if _always(item)]
    return any(expression_text(item.condition) in found["violates"] for item in strict)


def _always(item: Ensures) -> bool:
    return item.rate is None or item.rate >= 1.0


def _share(number: int, outcome: Outcome, delta: float) -> tuple[float | None, float, float]:
    """The share of cases that violate one ``ensures``: estimate, lowest and highest."""
    totals = outcome.totals if outcome.drawn is None else outcome.drawn
    if outcome.complete:
        certain, possible = totals.bad_weight[number], totals.bad_weight[number] + totals.failed_weight[number]
        share = float(certain / totals.weight)
        return share, share, float(possible / totals.weight)
    if not totals.tested or totals.weight:  # nothing, or a part of all cases in order: no random sample
        return None, 0.0, 1.0
    bad, failed, n = totals.by_ensures[number], totals.failed, totals.tested
    ends = np.array([0.0, 1.0])
    low = mean_interval(ends, np.array([n - bad, bad], dtype=float), delta)[0]
    most = min(bad + failed, n)
    high = mean_interval(ends, np.array([n - most, most], dtype=float), delta)[1]
    return bad / n, low, high


def _leaf(item: Ensures, number: int, outcome: Outcome, delta: float) -> LeafRecord:
    estimate, low, high = _share(number, outcome, delta)
    totals = outcome.totals if outcome.drawn is None else outcome.drawn
    return LeafRecord(f"violates {expression_text(item.condition)}", totals.tested, estimate, low, high)


def _expression(item: Ensures, number: int, outcome: Outcome, request: Request) -> Expression:
    estimate, low, high = _share(number, outcome, request.delta)
    allowed = 0.0 if item.rate is None else round(1.0 - item.rate, 12)
    if _always(item) and not outcome.complete and not outcome.totals.by_ensures[number]:
        allowed = request.prop.eps
        if outcome.answer is True:
            # The test of the first violation is sharper than an interval that is made for any number of them.
            high = min(high, allowed)
    return Expression(f"share that violates {expression_text(item.condition)}", "<=", allowed, estimate, low, high)


def _assumptions(request: Request, program: Program, domain: Domain, outcome: Outcome) -> tuple[str, ...]:
    given = () if is_domain(request.population) else request.population.assumptions  # type: ignore[union-attr]
    found = [*given, "the model answers the same whenever it is asked about the same input"]
    steady = _steady(request, program, domain)
    if steady:
        found.append(f"{', '.join(steady)} gives the same whenever it is called with the same")
    if program.code is not None:
        found.append("the block draws random numbers by randInt, randReal and the domain's functions only")
    if not outcome.complete and outcome.answer is not False:
        found.append("cases are drawn independently, every choice uniform over its range")
    return tuple(found)


def _steady(request: Request, program: Program, domain: Domain) -> list[str]:
    """The functions that users brought along as ones that draw nothing, which cannot be checked."""
    steps = (*program.preparation, *program.finish, *program.ensures)
    parts = (step.value if isinstance(step, Var) else step.condition for step in steps)
    called = {call.function for part in parts for call in calls_in(part)}
    called |= set() if program.code is None else program.code.reads
    own = {name for name, function in domain.functions.items() if function.single or name in request.prop.functions}
    return sorted(name for name in called & own if not domain.functions[name].random)


def _remarks(outcome: Outcome, evidence: RateEvidence, request: Request, program: Program) -> tuple[str, ...]:
    totals, remarks = outcome.totals, []
    away = totals.turned_away
    if away.rejected or away.without_choice:
        remarks.append(
            f"{away.rejected:,} draws were rejected by a precondition and {away.without_choice:,} had nothing to "
            "choose from; neither counts as a case"
        )
    if totals.vacuous:
        whole = "all cases" if totals.vacuous == totals.tested else f"{totals.vacuous:,} of {totals.tested:,} cases"
        remarks.append(f"in {whole} the condition of the implication was false, so that nothing was put to the test")
    for reason, count in totals.reasons.most_common(5):
        remarks.append(f"{_many(count, 'case')} failed: {reason}")
    if totals.failed:
        remarks.append("cases that failed count against holds, and not as violations")
    if evidence.strict and not outcome.complete and not totals.violating and not totals.weight:
        n = totals.tested
        share = request.prop.eps if outcome.answer is True else evidence.proved(n)
        if n and not totals.failed:
            remarks.append(f"{_many(n, 'case')} showed no violation: it holds for all but {share:.3g} of the cases")
    if totals.violating:
        about = "" if totals.finds.distinct.exact else "about "
        count, inputs = len(totals.finds.distinct), len(totals.finds.inputs)
        remarks.append(f"{about}{_many(count, 'distinct violation')} of {_many(inputs, 'input')} were found")
    gone = len(totals.finds.ranked(SHOWN)) - len(outcome.counterexamples)
    if totals.violating and gone > 0:
        remarks.append(
            f"{_many(gone, 'violation')} did not occur again when the same case was computed once more: something "
            "in it draws from something else than its seed, or does not answer the same to the same question"
        )
    if program.code is not None:
        remarks.append("the block was run as Python, as was allowed")
    return tuple(remarks)


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _population(request: Request, domain: Domain) -> dict[str, Any]:
    population: Any = request.population
    if is_domain(population):
        told = {"kind": "domain", "size": domain.size, "name": domain.name, "what": getattr(domain, "what", "input")}
        return told | ({"fingerprint": population.fingerprint()} if hasattr(population, "fingerprint") else {})
    return {"kind": population.kind, "size": population.size, "fingerprint": population.fingerprint()}


def _details(request: Request, program: Program, outcome: Outcome, totals: Totals) -> dict[str, Any]:
    away = totals.turned_away
    return {
        "audit": AUDIT,
        "k": program.k,
        "eps": request.prop.eps,
        "complete": outcome.complete,
        "cases": {
            "tested": totals.tested,
            "rejected": away.rejected,
            "without_choice": away.without_choice,
            "vacuous": totals.vacuous,
            "failed": totals.failed,
            "inputs": None if totals.inputs is None else int(np.count_nonzero(totals.inputs)),
        },
        "violations": {
            "cases": totals.violating,
            "distinct": len(totals.finds.distinct),
            "inputs": len(totals.finds.inputs),
            "by_ensures": _by_ensures(program.spec.ensures, totals),
        },
        "failures": dict(totals.reasons.most_common(20)),
    }


def _by_ensures(ensures: Sequence[Ensures], totals: Totals) -> dict[str, int]:
    return {expression_text(item.condition): count for item, count in zip(ensures, totals.by_ensures, strict=True)}
