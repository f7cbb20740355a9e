"""The mutants of a program: one small change each, nothing else, and nothing that no test ought to notice."""

from __future__ import annotations

import ast
from difflib import SequenceMatcher

import pytest
from benchmarks.mutants import mutants_of

PROGRAM = '''"""A text with 1 + 1 in it."""

from typing import TypeAlias

__all__ = ["f"]

Pair: TypeAlias = int | str


def f(a: int | None, *, b: float = 2.0) -> bool | None:
    """Says 3 < 4."""
    if a is None:
        raise ValueError(f"expected {b + 1} numbers")
    assert a != 7
    total = sum(max(x, 0) for x in range(a)) ** 2
    total += 1
    return not (total < b and a >= 1) if "é" else sorted([a], reverse=True) == list(zip([a], [b], strict=True))
'''


def changes(source: str) -> set[tuple[str, str]]:
    return {(mutant.before, mutant.after) for mutant in mutants_of("m", source)}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a < b", {("a < b", "(a <= b)"), ("a < b", "(a >= b)")}),
        ("a == b", {("a == b", "(a != b)")}),
        ("a + b", {("a + b", "(a - b)")}),
        ("a and b", {("a and b", "(a or b)")}),
        ("not a", {("not a", "(a)")}),
        ("-a", {("-a", "(a)")}),
        ("a if b else c", {("a if b else c", "(c if b else a)")}),
        ("f(x=a, y=b)", {("f(x=a, y=b)", "f(y=b)"), ("f(x=a, y=b)", "f(x=a)")}),
        ("max(a, b)", {("max(a, b)", "min(a, b)"), ("max(a, b)", "a")}),
        ("np.zeros(a)", {("np.zeros(a)", "np.ones(a)")}),
        ("3", {("3", "(4)")}),
        ("0.5", {("0.5", "(1.0)")}),
        ("True", {("True", "(False)")}),
        ("x += a", {("x += a", "x -= a")}),
        ("'text'", set()),
        ("zip(a, b, strict=c)", set()),
        ("assert a < b", set()),
        ("raise E(a + b)", set()),
        ("x: int | None", set()),
    ],
)
def test_each_kind_of_change_is_made(source: str, expected: set[tuple[str, str]]) -> None:
    assert changes(source) == expected


def test_every_mutant_is_a_program_that_differs_in_one_place() -> None:
    found = list(mutants_of("m", PROGRAM))
    assert len(found) > 15
    for mutant in found:
        assert ast.dump(ast.parse(mutant.source)) != ast.dump(ast.parse(PROGRAM))
        start = PROGRAM.index(mutant.before) if PROGRAM.count(mutant.before) == 1 else None
        compared = SequenceMatcher(None, PROGRAM, mutant.source, autojunk=False).get_opcodes()
        lines = {PROGRAM.count("\n", 0, place) + 1 for what, place, *_ in compared if what != "equal"}
        assert all(mutant.line <= line <= mutant.end for line in lines)
        assert start is None or PROGRAM.count("\n", 0, start) + 1 == mutant.line


def test_what_no_test_could_notice_is_left_alone() -> None:
    touched = {line for mutant in mutants_of("m", PROGRAM) for line in range(mutant.line, mutant.end + 1)}
    lines = PROGRAM.splitlines()
    alone = ("raise", "assert", '"""')
    quiet = [number for number, line in enumerate(lines, start=1) if any(word in line for word in alone)]
    assert not touched & {*quiet, lines.index('__all__ = ["f"]') + 1, lines.index("Pair: TypeAlias = int | str") + 1}


def test_keys_are_all_different_and_do_not_hang_on_what_stands_elsewhere() -> None:
    keys = [mutant.key for mutant in mutants_of("m", PROGRAM)]
    assert len(set(keys)) == len(keys)
    longer = PROGRAM + "\n\ndef g() -> int:\n    return 5\n"
    assert set(keys) < {mutant.key for mutant in mutants_of("m", longer)}
