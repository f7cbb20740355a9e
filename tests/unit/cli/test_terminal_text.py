"""Whatever a file says, a terminal is never told to do anything: all text from outside is made visible."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

import isonomia
from isonomia.cli import main
from isonomia.cli.outputs import new_console
from isonomia.errors import IsonomiaError, SpecError, UsageError
from isonomia.toml import toml_value
from isonomia.wording import visible

NASTY = "\x1b[2J\x1b]0;evil\x07\u202egnp\u2066\x9b31m\x00\x08\x7f\u200b"
ODD = st.text(st.sampled_from([*NASTY, *"ab[/bold]\n\t\r\x1b\u0085\u2028é"]), max_size=30)


def _harmless(text: str) -> bool:
    return visible(text) == text


@given(ODD)
def test_nothing_that_is_printed_has_a_meaning_for_the_terminal(text):
    console = new_console()
    console.file = io.StringIO()
    table = Table(title=Text(text))
    table.add_column(Text(text))
    table.add_row(Text(text))
    for each in (text, Text(text), table, Panel(Text(text), title=Text(text))):
        console.print(each, markup=False)
    assert _harmless(console.file.getvalue())


@given(ODD)
def test_no_error_of_the_library_has_one_either(text):
    for kind in (IsonomiaError, UsageError, SpecError):
        assert _harmless(str(kind(f"expected a column, but got {text}", name=text)))


@given(ODD)
def test_what_is_written_as_toml_is_visible_and_read_again_the_same(text):
    import tomllib

    written = toml_value(text)
    assert _harmless(written)
    assert tomllib.loads(f"x = {written}")["x"] == text


def test_every_command_prints_through_the_one_console():
    source = Path(isonomia.__file__).parent
    makers = [path for path in source.rglob("*.py") if re.search(r"(?<![\w.])Console\(", path.read_text("utf-8"))]
    assert not [path.relative_to(source).as_posix() for path in makers], "take new_console of cli/outputs.py"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    name = toml_value(f"w{NASTY}")
    (tmp_path / "people.csv").write_text(
        "group,points\n" + f"a,1\nb,2\n{NASTY.replace(chr(0), '')},3\n" * 5, encoding="utf-8"
    )
    (tmp_path / "audit.toml").write_text(
        f"""title = {name}
seed = 1
[population]
census = "people.csv"
[[property]]
name = {name}
why = {name}
check = "P[points >= 2] >= 0.9"
[[property]]
name = {toml_value("fails " + NASTY)}
check = "P[points >= 2 | group == 'nobody'] >= 0.9"
[[property]]
name = "each"
check = "for g in group: P[points >= 2 | group == g] >= 0.2"
""",
        encoding="utf-8",
    )
    return tmp_path


def _told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: list[str]) -> tuple[int, str]:
    monkeypatch.setattr(sys, "argv", ["isonomia", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    return int(ended.value.code or 0), printed.out + printed.err


@pytest.mark.usefixtures("folder")
def test_every_command_makes_names_visible(capsys, monkeypatch):
    commands = [
        ["run", "audit.toml"],
        ["run", "audit.toml", "-q"],
        ["runs"],
        ["show"],
        ["show", NASTY],
        ["export", "latest", "-o", "evidence.json"],
        ["replay", "evidence.json"],
        ["compare", "evidence.json", "evidence.json"],
        ["report", "latest", "-o", "page.html"],
        ["check", f"P[points == 1 | group == '{NASTY}'] >= 0.9", "--data", "people.csv"],
        ["check", "for g in group: P[points >= 2 | group == g] >= 0.9", "--data", "people.csv", "--census"],
        ["check", f"P[`{NASTY}`] >= 0.9", "--data", "people.csv"],
        ["check", "P[points == 1] >= 0.9", "--data", f"{NASTY}.csv"],
        ["check", "P[points == 1] >= 0.9", "--data", "people.csv", "--model", NASTY],
        ["plan", f"P[points == 1 | group == '{NASTY}'] >= 0.9"],
        ["init", "people.csv", "--decision", "points", "-o", "-"],
        ["init", "people.csv", "--decision", "points", "--protected", "group", "-o", "draft.toml"],
        ["init", "people.csv", "--interventions", "-o", "changes.toml", "--force"],
        ["run", NASTY.replace("\x00", "")],
    ]
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    shown = ""
    for words in commands:
        code, printed = _told(capsys, monkeypatch, words)
        assert _harmless(printed), (words, printed)
        assert code in {0, 1, 2, 3}
        assert "Traceback" not in printed, (words, printed)
        shown += printed
    assert "w␛[2J" in shown  # the names were printed, and can be read


def test_nothing_that_is_printed_is_an_order_to_what_runs_a_job(monkeypatch):
    text = "fair\n  ::stop-commands::x\n::add-mask::1\na ##[error] b\na::b"
    table = Table("what", "answer")
    table.add_row(Text(text), Text(text))

    def printed() -> list[str]:
        console = new_console()
        console.file = io.StringIO()
        for each in (text, table, Panel(Text(text))):
            console.print(each, markup=False)
        return console.file.getvalue().splitlines()

    orders = re.compile(r"^\s*::|##\[")
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    assert any(map(orders.search, printed()))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert not any(map(orders.search, printed()))
    assert "a::b" in printed()
