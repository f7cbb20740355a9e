"""What was seen, and the properties it suggests.

Everything that a draft rests on: the table, the model's answers, and what was guessed from them.

A property that a draft suggests: how it is written, why, and what speaks against having it active.

Properties about rates and means that make sense for what was seen.

Properties about single people that make sense for what was seen: k-safety, responsiveness, principal fairness.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import floor
from typing import Any

import numpy as np

from isonomia.audits.audit_file.drafting.attributes import LEAST, Attribute, Group
from isonomia.audits.audit_file.drafting.columns import Column, has_word, vocabulary
from isonomia.audits.audit_file.drafting.model_answers import Asked
from isonomia.audits.audit_file.drafting.outcomes import Decision
from isonomia.models.protocol import Answer
from isonomia.populations.table import Table
from isonomia.spec.evaluate import Batch, truth
from isonomia.spec.parser import parse_condition
from isonomia.spec.text import name_text, number_text, value_text
from isonomia.spec.walk import columns_of
from isonomia.toml import toml_value

__all__ = [
    "CHANGES",
    "Outcome",
    "Seen",
    "Suggestion",
    "fallback",
    "formula",
    "named",
    "numbered",
    "person_claims",
    "preclusion_claim",
    "rate_claims",
]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The column with what turned out.

    Attributes
    ----------
    column
        The column.
    positive
        Its value for those who deserve the favourable answer; ``None`` where it holds numbers.
    sure
        Whether the user named it, or its name says outright what it is.
    why
        What speaks for it.
    """

    column: Column
    positive: Any
    sure: bool
    why: str

    @property
    def event(self) -> str:
        """The condition that a person deserves it."""
        return f"{name_text(self.column.name)} == {value_text(self.positive)}"


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """What was seen and guessed.

    Attributes
    ----------
    table, columns
        The people, or as many as were looked at.
    asked
        What the model answered; ``None`` where the table holds the answers.
    decision
        The favourable answer.
    decided
        The column that holds the answers, where there is no model.
    outcome
        What turned out; ``None`` where no column looks like it.
    attributes
        Protected attributes.
    long
        Whether the table is too long to be held.
    """

    table: Table
    columns: Mapping[str, Column]
    asked: Asked | None
    decision: Decision
    decided: str | None
    outcome: Outcome | None
    attributes: tuple[Attribute, ...]
    long: bool

    def reads(self, name: str) -> bool:
        """Whether the model reads a column, as far as it says so."""
        return self.asked is not None and (self.asked.reads is None or name in self.asked.reads)

    def people(self, condition: str) -> int:
        """How many of the people meet a condition."""
        return _meeting(condition, self.table, Answer())

    def favoured(self, condition: str) -> int:
        """How many people with the favourable answer were seen among those who meet a condition."""
        both = f"{self.decision.event} and {condition}"
        if self.asked is not None:
            return _meeting(both, self.asked.rows, self.asked.answer)
        stored = self.table.column(self.decided) if self.decided is not None else None
        return _meeting(both, self.table, Answer(stored))


def _meeting(condition: str, table: Table, answer: Answer) -> int:
    row = parse_condition(condition)
    columns = {name: table.column(name) for name in columns_of(row)}
    batch = Batch(table.rows, columns, answer.prediction, answer.score, answer.classes)
    return int(np.broadcast_to(truth(row, batch), (table.rows,)).sum())


_LONGEST = 70


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One property of a draft.

    Attributes
    ----------
    name
        What it is called.
    why
        Why somebody would ask for it, for the report; empty for nothing.
    note
        A comment above it.
    ask
        The key that says what kind it is, with its value: ``("check", "P[...] >= 0.8")``.
    options
        What it takes.
    doubt
        Why it is commented out; empty where it is active.
    """

    name: str
    note: str
    ask: tuple[str, Any]
    options: Mapping[str, Any]
    doubt: str = ""
    why: str = ""

    @property
    def active(self) -> bool:
        """Whether it is asked for as the file stands."""
        return not self.doubt

    def doubted(self, reason: str) -> Suggestion:
        """The same, commented out."""
        return replace(self, doubt=reason)

    def lines(self) -> list[str]:
        """The table of the file, without comments."""
        key, value = self.ask
        found = ["[[property]]", f"name = {toml_value(self.name)}"]
        if self.why:
            found.append(f"why = {toml_value(self.why)}")
        found.append(f"{key} = {toml_value(value)}")
        if self.options:
            found.append(f"with = {toml_value(dict(self.options))}")
        return "\n".join(found).split("\n")


def formula(name: str, text: str, note: str = "", doubt: str = "", why: str = "") -> Suggestion:
    """A property about rates and means."""
    return Suggestion(name, note, ("check", text), {}, doubt, why)


def named(name: str, kind: str, value: Any, note: str = "", doubt: str = "", **options: Any) -> Suggestion:
    """A property by its name."""
    return Suggestion(name, note, (kind, value), options, doubt)


def numbered(found: Iterable[Suggestion]) -> list[Suggestion]:
    """Names that are short, printable and different from each other, as a file needs them."""
    taken: set[str] = set()
    made = []
    for item in found:
        name = _short(item.name)
        base, number = name, 2
        while name in taken:
            name, number = f"{base} ({number})", number + 1
        taken.add(name)
        made.append(replace(item, name=name))
    return made


def _short(name: str) -> str:
    plain = " ".join("".join(sign if sign.isprintable() else " " for sign in name).split())
    return plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 3]}..."


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


CHANGES = "changes"
"""What a draft calls the interventions that it comes with."""
_HELPS = vocabulary(
    "experience education educational schooling degree qualification qualifications skill skills grade grades gpa "
    "income salary wage savings saving assets tenure employment erfahrung einkommen gehalt experiencia ingresos "
    "revenu salaire esperienza reddito"
)
_HURTS = vocabulary(
    "debt debts priors prior convictions arrests delinquencies delinquency late defaults overdue absences failures "
    "bankruptcies charges felonies misdemeanors schulden deudas dettes"
)
_SUGGESTED = 6


def person_claims(seen: Seen) -> Iterator[Suggestion]:
    """Every property about single people that needs no interventions."""
    if seen.asked is not None:
        for attribute in seen.attributes:
            yield from _invariant(seen, attribute)
        suggested = [claim for column in seen.columns.values() for claim in _monotone(seen, column)]
        yield from suggested[:_SUGGESTED]
    yield from _principal(seen)


def _invariant(seen: Seen, attribute: Attribute) -> Iterator[Suggestion]:
    if not seen.reads(attribute.column):
        return
    ask: dict[str, Any] = {} if seen.asked is not None and seen.asked.predictions is not None else {"ask": "score"}
    doubt = ""
    if not attribute.values:
        doubt = f"{attribute.kind} may be a legitimate reason; make it active where it must not be"
    if seen.table.rows < LEAST:
        doubt = f"there are only {seen.table.rows:,} rows"
    named_by_itself = seen.asked is not None and seen.asked.reads is not None
    note = "The model reads it." if named_by_itself else "The model is given it, and may read it."
    yield named(
        f"{attribute.column} changes nothing",
        "safety",
        "invariant_to",
        f"{note} Everybody is asked about again with another {attribute.column}, and nothing else changed.",
        doubt,
        feature=attribute.column,
        **ask,
    )


def _monotone(seen: Seen, column: Column) -> Iterator[Suggestion]:
    """Whether more of something helps is for a person to say; the draft only writes it down."""
    helps, hurts = has_word(column.name, _HELPS), has_word(column.name, _HURTS)
    ordered = _ordered(seen)
    if not column.numeric or helps == hurts or not seen.reads(column.name) or not ordered or column.low == column.high:
        return
    width = column.high - column.low
    up: Any = [1, max(1, min(5, int(width / 4)))] if column.kind == "whole" else float(f"{width / 10:.2g}")
    better = "not lower" if helps == (ordered["better"] > 0) else "not higher"
    told = "never hurts" if helps else "never helps"
    yield named(
        f"more {column.name} {told}",
        "safety",
        "monotone",
        "",
        "whether more of it should help is yours to say; its name suggests it",
        feature=column.name,
        up=up,
        at_most=column.high,
        output=better,
        **ordered["ask"],
    )


def _ordered(seen: Seen) -> dict[str, Any]:
    """How answers can be compared: by a score, or by predictions that are numbers; empty where they cannot be."""
    decision = seen.decision
    if decision.score and decision.rising:
        return {"better": decision.rising, "ask": {"ask": "score"}}
    if seen.asked is None or seen.asked.predictions is None:
        return {"better": 1, "ask": {"ask": "score"}} if seen.asked is not None else {}
    if not decision.values:
        return {"better": 1, "ask": {}}
    if len(decision.values) == 2 and not isinstance(decision.value, str):
        return {"better": 1 if decision.value == max(decision.values) else -1, "ask": {}}
    return {}


def preclusion_claim(seen: Seen, free: int) -> Suggestion:
    """That nobody who is refused is without a way to the favourable answer.

    Parameters
    ----------
    seen
        What was seen.
    free
        How many features people can change, by the draft.
    """
    value = seen.decision.value
    target = seen.decision.event if value is None else [value] if isinstance(value, str) else value
    note = (
        f"Everybody who does not get the favourable answer should have a way to it: {CHANGES}.toml says what people "
        f"can change, {free} features by the draft. Read it before you believe a verdict."
    )
    doubt = "" if free else f"by {CHANGES}.toml there is nothing that people can change"
    return named(
        "a way to the favourable answer",
        "responsiveness",
        "preclusion",
        note,
        doubt,
        interventions=CHANGES,
        target=target,
        who=seen.decision.opposite,
    )


def _principal(seen: Seen) -> Iterator[Suggestion]:
    outcome, decision = seen.outcome, seen.decision
    binary = [attribute for attribute in seen.attributes if attribute.values == 2]
    if outcome is None or not binary or outcome.column.varieties != 2 or len(decision.values) != 2:
        return
    attribute = binary[0]
    column: dict[str, Any] = {} if seen.decided in (None, "prediction") else {"prediction": seen.decided}
    evident = outcome.sure and attribute.kind == "sex"
    yield named(
        f"principal fairness by {attribute.column}",
        "principal",
        True,
        f"People whose {outcome.column.name} does not depend on {attribute.column} are not answered differently "
        f"because of it. It takes {attribute.column} to be as good as random: add given = [...], the columns that hold "
        "what makes it otherwise.",
        ""
        if evident
        else f"{attribute.column} is hardly as good as random, or {outcome.column.name} hardly the outcome",
        attribute=attribute.column,
        outcome=outcome.column.name,
        within=0.1,
        **column,
    )
