"""The audit that is killed: properties of all four kinds, with some seconds of work, and how it is started."""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import signal
import sqlite3
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import isonomia
from isonomia.records.store import ANSWER_PREFIX

__all__ = [
    "MAIN",
    "Forked",
    "entries_in",
    "is_sound",
    "kept_in",
    "run_to_the_end",
    "start",
    "verdicts_in",
    "write_audit",
]

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
    import_everything()
    arguments = ["run", "audit.toml", "--allow-code", "-q", "--records", records, *more]
    return Forked(folder, arguments, program, **options)


class Forked:
    """A process as ``Popen`` would give it, forked from this one.

    Importing everything takes most of a short life otherwise, and nothing is written meanwhile.
    """

    def __init__(
        self, folder: Path, arguments: Sequence[str], program: str, preexec_fn: Callable[[], None] | None = None
    ) -> None:
        self.returncode: int | None = None
        pipes = [os.pipe(), os.pipe()]  # what it prints is little, and they are not read before its end
        self._told = [reading for reading, _ in pipes]
        self.pid = os.fork()
        if self.pid:
            for _, writing in pipes:
                os.close(writing)
            return
        code = 70
        try:
            atexit._clear()  # else it would remove the folders of this process at its end
            os.chdir(folder)
            os.environ["NO_COLOR"] = "1"
            sys.path.insert(0, "")
            for number, (_, writing) in enumerate(pipes, start=1):
                os.dup2(writing, number)
            sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
            if preexec_fn is not None:
                preexec_fn()
            code = _run(program, arguments)
        finally:
            os._exit(code)

    def poll(self) -> int | None:
        """The exit code, or ``None`` while it lives."""
        if self.returncode is None:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def kill(self) -> None:
        """End it by SIGKILL, if it lives."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def communicate(self) -> tuple[str, str]:
        """Wait for its end; what it printed."""
        told = []
        for reading in self._told:
            with open(reading) as file:
                told.append(file.read())
        if self.returncode is None:
            _, status = os.waitpid(self.pid, 0)
            self.returncode = os.waitstatus_to_exitcode(status)
        return told[0], told[1]


def _run(program: str, arguments: Sequence[str]) -> int:
    """What an interpreter does with ``-c``: run, say what was raised, end threads, and flush."""
    sys.argv, code = ["-c", *arguments], 0
    try:
        exec(program, {})
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else int(left.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return code


@cache
def import_everything() -> None:
    """Import what a run needs, and start no thread."""
    for name in ("pyarrow.csv", "scipy.optimize", "scipy.stats"):
        importlib.import_module(name)
    for module in pkgutil.walk_packages(isonomia.__path__, "isonomia."):
        if "pytest_plugin" not in module.name:
            importlib.import_module(module.name)
    gc.freeze()
    assert threading.active_count() == 1, "a process with threads must not be forked"


def run_to_the_end(folder: Path, records: str, *more: str, **options: Any) -> tuple[int, str]:
    """Run the audit, and give exit code and what it said."""
    process = start(folder, records, more, **options)
    output, problems = process.communicate()
    return process.returncode, output + problems


def verdicts_in(path: Path) -> list[dict[str, Any]]:
    """The verdicts that a run wrote as JSON, without the time that they took."""
    found = json.loads(path.read_text())
    assert not found["failures"], found["failures"]
    return [
        {key: value for key, value in verdict.items() if key not in {"seconds", "queries", "repeated"}}
        for verdict in found["verdicts"]
    ]


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
