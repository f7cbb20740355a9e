"""Files for others: known to be writable before the work begins, and not harmed by that."""

from __future__ import annotations

from pathlib import Path

from isonomia.cli.outputs import OutputFiles
from isonomia.errors import UsageError
from raising import raises


def test_looking_whether_a_file_can_be_written_leaves_it_as_it_is(tmp_path: Path) -> None:
    earlier = tmp_path / "verdicts.xml"
    earlier.write_text("<earlier/>")
    OutputFiles(junit=earlier, json=tmp_path / "new.json").probe()
    assert earlier.read_text() == "<earlier/>"


def test_a_place_that_cannot_be_written_is_named_at_once(tmp_path: Path) -> None:
    with raises(UsageError, "--sarif", "folder.sarif", cause=FileNotFoundError):
        OutputFiles(sarif=tmp_path / "no" / "such" / "folder.sarif").probe()
