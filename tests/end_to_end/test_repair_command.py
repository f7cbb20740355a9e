"""``isonomia repair`` as a person meets it: a specification, a table, a model that is trained, files and exit codes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from warm_start import run_command

from isonomia.records import Verdict

SPECIFICATION = """input x1;
var v2 := getFeat(x1, "priors") + randInt(1, 5);
var x2 := setFeat(x1, "priors", v2);
requires v2 <= 19;
output d1;
output d2;
{
    d1 = predict(x1)
    d2 = predict(x2)
}
ensures d1 <= d2;
"""

MODELS = """
from sklearn.tree import DecisionTreeClassifier

def new_tree():
    return DecisionTreeClassifier(max_depth=8, random_state=0)

def rule(rows):
    return rows["priors"] > 9
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("repair")
    rng = np.random.default_rng(1)
    priors, age = rng.integers(0, 20, 3000), rng.integers(18, 70, 3000)
    risk = (priors + rng.normal(0, 6, 3000) > 9).astype(int)
    rows = [f"{a},{b},{c}" for a, b, c in zip(priors, age, risk, strict=True)]
    (path / "people.csv").write_text("\n".join(["priors,age,risk", *rows]) + "\n")
    (path / "priors.nom").write_text(SPECIFICATION)
    (path / "models.py").write_text(MODELS)
    return path


def isonomia(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"}
    return run_command(folder, *arguments, environment=environment)


def test_a_model_is_repaired_saved_recorded_and_reported(folder: Path) -> None:
    done = isonomia(
        folder, "repair", "priors.nom", "--data", "people.csv", "--label", "risk", "--model", "models:new_tree",
        "--eps", "0.05", "--lost", "0.1", "--cases", "1000", "--rounds", "20", "--seed", "1", "-o", "repaired.skops",
        "--json", "out.json", "--report", "report.html",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "HOLDS" in done.stdout
    assert "round 0:" in done.stderr
    assert "can be trained monotone" in done.stdout
    verdict = Verdict.from_dict(json.loads((folder / "out.json").read_text("utf-8"))["verdicts"][0])
    assert verdict.details["audit"] == "repair"
    assert "accuracy lost" in (folder / "report.html").read_text("utf-8")
    shown = isonomia(folder, "show")
    assert shown.returncode == 0, shown.stderr
    assert "of cases violate priors" in " ".join(shown.stdout.split())
    assert (folder / "repaired.skops").stat().st_size > 1000


def test_a_function_that_cannot_be_trained_is_refused(folder: Path) -> None:
    done = isonomia(folder, "repair", "priors.nom", "--data", "people.csv", "--label", "risk", "--model", "models:rule")
    assert done.returncode == 2
    assert "fit and predict" in " ".join(done.stderr.split())
