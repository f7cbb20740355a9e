"""The command as a person meets it: a real process, real files, real exit codes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from warm_start import run_command

from isonomia.records import Verdict

MODELS = """
import time
import numpy as np

def fair(batch):
    return (np.asarray(batch["x"]) < 0.5).astype(int)

def unfair(batch):
    return (np.asarray(batch["x"]) < np.where(np.asarray(batch["sex"]) == "F", 0.2, 0.8)).astype(int)

def nan(batch):
    return np.full(len(batch["x"]), np.nan)

def short(batch):
    return np.ones(len(batch["x"]) - 1)

def raises(batch):
    raise RuntimeError("out of cheese")

def zero(batch):
    return np.zeros(len(batch["x"]), dtype=int)

def leaves(batch):
    raise SystemExit(0)

def slow(batch):
    with open("asked", "a") as file:
        file.write("x")
    time.sleep(0.02)
    return fair(batch)
"""
RATIO = "P[prediction == 1 | sex == 'F'] / P[prediction == 1 | sex == 'M'] >= 0.8"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("audit")
    rng = np.random.default_rng(0)
    lines = ["sex,x,age"]
    lines += [f"{rng.choice(['F', 'M'])},{rng.random():.6f},{rng.integers(18, 80)}" for _ in range(3000)]
    (path / "people.csv").write_text("\n".join(lines) + "\n")
    (path / "empty.csv").write_text("sex,x,age\n")
    (path / "hiring.py").write_text(MODELS)
    (path / "leaving.py").write_text("model = len\nraise SystemExit(0)\n")
    return path


def isonomia(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return run_command(folder, *arguments, environment={**os.environ, **variables})


@pytest.mark.parametrize(
    ("model", "delta", "code", "word"),
    [("fair", "0.01", 0, "HOLDS"), ("unfair", "0.01", 1, "VIOLATED"), ("fair", "1e-200", 3, "UNDECIDED")],
)
def test_the_exit_code_is_the_answer(folder: Path, model: str, delta: str, code: int, word: str) -> None:
    done = isonomia(folder, "check", RATIO, "--model", f"hiring:{model}", "--data", "people.csv", "--delta", delta)
    assert (done.returncode, word in done.stdout) == (code, True)
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        (["P[prediction == 1 | sex = 'F'] >= 0.2", "--model", "hiring:fair"], ["line 1, column 25", "^", "=="]),
        (["P[prediction == 1 | sx == 'F'] >= 0.2", "--model", "hiring:fair"], ["'sx'", "Did you mean 'sex'", "^^"]),
        (["P[prediction == 1 | sex == 3] >= 0.2", "--model", "hiring:fair"], ["`sex` is text", "in quotes"]),
        ([RATIO], ["pass a model"]),
        ([RATIO, "--model", "hiring:nan"], ["nan", "row"]),
        ([RATIO, "--model", "hiring:short"], ["should give 8 predictions", "gave 7"]),
        ([RATIO, "--model", "hiring:raises"], ["RuntimeError", "out of cheese"]),
        ([RATIO, "--model", "hiring:leaves"], ["SystemExit"]),
        ([RATIO, "--model", "leaving:model"], ["SystemExit", "leaving"]),
        ([RATIO, "--model", "hiring:zero", "--census"], ["denominator", "sex == 'M'"]),
        ([RATIO, "--model", "hiring:fair", "--delta", "0"], ["delta=0"]),
        ([RATIO, "--model", "hiring:fair", "--delta", "1"], ["delta=1"]),
        ([RATIO, "--model", "hiring:fair", "--delta", "2"], ["delta=2"]),
        ([RATIO, "--model", "hiring:fairr"], ["Did you mean 'fair'"]),
        ([RATIO, "--model", "nowhere:model"], ["nowhere"]),
        ([RATIO, "--model", "hiring:fair", "--budget", "soon"], ["expected budget"]),
        ([RATIO, "--model", "hiring:fair", "--method", "magic"], ["expected method"]),
        (["E[age] >= 30"], ["range", "--range"]),
        (["E[age] >= 30", "--range", "age"], ["COLUMN=LOW:HIGH"]),
        (["E[age] >= 30", "--range", "age=0:20"], ["between 0 and 20", "age="]),
        (["P[x < 0.5] / 0 >= 1"], ["divides by zero"]),
        (["P[x < 0.5] >= 0.1", "--json", "nowhere/out.json"], ["--json"]),
    ],
)
def test_a_wrong_input_gets_a_clear_message_and_exit_code_2(
    folder: Path, arguments: list[str], messages: list[str]
) -> None:
    done = isonomia(folder, "check", *arguments, "--data", "people.csv", "--seed", "1")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    for message in messages:
        assert message in done.stderr


@pytest.mark.parametrize(
    ("data", "message"),
    [("empty.csv", "no rows"), ("peple.csv", "people.csv"), ("x.doc", ".csv"), ("y.doc", "does not exist")],
)
def test_a_wrong_file_gets_a_clear_message_and_exit_code_2(folder: Path, data: str, message: str) -> None:
    (folder / "x.doc").write_text("a letter")
    done = isonomia(folder, "check", RATIO, "--model", "hiring:fair", "--data", data)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_group_that_nobody_belongs_to_is_an_error_and_names_the_values(folder: Path) -> None:
    done = isonomia(folder, "check", "P[x < 0.5 | sex == 'X'] >= 0.2", "--data", "people.csv")
    assert done.returncode == 2
    assert "expected a value that occurs in 'sex', 'F', 'M', but got 'X'" in " ".join(done.stderr.split())


def test_verdicts_are_written_as_json_and_come_back(folder: Path) -> None:
    other = "P[prediction == 1 | sex == 'F'] >= 0.99"
    done = isonomia(
        folder,
        "check",
        RATIO,
        other,
        "--model",
        "hiring:fair",
        "--data",
        "people.csv",
        "--census",
        "--json",
        "out.json",
    )
    assert done.returncode == 1
    verdicts = [Verdict.from_dict(item) for item in json.loads((folder / "out.json").read_text())["verdicts"]]
    assert [verdict.answer for verdict in verdicts] == ["holds", "violated"]


def test_quiet_prints_one_line_with_what_is_known(folder: Path) -> None:
    done = isonomia(folder, "check", "P[x < 0.5] >= 0.5", "--data", "people.csv", "-q", "--delta", "1e-9")
    assert done.returncode == 3
    assert re.search(r"undecided +P\[x < 0\.5\] >= 0\.5 +- +0\.\d+ in \[0\.\d+, 0\.\d+\], must be", done.stdout)


def test_a_plan_is_printed(folder: Path) -> None:
    done = isonomia(folder, "plan", "P[h | g] >= 0.3", "--guess", "P[h | g]=0.4", "--share", "g=0.5", "--delta", "1e-6")
    assert done.returncode == 0
    assert "holds" in done.stdout
    wrong = isonomia(folder, "plan", "P[h | g] >= 0.3", "--guess", "0.4")
    assert wrong.returncode == 2
    assert "--guess" in wrong.stderr


def test_the_demo_shows_all_three_answers_and_writes_the_report(folder: Path) -> None:
    done = isonomia(folder, "demo", "--report", "demo.html")
    assert done.returncode == 1
    for word in ("HOLDS", "VIOLATED", "UNDECIDED"):
        assert word in done.stdout
    assert done.stderr == ""
    assert "the report: demo.html" in done.stdout
    assert "a way to be hired" in (folder / "demo.html").read_text("utf-8")
    assert not (folder / ".isonomia").exists()


def test_ctrl_c_ends_with_an_undecided_verdict_that_shows_what_is_known(folder: Path) -> None:
    arguments = ["check", RATIO, "--model", "hiring:slow", "--data", "people.csv", "--delta", "1e-300"]
    command = [sys.executable, "-c", "from isonomia.cli import main; main()", *arguments]
    # A command that was started in the background has inherited that Ctrl-C is ignored; a person's has not.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    signal.signal(signal.SIGINT, before)
    asked, patience = folder / "asked", time.monotonic() + 60
    while not (asked.exists() and asked.stat().st_size > 5):
        assert time.monotonic() < patience, "the model was never asked"
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 3
    assert "interrupted" in stdout
    assert "Traceback" not in stderr


@pytest.mark.parametrize("command", [[], ["check"], ["plan"], ["demo"]])
def test_every_command_has_help_with_an_example(folder: Path, command: list[str]) -> None:
    done = isonomia(folder, *command, "--help")
    assert done.returncode == 0
    assert ("Example: isonomia" if command else "demo") in done.stdout


def test_the_version_is_printed(folder: Path) -> None:
    assert isonomia(folder, "--version").stdout.startswith("isonomia ")


def test_python_runs_the_package_as_the_command(folder: Path) -> None:
    command = [sys.executable, "-m", "isonomia", "check", "P[x] >= 0.5"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "expected people: --data people.csv" in ran.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_special_characters_changes_no_exit_code(folder: Path, encoding: str) -> None:
    done = isonomia(
        folder, "check", "P[x < 0.5] >= 0.5", "--data", "people.csv", "--delta", "1e-9", PYTHONIOENCODING=encoding
    )
    assert done.returncode == 3
    assert "Traceback" not in done.stderr
    assert isonomia(folder, "demo", "--no-report", PYTHONIOENCODING=encoding).returncode == 1


def test_a_narrow_terminal_still_names_the_rates(folder: Path) -> None:
    done = isonomia(folder, "check", "P[x < 0.5] >= 0.4", "--data", "people.csv", "--census", COLUMNS="40")
    assert "P[x < 0.5]" in " ".join(done.stdout.split())


def test_help_shows_its_examples_whole(folder: Path) -> None:
    for command in ("check", "plan"):
        assert "P[" in isonomia(folder, command, "--help").stdout
