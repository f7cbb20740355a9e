"""Files are written whole or not at all: everything but a database goes through the one function that sees to that."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import isonomia

SOURCE = Path(isonomia.__file__).parent

WRITERS = {
    "report/files.py": "the function itself, and what it gives to write to",
    "report/page/vega.py": "a cache, through that function",
    "audits/audit_file/permissions.py": "what a person allowed, whole as well, which nobody else may read at any time",
    "cli/outputs.py": "the summary of a GitHub job, to which every step of the job adds",
}
"""Where files are written at all, each with its reason."""

CALLS = {
    "dump", "fdopen", "mkdtemp", "mkstemp", "NamedTemporaryFile", "rename", "savefig", "savetxt", "sink_csv",
    "sink_parquet", "TemporaryDirectory", "to_csv", "to_parquet", "write_bytes", "write_csv", "write_parquet",
}  # fmt: skip
"""Functions that write a file, or make one to write to."""

METHODS = {"os.replace", "write_table", "write_text"}
"""The same, where it is not one of our own functions of that name."""


def _written(tree: ast.AST) -> Iterator[str]:
    """What a module calls to write files, each with its line."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        given = [*node.args, *(word.value for word in node.keywords)]
        modes = [each.value for each in given if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        opens = name == "open" and any(set(mode) & set("wax+") and set(mode) <= set("rwaxbt+") for mode in modes)
        method = isinstance(node.func, ast.Attribute) and bool({name, ast.unparse(node.func)} & METHODS)
        if opens or name in CALLS or method:
            yield f"{name}, line {node.lineno}"


def test_files_are_written_by_the_one_function_for_it() -> None:
    found = {path.relative_to(SOURCE).as_posix(): path.read_text("utf-8") for path in SOURCE.rglob("*.py")}
    writers = {name: written for name, text in found.items() if (written := list(_written(ast.parse(text))))}
    others = {name: written for name, written in writers.items() if name not in WRITERS}
    assert not others, "write files with write_file, write_table or replacing of report/files.py"
    assert set(WRITERS) == set(writers), "a module that writes nothing any more is still on the list"


@pytest.mark.parametrize(
    "code",
    ["open('x', 'w')", "path.open(mode='ab')", "os.replace(a, b)", "path.write_text(t)", "json.dump(a, f)"],
)
def test_a_writer_is_noticed(code: str) -> None:
    assert list(_written(ast.parse(code)))


@pytest.mark.parametrize(
    "code", ["open('axe.txt')", "path.open('rb')", "text.replace('a', 'b')", "write_text(t, path)"]
)
def test_a_reader_is_no_writer(code: str) -> None:
    assert not list(_written(ast.parse(code)))
