"""Files for others: known to be writable before the work begins, and not harmed by that."""

from __future__ import annotations

from pathlib import Path

import pytest

from isonomia.cli.outputs import OutputFiles
from isonomia.errors import UsageError


def test_looking_whether_a_file_can_be_written_leaves_it_as_it_is(tmp_path: Path) -> None:
    earlier = tmp_path / "verdicts.xml"
    earlier.write_text("<earlier/>")
    OutputFiles(junit=earlier, json=tmp_path / "new.json").probe()
    assert earlier.read_text() == "<earlier/>"


def test_a_place_that_cannot_be_written_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected a file that can be written for --sarif"):
        OutputFiles(sarif=tmp_path / "no" / "such" / "folder.sarif").probe()
