"""The pytest plugin: a property is a test like any other.

pytest loads it by itself wherever Isonomia is installed, so that loading it must cost nothing: nothing heavy is
imported before a test asks for it, and a suite that does not use it is left alone.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from isonomia.audits.context import Circumstances, amid
from isonomia.pytest_plugin.settings import MARKER, add_options, records_folder, seed_option, settings_of
from isonomia.pytest_plugin.summary import user_property, write_summary

if TYPE_CHECKING:
    from isonomia.pytest_plugin.audit_files import AuditFileTests
    from isonomia.records.verdict import Verdict

__all__: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the command line and of the configuration."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known, and refuse a seed that is none before anything runs."""
    config.addinivalue_line("markers", MARKER)
    seed_option(config)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> AuditFileTests | None:
    """Take an audit file as a file of tests, where it is named on the command line or asked for."""
    if file_path.suffix != ".toml":
        return None
    from isonomia.pytest_plugin.audit_files import AuditFileTests, is_wanted

    return AuditFileTests.from_parent(parent, path=file_path) if is_wanted(file_path, parent) else None


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Let every assertion of a test, and of its fixtures, know what the test says of them."""
    with amid(_circumstances(item)):
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Refuse a marker that says something unknown, before the test begins."""
    _, complaint = settings_of(item)
    if complaint is not None:
        pytest.fail(complaint, pytrace=False)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say what came of every property."""
    write_summary(terminalreporter)


def _circumstances(item: pytest.Item) -> Circumstances:
    def tell(verdict: Verdict, trouble: str | None) -> None:
        item.user_properties.append(user_property(verdict, trouble))

    def repeat(seed: int) -> str:
        return f"pytest {shlex.quote(item.nodeid)} --isonomia-seed {seed}"

    settings, _ = settings_of(item)
    return Circumstances(settings, records_folder(item.config), pytest.skip, tell, repeat)
