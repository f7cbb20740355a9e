"""What came of the properties of a whole test run, on the terminal and in pytest's JUnit file.

Verdicts travel as properties of their test, which pytest writes into JUnit and pytest-xdist brings from its workers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isonomia.records.verdict import Verdict

__all__ = ["user_property", "write_summary"]

PROPERTY = "isonomia"
"""What such a property of a test is called."""

_SIGNIFICANT = ("answer", "samples", "counted", "risk", "delta", "method", "seed", "stopped")
_LONGEST_NAME = 48


def user_property(verdict: Verdict, trouble: str | None) -> tuple[str, str]:
    """A verdict as a property of its test: JSON, without counterexamples, which can be long.

    ``trouble`` says why known counterexamples could not be read or written.
    """
    from isonomia.records.display.words import cost
    from isonomia.wording import on_one_line

    content = {
        "property": on_one_line(verdict.name or verdict.text),
        "cost": cost(verdict),
        **{key: getattr(verdict, key) for key in _SIGNIFICANT},
    }
    return PROPERTY, json.dumps({**content, "trouble": trouble}, ensure_ascii=False)


def write_summary(reporter: Any) -> None:
    """Write a line for each property that was checked; nothing where none was."""
    verdicts = list(_verdicts(reporter))
    if not verdicts:
        return
    reporter.section("properties")
    rows = [_row(verdict) for verdict in verdicts]
    widths = [max(len(row[k]) for row in rows) for k in range(3)]
    colours = {"holds": {"green": True}, "violated": {"red": True}, "undecided": {"yellow": True}}
    for verdict, (answer, name, cost, risk) in zip(verdicts, rows, strict=True):
        reporter.write(f"{answer:<{widths[0]}}", **colours[verdict["answer"]])
        reporter.write_line(f"  {name:<{widths[1]}}  {cost:>{widths[2]}}  {risk}")
    for trouble in dict.fromkeys(verdict["trouble"] for verdict in verdicts if verdict["trouble"]):
        reporter.write_line(f"note: known counterexamples were left aside: {trouble}")


def _verdicts(reporter: Any) -> Iterator[dict[str, Any]]:
    """Every verdict once: a test reports several times, the last time with all that it has."""
    longest: dict[str, list[str]] = {}
    for reports in reporter.stats.values():
        for report in reports:
            values = [value for name, value in getattr(report, "user_properties", ()) if name == PROPERTY]
            if values and len(values) >= len(longest.get(report.nodeid, ())):
                longest[report.nodeid] = values
    for node in sorted(longest):
        yield from map(json.loads, longest[node])


def _row(verdict: dict[str, Any]) -> tuple[str, str, str, str]:
    from isonomia.wording import chance, shortened

    risk = f"risk {chance(verdict['risk'])}" if verdict["risk"] else "exact"
    risk = "nothing claimed" if verdict["answer"] == "undecided" else risk
    return verdict["answer"], shortened(verdict["property"], _LONGEST_NAME), verdict["cost"], risk
