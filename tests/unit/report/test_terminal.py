"""What a person sees on the terminal."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from isonomia.cli.outputs import conclude
from isonomia.engine.parameters import Progress
from isonomia.errors import DataError
from isonomia.records import Expression, LeafRecord, Verdict
from isonomia.report import LiveProgress, show
from isonomia.report.entries import AuditReport, Entry
from isonomia.report.live import _line as live_line
from isonomia.report.packs import fill
from isonomia.report.packs.audit_tables import SealedAudit
from isonomia.report.page import page
from isonomia.report.terminal import ASCII, bounds, gauge, print_lines
from raising import raises


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
    print_lines([Entry("a [red]name", _verdict())], console)
    for part in ("P[a | `b[0]`]", "a [red]name", "[bold]nothing[/bold]", "[0.1, 0.3]"):
        assert part in _output(console)


def test_an_estimate_of_some_rows_is_not_taken_for_that_of_all() -> None:
    told = "10 of the 5,000 rows"
    sample = {"kind": "sample", "size": 5_000}
    for verdict, said in (
        (replace(_verdict(), population=sample), True),
        (replace(_verdict(), population=sample, samples=5_000), False),
        (replace(_verdict(), population=sample, answer="undecided", stopped="the sample ran out"), False),
        (replace(_verdict(), population={"kind": "generator", "size": None}), False),
    ):
        console = _console(terminal=False)
        show(verdict, console)
        audit = AuditReport("t", (Entry("parity", verdict),))
        document = fill("sr-11-7", SealedAudit(audit)).to_markdown()
        assert (told in _output(console), told in page(audit), told in document) == (said, said, said)


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
        assert ("not decided yet: [0.4, 0.6] >= 0.5?" in _output(console)) is terminal


def test_progress_is_one_line_of_80_columns() -> None:
    console = Console(file=StringIO(), width=80, force_terminal=True, color_system=None, _environ={})
    progress = Progress(25_032, 40_000, 0.2, 30.0, lambda: "[0.5946, 1.0784] >= 0.72?")
    console.print(live_line(progress, 80))
    (line,) = _output(console).splitlines()
    assert "not decided yet: [0.5946, 1.0784] >= 0.72?" in line
    assert line.rstrip().endswith("about 18 s more")


@pytest.mark.parametrize(
    ("counted", "samples", "told"),
    [("people", 10, "10 people"), ("pairs", 1, "1 pair"), ("cases", 2, "2 cases"), ("points", 1, "1 point")],
)
def test_one_word_for_what_is_counted_and_tables_say_what_a_sample_is(counted: str, samples: int, told: str) -> None:
    verdict = replace(_verdict(), counted=counted, samples=samples)
    words = "1 sample" if samples == 1 else f"{samples} samples"
    console = _console(terminal=False)
    show(verdict, console)
    assert f"Violated after {words} (decided)" in _output(console)
    console = _console(terminal=False)
    print_lines([Entry("a name", verdict)], console)
    assert told in _output(console)
    assert f"violated after {words} (decided)" in str(verdict)
    assert words in verdict._repr_html_()
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
    with raises(DataError, "sheep"):
        Verdict.from_dict({**_verdict().to_dict(), "counted": "sheep"})


def _plain(width: int) -> Console:
    return Console(file=StringIO(), width=width, color_system=None)


def _gaming(relation: str) -> Verdict:
    counts = {"people": 274, "responsive": 98, "fixed": 176, "undecided": 0, "exact": 274}
    group = {"group": {"past_default": 1}, **counts}
    people = {"answer": [], "share": [], "exact": []}
    found = {"person": 4, "looked_at": 9, "every": True, "reaching": 1, "distance": 1.0, "prediction": 1.0}
    found |= {"changed": {"income": [3089.3993553564183, 3100.123456789]}, "point": {"income": 3100.123456789}}
    details = {"audit": "responsiveness", "who": "prediction == 'refused'", "relation": relation, "threshold": 0.05}
    details["target"] = "prediction == 'approved'"
    details |= {"counts": counts, "groups": [group], "people": people}
    return replace(_verdict("gaming"), details=details, counterexamples=(found,), expressions=(), leaves=())


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_word_of_a_group_is_broken_at_any_usual_width(width: int) -> None:
    console = _plain(width)
    show(_gaming(">="), console)
    assert "past_default" in _output(console)
    assert "'refused'" in _output(console)
    assert max(map(len, _output(console).split("\n"))) <= width


def test_drawn_values_are_rounded_for_people() -> None:
    console = _plain(80)
    show(_gaming(">="), console)
    assert "income 3089.4 -> 3100.12, prediction 1" in _output(console)


@pytest.mark.parametrize(
    ("relation", "headings", "green", "red"),
    [
        (">=", ["responsive", "fixed"], 98, 176),
        ("<=", ["meet it", "violate it"], 176, 98),
    ],
)
def test_words_and_colours_follow_what_is_claimed(relation: str, headings: list[str], green: int, red: int) -> None:
    console = Console(file=StringIO(), force_terminal=True, width=120, color_system="standard")
    show(_gaming(relation), console)
    printed = _output(console)
    assert printed.index(headings[0]) < printed.index(headings[1])
    for code, count, other in (("32", green, red), ("31", red, green)):
        texts = {part.split("\x1b")[0].strip() for part in printed.split(f"\x1b[{code}m")[1:]}
        assert str(count) in texts
        assert str(other) not in texts


def test_a_program_is_told_in_words_first_and_shown_below_them() -> None:
    verdict = replace(_verdict(), text="input x1;\nensures true;\n", details=_SAFETY, leaves=())
    console = _plain(80)
    show(verdict, console, "Raising savings never lowers the prediction.", "The regulator asks for it")
    printed = _output(console)
    places = [printed.index(words) for words in ("Raising savings", "The regulator", "input x1;", "Violated after")]
    assert places == sorted(places)


_SAFETY = {
    "audit": "k-safety",
    "cases": {"tested": 9, "rejected": 0, "without_choice": 0, "vacuous": 0, "failed": 0},
    "violations": {"cases": 1, "distinct": 1, "inputs": 1},
}


def test_a_quantity_without_an_estimate_has_no_dash() -> None:
    item = Expression("tau", "==", 0.0, None, -0.17, 0.45)
    console = _plain(100)
    show(replace(_verdict(), expressions=(item,), leaves=()), console)
    assert " in [-0.17, 0.45]" in _output(console)
    assert "- in" not in _output(console)


def test_bounds_of_nothing_have_no_sign() -> None:
    assert bounds((-0.0001, 0.0004)) == "[0.000, 0.000]"
    assert bounds((-0.25, 0.5)) == "[-0.250, 0.500]"
    assert bounds(None) == "-"


@pytest.mark.parametrize("count", [1, 3])
def test_the_page_of_assumptions_is_named_once_and_only_where_something_is_assumed(count: int) -> None:
    verdicts = [_verdict(f"p{number}") for number in range(count)]
    for assumed in (verdicts, [replace(verdict, assumptions=()) for verdict in verdicts]):
        console = _console(False)
        conclude(assumed, console, None)
        wanted = any(verdict.assumptions for verdict in assumed)
        assert _output(console).count("theory/assumptions") == wanted
        assert [str(verdict).count("theory/assumptions") for verdict in assumed] == [int(wanted)] * count
    assert (Path(__file__).parents[3] / "docs" / "theory" / "assumptions.md").exists()
