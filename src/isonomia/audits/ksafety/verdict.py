"""The verdict.

What became of the corners, as numbers and in words.

The verdict of a k-safety check: shares with intervals, counts, and counterexamples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isonomia.audits.ksafety.evidence import (
    RateEvidence,
    Share,
    Totals,
    always,
    compared_share,
    complete_share,
    drawn_share,
)
from isonomia.audits.ksafety.inputs import Subject
from isonomia.audits.ksafety.program import Program
from isonomia.audits.ksafety.violations import Findings
from isonomia.audits.protocol import Check
from isonomia.audits.verdicts import ANSWERS, model_stated
from isonomia.records.verdict import Expression, LeafRecord, Verdict
from isonomia.spec.nomos.text import expression_text
from isonomia.spec.nomos.tree import Ensures, Var, calls_in
from isonomia.spec.safety import Safety
from isonomia.version import __version__
from isonomia.wording import chance

__all__ = ["AUDIT", "SHOWN", "Corners", "Outcome", "is_proof", "verdict_of"]


@dataclass(frozen=True, slots=True)
class Corners:
    """What became of the cases at the ends of ranges, which were tried before any was drawn.

    Attributes
    ----------
    tried, violating, failed
        How many there were, how many violate what must always be true, and in how many something could not be computed.
    counterexamples
        The smallest of those that violate it, which did so again.
    seconds
        How long it took.
    """

    tried: int
    violating: int
    failed: int
    counterexamples: tuple[Mapping[str, Any], ...]
    seconds: float

    @property
    def refuting(self) -> bool:
        """Whether one of them is proof."""
        return bool(self.counterexamples)

    def counts(self) -> dict[str, int]:
        """How many there were, and what became of them."""
        return {"tried": self.tried, "violating": self.violating, "failed": self.failed}

    def remarks(self) -> list[str]:
        """What they came to; that they are no random cases, a reader must know who sees a share beside them."""
        if not self.tried:
            return []
        found, failed = f"{_many(self.tried)} (at the ends of ranges) tried before the draws: ", []
        if self.refuting:
            does = "violates" if self.violating == 1 else "violate"
            found += f"{self.violating:,} {does} it, which is proof. No share rests on them"
        elif self.violating:
            found += f"{self.violating:,} violated it, and did not when computed once more"
        else:
            found += "no violation"
        if self.failed:
            failed = [f"{_many(self.failed)} failed, which proves nothing"]
        return [found, *failed]


def _many(count: int) -> str:
    return f"{count:,} corner{'' if count == 1 else 's'}"


AUDIT = "k-safety"
"""How the details of a verdict say that they are of this kind."""


SHOWN = 10
"""How many counterexamples among all cases, or among those drawn, a verdict holds."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a check ended.

    Attributes
    ----------
    answer
        ``True`` for holds, ``False`` for violated, ``None`` for undecided.
    totals, found
        What was counted, and what is known of the violations.
    complete
        Whether every case was tried.
    tested
        How many cases were put to the model in all: those of ``totals``, and further ones.
    stopped, seconds
        Why it stopped, and how long it took.
    remarks
        What a reader should know besides.
    drawn
        Random cases from which shares are estimated, where they are not those of ``totals``.
    corners
        What became of the corners, where some were tried.
    """

    answer: bool | None
    totals: Totals
    found: Findings
    complete: bool
    tested: int
    stopped: str
    seconds: float
    remarks: tuple[str, ...] = ()
    drawn: Totals | None = None
    corners: Corners | None = None

    @property
    def refuted(self) -> bool:
        """Whether a corner violates what must always be true."""
        return self.corners is not None and self.corners.refuting

    @property
    def estimating(self) -> Totals:
        """What shares are estimated from."""
        return self.totals if self.drawn is None else self.drawn


def verdict_of(
    request: Check[Safety], program: Program, subject: Subject, evidence: RateEvidence, outcome: Outcome
) -> Verdict:
    """Seal the verdict."""
    prop, shown = request.prop, outcome.found.counterexamples
    fact = outcome.complete or (outcome.answer is False and any(is_proof(program, found) for found in shown))
    shares = [_share(number, outcome, request.delta) for number in range(len(program.spec.ensures))]
    return Verdict(
        text=str(prop).rstrip(),
        answer=ANSWERS[outcome.answer],
        delta=request.delta,
        risk=0.0 if fact or outcome.answer is None else request.delta,
        method="exact" if outcome.complete else "tests",
        samples=outcome.tested,
        leaves=tuple(
            LeafRecord(f"violates {expression_text(item.condition)}", outcome.estimating.tested, *share)
            for item, share in zip(program.spec.ensures, shares, strict=True)
        ),
        expressions=tuple(
            _expression(item, number, share, outcome, prop.eps)
            for number, (item, share) in enumerate(zip(program.spec.ensures, shares, strict=True))
        ),
        stopped=outcome.stopped,
        assumptions=_assumptions(program, subject, outcome),
        remarks=(*outcome.remarks, *_remarks(outcome, evidence, request, program)),
        seed=request.seed,
        seconds=outcome.seconds,
        population=subject.population,
        model=model_stated(request.model),
        counterexamples=shown,
        name=prop.name,
        version=__version__,
        details=_details(request, program, outcome),
        counted="cases",
    )


def is_proof(program: Program, found: Mapping[str, Any]) -> bool:
    """Whether a counterexample settles it: it violates an ``ensures`` that must always be true."""
    strict = [item for item in program.spec.ensures if always(item)]
    return any(expression_text(item.condition) in found["violates"] for item in strict)


def _share(number: int, outcome: Outcome, delta: float) -> Share:
    if outcome.complete:
        return complete_share(outcome.estimating, number)
    return drawn_share(outcome.estimating, number, delta)


def _expression(item: Ensures, number: int, share: Share, outcome: Outcome, eps: float) -> Expression:
    some_left_open = not outcome.complete and not outcome.totals.by_ensures[number] and not outcome.refuted
    return compared_share(item, share, eps if some_left_open else None, outcome.answer is True)


def _assumptions(program: Program, subject: Subject, outcome: Outcome) -> tuple[str, ...]:
    found = [*subject.assumptions, "the model answers the same whenever it is asked about the same input"]
    steady = sorted(_called(program) & subject.own)
    if steady:
        found.append(f"{', '.join(steady)} gives the same whenever it is called with the same")
    if program.code is not None:
        found.append("the block draws random numbers by randInt, randReal and the domain's functions only")
    if not outcome.complete and outcome.answer is not False:
        found.append("cases are drawn independently, every choice uniform over its range")
    return tuple(found)


def _called(program: Program) -> set[str]:
    """Every function that is called, and every name that code reads."""
    steps = (*program.preparation, *program.finish, *program.ensures)
    parts = (step.value if isinstance(step, Var) else step.condition for step in steps)
    called = {call.function for part in parts for call in calls_in(part)}
    return called | (set() if program.code is None else set(program.code.reads))


def _remarks(outcome: Outcome, evidence: RateEvidence, request: Check[Safety], program: Program) -> tuple[str, ...]:
    totals, found, remarks = outcome.totals, outcome.found, [] if outcome.corners is None else outcome.corners.remarks()
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
        remarks.append(f"{_many_verdicts(count, 'case')} failed: {reason}")
    if totals.failed:
        remarks.append("cases that failed count against holds, and not as violations")
    if evidence.strict and not outcome.complete and not totals.violating and not totals.weight:
        remarks += _without_violation(outcome, evidence, request)
    if totals.violating:
        about, inputs = "" if found.exact else "about ", _many_verdicts(found.inputs, "input")
        remarks.append(f"{about}{_many_verdicts(found.distinct, 'distinct violation')} of {inputs} were found")
    if totals.violating and found.gone > 0:
        remarks.append(
            f"{_many_verdicts(found.gone, 'violation')} did not occur again when the same case was computed once more: "
            "something in it draws from something else than its seed, or does not answer the same to the same question"
        )
    if program.code is not None:
        remarks.append("the block was run as Python, as was allowed")
    return tuple(remarks)


def _without_violation(outcome: Outcome, evidence: RateEvidence, request: Check[Safety]) -> list[str]:
    """What random cases prove of which none violates, and why an interval says less."""
    n = outcome.totals.tested
    if not n or outcome.totals.failed:
        return []
    shown = f"{_many_verdicts(n, 'case')} showed no violation"
    if outcome.refuted:
        few = f"less than {evidence.proved(n):.3g} of the cases violate it, at the risk {chance(request.delta)}"
        return [f"{_many_verdicts(n, 'random case')} showed no violation: {few}"]
    if outcome.answer is True:
        return [f"{shown}: it holds for all but {request.prop.eps:.3g} of the cases"]
    return [
        f"{shown}, which by itself proves that it holds for all but {evidence.proved(n):.3g} of the cases, at the risk "
        f"{chance(request.delta)}; the interval of the share has to be right after violations too, and is wider"
    ]


def _many_verdicts(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _details(request: Check[Safety], program: Program, outcome: Outcome) -> dict[str, Any]:
    totals, found = outcome.totals, outcome.found
    away = totals.turned_away
    return {
        "audit": AUDIT,
        "k": program.k,
        "eps": request.prop.eps,
        "complete": outcome.complete,
        "cases": {
            "tested": totals.tested,
            **({"further": outcome.tested - totals.tested} if outcome.tested > totals.tested else {}),
            "rejected": away.rejected,
            "without_choice": away.without_choice,
            "vacuous": totals.vacuous,
            "failed": totals.failed,
            "inputs": found.tested,
        },
        "violations": {
            "cases": totals.violating,
            "distinct": found.distinct,
            "inputs": found.inputs,
            "by_ensures": _by_ensures(program.spec.ensures, totals),
        },
        "failures": dict(totals.reasons.most_common(20)),
        **({"corners": outcome.corners.counts()} if outcome.corners and outcome.corners.tried else {}),
    }


def _by_ensures(ensures: Sequence[Ensures], totals: Totals) -> dict[str, int]:
    return {expression_text(item.condition): count for item, count in zip(ensures, totals.by_ensures, strict=True)}
