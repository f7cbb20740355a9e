"""The page of promises: every sentence on it is printed by the program, and every test that it names exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/theory/promises.md"
SOURCE = ROOT / "src/isonomia"
GAP = "…"
"""Where a sentence has a number or a name."""

PROMISES = re.compile(
    r"probability (that|at most|of at most)|is wrong with|chance that|no method with|decides? it (with|in)|"
    r"takes at least|\bat the risk|expected share of wrong|false[- ](alert|discovery)|wrong name|error rate|"
    r"misses the truth|samples to the next|risk of (error|any|each|a wrong|the whole|the verdicts)|"
    r"equal part of the risk|certify a share|is sent at most|limits the rows|sends at most|"
    r"[Tt]he most (samples|rows (sent|to send|that are ever sent))"
)
"""What a sentence about risk, level, power or cost has in it."""


def place_of(file: str) -> Path:
    """A file of the source, or a page."""
    return ROOT / file if file.endswith(".md") else SOURCE / file


def guides() -> list[Path]:
    """The pages that say how to use it; theory proves, and reports of measurements and of code promise nothing."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs/how-to").glob("*.md")]
    return [page for page in pages if page.name not in {"architecture.md", "map.md", "benchmarks.md", "mutation.md"}]


def rows() -> list[tuple[str, str, list[str]]]:
    """The sentence, the file that prints it, and the tests, of every row of the page's tables."""
    found = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| ") and len(cells) == 3 and cells[0] not in {"sentence", "---"}:
            found.append((cells[0], cells[1].strip("`"), re.findall(r"`([^`]+)`", cells[2])))
    return found


def strings(path: Path) -> Iterator[str]:
    """The texts of a file that can be printed: no docstrings, no errors; a gap for each value. Of a page, its prose."""
    if path.suffix == ".md":
        yield " ".join(re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL).split())
        return
    if path.suffix != ".py":
        yield " ".join(re.sub(r"{{.*?}}", GAP, path.read_text(encoding="utf-8")).split())
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise | ast.JoinedStr):
            skipped |= {id(inner) for inner in ast.walk(node) if inner is not node}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else GAP for part in node.values)
            yield "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.parametrize(("sentence", "file", "tests"), rows(), ids=[f"{k}" for k in range(len(rows()))])
def test_a_promise_is_printed_as_the_page_has_it_and_tests_exist(sentence: str, file: str, tests: list[str]) -> None:
    assert any(sentence in text for text in strings(place_of(file))), f"{file} does not print: {sentence}"
    assert tests, f"no test holds this to its word: {sentence}"
    for test in tests:
        path, _, name = test.partition("::")
        assert f"def {name}(" in (ROOT / "tests" / path).read_text(encoding="utf-8"), test


def test_every_sentence_about_risk_level_power_or_cost_is_on_the_page() -> None:
    listed: dict[str, list[str]] = {}
    for sentence, file, _ in rows():
        listed.setdefault(file, []).append(sentence)
    missing = []
    for path in sorted([*SOURCE.rglob("*.py"), *SOURCE.rglob("*.html"), *guides()]):
        name = path.relative_to(ROOT if path.suffix == ".md" else SOURCE).as_posix()
        for text in strings(path):
            for sentence in listed.get(name, ()):
                text = text.replace(sentence, "")
            missing += [f"{name}: {text[max(m.start() - 80, 0) : m.end() + 80]}" for m in PROMISES.finditer(text)]
    assert not missing, "add these to docs/theory/promises.md, with a test:\n" + "\n".join(missing)
