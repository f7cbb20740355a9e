"""Small changes to a program that its tests ought to notice: one operator, constant or argument at a time."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from hashlib import sha256

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
"""An order is moved by its tie, and turned round."""

ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}

OPPOSITES = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "minimum": "maximum",
    "maximum": "minimum",
    "fmin": "fmax",
    "fmax": "fmin",
    "logical_and": "logical_or",
    "logical_or": "logical_and",
    "zeros": "ones",
    "ones": "zeros",
    "zeros_like": "ones_like",
    "ones_like": "zeros_like",
    "floor": "ceil",
    "ceil": "floor",
    "argmin": "argmax",
    "argmax": "argmin",
}
"""Functions whose names are easily mistaken for each other's."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change to one module.

    Attributes
    ----------
    module
        The dotted name of the module.
    line, end
        The lines that the changed statement's part spans, from 1.
    operator
        Which kind of change.
    before, after
        The part as it was and as it is.
    source
        The whole module with the change.
    key
        A number that hangs on the module and the change alone, not on what else stands in the room.
    """

    module: str
    line: int
    end: int
    operator: str
    before: str
    after: str
    source: str
    key: str


def mutants_of(module: str, source: str) -> Iterator[Mutant]:
    """Every mutant of a module, in the order of its text.

    Left alone is what no test of behaviour could notice or ought to: texts, annotations, decorators, ``__all__``,
    assertions, and the wording of an error.
    """
    lines = source.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    whole = b"".join(lines)
    seen: Counter[tuple[str, ...]] = Counter()
    for node in _parts(ast.parse(source)):
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        for operator, changed in _changes(node):
            # Brackets keep the changed part together whatever stands around it; a statement takes none.
            text = ast.unparse(changed)
            text = f"({text})" if isinstance(node, ast.expr) and not isinstance(node, ast.Call) else text
            mutated = (whole[:begin] + text.encode() + whole[end:]).decode()
            before = whole[begin:end].decode()
            said = (module, operator, before, text)
            seen[said] += 1
            key = sha256(repr((*said, seen[said])).encode()).hexdigest()
            yield Mutant(module, node.lineno, node.end_lineno or node.lineno, operator, before, text, mutated, key)


def _parts(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """The expressions and statements that may be changed, outermost first."""
    match node:
        case ast.Raise() | ast.Assert() | ast.JoinedStr() | ast.Import() | ast.ImportFrom():
            return
        case ast.Assign(targets=[ast.Name(id="__all__")]) | ast.AnnAssign(annotation=ast.Name(id="TypeAlias")):
            return
        case ast.expr() | ast.Return() | ast.AugAssign():
            yield node
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "pattern"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _parts(child)


def _changes(node: ast.expr | ast.stmt) -> Iterator[tuple[str, ast.expr | ast.stmt]]:
    """The changes of one part, each with its kind."""
    match node:
        case ast.Compare(ops=ops):
            for index, op in enumerate(ops):
                for other in COMPARISONS[type(op)]:
                    yield "comparison", _with(node, ops=[*ops[:index], other(), *ops[index + 1 :]])
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in ARITHMETIC:
            yield "arithmetic", _with(node, op=ARITHMETIC[type(op)]())
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand):
            yield "sign", operand
        case ast.BoolOp(op=op):
            yield "boolean", _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.IfExp(body=body, orelse=orelse):
            yield "condition", _with(node, body=orelse, orelse=body)
        case ast.Return(value=ast.expr() as value) if not _is_none(value):
            yield "return", ast.Return(ast.Constant(None))
        case ast.Constant(value=bool(value)):
            yield "constant", ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield "constant", ast.Constant(value + 1 if isinstance(value, int) or value == 0 else value * 2)
        case ast.Call():
            yield from _calls(node)


def _calls(call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """A keyword left out, a name mistaken, a bound forgotten."""
    for index, keyword in enumerate(call.keywords):
        if keyword.arg == "strict":
            continue  # of a zip: an assertion
        yield "argument", _with(call, keywords=[*call.keywords[:index], *call.keywords[index + 1 :]])
    match call.func:
        case ast.Name(id=name) if name in OPPOSITES:
            yield "function", _with(call, func=ast.Name(OPPOSITES[name]))
        case ast.Attribute(attr=name) if name in OPPOSITES:
            yield "function", _with(call, func=_with(call.func, attr=OPPOSITES[name]))
        case _:
            pass
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in {"min", "max", "minimum", "maximum", "clip"} and len(call.args) > 1:
        yield "argument", call.args[0]


def _with(node: ast.AST, **fields: object) -> ast.expr | ast.stmt:
    changed = deepcopy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed  # type: ignore[return-value]


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None
