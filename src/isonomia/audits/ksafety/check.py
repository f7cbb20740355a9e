"""Checking a k-safety property: from the call to the verdict, known counterexamples first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from isonomia.audits.ksafety.cases import Cases, prepare_known
from isonomia.audits.ksafety.enumeration import all_tried, interrupted_outcome, try_all
from isonomia.audits.ksafety.evaluate import GivenChoices, OpenChoiceError, Value, missing
from isonomia.audits.ksafety.inputs import with_inputs
from isonomia.audits.ksafety.runner import Runner
from isonomia.audits.ksafety.sampling import draw_cases, violated_in_sample
from isonomia.audits.ksafety.setup import Setup
from isonomia.audits.ksafety.tally import Tally
from isonomia.audits.ksafety.verdict import SafetyOutcome, verdict_of
from isonomia.audits.ksafety.violations import ViolationSummary, is_proof, show
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

__all__ = ["check_safety", "recheck"]


def check_safety(check: Check[Safety], observer: Observer) -> Verdict:
    """Check a k-safety property.

    Every case is tried where there are few enough; otherwise cases are drawn at random.
    """
    check = with_inputs(check)
    introduce(check.population, check.model, check.journal)
    setup = Setup(check, observer)
    setup.compile()
    observer.begin(check.prop.name or str(check.prop))
    try:
        outcome = _outcome(setup)
    finally:
        observer.end()
        setup.close()
    return verdict_of(setup, outcome)


def _outcome(setup: Setup) -> SafetyOutcome:
    settled = _by_known(setup)
    if settled is not None:
        return settled
    tried = try_all(setup)
    if tried is None:
        return draw_cases(setup, before=0)
    tally, early = tried
    if early is not None:
        return interrupted_outcome(setup, tally, early)
    if not setup.subject.sample:
        return all_tried(setup, tally)
    if tally.violating:
        return violated_in_sample(setup, tally)
    return draw_cases(setup, before=tally.tested)


def recheck(check: Check[Safety], counterexamples: Sequence[Mapping[str, Any]], entries: Entries) -> Recheck:
    """Compute counterexamples of a record again with the model of a check, from their inputs and choices alone."""
    if entries["population"]["kind"] == "domain":
        return Recheck(problem="their inputs are of a domain that the record does not hold: use --full")
    rows = [row for item in counterexamples for row in item["inputs"].values()]
    setup = Setup(replace(check, population=Census(table_of_rows(rows))))
    try:
        again = _still_violating(setup.new_runner(), setup.domain, counterexamples)
    finally:
        setup.close()
    return Recheck(len(counterexamples), len(again))


def _by_known(setup: Setup) -> SafetyOutcome | None:
    """The answer where a known counterexample violates the property still.

    Those that the check began with are tried, whatever has become known since. A census speaks of its rows alone, so
    that one which is not among them proves nothing there.
    """
    prop = setup.check.prop
    known = once(setup.journal, "known", lambda: {"known": _checked_known(prop.known)})["known"]
    if not known:
        return None
    tried = once(setup.journal, "known again", lambda: _tried(setup, known))
    again = tuple(tried["violating"])
    if not again or not prop.stop_early:
        return None
    message = f"{len(again)} of {len(known)} known counterexamples violate it still"
    remarks = (message, *tried["elsewhere"])
    tally = Tally.empty(len(setup.program.ensures))
    return SafetyOutcome(False, tally, ViolationSummary(again), False, len(again), message, setup.seconds(), remarks)


def _checked_known(known: tuple[Mapping[str, Any], ...]) -> list[Mapping[str, Any]]:
    """Counterexamples of earlier verdicts, as they came."""
    for item in known:
        if not isinstance(item, Mapping) or not {"inputs", "choices"} <= set(item):
            raise UsageError(f"expected counterexamples of earlier verdicts as known, but {str(item)[:80]} came")
    return list(known)


def _tried(setup: Setup, known: Sequence[Entry]) -> Entry:
    """Those that violate it still. Their answers are kept apart: the steps behind count theirs from the beginning."""
    domain, runner = setup.domain, setup.new_runner("known counterexamples")
    again = [item for item in _still_violating(runner, domain, known) if is_proof(setup.program, item)]
    if getattr(setup.check.population, "kind", None) == "census":
        again = [item for item in again if _among(domain, item)]
    # Whom a population without end can draw, a few of its people do not tell.
    elsewhere = [] if setup.subject.fresh else list(_gone_elsewhere(domain, again))
    return {"violating": again, "elsewhere": elsewhere}


def _still_violating(runner: Runner, domain: Domain, known: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One that no longer fits, because the specification or the data have changed, is passed over."""
    tried = (_again(runner, domain, item) for item in known)
    return [again for again in tried if again is not None]


def _again(runner: Runner, domain: Domain, item: Mapping[str, Any]) -> dict[str, Any] | None:
    names = runner.program.spec.inputs
    if not isinstance(item["inputs"], Mapping) or set(item["inputs"]) != set(names):
        return None
    try:
        choices = tuple(np.array([choice]) for choice in item["choices"])
        records = {name: Value(domain.restore([item["inputs"][name]])) for name in names}
        batch = prepare_known(runner.program, domain, records, GivenChoices(choices))
    except (OpenChoiceError, DataError, ValueError, TypeError, LookupError, AttributeError):
        return None
    if not batch.accepted[0] or (runner.draws and not choices):
        return None
    only = np.zeros(1, dtype=np.intp)  # each input is the one record that was restored for it
    judgement = runner.judge(batch, Cases((only,) * len(names), choices))
    if not judgement.violating[0]:
        return None
    shown = show(runner.program, judgement, list(item["choices"]), dict(item.get("rows", {})))
    return shown | {"minimal": bool(item.get("minimal", False))}


def _among(domain: Domain, item: Mapping[str, Any]) -> bool:
    """Whether every input of a counterexample is one of the table's rows; other domains are not looked through."""
    return not isinstance(domain, TableDomain) or all(_has(domain, record) for record in item["inputs"].values())


def _gone_elsewhere(domain: Domain, known: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
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
