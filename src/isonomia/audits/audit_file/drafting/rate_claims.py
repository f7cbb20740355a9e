"""Properties about rates and means that make sense for what was seen."""

from __future__ import annotations

from collections.abc import Iterator
from math import floor

from isonomia.audits.audit_file.drafting.groups import LEAST, Attribute, Group
from isonomia.audits.audit_file.drafting.seen import Outcome, Seen
from isonomia.audits.audit_file.drafting.suggestions import Suggestion, formula
from isonomia.spec.lexemes import name_text, number_text, value_text

__all__ = ["fallback", "rate_claims"]

FIFTHS = 0.8
"""The least ratio of rates in a draft."""
APART = 0.1
"""How far mean scores and rates may be apart in a draft."""


def rate_claims(seen: Seen) -> Iterator[Suggestion]:
    """Every property about rates and means, the simplest first."""
    for attribute in seen.attributes:
        yield from _four_fifths(seen, attribute)
    if seen.outcome is not None and seen.outcome.positive is not None:
        for attribute in seen.attributes:
            yield from _equal_opportunity(seen, seen.outcome, attribute)
        yield from _accuracy(seen, seen.outcome)
    if seen.decision.score:
        for attribute in seen.attributes:
            yield from _scores(seen, attribute)
    if not seen.decision.values:
        for attribute in seen.attributes[:1]:
            yield from _means(seen, attribute)


def fallback(seen: Seen) -> Suggestion:
    """What can be asked of any model: an audit file has at least one property."""
    return formula(
        "somebody gets the favourable answer",
        f"P[{seen.decision.event}] >= 0.01",
        "No protected attribute was recognised: name the columns with --protected, or write formulas of your own.",
    )


def _against(attribute: Attribute, group: Group) -> str:
    return f"{attribute.column}: {group.label} against {attribute.reference.label}"


def _at_least(seen: Seen, group: str, reference: str) -> str:
    """Four fifths of the reference's rate; as a ratio only where somebody was seen who makes it different from zero."""
    event = seen.decision.event
    if seen.favoured(reference):
        return f"P[{event} | {group}] / P[{event} | {reference}] >= {FIFTHS}"
    return f"P[{event} | {group}] >= {FIFTHS} * P[{event} | {reference}]"


def _four_fifths(seen: Seen, attribute: Attribute) -> Iterator[Suggestion]:
    reference = attribute.reference

    def claim(group: Group, note: str, doubt: str = "") -> Suggestion:
        text = _at_least(seen, group.condition, reference.condition)
        return formula(f"four fifths, {_against(attribute, group)}", text, note, doubt, "29 CFR 1607.4 D")

    first = (
        f"{attribute.column}: {attribute.why}. Others are compared with the largest group, {reference.label} "
        f"({reference.people:,} people)."
    )
    for number, group in enumerate(attribute.groups):
        yield claim(group, f"{first if not number else ''} {group.label}: {group.people:,} people.".strip())
    for group, reason in attribute.rare[:20]:
        yield claim(group, "", f"{group.label} is set aside: {reason}")


def _equal_opportunity(seen: Seen, outcome: Outcome, attribute: Attribute) -> Iterator[Suggestion]:
    reference = attribute.reference
    deserving = {group: f"{group.condition} and {outcome.event}" for group in (reference, *attribute.groups)}
    people = {group: seen.people(condition) for group, condition in deserving.items()}
    enough = [group for group in attribute.groups if people[group] >= LEAST] or list(attribute.groups[:1])
    parts = [_at_least(seen, deserving[group], deserving[reference]) for group in enough]
    told = ", ".join(f"{group.label} ({people[group]:,})" for group in (reference, *enough))
    note = f"Among those with {outcome.event}: {told}."
    nobody = not all(people[group] for group in (reference, *enough))
    doubt = "nobody in one of the groups has this outcome" if nobody else ""
    yield formula(f"equal opportunity by {attribute.column}", " and ".join(parts), note, doubt)


def _accuracy(seen: Seen, outcome: Outcome) -> Iterator[Suggestion]:
    counts = outcome.column.counts
    if not set(counts) <= set(seen.decision.values):
        return
    share = floor(100 * max(counts.values()) / sum(counts.values())) / 100
    text = f"P[{seen.decision.spelled} == {name_text(outcome.column.name)}] >= {number_text(share)}"
    note = f"Giving everybody the commonest outcome is right for {share:.0%}."
    if share > 0.0:
        yield formula("better than always the same answer", text, note)


def _scores(seen: Seen, attribute: Attribute) -> Iterator[Suggestion]:
    score, reference = seen.decision.score, attribute.reference
    parts = [f"abs(E[{score} | {who.condition}] - E[{score} | {reference.condition}])" for who in attribute.groups]
    text = " and ".join(f"{part} <= {APART}" for part in parts)
    yield formula(f"mean score by {attribute.column}", text, f"How far apart may they be? {APART} is made up.")
    outcome, values = seen.outcome, seen.decision.values
    scored = values[1] if len(values) == 2 else None  # a score is that of the second of two classes
    if outcome is None or scored is None or scored not in outcome.column.counts:
        return
    happened = f"{name_text(outcome.column.name)} == {value_text(scored)}"
    parts = [
        f"E[{score} | {who.condition}] - P[{happened} | {who.condition}]" for who in (reference, *attribute.groups)
    ]
    text = " and ".join(f"abs({part}) <= {APART}" for part in parts)
    note = f"On average, the score of each group should be its share of {happened}: calibration in the large."
    yield formula(f"calibration by {attribute.column}", text, note)


def _means(seen: Seen, attribute: Attribute) -> Iterator[Suggestion]:
    if seen.asked is None or seen.asked.predictions is None:
        return
    numbers = seen.asked.predictions.astype(float)
    low, high = float(f"{numbers.min():.2g}"), float(f"{numbers.max():.2g}")
    if not low < high:
        return
    mean = f"E[prediction from {number_text(low)} to {number_text(high)} | %s]"
    apart = number_text(float(f"{(high - low) / 10:.2g}"))
    for group in attribute.groups[:1]:
        text = f"abs({mean % group.condition} - {mean % attribute.reference.condition}) <= {apart}"
        doubt = "write the range that answers can have, and a difference that matters: both are made up here"
        yield formula(f"mean answer, {_against(attribute, group)}", text, "", doubt)
