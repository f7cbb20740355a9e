"""Checking responsiveness, from the call to the verdict."""

from __future__ import annotations

from time import monotonic
from typing import Any

import numpy as np

from isonomia.audits.journaled import introduce
from isonomia.audits.rates.asking import Asker
from isonomia.audits.rates.check import ANSWERS
from isonomia.audits.responsiveness.counting import Counted, Rule
from isonomia.audits.responsiveness.findings import claim_of, details_of
from isonomia.audits.responsiveness.members import Members, members_of
from isonomia.audits.responsiveness.nearest import counterexamples
from isonomia.audits.responsiveness.reaching import Reaching, reaching
from isonomia.audits.responsiveness.remarks import assumptions, refuse_hopeless, remarks
from isonomia.audits.responsiveness.request import Request
from isonomia.audits.responsiveness.sampling import Looked, listable, look
from isonomia.engine.observer import Observer
from isonomia.errors import DataError
from isonomia.interventions import ReachableSets
from isonomia.populations.table import Table
from isonomia.records.verdict import Expression, Verdict
from isonomia.version import __version__

__all__ = ["check_responsiveness"]


def check_responsiveness(request: Request, observer: Observer) -> Verdict:
    """Check responsiveness.

    Raises
    ------
    IsonomiaError
        Where the property, the interventions, the data or the model is not what the check needs.
    """
    began = monotonic()
    introduce(request.population, request.model, request.journal)
    observer.begin(str(request.prop))
    asker = Asker(request.model, request.workers, request.journal)
    try:
        members = members_of(request, asker)
        if members.table is None:
            return _about_nobody(request, monotonic() - began)
        return _about(request, members, members.table, asker, observer, began)
    except KeyboardInterrupt:
        return _about_nothing(request, monotonic() - began)
    finally:
        observer.end()
        asker.close()


def _about(request: Request, members: Members, table: Table, asker: Asker, observer: Observer, began: float) -> Verdict:
    prop = request.prop
    sets = _reach(request, members)
    sampled = int((~listable(sets, prop.most_listed)).sum())
    refuse_hopeless(prop, request.delta, sampled)
    target = reaching(prop.condition, asker, table, members.rows, prop.actions.names)
    looked = look(request, sets, target, observer)
    rule = Rule.of(prop, request.delta)
    answer, risk = _answer(request, looked.counted, rule)
    samples, distinct = target.points, target.distinct
    details = details_of(prop, looked.counted, rule, table, members.rows)
    return _verdict(
        request,
        answer=ANSWERS[answer],
        risk=risk,
        method=_method(looked.counted, rule),
        samples=samples,
        expressions=_expressions(request, details),
        stopped=looked.stopped,
        assumptions=assumptions(looked.counted, bool(sets.approximate().any())),
        remarks=remarks(request, looked.counted, rule, distinct, sampled),
        counterexamples=_counterexamples(request, sets, target, looked),
        seconds=monotonic() - began,
        details={**details, "points": samples, "distinct": distinct},
    )


def _reach(request: Request, members: Members) -> ReachableSets:
    try:
        sets: ReachableSets = request.prop.actions.reach(members.table, request.prop.memory)
    except DataError as error:
        if request.prop.who is None and request.prop.rows is None:
            raise
        raise DataError(
            f"{error} (Rows are counted among the {len(members.rows):,} whom it is about, from row {members.rows[0]} "
            "of the table.)"
        ) from error
    return sets


def _answer(request: Request, counted: Counted, rule: Rule) -> tuple[bool | None, float]:
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


def _method(counted: Counted, rule: Rule) -> str:
    if counted.exact.all():
        return "exact"
    return "binomial" if rule.fixed else "bets"


def _counterexamples(
    request: Request, sets: ReachableSets, target: Reaching, looked: Looked
) -> tuple[dict[str, Any], ...]:
    counted, at_least = looked.counted, request.prop.at_least is not None
    bad = np.flatnonzero(counted.unresponsive if at_least else counted.responsive)
    share = counted.share[bad]
    order = np.argsort(share if at_least else -share, kind="stable")
    return counterexamples(sets, target, bad[order], request.prop.most_listed, request.seed)


def _expressions(request: Request, details: dict[str, Any]) -> tuple[Expression, ...]:
    """The share itself, where it is about one person."""
    people = details["people"]
    if len(people["row"]) != 1:
        return ()
    relation, share = details["relation"], people["share"][0]
    text = f"share of the person in row {people['row'][0]}"
    return (Expression(text, relation, request.prop.threshold, share, people["low"][0], people["high"][0]),)


def _about_nobody(request: Request, seconds: float) -> Verdict:
    """Undecided, like a rate of a group with nobody in it: a condition that is misspelt must not pass for a success."""
    remark = f"nobody meets {request.prop.who}, so that nothing is claimed of anybody: is it what was meant?"
    return _empty(request, "undecided", "exact", "there is nobody to look at", remark, seconds)


def _about_nothing(request: Request, seconds: float) -> Verdict:
    remark = "it was interrupted before anybody's points were counted"
    return _empty(request, "undecided", "bets", "interrupted", remark, seconds)


def _empty(request: Request, answer: str, method: str, stopped: str, remark: str, seconds: float) -> Verdict:
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


def _verdict(request: Request, **found: Any) -> Verdict:
    population, model = request.population, request.model
    return Verdict(
        text=str(request.prop),
        delta=request.delta,
        leaves=(),
        seed=request.seed,
        population={"kind": population.kind, "size": population.size, "fingerprint": population.fingerprint()},
        model={"name": model.name, "fingerprint": model.fingerprint()},
        name=request.prop.name,
        version=__version__,
        counted="points",
        **found,
    )
