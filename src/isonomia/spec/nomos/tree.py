"""The syntax tree of a specification in Nomos: frozen values that know their place in the text.

:func:`spec_text` writes a specification as text; reading the text again gives the same tree. The block between the
braces is Python: plain calls and arithmetic, or more than that. A plain block is turned into the same assignments that
``var`` makes, so it is never run as Python: the same evaluator computes it for whole batches. Anything else is code,
which can do whatever the user who starts it can do.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from isonomia.errors import Place, SpecError
from isonomia.spec.fairsquare.expressions import COMPARISONS, SIGNS
from isonomia.spec.text import quote
from isonomia.spec.tree import Placed, children

CONSTANTS = {"MAX_INT": 2**31 - 1}
"""Names that have a value without being declared."""

MODEL_CALLS = frozenset({"predict", "score"})
"""The functions that query the model; only the block may call them."""

Scalar: TypeAlias = "bool | int | float | str | None"


@dataclass(frozen=True, slots=True)
class ScalarLiteral(Placed):
    """A number, a text, ``true``, ``false`` or ``null``."""

    value: Scalar

    def __eq__(self, other: object) -> bool:
        # 1, 1.0 and true are equal in Python, but they are different constants.
        return isinstance(other, ScalarLiteral) and (type(self.value), self.value) == (type(other.value), other.value)

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True, slots=True)
class Name(Placed):
    """An input, a variable or an output."""

    name: str


@dataclass(frozen=True, slots=True)
class FeatureRead(Placed):
    """``x1.priors_count``, or ``x1.f3`` for the feature number 3 where no feature has the name ``f3``."""

    record: Expression
    feature: str


@dataclass(frozen=True, slots=True)
class Update(Placed):
    """``x1[f3 := v]``: the same record with one feature set."""

    record: Expression
    feature: str
    value: Expression


@dataclass(frozen=True, slots=True)
class FunctionCall(Placed):
    """``function(...)`` or ``domain.function(...)``."""

    function: str
    arguments: tuple[Expression, ...]
    domain: str | None = None


@dataclass(frozen=True, slots=True)
class Unary(Placed):
    """``!x`` or ``-x``; ``operator`` is the sign as it is written."""

    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary(Placed):
    """Two operands; ``operator`` is the sign as it is written, in a block also ``//``, ``%`` and ``**``."""

    operator: str
    left: Expression
    right: Expression


Expression: TypeAlias = ScalarLiteral | Name | FeatureRead | Update | FunctionCall | Unary | Binary


@dataclass(frozen=True, slots=True)
class Var(Placed):
    """``var name := value;``, or an assignment in a plain block."""

    name: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Requires(Placed):
    """``requires condition;``."""

    condition: Expression


@dataclass(frozen=True, slots=True)
class Ensures(Placed):
    """``ensures condition;``, with ``in 99% of cases`` or ``up to noise + 2%`` before the semicolon.

    Attributes
    ----------
    condition
        What must be true.
    rate
        The share of cases in which it must be true.
    noise
        By how much it may be false more often than it is between two answers about the same record.
    """

    condition: Expression
    rate: float | None = None
    noise: float | None = None

    @property
    def always(self) -> bool:
        """Whether a single case in which it is false refutes it."""
        return self.noise is None and (self.rate is None or self.rate >= 1.0)


@dataclass(frozen=True, slots=True)
class PythonBlock:
    """The Python between the braces, without the indentation that all its lines share.

    Attributes
    ----------
    source
        The Python.
    place
        Its place in the specification's text.
    starts
        For each line of the source, the position of its first character in that text.
    """

    source: str
    place: Place | None = field(default=None, compare=False, repr=False)
    starts: tuple[int, ...] = field(default=(), compare=False, repr=False)

    def stretch(self, line: int, column: int, last_line: int, last_column: int) -> Place | None:
        """A stretch of the source as a place in the specification's text; the whole block where that is unknown.

        Lines are counted from 1, columns from 0; the last column is not part of the stretch.
        """
        if self.place is None or not 1 <= line <= len(self.starts):
            return self.place
        start = self.starts[line - 1] + max(column, 0)
        end = self.starts[min(max(last_line, line), len(self.starts)) - 1] + max(last_column, 0)
        return Place(self.place.text, start, max(end, start + 1))

    def line(self, line: int) -> Place | None:
        """One line of the source, without its indentation, as a place in the specification's text."""
        if not 1 <= line <= len(self.starts):
            return self.place
        text = self.source.split("\n")[line - 1]
        return self.stretch(line, len(text) - len(text.lstrip()), line, len(text))


@dataclass(frozen=True, slots=True)
class Spec:
    """A specification.

    Attributes
    ----------
    imports, inputs, outputs
        Names, in the order in which they are declared.
    before
        The variables and preconditions before the block, in order.
    block
        The Python that calls the model.
    after
        The variables after the block, in order.
    ensures
        What must be true of every case that meets the preconditions.
    text
        The text it was read from.
    """

    imports: tuple[str, ...]
    inputs: tuple[str, ...]
    before: tuple[Var | Requires, ...]
    outputs: tuple[str, ...]
    block: PythonBlock
    after: tuple[Var, ...]
    ensures: tuple[Ensures, ...]
    text: str = field(default="", compare=False, repr=False)
    places: tuple[tuple[str, Place], ...] = field(default=(), compare=False, repr=False)

    @property
    def requires(self) -> tuple[Requires, ...]:
        """The preconditions."""
        return tuple(step for step in self.before if isinstance(step, Requires))

    @property
    def variables(self) -> tuple[Var, ...]:
        """The variables before the block."""
        return tuple(step for step in self.before if isinstance(step, Var))


def walk(node: Expression) -> Iterator[Expression]:
    """Every node of an expression, in the order in which they are computed: operands before the operation."""
    for part in children(node):
        yield from walk(part)
    yield node


def names_in(node: Expression) -> tuple[Name, ...]:
    """Every name that an expression mentions."""
    return tuple(part for part in walk(node) if isinstance(part, Name))


def calls_in(node: Expression) -> tuple[FunctionCall, ...]:
    """Every call of an expression."""
    return tuple(part for part in walk(node) if isinstance(part, FunctionCall))


_LEVELS = (("==>",), ("||",), ("&&",), ("==", "!=", "<", "<=", ">", ">="), ("+", "-"), ("*", "/", "//", "%"), ("**",))
LEVEL = {sign: number for number, signs in enumerate(_LEVELS) for sign in signs}
_UNARY, _POSTFIX, _ATOM = 7, 8, 9


def spec_text(spec: Spec) -> str:
    """A whole specification, one statement per line; comments are lost."""
    lines = [f"import {name};" for name in spec.imports]
    lines += [f"input {name};" for name in spec.inputs]
    lines += [step_text(step) for step in spec.before]
    lines += [f"output {name};" for name in spec.outputs]
    lines += ["{", *(f"    {line}" if line else "" for line in spec.block.source.split("\n")), "}"]
    lines += [step_text(step) for step in spec.after]
    lines += [step_text(step) for step in spec.ensures]
    return "\n".join(lines) + "\n"


def step_text(step: Var | Requires | Ensures) -> str:
    """One statement."""
    match step:
        case Var():
            return f"var {step.name} := {expression_text(step.value)};"
        case Requires():
            return f"requires {expression_text(step.condition)};"
        case Ensures():
            rate = "" if step.rate is None else f" in {step.rate!r} of cases"
            noise = "" if step.noise is None else f" up to noise + {step.noise!r}"
            return f"ensures {expression_text(step.condition)}{rate}{noise};"


def expression_text(node: Expression) -> str:
    """An expression, with brackets only where they are needed."""
    match node:
        case ScalarLiteral():
            return _constant(node)
        case Name():
            return node.name
        case FeatureRead():
            return f"{_record(node.record)}.{node.feature}"
        case Update():
            return f"{_record(node.record)}[{node.feature} := {expression_text(node.value)}]"
        case FunctionCall():
            owner = "" if node.domain is None else f"{node.domain}."
            return f"{owner}{node.function}({', '.join(map(expression_text, node.arguments))})"
        case Unary():
            return f"{node.operator}{_within(node.operand, _UNARY)}"
        case Binary():
            return _binary(node)


def _record(node: Expression) -> str:
    # `0.k` would be read as the number `0.` followed by something else.
    return f"({expression_text(node)})" if isinstance(node, ScalarLiteral) else _within(node, _POSTFIX)


def _binary(node: Binary) -> str:
    level = LEVEL[node.operator]
    # Implications and powers group to the right, comparisons not at all, everything else to the left. A power binds
    # closer than a sign before it.
    left = _POSTFIX if node.operator == "**" else level + 1 if node.operator == "==>" or level == 3 else level
    right = level if node.operator in {"==>", "**"} else level + 1
    return f"{_within(node.left, left)} {node.operator} {_within(node.right, right)}"


def _within(node: Expression, least: int) -> str:
    text = expression_text(node)
    return text if _level(node) >= least else f"({text})"


def _level(node: Expression) -> int:
    match node:
        case Binary():
            return LEVEL[node.operator]
        case Unary():
            return _UNARY
        case ScalarLiteral(value=bool()):
            return _ATOM
        case ScalarLiteral(value=int() | float() as number) if number < 0 or repr(number).startswith("-"):
            return _UNARY
        case FeatureRead() | Update():
            return _POSTFIX
        case _:
            return _ATOM


def _constant(node: ScalarLiteral) -> str:
    match node.value:
        case bool() as truth:
            return "true" if truth else "false"
        case None:
            return "null"
        case str() as text:
            return quote(text, '"')
        case number:
            return repr(number)


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
            return [Var(name, _expression(value, at), place=at(statement))]
        case ast.AugAssign(target=ast.Name(id=name) as target, op=sign, value=value) if type(sign) in _BINARY:
            changed = Binary(
                _BINARY[type(sign)], Name(name, place=at(target)), _expression(value, at), place=at(statement)
            )
            return [Var(name, changed, place=at(statement))]
        case ast.Pass():
            return []
        case _:
            raise _NotPlainError(f"it has {_kind(statement)}", at(statement))


def _assigned(target: ast.expr, value: ast.expr, at: At) -> list[Var]:
    match target, value:
        case ast.Name(id=name), _:
            return [Var(name, _expression(value, at), place=at(target))]
        case ast.Tuple(elts=names), ast.Tuple(elts=values) if len(names) == len(values):
            targets = [name.id for name in names if isinstance(name, ast.Name)]
            known = {node.id for part in values for node in ast.walk(part) if isinstance(node, ast.Name)}
            if len(targets) == len(names) and not known & set(targets):
                parts = zip(targets, values, names, strict=True)
                return [Var(name, _expression(part, at), place=at(node)) for name, part, node in parts]
    raise _NotPlainError("it sets something other than a name", at(target))


def _expression(node: ast.expr, at: At) -> Expression:
    match node:
        case ast.Constant(value=int() as value) if value.bit_length() > LARGEST_BITS:
            raise SpecError("this number is too large", at(node))
        case ast.Constant(value=None | bool() | int() | float() | str() as value):
            return ScalarLiteral(value, place=at(node))
        case ast.Name(id=name):
            return Name(name, place=at(node))
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _BINARY:
            return Binary(_BINARY[type(sign)], _expression(left, at), _expression(right, at), place=at(node))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return Unary("-", _expression(operand, at), place=at(node))
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _expression(operand, at)
        case ast.Compare(left=left, ops=[sign], comparators=[right]) if type(sign) in COMPARISONS:
            return Binary(COMPARISONS[type(sign)], _expression(left, at), _expression(right, at), place=at(node))
        case ast.Call(keywords=[]):
            return _call(node, at)
        case _:
            raise _NotPlainError(f"it has {_kind(node)}", at(node))


def _call(node: ast.Call, at: At) -> Expression:
    values = tuple(_expression(argument, at) for argument in node.args)
    match node.func:
        case ast.Name(id=name):
            return FunctionCall(name, values, place=at(node))
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            return FunctionCall(name, values, owner, place=at(node))
        case _:
            raise _NotPlainError("it calls something that has no plain name", at(node))


def _kind(node: ast.AST) -> str:
    return _WORDS.get(type(node).__name__, f"Python's {type(node).__name__}")
