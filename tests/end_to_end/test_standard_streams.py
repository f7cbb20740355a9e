"""Standard streams that are closed, full or left by their reader: the work is done all the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from warm_start import CODE

AUDIT = """
seed = 1
[population]
sample = "people.csv"
[[property]]
name = "p"
check = "P[y == 1] >= 0.3"
"""
FULL = Path("/dev/full")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An audit whose only property holds."""
    numbers = np.random.default_rng(1).integers(0, 2, 500)
    (tmp_path / "people.csv").write_text("\n".join(["y", *map(str, numbers)]) + "\n")
    (tmp_path / "audit.toml").write_text(AUDIT)
    return tmp_path


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", CODE, *arguments]


@pytest.mark.parametrize(("errors", "unbuffered"), [(subprocess.PIPE, ""), (subprocess.STDOUT, "1")])
def test_a_reader_who_leaves_changes_neither_the_report_nor_the_exit_code(
    folder: Path, errors: int, unbuffered: str
) -> None:
    process = subprocess.Popen(
        _command("run", "audit.toml", "--report", "r.html"),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=errors,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    )
    assert process.stdout is not None
    process.stdout.close()
    told = b"" if process.stderr is None else process.stderr.read()
    assert process.wait(120) == 0, told
    assert "</html>" in (folder / "r.html").read_text()
    if process.stderr is not None:
        process.stderr.close()
        assert b"Traceback" not in told


@pytest.mark.skipif(not FULL.exists(), reason="no device that is always full")
@pytest.mark.parametrize("arguments", [("run", "audit.toml", "--report", "r.html"), ("--version",)])
def test_output_that_finds_no_room_is_a_message_and_exit_code_2(folder: Path, arguments: tuple[str, ...]) -> None:
    with FULL.open("w") as full:
        done = subprocess.run(
            _command(*arguments), cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120, check=False
        )
    assert done.returncode == 2
    assert done.stderr == "error: standard output could not be written: No space left on device\n"
    assert (folder / "r.html").exists() == ("r.html" in arguments)


@pytest.mark.skipif(os.name == "nt", reason="a POSIX shell closes streams")
@pytest.mark.parametrize(("closed", "code"), [(">&-", 2), ("2>&- >/dev/null", 0), ("<&- >&- 2>&-", 2)])
def test_streams_that_are_closed_do_not_stop_the_work(folder: Path, closed: str, code: int) -> None:
    line = f'exec "$0" -c "$1" run audit.toml --report r.html {closed}'
    done = subprocess.run(
        ["sh", "-c", line, sys.executable, CODE], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert ("it is closed" in done.stderr) == (closed == ">&-")
    assert "</html>" in (folder / "r.html").read_text()


WATCH = """
alpha = 0.01
[source]
lines = "jsonl"
[[property]]
check = "P[hired == 1] >= 0.4"
"""


def test_an_error_in_a_line_ends_a_watch_whose_sender_goes_on(tmp_path: Path) -> None:
    """Python aborts at exit if a thread holds the lock of standard input."""
    (tmp_path / "watch.toml").write_text(WATCH)
    process = subprocess.Popen(
        _command("watch", "watch.toml"),
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write(b"no json\n")
    process.stdin.flush()  # and it stays open
    told = process.stderr.read()
    assert process.wait(60) == 2, told
    assert b"line 1 of standard input" in told
    assert b"Fatal" not in told
    for stream in (process.stdin, process.stdout, process.stderr):
        stream.close()


def test_an_alert_that_nobody_reads_is_not_delivered(tmp_path: Path) -> None:
    (tmp_path / "watch.toml").write_text(WATCH)
    lines = "".join(json.dumps({"hired": 0}) + "\n" for _ in range(300))
    process = subprocess.Popen(
        _command("watch", "watch.toml"),
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    _, told = process.communicate(lines, timeout=60)
    assert process.returncode == 1, told
    assert "was not delivered by line, and will be: standard output: its reader has left" in told
    again = subprocess.run(
        _command("watch", "watch.toml"), cwd=tmp_path, input="", capture_output=True, text=True, timeout=60, check=False
    )
    assert json.loads(again.stdout)["sample"] < 300


def test_a_closed_input_has_no_lines(tmp_path: Path) -> None:
    (tmp_path / "watch.toml").write_text(WATCH.replace('"jsonl"', '"csv"'))
    line = 'exec "$0" -c "$1" watch watch.toml <&-'
    done = subprocess.run(
        ["sh", "-c", line, sys.executable, CODE], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert "Traceback" not in done.stderr
    assert done.returncode == 0
