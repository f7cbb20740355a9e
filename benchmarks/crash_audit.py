"""The audit that is killed: properties of all four kinds, with some seconds of work, and how it is started."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from isonomia.records.store import ANSWER_PREFIX

__all__ = ["entries_in", "is_sound", "kept_in", "run_to_the_end", "start", "verdicts_in", "write_audit"]

ROOT = Path(__file__).resolve().parent.parent
MAIN = "from isonomia.cli import main; main()"
MODEL = """
import time
import numpy as np


def model(table):
    time.sleep(0.002)  # as if it were expensive, so that there is time to be killed
    return ((np.asarray(table["points"]) > 0.4) & (np.asarray(table["priors"]) < 4)).astype(int)
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
AUDIT = """
title = "Hiring"
seed = 11
jobs = 2

[model]
load = "crash_model:model"

[models.again]
load = "crash_model_again:model"

[models.third]
load = "crash_model_again:model"

[population]
sample = "people.csv"

[populations.all]
census = "people.csv"

[interventions]
changes = "changes.toml"

[[property]]
name = "women"
check = "P[prediction == 1 | sex == 'F'] >= 0.37"

[[property]]
name = "parity"
fairness = "demographic_parity"
with = {attribute = "sex", minority = "F", majority = "M", difference = 0.06}

[[property]]
name = "men, the other model"
model = "again"
check = "P[prediction == 1 | sex == 'M'] >= 0.38"

[[property]]
name = "everybody, by counting"
population = "all"
check = "P[prediction == 1] >= 0.3"

[[property]]
name = "priors never help"
safety = "monotone"
with = {feature = "priors", up = [1, 2], at_most = 5, output = "not higher"}

[[property]]
name = "priors never hurt"
model = "again"
safety = "monotone"
with = {feature = "priors", up = [1, 1], at_most = 5, output = "not lower"}

[[property]]
name = "some can improve"
responsiveness = "share"
population = "all"
with = {interventions = "changes", target = 1, at_least = 0.3, who = "prediction == 0 and points > 0.97"}

[[property]]
name = "strata"
model = "again"
principal = true
with = {attribute = "sex", outcome = "passed", within = 0.02}
"""


MORE = """
[[property]]
name = "rate {number}"
model = "{model}"
check = "P[prediction == 1 | sex == '{sex}'] >= {least}"
"""


def write_audit(folder: Path, people: int = 12_000) -> None:
    """Write everything that the audit needs into a folder."""
    (folder / "crash_model.py").write_text(MODEL)
    (folder / "crash_model_again.py").write_text(MODEL)
    (folder / "changes.toml").write_text(CHANGES)
    models, sexes = ("again", "third"), ("F", "M")
    more = [
        MORE.format(number=k, model=models[k % 2], sex=sexes[k // 2 % 2], least=round(0.36 + 0.01 * k, 2))
        for k in range(8)
    ]
    (folder / "audit.toml").write_text(AUDIT + "".join(more))
    rng = np.random.default_rng(5)
    columns = (
        rng.choice(["F", "M"], people),
        rng.random(people).round(4),
        rng.integers(0, 6, people),
        rng.integers(0, 2, people),
    )
    lines = [",".join(map(str, row)) for row in zip(*columns, strict=True)]
    (folder / "people.csv").write_text("\n".join(["sex,points,priors,passed", *lines]) + "\n")


def start(folder: Path, records: str, more: Sequence[str] = (), program: str = MAIN, **options: Any) -> Any:
    """Start a run in a process of its own; it is not waited for."""
    command = [sys.executable, "-c", program, "run", "audit.toml", "--allow-code", "-q", "--records", records, *more]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}", "NO_COLOR": "1"}
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


def run_to_the_end(folder: Path, records: str, *more: str, **options: Any) -> tuple[int, str]:
    """Run the audit, and give exit code and what it said."""
    process = start(folder, records, more, **options)
    output, problems = process.communicate()
    return process.returncode, output + problems


def verdicts_in(path: Path) -> list[dict[str, Any]]:
    """The verdicts that a run wrote as JSON, without the time that they took."""
    found = json.loads(path.read_text())
    assert not found["failures"], found["failures"]
    return [{key: value for key, value in verdict.items() if key != "seconds"} for verdict in found["verdicts"]]


def entries_in(folder: Path, records: str) -> int:
    """How many entries the journals have, and how many checks a verdict; 0 where there is no store yet."""
    path = folder / records / "runs.sqlite"
    if not path.exists():
        return 0
    with closing(sqlite3.connect(path, timeout=30)) as connection:
        try:
            (entries,) = connection.execute("SELECT count(*) FROM entries").fetchone()
            (verdicts,) = connection.execute("SELECT count(verdict) FROM checks").fetchone()
        except sqlite3.OperationalError:  # the tables are not there yet
            return 0
    return int(entries) + int(verdicts)


def kept_in(folder: Path, records: str) -> set[tuple[Any, ...]]:
    """Every entry that must never go away, and every verdict; raw answers are dropped once a check has its verdict."""
    path = folder / records / "runs.sqlite"
    if not path.exists():
        return set()
    with closing(sqlite3.connect(path, timeout=30)) as connection:
        try:
            entries = connection.execute("SELECT run, number, key, entry FROM entries").fetchall()
            verdicts = connection.execute("SELECT run, number, verdict FROM checks WHERE verdict NOT NULL").fetchall()
        except sqlite3.OperationalError:  # the tables are not there yet
            return set()
    return {row for row in entries if not row[2].startswith(ANSWER_PREFIX)} | set(verdicts)


def is_sound(folder: Path, records: str) -> bool:
    """Whether SQLite finds nothing amiss in the store."""
    path = folder / records / "runs.sqlite"
    if not path.exists():
        return True
    with closing(sqlite3.connect(path, timeout=30)) as connection:
        return bool(connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)])
