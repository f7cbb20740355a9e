"""The examples do what their pages say: every command runs as a person types it, in a copy, with core packages only."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "docs"))

from make_pictures import digest_in, of_verdicts

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

ANSWERS = {
    "hiring": {
        "women as often as men": "holds",
        "invitations mean the same": "holds",
        "qualified women in their thirties": "violated",
        "qualified women over sixty": "undecided",
    },
    "credit": {
        "late payments never help": "violated",
        "income never hurts": "holds",
        "savings never hurt": "undecided",
        "the channel hardly matters": "holds",
    },
    "lending": {
        "no one is shut out": "violated",
        "a clean record has a way in": "holds",
        "good advice never harms": "undecided",
        "words do not buy a loan": "violated",
    },
    "school": {
        "girls and boys, nothing assumed": "undecided",
        "girls and boys, as papers have no names": "violated",
        "the town school, up to 0.1": "holds",
    },
    "profanity": {
        "gay is not offensive": "violated",
        "black is not offensive": "violated",
        "tall is not offensive": "holds",
    },
    "language": {
        "English with a Yoruba name": "violated",
        "English with a Polish name": "violated",
        "English with a Russian name": "holds",
    },
}

PUBLIC = {"profanity": ("alt-profanity-check", "1.9.1"), "language": ("py3langid", "0.4.0")}
"""Examples of public models: the package that ships the model, and the version that the page is about."""

WITHOUT_EXTRAS = """
import sys
from importlib.machinery import PathFinder

EXTRAS = {
    "altair", "duckdb", "gymnasium", "httpx", "jinja2", "lightgbm", "mlflow", "onnx", "onnxruntime", "pandas", "polars",
    "skops", "torch", "vl_convert", "xgboost",
}


class CoreFinder:
    def __getattr__(self, name):
        return getattr(PathFinder, name)

    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in EXTRAS else PathFinder.find_spec(name, path, target)


sys.meta_path[sys.meta_path.index(PathFinder)] = CoreFinder()
"""
"""Run by Python as it starts: the packages of the extras are not found, as if they were not installed."""

CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CHANGING = re.compile(r"\brun \d{8}-\d{6}-\w+|\d+\.\d+ s\b")
"""What is different every time: the name of the run, and how long it took."""


@dataclass(frozen=True, slots=True)
class Ran:
    """One command of a page: what the page says it prints, what it printed, and its exit code."""

    command: str
    said: list[str]
    printed: list[str]
    code: int
    complaints: str


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_an_example_does_what_its_page_says(name: str, tmp_path: Path) -> None:
    # One test for all that is claimed: workers share nothing, so that each would run the example again.
    if name in PUBLIC:
        package, written = PUBLIC[name]
        try:
            found = version(package)
        except PackageNotFoundError:
            pytest.skip(f"{package} is not installed")
        if found != written:
            pytest.skip(f"the page is about {package} {written}, and {found} is installed")
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_EXTRAS, encoding="utf-8")
    made = shutil.ignore_patterns("data", ".isonomia", "__pycache__", "*.html")
    folder = shutil.copytree(EXAMPLES / name, tmp_path / name, ignore=made)
    for command, said in _commands((folder / "README.md").read_text(encoding="utf-8")):
        ran = _follow(command, said, folder)
        _assert_code(ran)
        _assert_shown(ran)
    verdicts = json.loads((folder / "verdicts.json").read_text(encoding="utf-8"))["verdicts"]
    assert {each["name"]: each["answer"] for each in verdicts} == ANSWERS[name]
    picture = EXAMPLES.parent / "docs" / "images" / f"example-{name}.png"
    if picture.exists():
        assert digest_in(picture) == of_verdicts(verdicts), "run python docs/make_pictures.py examples"


def test_the_gate_of_a_language_model_does_what_its_page_says(tmp_path: Path) -> None:
    folder = shutil.copytree(EXAMPLES / "evals", tmp_path / "evals", ignore=shutil.ignore_patterns("__pycache__"))
    ((command, said),) = _commands((folder / "README.md").read_text(encoding="utf-8"))
    ran = _follow(command, said, folder)
    _assert_code(ran)
    _assert_shown(ran)
    script = (folder / "gate.py").read_text(encoding="utf-8")
    assert len([line for line in script.splitlines() if line]) < 30


def _commands(page: str) -> Iterator[tuple[str, list[str]]]:
    """The commands of a page in order, each with the lines below it."""
    for block in CONSOLE.findall(page):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *said = part.rstrip("\n").split("\n")
            yield command, said


def _follow(command: str, said: list[str], folder: Path) -> Ran:
    program, *arguments = shlex.split(command)
    programs = {"python": [], "isonomia": ["-c", "from isonomia.cli import main; main()"]}
    if arguments[0] == "run":
        arguments += ["--json", "verdicts.json"]
    done = subprocess.run(
        [sys.executable, *programs[program], *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
        env={**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "PYTHONPATH": str(folder.parent), "PYTHONUTF8": "1"},
    )
    printed = [line.rstrip() for line in done.stdout.rstrip("\n").split("\n")]
    return Ran(command, said, printed, done.returncode, done.stderr)


def _steady(lines: list[str]) -> list[str]:
    return [CHANGING.sub("...", line) for line in lines]


def _assert_code(ran: Ran) -> None:
    """What was violated is told by the exit code, and nothing else went wrong."""
    violated = ran.command.startswith(("isonomia run", "isonomia show"))
    assert ran.code == (1 if violated else 0), f"{ran.command}\n{ran.complaints}"


def _assert_shown(ran: Ran) -> None:
    """The page shows what is printed; where it has a line of three dots, at least these lines in this order."""
    said, printed = _steady(ran.said), _steady(ran.printed)
    if "..." not in ran.said:
        assert printed == said, ran.command
        return
    rest = iter(printed)
    for line in said:
        # Membership in an iterator uses it up as far as the line.
        assert line == "..." or line in rest, f"{ran.command}: not printed, or not in this order: {line}"


def test_every_example_is_tested_and_on_the_page_of_all() -> None:
    folders = {path.parent.name for path in EXAMPLES.glob("*/audit.toml")}
    linked = set(re.findall(r"\]\((\w+)/README\.md\)", (EXAMPLES / "README.md").read_text(encoding="utf-8")))
    assert folders == linked - {"evals"} == set(ANSWERS)
    assert "evals" in linked


def test_the_gallery_repeats_what_the_examples_show() -> None:
    pages = [(EXAMPLES / name / "README.md").read_text(encoding="utf-8") for name in ANSWERS]
    files = [path.read_text(encoding="utf-8") for path in (*EXAMPLES.glob("*/audit.toml"), *EXAMPLES.glob("*/*.nom"))]
    gallery = (EXAMPLES.parent / "docs" / "gallery.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", gallery, re.MULTILINE | re.DOTALL)
    assert {kind for kind, _ in blocks} == {"console", "text", "toml"}
    for kind, block in blocks:
        if not block.startswith("$ cd"):
            assert any(block in text for text in (pages if kind == "console" else files)), block
