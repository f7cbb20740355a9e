"""What the Python of a block does: plain calls and arithmetic, or more than that.

A plain block is turned into the same assignments that ``var`` makes, so it is never run as Python: the same evaluator
computes it for whole batches. Anything else is code, which can do whatever the user who starts it can do.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from isonomia.errors import Place, SpecError
from isonomia.spec.fairsquare.python_source import COMPARISONS, SIGNS
from isonomia.spec.nomos.tree import Binary, Expression, FunctionCall, Name, PythonBlock, ScalarLiteral, Unary, Var

_BINARY: dict[type[ast.operator], str] = {**SIGNS, ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**"}
DEEPEST = 100
"""How many levels an expression may have."""

MOST_STEPS = 2_000
"""How many statements a specification may have, and how many assignments a plain block: each has a column for every
batch of cases."""

LARGEST_BITS = 1_024
"""How many bits a whole number may have: as many as the largest float has before the point."""

_WORDS = {
    "For": "a loop",
    "While": "a loop",
    "If": "a branch",
    "IfExp": "a branch",
    "FunctionDef": "a function",
    "Lambda": "a function",
    "Import": "an import",
    "ImportFrom": "an import",
    "List": "a list",
    "ListComp": "a list",
    "GeneratorExp": "a loop",
    "Dict": "a dictionary",
    "Subscript": "square brackets",
    "Attribute": "an attribute",
    "BoolOp": "`and` or `or`",
    "Expr": "an expression whose value is not kept",
    "Call": "a call with named arguments",
}


At: TypeAlias = Callable[[ast.expr | ast.stmt], Place | None]
"""Gives the place of a node of Python's tree in the specification's text."""


@dataclass(frozen=True, slots=True)
class PlainBlock:
    """Assignments of plain calls and arithmetic, in order."""

    steps: tuple[Var, ...]


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """More than plain calls and arithmetic.

    Attributes
    ----------
    source
        The Python.
    names
        Every name that it gives a value to.
    reads
        Every name, attribute and module that it mentions, such as ``randInt``.
    reason
        What makes it more than plain, for the message that asks for permission.
    place
        The place of that.
    places
        Where each name is given a value for the first time.
    """

    source: str
    names: frozenset[str]
    reads: frozenset[str]
    reason: str
    place: Place | None = field(default=None, compare=False, repr=False)
    places: tuple[tuple[str, Place | None], ...] = field(default=(), compare=False, repr=False)


class _NotPlainError(Exception):
    """Carries what is not plain, in words, and its place."""

    def __init__(self, reason: str, place: Place | None) -> None:
        super().__init__(reason)
        self.place = place


def read_block(block: PythonBlock) -> PlainBlock | CodeBlock:
    """Say what a block does; one that is empty, or is not Python, is refused."""
    tree, at = _parsed(block), _places(block)
    _check_depth(tree, at)
    try:
        steps = tuple(step for statement in tree.body for step in _steps(statement, at))
    except _NotPlainError as reason:
        walked = list(ast.walk(tree))
        stored = [node for node in walked if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
        read = {node.id for node in walked if isinstance(node, ast.Name)}
        read |= {node.attr for node in walked if isinstance(node, ast.Attribute)}
        read |= {name for node in walked for name in _imported(node)}
        names = frozenset(node.id for node in stored)
        first = {node.id: at(node) for node in sorted(stored, key=lambda node: node.lineno, reverse=True)}
        return CodeBlock(block.source, names, frozenset(read), str(reason), reason.place, tuple(first.items()))
    if len(steps) > MOST_STEPS:
        message = f"expected a block of at most {MOST_STEPS:,} assignments, but this one has {len(steps):,}: state"
        raise SpecError(f"{message} several properties", steps[MOST_STEPS].place)
    return PlainBlock(steps)


def _check_depth(tree: ast.Module, at: At) -> None:
    """Refuse what has more levels than an expression may have: it is walked by recursion."""
    level: list[ast.expr | ast.stmt] = list(tree.body)
    for _ in range(DEEPEST + 1):
        level = [part for node in level for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr | ast.stmt)]
        if not level:
            return
    raise SpecError(f"this is nested more than {DEEPEST} levels deep: set a variable to a part of it", at(level[0]))


def _imported(node: ast.AST) -> set[str]:
    """The modules and the names that a statement imports, under their original names, not their aliases."""
    match node:
        case ast.Import(names=names):
            return {part for name in names for part in name.name.split(".")}
        case ast.ImportFrom(module=module, names=names):
            return {*(module or "").split("."), *(name.name for name in names)} - {""}
        case _:
            return set()


def _places(block: PythonBlock) -> At:
    lines = block.source.split("\n")

    def characters(line: int, column: int) -> int:
        # Python's tree counts columns in bytes of UTF-8.
        return len(lines[line - 1].encode()[:column].decode(errors="ignore"))

    def at(node: ast.expr | ast.stmt) -> Place | None:
        last, column = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        start = characters(node.lineno, node.col_offset)
        return block.stretch(node.lineno, start, last, characters(last, column))

    return at


def _parsed(block: PythonBlock) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(block.source)
    except SyntaxError as error:
        line, column = error.lineno or 1, (error.offset or 1) - 1
        last, end = error.end_lineno or line, (error.end_offset or 0) - 1
        place = block.stretch(line, column, last, end)
        raise SpecError(f"the block is not Python: {_with_lines(error.msg, block)}", place) from None
    except (RecursionError, MemoryError):
        raise SpecError("the block cannot be read as Python: it is nested too deeply", block.place) from None
    except ValueError as error:
        raise SpecError(f"the block cannot be read as Python: {error}", block.place) from None
    if not tree.body:
        raise SpecError("the block is empty: call the model in it, as in `d1 = predict(x1)`", block.place)
    return tree


def _with_lines(message: str, block: PythonBlock) -> str:
    """Python's message, with its line numbers counted in the specification and not in the block."""

    def counted(match: re.Match[str]) -> str:
        place = block.line(int(match[1]))
        return match[0] if place is None else f"line {place.line}"

    return re.sub(r"\bline (\d+)", counted, message)


def _steps(statement: ast.stmt, at: At) -> list[Var]:
    match statement:
        case ast.Assign(targets=targets, value=value):
            return [step for target in targets for step in _assigned(target, value, at)]
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            return [Var(name, _expression(value, at), at(statement))]
        case ast.AugAssign(target=ast.Name(id=name) as target, op=sign, value=value) if type(sign) in _BINARY:
            changed = Binary(_BINARY[type(sign)], Name(name, at(target)), _expression(value, at), at(statement))
            return [Var(name, changed, at(statement))]
        case ast.Pass():
            return []
        case _:
            raise _NotPlainError(f"it has {_kind(statement)}", at(statement))


def _assigned(target: ast.expr, value: ast.expr, at: At) -> list[Var]:
    match target, value:
        case ast.Name(id=name), _:
            return [Var(name, _expression(value, at), at(target))]
        case ast.Tuple(elts=names), ast.Tuple(elts=values) if len(names) == len(values):
            targets = [name.id for name in names if isinstance(name, ast.Name)]
            known = {node.id for part in values for node in ast.walk(part) if isinstance(node, ast.Name)}
            if len(targets) == len(names) and not known & set(targets):
                parts = zip(targets, values, names, strict=True)
                return [Var(name, _expression(part, at), at(node)) for name, part, node in parts]
    raise _NotPlainError("it sets something else than a name", at(target))


def _expression(node: ast.expr, at: At) -> Expression:
    match node:
        case ast.Constant(value=int() as value) if value.bit_length() > LARGEST_BITS:
            raise SpecError("this number is too large", at(node))
        case ast.Constant(value=None | bool() | int() | float() | str() as value):
            return ScalarLiteral(value, at(node))
        case ast.Name(id=name):
            return Name(name, at(node))
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _BINARY:
            return Binary(_BINARY[type(sign)], _expression(left, at), _expression(right, at), at(node))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return Unary("-", _expression(operand, at), at(node))
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _expression(operand, at)
        case ast.Compare(left=left, ops=[sign], comparators=[right]) if type(sign) in COMPARISONS:
            return Binary(COMPARISONS[type(sign)], _expression(left, at), _expression(right, at), at(node))
        case ast.Call(keywords=[]):
            return _call(node, at)
        case _:
            raise _NotPlainError(f"it has {_kind(node)}", at(node))


def _call(node: ast.Call, at: At) -> Expression:
    values = tuple(_expression(argument, at) for argument in node.args)
    match node.func:
        case ast.Name(id=name):
            return FunctionCall(name, values, None, at(node))
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            return FunctionCall(name, values, owner, at(node))
        case _:
            raise _NotPlainError("it calls something that has no plain name", at(node))


def _kind(node: ast.AST) -> str:
    return _WORDS.get(type(node).__name__, f"Python's {type(node).__name__}")
