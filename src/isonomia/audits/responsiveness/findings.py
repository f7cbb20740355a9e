"""Findings, remarks, doubts.

What was found out, as plain values: of each person, of each group, of all.

What a reader should know: what the answer rests on, how it was reached, and what could never be claimed.

Whether the model can give a target at all: one that is misspelt must not pass for an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.protocol import Check
from isonomia.audits.responsiveness.counterexamples import FURTHER_DRAWS
from isonomia.audits.responsiveness.counting import Counted, Rule
from isonomia.audits.responsiveness.members import Members, table_of
from isonomia.audits.responsiveness.sampling import INTERRUPTED, SPENT, Looked
from isonomia.audits.responsiveness.setup import Bench
from isonomia.engine.journal import Entry, once
from isonomia.errors import ModelError, UnreliableModelError, UsageError, nearest
from isonomia.evidence.binomial import least_draws, least_sequential_draws
from isonomia.populations.columns import plain_value
from isonomia.spec.responsiveness import Responsiveness, classes_named
from isonomia.spec.text import to_text
from isonomia.spec.tree import Value
from isonomia.wording import chance

__all__ = [
    "AUDIT",
    "NOTHING_HAS_IT",
    "assumptions",
    "claim_of",
    "details_of",
    "doubt_about",
    "refuse_hopeless",
    "remarks",
    "why_stopped",
]


AUDIT = "responsiveness"
"""How the details of a verdict say that they are of this kind."""


def details_of(prop: Responsiveness, counted: Counted, rule: Rule, members: Members) -> dict[str, Any]:
    """Everything that is known, as values that JSON can hold; people as columns of equal length."""
    low, high = counted.interval(rule)
    answers = np.where(counted.responsive, "responsive", np.where(counted.unresponsive, "fixed", "undecided"))
    return {
        **claim_of(prop),
        "counts": _counts(answers, counted.exact),
        "groups": _groups(prop, answers, counted.exact, members),
        "people": {
            "row": members.rows.tolist(),
            "answer": answers.tolist(),
            "share": [None if np.isnan(value) else value for value in counted.share.tolist()],
            "low": low.tolist(),
            "high": high.tolist(),
            "n": counted.n.astype(int).tolist(),
            "reaching": counted.successes.astype(int).tolist(),
            "exact": counted.exact.tolist(),
        },
    }


def claim_of(prop: Responsiveness) -> dict[str, Any]:
    """What was asked, in words and numbers, and the fingerprint of what people can change."""
    return {
        "audit": AUDIT,
        "interventions": prop.actions.fingerprint(),
        "target": to_text(prop.condition),
        "who": None if prop.members is None else to_text(prop.members),
        "rows": None if prop.rows is None else list(np.atleast_1d(prop.rows).tolist()),
        "relation": ">=" if prop.at_least is not None else "<=",
        "threshold": prop.threshold,
        "control": prop.control,
        "draws": prop.draws,
        "by": list(prop.by),
    }


def _counts(answers: NDArray[Any], exact: NDArray[np.bool_]) -> dict[str, int]:
    found = {answer: int((answers == answer).sum()) for answer in ("responsive", "fixed", "undecided")}
    return {"people": len(answers), **found, "exact": int(exact.sum())}


def _groups(
    prop: Responsiveness, answers: NDArray[Any], exact: NDArray[np.bool_], members: Members
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


NOTHING_HAS_IT = "nothing that was looked at has the target, which may be misspelt"


def refuse_hopeless(prop: Responsiveness, delta: float, sampled: int) -> None:
    """Say before anything is drawn that with so few draws nobody can ever be called fixed.

    Raises
    ------
    UsageError
        Where a person's draws are too few for any test at delta; the error says how many it takes.
    """
    if not sampled:
        return
    if prop.draws is not None:
        name, came, least = "draws", prop.draws, least_draws(delta, prop.threshold)
    else:
        name, came, least = "most_draws", prop.most_draws, least_sequential_draws(delta, prop.threshold)
    if came < least:
        raise UsageError(
            f"with {name}={came:,} no draws could ever show that a share is below {prop.threshold:g} at "
            f"delta={delta:g}, not even if none of them reaches the target: it takes at least {least:,}. Raise {name}, "
            "or delta, or the share."
        )


def assumptions(counted: Counted, approximate: bool) -> tuple[str, ...]:
    """What the guarantee rests on, in words."""
    found = ["the interventions say truly what people can change", "the model answers the same row alike every time"]
    if not counted.exact.all():
        found.append("draws are independent, and uniform over the actions open to a person")
    if approximate:
        found.append("for blocks of more than six coupled real features, a walk gives nearly uniform draws")
    return tuple(found)


def why_stopped(request: Check[Responsiveness], looked: Looked, answer: bool | None) -> str:
    """Why it stopped, in words; a violation is told together with those who were not decided."""
    left = int(looked.counted.undecided.sum())
    if answer is not False or not left or looked.stopped == INTERRUPTED:
        return looked.stopped
    counted = looked.counted
    bad = int((counted.unresponsive if request.prop.at_least is not None else counted.responsive).sum())
    others = f"{left:,} {'other was' if left == 1 else 'others were'}"
    found = f"{bad:,} {'person breaks' if bad == 1 else 'people break'} it"
    if looked.stopped == SPENT:
        return f"{found}; the budget was spent before {others} decided"
    draws = request.prop.most_draws if request.prop.draws is None else request.prop.draws
    return f"{found}; {others} not decided by {draws:,} draws each"


def remarks(
    request: Check[Responsiveness],
    counted: Counted,
    rule: Rule,
    distinct: int,
    sampled: int,
    shown: Sequence[Mapping[str, Any]] = (),
    doubt: str = "",
) -> tuple[str, ...]:
    """What a reader should know about how the answer was reached, in words."""
    found = [doubt] if doubt else []
    found.append(f"the model was asked about {distinct:,} different rows")
    if request.population.kind == "sample":
        found.append("it is about the people in the table, and says nothing of others")
    if sampled and len(counted.n) > 1:
        found.append(_control(rule, sampled))
    if sampled:
        find = least_draws if rule.fixed else least_sequential_draws
        few = find(rule.delta / (sampled if rule.control == "family" else 1), rule.threshold)
        found.append(f"by draws, nobody can be called fixed before {few:,} of them: that is how many it takes at least")
    if any(not item["every"] for item in shown):
        found.append(
            f"where points are not listed, the nearest with the target are looked for among {FURTHER_DRAWS:,} further "
            "draws for each person, which decide nothing"
        )
    if not doubt and not counted.successes.any() and counted.n.any():
        target = to_text(request.prop.condition)
        what = "no point at all" if counted.exact.all() else "no point that was looked at"
        found.append(f"{what} has {target}: is it spelled as the model gives it?")
    left = int(counted.undecided.sum())
    if left and not doubt:
        found.append(_undecided(counted, rule, left))
    return tuple(found)


def _undecided(counted: Counted, rule: Rule, left: int) -> str:
    unseen = int((counted.undecided & (counted.n == 0)).sum())
    if unseen == left:
        return f"{_people(left)} undecided: nothing was looked at that they can reach"
    why = f"{_people(left)} undecided: their shares are near {rule.threshold:g}, or draws were too few"
    return f"{why}; of {unseen:,} nothing was looked at" if unseen else why


def _people(count: int) -> str:
    return "1 person is" if count == 1 else f"{count:,} people are"


def _control(rule: Rule, sampled: int) -> str:
    if rule.control == "family":
        return (
            f"the probability that any of the {sampled:,} people decided by draws is wrongly called fixed is at most "
            f"{chance(rule.delta)}, and so is that of wrongly calling any responsive (Holm)"
        )
    return (
        f"of the {sampled:,} people decided by draws, the expected share of wrong names among those called fixed is at "
        f"most {chance(rule.delta)}, and so it is among those called responsive (e-BH)"
    )


_AT_ONCE = 10_000
"""People about whom the model is asked together."""
_SHOWN = 8
"""How many of the model's own answers are told."""


def doubt_about(request: Check[Responsiveness], bench: Bench, counted: Counted) -> str:
    """Say why it cannot be told whether the model ever predicts the class that a target names; empty where it can.

    There is doubt where the model does not say its classes, and neither a point that was looked at nor anybody in the
    table has the class: then a claim about it may speak of nothing. Where everybody's prediction is 0 or 1, both are
    classes. A target that names no class, such as ``prediction < own``, cannot be misspelt.
    """
    reached = counted.successes.sum()
    if not counted.n.any() or 0 < reached < counted.n.sum():
        return ""
    named = classes_named(request.prop.condition, "==" if not reached else "!=")
    if not named:
        return ""
    seen = once(request.journal, "classes", lambda: _seen(request, bench, named))
    return "" if seen["known"] else _words(named, seen["predictions"])


def _seen(request: Check[Responsiveness], bench: Bench, named: tuple[Value, ...]) -> Entry:
    """Whether one of some classes is one of the model's, and the predictions that were looked at to find out."""
    if request.required_model.classes:
        return {"known": True, "predictions": []}  # a class that is none of them was refused before
    table, asker, seen = table_of(request), bench.asker(), set[Any]()
    for first in range(0, table.rows, _AT_ONCE):
        some = table.slice(first, first + _AT_ONCE)
        try:
            given = asker(some, False, True).prediction
        except UnreliableModelError:
            raise
        except ModelError:
            continue  # about people whom the property is not about the model need not answer
        seen |= {plain_value(value) for value in (() if given is None else given)}
        if seen & set(named):
            return {"known": True, "predictions": []}
    yes_or_no = bool(seen) and (seen | set(named)) <= {0, 1}
    return {"known": yes_or_no, "predictions": [] if yes_or_no else sorted(seen, key=repr)[:_SHOWN]}


def _words(named: tuple[Value, ...], predictions: list[Value]) -> str:
    hint = nearest(str(named[0]), map(str, predictions))
    gives = ", ".join(map(repr, predictions)) or "nothing"
    return (
        f"no point and nobody as they are is predicted {' or '.join(map(repr, named))}, and the model does not say its "
        f"classes: is it misspelt? These people get {gives}.{hint} If it is right, let the model have `classes_`"
    )
