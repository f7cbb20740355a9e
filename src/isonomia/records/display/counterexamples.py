"""A counterexample as plain text: its records side by side, what differs, and what the model said."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import wrap
from typing import Any

from isonomia.records.display.words import alongside, brief, cut, cut_short, visible

__all__ = ["Comparison", "comparison_of", "lines_of"]

MOST_FEATURES = 12
"""Features that differ and are shown; the verdict has all."""

_NARROW, _WIDE = 30, 300
"""The most characters of a value in a column, and of one that has lines of its own."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Records side by side.

    Attributes
    ----------
    title
        What happens in it, in a line.
    heads
        What the records are.
    features
        The features whose values differ: name, and a value for each record.
    notes
        What the model said, and what should have been.
    """

    title: str
    heads: tuple[str, ...] = ()
    features: tuple[tuple[str, tuple[str, ...]], ...] = ()
    notes: tuple[str, ...] = field(default=())


def comparison_of(found: Mapping[str, Any], population: Mapping[str, Any]) -> Comparison:
    """A counterexample of any kind, as records that are compared."""
    if "differs" in found and "inputs" in found:
        return _runs(found, population)
    if "person" in found and "point" in found:
        return _person(found)
    told = tuple((_word(key), (_value(value),)) for key, value in found.items())
    return Comparison("", ("value",), told)


def lines_of(shown: Comparison, width: int) -> list[str]:
    """The comparison as lines of at most a width: short values in columns, long ones each below its feature."""
    lines = wrap(shown.title, width)
    features = shown.features[:MOST_FEATURES]
    short = [item for item in features if all(len(value) <= _NARROW for value in item[1])]
    table = [("", shown.heads), *short]
    widths = [max(len(row[1][k]) for row in table) for k in range(len(shown.heads))]
    label = min(max((len(name) for name, _ in short), default=0), _NARROW)
    if label + sum(widths) + 2 * len(widths) > width:
        short, table = [], []
    for name, values in table if short else []:
        cells = "  ".join(f"{value:<{size}}" for value, size in zip(values, widths, strict=True))
        lines.append(f"{cut_short(name, label):<{label}}  {cells}".rstrip())
    for name, values in features:
        if (name, values) not in short:
            lines += _stacked(name, shown.heads, values, width)
    more = len(shown.features) - len(features)
    lines += [f"and {more:,} more features that differ"] if more > 0 else []
    return lines + [line for note in shown.notes for line in wrap(note, width, subsequent_indent="  ")]


def _stacked(name: str, heads: Sequence[str], values: Sequence[str], width: int) -> list[str]:
    lines = wrap(name, width) or [""]
    for head, value in zip(heads, values, strict=True):
        lines += wrap(f"{head}: {value}", width, initial_indent="  ", subsequent_indent="    ")
    return lines


def _runs(found: Mapping[str, Any], population: Mapping[str, Any]) -> Comparison:
    """The runs of a k-safety case: each input, and each record that was made of one and is not the same."""
    inputs, differs, rows = found["inputs"], found["differs"], found.get("rows", {})
    what = str(population.get("what", "row"))
    first, others = next(iter(inputs)), [name for name in differs if differs[name]]
    same = [name for name in differs if not differs[name]]
    as_it_was = {f"as in {what} {number}" for number in rows.values()}
    values: dict[str, list[Any]] = {}
    for place, name in enumerate(others, start=1):
        for feature, (before, after) in differs[name].items():
            values.setdefault(feature, [before] * (len(others) + 1))[place] = after
    features = {_word(name): _told(line, as_it_was) for name, line in values.items()}
    heads = [f"{name} ({what} {rows[name]})" if name in rows else f"{name} (changed)" for name in (first, *others)]
    notes = [f"{', '.join(same)} {'are' if len(same) > 1 else 'is'} the same record as {first}"] if same else []
    if population.get("kind") == "domain" and found.get("choices"):
        notes.append(f"chosen at random: {', '.join(map(_value, found['choices'][:20]))}")
    notes += [f"where {_named(found['variables'])}"] if found.get("variables") else []
    notes.append(f"the model said: {_named(found['outputs'])}")
    notes += [f"not true: {_word(text)}" for text in found["violates"]]
    return Comparison("", tuple(map(_word, heads)), _items(features), tuple(notes))


def _person(found: Mapping[str, Any]) -> Comparison:
    """A person and the nearest point that has the target prediction, or the lack of one."""
    looked = f"{found['looked_at']:,} {'points in reach' if found['every'] else 'points drawn from those in reach'}"
    if found["point"] is None:
        return Comparison(f"the person in row {found['person']}: none of {looked} reaches the target")
    title = f"the person in row {found['person']} reaches the target at {found['reaching']:,} of {looked}"
    features = {_word(name): _told(pair) for name, pair in found["changed"].items()}
    notes = [] if features else ["nothing needs to change: the target is reached as they are"]
    notes += [f"the model said there: {_value(found['prediction'])}"] if "prediction" in found else []
    return Comparison(title, (f"row {found['person']}", "nearest"), _items(features), tuple(notes))


def _named(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{_word(name)} = {_value(value)}" for name, value in values.items())


def _items(features: Mapping[str, Sequence[str]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((name, tuple(values)) for name, values in features.items())


def _told(values: Sequence[Any], as_it_was: Collection[str] = ()) -> list[str]:
    """The values of a feature; where the domain says in words what a record was, as of an image, these words."""
    first, *others = values
    if isinstance(first, str) and first in as_it_was:
        return ["as it was", *("as it was" if other == first else _word(other) for other in others)]
    return [visible(cut(text, _WIDE)) for text in alongside(values)]


def _value(value: Any) -> str:
    """A value as people read it, so that text can be told from numbers; nothing in it moves the cursor."""
    return visible(cut(brief(value), _WIDE))


def _word(text: Any) -> str:
    return visible(cut(" ".join(str(text).split()), _WIDE))
