"""What the plugin says for itself, because asking would cost every test run time."""

from __future__ import annotations

from isonomia.pytest_plugin import settings
from isonomia.records.folder import FOLDER


def test_counterexamples_are_kept_where_the_command_keeps_records() -> None:
    assert settings.FOLDER == FOLDER
