"""``isonomia replay`` in the cases that a run seldom has: failures, strangers, broken seals."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from isonomia.audits.audit_file.planner import plan_audit
from isonomia.audits.audit_file.reader import read_audit_file
from isonomia.audits.audit_file.runner import begin_run, run_checks
from isonomia.audits.protocol import Permissions
from isonomia.cli.app import app, main
from isonomia.engine.parameters import NullObserver
from isonomia.records.evidence import evidence_of, evidence_text, sealed
from isonomia.records.store import Store

AUDIT = """
title = "Two"
seed = 1

[model]
load = "nowhere:model"

[models.other]
load = "nowhere:other"

[population]
census = "people.csv"

[[property]]
name = "one"
check = "P[age >= 18] >= 0.5"

[[property]]
name = "two"
check = "P[age >= 18] >= 0.9"
"""


@pytest.fixture
def content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("age\n20\n30\n10\n40\n")
    Path("audit.toml").write_text(AUDIT)
    file, store = read_audit_file("audit.toml"), Store(".isonomia")
    models: Any = {"default": None, "other": None}
    planned = plan_audit(file, 1, Permissions(), given=models)
    run_checks(store, begin_run(store, file, planned, 1), planned, lambda _: NullObserver(), lambda *_: None)
    found: dict[str, Any] = json.loads(evidence_text(evidence_of(store)))
    return found


def _replay(content: dict[str, Any], *arguments: str, change: Callable[[Any], object] = lambda _: None) -> Any:
    change(content)
    content.pop("seal")
    Path("evidence.json").write_text(json.dumps(sealed(content)))
    return CliRunner().invoke(app, ["replay", "evidence.json", *arguments])


def test_the_exit_code_is_that_of_the_verdicts(content: dict[str, Any]) -> None:
    done = _replay(content)
    assert done.exit_code == 1
    output = done.output.replace("\n", " ")
    assert "The verdicts follow from the statistics in the file" in output
    assert "The replay succeeded: the evidence is in order, and says 1 holds, 1 violated." in output
    assert "The exit code, 1, is that of the audit, not of the replay." in output


def test_everything_that_a_full_replay_needs_is_said_at_once(content: dict[str, Any]) -> None:
    def change(told: Any) -> None:
        told["audit"]["text"] = AUDIT.replace("nowhere:model", "model.pkl")

    Path("model.pkl").write_bytes(pickle.dumps({"no": "model"}))
    done = _replay(content, "--full", change=change)
    needed = " ".join(str(done.exception).split())
    assert "--allow-code" in needed
    assert "--trust-pickle" in needed
    assert "model.pkl" in needed
    assert "nowhere:other" in needed


def test_two_runs_are_compared_by_the_numbers_of_their_headlines(content: dict[str, Any]) -> None:
    _replay(content)
    done = CliRunner().invoke(app, ["compare", "evidence.json", "evidence.json"], env={"COLUMNS": "200"})
    assert done.exit_code == 0
    assert "0.75 in [0.75, 0.75], must be >= 0.9" in " ".join(done.output.split())


def test_a_property_that_could_not_be_checked_is_told_and_exit_code_2(content: dict[str, Any]) -> None:
    def fail(file: Any) -> None:
        file["checks"][1] |= {"verdict": None, "entries": {}, "error": {"kind": "ModelError", "message": "it broke"}}

    done = _replay(content, change=fail)
    assert done.exit_code == 2
    assert "two: could not be checked: it broke" in done.output
    assert "inconsistent" not in done.output


def test_nobody_is_asked_on_behalf_of_a_file_that_contradicts_itself(content: dict[str, Any]) -> None:
    done = _replay(
        content,
        "--full",
        "--model",
        "nowhere:model",
        change=lambda file: file["checks"][0]["verdict"].update(samples=5),
    )
    assert done.exit_code == 2
    assert "one: samples: 5 in the record, 4 now" in done.output
    assert "the model was not queried" in done.output


def test_a_stranger_cannot_write_to_the_terminal(content: dict[str, Any]) -> None:
    done = _replay(content, change=lambda file: file["run"].update(title="\x1b[2Jgone", begun="\x1b]0;x\x07"))
    assert done.exit_code == 2
    assert "\x1b" not in done.output
    assert "\x07" not in done.output
    assert "run.title" in done.output


def test_where_there_are_several_models_one_must_be_named(content: dict[str, Any]) -> None:
    done = _replay(content, "--model", "a:b", "--model", "c:d")
    assert "expected --model NAME=MODEL with one of default, other" in str(done.exception)


def test_a_version_that_the_run_was_not_of_is_noticed(content: dict[str, Any]) -> None:
    done = _replay(content, change=lambda file: file["checks"][0]["verdict"].update(version="9.9"))
    assert done.exit_code == 2
    assert "one: version: '9.9' in the record" in done.output


def test_another_version_is_told_and_no_fault(content: dict[str, Any]) -> None:
    def older(file: Any) -> None:
        file["run"]["versions"]["isonomia"] = "0.0.9"
        for check in file["checks"]:
            check["verdict"]["version"] = "0.0.9"

    done = _replay(content, change=older)
    assert done.exit_code == 1
    assert "recorded with isonomia 0.0.9" in done.output


def test_an_error_about_the_file_of_a_stranger_moves_no_cursor(
    content: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    content["run"]["\x1b[2Jclean\u202e"] = 1
    content.pop("seal")
    Path("evidence.json").write_text(json.dumps(sealed(content)))
    monkeypatch.setattr("sys.argv", ["isonomia", "replay", "evidence.json"])
    with pytest.raises(SystemExit) as left:
        main()
    told = capsys.readouterr().err
    assert left.value.code == 2
    assert "clean" in told
    assert not {"\x1b", "\u202e"} & set(told)


def test_no_more_time_is_taken_than_was_given(content: dict[str, Any]) -> None:
    short = _replay(content, "--seconds", "0")
    assert short.exit_code != 0
    assert "took more than 0 seconds" in " ".join(f"{short.output} {short.exception}".split())
