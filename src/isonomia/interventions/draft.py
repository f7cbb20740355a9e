"""Interventions as a TOML text that a person can read and edit, and a first draft of them from a table.

The draft says what each column holds, and what that and its name suggest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from typing import Any, TypeVar

import numpy as np

from isonomia.errors import DataError, IsonomiaError, SpecError, UsageError, nearest
from isonomia.interventions.constraints import CONSTRAINTS, Condition, Constraint, OneHot, Predicate, Reachability
from isonomia.interventions.effects import EFFECTS, Causes, Effect, Noise, Sampler
from isonomia.interventions.features import (
    FIELDS,
    Direction,
    Feature,
    chosen,
    encodings_of,
    limits_from_above,
    twins_of,
)
from isonomia.populations import profile as vocabulary
from isonomia.populations.profile import ColumnProfile, has_word, profile_of
from isonomia.populations.table import Table, plain_value
from isonomia.toml import KeyPath, TomlText, comment_lines, toml_key, toml_value
from isonomia.wording import capitalised

Made = TypeVar("Made")

_HEAD = (
    "A feature has kind (binary, integer, real, categorical), low, high, actionable, direction (both, up, down), rise, "
    "fall (the largest change), rise_share, fall_share (the same as a share of a person's own value: 0.1 is 10%) and, "
    "for categories, values. What is left out is not limited. label is its name in reports; sensible = false: people "
    "can change it, but no report advises it."
)
_SECTIONS = ("features", "constraints", "effects")
_CONDITIONS = ("when", "then")
_PYTHON_ONLY = ("test", "draw", "model")
"""Fields that hold Python objects."""


@dataclass(frozen=True, slots=True)
class TomlComments:
    """Comments to write: paragraphs at the top, one for each feature by name, and one for each constraint."""

    head: Sequence[str] = ("What people can change.",)
    features: Mapping[str, str] = field(default_factory=dict)
    constraints: Sequence[str] = ()


def written(
    features: Sequence[Feature],
    constraints: Sequence[Constraint],
    effects: Sequence[Effect],
    comments: TomlComments | None = None,
) -> str:
    """Write interventions as TOML, with comments that say what it means.

    Raises
    ------
    UsageError
        Where a part is a Python function or object, which a text cannot hold.
    """
    remarks = comments or TomlComments()
    lines = [line for paragraph in (*remarks.head, _HEAD) for line in comment_lines(paragraph) or ["#"]]
    for feature in features:
        lines += ["", *comment_lines(remarks.features.get(feature.name, "")), *_feature_lines(feature)]
    for index, rule in enumerate(constraints):
        why = f"{capitalised(rule.words())}. {remarks.constraints[index]}" if index < len(remarks.constraints) else ""
        lines += ["", *comment_lines(why), *_item_lines("constraints", rule)]
    for effect in effects:
        lines += ["", *_item_lines("effects", effect)]
    return "\n".join(lines) + "\n"


def _feature_lines(feature: Feature) -> Iterator[str]:
    yield f"[features.{toml_key(feature.name)}]"
    values = asdict(feature)
    for part in fields(feature):
        value = values[part.name]
        implied = feature.kind == "categorical" and part.name in {"low", "high"}
        implied |= feature.kind == "binary" and (part.name, value) in {("low", 0.0), ("high", 1.0)}
        always = part.name in {"kind", "actionable"}
        if part.name != "name" and not implied and (always or value != part.default):
            yield f"{part.name} = {toml_value(value)}"


def _item_lines(section: str, item: Any) -> Iterator[str]:
    if isinstance(item, Sampler | Causes) or (isinstance(item, Predicate) and item.test is not None):
        message = f"a {item.kind} ({item.words()}) holds Python objects, which TOML cannot: leave it out and add it"
        raise UsageError(f"{message} after reading; a predicate can be a condition in words.")
    yield f"[[{section}]]"
    yield f"kind = {toml_value(item.kind)}"
    names = ("condition",) if isinstance(item, Predicate) else _stored_fields(type(item))
    values = asdict(item)
    for part in fields(item):
        value = values[part.name]
        if part.name in names and (part.default is MISSING or value != part.default):
            yield f"{part.name} = {toml_value(value)}"


def _stored_fields(kind: type[Any]) -> tuple[str, ...]:
    """The fields of a constraint or an effect that are stored in a file."""
    return tuple(part.name for part in fields(kind) if part.name not in {*_PYTHON_ONLY, "levels"})


def read_interventions(text: str, file: str, make: Callable[..., Made]) -> Made:
    """Read interventions.

    Parameters
    ----------
    text, file
        The text, and what it is called in an error.
    make
        Makes interventions from features, constraints and effects, and raises a ``UsageError`` where they do not fit.

    Raises
    ------
    SpecError
        Where the text is not TOML, a key is unknown, a value is not what its key takes, or the parts do not fit.
    """
    toml = TomlText.parse(text, file)
    toml.check_table(toml.content, _SECTIONS, "the file")
    entries = toml.content.get("features", {})
    if not isinstance(entries, Mapping) or not entries:
        raise toml.error("expected a table [features.NAME] for each feature, but the file has no features")
    features = tuple(_feature(toml, name, entry) for name, entry in entries.items())
    constraints = _items(toml, "constraints", CONSTRAINTS)
    effects = _items(toml, "effects", {Noise.kind: EFFECTS[Noise.kind]})
    try:
        return make(features, constraints, effects)
    except UsageError as error:
        raise toml.error(str(error), *_mismatch(make, features, constraints, effects)) from error


def _mismatch(
    make: Callable[..., Any], features: Sequence[Feature], constraints: Sequence[Constraint], effects: Sequence[Effect]
) -> KeyPath:
    """The first part that does not fit with those before it."""
    for index in range(len(constraints) + len(effects)):
        beyond = index - len(constraints)
        try:
            make(features, constraints[: index + 1], effects[: max(0, beyond + 1)])
        except UsageError:
            return ("constraints", index, "names") if beyond < 0 else ("effects", beyond, "names")
    return ("features",)


def _feature(toml: TomlText, name: str, entry: Any) -> Feature:
    path = ("features", name)
    toml.check_table(entry, [part for part in FIELDS if part != "name"], f"feature {name!r}", *path)
    if "kind" not in entry:
        raise toml.error(f"feature {name!r} has no kind; it is binary, integer, real or categorical", *path)
    try:
        return Feature(name, **{key: _frozen(value) for key, value in entry.items()})
    except (UsageError, TypeError) as error:
        raise toml.error(str(error), *path, *_key_at_fault(error)) from error


def _items(toml: TomlText, section: str, kinds: Mapping[str, type[Any]]) -> tuple[Any, ...]:
    entries = toml.content.get(section, [])
    if not isinstance(entries, list):
        raise toml.error(f"expected [[{section}]], once for each, but it is {entries!r}", section)
    return tuple(_item(toml, (section, index), entry, kinds) for index, entry in enumerate(entries))


def _item(toml: TomlText, path: tuple[str, int], entry: Any, kinds: Mapping[str, type[Any]]) -> Any:
    kind = str(entry.get("kind")) if isinstance(entry, Mapping) else "missing"
    if kind not in kinds:
        message = (
            f"kind of [[{path[0]}]] number {path[1] + 1} should be one of {', '.join(kinds)}, but it is {kind!r}."
            f"{nearest(kind, kinds)}"
        )
        raise toml.error(message, *path, "kind")
    values = {key: value for key, value in entry.items() if key != "kind"}
    toml.check_table(values, _stored_fields(kinds[kind]), f"a {kind}", *path)
    needed = [part.name for part in fields(kinds[kind]) if part.default is MISSING and part.name not in values]
    if needed:
        raise toml.error(f"a {kind} needs {', '.join(needed)}", *path)
    try:
        return kinds[kind](**{key: _part(key, value) for key, value in values.items()})
    except (UsageError, SpecError, TypeError) as error:
        raise toml.error(str(error), *path, *_key_at_fault(error)) from error


def _part(key: str, value: Any) -> Any:
    if key not in _CONDITIONS:
        return _frozen(value)
    if not isinstance(value, Mapping) or set(value) != {"name", "relation", "value"}:
        message = f"{key} should be {{ name = ..., relation = ..., value = ... }}, but it is {value!r}"
        raise UsageError(message, name=key)
    return Condition(**{part: _frozen(entry) for part, entry in value.items()})


def _key_at_fault(error: Exception) -> tuple[str, ...]:
    """The key that an error is about, to point at."""
    return (error.name,) if isinstance(error, IsonomiaError) and error.name is not None else ()


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


_MANY = 50
"""With more categories than this, a column is taken for a name rather than for a choice."""
_FEW, _GAPS, _EACH = 12, 3, 5
"""At most this many whole numbers, on average this far apart and this frequent, are taken for a list of choices."""


def guess(
    make: Callable[..., Made],
    table: Table,
    leave_out: str | Sequence[str] | Mapping[str, str] = (),
    outcome: str | None = None,
) -> Made:
    """Features with the kinds and bounds that occur, what their names suggest, and encodings that dummies suggest.

    ``make`` is called with the fields of :class:`isonomia.interventions.Draft`.
    """
    left = _left_out(table, leave_out, outcome)
    known = bool(leave_out) or outcome is not None or bool(left)
    features: dict[str, Feature] = {}
    why: dict[str, str] = {}
    for name in table.names:
        if name not in left:
            description = _described(profile_of(table, name), known)
            if isinstance(description, str):
                left[name] = description
            else:
                features[name], why[name] = description
    if not features:
        raise DataError(_nothing_left(left))
    rules = [*_rules(features, table)]
    for rule, _ in rules:
        features |= _fitted(rule, features, why)
    _tell_order(features, [rule for rule, _ in rules], why)
    useful = [(rule, reason) for rule, reason in rules if any(features[name].actionable for name in rule.names)]
    return make(
        features=tuple(features.values()),
        constraints=tuple(rule for rule, _ in useful),
        why=why,
        rules=tuple(reason for _, reason in useful),
        left_out={name: left[name] for name in table.names if name in left},
        rows=table.rows,
        outcome_known=known,
    )


def _described(column: ColumnProfile, known: bool) -> tuple[Feature, str] | str:
    """A feature and the reasons for it; or why the column is no feature, as the end of a sentence about it."""
    unfit = _unfit(column)
    if unfit:
        return unfit
    hint = hint_of(column.name) or _outcome_hint(column.name, known)
    free = column.varieties > 1 and (hint is None or hint.actionable)
    feature = _of_texts(column) if column.kind == "text" else _of_numbers(column)
    reasons = [_in_words(column)]
    if column.varieties > 1 and hint is not None:
        reasons.append(hint.why)
    if hint is not None and hint.rises:
        feature = _changed(feature, direction=_rising(feature))
    return _changed(feature, actionable=free), " ".join(reasons)


def _unfit(column: ColumnProfile) -> str:
    """Why a column is not a feature, as the end of a sentence that begins with its name; empty where it is one."""
    if column.kind == "nothing":
        return "has no value at all"
    if column.kind == "date":
        return "holds dates"
    if column.kind == "other":
        return "holds neither numbers nor truth values nor texts"
    if column.missing:
        return f"is missing in {column.missing:,} rows, so it is unknown what these people could change"
    if column.identifier:
        return "tells people apart"
    if column.kind == "text" and column.varieties > _MANY:
        return f"has {column.varieties:,} different texts, so it is a name rather than a choice"
    return ""


def _in_words(column: ColumnProfile) -> str:
    """The values of a column as a sentence."""
    counts, numbers = column.counts, column.numbers
    if column.kind == "text":
        top = max(counts, key=lambda text: counts[text])
        return f"{len(counts)} categories, most often {top!r} ({counts[top] / column.rows:.0%})."
    if column.varieties == 1:
        return f"Always {numbers[0]:g}."
    if np.isin(numbers, (0.0, 1.0)).all():
        return f"1 for {numbers.mean():.1%} of the people."
    low, first, third, high = np.quantile(numbers, (0.0, 0.25, 0.75, 1.0))
    half = f"at {first:g}" if first == third else f"between {first:g} and {third:g}"
    return f"From {low:g} to {high:g}, half of the people or more {half}."


def _of_texts(column: ColumnProfile) -> Feature:
    return Feature(column.name, "categorical", values=tuple(column.counts))


def _of_numbers(column: ColumnProfile) -> Feature:
    numbers, name, low, high = column.numbers, column.name, column.low, column.high
    if np.isin(numbers, (0.0, 1.0)).all():
        return Feature(name, "binary")
    if column.kind == "whole":
        apart = high - low + 1 >= _GAPS * column.varieties
        if 2 < column.varieties <= _FEW and apart and len(numbers) >= _EACH * column.varieties:
            return Feature(name, "categorical", values=tuple(int(value) for value in column.counts))
        return Feature(name, "integer", low, high)
    if low >= 0.0 and high <= 1.0:
        return Feature(name, "real", 0.0, 1.0)
    return Feature(name, "real", low, high)


def _rising(feature: Feature) -> Direction:
    """The direction of a feature that only rises: a dummy for an upper limit turns off, and texts have no order yet."""
    if feature.kind == "binary" and limits_from_above(feature.name):
        return "down"
    return "both" if feature.values and isinstance(feature.values[0], str) else "up"


def _changed(feature: Feature, **changes: Any) -> Feature:
    """The same feature with some changes; bounds that a list of categories implies are reset, to be implied again."""
    implied: dict[str, Any] = {"low": None, "high": None} if feature.kind == "categorical" else {}
    return replace(feature, **implied, **changes)


@dataclass(frozen=True, slots=True)
class NameHint:
    """What a name suggests: whether people can change the feature by an action, whether it can only rise, and why."""

    actionable: bool
    rises: bool
    why: str


def hint_of(name: str) -> NameHint | None:
    """What a name suggests; ``None`` where it says nothing.

    Guesses err on the side of not actionable: auditing with a change that no one can make is worse than auditing
    without one that someone could.
    """
    protected = vocabulary.protected_attribute(name)
    if vocabulary.is_age(name):
        return NameHint(
            False, True, "No one changes their age by an action; should waiting count, let it be actionable."
        )
    if has_word(name, vocabulary.ORIGIN) or protected not in (None, "marital status", "pregnancy"):
        return NameHint(False, False, "Its name is that of a protected attribute.")
    if has_word(name, vocabulary.FAMILY) or protected is not None:
        return NameHint(False, False, "It is about a person's family, which people should not be asked to change.")
    if vocabulary.is_identifier(name):
        return NameHint(False, False, "Its name is that of an identifier.")
    if has_word(name, vocabulary.PAST):
        return NameHint(False, True, "What has happened cannot be undone.")
    if vocabulary.is_model_answer(name):
        return NameHint(False, False, "Its name is that of a model's answer, not of something that people do.")
    if has_word(name, vocabulary.SURVEY_WEIGHTS):
        return NameHint(False, False, "Its name is that of a weight of a survey.")
    if has_word(name, vocabulary.TIME) or has_word(name, vocabulary.PROTECTED[vocabulary.AGE]):
        return NameHint(True, True, "Its name counts time, so it only rises.")
    if has_word(name, vocabulary.LEARNING) and not has_word(name, vocabulary.PURPOSES):
        return NameHint(True, True, "What a person has learned stays, so it only rises.")
    return None


def _outcome_hint(name: str, known: bool) -> NameHint | None:
    """What a name suggests that could be an outcome's; an income is one only where no outcome is known."""
    words = vocabulary.OUTCOMES | vocabulary.SURE_OUTCOMES
    if not has_word(name, words - {"income"} if known else words):
        return None
    return NameHint(
        False, False, "Its name could be that of an outcome; if people can act on it, let it be actionable."
    )


def likely_outcome(names: Sequence[str]) -> str | None:
    """The column that looks like what is predicted; ``None`` where none does.

    It is a column whose whole name says so, in any place, or else the last or first column if it has a word that often
    does; columns that are identifiers by their names are skipped.
    """
    words = vocabulary.OUTCOMES | vocabulary.SURE_OUTCOMES
    sure = [name for name in names if vocabulary.is_sure_outcome(name)]
    others = [name for name in names if not vocabulary.is_identifier(name)]
    ends = [name for name in (*others[-1:], *others[:1]) if has_word(name, words)]
    return next(iter([*sure, *ends]), None)


def _left_out(table: Table, leave_out: str | Sequence[str] | Mapping[str, str], outcome: str | None) -> dict[str, str]:
    """The columns that are not features from the start, each with the reason."""
    if isinstance(leave_out, Mapping):
        return dict(leave_out)
    given = [*([leave_out] if isinstance(leave_out, str) else leave_out), *([outcome] if outcome else [])]
    left = dict.fromkeys(chosen(given, table.names, "column"), "is left out as you said") if given else {}
    names = [name for name in table.names if name not in left]
    for end in (0, -1):  # an identifier does not count as the first or the last column
        while names and profile_of(table, names[end]).identifier:
            names.pop(end)
    likely = likely_outcome(names)
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
    """A value as a feature holds it: a truth value is 0 or 1."""
    plain = plain_value(value)
    return int(plain) if isinstance(plain, bool) else plain


def _fitted(rule: Constraint, features: Mapping[str, Feature], why: dict[str, str]) -> dict[str, Feature]:
    """The features of a rule, changed so that they fit it.

    One-hot dummies cannot be turned on alone, so they have no direction of their own; and where people cannot change
    one of the dummies of an encoding, they can change none. Texts that go with numbers take their order.
    """
    mine = {name: features[name] for name in rule.names}
    if isinstance(rule, Reachability):
        return {name: _in_order(feature, rule) for name, feature in mine.items()}
    fixed = [name for name in mine if not mine[name].actionable and hint_of(name) is not None]
    if fixed:
        for name in mine:
            if mine[name].actionable:
                why[name] += f" It is encoded together with {fixed[0]}, which people cannot change."
        return {name: _changed(feature, actionable=False) for name, feature in mine.items()}
    if not isinstance(rule, OneHot):
        return mine
    for name in mine:
        if mine[name].direction != "both":
            why[name] += " One of several dummies has no direction; an ordinal constraint could say that all rise."
    return {name: _changed(feature, direction="both") for name, feature in mine.items()}


def _in_order(feature: Feature, rule: Reachability) -> Feature:
    if feature.kind != "categorical":
        return feature
    index = rule.names.index(feature.name)
    return _changed(feature, values=tuple(pair[index] for pair in rule.values))


def _tell_order(features: Mapping[str, Feature], rules: Sequence[Constraint], why: dict[str, str]) -> None:
    """For categories that only rise, say what order they are in, or that a person should put them in one."""
    ordered = {name for rule in rules if isinstance(rule, Reachability) for name in rule.names}
    for name, feature in features.items():
        hint = hint_of(name)
        if hint is not None and hint.rises and feature.kind == "categorical" and feature.actionable:
            if name in ordered:
                why[name] += " The categories are ordered by a column that rises with them."
            else:
                why[name] += " Put the categories in order, and set direction to up."


def _nothing_left(left: Mapping[str, str]) -> str:
    first = "; ".join(f"{name!r} {reason}" for name, reason in list(left.items())[:3])
    return f"expected columns that can be features (numbers, truth values or texts), but got: {first}"
