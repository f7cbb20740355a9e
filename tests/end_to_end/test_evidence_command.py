"""``isonomia export``, ``replay`` and ``compare`` as people use them: one file, sent elsewhere."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from warm_start import run_command

MODEL = """
import numpy as np

def model(table):
    points, priors = np.asarray(table["points"]), np.asarray(table["priors"])
    return ((points > 0.4) & (priors < 4)).astype(int)

def other(table):
    return np.ones(len(np.asarray(table["points"])), dtype=int)
"""
AUDIT = """
title = "Hiring"
seed = 11

[model]
load = "scoring:model"

[population]
sample = "people.csv"

[populations.all]
census = "people.csv"

[interventions]
changes = "changes.toml"

[[property]]
name = "women"
why = "somebody must be hired"
check = "P[prediction == 1 | sex == 'F'] >= 0.2"

[[property]]
name = "parity"
population = "all"
fairness = "demographic_parity"
with = {attribute = "sex", minority = "F", majority = "M", difference = 0.2}

[[property]]
name = "priors always help"
safety = "monotone"
with = {feature = "priors", up = [1, 2], at_most = 5, output = "not lower"}

[[property]]
name = "everyone can improve"
responsiveness = "share"
population = "all"
with = {interventions = "changes", target = 1, at_least = 0.01, who = "prediction == 0 and points > 0.97"}

[[property]]
name = "strata"
principal = true
population = "all"
with = {attribute = "sex", outcome = "passed", within = 0.5}
"""
CHANGES = """
[features.points]
kind = "real"
low = 0.0
high = 1.0

[features.priors]
kind = "integer"
low = 0
high = 5
direction = "down"
"""
NAMES = ["women", "parity", "priors always help", "everyone can improve", "strata"]


def _isonomia(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "160", "GITHUB_STEP_SUMMARY": ""}
    return run_command(folder, *arguments, environment=environment)


def _filled(folder: Path) -> Path:
    (folder / "scoring.py").write_text(MODEL)
    (folder / "audit.toml").write_text(AUDIT)
    (folder / "changes.toml").write_text(CHANGES)
    (folder / "key").write_bytes(b"the key of this house\n")
    rng, n = np.random.default_rng(5), 500
    rows = zip(
        rng.choice(["F", "M"], n), rng.random(n).round(4), rng.integers(0, 6, n), rng.integers(0, 2, n), strict=True
    )
    lines = ["sex,points,priors,passed", *(",".join(map(str, row)) for row in rows)]
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run, exported with and without a key."""
    folder = _filled(tmp_path_factory.mktemp("audit"))
    done = _isonomia(folder, "run", "audit.toml", "--allow-code", "-q", "--json", "verdicts.json")
    assert done.returncode == 1, done.stderr
    for arguments in (["-o", "evidence.json"], ["latest", "-o", "sealed.json", "--key", "key"]):
        done = _isonomia(folder, "export", *arguments)
        assert done.returncode == 0, done.stderr
        assert "written" in done.stdout
    return folder


def _elsewhere(ran: Path, tmp_path: Path, name: str = "evidence.json") -> Path:
    """A folder with nothing but the file, and that file's content."""
    shutil.copy(ran / name, tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    return tmp_path


def _sealed_anew(content: dict[str, Any]) -> dict[str, Any]:
    """What a tamperer does who has read how a seal is made."""
    rest = {key: value for key, value in content.items() if key != "seal"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return {**rest, "seal": {"method": "sha256", "value": hashlib.sha256(text.encode()).hexdigest()}}


def test_the_file_alone_gives_the_same_verdicts_in_another_folder(ran: Path, tmp_path: Path) -> None:
    folder = _elsewhere(ran, tmp_path)
    done = _isonomia(folder, "replay", "evidence.json")
    assert done.returncode == 1, done.stdout + done.stderr  # one is violated
    assert "the seal is intact" in done.stdout
    for name in NAMES:
        assert any(line.startswith(name) and "the same" in line for line in done.stdout.splitlines())
    assert [path.name for path in folder.iterdir()] == ["evidence.json"]


def test_the_verdicts_in_the_file_are_those_of_the_run(ran: Path) -> None:
    told = json.loads((ran / "verdicts.json").read_text())["verdicts"]
    kept = [check["verdict"] for check in json.loads((ran / "evidence.json").read_text())["checks"]]
    assert [(each["name"], each["answer"], each["samples"]) for each in told] == [
        (each["name"], each["answer"], each["samples"]) for each in kept
    ]
    assert [each["answer"] for each in kept] == ["holds", "holds", "violated", "holds", "holds"]


def test_a_tampered_number_is_noticed(ran: Path, tmp_path: Path) -> None:
    file = _elsewhere(ran, tmp_path) / "evidence.json"
    text = file.read_text()
    samples = json.loads(text)["checks"][0]["verdict"]["samples"]
    file.write_text(text.replace(f'"samples": {samples}', f'"samples": {samples + 1}', 1))
    done = _isonomia(tmp_path, "replay", "evidence.json")
    assert done.returncode == 2
    assert "the seal is broken" in done.stdout
    assert f"women: samples: {samples + 1} in the record, {samples} now" in done.stdout


def test_a_tamperer_who_seals_anew_is_found_out_by_the_arithmetic(ran: Path, tmp_path: Path) -> None:
    file = _elsewhere(ran, tmp_path) / "evidence.json"
    content = json.loads(file.read_text())
    content["checks"][2]["verdict"]["answer"] = "holds"
    counts = content["checks"][0]["entries"]["batch 0"]["counts"][0]
    counts[0], counts[1] = counts[1], counts[0]
    file.write_text(json.dumps(_sealed_anew(content)))
    done = _isonomia(tmp_path, "replay", "evidence.json")
    assert done.returncode == 2
    assert "the seal is intact" in done.stdout
    assert "priors always help: answer: 'holds' in the record, 'violated' now" in done.stdout
    assert "women: " in done.stdout


def test_nobody_without_the_key_can_seal_anew(ran: Path, tmp_path: Path) -> None:
    folder = _elsewhere(ran, tmp_path, "sealed.json")
    shutil.copy(ran / "key", tmp_path / "key")
    assert _isonomia(folder, "replay", "sealed.json", "--key", "key").returncode == 1
    assert "expected the key" in _isonomia(folder, "replay", "sealed.json").stderr
    content = json.loads((folder / "sealed.json").read_text())
    (folder / "sealed.json").write_text(json.dumps(_sealed_anew(content)))
    done = _isonomia(folder, "replay", "sealed.json", "--key", "key")
    assert done.returncode == 2
    assert "sealed without" in done.stderr


def test_the_model_is_asked_about_the_counterexamples(ran: Path) -> None:
    done = _isonomia(ran, "replay", "evidence.json", "--model", "scoring:model")
    assert done.returncode == 1, done.stdout + done.stderr
    told = [line for line in done.stdout.splitlines() if line.startswith("priors always help: ")]
    (again, _, counted, *_) = told[0].removeprefix("priors always help: ").split()
    assert again == counted != "0"
    assert "another model" not in done.stdout
    done = _isonomia(ran, "replay", "evidence.json", "--model", "scoring:other")
    assert "this is another model than the record's" in done.stdout
    assert "priors always help: 0 of " in done.stdout


def test_everything_can_be_done_anew(ran: Path, tmp_path: Path) -> None:
    folder = _elsewhere(ran, tmp_path)
    refused = _isonomia(folder, "replay", "evidence.json", "--full", "--folder", str(ran))
    assert refused.returncode == 2
    assert "--allow-code" in refused.stderr
    done = _isonomia(folder, "replay", "evidence.json", "--full", "--folder", str(ran), "--allow-code")
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.count("the same in every number") == len(NAMES)


def test_other_data_are_noticed_when_everything_is_done_anew(ran: Path, tmp_path: Path) -> None:
    folder = _filled(tmp_path)
    people = (folder / "people.csv").read_text()
    (folder / "people.csv").write_text(people.replace("M,", "F,", 40))
    shutil.copy(ran / "evidence.json", folder / "evidence.json")
    done = _isonomia(folder, "replay", "evidence.json", "--full", "--allow-code")
    assert done.returncode == 2
    assert "women: this is another population than the record's" in done.stdout


@pytest.mark.parametrize(
    ("content", "told"),
    [("[" * 200_000, "nested more deeply"), ('{"format": "isonomia evidence", "format": 1}', "occurs twice")],
    ids=["nested", "twice"],
)
def test_a_file_that_is_no_evidence_is_an_error_and_no_crash(tmp_path: Path, content: str, told: str) -> None:
    (tmp_path / "evidence.json").write_text(content)
    done = _isonomia(tmp_path, "replay", "evidence.json")
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_two_runs_are_compared_property_by_property(ran: Path, tmp_path: Path) -> None:
    folder = _filled(tmp_path)
    (folder / "audit.toml").write_text(AUDIT.replace("scoring:model", "scoring:other"))
    assert _isonomia(folder, "run", "audit.toml", "--allow-code", "-q").returncode == 3
    shutil.copy(ran / "evidence.json", folder / "before.json")
    done = _isonomia(folder, "compare", "before.json", "latest")
    assert done.returncode == 1, done.stdout + done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("priors always help")]
    assert "violated" in line
    assert "undecided" in line
    assert "model" in line
    told = [line for line in done.stdout.splitlines() if line.startswith("worse")]
    assert told == ["worse: everyone can improve: holds, now undecided"]
    same = _isonomia(ran, "compare", "verdicts.json", "evidence.json")
    assert same.returncode == 0
    assert "no answer got worse" in same.stdout


def test_what_cannot_be_exported_is_told(tmp_path: Path) -> None:
    done = _isonomia(tmp_path, "export")
    assert done.returncode == 2
    assert "expected records in .isonomia" in done.stderr
