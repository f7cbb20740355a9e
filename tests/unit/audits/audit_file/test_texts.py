"""The texts that an audit file names: read once, written down with the run, and never looked for when replayed."""

from __future__ import annotations

from pathlib import Path

import pytest

from isonomia.audits.audit_file.planner import stated_in
from isonomia.audits.audit_file.reader import read_audit_file, recorded_audit_file
from isonomia.audits.protocol import Permissions
from isonomia.errors import RecordError, SpecError, UsageError
from raising import raises

NOMOS = "input x1;\noutput d1;\n{\n    d1 = predict(x1)\n}\nensures d1 >= 0;\n"
CHANGES = '[features.points]\nkind = "real"\nlow = 0.0\nhigh = 1.0\n'
PROGRAM = "def popModel():\n    points = gaussian(0, 1)\n\ndef F():\n    t = points\n    fairnessTarget(t > 0)\n"
AUDIT = f"""
[population]
program = "people.fr"

[interventions]
changes = "deep/changes.toml"

[[property]]
name = "from a file"
nomos = "rules.nom"

[[property]]
nomos = '''{NOMOS}'''

[[property]]
responsiveness = "share"
with = {{interventions = "changes", target = 1, at_least = 0.1}}
"""
FILES = {"rules.nom": NOMOS, "deep/changes.toml": CHANGES, "people.fr": PROGRAM}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "deep").mkdir()
    for name, text in {**FILES, "audit.toml": AUDIT}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_every_text_that_a_file_names_is_known_by_that_name(folder: Path) -> None:
    assert read_audit_file(folder / "audit.toml").files == FILES


def test_what_was_read_stays_what_it_was(folder: Path) -> None:
    file = read_audit_file(folder / "audit.toml")
    stated_in(file, 1, Permissions())
    (folder / "rules.nom").write_text("changed meanwhile")
    assert file.files["rules.nom"] == NOMOS


def test_a_text_that_is_not_there_is_an_error(folder: Path) -> None:
    (folder / "rules.nom").unlink()
    file = read_audit_file(folder / "audit.toml")
    with raises(UsageError, "rules.nom"):
        _ = file.files
    with raises(SpecError, "rules.nom", at="nomos"):
        stated_in(file, 1, Permissions())


def test_a_recorded_file_states_what_the_one_on_disk_stated_and_reads_nothing(folder: Path, tmp_path: Path) -> None:
    live = stated_in(read_audit_file(folder / "audit.toml"), 1, Permissions())
    for name in FILES:
        (tmp_path / name).unlink()
    file = recorded_audit_file("audit.toml", AUDIT, FILES)
    again = stated_in(file, 1, Permissions())
    assert [str(each.prop) for each in again] == [str(each.prop) for each in live]
    assert [each.options for each in again] == [each.options for each in live]
    assert again[0].prop.name == "from a file"


def test_a_text_that_the_record_does_not_have_is_not_looked_for_on_disk(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    file = recorded_audit_file("audit.toml", AUDIT, {"deep/changes.toml": CHANGES})
    with raises(SpecError, "audit.toml", "rules.nom", at="nomos"):
        stated_in(file, 1, Permissions())
    with pytest.raises(RecordError):
        file.texts.read("rules.nom")


def test_a_file_cannot_allow_itself_to_run_code(folder: Path) -> None:
    text = AUDIT.replace('nomos = "rules.nom"', 'nomos = "rules.nom"\nwith = {allow_code = true}')
    (folder / "audit.toml").write_text(text)
    with raises(SpecError, "--allow-code", at="with"):
        stated_in(read_audit_file(folder / "audit.toml"), 1, Permissions())
