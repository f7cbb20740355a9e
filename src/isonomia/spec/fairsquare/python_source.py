"""Python's own parser, used for its syntax tree only: nothing is compiled or run, and every failure is a SpecError.

Python constructs that programs do not have are refused here, too: each in plain words, with what to write instead.
"""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass, field
from itertools import accumulate

from isonomia.errors import Place, SpecError
from isonomia.spec.parser import check_length
from isonomia.spec.syntax_errors import TOO_DEEP, python_error

# Quotations first, so that a `#` inside one does not begin a comment.
_LOOSE = re.compile(r"'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|#[^\n]*|\\\n|\n")


@dataclass(frozen=True, slots=True)
class SourceText:
    r"""A text as it was written, and as Python's parser sees it.

    Guarantees that every place lies within the text, whatever line and column it is made from.

    Attributes
    ----------
    text
        What errors point at.
    parsed
        What the parser reads: the same characters from ``skipped`` on, some of them blanked out. Its lines end at
        ``\n`` only.
    """

    text: str
    parsed: str
    skipped: int
    lines: tuple[str, ...] = field(init=False, repr=False)
    starts: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        lines = tuple(self.parsed.split("\n"))
        starts = accumulate((len(line) + 1 for line in lines[:-1]), initial=self.skipped)
        object.__setattr__(self, "lines", lines)
        object.__setattr__(self, "starts", tuple(starts))

    def place(self, node: ast.stmt | ast.expr | ast.keyword) -> Place:
        """The stretch of a node of Python's tree."""
        start = self._of_bytes(node.lineno, node.col_offset)
        end = self._of_bytes(node.end_lineno or 1, node.end_col_offset or 0)
        return Place(self.text, start, max(start, end))

    def between(self, first: ast.stmt | ast.expr, last: ast.stmt | ast.expr) -> Place:
        """The stretch from the beginning of one node to the end of another."""
        return Place(self.text, self.place(first).start, self.place(last).end)

    def at(self, line: int | None, column: int | None) -> int:
        """The index of the character at a line and a column, both counted from 1, or of the nearest one."""
        row = self._row(line or 1)
        return self.starts[row] + min(max((column or 1) - 1, 0), len(self.lines[row]))

    def _of_bytes(self, line: int, offset: int) -> int:
        # The parser counts bytes; people count characters.
        written = self.lines[self._row(line)]
        before = offset if written.isascii() else len(written.encode()[:offset].decode(errors="ignore"))
        return self.at(line, before + 1)

    def _row(self, line: int) -> int:
        return min(max(line - 1, 0), len(self.lines) - 1)


def program_source(text: str) -> SourceText:
    """A whole program, as it stands."""
    check_length(text)
    return SourceText(text, text, 0)


def equation_source(text: str) -> SourceText:
    """One expression: line ends and comments are blanked out, so that it may run over several lines."""
    flat = _LOOSE.sub(_blank, text)
    skipped = len(flat) - len(flat.lstrip())
    return SourceText(text, flat[skipped:], skipped)


def _blank(match: re.Match[str]) -> str:
    return match[0] if match[0][0] in "'\"" else " " * len(match[0])


def parse_module(source: SourceText) -> ast.Module:
    """The syntax tree of a whole program."""
    tree = _parse(source, "exec")
    assert isinstance(tree, ast.Module)
    return tree


def parse_expression(source: SourceText) -> ast.expr:
    """The syntax tree of one expression."""
    tree = _parse(source, "eval")
    assert isinstance(tree, ast.Expression)
    return tree.body


def _parse(source: SourceText, mode: str) -> ast.AST:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source.parsed, mode=mode)
    except SyntaxError as error:
        start = source.at(error.lineno, error.offset)
        end = source.at(error.end_lineno or error.lineno, error.end_offset or error.offset)
        raise python_error(error, Place(source.text, start, max(start, end))) from None
    except (RecursionError, MemoryError):
        raise SpecError(TOO_DEEP, Place(source.text, source.skipped, source.skipped)) from None


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


def no_statement(node: ast.stmt, source: SourceText) -> SpecError:
    """Say that a statement cannot stand in a program."""
    if isinstance(node, ast.AugAssign):
        sign = SIGNS.get(type(node.op)) or _SIGNS_REFUSED.get(type(node.op).__name__, ("?", ""))[0]
        name = node.target.id if isinstance(node.target, ast.Name) else "x"
        what, hint = f"`{name} {sign}= ...`", f"write `{name} = {name} {sign} ...`"
    else:
        what, hint = _STATEMENTS.get(type(node).__name__, ("this", _ALLOWED_STATEMENTS))
    return SpecError(f"{what} cannot stand in a program: {hint}", source.place(node))


def no_expression(node: ast.expr, source: SourceText) -> SpecError:
    """Say that an expression cannot stand in a program or in an equation."""
    what, hint = _EXPRESSIONS.get(type(node).__name__, ("this", _ALLOWED_EXPRESSIONS))
    return SpecError(f"{what} cannot stand here: {hint}", source.place(node))


def no_sign(node: ast.BinOp | ast.UnaryOp, source: SourceText) -> SpecError:
    """Say that an operator does not exist."""
    sign, hint = _SIGNS_REFUSED.get(type(node.op).__name__, ("?", _ALLOWED_EXPRESSIONS))
    return SpecError(f"there is no operator `{sign}`: {hint}", source.place(node))


def no_comparison(operator: ast.cmpop, node: ast.Compare, source: SourceText) -> SpecError:
    """Say that a comparison does not exist."""
    sign, hint = _COMPARISONS_REFUSED.get(type(operator).__name__, ("?", _ALLOWED_EXPRESSIONS))
    return SpecError(f"there is no comparison `{sign}`: {hint}", source.place(node))
