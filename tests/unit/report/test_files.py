"""Files that are written: a bad place is known before the work, and nothing is left behind by asking."""

from __future__ import annotations

from pathlib import Path

import pytest

from isonomia.errors import UsageError
from isonomia.report.files import need_writable, write_file


def test_asking_whether_a_file_can_be_written_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "kept.json").write_text("earlier")
    need_writable(tmp_path / "kept.json", "--json")
    need_writable(tmp_path / "new.json", "--json")
    assert (tmp_path / "kept.json").read_text() == "earlier"
    assert not (tmp_path / "new.json").exists()


def test_a_place_that_cannot_be_written_is_told_with_what_it_was_for(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere" / "x.json", tmp_path):
        with pytest.raises(UsageError, match="expected a file that can be written for --json, but "):
            need_writable(path, "--json")
        with pytest.raises(UsageError, match="expected a file that can be written for the report, but "):
            write_file("text", path, "the report")


def test_a_text_is_written_the_same_on_every_system(tmp_path: Path) -> None:
    write_file("é\n\ud800\n", tmp_path / "x.txt", "the report")
    assert (tmp_path / "x.txt").read_bytes() == "é\n?\n".encode()
