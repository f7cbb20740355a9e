"""FairSquare programs at the command: a real process, real files, real exit codes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from warm_start import run_command

FAIR = """
def popModel():
    group = step([(0, 1, 0.4), (1, 2, 0.6)])
    age = gaussian(40, 100)
    sensitiveAttribute(group < 1)
    qualified(age > 18)

def F():
    score = gaussian(0, 1)
    if group < 1:
        score = score + 0.02
    fairnessTarget(score > 0)
    return score
"""
UNFAIR = FAIR.replace("+ 0.02", "- 0.5")
WITHOUT_QUALIFIED = FAIR.replace("    qualified(age > 18)\n", "")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("programs")
    (path / "fair.fr").write_text(FAIR)
    (path / "unfair.fr").write_text(UNFAIR)
    (path / "everybody.fr").write_text(WITHOUT_QUALIFIED)
    (path / "loop.fr").write_text(FAIR.replace("    score = gaussian(0, 1)\n", "    while True:\n        pass\n"))
    (path / "unmarked.fr").write_text(FAIR.replace("    fairnessTarget(score > 0)\n", ""))
    (path / "people.csv").write_text("x\n1\n0\n")
    (path / "models.py").write_text("import numpy as np\n\ndef old(batch):\n    return np.asarray(batch['age']) > 60\n")
    return path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_command(folder, "check", *arguments)


@pytest.mark.parametrize(("program", "code"), [("fair.fr", 0), ("unfair.fr", 1), ("everybody.fr", 0)])
def test_a_ratio_is_verified_at_a_tiny_risk(folder: Path, program: str, code: int) -> None:
    options = ("--method", "bets", "--delta", "1e-10", "--seed", "1", "--json", "out.json")
    done = run(folder, program, "--ratio", "0.85", *options)
    assert done.returncode == code, done.stdout + done.stderr
    (verdict,) = json.loads((folder / "out.json").read_text())["verdicts"]
    qualified = " and qualified" if program != "everybody.fr" else ""
    assert verdict["text"] == f"P[target | minority{qualified}] / P[target | not minority{qualified}] >= 0.85"
    assert verdict["risk"] == 1e-10
    assert program in verdict["assumptions"][0]


def test_any_property_of_the_variables_can_be_given(folder: Path) -> None:
    done = run(folder, "fair.fr", "P[age > 60 | minority] <= 0.05", "P[qualified] >= 0.9", "-q", "--seed", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("holds") == 2


def test_a_program_draws_people_for_a_model_of_ones_own(folder: Path) -> None:
    done = run(folder, "fair.fr", "P[prediction] <= 0.05", "--model", "models:old", "-q", "--seed", "1")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("loop.fr", "--ratio", "0.8"), ("loop.fr, line 9", "while True:", "^^^")),
        (("missing.fr", "--ratio", "0.8"), ("missing.fr", "no such file")),
        (("unmarked.fr", "--ratio", "0.8"), ("fairnessTarget",)),
        (("fair.fr",), ("--ratio",)),
        (("fair.fr", "unfair.fr", "--ratio", "0.8"), ("one program",)),
        (("fair.fr", "--ratio", "1.5"), ("1.5",)),
        (("fair.fr", "--ratio", "0.8", "--census"), ("--census requires --data",)),
        (("fair.fr", "--ratio", "0.8", "--features", "age"), ("--features requires --model",)),
        (("MISSING.FR", "--ratio", "0.8"), ("MISSING.FR", "no such file")),
        (("fair.fr", "--ratio", "0.8", "--data", "people.csv"), ("leave one out",)),
        (("P[x] >= 0.1", "--data", "people.csv", "--ratio", "0.8"), ("program.fr",)),
        (("P[x] >= 0.1",), ("--data",)),
        (("fair.fr", "P[agee > 3] >= 0.1"), ("age",)),
    ],
)
def test_a_mistake_is_said_clearly(folder: Path, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    done = run(folder, *arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr
