"""What a person reads who asks for help, and what the shell completes."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner

from isonomia.cli.app import COMMANDS, app
from isonomia.records.store import Store

NAMES = [command.__name__ for commands in COMMANDS.values() for command in commands]


def _help(*arguments: str) -> str:
    done = CliRunner().invoke(app, [*arguments, "--help"], env={"COLUMNS": "80", "TERM": "dumb", "NO_COLOR": "1"})
    assert done.exit_code == 0, done.output
    return done.output


def test_the_commands_are_grouped_by_what_they_are_for_each_in_one_line() -> None:
    printed = _help()
    places = [printed.index(f" {panel} ") for panel in COMMANDS]
    assert places == sorted(places)
    for commands in COMMANDS.values():
        for command, line in commands.items():
            (told,) = [text for text in printed.split("\n") if text.startswith(f"│ {command.__name__} ")]
            assert line in told


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_an_example_and_fits_the_terminal(name: str) -> None:
    printed = _help(name)
    assert f"Example: isonomia {name}" in " ".join(printed.split())
    assert max(map(len, printed.split("\n"))) <= 80
    assert "\x1b" not in printed


@pytest.mark.parametrize("command", [command for commands in COMMANDS.values() for command in commands])
def test_help_is_wrapped_for_the_terminal_and_not_where_the_source_is(command: object) -> None:
    documented = " ".join((inspect.getdoc(command) or "").replace("\\[", "[").split())
    text = _help(command.__name__).split("╭")[0]  # type: ignore[attr-defined]
    assert documented in " ".join(text.split())
    lines = [line.strip() for line in text.split("\n")]
    for line, following in pairwise(lines):
        if line and following:
            assert len(f" {line} {following.split(' ')[0]}") > 79, "a line ends before it is full"


def _completed(folder: Path, *words: str) -> list[str]:
    environment = {**os.environ, "_ISONOMIA_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(("isonomia", *words))}
    environment["COMP_CWORD"] = str(len(words))
    code = "import sys; sys.argv = ['isonomia']; from isonomia.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert not done.stderr
    return done.stdout.split()


def test_the_shell_completes_the_names_of_runs(tmp_path: Path) -> None:
    run = Store(tmp_path / "kept").begin("hiring", {"file": "audit.toml"}, [("women", {}, {})])
    assert _completed(tmp_path, "show", "--records", "kept", "") == ["latest", run]
    assert _completed(tmp_path, "show", "--records", "kept", run[:6]) == [run]
    assert _completed(tmp_path, "show", "") == []
    assert "responsiveness" in _completed(tmp_path, "res")
