"""Checking a k-safety property, from the call to the verdict."""

from __future__ import annotations

from isonomia.audits.journaled import introduce
from isonomia.audits.ksafety.bench import Bench
from isonomia.audits.ksafety.by_drawing import draw_cases, found_in_sample
from isonomia.audits.ksafety.by_known import by_known
from isonomia.audits.ksafety.by_listing import complete, try_all, unfinished
from isonomia.audits.ksafety.described import subject_from
from isonomia.audits.ksafety.program import lower
from isonomia.audits.ksafety.rates import rate_evidence
from isonomia.audits.ksafety.request import Request
from isonomia.audits.ksafety.steps import Steps
from isonomia.audits.ksafety.subject import settled
from isonomia.audits.ksafety.verdicts import Outcome, verdict_of
from isonomia.engine.journal import once
from isonomia.engine.observer import Observer
from isonomia.records.verdict import Verdict

__all__ = ["check_safety"]


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
    prop, bench = request.prop, Bench(request)
    subject = subject_from(once(request.journal, "subject", bench.describe))
    program = lower(prop.spec, subject.random, subject.asking)
    evidence = rate_evidence([item.rate for item in prop.spec.ensures], prop.eps, request.delta)
    observer.begin(prop.name or str(prop))
    try:
        outcome = _checked(Steps(request, subject, program, evidence, bench, observer))
    finally:
        observer.end()
        bench.close()
    return verdict_of(request, program, subject, evidence, outcome)


def _checked(steps: Steps) -> Outcome:
    settled_by_known = by_known(steps)
    if settled_by_known is not None:
        return settled_by_known
    tried = try_all(steps)
    if tried is None:
        return draw_cases(steps, before=0)
    if tried.early is not None:
        return unfinished(steps, tried)
    if not steps.subject.sample:
        return complete(steps, tried.totals)
    if tried.totals.violating:
        return found_in_sample(steps, tried.totals)
    return draw_cases(steps, before=tried.totals.tested)
