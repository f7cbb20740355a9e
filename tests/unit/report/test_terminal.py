"""What a person sees on the terminal."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from isonomia.engine.observer import Progress
from isonomia.errors import DataError
from isonomia.records import Expression, LeafRecord, Verdict
from isonomia.report import LiveProgress, show
from isonomia.report.gauge import ASCII, gauge
from isonomia.report.terminal import summary


def _verdict(name: str = "a [red]name") -> Verdict:
    return Verdict(
        text="P[a | `b[0]`] >= 0.5",
        answer="violated",
        delta=0.01,
        risk=0.01,
        method="bets",
        samples=10,
        leaves=(LeafRecord("P[a | `b[0]`]", 10, 0.2, 0.1, 0.3),),
        expressions=(Expression("P[a | `b[0]`]", ">=", 0.5, 0.2, 0.1, 0.3),),
        stopped="decided",
        assumptions=("[bold]nothing[/bold]",),
        remarks=(),
        seed=1,
        seconds=0.0,
        name=name,
    )


def _console(terminal: bool) -> Console:
    return Console(file=StringIO(), force_terminal=terminal, width=100, color_system="truecolor" if terminal else None)


def _output(console: Console) -> str:
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_square_brackets_in_names_are_no_markup() -> None:
    console = _console(terminal=False)
    show(_verdict(), console)
    summary([_verdict()], console)
    for part in ("P[a | `b[0]`]", "a [red]name", "[bold]nothing[/bold]", "[0.1, 0.3]"):
        assert part in _output(console)


def test_output_to_a_file_has_no_control_codes() -> None:
    console = _console(terminal=False)
    show(_verdict(), console, "In plain English.")
    assert "\x1b" not in _output(console)
    assert "In plain English." in _output(console)


@pytest.mark.parametrize(
    ("low", "estimate", "high", "threshold", "expected"),
    [
        (0.0, 5.0, 10.0, 5.0, ".=|=."),
        (float("-inf"), None, float("inf"), 5.0, "==|=="),
        (3.0, 3.0, 3.0, 3.0, "..|.."),
    ],
)
def test_a_gauge_shows_interval_estimate_and_threshold(
    low: float, estimate: float | None, high: float, threshold: float, expected: str
) -> None:
    assert gauge(Expression("x", ">=", threshold, estimate, low, high), 5, ASCII) == expected


def test_progress_is_shown_on_a_terminal_only() -> None:
    for terminal in (True, False):
        console = _console(terminal)
        live = LiveProgress(console)
        live.begin("P[a] >= 0.5")
        live._shown = -10.0
        live.advance(Progress(1234, 5000, 0.5, 2.0, lambda: "[0.4, 0.6] >= 0.5?"))
        live.end()
        assert ("1,234 people" in _output(console)) is terminal
        assert ("[0.4, 0.6] >= 0.5?" in _output(console)) is terminal


@pytest.mark.parametrize(
    ("counted", "samples", "told"),
    [("people", 10, "10 people"), ("pairs", 1, "1 pair"), ("cases", 2, "2 cases"), ("points", 1, "1 point")],
)
def test_what_was_counted_is_told_everywhere(counted: str, samples: int, told: str) -> None:
    verdict = replace(_verdict(), counted=counted, samples=samples)
    console = _console(terminal=False)
    show(verdict, console)
    assert f"Violated after {told} (decided)" in _output(console)
    console = _console(terminal=False)
    summary([verdict], console)
    assert told in _output(console)
    assert f"violated after {told} (decided)" in str(verdict)
    assert told in verdict._repr_html_()
    assert Verdict.from_dict(verdict.to_dict()) == verdict


def test_progress_tells_what_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isonomia.report.live.EVERY", 0.0)
    console = _console(terminal=True)
    progress = LiveProgress(console)
    progress.begin("a property")
    progress.advance(Progress(1234, 5000, 0.5, 1.0, lambda: "half way", "pairs"))
    progress.end()
    assert "1,234 pairs" in _output(console)


def test_a_stored_verdict_that_counts_something_else_is_refused() -> None:
    with pytest.raises(DataError, match="'sheep'"):
        Verdict.from_dict({**_verdict().to_dict(), "counted": "sheep"})
