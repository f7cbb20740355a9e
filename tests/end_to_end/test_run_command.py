"""``isonomia run`` as a person uses it: killed, resumed, and read by machines."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from warm_start import run_command

MODEL = """
import time
import numpy as np

def model(table):
    time.sleep(0.002)  # as if it were expensive, so that there is time to be killed
    return ((np.asarray(table["points"]) > 0.4) & (np.asarray(table["priors"]) < 4)).astype(int)
"""
AUDIT = """
title = "Hiring"
seed = 11

[model]
load = "scoring:model"

[population]
sample = "people.csv"

[[property]]
name = "women"
check = "P[prediction == 1 | sex == 'F'] >= 0.35"

[[property]]
name = "parity"
fairness = "demographic_parity"
with = {attribute = "sex", minority = "F", majority = "M", difference = 0.1}

[[property]]
name = "priors never help"
safety = "monotone"
with = {feature = "priors", up = [1, 2], at_most = 5, output = "not higher"}

[[property]]
name = "too many"
check = "P[prediction == 1] >= 0.9"
"""
COMMAND = [sys.executable, "-c", "from isonomia.cli import main; main()", "run"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "scoring.py").write_text(MODEL)
    (tmp_path / "audit.toml").write_text(AUDIT)
    rng = np.random.default_rng(5)
    n = 6000
    rows = zip(rng.choice(["F", "M"], n), rng.random(n).round(4), rng.integers(0, 6, n), strict=True)
    lines = ["sex,points,priors", *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "120", "GITHUB_STEP_SUMMARY": ""}
    return run_command(folder, "run", "audit.toml", "--allow-code", *arguments, environment=environment)


def _verdicts(path: Path) -> list[dict[str, object]]:
    found = json.loads(path.read_text())["verdicts"]
    return [
        {key: value for key, value in verdict.items() if key not in {"seconds", "queries", "repeated"}}
        for verdict in found
    ]


def test_a_run_that_is_killed_many_times_ends_as_the_undisturbed_one(folder: Path) -> None:
    whole = _run(folder, "-q", "--records", "whole", "--json", "whole.json")
    assert whole.returncode == 1, whole.stderr
    kills, resume = 0, False
    draw = random.Random(3)
    while True:
        more = ["--resume"] if resume else []
        command = [*COMMAND, "audit.toml", "--allow-code", "-q", "--records", "cut", "--json", "cut.json", *more]
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if kills >= 5:
            _, problems = process.communicate()
            assert process.returncode == 1, problems.decode()
            break
        before = _entries(folder)
        wanted = before + draw.randint(1, 40)
        while process.poll() is None and _entries(folder) < wanted:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        kills += 1
        assert _sound(folder)
        resume = resume or _entries(folder) > 0
    assert _verdicts(folder / "cut.json") == _verdicts(folder / "whole.json")


def test_a_run_does_not_resume_with_other_weights_behind_the_same_module(folder: Path) -> None:
    text = "import json, pathlib, time\nimport numpy as np\n"
    text += "CUT, CALLS = json.loads(pathlib.Path('weights.json').read_text())['cut'], []\n"
    text += "def model(people):\n    CALLS.append(1)\n"
    text += "    if CUT == 0.5 and len(CALLS) > 60:\n        time.sleep(600)\n"  # until it is killed
    text += "    return (np.asarray(people['points'], float) > CUT).astype(int)\n"
    (folder / "weighed.py").write_text(text)
    audit = 'seed = 1\ndelta = 1e-6\n[model]\nload = "weighed:model"\n[population]\nsample = "people.csv"\n'
    (folder / "audit.toml").write_text(audit + '[[property]]\nname = "p"\ncheck = "P[prediction == 1] >= 0.495"\n')
    (folder / "weights.json").write_text('{"cut": 0.5}')
    command = [*COMMAND, "audit.toml", "--allow-code", "-q", "--records", "cut"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while process.poll() is None and _entries(folder) < 40:
        time.sleep(0.01)
    assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (folder / "weights.json").write_text('{"cut": 0.9}')
    again = _run(folder, "-q", "--records", "cut", "--resume")
    assert again.returncode == 2
    assert "answers differently now" in " ".join(again.stdout.split())


def _entries(folder: Path) -> int:
    try:
        with sqlite3.connect(folder / "cut" / "runs.sqlite", timeout=30) as connection:
            (found,) = connection.execute("SELECT count(*) FROM entries").fetchone()
    except sqlite3.OperationalError:
        return 0  # not there yet
    finally:
        if "connection" in locals():
            connection.close()
    return int(found)


def _sound(folder: Path) -> bool:
    path = folder / "cut" / "runs.sqlite"
    if not path.exists():
        return True
    with sqlite3.connect(path) as connection:
        answer = connection.execute("PRAGMA integrity_check").fetchone()
    connection.close()
    return bool(answer == ("ok",))


def test_everybody_who_should_know_is_told(folder: Path) -> None:
    summary = folder / "summary.md"
    environment = {**os.environ, "NO_COLOR": "1", "GITHUB_STEP_SUMMARY": str(summary)}
    files = {"--junit": "v.xml", "--sarif": "v.sarif", "--json": "v.json", "--markdown": "v.md", "--card": "card.md"}
    arguments = [part for pair in files.items() for part in pair]
    done = run_command(folder, "run", "audit.toml", "--allow-code", "-q", *arguments, environment=environment)
    assert done.returncode == 1, done.stderr
    suite = ElementTree.parse(folder / "v.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("4", "1", "0")
    (sarif,) = json.loads((folder / "v.sarif").read_text())["runs"]
    lines = AUDIT.splitlines()
    for result in sarif["results"]:
        line = result["locations"][0]["physicalLocation"]["region"]["startLine"]
        assert lines[line - 1] == "[[property]]"
    assert "4 properties: 1 is violated, 3 hold." in summary.read_text()
    assert "::error file=audit.toml" in done.stdout
    assert len(_verdicts(folder / "v.json")) == 4
    assert "too many" in (folder / "v.md").read_text() + (folder / "card.md").read_text()


BAD = [
    (["--resume"], "no run has the file"),
    (["--junit", "no/such/folder/x.xml"], "expected a file that can be written for --junit"),
    (["--records", "people.csv"], "expected a folder for records"),
]


@pytest.mark.parametrize(("arguments", "told"), BAD)
def test_a_wrong_call_says_what_to_do(folder: Path, arguments: list[str], told: str) -> None:
    done = _run(folder, *arguments)
    assert done.returncode == 2
    assert told in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_a_pickled_model_needs_permission_from_outside_the_file(folder: Path) -> None:
    import pickle

    (folder / "model.pkl").write_bytes(pickle.dumps({"not": "a model"}))
    text = AUDIT.replace('load = "scoring:model"', 'load = "model.pkl"\noptions = {trust_pickle = true}')
    (folder / "audit.toml").write_text(text)
    done = _run(folder)
    assert done.returncode == 2
    assert "trust" in done.stderr


def _isonomia(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "120"}
    return run_command(folder, *arguments, environment=environment)


def test_what_is_kept_can_be_listed_shown_and_reported(folder: Path) -> None:
    nothing = _isonomia(folder, "runs")
    assert nothing.returncode == 2
    assert "expected records in .isonomia" in nothing.stderr
    _run(folder, "-q")
    listed = _isonomia(folder, "runs")
    assert "Hiring" in listed.stdout
    assert "1 violated, 3 holds" in listed.stdout
    shown = _isonomia(folder, "show")
    assert shown.returncode == 1, "the exit code is that of the run"
    assert "VIOLATED  too many" in shown.stdout
    written = _isonomia(folder, "report", "latest", "-o", "page.html", "--junit", "again.xml")
    assert written.returncode == 0, written.stderr
    page = (folder / "page.html").read_text()
    assert page.startswith(("<!doctype html>", "<!DOCTYPE html>"))
    assert "too many" in page
    assert ElementTree.parse(folder / "again.xml").getroot()[0].get("failures") == "1"


def test_a_run_that_has_ended_writes_its_files_again_without_the_model(folder: Path) -> None:
    first = _run(folder, "-q", "--json", "first.json")
    assert first.returncode == 1, first.stderr
    asked = (folder / "scoring.py").read_text()
    (folder / "scoring.py").write_text("raise RuntimeError('nobody needs the model')\n")
    again = _run(folder, "-q", "--resume", "--json", "again.json", "--junit", "again.xml", "--report", "again.html")
    assert again.returncode == 1, again.stderr
    assert "had ended" in again.stdout
    assert (folder / "again.json").read_text() == (folder / "first.json").read_text()
    assert ElementTree.parse(folder / "again.xml").getroot()[0].get("failures") == "1"
    assert "Hiring" in (folder / "again.html").read_text(encoding="utf-8")
    listed = _isonomia(folder, "runs").stdout
    assert listed.count("Hiring") == 1, "no new run was begun"
    (folder / "scoring.py").write_text(asked)
    assert _run(folder, "--resume", "--seed", "3").returncode == 2


# --------------------------------------------------------------------------------------------- files from strangers


def _unasked(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "120", "XDG_STATE_HOME": str(folder / "state")}
    return run_command(folder, "run", "audit.toml", "-q", *arguments, environment=environment)


def test_a_file_of_a_stranger_runs_nothing_before_somebody_allows_it(folder: Path) -> None:
    (folder / "scoring.py").write_text("import pathlib\npathlib.Path('ran').touch()\n" + MODEL)
    text = AUDIT.replace("seed =", 'records = "../elsewhere"\nseed =', 1)
    (folder / "audit.toml").write_text(text)
    refused = _unasked(folder)
    assert refused.returncode == 2
    assert 'load = "scoring:model" runs code: the Python module scoring' in refused.stderr
    assert 'records = "../elsewhere" writes outside of its folder' in refused.stderr
    assert "isonomia run audit.toml -q --allow-code\n" in refused.stderr
    assert not (folder / "ran").exists()
    assert not (folder.parent / "elsewhere").exists()
    assert _unasked(folder, "--allow-outside").returncode == 2  # which is not code
    assert not (folder / "ran").exists()


def test_a_file_beside_the_audit_is_not_taken_for_a_library(folder: Path, tmp_path_factory) -> None:
    for name in ("onnx", "onnxruntime", "skops", "joblib", "polars"):
        (folder / f"{name}.py").write_text("import pathlib\npathlib.Path('ran').touch()\n")
    (folder / "m.onnx").write_bytes(b"\x08\x08\x12\x00")
    (folder / "audit.toml").write_text(AUDIT.replace("scoring:model", "m.onnx"))
    command, elsewhere = [*COMMAND, "audit.toml"], tmp_path_factory.mktemp("elsewhere")
    # From another folder: what lies in the current one is found by Python itself, as it is started here.
    done = subprocess.run([*command[:-1], str(folder / "audit.toml")], cwd=elsewhere, capture_output=True, check=False)
    assert done.returncode == 2
    assert not (folder / "ran").exists()
    assert not (elsewhere / "ran").exists()


def test_what_is_remembered_is_not_asked_again_until_the_code_changes(folder: Path) -> None:
    first = _unasked(folder, "--allow-code", "--remember")
    assert first.returncode == 1, first.stderr
    assert "remembered in" in first.stderr
    assert _unasked(folder).returncode == 1
    (folder / "scoring.py").write_text(MODEL + "\nprint('changed')\n")
    changed = _unasked(folder)
    assert changed.returncode == 2
    assert "changed" not in changed.stdout


@pytest.mark.parametrize("keep", [(), ("--remember",)])
@pytest.mark.parametrize(("answer", "ci", "code"), [("y", "", 1), ("n", "", 2), ("", "", 2), ("y", "1", 2)])
def test_at_a_terminal_it_asks_and_in_ci_never(
    folder: Path, answer: str, ci: str, code: int, keep: tuple[str, ...]
) -> None:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    environment = {**os.environ, "CI": ci, "XDG_STATE_HOME": str(folder / "state")}
    os.write(ours, f"{answer}\n".encode())
    command = [*COMMAND, "audit.toml", "-q", *keep]
    done = subprocess.run(
        command, cwd=folder, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE, env=environment, check=False
    )
    os.close(theirs)
    said = os.read(ours, 65_536).decode()
    os.close(ours)
    assert done.returncode == code, said
    question, asked, _ = said.partition("[y/N]")
    assert bool(asked) == (not ci)
    if asked:  # whoever is asked for more than this time is told first what is not covered
        assert ("installed packages and files elsewhere are not covered" in question) == bool(keep)
    assert "scoring:model" in said or code == 1
