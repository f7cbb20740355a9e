"""Few labels and a judge, at the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from warm_start import run_command

AUDIT = """
seed = 1

[population]
sample = "graded.csv"
labels = {column = "human", judge = "judge", probability = 0.2}

[[property]]
name = "rate"
check = "P[human == 1] >= 0.7"

[[property]]
name = "by topic"
check = "P[human == 1 | topic == 'law'] - P[human == 1 | topic == 'tax'] >= -0.25"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng, lines = np.random.default_rng(1), []
    for _ in range(2000):
        right = rng.random() < 0.85
        judge = right if rng.random() < 0.9 else not right
        label = int(right) if rng.random() < 0.2 else ""
        lines.append(f"{label},{int(judge)},{rng.choice(['law', 'tax'])}")
    (tmp_path / "graded.csv").write_text("\n".join(["human,judge,topic", *lines]) + "\n")
    (tmp_path / "audit.toml").write_text(AUDIT)
    return tmp_path


def test_an_audit_of_few_labels_is_run_and_replayed(folder: Path) -> None:
    done = run_command(folder, "run", "audit.toml", "--json", "out.json", "--report", "page.html", "--quiet")
    assert done.returncode == 0, done.stderr
    verdicts = json.loads((folder / "out.json").read_text())["verdicts"]
    assert [verdict["answer"] for verdict in verdicts] == ["holds", "holds"]
    assert [len(verdict["details"]["judge"]) for verdict in verdicts] == [1, 2]
    assert "the judge agrees with" in (folder / "page.html").read_text()
    assert run_command(folder, "export", "-o", "evidence.json").returncode == 0
    for options in ((), ("--full",)):
        again = run_command(folder, "replay", "evidence.json", *options)
        assert again.returncode == 0, again.stdout + again.stderr


def test_a_check_of_few_labels_and_options_that_do_not_fit(folder: Path) -> None:
    command = ("check", "P[human == 1] >= 0.7", "--data", "graded.csv", "--labels", "human")
    done = run_command(folder, *command, "--judge", "judge", "--label-probability", "0.2")
    assert done.returncode == 0, done.stderr
    assert "the judge agrees with" in done.stdout
    for wrong in (
        ("--judge", "judge"),  # no probability
        ("--label-probability", "0.2"),  # no judge
        ("--judge", "judge", "--label-probability", "0.2", "--census"),
        ("--judge", "judge", "--label-probability", "0.05"),  # four times as many have a label
    ):
        assert run_command(folder, *command, *wrong).returncode == 2


def test_an_audit_file_that_does_not_say_how_labels_were_drawn_is_refused_at_its_line(folder: Path) -> None:
    for given in ("{column = 'human'}", "{column = 'human', judge = 'judge'}", "{judge = 'judge', probability = 0.2}"):
        text = AUDIT.replace('{column = "human", judge = "judge", probability = 0.2}', given)
        (folder / "audit.toml").write_text(text)
        done = run_command(folder, "run", "audit.toml", "--quiet")
        assert done.returncode == 2
        assert "audit.toml" in done.stderr
