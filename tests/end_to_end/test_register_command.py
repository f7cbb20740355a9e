"""``isonomia register``, ``run``, ``export`` and ``replay --registered``: an audit is the one that was registered."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from isonomia.cli import main

AUDIT = """
delta = {delta}
seed = {seed}
looks = "{looks}"
[population]
sample = "people.csv"
[[property]]
name = "hired"
check = "P[hired == 1 | sex == 'F'] >= {least}"
"""

Command = Callable[..., tuple[int, str]]


@pytest.fixture
def isonomia(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command in this process, in a folder with a table: its exit code and what it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    rows = [f"{'FM'[row % 2]},{int(row % 5 < 2)}" for row in range(400)]
    Path("people.csv").write_text("sex,hired\n" + "\n".join(rows) + "\n")

    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["isonomia", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        printed = capsys.readouterr()
        return int(left.value.code or 0), printed.out + printed.err

    return run


def written(**changed: Any) -> None:
    Path("audit.toml").write_text(AUDIT.format(**{"delta": 0.05, "seed": 1, "looks": "any", "least": 0.2} | changed))


def evidence(isonomia: Command) -> str:
    """Run the audit, and export it; the name of the evidence file."""
    assert isonomia("run", "audit.toml", "-q")[0] in (0, 1, 3)
    code, text = isonomia("export", "--output", "evidence.json")
    assert code == 0, text
    return "evidence.json"


def test_a_run_is_the_one_that_was_registered(isonomia: Command) -> None:
    written()
    code, text = isonomia("register", "audit.toml")
    registration = json.loads(Path("registration.json").read_text())
    assert code == 0
    assert registration["hash"] in text
    assert not Path(".isonomia").exists()  # nothing has run
    code, text = isonomia("replay", evidence(isonomia), "--registered", "registration.json")
    assert (code, "as registered" in text) == (0, True)


@pytest.mark.parametrize("changed", [{"delta": 0.2}, {"seed": 2}, {"looks": "once"}, {"least": 0.3}])
def test_a_run_with_anything_else_is_not(isonomia: Command, changed: dict[str, Any]) -> None:
    written()
    isonomia("register", "audit.toml")
    written(**changed)
    code, text = isonomia("replay", evidence(isonomia), "--registered", "registration.json")
    assert (code, "not as registered" in text) == (2, True)


def test_other_data_and_a_registration_after_the_run_are_noticed(isonomia: Command) -> None:
    written()
    file = evidence(isonomia)
    isonomia("register", "audit.toml")
    registration = json.loads(Path("registration.json").read_text())
    later = {**registration, "time": "2999-01-01T00:00:00+00:00"}
    from isonomia.audits.audit_file.planner import hash_of

    Path("later.json").write_text(json.dumps({**later, "hash": hash_of(later)}))
    assert isonomia("replay", file, "--registered", "later.json")[0] == 2
    Path("people.csv").write_text(Path("people.csv").read_text() + "F,1\n")
    isonomia("register", "audit.toml", "--force")
    code, text = isonomia("replay", file, "--registered", "registration.json")
    assert (code, "data" in text) == (2, True)


def test_a_registration_that_was_changed_is_refused(isonomia: Command) -> None:
    written()
    isonomia("register", "audit.toml")
    changed = Path("registration.json").read_text().replace('"seed": 1', '"seed": 2')
    Path("registration.json").write_text(changed)
    code, text = isonomia("replay", evidence(isonomia), "--registered", "registration.json")
    assert (code, "changed after it was written" in text) == (2, True)
    assert isonomia("register", "audit.toml")[0] == 2  # it is not overwritten


def test_evidence_states_how_often_the_same_data_were_tried(isonomia: Command) -> None:
    for changed in ({"delta": 0.2}, {"delta": 0.1, "looks": "once"}, {"least": 0.3}, {"seed": 5}, {}):
        written(**changed)
        file = evidence(isonomia)
    trials = json.loads(Path(file).read_text())["run"]["trials"]
    assert trials == {"runs": 4, "properties": 1, "deltas": 2, "looks": 1, "seeds": 1}
    assert "4 other runs in its store used the same data" in isonomia("replay", file)[1]
