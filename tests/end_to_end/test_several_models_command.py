"""Several models about the same rows: at the command line, in audit files, recorded and repeated."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from warm_start import run_command

MODELS = """
import numpy as np

def new(rows):
    with open("calls.txt", "a") as calls:
        calls.write(f"{sorted(rows)}\\n")
    return np.where(np.asarray(rows["id"]) % 10 == 0, "no", "yes")

def old(rows):
    return np.where(np.asarray(rows["id"]) % 2 == 0, "no", "yes")
"""
AUDIT = """
seed = 1

[population]
sample = "rows.csv"

[models.candidate]
load = "answers:new"

[models.base]
load = "answers:old"
random = true

[[property]]
name = "stored"
evals = "not_worse"
with = {outcome = "label", margin = 0.05}
models = {new = "new_answer", old = "old_answer"}

[[property]]
name = "live"
check = "P[new.prediction == old.prediction] >= 0.4"
models = {new = "candidate", old = "base"}

[[property]]
name = "live again"
check = "P[old.prediction == label] - P[new.prediction == label] <= 0.4"
models = {new = "candidate", old = "base"}

[[property]]
name = "mixed"
check = "P[new.prediction == old.prediction] >= 0.3"
models = {new = "candidate", old = "old_answer"}
"""
AGREE = "P[new.prediction == old.prediction] >= 0.2"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    label = rng.choice(["yes", "no"], 800)
    other = np.where(label == "yes", "no", "yes")
    new, old = (np.where(rng.random(800) < rate, label, other) for rate in (0.9, 0.8))
    rows = zip(range(800), label, new, old, strict=True)
    text = "id,label,new_answer,old_answer\n" + "".join(f"{','.join(map(str, row))}\n" for row in rows)
    (tmp_path / "rows.csv").write_text(text)
    (tmp_path / "answers.py").write_text(MODELS)
    (tmp_path / "audit.toml").write_text(AUDIT)
    return tmp_path


def test_an_audit_of_two_models_is_run_resumed_and_replayed(folder: Path) -> None:
    done = run_command(folder, "run", "audit.toml", "--allow-code", "--json", "out.json", "--quiet")
    assert done.returncode == 0, done.stdout + done.stderr
    verdicts = json.loads((folder / "out.json").read_text())["verdicts"]
    assert {verdict["answer"] for verdict in verdicts} == {"holds"}
    assert verdicts[0]["queries"] in (0, None), "stored answers cost nothing"
    given = set((folder / "calls.txt").read_text().splitlines())
    # Neither the outcome, nor the stored answers that a property compares with.
    assert given == {"['id', 'new_answer', 'old_answer']", "['id', 'label', 'new_answer']"}
    assert run_command(folder, "export", "-o", "evidence.json").returncode == 0
    for options in ((), ("--full", "--allow-code", "--folder", ".")):
        again = run_command(folder, "replay", "evidence.json", *options)
        assert again.returncode == 0, again.stdout + again.stderr


@pytest.mark.parametrize(
    ("line", "where"),
    [
        ('models = {new = "candidate"}', "old"),
        ('models = {new = "candidate", old = "old_answr"}', "old_answr"),
        ('models = {new = "candidate", old = 3}', "3"),
        ('models = {new = "candidate", old = "base"}\nmodel = "base"', "both"),
    ],
)
def test_models_that_a_property_cannot_have_are_refused_at_their_line(folder: Path, line: str, where: str) -> None:
    text = AUDIT.split('[[property]]\nname = "stored"')[0]
    (folder / "audit.toml").write_text(f'{text}[[property]]\ncheck = "{AGREE}"\n{line}\n')
    done = run_command(folder, "run", "audit.toml", "--allow-code")
    assert done.returncode == 2
    assert where in done.stdout + done.stderr
    assert not (folder / "calls.txt").exists(), "nothing was asked"


@pytest.mark.parametrize(
    ("models", "code"),
    [
        (["new=new_answer", "old=old_answer"], 0),
        (["new=answers:new", "old=old_answer"], 0),
        (["new=answers:new", "old=answers:old"], 0),
        (["new=answers:new", "old=old_answr"], 2),
        (["new=answers:new", "answers:old"], 2),
        (["new=answers:new", "new=answers:old"], 2),
        (["new=answers:new"], 2),
    ],
)
def test_a_check_takes_models_by_name(folder: Path, models: list[str], code: int) -> None:
    options = [part for model in models for part in ("--model", model)]
    done = run_command(folder, "check", AGREE, "--data", "rows.csv", "--seed", "1", *options)
    assert done.returncode == code, done.stdout + done.stderr
