"""Which role each column has: protected attributes with their groups, the outcome, decisions and scores.

Names and values decide, so a wrong guess costs a line to delete; a protected attribute that is missed has to be named
with ``--protected``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

import numpy as np

from isonomia.errors import UsageError, nearest, no_names
from isonomia.populations.profile import (
    AGE,
    CHARGES,
    DECISIONS,
    OUTCOMES,
    PREDICTIONS,
    SCORES,
    ColumnProfile,
    has_word,
    is_model_answer,
    is_sure_outcome,
    profile_of,
    protected_attribute,
    protected_by_values,
)
from isonomia.populations.table import Table
from isonomia.spec.text import name_text, number_text, value_text
from isonomia.spec.tree import Value

RULES: Mapping[str, Any] = tomllib.loads(files(__package__).joinpath("rules.toml").read_text("utf-8"))
"""The laws, thresholds and words of drafts."""
THRESHOLDS: Mapping[str, Any] = RULES["thresholds"]


@dataclass(frozen=True, slots=True)
class DraftGroup:
    """Some people: what to call them, the condition that they meet, how many they are.

    ``value`` is the value that they share, as a formula writes it; empty where they are a range.
    """

    label: str
    condition: str
    people: int
    value: str = ""


@dataclass(frozen=True, slots=True)
class ProtectedAttribute:
    """A protected attribute.

    Attributes
    ----------
    column, kind, why
        The column, which attribute it seems to be, and the reason.
    reference
        The largest group, with which the others are compared.
    groups, rare
        The other groups that are large enough, and those that are not, each with the reason.
    values
        How many values the column has, where each is a group; 0 where groups are ranges.
    """

    column: str
    kind: str
    why: str
    reference: DraftGroup
    groups: tuple[DraftGroup, ...]
    rare: tuple[tuple[DraftGroup, str], ...]
    values: int


def writable_profiles(table: Table) -> dict[str, ColumnProfile]:
    """What each column holds, without the names and values that a file in UTF-8 cannot hold."""
    profiles = {}
    for name in filter(_is_writable, table.names):
        profile = profile_of(table, name)
        counts = {value: people for value, people in profile.counts.items() if _is_writable(value)}
        profiles[name] = replace(profile, counts=counts)
    return profiles


def _is_writable(value: Any) -> bool:
    """Whether a value is not text, or is text that a file can hold: a lone surrogate, which JSON allows, is not."""
    if not isinstance(value, str):
        return True
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return bool(value)


def attributes_of(
    columns: Mapping[str, ColumnProfile], wanted: Sequence[str], taken: Sequence[str]
) -> tuple[ProtectedAttribute, ...]:
    """The protected attributes: the ``wanted`` columns, or all that look like one and are not ``taken``."""
    if wanted:
        return tuple(_wanted(columns, name) for name in dict.fromkeys(wanted))
    guesses = [_guessed(column) for name, column in columns.items() if name not in taken]
    attributes = [attribute for attribute in guesses if attribute is not None]
    named = {attribute.kind for attribute in attributes if protected_attribute(attribute.column)}
    # F and M are felonies and misdemeanours as well: values alone count only where no name does.
    return tuple(each for each in attributes if protected_attribute(each.column) or each.kind not in named)


def _wanted(columns: Mapping[str, ColumnProfile], name: str) -> ProtectedAttribute:
    if name not in columns:
        raise UsageError(
            f"expected --protected to name a column, but there is no column {name!r}.{nearest(name, columns)}"
            f"{no_names(list(columns))}"
        )
    column = columns[name]
    guess = attribute_kind(name, list(column.counts))
    attribute = _attribute(column, name if guess is None else guess[0], "you said so")
    if attribute is None:
        raise UsageError(
            f"expected --protected to name a column that makes two groups or more, but {name!r} has {column.words()}"
        )
    return attribute


def _guessed(column: ColumnProfile) -> ProtectedAttribute | None:
    if (
        column.identifier
        or column.kind == "date"
        or (column.kind == "text" and column.varieties > THRESHOLDS["max_texts"])
    ):
        return None
    guess = attribute_kind(column.name, list(column.counts))
    if guess is None:
        return None
    kind, why = guess
    if column.numeric and not column.few and kind != AGE:
        return None
    if kind == AGE and column.numeric and not (column.low >= 0.0 and column.high <= THRESHOLDS["max_age"]):
        return None
    return _attribute(column, kind, why)


def attribute_kind(name: str, values: Sequence[Any]) -> tuple[str, str] | None:
    """Which protected attribute a column seems to hold, and the reason; ``None`` where it seems to hold none."""
    named = protected_attribute(name)
    if named is not None and not (named == "sex" and len(values) > THRESHOLDS["max_sexes"]):
        return named, f"its name is a usual one for {named}"
    valued = protected_by_values(values)
    return None if valued is None else (valued, f"its values are usual ones for {valued}")


def _attribute(column: ColumnProfile, kind: str, why: str) -> ProtectedAttribute | None:
    in_years = kind == AGE and column.high > THRESHOLDS["max_age_code"]
    by_range = column.numeric and (in_years or not column.few)
    groups = _ranges(column, kind) if by_range else _single_values(column)
    groups = sorted(groups, key=lambda group: -group.people)
    if len(groups) < 2:
        return None
    large = [group for group in groups if _too_small(group, column) is None]
    if len(large) < 2:
        large = groups[:2]  # a small table is audited too, and the verdict says what it cannot tell
    compared = tuple(large[1 : THRESHOLDS["max_groups"] + 1])
    rare = tuple(
        (group, _too_small(group, column) or "there are larger ones") for group in groups[1:] if group not in compared
    )
    return ProtectedAttribute(column.name, kind, why, large[0], compared, rare, 0 if by_range else column.varieties)


def _too_small(group: DraftGroup, column: ColumnProfile) -> str | None:
    if group.people < THRESHOLDS["min_people"]:
        return f"only {group.people:,} of {column.rows:,} rows: too few for a rate to mean much"
    if group.people < THRESHOLDS["min_share"] * column.rows:
        return f"{group.people / column.rows:.1%} of the rows, below 2%"
    return None


def _single_values(column: ColumnProfile) -> list[DraftGroup]:
    """A group for each value; of equally large ones, by their text."""
    groups = []
    for value in sorted(column.counts, key=str):
        label = value if isinstance(value, str) else value_text(value)
        written = value_text(value)
        groups.append(DraftGroup(label, f"{name_text(column.name)} == {written}", column.counts[value], written))
    return groups


def _ranges(column: ColumnProfile, kind: str) -> list[DraftGroup]:
    """Ranges of age; any other number is cut in two at its median."""
    cuts = THRESHOLDS["ages"] if kind == AGE else (float(np.median(column.numbers)),)
    groups = [_range(column, low, high) for low, high in zip((None, *cuts), (*cuts, None), strict=True)]
    return [group for group in groups if group.people]


def _range(column: ColumnProfile, low: float | None, high: float | None) -> DraftGroup:
    name, numbers = name_text(column.name), column.numbers
    inside = np.ones(len(numbers), dtype=bool) if low is None else numbers >= low
    inside &= True if high is None else numbers < high
    first, last = ("" if end is None else number_text(end) for end in (low, high))
    sides = [f"{name} >= {first}" if first else "", f"{name} < {last}" if last else ""]
    label = f"{first} to under {last}" if first and last else f"{first} and over" if first else f"under {last}"
    return DraftGroup(label, " and ".join(filter(None, sides)), int(inside.sum()))


def likely_outcome(
    columns: Mapping[str, ColumnProfile], reads: Sequence[str] | None, classes: Sequence[Value]
) -> str | None:
    """The column that looks like what is predicted; ``None`` where none does.

    Its name, a position at the end, and values that are the model's own classes count in its favour; a column that the
    model reads is not the outcome.
    """
    last = list(columns)[-1:]
    points = {
        name: _points(column, name in last, classes, unread=reads is not None)
        for name, column in columns.items()
        if name not in (reads or ()) and not column.identifier and column.varieties > 1 and not is_model_answer(name)
    }
    best = max(points, key=lambda name: points[name], default=None)
    return best if best is not None and points[best] >= THRESHOLDS["outcome_points"] else None


def _points(column: ColumnProfile, last: bool, classes: Sequence[Value], *, unread: bool) -> float:
    named = 3.0 if is_sure_outcome(column.name) else 2.0 if has_word(column.name, OUTCOMES) else 0.0
    # What people pay is a feature in many tables, but the outcome of a regression model that does not read it.
    if unread and not classes and column.numeric and not column.few and has_word(column.name, CHARGES):
        named = max(named, 2.0)
    match = 2.0 if len(classes) > 1 and column.counts and set(column.counts) <= set(classes) else 0.0
    return named + match + (1.0 if last else 0.0)


def likely_decision(columns: Mapping[str, ColumnProfile]) -> str | None:
    """The column with predictions or decisions that were already made; ``None`` where none looks like it."""
    if "prediction" in columns:
        return "prediction"
    usable = [name for name, column in columns.items() if column.varieties > 1 and not column.identifier]
    for words in (PREDICTIONS, DECISIONS):
        for name in usable:
            if has_word(name, words) and not has_word(name, SCORES):
                return name
    return None


def likely_score(columns: Mapping[str, ColumnProfile]) -> str | None:
    """The column with scores between 0 and 1 that were already given."""
    for name, column in columns.items():
        within = column.numeric and column.low >= 0.0 and column.high <= 1.0
        if within and not column.few and has_word(name, SCORES):
            return name
    return None
