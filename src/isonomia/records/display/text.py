"""A verdict as plain text: alone, and as the message of a failing test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

from isonomia.records.display.view import (
    ASSUMPTIONS,
    CounterexampleView,
    Rates,
    RecordView,
    TableBlock,
    answer_line,
    draws,
    guarantee,
    interval,
    level,
    quantities,
    rows,
    seed_note,
    shown_findings,
    unit,
    view_of,
)
from isonomia.records.verdict import Expression, LeafRecord, Verdict
from isonomia.wording import (
    alongside,
    brief,
    capitalised,
    excerpt,
    number,
    on_one_line,
    shortened,
    visible,
)

WIDTH = 92
"""The longest line of a failure; with the prefix of test runners it stays within 100 columns."""

MAX_QUANTITIES, MAX_LINES, MAX_NOTES, MAX_FEATURES = 4, 24, 12, 12
"""The most quantities, lines of the property, lines of notes, and differing features shown; the verdict has all."""

_HEADLINE = 68
"""The longest first line, which follows the name of the error."""

_NARROW, _WIDE = 30, 300
"""The maximum number of characters of a value in a column, and of one on its own lines."""

_INDENT = "    "
_INSIDE = WIDTH - len(_INDENT)


def as_text(verdict: Verdict) -> str:
    """The verdict as plain text, in characters that every terminal has."""
    title = f"{verdict.answer.upper()}: {verdict.name + ': ' if verdict.name else ''}{verdict.text}"
    about = [answer_line(verdict), guarantee(verdict), *finding_lines(verdict), *note_lines(verdict)]
    return "\n".join([title, *(f"  {line}" for line in about)])


def finding_lines(verdict: Verdict, limit: int | None = None) -> list[str]:
    """The findings as tables: compared quantities and rates, at most ``limit`` of them, and those of the audit."""
    table, of = rows(verdict), " rows" if unit(verdict) == "rows" else ""
    shown = table[:limit]
    widths = [max((len(row[k]) for row in shown), default=0) for k in range(4)]
    lines = []
    for text, estimate, ends, n in shown:
        draws = f"   n = {n}{of}" if n else ""
        lines.append(f"  {text:<{widths[0]}}   {estimate:>{widths[1]}}   {ends:<{widths[2]}}{draws}".rstrip())
    more = len(table) - len(shown)
    omitted = shown_findings(verdict)[2]
    lines += [f"  and {omitted:,} more comparisons; verdict.groups has them"] if omitted and not more else []
    lines += [f"  and {more:,} more; the verdict has them"] if more else []
    lines += [level(verdict)] if table and level(verdict) else []
    for block in view_of(verdict).blocks(verdict):
        if isinstance(block, TableBlock):
            cells = [block.headings, *block.rows[:limit]]
            lines += [block.title, *(f"  {line}" for line in _table_lines(cells))]
    return lines


def note_lines(verdict: Verdict) -> list[str]:
    """Assumptions, and what else a reader should know."""
    assumed = [f"assumes that {item}" for item in verdict.assumptions]
    remarks = [f"note: {item}" for item in (*verdict.remarks, *filter(None, [seed_note(verdict)]))]
    return [*assumed, *([ASSUMPTIONS] if assumed else []), *remarks]


def _table_lines(table: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(f"{cell:<{size}}" for cell, size in zip(row, widths, strict=True)).rstrip() for row in table]


# ----------------------------------------------------------------------------------------------------- counterexamples


def counterexample_lines(shown: CounterexampleView, width: int) -> list[str]:
    """A counterexample as lines of at most ``width``: short values in columns, long ones each below its feature."""
    records, features = _compared_records(shown)
    lines = wrap(shown.sentence, width)
    heads = [_word(record.head) for record in records]
    some = features[:MAX_FEATURES]
    short = [item for item in some if all(len(value) <= _NARROW for value in item[1])]
    widths = [max(len(row[k]) for row in (heads, *(values for _, values in short))) for k in range(len(heads))]
    label = min(max((len(name) for name, _ in short), default=0), _NARROW)
    if label + sum(widths) + 2 * len(widths) > width:
        short = []
    for name, values in [("", heads), *short] if short else []:
        cells = "  ".join(f"{value:<{size}}" for value, size in zip(values, widths, strict=True))
        lines.append(f"{shortened(name, label):<{label}}  {cells}".rstrip())
    for name, values in some:
        if (name, values) not in short:
            lines += _stacked(name, heads, values, width)
    more = len(features) - len(some)
    lines += [f"and {more:,} more features that differ"] if more > 0 else []
    return lines + [line for note in _case_notes(shown) for line in wrap(note, width, subsequent_indent="  ")]


def _compared_records(shown: CounterexampleView) -> tuple[list[RecordView], list[tuple[str, list[str]]]]:
    """The records that differ, and the features in which they do; a single record shows all of its features."""
    if len(shown.records) == 1:
        (alone,) = shown.records
        return [alone], [(_word(name), [_value(value)]) for name, value in alone.values.items()]
    others = [record for record in shown.records if record.changes]
    features: dict[str, list[Any]] = {}
    for index, record in enumerate(others, start=1):
        for feature, (before, after) in (record.changes or {}).items():
            features.setdefault(feature, [before] * (len(others) + 1))[index] = after
    return [*shown.records[:1], *others], [(_word(name), _values(shown, line)) for name, line in features.items()]


def _stacked(name: str, heads: Sequence[str], values: Sequence[str], width: int) -> list[str]:
    lines = wrap(name, width) or [""]
    for head, value in zip(heads, values, strict=True):
        lines += wrap(f"{head}: {value}", width, initial_indent="  ", subsequent_indent="    ")
    return lines


def _case_notes(shown: CounterexampleView) -> list[str]:
    """What is the same, what was chosen, what the model said, and what should have been true."""
    same = [record.name for record in shown.records if record.changes is not None and not record.changes]
    notes = []
    if same:
        does = "are" if len(same) > 1 else "is"
        notes.append(f"{', '.join(same)} {does} the same record as {shown.records[0].name}")
    notes += shown.notes
    if shown.choices:
        notes.append(f"chosen at random: {', '.join(map(_value, shown.choices[:20]))}")
    notes += [f"where {_named(shown.variables)}"] if shown.variables else []
    notes += [f"the model said: {_named(dict(shown.outputs))}"] if shown.outputs else []
    return notes + [f"not true: {_word(text)}" for text in shown.violates]


def _named(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{_word(name)} = {_value(value)}" for name, value in values.items())


def _values(shown: CounterexampleView, values: Sequence[Any]) -> list[str]:
    """The values of a feature, or the domain's description in words, as for an image."""
    first, *others = values
    if shown.is_described(first):
        return ["as it was", *("as it was" if other == first else _word(other) for other in others)]
    return [visible(excerpt(text, _WIDE)) for text in alongside(values)]


def _value(value: Any) -> str:
    """A value as people read it, in which text differs from numbers; without control characters."""
    return visible(excerpt(brief(value), _WIDE))


def _word(text: Any) -> str:
    return visible(excerpt(" ".join(str(text).split()), _WIDE))


# ------------------------------------------------------------------------------------------------------------ failures


def headline(verdict: Verdict) -> str:
    """The answer and its property, in one line."""
    return shortened(f"{verdict.answer}: {on_one_line(verdict.name or verdict.text)}", _HEADLINE)


def failure_text(verdict: Verdict, repeat: str | None = None) -> str:
    """Why an asserted property does not hold, for a person who reads the log of a test run.

    Plain text without control characters; no line is longer than ``WIDTH``, except for the command that repeats it.
    """
    lines = [headline(verdict), *wrap(f"{capitalised(answer_line(verdict))}. {guarantee(verdict)}", WIDTH)]
    lines += _part("property", _property_lines(verdict))
    lines += _part("known so far" if verdict.answer == "undecided" else "found", _found_lines(verdict))
    lines += _smallest_counterexample(verdict)
    lines += _part("notes", _notes(verdict))
    lines += _part("to repeat it", [f"seed={verdict.seed}, delta={verdict.delta!r}", *([repeat] if repeat else [])])
    return "\n".join(lines)


def _part(title: str, lines: list[str]) -> list[str]:
    return ["", title, *(f"{_INDENT}{line}".rstrip() for line in lines)] if lines else []


def _property_lines(verdict: Verdict) -> list[str]:
    lines: list[str] = []
    for line in visible(verdict.text).split("\n"):
        indent = " " * (len(line) - len(line.lstrip()))
        lines += wrap(line, _INSIDE, initial_indent="", subsequent_indent=f"{indent}  ", drop_whitespace=True)
    return _limited(lines, MAX_LINES)


def _found_lines(verdict: Verdict) -> list[str]:
    """What was counted, then the compared quantities with their thresholds, those that settle the answer first."""
    tally = view_of(verdict).tally(verdict)
    wanted = False if verdict.answer == "violated" else None
    items = [item for item in quantities(verdict) if item.estimate is not None or not verdict.counterexamples]
    ordered = sorted(items, key=lambda item: item.settled is not wanted)
    lines = [line for item in ordered[:MAX_QUANTITIES] for line in _quantity_lines(item)]
    more = len(ordered) - MAX_QUANTITIES
    lines += [f"and {more:,} more quantities; the verdict has them"] if more > 0 else []
    rates = _rate_lines(verdict)
    return [*([tally] if tally else []), *lines, *rates, *(wrap(level(verdict), _INSIDE) if lines or rates else [])]


def _quantity_lines(item: Expression) -> list[str]:
    known = "it has no estimate" if item.estimate is None else f"{number(item.estimate)} in {interval(item)}"
    return [
        *_limited(wrap(on_one_line(item.text), _INSIDE), 4),
        f"  {known}; it must be {item.relation} {number(item.threshold)}",
    ]


def _rate_lines(verdict: Verdict) -> list[str]:
    """The rates that a compared quantity is made of, unless they are that quantity itself."""
    texts = {item.text for item in quantities(verdict)}
    blocks = view_of(verdict).blocks(verdict)
    leaves = [leaf for block in blocks if isinstance(block, Rates) for leaf in block.items if leaf.text not in texts]
    if len(leaves) > MAX_QUANTITIES:
        return []
    texts_of_rates = [
        f"{on_one_line(item.text)}: {number(item.estimate)} in {interval(item)}{_n(item)}" for item in leaves
    ]
    return [line for each in texts_of_rates for line in wrap(each, _INSIDE, subsequent_indent="  ")]


def _n(item: LeafRecord) -> str:
    return f", n = {draws(item)}" if draws(item) else ""


def _smallest_counterexample(verdict: Verdict) -> list[str]:
    """The smallest counterexample in full, and the number of others."""
    if not verdict.counterexamples:
        return []
    view = view_of(verdict)
    count = len(view.cases(verdict))
    title = "counterexample" if count == 1 else f"counterexample 1 of {count:,}, the {view.superlative} of them"
    smallest = min(verdict.counterexamples, key=view.size)
    return _part(title, counterexample_lines(view.counterexample(verdict, smallest), _INSIDE))


def _notes(verdict: Verdict) -> list[str]:
    notes = [line for item in verdict.remarks for line in wrap(on_one_line(item), _INSIDE, subsequent_indent="  ")]
    if len(verdict.counterexamples) > 1:
        notes.append("the error's verdict.counterexamples has the others")
    if verdict.answer == "undecided":
        notes.append(
            "more people or a larger budget may decide it; delta is chosen before the first look and must not change"
        )
        notes.append("undecided='pass' or undecided='skip' accepts an undecided property")
    return _limited(notes, MAX_NOTES)


def _limited(lines: list[str], limit: int) -> list[str]:
    return lines if len(lines) <= limit else [*lines[: limit - 1], f"... and {len(lines) - limit + 1:,} more lines"]
