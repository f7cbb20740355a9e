"""The two calls that an expression may make: ``gaussian(mean, variance)`` and ``step([(low, high, p), ...])``."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeAlias

from isonomia.errors import SpecError, nearest
from isonomia.spec.programs.cells import Cell, checked_cells
from isonomia.spec.programs.constants import constant_value
from isonomia.spec.programs.constructs import no_expression
from isonomia.spec.programs.sites import Sites
from isonomia.spec.programs.source import Source
from isonomia.spec.programs.tree import MARKS, Draw, Expression, Gaussian, Step

__all__ = ["DRAWS", "check_plain_arguments", "read_draw"]

DRAWS = ("gaussian", "step")
_BY_IF = {"max", "min", "abs", "relu", "round", "int", "bool"}
_CELLS = "`step([(low, high, p), ...])` takes one list of cells"

Read: TypeAlias = Callable[[ast.expr], Expression]


def read_draw(node: ast.Call, source: Source, sites: Sites, variable: str, read: Read) -> Draw:
    """A call within an expression; its arguments draw before it does."""
    name = _called(node, source)
    check_plain_arguments(node, source)
    if name == "gaussian":
        _check_count(node, source, 2, "`gaussian(mean, variance)` takes two values")
        mean, variance = read(node.args[0]), read(node.args[1])
        return Gaussian(mean, variance, sites.next(variable), place=source.place(node))
    _check_count(node, source, 1, _CELLS)
    cells = _cells(node.args[0], source, read)
    return Step(checked_cells(cells, source.place(node)), sites.next(variable), place=source.place(node))


def _called(node: ast.Call, source: Source) -> str:
    if not isinstance(node.func, ast.Name):
        raise SpecError("only `gaussian` and `step` can be called here", source.place(node.func))
    name = node.func.id
    if name in DRAWS:
        return name
    if name in MARKS:
        message = f"`{name}(...)` has no value: it is a mark, and stands in a line of its own"
    elif name in _BY_IF:
        message = f"there is no function `{name}`, only `gaussian` and `step`: write it out with an `if`"
    else:
        message = f"there is no function `{name}`, only `gaussian` and `step`.{nearest(name, DRAWS)}"
    raise SpecError(message, source.place(node.func))


def check_plain_arguments(node: ast.Call, source: Source) -> None:
    """Refuse arguments by keyword and arguments with a star."""
    for keyword in node.keywords:
        if keyword.arg is None:
            raise SpecError("`**` cannot stand in a call: write the values out", source.place(keyword))
        message = f"values are given by their order, without names: leave out `{keyword.arg}=`"
        raise SpecError(message, source.place(keyword))
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            raise no_expression(argument, source)


def _check_count(node: ast.Call, source: Source, wanted: int, usage: str) -> None:
    if len(node.args) != wanted:
        raise SpecError(f"{usage}, but {len(node.args)} came", source.place(node))


def _cells(node: ast.expr, source: Source, read: Read) -> list[Cell]:
    if not isinstance(node, ast.List):
        raise SpecError(f"{_CELLS}, in square brackets", source.place(node))
    return [_cell(element, source, read) for element in node.elts]


def _cell(node: ast.expr, source: Source, read: Read) -> Cell:
    if not isinstance(node, ast.Tuple) or len(node.elts) != 3:
        raise SpecError(
            "each cell of a step is written `(low, high, p)`: three numbers in brackets", source.place(node)
        )
    low, high, probability = (_constant(element, source, read) for element in node.elts)
    return Cell(low, high, probability, source.place(node))


def _constant(node: ast.expr, source: Source, read: Read) -> float:
    value = None if isinstance(node, ast.Starred) else constant_value(read(node))
    if value is None:
        raise SpecError("the numbers in a step must be constants: write them out", source.place(node))
    return value
