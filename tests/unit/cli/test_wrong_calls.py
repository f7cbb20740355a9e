"""Calls that cannot be meant: each is one message that says what to do, exit code 2, and nothing is done before it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from isonomia.cli.app import main
from isonomia.records.store import Store

HALF = "P[hired == 1] >= 0.5"
AUDIT = """
[population]
census = "people.csv"

[[property]]
name = "half"
check = "P[hired == 1] >= 0.5"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("sex,hired,prediction\nF,1,1\nM,0,1\nF,1,0\nM,1,0\n")
    (tmp_path / "audit.toml").write_text(AUDIT)
    return tmp_path


def _told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[object, str]:
    monkeypatch.setattr(sys, "argv", ["isonomia", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr()
    return ended.value.code, told.out + told.err


WRONG = {
    "a specification's option without one": (
        ("check", HALF, "--data", "people.csv", "--eps", "0.1", "--keep", "kept.sqlite"),
        "these options require a specification.nom: --eps, --keep",
    ),
    "a random model where there is none": (
        ("check", HALF, "--data", "people.csv", "--random-model"),
        "--trust-pickle, --trust, --model-option and --random-model require --model",
    ),
    "a range of no column": (
        ("check", HALF, "--data", "people.csv", "--range", "=1:2"),
        "expected --range as COLUMN=LOW:HIGH, such as income=0:100000, but got '=1:2'",
    ),
    "a seed that is none": (
        ("run", "audit.toml", "--seed", "-1"),
        "error: expected seed as a whole number that is not",
    ),
    "another seed that is none": (("demo", "--seed", "-1"), "error: expected seed as a whole number that is not"),
    "half a repair": (
        ("principal", "--data", "people.csv", "--attribute", "sex", "--outcome", "hired", "--never-lower"),
        "--never-lower requires --repair",
    ),
    "a file that is not there": (
        ("compare", "audt.json", "latest"),
        "expected a run, an evidence file or verdicts, but audt.json does not exist. Did you mean 'audit.json'?",
    ),
    "a folder in place of a run": (("compare", ".", "latest"), "but . is not a file."),
    "something else in place of evidence": (
        ("replay", "people.csv"),
        "expected JSON that isonomia wrote, but people.csv is not JSON",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_call_that_cannot_be_meant_says_what_to_do(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    (folder / "audit.json").touch()
    before = sorted(path.name for path in folder.iterdir())
    arguments, message = WRONG[what]
    code, told = _told(capsys, monkeypatch, *arguments)
    assert (code, message in told) == (2, True), told
    assert told.count("\n") == 1, "a message, and no traceback"
    assert sorted(path.name for path in folder.iterdir() if path.name != ".isonomia") == before


def test_verdicts_of_earlier_survive_a_call_that_fails(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "out.json").write_text("earlier")
    code, _ = _told(capsys, monkeypatch, "check", "P[hierd == 1] >= 0.5", "--data", "people.csv", "--json", "out.json")
    assert (code, (folder / "out.json").read_text()) == (2, "earlier")


@pytest.mark.usefixtures("folder")
def test_quietly_a_check_prints_what_is_known_as_a_run_does(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "90")
    code, told = _told(capsys, monkeypatch, "check", HALF, "--data", "people.csv", "--census", "-q")
    heading, line = told.rstrip().split("\n")
    assert (code, heading.split()) == (0, ["answer", "property", "risk", "findings"])
    assert line.split(maxsplit=1)[1].rstrip() == f"holds  {HALF}  0 (exact)  0.75 in [0.75, 0.75], must be >= 0.5"
    _, run = _told(capsys, monkeypatch, "run", "audit.toml", "-q")
    assert run.split("\n")[0].split() == heading.split()
    assert run.split("\n")[1].split()[-9:] == line.split()[-9:]


def test_a_report_that_cannot_be_written_is_known_before_it_is_made(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _told(capsys, monkeypatch, "run", "audit.toml", "-q")
    code, told = _told(capsys, monkeypatch, "report", "-o", "nowhere/page.html", "--json", "verdicts.json")
    assert (code, "can be written for the report, but nowhere/page.html" in told) == (2, True)
    assert not (folder / "verdicts.json").exists()


@pytest.mark.usefixtures("folder")
def test_a_model_is_not_asked_where_the_audit_names_none(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _told(capsys, monkeypatch, "run", "audit.toml", "-q")
    _told(capsys, monkeypatch, "export", "-o", "evidence.json")
    code, told = _told(capsys, monkeypatch, "replay", "evidence.json", "--model", "bank:model")
    assert code == 2
    assert "expected no --model, since the audit names none: its predictions are in the data" in told


@pytest.mark.parametrize("arguments", [["runs"], ["--version"]])
def test_a_reader_who_goes_away_is_no_violation(folder: Path, arguments: list[str]) -> None:
    Store(folder / ".isonomia").begin("hiring", {"file": "audit.toml"}, [("women", {}, {})])
    code = "import sys; sys.argv[0] = 'isonomia'; from isonomia.cli import main; main()"
    reading, writing = os.pipe()
    os.close(reading)
    words = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(words, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


OVERWRITING = (
    "run audit.toml --json people.csv",
    "run audit.toml --report ./audit.toml",
    "run audit.toml --junit link.csv",
    "check HALF --data people.csv --json people.csv",
    "check HALF --data many --json many/a.csv",
    "check HALF --data many/*.csv --json many/a.csv",
    "measure --data people.csv --decision hired --by sex --csv people.csv",
    "measure --data people.csv --decision hired --by sex --html people.csv",
    "check HALF --data people.csv --model hiring:model --json hiring.py",
    "run audit.toml --json .isonomia/runs.sqlite",
    "report latest --json .isonomia/runs.sqlite",
    "register audit.toml -o people.csv --force",
    "watch watch.toml",
)


@pytest.mark.parametrize("call", OVERWRITING)
def test_a_file_that_a_command_reads_is_never_written_over(
    call: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "link.csv").symlink_to("people.csv")
    (folder / "many").mkdir()
    (folder / "many" / "a.csv").write_text((folder / "people.csv").read_text())
    (folder / "hiring.py").write_text("def model(table): return table['hired']\n")
    (folder / "watch.toml").write_text(
        'page = "many/a.csv"\n[source]\nfolder = "many"\n[[property]]\nname = "half"\ncheck = "P[hired == 1] >= 0.5"\n'
    )
    Store(folder / ".isonomia")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    words = [HALF if word == "HALF" else word for word in call.split()]
    code, told = _told(capsys, monkeypatch, *words)
    assert (code, "is read by this command" in told) == (2, True)
    assert {path: path.read_bytes() for path in before} == before


def test_a_report_is_written_again_beside_what_is_read(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "many").mkdir()
    (folder / "many" / "a.csv").write_text((folder / "people.csv").read_text())
    for _ in range(2):
        call = ("check", HALF, "--data", "many", "--census", "--json", "many/out.json")
        assert _told(capsys, monkeypatch, *call)[0] == 0
    assert (folder / "many" / "out.json").stat().st_size > 0
