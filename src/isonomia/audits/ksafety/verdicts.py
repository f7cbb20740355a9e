"""The verdict of a k-safety check: shares with intervals, counts, and counterexamples."""

from __future__ import annotations

from collections.abc import Sequence
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
from isonomia.spec.nomos.text import expression_text
from isonomia.spec.nomos.tree import Ensures
from isonomia.version import __version__

__all__ = ["AUDIT", "Outcome", "verdict_of"]

AUDIT = "k-safety"
"""How the details of a verdict say that they are of this kind."""


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
    """

    answer: bool | None
    totals: Totals
    complete: bool
    tested: int
    stopped: str
    seconds: float
    counterexamples: tuple[dict[str, Any], ...]
    remarks: tuple[str, ...] = ()


def verdict_of(request: Request, program: Program, domain: Domain, evidence: RateEvidence, outcome: Outcome) -> Verdict:
    """Seal the verdict."""
    prop, totals = request.prop, outcome.totals
    fact = outcome.complete or (outcome.answer is False and _is_proof(program, outcome))
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
        assumptions=_assumptions(request, program, outcome),
        remarks=(*outcome.remarks, *_remarks(outcome, evidence, request, program)),
        seed=request.seed,
        seconds=outcome.seconds,
        population=_population(request, domain),
        model={"name": request.model.name, "fingerprint": request.model.fingerprint()},
        counterexamples=outcome.counterexamples,
        name=prop.name,
        version=__version__,
        details=_details(request, program, outcome, totals),
    )


def _is_proof(program: Program, outcome: Outcome) -> bool:
    """Whether a counterexample settles it: some ``ensures`` without a rate was violated."""
    strict = [number for number, item in enumerate(program.spec.ensures) if item.rate is None or item.rate >= 1.0]
    return bool(outcome.counterexamples) and any(
        expression_text(program.spec.ensures[number].condition) in found["violates"]
        for number in strict
        for found in outcome.counterexamples
    )


def _share(number: int, outcome: Outcome, delta: float) -> tuple[float | None, float, float]:
    """The share of cases that violate one ``ensures``: estimate, lowest and highest."""
    totals = outcome.totals
    if outcome.complete:
        certain, possible = totals.bad_weight[number], totals.bad_weight[number] + totals.failed_weight
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
    return LeafRecord(f"violates {expression_text(item.condition)}", outcome.totals.tested, estimate, low, high)


def _expression(item: Ensures, number: int, outcome: Outcome, request: Request) -> Expression:
    estimate, low, high = _share(number, outcome, request.delta)
    allowed = 0.0 if item.rate is None else round(1.0 - item.rate, 12)
    if item.rate is None and not outcome.complete and not outcome.totals.by_ensures[number]:
        allowed = request.prop.eps
        if outcome.answer is True:
            # The test of the first violation is sharper than an interval that is made for any number of them.
            high = min(high, allowed)
    return Expression(f"share that violates {expression_text(item.condition)}", "<=", allowed, estimate, low, high)


def _assumptions(request: Request, program: Program, outcome: Outcome) -> tuple[str, ...]:
    given = () if is_domain(request.population) else request.population.assumptions  # type: ignore[union-attr]
    found = [*given, "the model answers the same whenever it is asked about the same input"]
    if program.code is not None:
        found.append("the block draws random numbers by randInt, randReal and the domain's functions only")
    if not outcome.complete and outcome.answer is not False:
        found.append("cases are drawn independently, every choice uniform over its range")
    return tuple(found)


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
        remarks.append(f"{count:,} cases failed: {reason}")
    if totals.failed:
        remarks.append("cases that failed count against holds, and not as violations")
    if evidence.strict and not outcome.complete and not totals.violating and not totals.weight:
        n = totals.tested
        share = request.prop.eps if outcome.answer is True else evidence.proved(n)
        if not totals.failed:
            remarks.append(f"{n:,} cases showed no violation: it holds for all but {share:.3g} of the cases")
    if totals.violating:
        remarks.append(
            f"{len(totals.finds.distinct):,} distinct violations of {len(totals.finds.inputs):,} inputs were found"
        )
    if program.code is not None:
        remarks.append("the block was run as Python, as was allowed")
    return tuple(remarks)


def _population(request: Request, domain: Domain) -> dict[str, Any]:
    population: Any = request.population
    if is_domain(population):
        return {"kind": "domain", "size": domain.size, "name": domain.name}
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
            "inputs": len(totals.inputs) if totals.inputs else None,
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
