"""Why a property that was asserted does not hold, for a person who reads the log of a test run."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from isonomia.records.display.counterexamples import comparison_of, lines_of
from isonomia.records.display.words import (
    answer_line,
    cut_short,
    guarantee,
    interval,
    number,
    on_one_line,
    people_in_words,
    remarks_of,
    visible,
)

if TYPE_CHECKING:
    from isonomia.records.verdict import Expression, Verdict

__all__ = ["failure_text", "headline"]

WIDTH = 92
"""The longest line; with what test runners put in front it stays within 100 columns."""

MOST_COMPARED, MOST_LINES, MOST_NOTES = 4, 24, 12
"""Quantities, lines of the property and lines of notes that are shown; the verdict has all."""

_HEADLINE = 68
"""The longest first line, in front of which stands the name of the error."""

_INDENT = "    "


def headline(verdict: Verdict) -> str:
    """The answer in one line: what, and of which property."""
    told = f"{verdict.answer}: {on_one_line(verdict.name or verdict.text)}"
    return cut_short(told, _HEADLINE)


def failure_text(verdict: Verdict, repeat: str | None = None) -> str:
    """The whole message.

    Plain text without control characters, no line longer than ``WIDTH``, but for the command that repeats it.

    Parameters
    ----------
    verdict
        *violated* or *undecided*.
    repeat
        A command that repeats it, where there is one.
    """
    told = answer_line(verdict)
    lines = [headline(verdict), *wrap(f"{told[:1].upper()}{told[1:]}. {guarantee(verdict)}", WIDTH)]
    lines += _part("property", _property_lines(verdict))
    lines += _part("known so far" if verdict.answer == "undecided" else "found", _found_lines(verdict))
    lines += _counterexample_lines(verdict)
    lines += _part("notes", _notes(verdict))
    lines += _part("to repeat it", [f"seed={verdict.seed}, delta={verdict.delta!r}", *([repeat] if repeat else [])])
    return "\n".join(lines)


def _part(title: str, lines: list[str]) -> list[str]:
    return ["", title, *(f"{_INDENT}{line}".rstrip() for line in lines)] if lines else []


def _property_lines(verdict: Verdict) -> list[str]:
    found: list[str] = []
    for line in visible(verdict.text).split("\n"):
        indent = " " * (len(line) - len(line.lstrip()))
        found += wrap(line, _inside(), initial_indent="", subsequent_indent=f"{indent}  ", drop_whitespace=True)
    return _limited(found, MOST_LINES)


def _found_lines(verdict: Verdict) -> list[str]:
    """Estimate and interval of what is compared, against its threshold; what settles the answer first."""
    wanted = False if verdict.answer == "violated" else None
    told = [item for item in verdict.expressions if item.estimate is not None or not verdict.counterexamples]
    ordered = sorted(told, key=lambda item: item.settled is not wanted)
    lines = [line for item in ordered[:MOST_COMPARED] for line in _compared(item)]
    more = len(ordered) - MOST_COMPARED
    lines += [f"and {more:,} more quantities, which the verdict has"] if more > 0 else []
    return [*_people(verdict), *lines, *_rates(verdict)]


def _compared(item: Expression) -> list[str]:
    told = "nothing is known of it" if item.estimate is None else f"{number(item.estimate)} in {interval(item)}"
    return [
        *_limited(wrap(on_one_line(item.text), _inside()), 4),
        f"  {told}; it must be {item.relation} {number(item.threshold)}",
    ]


def _rates(verdict: Verdict) -> list[str]:
    """The rates that a compared quantity is made of, where they are not that quantity itself."""
    texts = {item.text for item in verdict.expressions}
    leaves = [item for item in verdict.leaves if item.text not in texts]
    if "audit" in verdict.details or len(leaves) > MOST_COMPARED:
        return []
    told = [f"{on_one_line(item.text)}: {number(item.estimate)} in {interval(item)}, n = {item.n:,}" for item in leaves]
    return [line for each in told for line in wrap(each, _inside(), subsequent_indent="  ")]


def _people(verdict: Verdict) -> list[str]:
    """How many people, or cases, go against it, where an audit counts them."""
    counts, violations = verdict.details.get("counts"), verdict.details.get("violations")
    if counts and "responsive" in counts:
        return [people_in_words(counts, verdict.details)]
    corners = verdict.details.get("corners", {"violating": 0})
    if violations and corners["violating"] and not violations["cases"]:
        does = "violates" if corners["violating"] == 1 else "violate"
        return [f"{corners['violating']:,} of {corners['tried']:,} corners, which lie at the ends of ranges, {does} it"]
    if violations and violations["cases"]:
        tested, inputs = verdict.details["cases"]["tested"], violations["inputs"]
        of = f"{inputs:,} input{'' if inputs == 1 else 's'}"
        return [f"{violations['cases']:,} of {tested:,} cases violate it, of {of}"]
    return []


def _counterexample_lines(verdict: Verdict) -> list[str]:
    """The smallest one in full, and a word on the others."""
    found = verdict.counterexamples
    if not found:
        return []
    title = "counterexample" if len(found) == 1 else f"counterexample 1 of {len(found):,}, the smallest of them"
    if "person" in found[0]:
        people = len({item["person"] for item in found})
        title = "counterexample" if people == 1 else f"counterexample 1 of {people:,}, the clearest of them"
    smallest = min(found, key=_size)
    return _part(title, lines_of(comparison_of(smallest, verdict.population), _inside()))


def _size(found: Mapping[str, Any]) -> tuple[float, float]:
    """How much was changed, where that is counted; the order of the verdict decides elsewhere."""
    return found.get("features_changed", 0), (found.get("distance") or 0.0) if "features_changed" in found else 0.0


def _notes(verdict: Verdict) -> list[str]:
    told = [line for item in remarks_of(verdict) for line in wrap(on_one_line(item), _inside(), subsequent_indent="  ")]
    if len(verdict.counterexamples) > 1:
        told.append("the error's verdict.counterexamples has the others")
    if verdict.answer == "undecided":
        told.append("more people, a larger budget or a larger delta may decide it")
        told.append("undecided='pass' or undecided='skip' accepts that nothing is known")
    return _limited(told, MOST_NOTES)


def _limited(lines: list[str], most: int) -> list[str]:
    return lines if len(lines) <= most else [*lines[: most - 1], f"... and {len(lines) - most + 1:,} more lines"]


def _inside() -> int:
    return WIDTH - len(_INDENT)
