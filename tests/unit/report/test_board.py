"""A running audit on a terminal, in a pipe, and where nobody looks."""

from __future__ import annotations

import io
from math import inf

import page_audits
import pytest
from rich.console import Console

from isonomia.engine.parameters import Progress
from isonomia.report.entries import AuditReport, Entry, Failure
from isonomia.report.live import LiveTable, PlainLines, display_for
from isonomia.report.terminal import overview

NASTY = "\x1b[31m[red]name[/red]\nsecond line"
FAILURE = Failure("broken", "ModelError", "it raised ValueError:\nno idea")


def _console(width: int = 100, height: int = 20, **more: object) -> Console:
    return Console(
        file=io.StringIO(), force_terminal=True, width=width, height=height, _environ={}, legacy_windows=False, **more
    )  # type: ignore[arg-type]


def _drawn(board: LiveTable, width: int = 100, height: int = 20) -> list[str]:
    console = Console(file=io.StringIO(), width=width, height=height, color_system=None, _environ={})
    board.console = console
    console.print(board.drawn())
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined, no-any-return]


def _progress(samples: int) -> Progress:
    return Progress(samples, inf, 0.5, 1.0, lambda: f"[0.2, 0.4] >= 0.3 after {samples}")


def _board(*names: str) -> LiveTable:
    board = display_for(names, _console(), _console())
    assert isinstance(board, LiveTable)
    return board


def test_a_row_says_whether_it_waits_runs_or_what_came_of_it() -> None:
    board = _board("first", "second", "third", "fourth")
    watching = board.observer(1)
    watching.begin("P[x] >= 0.3")
    watching.advance(_progress(1234))
    board.finished(2, page_audits.rates(0.8))
    board.finished(3, FAILURE)
    heading, first, second, third, fourth = _drawn(board)
    assert heading.startswith("2 of 4 after")
    assert ": 1 could not be checked, 1 violated;" in heading
    assert first.split() == ["waiting", "first"]
    assert "[0.2, 0.4] >= 0.3 after 1234" in second
    assert "1,234 people" in second
    assert third.startswith("✘ violated")
    assert ">= 0.8" in third
    assert fourth.startswith("! error")
    assert "it raised ValueError: no idea" in fourth


@pytest.mark.parametrize("width", [20, 40, 60, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    board = _board("a name that is far too long for any narrow terminal in the whole wide world", "名前" * 40, NASTY)
    board.observer(0).advance(_progress(10**9))
    board.finished(1, page_audits.rates())
    lines = _drawn(board, width)
    assert len(lines) == 4
    assert all(len(line) <= width for line in lines)
    assert not any("\x1b" in line for line in lines)


def test_of_a_thousand_properties_the_running_and_the_troubled_are_shown_and_the_rest_is_counted() -> None:
    board = _board(*(f"property {k}" for k in range(1000)))
    holds, violated = page_audits.rates(0.1), page_audits.rates(0.8)
    assert (holds.answer, violated.answer) == ("holds", "violated")
    for k in range(500):
        board.finished(k, violated if k == 7 else holds)
    for k in (500, 600):
        board.observer(k)
    lines = _drawn(board, height=12)
    assert len(lines) <= 11
    text = "\n".join(lines)
    assert {"property 7 ", "property 500 ", "property 600 "} <= {
        name for name in ("property 7 ", "property 500 ", "property 600 ") if name in text
    }
    assert lines[-1] == "and 498 waiting, 494 hold"


def test_ctrl_c_is_answered_with_what_it_means() -> None:
    board = _board("first")
    board.stopping()
    assert _drawn(board)[0].startswith("stopping after the batch in flight; press Ctrl-C again to quit immediately")


def test_the_table_gives_way_at_the_end() -> None:
    console = _console()
    board = LiveTable([], console)
    with board:
        pass
    assert board._live is None


@pytest.mark.parametrize("dumb", [True, False])
def test_a_pipe_or_a_dumb_terminal_gets_plain_lines_without_control_codes(dumb: bool) -> None:
    output = Console(file=io.StringIO(), width=60, _environ={})
    environment = {"TERM": "dumb"} if dumb else {}
    errors = Console(file=io.StringIO(), force_terminal=dumb, _environ=environment)
    board = display_for(["women", NASTY, "broken"], output, errors)
    assert isinstance(board, PlainLines)
    with board:
        board.observer(1).advance(_progress(5))
        board.finished(1, page_audits.rates())
        board.finished(2, FAILURE)
        board.finished(0, page_audits.rates(0.1))
        board.stopping()
    text = output.file.getvalue()  # type: ignore[attr-defined]
    first, second, third, fourth = text.splitlines()
    assert "\x1b" not in text
    assert first.startswith("[1/3] violated: ␛[31m[red]name[/red] second line: ")
    assert second == "[2/3] could not be checked: broken: it raised ValueError: no idea"
    assert third.startswith("[3/3] holds: women: ")
    assert "stopping" in fourth


def test_quiet_is_quiet() -> None:
    output = _console(quiet=True)
    with display_for(["women"], output, output) as board:
        assert isinstance(board, PlainLines)
        board.observer(0).advance(_progress(5))
        board.finished(0, FAILURE)
        board.stopping()
    assert output.file.getvalue() == ""  # type: ignore[attr-defined]


def _overview(audit: AuditReport) -> str:
    console = Console(file=io.StringIO(), width=100, _environ={}, highlight=False)
    overview(audit, console)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_the_summary_tells_what_could_not_be_checked_and_what_was_not_finished() -> None:
    entry = Entry("women", page_audits.rates(), line=3)
    unfinished = Failure("later", "Unfinished", "it was not checked to the end", line=9)
    text = _overview(AuditReport("t", (entry,), failures=(FAILURE, unfinished)))
    assert "! error" in text
    assert "not finished" in text
    assert text.splitlines()[-1] == ("3 properties: 1 could not be checked, 1 not checked to the end, 1 is violated.")


def test_the_summary_of_a_thousand_shows_the_worst_first() -> None:
    holds, violated = page_audits.rates(0.1), page_audits.rates()
    entries = tuple(Entry(f"property {k}", violated if k == 900 else holds, line=k + 1) for k in range(1000))
    lines = _overview(AuditReport("t", entries, failures=(FAILURE,))).splitlines()
    assert "broken" in lines[1]
    assert any("property 900" in line for line in lines[:6])
    assert lines[-2] == "and 941 more; isonomia show lists them"
    assert len(lines) < 140
