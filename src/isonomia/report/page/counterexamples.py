"""Counterexamples on the page.

A value from outside as a short text, and several side by side with the stretch that differs.

Counterexamples as people read them: records side by side, what differs first.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isonomia.records.display.words import brief, cut, visible
from isonomia.records.verdict import Verdict
from isonomia.report.page.meaning import Limits

__all__ = ["Case", "Cell", "Line", "cases_of", "cells_of", "left_out_cases", "value_text"]


_AROUND = 60
"""Characters shown before and after the stretch in which two long texts differ."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A value: what comes before the stretch that differs, the stretch, and what comes after it.

    Attributes
    ----------
    before, changed, after
        The three parts; all in ``before`` for a value that is as in the first record.
    differs
        Whether it is not as in the first record.
    """

    before: str
    changed: str = ""
    after: str = ""
    differs: bool = False

    @property
    def size(self) -> int:
        """How many characters it has."""
        return len(self.before) + len(self.changed) + len(self.after)


def value_text(value: Any, most: int) -> str:
    """A value as people read it: a text as it is, a number short, a list by its beginning; cut with a word."""
    return visible(cut(_plain(value, most), most))


def cells_of(values: Sequence[Any], most: int) -> tuple[Cell, ...]:
    """The values of one feature in several records, each compared with the first."""
    first = values[0]
    return tuple(
        Cell(value_text(value, most)) if place == 0 or _same(first, value) else _changed(first, value, most)
        for place, value in enumerate(values)
    )


def _changed(first: Any, value: Any, most: int) -> Cell:
    """Mark what differs: a stretch of a text, or the value as a whole."""
    if not (isinstance(first, str) and isinstance(value, str) and max(len(first), len(value)) > _AROUND):
        return Cell("", value_text(value, most), "", True)
    head = _common(first, value)
    tail = _common(first[head:][::-1], value[head:][::-1])
    stop = len(value) - tail
    before = value[:head] if head <= _AROUND else f"… {value[head - _AROUND : head]}"
    after = value[stop:] if tail <= _AROUND else f"{value[stop : stop + _AROUND]} …"
    return Cell(visible(before), visible(cut(value[head:stop], most)) or "∅", visible(after), True)


def _common(left: str, right: str) -> int:
    """How long the common beginning of two texts is, by halving."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if left[low:middle] == right[low:middle] else (low, middle - 1)
    return low


def _plain(value: Any, most: int) -> str:
    match value:
        case str():
            return value
        case bool() | None:
            return {True: "yes", False: "no", None: "missing"}[value]
        case float():
            return brief(value)
        case int():
            return str(value) if value.bit_length() < 1_000 else f"a whole number of {value.bit_length():,} bits"
        case _:
            short = reprlib.Repr()
            short.maxlist = short.maxtuple = short.maxdict = short.maxset = 12
            short.maxstring = short.maxother = most
            return short.repr(value)


def _same(left: Any, right: Any) -> bool:
    """Whether two values are the same; 3 and 3.0 are, two missing numbers are, 1 and "1" or yes are not."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    numbers = isinstance(left, int | float) and isinstance(right, int | float)
    return (numbers or type(left) is type(right)) and (left == right or (left != left and right != right))


@dataclass(frozen=True, slots=True)
class Line:
    """A feature or an output, with its value in each record."""

    name: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """One counterexample.

    Attributes
    ----------
    title
        What happens in it, in a line.
    columns
        The records that stand side by side.
    differs, same
        The features whose values differ, and the others.
    outputs
        What the model answered, by name.
    notes
        What there is to say besides.
    """

    title: str
    columns: tuple[str, ...]
    differs: tuple[Line, ...]
    same: tuple[Line, ...]
    outputs: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """About how many characters it takes on the page."""
        lines = (*self.differs, *self.same)
        return len(self.title) + sum(
            120 + len(line.name) + sum(60 + cell.size for cell in line.cells) for line in lines
        )


def cases_of(verdict: Verdict, limits: Limits) -> tuple[Case, ...]:
    """The first counterexamples, as many as there is room for; at least one where there is one."""
    found: list[Case] = []
    room = limits.case_characters
    for case in _rendered(verdict, limits):
        room -= case.size
        if found and (room < 0 or len(found) == limits.cases):
            break
        found.append(case)
    return tuple(found)


def left_out_cases(verdict: Verdict, shown: int) -> str:
    """A word on the counterexamples that are not shown; empty where all are."""
    whole = len(list(_grouped(verdict.counterexamples)))
    if whole <= shown:
        return ""
    return f"Cut: {shown:,} of {whole:,} counterexamples are shown here; the record has them all."


def _rendered(verdict: Verdict, limits: Limits) -> Iterator[Case]:
    for group in _grouped(verdict.counterexamples):
        first = group[0]
        if "differs" in first and "inputs" in first:
            yield _safety_case(first, verdict.population, limits)
        elif "person" in first and "point" in first:
            yield _person_case(group, limits)
        else:
            yield _any_case(first, limits)


def _grouped(found: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """One group a counterexample; the points of one person, which lie together, in one."""
    group: list[Mapping[str, Any]] = []
    for item in found:
        if group and ("person" not in item or item["person"] != group[0].get("person")):
            yield group
            group = []
        group.append(item)
    if group:
        yield group


def _safety_case(found: Mapping[str, Any], population: Mapping[str, Any], limits: Limits) -> Case:
    inputs, differs = found["inputs"], found["differs"]
    first = next(iter(inputs))
    columns = [*inputs, *(name for name in differs if name not in inputs)]
    base = inputs[first] if isinstance(inputs[first], Mapping) else {"value": inputs[first]}
    records = {name: _record(name, base, found) for name in columns}
    features = [*dict.fromkeys([*(key for changes in differs.values() for key in changes), *base])]
    what = str(population.get("what", "row"))
    heads = tuple(
        f"{name} ({what} {found['rows'][name]})" if name in found.get("rows", {}) else f"{name} (changed)"
        for name in columns
    )
    told = [f"Must be true, but is not: {text}" for text in found.get("violates", ())]
    if population.get("kind") == "domain" and found.get("choices"):
        told.append(f"Chosen at random: {', '.join(_brief(choice) for choice in found['choices'][:20])}")
    if found.get("minimal"):
        told.append("No smaller change of this input was found to break the claim.")
    return _case(_safety_title(found, what, limits), heads, features, records, limits, _outputs(found, limits), told)


def _record(name: str, base: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """A record feature by feature: an input as it is, another as the first with its differences.

    What the record says of a difference goes first: of an image it has words, where the input has all the numbers.
    """
    inputs, differs = found["inputs"], found["differs"]
    if name == next(iter(inputs)):
        return dict(base) | {key: change[0] for changes in differs.values() for key, change in changes.items()}
    own = inputs.get(name)
    told = {key: change[1] for key, change in differs.get(name, {}).items()}
    return (dict(own) if isinstance(own, Mapping) else dict(base)) | told


def _safety_title(found: Mapping[str, Any], what: str, limits: Limits) -> str:
    """Which inputs, what was changed of the first, and what the model said."""
    rows, inputs = found.get("rows", {}), found["inputs"]
    made = {name: changes for name, changes in found["differs"].items() if name not in inputs} or found["differs"]
    changes = [pair for changes in made.values() for pair in changes.items()]
    as_it_was = {f"as in {what} {number}" for number in rows.values()}
    told = ", ".join(_change(key, change[0], change[1], as_it_was) for key, change in changes[:3])
    more = f" and {len(changes) - 3:,} more" if len(changes) > 3 else ""
    where = ", ".join(f"{what} {number}" for number in rows.values())
    answers = ", ".join(f"{name} = {_brief(value)}" for name, value in found.get("outputs", {}).items())
    return value_text(f"{where}: {told or 'nothing changed'}{more}; {answers}", limits.value)


def _change(key: str, before: Any, after: Any, as_it_was: set[str]) -> str:
    if isinstance(before, str) and before in as_it_was:
        return f"{key}: {_brief(after)}"
    return f"{key} {_brief(before)} → {_brief(after)}"


def _outputs(found: Mapping[str, Any], limits: Limits) -> tuple[tuple[str, str], ...]:
    return tuple((str(name), value_text(value, limits.value)) for name, value in found.get("outputs", {}).items())


def _person_case(points: Sequence[Mapping[str, Any]], limits: Limits) -> Case:
    first = points[0]
    looked = f"{first['looked_at']:,} {'points in reach' if first['every'] else 'points drawn from those in reach'}"
    if first["point"] is None:
        return Case(f"row {first['person']}: none of {looked} reaches the target", (), (), ())
    told = ", ".join(f"{key} {_brief(old)} → {_brief(new)}" for key, (old, new) in first["changed"].items())
    title = (
        f"row {first['person']}: {told or 'as they are'}; the target is reached at {first['reaching']:,} of {looked}"
    )
    now = {key: old for item in points for key, (old, _) in item["changed"].items()}
    records = {"now": {**first["point"], **now}} | {
        f"nearest {place}": dict(item["point"]) for place, item in enumerate(points, start=1)
    }
    features = [*now, *(key for key in first["point"] if key not in now)]
    outputs = tuple(
        (f"nearest {place}", value_text(item["prediction"], limits.value))
        for place, item in enumerate(points, start=1)
        if "prediction" in item
    )
    return _case(value_text(title, limits.value), tuple(records), features, records, limits, outputs, [])


def _any_case(found: Mapping[str, Any], limits: Limits) -> Case:
    """A counterexample of a kind that this version does not know: its values by name."""
    title = value_text(", ".join(f"{key} {_brief(value)}" for key, value in [*found.items()][:4]), limits.value)
    return _case(title, ("value",), [*found], {"value": dict(found)}, limits, (), [])


def _case(
    title: str,
    heads: tuple[str, ...],
    features: Sequence[str],
    records: Mapping[str, Mapping[str, Any]],
    limits: Limits,
    outputs: tuple[tuple[str, str], ...],
    notes: list[str],
) -> Case:
    shown = features[: limits.features]
    lines = [
        Line(value_text(key, limits.value), cells_of([record.get(key) for record in records.values()], limits.value))
        for key in shown
    ]
    if len(shown) < len(features):
        notes.append(f"Cut: {len(shown):,} of {len(features):,} features are shown here; the record has them all.")
    differs = tuple(line for line in lines if any(cell.differs for cell in line.cells))
    same = tuple(line for line in lines if not any(cell.differs for cell in line.cells))
    return Case(title, heads, differs, same, outputs, tuple(value_text(note, 600) for note in notes))


def _brief(value: Any) -> str:
    return value_text(value, 40)
