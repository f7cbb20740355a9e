"""What the Python of a block does: plain calls and arithmetic, or more than that.

A plain block is turned into the same assignments that ``var`` makes, so it is never run as Python: it is computed for
whole batches by the same evaluator. Anything else is code, which can do whatever the user who starts it can do.
"""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass, replace

from isonomia.errors import Place, SpecError
from isonomia.spec.nomos.tree import Binary, Block, Call, Constant, Expression, Name, Unary, Var

__all__ = ["Code", "Plain", "read_block"]

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}
_COMPARED: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}


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


@dataclass(frozen=True, slots=True)
class Plain:
    """Assignments of plain calls and arithmetic, in order."""

    steps: tuple[Var, ...]


@dataclass(frozen=True, slots=True)
class Code:
    """More than plain calls and arithmetic.

    Attributes
    ----------
    source
        The Python.
    names
        Every name that it gives a value to.
    reads
        Every name and attribute that it mentions, such as ``randInt``.
    reason
        What makes it more than plain, for the message that asks for permission.
    """

    source: str
    names: frozenset[str]
    reads: frozenset[str]
    reason: str


class _NotPlainError(Exception):
    """Carries what is not plain, in words."""


def read_block(block: Block) -> Plain | Code:
    """Say what a block does.

    Raises
    ------
    SpecError
        Where it is not Python, or is empty.
    """
    tree = _parsed(block)
    try:
        steps = [step for statement in tree.body for step in _steps(statement)]
    except _NotPlainError as reason:
        walked = list(ast.walk(tree))
        stored = {node.id for node in walked if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        read = {node.id for node in walked if isinstance(node, ast.Name)}
        read |= {node.attr for node in walked if isinstance(node, ast.Attribute)}
        return Code(block.source, frozenset(stored), frozenset(read), str(reason))
    # A node's own place in the text would be off by the indentation that was taken away, so all point at the block.
    return Plain(tuple(replace(step, place=block.place) for step in steps))


def _parsed(block: Block) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(block.source)
    except SyntaxError as error:
        line = block.source.split("\n")[(error.lineno or 1) - 1 :][:1]
        message = f"the block is not Python: {error.msg}, in its line {error.lineno}: {''.join(line).strip()!r}"
        raise SpecError(message, _line_place(block, "".join(line))) from None
    except (RecursionError, MemoryError, ValueError) as error:
        raise SpecError(f"the block cannot be read as Python: {error}", block.place) from None
    if not tree.body:
        raise SpecError("the block is empty: call the model in it, as in `d1 = predict(x1)`", block.place)
    return tree


def _line_place(block: Block, line: str) -> Place | None:
    if block.place is None or not line.strip():
        return block.place
    start = block.place.text.find(line.strip(), block.place.start)
    return block.place if start < 0 else Place(block.place.text, start, start + len(line.strip()))


def _steps(statement: ast.stmt) -> list[Var]:
    match statement:
        case ast.Assign(targets=targets, value=value):
            return [step for target in targets for step in _assigned(target, value)]
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            return [Var(name, _expression(value))]
        case ast.AugAssign(target=ast.Name(id=name), op=sign, value=value) if type(sign) in _BINARY:
            return [Var(name, Binary(_BINARY[type(sign)], Name(name), _expression(value)))]
        case ast.Pass():
            return []
    raise _NotPlainError(f"it has {_kind(statement)}")


def _assigned(target: ast.expr, value: ast.expr) -> list[Var]:
    match target, value:
        case ast.Name(id=name), _:
            return [Var(name, _expression(value))]
        case ast.Tuple(elts=names), ast.Tuple(elts=values) if len(names) == len(values):
            targets = [name.id for name in names if isinstance(name, ast.Name)]
            known = {node.id for part in values for node in ast.walk(part) if isinstance(node, ast.Name)}
            if len(targets) == len(names) and not known & set(targets):
                return [Var(name, _expression(part)) for name, part in zip(targets, values, strict=True)]
    raise _NotPlainError("it sets something else than a name")


def _expression(node: ast.expr) -> Expression:
    match node:
        case ast.Constant(value=None | bool() | int() | float() | str() as value):
            return Constant(value)
        case ast.Name(id=name):
            return Name(name)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _BINARY:
            return Binary(_BINARY[type(sign)], _expression(left), _expression(right))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return Unary("-", _expression(operand))
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _expression(operand)
        case ast.Compare(left=left, ops=[sign], comparators=[right]) if type(sign) in _COMPARED:
            return Binary(_COMPARED[type(sign)], _expression(left), _expression(right))
        case ast.Call(func=function, args=arguments, keywords=[]):
            return _call(function, arguments)
    raise _NotPlainError(f"it has {_kind(node)}")


def _call(function: ast.expr, arguments: list[ast.expr]) -> Expression:
    values = tuple(_expression(argument) for argument in arguments)
    match function:
        case ast.Name(id=name):
            return Call(name, values)
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            return Call(name, values, owner)
    raise _NotPlainError("it calls something that has no plain name")


def _kind(node: ast.AST) -> str:
    return _WORDS.get(type(node).__name__, f"Python's {type(node).__name__}")
