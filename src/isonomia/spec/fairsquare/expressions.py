"""Python's own parser, and from its syntax tree to an expression: by a whitelist; everything else is refused.

The parser is used for its tree only: nothing is compiled or run, and every failure is a SpecError. Constructs that
programs do not have are refused in plain words, with what to write instead.

An expression may draw: each draw is numbered (:class:`DrawSites`), and its constants are checked here. Names and kinds
are checked afterwards, in :mod:`~isonomia.spec.fairsquare.tree`.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import Literal as OneOf
from typing import TypeAlias, cast

from isonomia.errors import Place, SpecError, nearest
from isonomia.spec.fairsquare import tree
from isonomia.spec.parser import check_length
from isonomia.spec.syntax_errors import TOO_DEEP, python_error
from isonomia.spec.tree import OPERATIONS, children

DRAWS = ("gaussian", "step")

IF = "if"
"""The variable of a draw in a condition; no variable can have this name."""

_LEVELS = 200
"""How deeply an expression may be nested; a sum of n terms has n - 1 levels."""


class DrawSites:
    """How many draws were made so far for each variable, on the path to here.

    Two branches that exclude each other start from the same count and are joined by the larger one. So draws that
    correspond to each other share a site, and no two draws on one path do.
    """

    __slots__ = ("_before", "_made")

    def __init__(self, before: DrawSites | None = None) -> None:
        self._before = before
        self._made: dict[str, int] = {}

    def made(self, variable: str) -> int:
        """How many draws were made for a variable."""
        way: DrawSites | None = self
        while way is not None:
            if variable in way._made:
                return way._made[variable]
            way = way._before
        return 0

    def next(self, variable: str) -> tree.Site:
        """Make one more draw for a variable."""
        site = variable, self.made(variable)
        self._made[variable] = site[1] + 1
        return site

    def fork(self) -> DrawSites:
        """Start one of several branches from here; this count stays as it is until they are joined."""
        return DrawSites(self)

    def join(self, ways: Iterable[DrawSites]) -> None:
        """Continue where several branches from here meet."""
        for way in ways:
            for variable, made in way._made.items():
                self._made[variable] = max(made, self.made(variable))


@dataclass(frozen=True, slots=True)
class ExpressionContext:
    """The context of an expression: its text, the draws made before it, and the variable that it helps to set.

    Reading a draw adds to ``sites``. An ``equation`` may choose between expressions and compare with texts.
    """

    source: SourceText
    sites: DrawSites
    variable: str
    equation: bool = False


def read_value(node: ast.expr, context: ExpressionContext) -> tree.Expression:
    """A whole expression, with its constants checked; its names and kinds are not.

    The tree has at most ``_LEVELS`` levels.
    """
    expression = _read(node, context, _LEVELS)
    _constant_value(expression)
    return expression


def _read(node: ast.expr, context: ExpressionContext, levels: int) -> tree.Expression:
    if levels < 0:
        raise SpecError(TOO_DEEP, context.source.place(node))
    match node:
        case ast.Constant():
            return _constant(node, context)
        case ast.Name():
            return tree.Reference(node.id, place=context.source.place(node))
        case ast.UnaryOp():
            return _unary(node, context, levels - 1)
        case ast.BinOp():
            return _arithmetic(node, context, levels - 1)
        case ast.Compare():
            return _chain(node, context, levels - 1)
        case ast.BoolOp():
            return _junction(node, context, levels - 1)
        case ast.Call():
            return _draw(node, context, lambda part: _read(part, context, levels - 1))
        case ast.IfExp() if context.equation:
            return _choice(node, context, levels - 1)
        case _:
            raise no_expression(node, context.source)


def _constant(node: ast.Constant, context: ExpressionContext) -> tree.Expression:
    place = context.source.place(node)
    match node.value:
        case bool(value):
            return tree.Boolean(value, place=place)
        case int() | float():
            return tree.Number(_finite(node, context), place=place)
        case str(text) if context.equation and "\n" not in place.text[place.start : place.end]:
            return tree.Text(text, place=place)
        case str() if context.equation:
            message = "a text must begin and end on one line: its quotation mark is never closed"
        case str() | bytes():
            message = "a text cannot stand here: write categories as numbers"
        case complex():
            message = "a complex number cannot stand here: expected a real number"
        case _:
            written = "..." if node.value is ... else node.value
            message = f"`{written}` cannot stand here: expected a number, True or False"
    raise SpecError(message, place)


def _finite(node: ast.Constant, context: ExpressionContext) -> float:
    try:
        value = float(cast("float", node.value))
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise SpecError("this number is too large: the largest is about 1.8e308", context.source.place(node))
    return value


def _unary(node: ast.UnaryOp, context: ExpressionContext, levels: int) -> tree.Expression:
    place = context.source.place(node)
    if isinstance(node.op, ast.Invert):
        raise no_sign(node, context.source)
    operand = _read(node.operand, context, levels)
    match node.op:
        case ast.Not():
            return tree.LogicalNot(operand, place=place)
        case ast.USub():
            return tree.UnaryMinus(operand, place=place)
        case _ if isinstance(operand, tree.Number):
            return tree.Number(operand.value, place=place)
        case _:
            # Exactly the same value, and an operand that is not a number is still detected.
            return tree.UnaryMinus(tree.UnaryMinus(operand, place=place), place=place)


def _arithmetic(node: ast.BinOp, context: ExpressionContext, levels: int) -> tree.Expression:
    sign = SIGNS.get(type(node.op))
    if sign is None:
        raise no_sign(node, context.source)
    left = _read(node.left, context, levels)
    right = _read(node.right, context, levels)
    return tree.BinaryOperation(cast(OneOf["+", "-", "*", "/"], sign), left, right, place=context.source.place(node))


def _chain(node: ast.Compare, context: ExpressionContext, levels: int) -> tree.Expression:
    first = _read(node.left, context, levels)
    rest = []
    for operator, operand in zip(node.ops, node.comparators, strict=True):
        sign = COMPARISONS.get(type(operator))
        if sign is None:
            raise no_comparison(operator, node, context.source)
        rest.append((cast(OneOf["<", "<=", ">", ">=", "==", "!="], sign), _read(operand, context, levels)))
    return tree.Chain(first, tuple(rest), place=context.source.place(node))


def _junction(node: ast.BoolOp, context: ExpressionContext, levels: int) -> tree.Expression:
    connective: OneOf["and", "or"] = "and" if isinstance(node.op, ast.And) else "or"
    operands = tuple([_read(operand, context, levels) for operand in node.values])
    return tree.BooleanOperation(connective, operands, place=context.source.place(node))


def _choice(node: ast.IfExp, context: ExpressionContext, levels: int) -> tree.Expression:
    condition = _read(node.test, context, levels)
    ways = context.sites.fork(), context.sites.fork()
    then = _read(node.body, replace(context, sites=ways[0]), levels)
    otherwise = _read(node.orelse, replace(context, sites=ways[1]), levels)
    context.sites.join(ways)
    return tree.Choice(condition, then, otherwise, place=context.source.place(node))


# ---------------------------------------------------------------------------- draws

_BY_IF = {"max", "min", "abs", "relu", "round", "int", "bool"}
_CELLS = "`step([(low, high, p), ...])` takes one list of cells"

Read: TypeAlias = Callable[[ast.expr], tree.Expression]


def _draw(node: ast.Call, context: ExpressionContext, read: Read) -> tree.Draw:
    """A call within an expression; draws in its arguments come first."""
    source = context.source
    name = _called(node, source)
    check_plain_arguments(node, source)
    if name == "gaussian":
        _check_count(node, source, 2, "`gaussian(mean, variance)` takes two values")
        mean, variance = read(node.args[0]), read(node.args[1])
        return tree.Gaussian(mean, variance, context.sites.next(context.variable), place=source.place(node))
    _check_count(node, source, 1, _CELLS)
    cells = _cells(node.args[0], source, read)
    return tree.StepDensity(
        _checked_cells(cells, source.place(node)), context.sites.next(context.variable), place=source.place(node)
    )


def _called(node: ast.Call, source: SourceText) -> str:
    if not isinstance(node.func, ast.Name):
        raise SpecError("only `gaussian` and `step` can be called here", source.place(node.func))
    name = node.func.id
    if name in DRAWS:
        return name
    if name in tree.MARKS:
        message = f"`{name}(...)` has no value: it is a mark: write it on its own line"
    elif name in _BY_IF:
        message = f"there is no function `{name}`, only `gaussian` and `step`: write it out with an `if`"
    else:
        message = f"there is no function `{name}`, only `gaussian` and `step`.{nearest(name, DRAWS)}"
    raise SpecError(message, source.place(node.func), name=name)


def check_plain_arguments(node: ast.Call, source: SourceText) -> None:
    """Refuse arguments by keyword and arguments with a star."""
    for keyword in node.keywords:
        if keyword.arg is None:
            raise SpecError("`**` cannot stand in a call: write the values out", source.place(keyword))
        message = f"values are given by their order, without names: leave out `{keyword.arg}=`"
        raise SpecError(message, source.place(keyword))
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            raise no_expression(argument, source)


def _check_count(node: ast.Call, source: SourceText, wanted: int, usage: str) -> None:
    if len(node.args) != wanted:
        raise SpecError(f"{usage}, but got {len(node.args)}", source.place(node))


def _cells(node: ast.expr, source: SourceText, read: Read) -> list[_StepCell]:
    if not isinstance(node, ast.List):
        raise SpecError(f"{_CELLS}, in square brackets", source.place(node))
    return [_cell(element, source, read) for element in node.elts]


def _cell(node: ast.expr, source: SourceText, read: Read) -> _StepCell:
    if not isinstance(node, ast.Tuple) or len(node.elts) != 3:
        raise SpecError(
            "each cell of a step is written `(low, high, p)`: three numbers in brackets", source.place(node)
        )
    low, high, probability = (_cell_number(element, source, read) for element in node.elts)
    return _StepCell(low, high, probability, source.place(node))


def _cell_number(node: ast.expr, source: SourceText, read: Read) -> float:
    value = None if isinstance(node, ast.Starred) else _constant_value(read(node))
    if value is None:
        raise SpecError("the numbers in a step must be constants: write them out", source.place(node))
    return value


_TOLERANCE = 1e-6
"""How far the sum of the probabilities may be from 1, because they were rounded when they were written down."""


@dataclass(frozen=True, slots=True)
class _StepCell:
    """One ``(low, high, p)`` as it was written."""

    low: float
    high: float
    probability: float
    place: Place


def _checked_cells(cells: list[_StepCell], place: Place) -> tuple[tuple[float, float, float], ...]:
    """The cells in ascending order.

    Guarantees ``low < high`` with a finite distance, cells that share no more than an end point, probabilities of at
    least 0, and a sum within :data:`_TOLERANCE` of 1. Gaps and cells of probability 0 are allowed.
    """
    if not cells:
        raise SpecError("a step needs at least one cell: write `step([(low, high, p), ...])`", place)
    for cell in cells:
        _check_alone(cell)
    ascending = sorted(cells, key=lambda cell: (cell.low, cell.high))
    for before, after in pairwise(ascending):
        _check_apart(before, after)
    total = math.fsum(cell.probability for cell in cells)
    if not abs(total - 1) <= _TOLERANCE:
        raise SpecError(f"the probabilities of a step must add up to 1, but these add up to {total:.10g}", place)
    return tuple((cell.low, cell.high, cell.probability) for cell in ascending)


def _check_alone(cell: _StepCell) -> None:
    written = f"({cell.low:g}, {cell.high:g}, {cell.probability:g})"
    if not cell.low < cell.high:
        message = f"a cell goes from low to high, but {cell.low:g} is not below {cell.high:g}"
        raise SpecError(f"{message}: write `(low, high, p)` with low < high", cell.place)
    if not math.isfinite(cell.high - cell.low):
        raise SpecError(f"the cell {written} is too wide for a number", cell.place)
    if cell.probability < 0:
        raise SpecError(f"a probability cannot be negative, but {written} has {cell.probability:g}", cell.place)


def _check_apart(before: _StepCell, after: _StepCell) -> None:
    if after.low < before.high:
        message = f"this cell overlaps the one from {before.low:g} to {before.high:g}"
        raise SpecError(f"{message} (line {before.place.line}): let each begin where another ends", after.place)


# ---------------------------------------------------------------------------- constants


def _constant_value(expression: tree.Expression) -> float | None:
    """The value of an expression made of numbers only; ``None`` where it depends on anything else.

    Refused are a division by a constant zero, a constant value that is too large to be a number, and a draw whose
    variance is a negative constant, in any part. What depends on variables is not examined.
    """
    match expression:
        case tree.Number(value):
            return value
        case tree.UnaryMinus(operand):
            value_within = _constant_value(operand)
            return None if value_within is None else -value_within
        case tree.BinaryOperation(_, left, right):
            return _result(expression, _constant_value(left), _constant_value(right))
        case tree.Gaussian(mean, variance):
            _constant_value(mean)
            _check_variance(variance, _constant_value(variance))
            return None
        case _:
            for part in children(expression):
                _constant_value(part)
            return None


def _result(whole: tree.BinaryOperation, left: float | None, right: float | None) -> float | None:
    if whole.sign == "/" and right == 0:
        raise SpecError("this divides by zero: the divisor must be a number other than 0", whole.right.place)
    if left is None or right is None:
        return None
    value = float(OPERATIONS[whole.sign](left, right))
    if not math.isfinite(value):
        raise SpecError("the value of this constant is too large for a number", whole.place)
    return value


def _check_variance(expression: tree.Expression, value: float | None) -> None:
    if value is not None and value < 0:
        message = f"a variance cannot be negative, but this is {value:g}: write `gaussian(mean, variance)`"
        raise SpecError(message, expression.place)


# ---------------------------------------------------------------------------- Python's parser

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
    module = _parse(source, "exec")
    assert isinstance(module, ast.Module)
    return module


def parse_expression(source: SourceText) -> ast.expr:
    """The syntax tree of one expression."""
    whole = _parse(source, "eval")
    assert isinstance(whole, ast.Expression)
    return whole.body


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
    "For": ("a `for` loop", "repeat its statements for each iteration"),
    "AsyncFor": ("a `for` loop", "repeat its statements for each iteration"),
    "While": ("a `while` loop", "repeat its statements for each iteration"),
    "Import": ("an import", "a program can call only `gaussian` and `step`"),
    "ImportFrom": ("an import", "a program can call only `gaussian` and `step`"),
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
    "Raise": ("`raise`", "use the mark `qualified(...)` to define the population"),
    "Assert": ("`assert`", "use the mark `qualified(...)` to define the population"),
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
    "Subscript": ("an element `[...]`", "give each value its own variable"),
    "Attribute": ("an attribute (a name with a dot)", "variables are plain names, and functions `gaussian` and `step`"),
    "IfExp": ("`a if c else b`", "write an `if` statement that sets the variable in both branches"),
    "NamedExpr": ("`:=`", "set the variable on its own line"),
    "List": ("a list", "it is allowed only within `step([...])`"),
    "Tuple": ("values separated by commas", "give each value its own variable"),
    "Dict": ("a dictionary", "give each value its own variable"),
    "Set": ("a set", "give each value its own variable"),
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
