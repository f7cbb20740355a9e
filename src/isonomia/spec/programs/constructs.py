"""What Python has and a program has not: each construct in plain words, with what to write instead."""

from __future__ import annotations

import ast

from isonomia.errors import SpecError
from isonomia.spec.programs.source import Source

__all__ = ["COMPARISONS", "SIGNS", "no_comparison", "no_expression", "no_sign", "no_statement"]

_ALLOWED_STATEMENTS = "a function has only `x = ...`, `if`/`elif`/`else`, `pass`, `return` and marks"
_ALLOWED_EXPRESSIONS = (
    "only numbers, True and False, variables, `+ - * /`, comparisons, `and`, `or`, `not`, `gaussian` and `step` can"
)

SIGNS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}

_STATEMENTS: dict[str, tuple[str, str]] = {
    "For": ("a `for` loop", "write its statements out, once for each round"),
    "AsyncFor": ("a `for` loop", "write its statements out, once for each round"),
    "While": ("a `while` loop", "write its statements out, once for each round"),
    "Import": ("an import", "a program stands alone, and can call only `gaussian` and `step`"),
    "ImportFrom": ("an import", "a program stands alone, and can call only `gaussian` and `step`"),
    "AnnAssign": ("an annotation", "write `x = ...`"),
    "FunctionDef": ("a function within a function", "write its statements out where they are needed"),
    "AsyncFunctionDef": ("an `async` function", "write `def popModel():` or `def F():`"),
    "ClassDef": ("a class", _ALLOWED_STATEMENTS),
    "Global": ("`global`", "leave it out, because all variables are shared by popModel and F"),
    "Nonlocal": ("`nonlocal`", "leave it out, because all variables are shared by popModel and F"),
    "Try": ("`try`", "leave it out, because nothing can be raised"),
    "TryStar": ("`try`", "leave it out, because nothing can be raised"),
    "With": ("`with`", _ALLOWED_STATEMENTS),
    "AsyncWith": ("`with`", _ALLOWED_STATEMENTS),
    "Delete": ("`del`", "leave it out"),
    "Raise": ("`raise`", "use the mark `qualified(...)` to say who counts"),
    "Assert": ("`assert`", "use the mark `qualified(...)` to say who counts"),
    "Match": ("`match`", "write `if`/`elif`/`else`"),
    "Break": ("`break`", "there are no loops"),
    "Continue": ("`continue`", "there are no loops"),
}
_COMPREHENSION = ("a comprehension", "write its parts out")
_SIGNS_REFUSED: dict[str, tuple[str, str]] = {
    "Pow": ("**", "write a power as a product, such as `x * x`"),
    "Mod": ("%", "only `+ - * /` can be used"),
    "FloorDiv": ("//", "only `+ - * /` can be used, and a comment begins with `#`"),
    "MatMult": ("@", "only `+ - * /` can be used"),
    "BitAnd": ("&", "write `and`"),
    "BitOr": ("|", "write `or`"),
    "BitXor": ("^", "write a power as a product, such as `x * x`"),
    "LShift": ("<<", "only `+ - * /` can be used"),
    "RShift": (">>", "only `+ - * /` can be used"),
    "Invert": ("~", "write `not`"),
}
_COMPARISONS_REFUSED: dict[str, tuple[str, str]] = {
    "Is": ("is", "write `==`"),
    "IsNot": ("is not", "write `!=`"),
    "In": ("in", "write `x == a or x == b`"),
    "NotIn": ("not in", "write `x != a and x != b`"),
}
_EXPRESSIONS: dict[str, tuple[str, str]] = {
    "Lambda": ("a `lambda`", "write the expression itself"),
    "ListComp": _COMPREHENSION,
    "SetComp": _COMPREHENSION,
    "DictComp": _COMPREHENSION,
    "GeneratorExp": _COMPREHENSION,
    "Subscript": ("an element `[...]`", "give each value a variable of its own"),
    "Attribute": ("an attribute (a name with a dot)", "variables are plain names, and functions `gaussian` and `step`"),
    "IfExp": ("`a if c else b`", "write an `if` statement that sets the variable in both branches"),
    "NamedExpr": ("`:=`", "set the variable in a line of its own"),
    "List": ("a list", "it can stand only within `step([...])`"),
    "Tuple": ("values separated by commas", "give each value a variable of its own"),
    "Dict": ("a dictionary", "give each value a variable of its own"),
    "Set": ("a set", "give each value a variable of its own"),
    "JoinedStr": ("a text", "write categories as numbers"),
    "TemplateStr": ("a text", "write categories as numbers"),
    "Await": ("`await`", _ALLOWED_EXPRESSIONS),
    "Yield": ("`yield`", _ALLOWED_EXPRESSIONS),
    "YieldFrom": ("`yield`", _ALLOWED_EXPRESSIONS),
    "Starred": ("a `*` before a value", "write the values out"),
}


def no_statement(node: ast.stmt, source: Source) -> SpecError:
    """Say that a statement cannot stand in a program."""
    if isinstance(node, ast.AugAssign):
        sign = SIGNS.get(type(node.op)) or _SIGNS_REFUSED.get(type(node.op).__name__, ("?", ""))[0]
        name = node.target.id if isinstance(node.target, ast.Name) else "x"
        what, hint = f"`{name} {sign}= ...`", f"write `{name} = {name} {sign} ...`"
    else:
        what, hint = _STATEMENTS.get(type(node).__name__, ("this", _ALLOWED_STATEMENTS))
    return SpecError(f"{what} cannot stand in a program: {hint}", source.place(node))


def no_expression(node: ast.expr, source: Source) -> SpecError:
    """Say that an expression cannot stand in a program or in an equation."""
    what, hint = _EXPRESSIONS.get(type(node).__name__, ("this", _ALLOWED_EXPRESSIONS))
    return SpecError(f"{what} cannot stand here: {hint}", source.place(node))


def no_sign(node: ast.BinOp | ast.UnaryOp, source: Source) -> SpecError:
    """Say that an operator is not there."""
    sign, hint = _SIGNS_REFUSED.get(type(node.op).__name__, ("?", _ALLOWED_EXPRESSIONS))
    return SpecError(f"there is no operator `{sign}`: {hint}", source.place(node))


def no_comparison(operator: ast.cmpop, node: ast.Compare, source: Source) -> SpecError:
    """Say that a comparison is not there."""
    sign, hint = _COMPARISONS_REFUSED.get(type(operator).__name__, ("?", _ALLOWED_EXPRESSIONS))
    return SpecError(f"there is no comparison `{sign}`: {hint}", source.place(node))
