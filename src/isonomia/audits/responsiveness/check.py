"""Checking responsiveness, from the call to the verdict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.protocol import Check
from isonomia.audits.responsiveness.counterexamples import counterexamples, deciding_points
from isonomia.audits.responsiveness.counts import DecisionRule, PersonCounts
from isonomia.audits.responsiveness.findings import (
    TARGET_UNKNOWN,
    assumptions,
    claim_of,
    details_of,
    refuse_hopeless,
    remarks,
    target_doubt,
    why_stopped,
)
from isonomia.audits.responsiveness.sampling import PointSampler, sample_people
from isonomia.audits.responsiveness.setup import ResponsivenessSetup
from isonomia.audits.verdicts import introduce, new_verdict
from isonomia.engine.journal import Blank, Entry, Journal, once
from isonomia.engine.loop import Outcome
from isonomia.engine.observer import Observer
from isonomia.models.meter import current_meter
from isonomia.models.protocol import RecordedModel
from isonomia.models.wrappers import unwrap
from isonomia.records.verdict import Expression, Verdict
from isonomia.records.violations import Columns, ViolationSet
from isonomia.spec.responsiveness import Responsiveness


def check_responsiveness(check: Check[Responsiveness], observer: Observer) -> Verdict:
    """Check responsiveness."""
    began = monotonic()
    introduce(check.population, check.model, check.journal)
    observer.begin(str(check.prop))
    setup = ResponsivenessSetup(check)
    try:
        if not len(setup.members.rows):
            # A misspelt condition must not pass for a success: like a rate of an empty group, it is undecided.
            remark = f"nobody meets {check.prop.who}, so the claim is about nobody: is this what you meant?"
            return _empty(check, "exact", "there is nobody to check", remark, monotonic() - began)
        return _about_people(setup, observer, began)
    except KeyboardInterrupt:
        remark = "it was interrupted before anybody's points were counted"
        return _empty(check, "bets", "interrupted", remark, monotonic() - began)
    finally:
        observer.end()
        setup.close()


def _about_people(setup: ResponsivenessSetup, observer: Observer, began: float) -> Verdict:
    check, prop, sampler = setup.check, setup.check.prop, PointSampler(setup)
    sampled = int((~setup.reach.listable(prop.most_listed)).sum())
    refuse_hopeless(prop, check.delta, sampled)
    rule = DecisionRule.of(prop, check.delta)
    outcome = sample_people(check, setup, sampler, observer)
    answer, risk = _answer(check, outcome.state, rule)
    doubt = ""
    if answer is not None and outcome.reason != "interrupted":  # a check that is resumed may still find the target
        doubt = target_doubt(setup, outcome.state)
    if doubt:
        outcome, answer, risk = replace(outcome, state=outcome.state.without_decisions()), None, 0.0
    shown, cleared = _counterexamples(setup, outcome)
    if len(cleared):
        outcome = replace(outcome, state=outcome.state.cleared(cleared))
        answer, risk = _answer(check, outcome.state, rule)
    counts = outcome.state
    details = details_of(prop, counts, rule, setup.members)
    return _verdict(
        check,
        answer,
        risk=risk,
        method=_method(counts, rule),
        samples=sampler.points,
        expressions=_expressions(details),
        stopped=TARGET_UNKNOWN if doubt else why_stopped(prop, outcome, answer),
        assumptions=assumptions(check, counts, setup.reach.approximate),
        remarks=remarks(check, counts, rule, sampler.distinct, sampled, shown, doubt, len(cleared)),
        counterexamples=shown,
        seconds=monotonic() - began,
        details={**details, "points": sampler.points, "distinct": sampler.distinct},
        kept=_deciding(setup, counts),
    )


def _deciding(setup: ResponsivenessSetup, counts: PersonCounts) -> ViolationSet | None:
    """All points that decide about those who break the claim, computed on demand: the model is queried again.

    ``None`` where nobody breaks it, and where there is no model, as in the replay of a record.
    """
    check, who = setup.check, _breaking(setup, counts)
    if not len(who) or isinstance(unwrap(check.required_model), RecordedModel):
        return None

    def look() -> Iterator[Columns]:
        again = ResponsivenessSetup(check.with_journal(Blank()))
        few, sizes = setup.reach.listable(check.prop.most_listed), setup.reach.counts
        at_least = check.prop.at_least is not None
        try:
            yield from deciding_points(again.sets, again.target, who, sizes, few, check.seed, all_of_them=at_least)
        finally:
            again.close()

    return ViolationSet.later(look)


def _breaking(setup: ResponsivenessSetup, counts: PersonCounts) -> NDArray[np.intp]:
    """Those who break the claim, the clearest first."""
    at_least = setup.check.prop.at_least is not None
    bad = np.flatnonzero(counts.unresponsive if at_least else counts.responsive)
    share = counts.share[bad]
    return bad[np.argsort(share if at_least else -share, kind="stable")]


def _answer(check: Check[Responsiveness], counts: PersonCounts, rule: DecisionRule) -> tuple[bool | None, float]:
    """The answer about everybody, and its risk: nobody's exact share can be wrong."""
    good, bad, evidence = counts.responsive, counts.unresponsive, counts.above
    if check.prop.at_least is None:
        good, bad, evidence = bad, good, counts.below
    if bad.any():
        return False, 0.0 if (bad & counts.exact).any() else check.delta
    if counts.holds_for_all(evidence, good, rule):
        return True, 0.0 if counts.exact.all() or rule.one_is_enough else check.delta
    return None, 0.0


def _method(counts: PersonCounts, rule: DecisionRule) -> str:
    if counts.exact.all():
        return "exact"
    return "binomial" if rule.fixed else "bets"


def _counterexamples(
    setup: ResponsivenessSetup, outcome: Outcome[PersonCounts]
) -> tuple[tuple[dict[str, Any], ...], NDArray[np.intp]]:
    """The nearest points of those who break the claim: facts about the model, which only the model can confirm.

    Where one point is enough, also the people for whom the search has found one: they do not break it.
    """
    check, counts = setup.check, outcome.state
    who = _breaking(setup, counts)
    if not len(who):
        return (), who
    few = setup.reach.listable(check.prop.most_listed)

    def measure() -> Entry:
        sizes, enough = setup.reach.counts, check.prop.one_is_enough
        with current_meter().further():
            items, cleared = counterexamples(
                setup.sets, setup.target, who, sizes, few, counts, check.seed, one_is_enough=enough
            )
        return {"counterexamples": items, **({"cleared": cleared} if cleared else {})}

    # A check that was interrupted may be resumed, and end with others.
    journal: Journal = Blank() if outcome.reason == "interrupted" else check.journal
    entry = once(journal, "nearest", measure)
    return tuple(entry["counterexamples"]), np.asarray(entry.get("cleared", ()), dtype=np.intp)


def _expressions(details: dict[str, Any]) -> tuple[Expression, ...]:
    """The share itself, where it is about one person."""
    people = details["people"]
    if len(people["row"]) != 1:
        return ()
    relation, share = details["relation"], people["share"][0]
    text = f"share of the person in row {people['row'][0]}"
    return (Expression(text, relation, details["threshold"], share, people["low"][0], people["high"][0]),)


def _empty(check: Check[Responsiveness], method: str, stopped: str, remark: str, seconds: float) -> Verdict:
    """A verdict without people: undecided."""
    return _verdict(
        check,
        None,
        method=method,
        samples=0,
        expressions=(),
        stopped=stopped,
        assumptions=(),
        remarks=(remark,),
        counterexamples=(),
        seconds=seconds,
        details={
            **claim_of(check.prop),
            "counts": {"people": 0, "responsive": 0, "fixed": 0, "undecided": 0, "exact": 0},
            "groups": [],
            "people": {},
            "points": 0,
            "distinct": 0,
        },
    )


def _verdict(check: Check[Responsiveness], answer: bool | None, **content: Any) -> Verdict:
    return new_verdict(check, answer, counted="points", **content)
