"""Interventions, what people can change: features, their constraints, and the effects; and a first draft of them.

Whether people and constraints fit together: people who break a rule, and rules that contradict each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from isonomia.errors import NumericalError, UsageError, nearest
from isonomia.interventions.blocks import cheapest, components, dense_rows, rule_identity
from isonomia.interventions.constraints import Constraint, Linkage
from isonomia.interventions.constraints.base import TOLERANCE, ActionScope, Bools, Floats, Form
from isonomia.interventions.draft import TomlComments, guess, read_interventions, written
from isonomia.interventions.effects import Effect
from isonomia.interventions.features import FIELDS, Feature, PersonError, chosen, decoded, encoded, impossible
from isonomia.interventions.parts import Memory
from isonomia.interventions.reach import ReachableSets, reachable_sets
from isonomia.populations.fingerprint import fingerprint_of
from isonomia.populations.table import Table


@dataclass(frozen=True, slots=True)
class Interventions:
    """What people can change, and what follows from it: ``x' = x + a + r``.

    Attributes
    ----------
    features
        Each feature by itself.
    constraints
        What couples features: which actions ``a`` go together, and linkages.
    effects
        What follows an action by chance or by causes, ``r``.

    Raises
    ------
    UsageError
        Where a name is unknown or the parts do not fit together.

    Examples
    --------
    >>> from isonomia.interventions import Feature
    >>> savings = Feature("savings", "integer", 0, 9, direction="up", rise=2)
    >>> changes = Interventions([savings, Feature("guarantor", "binary")])
    >>> len(changes.reach({"savings": [3], "guarantor": [0]}).points(0))
    6
    """

    features: tuple[Feature, ...]
    constraints: tuple[Constraint, ...] = ()
    effects: tuple[Effect, ...] = ()

    def __post_init__(self) -> None:
        for name, items in (("features", self.features), ("constraints", self.constraints), ("effects", self.effects)):
            object.__setattr__(self, name, tuple(items))
        repeated = [name for j, name in enumerate(self.names) if name in self.names[:j]]
        if repeated:
            raise UsageError(f"feature {repeated[0]!r} is described twice; describe each once", name=repeated[0])
        for constraint in self.constraints:
            self._check_names(constraint, constraint.names)
            self._check_constraint(constraint)
        for effect in self.effects:
            self._check_names(effect, (*effect.names, *effect.reads))

    @classmethod
    def draft(cls, table: Any, leave_out: str | Sequence[str] = ()) -> Interventions:
        """A first draft from data, for a person to read and to edit.

        Kinds and bounds are those that occur. What varies is actionable, unless its name is that of a protected
        attribute, of the past or of a model's answer; what counts time or learning only rises. Dummies that look like
        one-hot or thermometer encodings are taken for them, and columns that always go together are kept together.
        Columns that look like the outcome, a date or a name are not features, and stay as they are.
        :class:`isonomia.interventions.Draft` also says what was guessed and why.

        Parameters
        ----------
        table
            Any kind of table.
        leave_out
            Columns that are not features, such as the outcome: a name, a list or a pattern (``"*_id"``).
        """
        return Draft.of(table, leave_out).interventions

    @classmethod
    def from_toml(cls, text: str, file: str = "the text") -> Interventions:
        """Read what :meth:`to_toml` wrote.

        Raises
        ------
        SpecError
            Where it cannot be read; the error names the file, the key, and what is allowed.
        """
        return read_interventions(text, file, cls)

    def to_toml(self) -> str:
        """The interventions as a TOML text that a person can edit.

        Raises
        ------
        UsageError
            Where a constraint or an effect is a Python function, which a text cannot hold.
        """
        return written(self.features, self.constraints, self.effects)

    @property
    def labels(self) -> dict[str, str]:
        """What reports call features, by name; of those that have a label."""
        return {feature.name: feature.label for feature in self.features if feature.label}

    def __str__(self) -> str:
        return _as_table(self)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        return tuple(feature.name for feature in self.features)

    @property
    def blocks(self) -> tuple[tuple[str, ...], ...]:
        """The features in groups that constraints or effects couple, each in order."""
        index = {name: j for j, name in enumerate(self.names)}
        coupled = [constraint.names for constraint in self.constraints]
        coupled += [tuple(dict.fromkeys((*effect.names, *effect.reads))) for effect in self.effects]
        groups = components(len(self.names), [[index[name] for name in names] for names in coupled])
        return tuple(tuple(self.names[j] for j in group) for group in groups)

    def __getitem__(self, name: str) -> Feature:
        if name not in self.names:
            raise UsageError(f"there is no feature {name!r}.{nearest(name, self.names)}")
        return self.features[self.names.index(name)]

    def set(self, which: str | Sequence[str], **fields: Any) -> Interventions:
        """The same with other fields for some features: ``set("time_served*", actionable=False)``.

        Parameters
        ----------
        which
            A name, a list of names, or a pattern with ``*`` and ``?``.
        fields
            What to set; see :class:`Feature`.
        """
        for field in fields:
            if field not in FIELDS or field == "name":
                allowed = [name for name in FIELDS if name != "name"]
                listed = ", ".join(allowed)
                raise UsageError(f"a feature has no {field!r}; it has {listed}.{nearest(field, allowed)}")
        selected = set(chosen(which, self.names))
        changed = (replace(f, **_reset(f, fields)) if f.name in selected else f for f in self.features)
        return replace(self, features=tuple(changed))

    def only(self, which: str | Sequence[str]) -> Interventions:
        """The same with only some of the actionable features still actionable; linkages and effects stay."""
        selected = set(chosen(which, self.names))
        changed = (f if f.name in selected else replace(f, **_reset(f, {"actionable": False})) for f in self.features)
        return replace(self, features=tuple(changed))

    def constrain(self, *constraints: Constraint) -> Interventions:
        """The same with more constraints."""
        return replace(self, constraints=(*self.constraints, *constraints))

    def affect(self, *effects: Effect) -> Interventions:
        """The same with more effects."""
        return replace(self, effects=(*self.effects, *effects))

    def coded(self) -> tuple[Constraint, ...]:
        """The constraints with categories as indices."""
        levels = {feature.name: feature.values for feature in self.features if feature.kind == "categorical"}
        return tuple(constraint.coded(levels) for constraint in self.constraints)

    def refusals(self, people: Any) -> tuple[Refusal, ...]:
        """The people whose own values break a constraint or a bound, with the first reason for each."""
        return refusals_of(self.features, self.constraints, self.coded(), encoded(self.features, Table.of(people)))

    def invalid(self, people: Any) -> Bools:
        """Whose values are missing, impossible, or break a constraint or a bound."""
        table = Table.of(people)
        bad = impossible(self.features, table)
        good = np.flatnonzero(~bad)
        bad[[good[refusal.row] for refusal in self.refusals(table.take(good))]] = True
        return bad

    def contradiction(self) -> tuple[Constraint, ...]:
        """A minimal set of constraints that no person can meet together; empty if the constraints are compatible."""
        by_code = dict(zip(map(id, coded := self.coded()), self.constraints, strict=True))
        return tuple(by_code[id(constraint)] for constraint in contradiction_in(self.features, coded))

    def reach(self, people: Any, memory: Memory | None = None) -> ReachableSets:
        """What people can reach.

        Parameters
        ----------
        people
            A table with a column for each feature; further columns stay with the person.
        memory
            What was computed before, for the same or other people; new results are added to it.

        Raises
        ------
        UsageError
            Where an actionable feature has no bound, or constraints contradict each other.
        DataError
            Where a value is missing or impossible, or a person's own values break a constraint.
        """
        self._check_bounded()
        table = Table.of(people)
        start = encoded(self.features, table)
        refused = refusals_of(self.features, self.constraints, self.coded(), start)
        if refused:
            self._refuse(refused)
        return reachable_sets(self.features, self.coded(), self.effects, table, start, memory)

    def fingerprint(self) -> str:
        """A text that tells these interventions from others."""
        rules = [*map(rule_identity, self.constraints), *map(rule_identity, self.effects)]
        return fingerprint_of(*map(repr, self.features), "constraints", *rules)

    def _refuse(self, refused: Sequence[Refusal]) -> None:
        clash = self.contradiction()
        if clash:
            listed = "; ".join(f"{constraint.kind}: {constraint.words()}" for constraint in clash)
            raise UsageError(f"these constraints contradict each other, so that no one can meet them all: {listed}.")
        more = f" So do {len(refused) - 1} others." if len(refused) > 1 else ""
        advice = "Correct the values or the rule, or leave them out (refusals)."
        raise PersonError("the person", refused[0].row, f"{refused[0].reason()}.{more} {advice}")

    def _check_bounded(self) -> None:
        freed = {name for item in self.constraints if isinstance(item, Linkage) for name in item.frees}
        for feature in self.features:
            way = feature.unbounded() if feature.actionable or feature.name in freed else None
            if way is not None:
                bound = "high" if way == "rise" else "low"
                kind = f"feature {feature.name!r} ({feature.kind})"
                raise UsageError(f"{kind} can {way} without limit: give {bound}, {way} or {way}_share, or a direction")

    def _check_names(self, item: Constraint | Effect, names: Sequence[str]) -> None:
        for name in names:
            if name not in self.names:
                message = f"{item.kind} ({item.words()}) names {name!r}, an unknown feature.{nearest(name, self.names)}"
                raise UsageError(message, name=name)

    def _check_constraint(self, constraint: Constraint) -> None:
        if not constraint.takes_categories:
            labelled = [name for name in constraint.names if self[name].kind == "categorical"]
            if labelled:
                rule = f"the {constraint.kind} constraint ({constraint.words()})"
                raise UsageError(f"{rule} is about numbers, but {labelled[0]!r} has categories", name=labelled[0])
        constraint.coded({name: self[name].values for name in constraint.names if self[name].kind == "categorical"})
        if isinstance(constraint, Linkage):
            self._check_freed(constraint)

    def _check_freed(self, linkage: Linkage) -> None:
        for name in linkage.frees:
            others = [item for item in self.constraints if isinstance(item, Linkage) and name in item.frees]
            if self[name].actionable or len(others) > 1:
                message = f"the linkage ({linkage.words()}) moves {name!r} by its own amount, so it must not be"
                raise UsageError(f"{message} actionable, nor the target of another such linkage")


def _reset(feature: Feature, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields to change; bounds that the old kind implied are reset, so that the new kind sets its own."""
    implied = feature.kind == "categorical" or ("kind" in fields and feature.kind == "binary")
    return {**({"low": None, "high": None} if implied else {}), **fields}


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
        For each constraint, the reason for it.
    left_out
        Columns that are not features and stay as they are, each with the reason. A column with a missing value is one
        of them, so that a draft can be used at once with the table that it was made from.
    rows
        How many people the table has.
    outcome_known
        Whether the outcome was given, or a column looks like it by its name.
    """

    features: tuple[Feature, ...]
    constraints: tuple[Constraint, ...]
    why: Mapping[str, str]
    rules: tuple[str, ...]
    left_out: Mapping[str, str]
    rows: int
    outcome_known: bool = True

    @classmethod
    def of(
        cls, table: Any, leave_out: str | Sequence[str] | Mapping[str, str] = (), outcome: str | None = None
    ) -> Draft:
        """Guess from any kind of table.

        Parameters
        ----------
        table
            The people.
        leave_out
            Columns that are not features: a name, a list, or a pattern; or a mapping from each to the reason, as the
            end of a sentence that begins with its name.
        outcome
            What is predicted; default: a column that looks like it. With a mapping, none is guessed.

        Raises
        ------
        DataError
            Where no column is left.
        UsageError
            Where there is no such column.
        """
        return guess(cls, Table.of(table), leave_out, outcome)

    @property
    def interventions(self) -> Interventions:
        """The guesses without their reasons."""
        return Interventions(self.features, self.constraints)

    def to_toml(self, source: str = "a table") -> str:
        """The draft as a TOML text with comments; :meth:`Interventions.from_toml` reads it.

        Parameters
        ----------
        source
            Where the people come from, for the first comment.
        """
        missing = [f"- {name} {reason}" for name, reason in self.left_out.items()]
        head = (
            f"What people can change: a first draft, guessed from the names and the values of {source} ({self.rows:,} "
            "rows). Correct it: an audit relies on every line of it.",
            *(["", "Columns that are not listed stay as they are:", *missing] if missing else []),
            *(() if self.outcome_known else ("", _NO_OUTCOME)),
            "",
        )
        return written(self.features, self.constraints, (), TomlComments(head, self.why, self.rules))


_NO_OUTCOME = (
    "No column looks like the outcome by its name and place. If the outcome is here, it is not a feature: draft again "
    "with --outcome COLUMN."
)
_HEAD = ("feature", "kind", "range", "actionable", "direction", "step", "block", "rules")


def _as_table(interventions: Interventions) -> str:
    """The features as a table, with the numbers of the rules on each, and below it the rules in words."""
    rules: list[Constraint | Effect] = [*interventions.constraints, *interventions.effects]
    block = {name: str(j) for j, names in enumerate(interventions.blocks) for name in names}
    rows: list[tuple[str, ...]] = [_HEAD]
    for feature in interventions.features:
        mine = ", ".join(str(j) for j, rule in enumerate(rules, start=1) if feature.name in rule.names)
        rows.append((*_cells(feature), block[feature.name], mine or "-"))
    width = [max(len(row[j]) for row in rows) for j in range(len(_HEAD))]
    lines = ["  ".join(cell.ljust(size) for cell, size in zip(row, width, strict=True)).rstrip() for row in rows]
    lines += [""] * bool(rules) + [f"{j:>3}. {rule.kind}: {rule.words()}" for j, rule in enumerate(rules, start=1)]
    return "\n".join(lines)


def _cells(feature: Feature) -> Sequence[str]:
    if not feature.actionable:
        return feature.name, feature.kind, _range(feature), "no", "-", "-"
    return feature.name, feature.kind, _range(feature), "yes", feature.direction, _step(feature) or "any"


def _range(feature: Feature) -> str:
    if feature.kind == "categorical":
        listed = ", ".join(map(str, feature.values))
        return listed if len(listed) <= 40 else f"{len(feature.values)} categories"
    low, high = ("any" if end is None else f"{end:g}" for end in (feature.low, feature.high))
    return f"{low} to {high}"


def _step(feature: Feature) -> str:
    parts = [("+", feature.rise), ("-", feature.fall)]
    shares = [("+", feature.rise_share), ("-", feature.fall_share)]
    steps = [f"{sign}{limit:g}" for sign, limit in parts if limit is not None]
    steps += [f"{sign}{100 * limit:g}%" for sign, limit in shares if limit is not None]
    return ", ".join(steps)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A person, what their values break, and the values.

    Attributes
    ----------
    row
        The person's row.
    kind
        The constraint's kind, or ``"bounds"``.
    rule
        What is broken, in words.
    values
        The person's values of the features in question.
    """

    row: int
    kind: str
    rule: str
    values: tuple[tuple[str, Any], ...]

    def words(self) -> str:
        """The refusal as a sentence, without its full stop."""
        return f"the person in row {self.row} {self.reason()}"

    def reason(self) -> str:
        """What the person breaks, and with which values, as the end of the sentence."""
        values = ", ".join(f"{name} = {value!r}" for name, value in self.values)
        return f"breaks {self.kind} ({self.rule}): {values}"


def refusals_of(
    features: Sequence[Feature],
    constraints: Sequence[Constraint],
    coded: Sequence[Constraint],
    start: Floats,
) -> tuple[Refusal, ...]:
    """Everyone who is refused, with the first reason for each, in the order of rows.

    Bounds apply to actionable features: a person beyond them could not even stay. Other features may have any value.
    ``constraints`` are as the user wrote them, for messages; ``coded`` has categories as indices.
    """
    refused: dict[int, Refusal] = {}
    index = {feature.name: j for j, feature in enumerate(features)}
    for j, feature in enumerate(features):
        if feature.actionable:
            for row in np.flatnonzero(_outside(feature, start[:, j])):
                refused.setdefault(int(row), _refusal(features, [j], start, int(row), "bounds", _bounds(feature)))
    for constraint, by_index in zip(constraints, coded, strict=True):
        at = [index[name] for name in constraint.names]
        for row in np.flatnonzero(~by_index.accepts(start[:, at])):
            refusal = _refusal(features, at, start, int(row), f"the {constraint.kind} constraint", constraint.words())
            refused.setdefault(int(row), refusal)
    return tuple(refused[row] for row in sorted(refused))


def _outside(feature: Feature, values: Floats) -> Bools:
    low, high = _limits_of(feature, np.inf)
    return np.asarray((values < low - TOLERANCE) | (values > high + TOLERANCE))


def _bounds(feature: Feature) -> str:
    low = "" if feature.low is None else f"{feature.low:g} <= "
    high = "" if feature.high is None else f" <= {feature.high:g}"
    return f"{low}{feature.name}{high}"


def _refusal(
    features: Sequence[Feature], columns: Sequence[int], start: Floats, row: int, kind: str, rule: str
) -> Refusal:
    values = []
    for j in columns:
        if features[j].kind == "categorical":
            value: Any = features[j].values[int(start[row, j])]
        else:
            value = decoded(features[j], start[row : row + 1, j])[0].item()
        values.append((features[j].name, value))
    return Refusal(row, kind, rule, tuple(values))


_FAR = 1e7
"""Stands for a bound that was not given, where a binary switches a constraint on and off: its row needs some bound, and
far larger ones cost the solver accuracy."""


def contradiction_in(features: Sequence[Feature], constraints: Sequence[Constraint]) -> tuple[Constraint, ...]:
    """A minimal set of constraints that no person within the features' bounds meets together, if any.

    A mixed-integer program decides whether anyone can meet them all; if not, constraints are dropped one by one as
    long as no one can meet the others. Constraints about changes, and predicates, are not considered. Categories are
    indices.
    """
    forms = [(constraint, _standing(features, constraint)) for constraint in constraints]
    clash = [(constraint, form) for constraint, form in forms if form is not None]
    if not clash or _possible(features, clash):
        return ()
    for item in list(clash):
        others = [other for other in clash if other is not item]
        if not _possible(features, others):
            clash = others
    return tuple(constraint for constraint, _ in clash)


def _limits_of(feature: Feature, far: float) -> tuple[float, float]:
    return -far if feature.low is None else feature.low, far if feature.high is None else feature.high


def _standing(features: Sequence[Feature], constraint: Constraint) -> Form | None:
    """The rows of a constraint that hold wherever a person within the features' bounds can be."""
    by_name = {feature.name: feature for feature in features}
    mine = [by_name[name] for name in constraint.names]
    low, high = (
        np.asarray(end, dtype=np.float64) for end in zip(*(_limits_of(feature, _FAR) for feature in mine), strict=True)
    )
    whole = tuple(feature.whole for feature in mine)
    return constraint.standing(ActionScope(low, low, high, low, high, whole, whole))


def _possible(features: Sequence[Feature], parts: Sequence[tuple[Constraint, Form]]) -> bool:
    """Whether anyone can meet some constraints together, as far as the solver can say."""
    if not parts:
        return True
    binaries, index = sum(form.binaries for _, form in parts), {feature.name: j for j, feature in enumerate(features)}
    forms = [(form, [index[name] for name in constraint.names]) for constraint, form in parts]
    rows = dense_rows(forms, np.eye(len(features)), [0.0] * len(features))
    low, high = (np.asarray(end) for end in zip(*(_limits_of(feature, np.inf) for feature in features), strict=True))
    bounds = np.append(low, np.zeros(binaries)), np.append(high, np.ones(binaries))
    whole = np.asarray([feature.whole for feature in features] + [True] * binaries)
    try:
        point = cheapest(np.zeros(len(whole)), whole, bounds, rows)
    except NumericalError:
        return True  # the solver could not say, so no contradiction was shown
    return point is not None
