"""Every Python block of the documentation runs, and prints what the page says it prints.

The convention, for ``README.md`` and for every page below ``docs/``:

* the ``python`` blocks of a page run in order, in one namespace, in an empty folder;
* a ``text`` block that directly follows a ``python`` block is what that block prints, compared exactly;
* a ``python`` block directly below ``<!-- not run: reason -->`` is skipped; the reason is required;
* one directly below ``<!-- needs: package -->`` is skipped, with what it prints, where the package is not installed;
* other blocks (``console``, ``text`` elsewhere) are not run.
"""

from __future__ import annotations

import re
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from io import StringIO
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(page for page in (ROOT / "README.md", *ROOT.glob("docs/**/*.md")) if page.is_file())

FENCE = re.compile(r"^```(?P<language>\w*)[^\n]*\n(?P<body>.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
NOT_RUN = re.compile(r"<!--\s*not run:(?P<reason>.*?)-->\s*\Z", re.DOTALL)
NEEDS = re.compile(r"<!--\s*needs:\s*(?P<package>\w+)\s*-->\s*\Z")


@dataclass(frozen=True, slots=True)
class Block:
    """One block that is to be run: where it stands, its code, what it prints (``None`` for anything), what it needs."""

    line: int
    code: str
    printed: str | None
    needs: str | None = None


def blocks_of(text: str) -> list[Block]:
    """The blocks of a page that are to be run."""
    found: list[Block] = []
    fences = [*FENCE.finditer(text), None]
    before = 0
    for fence, following in pairwise(fences):
        assert fence is not None
        lead, before = text[before : fence.start()], fence.end()
        if fence["language"] != "python":
            continue
        skipped = NOT_RUN.search(lead)
        if skipped:
            assert skipped["reason"].strip(), "a block that is not run needs a reason: <!-- not run: reason -->"
            continue
        output = None
        if following is not None and following["language"] == "text" and not text[before : following.start()].strip():
            output = following["body"]
        needs = NEEDS.search(lead)
        line = text.count("\n", 0, fence.start()) + 2
        found.append(Block(line, fence["body"], output, needs["package"] if needs else None))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_code_of_a_page_runs_and_prints_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__docs__"}
    for block in blocks_of(page.read_text(encoding="utf-8")):
        if block.needs is not None and find_spec(block.needs) is None:
            continue
        stdout = StringIO()
        # Empty lines in front make the line numbers of a traceback those of the page.
        code = compile("\n" * (block.line - 1) + block.code, str(page), "exec")
        with redirect_stdout(stdout):
            exec(code, namespace)
        if block.printed is not None:
            assert stdout.getvalue().rstrip("\n") == block.printed.rstrip("\n"), f"{page}, line {block.line}"


def test_a_block_is_paired_with_the_text_block_that_directly_follows_it():
    page = "```python\nprint(1)\n```\n\n```text\n1\n```\n\nwords\n\n```python\nx = 2\n```\nwords\n```text\nno\n```\n"
    assert blocks_of(page) == [Block(2, "print(1)\n", "1\n"), Block(12, "x = 2\n", None)]


def test_a_block_says_which_package_it_needs():
    page = "<!-- needs: torch -->\n```python\nimport torch\n```\n\n```python\nx = 1\n```\n"
    assert [block.needs for block in blocks_of(page)] == ["torch", None]


def test_a_block_under_a_reason_is_not_run():
    assert blocks_of("<!-- not run: needs a network -->\n\n```python\n1 / 0\n```\n") == []


def test_a_block_that_is_not_run_needs_a_reason():
    with pytest.raises(AssertionError, match="needs a reason"):
        blocks_of("<!-- not run: -->\n```python\n1 / 0\n```\n")


def test_a_remark_that_is_not_directly_above_a_block_does_not_skip_it():
    page = "<!-- not run: the first -->\n```python\n1 / 0\n```\n\n```python\nx = 1\n```\n"
    assert blocks_of(page) == [Block(7, "x = 1\n", None)]


def test_console_and_text_blocks_are_not_run():
    assert blocks_of("```console\n$ isonomia demo\n```\n\n```text\nfree\n```\n") == []
