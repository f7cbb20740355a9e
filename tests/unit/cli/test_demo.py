"""The demonstration: what it asks, what comes of it whatever the seed, and how its report is offered."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from isonomia import Verdict, check
from isonomia.cli import demo as command
from isonomia.cli.hiring import answers
from isonomia.engine.parameters import NullObserver
from isonomia.populations import Census
from isonomia.report.entries import Entry

EXPECTED = {
    "qualified women and men": "holds",
    "four-fifths rule": "violated",
    "scores by region": "holds",
    "islanders in a small sample": "undecided",
    "an islander who moves to town": "violated",
    "a way to be hired": "violated",
    "had they been of the other sex": "violated",
}


@pytest.mark.parametrize("seed", range(1, 6))
def test_the_answers_do_not_depend_on_the_seed(seed: int) -> None:
    found = [entry for _, entry in answers(seed, NullObserver())]
    assert {entry.name: entry.verdict.answer for entry in found} == EXPECTED
    kinds = {entry.verdict.details.get("audit", "rates") for entry in found}
    assert kinds == {"rates", "k-safety", "responsiveness", "principal fairness"}
    assert len(found[0].history) > 3


def verdict() -> Verdict:
    return check("P[x == 1] >= 0.3", None, Census({"x": [0, 1]}), seed=1)


def offered(target: Path, *, show_it: bool = False) -> str:
    out = io.StringIO()
    entries = [Entry("a rate", verdict())]
    command._offer(Console(file=out, width=200), entries, target, show_it)
    return out.getvalue()


def test_the_report_is_written_and_its_place_is_told(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    assert str(target) in offered(target)
    assert "a rate" in target.read_text("utf-8")


def test_the_report_is_opened_only_where_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(command.typer, "launch", opened.append)
    offered(tmp_path / "page.html")
    assert opened == []
    offered(tmp_path / "page.html", show_it=True)
    assert opened == [(tmp_path / "page.html").as_uri()]


def test_a_folder_that_cannot_be_written_into_does_no_harm(tmp_path: Path) -> None:
    assert "can be written" in offered(tmp_path / "nowhere" / "page.html")
