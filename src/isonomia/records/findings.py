"""What was found, in a few words: how many break the claim, or the interval and what it must be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from isonomia.records.words import interval, number

if TYPE_CHECKING:
    from isonomia.records.verdict import Expression, Verdict

__all__ = ["PRINCIPAL", "RESPONSIVENESS", "SAFETY", "Side", "known", "must_be", "people_in_words", "sides", "telling"]

SAFETY, RESPONSIVENESS, PRINCIPAL = "k-safety", "responsiveness", "principal fairness"
"""How the details of a verdict say which audit they are of; of rates they say nothing."""


@dataclass(frozen=True, slots=True)
class Side:
    """One kind of people in a responsiveness audit.

    Attributes
    ----------
    kind
        How the record counts them: ``responsive``, ``fixed`` or ``undecided``.
    words
        What to call them, given what is claimed.
    answer
        The answer for these people, and so their colour.
    """

    kind: str
    words: str
    answer: str


_OPEN = Side("undecided", "undecided", "undecided")
_AT_LEAST = (Side("responsive", "responsive", "holds"), Side("fixed", "fixed", "violated"), _OPEN)
_AT_MOST = (Side("fixed", "keep it", "holds"), Side("responsive", "break it", "violated"), _OPEN)


def sides(details: Mapping[str, Any]) -> tuple[Side, Side, Side]:
    """The kinds of people of a responsiveness verdict: those of whom the claim is true, is false, is not known.

    Where everybody must reach a share, the responsive keep the claim. Where nobody may, they break it.
    """
    return _AT_MOST if details.get("relation") == "<=" else _AT_LEAST


def known(verdict: Verdict, *, compact: bool = False) -> str:
    """What is known, in a few words on one line; why the check stopped where there is nothing else to say.

    Parameters
    ----------
    verdict
        What was found.
    compact
        Whether a sign has to do where there are words for what a quantity must be.
    """
    match verdict.details.get("audit"):
        case kind if kind == SAFETY and "violations" in verdict.details:
            return _cases(verdict, compact)
        case kind if kind == RESPONSIVENESS and not verdict.expressions and verdict.details["counts"]["people"]:
            return _people(verdict.details)
        case kind if kind == PRINCIPAL and verdict.details.get("subgroups"):
            return _subgroups(verdict, compact)
        case _:
            item = telling(verdict)
            return verdict.stopped if item is None else _compared(item, compact)


def telling(verdict: Verdict) -> Expression | None:
    """The compared quantity that tells most of the answer: one that settles it, where there is one, else the first."""
    if not verdict.expressions:
        return None
    wanted = {"violated": False, "undecided": None, "holds": True}[verdict.answer]
    found = (item for item in verdict.expressions if item.settled is wanted)
    return next(found, verdict.expressions[0])


def must_be(item: Expression) -> str:
    """What is claimed of a quantity: ``must be >= 0.8``, or ``must be 0``."""
    sign = "" if item.relation == "==" else f"{item.relation} "
    return f"must be {sign}{number(item.threshold)}"


def people_in_words(counts: Mapping[str, int], details: Mapping[str, Any]) -> str:
    """How many people there are of each kind: ``of 274 people: 248 responsive, 26 fixed, 0 undecided``."""
    told = ", ".join(f"{counts[side.kind]:,} {side.words}" for side in sides(details))
    return f"of {counts['people']:,} people: {told}"


def _compared(item: Expression, compact: bool) -> str:
    estimate = "" if item.estimate is None else f"{number(item.estimate)} "
    claim = f" {item.relation} {number(item.threshold)}" if compact else f", {must_be(item)}"
    return f"{estimate}in {interval(item)}{claim}"


def _cases(verdict: Verdict, compact: bool) -> str:
    tested, bad = verdict.details["cases"]["tested"], verdict.details["violations"]["cases"]
    corners = verdict.details.get("corners", {"violating": 0})
    if corners["violating"] and not bad and verdict.answer == "violated":
        drawn = f", none of {tested:,} random cases" if tested else ""
        return f"{_broken(corners['violating'], corners['tried'], 'corners')}{drawn}"
    if not tested and verdict.answer == "violated":
        return verdict.stopped  # known counterexamples settled it
    told = _broken(bad, tested, "cases")
    item = telling(verdict)
    if item is None or (item.threshold == 0 and bad):
        return told  # a single one is too many: how often it happens does not matter
    share = _compared(replace(item, estimate=None), compact)
    return told if item.low == item.high else f"{told}; share {share}"


def _broken(bad: int, of: int, what: str) -> str:
    return f"{bad:,} of {of:,} {what} {'breaks' if bad == 1 else 'break'} it"


def _people(details: Mapping[str, Any]) -> str:
    counts = details["counts"]
    bad = next(side.kind for side in sides(details) if side.answer == "violated")
    one, many = ("has no way", "have no way") if _no_way(details) else ("breaks it", "break it")
    told = f"{counts[bad]:,} of {counts['people']:,} {one if counts[bad] == 1 else many}"
    return f"{told}, {counts['undecided']:,} undecided" if counts["undecided"] else told


def _no_way(details: Mapping[str, Any]) -> bool:
    """Whether nothing at all that those can do who break the claim reaches the target."""
    people = details.get("people") or {"answer": (), "share": (), "exact": ()}
    if details.get("relation") == "<=" or not {"answer", "share", "exact"} <= people.keys():
        return False
    fixed = [
        share == 0 and exact
        for answer, share, exact in zip(people["answer"], people["share"], people["exact"], strict=False)
        if answer == "fixed"
    ]
    return bool(fixed) and all(fixed)


def _subgroups(verdict: Verdict, compact: bool) -> str:
    """The interval of the first subgroup that is unequal, and how many are."""
    groups = verdict.details["subgroups"]
    bad = [place for place, item in enumerate(groups) if item["answer"] == "violated"]
    item = telling(verdict)
    if bad and len(verdict.expressions) == sum(len(group["effects"]) for group in groups):
        item = verdict.expressions[sum(len(group["effects"]) for group in groups[: bad[0]])]
    told = [f"{len(bad):,} of {len(groups):,} subgroups unequal"] if bad and len(groups) > 1 else []
    return "; ".join([*told, *([_compared(item, compact)] if item is not None else [])]) or verdict.stopped
