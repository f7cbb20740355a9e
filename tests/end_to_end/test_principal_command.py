"""``isonomia principal`` as a person meets it: a real process, a real file, real exit codes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from warm_start import run_command

from isonomia.records import Verdict

MODEL = """
import numpy as np

def unfair(batch):
    return (np.asarray(batch["sex"]) == "M").astype(int)

def fair(batch):
    return np.asarray(batch["passed"]).astype(int)
"""
COLUMNS = ("--attribute", "sex", "--outcome", "passed", "--seed", "1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("principal")
    rng = np.random.default_rng(0)
    lines = ["sex,school,passed,predicted"]
    for _ in range(1200):
        sex, passed = rng.choice(["F", "M"]), int(rng.random() < 0.3)
        predicted = int(sex == "M") if rng.random() < 0.9 else passed
        lines.append(f"{sex},{rng.choice(['GP', 'MS'])},{passed},{predicted}")
    (path / "students.csv").write_text("\n".join(lines) + "\n")
    (path / "gap.csv").write_text("\n".join([*lines, "F,GP,1,"]) + "\n")
    (path / "women.csv").write_text("\n".join([lines[0], *(line for line in lines if line.startswith("F"))]) + "\n")
    (path / "models.py").write_text(MODEL)
    return path


def isonomia(folder: Path, *arguments: str, width: int = 80) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": str(width), "PYTHONIOENCODING": "utf-8"}
    return run_command(folder, "principal", *arguments, environment=environment)


def test_stored_predictions_are_found_unfair_subgroup_by_subgroup(folder: Path) -> None:
    done = isonomia(
        folder, "--data", "students.csv", *COLUMNS, "--prediction", "predicted", "--given", "school",
        "--definition", "1", "--delta", "0.001", "--json", "out.json",
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "VIOLATED" in done.stdout
    assert "tau_0'" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    verdict = Verdict.from_dict(json.loads((folder / "out.json").read_text("utf-8"))["verdicts"][0])
    assert {item["subgroup"] for item in verdict.details["subgroups"]} == {"school='GP'", "school='MS'"}
    for item in verdict.details["subgroups"]:
        assert f"{item['subgroup']}  {item['people']:,} people" in done.stdout


@pytest.mark.parametrize(
    ("model", "extra", "code", "word"),
    [
        ("models:unfair", ("--definition", "2"), 1, "VIOLATED"),
        ("models:fair", ("--definition", "2", "--features", "passed"), 3, "UNDECIDED"),
        ("models:fair", ("--definition", "2", "--within", "0.7", "--features", "passed"), 0, "HOLDS"),
    ],
)
def test_the_exit_code_is_the_answer_for_a_model(
    folder: Path, model: str, extra: tuple[str, ...], code: int, word: str
) -> None:
    done = isonomia(folder, "--data", "students.csv", *COLUMNS, "--model", model, *extra)
    assert (done.returncode, word in done.stdout) == (code, True), done.stderr


def test_a_census_is_exact_and_the_repair_is_printed(folder: Path) -> None:
    done = isonomia(
        folder, "--data", "students.csv", *COLUMNS, "--prediction", "predicted", "--definition", "2", "--census",
        "--repair", "--objective", "changes", "--values", "sex=M,F", "--explain",
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    words = " ".join(line.strip("│ ") for line in done.stdout.splitlines())
    assert "Exact: there is no risk of error." in words
    assert "The stratum is all people whose passed would be the same" in words
    assert "The repair with the fewest changed decisions, from all rows:" in done.stdout
    rows = [line.split() for line in done.stdout.splitlines() if line.strip().startswith(("'M'", "'F'"))]
    assert [row[:2] for row in rows] == [["'M'", "0"], ["'M'", "1"], ["'F'", "0"], ["'F'", "1"]]
    assert all(abs(sum(map(float, row[2:])) - 1.0) < 1e-3 for row in rows)
    assert any(0.0 < float(row[3]) < 1.0 for row in rows)


def test_a_repair_is_certified_for_the_population_at_the_stated_risk_and_goes_further(folder: Path) -> None:
    common = ("--data", "students.csv", *COLUMNS, "--prediction", "predicted", "--definition", "2", "--repair",
              "--objective", "changes", "--quiet")  # fmt: skip
    plain, sure, again = (isonomia(folder, *common, *more) for more in ((), ("--certified",), ("--certified",)))
    assert (sure.returncode, sure.stdout) == (1, again.stdout), sure.stderr
    assert "except with probability 0.05" in sure.stdout
    assert "except with probability" not in plain.stdout
    changed = [
        float(done.stdout.split("share of decisions changed ")[1].split(",")[0].split()[0]) for done in (plain, sure)
    ]
    assert 0.0 < changed[0] < changed[1]


@pytest.mark.parametrize("extra", [("--certified",), ("--certified", "--repair", "--census")])
def test_a_certified_repair_without_a_repair_or_of_a_census_is_refused(folder: Path, extra: tuple[str, ...]) -> None:
    done = isonomia(folder, "--data", "students.csv", *COLUMNS, "--prediction", "predicted", *extra)
    assert (done.returncode, "--certified requires --repair" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--data", "gap.csv", "--prediction", "predicted"), "missing in 1 of 1201 rows, first in row 1200"),
        (("--data", "women.csv", "--prediction", "predicted"), "at least 2 values of sex, but there are ['F']"),
        (("--data", "students.csv", "--prediction", "guess"), "there is no column 'guess'"),
        (("--data", "students.csv", "--prediction", "predicted", "--definition", "7"), "definition 1, 2, 3 or 4"),
        (("--data", "students.csv", "--prediction", "predicted", "--objective", "love"), "--objective as one of total"),
        (("--data", "students.csv", "--prediction", "predicted", "--values", "sex"), "--values as COLUMN=FIRST,SECOND"),
        (("--data", "students.csv", "--prediction", "predicted", "--assume", "outcome never fals"), "Did you mean"),
        (
            (
                "--data",
                "nowhere.csv",
            ),
            "nowhere.csv",
        ),
    ],
)
def test_bad_input_is_a_message_and_exit_code_2(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    done = isonomia(folder, *arguments, *COLUMNS)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
