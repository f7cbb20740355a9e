"""Counterexamples on the page: records side by side, with differing features first and the difference marked.

How much of a record a page shows is limited, so that it opens at once whatever the record holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from isonomia.records.display.view import CounterexampleView, view_of
from isonomia.records.verdict import Verdict
from isonomia.wording import excerpt, value_text, visible

_ALL_CASES = 1_500_000
"""Characters of counterexamples on a page, over all its properties."""


@dataclass(frozen=True, slots=True)
class PageLimits:
    """How much a page shows of one property; it says in words what is left out."""

    cases: int = 10  # counterexamples
    case_characters: int = 200_000  # characters of all its counterexamples together
    features: int = 60  # features of a counterexample, those that differ first
    value: int = 300  # characters of a value
    rows: int = 60  # rows of a chart and of its table
    points: int = 400  # points of the chart of how an interval narrowed
    notes: int = 40  # remarks, and assumptions
    text: int = 6_000  # characters of the property's text


def limits_for(properties: int) -> PageLimits:
    """The limits of a page for this many properties: the more there are, the less of each."""
    share = _ALL_CASES // max(properties, 1)
    if properties <= 50:
        return PageLimits(case_characters=min(share, 200_000))
    if properties <= 300:
        return PageLimits(cases=5, case_characters=share, features=30, rows=30, points=120, notes=20, text=3_000)
    return PageLimits(cases=3, case_characters=share, features=12, value=120, rows=12, points=25, notes=10, text=1_200)


@dataclass(frozen=True, slots=True)
class FeatureLine:
    """A feature or an output, with its value in each record."""

    name: str
    cells: tuple[ValueCell, ...]


@dataclass(frozen=True, slots=True)
class RecordComparison:
    """One counterexample: records side by side, features that differ before the others, and what the model answered."""

    title: str
    columns: tuple[str, ...]
    differs: tuple[FeatureLine, ...]
    same: tuple[FeatureLine, ...]
    outputs: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """About how many characters it takes on the page."""
        lines = (*self.differs, *self.same)
        return len(self.title) + sum(
            120 + len(line.name) + sum(60 + cell.size for cell in line.cells) for line in lines
        )


def cases_of(verdict: Verdict, limits: PageLimits) -> tuple[tuple[RecordComparison, ...], str]:
    """The first counterexamples, as many as there is room for and at least one; and a note on the others."""
    views = view_of(verdict).cases(verdict)
    cases: list[RecordComparison] = []
    room = limits.case_characters
    for view in views:
        case = _case(view, limits)
        room -= case.size
        if cases and (room < 0 or len(cases) == limits.cases):
            break
        cases.append(case)
    if len(cases) == len(views):
        return tuple(cases), ""
    cut = f"Cut: {len(cases):,} of {len(views):,} counterexamples are shown here; the record has them all."
    return tuple(cases), cut


def _case(view: CounterexampleView, limits: PageLimits) -> RecordComparison:
    features = _features(view)
    lines = [
        FeatureLine(
            value_text(name, limits.value),
            cells_of([record.values.get(name) for record in view.records], limits.value),
        )
        for name in features[: limits.features]
    ]
    notes = [*_notes(view)]
    if len(lines) < len(features):
        notes.append(f"Cut: {len(lines):,} of {len(features):,} features are shown here; the record has them all.")
    return RecordComparison(
        title=value_text(view.title, limits.value) if view.records else view.title,
        columns=tuple(record.head for record in view.records),
        differs=tuple(line for line in lines if any(cell.differs for cell in line.cells)),
        same=tuple(line for line in lines if not any(cell.differs for cell in line.cells)),
        outputs=tuple((name, value_text(value, limits.value)) for name, value in view.outputs),
        notes=tuple(value_text(note, 600) for note in notes),
    )


def _features(view: CounterexampleView) -> list[str]:
    """Every feature, those that differ first."""
    differing = [name for record in view.records for name in record.changes or ()]
    return [*dict.fromkeys([*differing, *(view.records[0].values if view.records else ())])]


def _notes(view: CounterexampleView) -> Iterator[str]:
    yield from (f"Must be true, but is not: {text}" for text in view.violates)
    yield from view.notes
    if view.choices:
        yield f"Chosen at random: {', '.join(value_text(choice, 40) for choice in view.choices[:20])}"
    if view.minimal:
        yield "No smaller change of this input was found that violates the claim."


_AROUND = 60
"""Characters shown before and after the stretch in which two long texts differ."""


@dataclass(frozen=True, slots=True)
class ValueCell:
    """A value: what comes before the stretch that differs from the first record, the stretch, and what comes after it.

    A value that is the same as in the first record is all in ``before``.
    """

    before: str
    changed: str = ""
    after: str = ""
    differs: bool = False

    @property
    def size(self) -> int:
        """How many characters it has."""
        return len(self.before) + len(self.changed) + len(self.after)


def cells_of(values: Sequence[Any], limit: int) -> tuple[ValueCell, ...]:
    """The values of one feature in several records, each compared with the first."""
    first = values[0]
    return tuple(
        ValueCell(value_text(value, limit)) if index == 0 or _same(first, value) else _changed(first, value, limit)
        for index, value in enumerate(values)
    )


def _changed(first: Any, value: Any, limit: int) -> ValueCell:
    """Mark what differs: a stretch of a text, or the value as a whole."""
    if not (isinstance(first, str) and isinstance(value, str) and max(len(first), len(value)) > _AROUND):
        return ValueCell("", value_text(value, limit), "", True)
    head = _common(first, value)
    tail = _common(first[head:][::-1], value[head:][::-1])
    stop = len(value) - tail
    before = value[:head] if head <= _AROUND else f"… {value[head - _AROUND : head]}"
    after = value[stop:] if tail <= _AROUND else f"{value[stop : stop + _AROUND]} …"
    return ValueCell(visible(before), visible(excerpt(value[head:stop], limit)) or "∅", visible(after), True)


def _common(left: str, right: str) -> int:
    """The length of the common prefix of two texts."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((index for index, (one, other) in pairs if one != other), min(len(left), len(right)))


def _same(left: Any, right: Any) -> bool:
    """Whether two values are the same: 3 and 3.0 are, and two NaNs; 1 and "1", or 1 and true, are not."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    numbers = isinstance(left, int | float) and isinstance(right, int | float)
    return (numbers or type(left) is type(right)) and (left == right or (left != left and right != right))
