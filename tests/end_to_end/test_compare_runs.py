"""``isonomia compare previous latest``: two recorded runs on the same rows, paired row by row, or why they are not."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from warm_start import run_command

AUDIT = """
seed = 1
delta = 0.001

[model]
load = "answers.py:model"
features = ["x"]

[population]
sample = "evals.csv"

[[property]]
name = "accuracy"
check = "P[prediction == label] >= 0.7"

[[property]]
name = "topics"
check = "P[prediction == label | topic == 'law'] - P[prediction == label | topic == 'tax'] >= -0.3"
looks = "once"

[[property]]
name = "precision"
check = "P[label == 1 | prediction == 1] >= 0.5"
"""
ANSWERS = """
import numpy as np

def model(rows):
    return (np.asarray(rows["x"], dtype=float) > {cut}).astype(int)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    x, topic = rng.random(600), rng.choice(["law", "tax"], 600)
    lines = [f"{a:.3f},{b},{int(a > 0.5)}" for a, b in zip(x, topic, strict=True)]
    (tmp_path / "evals.csv").write_text("\n".join(["x,topic,label", *lines]))
    (tmp_path / "audit.toml").write_text(AUDIT.replace("answers.py:model", "answers:model"))
    return tmp_path


def run(folder: Path, cut: float) -> None:
    # Of another size for each cut: Python takes a module changed within the second for the one it compiled before.
    (folder / "answers.py").write_text(ANSWERS.format(cut=cut) + "#" * int(100 * cut) + "\n")
    assert run_command(folder, "run", "audit.toml", "--allow-code", "-q").returncode in (0, 1, 3)


def test_two_runs_are_paired_row_by_row(folder: Path) -> None:
    run(folder, 0.5)
    run(folder, 0.8)
    done = run_command(folder, "compare", "previous", "latest", "--delta", "0.05", "--json", "out.json")
    assert done.returncode == 1, done.stdout + done.stderr
    verdicts = {each["name"]: each for each in json.loads((folder / "out.json").read_text())["verdicts"]}
    assert list(verdicts) == ["accuracy", "topics", "precision"]
    assert verdicts["accuracy"]["answer"] == "violated", done.stdout
    assert verdicts["accuracy"]["looks"] == "any"
    assert verdicts["precision"]["answer"] != "violated"
    assert (verdicts["topics"]["looks"], verdicts["topics"]["samples"]) == ("once", 600)
    assert "worse: accuracy, row by row" in done.stdout
    better = run_command(folder, "compare", "latest", "previous", "--delta", "0.05", "--margin", "0.05")
    assert "not worse" in better.stdout


def test_what_each_row_said_stays_in_the_store(folder: Path) -> None:
    run(folder, 0.5)
    with sqlite3.connect(folder / ".isonomia" / "runs.sqlite") as store:
        entries = [entry for (entry,) in store.execute("SELECT entry FROM entries WHERE key LIKE 'batch %'")]
    store.close()
    assert all("by row" in json.loads(entry) for entry in entries)
    assert run_command(folder, "export", "-o", "evidence.json").returncode == 0
    assert "by row" not in (folder / "evidence.json").read_text()
    assert run_command(folder, "replay", "evidence.json", "--full", "--allow-code").returncode == 0
    run(folder, 0.5)
    files = run_command(folder, "compare", "evidence.json", "latest")
    assert (files.returncode, "row by row" in files.stdout) == (0, False)


def _changed(old: str, new: str, file: str = "audit.toml") -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        text = (folder / file).read_text()
        assert old in text
        (folder / file).write_text(text.replace(old, new, 1))

    return change


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_changed("seed = 1", "seed = 2"), "seed"),
        (_changed(",law,", ",tax,", "evals.csv"), "tables are not the same"),
        (_changed(">= 0.7", ">= 0.71"), "property has changed"),
        (_changed("sample =", "census ="), "sample"),
    ],
    ids=["seed", "table", "property", "census"],
)
def test_rows_that_are_no_pairs_are_not_paired_and_it_is_said_why(
    folder: Path, change: Callable[[Path], None], why: str
) -> None:
    run(folder, 0.5)
    change(folder)
    run(folder, 0.8)
    done = run_command(folder, "compare", "previous", "latest")
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("not paired: accuracy")]
    assert why in line
