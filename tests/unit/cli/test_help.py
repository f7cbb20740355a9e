"""What a person reads who asks for help, and what the shell completes."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from isonomia.cli.app import COMMANDS, app, command_of, main
from isonomia.records.store import Store

Completed = Callable[..., list[str]]

NAMES = [command_of(place).__name__ for commands in COMMANDS.values() for place in commands]


def _help(*arguments: str) -> str:
    done = CliRunner().invoke(app, [*arguments, "--help"], env={"COLUMNS": "80", "TERM": "dumb", "NO_COLOR": "1"})
    assert done.exit_code == 0, done.output
    return done.output


def test_the_commands_are_grouped_by_what_they_are_for_each_in_one_line() -> None:
    printed = _help()
    assert "Example: isonomia init model.onnx people.csv && isonomia run audit.toml" in printed
    places = [printed.index(f" {panel} ") for panel in COMMANDS]
    assert places == sorted(places)
    for commands in COMMANDS.values():
        for place, line in commands.items():
            name = command_of(place).__name__
            (told,) = [text for text in printed.split("\n") if text.startswith(f"│ {name} ")]
            assert line in told


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_an_example_and_fits_the_terminal(name: str) -> None:
    printed = _help(name)
    assert f"Example: isonomia {name}" in " ".join(printed.split())
    assert max(map(len, printed.split("\n"))) <= 80
    assert "\x1b" not in printed


@pytest.mark.parametrize("command", [command_of(place) for commands in COMMANDS.values() for place in commands])
def test_help_is_wrapped_for_the_terminal_and_not_where_the_source_is(command: object) -> None:
    documented = " ".join((inspect.getdoc(command) or "").replace("\\[", "[").split())
    text = _help(command.__name__).split("╭")[0]  # type: ignore[attr-defined]
    assert documented in " ".join(text.split())
    lines = [line.strip() for line in text.split("\n")]
    for line, following in pairwise(lines):
        if line and following:
            assert len(f" {line} {following.split(' ')[0]}") > 79, "a line ends before it is full"


def _options() -> dict[str, dict[str, str]]:
    """The words of every option, by its name and by its command."""
    found: dict[str, dict[str, str]] = {}
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        for each in command.params:
            if each.opts[0].startswith("-"):
                found.setdefault(each.opts[0], {})[name] = each.help
    return found


SPECIAL = {
    *("--model", "--interventions", "--seed", "--records", "--output", "--allow-code", "--within", "--outcome"),
    *("--favourable", "--delta", "--range", "--json", "--decision", "--by", "--eps", "--label"),
}
"""What each command takes them for, or what they are unless given, is not the same everywhere."""


def test_the_same_option_has_the_same_words_everywhere() -> None:
    for option, words in _options().items():
        if option not in SPECIAL:
            assert len(set(words.values())) == 1, option
    beginnings = {
        option: {words.split(";")[0].rstrip(".") for words in _options()[option].values()} for option in SPECIAL
    }
    assert beginnings["--seed"] == {"Makes the result repeatable"}
    assert beginnings["--records"] == {"The folder of the records"}


def test_a_flag_does_not_look_as_if_it_took_a_value() -> None:
    commands = get_command(app).commands.values()  # type: ignore[attr-defined]
    options = [each for command in commands for each in command.params if each.opts[0].startswith("-")]
    assert {each.is_flag for each in options} == {True, False}
    for each in options:
        assert (each.metavar == "") if each.is_flag else each.metavar, each.opts[0]


@pytest.fixture
def completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Completed:
    """What the shell is given to choose from, in the folder of the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["isonomia"])

    def completed(*words: str) -> list[str]:
        monkeypatch.setenv("_ISONOMIA_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", " ".join(("isonomia", *words)))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        with pytest.raises(SystemExit):
            main()
        told = capsys.readouterr()
        assert not told.err
        return told.out.split()

    return completed


def test_the_shell_completes_the_names_of_runs(tmp_path: Path, completed: Completed) -> None:
    run = Store(tmp_path / "kept").begin("hiring", {"file": "audit.toml"}, [("women", {}, {})])
    assert completed("show", "--records", "kept", "") == ["latest", run]
    assert completed("show", "--records", "kept", run[:6]) == [run]
    assert completed("show", "") == []
    assert completed("compare", "--records", "kept", "old.evidence.json", run[:4]) == [run]
    assert "responsiveness" in completed("res")
