"""Every Python block of the documentation runs, and prints what the page says it prints.

The convention, for ``README.md`` and for every page below ``docs/``:

* the ``python`` blocks of a page run in order, in one namespace, in an empty folder;
* a ``text`` block that directly follows a ``python`` block is what that block prints, compared exactly;
* a block of any language with ``title="NAME"`` is the file of that name in the folder;
* a ``console`` block directly below ``<!-- run -->`` is run: its lines that begin with ``$ `` are commands, and the
  other lines are among what they print, in this order; ``<!-- run: exit 1 -->`` says with which code the last command
  ends, a line ``...`` says that something is left out, and dots at the end of a line that it goes on; ``isonomia`` is
  run by its ``main`` in this process, where the line needs no shell;
* a ``python`` block directly below ``<!-- not run: reason -->`` is skipped; the reason is required;
* one directly below ``<!-- needs: package -->`` is skipped, with what it prints, where the package is not installed;
* other blocks (``console``, ``text`` elsewhere) are not run.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO, StringIO, TextIOWrapper
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import pytest
from threadpoolctl import threadpool_limits

from isonomia.cli import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(page for page in (ROOT / "README.md", *ROOT.glob("docs/**/*.md")) if page.is_file())

FENCE = re.compile(r"^```(?P<language>\w*)(?P<info>[^\n]*)\n(?P<body>.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
NOT_RUN = re.compile(r"<!--\s*not run:(?P<reason>.*?)-->\s*\Z", re.DOTALL)
NEEDS = re.compile(r"<!--\s*needs:\s*(?P<package>\w+)\s*-->\s*\Z")
RUN = re.compile(r"<!--\s*run(?::\s*exit\s+(?P<code>\d+))?\s*-->\s*\Z")
TITLE = re.compile(r'title="(?P<name>[\w.-]+)"')
TERMINAL = {"COLUMNS": "120", "CI": "1"}


@dataclass(frozen=True, slots=True)
class Block:
    """One block that is to be run: where it stands, its code, what it prints (``None`` for anything), what it needs."""

    line: int
    code: str
    printed: str | None
    needs: str | None = None


@dataclass(frozen=True, slots=True)
class File:
    """A block that is a file."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Commands:
    """Commands, the lines that they print, in order, and the code with which the last one ends."""

    line: int
    commands: tuple[str, ...]
    printed: tuple[str, ...]
    code: int


Step: TypeAlias = Block | File | Commands


def steps_of(text: str) -> list[Step]:
    """What is to be done with the blocks of a page, in order."""
    found: list[Step] = []
    before = 0
    for fence, following in pairwise([*FENCE.finditer(text), None]):
        assert fence is not None
        lead, before = text[before : fence.start()], fence.end()
        line = text.count("\n", 0, fence.start()) + 2
        title, run = TITLE.search(fence["info"]), RUN.search(lead)
        if title:
            found.append(File(title["name"], fence["body"]))
        elif fence["language"] == "console" and run:
            found.append(_commands(line, fence["body"], int(run["code"] or 0)))
        elif fence["language"] == "python" and not _skipped(lead):
            output = None
            gap = "?" if following is None else text[before : following.start()]
            if following is not None and following["language"] == "text" and not gap.strip():
                output = following["body"]
            needs = NEEDS.search(lead)
            found.append(Block(line, fence["body"], output, needs["package"] if needs else None))
    return found


def _commands(line: int, body: str, code: int) -> Commands:
    lines = body.splitlines()
    commands = tuple(each.removeprefix("$ ") for each in lines if each.startswith("$ "))
    assert commands, "a console block that is run has a line that begins with $"
    return Commands(line, commands, tuple(each for each in lines if each and not each.startswith("$ ")), code)


def _skipped(lead: str) -> bool:
    skipped = NOT_RUN.search(lead)
    if skipped:
        assert skipped["reason"].strip(), "a block that is not run needs a reason: <!-- not run: reason -->"
    return bool(skipped)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_code_of_a_page_runs_and_prints_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    steps = steps_of(text)
    if any(isinstance(step, File) for step in steps):
        monkeypatch.syspath_prepend(tmp_path)  # as for Python started in the folder
    known, namespace = set(sys.modules), {"__name__": "__docs__"}
    try:
        with _one_thread(text, monkeypatch):
            for step in steps:
                _do(step, page, tmp_path, namespace)
    finally:
        for name in {step.name.removesuffix(".py") for step in steps if isinstance(step, File)} - known:
            sys.modules.pop(name, None)


def _one_thread(text: str, monkeypatch: pytest.MonkeyPatch) -> threadpool_limits:
    """Let models use one thread: where tests run side by side, more of them wait for each other and win nothing.

    The variable is for a library that is loaded now, the limit for one that was loaded before.
    """
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    if "sklearn" in text:
        import_module("sklearn.ensemble")
    return threadpool_limits(1)


def _do(step: Step, page: Path, folder: Path, namespace: dict[str, object]) -> None:
    match step:
        case File(name, text):
            (folder / name).write_text(text, encoding="utf-8")
        case Commands():
            _run(step, page, folder)
        case Block(needs=str() as package) if find_spec(package) is None:
            pass
        case Block(line, code, printed):
            stdout = StringIO()
            # Empty lines in front make the line numbers of a traceback those of the page.
            compiled = compile("\n" * (line - 1) + code, str(page), "exec", dont_inherit=True)
            with redirect_stdout(stdout):
                exec(compiled, namespace)
            if printed is not None:
                assert stdout.getvalue().rstrip("\n") == printed.rstrip("\n"), f"{page}, line {line}"


def _run(step: Commands, page: Path, folder: Path) -> None:
    told, code = "", 0
    for command in step.commands:
        words = shlex.split(command)
        plain = words[0] == "isonomia" and not set(command) & set("|&;<>$`*?")
        more, code = _inside(words, folder) if plain else _outside(command, folder)
        told += more
    where = f"{page}, line {step.line}:\n{told}"
    assert code == step.code, where
    lines = iter([each.rstrip() for each in told.splitlines()])
    for expected in step.printed:
        assert expected == "..." or _follows(expected.rstrip(), lines), f"{expected!r} is not printed there. {where}"


def _follows(expected: str, lines: Iterator[str]) -> bool:
    """Whether a line comes further on; one that ends in dots is the beginning of it."""
    begins = expected.removesuffix(" ...")
    return any(line.startswith(begins) if begins != expected else line == expected for line in lines)


def _outside(command: str, folder: Path) -> tuple[str, int]:
    """What a command prints, in a shell, and its exit code."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = {**os.environ, "PATH": path, **TERMINAL}
    done = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr, done.returncode


def _inside(words: list[str], folder: Path) -> tuple[str, int]:
    """The same of the command ``isonomia``, through its front door and in this process, which saves starting one.

    Modules beside the page's files are imported again, as a process of its own would.
    """
    streams = [TextIOWrapper(BytesIO(), encoding="utf-8") for _ in range(2)]
    beside = {path.stem for path in folder.glob("*.py")}
    kept = {name: sys.modules.pop(name) for name in beside & set(sys.modules)}
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(streams[0]), redirect_stderr(streams[1]):
        patch.chdir(folder)
        patch.setattr(sys, "argv", words)
        patch.setattr(sys, "path", list(sys.path))
        for name, value in TERMINAL.items():
            patch.setenv(name, value)
        with pytest.raises(SystemExit) as ended:
            main()
    for name in beside:
        sys.modules.pop(name, None)
    sys.modules.update(kept)
    for stream in streams:
        stream.flush()
    return "".join(stream.buffer.getvalue().decode() for stream in streams), int(ended.value.code or 0)


def test_a_block_is_paired_with_the_text_block_that_directly_follows_it():
    page = "```python\nprint(1)\n```\n\n```text\n1\n```\n\nwords\n\n```python\nx = 2\n```\nwords\n```text\nno\n```\n"
    assert steps_of(page) == [Block(2, "print(1)\n", "1\n"), Block(12, "x = 2\n", None)]


def test_a_block_says_which_package_it_needs():
    page = "<!-- needs: torch -->\n```python\nimport torch\n```\n\n```python\nx = 1\n```\n"
    assert [block.needs for block in steps_of(page)] == ["torch", None]


def test_a_block_under_a_reason_is_not_run():
    assert steps_of("<!-- not run: needs a network -->\n\n```python\n1 / 0\n```\n") == []


def test_a_block_that_is_not_run_needs_a_reason():
    with pytest.raises(AssertionError, match="needs a reason"):
        steps_of("<!-- not run: -->\n```python\n1 / 0\n```\n")


def test_a_remark_that_is_not_directly_above_a_block_does_not_skip_it():
    page = "<!-- not run: the first -->\n```python\n1 / 0\n```\n\n```python\nx = 1\n```\n"
    assert steps_of(page) == [Block(7, "x = 1\n", None)]


def test_console_and_text_blocks_are_not_run():
    assert steps_of("```console\n$ isonomia demo\n```\n\n```text\nfree\n```\n") == []


def test_a_block_with_a_title_is_a_file():
    page = '```toml title="audit.toml"\nseed = 1\n```\n```python title="lender.py"\nx = 1\n```\n'
    assert steps_of(page) == [File("audit.toml", "seed = 1\n"), File("lender.py", "x = 1\n")]


def test_a_console_block_is_run_where_the_page_says_so(tmp_path):
    page = "<!-- run: exit 3 -->\n```console\n$ echo one; echo two\ntwo\n$ echo three; exit 3\n...\nthree\n```\n"
    (step,) = steps_of(page)
    assert step == Commands(3, ("echo one; echo two", "echo three; exit 3"), ("two", "...", "three"), 3)
    _run(step, Path("page.md"), tmp_path)


def test_a_line_that_ends_in_dots_goes_on(tmp_path):
    (step,) = steps_of("<!-- run -->\n```console\n$ echo one two three\none two ...\n```\n")
    _run(step, Path("page.md"), tmp_path)


@pytest.mark.parametrize(
    "body",
    ["$ echo one; exit 1\n", "$ echo one\ntwo\n", "$ echo one; echo two\ntwo\none\n", "$ echo one two\ntwo ...\n"],
)
def test_a_console_block_whose_page_is_wrong_is_noticed(body, tmp_path):
    (step,) = steps_of(f"<!-- run -->\n```console\n{body}```\n")
    with pytest.raises(AssertionError, match=r"page\.md, line 3"):
        _run(step, Path("page.md"), tmp_path)


def test_a_command_prints_and_ends_the_same_inside_of_this_process_and_outside(tmp_path):
    (tmp_path / "people.csv").write_text("sex,hired\n" + "F,1\nM,1\nF,0\nM,1\n" * 5, encoding="utf-8")
    for rest in (["--data", "people.csv", "--census"], ["--data", "nowhere.csv"]):
        words = ["isonomia", "check", "P[hired | sex == 'F'] >= 0.7", "--seed", "1", *rest]
        inside, outside = _inside(words, tmp_path), _outside(shlex.join(words), tmp_path)
        assert re.sub(r"[\d.]+ m?s\b", "", inside[0]) == re.sub(r"[\d.]+ m?s\b", "", outside[0])
        assert inside[1] == outside[1] != 0
