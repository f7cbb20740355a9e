"""The properties that a draft suggests, from what the table and the model's answers look like.

Properties about rates and means come first, then those about single people: k-safety, responsiveness, principal
fairness. A guess that could mislead is suggested with a doubt, which comments it out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import floor
from typing import Any

import numpy as np

from isonomia.audits.audit_file.drafting.answers import Decision, ModelAnswers
from isonomia.audits.audit_file.drafting.roles import MIN_PEOPLE, MIN_SHARE, Attribute, DraftGroup
from isonomia.models.protocol import Answer
from isonomia.populations.profile import ColumnProfile
from isonomia.populations.table import Table
from isonomia.populations.vocabulary import HELPS, HURTS, LEARNING, PURPOSES, has_word, likely_use
from isonomia.spec.evaluate import Batch, truth
from isonomia.spec.parser import parse_condition
from isonomia.spec.text import name_text, number_text, value_text
from isonomia.spec.walk import columns_of
from isonomia.toml import toml_value
from isonomia.wording import first_few, printable, shortened

__all__ = ["CHANGES", "Basis", "OutcomeColumn", "Suggestion", "fallback", "numbered", "preclusion", "suggestions"]

CHANGES = "changes"
"""The name of a draft's interventions."""
_MAX_NAME = 70
_MIN_RATIO = 0.8
"""The least ratio of rates in a draft: the four fifths of 29 CFR 1607.4 D, which is about employment only."""
_MAX_GAP = 0.1
"""How far apart mean scores and rates may be in a draft."""
_MAX_FLIPS = 0.05
"""How much more often answers of a random model may change than when it is asked again, in a draft."""
_MAX_MONOTONE = 6


@dataclass(frozen=True, slots=True)
class OutcomeColumn:
    """The column with the outcomes.

    Attributes
    ----------
    column, why
        The column, and the reason for the guess.
    positive
        Its value for those who deserve the favourable answer; ``None`` where it holds numbers.
    sure
        Whether the user named it, or its name says outright what it is.
    """

    column: ColumnProfile
    positive: Any
    sure: bool
    why: str

    @property
    def event(self) -> str:
        """The condition that a person deserves it."""
        return f"{name_text(self.column.name)} == {value_text(self.positive)}"


@dataclass(frozen=True, slots=True, eq=False)
class Basis:
    """Everything that a draft rests on: the table, the model's answers, and what was guessed from them.

    Attributes
    ----------
    table, columns
        The people, or as many as were looked at.
    answers
        What the model answered; ``None`` where the table holds the answers.
    decision
        The favourable answer.
    decided
        The column that holds the answers, where there is no model.
    outcome
        The outcome; ``None`` where no column looks like it.
    attributes
        Protected attributes.
    long
        Whether the table is too long for memory.
    """

    table: Table
    columns: Mapping[str, ColumnProfile]
    answers: ModelAnswers | None
    decision: Decision
    decided: str | None
    outcome: OutcomeColumn | None
    attributes: tuple[Attribute, ...]
    long: bool

    @property
    def random(self) -> bool:
        """Whether the model answered the same rows differently."""
        return self.answers is not None and self.answers.random

    def reads(self, name: str) -> bool:
        """Whether the model reads a column; a model that does not state its columns may read any."""
        return self.answers is not None and (self.answers.reads is None or name in self.answers.reads)

    def people(self, condition: str) -> int:
        """How many of the people meet a condition."""
        return _meeting(condition, self.table, Answer())

    def favoured(self, condition: str) -> int:
        """How many people with the favourable answer were seen among those who meet a condition."""
        both = f"{self.decision.event} and {condition}"
        if self.answers is not None:
            return _meeting(both, self.answers.rows, self.answers.answer)
        stored = self.table.column(self.decided) if self.decided is not None else None
        return _meeting(both, self.table, Answer(stored))


def _meeting(condition: str, table: Table, answer: Answer) -> int:
    row = parse_condition(condition)
    columns = {name: table.column(name) for name in columns_of(row)}
    batch = Batch(table.rows, columns, answer.prediction, answer.score, answer.classes)
    return int(np.broadcast_to(truth(row, batch), (table.rows,)).sum())


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One property of a draft.

    Attributes
    ----------
    name, note
        What it is called, and a comment above it.
    ask, options
        The key that says what kind it is, with its value, ``("check", "P[...] >= 0.8")``; and its options.
    doubt
        Why it is commented out; empty where it is active.
    why
        Why it matters, for the report; may be empty.
    """

    name: str
    note: str
    ask: tuple[str, Any]
    options: Mapping[str, Any]
    doubt: str = ""
    why: str = ""

    @property
    def active(self) -> bool:
        """Whether the file checks it, rather than having it commented out."""
        return not self.doubt

    def doubted(self, reason: str) -> Suggestion:
        """The same, commented out."""
        return replace(self, doubt=reason)

    def lines(self) -> list[str]:
        """The table of the file, without comments."""
        key, value = self.ask
        lines = ["[[property]]", f"name = {toml_value(self.name)}"]
        if self.why:
            lines.append(f"why = {toml_value(self.why)}")
        lines.append(f"{key} = {toml_value(value)}")
        if self.options:
            lines.append(f"with = {toml_value(self.options)}")
        return "\n".join(lines).split("\n")


def suggestions(basis: Basis) -> Iterator[Suggestion]:
    """Every property that makes sense without interventions, the simplest first."""
    for attribute in basis.attributes:
        yield from _four_fifths(basis, attribute)
    yield from _intersection(basis)
    if basis.outcome is not None and basis.outcome.positive is not None:
        for attribute in basis.attributes:
            yield _equal_opportunity(basis, basis.outcome, attribute)
        yield from _accuracy(basis, basis.outcome)
    if basis.decision.score:
        for attribute in basis.attributes:
            yield from _scores(basis, attribute)
    if not basis.decision.values:
        for attribute in basis.attributes[:1]:
            yield from _means(basis, attribute)
        for attribute in basis.attributes:
            yield from _errors(basis, attribute)
    if basis.answers is not None:
        for attribute in basis.attributes:
            yield from _invariant(basis, attribute)
        monotone = [claim for column in basis.columns.values() for claim in _monotone(basis, column)]
        yield from monotone[:_MAX_MONOTONE]
    yield from _principal(basis)


def preclusion(basis: Basis, free: int) -> Suggestion:
    """The claim that everybody who is refused has a way to the favourable answer; ``free`` features can change."""
    value = basis.decision.value
    target = basis.decision.event if value is None else [value] if isinstance(value, str) else value
    note = (
        f"Everybody who does not get the favourable answer should have a way to it: {CHANGES}.toml says what people "
        f"can change, {free} features by the draft. Read it before you believe a verdict."
    )
    doubt = "" if free else f"by {CHANGES}.toml there is nothing that people can change"
    return _named(
        "a way to the favourable answer",
        "responsiveness",
        "preclusion",
        note,
        doubt,
        interventions=CHANGES,
        target=target,
        who=basis.decision.opposite,
        **({"below": _MAX_FLIPS} if basis.random else {}),
    )


def fallback(basis: Basis) -> Suggestion:
    """A property that any model can be checked for: an audit file has at least one."""
    return _formula(
        "somebody gets the favourable answer",
        f"P[{basis.decision.event}] >= 0.01",
        "No protected attribute was recognised: name the columns with --protected, or write formulas of your own.",
    )


def numbered(claims: Iterable[Suggestion]) -> list[Suggestion]:
    """The suggestions with short, printable and distinct names, as a file needs them."""
    by_name: dict[str, Suggestion] = {}
    for claim in claims:
        name = base = shortened(" ".join(printable(claim.name).split()), _MAX_NAME)
        number = 2
        while name in by_name:
            name, number = f"{base} ({number})", number + 1
        by_name[name] = replace(claim, name=name)
    return list(by_name.values())


def _against(attribute: Attribute, group: DraftGroup) -> str:
    return f"{attribute.column}: {group.label} against {attribute.reference.label}"


def _at_least(basis: Basis, group: str, reference: str) -> str:
    """Four fifths of the reference's rate; as a ratio only where that rate was seen to be positive."""
    event = basis.decision.event
    if basis.favoured(reference):
        return f"P[{event} | {group}] / P[{event} | {reference}] >= {_MIN_RATIO}"
    return f"P[{event} | {group}] >= {_MIN_RATIO} * P[{event} | {reference}]"


_LAWS: Mapping[tuple[str, str], str] = {
    ("employment", "sex"): "29 CFR 1607.4 D",
    ("employment", "race"): "29 CFR 1607.4 D",
    ("employment", "religion"): "42 USC 2000e-2, which names no ratio",
    ("employment", "nationality"): "42 USC 2000e-2, on national origin, which names no ratio",
    ("employment", "pregnancy"): "42 USC 2000e (k), which names no ratio",
    ("employment", "disability"): "42 USC 12112, which names no ratio",
    ("employment", "age"): "29 USC 623, from 40 on, which names no ratio",
    **{
        ("credit", kind): "15 USC 1691, which names no ratio"
        for kind in ("sex", "race", "religion", "marital status", "age")
    },
    ("credit", "nationality"): "15 USC 1691, on national origin, which names no ratio",
    **{
        ("housing", kind): "42 USC 3604 and 3605, which name no ratio"
        for kind in ("sex", "race", "religion", "disability")
    },
    ("housing", "nationality"): "42 USC 3604 and 3605, on national origin, which name no ratio",
}
"""The United States law on an attribute, for each subject of decisions; elsewhere none is cited."""


def _law(basis: Basis, attribute: Attribute) -> str:
    telling = [basis.decided, None if basis.outcome is None else basis.outcome.column.name]
    use = likely_use([name for name in telling if name is not None], list(basis.columns))
    return "" if use is None else _LAWS.get((use, attribute.kind), "")


FOUR_FIFTHS, RATIO = "four fifths", "impact ratio"
"""Names of a ratio of rates: the first only where the rule of thumb of that name applies."""


def _four_fifths(basis: Basis, attribute: Attribute) -> Iterator[Suggestion]:
    reference, law = attribute.reference, _law(basis, attribute)
    name = FOUR_FIFTHS if law.startswith("29 CFR 1607") else RATIO
    sizes = " ".join(f"{group.label}: {group.people:,} people." for group in attribute.groups)
    first = "Others are" if len(attribute.groups) > 1 else "The other is"
    note = (
        f"{attribute.column}: {attribute.why}. {first} compared with the largest group, {reference.label} "
        f"({reference.people:,} people). {sizes} {_set_aside(attribute)}"
    )
    if name == RATIO:
        note += f" {_MIN_RATIO} is a first guess: no rule that is known here names it."
    title = f"{name} by {attribute.column}"
    if len(attribute.groups) == 1:
        title = f"{name}, {_against(attribute, attribute.groups[0])}"
    text = _for_each(basis, attribute, attribute.groups, lambda who: _at_least(basis, who, reference.condition))
    yield _formula(title, text, " ".join(note.split()), "", law)


def _for_each(
    basis: Basis, attribute: Attribute, groups: Sequence[DraftGroup], claim: Callable[[str], str], beside: str = ""
) -> str:
    """A claim about each of some groups: one ``for`` over their values; for ranges, a conjunction.

    ``beside`` is a further condition that all of them meet.
    """
    more = f" and {beside}" if beside else ""
    if len(groups) < 2 or not all(group.value for group in groups):
        return " and ".join(claim(f"{group.condition}{more}") for group in groups)
    letter = next(name for name in "ghkpqruvwxyz" if name not in basis.columns)
    values = ", ".join(group.value for group in groups)
    return f"for {letter} in {{{values}}}: {claim(f'{name_text(attribute.column)} == {letter}{more}')}"


def _set_aside(attribute: Attribute) -> str:
    """Which groups are not compared, and why, in one sentence."""
    if not attribute.rare:
        return ""
    (group, reason), *others = attribute.rare
    told = f"Set aside: {group.label}, {reason}"
    if others:
        told += f"; and likewise {first_few([group.label for group, _ in others], 5)}"
    return f"{told}."


def _intersection(basis: Basis) -> Iterator[Suggestion]:
    """Two attributes at once: a group that is treated well in each may be treated badly where they meet."""
    able = [attribute for attribute in basis.attributes if attribute.values]
    pair = sorted(able, key=lambda attribute: attribute.kind not in {"sex", "race"})[:2]
    if len(pair) < 2:
        return
    sides = [(attribute.reference, *attribute.groups) for attribute in pair]
    crossed = [
        DraftGroup(f"{first.label}, {second.label}", condition, basis.people(condition))
        for first in sides[0]
        for second in sides[1]
        if (condition := f"{first.condition} and {second.condition}")
    ]
    least = max(MIN_PEOPLE, MIN_SHARE * basis.table.rows)
    large = sorted((group for group in crossed if group.people >= least), key=lambda group: -group.people)
    if len(large) < 3:
        return
    text = " and ".join(_at_least(basis, group.condition, large[0].condition) for group in large[1:])
    sizes = ", ".join(f"{group.label} ({group.people:,})" for group in large)
    names = " and ".join(attribute.column for attribute in pair)
    note = f"Groups where {names} meet, compared with the largest: {sizes}."
    laws = {_law(basis, attribute) for attribute in pair}
    rule = FOUR_FIFTHS if all(law.startswith("29 CFR 1607") for law in laws) else RATIO
    yield _formula(f"{rule} by {names}", text, note)


def _errors(basis: Basis, attribute: Attribute) -> Iterator[Suggestion]:
    """Answers that are numbers should be as far off in one group as in another."""
    outcome = basis.outcome
    if basis.answers is None or basis.answers.predictions is None or outcome is None or not outcome.column.numeric:
        return
    values = np.concatenate([basis.answers.predictions.astype(float), outcome.column.numbers])
    width = float(f"{values.max() - values.min():.2g}")
    if not width > 0:
        return
    name = name_text(outcome.column.name)
    error = f"E[abs(prediction - {name}) from 0 to {number_text(width)} | %s]"
    apart = number_text(float(f"{width / 20:.2g}"))
    reference = error % attribute.reference.condition
    text = _for_each(basis, attribute, attribute.groups, lambda who: f"abs({error % who} - {reference}) <= {apart}")
    note = (
        f"How far answers are off {outcome.column.name}, on average. How far apart may groups be? {apart} is made up."
    )
    yield _formula(f"equal errors by {attribute.column}", text, note)


def _equal_opportunity(basis: Basis, outcome: OutcomeColumn, attribute: Attribute) -> Suggestion:
    reference = attribute.reference
    deserving = {group: f"{group.condition} and {outcome.event}" for group in (reference, *attribute.groups)}
    people = {group: basis.people(condition) for group, condition in deserving.items()}
    enough = [group for group in attribute.groups if people[group] >= MIN_PEOPLE] or list(attribute.groups[:1])
    text = _for_each(basis, attribute, enough, lambda who: _at_least(basis, who, deserving[reference]), outcome.event)
    sizes = ", ".join(f"{group.label} ({people[group]:,})" for group in (reference, *enough))
    note = f"Among those with {outcome.event}: {sizes}."
    nobody = not all(people[group] for group in (reference, *enough))
    doubt = "nobody in one of the groups has this outcome" if nobody else ""
    return _formula(f"equal opportunity by {attribute.column}", text, note, doubt)


def _accuracy(basis: Basis, outcome: OutcomeColumn) -> Iterator[Suggestion]:
    counts = outcome.column.counts
    if not set(counts) <= set(basis.decision.values):
        return
    share = floor(100 * max(counts.values()) / sum(counts.values())) / 100
    text = f"P[{basis.decision.spelled} == {name_text(outcome.column.name)}] >= {number_text(share)}"
    note = f"Giving everybody the commonest outcome is right for {share:.0%}."
    if share > 0.0:
        yield _formula("better than always the same answer", text, note)


def _scores(basis: Basis, attribute: Attribute) -> Iterator[Suggestion]:
    score, reference = basis.decision.score, attribute.reference
    text = _for_each(
        basis,
        attribute,
        attribute.groups,
        lambda who: f"abs(E[{score} | {who}] - E[{score} | {reference.condition}]) <= {_MAX_GAP}",
    )
    doubt = f"rates are compared above; write how far apart mean scores may be: {_MAX_GAP} is made up"
    yield _formula(f"mean score by {attribute.column}", text, "", doubt if basis.decision.values else "")
    outcome, values = basis.outcome, basis.decision.values
    scored = values[1] if len(values) == 2 else None  # the score is that of the second of two classes
    if outcome is None or scored is None or scored not in outcome.column.counts:
        return
    happened = f"{name_text(outcome.column.name)} == {value_text(scored)}"
    text = _for_each(
        basis,
        attribute,
        (reference, *attribute.groups),
        lambda who: f"abs(E[{score} | {who}] - P[{happened} | {who}]) <= {_MAX_GAP}",
    )
    note = f"On average, the score of each group should be its share of {happened}: calibration in the large."
    yield _formula(f"calibration by {attribute.column}", text, note)


def _means(basis: Basis, attribute: Attribute) -> Iterator[Suggestion]:
    if basis.answers is None or basis.answers.predictions is None:
        return
    numbers = basis.answers.predictions.astype(float)
    low, high = float(f"{numbers.min():.2g}"), float(f"{numbers.max():.2g}")
    if not low < high:
        return
    mean = f"E[prediction from {number_text(low)} to {number_text(high)} | %s]"
    apart = number_text(float(f"{(high - low) / 10:.2g}"))
    for group in attribute.groups[:1]:
        text = f"abs({mean % group.condition} - {mean % attribute.reference.condition}) <= {apart}"
        doubt = "write the range that answers can have, and a difference that matters: both are made up here"
        yield _formula(f"mean answer, {_against(attribute, group)}", text, "", doubt)


def _invariant(basis: Basis, attribute: Attribute) -> Iterator[Suggestion]:
    if not basis.reads(attribute.column):
        return
    ask = {} if basis.answers is not None and basis.answers.predictions is not None else {"ask": "score"}
    doubt = ""
    if not attribute.values:
        doubt = f"{attribute.kind} may be a legitimate reason; make it active where it must not be"
    if basis.table.rows < MIN_PEOPLE:
        doubt = f"there are only {basis.table.rows:,} rows"
    named_by_itself = basis.answers is not None and basis.answers.reads is not None
    note = "The model reads it." if named_by_itself else "The model is given it, and may read it."
    if basis.random:
        tolerance = {} if not ask and basis.decision.values else {"tolerance": _MAX_GAP}
        yield _named(
            f"flips by {attribute.column}",
            "safety",
            "flips",
            f"{note} It answers at random, so it is asked twice about each row and twice with another "
            f"{attribute.column}. How much more often may answers change? {_MAX_FLIPS} is a placeholder.",
            doubt,
            feature=attribute.column,
            eps=_MAX_FLIPS,
            **tolerance,
            **ask,
        )
        return
    yield _named(
        f"{attribute.column} changes nothing",
        "safety",
        "invariant_to",
        f"{note} Everybody is checked again with another {attribute.column}, and nothing else changed.",
        doubt,
        feature=attribute.column,
        **ask,
    )


def _monotone(basis: Basis, column: ColumnProfile) -> Iterator[Suggestion]:
    """A claim that more of something helps, or hurts: people must decide that; the draft only writes it down."""
    helps, hurts = has_word(column.name, HELPS), has_word(column.name, HURTS)
    if has_word(column.name, LEARNING) and has_word(column.name, PURPOSES):
        return  # the purpose of a loan, not education
    better, ask = _comparison(basis)
    if not column.numeric or helps == hurts or not basis.reads(column.name) or not better or column.low == column.high:
        return
    width = column.high - column.low
    up: Any = [1, max(1, min(5, int(width / 4)))] if column.kind == "whole" else float(f"{width / 10:.2g}")
    output = "not lower" if helps == (better > 0) else "not higher"
    claim = "never hurts" if helps else "never helps"
    yield _named(
        f"more {column.name} {claim}",
        "safety",
        "monotone",
        "",
        "you decide whether more of it should help; its name suggests it",
        feature=column.name,
        up=up,
        at_most=column.high,
        output=output,
        **({"noise": _MAX_FLIPS} if basis.random else {}),
        **ask,
    )


def _comparison(basis: Basis) -> tuple[int, dict[str, str]]:
    """How answers compare: 1 where greater is better, -1 where smaller is, 0 where neither; and which output to use."""
    decision, by_score = basis.decision, {"ask": "score"}
    if basis.answers is None or (decision.score and decision.rising):
        return decision.rising, by_score
    if basis.answers.predictions is None:
        return 1, by_score
    if not decision.values:
        return 1, {}
    if len(decision.values) == 2 and not isinstance(decision.value, str):
        return 1 if decision.value == max(decision.values) else -1, {}
    return 0, {}


def _principal(basis: Basis) -> Iterator[Suggestion]:
    outcome, decision = basis.outcome, basis.decision
    binary = [attribute for attribute in basis.attributes if attribute.values == 2]
    if outcome is None or not binary or outcome.column.varieties != 2 or len(decision.values) != 2:
        return
    attribute = binary[0]
    column = {} if basis.decided in (None, "prediction") else {"prediction": basis.decided}
    doubt = f"{attribute.column} is hardly as good as random, or {outcome.column.name} hardly the outcome"
    yield _named(
        f"principal fairness by {attribute.column}",
        "principal",
        True,
        f"People whose {outcome.column.name} does not depend on {attribute.column} are not answered differently "
        f"because of it. It takes {attribute.column} to be as good as random: add given = [...], the columns that hold "
        "what makes it otherwise.",
        "" if outcome.sure and attribute.kind == "sex" else doubt,
        attribute=attribute.column,
        outcome=outcome.column.name,
        within=0.1,
        **column,
    )


def _formula(name: str, text: str, note: str = "", doubt: str = "", why: str = "") -> Suggestion:
    """A property about rates and means."""
    return Suggestion(name, note, ("check", text), {}, doubt, why)


def _named(name: str, kind: str, value: Any, note: str = "", doubt: str = "", **options: Any) -> Suggestion:
    """A property by its name."""
    return Suggestion(name, note, (kind, value), options, doubt)
