"""What a reader should know: what the answer rests on, how it was reached, and what could never be claimed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isonomia.audits.responsiveness.counting import Counted, Rule
from isonomia.audits.responsiveness.nearest import FURTHER_DRAWS
from isonomia.audits.responsiveness.request import Request
from isonomia.audits.responsiveness.sampling import INTERRUPTED, SPENT, Looked
from isonomia.errors import UsageError
from isonomia.evidence.share_planning import least_draws, least_sequential_draws
from isonomia.spec.responsiveness import Responsiveness
from isonomia.spec.text import to_text

__all__ = ["NOTHING_HAS_IT", "assumptions", "refuse_hopeless", "remarks", "why_stopped"]

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


def why_stopped(request: Request, looked: Looked, answer: bool | None) -> str:
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
    request: Request,
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
            f"{rule.delta:g}, and so is that of wrongly calling any responsive (Holm)"
        )
    return (
        f"of the {sampled:,} people decided by draws, the expected share of wrong names among those called fixed is at "
        f"most {rule.delta:g}, and so it is among those called responsive (e-BH)"
    )
