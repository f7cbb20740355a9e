"""Every command in a pipe, without colours and on a dumb terminal; and records that are found again."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from warm_start import run_command

AUDIT = """
title = "Hiring"
seed = 3

[model]
load = "scoring:model"

[population]
census = "people.csv"

[[property]]
name = "women"
check = "P[prediction == 1] >= 0.9"

[[property]]
name = "points never hurt"
safety = "monotone"
with = {feature = "points", up = [1, 2], output = "not lower"}
"""
MODEL = """
import numpy as np

def model(table):
    return (np.asarray(table["points"]) % 3 > 0).astype(int)
"""
PEOPLE = "sex,points\n" + "".join(f"{'FM'[k % 2]},{k % 7}\n" for k in range(40))
CODE = "from isonomia.cli import main; main()"
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
COLOURS = re.compile(r"\x1b\[[0-9;]*\b(3[0-7]|38|4[0-7]|48|9[0-7])[;m]")


def _isonomia(words: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "GITHUB_STEP_SUMMARY": "", "COLUMNS": "80", **variables}
    return run_command(folder, *shlex.split(words), environment=environment)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An audit in a folder of its own, run once from the folder above it."""
    top = tmp_path_factory.mktemp("plain")
    (top / "hiring").mkdir()
    for name, text in (("audit.toml", AUDIT), ("scoring.py", MODEL), ("people.csv", PEOPLE)):
        (top / "hiring" / name).write_text(text, encoding="utf-8")
    done = _isonomia("run hiring/audit.toml --allow-code", top)
    assert done.returncode == 1, done.stderr
    (top / "closing.txt").write_text(done.stdout.strip().split("\n")[-1], encoding="utf-8")
    assert _isonomia("export -o e.json --records hiring/.isonomia", top).returncode == 0
    return top


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("--help", 0),
        ("demo --no-report", 1),
        ("runs --records hiring/.isonomia", 0),
        ("show --records hiring/.isonomia", 1),
        ("export -o again.json --records hiring/.isonomia", 0),
        ("replay e.json", 1),
        ("compare e.json e.json", 0),
        ("init hiring/people.csv --interventions -o draft.toml --force", 0),
        ("show nothing --records hiring/.isonomia", 2),
    ],
)
def test_a_pipe_gets_no_control_codes_from_any_command(folder: Path, words: str, code: int) -> None:
    done = _isonomia(words, folder)
    assert done.returncode == code, done.stdout + done.stderr
    assert not CONTROLS.search(done.stdout + done.stderr)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
@pytest.mark.parametrize(
    ("variables", "forbidden"),
    [({"TERM": "dumb"}, CONTROLS), ({"TERM": "xterm-256color", "NO_COLOR": "1"}, COLOURS)],
)
def test_a_terminal_gets_what_it_can_do_and_no_colour_where_none_is_wanted(
    folder: Path, variables: dict[str, str], forbidden: re.Pattern[str]
) -> None:
    printed = _on_a_terminal("run hiring/audit.toml --allow-code", folder, **variables)
    assert "points never hurt" in printed
    assert not forbidden.search(printed.replace("\r\n", "\n"))


def _on_a_terminal(words: str, folder: Path, **variables: str) -> str:
    """What a command writes to a terminal of 80 columns, both of its streams together."""
    import pty

    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", CODE, *shlex.split(words)],
        cwd=folder,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "GITHUB_STEP_SUMMARY": "", "COLUMNS": "80", "PYTHONUTF8": "1", **variables},
    ):
        os.close(theirs)
        written = b""
        try:
            while part := os.read(ours, 65_536):
                written += part
        except OSError:
            pass  # Linux says so when the other side has closed
    os.close(ours)
    return written.decode("utf-8")


def test_the_last_line_of_a_run_gives_the_command_that_shows_it(folder: Path) -> None:
    closing = (folder / "closing.txt").read_text(encoding="utf-8")
    (command,) = re.findall(r"; isonomia (show .*) shows it$", closing)
    assert command == "show latest --records hiring/.isonomia"
    shown = _isonomia(command, folder)
    assert shown.returncode == 1, shown.stderr
    assert "points never hurt" in shown.stdout
    assert "show latest shows it" in _isonomia("run audit.toml --allow-code -q", folder / "hiring").stdout


def test_whoever_looks_in_the_wrong_folder_is_told_where_records_are(folder: Path) -> None:
    done = _isonomia("show latest", folder)
    assert done.returncode == 2
    assert "--records names another folder, such as hiring/.isonomia" in done.stderr


def test_a_named_property_is_told_in_a_sentence_before_its_program(folder: Path) -> None:
    printed = _isonomia("show --records hiring/.isonomia", folder).stdout
    assert "Raising points by 1 to 2 never lowers the prediction." in printed
    assert printed.index("Raising points") < printed.index("input x1;")
