"""Checking responsiveness, from the call to the verdict."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic
from typing import Any

import numpy as np

from isonomia.audits.protocol import Check
from isonomia.audits.responsiveness.counterexamples import counterexamples
from isonomia.audits.responsiveness.counting import Counted, Rule
from isonomia.audits.responsiveness.sampling import INTERRUPTED, Looked, Looker, look
from isonomia.audits.responsiveness.setup import Bench
from isonomia.audits.responsiveness.words import (
    NOTHING_HAS_IT,
    assumptions,
    claim_of,
    details_of,
    doubt_about,
    refuse_hopeless,
    remarks,
    why_stopped,
)
from isonomia.audits.verdicts import ANSWERS, introduce, model_stated, population_stated
from isonomia.engine.journal import Blank, Entry, Journal, once
from isonomia.engine.observer import Observer
from isonomia.records.verdict import Expression, Verdict
from isonomia.spec.responsiveness import Responsiveness
from isonomia.version import __version__

__all__ = ["check_responsiveness"]


def check_responsiveness(request: Check[Responsiveness], observer: Observer) -> Verdict:
    """Check responsiveness.

    Raises
    ------
    IsonomiaError
        Where the property, the interventions, the data or the model is not what the check needs.
    """
    began = monotonic()
    introduce(request.population, request.model, request.journal)
    observer.begin(str(request.prop))
    bench = Bench(request)
    try:
        if not len(bench.members.rows):
            return _about_nobody(request, monotonic() - began)
        return _about(request, bench, observer, began)
    except KeyboardInterrupt:
        return _about_nothing(request, monotonic() - began)
    finally:
        observer.end()
        bench.close()


def _about(request: Check[Responsiveness], bench: Bench, observer: Observer, began: float) -> Verdict:
    prop, reach, looker = request.prop, bench.reach, Looker(bench)
    sampled = int((~reach.listable(prop.most_listed)).sum())
    refuse_hopeless(prop, request.delta, sampled)
    looked, rule = look(request, reach, looker, observer), Rule.of(prop, request.delta)
    answer, risk = _answer(request, looked.counted, rule)
    doubt = "" if answer is None else _doubt(request, bench, looked)
    if doubt:
        looked, answer, risk = replace(looked, counted=looked.counted.nameless()), None, 0.0
    counted, shown = looked.counted, _counterexamples(request, bench, looked)
    details = details_of(prop, counted, rule, bench.members)
    return _verdict(
        request,
        answer=ANSWERS[answer],
        risk=risk,
        method=_method(counted, rule),
        samples=looker.points,
        expressions=_expressions(request, details),
        stopped=NOTHING_HAS_IT if doubt else why_stopped(request, looked, answer),
        assumptions=assumptions(counted, reach.approximate),
        remarks=remarks(request, counted, rule, looker.distinct, sampled, shown, doubt),
        counterexamples=shown,
        seconds=monotonic() - began,
        details={**details, "points": looker.points, "distinct": looker.distinct},
    )


def _answer(request: Check[Responsiveness], counted: Counted, rule: Rule) -> tuple[bool | None, float]:
    """The answer about everybody, and its risk: nobody's exact share can be wrong."""
    at_least = request.prop.at_least is not None
    good, bad = counted.responsive, counted.unresponsive
    evidence = counted.above
    if not at_least:
        good, bad, evidence = bad, good, counted.below
    if bad.any():
        return False, 0.0 if (bad & counted.exact).any() else request.delta
    if counted.surely(evidence, good, rule):
        return True, 0.0 if counted.exact.all() else request.delta
    return None, 0.0


def _doubt(request: Check[Responsiveness], bench: Bench, looked: Looked) -> str:
    """Why it cannot be told whether the target is one at all; somebody who interrupts is not kept waiting for that."""
    # What somebody interrupted goes on later, and may find the target then.
    return "" if looked.stopped == INTERRUPTED else doubt_about(request, bench, looked.counted)


def _method(counted: Counted, rule: Rule) -> str:
    if counted.exact.all():
        return "exact"
    return "binomial" if rule.fixed else "bets"


def _counterexamples(request: Check[Responsiveness], bench: Bench, looked: Looked) -> tuple[dict[str, Any], ...]:
    """The nearest points of those who break the claim: facts about the model, which only the model can confirm."""
    counted, at_least = looked.counted, request.prop.at_least is not None
    bad = np.flatnonzero(counted.unresponsive if at_least else counted.responsive)
    if not len(bad):
        return ()
    share = counted.share[bad]
    who = bad[np.argsort(share if at_least else -share, kind="stable")]
    few = bench.reach.listable(request.prop.most_listed)

    def measure() -> Entry:
        return {"counterexamples": counterexamples(bench.sets, bench.target, who, few, counted, request.seed)}

    # What somebody interrupted goes on later, and may end with others.
    journal: Journal = Blank() if looked.stopped == INTERRUPTED else request.journal
    return tuple(once(journal, "nearest", measure)["counterexamples"])


def _expressions(request: Check[Responsiveness], details: dict[str, Any]) -> tuple[Expression, ...]:
    """The share itself, where it is about one person."""
    people = details["people"]
    if len(people["row"]) != 1:
        return ()
    relation, share = details["relation"], people["share"][0]
    text = f"share of the person in row {people['row'][0]}"
    return (Expression(text, relation, request.prop.threshold, share, people["low"][0], people["high"][0]),)


def _about_nobody(request: Check[Responsiveness], seconds: float) -> Verdict:
    """Undecided, like a rate of a group with nobody in it: a condition that is misspelt must not pass for a success."""
    remark = f"nobody meets {request.prop.who}, so that nothing is claimed of anybody: is it what was meant?"
    return _empty(request, "undecided", "exact", "there is nobody to look at", remark, seconds)


def _about_nothing(request: Check[Responsiveness], seconds: float) -> Verdict:
    remark = "it was interrupted before anybody's points were counted"
    return _empty(request, "undecided", "bets", "interrupted", remark, seconds)


def _empty(
    request: Check[Responsiveness], answer: str, method: str, stopped: str, remark: str, seconds: float
) -> Verdict:
    """A verdict without people."""
    return _verdict(
        request,
        answer=answer,
        risk=0.0,
        method=method,
        samples=0,
        expressions=(),
        stopped=stopped,
        assumptions=(),
        remarks=(remark,),
        counterexamples=(),
        seconds=seconds,
        details={
            **claim_of(request.prop),
            "counts": {"people": 0, "responsive": 0, "fixed": 0, "undecided": 0, "exact": 0},
            "groups": [],
            "people": {},
            "points": 0,
            "distinct": 0,
        },
    )


def _verdict(request: Check[Responsiveness], **found: Any) -> Verdict:
    return Verdict(
        text=str(request.prop),
        delta=request.delta,
        leaves=(),
        seed=request.seed,
        population=population_stated(request.population),
        model=model_stated(request.model),
        name=request.prop.name,
        version=__version__,
        counted="points",
        **found,
    )
