"""The settings of the plugin: on the command line, in the configuration, and by a marker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from isonomia.audits.context import SETTINGS, UNDECIDED
from isonomia.errors import nearest

MARKER = (
    "isonomia(delta=..., budget=..., seed=..., looks=..., undecided='fail'): what every assert_holds of the test goes "
    "by that does not say otherwise; undecided is 'fail', 'pass' or 'skip'."
)

FOLDER = ".isonomia"
"""The same as in ``isonomia.records.database``, whose import would slow down every test run."""


def add_options(parser: pytest.Parser) -> None:
    """Add every option, each with a counterpart in the configuration."""
    group = parser.getgroup("isonomia", "properties of machine-learning models")
    for name, metavar, what in (
        ("seed", "N", "seed of every check that states none"),
        ("budget", "TEXT", "budget of every check that states none: samples (1e5), a time (30s), or both"),
        ("records", "FOLDER", f"where counterexamples are kept for the next time; {FOLDER} in the root folder"),
    ):
        group.addoption(f"--isonomia-{name}", metavar=metavar, default=None, help=what)
        parser.addini(f"isonomia_{name}", what, default=None)
    for name, what in (
        ("no-records", "keep no counterexamples, and try none that are known"),
        ("trust-pickle", "let audit files open pickled models, which can run code"),
        ("allow-code", "let audit files import modules, run programs and blocks, and call services"),
        ("allow-outside", "let audit files read outside of their folders"),
    ):
        group.addoption(f"--isonomia-{name}", action="store_true", default=False, help=what)
        parser.addini(f"isonomia_{name.replace('-', '_')}", what, type="bool", default=False)
    what = "audit files that are tests: true for audit.toml and *.audit.toml, or patterns such as audits/*.toml"
    parser.addini("isonomia_audits", what, default="false")


def allowed(config: pytest.Config, name: str) -> bool:
    """Whether a permission was given, on the command line or in the configuration."""
    return bool(config.getoption(f"isonomia_{name}") or config.getini(f"isonomia_{name}"))


def audit_patterns(config: pytest.Config) -> str:
    """Which audit files are tests."""
    return str(config.getini("isonomia_audits"))


def records_folder(config: pytest.Config) -> Path | None:
    """The folder of records; ``None`` where nothing is to be kept.

    On the command line it is relative to the current folder, in the configuration to the root folder.
    """
    if allowed(config, "no_records"):
        return None
    on_line, configured = config.getoption("isonomia_records"), config.getini("isonomia_records")
    if on_line:
        return config.invocation_params.dir / str(on_line)
    return config.rootpath / str(configured or FOLDER)


def seed_option(config: pytest.Config, *, configured: bool = True) -> int | None:
    """The seed of the command line, else that of the configuration."""
    text = config.getoption("isonomia_seed") or (config.getini("isonomia_seed") if configured else None)
    if text in (None, ""):
        return None
    if not str(text).isdecimal():
        raise pytest.UsageError(f"expected --isonomia-seed as a whole number that is not negative, but got {text!r}")
    return int(text)


def budget_option(config: pytest.Config, *, configured: bool = True) -> str | None:
    """The budget of the command line, else that of the configuration."""
    text = config.getoption("isonomia_budget") or (config.getini("isonomia_budget") if configured else None)
    return str(text) if text else None


def settings_of(item: pytest.Item) -> tuple[dict[str, Any], str | None]:
    """The settings of a test for its assertions, and a complaint where a marker is invalid.

    The setting nearest to the test wins: its own marker, that of its class, that of its module, the command line, and
    last the configuration.
    """
    general = {"seed": seed_option(item.config), "budget": budget_option(item.config)}
    settings = {name: value for name, value in general.items() if value is not None}
    for marker in reversed(list(item.iter_markers("isonomia"))):
        complaint = _complaint(marker)
        if complaint is not None:
            return settings, f"{complaint} Write {MARKER.partition(':')[0]}."
        settings |= {name: value for name, value in marker.kwargs.items() if value is not None}
    return settings, None


def _complaint(marker: pytest.Mark) -> str | None:
    if marker.args:
        return f"The marker isonomia takes no values without a name, but got {marker.args!r}."
    for name in marker.kwargs:
        if name not in SETTINGS:
            return f"The marker isonomia takes {', '.join(SETTINGS)}, but got {name!r}.{nearest(name, SETTINGS)}"
    undecided = marker.kwargs.get("undecided", "fail")
    if undecided not in UNDECIDED:
        return f"The marker isonomia takes undecided as one of {', '.join(UNDECIDED)}, but got {undecided!r}."
    return None
