"""The verdict of a k-safety check: shares with intervals, counts, and counterexamples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from isonomia.audits.ksafety.compiler import CompiledSpec
from isonomia.audits.ksafety.corners import Corners
from isonomia.audits.ksafety.evidence import Share, Tally, compared_share, complete_share, drawn_share, noise_shares
from isonomia.audits.ksafety.setup import INTERRUPTED, Setup
from isonomia.audits.ksafety.violations import ViolationSummary, is_proof
from isonomia.audits.verdicts import new_verdict, same_answers, stored_violations
from isonomia.records.verdict import Expression, LeafRecord, Verdict
from isonomia.records.violations import ViolationSet
from isonomia.spec.nomos.text import expression_text
from isonomia.spec.nomos.tree import Ensures, Var, calls_in
from isonomia.wording import chance, plural

AUDIT = "k-safety"
"""The name of this audit in the details of a verdict."""


@dataclass(frozen=True, slots=True)
class SafetyOutcome:
    """How a check ended.

    Attributes
    ----------
    answer
        ``True`` for holds, ``False`` for violated, ``None`` for undecided.
    tally, summary
        The counts, and what is known about the violations.
    complete
        Whether every case was tried.
    tested
        How many cases were put to the model in all: those in ``tally``, and others.
    stopped, seconds
        Why it stopped, and how long it took.
    remarks
        What else a reader should know.
    drawn
        The random cases from which shares are estimated, where they are not those of ``tally``.
    corners
        The result of the corners, where some were tried.
    failures
        Why cases outside ``tally`` failed, and how many: known counterexamples, corners, and the cases of a sample's
        rows.
    beyond
        For a claim beyond noise, by how much answers change more often than when asked again.
    """

    answer: bool | None
    tally: Tally
    summary: ViolationSummary
    complete: bool
    tested: int
    stopped: str
    seconds: float
    remarks: tuple[str, ...] = ()
    drawn: Tally | None = None
    corners: Corners | None = None
    failures: Mapping[str, int] = field(default_factory=dict)
    beyond: Share | None = None

    def with_failures(self, failures: Mapping[str, int]) -> SafetyOutcome:
        """The same outcome with further failed cases: whatever step they come from, they count against *holds*."""
        if not failures:
            return self
        outcome = replace(self, failures=Counter(self.failures) + Counter(failures))
        return replace(outcome, answer=None, stopped="a case failed") if self.answer is True else outcome

    @property
    def refuted(self) -> bool:
        """Whether a corner violates what must always be true."""
        return self.corners is not None and self.corners.refuting

    @property
    def estimating(self) -> Tally:
        """What shares are estimated from."""
        return self.tally if self.drawn is None else self.drawn


def verdict_of(setup: Setup, outcome: SafetyOutcome) -> Verdict:
    """Put the verdict together."""
    check, program, shown = setup.check, setup.program, outcome.summary.counterexamples
    fact = outcome.complete or (outcome.answer is False and any(is_proof(program, item) for item in shown))
    shares = [_share(number, outcome, check.delta) for number in range(len(program.spec.ensures))]
    names = [f"violates {expression_text(item.condition)}" for item in program.spec.ensures]
    leaves, compared = list(zip(names, shares, strict=True)), shares
    if outcome.beyond is not None:
        pair = noise_shares(outcome.tally, check.delta)
        leaves, compared = list(zip((names[0], f"{names[0]}, asked again"), pair, strict=True)), [outcome.beyond]
    return new_verdict(
        check,
        outcome.answer,
        risk=0.0 if fact or outcome.answer is None else check.delta,
        method="exact" if outcome.complete else "tests",
        samples=outcome.tested,
        leaves=tuple(LeafRecord(name, outcome.estimating.tested, *share) for name, share in leaves),
        expressions=tuple(
            _expression(item, number, share, outcome, check.prop.eps)
            for number, (item, share) in enumerate(zip(program.spec.ensures, compared, strict=True))
        ),
        stopped=outcome.stopped,
        assumptions=_assumptions(setup, outcome),
        remarks=(*outcome.remarks, *_remarks(setup, outcome)),
        seconds=outcome.seconds,
        population=setup.subject.population,
        counterexamples=shown,
        details=_details(setup, outcome),
        counted="cases",
        kept=_kept(setup, outcome),
    )


def _kept(setup: Setup, outcome: SafetyOutcome) -> ViolationSet | None:
    """All violations: those seen now, or those stored by the run that wrote this journal."""
    stored = stored_violations(setup.journal)
    if stored is not None and setup.finished and not len(setup.violations.kept):
        return stored.violations()
    kept = setup.violations.kept
    if not len(kept):
        return None
    if stored is not None and outcome.stopped != INTERRUPTED:
        stored.keep_violations(kept)
    return kept


def _share(number: int, outcome: SafetyOutcome, delta: float) -> Share:
    if outcome.complete:
        return complete_share(outcome.estimating, number)
    return drawn_share(outcome.estimating, number, delta)


def _expression(item: Ensures, number: int, share: Share, outcome: SafetyOutcome, eps: float) -> Expression:
    some_left_open = not outcome.complete and not outcome.tally.by_ensures[number] and not outcome.refuted
    return compared_share(item, share, eps if some_left_open else None, outcome.answer is True)


def _assumptions(setup: Setup, outcome: SafetyOutcome) -> tuple[str, ...]:
    program, subject = setup.program, setup.subject
    same = same_answers(setup.check, "the model always gives the same answer for the same input")
    assumptions = [*subject.assumptions, *same]
    steady = sorted(_called(program) & subject.own)
    if steady:
        assumptions.append(f"{', '.join(steady)} always gives the same result for the same arguments")
    if program.code is not None:
        assumptions.append("the block draws random numbers by randInt, randReal and the domain's functions only")
    if not outcome.complete and outcome.answer is not False:
        assumptions.append("cases are drawn independently, every choice uniform over its range")
    return tuple(assumptions)


def _called(program: CompiledSpec) -> set[str]:
    """Every function that is called, and every name that code reads."""
    steps = (*program.preparation, *program.finish, *program.ensures)
    parts = (step.value if isinstance(step, Var) else step.condition for step in steps)
    called = {call.function for part in parts for call in calls_in(part)}
    return called | (set() if program.code is None else set(program.code.reads))


def _remarks(setup: Setup, outcome: SafetyOutcome) -> tuple[str, ...]:
    tally, summary = outcome.tally, outcome.summary
    remarks = [] if outcome.corners is None else outcome.corners.remarks()
    if tally.rejected or tally.without_choice:
        remarks.append(
            f"{tally.rejected:,} draws were rejected by a precondition and {tally.without_choice:,} had nothing to "
            "choose from; neither counts as a case"
        )
    if tally.vacuous:
        cases = "all cases" if tally.vacuous == tally.tested else f"{tally.vacuous:,} of {tally.tested:,} cases"
        remarks.append(f"in {cases} the condition of the implication was false, so nothing was tested")
    for reason, count in (tally.reasons + Counter(outcome.failures)).most_common(5):
        remarks.append(f"{plural(count, 'case')} failed: {reason}")
    if tally.failed or outcome.failures:
        remarks.append("cases that failed count against holds, and not as violations")
    if setup.evidence.strict and not outcome.complete and not tally.violating and not tally.weight:
        remarks += _without_violation(setup, outcome)
    if tally.violating:
        remarks.append(_distinct(summary, "distinct violation" if outcome.beyond is None else "consistent flip"))
    if tally.violating and summary.gone > 0 and setup.check.random_model:
        remarks.append(
            f"{plural(summary.gone, 'violation')} did not occur again when the model was asked again, which is to be "
            "expected of a model that answers at random; those shown occurred again"
        )
    elif tally.violating and summary.gone > 0:
        remarks.append(
            f"{plural(summary.gone, 'violation')} did not occur when the same case was computed again: "
            "something in it draws from something else than its seed, or does not answer the same to the same question"
        )
    if setup.program.code is not None:
        remarks.append("the block was run as Python, as you allowed")
    if setup.subject.ignored:
        names = ", ".join(setup.subject.ignored)
        meant = "the model that was given, and draws that can be repeated"
        remarks.append(f"{names} of the imports is not used: by these names the language means {meant}")
    return tuple(remarks)


def _distinct(summary: ViolationSummary, called: str) -> str:
    violations, inputs = plural(summary.distinct, called), plural(summary.inputs, "input")
    if summary.exact:
        return f"{violations} of {inputs} were found"
    least = "at least " if summary.inputs >= summary.distinct else ""
    return f"more than {violations} of {least}{inputs} were found"


def _without_violation(setup: Setup, outcome: SafetyOutcome) -> list[str]:
    """What random cases without a violation prove, and why an interval says less."""
    n, check = outcome.tally.tested, setup.check
    if not n or outcome.tally.failed or outcome.failures:
        return []
    shown, proved = f"{plural(n, 'case')} showed no violation", setup.evidence.proved(n)
    if outcome.refuted:
        few = f"less than {chance(proved)} of the cases violate it, at the risk {chance(check.delta)}"
        return [f"{plural(n, 'random case')} showed no violation: {few}"]
    if outcome.answer is True:
        return [f"{shown}: it holds for all but {check.prop.eps:.3g} of the cases"]
    return [
        f"{shown}, which by itself proves that it holds for all but {chance(proved)} of the cases, at the risk "
        f"{chance(check.delta)}; the interval of the share has to be right after violations too, and is wider"
    ]


def _details(setup: Setup, outcome: SafetyOutcome) -> dict[str, Any]:
    tally, summary, corners = outcome.tally, outcome.summary, outcome.corners
    conditions = [expression_text(item.condition) for item in setup.program.spec.ensures]
    changes, repeats = noise_shares(tally, setup.check.delta)
    return {
        "audit": AUDIT,
        **({} if outcome.beyond is None else {"noise": {"changes": changes[0], "again": repeats[0]}}),
        "k": setup.program.k,
        "eps": setup.check.prop.eps,
        "complete": outcome.complete,
        "cases": {
            "tested": tally.tested,
            **({"further": outcome.tested - tally.tested} if outcome.tested > tally.tested else {}),
            "rejected": tally.rejected,
            "without_choice": tally.without_choice,
            "vacuous": tally.vacuous,
            "failed": tally.failed,
            "inputs": summary.tested,
        },
        "violations": {
            "cases": tally.violating,
            "distinct": summary.distinct,
            **({} if summary.exact else {"exact": False}),
            "inputs": summary.inputs,
            "by_ensures": dict(zip(conditions, tally.by_ensures, strict=True)),
        },
        **({"kinds": list(summary.kinds)} if summary.kinds else {}),
        "failures": dict((tally.reasons + Counter(outcome.failures)).most_common(20)),
        **({"corners": corners.counts()} if corners and corners.tried else {}),
    }
