"""The properties that a draft suggests, from what the table and the model's answers look like.

Properties about rates and means come first, then those about single people: k-safety, responsiveness, principal
fairness. A guess that could mislead is suggested with a doubt, which comments it out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import floor
from typing import Any, TypeAlias

import numpy as np

from isonomia.audits.audit_file.drafting.answers import FavourableDecision, ModelAnswers
from isonomia.audits.audit_file.drafting.roles import RULES, THRESHOLDS, DraftGroup, ProtectedAttribute
from isonomia.models.protocol import Answer
from isonomia.populations.profile import ColumnProfile, likely_use
from isonomia.populations.table import Table
from isonomia.spec.evaluate import Batch, truth
from isonomia.spec.parser import parse_condition
from isonomia.spec.text import name_text, number_text, value_text
from isonomia.spec.tree import columns_of
from isonomia.toml import toml_value
from isonomia.wording import first_few, printable, shortened

CHANGES = "changes"
"""The name of a draft's interventions."""
FOUR_FIFTHS = "29 CFR 1607"
"""How the law that names four fifths begins."""
_MAX_NAME = 70

Facts: TypeAlias = Mapping[str, Any]
"""What the texts of a rule are filled with: ``groups`` that are compared with a ``reference``, and what they ``also``
meet; ``options``; which ``doubt`` comments it out; the ``law`` behind it."""


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
    def spelled(self) -> str:
        """How a formula names it."""
        return name_text(self.column.name)

    @property
    def event(self) -> str:
        """The condition that a person deserves it."""
        return f"{self.spelled} == {value_text(self.positive)}"


@dataclass(frozen=True, slots=True, eq=False)
class DraftBasis:
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
    decision: FavourableDecision
    decided: str | None
    outcome: OutcomeColumn | None
    attributes: tuple[ProtectedAttribute, ...]
    long: bool

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


def suggestions(basis: DraftBasis) -> Iterator[Suggestion]:
    """Every property that makes sense without interventions, in the order of the rules."""
    subjects: Mapping[str, Sequence[Any]] = {
        "draft": (None,),
        "attribute": basis.attributes,
    }
    for rule in RULES["rule"]:
        facts = (_FACTS[rule["facts"]](basis, subject) for subject in subjects[rule["each"]])
        yield from (_suggestion(basis, rule, each) for each in facts if each is not None)


def preclusion(basis: DraftBasis, free: int) -> Suggestion:
    """The claim that all who are refused have recourse; ``free`` features can change."""
    value = basis.decision.value
    target = basis.decision.event if value is None else [value] if isinstance(value, str) else value
    options = {"interventions": CHANGES, "target": target, "who": basis.decision.opposite}
    options |= {"below": THRESHOLDS["flips"]} if basis.answers is not None and basis.answers.random else {}
    facts = {"options": options, "free": free, "changes": CHANGES, "doubt": "" if free else "nothing"}
    return _suggestion(basis, RULES["preclusion"], facts)


def fallback(basis: DraftBasis) -> Suggestion:
    """A property that any model can be checked for: an audit file has at least one."""
    return _suggestion(basis, RULES["fallback"], {})


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


def _suggestion(basis: DraftBasis, rule: Mapping[str, Any], facts: Facts) -> Suggestion:
    """A rule, filled with the facts of this draft."""
    values = {**THRESHOLDS, "decision": basis.decision, "outcome": basis.outcome, **facts}
    ask = ("check", _formula(basis, rule, values)) if "claim" in rule else (rule["kind"], rule["value"])
    name, note = (rule[part].format_map(values) for part in ("name", "note"))
    if "law" in facts and not facts["law"].startswith(FOUR_FIFTHS):
        note += rule["note_without_law"].format_map(values)
    doubt = rule["doubts"][facts["doubt"]].format_map(values) if facts.get("doubt") else ""
    return Suggestion(name, " ".join(note.split()), ask, facts.get("options", {}), doubt, facts.get("law", ""))


def _formula(basis: DraftBasis, rule: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    """A claim about each of some groups: one ``for`` over their values; for ranges, a conjunction.

    Rates are divided only where that of the reference was seen to be positive.
    """
    claim = rule["claim"]
    if "claim_at_rate_0" in rule and not basis.favoured(values["reference"]):
        claim = rule["claim_at_rate_0"]
    groups: Sequence[DraftGroup] = values.get("groups", ())
    if not groups:
        return str(claim.format_map(values))
    also = f" and {values['also']}" if "also" in values else ""
    if len(groups) < 2 or not all(group.value for group in groups):
        return " and ".join(claim.format(**values, who=f"{group.condition}{also}") for group in groups)
    letter = next(name for name in "ghkpqruvwxyz" if name not in basis.columns)
    listed = ", ".join(group.value for group in groups)
    who = f"{name_text(values['attribute'].column)} == {letter}{also}"
    return f"for {letter} in {{{listed}}}: {claim.format(**values, who=who)}"


# What rules are filled with; None where one does not apply ------------------------------------------------------------


def _compared(attribute: ProtectedAttribute, **others: Any) -> dict[str, Any]:
    return {
        "attribute": attribute,
        "groups": attribute.groups,
        "reference": attribute.reference.condition,
        **others,
    }


def _law(basis: DraftBasis, attribute: ProtectedAttribute) -> str:
    telling = [basis.decided, None if basis.outcome is None else basis.outcome.column.name]
    use = likely_use([name for name in telling if name is not None], list(basis.columns))
    return str(RULES["laws"].get(use, {}).get(attribute.kind, ""))


def _ratio_name(laws: Iterable[str]) -> str:
    """The first name only where the rule of thumb of that name applies."""
    return "four fifths" if all(law.startswith(FOUR_FIFTHS) for law in laws) else "impact ratio"


def _sizes(sizes: Iterable[tuple[DraftGroup, int]]) -> str:
    return ", ".join(f"{group.label} ({people:,})" for group, people in sizes)


def _impact_ratio(basis: DraftBasis, attribute: ProtectedAttribute) -> Facts:
    law, groups = _law(basis, attribute), attribute.groups
    alone = len(groups) == 1
    return _compared(
        attribute,
        law=law,
        ratio_name=_ratio_name([law]),
        comparison=_against(attribute) if alone else f" by {attribute.column}",
        others="The other is" if alone else "Others are",
        sizes=" ".join(f"{group.label}: {group.people:,} people." for group in groups),
        set_aside=_set_aside(attribute),
    )


def _against(attribute: ProtectedAttribute) -> str:
    return f", {attribute.column}: {attribute.groups[0].label} against {attribute.reference.label}"


def _set_aside(attribute: ProtectedAttribute) -> str:
    """Which groups are not compared, and why, in one sentence."""
    if not attribute.rare:
        return ""
    (group, reason), *others = attribute.rare
    more = f"; and likewise {first_few([group.label for group, _ in others], 5)}" if others else ""
    return f"Set aside: {group.label}, {reason}{more}."


def _intersection(basis: DraftBasis, _: None) -> Facts | None:
    """Two attributes together: a group that is treated well in each may be treated badly where they meet."""
    able = [attribute for attribute in basis.attributes if attribute.values]
    pair = sorted(able, key=lambda attribute: attribute.kind not in {"sex", "race"})[:2]
    if len(pair) < 2:
        return None
    first, second = ((attribute.reference, *attribute.groups) for attribute in pair)
    crossed = []
    for one, other in product(first, second):
        condition = f"{one.condition} and {other.condition}"
        crossed.append(DraftGroup(f"{one.label}, {other.label}", condition, basis.people(condition)))
    least = max(THRESHOLDS["min_people"], THRESHOLDS["min_share"] * basis.table.rows)
    large = sorted((group for group in crossed if group.people >= least), key=lambda group: -group.people)
    if len(large) < 3:
        return None
    return {
        "groups": large[1:],
        "reference": large[0].condition,
        "names": " and ".join(attribute.column for attribute in pair),
        "ratio_name": _ratio_name(_law(basis, attribute) for attribute in pair),
        "sizes": _sizes((group, group.people) for group in large),
    }


def _equal_opportunity(basis: DraftBasis, attribute: ProtectedAttribute) -> Facts | None:
    outcome = basis.outcome
    if outcome is None or outcome.positive is None:
        return None
    people = {
        group: basis.people(f"{group.condition} and {outcome.event}")
        for group in (attribute.reference, *attribute.groups)
    }
    groups = [group for group in attribute.groups if people[group] >= THRESHOLDS["min_people"]]
    groups = groups or list(attribute.groups[:1])
    sizes = [(group, people[group]) for group in (attribute.reference, *groups)]
    return _compared(
        attribute,
        groups=groups,
        reference=f"{attribute.reference.condition} and {outcome.event}",
        also=outcome.event,
        sizes=_sizes(sizes),
        doubt="" if all(size for _, size in sizes) else "empty",
    )


def _accuracy(basis: DraftBasis, _: None) -> Facts | None:
    outcome = basis.outcome
    if outcome is None or outcome.positive is None:
        return None
    counts = outcome.column.counts
    share = floor(100 * max(counts.values()) / sum(counts.values())) / 100
    if not set(counts) <= set(basis.decision.values) or share == 0.0:
        return None
    return {"share": share, "least": number_text(share)}


def _calibration(basis: DraftBasis, attribute: ProtectedAttribute) -> Facts | None:
    outcome, values = basis.outcome, basis.decision.values
    scored = values[1] if len(values) == 2 else None  # the score is that of the second of two classes
    if not basis.decision.score or outcome is None or scored is None or scored not in outcome.column.counts:
        return None
    happened = f"{outcome.spelled} == {value_text(scored)}"
    return _compared(attribute, groups=(attribute.reference, *attribute.groups), happened=happened)


def _invariance(basis: DraftBasis, attribute: ProtectedAttribute) -> Facts | None:
    answers = basis.answers
    if answers is None or not basis.reads(attribute.column) or answers.random:
        return None
    options = {"feature": attribute.column, **({} if answers.predictions is not None else {"ask": "score"})}
    doubt = "few" if basis.table.rows < THRESHOLDS["min_people"] else "" if attribute.values else "range"
    reads = "The model reads it." if answers.reads is not None else "The model gets it, and may read it."
    return {"attribute": attribute, "options": options, "reads": reads, "rows": basis.table.rows, "doubt": doubt}


def _principal(basis: DraftBasis, _: None) -> Facts | None:
    outcome, decision = basis.outcome, basis.decision
    binary = [attribute for attribute in basis.attributes if attribute.values == 2]
    if outcome is None or not binary or outcome.column.varieties != 2 or len(decision.values) != 2:
        return None
    attribute = binary[0]
    options = {"attribute": attribute.column, "outcome": outcome.column.name, "within": THRESHOLDS["gap"]}
    options |= {} if basis.decided in (None, "prediction") else {"prediction": basis.decided}
    doubt = "" if outcome.sure and attribute.kind == "sex" else "unsure"
    return {"attribute": attribute, "options": options, "doubt": doubt}


_FACTS: Mapping[str, Callable[[DraftBasis, Any], Facts | None]] = {
    "impact ratio": _impact_ratio,
    "intersection": _intersection,
    "equal opportunity": _equal_opportunity,
    "accuracy": _accuracy,
    "calibration": _calibration,
    "invariance": _invariance,
    "principal fairness": _principal,
}
