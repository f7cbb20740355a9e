"""From Python's syntax tree to statements: the body of ``popModel`` or of ``F``."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from isonomia.errors import SpecError, nearest
from isonomia.spec.programs.calls import DRAWS
from isonomia.spec.programs.constructs import no_expression, no_statement
from isonomia.spec.programs.expressions import Reading, read_value
from isonomia.spec.programs.marks import mark_name, read_mark
from isonomia.spec.programs.parsing import TOO_DEEP
from isonomia.spec.programs.sites import IF, Sites
from isonomia.spec.programs.source import Source
from isonomia.spec.programs.tree import MARKS, Assign, Expression, If, Statement

__all__ = ["LEVELS", "Body", "read_body"]

LEVELS = 100
"""How deeply an ``if`` may be nested; each ``elif`` counts."""

_TAKEN = frozenset((*DRAWS, *MARKS, "popModel", "F")) - frozenset(MARKS.values())


@dataclass(frozen=True, slots=True)
class Body:
    """What a function does.

    Attributes
    ----------
    statements
        In the order of the text, marks included.
    marks
        Those of the statements that are marks.
    results
        What ``return`` gives back; it has no effect, but must make sense.
    """

    statements: tuple[Statement, ...]
    marks: tuple[Assign, ...]
    results: tuple[Expression, ...]


def read_body(function: ast.FunctionDef, source: Source, sites: Sites) -> Body:
    """The body of a function.

    A ``return`` is ignored. Nothing but marks may follow it, because a mark holds wherever it stands, while any other
    statement would never run.
    """
    statements: list[Statement] = []
    marks: list[Assign] = []
    results: list[Expression] = []
    returned: ast.Return | None = None
    for node in _without_docstring(function.body):
        mark = mark_name(node)
        if mark is not None:
            marks.append(read_mark(node, mark, source, sites))
            statements.append(marks[-1])
        elif isinstance(node, ast.Return):
            returned = returned or node
            results += _result(node, source, sites)
        elif returned is not None and not isinstance(node, ast.Pass):
            raise SpecError(
                "what follows this `return` would never run: put it last, before marks only", source.place(returned)
            )
        else:
            statements += _read(node, source, sites, LEVELS)
    return Body(tuple(statements), tuple(marks), tuple(results))


def _without_docstring(nodes: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    match nodes:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            return rest
        case _:
            return nodes


def _result(node: ast.Return, source: Source, sites: Sites) -> list[Expression]:
    if node.value is None:
        return []
    # A draw in a result is never made, so it must not count for the draws that are.
    return [read_value(node.value, Reading(source, sites.fork(), "return"))]


def _read(node: ast.stmt, source: Source, sites: Sites, levels: int) -> tuple[Statement, ...]:
    match node:
        case ast.Assign():
            return (_assign(node, source, sites),)
        case ast.If():
            return (_if(node, source, sites, levels - 1),)
        case ast.Pass():
            return ()
        case ast.Return():
            message = "a `return` within an `if` would skip what follows: set a variable in each branch instead"
            raise SpecError(message, source.place(node))
        case ast.Expr():
            raise _not_kept(node, source)
        case _:
            raise no_statement(node, source)


def _assign(node: ast.Assign, source: Source, sites: Sites) -> Assign:
    if len(node.targets) > 1:
        message = "`a = b = ...` sets two variables at once: set each in a line of its own"
        raise SpecError(message, source.place(node))
    target = node.targets[0]
    if isinstance(target, ast.Tuple | ast.List):
        message = "`a, b = ...` sets several variables at once: set each in a line of its own"
        raise SpecError(message, source.place(target))
    if not isinstance(target, ast.Name):
        raise SpecError("only a plain variable can be set, as in `x = 1`", source.place(target))
    if target.id in _TAKEN:
        raise SpecError(f"`{target.id}` is the name of a function: give the variable another", source.place(target))
    value = read_value(node.value, Reading(source, sites, target.id))
    return Assign(target.id, value, place=source.place(node))


def _if(node: ast.If, source: Source, sites: Sites, levels: int) -> If:
    if levels < 0:
        raise SpecError(TOO_DEEP, source.between(node, node.test))
    condition = read_value(node.test, Reading(source, sites, IF))
    ways = sites.fork(), sites.fork()
    then = _branch(node.body, source, ways[0], levels)
    otherwise = _branch(node.orelse, source, ways[1], levels)
    sites.join(ways)
    return If(condition, then, otherwise, place=source.between(node, node.test))


def _branch(nodes: Sequence[ast.stmt], source: Source, sites: Sites, levels: int) -> tuple[Statement, ...]:
    statements: list[Statement] = []
    for node in nodes:
        statements += _read(node, source, sites, levels)
    return tuple(statements)


def _not_kept(node: ast.Expr, source: Source) -> SpecError:
    name = mark_name(node)
    if name is not None:
        message = (
            f"the mark `{name}` cannot stand within an `if`: set a variable in each branch, and mark it afterwards"
        )
        return SpecError(message, source.place(node))
    match node.value:
        case ast.Constant(value=str()):
            message = "a text can stand only at the beginning of a function: write a comment with `#`"
        case ast.Call(func=ast.Name(id=called)) if called not in DRAWS:
            known = ", ".join(f"`{name}`" for name in MARKS)
            message = f"there is no mark `{called}`, only {known}.{nearest(called, MARKS)}"
        case ast.Call():
            message = "nothing becomes of this draw: write `x = ...`"
        case ast.Constant() | ast.Name() | ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.BoolOp():
            message = "nothing becomes of this value: write `x = ...` to set a variable"
        case _:
            return no_expression(node.value, source)
    return SpecError(message, source.place(node))
