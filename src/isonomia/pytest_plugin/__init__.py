"""The pytest plugin: a property is a test like any other.

pytest loads it automatically wherever Isonomia is installed, so loading it must cost nothing: nothing heavy is imported
before a test needs it, and a suite that does not use it is left alone.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from isonomia.audits.context import TestContext, test_context
from isonomia.pytest_plugin.audit_files import MARKER, add_options, records_folder, seed_option, settings_of

if TYPE_CHECKING:
    from isonomia.pytest_plugin.audit_files import AuditFileTests
    from isonomia.records.verdict import Verdict

__all__: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options for the command line and the configuration."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and refuse an invalid seed before anything runs."""
    config.addinivalue_line("markers", MARKER)
    seed_option(config)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> AuditFileTests | None:
    """Collect an audit file as a file of tests, if the command line or the configuration names it."""
    if file_path.suffix != ".toml":
        return None
    from isonomia.pytest_plugin.audit_files import AuditFileTests, is_wanted

    return AuditFileTests.from_parent(parent, path=file_path) if is_wanted(file_path, parent) else None


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Give every assertion of a test, and of its fixtures, the settings of the test."""
    with test_context(_context_of(item)):
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Refuse a marker with unknown settings, before the test begins."""
    _, complaint = settings_of(item)
    if complaint is not None:
        pytest.fail(complaint, pytrace=False)


def _context_of(item: pytest.Item) -> TestContext:
    def tell(verdict: Verdict, trouble: str | None) -> None:
        item.user_properties.append(_user_property(verdict, trouble))

    def repeat(seed: int) -> str:
        return f"pytest {shlex.quote(item.nodeid)} --isonomia-seed {seed}"

    settings, _ = settings_of(item)
    return TestContext(settings, records_folder(item.config), pytest.skip, tell, repeat)


# ---------------------------------------------------------------------------------------------------------- the summary
# Verdicts travel as user properties of their test, which pytest writes to JUnit XML and pytest-xdist gets from workers.

USER_PROPERTY = "isonomia"
"""The name of this user property."""

_FIELDS = ("answer", "samples", "counted", "risk", "delta", "method", "seed", "stopped")
_MAX_NAME = 48


def _user_property(verdict: Verdict, trouble: str | None) -> tuple[str, str]:
    """A verdict as a user property of its test: JSON, without counterexamples, which can be long.

    ``trouble`` says why known counterexamples could not be read or written.
    """
    from isonomia.records.display.view import cost
    from isonomia.wording import on_one_line

    content = {"property": on_one_line(verdict.name or verdict.text), "cost": cost(verdict)}
    content |= {key: value for key, value in verdict.to_dict().items() if key in _FIELDS}
    return USER_PROPERTY, json.dumps({**content, "trouble": trouble}, ensure_ascii=False)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write a line for each property that was checked, if any."""
    verdicts, reporter = list(_verdicts(terminalreporter)), terminalreporter
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
        reporter.write_line(f"note: known counterexamples were ignored: {trouble}")


def _verdicts(reporter: pytest.TerminalReporter) -> Iterator[dict[str, Any]]:
    """Every verdict once: a test reports several times, the last time with all of them."""
    longest: dict[str, list[str]] = {}
    for reports in reporter.stats.values():
        for report in (each for each in reports if isinstance(each, pytest.TestReport)):
            values = [str(value) for name, value in report.user_properties if name == USER_PROPERTY]
            if values and len(values) >= len(longest.get(report.nodeid, ())):
                longest[report.nodeid] = values
    for node in sorted(longest):
        yield from map(json.loads, longest[node])


def _row(verdict: dict[str, Any]) -> tuple[str, str, str, str]:
    from isonomia.wording import chance, shortened

    risk = f"risk {chance(verdict['risk'])}" if verdict["risk"] else "exact"
    risk = "nothing claimed" if verdict["answer"] == "undecided" else risk
    return verdict["answer"], shortened(verdict["property"], _MAX_NAME), verdict["cost"], risk
