"""Checking responsiveness, from the call to the verdict.

What a verdict states: the findings as plain values, and what a reader should know about them, in words.

The target is checked too: one that is misspelled, so that the model can never predict it, must not lead to an answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.protocol import Check
from isonomia.audits.responsiveness.counterexamples import FURTHER_DRAWS, counterexamples, deciding_points
from isonomia.audits.responsiveness.sampling import PointSampler, sample_people
from isonomia.audits.responsiveness.setup import AuditedPeople, ResponsivenessSetup, table_of
from isonomia.audits.responsiveness.shares import DecisionRule, PointsByPerson, SharedClaim
from isonomia.audits.verdicts import introduce, new_verdict, same_answers
from isonomia.engine.loop import Outcome
from isonomia.engine.parameters import Observer
from isonomia.errors import ModelError, UnreliableModelError, UsageError, nearest
from isonomia.evidence.binomial import least_draws, least_sequential_draws
from isonomia.models.meter import BudgetSpentError, current_meter
from isonomia.models.protocol import RecordedModel
from isonomia.populations.table import plain_value
from isonomia.records.journal import Entry, Journal, NullJournal, once
from isonomia.records.verdict import Expression, Verdict
from isonomia.records.violations import Columns, ViolationSet
from isonomia.spec.responsiveness import Responsiveness, classes_named
from isonomia.spec.text import to_text
from isonomia.spec.tree import Value
from isonomia.wording import chance, plural

TARGET_UNKNOWN = "no point that was checked has the target, which may be misspelled"
_MODEL_BATCH = 10_000
"""How many people are sent to the model together."""
_MAX_SHOWN = 8
"""How many of the model's own answers are shown."""


def details_of(
    prop: Responsiveness, counts: PointsByPerson, rule: DecisionRule, members: AuditedPeople
) -> dict[str, Any]:
    """Everything that is known, as values that JSON can hold; people as columns of equal length."""
    low, high = counts.interval(rule)
    answers = np.where(counts.responsive, "responsive", np.where(counts.unresponsive, "fixed", "undecided"))
    line = {"relation": ">", "threshold": 0.0} if prop.one_is_enough and counts.exact.all() else {}
    return {
        **claim_of(prop),
        **line,
        "counts": _counts(answers, counts.exact),
        "groups": _groups(prop, answers, counts.exact, members),
        "people": {
            "row": members.rows.tolist(),
            "answer": answers.tolist(),
            "share": [None if np.isnan(value) else value for value in counts.share.tolist()],
            "low": low.tolist(),
            "high": high.tolist(),
            "n": counts.n.astype(int).tolist(),
            "reaching": counts.successes.astype(int).tolist(),
            "exact": counts.exact.tolist(),
        },
    }


def claim_of(prop: Responsiveness) -> dict[str, Any]:
    """The claim, in words and numbers, and the fingerprint of what people can change."""
    return {
        "audit": "responsiveness",
        "interventions": prop.actions.fingerprint(),
        "features": list(prop.actions.names),
        **({"labels": prop.actions.labels} if prop.actions.labels else {}),
        "target": to_text(prop.condition),
        "who": None if prop.members is None else to_text(prop.members),
        "rows": None if prop.rows is None else list(np.atleast_1d(prop.rows).tolist()),
        "relation": ">=" if prop.at_least is not None else "<=",
        "threshold": prop.threshold,
        "one_is_enough": prop.one_is_enough,
        **({"average": True} if prop.average else {}),
        **({} if prop.failing_at_most is None else {"failing_at_most": prop.failing_at_most}),
        "control": prop.control,
        "draws": prop.draws,
        "by": list(prop.by),
    }


def _counts(answers: NDArray[Any], exact: NDArray[np.bool_]) -> dict[str, int]:
    counts = {answer: int((answers == answer).sum()) for answer in ("responsive", "fixed", "undecided")}
    return {"people": len(answers), **counts, "exact": int(exact.sum())}


def _groups(
    prop: Responsiveness, answers: NDArray[Any], exact: NDArray[np.bool_], members: AuditedPeople
) -> list[dict[str, Any]]:
    keys = members.groups
    if not keys:
        return []
    ordered = sorted(
        range(len(keys)), key=lambda k: [(type(value).__name__, value) for value in keys[k] if value is not None]
    )
    ends = np.cumsum(np.bincount(members.group, minlength=len(keys)))
    mine = np.split(np.argsort(members.group, kind="stable"), ends[:-1])
    return [
        {"group": dict(zip(prop.by, keys[k], strict=True)), **_counts(answers[mine[k]], exact[mine[k]])}
        for k in ordered
    ]


def refuse_hopeless(prop: Responsiveness, delta: float, sampled: int) -> None:
    """Refuse, before anything is drawn, a number of draws with which no person could ever be called fixed."""
    if not sampled:
        return
    if prop.draws is not None:
        name, given, least = "draws", prop.draws, least_draws(delta, prop.threshold)
    else:
        name, given, least = "most_draws", prop.most_draws, least_sequential_draws(delta, prop.threshold)
    if given < least and not prop.about_all:
        raise UsageError(
            f"with {name}={given:,} no draws could ever show that a share is below {prop.threshold:g} at "
            f"delta={delta:g}, not even if none of them reaches the target: it takes at least {least:,}. Raise {name}, "
            "or delta, or the share."
        )


def assumptions(check: Check[Responsiveness], counts: PointsByPerson, approximate: bool) -> tuple[str, ...]:
    """What the guarantee rests on, in words."""
    same = same_answers(check, "the model always gives the same answer for the same row")
    result = ["the interventions describe what people can really change", *same]
    if not counts.exact.all():
        result.append("draws are independent, and uniform over the actions open to a person")
    if approximate:
        result.append("for blocks of more than six coupled real features, a walk gives nearly uniform draws")
    return tuple(result)


def why_stopped(prop: Responsiveness, outcome: Outcome[PointsByPerson], answer: bool | None) -> str:
    """Why it stopped, in words; a violation is stated together with how many people were not decided."""
    counts, reason = outcome.state, outcome.reason
    if prop.about_all and reason == "decided":
        return "every point was checked" if counts.exact.all() else "the claim is decided"
    left = int(counts.undecided.sum())
    if prop.about_all or answer is not False or not left or reason == "interrupted":
        return _reason(prop, counts, reason)
    bad = int((counts.unresponsive if prop.at_least is not None else counts.responsive).sum())
    others = f"{left:,} {'other was' if left == 1 else 'others were'}"
    violated = f"{bad:,} {'person violates' if bad == 1 else 'people violate'} it"
    if reason == "budget":
        return f"{violated}; the budget was spent before {others} decided"
    draws = prop.most_draws if prop.draws is None else prop.draws
    return f"{violated}; {others} not decided by {draws:,} draws each"


def _reason(prop: Responsiveness, counts: PointsByPerson, reason: str) -> str:
    match reason:
        case "budget":
            return "the budget is spent"
        case "decided":
            return "every point was checked" if counts.exact.all() else "all people are decided"
        case "exhausted" if prop.draws is None:
            return f"{prop.most_draws:,} draws did not decide it"
        case "exhausted":
            return "the fixed number of draws is used up"
        case _:
            return reason


def remarks(
    check: Check[Responsiveness],
    counts: PointsByPerson,
    rule: DecisionRule,
    distinct: int,
    sampled: int,
    shown: Sequence[Mapping[str, Any]] = (),
    doubt: str = "",
    cleared: int = 0,
    skipped: int = 0,
) -> tuple[str, ...]:
    """What a reader should know about how the answer was reached, in words."""
    result = [doubt] if doubt else []
    result.append(f"the model was queried about {plural(distinct, 'different row')}")
    if check.population.kind == "sample" and not check.prop.about_all:
        result.append("it is about the people in the table, and says nothing about others")
    if skipped:
        result.append(f"{_people(skipped)} left out: values are missing, impossible or break a rule (skip_invalid)")
    if check.prop.draws is not None and not sampled:
        result.append("every point was listed, which is exact: no draws were needed (most_listed=0 draws all the same)")
    if sampled and len(counts.n) > 1:
        result.append(_control(rule, sampled))
    if sampled:
        find = least_draws if rule.fixed else least_sequential_draws
        few = find(rule.delta / (sampled if rule.control == "family" else 1), rule.threshold)
        result.append(f"calling a person fixed by draws takes at least {few:,} draws")
    if sampled and rule.one_is_enough:
        result.append(
            f"draws cannot show that a person has no way at all: with no way among them, a person is called fixed when "
            f"the share is shown to be below {rule.threshold:g}"
        )
    if cleared:
        result.append(
            f"{_people(cleared)} responsive although the share is shown to be below {rule.threshold:g}: a further "
            "search, of draws and of changes of one feature, found a way"
        )
    if any(not item["every"] for item in shown):
        decide = "clear a person if they find a way" if rule.one_is_enough else "decide nothing"
        result.append(
            f"where points are not listed, the nearest with the target are looked for among {FURTHER_DRAWS:,} further "
            f"draws for each person, which {decide}"
        )
    if not doubt and not counts.successes.any() and counts.n.any():
        target = to_text(check.prop.condition)
        what = "no point at all" if counts.exact.all() else "no point that was checked"
        result.append(f"{what} has {target}: is it spelled as the model gives it?")
    left = int(counts.undecided.sum())
    if left and not doubt and not check.prop.about_all:
        result.append(_undecided(counts, rule, left))
    return tuple(result)


def _undecided(counts: PointsByPerson, rule: DecisionRule, left: int) -> str:
    unseen = int((counts.undecided & (counts.n == 0)).sum())
    if unseen == left:
        return f"{_people(left)} undecided: none of the points that they can reach was checked"
    why = f"{_people(left)} undecided: their shares are near {rule.threshold:g}, or draws were too few"
    return f"{why}; no point of {unseen:,} was checked" if unseen else why


def _people(count: int) -> str:
    return "1 person is" if count == 1 else f"{count:,} people are"


def _control(rule: DecisionRule, sampled: int) -> str:
    if rule.control == "family":
        return (
            f"the probability that any of the {sampled:,} people decided by draws is wrongly called fixed is at most "
            f"{chance(rule.delta)}, and so is that of wrongly calling any responsive (Holm)"
        )
    return (
        f"of the {sampled:,} people decided by draws, the expected share of wrong names among those called fixed is at "
        f"most {chance(rule.delta)}, and so it is among those called responsive (e-BH)"
    )


def target_doubt(setup: ResponsivenessSetup, counts: PointsByPerson) -> str:
    """Why it is unclear whether the model ever predicts the class that a target names; empty where it is clear.

    There is doubt where the model does not state its classes, and neither a point that was looked at nor any person
    in the table has the class: then a claim about it may be about nothing. If all predictions are 0 or 1, both are
    classes. A target that names no class, such as ``prediction < own``, cannot be misspelled.
    """
    reached = counts.successes.sum()
    if not counts.n.any() or 0 < reached < counts.n.sum():
        return ""
    named = classes_named(setup.check.prop.condition, "==" if not reached else "!=")
    if not named:
        return ""
    result = once(setup.check.journal, "classes", lambda: _look_for_classes(setup, named))
    return "" if result["known"] else _doubt_in_words(named, result["predictions"])


def _look_for_classes(setup: ResponsivenessSetup, named: tuple[Value, ...]) -> Entry:
    """Whether one of the named classes is one of the model's, and the predictions looked at to find out."""
    if setup.check.required_model.classes:
        return {"known": True, "predictions": []}  # any other class was refused before
    table, session, predictions = table_of(setup.check), setup.check.required_model, set[Any]()
    for first in range(0, table.rows, _MODEL_BATCH):
        some = table.slice(first, first + _MODEL_BATCH)
        try:
            given = session(some, False, True).prediction
        except UnreliableModelError:
            raise
        except BudgetSpentError:
            break
        except ModelError:
            continue  # the model need not answer for people whom the property is not about
        predictions |= {plain_value(value) for value in (() if given is None else given)}
        if predictions & set(named):
            return {"known": True, "predictions": []}
    yes_or_no = bool(predictions) and (predictions | set(named)) <= {0, 1}
    return {"known": yes_or_no, "predictions": [] if yes_or_no else sorted(predictions, key=repr)[:_MAX_SHOWN]}


def _doubt_in_words(named: tuple[Value, ...], predictions: list[Value]) -> str:
    hint = nearest(str(named[0]), map(str, predictions))
    gives = ", ".join(map(repr, predictions)) or "nothing"
    return (
        f"no point, and no person as they are, is predicted {' or '.join(map(repr, named))}, and the model does not "
        f"say its classes: is it misspelled? These people get {gives}.{hint} If not, let the model have `classes_`"
    )


def check_responsiveness(check: Check[Responsiveness], observer: Observer) -> Verdict:
    """Check responsiveness."""
    began = monotonic()
    introduce(check.population, check.model, check.journal)
    observer.begin(str(check.prop))
    setup = ResponsivenessSetup(check)
    try:
        if not len(setup.members.rows):
            # A misspelled condition must not pass for a success: like a rate of an empty group, it is undecided.
            remark = f"no row meets {check.prop.who}, so there is nothing to check: is this what you meant?"
            return _empty(check, "exact", "there are no people to check", remark, monotonic() - began)
        return _about_people(setup, observer, began)
    except KeyboardInterrupt:
        remark = "it was interrupted before any points were counted"
        return _empty(check, "bets", "interrupted", remark, monotonic() - began)
    finally:
        observer.end()
        setup.close()


def _about_people(setup: ResponsivenessSetup, observer: Observer, began: float) -> Verdict:
    check, prop, sampler = setup.check, setup.check.prop, PointSampler(setup)
    sampled = int((~setup.few).sum())
    refuse_hopeless(prop, check.delta, sampled)
    claim = SharedClaim.of(check, ~setup.few)
    rule = DecisionRule.of(prop, check.delta) if claim is None else claim.rule
    compare = _nothing if claim is None else claim.expression
    outcome = sample_people(check, setup, sampler, observer, rule, compare)
    answer, risk = _answer(check, outcome.state, rule, claim)
    doubt = ""
    if answer is not None and outcome.reason != "interrupted":  # a check that is resumed may still find the target
        doubt = target_doubt(setup, outcome.state)
    if doubt:
        outcome, answer, risk = replace(outcome, state=outcome.state.without_decisions()), None, 0.0
    shown, cleared = _counterexamples(setup, outcome)
    if len(cleared):
        outcome = replace(outcome, state=outcome.state.cleared(cleared))
        answer, risk = _answer(check, outcome.state, rule, claim)
    counts = outcome.state
    details = details_of(prop, counts, rule, setup.members)
    if claim is not None:
        _describe_groups(claim, counts, setup.members, details["groups"])
    return new_verdict(
        check,
        answer,
        counted="points",
        risk=risk,
        method=_method(counts, rule),
        samples=sampler.points,
        expressions=_expressions(details) if claim is None else (claim.expression(counts),),
        stopped=TARGET_UNKNOWN if doubt else why_stopped(prop, outcome, answer),
        assumptions=assumptions(check, counts, setup.reach.approximate),
        remarks=remarks(
            check, counts, rule, sampler.distinct, sampled, shown, doubt, len(cleared), setup.members.skipped
        ),
        counterexamples=shown,
        seconds=monotonic() - began,
        details={
            **details,
            **({"skipped": setup.members.skipped} if setup.members.skipped else {}),
            "points": sampler.points,
            "distinct": sampler.distinct,
        },
        kept=_deciding(setup, counts),
    )


def _deciding(setup: ResponsivenessSetup, counts: PointsByPerson) -> ViolationSet | None:
    """All points that decide about those who break the claim, computed on demand: the model is queried again.

    ``None`` where no person breaks it, and where there is no model, as in the replay of a record.
    """
    check, who = setup.check, _breaking(setup, counts)
    if not len(who) or isinstance(check.required_model.model, RecordedModel):
        return None

    def look() -> Iterator[Columns]:
        again = ResponsivenessSetup(check.with_journal(NullJournal()))
        again.reach = setup.reach
        try:
            yield from deciding_points(again, who)
        finally:
            again.close()

    return ViolationSet.later(look)


def _breaking(setup: ResponsivenessSetup, counts: PointsByPerson) -> NDArray[np.intp]:
    """Those who break the claim, the clearest first; for an average, no single person does."""
    if setup.check.prop.average:
        return np.zeros(0, dtype=np.intp)
    at_least = setup.check.prop.at_least is not None
    bad = np.flatnonzero(counts.unresponsive if at_least else counts.responsive)
    share = counts.share[bad]
    return bad[np.argsort(share if at_least else -share, kind="stable")]


def _nothing(counts: PointsByPerson) -> None:
    """A claim about each person compares no single quantity."""


def _describe_groups(
    claim: SharedClaim, counts: PointsByPerson, members: AuditedPeople, groups: list[dict[str, Any]]
) -> None:
    """Add the claim's quantity to each group, with its interval."""
    index = {key: number for number, key in enumerate(members.groups)}
    for item in groups:
        mine = claim.expression(counts, members.group == index[tuple(item["group"].values())])
        item["quantity"] = {"estimate": mine.estimate, "low": mine.low, "high": mine.high}


def _answer(
    check: Check[Responsiveness], counts: PointsByPerson, rule: DecisionRule, claim: SharedClaim | None
) -> tuple[bool | None, float]:
    """The answer about all people, and its risk: an exact share cannot be wrong."""
    if claim is not None:
        settled = claim.expression(counts).settled
        return settled, 0.0 if settled is None or claim.exact(counts) else check.delta
    good, bad, evidence = counts.responsive, counts.unresponsive, counts.above
    if check.prop.at_least is None:
        good, bad, evidence = bad, good, counts.below
    if bad.any():
        return False, 0.0 if (bad & counts.exact).any() else check.delta
    if counts.holds_for_all(evidence, good, rule):
        return True, 0.0 if counts.exact.all() or rule.one_is_enough else check.delta
    return None, 0.0


def _method(counts: PointsByPerson, rule: DecisionRule) -> str:
    if counts.exact.all():
        return "exact"
    return "binomial" if rule.fixed else "bets"


def _counterexamples(
    setup: ResponsivenessSetup, outcome: Outcome[PointsByPerson]
) -> tuple[tuple[dict[str, Any], ...], NDArray[np.intp]]:
    """The nearest points of those who break the claim: facts about the model, which only the model can confirm.

    Where one point is enough, also the people for whom the search has found one: they do not break it.
    """
    check, counts = setup.check, outcome.state
    who = _breaking(setup, counts)
    if not len(who):
        return (), who

    def measure() -> Entry:
        with current_meter().further():
            items, cleared = counterexamples(setup, who, counts)
        return {"counterexamples": items, **({"cleared": cleared} if cleared else {})}

    # A check that was interrupted may be resumed, and end with others.
    journal: Journal = NullJournal() if outcome.reason == "interrupted" else check.journal
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
    return new_verdict(
        check,
        None,
        counted="points",
        method=method,
        stopped=stopped,
        assumptions=(),
        remarks=(remark,),
        seconds=seconds,
        details={
            **claim_of(check.prop),
            "counts": _counts(np.zeros(0, dtype=object), np.zeros(0, dtype=bool)),
            "groups": [],
            "people": {},
            "points": 0,
            "distinct": 0,
        },
    )
