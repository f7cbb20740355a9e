"""A first draft of what people can change, from data, with what was guessed and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isonomia.errors import DataError
from isonomia.interventions.constraints import Constraint, OneHot, Reachability
from isonomia.interventions.describing import UNORDERED, changed, described
from isonomia.interventions.encodings import encodings_of, twins_of
from isonomia.interventions.features import Feature
from isonomia.interventions.guessing import hint_of, likely_outcome
from isonomia.interventions.selecting import chosen
from isonomia.interventions.summaries import summary_of
from isonomia.populations.columns import plain_value
from isonomia.populations.table import Table

if TYPE_CHECKING:
    from isonomia.interventions.interventions import Interventions

__all__ = ["Draft", "drafted"]


@dataclass(frozen=True, slots=True)
class Draft:
    """Interventions guessed from a table, with the reasons.

    Attributes
    ----------
    features, constraints
        What people can change, as far as names and values tell.
    why
        For each feature, what its values are and what was guessed, as sentences.
    rules
        For each constraint, what speaks for it.
    left_out
        Columns that are no features, which stay as they are, each with the reason; people can be audited with a draft
        of their own table at once, because a column with a missing value is one of them.
    rows
        How many people the table has.
    """

    features: tuple[Feature, ...]
    constraints: tuple[Constraint, ...]
    why: Mapping[str, str]
    rules: tuple[str, ...]
    left_out: Mapping[str, str]
    rows: int

    @classmethod
    def of(
        cls, table: Any, leave_out: str | Sequence[str] | Mapping[str, str] = (), outcome: str | None = None
    ) -> Draft:
        """Guess from any kind of table; see :func:`drafted`."""
        return drafted(Table.of(table), leave_out, outcome)

    @property
    def interventions(self) -> Interventions:
        """The guesses without their reasons."""
        from isonomia.interventions.interventions import Interventions

        return Interventions(self.features, self.constraints)

    def to_toml(self, source: str = "a table") -> str:
        """The draft as a TOML text with comments; :meth:`Interventions.from_toml` reads it.

        Parameters
        ----------
        source
            What the people came from, for the first comment.
        """
        from isonomia.interventions.writing import Comments, written

        missing = [f"- {name} {reason}" for name, reason in self.left_out.items()]
        head = (
            f"What people can change: a first draft, guessed from the names and the values of {source} ({self.rows:,} "
            "rows). Correct it: an audit takes every word of it for the truth.",
            *(["", "Columns that are not listed stay as they are:", *missing] if missing else []),
            "",
        )
        return written(self.features, self.constraints, (), Comments(head, self.why, self.rules))


def drafted(table: Table, leave_out: str | Sequence[str] | Mapping[str, str] = (), outcome: str | None = None) -> Draft:
    """Features with the kinds and bounds that occur, what their names suggest, and the encodings that dummies seem.

    Parameters
    ----------
    table
        The people.
    leave_out
        Columns that are no features: a name, a list, or a pattern; or each with the reason, as the end of a sentence
        that begins with its name, and then these are all.
    outcome
        What is predicted; a column that looks like it unless given, or unless reasons are.

    Raises
    ------
    DataError
        Where not a single column is left.
    UsageError
        Where there is no such column.
    """
    left = _left_out(table, leave_out, outcome)
    features: dict[str, Feature] = {}
    why: dict[str, str] = {}
    for name in table.names:
        if name not in left:
            made = described(summary_of(table, name))
            if isinstance(made, str):
                left[name] = made
            else:
                features[name], why[name] = made
    if not features:
        raise DataError(_nothing_left(left))
    rules = [*_rules(features, table)]
    for rule, _ in rules:
        features |= _fitted(rule, features, why)
    kept = [(rule, reason) for rule, reason in rules if any(features[name].actionable for name in rule.names)]
    return Draft(
        features=tuple(features.values()),
        constraints=tuple(rule for rule, _ in kept),
        why=why,
        rules=tuple(reason for _, reason in kept),
        left_out={name: left[name] for name in table.names if name in left},
        rows=table.rows,
    )


def _left_out(table: Table, leave_out: str | Sequence[str] | Mapping[str, str], outcome: str | None) -> dict[str, str]:
    """The columns that are no features from the start, each with the reason."""
    if isinstance(leave_out, Mapping):
        return dict(leave_out)
    given = [*([leave_out] if isinstance(leave_out, str) else leave_out), *([outcome] if outcome else [])]
    left = dict.fromkeys(chosen(given, table.names, "column"), "is left out as you said") if given else {}
    likely = likely_outcome([name for name in table.names if name not in left])
    if outcome is None and likely is not None:
        left[likely] = "looks like the outcome, which is predicted"
    return left


def _rules(features: Mapping[str, Feature], table: Table) -> Iterator[tuple[Constraint, str]]:
    dummies = {f.name: table.column(f.name).astype(np.float64) for f in features.values() if f.kind == "binary"}
    taken: set[str] = set()
    for rule, reason in encodings_of(dummies):
        taken.update(rule.names)
        yield rule, reason
    free = [f.name for f in features.values() if f.actionable and f.name not in taken and f.kind != "real"]
    yield from twins_of({name: [_of_kind(value) for value in table.column(name)] for name in free})


def _of_kind(value: Any) -> Any:
    """A value as a feature has it: a truth value is 0 or 1."""
    plain = plain_value(value)
    return int(plain) if isinstance(plain, bool) else plain


def _fitted(rule: Constraint, features: Mapping[str, Feature], why: dict[str, str]) -> dict[str, Feature]:
    """The features of a rule as they can be under it.

    Of dummies of which one is on, none can be turned on alone, so that they have no direction of their own; and where
    one is not a person's to change, none is. Texts that go with numbers take their order.
    """
    mine = {name: features[name] for name in rule.names}
    if isinstance(rule, Reachability):
        for name in mine:
            why[name] = why[name].replace(UNORDERED, "The categories are in the order of what goes with them.")
        return {name: _in_order(feature, rule) for name, feature in mine.items()}
    fixed = [name for name in mine if not mine[name].actionable and hint_of(name) is not None]
    if fixed:
        for name in mine:
            if mine[name].actionable:
                why[name] += f" It is encoded together with {fixed[0]}, which people cannot change."
        return {name: changed(feature, actionable=False) for name, feature in mine.items()}
    if not isinstance(rule, OneHot):
        return mine
    for name in mine:
        if mine[name].direction != "both":
            why[name] += " One of several dummies has no direction; an ordinal constraint could say that all rise."
    return {name: changed(feature, direction="both") for name, feature in mine.items()}


def _in_order(feature: Feature, rule: Reachability) -> Feature:
    if feature.kind != "categorical":
        return feature
    place = rule.names.index(feature.name)
    return changed(feature, values=tuple(pair[place] for pair in rule.values))


def _nothing_left(left: Mapping[str, str]) -> str:
    told = "; ".join(f"{name!r} {reason}" for name, reason in list(left.items())[:3])
    return f"expected columns of which features can be made, numbers, truth values or texts, but there are none: {told}"
