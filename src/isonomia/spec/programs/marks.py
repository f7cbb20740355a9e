"""Marks: the calls that say who is in the minority, who is qualified and who reaches the target."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from isonomia.errors import SpecError
from isonomia.spec.programs.calls import check_plain_arguments
from isonomia.spec.programs.expressions import Reading, read_value
from isonomia.spec.programs.scope import assignments_of
from isonomia.spec.programs.sites import Sites
from isonomia.spec.programs.source import Source
from isonomia.spec.programs.tree import MARKS, Assign, Name, Statement

__all__ = ["check_columns", "check_once", "mark_name", "read_mark"]


def mark_name(node: ast.stmt) -> str | None:
    """The name of the mark that a statement is; ``None`` where it is none."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))) if name in MARKS:
            return name
        case _:
            return None


def read_mark(node: ast.stmt, name: str, source: Source, sites: Sites) -> Assign:
    """A mark as the assignment of its column; its argument's kind is checked later, with all others."""
    assert isinstance(node, ast.Expr)
    assert isinstance(node.value, ast.Call)
    call, column = node.value, MARKS[name]
    check_plain_arguments(call, source)
    if len(call.args) != 1:
        message = f"`{name}(...)` takes one condition, but {len(call.args)} came"
        raise SpecError(f"{message}: join conditions by `and`", source.place(call))
    value = read_value(call.args[0], Reading(source, sites, column))
    return Assign(column, value, place=source.place(call))


def check_once(marks: Sequence[Assign]) -> None:
    """Refuse a mark that is made twice."""
    first: dict[str, Assign] = {}
    for mark in marks:
        earlier = first.setdefault(mark.target, mark)
        if earlier is not mark:
            where = f" (first on line {earlier.place.line})" if earlier.place else ""
            message = f"`{_name_of(mark)}` is marked twice{where}: join the conditions by `and` or `or`"
            raise SpecError(message, mark.place)


def check_columns(statements: Sequence[Statement], marks: Sequence[Assign]) -> None:
    """Refuse a variable that would be taken for the column of a mark.

    Guarantees that the last value of a mark's column is the value of the mark. A variable may share its name with the
    column only where it is what the mark marks, and is not set afterwards.
    """
    by_column = {mark.target: mark for mark in marks}
    passed: set[str] = set()
    for assignment in assignments_of(statements):
        mark = by_column.get(assignment.target)
        if mark is assignment:
            passed.add(mark.target)
        elif mark is not None and (mark.value != Name(mark.target) or mark.target in passed):
            message = f"`{_name_of(mark)}` sets the column `{mark.target}`, so this variable would be mistaken for it"
            raise SpecError(f"{message}: rename the variable", assignment.place)


def _name_of(mark: Assign) -> str:
    return next(name for name, column in MARKS.items() if column == mark.target)
