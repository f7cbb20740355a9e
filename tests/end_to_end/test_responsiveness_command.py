"""``isonomia init --interventions`` and ``isonomia responsiveness`` as a person meets them: real files and exit codes.

Most runs are calls of the command's own ``main`` in this process, which spares the start of an interpreter; those where
the process itself matters are processes.
"""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from warm_start import run_command

from isonomia.cli import main
from isonomia.interventions import Interventions
from isonomia.populations.files import read_table
from isonomia.records import Verdict

MODELS = """
import time
import numpy as np

def lends(people):
    savings, guarantor, age = (np.asarray(people[name]) for name in ("savings", "guarantor", "age"))
    return np.where((savings + 3 * guarantor >= 6) & (age >= 21), "yes", "no")

def price(people):
    return 100.0 - 5.0 * np.asarray(people["savings"])

def breaks(people):
    if (np.asarray(people["savings"]) > 8).any():
        raise RuntimeError("out of cheese")
    return lends(people)

def nothing(people):
    return np.full(len(people["savings"]), np.nan)

def slow(people):
    with open("asked", "a") as file:
        file.write("x")
    time.sleep(0.05)
    return lends(people)
"""
CHANGES = """[features.savings]
kind = "integer"
low = 0
high = 9
direction = "up"

[features.guarantor]
kind = "binary"
"""
CLASH = """
[[constraints]]
kind = "linear"
names = ["savings"]
coefficients = [1]
sense = ">="
bound = 20
"""
MISFIT = '\n[[constraints]]\nkind = "one-hot"\nnames = ["guarantors"]\n'
REAL = "".join(f'\n[features.{name}]\nkind = "real"\nlow = 0\nhigh = 1\n' for name in "xyz")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("responsiveness")
    rng = np.random.default_rng(0)
    lines = ["savings,guarantor,age,sex,limit,x,y,z"]
    for _ in range(300):
        numbers = (rng.integers(0, 10), rng.integers(0, 2), rng.integers(18, 70))
        reals = ",".join(f"{value:.4f}" for value in rng.random(3))
        lines.append(f"{','.join(map(str, numbers))},{rng.choice(['F', 'M'])},{rng.integers(50, 100)},{reals}")
    (path / "people.csv").write_text("\n".join(lines) + "\n")
    (path / "gap.csv").write_text("\n".join([*lines, ",1,30,F,60,0,0,0"]) + "\n")
    (path / "empty.csv").write_text(lines[0] + "\n")
    (path / "narrow.csv").write_text("savings,age\n1,20\n")
    (path / "a_bank.py").write_text(MODELS)
    texts = {
        "changes": CHANGES,
        "clash": CHANGES + CLASH,
        "misfit": CHANGES + MISFIT,
        "typo": CHANGES.replace("direction", "dirrection"),
        "cut": CHANGES[:20],
        "tight": CHANGES.replace("high = 9", "high = 5"),
        "endless": CHANGES.replace("high = 9\n", ""),
        "real": CHANGES + REAL,
    }
    for name, text in texts.items():
        (path / f"{name}.toml").write_text(text)
    (path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    return path


@dataclass(frozen=True, slots=True)
class Done:
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


Command = Callable[..., Done]


@pytest.fixture
def isonomia(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command in this process, in the folder."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["isonomia", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        printed = capsys.readouterr()
        return Done(int(left.value.code or 0), printed.out, printed.err)

    return run


@pytest.fixture
def audit(isonomia: Command) -> Command:
    """An audit, with what was not said filled in."""

    def run(*arguments: str) -> Done:
        return isonomia("responsiveness", *complete(arguments))

    return run


def complete(arguments: Sequence[str]) -> list[str]:
    given = {"--data": "people.csv", "--model": "a_bank:lends", "--interventions": "changes.toml", "--seed": "1"}
    return [*arguments, *(part for key, value in given.items() if key not in arguments for part in (key, value))]


def process(folder: Path, *arguments: str, **variables: str) -> Done:
    """The command in a process of its own."""
    done = run_command(folder, *arguments, environment={**os.environ, "COLUMNS": "80", **variables})
    return Done(done.returncode, done.stdout, done.stderr)


def words(text: str) -> str:
    return " ".join(line.strip("│ ") for line in text.splitlines())


CLAIM = ("--target", "yes", "--at-least", "0.1")


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        ((*CLAIM, "--who", "age >= 21"), 0, "HOLDS"),
        (CLAIM, 1, "VIOLATED"),
        ((*CLAIM, "--interventions", "real.toml", "--budget", "10"), 3, "UNDECIDED"),
        ((*CLAIM, "--person", "3", "--control", "discovery"), None, "row 3"),
        ((*CLAIM, "--average", "--by", "sex", "--skip-invalid"), 0, "average share by group"),
        ((*CLAIM, "--failing-at-most", "0.9"), 0, "for all but a share of 0.9 of people"),
        ((*CLAIM, "--failing-at-most", "0.001"), 1, "for all but a share of 0.001 of people"),
        (("--test", "preclusion", "--target", "yes", "--who", "age >= 21"), 0, "no preclusion"),
        (("--test", "gaming", "--target", "yes"), 1, "no gaming"),
        (("--test", "stability", "--at-least", "0.01", "--only", "guarantor"), 0, "stability"),
        (("--test", "affordability", "--limit", "limit", "--model", "a_bank:price"), None, "prediction <= limit"),
        (("--test", "monotonicity", "--direction", "down", "--model", "a_bank:price"), 0, "monotonicity"),
        (("--target", ":60", "--at-least", "0.05", "--model", "a_bank:price"), 0, "prediction <= 60"),
    ],
)
def test_the_exit_code_is_the_answer(arguments: tuple[str, ...], code: int | None, word: str, audit: Command) -> None:
    done = audit(*arguments)
    assert done.returncode in ((0, 1) if code is None else (code,)), done.stderr
    assert word in words(done.stdout)
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"PYTHONIOENCODING": "ascii"}])
def test_a_real_process_piped_to_a_file_has_no_control_codes(folder: Path, variables: dict[str, str]) -> None:
    done = process(folder, "responsiveness", *complete(CLAIM), **variables)
    assert done.returncode == 1, done.stderr
    assert "VIOLATED" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr


def test_groups_are_counted_and_add_up_and_the_verdict_counts_points(folder: Path, audit: Command) -> None:
    done = audit(*CLAIM, "--who", "prediction == 'no'", "--by", "sex", "--json", "out.json", "--explain")
    assert done.returncode == 1, done.stderr
    verdict = Verdict.from_dict(json.loads((folder / "out.json").read_text("utf-8"))["verdicts"][0])
    counts, groups = verdict.details["counts"], verdict.details["groups"]
    assert [item["group"] for item in groups] == [{"sex": "F"}, {"sex": "M"}]
    assert sum(item["fixed"] for item in groups) == counts["fixed"] > 0
    young = {row for row, age in enumerate(read_table(folder / "people.csv").column("age")) if age < 21}
    fixed = {row for row, answer in zip(*(verdict.details["people"][key] for key in ("row", "answer")), strict=True)
             if answer == "fixed"}  # fmt: skip
    assert fixed == young
    assert verdict.counted == "points"
    assert f"Violated after {verdict.samples:,} samples" in done.stdout
    assert "Everyone with prediction == 'no' reaches" in words(done.stdout)


def test_the_file_of_points_names_those_without_a_way_by_their_id(folder: Path, audit: Command) -> None:
    lines = (folder / "people.csv").read_text().splitlines()
    named = [f"id,{lines[0]}", *(f"P{number:03},{line}" for number, line in enumerate(lines[1:]))]
    (folder / "named.csv").write_text("\n".join(named) + "\n")
    told = ("--data", "named.csv", "--test", "preclusion", "--target", "yes", "--who", "prediction == 'no'", "-q")
    done = audit(*told, "--points", "stuck.csv", "--id", "id")
    with (folder / "stuck.csv").open(encoding="utf-8", newline="") as file:
        stuck = list(csv.DictReader(file))
    young = {f"P{row:03}" for row, age in enumerate(read_table(folder / "people.csv").column("age")) if age < 21}
    assert {person["id"] for person in stuck} == young
    assert {(person["to savings"], person["distance"]) for person in stuck} == {("", "")}
    assert f"stuck.csv: 0 points of {len(young)} people" in done.stdout
    done = audit(*told[:-2], "prediction == 'no' and age > 21", "-q", "--points", "stuck.csv")
    assert "stuck.csv: 0 points of 0 people: no person was found to violate the claim" in words(done.stdout)
    for arguments, message in (
        (("--id", "id"), "has no effect without --points"),
        (("--id", "idd", "--points", "stuck.csv"), "no column 'idd'. Did you mean 'id'?"),
        (("--id", "sex", "--points", "stuck.csv"), "a different value for each person"),
    ):
        refused = audit(*told, *arguments)
        assert (refused.returncode, message in words(refused.stderr)) == (2, True), refused.stderr


def test_points_are_exported_with_the_nearest_first_and_so_are_people(folder: Path, audit: Command) -> None:
    done = audit(
        "--test", "gaming", "--target", "yes", "--who", "prediction == 'no'", "--points", "near.csv",
        "--people", "each.parquet", "--violations", "all.csv", "-q",
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    everything = read_table(folder / "all.csv")
    assert f"all.csv: {everything.rows:,} points" in done.stdout
    reached = set(
        zip(*(everything.column(name).tolist() for name in ("person", "to savings", "to guarantor")), strict=True)
    )
    with (folder / "near.csv").open(encoding="utf-8", newline="") as file:
        points = list(csv.DictReader(file))
    people = read_table(folder / "people.csv")
    assert points
    assert {point["prediction"] for point in points} == {"yes"}
    for point in points:
        row = int(point["person"])
        assert int(point["to savings"]) >= people.column("savings")[row] == int(point["from savings"])
        assert not {"to age", "from age"} & point.keys()  # no intervention speaks of it
    for row in {point["person"] for point in points}:
        away = [float(point["distance"]) for point in points if point["person"] == row]
        assert away == sorted(away)
    each = read_table(folder / "each.parquet")
    assert set(each.column("answer")) <= {"responsive", "fixed", "undecided"}
    near = {tuple(int(point[name]) for name in ("person", "to savings", "to guarantor")) for point in points}
    assert near < reached
    assert f"near.csv: {len(points)} points" in done.stdout
    assert f"each.parquet: {each.rows} people" in done.stdout
    assert "not met for" in done.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--target", "yes"), "--at-least 0.1 or --at-most 0.05, but got neither"),
        (("--at-least", "0.1"), "requires --target"),
        ((*CLAIM, "--at-most", "0.5"), "but got both"),
        (("--target", "yes", "--at-least", "1.5"), "strictly between 0 and 1"),
        (("--target", "1", "--at-least", "0.1"), "'1' in quotes"),
        ((*CLAIM, "--who", "predicion == 'no'"), "no column 'predicion'. Did you mean 'prediction'?"),
        ((*CLAIM, "--who", "prediction = 'no'"), "write `==` to compare"),
        ((*CLAIM, "--by", "sexx"), "Did you mean 'sex'?"),
        ((*CLAIM, "--only", "saving"), "Did you mean 'savings'?"),
        ((*CLAIM, "--person", "300"), "expected rows from 0 to 299"),
        ((*CLAIM, "--person=-1"), "counted from 0, but got rows=[-1]"),
        ((*CLAIM, "--person", "x"), "valid integer"),
        ((*CLAIM, "--control", "holm"), "expected control as"),
        ((*CLAIM, "--points", "near.xls"), "ends in .csv or .parquet for --points"),
        ((*CLAIM, "--points", "nowhere/near.csv"), "can be written for --points"),
        (("--test", "stabilty"), "Did you mean 'stability'?"),
        (("--test", "stability", "--target", "yes"), "--target does not apply to --test stability"),
        (("--test", "affordability"), "requires --limit"),
        ((*CLAIM, "--interventions", "clash.toml"), "contradict each other"),
        ((*CLAIM, "--interventions", "misfit.toml"), "line 12, column 1: misfit.toml"),
        ((*CLAIM, "--interventions", "typo.toml"), "line 5, column 1: typo.toml: feature 'savings' has no key"),
        ((*CLAIM, "--interventions", "cut.toml"), "cut.toml is not valid TOML"),
        ((*CLAIM, "--interventions", "bytes.toml"), "read as UTF-8"),
        ((*CLAIM, "--interventions", "endless.toml"), "can rise without limit: give high"),
        ((*CLAIM, "--interventions", "tight.toml"), "breaks bounds (0 <= savings <= 5)"),
        ((*CLAIM, "--interventions", "change.toml"), "Did you mean 'changes.toml'?"),
        ((*CLAIM, "--data", "gap.csv"), "in row 300 it is missing"),
        ((*CLAIM, "--data", "empty.csv"), "no rows"),
        ((*CLAIM, "--data", "narrow.csv"), "no column 'guarantor'"),
        ((*CLAIM, "--model", "a_bank:nothing"), "nan"),
        ((*CLAIM, "--model", "a_bank:breaks"), "The point: {'savings': 9"),
        ((*CLAIM, "--delta", "0"), "delta=0"),
        ((*CLAIM, "--interventions", "real.toml", "--draws", "5"), "it takes at least 29"),
    ],
)
def test_a_wrong_input_gets_a_clear_message_and_exit_code_2(
    audit: Command, arguments: tuple[str, ...], message: str
) -> None:
    done = audit(*arguments)
    assert done.returncode == 2, done.stdout
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_target_that_never_happens_is_pointed_out(audit: Command) -> None:
    for claim in ("--at-least", "--at-most"):
        done = audit("--target", "maybe", claim, "0.1")
        assert done.returncode == 3
        assert "person as they are, is predicted 'maybe', and the model does not say its classes" in words(done.stdout)


def test_nobody_to_look_at_is_no_success(audit: Command) -> None:
    done = audit(*CLAIM, "--who", "age > 200")
    assert done.returncode == 3
    assert "no row meets age > 200" in words(done.stdout)


def test_ctrl_c_ends_with_an_undecided_verdict_that_shows_what_is_known(folder: Path) -> None:
    arguments = ["--data", "people.csv", "--model", "a_bank:slow", "--interventions", "real.toml", *CLAIM[:2]]
    command = [sys.executable, "-c", "from isonomia.cli import main; main()", "responsiveness", *arguments]
    command += ["--at-least", "0.5", "--delta", "1e-200", "--people", "known.csv"]
    # A command that was started in the background has inherited that Ctrl-C is ignored; a person's has not.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    running = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    signal.signal(signal.SIGINT, before)
    asked, patience = folder / "asked", time.monotonic() + 60
    while not (asked.exists() and asked.stat().st_size > 3):
        assert time.monotonic() < patience, "the model was never asked"
        time.sleep(0.01)
    os.kill(running.pid, signal.SIGINT)
    stdout, stderr = running.communicate(timeout=60)
    assert running.returncode == 3, stderr
    assert "interrupted" in stdout
    assert "Traceback" not in stderr
    assert max(int(n) for n in read_table(folder / "known.csv").column("n")) > 0


# ---------------------------------------------------------------------------- init


def test_init_drafts_a_file_that_reads_back_and_audits_at_once(folder: Path, audit: Command, isonomia: Command) -> None:
    done = isonomia("init", "people.csv", "--interventions", "-o", "draft.toml", "--leave-out", "limit")
    assert done.returncode == 0, done.stderr
    text = (folder / "draft.toml").read_text("utf-8")
    drafted = Interventions.from_toml(text, "draft.toml")
    assert not drafted["age"].actionable
    assert not drafted["sex"].actionable
    assert not drafted["y"].actionable  # by its name it may be the outcome
    assert drafted["x"].high == 1
    assert "# - limit is left out as you said" in text
    assert "people can change 4" in done.stdout
    done = audit("--interventions", "draft.toml", "--target", "yes", "--at-most", "0.9999", "--person", "0")
    assert done.returncode in (0, 1), done.stderr


def test_init_never_writes_over_a_file_unless_told_to(folder: Path, isonomia: Command) -> None:
    (folder / "mine.toml").write_text("# edited\n")
    refused = isonomia("init", "people.csv", "--interventions", "-o", "mine.toml")
    assert refused.returncode == 2
    assert "--force" in refused.stderr
    assert (folder / "mine.toml").read_text() == "# edited\n"
    assert isonomia("init", "people.csv", "--interventions", "-o", "mine.toml", "--force").returncode == 0
    assert "[features.savings]" in (folder / "mine.toml").read_text()


def test_init_prints_what_it_would_write(isonomia: Command) -> None:
    done = isonomia("init", "people.csv", "--interventions", "-o", "-", "--outcome", "guarantor")
    assert done.returncode == 0
    assert "guarantor" not in Interventions.from_toml(done.stdout).names


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere.csv",), "nowhere.csv does not exist"),
        (("empty.csv",), "no rows"),
        (("people.csv", "--outcome", "sexx"), "no column 'sexx', and none matches it. Did you mean 'sex'?"),
        (("people.csv", "-o", "nowhere/x.toml"), "can be written"),
        (("people.csv", "--leave-out", "*"), "expected columns that can be features"),
    ],
)
def test_init_says_what_is_wrong(arguments: tuple[str, ...], message: str, isonomia: Command) -> None:
    done = isonomia("init", "--interventions", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["init", "responsiveness"])
def test_the_new_commands_have_help_with_an_example(command: str, isonomia: Command) -> None:
    done = isonomia(command, "--help")
    assert done.returncode == 0
    assert f"Example: isonomia {command}" in done.stdout
