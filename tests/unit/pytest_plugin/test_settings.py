"""What the plugin knows of its settings: a folder by its own words, since asking would cost every run time; markers."""

from __future__ import annotations

import pytest

from isonomia.pytest_plugin import audit_files as settings
from isonomia.pytest_plugin.audit_files import settings_of
from isonomia.records.store import FOLDER


def test_counterexamples_are_kept_where_the_command_keeps_records() -> None:
    assert settings.FOLDER == FOLDER


@pytest.mark.parametrize(
    ("marker", "told"),
    [
        (pytest.mark.isonomia("skip"), "no values without a name, but got ('skip',)"),
        (pytest.mark.isonomia(undecided="maybe"), "undecided as one of fail, pass, skip, but got 'maybe'"),
        (pytest.mark.isonomia(delat=0.1), "got 'delat'. Did you mean 'delta'?"),
    ],
)
def test_a_marker_that_means_nothing_is_told_what_it_takes(
    request: pytest.FixtureRequest, marker: pytest.MarkDecorator, told: str
) -> None:
    request.node.add_marker(marker)
    complaint = settings_of(request.node)[1]
    assert complaint is not None
    assert told in complaint
    assert "isonomia(" in complaint


def test_the_nearest_marker_wins_and_what_it_leaves_unsaid_stays(request: pytest.FixtureRequest) -> None:
    request.node.add_marker(pytest.mark.isonomia(budget=10), append=False)
    request.node.add_marker(pytest.mark.isonomia(budget=20, delta=0.01))
    found, complaint = settings_of(request.node)
    assert complaint is None
    assert (found["budget"], found["delta"]) == (10, 0.01)
