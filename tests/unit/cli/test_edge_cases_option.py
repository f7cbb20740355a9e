"""Edge cases on the command line and in audit files: on by default, and off where that is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from isonomia.audits.audit_file.planner import plan_audit
from isonomia.audits.audit_file.reader import read_audit_file
from isonomia.audits.protocol import Permissions
from isonomia.cli.app import app

MODULE = "model_at_ends"
# Of all real moves hardly any but those of exactly -1, 0 and 1 give a whole number.
SPECIFICATION = """input x1;
var x2 := setFeat(x1, "priors", x1.priors + randReal(-1, 1));
output d1;
{
    d1 = predict(x2)
}
ensures d1 == 0;
"""
MODEL = """import numpy as np


def model(table):
    return (np.asarray(table["priors"]) % 1 == 0).astype(int)
"""
AUDIT = f"""seed = 1
[model]
load = "{MODULE}:model"
[population]
census = "people.csv"
[[property]]
name = "tried"
nomos = "moved.nom"
[[property]]
name = "drawn"
nomos = "moved.nom"
with = {{edge_cases = false}}
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "people.csv").write_text("priors\n" + "\n".join(f"{number}.0" for number in range(30)) + "\n")
    (tmp_path / "moved.nom").write_text(SPECIFICATION)
    (tmp_path / f"{MODULE}.py").write_text(MODEL)
    (tmp_path / "audit.toml").write_text(AUDIT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)


def _check(*more: str) -> tuple[int, str]:
    arguments = ["check", "moved.nom", "--model", f"{MODULE}:model", "--data", "people.csv", "--census", "--seed", "1"]
    done = CliRunner().invoke(app, [*arguments, *more])
    return done.exit_code, " ".join(done.output.split())


def test_the_command_tries_edge_cases_unless_told_not_to() -> None:
    code, told = _check()
    assert code == 1
    assert "edge cases (at the ends of ranges) tried before the draws" in told
    assert "violating edge case" in told
    code, told = _check("--no-edge-cases")
    assert code == 0
    assert "edge_cases" not in told


def test_a_property_of_an_audit_file_says_so_under_with() -> None:
    file = read_audit_file(Path("audit.toml"))
    wanted = {each.name: each.check.prop.edge_cases for each in plan_audit(file, 1, Permissions())}  # type: ignore[union-attr]
    assert wanted == {"tried": True, "drawn": False}
