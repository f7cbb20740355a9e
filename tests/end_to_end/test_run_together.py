"""``isonomia run`` for an organisation: side by side, one failure among many, a cache, plain lines in a pipe."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from warm_start import run_command

MODEL = """
import os
import time
import numpy as np


def model(table):
    time.sleep(float(os.environ.get("PAUSE", "0")))
    return (np.asarray(table["points"]) > 0.4).astype(int)


def broken(table):
    if not os.path.exists("mended"):
        raise RuntimeError("the service is <down>")
    return model(table)
"""
AUDIT = """
title = "Hiring"
seed = 11

[model]
load = "scoring:model"
cache_key = "1"

[models.broken]
load = "scoring:broken"
cache_key = "1"

[population]
sample = "people.csv"

[[property]]
name = "women"
check = "P[prediction == 1 | sex == 'F'] >= 0.59"

[[property]]
name = "not today"
model = "broken"
why = "the law"
check = "P[prediction == 1] >= 0.5"

[[property]]
name = "too many"
check = "P[prediction == 1] >= 0.9"

[[property]]
name = "age never hurts"
safety = "monotone"
with = {feature = "age", up = [1, 2], at_most = 90, output = "not lower"}
"""
COMMAND = [sys.executable, "-c", "from isonomia.cli import main; main()"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "scoring.py").write_text(MODEL)
    (tmp_path / "audit.toml").write_text(AUDIT)
    rng = np.random.default_rng(5)
    people = zip(rng.choice(["F", "M"], 3000), rng.random(3000).round(4), rng.integers(18, 80, 3000), strict=True)
    lines = ["sex,points,age", *(",".join(map(str, person)) for person in people)]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def _environment(**more: str) -> dict[str, str]:
    return {**os.environ, "COLUMNS": "120", "GITHUB_STEP_SUMMARY": "", **more}


def _isonomia(folder: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return run_command(folder, *arguments, environment=_environment(**more))


def _read(path: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    found = json.loads(path.read_text())
    plain = [
        {key: value for key, value in each.items() if key not in {"seconds", "queries", "repeated"}}
        for each in found["verdicts"]
    ]
    return plain, found["failures"]


def test_one_failing_check_is_told_everywhere_and_tried_anew(folder: Path) -> None:
    files = {"--junit": "v.xml", "--sarif": "v.sarif", "--json": "v.json", "--markdown": "v.md", "--report": "v.html"}
    arguments = [part for pair in files.items() for part in pair]
    done = _isonomia(folder, "run", "audit.toml", "--allow-code", *arguments)
    assert done.returncode == 2, done.stderr
    assert "could not be checked: not today: broken raised RuntimeError" in done.stdout
    assert "4 properties: 1 could not be checked, 1 is violated" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr, "a pipe gets no control codes"
    suite = ElementTree.parse(folder / "v.xml").getroot()[0]
    assert "the service is <down>" in (suite.findtext("testcase[@name='not today']/error") or "")
    (run,) = json.loads((folder / "v.sarif").read_text())["runs"]
    assert run["invocations"][0]["executionSuccessful"] is False
    assert [failure["name"] for failure in _read(folder / "v.json")[1]] == ["not today"]
    assert "could not be checked" in (folder / "v.md").read_text()
    page = (folder / "v.html").read_text()
    assert "! could not be checked" in page
    assert "the service is &lt;down&gt;" in page
    assert "1 could not be checked" in _isonomia(folder, "runs").stdout
    shown = _isonomia(folder, "show")
    assert shown.returncode == 2
    assert "not today" in shown.stdout
    (folder / "mended").touch()
    again = _isonomia(folder, "run", "audit.toml", "--allow-code", "--resume", "-q", "--json", "again.json")
    assert again.returncode == 1, again.stderr
    verdicts, failures = _read(folder / "again.json")
    assert not failures
    assert [each for each in verdicts if each["name"] != "not today"] == _read(folder / "v.json")[0]
    whole = _isonomia(folder, "run", "audit.toml", "--allow-code", "-q", "--json", "whole.json", "--jobs", "1")
    assert whole.returncode == 1
    assert _read(folder / "whole.json") == (verdicts, [])


def test_a_mistake_in_the_file_stops_before_anything_runs(folder: Path) -> None:
    text = AUDIT.replace('name = "too many"\ncheck', 'name = "too many"\nchek')
    (folder / "audit.toml").write_text(text)
    done = _isonomia(folder, "run", "audit.toml", "--allow-code")
    assert done.returncode == 2
    assert "Did you mean 'check'" in done.stderr
    assert not (folder / ".isonomia").exists()


def test_jobs_must_be_one_or_more(folder: Path) -> None:
    done = _isonomia(folder, "run", "audit.toml", "--allow-code", "--jobs", "0")
    assert done.returncode == 2
    assert "expected jobs, the properties to check at once, as 1 or more, but got 0" in done.stderr
    (folder / "audit.toml").write_text("jobs = -1\n" + AUDIT)
    done = _isonomia(folder, "run", "audit.toml", "--allow-code")
    assert done.returncode == 2
    assert "line 1" in done.stderr


def test_a_cache_is_filled_and_used_and_changes_nothing(folder: Path) -> None:
    (folder / "mended").touch()
    first = _isonomia(
        folder, "run", "audit.toml", "--allow-code", "-q", "--cache", "answers.sqlite", "--json", "one.json"
    )
    second = _isonomia(
        folder, "run", "audit.toml", "--allow-code", "-q", "--cache", "answers.sqlite", "--json", "two.json"
    )
    plain = _isonomia(folder, "run", "audit.toml", "--allow-code", "-q", "--json", "plain.json")
    assert (first.returncode, second.returncode, plain.returncode) == (1, 1, 1), second.stderr
    assert "answers came from the cache answers.sqlite" in second.stdout
    assert _read(folder / "one.json") == _read(folder / "two.json") == _read(folder / "plain.json")


def test_ctrl_c_shows_what_is_known_and_the_next_run_goes_on(folder: Path) -> None:
    (folder / "mended").touch()
    command = [*COMMAND, "run", "audit.toml", "--allow-code", "--jobs", "2", "--json", "cut.json"]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=_environment(PAUSE="0.05")
    )
    deadline = time.monotonic() + 60
    while _entries(folder) < 12 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    output, problems = process.communicate(timeout=60)
    assert process.returncode in (1, 3), problems
    assert "was cut off: go on with isonomia run audit.toml --resume --allow-code" in output
    assert "Traceback" not in problems
    verdicts, failures = _read(folder / "cut.json")
    assert len(verdicts) + len(failures) == 4, "a file of a run that was cut off must not look complete"
    assert any(verdict["stopped"] == "interrupted" for verdict in verdicts)
    resumed = _isonomia(folder, "run", "audit.toml", "--allow-code", "-q", "--resume", "--json", "resumed.json")
    assert resumed.returncode == 1, resumed.stderr
    _isonomia(folder, "run", "audit.toml", "--allow-code", "-q", "--jobs", "1", "--json", "whole.json")
    assert _read(folder / "resumed.json") == _read(folder / "whole.json")


def _entries(folder: Path) -> int:
    path = folder / ".isonomia" / "runs.sqlite"
    if not path.exists():
        return 0
    connection = sqlite3.connect(path, timeout=30)
    try:
        return int(connection.execute("SELECT count(*) FROM entries").fetchone()[0])
    except sqlite3.OperationalError:
        return 0
    finally:
        connection.close()
