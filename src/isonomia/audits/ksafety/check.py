"""From the call to the verdict; known counterexamples first.

Counterexamples of earlier verdicts, tried before anything else.

The first step: counterexamples of earlier verdicts.

Checking a k-safety property, from the call to the verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from isonomia.audits.ksafety.cases import prepare_known
from isonomia.audits.ksafety.enumerated import complete, try_all, unfinished
from isonomia.audits.ksafety.evaluate import Given, ReachedError, Value, missing
from isonomia.audits.ksafety.evidence import Totals, rate_evidence
from isonomia.audits.ksafety.inputs import settled, subject_from
from isonomia.audits.ksafety.program import lower
from isonomia.audits.ksafety.runner import Runner
from isonomia.audits.ksafety.sampled import draw_cases, found_in_sample
from isonomia.audits.ksafety.setup import Bench, Steps
from isonomia.audits.ksafety.shrink import shown
from isonomia.audits.ksafety.verdict import Outcome, is_proof, verdict_of
from isonomia.audits.ksafety.violations import Findings
from isonomia.audits.protocol import Check, Entries, Recheck
from isonomia.audits.verdicts import introduce
from isonomia.engine.journal import Entry, once
from isonomia.engine.observer import Observer
from isonomia.errors import DataError, UsageError
from isonomia.populations.domains import Domain, TableDomain
from isonomia.populations.finite import Census
from isonomia.populations.recorded import table_of_rows
from isonomia.records.verdict import Verdict
from isonomia.spec.safety import Safety

__all__ = ["among", "by_known", "check_safety", "checked_known", "gone_elsewhere", "recheck", "still_violating"]


def checked_known(known: tuple[Mapping[str, Any], ...]) -> list[Mapping[str, Any]]:
    """Counterexamples of earlier verdicts, as they came.

    Raises
    ------
    UsageError
        Where something else came.
    """
    for item in known:
        if not isinstance(item, Mapping) or not {"inputs", "choices"} <= set(item):
            raise UsageError(f"expected counterexamples of earlier verdicts as known, but {str(item)[:80]} came")
    return list(known)


def still_violating(runner: Runner, domain: Domain, known: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Those counterexamples that violate the property still, computed anew from their inputs and choices.

    One that no longer fits, because the specification or the data have changed, is passed over.
    """
    tried = (_again(runner, domain, item) for item in known)
    return [again for again in tried if again is not None]


def among(domain: Domain, item: Mapping[str, Any]) -> bool:
    """Whether every input of a counterexample is one of the table's rows; other domains are not looked through."""
    return not isinstance(domain, TableDomain) or all(_has(domain, record) for record in item["inputs"].values())


def gone_elsewhere(domain: Domain, known: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Say of counterexamples whose inputs the table does not have, or not so, that the violation is not among its rows.

    They are proof that the model violates the property all the same; other domains than tables are not looked through.
    """
    if not isinstance(domain, TableDomain):
        return ()
    rows = [record for item in known for record in item["inputs"].values()]
    if not rows or any(_has(domain, record) for record in rows):
        return ()
    return ("none of them is among the inputs that were given: they come from other data, or the data have changed",)


def _has(domain: TableDomain, record: Mapping[str, Any]) -> bool:
    restored, same = domain.restore([record]), np.ones(domain.size, dtype=bool)
    for name in domain.whole.names:
        here, there = domain.whole.column(name), domain.column(restored, name)
        same &= (here == there[0]) | (missing(here) & missing(there)[0])
    return bool(same.any())


def _again(runner: Runner, domain: Domain, item: Mapping[str, Any]) -> dict[str, Any] | None:
    names = runner.program.spec.inputs
    if not isinstance(item["inputs"], Mapping) or set(item["inputs"]) != set(names):
        return None
    try:
        choices = [np.array([choice]) for choice in item["choices"]]
        records = {name: Value(domain.restore([item["inputs"][name]])) for name in names}
        prepared = prepare_known(runner.program, domain, records, Given(choices))
    except (ReachedError, DataError, ValueError, TypeError, LookupError, AttributeError):
        return None
    if not prepared.accepted[0] or (runner.draws and not choices):
        return None
    seeds = choices[-1].astype(np.int64) if runner.draws else np.zeros(1, dtype=np.int64)
    judged = runner.judged(prepared, seeds)
    if not judged.violating[0]:
        return None
    return shown(runner, judged, list(item["choices"]), dict(item.get("rows", {}))) | {
        "minimal": bool(item.get("minimal", False))
    }


def by_known(steps: Steps) -> Outcome | None:
    """The answer where a known counterexample violates the property still.

    Those that the check began with are tried, whatever has become known since. A census speaks of its rows alone, so
    that one which is not among them proves nothing there.
    """
    prop = steps.request.prop
    known = once(steps.journal, "known", lambda: {"known": checked_known(prop.known)})["known"]
    if not known:
        return None
    tried = once(steps.journal, "known again", lambda: _tried(steps, known))
    again = tuple(tried["violating"])
    if not again or not prop.stop_early:
        return None
    told = f"{len(again)} of {len(known)} known counterexamples violate it still"
    remarks = (told, *tried["elsewhere"])
    totals = Totals(len(steps.program.ensures))
    return Outcome(False, totals, Findings(again), False, len(again), told, steps.seconds(), remarks)


def _tried(steps: Steps, known: Sequence[Entry]) -> Entry:
    """Those that violate it still. Their answers are kept apart: the steps behind count theirs from the beginning."""
    domain = steps.bench.domain
    runner = steps.bench.runner(steps.program, steps.subject.random, "known counterexamples")
    again = [item for item in still_violating(runner, domain, known) if is_proof(steps.program, item)]
    if getattr(steps.request.population, "kind", None) == "census":
        again = [item for item in again if among(domain, item)]
    # Whom a population without end can draw, a few of its people do not tell.
    elsewhere = [] if steps.subject.fresh else list(gone_elsewhere(domain, again))
    return {"violating": again, "elsewhere": elsewhere}


def check_safety(request: Check[Safety], observer: Observer) -> Verdict:
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


def recheck(check: Check[Safety], counterexamples: Sequence[Mapping[str, Any]], entries: Entries) -> Recheck:
    """Compute counterexamples of a record again with the model of a check, from their inputs and choices alone."""
    if entries["population"]["kind"] == "domain":
        return Recheck(problem="their inputs are of a domain that the record does not hold: use --full")
    rows = [row for item in counterexamples for row in item["inputs"].values()]
    bench = Bench(replace(check, population=Census(table_of_rows(rows))))
    try:
        subject = subject_from(bench.describe())
        program = lower(check.prop.spec, subject.random, subject.asking)
        runner = bench.runner(program, subject.random)
        return Recheck(len(counterexamples), len(still_violating(runner, bench.domain, counterexamples)))
    finally:
        bench.close()
