"""``isonomia compare old new``: two evals of the same questions, and what its exit code says."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from warm_start import run_command


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    hard = rng.random(400) < 0.3
    results = {"old": ~hard, "same": ~hard | (rng.random(400) < 0.05), "bad": ~hard & (rng.random(400) < 0.8)}
    for name, correct in results.items():
        lines = ["item,correct,topic,grade"]
        lines += [f"q{n},{int(c)},{'law' if n % 2 else 'tax'},{7 + 2 * c}" for n, c in enumerate(correct)]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines))
        docs = [
            {"doc_id": n, "doc": {"topic": n % 2}, "filtered_resps": ["x"], "metrics": ["acc"], "acc": float(c)}
            for n, c in enumerate(correct)
        ]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, docs)))
    return tmp_path


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
@pytest.mark.parametrize(("new", "code", "answer"), [("same", 0, "HOLDS"), ("bad", 1, "VIOLATED")])
def test_two_evals_are_compared_question_by_question(
    folder: Path, ending: str, new: str, code: int, answer: str
) -> None:
    result = run_command(folder, "compare", f"old.{ending}", f"{new}.{ending}", "--json", "out.json")
    assert result.returncode == code, result.stderr
    assert answer in result.stdout
    assert "worse: " in result.stdout
    (verdict,) = json.loads((folder / "out.json").read_text())["verdicts"]
    assert verdict["samples"] == 400


def test_options_say_what_is_compared(folder: Path) -> None:
    by_topic = run_command(folder, "compare", "old.csv", "same.csv", "--by", "topic", "--margin", "0.1")
    assert (by_topic.returncode, "topic == 'law'" in by_topic.stdout) == (0, True)
    grades = run_command(
        folder, "compare", "old.csv", "same.csv", "--value", "grade", "--range", "7:9", "--margin", "0.2"
    )
    assert grades.returncode == 0, grades.stdout
    assert "E[new from 7 to 9]" in grades.stdout
    undecided = run_command(folder, "compare", "old.csv", "old.csv", "--margin", "0", "--delta", "0.01")
    assert undecided.returncode in (0, 3)


@pytest.mark.parametrize("options", [["old.csv", "no.eval"], ["old.csv", "bad.jsonl", "--on", "other"]])
def test_what_cannot_be_compared_is_an_error(folder: Path, options: list[str]) -> None:
    assert run_command(folder, "compare", *options).returncode == 2


def test_a_log_may_stand_among_the_arguments_of_check(folder: Path) -> None:
    gate = run_command(folder, "check", "old.jsonl", "P[correct] >= 0.5", "--looks", "once")
    assert (gate.returncode, "HOLDS" in gate.stdout) == (0, True)
    assert run_command(folder, "check", "P[correct] >= 0.9", "bad.jsonl", "--looks", "once").returncode == 1
    for wrong in (["old.jsonl"], ["old.jsonl", "bad.jsonl", "P[correct] >= 0.5"]):
        assert run_command(folder, "check", *wrong).returncode == 2
    assert run_command(folder, "check", "old.jsonl", "P[correct] >= 0.5", "--data", "old.csv").returncode == 2
