"""Commands that can be copied."""

from __future__ import annotations

from pathlib import Path

import pytest

from isonomia.records.store import resume_command, run_command, with_records


def test_records_are_named_where_they_would_not_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert with_records("isonomia show latest", ".isonomia") == "isonomia show latest"
    assert with_records("isonomia show latest", tmp_path / ".isonomia") == "isonomia show latest"
    assert with_records("isonomia show latest", None) == "isonomia show latest"
    told = with_records("isonomia show latest", "my audit/.isonomia")
    assert told == "isonomia show latest --records 'my audit/.isonomia'"


def test_a_run_goes_on_with_the_records_that_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_command("credit/audit.toml", "credit/.isonomia") == "isonomia run credit/audit.toml"
    again = resume_command({"file": "credit/audit.toml"}, "kept")
    assert again == "isonomia run credit/audit.toml --resume --records kept"


def test_going_on_needs_the_permissions_that_a_run_was_begun_with():
    request = {"file": "audit.toml", "options": ["--trust-pickle", "--allow-code", "; rm -rf ~"]}
    assert resume_command(request, None) == "isonomia run audit.toml --resume --allow-code --trust-pickle"
